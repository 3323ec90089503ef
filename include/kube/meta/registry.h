// TypeRegistry: from the name of a kind to its table. How code that reads objects of any kind finds out what they are.
//
//   TypeRegistry registry;
//   registry.Add<core::v1::Pod, core::v1::PodList, apps::v1::Deployment>();
//   if (const TypeInfo* type = registry.Find(gvk)) { AnyObject object(*type); ... }
//
// There is no global registry: a program links the tables that it names, and nothing else. Kinds without a table are read as
// DynamicObject.
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

// Later entries replace earlier ones of the same name, so a program may put its own struct in the place of a built-in one.
// Tables must outlive the registry; generated ones live as long as the program.
//
// Thread safety: const functions may be called from many threads at once; fill it before it is shared.
class KUBE_EXPORT TypeRegistry {
 public:
  TypeRegistry() = default;
  // With the kinds that belong to no group of their own: Status, List, the options, Table, PartialObjectMetadata, ...
  static TypeRegistry WithMetaKinds();

  // Under the names in its KindInfo. A type that is no kind is passed over.
  void Add(const TypeInfo& type);
  void Add(std::span<const TypeInfo* const> types);
  template <Described... T>
  void Add() {
    (Add(T::kType), ...);
  }
  // Under another name.
  void AddAs(const Gvk& gvk, const TypeInfo& type);
  // The kinds that every group-version has besides its own, as servers accept them there: CreateOptions, DeleteOptions, GetOptions,
  // ListOptions, PatchOptions, UpdateOptions and WatchEvent.
  void AddOptionKinds(const GroupVersion& group_version);

  // Null where the registry does not have it.
  const TypeInfo* Find(const Gvk& gvk) const;
  const TypeInfo* Find(std::string_view api_version, std::string_view kind) const;
  // The type of the resource's objects (not of their list).
  const TypeInfo* FindByResource(const Gvr& gvr) const;
  // The list type that has items of this type.
  const TypeInfo* FindListOf(const TypeInfo& item) const;

  // As Find; the error names the kind and is IsNotRegistered.
  Result<const TypeInfo*> Get(const Gvk& gvk) const;

  std::size_t size() const { return by_kind_.size(); }
  // All names, sorted.
  std::vector<Gvk> Kinds() const;

 private:
  std::unordered_map<Gvk, const TypeInfo*> by_kind_;
  std::unordered_map<Gvr, const TypeInfo*> by_resource_;
  std::unordered_map<const TypeInfo*, const TypeInfo*> list_of_;  // item -> list
};

// True for the error of TypeRegistry::Get.
KUBE_EXPORT bool IsNotRegistered(const Error& e);

}  // namespace kube
