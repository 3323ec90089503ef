// What a desired-state pass asks of an object: does the server still have what we want, all of it, and is it still ours?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::internal {

struct Drift {
  // One line for each field: "spec.replicas: 5 instead of 3". Values of Secrets are not shown.
  std::vector<std::string> reasons{};
  // Of the paths and of what the server has there: equal for the same drift, in every pass of one process.
  std::uint64_t fingerprint = 0;

  bool empty() const { return reasons.empty(); }
};

// The entry of managedFields for the object itself, not for a subresource. Null where there is none. Belongs to `entries`.
const Value* FindFieldsOf(const Value& entries, std::string_view manager, std::string_view operation);

// Compares in one direction only: what the server has in addition (defaults, fields of others) is no drift. `wanted` is an apply
// configuration, `live` the object as the server has it, `type` the table of the kind or null.
//
// Where `live` carries managedFields, each wanted field must also be one that `manager` applied, or created, and still owns. That finds
// what values cannot tell: an addition of somebody else inside of a list that is replaced as a whole, and which members are the keys of a
// list where there is no table. Cost: one pass over `wanted`.
Drift FindDrift(const TypeInfo* type, const Value& wanted, const Value& live, std::string_view manager);

// Stable over processes: the annotation holds it.
std::uint64_t HashText(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325U);

}  // namespace kube::internal
