// Text that is not UTF-8: what decoders and writers make of it.
#include "codec/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "codec/json_bytes.h"
#include "kube/codec/diff.h"
#include "kube/codec/hash.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/codec/yaml.h"

namespace kube::internal {
namespace {

const std::string kBad = "\xef\xbf\xbd";

TEST(Utf8Test, EachBadByteIsOneReplacementCharacter) {
  EXPECT_EQ(MendUtf8(""), "");
  EXPECT_EQ(MendUtf8("gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80");
  EXPECT_EQ(MendUtf8("a\xff"
                     "b"),
            "a" + kBad + "b");
  EXPECT_EQ(MendUtf8("\xe2\x82"), kBad + kBad);                        // a character that ends early
  EXPECT_EQ(MendUtf8("\xe2\x82x"), kBad + kBad + "x");                 // the same, with text behind it
  EXPECT_EQ(MendUtf8("\xed\xa0\x80"), kBad + kBad + kBad);             // a surrogate
  EXPECT_EQ(MendUtf8("\xc0\x80"), kBad + kBad);                        // an overlong form
  EXPECT_EQ(MendUtf8("\xf4\x90\x80\x80"), kBad + kBad + kBad + kBad);  // beyond U+10FFFF
  EXPECT_EQ(MendUtf8("\xf0\x9f\x9a\xc3\xbc"), kBad + kBad + kBad + "\xc3\xbc");
  EXPECT_EQ(MaskUtf8("a\xff\xc3\xbc\xe2", 'x'), "ax\xc3\xbcx");
}

TEST(Utf8Test, MendedTextIsValidWhateverItWas) {
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      for (unsigned c : {0x00U, 0x41U, 0x7fU, 0x80U, 0x9fU, 0xa0U, 0xbfU, 0xc2U, 0xe0U, 0xf0U, 0xffU}) {
        const std::string text{static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)};
        const std::string mended = MendUtf8(text);
        ASSERT_TRUE(ValidUtf8(mended)) << a << ' ' << b << ' ' << c;
        ASSERT_EQ(mended == text, ValidUtf8(text)) << a << ' ' << b << ' ' << c;
        ASSERT_EQ(MaskUtf8(text, 'x').size(), text.size());
      }
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 80, '\0');
    for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? 0x80 + random() % 0x80 : random() % 0x80);
    const std::string mended = MendUtf8(text);
    ASSERT_TRUE(ValidUtf8(mended));
    ASSERT_EQ(mended == text, ValidUtf8(text));
  }
}

TEST(Utf8Test, JsonIsReadWithReplacementCharacters) {
  EXPECT_EQ((*ParseJson("{\"a\":\"x\xff\"}"))["a"], Value("x" + kBad));
  EXPECT_EQ((*ParseJson("{\"\xff\":1,\"\xfe\":2}"))[kBad], Value(2));  // the last of two that are now the same
  EXPECT_FALSE(ParseJson("{\"a\":\xff}"));
  EXPECT_FALSE(ParseJson("\xff"));
  EXPECT_FALSE(ParseJson("{\"a\":\"\xff"));
}

TEST(Utf8Test, LoneSurrogatesAreReplacementCharacters) {
  EXPECT_EQ((*ParseJson(R"(["\ud800","\udc00","\ud800\u0041","\ud800\ud83d\ude00","\ud83dx","\ud83d\n"])")),
            Value::Array({kBad, kBad, kBad + "A", kBad + "\xf0\x9f\x98\x80", kBad + "x", kBad + "\n"}));
  EXPECT_FALSE(ParseJson(R"(["\ud800\u12"])"));
}

TEST(Utf8Test, JsonAndYamlAreWrittenWithReplacementCharacters) {
  const Value value = Value::Object({{"a\xff", "x\xc3"}, {"b", "gr\xc3\xbc\xc3\x9f \"q\"\n"}, {"c", "\"\xff\n\xc3\xbc"}});
  EXPECT_EQ(ToJson(value),
            "{\"a" + kBad + "\":\"x" + kBad + "\",\"b\":\"gr\xc3\xbc\xc3\x9f \\\"q\\\"\\n\",\"c\":\"\\\"" + kBad + "\\n\xc3\xbc\"}");
  EXPECT_TRUE(ValidUtf8(ToJson(value, {.indent = 2})));
  EXPECT_TRUE(ValidUtf8(ToYaml(value)));
  EXPECT_TRUE(ParseYaml(ToYaml(value)));
}

TEST(Utf8Test, InsideOfTheProcessBytesAreKept) {
  const Value value = Value::Object({{"a\xff", "x\xc3\"\\"}, {"list", Value::Array({"\xf0\x9f", 1, Value()})}});
  const std::string text = ToJsonBytes(value);
  Result<Value> again = ParseJsonBytes(text);
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_EQ(*again, value);
  EXPECT_EQ(ToWireJson(text), ToJson(value));
  EXPECT_FALSE(ParseJsonBytes("{\"a\":\xff}"));
  EXPECT_FALSE(ParseJsonBytes("{\"a\":1\xff}"));
  Interner interner;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*ParseJsonBytes(text, {.interner = &interner}), value);
}

TEST(Utf8Test, HashDiffAndPatchesTakeSuchText) {
  const Value before = Value::Object({{"a", "x\xff"}, {"k\xfe", "1"}});
  Value after = before;
  EXPECT_EQ(HashObject(before), HashObject(after));
  after["a"] = "x\xfe";
  EXPECT_NE(HashObject(before), HashObject(after));
  EXPECT_EQ(Diff(before, after).size(), 1U);
  EXPECT_TRUE(ValidUtf8(ToString(Diff(before, after))));

  after["b"] = "new\xff";
  Result<Value> merge = CreateMergePatch(before, after);
  ASSERT_TRUE(merge) << merge.error().ToString();
  EXPECT_EQ((*merge)["b"], Value("new\xff"));
  EXPECT_EQ(ApplyMergePatch(before, *merge), after);
  Result<Value> patched = ApplyJsonPatch(before, CreateJsonPatch(before, after));
  ASSERT_TRUE(patched) << patched.error().ToString();
  EXPECT_EQ(*patched, after);
}

}  // namespace
}  // namespace kube::internal
