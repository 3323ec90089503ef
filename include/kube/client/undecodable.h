// Objects of a list or watch that cannot be decoded: wrong shape, nested too deep, numbers out of range.
//
//   std::vector<UndecodableObject> skipped;
//   Result<ObjectList<Pod>> pods = client.List<Pod>(ctx, {.undecodable = &skipped});     // without it the list fails
//
// Informers skip such objects and continue (docs/informers.md). A cached read of one fails with an error for which IsUndecodable is true
// and IsNotFound is false: the object exists, so its dependents must stay.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/meta/object_key.h"
#include "kube/value/string.h"

namespace kube {

// The parts of the object that could be read.
struct UndecodableObject {
  ObjectKey key{};  // no name: not even that could be read
  String uid{};
  String resource_version{};
  std::string error{};  // the reason, in one line of at most 512 bytes

  // Whether the name could be read.
  bool named() const { return !key.name.empty(); }
};

namespace internal {
inline constexpr std::string_view kUndecodableReason = "Undecodable";
}

// True if a read failed because the object exists but cannot be decoded. Retry: the object may change.
inline bool IsUndecodable(const Error& e) { return e.kind() == ErrorKind::kDecode && e.reason() == internal::kUndecodableReason; }

}  // namespace kube
