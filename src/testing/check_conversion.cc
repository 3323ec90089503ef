#include "kube/testing/check_conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "kube/codec/diff.h"
#include "kube/codec/json.h"
#include "testing/random_object.h"
#include "webhook/one_field.h"

namespace kube::testing {
namespace {

using kube::internal::OneField;

constexpr int kMostShrinkingSteps = 2000;

bool Chance(Random& random, int one_in) { return std::uniform_int_distribution<>(0, one_in - 1)(random) == 0; }

// Metadata as a server has it.
void PrepareMetadata(meta::v1::ObjectMeta& metadata, Random& random) {
  metadata.name = String(fmt::format("object-{}", random() % 1000));
  metadata.namespace_ = "default";
  metadata.managed_fields.clear();
  metadata.labels.clear();
  metadata.annotations.clear();
  if (Chance(random, 2)) metadata.labels.Set("app.kubernetes.io/name", String(fmt::format("a{}", random() % 10)));
  if (Chance(random, 2)) metadata.annotations.Set("example.com/note", String(fmt::format("{}", random())));
}

void DropOurAnnotations(AnyObject& object) {
  meta::v1::ObjectMeta& metadata = *MutableMetadataOf(object);
  std::vector<String> ours;
  for (const auto& [key, value] : std::as_const(metadata.annotations)) {
    if (key.view().starts_with(kConversionAnnotationPrefix)) ours.push_back(key);
  }
  for (const String& key : ours) metadata.annotations.Erase(key.view());
  object.Settle();
}

// Where the text of an annotation has values; keys of lists and maps are left out.
void CollectPaths(const TypeInfo* type, const Value& node, const std::string& path, std::set<std::string>& out) {
  if (!node.is_object()) {
    out.insert(path);
    return;
  }
  for (const auto& [name, inside] : node.object()) {
    const FieldInfo* field = nullptr;
    if (type != nullptr) {
      for (const FieldInfo& candidate : *type) {
        if (candidate.json_name == name.view()) field = &candidate;
      }
    }
    const std::string here = path.empty() ? name.str() : path + "." + name.str();
    if (field == nullptr || field->kind != FieldKind::kMessage || !inside.is_object()) {
      out.insert(here);
    } else if (field->shape == FieldShape::kList || field->shape == FieldShape::kMap) {
      const Value& elements = field->shape == FieldShape::kMap ? inside
                              : inside.Find("keys") != nullptr ? inside["keys"]
                                                               : inside["content"];
      for (const auto& [key, element] : elements.object()) CollectPaths(field->type, element, here, out);
      if (inside.Find("order") != nullptr) out.insert(here);
    } else {
      CollectPaths(field->type, inside, here, out);
    }
  }
}

class Check {
 public:
  Check(const Converter& converter, const CheckConversionOptions& options, std::uint64_t seed)
      : converter_(converter), options_(options), seed_(seed), random_(seed) {
    for (const std::string& version : converter.spec().versions()) types_.push_back(converter.Find(version));
  }

  Result<ConversionCheck> Run() {
    out_.seed = seed_;
    for (int i = 0; i < options_.objects; ++i) {
      for (const TypeInfo* from : types_) {
        const AnyObject object = Make(*from);
        for (const TypeInfo* to : types_) {
          if (to == from) continue;
          const AnyObject other = Make(*to);
          const std::uint64_t edit = random_();
          if (!Wrong(object, *to, other, edit)) continue;
          return Report(i, object, *to, other, edit);
        }
      }
    }
    return out_;
  }

 private:
  const Converter& converter_;
  const CheckConversionOptions& options_;
  const std::uint64_t seed_;
  Random random_;
  std::vector<const TypeInfo*> types_;
  ConversionCheck out_;

  AnyObject Make(const TypeInfo& type) {
    AnyObject object = RandomObject(type, random_);
    PrepareMetadata(*MutableMetadataOf(object), random_);
    if (const auto prepare = options_.prepare.find(&type); prepare != options_.prepare.end()) prepare->second(object.mutable_data());
    object.Settle();
    return object;
  }

  static std::string Version(const TypeInfo& type) { return std::string(type.kind->version); }

  // What is wrong with the conversions of this object; nothing if they are right.
  std::optional<std::string> Wrong(const AnyObject& object, const TypeInfo& to, const AnyObject& other, std::uint64_t edit) {
    const TypeInfo& from = object.type();
    const std::string way = fmt::format("{} to {}", Version(from), Version(to));
    const auto differ = [&](const std::string& what, const AnyObject& expected, const AnyObject& got) {
      return fmt::format("{}:\n{}", what, ToString(Diff(expected.type(), expected.data(), got.data(), {.max_differences = 20})));
    };
    std::string failed;
    const auto convert = [&](const AnyObject& what, const TypeInfo& type) {
      ++out_.conversions;
      Result<AnyObject> made = converter_.Convert(Context::Background(), what, type);
      if (!made) {
        failed = made.error().ToString();
        return AnyObject(type);
      }
      return *std::move(made);
    };
    const AnyObject there = convert(object, to);
    if (!failed.empty()) return failed;
    Collect(there, from, way);
    if (const AnyObject again = convert(object, to); !(again == there))
      return differ(way + " gives another result the second time", there, again);
    const AnyObject back = convert(there, from);
    if (!failed.empty()) return failed;
    if (!(back == object)) return differ(way + " and back", object, back);
    // By way of all versions.
    AnyObject wanderer = object;
    std::string stops = Version(from);
    for (const TypeInfo* stop : types_) {
      if (stop == &from) continue;
      wanderer = convert(wanderer, *stop);
      stops += " to " + Version(*stop);
      if (!failed.empty()) return failed;
    }
    wanderer = convert(wanderer, from);
    if (!failed.empty()) return failed;
    if (!(wanderer == object)) return differ(stops + " and back", object, wanderer);
    // An edit of the other version.
    if (!converter_.spec().keep_lost) return std::nullopt;
    AnyObject edited = Edited(there, other, edit);
    AnyObject returned = convert(convert(edited, from), to);
    if (!failed.empty()) return fmt::format("{}, edited there: {}", way, failed);
    DropOurAnnotations(edited);
    DropOurAnnotations(returned);
    if (!(edited == returned)) return differ(fmt::format("{}, edited there, back and {} again", way, Version(to)), edited, returned);
    return std::nullopt;
  }

