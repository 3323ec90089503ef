// Strategic merge patches: creating them from two or three versions of an object.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/strategic_schema.h"
#include "kube/codec/patch.h"

namespace kube {
namespace internal {
namespace {

struct DiffOptions {
  bool set_element_order = true;
  bool ignore_changes = false;  // and additions
  bool ignore_deletions = false;
};

std::string DirectiveKey(std::string_view prefix, std::string_view field) { return std::string(prefix) + std::string(field); }

// A member with the name of a directive would be taken for one when the patch is applied.
Result<void> CheckNoDirectives(const Value& value, const Path* path) {
  for (const auto& [key, member] : value.object()) {
    Path at = Path::Field(path, key);
    if (IsDirective(key)) return Error::Invalid(At(&at, "has the name of a directive, so a patch cannot set it"));
    if (auto r = CheckNoDirectives(member, &at); !r) return r;
  }
  for (std::size_t i = 0; i < value.list().size(); ++i) {
    Path at = Path::Index(path, static_cast<std::int64_t>(i));
    if (auto r = CheckNoDirectives(value.list()[i], &at); !r) return r;
  }
  return {};
}

class Differ {
 public:
  explicit Differ(DiffOptions options) : options_(options) {}

  Result<Value> DiffObjects(const Value& original, const Value& modified, const PatchSchema& schema, bool retain_keys, const Path* path) {
    Value patch = Value::Object();
    for (const auto& [key, after] : modified.object()) {
      Path at = Path::Field(path, key);
      const Value* before = original.Find(key);
      if (before != nullptr && *before == after) continue;
      if (IsDirective(key)) return Error::Invalid(At(&at, "has the name of a directive, so a patch cannot set it"));
      Result<void> done;
      if (before != nullptr && before->is_object() && after.is_object()) {
        done = DiffMember(key, *before, after, schema, patch, &at);
      } else if (before != nullptr && before->is_list() && after.is_list()) {
        PatchField field = LookUp(schema, key);
        done = field.merge ? DiffLists(key, before->list(), after.list(), field, patch, &at) : Set(patch, key, after, &at);
      } else {
        done = Set(patch, key, after, &at);
      }
      if (!done) return done.error();
    }
    bool drops = false;
    for (const auto& [key, before] : original.object()) {
      if (modified.Find(key) != nullptr) continue;
      Path at = Path::Field(path, key);
      if (IsDirective(key)) return Error::Invalid(At(&at, "has the name of a directive, so a patch cannot remove it"));
      if (!before.is_null()) drops = true;
      if (!options_.ignore_deletions) patch[key.view()] = Value();
    }
    if (retain_keys && (drops || !patch.object().empty())) {
      List<Value> keys;
      for (const auto& [key, after] : modified.object()) {
        if (!after.is_null()) keys.push_back(key);
      }
      if (!keys.empty()) patch[kRetainKeys] = std::move(keys);
    }
    return patch;
  }

 private:
  DiffOptions options_;

  Result<void> Set(Value& patch, const String& key, const Value& value, const Path* path) {
    if (options_.ignore_changes) return {};
    if (auto r = CheckNoDirectives(value, path); !r) return r;
    patch[key.view()] = value;
    return {};
  }

  Result<void> DiffMember(const String& key, const Value& before, const Value& after, const PatchSchema& schema, Value& patch,
                          const Path* path) {
    PatchField field = LookUp(schema, key);
    if (field.replace) return Set(patch, key, after, path);
    Result<Value> below = DiffObjects(before, after, field.below, field.retain_keys, path);
    if (!below) return below.error();
    if (!below->object().empty()) patch[key.view()] = *std::move(below);
    return {};
  }

  Result<void> DiffLists(const String& key, const List<Value>& original, const List<Value>& modified, const PatchField& field, Value& patch,
                         const Path* path) {
    Result<ElementClass> elements = ClassOf(original, modified, path);
    if (!elements) return elements.error();
    if (*elements == ElementClass::kNone) return {};
    if (*elements == ElementClass::kScalar) return DiffScalars(key, original, modified, patch);
    if (field.merge_key.empty()) return Error::Invalid(At(path, "objects cannot be merged without a merge key"));
    return DiffElements(key, original, modified, field, patch, path);
  }

