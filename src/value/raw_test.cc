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
