// Strategic merge patches: applying one.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "codec/object_join.h"
#include "codec/strategic_schema.h"
#include "kube/codec/patch.h"
#include "value/quote.h"

namespace kube {
namespace internal {
namespace {

// A patch value as it is stored if there is nothing to merge it with: without directives and without null members.
// Nothing if the value itself was one: a real server drops an object with a `$patch` here, its content included, and so do we.
std::optional<Value> Clean(const Value& value) {
  if (value.is_object()) {
    if (value.Find(kPatchDirective) != nullptr) return std::nullopt;
    return JoinObjects(value.object(), {}, [](const String& key, const Value* member, const Value*) {
      return member->is_null() || IsDirective(key) ? std::nullopt : Clean(*member);
    });
  }
  if (value.is_list()) {
    List<Value> out;
    out.reserve(value.list().size());
    for (const Value& element : value.list()) {
      if (std::optional<Value> kept = Clean(element)) out.push_back(*std::move(kept));
    }
    return Value(std::move(out));
  }
  return value;
}

Error WrongKind(const Path& path, std::string_view expected, const Value& got) {
  return Error::Invalid(At(&path, "expected " + std::string(expected) + ", got " + std::string(got.kind_name())));
}

// An element with its key, so that ordering reads each key once.
struct Keyed {
  std::string key;
  Value value;
};

// Elements of `all` in the order of the elements of `wanted`; elements that are not in `wanted` keep their place as far as the previous
// order (`existing`) determines it.
List<Value> Arrange(std::vector<Keyed> all, const ElementIndex& wanted, const ElementIndex& existing) {
  std::vector<Keyed> listed;
  std::vector<Keyed> others;
  for (Keyed& element : all) {
    (wanted.Find(element.key) != ElementIndex::kMissing ? listed : others).push_back(std::move(element));
  }
  auto sort_by = [](std::vector<Keyed>& elements, const ElementIndex& order) {
    std::stable_sort(elements.begin(), elements.end(), [&](const Keyed& a, const Keyed& b) {
      // Removals, which only patches have, stand last.
      bool removes_a = HasPatchDirective(a.value, "delete");
      bool removes_b = HasPatchDirective(b.value, "delete");
      return removes_a != removes_b ? removes_b : order.Find(a.key) < order.Find(b.key);
    });
  };
  sort_by(listed, wanted);
  sort_by(others, existing);
  List<Value> out;
  out.reserve(all.size());
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < others.size() || j < listed.size()) {
    bool take_other = j == listed.size();
    if (i < others.size() && j < listed.size()) {
      std::size_t left = existing.Find(others[i].key);
      std::size_t right = existing.Find(listed[j].key);
      take_other = left != ElementIndex::kMissing && right != ElementIndex::kMissing && left < right;
    }
    out.push_back(std::move(take_other ? others[i++].value : listed[j++].value));
  }
  return out;
}

// Lays a patch over an object, or (combining) over an earlier patch, whose directives stay.
class Merger {
 public:
  explicit Merger(bool combining) : combining_(combining) {}