  static Value Removal(std::string_view merge_key, const Value& name) {
    return Value::Object({{String(merge_key), name}, {String(kPatchDirective), "delete"}});
  }

  // Plain values that are merged are a set: an existing duplicate stays once.
  Result<void> DiffScalars(const String& key, const List<Value>& original, const List<Value>& modified, Value& patch) {
    std::set<std::string> before;
    std::set<std::string> after;
    List<Value> added;
    List<Value> deleted;
    for (const Value& value : original) before.insert(KeyText(value));
    for (const Value& value : modified) {
      std::string text = KeyText(value);
      bool fresh = after.insert(text).second;
      if (fresh && before.count(text) == 0) added.push_back(value);
    }
    std::map<std::string, Value> gone;  // sorted: the order of removals does not matter
    for (const Value& value : original) {
      std::string text = KeyText(value);
      if (after.count(text) == 0) gone.emplace(text, value);
    }
    for (const auto& [text, value] : gone) deleted.push_back(value);
    // Adding what is there already makes all values unique.
    if (added.empty() && before.size() < original.size() && !modified.empty()) added.push_back(modified[0]);

    bool reorder = options_.set_element_order && !original.empty() && !modified.empty() &&
                   (!options_.ignore_changes || (!options_.ignore_deletions && !deleted.empty()));
    if (!options_.ignore_changes && !added.empty()) patch[key.view()] = added;
    if (!options_.ignore_deletions && !deleted.empty()) patch[DirectiveKey(kDeletePrefix, key)] = deleted;
    if (reorder) patch[DirectiveKey(kOrderPrefix, key)] = modified;
    return {};
  }

  Result<void> DiffElements(const String& key, const List<Value>& original, const List<Value>& modified, const PatchField& field,
                            Value& patch, const Path* path) {
    Result<ElementIndex> before = ElementIndex::Make(original, field.merge_key, path);
    if (!before) return before.error();
    Result<ElementIndex> after = ElementIndex::Make(modified, field.merge_key, path);
    if (!after) return after.error();
    if (before->has_duplicates() || after->has_duplicates()) return ReplaceList(key, original, modified, *after, field, patch, path);

    List<Value> changes;
    bool same_order = original.size() == modified.size();
    for (std::size_t i = 0; i < modified.size(); ++i) {
      Path at = Path::Index(path, static_cast<std::int64_t>(i));
      const Value& element = modified[i];
      std::size_t place = before->Find(*ElementKey(element, field.merge_key, &at));
      if (place != i) same_order = false;
      if (place == ElementIndex::kMissing) {
        if (options_.ignore_changes) continue;
        if (auto r = CheckNoDirectives(element, &at); !r) return r;
        changes.push_back(element);
        continue;
      }
      Result<Value> below = DiffObjects(original[place], element, field.below, field.retain_keys, &at);
      if (!below) return below.error();
      if (below->object().empty()) continue;
      (*below)[field.merge_key] = element[field.merge_key];
      changes.push_back(*std::move(below));
    }
    if (!options_.ignore_deletions) {
      std::map<std::string, Value> gone;
      for (const Value& element : original) {
        std::string text = *ElementKey(element, field.merge_key, path);
        if (after->Find(text) == ElementIndex::kMissing) gone.emplace(text, element[field.merge_key]);
      }
      for (const auto& [text, name] : gone) changes.push_back(Removal(field.merge_key, name));
    }
    bool reorder = options_.set_element_order && !original.empty() && !modified.empty() &&
                   (!changes.empty() || (!same_order && !options_.ignore_changes));
    if (!changes.empty()) patch[key.view()] = std::move(changes);
    if (reorder) {
      List<Value> order;
      for (const Value& element : modified) order.push_back(Value::Object({{String(field.merge_key), element[field.merge_key]}}));
      patch[DirectiveKey(kOrderPrefix, key)] = std::move(order);
    }
    return {};
  }

