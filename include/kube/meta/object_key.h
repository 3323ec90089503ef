// ObjectKey: namespace and name of an object. The item type of work queues and the key of caches; client-go's NamespacedName.
//
//   ObjectKey key{"default", "web"};                        // prints as default/web
//   Result<ObjectKey> same = ObjectKey::Parse("default/web");
//   ObjectKey node{"", "node-1"};                           // cluster-scoped: no namespace, prints as node-1
//
// KeyOf(object) in kube/meta/resource.h returns the key of an object.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/value/string.h"

namespace kube {

// The key of an object within its kind. Ordered by namespace, then name. Thread safety: as std::string.
struct KUBE_EXPORT ObjectKey {
  String ns{};  // empty for cluster-scoped objects
  String name{};

  // Parses "namespace/name" or "name". More than one '/' is an error; empty parts are allowed, as in client-go.
  static Result<ObjectKey> Parse(std::string_view text);
  // "namespace/name", or "name" without a namespace.
  std::string ToString() const;

  friend bool operator==(const ObjectKey&, const ObjectKey&) = default;
  friend std::strong_ordering operator<=>(const ObjectKey&, const ObjectKey&) = default;

  template <typename Stream>
  requires requires(Stream& s) { s.setstate(s.badbit); }
  friend Stream& operator<<(Stream& stream, const ObjectKey& key) {
    stream << key.ToString();
    return stream;
  }
};

namespace internal {
inline std::size_t CombineHash(std::size_t seed, std::size_t hash) {
  return seed ^ (hash + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2));
}
inline std::size_t HashStrings(const String& a, const String& b) { return CombineHash(std::hash<String>()(a), std::hash<String>()(b)); }
inline std::size_t HashStrings(const String& a, const String& b, const String& c) {
  return CombineHash(HashStrings(a, b), std::hash<String>()(c));
}
}  // namespace internal

}  // namespace kube

template <>
struct std::hash<kube::ObjectKey> {
  std::size_t operator()(const kube::ObjectKey& key) const noexcept { return kube::internal::HashStrings(key.ns, key.name); }
};