  Result<Value> MergeObjects(const Value& original, Value patch, const PatchSchema& schema, const Path* path) {
    if (const Value* directive = std::as_const(patch).Find(kPatchDirective)) {
      if (combining_) return patch;
      if (HasPatchDirective(patch, "delete")) return Value::Object();
      bool replace = HasPatchDirective(patch, "replace");
      if (!replace && !HasPatchDirective(patch, "merge")) {
        return Error::Invalid(
            At(path, "unknown $patch directive" + (directive->is_string() ? " " + Quote(directive->string_value()) : "")));
      }
      patch.MutableObject().Erase(kPatchDirective);
      if (replace) return *Clean(patch);
    }
    Result<Map<Value>> base = RetainKeys(original.object(), patch, path);
    if (!base) return base.error();
    Result<std::map<String, Value>> ordered = MergeOrderedLists(*base, patch.object(), schema, path);
    if (!ordered) return ordered.error();

    std::optional<Error> error;
    Value merged = JoinObjects(*base, patch.object(), [&](const String& key, const Value* before, const Value* change) {
      if (error) return std::optional<Value>();
      if (auto done = ordered->find(key); done != ordered->end()) return std::optional<Value>(std::move(done->second));
      if (change == nullptr) return std::optional<Value>(*before);
      if (IsDirective(key)) return combining_ ? std::optional<Value>(*change) : std::nullopt;
      Path at = Path::Field(path, key);
      Result<std::optional<Value>> member = MergeMember(before, *change, LookUp(schema, key), &at);
      if (!member) error = member.error();
      return member ? *std::move(member) : std::nullopt;
    });
    if (error) return *error;
    if (combining_) {
      DropNeedlessOrders(merged);
      return merged;
    }
    // After the additions.
    for (const auto& [key, values] : std::as_const(patch).object()) {
      if (!HasPrefix(key, kDeletePrefix)) continue;
      Path at = Path::Field(path, key);
      if (auto r = DeleteFromList(merged, key.view().substr(kDeletePrefix.size()), values, at); !r) return r.error();
    }
    return merged;
  }

 private:
  bool combining_;

  std::optional<Value> Alone(const Value& change) { return combining_ ? change : Clean(change); }

  // What becomes of a member that the patch names.
  Result<std::optional<Value>> MergeMember(const Value* before, const Value& change, const PatchField& field, const Path* path) {
    if (change.is_null()) return combining_ ? std::optional<Value>(Value()) : std::nullopt;
    if (before == nullptr || before->kind() != change.kind() || !(change.is_object() || change.is_list())) return Alone(change);
    if (change.is_object() ? field.replace && !HasPatchDirective(change, "merge") : !field.merge) return Alone(change);
    Result<Value> merged =
        change.is_object() ? MergeObjects(*before, change, field.below, path) : MergeLists(*before, change.list(), field, path);
    if (!merged) return merged.error();
    return std::optional<Value>(*std::move(merged));
  }

  // The members that stay. Takes the directive out of the patch.
  Result<Map<Value>> RetainKeys(const Map<Value>& original, Value& patch, const Path* path) {
    const Value* found = std::as_const(patch).Find(kRetainKeys);
    if (found == nullptr) return original;
    Path at = Path::Field(path, kRetainKeys);
    if (combining_) {
      const Value* earlier = original.Find(kRetainKeys);
      if (earlier != nullptr && !(*earlier == *found)) return Error::Internal(At(&at, "two patches of one object differ"));
      return original;
    }
    Value keys = *found;
    patch.MutableObject().Erase(kRetainKeys);
    if (!keys.is_list()) return WrongKind(at, "a list of keys", keys);
    std::set<std::string_view> retained;
    for (const Value& key : keys.list()) {
      if (!key.is_string()) return WrongKind(at, "a list of keys", key);
      retained.insert(key.string_value().view());
    }
    for (const auto& [key, change] : std::as_const(patch).object()) {
      if (change.is_null() || HasPrefix(key, kDeletePrefix) || HasPrefix(key, kOrderPrefix)) continue;
      if (retained.count(key) == 0) return Error::Invalid(At(&at, "the patch sets " + Quote(key) + ", which is not listed here"));
    }
    return JoinObjects(original, {}, [&](const String& key, const Value* member, const Value*) {
      return retained.count(key) != 0 ? std::optional<Value>(*member) : std::nullopt;
    });
  }

  // What becomes of each list f for which there is a `$setElementOrder/f`.
  Result<std::map<String, Value>> MergeOrderedLists(const Map<Value>& original, const Map<Value>& patch, const PatchSchema& schema,
                                                    const Path* path) {
    std::map<String, Value> out;
    for (const auto& [directive, order] : patch) {
      if (!HasPrefix(directive, kOrderPrefix)) continue;
      Path at = Path::Field(path, directive);
      if (!order.is_list()) return WrongKind(at, "a list", order);
      if (combining_) {
        const Value* earlier = original.Find(directive);
        if (earlier != nullptr && !(*earlier == order)) return Error::Internal(At(&at, "two patches of one object differ"));
      }
      String key(directive.view().substr(kOrderPrefix.size()));
      Path field_at = Path::Field(path, key);
      Result<std::optional<Value>> merged =
          MergeOrderedList(original.Find(key), patch.Find(key), order.list(), LookUp(schema, key), &field_at);
      if (!merged) return merged.error();
      if (merged->has_value()) out[key] = **std::move(merged);
    }
    return out;
  }

