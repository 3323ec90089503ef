// Names of kinds and resources, as in apimachinery's schema package.
//
//   GroupVersion                  apps/v1: the value of `apiVersion`
//   GroupVersionKind (Gvk)        apps/v1, Kind=Deployment: the type of an object
//   GroupVersionResource (Gvr)    apps/v1, Resource=deployments: the endpoint that serves it
//   GroupKind, GroupResource      the same without a version
//   ParseResourceArg, ParseKindArg   command-line arguments: deployments.v1.apps, deployments.apps, Deployment.v1.apps
//
// The core group is the empty string. The mapping between Gvk and Gvr comes from a server (rest_mapper.h) or from a type's table
// (resource.h).
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

// A group and a version.
struct KUBE_EXPORT GroupVersion {
  String group{};
  String version{};

  // Parses an apiVersion: "v1" or "apps/v1". Empty text is the empty GroupVersion; more than one '/' is an error.
  static Result<GroupVersion> Parse(std::string_view api_version);
  // "apps/v1", or "v1" for the core group.
  std::string ToString() const;
  bool empty() const { return group.empty() && version.empty(); }

  // WithKind and WithResource add a kind or a resource.
  GroupVersionKind WithKind(String kind) const;
  GroupVersionResource WithResource(String resource) const;

  friend bool operator==(const GroupVersion&, const GroupVersion&) = default;
  friend std::strong_ordering operator<=>(const GroupVersion&, const GroupVersion&) = default;
};

// A group and a kind.
struct KUBE_EXPORT GroupKind {
  String group{};
  String kind{};

  // Parses "Deployment.apps" or "Pod": everything after the first dot is the group.
  static GroupKind Parse(std::string_view text);
  // "Deployment.apps", or "Pod" for the core group.
  std::string ToString() const;
  bool empty() const { return group.empty() && kind.empty(); }

  // Completes the name with a version.
  GroupVersionKind WithVersion(String version) const;

  friend bool operator==(const GroupKind&, const GroupKind&) = default;
  friend std::strong_ordering operator<=>(const GroupKind&, const GroupKind&) = default;
};

// A group and a resource.
struct KUBE_EXPORT GroupResource {
  String group{};
  String resource{};

  // Parses "deployments.apps" or "pods": everything after the first dot is the group.
  static GroupResource Parse(std::string_view text);
  // "deployments.apps", or "pods" for the core group.
  std::string ToString() const;
  bool empty() const { return group.empty() && resource.empty(); }

  // Completes the name with a version.
  GroupVersionResource WithVersion(String version) const;

  friend bool operator==(const GroupResource&, const GroupResource&) = default;
  friend std::strong_ordering operator<=>(const GroupResource&, const GroupResource&) = default;
};

// The full name of a kind.
struct KUBE_EXPORT GroupVersionKind {
  String group{};
  String version{};
  String kind{};

  // Combines the apiVersion and kind fields of an object.
  static Result<GroupVersionKind> Parse(std::string_view api_version, std::string_view kind);
  // "apps/v1, Kind=Deployment": for display; does not parse back.
  std::string ToString() const;
  bool empty() const { return group.empty() && version.empty() && kind.empty(); }

  // The parts of the name.
  GroupVersion group_version() const { return {group, version}; }
  GroupKind group_kind() const { return {group, kind}; }
  // The value of the apiVersion field.
  String api_version() const { return String(group_version().ToString()); }

  friend bool operator==(const GroupVersionKind&, const GroupVersionKind&) = default;
  friend std::strong_ordering operator<=>(const GroupVersionKind&, const GroupVersionKind&) = default;
};
using Gvk = GroupVersionKind;  // GVK in client-go

// The full name of a resource.
struct KUBE_EXPORT GroupVersionResource {
  String group{};
  String version{};
  String resource{};

  // "apps/v1, Resource=deployments": for display; does not parse back.
  std::string ToString() const;
  bool empty() const { return group.empty() && version.empty() && resource.empty(); }

  // The parts of the name.
  GroupVersion group_version() const { return {group, version}; }
  GroupResource group_resource() const { return {group, resource}; }

  friend bool operator==(const GroupVersionResource&, const GroupVersionResource&) = default;
  friend std::strong_ordering operator<=>(const GroupVersionResource&, const GroupVersionResource&) = default;
};
using Gvr = GroupVersionResource;  // GVR in client-go

// Both readings of a command-line argument. "deployments.v1.apps" is version v1 of group apps, or group v1.apps; only a server can decide,
// so callers try both. The versioned reading needs at least two dots.
struct ResourceArg {
  std::optional<GroupVersionResource> versioned{};
  GroupResource unversioned{};
};
// The same for a kind.
struct KindArg {
  std::optional<GroupVersionKind> versioned{};
  GroupKind unversioned{};
};
KUBE_EXPORT ResourceArg ParseResourceArg(std::string_view arg);  // "deployments.v1.apps"
KUBE_EXPORT KindArg ParseKindArg(std::string_view arg);          // "Deployment.v1.apps"

// For streams and googletest. It is a template, so that this header needs no stream header.
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
