#include "apiserver/typed_value.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

// Which of its three forms a schema allows (bits), and which one a value picks.
constexpr unsigned kMapBit = 1, kScalarBit = 2, kListBit = 4;

unsigned FormsOf(const Schema* schema) {
  if (schema == nullptr) return 0;
  return (schema->map ? kMapBit : 0U) | (schema->scalar != ScalarType::kNone ? kScalarBit : 0U) | (schema->list ? kListBit : 0U);
}

// The one form that fits the value; all forms for null and for a value that fits none of them.
unsigned Deduce(unsigned forms, const Value* value) {
  if (value == nullptr) return forms;
  unsigned fits = 0;
  switch (value->kind()) {
    case Value::Kind::kNull:
      return forms;
    case Value::Kind::kList:
      fits = kListBit;
      break;
    case Value::Kind::kObject:
      fits = kMapBit;
      break;
    default:
      fits = kScalarBit;
  }
  return (forms & fits) != 0 ? fits : forms;
}

// The form that counts if there are several.
unsigned First(unsigned forms) {
  if ((forms & kMapBit) != 0) return kMapBit;
  if ((forms & kScalarBit) != 0) return kScalarBit;
  return forms & kListBit;
}

const Schema* MemberSchema(const MapSchema& map, std::string_view name) {
  const SchemaField* field = map.Find(name);
  return field != nullptr ? field->type : map.element;
}

// How an item of a list is addressed. Errors: kInvalid, in a Go server's words.
Result<PathElement> ItemElement(const ListSchema& list, const Value& item) {
  if (!list.associative) return Error::Invalid("invalid indexing of non-associative list");
  if (list.keys.empty()) {
    switch (item.kind()) {
      case Value::Kind::kObject:
        return Error::Invalid("associative list without keys has an element that's a map type");
      case Value::Kind::kList:
        return Error::Invalid("not supported: associative list with lists as elements");
      case Value::Kind::kNull:
        return Error::Invalid("associative list without keys has an element that's an explicit null");
      default:
        return PathElement::OfValue(item);
    }
  }
  if (item.is_null()) return Error::Invalid("associative list with keys may not have a null element");
  if (!item.is_object()) return Error::Invalid("associative list with keys may not have non-map elements");
  Value keys = Value::Object();
  for (const std::string& key : list.keys) {
    if (const Value* value = item.Find(key)) {
      keys[key] = *value;
      continue;
    }
    if (list.element == nullptr || !list.element->map) {
      return Error::Invalid("couldn't find default value for " + key + ": associative list may not have non-map types");
    }
    const SchemaField* field = list.element->map->Find(key);
    if (field != nullptr && !field->default_value.is_null()) keys[key] = field->default_value;
  }
  if (keys.object().empty()) {
    std::string names;
    for (const std::string& key : list.keys) names += (names.empty() ? "" : " ") + QuoteGo(key);
    return Error::Invalid("associative list with keys has an element that omits all key fields [" + names +
                          "] (and doesn't have default values for any key fields)");
  }
  return PathElement::Key(std::move(keys));
}

// The same for walks that go on where an item has no address (it lost all its fields): such items share one that no list has.
PathElement ItemElementOrNone(const ListSchema& list, const Value& item) {
  Result<PathElement> element = ItemElement(list, item);
  return element ? *std::move(element) : PathElement::Index(-1);
}

// ---- Validation ----

std::string GoSyntax(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "interface {}(nil)";
    case Value::Kind::kString:
      return QuoteGo(value.string_value());
    case Value::Kind::kList: {
      std::string out = "[]interface {}{";
      bool first = true;
      for (const Value& item : value.list()) out += (std::exchange(first, false) ? "" : ", ") + GoSyntax(item);
      return out + "}";
    }
    case Value::Kind::kObject: {
      std::string out = "map[string]interface {}{";
      bool first = true;
      for (const auto& [key, member] : value.object()) {
        out += (std::exchange(first, false) ? "" : ", ") + QuoteGo(key) + ":" + GoSyntax(member);
      }
      return out + "}";
    }
    default:
      return ToJson(value);
  }
}

