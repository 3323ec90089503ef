// The paths of a group and version with their operations. For openapi.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/openapi_schema.h"
#include "apiserver/resources.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// Parameters behind '?' and in the path, as (name, in) with their type.
struct OpenApiParameter {
  std::string name;
  std::string in;    // "query", "path"
  std::string type;  // "string", "integer", "boolean"
};

struct OpenApiOperation {
  std::string method;  // "get"
  std::string id;      // "listCoreV1NamespacedPod"
  std::string tag;     // "core_v1"
  std::string action;  // "list"; empty if it is about no kind
  Value gvk;
  std::vector<OpenApiParameter> parameters;
  Value body;  // the reference to its schema; null if there is no body
  bool body_required = false;
  std::vector<std::string> consumes, produces;
  std::vector<int> codes;  // of success
  Value answer;            // the schema of the answer
};

// The operations of one path as a path item of either form; what all operations have in common stands beside them.
Value PathItem(const std::vector<OpenApiOperation>& operations, OpenApiForm form);

// Adds the paths of a version to `paths`.
void AddResourcePaths(const ServedGroup& group, const ServedVersion& version, Definitions& definitions, Value& paths);
// Adds the path that answers discovery: "/apis/apps/" with an APIGroup, ...
void AddDiscoveryPath(std::string_view path, std::string_view id, std::string_view tag, const TypeInfo& answer, Definitions& definitions,
                      Value& paths);

// "core", "apps", "rbacAuthorization", "stableExampleCom"
std::string OpenApiGroupTag(std::string_view group);
// "/api/v1", "/apis/apps/v1"
std::string RootOf(const ServedGroup& group, const ServedVersion& version);
// The first letter in upper case.
std::string Capitalized(std::string_view word);

}  // namespace kube::apiserver