  Result<std::optional<Value>> MergeOrderedList(const Value* before, const Value* change, const List<Value>& order, const PatchField& field,
                                                const Path* path) {
    if (change != nullptr && !change->is_list()) return WrongKind(*path, "a list", *change);
    // A list takes the place of anything else, with an order as without one.
    if (before != nullptr && !before->is_list() && (before->is_null() || change != nullptr)) before = nullptr;
    if (before != nullptr && !before->is_list()) return WrongKind(*path, "a list", *before);
    if (before == nullptr && change == nullptr) return std::optional<Value>();
    const List<Value>& old = before == nullptr ? internal::DefaultValue<List<Value>>() : before->list();
    if (change != nullptr) {
      if (auto r = CheckOrder(change->list(), order, field.merge_key, path); !r) return r.error();
    }

    Value merged;
    if (change == nullptr) {
      merged = *before;
    } else if (before == nullptr || !field.merge) {
      merged = combining_ ? *change : *Clean(*change);
    } else {
      Result<Value> both = MergeLists(*before, change->list(), field, path);
      if (!both) return both.error();
      merged = *std::move(both);
    }
    if (combining_ && ReplacesList(merged)) return std::optional<Value>(std::move(merged));
    Result<ElementClass> elements = ClassOf(old, merged.list(), path);
    if (!elements) return elements.error();
    if (*elements == ElementClass::kNone) return std::optional<Value>(std::move(merged));
    if (*elements == ElementClass::kObject && field.merge_key.empty()) {
      return Error::Invalid(At(path, "objects cannot be ordered without a merge key"));
    }
    Result<ElementIndex> wanted = ElementIndex::Make(order, field.merge_key, path);
    if (!wanted) return wanted.error();
    Result<List<Value>> before_order =
        change == nullptr || combining_ || !field.merge ? old : ReferenceOrder(old, change->list(), field, path);
    if (!before_order) return before_order.error();
    Result<List<Value>> arranged = Arranged(merged.list(), *wanted, *before_order, field.merge_key, path);
    if (!arranged) return arranged.error();
    return std::optional<Value>(*std::move(arranged));
  }

  // The order that places elements which the $setElementOrder does not list. If the patch removes n elements, a server takes the
  // first n that it adds for old ones at the end of the list, so that they come after those, not before.
  static Result<List<Value>> ReferenceOrder(const List<Value>& old, const List<Value>& change, const PatchField& field, const Path* path) {
    std::set<std::string> removed;
    for (const Value& element : change) {
      if (!HasPatchDirective(element, "delete")) continue;
      Result<std::string> key = ElementKey(element, field.merge_key, path);
      if (!key) return key.error();
      removed.insert(*std::move(key));
    }
    if (removed.empty()) return old;
    List<Value> order;
    std::set<std::string> known;
    for (const Value& element : old) {
      Result<std::string> key = ElementKey(element, field.merge_key, path);
      if (!key) return key.error();
      if (removed.count(*key) == 0) order.push_back(element);
      if (removed.count(*key) == 0) known.insert(*std::move(key));
    }
    for (const Value& element : change) {
      if (order.size() >= old.size()) break;
      if (element.Find(kPatchDirective) != nullptr) continue;
      Result<std::string> key = ElementKey(element, field.merge_key, path);
      if (!key) return key.error();
      if (known.insert(*std::move(key)).second) order.push_back(element);
    }
    return order;
  }

