#include "kube/meta/registry.h"

#include <algorithm>

#include "kube/meta/v1.h"

namespace kube {

namespace {
constexpr char kNotRegistered[] = "NotRegistered";
}

TypeRegistry TypeRegistry::WithMetaKinds() {
  using namespace meta::v1;  // NOLINT(google-build-using-namespace): the names below are all from there
  TypeRegistry registry;
  registry.Add<APIGroup, APIGroupList, APIResourceList, APIVersions, Status, meta::v1::List, PartialObjectMetadata,
               PartialObjectMetadataList, Table, TableOptions>();
  registry.AddOptionKinds(kube::GroupVersion{"", "v1"});
  return registry;
}

void TypeRegistry::Add(const TypeInfo& type) {
  if (type.kind == nullptr) return;
  by_kind_[GvkOf(type)] = &type;
  if (!type.kind->resource.empty() && !type.kind->is_list) by_resource_[GvrOf(type)] = &type;
  if (const TypeInfo* item = ItemTypeOf(type)) list_of_[item] = &type;
}

void TypeRegistry::Add(std::span<const TypeInfo* const> types) {
  for (const TypeInfo* type : types) Add(*type);
}

void TypeRegistry::AddAs(const Gvk& gvk, const TypeInfo& type) { by_kind_[gvk] = &type; }

void TypeRegistry::AddOptionKinds(const GroupVersion& group_version) {
  AddAs(group_version.WithKind("CreateOptions"), meta::v1::CreateOptions::kType);
  AddAs(group_version.WithKind("DeleteOptions"), meta::v1::DeleteOptions::kType);
  AddAs(group_version.WithKind("GetOptions"), meta::v1::GetOptions::kType);
  AddAs(group_version.WithKind("ListOptions"), meta::v1::ListOptions::kType);
  AddAs(group_version.WithKind("PatchOptions"), meta::v1::PatchOptions::kType);
  AddAs(group_version.WithKind("UpdateOptions"), meta::v1::UpdateOptions::kType);
  AddAs(group_version.WithKind(meta::v1::kWatchEventKind), meta::v1::WatchEvent::kType);
}

const TypeInfo* TypeRegistry::Find(const Gvk& gvk) const {
  auto it = by_kind_.find(gvk);
  return it != by_kind_.end() ? it->second : nullptr;
}

const TypeInfo* TypeRegistry::Find(std::string_view api_version, std::string_view kind) const {
  Result<Gvk> gvk = Gvk::Parse(api_version, kind);
  return gvk ? Find(*gvk) : nullptr;
}

const TypeInfo* TypeRegistry::FindByResource(const Gvr& gvr) const {
  auto it = by_resource_.find(gvr);
  return it != by_resource_.end() ? it->second : nullptr;
}

const TypeInfo* TypeRegistry::FindListOf(const TypeInfo& item) const {
  auto it = list_of_.find(&item);
  return it != list_of_.end() ? it->second : nullptr;
}

Result<const TypeInfo*> TypeRegistry::Get(const Gvk& gvk) const {
  if (const TypeInfo* type = Find(gvk)) return type;
  Error::Payload payload;
  payload.kind = ErrorKind::kInvalid;
  payload.reason = kNotRegistered;
  payload.message = "no type is registered for kind " + gvk.kind.str() + " of " + gvk.group_version().ToString();
  payload.resource_group = gvk.group.str();
  payload.resource_kind = gvk.kind.str();
  return Error(std::move(payload));
}

std::vector<Gvk> TypeRegistry::Kinds() const {
  std::vector<Gvk> kinds;
  kinds.reserve(by_kind_.size());
  for (const auto& entry : by_kind_) kinds.push_back(entry.first);
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

bool IsNotRegistered(const Error& e) { return e.kind() == ErrorKind::kInvalid && e.reason() == kNotRegistered; }

}  // namespace kube
