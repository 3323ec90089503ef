// Rules for names, label keys and label values, as in the API server.
//
// Each function returns ok, or an error (kInvalid) that states the violated rule. A local check fails before a request is sent; the server
// checks again.
#pragma once

#include <cstddef>
#include <string_view>

#include "kube/base/result.h"

namespace kube {

inline constexpr std::size_t kMaxLabelNameLength = 63;      // for the name part of a key, and for a value
inline constexpr std::size_t kMaxDnsLabelLength = 63;       // for one part of a host name
inline constexpr std::size_t kMaxDnsSubdomainLength = 253;  // for a whole host name

// Namespaces, and names that become part of a host name: "web-1". Lowercase letters, digits and '-', alphanumeric at both ends.
KUBE_EXPORT Result<void> ValidateDnsLabel(std::string_view text);
// Most object names: DNS labels (without their length limit) separated by dots, at most 253 bytes.
KUBE_EXPORT Result<void> ValidateDnsSubdomain(std::string_view text);
// Label and annotation keys, finalizers, condition types: a name of at most 63 letters, digits, '-', '_' and '.', alphanumeric at both
// ends. It may be prefixed with a DNS subdomain and a '/': "example.com/role".
KUBE_EXPORT Result<void> ValidateLabelKey(std::string_view key);
// Empty, or a valid name part of a key.
KUBE_EXPORT Result<void> ValidateLabelValue(std::string_view value);

}  // namespace kube
