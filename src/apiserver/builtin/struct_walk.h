// Calls a function for each struct in an object, outer ones first: what defaults need, which belong to the type of a part wherever that
// part stands.
#pragma once

#include <functional>

#include "kube/value/type_info.h"

namespace kube::apiserver {

// False: nothing inside this struct is visited.
using StructVisitor = std::function<bool(const TypeInfo& type, void* object)>;

// Parts that are shared with other objects are made private first. Structs that are values of maps are passed over.
void ForEachStruct(const TypeInfo& type, void* object, const StructVisitor& visit);

}  // namespace kube::apiserver