  // Elements that share a merge key (a Service's port 53 for TCP and UDP) are indistinguishable when the patch is applied.
  Result<void> ReplaceList(const String& key, const List<Value>& original, const List<Value>& modified, const ElementIndex& after,
                           const PatchField& field, Value& patch, const Path* path) {
    if (options_.ignore_changes) {
      // Only for a three-way patch: elements missing from the last configuration. The list as a whole is deleted only if it has to be.
      List<Value> deletions;
      Result<ElementIndex> before = ElementIndex::Make(original, field.merge_key, path);
      std::vector<std::size_t> left(original.size(), 0);
      for (const Value& element : original) ++left[before->Find(*ElementKey(element, field.merge_key, path))];
      bool replace = false;
      for (const Value& element : modified) {
        std::size_t place = before->Find(*ElementKey(element, field.merge_key, path));
        if (place != ElementIndex::kMissing && left[place] > 0) --left[place];
      }
      for (std::size_t i = 0; i < original.size(); ++i) {
        if (left[i] == 0) continue;
        if (after.Find(*ElementKey(original[i], field.merge_key, path)) != ElementIndex::kMissing) replace = true;
        deletions.push_back(Removal(field.merge_key, original[i][field.merge_key]));
      }
      if (!replace) {
        if (!deletions.empty()) patch[key.view()] = std::move(deletions);
        return {};
      }
    }
    if (options_.ignore_deletions && ContainsAll(original, modified)) return {};
    List<Value> whole = {Value::Object({{String(kPatchDirective), "replace"}})};
    for (const Value& element : modified) whole.push_back(element);
    for (std::size_t i = 1; i < whole.size(); ++i) {
      Path at = Path::Index(path, static_cast<std::int64_t>(i - 1));
      if (auto r = CheckNoDirectives(std::as_const(whole)[i], &at); !r) return r;
    }
    patch[key.view()] = std::move(whole);
    return {};
  }