std::string_view GoType(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "<nil>";
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInt:
      return "int64";
    case Value::Kind::kDouble:
      return "float64";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kList:
      return "[]interface {}";
    case Value::Kind::kObject:
      return "map[string]interface {}";
  }
  return "";
}

class Validator {
 public:
  explicit Validator(bool allow_duplicates) : allow_duplicates_(allow_duplicates) {}

  void Walk(const Schema* schema, const Value& value) {
    switch (First(Deduce(FormsOf(schema), &value))) {
      case kMapBit:
        WalkMap(*schema->map, value);
        return;
      case kScalarBit:
        WalkScalar(schema->scalar, value);
        return;
      case kListBit:
        WalkList(*schema->list, value);
        return;
      default:
        Report("schema error: invalid atom: inlined");
    }
  }

  Result<void> Finish() const {
    if (errors_.empty()) return {};
    if (errors_.size() == 1) return Error::Invalid(errors_[0]);
    std::string out = "errors:";
    for (const std::string& e : errors_) out += "\n  " + e;
    return Error::Invalid(out);
  }

 private:
  bool allow_duplicates_;
  FieldPath path_;
  std::vector<std::string> errors_;

  void Report(const std::string& message) { errors_.push_back(path_.empty() ? message : PathToString(path_) + ": " + message); }

  void WalkScalar(ScalarType type, const Value& value) {
    if (value.is_null()) return;
    bool scalar = !value.is_list() && !value.is_object();
    switch (type) {
      case ScalarType::kNumeric:
        if (!value.is_number()) Report("expected numeric (int or float), got " + std::string(GoType(value)));
        return;
      case ScalarType::kString:
        if (!value.is_string()) Report("expected string, got &value.valueUnstructured{Value:" + GoSyntax(value) + "}");
        return;
      case ScalarType::kBoolean:
        if (!value.is_bool()) Report("expected boolean, got &{" + PrintGo(value) + "}");
        return;
      case ScalarType::kUntyped:
        if (!scalar) Report("expected any scalar, got &{" + PrintGo(value) + "}");
        return;
      case ScalarType::kNone:
        return;
    }
  }

  void WalkList(const ListSchema& list, const Value& value) {
    if (value.is_null()) return;
    if (!value.is_list()) {
      Report("expected list, got &{" + PrintGo(value) + "}");
      return;
    }
    std::vector<PathElement> seen;
    for (std::size_t i = 0; i < value.list().size(); ++i) {
      const Value& item = value.list()[i];
      Result<PathElement> element = list.associative ? ItemElement(list, item) : PathElement::Index(static_cast<std::int64_t>(i));
      if (!element) {
        Report("element " + std::to_string(i) + ": " + element.error().message());
        return;
      }
      if (list.associative) {
        auto place = std::lower_bound(seen.begin(), seen.end(), *element);
        if (place != seen.end() && *place == *element) {
          if (!allow_duplicates_) Report("duplicate entries for key " + element->ToString());
        } else {
          seen.insert(place, *element);
        }
      }
      path_.push_back(*std::move(element));
      Walk(list.element, item);
      path_.pop_back();
    }
  }

  void WalkMap(const MapSchema& map, const Value& value) {
    if (value.is_null()) return;
    if (!value.is_object()) {
      Report("expected map, got &{" + PrintGo(value) + "}");
      return;
    }
    for (const auto& [key, member] : value.object()) {
      const Schema* below = MemberSchema(map, key);
      path_.push_back(PathElement::Field(key));
      if (below == nullptr) {
        Report("field not declared in schema");
        path_.pop_back();
        return;
      }
      Walk(below, member);
      path_.pop_back();
    }
  }
};

// ---- Field sets ----

