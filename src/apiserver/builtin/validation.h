// Whether an object of a built-in kind may be stored.
//
//   std::vector<FieldError> errors = Validate(Pod::kType, &pod, nullptr);          // create
//   std::vector<FieldError> errors = Validate(Pod::kType, &pod, &old_pod);         // update
//   std::vector<FieldError> errors = ValidateSubresource(Pod::kType, "status", &pod, &old_pod);
//
// Runs behind defaults and strategies. Paths and messages are those of the real server: they are part of the contract with clients.
// Metadata is checked elsewhere (object_meta.h) and comes before these errors in an answer; so is the schema of a CRD.
// Covered are the rules that users and tests meet: required fields, names, enums, ranges, duplicates, references inside an object, and
// what may not change. Rules that only guard exotic fields (volume types of cloud providers, device claims) are left to real clusters.
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/errors.h"
#include "kube/base/export.h"
#include "kube/value/type_info.h"

namespace kube::apiserver {

// `object` and `old` are structs of `type`; `old` is null on create. Empty: fine.
KUBE_EXPORT std::vector<FieldError> Validate(const TypeInfo& type, const void* object, const void* old);

// For updates of subresources that write the whole object.
std::vector<FieldError> ValidateSubresource(const TypeInfo& type, std::string_view subresource, const void* object, const void* old);

}  // namespace kube::apiserver
