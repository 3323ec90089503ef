// Decoding a part of an object gives what decoding all of it and removing the rest gives: random objects, random paths.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "codec/fields.h"
#include "kube/api/all.h"
#include "kube/codec/diff.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "random_object.h"

namespace kube::contract {
namespace {

using Names = std::vector<std::string>;

constexpr int kShards = 4;

std::uint64_t Seed() {
  const char* given = std::getenv("KUBEXX_TEST_SEED");
  static const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  return seed;
}

std::string PathText(const Names& names) {
  std::string out;
  for (const std::string& name : names) {
    bool plain = name.find_first_of(".[]'\" \t\r\n") == std::string::npos;
    out += plain ? (out.empty() ? "" : ".") + name : "['" + name + "']";
  }
  return out;
}

// Goes into the object at random, as far as its tables go, and may stop anywhere. Nothing if there is nothing to name.
void Walk(const TypeInfo& type, const Value& json, Random& random, Names& names);

void WalkElement(const FieldInfo& field, const Value& json, Random& random, Names& names) {
  if (field.kind == FieldKind::kMessage) Walk(*field.type, json, random, names);
}

void WalkField(const FieldInfo& field, const Value& json, Random& random, Names& names) {
  if (field.shape == FieldShape::kList) {
    if (json.list().empty()) return;
    WalkElement(field, json.list()[random() % json.list().size()], random, names);
  } else if (field.shape == FieldShape::kMap) {
    if (json.object().empty()) return;
    const auto& [key, value] = json.object().begin()[random() % json.object().size()];
    if (key.empty() || key.view().find('\'') != std::string_view::npos) return;
    names.push_back(key.str());
    if (random() % 2 == 0) WalkElement(field, value, random, names);
  } else {
    WalkElement(field, json, random, names);
  }
}

void Walk(const TypeInfo& type, const Value& json, Random& random, Names& names) {
  if (type.form == TypeForm::kOnlyField) return WalkField(type.fields[0], json, random, names);
  if (type.form != TypeForm::kStruct || json.object().empty()) return;
  const auto& [name, value] = json.object().begin()[random() % json.object().size()];
  names.push_back(name.str());
  internal::FoundField found = internal::FindByName(type, name.view(), 0);
  if (found.field != nullptr && random() % 4 != 0) WalkField(*found.field, value, random, names);
}

// ---- What the decoders should do, done the slow way ----

void Remove(Value& json, const Names& path, std::size_t depth) {
  if (json.is_list()) {
    for (Value& item : json.MutableList()) Remove(item, path, depth);
  } else if (json.is_object() && json.object().contains(path[depth])) {
    if (depth + 1 == path.size()) {
      json.MutableObject().Erase(path[depth]);
    } else {
      Remove(json[path[depth]], path, depth + 1);
    }
  }
}

void KeepOnly(Value& json, const std::vector<Names>& paths, std::size_t depth) {
  if (json.is_list()) {
    for (Value& item : json.MutableList()) KeepOnly(item, paths, depth);
    return;
  }
  if (!json.is_object()) return;
  Value kept = Value::Object();
  for (const auto& [name, value] : std::as_const(json).object()) {
    std::vector<Names> longer;
    bool whole = false;
    for (const Names& path : paths) {
      if (path[depth] != name.view()) continue;
      if (path.size() == depth + 1) {
        whole = true;
      } else {
        longer.push_back(path);
      }
    }
    if (!whole && longer.empty()) continue;
    kept[name.view()] = value;
    if (!whole) KeepOnly(kept[name.view()], longer, depth + 1);
  }
  json = kept;
}

bool HasProtobufForm(const TypeInfo& type) { return type.field_count == 0 || type.fields[0].number != 0; }

class FieldSelectionContractTest : public ::testing::TestWithParam<int> {
 protected:
  struct Case {
    std::vector<std::string> texts;
    FieldSelection fields;
    Value wanted;
  };

  // Random paths of the object, and the object without them, or of nothing else.
  static std::optional<Case> MakeCase(const TypeInfo& type, const Value& json, Random& random) {
    Case made;
    std::vector<Names> paths;
    bool only = random() % 2 == 0;
    for (std::size_t i = 1 + random() % 4; i > 0; --i) {
      Names names;
      Walk(type, json, random, names);
      if (names.empty()) continue;
      std::string text = PathText(names);
      if (!(only ? FieldSelection::Only(std::vector{text}) : FieldSelection::Without(std::vector{text}))) continue;  // caches need it
      made.texts.push_back(text);
      paths.push_back(names);
    }
    made.fields = only ? FieldSelection::Only(made.texts).value() : FieldSelection::Without(made.texts).value();
    made.wanted = json;
    if (only) {
      for (const char* name : {"apiVersion", "kind", "metadata"}) paths.push_back({name});
      KeepOnly(made.wanted, paths, 0);
    } else {
      for (const Names& path : paths) Remove(made.wanted, path, 0);
    }
    return made;
  }