// Adds to `set` what is below a place, and says whether the place itself is to be a member.
bool AddFields(const Schema* schema, const Value& value, FieldSet& set);

bool AddListFields(const ListSchema& list, const Value& value, FieldSet& set) {
  if (!list.associative) return true;
  // Items that share their keys are owned together, without what is in them.
  std::map<PathElement, int> times;
  std::vector<std::pair<const Value*, PathElement>> items;
  for (const Value& item : value.list()) {
    PathElement element = ItemElementOrNone(list, item);
    ++times[element];
    items.emplace_back(&item, std::move(element));
  }
  for (const auto& [item, element] : items) {
    set.InsertMember(element);
    if (times[element] > 1) continue;
    FieldSet below;
    AddFields(list.element, *item, below);
    if (!below.Empty()) set.Descend(element) = std::move(below);
  }
  return false;
}

bool AddMapFields(const MapSchema& map, const Value& value, FieldSet& set) {
  if (map.atomic) return true;
  for (const auto& [key, member] : value.object()) {
    PathElement element = PathElement::Field(key);
    const SchemaField* field = map.Find(key);
    FieldSet below;
    bool owned = AddFields(field != nullptr ? field->type : map.element, member, below);
    owned = owned || field == nullptr || member.is_null() || (member.is_object() && member.object().empty());
    if (owned) set.InsertMember(element);
    if (!below.Empty()) set.Descend(element) = std::move(below);
  }
  return false;
}

bool AddFields(const Schema* schema, const Value& value, FieldSet& set) {
  switch (First(Deduce(FormsOf(schema), &value))) {
    case kMapBit:
      return AddMapFields(*schema->map, value, set);
    case kScalarBit:
      return true;
    case kListBit:
      return AddListFields(*schema->list, value, set);
    default:
      return false;
  }
}

// ---- Comparison ----

bool NullOrEmptyList(const Value* v) { return v == nullptr || !v->is_list() || v->list().empty(); }
bool NullOrEmptyMap(const Value* v) { return v == nullptr || !v->is_object() || v->object().empty(); }

// Calls visit(key, a's value or null, b's value or null) for each key of either, in order.
template <typename Visit>
void ZipMembers(const Value* a, const Value* b, Visit visit) {
  static const Map<Value> kNone;
  const Map<Value>& x = a != nullptr ? a->object() : kNone;
  const Map<Value>& y = b != nullptr ? b->object() : kNone;
  const auto *i = x.begin(), *j = y.begin();
  while (i != x.end() || j != y.end()) {
    int c = i == x.end() ? 1 : (j == y.end() ? -1 : i->key.view().compare(j->key.view()));
    visit(c <= 0 ? i->key : j->key, c <= 0 ? &i->value : nullptr, c >= 0 ? &j->value : nullptr);
    if (c <= 0) ++i;
    if (c >= 0) ++j;
  }
}

class Comparer {
 public:
  Comparison result;

  // At most one of the two is null.
  void Walk(const Schema* schema, const Value* before, const Value* after) {
    unsigned forms = FormsOf(schema);
    unsigned before_form = Deduce(forms, before), after_form = Deduce(forms, after);
    bool leaf = false;
    if (after == nullptr) {
      leaf = Handle(before_form, schema, before, after);
    } else if (before == nullptr || before_form == after_form) {
      leaf = Handle(after_form, schema, before, after);
    } else {
      Handle(before_form, schema, before, after);
      leaf = Handle(after_form, schema, before, after);
    }
    if (leaf) return;
    if (before == nullptr) {
      result.added.Insert(path_);
    } else if (after == nullptr) {
      result.removed.Insert(path_);
    }
  }

 private:
  FieldPath path_;

