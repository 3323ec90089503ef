// Values that are decoded into shared structure.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codec/patch_test_types.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/footprint.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"

namespace kube {
namespace {

Value Parse(std::string_view text, Interner* interner, const FieldSelection* fields = nullptr) {
  Result<Value> value = ParseJson(text, {.interner = interner, .fields = fields});
  EXPECT_TRUE(value.ok()) << value.error().ToString();
  return value.ok() ? *value : Value();
}

std::string ObjectText(int template_number, int i) {
  return R"({"metadata":{"name":"an-object-with-a-long-name-)" + std::to_string(i) +
         R"(","labels":{"app.kubernetes.io/name":"application"}},"spec":{"list":[{"a":1,"b":[true,null,1.5]},{},[]],"template":{"number":)" +
         std::to_string(template_number) + R"(,"text":"text that is long enough"}}})";
}

TEST(ValueInternerTest, EqualPartsAreHeldOnce) {
  Interner interner;
  std::vector<Value> values;
  for (int i = 0; i < 20; ++i) {
    values.push_back(Parse(ObjectText(i % 2, i), &interner));
    EXPECT_TRUE(values.back() == Parse(ObjectText(i % 2, i), nullptr));
    EXPECT_EQ(ToJson(values.back()), ToJson(Parse(ObjectText(i % 2, i), nullptr)));
  }
  // A part is held for a while, and from its second sighting on for good; which of the two a lookup meets depends on the secret. So there
  // may be a few copies, but not one for each object.
  const auto copies = [&](auto shares, std::size_t step) {
    std::vector<const Value*> distinct;
    for (std::size_t i = 1; i < values.size(); i += step) {
      const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const Value* other) { return shares(*other, values[i]); });
      if (!known) distinct.push_back(&values[i]);
    }
    return distinct.size();
  };
  const auto spec = [](const Value& a, const Value& b) { return a["spec"].object().SharesWith(b["spec"].object()); };
  const auto list = [](const Value& a, const Value& b) { return a["spec"]["list"].list().SharesWith(b["spec"]["list"].list()); };
  const auto labels = [](const Value& a, const Value& b) {
    return a["metadata"]["labels"].object().SharesWith(b["metadata"]["labels"].object());
  };
  const auto text = [](const Value& a, const Value& b) {
    return a["spec"]["template"]["text"].string_value().SharesTextWith(b["spec"]["template"]["text"].string_value());
  };
  EXPECT_LE(copies(spec, 2), 4U);
  EXPECT_LE(copies(list, 1), 5U);
  EXPECT_LE(copies(labels, 1), 5U);
  EXPECT_LE(copies(text, 1), 5U);
  EXPECT_FALSE(spec(values[17], values[18]));  // another template
  EXPECT_GT(interner.stats().hits, 0U);
}

TEST(ValueInternerTest, WritingToOneLeavesTheOthersAlone) {
  Interner interner;
  std::vector<Value> values;
  for (int i = 0; i < 4; ++i) values.push_back(Parse(ObjectText(1, i), &interner));
  values[3]["spec"]["list"].MutableList()[0]["a"] = 77;
  values[3]["metadata"]["labels"]["new"] = "label";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(values[static_cast<std::size_t>(i)] == Parse(ObjectText(1, i), nullptr));
  EXPECT_TRUE(Parse(ObjectText(1, 9), &interner) == Parse(ObjectText(1, 9), nullptr));
}

TEST(ValueInternerTest, SweepForgetsWhatNobodyUses) {
  Interner interner;
  {
    std::vector<Value> values;
    // Each template four times: how many parts stay depends on the secret. They are 473, give or take 11; after two times 335 and 14.
    for (int i = 0; i < 1200; ++i) values.push_back(Parse(ObjectText(i % 300, i), &interner));
    interner.Sweep();
    EXPECT_GT(interner.stats().entries, 300U);
  }
  interner.Sweep();
  EXPECT_EQ(interner.stats().entries, 0U);
}

TEST(ValueInternerTest, ValuesOutliveTheInterner) {
  std::vector<Value> values;
  {
    Interner interner;
    for (int i = 0; i < 5; ++i) values.push_back(Parse(ObjectText(1, i), &interner));
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(values[static_cast<std::size_t>(i)] == Parse(ObjectText(1, i), nullptr));
}

TEST(ValueInternerTest, SelectionsAndTypedObjectsShareAnInterner) {
  Interner interner;
  const FieldSelection fields = FieldSelection::Without({"spec.list.a"}).value();
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(Parse(ObjectText(1, i), &interner, &fields) == Parse(ObjectText(1, i), nullptr, &fields));
    EXPECT_TRUE(Parse(ObjectText(1, i), &interner) == Parse(ObjectText(1, i), nullptr));
    Result<patch_test::Thing> thing = FromJson<patch_test::Thing>(ObjectText(1, i), {.interner = &interner});
    ASSERT_TRUE(thing.ok()) << thing.error().ToString();
    EXPECT_EQ(thing->metadata.labels["app.kubernetes.io/name"], "application");
  }
}