  // True if each element of `part` lies over some element of `list` without changing it.
  static bool ContainsAll(const List<Value>& list, const List<Value>& part) {
    std::vector<bool> used(list.size(), false);
    for (const Value& wanted : part) {
      std::size_t i = 0;
      while (i < list.size() && (used[i] || !(ApplyMergePatch(list[i], wanted) == list[i]))) ++i;
      if (i == list.size()) return false;
      used[i] = true;
    }
    return true;
  }
};

// The path of a place that both patches change, each in its own way; nothing if there is none.
std::optional<std::string> FindConflict(const Value& left, const Value& right, const PatchField& field, const Path* path);

std::optional<std::string> FindObjectConflict(const Value& left, const Value& right, const PatchSchema& schema, const Path* path) {
  for (const auto& [key, change] : left.object()) {
    const Value* other = right.Find(key);
    if (other == nullptr || IsDirective(key)) continue;
    Path at = Path::Field(path, key);
    if (auto found = FindConflict(change, *other, LookUp(schema, key), &at)) return found;
  }
  return std::nullopt;
}

std::optional<std::string> FindConflict(const Value& left, const Value& right, const PatchField& field, const Path* path) {
  if (left == right) return std::nullopt;
  if (left.is_object() && right.is_object()) {
    // A directive is about the whole object.
    const Value* a = left.Find(kPatchDirective);
    const Value* b = right.Find(kPatchDirective);
    if ((a == nullptr) != (b == nullptr) || (a != nullptr && !(*a == *b))) return ToString(path);
    if (field.replace) return std::nullopt;
    return FindObjectConflict(left, right, field.below, path);
  }
  if (!left.is_list() || !right.is_list()) return ToString(path);
  bool objects = !left.list().empty() && left.list()[0].is_object();
  if (!field.merge) {
    if (objects || left.list().size() != right.list().size()) return ToString(path);
    // Another order of plain values is no conflict.
    std::set<std::string> a;
    std::set<std::string> b;
    for (const Value& value : left.list()) a.insert(KeyText(value));
    for (const Value& value : right.list()) b.insert(KeyText(value));
    return a == b ? std::nullopt : std::optional<std::string>(ToString(path));
  }
  if (!objects) return std::nullopt;
  if (ReplacesList(left) || ReplacesList(right)) return ToString(path);
  Result<ElementIndex> others = ElementIndex::Make(right.list(), field.merge_key, path);
  if (!others) return ToString(path);
  for (const Value& element : left.list()) {
    Result<std::string> key = ElementKey(element, field.merge_key, path);
    if (!key) return ToString(path);
    std::size_t place = others->Find(*key);
    if (place == ElementIndex::kMissing) continue;
    std::string name = std::string(field.merge_key) + "=" + key->substr(1);
    Path at = Path::Key(path, name);
    PatchField of_element;
    of_element.below = field.below;
    if (auto found = FindConflict(element, right.list()[place], of_element, &at)) return found;
  }
  return std::nullopt;
}

Result<Value> Diff(const TypeInfo& type, const Value& original, const Value& modified, DiffOptions options) {
  for (const Value* document : {&original, &modified}) {
    if (!document->is_object() && !document->is_null()) {
      return Error::Invalid("only objects have strategic merge patches, not " + std::string(document->kind_name()));
    }
  }
  return Differ(options).DiffObjects(original, modified, PatchSchema{&type, nullptr}, false, nullptr);
}

constexpr std::string_view kConflictReason = "PatchConflict";

}  // namespace

Result<void> PatchObject(const TypeInfo& type, const void* object, PatchFormat format, std::string_view patch_json, void* out) {
  Result<Value> patch = ParseJson(patch_json);
  if (!patch) return patch.error().WithContext("patch");
  Result<Value> document = ToValue(type, object);
  if (!document) return document.error();
  Result<Value> patched = format == PatchFormat::kJson             ? ApplyJsonPatch(*document, *patch)
                          : format == PatchFormat::kStrategicMerge ? ApplyStrategicMergePatch(type, *document, *patch)
                                                                   : Result<Value>(ApplyMergePatch(*document, *patch));
  if (!patched) return patched.error();
  if (auto r = DecodeValue(type, out, *patched); !r) return r.error().WithContext("patched object");
  return {};
}

Result<Value> CreateTypedPatch(const TypeInfo& type, const void* from, const void* to, PatchFormat format) {
  Result<Value> before = ToValue(type, from);
  if (!before) return before.error();
  Result<Value> after = ToValue(type, to);
  if (!after) return after.error();
  if (format == PatchFormat::kJson) return CreateJsonPatch(*before, *after);
  if (format == PatchFormat::kMerge) return CreateMergePatch(*before, *after);
  return CreateTwoWayMergePatch(type, *before, *after);
}

}  // namespace internal

Result<Value> CreateTwoWayMergePatch(const TypeInfo& type, const Value& original, const Value& modified) {
  return internal::Diff(type, original, modified, {});
}

Result<Value> CreateThreeWayMergePatch(const TypeInfo& type, const Value& original, const Value& modified, const Value& current,
                                       bool overwrite) {
  // The changes from the live to the desired state without removing anything, and what was removed since the last time.
  Result<Value> changes = internal::Diff(type, current, modified, {.ignore_deletions = true});
  if (!changes) return changes;
  Result<Value> deletions = internal::Diff(type, original, modified, {.ignore_changes = true});
  if (!deletions) return deletions;
  Result<Value> patch = internal::CombinePatches(type, *deletions, *changes);
  if (!patch || overwrite) return patch;

  Result<Value> theirs = internal::Diff(type, original, current, {.set_element_order = false});
  if (!theirs) return theirs;
  internal::PatchField root;
  root.below.type = &type;
  if (auto place = internal::FindConflict(*patch, *theirs, root, nullptr)) {
    Error::Payload conflict;
    conflict.kind = ErrorKind::kInvalid;
    conflict.reason = internal::kConflictReason;
    conflict.message = *place + ": changed by another client since the last configuration, and differently by this one";
    return Error(std::move(conflict));
  }
  return patch;
}

bool IsPatchConflict(const Error& e) { return e.kind() == ErrorKind::kInvalid && e.reason() == internal::kConflictReason; }

}  // namespace kube
