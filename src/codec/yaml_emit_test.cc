#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "kube/codec/yaml.h"

namespace kube {
namespace {

std::string Emit(std::string_view json) {
  Result<Value> value = ParseJson(json);
  return value ? ToYaml(*value) : "error: " + value.error().ToString();
}

TEST(YamlEmitTest, WritesBlocksAsKubectlDoes) {
  EXPECT_EQ(
      Emit(
          R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a","args":["x","y"],"ports":[]},{"name":"b"}],"nodeSelector":{}}})"),
      "apiVersion: v1\n"
      "kind: Pod\n"
      "spec:\n"
      "  containers:\n"
      "  - args:\n"
      "    - x\n"
      "    - \"y\"\n"
      "    name: a\n"
      "    ports: []\n"
      "  - name: b\n"
      "  nodeSelector: {}\n");
  EXPECT_EQ(Emit(R"([[1,[2]],[],{"a":{"b":null}}])"), "- - 1\n  - - 2\n- []\n- a:\n    b: null\n");
  EXPECT_EQ(Emit("[]"), "[]\n");
  EXPECT_EQ(Emit("{}"), "{}\n");
  EXPECT_EQ(Emit("null"), "null\n");
}

TEST(YamlEmitTest, QuotesOnlyWhereNeeded) {
  auto one = [](const std::string& text) {
    std::string yaml = ToYaml(Value(text));
    return yaml.substr(0, yaml.size() - 1);
  };
  for (const char* text : {"web",
                           "a b",
                           "a,b",
                           "a:b",
                           "http://x/y?z=1#frag",
                           "-x",
                           "--flag=1",
                           "a#b",
                           "x'y",
                           "a\"b",
                           "1.2.3",
                           "10.0.0.1/8",
                           "1Gi",
                           "250m",
                           "$(VAR)",
                           "/bin/sh",
                           "a{b}",
                           "(x)",
                           "a=b",
                           "\xC3\xA9t\xC3\xA9",
                           "nope",
                           "a?",
                           ":x",
                           "?x",
                           "1e400",
                           "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(one(text), text);
  }
  // Would be read as something else.
  for (const char* text : {"", "true", "no", "on", "y", "null", "~", "1", "0x1", "1_000", "1.5", "1e3", ".inf", "2024-01-02",
                           "2024-01-02T03:04:05Z", "12:30", "<<", "=", "0777"}) {
    EXPECT_EQ(one(text), '"' + std::string(text) + '"');
  }
  // Would be read as syntax.
  for (const char* text : {"*x",  "&x",  "!x",  "|", "> x",  "%x", "@x",   "`x", "{x", "[x",  "]",     "}",   ",",     "# x",
                           "- x", "? x", ": x", "-", "a: b", "a:", "a #b", " x", "x ", "---", "--- x", "...", "\"x\"", "x\ty"}) {
    EXPECT_EQ(one(text), '\'' + std::string(text) + '\'') << text;
  }
  EXPECT_EQ(one("'x'"), "'''x'''");
}

TEST(YamlEmitTest, EscapesWhatCannotStandInText) {
  EXPECT_EQ(ToYaml(Value(std::string("\0\a\b\x1b\x7f\r", 6))), "\"\\0\\a\\b\\e\\x7F\\r\"\n");
  EXPECT_EQ(ToYaml(Value("\xC2\x85\xE2\x80\xA8\xEF\xBB\xBF\xEF\xBF\xBE")), "\"\\x85\\u2028\\uFEFF\\uFFFE\"\n");
  EXPECT_EQ(ToYaml(Value("a\xFF\xC3")), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"\n");
  EXPECT_EQ(ToYaml(Value("x \ny")), "\"x \\ny\"\n");
  EXPECT_EQ(ToYaml(Value("\n")), "\"\\n\"\n");
}

TEST(YamlEmitTest, WritesSeveralLinesAsLiteralBlocks) {
  EXPECT_EQ(Emit(R"({"a":"x\ny\n","b":["x\n\ny"],"c":{"d":"x\n\n"},"e":"  x\ny","f":"\tx\n"})"),
            "a: |\n  x\n  y\nb:\n- |-\n  x\n\n  y\nc:\n  d: |+\n    x\n\ne: |2-\n    x\n  y\nf: |2\n  \tx\n");
  EXPECT_EQ(Emit(R"("true\n")"), "|\n  true\n");
}

TEST(YamlEmitTest, DoesNotFoldLongLines) {
  std::string words;
  for (int i = 0; i < 100; ++i) words += "word ";
  words += "end";
  EXPECT_EQ(ToYaml(Value::Object({{"a", words}})), "a: " + words + "\n");
}

TEST(YamlEmitTest, WritesLongAndStrangeKeys) {
  std::string key(2000, 'k');
  Value v = Value::Object({{key, 1}, {"a\nb", 2}, {"", 3}, {"true", 4}, {"a: b", 5}});
  EXPECT_EQ(ToYaml(v), "\"\": 3\n\"a\\nb\": 2\n'a: b': 5\n? " + key + "\n: 1\n\"true\": 4\n");
  Result<std::vector<Value>> back = ParseYaml(ToYaml(v));
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ((*back)[0], v);
}

TEST(YamlEmitTest, WritesNumbersThatReadBack) {
  EXPECT_EQ(ToYaml(Value(std::numeric_limits<double>::infinity())), "null\n");
  EXPECT_EQ(ToYaml(Value(std::nan(""))), "null\n");
  for (double d : {0.1, 1e21, 1.5e300, 5e-324, -2.5, 1e18, 9007199254740993.0, 1.7976931348623157e308}) {
    Result<std::vector<Value>> back = ParseYaml(ToYaml(Value(d)));
    ASSERT_TRUE(back);
    EXPECT_EQ((*back)[0].double_value(), d);
  }
}

// ---- Whatever is written reads back as the same ----

class RandomValues {
 public:
  explicit RandomValues(unsigned seed) : random_(seed) {}

  Value Make(int depth) {
    switch (Pick(depth > 3 ? 6 : 9)) {
      case 0:
        return {};
      case 1:
        return Pick(2) == 0;
      case 2:
        return static_cast<std::int64_t>(random_()) >> Pick(64);
      case 3:
        return Double();
      case 4:
      case 5:
        return Text();
      case 6: {
        List<Value> items;
        for (std::size_t n = Pick(4); n > 0; --n) items.push_back(Make(depth + 1));
        return items;
      }
      default: {
        Map<Value> members;
        for (std::size_t n = Pick(4); n > 0; --n) members.Set(Text(), Make(depth + 1));
        return members;
      }
    }
  }

 private:
  std::mt19937_64 random_;

  std::size_t Pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  double Double() {
    for (;;) {
      std::uint64_t bits = random_();
      double d = 0;
      std::memcpy(&d, &bits, sizeof d);
      if (std::isfinite(d)) return d;
    }
  }
  std::string Text() {
    static constexpr const char* kParts[] = {"a",
                                             "foo bar",
                                             " ",
                                             "  ",
                                             "\n",
                                             "\n\n",
                                             "\t",
                                             ":",
                                             ": ",
                                             " #",
                                             "#",
                                             "-",
                                             "- ",
                                             "?",
                                             "? ",
                                             "'",
                                             "\"",
                                             "\\",
                                             "{",
                                             "}",
                                             "[",
                                             "]",
                                             ",",
                                             "&x",
                                             "*x",
                                             "!",
                                             "!!str ",
                                             "|",
                                             ">",
                                             "%",
                                             "@",
                                             "`",
                                             "~",
                                             "null",
                                             "true",
                                             "1",
                                             "0x1",
                                             "1e3",
                                             "\xC3\xA9",
                                             "\xE2\x80\xA8",
                                             "\xE2\x80\xA9",
                                             "\xC2\x85",
                                             "\xF0\x9F\x98\x80",
                                             "\r",
                                             "\r\n",
                                             "\x01",
                                             "\x7f",
                                             "\xEF\xBB\xBF",
                                             "\xEF\xBF\xBD",
                                             "<<",
                                             "=",
                                             "---",
                                             "...",
                                             "2024-01-01",
                                             "12:30",
                                             "on",
                                             "y",
                                             "\xC2\xA0",
                                             ".",
                                             "_",
                                             "\x1b"};
    std::string out;
    for (std::size_t n = Pick(6); n > 0; --n) out += kParts[Pick(std::size(kParts))];
    return out;
  }
};

TEST(YamlEmitTest, RandomValuesSurviveARoundTrip) {
  RandomValues random(20240601);
  for (int i = 0; i < 20'000; ++i) {
    Value value = random.Make(0);
    std::string yaml = ToYaml(value);
    Result<std::vector<Value>> back = ParseYaml(yaml);
    ASSERT_TRUE(back) << back.error().ToString() << "\n" << ToJson(value) << "\n" << yaml;
    ASSERT_EQ(back->size(), 1U) << yaml;
    ASSERT_EQ((*back)[0], value) << ToJson(value) << "\n" << yaml << ToJson((*back)[0]);
  }
}

}  // namespace
}  // namespace kube