  static Result<List<Value>> Arranged(const List<Value>& merged, const ElementIndex& wanted, const List<Value>& old,
                                      std::string_view merge_key, const Path* path) {
    Result<ElementIndex> existing = ElementIndex::Make(old, merge_key, path);
    if (!existing) return existing.error();
    std::vector<Keyed> all;
    all.reserve(merged.size());
    for (const Value& element : merged) {
      Result<std::string> key = ElementKey(element, merge_key, path);
      if (!key) return key.error();
      all.push_back({*std::move(key), element});
    }
    return Arrange(std::move(all), wanted, *existing);
  }

  // The patch's elements have to be among those of the order, and in that order.
  static Result<void> CheckOrder(const List<Value>& change, const List<Value>& order, std::string_view merge_key, const Path* path) {
    if (change.empty() || order.empty()) return {};
    std::size_t place = 0;
    for (std::size_t i = 0; i < change.size(); ++i) {
      Path at = Path::Index(path, static_cast<std::int64_t>(i));
      if (change[i].Find(kPatchDirective) != nullptr) continue;
      Result<std::string> key = ElementKey(change[i], merge_key, &at);
      if (!key) return key.error();
      for (;; ++place) {
        if (place == order.size()) return Error::Invalid(At(&at, "the order of the list in the patch is not that of its $setElementOrder"));
        Result<std::string> other = ElementKey(order[place], merge_key, path);
        if (!other) return other.error().WithContext("$setElementOrder");
        if (*other == *key) break;
      }
      ++place;
    }
    return {};
  }

  Result<Value> MergeLists(Value original, List<Value> patch, const PatchField& field, const Path* path) {
    if (original.list().empty() && patch.empty()) return original;
    if (combining_) {
      if (ReplacesList(patch)) return Value(std::move(patch));
      if (ReplacesList(original)) return original;
    }
    Result<ElementClass> elements = ClassOf(original.list(), patch, path);
    if (!elements) return elements.error();
    if (*elements == ElementClass::kScalar) return MergeScalars(original.list(), patch, path);
    if (field.merge_key.empty()) return Error::Invalid(At(path, "objects cannot be merged without a merge key"));
    if (!combining_) {
      Result<bool> done = RunListDirectives(original, patch, field.merge_key, path);
      if (!done) return done.error();
      if (*done) return original;
    }

    Result<ElementIndex> wanted = ElementIndex::Make(patch, field.merge_key, path);
    if (!wanted) return wanted.error();
    if (combining_ && wanted->has_duplicates()) {
      // A list that is added as a whole. Elements with the same key have to stay apart.
      patch.insert(0, Value::Object({{String(kPatchDirective), "replace"}}));
      return Value(std::move(patch));
    }
    const List<Value> old = original.list();
    Result<ElementIndex> existing = ElementIndex::Make(old, field.merge_key, path);
    if (!existing) return existing.error();
    List<Value>& merged = original.MutableList();
    for (std::size_t i = 0; i < patch.size(); ++i) {
      Path at = Path::Index(path, static_cast<std::int64_t>(i));
      const Value& change = std::as_const(patch)[i];
      Result<std::string> key = ElementKey(change, field.merge_key, &at);
      if (!key) return key.error();
      std::size_t place = existing->Find(*key);
      if (place == ElementIndex::kMissing) {
        existing->Add(*key, merged.size());
        merged.push_back(combining_ ? change : *Clean(change));
        continue;
      }
      Result<Value> element = MergeObjects(std::as_const(merged)[place], change, field.below, &at);
      if (!element) return element.error();
      merged[place] = *std::move(element);
    }
    Result<List<Value>> arranged = Arranged(std::as_const(merged), *wanted, old, field.merge_key, path);
    if (!arranged) return arranged.error();
    return Value(*std::move(arranged));
  }

  static Result<Value> MergeScalars(const List<Value>& original, const List<Value>& patch, const Path* path) {
    std::set<std::string> seen;
    List<Value> merged;
    for (const List<Value>* list : {&original, &patch}) {
      for (const Value& element : *list) {
        if (seen.insert(KeyText(element)).second) merged.push_back(element);
      }
    }
    Result<ElementIndex> wanted = ElementIndex::Make(patch, "", path);
    if (!wanted) return wanted.error();
    Result<List<Value>> arranged = Arranged(merged, *wanted, original, "", path);
    if (!arranged) return arranged.error();
    return Value(*std::move(arranged));
  }

