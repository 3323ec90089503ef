// The table lookups of strategic merge patches, and the parts that applying and creating them share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/keyed_hash.h"
#include "codec/path.h"
#include "kube/base/result.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::internal {

inline constexpr std::string_view kPatchDirective = "$patch";
inline constexpr std::string_view kRetainKeys = "$retainKeys";
inline constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
inline constexpr std::string_view kOrderPrefix = "$setElementOrder/";

inline bool HasPrefix(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }
inline bool IsDirective(std::string_view key) {
  return !key.empty() && key[0] == '$' &&
         (key == kPatchDirective || key == kRetainKeys || HasPrefix(key, kDeletePrefix) || HasPrefix(key, kOrderPrefix));
}
inline bool HasPatchDirective(const Value& value, std::string_view directive) {
  const Value* found = value.Find(kPatchDirective);
  return found != nullptr && found->is_string() && found->string_value() == directive;
}
// True for a merging list with the directive `[{"$patch": "replace"}, ...]`.
bool ReplacesList(const Value& list);

// The schema of the members of one object in a document: a struct's table, the values of a map, or nothing.
struct PatchSchema {
  const TypeInfo* type = nullptr;
  const FieldInfo* map = nullptr;
};

// The schema of one member.
struct PatchField {
  PatchSchema below;     // of the member, or of its elements if it is a list
  bool merge = false;    // a list that is merged
  bool replace = false;  // an object that is replaced
  bool retain_keys = false;
  std::string_view merge_key;  // empty for lists of plain values
};
PatchField LookUp(const PatchSchema& schema, std::string_view key);

// The text of a scalar; different scalars have different texts.
std::string KeyText(const Value& scalar);

// The text of an element's merge key, or of the element itself if `merge_key` is empty. Fails if the element lacks the key or its value is
// not a scalar.
Result<std::string> ElementKey(const Value& element, std::string_view merge_key, const Path* path);

// Maps the key of an element to its first position in a list.
class ElementIndex {
 public:
  static Result<ElementIndex> Make(const List<Value>& list, std::string_view merge_key, const Path* path);
  static constexpr std::size_t kMissing = static_cast<std::size_t>(-1);
  std::size_t Find(const std::string& key) const {
    auto it = first_.find(key);
    return it == first_.end() ? kMissing : it->second;
  }
  // Stores the position of the key, unless it has one.
  void Add(const std::string& key, std::size_t place) { first_.emplace(key, place); }
  bool has_duplicates() const { return has_duplicates_; }

 private:
  std::unordered_map<std::string, std::size_t, KeyedHash> first_;
  bool has_duplicates_ = false;
};

// The type of the elements of merging lists. Fails if they are mixed, null or lists.
enum class ElementClass { kNone, kScalar, kObject };
Result<ElementClass> ClassOf(const List<Value>& a, const List<Value>& b, const Path* path);

// Combines two patches: the effect of `deletions` and then `changes`. For three-way patches.
Result<Value> CombinePatches(const TypeInfo& type, const Value& deletions, const Value& changes);

}  // namespace kube::internal
