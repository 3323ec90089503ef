// TypeRegistry: finds the table of a kind by name, for code that decodes objects of any kind.
//
//   TypeRegistry registry;
//   registry.Add<core::v1::Pod, core::v1::PodList, apps::v1::Deployment>();
//   if (const TypeInfo* type = registry.Find(gvk)) { AnyObject object(*type); ... }
//
// There is no global registry: a program links only the tables that it names. Kinds without a table are decoded as DynamicObject.
#pragma once

#include <initializer_list>
#include <span>
#include <unordered_map>
#include <vector>

#include "kube/base/result.h"
#include "kube/meta/gvk.h"
#include "kube/meta/resource.h"
#include "kube/value/type_info.h"

namespace kube {

// Maps names to tables. A later entry replaces an earlier one of the same name, so a program may substitute its own struct for a built-in
// one. Tables must outlive the registry; generated ones are static.
//
// Thread safety: const functions may be called from many threads at once; fill it before it is shared.
class KUBE_EXPORT TypeRegistry {
 public:
  TypeRegistry() = default;
  // Returns a registry with the kinds of meta: Status, List, the options, Table, PartialObjectMetadata ...
  static TypeRegistry WithMetaKinds();

  // Adds a type under the names in its KindInfo. Skips a type that is not a kind.
  void Add(const TypeInfo& type);
  void Add(std::span<const TypeInfo* const> types);
  template <Described... T>
  void Add() {
    (Add(T::kType), ...);
  }
  // Adds a type under another name.
  void AddAs(const Gvk& gvk, const TypeInfo& type);
  // Adds the kinds that servers accept in every group-version: CreateOptions, DeleteOptions, GetOptions, ListOptions, PatchOptions,
  // UpdateOptions and WatchEvent.
  void AddOptionKinds(const GroupVersion& group_version);

  // Null if the kind is not registered.
  const TypeInfo* Find(const Gvk& gvk) const;
  const TypeInfo* Find(std::string_view api_version, std::string_view kind) const;
  // The type of the resource's objects, not of its list.
  const TypeInfo* FindByResource(const Gvr& gvr) const;
  // The list type whose items have this type.
  const TypeInfo* FindListOf(const TypeInfo& item) const;

  // As Find, with an error that names the kind (IsNotRegistered).
  Result<const TypeInfo*> Get(const Gvk& gvk) const;

  std::size_t size() const { return by_kind_.size(); }
  // All registered kinds, sorted.
  std::vector<Gvk> Kinds() const;

 private:
  std::unordered_map<Gvk, const TypeInfo*> by_kind_;
  std::unordered_map<Gvr, const TypeInfo*> by_resource_;
  std::unordered_map<const TypeInfo*, const TypeInfo*> list_of_;  // item -> list
};

// True for the error of TypeRegistry::Get.
KUBE_EXPORT bool IsNotRegistered(const Error& e);

}  // namespace kube
