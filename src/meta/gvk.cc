#include "kube/meta/gvk.h"

#include "value/quote.h"

namespace kube {

namespace {

std::string Concat(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) out += part;
  return out;
}

// "first.rest"; rest is empty if there is no dot.
std::pair<std::string_view, std::string_view> CutAtDot(std::string_view text) {
  std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return {text, {}};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

std::string DottedName(const String& name, const String& group) { return group.empty() ? name.str() : Concat({name, ".", group}); }

}  // namespace

Result<GroupVersion> GroupVersion::Parse(std::string_view api_version) {
  std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return GroupVersion{"", api_version};
  if (api_version.find('/', slash + 1) != std::string_view::npos) {
    return Error::Invalid("apiVersion " + internal::Quote(api_version) + " has more than one '/'; expected group/version or version");
  }
  return GroupVersion{api_version.substr(0, slash), api_version.substr(slash + 1)};
}

std::string GroupVersion::ToString() const { return group.empty() ? version.str() : Concat({group, "/", version}); }

GroupVersionKind GroupVersion::WithKind(String kind) const { return {group, version, std::move(kind)}; }
GroupVersionResource GroupVersion::WithResource(String resource) const { return {group, version, std::move(resource)}; }

GroupKind GroupKind::Parse(std::string_view text) {
  auto [kind, group] = CutAtDot(text);
  return {group, kind};
}
std::string GroupKind::ToString() const { return DottedName(kind, group); }
GroupVersionKind GroupKind::WithVersion(String version) const { return {group, std::move(version), kind}; }

GroupResource GroupResource::Parse(std::string_view text) {
  auto [resource, group] = CutAtDot(text);
  return {group, resource};
}
std::string GroupResource::ToString() const { return DottedName(resource, group); }
GroupVersionResource GroupResource::WithVersion(String version) const { return {group, std::move(version), resource}; }

Result<GroupVersionKind> GroupVersionKind::Parse(std::string_view api_version, std::string_view kind) {
  Result<GroupVersion> gv = GroupVersion::Parse(api_version);
  if (!gv) return gv.error();
  return gv->WithKind(kind);
}
std::string GroupVersionKind::ToString() const { return Concat({group, "/", version, ", Kind=", kind}); }

std::string GroupVersionResource::ToString() const { return Concat({group, "/", version, ", Resource=", resource}); }

ResourceArg ParseResourceArg(std::string_view arg) {
  ResourceArg out{.versioned = {}, .unversioned = GroupResource::Parse(arg)};
  auto [resource, rest] = CutAtDot(arg);
  if (rest.find('.') != std::string_view::npos) {
    auto [version, group] = CutAtDot(rest);
    out.versioned = GroupVersionResource{group, version, resource};
  }
  return out;
}

KindArg ParseKindArg(std::string_view arg) {
  KindArg out{.versioned = {}, .unversioned = GroupKind::Parse(arg)};
  auto [kind, rest] = CutAtDot(arg);
  if (rest.find('.') != std::string_view::npos) {
    auto [version, group] = CutAtDot(rest);
    out.versioned = GroupVersionKind{group, version, kind};
  }
  return out;
}

}  // namespace kube
