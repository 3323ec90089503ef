// What a deeply nested object of a recursive kind costs the interner: work in proportion to its size, counted, not timed.
#include <gtest/gtest.h>

#include <string>

#include "kube/api/apiextensions/v1.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"

namespace kube {
namespace {

using apiextensions::v1::JSONSchemaProps;

constexpr std::uint64_t kMost = 40;  // how often a byte may be looked at

// A schema in a schema, and so on; each level has a text of its own.
JSONSchemaProps Nested(int levels) {
  JSONSchemaProps schema;
  for (int i = 0; i < levels; ++i) {
    JSONSchemaProps outer;
    outer.description = "a level of its own, number " + std::to_string(i);
    outer.not_ = std::move(schema);
    schema = std::move(outer);
  }
  return schema;
}

TEST(InternerCostTest, DeepJsonOfATypeCostsInProportionToItsSize) {
  const std::string text = ToJson(Nested(300)).value();
  Interner interner;
  Result<JSONSchemaProps> decoded = FromJson<JSONSchemaProps>(text, {.interner = &interner});
  ASSERT_TRUE(decoded) << decoded.error().ToString();
  EXPECT_EQ(ToJson(*decoded).value(), text);
  EXPECT_GT(interner.stats().lookups, 0U);
  EXPECT_LE(interner.stats().hashed_bytes, kMost * text.size());
  EXPECT_LE(interner.stats().scanned_tokens, kMost * text.size() / 8);  // each level has five tokens and more than 50 bytes
}

TEST(InternerCostTest, DeepProtobufCostsInProportionToItsSize) {
  const std::string bytes = ToProtobuf(Nested(300), {.envelope = false}).value();
  Interner interner;
  Result<JSONSchemaProps> decoded = FromProtobuf<JSONSchemaProps>(bytes, {.interner = &interner});
  ASSERT_TRUE(decoded) << decoded.error().ToString();
  EXPECT_EQ(ToProtobuf(*decoded, {.envelope = false}).value(), bytes);
  EXPECT_GT(interner.stats().lookups, 0U);
  EXPECT_LE(interner.stats().hashed_bytes, kMost * bytes.size());
}

}  // namespace
}  // namespace kube
