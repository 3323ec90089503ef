// What the server does with `metadata` of every object, built-in or custom: fills it, checks it, and keeps what may not change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/errors.h"
#include "apiserver/names.h"
#include "apiserver/resources.h"
#include "kube/base/result.h"
#include "kube/value/time.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// A random UID (version 4), and a name from a prefix: five characters that spell no word.
std::string NewUid();
std::string NameFromPrefix(std::string_view prefix);

inline const Value& MetaOf(const Value& object) { return object["metadata"]; }
inline std::string_view NameOf(const Value& object) { return MetaOf(object)["name"].string_value().view(); }
inline std::string_view NamespaceOf(const Value& object) { return MetaOf(object)["namespace"].string_value().view(); }
inline bool IsDeleting(const Value& object) { return MetaOf(object).Find("deletionTimestamp") != nullptr; }
bool HasFinalizer(const Value& object, std::string_view finalizer);
void AddFinalizer(Value& object, std::string_view finalizer);
void RemoveFinalizer(Value& object, std::string_view finalizer);
// Removes a member that is an empty object, list or string, as Go's omitempty does.
void DropEmpty(Value& object, std::string_view member);

// The namespace of the body must be that of the request, or absent. Errors: 400.
Result<void> SetNamespace(Value& object, const ServedResource& resource, std::string_view request_namespace);

// Creation: removes what a client may not set, adds what the server sets. In two steps if webhooks see the object in between.
void WipeMetaForCreate(Value& object);
void FillMetaForCreate(Value& object, Time now);
inline void PrepareMetaForCreate(Value& object, Time now) {
  WipeMetaForCreate(object);
  FillMetaForCreate(object, now);
}
// Update: what only the server writes is as in `old`.
void PrepareMetaForUpdate(Value& object, const Value& old);

// What is wrong with a name for this resource.
Problems NameProblems(const ServedResource& resource, std::string_view name, bool prefix);
std::vector<FieldError> ValidateMeta(const ServedResource& resource, const Value& object);
// Warnings for finalizers added to a custom resource: they should have a domain and a path.
std::vector<std::string> FinalizerWarnings(const Value& object, const Value* old);
std::vector<FieldError> ValidateMetaUpdate(const Value& object, const Value& old);

}  // namespace kube::apiserver