  // Runs the `$patch` elements of a merging list and takes them out of the patch. True if that was all: the list is replaced.
  static Result<bool> RunListDirectives(Value& original, List<Value>& patch, std::string_view merge_key, const Path* path) {
    List<Value> rest;
    std::set<std::string> removed;
    bool replace = false;
    for (std::size_t i = 0; i < patch.size(); ++i) {
      Path at = Path::Index(path, static_cast<std::int64_t>(i));
      const Value& element = std::as_const(patch)[i];
      if (element.Find(kPatchDirective) == nullptr) {
        rest.push_back(element);
      } else if (HasPatchDirective(element, "replace")) {
        replace = true;
      } else if (HasPatchDirective(element, "delete")) {
        Result<std::string> key = ElementKey(element, merge_key, &at);
        if (!key) return key.error();
        removed.insert(*std::move(key));
      } else if (HasPatchDirective(element, "merge")) {
        // What happens anyway: `{"$patch": "merge"}` stands alone, an element with content is merged.
        Value content = element;
        content.MutableObject().Erase(kPatchDirective);
        if (!content.object().empty()) rest.push_back(std::move(content));
      } else {
        return Error::Invalid(At(&at, "unknown $patch directive"));
      }
    }
    patch = std::move(rest);
    if (replace) {
      if (auto r = ElementIndex::Make(patch, merge_key, path); !r) return r.error();
      original = *Clean(Value(patch));
      return true;
    }
    if (!removed.empty()) {
      original.MutableList().erase_if([&](const Value& element) {
        Result<std::string> key = ElementKey(element, merge_key, path);
        return key.ok() && removed.count(*key) != 0;
      });
    }
    return false;
  }

  static Result<void> DeleteFromList(Value& original, std::string_view key, const Value& values, const Path& path) {
    if (!values.is_list()) return WrongKind(path, "a list of values", values);
    const Value* list = std::as_const(original).Find(key);
    if (list == nullptr || !list->is_list()) return {};
    Result<ElementClass> elements = ClassOf(list->list(), values.list(), &path);
    if (!elements) return elements.error();
    if (*elements == ElementClass::kObject) return Error::Invalid(At(&path, "only plain values are removed in this way"));
    std::set<std::string> removed;
    for (const Value& value : values.list()) removed.insert(KeyText(value));
    original[key].MutableList().erase_if([&](const Value& element) { return removed.count(KeyText(element)) != 0; });
    return {};
  }

  // A patch that replaces a list says nothing about its order.
  static void DropNeedlessOrders(Value& patch) {
    Map<Value> members = patch.object();
    for (const auto& [key, member] : members) {
      if (!HasPrefix(key, kOrderPrefix)) continue;
      const Value* list = std::as_const(patch).Find(key.view().substr(kOrderPrefix.size()));
      if (list != nullptr && ReplacesList(*list)) patch.MutableObject().Erase(key);
    }
  }
};

}  // namespace

Result<Value> CombinePatches(const TypeInfo& type, const Value& deletions, const Value& changes) {
  return Merger(/*combining=*/true).MergeObjects(deletions, changes, PatchSchema{&type, nullptr}, nullptr);
}

}  // namespace internal

Result<Value> ApplyStrategicMergePatch(const TypeInfo& type, const Value& original, const Value& patch) {
  if (!original.is_object() && !original.is_null()) {
    return Error::Invalid("only an object can be patched, not " + std::string(original.kind_name()));
  }
  if (!patch.is_object() && !patch.is_null())
    return Error::Invalid("a strategic merge patch is an object, not " + std::string(patch.kind_name()));
  return internal::Merger(/*combining=*/false)
      .MergeObjects(original.is_object() ? original : Value::Object(), patch, internal::PatchSchema{&type, nullptr}, nullptr);
}

}  // namespace kube
