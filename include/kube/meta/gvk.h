// Names of kinds and resources.
//
//   GroupVersion                  apps/v1: what stands in `apiVersion`
//   GroupVersionKind (Gvk)        apps/v1, Kind=Deployment: what an object is
//   GroupVersionResource (Gvr)    apps/v1, Resource=deployments: where a server keeps it
//   GroupKind, GroupResource      the same without a version
//   ParseResourceArg, ParseKindArg   what people type: deployments.v1.apps, deployments.apps, Deployment.v1.apps
//
// The group of core kinds is empty. Which Gvr belongs to which Gvk is for a server to say (or for a type's table, see resource.h).
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/meta/object_key.h"
#include "kube/value/string.h"

namespace kube {

struct GroupVersionKind;
struct GroupVersionResource;

struct KUBE_EXPORT GroupVersion {
  String group{};
  String version{};

  // Reads an apiVersion: "v1" or "apps/v1". Empty text is the empty GroupVersion; more than one '/' is an error.
  static Result<GroupVersion> Parse(std::string_view api_version);
  // "apps/v1", or "v1" for core.
  std::string ToString() const;
  bool empty() const { return group.empty() && version.empty(); }

  GroupVersionKind WithKind(String kind) const;
  GroupVersionResource WithResource(String resource) const;

  friend bool operator==(const GroupVersion&, const GroupVersion&) = default;
  friend std::strong_ordering operator<=>(const GroupVersion&, const GroupVersion&) = default;
};

struct KUBE_EXPORT GroupKind {
  String group{};
  String kind{};

  // Reads "Deployment.apps" or "Pod": all behind the first dot is the group.
  static GroupKind Parse(std::string_view text);
  std::string ToString() const;
  bool empty() const { return group.empty() && kind.empty(); }

  GroupVersionKind WithVersion(String version) const;

  friend bool operator==(const GroupKind&, const GroupKind&) = default;
  friend std::strong_ordering operator<=>(const GroupKind&, const GroupKind&) = default;
};

struct KUBE_EXPORT GroupResource {
  String group{};
  String resource{};

  // Reads "deployments.apps" or "pods": all behind the first dot is the group.
  static GroupResource Parse(std::string_view text);
  std::string ToString() const;
  bool empty() const { return group.empty() && resource.empty(); }

  GroupVersionResource WithVersion(String version) const;

  friend bool operator==(const GroupResource&, const GroupResource&) = default;
  friend std::strong_ordering operator<=>(const GroupResource&, const GroupResource&) = default;
};

struct KUBE_EXPORT GroupVersionKind {
  String group{};
  String version{};
  String kind{};

  // From the two fields that every object has.
  static Result<GroupVersionKind> Parse(std::string_view api_version, std::string_view kind);
  // "apps/v1, Kind=Deployment": for people, does not parse back.
  std::string ToString() const;
  bool empty() const { return group.empty() && version.empty() && kind.empty(); }

  GroupVersion group_version() const { return {group, version}; }
  GroupKind group_kind() const { return {group, kind}; }
  // What stands in `apiVersion`.
  String api_version() const { return String(group_version().ToString()); }

  friend bool operator==(const GroupVersionKind&, const GroupVersionKind&) = default;
  friend std::strong_ordering operator<=>(const GroupVersionKind&, const GroupVersionKind&) = default;
};
using Gvk = GroupVersionKind;

struct KUBE_EXPORT GroupVersionResource {
  String group{};
  String version{};
  String resource{};

  // "apps/v1, Resource=deployments": for people, does not parse back.
  std::string ToString() const;
  bool empty() const { return group.empty() && version.empty() && resource.empty(); }

  GroupVersion group_version() const { return {group, version}; }
  GroupResource group_resource() const { return {group, resource}; }

  friend bool operator==(const GroupVersionResource&, const GroupVersionResource&) = default;
  friend std::strong_ordering operator<=>(const GroupVersionResource&, const GroupVersionResource&) = default;
};
using Gvr = GroupVersionResource;

// What a person typed, both ways to read it. "deployments.v1.apps" is version v1 of group apps or group v1.apps;
// only a server knows, so both are tried. The versioned reading needs at least two dots.
struct ResourceArg {
  std::optional<GroupVersionResource> versioned{};
  GroupResource unversioned{};
};
struct KindArg {
  std::optional<GroupVersionKind> versioned{};
  GroupKind unversioned{};
};
KUBE_EXPORT ResourceArg ParseResourceArg(std::string_view arg);
KUBE_EXPORT KindArg ParseKindArg(std::string_view arg);

// Streams and googletest: a template, so that this header needs no stream header.
template <typename Stream, typename T>
requires(std::is_same_v<T, GroupVersion> || std::is_same_v<T, GroupKind> || std::is_same_v<T, GroupResource> ||
         std::is_same_v<T, GroupVersionKind> || std::is_same_v<T, GroupVersionResource>) &&
    requires(Stream& s) {
  s.setstate(s.badbit);
}
Stream& operator<<(Stream& stream, const T& t) {
  stream << t.ToString();
  return stream;
}

}  // namespace kube

template <>
struct std::hash<kube::GroupVersion> {
  std::size_t operator()(const kube::GroupVersion& v) const noexcept { return kube::internal::HashStrings(v.group, v.version); }
};
template <>
struct std::hash<kube::GroupKind> {
  std::size_t operator()(const kube::GroupKind& v) const noexcept { return kube::internal::HashStrings(v.group, v.kind); }
};
template <>
struct std::hash<kube::GroupResource> {
  std::size_t operator()(const kube::GroupResource& v) const noexcept { return kube::internal::HashStrings(v.group, v.resource); }
};
template <>
struct std::hash<kube::GroupVersionKind> {
  std::size_t operator()(const kube::GroupVersionKind& v) const noexcept { return kube::internal::HashStrings(v.group, v.version, v.kind); }
};
template <>
struct std::hash<kube::GroupVersionResource> {
  std::size_t operator()(const kube::GroupVersionResource& v) const noexcept {
    return kube::internal::HashStrings(v.group, v.version, v.resource);
  }
};
