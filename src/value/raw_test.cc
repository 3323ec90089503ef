#include "kube/value/raw.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "value/test_types.h"

namespace kube {
namespace {

using testing::InThreads;
using testing::kLongText;

static_assert(sizeof(UnknownFields) == sizeof(void*));
static_assert(sizeof(RawJson) == sizeof(String));

TEST(RawJsonTest, ComparesItsText) {
  RawJson a{R"({"a":1})"}, b{R"({"a":1})"}, c{R"({"a":2})"};
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_TRUE(RawJson().empty());
  EXPECT_FALSE(a.empty());
}

TEST(RawJsonTest, ADifferenceIsTheWholeText) {
  const String base(R"({"f:status":{"k:{\"ip\":\"10.0.0.1\"}":{},"f:phase":{}}})");
  const std::string text = R"({"f:status":{"k:{\"ip\":\"10.0.22.133\"}":{},"f:phase":{}}})";
  const std::size_t prefix = text.find("22"), suffix = text.size() - text.find("\\\"}");
  RawJson raw = RawJson::Difference(base, text, prefix, suffix);
  ASSERT_NE(raw.base(), nullptr);
  EXPECT_TRUE(raw.base()->SharesTextWith(base));
  EXPECT_EQ(raw.text(), text);
  std::string scratch = "old";
  EXPECT_EQ(raw.View(scratch), text);
  EXPECT_FALSE(raw.empty());
  EXPECT_LT(raw.heap_bytes(), text.size());
  EXPECT_EQ(raw, RawJson(String(text)));
  EXPECT_EQ(RawJson(String(text)), raw);
  EXPECT_NE(raw, RawJson(base));
  EXPECT_EQ(raw, RawJson::Difference(base, text, 1, 1));

  EXPECT_TRUE(raw.SoleOwner());
  RawJson copy = raw;
  EXPECT_FALSE(raw.SoleOwner());
  EXPECT_TRUE(copy.SharesWith(raw));
  raw = String("{}");
  EXPECT_TRUE(copy.SoleOwner());
  const RawJson moved = std::move(copy);
  EXPECT_EQ(moved.text(), text);
  EXPECT_TRUE(copy.empty());  // NOLINT(bugprone-use-after-move)
  raw = moved;
  const RawJson& same = raw;
  raw = same;
  EXPECT_EQ(raw.text(), text);
}

TEST(RawJsonTest, DifferencesAtTheEdges) {
  const String base("0123456789");
  EXPECT_EQ(RawJson::Difference(base, "abc", 0, 0).text(), "abc");
  EXPECT_EQ(RawJson::Difference(base, "0123", 4, 0).text(), "0123");
  EXPECT_EQ(RawJson::Difference(base, "6789", 0, 4).text(), "6789");
  EXPECT_EQ(RawJson::Difference(base, "0189", 2, 2).text(), "0189");
}

TEST(RawJsonTest, CopiesOfADifferenceLiveInManyThreads) {
  const RawJson raw = RawJson::Difference(String(kLongText), std::string(kLongText) + "!", kLongText.size(), 0);
  InThreads([&](int) {
    for (int i = 0; i < 1000; ++i) {
      const RawJson copy = raw;
      if (copy.text().size() != kLongText.size() + 1) ADD_FAILURE();
    }
  });
  EXPECT_TRUE(raw.SoleOwner());
}

TEST(UnknownFieldsTest, IsEmptyByDefaultAndAllZeroBytes) {
  UnknownFields fields;
  unsigned char zero[sizeof fields] = {};
  EXPECT_EQ(std::memcmp(&fields, zero, sizeof fields), 0);
  EXPECT_TRUE(fields.empty());
  EXPECT_EQ(fields.json(), "");
  EXPECT_EQ(fields.protobuf(), "");
}

TEST(UnknownFieldsTest, KeepsJsonAndProtobufApart) {
  UnknownFields fields;
  fields.set_json(R"("a":1)");
  EXPECT_FALSE(fields.empty());
  EXPECT_EQ(fields.json(), R"("a":1)");
  EXPECT_EQ(fields.protobuf(), "");
  fields.set_protobuf(std::string_view("\x08\x00", 2));
  EXPECT_EQ(fields.json(), R"("a":1)");
  EXPECT_EQ(fields.protobuf(), std::string_view("\x08\x00", 2));
  fields.set_json("");
  EXPECT_FALSE(fields.empty());
  fields.set_protobuf("");
  EXPECT_TRUE(fields.empty());
}

TEST(UnknownFieldsTest, SettingNothingStaysEmpty) {
  UnknownFields fields;
  fields.set_json("");
  EXPECT_TRUE(fields.empty());
  EXPECT_EQ(fields, UnknownFields());
}

TEST(UnknownFieldsTest, CopyIsIndependent) {
  UnknownFields a;
  a.set_json(kLongText);
  UnknownFields b = a;
  EXPECT_EQ(a, b);
  b.set_protobuf("x");
  EXPECT_NE(a, b);
  EXPECT_EQ(a.json(), kLongText);
  EXPECT_EQ(a.protobuf(), "");
  EXPECT_EQ(b.json(), kLongText);
  b.clear();
  EXPECT_TRUE(b.empty());
  EXPECT_FALSE(a.empty());
}

TEST(UnknownFieldsTest, SurvivesSelfAssignmentAndItsOwnText) {
  UnknownFields fields;
  fields.set_json(kLongText);
  const UnknownFields& alias = fields;
  fields = alias;
  EXPECT_EQ(fields.json(), kLongText);
  fields.set_json(fields.json().substr(2));
  EXPECT_EQ(fields.json(), kLongText.substr(2));
  fields.set_protobuf(fields.json());
  EXPECT_EQ(fields.protobuf(), kLongText.substr(2));
  UnknownFields moved = std::move(fields);
  EXPECT_TRUE(fields.empty());  // NOLINT(bugprone-use-after-move): the contract
  EXPECT_EQ(moved.json(), kLongText.substr(2));
}

TEST(UnknownFieldsTest, EqualityComparesTexts) {
  UnknownFields a, b;
  a.set_json("x");
  b.set_json("x");
  EXPECT_EQ(a, b);
  b.set_json("y");
  EXPECT_NE(a, b);
  EXPECT_NE(a, UnknownFields());
}

TEST(UnknownFieldsTest, CopiesMayBeUsedAndDroppedFromManyThreads) {
  UnknownFields shared;
  shared.set_json(kLongText);
  const UnknownFields& source = shared;
  InThreads([&](int i) {
    for (int round = 0; round < 1000; ++round) {
      UnknownFields mine = source;
      if (i % 2 == 0) mine.set_json("mine");
      UnknownFields again = mine;
      ASSERT_FALSE(again.empty());
    }
  });
  EXPECT_EQ(shared.json(), kLongText);
}

}  // namespace
}  // namespace kube