  static void Expect(const TypeInfo& type, const AnyObject& wanted, const AnyObject& got, const Result<void>& decoded, const Case& c,
                     std::string_view how) {
    ASSERT_TRUE(decoded.ok()) << how << ", " << c.fields.ToString() << ": " << decoded.error().ToString();
    EXPECT_TRUE(wanted == got) << how << ", " << c.fields.ToString() << '\n' << ToString(Diff(type, wanted.data(), got.data()));
  }
};

TEST_P(FieldSelectionContractTest, DecodingAPartIsDecodingAllAndRemovingTheRest) {
  auto kinds = api::AllKinds();
  for (std::size_t k = static_cast<std::size_t>(GetParam()); k < kinds.size() && !HasFailure(); k += kShards) {
    const TypeInfo& type = *kinds[k];
    if (type.kind == nullptr || type.kind->is_list) continue;
    Random random(Seed() + k);
    SCOPED_TRACE(std::string(type.name) + ", KUBEXX_TEST_SEED=" + std::to_string(Seed()));
    Interner interner;
    for (int i = 0; i < 10 && !HasFailure(); ++i) {
      AnyObject whole = RandomObject(type, random);
      Result<Value> json = ToValue(type, whole.data());
      ASSERT_TRUE(json.ok()) << json.error().ToString();
      std::string bytes;
      if (HasProtobufForm(type)) {
        ASSERT_TRUE(EncodeProtobuf(type, whole.data(), bytes).ok());
      }
      for (int s = 0; s < 3 && !HasFailure(); ++s) {
        std::optional<Case> c = MakeCase(type, *json, random);
        AnyObject wanted(type);
        auto r = DecodeValue(type, wanted.mutable_data(), c->wanted);
        ASSERT_TRUE(r.ok()) << r.error().ToString() << '\n' << ToJson(c->wanted);
        Result<Value> value = ParseJson(ToJson(*json), {.fields = &c->fields});
        ASSERT_TRUE(value.ok());
        EXPECT_TRUE(*value == c->wanted) << c->fields.ToString() << '\n' << ToString(Diff(c->wanted, *value));
        for (bool intern : {false, true, true}) {
          DecodeOptions options{.interner = intern ? &interner : nullptr, .fields = &c->fields};
          AnyObject from_json(type), from_protobuf(type), all(type);
          Expect(type, wanted, from_json, DecodeJson(type, from_json.mutable_data(), ToJson(*json), options), *c, "JSON");
          if (bytes.empty()) continue;
          Expect(type, wanted, from_protobuf, DecodeProtobuf(type, from_protobuf.mutable_data(), bytes, options), *c, "protobuf");
          // What was shared with a selection is not what others get.
          Expect(type, whole, all, DecodeProtobuf(type, all.mutable_data(), bytes, {.interner = options.interner}), *c, "all");
        }
      }
    }
  }
}

TEST_P(FieldSelectionContractTest, UnknownMembersToo) {
  auto kinds = api::AllKinds();
  for (std::size_t k = static_cast<std::size_t>(GetParam()); k < kinds.size() && !HasFailure(); k += kShards) {
    const TypeInfo& type = *kinds[k];
    if (type.kind == nullptr || type.kind->is_list) continue;
    Random random(Seed() + k);
    SCOPED_TRACE(std::string(type.name) + ", KUBEXX_TEST_SEED=" + std::to_string(Seed()));
    for (int i = 0; i < 5 && !HasFailure(); ++i) {
      AnyObject whole = RandomObject(type, random);
      Result<Value> json = ToValue(type, whole.data());
      ASSERT_TRUE(json.ok()) << json.error().ToString();
      AddUnknownMembers(type, *json);
      std::optional<Case> c = MakeCase(type, *json, random);
      AnyObject wanted(type), got(type);
      ASSERT_TRUE(DecodeValue(type, wanted.mutable_data(), c->wanted).ok());
      Expect(type, wanted, got, DecodeJson(type, got.mutable_data(), ToJson(*json), {.fields = &c->fields}), *c, "JSON");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, FieldSelectionContractTest, ::testing::Range(0, kShards));

}  // namespace
}  // namespace kube::contract
