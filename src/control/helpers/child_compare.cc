#include "control/helpers/child_compare.h"

#include <algorithm>
#include <utility>

#include "codec/fields.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"
#include "kube/value/quantity.h"
#include "kube/value/time.h"

namespace kube::internal {
namespace {

constexpr std::size_t kMaxReasons = 50;
constexpr std::size_t kMaxShown = 80;

// What managedFields say of a place in the object.
struct Owned {
  const Value* node = nullptr;  // a node of fieldsV1; null: nothing to check, see `known`
  bool known = false;           // there are managedFields

  static Owned Unknown() { return {}; }
  static Owned Everything() { return {}; }
  bool checks() const { return known; }
};

// How a list is merged.
struct ListRule {
  enum class Kind { kAtomic, kSet, kKeyed } kind = Kind::kAtomic;
  std::vector<std::string> keys{};
};

std::vector<std::string> SplitKeys(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    out.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return out;
}

// managedFields show how the server merges the list; without them the table says it.
ListRule RuleOf(const FieldInfo* field, const Owned& owned) {
  if (owned.node != nullptr) {
    for (const auto& member : owned.node->object()) {
      const std::string_view key = member.key.view();
      if (key.substr(0, 2) == "v:") return {.kind = ListRule::Kind::kSet};
      if (key.substr(0, 2) != "k:") continue;
      const Result<Value> fields = ParseJson(key.substr(2));
      if (!fields) continue;
      ListRule rule{.kind = ListRule::Kind::kKeyed};
      for (const auto& f : fields->object()) rule.keys.push_back(f.key.str());
      return rule;
    }
  }
  if (field == nullptr || field->extra == nullptr) return {};
  if (field->extra->list_type == ListType::kSet) return {.kind = ListRule::Kind::kSet};
  if (field->extra->list_type != ListType::kMap || field->extra->map_keys.empty()) return {};
  return {.kind = ListRule::Kind::kKeyed, .keys = SplitKeys(field->extra->map_keys)};
}

bool SameText(FieldKind kind, std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto same = [](const auto& x, const auto& y) { return x && y && *x == *y; };
  switch (kind) {
    case FieldKind::kQuantity:
      return same(Quantity::Parse(a), Quantity::Parse(b));
    case FieldKind::kTime:
      return same(Time::Parse(a), Time::Parse(b));
    case FieldKind::kMicroTime:
      return same(MicroTime::Parse(a), MicroTime::Parse(b));
    case FieldKind::kDuration:
      return same(Duration::Parse(a), Duration::Parse(b));
    default:
      return false;
  }
}

bool SameScalar(const FieldInfo* field, const Value& a, const Value& b) {
  if (a == b) return true;
  if (field == nullptr) return false;
  // A quantity may stand as a number: cpu: 1.
  if (field->kind == FieldKind::kQuantity && (a.is_number() || b.is_number())) {
    const auto text = [](const Value& v) { return v.is_string() ? v.string_value().str() : ToJson(v); };
    return SameText(field->kind, text(a), text(b));
  }
  return a.is_string() && b.is_string() && SameText(field->kind, a.string_value().view(), b.string_value().view());
}

// Whether a wanted value says no more than an absent one: what the server leaves out when it stores the object.
bool SaysNothing(const FieldInfo* field, bool element, const Value& wanted) {
  const bool plain = field == nullptr || element || field->shape != FieldShape::kOptional;
  switch (wanted.kind()) {
    case Value::Kind::kNull:
      return true;
    case Value::Kind::kBool:
      return plain && !wanted.bool_value();
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return plain && wanted.double_value() == 0;
    case Value::Kind::kString:
      return plain && wanted.string_value().empty();
    case Value::Kind::kList:
      // An empty list in a Box, or inside of a map, counts as set.
      return wanted.list().empty() && (field == nullptr || (!element && field->shape != FieldShape::kOptional));
    case Value::Kind::kObject:
      // `emptyDir: {}` is a choice; without a table, this is unknown.
      if (field == nullptr || element || field->shape == FieldShape::kOptional) return false;
      return std::all_of(wanted.object().begin(), wanted.object().end(),
                         [](const auto& m) { return SaysNothing(nullptr, false, m.value); });
  }
  return false;
}

const TypeInfo* TypeOfField(const FieldInfo* field) {
  if (field == nullptr || field->kind != FieldKind::kMessage || field->type == nullptr) return nullptr;
  return field->type->form == TypeForm::kStruct ? field->type : nullptr;
}

class Comparison {
 public:
  explicit Comparison(bool secret) : secret_(secret) {}

