// The current position of a decoder or encoder in an object: a chain of stack frames, converted to text only for errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kube::internal {

struct Path {
  const Path* parent = nullptr;
  std::string_view name;    // a field, or a map key if is_key
  std::int64_t index = -1;  // a list element if >= 0
  bool is_key = false;

  static Path Field(const Path* parent, std::string_view name) { return {parent, name, -1, false}; }
  static Path Key(const Path* parent, std::string_view key) { return {parent, key, -1, true}; }
  static Path Index(const Path* parent, std::int64_t i) { return {parent, {}, i, false}; }
};

// "spec.containers[0].ports[1].containerPort", "metadata.labels[app]". Empty for the root. Very long paths are cut in the middle.
std::string ToString(const Path* path);

// "PATH: MESSAGE", or the message alone at the root.
std::string At(const Path* path, std::string_view message);

}  // namespace kube::internal
