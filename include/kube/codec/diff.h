// Diff: the differences between two objects, for logs, tests and display.
//
//   for (const Difference& d : Diff(before, after)) ...
//   Log(ToString(Diff(before, after)));
//
//   ~ spec.replicas: 1 -> 3
//   ~ spec.template.spec.containers[name=web].image: "web:1" -> "web:2"
//   + metadata.labels[tier]: "front"
//   - spec.template.spec.containers[name=sidecar]: {"image":"proxy","name":"sidecar"}
//
// Lists are compared by key if the table defines one, as sets if it says so, and otherwise by position after their common start and end.
// Quantities compare by amount. The data of a core/v1 Secret is never shown, only its size. For changes that a server can apply, use the
// patches of kube/codec/patch.h.
// Thread safety: may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/base/export.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube {

// One difference.
struct Difference {
  // The type of a difference.
  enum class Kind : std::uint8_t {
    kChanged,
    kAdded,    // `before` is empty
    kRemoved,  // `after` is empty
    kOmitted,  // not a difference: max_differences was exceeded; `path` states how many were left out
  };
  Kind kind = Kind::kChanged;
  std::string path{};    // spec.containers[name=web].image; empty for the whole object
  std::string before{};  // as JSON, shortened to max_value_bytes
  std::string after{};
};

// Limits of the output.
struct DiffOptions {
  std::size_t max_differences = 200;
  std::size_t max_value_bytes = 256;
};

// Empty if and only if the two are equal.
KUBE_EXPORT std::vector<Difference> Diff(const TypeInfo& type, const void* before, const void* after, const DiffOptions& options = {});
KUBE_EXPORT std::vector<Difference> Diff(const Value& before, const Value& after, const DiffOptions& options = {});

template <Described T>
std::vector<Difference> Diff(const T& before, const T& after, const DiffOptions& options = {}) {
  return Diff(T::kType, &before, &after, options);
}

// Formats one difference per line; each line ends with a line feed.
KUBE_EXPORT std::string ToString(const std::vector<Difference>& differences);

}  // namespace kube