  // True if the value was compared as a whole.
  bool Handle(unsigned form, const Schema* schema, const Value* before, const Value* after) {
    switch (First(form)) {
      case kMapBit:
        if (schema->map->atomic || (NullOrEmptyMap(before) && NullOrEmptyMap(after))) return Leaf(before, after);
        ZipMembers(before, after, [&](const String& key, const Value* a, const Value* b) {
          path_.push_back(PathElement::Field(key));
          Walk(MemberSchema(*schema->map, key), a, b);
          path_.pop_back();
        });
        return false;
      case kScalarBit:
        return Leaf(before, after);
      case kListBit:
        if (!schema->list->associative || (NullOrEmptyList(before) && NullOrEmptyList(after))) return Leaf(before, after);
        WalkItems(*schema->list, before, after);
        return false;
      default:
        return false;
    }
  }

  bool Leaf(const Value* before, const Value* after) {
    if (before == nullptr) {
      result.added.Insert(path_);
    } else if (after == nullptr) {
      result.removed.Insert(path_);
    } else if (!(*before == *after)) {
      result.modified.Insert(path_);
    }
    return true;
  }

  void WalkItems(const ListSchema& list, const Value* before, const Value* after) {
    struct Items {
      std::vector<const Value*> before, after;
    };
    std::map<PathElement, Items> items;
    if (before != nullptr) {
      for (const Value& item : before->list()) {
        if (Result<PathElement> element = ItemElement(list, item)) items[*std::move(element)].before.push_back(&item);
      }
    }
    if (after != nullptr) {
      for (const Value& item : after->list()) {
        if (Result<PathElement> element = ItemElement(list, item)) items[*std::move(element)].after.push_back(&item);
      }
    }
    for (const auto& [element, both] : items) {
      path_.push_back(element);
      const auto& [a, b] = both;
      if (a.size() <= 1 && b.size() <= 1) {
        Walk(list.element, a.empty() ? nullptr : a[0], b.empty() ? nullptr : b[0]);
      } else if (a.size() >= 2 && b.size() >= 2) {
        bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Value* x, const Value* y) { return *x == *y; });
        if (!same) result.modified.Insert(path_);
      } else if (a.size() >= 2) {
        if (!b.empty()) Walk(list.element, nullptr, b[0]);
        result.removed.Insert(path_);
      } else {
        if (!a.empty()) Walk(list.element, a[0], nullptr);
        result.added.Insert(path_);
      }
      path_.pop_back();
    }
  }
};

// ---- Merging ----

class Merger {
 public:
  // Nothing if the result is absent. At most one of the two is null.
  std::optional<Value> Walk(const Schema* schema, const Value* live, const Value* config) {
    unsigned forms = FormsOf(schema);
    unsigned form = config == nullptr ? Deduce(forms, live) : Deduce(forms, config);
    switch (First(form)) {
      case kMapBit: {
        if (schema->map->atomic || (NullOrEmptyMap(live) && NullOrEmptyMap(config))) return Leaf(live, config);
        Map<Value> out;
        ZipMembers(live, config, [&](const String& key, const Value* a, const Value* b) {
          if (std::optional<Value> member = Walk(MemberSchema(*schema->map, key), a, b)) out.Append(key, *std::move(member));
        });
        if (out.empty()) return {};
        return Value(std::move(out));
      }
      case kScalarBit:
        return Leaf(live, config);
      case kListBit:
        if (!schema->list->associative || (NullOrEmptyList(live) && NullOrEmptyList(config))) return Leaf(live, config);
        return WalkItems(*schema->list, live, config);
      default:
        return {};
    }
  }

  const std::string& error() const { return error_; }

 private:
  std::string error_;

  static Value Leaf(const Value* live, const Value* config) { return config != nullptr ? *config : *live; }

  struct Indexed {
    std::vector<std::pair<PathElement, const Value*>> items;  // in order
    std::map<PathElement, const Value*> by_element;           // null for items that there are several of
  };

