// What the server serves at this moment: the built-in resources and those that CustomResourceDefinitions add.
//
//   ServedResource    one resource in one version, with all that a verb needs to know about it
//   Resources         an immutable set of them; a CRD makes a new one
//   ResourceRegistry  the current set
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/schema.h"
#include "kube/base/mutex.h"
#include "kube/meta/gvk.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::apiserver {

struct BuiltinResource;
class StructuralSchema;
struct CustomConversion;

// Below 0 if `a` is the older version: v1alpha1 < v1beta1 < v1 < v2. Versions of any other form are older than these.
int CompareVersions(std::string_view a, std::string_view b);

struct ServedSubresource {
  std::string name;
  std::string group, version, kind;  // of what it reads and writes; group and version are empty if they are the parent's
  std::vector<std::string> verbs;
};

// A column of `kubectl get` that a CRD asks for.
struct PrinterColumn {
  std::string name, type, format, description, json_path;
  std::int64_t priority = 0;
};

// One version of a custom resource.
struct CustomResource {
  std::string crd_name, crd_uid;
  std::shared_ptr<const StructuralSchema> schema;
  std::shared_ptr<const StructuralSchema> storage_schema;  // of the stored version; the same as `schema` in that one
  Value raw_schema;                                        // openAPIV3Schema as it stands in the CRD
  std::vector<PrinterColumn> columns;
  std::vector<std::string> selectable_fields;  // "spec.color": the paths without their leading dot
  bool has_status = false;
  bool has_scale = false;
  std::string spec_replicas, status_replicas, label_selector;  // of scale: "spec.replicas"
  bool has_cel_rules = false;
  bool deprecated = false;
  std::string deprecation_warning;
  bool storage = false;
  std::shared_ptr<const CustomConversion> conversion;  // null: versions differ in nothing but their name
};

struct ServedResource {
  std::string group, version, resource, singular, kind, list_kind;
  bool namespaced = false;
  std::vector<std::string> short_names, categories, verbs;
  std::vector<ServedSubresource> subresources;
  const BuiltinResource* builtin = nullptr;  // exactly one of builtin and custom
  std::shared_ptr<const CustomResource> custom;
  const TypeInfo* type = nullptr;  // the table of a built-in kind
  SchemaRef schema;                // for server-side apply
  std::string storage;             // where the store keeps it: "apps/deployments"
  std::string storage_api_version, storage_kind;
  bool has_status = false;
  bool create_on_update = false;
  bool unconditional_update = true;
  bool returns_deleted = false;  // delete answers with the object, not with a Status

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  Gvk gvk() const { return {group, version, kind}; }
  const ServedSubresource* Subresource(std::string_view name) const;
  bool HasVerb(std::string_view verb) const;
};
using ResourcePtr = std::shared_ptr<const ServedResource>;

struct ServedVersion {
  std::string version;
  std::map<std::string, ResourcePtr, std::less<>> resources;  // by plural
};
struct ServedGroup {
  std::string name;
  std::vector<ServedVersion> versions;  // the preferred one first
  const ServedVersion* Find(std::string_view version) const;
};

// Immutable.
class Resources {
 public:
  // Built-in ones; with `all`, also alpha and beta versions.
  static std::shared_ptr<const Resources> Builtin(bool all);

  // Core first, then as in discovery.
  const std::vector<ServedGroup>& groups() const { return groups_; }
  const ServedGroup* FindGroup(std::string_view group) const;
  ResourcePtr Find(std::string_view group, std::string_view version, std::string_view resource) const;
  ResourcePtr FindKind(std::string_view group, std::string_view version, std::string_view kind) const;
  // In any version; the preferred one first.
  ResourcePtr FindKind(std::string_view group, std::string_view kind) const;
  // The version in which a stored resource ("apps/deployments") is preferred.
  ResourcePtr FindStorage(std::string_view storage) const;

  // The same with the resources of this CRD instead of those that it had before.
  std::shared_ptr<const Resources> WithCrd(std::string_view crd_name, std::vector<ResourcePtr> resources) const;
  std::shared_ptr<const Resources> WithoutCrd(std::string_view crd_name) const { return WithCrd(crd_name, {}); }

 private:
  void Add(ResourcePtr resource);
  std::vector<ServedGroup> groups_;
};

// Thread safety: all functions may be called from any thread.
class ResourceRegistry {
 public:
  explicit ResourceRegistry(bool all) : current_(Resources::Builtin(all)) {}
  std::shared_ptr<const Resources> current() const {
    MutexLock lock(mu_);
    return current_;
  }
  void SetCrd(std::string_view crd_name, std::vector<ResourcePtr> resources) {
    MutexLock lock(mu_);
    current_ = current_->WithCrd(crd_name, std::move(resources));
  }
  void RemoveCrd(std::string_view crd_name) { SetCrd(crd_name, {}); }

 private:
  mutable Mutex mu_;
  std::shared_ptr<const Resources> current_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::apiserver