  void Root(const TypeInfo* type, const Value& wanted, const Value& live, Owned owned) {
    for (const auto& member : wanted.object()) {
      if (member.key == "apiVersion" || member.key == "kind") continue;
      const FieldInfo* field = type == nullptr ? nullptr : FindByName(*type, member.key.view(), 0).field;
      if (member.key == "metadata") {
        Metadata(member.value, live["metadata"], Step(owned, "f:metadata"));
      } else {
        Member(field, member.key.view(), member.value, live, owned, "");
      }
    }
  }
  Drift Finish() && { return std::move(drift_); }
  void Report(const std::string& path, const std::string& what, const Value* live) {
    drift_.fingerprint = HashText(path, drift_.fingerprint == 0 ? HashText("") : drift_.fingerprint);
    drift_.fingerprint = HashText(what, drift_.fingerprint);
    if (live != nullptr) drift_.fingerprint = HashText(ToJson(*live), drift_.fingerprint);
    if (drift_.reasons.size() < kMaxReasons) drift_.reasons.push_back(path + ": " + what);
  }

 private:
  void Metadata(const Value& wanted, const Value& live, Owned owned) {
    for (const auto& member : wanted.object()) {
      if (member.key == "name" || member.key == "namespace" || member.key == "uid") continue;  // identity, without an owner
      Member(FindByName(meta::v1::ObjectMeta::kType, member.key.view(), 0).field, member.key.view(), member.value, live, owned, "metadata");
    }
  }

  // The ownership of a member. A node without members of its own stands for all that is below it.
  static Owned Step(const Owned& owned, const std::string& name) {
    if (!owned.checks() || owned.node == nullptr) return owned;
    if (owned.node->object().empty()) return Owned::Everything();
    return {.node = owned.node->Find(name), .known = true};
  }

  void Member(const FieldInfo* field, std::string_view name, const Value& wanted, const Value& live, const Owned& owned,
              const std::string& path) {
    // The entries of a map have arbitrary names, often with dots in them.
    std::string here = path;
    if (!here.empty()) here += '.';
    here += name;
    Compare(field, false, wanted, live.Find(name), Step(owned, "f:" + std::string(name)), here);
  }

  void Compare(const FieldInfo* field, bool element, const Value& wanted, const Value* live, Owned owned, const std::string& path) {
    // An element that is a list or map itself, or one in a Box, is compared as such. Whether it may be absent is the outer field's say.
    const FieldInfo* nested = field != nullptr && (element || field->shape == FieldShape::kOptional) ? NestedField(*field) : nullptr;
    if (nested != nullptr && live != nullptr && !live->is_null()) return Compare(nested, false, wanted, live, owned, path);
    if (live == nullptr || live->is_null()) {
      if (!SaysNothing(field, element, wanted)) Report(path, "missing, wanted " + Shown(wanted), nullptr);
      return;
    }
    if (wanted.is_null()) return Report(path, Shown(*live) + ", expected nothing", live);
    if (owned.checks() && owned.node == nullptr) {
      // Compared as a whole: a manager that lost a struct lost what is in it.
      Report(path, "not applied by us, or owned by another field manager", live);
      return;
    }
    if (wanted.is_object() && live->is_object()) return Object(field, element, wanted, *live, owned, path);
    if (wanted.is_list() && live->is_list()) return Items(field, wanted, *live, owned, path);
    if (!SameScalar(field, wanted, *live)) Report(path, Shown(*live) + " instead of " + Shown(wanted), live);
  }

  void Object(const FieldInfo* field, bool element, const Value& wanted, const Value& live, const Owned& owned, const std::string& path) {
    const bool is_map = field != nullptr && field->shape == FieldShape::kMap && !element;
    const TypeInfo* type = is_map ? nullptr : TypeOfField(field);
    for (const auto& member : wanted.object()) {
      if (is_map) {
        const std::string name = member.key.str();
        Compare(field, true, member.value, live.Find(name), Step(owned, "f:" + name), path + "[" + name + "]");
      } else {
        const FieldInfo* inner = type == nullptr ? nullptr : FindByName(*type, member.key.view(), 0).field;
        Member(inner, member.key.view(), member.value, live, owned, path);
      }
    }
    if (field != nullptr && field->extra != nullptr && field->extra->atomic) Additions(is_map, wanted, live, path);
  }

  // No other client may add to what is replaced as a whole. A struct may get defaults, which are plain values.
  void Additions(bool is_map, const Value& wanted, const Value& live, const std::string& path) {
    for (const auto& member : live.object()) {
      if (wanted.Find(member.key.view()) != nullptr) continue;
      if (is_map || member.value.is_object() || member.value.is_list()) {
        Report(path + "[" + member.key.str() + "]", "added by another client", &member.value);
      }
    }
  }

