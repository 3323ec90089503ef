// The server's API as OpenAPI documents: what kubectl explain, apply, diff and create --validate read.
//
//   /openapi/v3                     OpenApiV3Index
//   /openapi/v3/apis/apps/v1        OpenApiV3Document(resources, "apis/apps/v1")
//   /openapi/v2                     OpenApiV2Document
//
// Pure functions of a set of resources; callers keep the documents as long as they keep the set. Documents have no descriptions except
// those of CRDs: this project carries no text over from Kubernetes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/resources.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// {"paths": {"apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=..."}}}
Value OpenApiV3Index(const Resources& resources);
// Names the content of a document: equal hashes, equal documents. Costs less than the document. Empty for a path that the index does not
// have. Also good as an ETag (with quotes around it).
std::string OpenApiV3Hash(const Resources& resources, std::string_view path);
// Nothing for a path that the index does not have. Paths have no slash in front.
std::optional<Value> OpenApiV3Document(const Resources& resources, std::string_view path);

// The same as text, for a group and version of the set.
std::string OpenApiV3(const Resources& resources, const ServedGroup& group, const ServedVersion& version);

// Everything in one document.
Value OpenApiV2Document(const Resources& resources);
std::string OpenApiV2(const Resources& resources);
std::string OpenApiV2Hash(const Resources& resources);

}  // namespace kube::apiserver
