#include "kube/codec/diff.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/keyed_hash.h"
#include "codec/fields.h"
#include "codec/object_join.h"
#include "codec/strategic_schema.h"
#include "kube/codec/json.h"
#include "kube/value/quantity.h"

namespace kube {
namespace {

// Which part of a Secret a place is.
enum class SecretPart : std::uint8_t { kNone, kList, kItems, kSecret, kMetadata, kAnnotations, kData, kStringData, kBase64, kText };

// What is known of a place in a document: at most one of the pointers is set.
struct Place {
  const TypeInfo* type = nullptr;     // a struct
  const FieldInfo* list = nullptr;    // the list of this field
  const FieldInfo* map = nullptr;     // the map of this field
  const FieldInfo* scalar = nullptr;  // a value of this field
  SecretPart secret = SecretPart::kNone;
};

Place ElementOf(const FieldInfo& field);

Place PlaceOf(const FieldInfo& field) {
  Place out;
  if (field.shape == FieldShape::kList) {
    out.list = &field;
  } else if (field.shape == FieldShape::kMap) {
    out.map = &field;
  } else {
    out = ElementOf(field);
  }
  return out;
}

Place ElementOf(const FieldInfo& field) {
  if (const FieldInfo* nested = internal::NestedField(field)) return PlaceOf(*nested);
  Place out;
  if (field.kind != FieldKind::kMessage) {
    out.scalar = &field;
    return out;
  }
  out.type = field.type;
  while (out.type != nullptr && out.type->form != TypeForm::kStruct) {
    const TypeInfo* inner = nullptr;
    for (const FieldInfo& choice : *out.type) {
      if (choice.kind == FieldKind::kMessage && choice.shape != FieldShape::kList && choice.shape != FieldShape::kMap) inner = choice.type;
    }
    out.type = inner;
  }
  return out;
}

Place MemberOf(const Place& parent, std::string_view key) {
  Place out;
  if (parent.map != nullptr) {
    out = ElementOf(*parent.map);
  } else if (parent.type != nullptr) {
    if (const FieldInfo* field = internal::FindByName(*parent.type, key, 0).field) out = PlaceOf(*field);
  }
  switch (parent.secret) {
    case SecretPart::kList:
      if (key == "items") out.secret = SecretPart::kItems;
      break;
    case SecretPart::kSecret:
      if (key == "data") out.secret = SecretPart::kData;
      if (key == "stringData") out.secret = SecretPart::kStringData;
      if (key == "metadata") out.secret = SecretPart::kMetadata;
      break;
    case SecretPart::kMetadata:
      if (key == "annotations") out.secret = SecretPart::kAnnotations;
      break;
    case SecretPart::kAnnotations:
      // kubectl keeps the whole object here.
      if (key == "kubectl.kubernetes.io/last-applied-configuration") out.secret = SecretPart::kText;
      break;
    case SecretPart::kData:
      out.secret = SecretPart::kBase64;
      break;
    case SecretPart::kStringData:
      out.secret = SecretPart::kText;
      break;
    default:
      break;
  }
  return out;
}

Place ItemOf(const Place& parent) {
  Place out;
  if (parent.list != nullptr) out = ElementOf(*parent.list);
  if (parent.secret == SecretPart::kItems) out.secret = SecretPart::kSecret;
  return out;
}

// The place of an object, now that its content is known.
Place Enter(Place place, const Value& object) {
  if (place.secret != SecretPart::kNone || !object.is_object()) return place;
  const KindInfo* kind = place.type == nullptr ? nullptr : place.type->kind;
  std::string_view name = object["kind"].string_value();
  bool core = object["apiVersion"].string_value() == "v1";
  if (kind != nullptr) {
    name = kind->kind;
    core = kind->group.empty() && kind->version == "v1";
  }
  if (core && name == "Secret") place.secret = SecretPart::kSecret;
  if (core && name == "SecretList") place.secret = SecretPart::kList;
  return place;
}

std::string SizeOnly(const Value& value, SecretPart part) {
  std::string_view text = value.string_value();
  if (!value.is_string()) return "(redacted)";
  std::size_t size = text.size();
  if (part == SecretPart::kBase64) {
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    size = text.size() * 3 / 4;
  }
  return "(redacted, " + std::to_string(size) + (size == 1 ? " byte)" : " bytes)");
}

bool IsHidden(const Place& place, const Value& value) {
  if (place.secret == SecretPart::kBase64 || place.secret == SecretPart::kText) return true;
  return (place.secret == SecretPart::kData || place.secret == SecretPart::kStringData) && !value.is_object() && !value.is_null();
}

Value Redact(const Value& value, Place place) {
  if (IsHidden(place, value)) return Value(SizeOnly(value, place.secret));
  if (value.is_object()) {
    place = Enter(place, value);
    return internal::JoinObjects(value.object(), {}, [&](const String& key, const Value* member, const Value*) {
      return std::optional<Value>(Redact(*member, MemberOf(place, key)));
    });
  }
  if (value.is_list()) {
    List<Value> out;
    out.reserve(value.list().size());
    Place item = ItemOf(place);
    for (const Value& element : value.list()) out.push_back(Redact(element, item));
    return out;
  }
  return value;
}

// Cuts at a character, not within one.
std::string Cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t size = text.size();
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  text.resize(limit);
  return text + "... (" + std::to_string(size) + " bytes)";
}

bool IsScalar(const Value& v) { return !v.is_list() && !v.is_object(); }

class Walker {
 public:
  explicit Walker(const DiffOptions& options) : options_(options) {}