  Indexed Index(const ListSchema& list, const Value* value, bool allow_duplicates) {
    Indexed out;
    if (value == nullptr) return out;
    for (std::size_t i = 0; i < value->list().size(); ++i) {
      const Value& item = value->list()[i];
      Result<PathElement> element = ItemElement(list, item);
      if (!element) {
        if (error_.empty()) error_ = "element " + std::to_string(i) + ": " + element.error().message();
        continue;
      }
      auto [place, is_new] = out.by_element.emplace(*element, &item);
      if (!is_new) {
        if (!allow_duplicates) {
          if (error_.empty()) error_ = "duplicate entries for key " + element->ToString();
          continue;
        }
        place->second = nullptr;
      }
      out.items.emplace_back(*std::move(element), &item);
    }
    return out;
  }

  // Items of both lists in one order: those of `config` stand as there; those that only `live` has keep their place behind the shared
  // item that they followed.
  std::optional<Value> WalkItems(const ListSchema& list, const Value* live, const Value* config) {
    static const Value kNull;
    Indexed left = Index(list, live, true), right = Index(list, config, false);
    if (!error_.empty()) return {};

    // Items of `config` that `live` has too, in the order of `config`; `next_shared` is the first that is not merged yet.
    std::vector<const PathElement*> shared;
    for (const auto& [element, item] : right.items) {
      if (left.by_element.count(element) != 0) shared.push_back(&element);
    }
    std::size_t next_shared = 0;
    auto wanted = [&]() { return next_shared < shared.size() ? shared[next_shared] : nullptr; };

    List<Value> out;
    std::map<PathElement, bool> merged;
    auto merge_right = [&](const PathElement& element) {
      merged[element] = true;
      auto a = left.by_element.find(element);
      const Value* from_live = a == left.by_element.end() ? nullptr : (a->second != nullptr ? a->second : &kNull);
      if (std::optional<Value> item = Walk(list.element, from_live, right.by_element.find(element)->second))
        out.push_back(*std::move(item));
    };
    std::size_t l = 0, r = 0;
    while (l < left.items.size() || r < right.items.size()) {
      if (l < left.items.size() && r < right.items.size()) {
        const PathElement& element = left.items[l].first;
        if (element == right.items[r].first) {
          merge_right(element);
          ++l;
          ++r;
          ++next_shared;
          continue;
        }
        if (right.by_element.count(element) != 0 && wanted() != nullptr && !(*wanted() == element)) {
          ++l;  // its turn comes with `config`
          continue;
        }
      }
      if (l < left.items.size()) {
        const PathElement& element = left.items[l].first;
        if (right.by_element.count(element) == 0) {
          if (std::optional<Value> item = Walk(list.element, left.items[l].second, nullptr)) out.push_back(*std::move(item));
          ++l;
          continue;
        }
        if (merged.count(element) != 0) ++l;
      }
      if (r < right.items.size()) {
        const PathElement& element = right.items[r].first;
        merge_right(element);
        ++r;
        if (wanted() != nullptr && *wanted() == element) ++next_shared;
      }
    }
    if (out.empty()) return {};
    return Value(std::move(out));
  }
};

// ---- Removal ----

Value Remove(const Schema* schema, const Value& value, const FieldSet& items) {
  switch (First(Deduce(FormsOf(schema), &value))) {
    case kScalarBit:
      return value;
    case kListBit: {
      if (!schema->list->associative) return {};
      List<Value> out;
      for (const Value& item : value.list()) {
        PathElement element = ItemElementOrNone(*schema->list, item);
        if (items.HasMember(element)) continue;
        const FieldSet* below = items.Child(element);
        out.push_back(below != nullptr && !below->Empty() ? Remove(schema->list->element, item, *below) : item);
      }
      if (out.empty()) return {};
      return Value(std::move(out));
    }
    case kMapBit: {
      if (schema->map->atomic) return {};
      Map<Value> out;
      for (const auto& [key, member] : value.object()) {
        PathElement element = PathElement::Field(key);
        if (items.HasMember(element)) continue;
        const FieldSet* below = items.Child(element);
        out.Append(key, below != nullptr && !below->Empty() ? Remove(MemberSchema(*schema->map, key), member, *below) : member);
      }
      if (out.empty()) return {};
      return Value(std::move(out));
    }
    default:
      return {};
  }
}

