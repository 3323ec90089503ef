// Objects of a list or a watch that cannot be decoded: of the wrong shape, too deep, with numbers that do not fit.
//
//   std::vector<UndecodableObject> skipped;
//   Result<ObjectList<Pod>> pods = client.List<Pod>(ctx, {.undecodable = &skipped});     // all others; without it the list fails
//
// Informers go on without such objects (docs/informers.md). A cached read of one fails with an error for which IsUndecodable is true and
// IsNotFound is not: the object exists, so whatever depends on it must stay.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/meta/object_key.h"
#include "kube/value/string.h"

namespace kube {

// What could be read of the object nevertheless.
struct UndecodableObject {
  ObjectKey key{};  // without a name: not even that could be read
  String uid{};
  String resource_version{};
  std::string error{};  // why, in one line; at most 512 bytes

  bool named() const { return !key.name.empty(); }
};

namespace internal {
inline constexpr std::string_view kUndecodableReason = "Undecodable";
}

// True for a read of an object that exists and cannot be decoded. Try again: it may change.
inline bool IsUndecodable(const Error& e) { return e.kind() == ErrorKind::kDecode && e.reason() == internal::kUndecodableReason; }

}  // namespace kube