  void Compare(const Value& before, const Value& after, Place place) {
    if (before == after) return;
    place = Enter(Enter(place, before), after);
    if (before.is_object() && after.is_object()) return CompareObjects(before.object(), after.object(), place);
    if (before.is_list() && after.is_list()) return CompareLists(before.list(), after.list(), place);
    if (place.scalar != nullptr && place.scalar->kind == FieldKind::kQuantity && SameAmount(before, after)) return;
    Emit(Difference::Kind::kChanged, &before, &after, place);
  }

  std::vector<Difference> Take() {
    if (omitted_ > 0) out_.push_back({Difference::Kind::kOmitted, "and " + std::to_string(omitted_) + " more", {}, {}});
    return std::move(out_);
  }

 private:
  const DiffOptions& options_;
  std::vector<Difference> out_;
  std::size_t omitted_ = 0;
  std::string path_;

  static bool SameAmount(const Value& a, const Value& b) {
    if (!a.is_string() || !b.is_string()) return false;
    Result<Quantity> x = Quantity::Parse(a.string_value());
    Result<Quantity> y = Quantity::Parse(b.string_value());
    return x && y && *x == *y;
  }

  std::string Render(const Value& value, const Place& place) const {
    Value shown = Redact(value, place);
    return Cut(IsHidden(place, value) ? shown.string_value().str() : ToJson(shown), options_.max_value_bytes);
  }

  void Emit(Difference::Kind kind, const Value* before, const Value* after, const Place& place) {
    if (out_.size() >= options_.max_differences) {
      ++omitted_;
      return;
    }
    Difference d;
    d.kind = kind;
    d.path = path_;
    if (before != nullptr) d.before = Render(*before, place);
    if (after != nullptr) d.after = Render(*after, place);
    out_.push_back(std::move(d));
  }

  template <typename F>
  void Below(std::string_view segment, F&& f) {
    std::size_t size = path_.size();
    path_ += segment;
    f();
    path_.resize(size);
  }

  std::string MemberSegment(std::string_view key, const Place& place) const {
    bool simple = place.map == nullptr && !key.empty() && key.find_first_of(".[]/ ") == std::string_view::npos;
    std::string shown = Cut(std::string(key), 120);
    if (!simple) return "[" + shown + "]";
    return path_.empty() ? shown : "." + shown;
  }

  void CompareObjects(const Map<Value>& before, const Map<Value>& after, const Place& place) {
    internal::JoinObjects(before, after, [&](const String& key, const Value* x, const Value* y) {
      Below(MemberSegment(key, place), [&] { CompareOptional(x, y, MemberOf(place, key)); });
      return std::optional<Value>();
    });
  }

  void CompareOptional(const Value* before, const Value* after, const Place& place) {
    if (before != nullptr && after != nullptr) {
      Compare(*before, *after, place);
    } else {
      Emit(before != nullptr ? Difference::Kind::kRemoved : Difference::Kind::kAdded, before, after, place);
    }
  }

