// The built-in resources: what a server serves before CustomResourceDefinitions add any.
//
//   BuiltinResource    one resource in one version: names, scope, verbs, subresources, its table
//   Catalogue()        all of them, in the order of discovery
//   FindBuiltin(...)   by group, version and resource;  FindBuiltinKind(...)   by kind
//   BuiltinGroups()    the groups in the order of discovery, with their priorities
//
//   if (const BuiltinResource* r = FindBuiltin("apps", "v1", "deployments")) ... r->type, r->Subresource("scale")
//
// Facts of Kubernetes 1.36; the contract suite compares discovery with a real server.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/meta/gvk.h"
#include "kube/value/type_info.h"

namespace kube::apiserver {

struct BuiltinSubresource {
  std::string_view name;  // "status"
  // What it reads and writes. Group and version are empty if they are the parent's; discovery omits them then.
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  const TypeInfo* type = nullptr;
  std::vector<std::string_view> verbs;  // sorted
};

struct BuiltinResource {
  std::string_view group;
  std::string_view version;
  std::string_view resource;  // "deployments"
  std::string singular;       // "deployment"
  std::string_view kind;      // "Deployment"
  const TypeInfo* type = nullptr;
  bool namespaced = false;
  // False for alpha and beta versions, which a server serves only on request.
  bool enabled_by_default = true;
  // False if it is answered from the request and nothing is stored (TokenReview, Binding, ...).
  bool persisted = true;
  // metadata.generation starts at 1 and counts changes of the spec (strategy.h does both).
  bool has_generation = false;
  // A PUT to a name that does not exist creates the object.
  bool create_on_update = false;
  // A PUT without a resourceVersion is accepted.
  bool unconditional_update = true;
  std::vector<std::string_view> short_names;
  std::vector<std::string_view> categories;
  std::vector<std::string_view> verbs;  // sorted
  std::vector<BuiltinSubresource> subresources;
  // The kind in which objects are stored. Differs from `type` if one resource is served in several forms: events of events.k8s.io are core
  // events, autoscaling/v1 is autoscaling/v2. See convert.h.
  const TypeInfo* stored_type = nullptr;
  // The stored kind for storageVersionHash, as in a real server; empty if the resource has no such hash.
  std::string_view storage_group;
  std::string_view storage_version;

  bool HasSubresource(std::string_view name) const { return Subresource(name) != nullptr; }
  // Returns null if there is none of that name.
  const BuiltinSubresource* Subresource(std::string_view name) const;
  bool HasVerb(std::string_view verb) const;
  // "apps/v1", "v1".
  std::string api_version() const;
};

struct BuiltinGroup {
  std::string_view group;  // "" for core
  int priority = 0;        // groupPriorityMinimum of its APIServices; higher comes first in discovery
  struct Version {
    std::string_view version;
    int priority = 0;  // versionPriority
    bool enabled_by_default = true;
  };
  std::vector<Version> versions;  // the preferred one first
};

// Sorted by group as in discovery, by version as in its group, then by resource.
std::span<const BuiltinResource> Catalogue();
const BuiltinResource* FindBuiltin(std::string_view group, std::string_view version, std::string_view resource);
const BuiltinResource* FindBuiltinKind(std::string_view group, std::string_view version, std::string_view kind);
const BuiltinResource* FindBuiltin(const TypeInfo& type);

// Core first, then as in discovery.
std::span<const BuiltinGroup> BuiltinGroups();

}  // namespace kube::apiserver
