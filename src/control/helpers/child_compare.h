// How a desired-state pass checks a child: whether the server still has everything we want, and whether it is still ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::internal {

struct Drift {
  // One line per field: "spec.replicas: 5 instead of 3". Values of Secrets are not shown.
  std::vector<std::string> reasons{};
  // A hash of the paths and the live values: equal for the same drift in every pass of one process.
  std::uint64_t fingerprint = 0;

  bool empty() const { return reasons.empty(); }
};

// The managedFields entry for the object itself, not for a subresource. Null if there is none. Points into `entries`.
const Value* FindFieldsOf(const Value& entries, std::string_view manager, std::string_view operation);

// Compares in one direction only: additional live fields (defaults, fields of others) are not drift. `wanted` is an apply configuration,
// `live` the object on the server, `type` the table of the kind or null.
//
// If `live` has managedFields, `manager` must also have applied or created each wanted field, and still own it. That detects what values
// cannot show: additions of other managers to atomic lists, and which members are the keys of a list without a table. Cost: one pass over
// `wanted`.
Drift FindDrift(const TypeInfo* type, const Value& wanted, const Value& live, std::string_view manager);

// Stable across processes: the annotation stores it.
std::uint64_t HashText(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325U);

}  // namespace kube::internal