TEST(ValueInternerTest, DuplicatesAndOrderAreAsWithoutIt) {
  Interner interner;
  for (int i = 0; i < 3; ++i) {
    Value v = Parse(R"({"x":{"b":1,"a":2,"b":3},"y":{"b":1,"a":2,"b":3}})", &interner);
    EXPECT_EQ(ToJson(v), R"({"x":{"a":2,"b":3},"y":{"a":2,"b":3}})");
    EXPECT_FALSE(ParseJson(R"({"x":{"b":1,"a":2,"b":3}})", {.strict = true, .interner = &interner}).ok());
  }
}

TEST(ValueInternerTest, SharingDoesNotGetAroundTheLimitOfDepth) {
  // 900 lists within another are fine; 900 around a part that has 900 itself are not, though it was read before.
  Interner interner;
  auto nested = [](int n, const std::string& core) {
    return std::string(static_cast<std::size_t>(n), '[') + core + std::string(static_cast<std::size_t>(n), ']');
  };
  const std::string part = nested(900, "1");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ParseJson("[" + part + "]", {.interner = &interner}).ok());
  EXPECT_FALSE(ParseJson(nested(900, part), {.interner = &interner}).ok());
  EXPECT_TRUE(ParseJson(nested(50, part), {.interner = &interner}).ok());
}

TEST(ValueInternerTest, BlocksAreNoLargerThanTheirContent) {
  Value v = Parse(R"({"a":[1],"b":{"c":1,"d":2,"e":3,"f":4,"g":5}})", nullptr);
  Footprint f;
  f.Add(v);
  EXPECT_EQ(f.real_bytes(), sizeof(Value) + 3 * 16 + sizeof(Value) + (2 + 5) * sizeof(MapEntry<Value>));
}

TEST(ValueInternerTest, RawJsonAndATextThatLooksLikeItAreNotMixed) {
  // The raw member becomes compact text; the annotation has to stay as it is.
  Interner interner;
  const std::string text =
      R"({"metadata":{"annotations":{"a":"{\"any\": \"thing\", \"more\": 1}"}},"spec":{"raw":{"any": "thing", "more": 1}}})";
  for (int i = 0; i < 4; ++i) {
    Result<patch_test::Thing> thing = FromJson<patch_test::Thing>(text, {.interner = &interner});
    ASSERT_TRUE(thing.ok()) << thing.error().ToString();
    EXPECT_EQ(thing->metadata.annotations["a"], R"({"any": "thing", "more": 1})");
    EXPECT_EQ(thing->spec.raw.text(), R"({"any":"thing","more":1})");
  }
}

TEST(ValueInternerTest, AnInternerOfFewObjectsIsSmall) {
  Interner interner;
  Parse(ObjectText(1, 1), &interner);
  EXPECT_LT(interner.stats().table_bytes, 32U * 1024);
  for (int i = 0; i < 20000; ++i) Parse("[\"a text that never comes again " + std::to_string(i) + "\"]", &interner);
  EXPECT_LT(interner.stats().table_bytes, 512U * 1024);
}

// Counted, not timed: each level used to be passed and hashed once more for each level around it.
TEST(ValueInternerTest, DeepNestingCostsInProportionToTheSize) {
  for (const bool lists : {false, true}) {
    constexpr int kLevels = 900;
    std::string text = lists ? "[" : R"({"text":"innermost of all of them")";
    text += lists ? "]" : "}";
    for (int i = 0; i < kLevels; ++i) {
      text = lists ? "[\"a level of its own\"," + text + "]" : R"({"text":"a level of its own","inside":)" + text + "}";
    }
    Interner interner;
    EXPECT_EQ(ToJson(Parse(text, &interner)), ToJson(Parse(text, nullptr)));
    const Interner::Stats stats = interner.stats();
    EXPECT_GT(stats.lookups, 0U);
    EXPECT_LE(stats.hashed_bytes, 35 * text.size());
    EXPECT_LE(stats.scanned_tokens, 35 * 9 * kLevels);
    // What is equal is shared as before.
    const std::uint64_t hits = stats.hits;
    Parse(text, &interner);
    Parse(text, &interner);
    EXPECT_GT(interner.stats().hits, hits);
  }
}

}  // namespace
}  // namespace kube
