// The elements of a list of structs by what identifies them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/value/type_info.h"

namespace kube::internal {

// Which fields identify the elements of this list: those of the list type map, the patch merge key, or `name`. Empty if there are none.
// Requires: a list of structs.
std::vector<const FieldInfo*> KeyFieldsOf(const FieldInfo& list);

// One text for each element of the list at `at`; nothing if one has no key, or two have the same.
std::optional<std::vector<std::string>> KeysOf(const FieldInfo& list, const std::vector<const FieldInfo*>& fields, const void* at);

}  // namespace kube::internal
