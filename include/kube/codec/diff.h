// Diff: what is different between two objects, for logs, tests and people.
//
//   for (const Difference& d : Diff(before, after)) ...
//   Log(ToString(Diff(before, after)));
//
//   ~ spec.replicas: 1 -> 3
//   ~ spec.template.spec.containers[name=web].image: "web:1" -> "web:2"
//   + metadata.labels[tier]: "front"
//   - spec.template.spec.containers[name=sidecar]: {"image":"proxy","name":"sidecar"}
//
// Lists are compared by key where the table has one, as sets where it says so, else by place after what both have in common at the
// start and at the end. Quantities compare by amount. The data of a core/v1 Secret is never shown, only its size.
// For something a server can act on, use the patches of kube/codec/patch.h. Thread safety: may be called from anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/base/export.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube {

struct Difference {
  enum class Kind : std::uint8_t {
    kChanged,
    kAdded,    // `before` is empty
    kRemoved,  // `after` is empty
    kOmitted,  // not a difference: there are more of them than asked for; `path` says how many
  };
  Kind kind = Kind::kChanged;
  std::string path{};    // spec.containers[name=web].image; empty for the whole
  std::string before{};  // as JSON, cut where it is long
  std::string after{};
};

struct DiffOptions {
  std::size_t max_differences = 200;
  std::size_t max_value_bytes = 256;
};

// Empty exactly where the two are equal.
KUBE_EXPORT std::vector<Difference> Diff(const TypeInfo& type, const void* before, const void* after, const DiffOptions& options = {});
KUBE_EXPORT std::vector<Difference> Diff(const Value& before, const Value& after, const DiffOptions& options = {});

template <Described T>
std::vector<Difference> Diff(const T& before, const T& after, const DiffOptions& options = {}) {
  return Diff(T::kType, &before, &after, options);
}

// One line each, with a line feed after each.
KUBE_EXPORT std::string ToString(const std::vector<Difference>& differences);

}  // namespace kube
