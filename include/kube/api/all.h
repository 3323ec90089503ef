// AllKinds: the tables of every built-in kind of this build.
//
//   for (const kube::TypeInfo* type : kube::api::AllKinds()) registry.Add(*type);
//
// For programs that must understand whatever comes (a converter, a test server). Asking for it links the tables of all group-versions,
// about a megabyte; a controller includes the headers of the kinds that it uses and links those only.
#pragma once

#include <span>

#include "kube/base/export.h"
#include "kube/value/type_info.h"

namespace kube::api {

// Sorted by group, version and kind; list kinds and the kinds of room meta (Status, DeleteOptions, Table ...) are among them.
// Valid for the life of the program; safe from any thread.
KUBE_EXPORT std::span<const TypeInfo* const> AllKinds();

}  // namespace kube::api
