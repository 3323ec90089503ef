// The ports of a Service: those that the containers declare, or those that the annotation `port` names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/result.h"

namespace auto_expose {

// A port of a container, without duplicates.
struct DeclaredPort {
  std::string name{};  // may be empty
  std::string protocol = "TCP";
  std::int32_t number = 0;
};

// A workload that declares more ports gets no Service for all of them. The API server has no limit of its own, and a Deployment has room
// for 100,000.
inline constexpr std::size_t kMaxPorts = 1000;

// At most kMaxPorts + 1 ports; that many mean that there are too many.
std::vector<DeclaredPort> DeclaredPorts(const kube::core::v1::PodSpec& pods);
kube::List<kube::core::v1::ServicePort> ServicePorts(const std::vector<DeclaredPort>& declared);

// "8080", "http", "80:8080", "80:http", "53:53/UDP", comma-separated. Errors: kInvalid, naming the part.
kube::Result<kube::List<kube::core::v1::ServicePort>> ParsePorts(std::string_view text, const std::vector<DeclaredPort>& declared);

}  // namespace auto_expose