  void Items(const FieldInfo* field, const Value& wanted, const Value& live, const Owned& owned, const std::string& path) {
    const ListRule rule = RuleOf(field, owned);
    switch (rule.kind) {
      case ListRule::Kind::kSet:
        return Set(wanted, live, owned, path);
      case ListRule::Kind::kKeyed:
        return Keyed(rule.keys, field, wanted, live, owned, path);
      case ListRule::Kind::kAtomic:
        break;
    }
    if (wanted.list().size() != live.list().size()) {
      return Report(path, std::to_string(live.list().size()) + " elements instead of " + std::to_string(wanted.list().size()), &live);
    }
    for (std::size_t i = 0; i < wanted.list().size(); ++i) {
      Compare(field, true, wanted.list()[i], &live.list()[i], Owned::Everything(), path + "[" + std::to_string(i) + "]");
    }
  }

  void Set(const Value& wanted, const Value& live, const Owned& owned, const std::string& path) {
    for (const Value& item : wanted.list()) {
      const List<Value>& there = live.list();
      const std::string text = ToJson(item);
      if (std::find(there.begin(), there.end(), item) == there.end()) {
        Report(path, "without " + Shown(item), nullptr);
      } else if (const Owned mine = Step(owned, "v:" + text); mine.checks() && mine.node == nullptr) {
        Report(path + "[" + text + "]", "not applied by us, or owned by another field manager", nullptr);
      }
    }
  }

  void Keyed(const std::vector<std::string>& keys, const FieldInfo* field, const Value& wanted, const Value& live, const Owned& owned,
             const std::string& path) {
    std::vector<bool> used(live.list().size());
    for (const Value& item : wanted.list()) {
      std::string here;
      for (const std::string& key : keys) {
        if (item.Find(key) == nullptr) continue;
        here += (here.empty() ? "" : ",") + key + "=" + Plain(item[key]);
      }
      here = path + "[" + here + "]";
      // A key that is not given has the server's default, which is what the element has there.
      std::size_t i = 0;
      const auto fits = [&](const Value& candidate) {
        return std::all_of(keys.begin(), keys.end(),
                           [&](const std::string& key) { return item.Find(key) == nullptr || item[key] == candidate[key]; });
      };
      while (i < used.size() && (used[i] || !fits(live.list()[i]))) ++i;
      if (i == used.size()) {
        Report(here, "missing", nullptr);
        continue;
      }
      used[i] = true;
      const Value& found = live.list()[i];
      Value name = Value::Object();
      for (const std::string& key : keys) {
        if (found.Find(key) != nullptr) name[key] = found[key];
      }
      Compare(field, true, item, &found, Step(owned, "k:" + ToJson(name)), here);
    }
  }

  static std::string Plain(const Value& value) { return value.is_string() ? value.string_value().str() : ToJson(value); }
  std::string Shown(const Value& value) const {
    std::string text = ToJson(value);
    if (secret_) return std::to_string(text.size()) + " bytes";
    if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
    return text;
  }

  const bool secret_;
  Drift drift_;
};

}  // namespace

std::uint64_t HashText(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  hash ^= text.size();  // so that "a","bc" and "ab","c" differ
  hash *= 0x100000001b3U;
  return hash;
}

const Value* FindFieldsOf(const Value& entries, std::string_view manager, std::string_view operation) {
  const List<Value>& all = entries.list();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Value& entry) {
    return entry["manager"].string_value() == manager && entry["operation"].string_value() == operation &&
           entry["subresource"].string_value().empty();
  });
  return found == all.end() ? nullptr : &*found;
}

Drift FindDrift(const TypeInfo* type, const Value& wanted, const Value& live, std::string_view manager) {
  Comparison comparison(wanted["kind"] == Value("Secret"));
  const Value& entries = live["metadata"]["managedFields"];
  const Value* ours = FindFieldsOf(entries, manager, "Apply");
  if (ours == nullptr) ours = FindFieldsOf(entries, manager, "Update");  // made by us, and not changed since
  Owned owned = Owned::Unknown();
  if (ours != nullptr) {
    owned = {.node = &(*ours)["fieldsV1"], .known = true};
  } else if (!entries.list().empty()) {
    comparison.Report("metadata.managedFields", "nothing was applied by \"" + std::string(manager) + "\"", nullptr);
  }
  comparison.Root(type, wanted, live, owned);
  return std::move(comparison).Finish();
}

}  // namespace kube::internal