  // The elements' labels, such as "name=web", or "=x" of a set; nothing if they are not unique or the table has no key.
  static std::optional<std::vector<std::string>> Labels(const List<Value>& list, const FieldInfo& field) {
    std::vector<std::string> out;
    std::set<std::string> seen;
    const FieldExtra& extra = *field.extra;
    std::string_view keys = extra.list_type == ListType::kMap && !extra.map_keys.empty() ? extra.map_keys : extra.patch_merge_key;
    bool set = keys.empty() && field.kind != FieldKind::kMessage &&
               (extra.list_type == ListType::kSet || extra.patch_strategy.find("merge") != std::string_view::npos);
    if (keys.empty() && !set) return std::nullopt;
    for (const Value& element : list) {
      std::string label;
      if (set) {
        if (!IsScalar(element)) return std::nullopt;
        label = "=" + KeyLabel(element);
      }
      for (std::string_view rest = keys; !rest.empty();) {
        std::string_view key = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), key.size() + 1));
        const Value* value = element.Find(key);
        if (value == nullptr) continue;
        if (!IsScalar(*value)) return std::nullopt;
        if (!label.empty()) label += ',';
        label += std::string(key) + "=" + KeyLabel(*value);
      }
      if (label.empty() || !seen.insert(label).second) return std::nullopt;
      out.push_back(std::move(label));
    }
    return out;
  }

  static std::string KeyLabel(const Value& value) { return value.is_string() ? value.string_value().str() : ToJson(value); }

  void CompareLists(const List<Value>& before, const List<Value>& after, const Place& place) {
    if (place.list != nullptr && place.list->extra != nullptr) {
      auto a = Labels(before, *place.list);
      auto b = Labels(after, *place.list);
      if (a && b) return CompareByLabel(before, *a, after, *b, place);
    }
    Place item = ItemOf(place);
    std::size_t start = 0;
    std::size_t n = before.size();
    std::size_t m = after.size();
    while (start < n && start < m && before[start] == after[start]) ++start;
    while (n > start && m > start && before[n - 1] == after[m - 1]) --n, --m;
    for (std::size_t i = start; i < std::max(n, m); ++i) {
      Below("[" + std::to_string(i) + "]", [&] { CompareOptional(i < n ? &before[i] : nullptr, i < m ? &after[i] : nullptr, item); });
    }
  }

  void CompareByLabel(const List<Value>& before, const std::vector<std::string>& before_labels, const List<Value>& after,
                      const std::vector<std::string>& after_labels, const Place& place) {
    Place item = ItemOf(place);
    std::unordered_map<std::string_view, std::size_t, internal::KeyedHash> in_after;
    for (std::size_t i = 0; i < after.size(); ++i) in_after.emplace(after_labels[i], i);
    std::vector<std::size_t> kept;  // places in `after`, in the order of `before`
    for (std::size_t i = 0; i < before.size(); ++i) {
      auto found = in_after.find(before_labels[i]);
      const Value* y = found == in_after.end() ? nullptr : &after[found->second];
      Below("[" + Cut(before_labels[i], 120) + "]", [&] { CompareOptional(&before[i], y, item); });
      if (y != nullptr) kept.push_back(found->second);
    }
    std::set<std::size_t> known(kept.begin(), kept.end());
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (known.count(i) == 0) Below("[" + Cut(after_labels[i], 120) + "]", [&] { CompareOptional(nullptr, &after[i], item); });
    }
    if (std::is_sorted(kept.begin(), kept.end())) return;
    auto names = [](const std::vector<std::string>& labels) {
      std::string out;
      for (const std::string& label : labels) out += (out.empty() ? "" : ", ") + label;
      return Value(out);
    };
    Value x = names(before_labels);
    Value y = names(after_labels);
    Below(" (order)", [&] { Emit(Difference::Kind::kChanged, &x, &y, {}); });
  }
};

}  // namespace

std::vector<Difference> Diff(const TypeInfo& type, const void* before, const void* after, const DiffOptions& options) {
  if (EqualObjects(type, before, after)) return {};
  Result<Value> x = ToValue(type, before);
  Result<Value> y = ToValue(type, after);
  std::vector<Difference> out;
  if (x && y) {
    Walker walker(options);
    Place root;
    root.type = &type;
    walker.Compare(*x, *y, root);
    out = walker.Take();
    if (out.empty()) out.push_back({Difference::Kind::kChanged, "(unknown protobuf fields)", "(bytes)", "(other bytes)"});
  } else {
    // Only a RawJson that holds no JSON leads here.
    const Error& error = x ? y.error() : x.error();
    out.push_back({Difference::Kind::kChanged, "", "(cannot be shown: " + error.ToString() + ")", "(differs)"});
  }
  return out;
}

std::vector<Difference> Diff(const Value& before, const Value& after, const DiffOptions& options) {
  Walker walker(options);
  walker.Compare(before, after, {});
  return walker.Take();
}

std::string ToString(const std::vector<Difference>& differences) {
  std::string out;
  for (const Difference& d : differences) {
    std::string path = d.path.empty() ? "(all)" : d.path;
    switch (d.kind) {
      case Difference::Kind::kChanged:
        out += "~ " + path + ": " + d.before + " -> " + d.after + "\n";
        break;
      case Difference::Kind::kAdded:
        out += "+ " + path + ": " + d.after + "\n";
        break;
      case Difference::Kind::kRemoved:
        out += "- " + path + ": " + d.before + "\n";
        break;
      case Difference::Kind::kOmitted:
        out += "... " + path + "\n";
        break;
    }
  }
  return out;
}

}  // namespace kube