// ---- Changed schemas ----

class Reconciler {
 public:
  FieldSet whole;  // places that are owned as a whole now

  void Walk(const Schema* schema, const FieldSet* set, bool is_whole) {
    switch (First(FormsOf(schema))) {
      case kListBit:
        if (!is_whole && !schema->list->associative) {
          whole.Insert(path_);
          return;
        }
        if (set != nullptr) Descend(*set, [&](const PathElement&) { return schema->list->element; });
        return;
      case kMapBit:
        if (schema->map->untyped_elements) return;
        if (!is_whole && schema->map->atomic) {
          if (set != nullptr && set->Size() > 0) whole.Insert(path_);
          return;
        }
        if (set != nullptr) {
          Descend(*set, [&](const PathElement& e) {
            return e.kind() == PathElement::Kind::kField ? MemberSchema(*schema->map, e.name()) : schema->map->element;
          });
        }
        return;
      default:
        return;
    }
  }

 private:
  FieldPath path_;

  template <typename SchemaBelow>
  void Descend(const FieldSet& set, SchemaBelow schema_below) {
    auto visit = [&](const PathElement& element, const FieldSet* children, bool is_member) {
      const Schema* below = schema_below(element);
      if (below == nullptr) return;
      path_.push_back(element);
      Walk(below, children, is_member && children == nullptr);
      path_.pop_back();
    };
    for (const FieldSetNode& child : set.children()) {
      if (!set.HasMember(child.element)) visit(child.element, &child.set, false);
    }
    for (const PathElement& member : set.members()) visit(member, set.Child(member), true);
  }
};

// True if both are the very same value; for Complete and Compact, which hand back what they did not change.
bool Same(const Value& a, const Value& b) {
  if (a.is_object() && b.is_object()) return a.object().SharesWith(b.object()) || (a.object().empty() && b.object().empty());
  if (a.is_list() && b.is_list()) return a.list().SharesWith(b.list()) || (a.list().empty() && b.list().empty());
  return a == b;
}

// Nothing below such a node is a struct.
bool IsOpaque(const Schema& schema) { return &schema == &DeducedSchema() || &schema == &UntypedAtomicSchema(); }

FieldSet NamedFields(const FieldSet& set, const Schema* schema) {
  FieldSet out;
  for (const PathElement& member : set.members()) out.InsertMember(member);
  for (const FieldSetNode& child : set.children()) {
    const Schema* below = nullptr;
    if (schema != nullptr && schema->map && child.element.kind() == PathElement::Kind::kField) {
      if (schema->map->Find(child.element.name()) != nullptr) out.InsertMember(child.element);
      below = MemberSchema(*schema->map, child.element.name());
    } else if (schema != nullptr && schema->list && child.element.kind() == PathElement::Kind::kKey) {
      below = schema->list->element;
    }
    out.Descend(child.element) = NamedFields(child.set, below);
  }
  return out;
}

}  // namespace

Result<void> ValidateTyped(const Schema& schema, const Value& value, bool allow_duplicates) {
  Validator validator(allow_duplicates);
  validator.Walk(&schema, value);
  return validator.Finish();
}

FieldSet ToFieldSet(const Schema& schema, const Value& value) {
  FieldSet out;
  AddFields(&schema, value, out);
  return out;
}

Comparison CompareTyped(const Schema& schema, const Value& before, const Value& after) {
  Comparer comparer;
  comparer.Walk(&schema, &before, &after);
  return std::move(comparer.result);
}

Result<Value> MergeTyped(const Schema& schema, const Value& live, const Value& config) {
  Merger merger;
  std::optional<Value> out = merger.Walk(&schema, &live, &config);
  if (!merger.error().empty()) return Error::Invalid(merger.error());
  return out ? *std::move(out) : Value();
}