  // With one or more fields of `other`. Metadata stays.
  static AnyObject Edited(const AnyObject& object, const AnyObject& other, std::uint64_t edit) {
    AnyObject out = object;
    Random random(edit);
    Edit(out.type(), static_cast<char*>(out.mutable_data()), static_cast<const char*>(other.data()), random, true);
    out.Settle();
    return out;
  }
  static void Edit(const TypeInfo& type, char* object, const char* other, Random& random, bool top) {
    for (const FieldInfo& field : type) {
      if (field.kind == FieldKind::kInline || (top && field.json_name == "metadata")) continue;
      char* at = kube::internal::At(object, field);
      const char* from = kube::internal::At(other, field);
      if (field.shape == FieldShape::kPlain && kube::internal::IsStruct(field)) {
        Edit(*field.type, at, from, random, false);
      } else if (Chance(random, 4)) {
        const OneField one(field);
        one.Reset(at);
        one.Copy(from, at);
      }
    }
  }

  void Collect(const AnyObject& there, const TypeInfo& from, const std::string& way) {
    const String* text = MetadataOf(there)->annotations.Find(std::string(kConversionAnnotationPrefix) + Version(from));
    if (text == nullptr || text->view().front() != '{') return;
    std::set<std::string> paths;
    if (Result<Value> lost = ParseJson(text->view())) CollectPaths(&from, *lost, "", paths);
    for (const std::string& path : paths) out_.kept.insert(way + ": " + path);
  }

  Error Report(int index, AnyObject object, const TypeInfo& to, const AnyObject& other, std::uint64_t edit) {
    int steps = 0;
    while (steps < kMostShrinkingSteps && Shrink(object, to, other, edit, steps)) {
    }
    std::string json;
    if (!EncodeJson(object.type(), object.data(), json)) json = "it cannot be written as JSON";
    const ConversionSpec& spec = converter_.spec();
    return Error::Invalid(
        fmt::format("{}.{} (seed {}, object {}): {}\nthe smallest object found that shows it: {}", spec.kind(), spec.group(), seed_, index,
                    Wrong(object, to, other, edit).value_or("not again: the functions depend on more than the object"), json));
  }

  // Takes away one part without which the conversion is still wrong. False if there is none.
  bool Shrink(AnyObject& object, const TypeInfo& to, const AnyObject& other, std::uint64_t edit, int& steps) {
    Result<Value> json = ToValue(object.type(), object.data());
    if (!json) return false;
    bool smaller = false;
    const auto still_wrong = [&](const Value& candidate) {
      if (++steps > kMostShrinkingSteps) return false;
      AnyObject made(object.type());
      if (!DecodeValue(object.type(), made.mutable_data(), candidate)) return false;
      made.Settle();
      if (made == object || !Wrong(made, to, other, edit)) return false;
      object = made;
      smaller = true;
      return true;
    };
    Value whole = *json;
    ShrinkInside(whole, whole, still_wrong);
    return smaller;
  }
  // Tries without each member or element of `part`, which is a part of `whole`.
  template <typename F>
  static void ShrinkInside(Value& whole, Value& part, const F& still_wrong) {
    if (part.is_object()) {
      std::vector<std::string> names;
      for (const auto& member : std::as_const(part).object()) names.push_back(member.key.str());
      for (const std::string& name : names) {
        const Value before = std::as_const(part)[name];
        part.MutableObject().Erase(name);
        if (still_wrong(whole)) continue;
        part[std::string_view(name)] = before;
        ShrinkInside(whole, part[std::string_view(name)], still_wrong);
      }
    } else if (part.is_list()) {
      for (std::size_t i = std::as_const(part).list().size(); i-- > 0;) {
        const Value before = std::as_const(part).list()[i];
        part.MutableList().erase(i);
        if (still_wrong(whole)) continue;
        part.MutableList().insert(i, before);
        ShrinkInside(whole, part.MutableList()[i], still_wrong);
      }
    }
  }
};

}  // namespace

Result<ConversionCheck> CheckConversion(const ConversionSpec& spec, const CheckConversionOptions& options) {
  Result<Converter> converter = Converter::Make(spec);
  if (!converter) return converter.error();
  std::uint64_t seed = options.seed;
  while (seed == 0) seed = std::random_device{}();
  return Check(*converter, options, seed).Run();
}

}  // namespace kube::testing
