// Objects as a Table (what `kubectl get` asks for) and as metadata only (what controllers that watch everything ask for).
//
//   Value table = TableOf(resource, objects, {.now = clock.Now()});
//   table["metadata"]["resourceVersion"] = ...          // lists have metadata of their own
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apiserver/resources.h"
#include "apiserver/store.h"
#include "kube/base/result.h"
#include "kube/value/time.h"
#include "kube/value/value.h"

namespace kube::apiserver {

struct TableOptions {
  std::string version = "v1";  // of meta.k8s.io; "v1beta1" looks the same
  std::string include_object;  // "None", "Object", or "Metadata", which is also what an empty text means
  Time now;                    // for ages
  bool no_headers = false;     // columnDefinitions is null: all but the first event of a watch
};

// Errors: 400 where includeObject is none of those.
Result<void> CheckIncludeObject(std::string_view include_object);

// A Table of these objects. Its metadata has the version of the object if there is exactly one; the caller of a list sets its own.
Value TableOf(const ServedResource& resource, std::span<const ObjectPtr> objects, const TableOptions& options);

// A PartialObjectMetadata. `version` of meta.k8s.io: "v1" or "v1beta1".
Value PartialMetadataOf(const Value& object, std::string_view version);

}  // namespace kube::apiserver