Value RemoveItems(const Schema& schema, const Value& value, const FieldSet& items) { return Remove(&schema, value, items); }

std::optional<FieldSet> ReconcileFieldSet(const Schema& schema, const FieldSet& set) {
  Reconciler reconciler;
  reconciler.Walk(&schema, &set, false);
  if (reconciler.whole.Empty()) return {};
  return set.RecursiveDifference(reconciler.whole).Union(reconciler.whole);
}

FieldSet WithNamedFields(const FieldSet& set, const Schema* schema) { return NamedFields(set, schema); }

Value Complete(const Schema& schema, const Value& value) {
  if (IsOpaque(schema)) return value;
  if (value.is_list() && schema.list && schema.list->element != nullptr) {
    Value out = value;
    for (std::size_t i = 0; i < value.list().size(); ++i) {
      const Value& item = value.list()[i];
      if (!item.is_object() && !item.is_list()) continue;
      Value completed = Complete(*schema.list->element, item);
      if (!Same(completed, item)) out.MutableList()[i] = std::move(completed);
    }
    return out;
  }
  if (!value.is_object() || !schema.map) return value;
  Value out = value;
  for (const auto& [key, member] : value.object()) {
    const Schema* below = MemberSchema(*schema.map, key);
    if (below == nullptr || (!member.is_object() && !member.is_list())) continue;
    Value completed = Complete(*below, member);
    if (!Same(completed, member)) out[key.view()] = std::move(completed);
  }
  for (const SchemaField& field : schema.map->fields) {
    if (!field.implied) continue;
    const Value* member = std::as_const(out).Find(field.name);
    if (member != nullptr && !member->is_null()) {
      // A list or map that JSON shows as empty because it is required is none to Go.
      bool empty_list = member->is_list() && member->list().empty();
      bool empty_map = member->is_object() && member->object().empty() && field.type->map && field.type->map->fields.empty();
      if (field.implied_value.is_null() && (empty_list || empty_map)) out[field.name] = Value();
      continue;
    }
    out[field.name] = Complete(*field.type, field.implied_value);
  }
  return out;
}

Value Compact(const Schema& schema, const Value& value) {
  if (IsOpaque(schema)) return value;
  if (value.is_list() && schema.list && schema.list->element != nullptr) {
    Value out = value;
    for (std::size_t i = 0; i < value.list().size(); ++i) {
      const Value& item = value.list()[i];
      if (!item.is_object() && !item.is_list()) continue;
      Value compacted = Compact(*schema.list->element, item);
      if (!Same(compacted, item)) out.MutableList()[i] = std::move(compacted);
    }
    return out;
  }
  if (!value.is_object() || !schema.map) return value;
  Value out = value;
  for (const auto& [key, member] : value.object()) {
    const SchemaField* field = schema.map->Find(key);
    const Schema* below = field != nullptr ? field->type : schema.map->element;
    Value compacted = below != nullptr && (member.is_object() || member.is_list()) ? Compact(*below, member) : member;
    if (field != nullptr && field->implied && (compacted.is_null() || compacted == field->implied_value)) {
      out.MutableObject().Erase(key);
    } else if (!Same(compacted, member)) {
      out[key.view()] = std::move(compacted);
    }
  }
  return out;
}

std::string PrintGo(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "<nil>";
    case Value::Kind::kString:
      return value.string_value().str();
    case Value::Kind::kList: {
      std::string out = "[";
      for (const Value& item : value.list()) out += (out.size() > 1 ? " " : "") + PrintGo(item);
      return out + "]";
    }
    case Value::Kind::kObject: {
      std::string out = "map[";
      for (const auto& [key, member] : value.object()) out += (out.size() > 4 ? " " : "") + key.str() + ":" + PrintGo(member);
      return out + "]";
    }
    default:
      return ToJson(value);
  }
}

}  // namespace kube::apiserver
