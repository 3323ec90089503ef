// Reference pages: what they say, and that no text becomes markup.
#include "generate/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/generate_test_util.h"
#include "generate/markdown.h"
#include "generate/schema_words.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// ---- Markdown ----

TEST(MarkdownTest, EscapesCells) {
  EXPECT_EQ(MarkdownCell("a | b < c & d"), "a \\| b &lt; c &amp; d");
  EXPECT_EQ(MarkdownCell("one\ntwo\n\nthree"), "one two<br><br>three");
  EXPECT_EQ(MarkdownCell("these:\n - a\n - b\n"), "these:<br>- a<br>- b");
  EXPECT_EQ(MarkdownCell("`List<T>` or `a|b`"), "`List<T>` or `a\\|b`");
  EXPECT_EQ(MarkdownCell("one ` tick <x>"), "one \\` tick &lt;x>");
  EXPECT_EQ(MarkdownCell("``a`b<`` <"), "``a`b<`` &lt;");
  EXPECT_EQ(MarkdownCell("\n\n"), "");
}

TEST(MarkdownTest, EscapesBlocks) {
  EXPECT_EQ(MarkdownBlock("# no heading\ntext <b>\n==="), "\\# no heading\ntext &lt;b>\n\\===\n");
  EXPECT_EQ(MarkdownBlock("text\n```\n# <b> | c\n"), "text\n```\n# <b> | c\n```\n");
  EXPECT_EQ(MarkdownBlock("a\n---\nb | c"), "a\n\\---\nb | c\n");
}

TEST(MarkdownTest, WritesCode) {
  EXPECT_EQ(MarkdownCode("^a|b$"), "`^a\\|b$`");
  EXPECT_EQ(MarkdownCode("^a|b$", false), "`^a|b$`");
  EXPECT_EQ(MarkdownCode("a`b"), "``a`b``");
  EXPECT_EQ(MarkdownCode("`"), "`` ` ``");
  EXPECT_EQ(MarkdownValue(Value("x")), "`x`");
  EXPECT_EQ(MarkdownValue(Value("")), "`\"\"`");
  EXPECT_EQ(MarkdownValue(Value::Array({1, "b"})), "`[1,\"b\"]`");
}

TEST(MarkdownTest, NumbersAnchorsThatOccurAgain) {
  Anchors anchors;
  EXPECT_EQ(anchors.Next("example.com/v1"), "examplecomv1");
  EXPECT_EQ(anchors.Next("Part Two"), "part-two");
  EXPECT_EQ(anchors.Next("part two"), "part-two-1");
  EXPECT_EQ(anchors.Next("part two"), "part-two-2");
}

// ---- Words ----

std::vector<std::string> WordsOf(const char* json, const char* known = "{}") {
  return SchemaWords(ParseJson(json).value(), ParseJson(known).value());
}

TEST(SchemaWordsTest, SaysWhatASchemaDemands) {
  EXPECT_THAT(WordsOf(R"({"type":"integer","minimum":1,"maximum":9})"), ElementsAre("1 to 9."));
  EXPECT_THAT(WordsOf(R"({"type":"integer","minimum":1,"exclusiveMinimum":true})"), ElementsAre("More than 1."));
  EXPECT_THAT(WordsOf(R"({"type":"integer","minimum":1,"maximum":9,"exclusiveMaximum":true,"multipleOf":2})"),
              ElementsAre("At least 1 and less than 9.", "A multiple of 2."));
  EXPECT_THAT(WordsOf(R"({"type":"string","minLength":1,"pattern":"^a|b","format":"ipv4"})"),
              ElementsAre("At least 1 character.", "Matches `^a\\|b`.", "Format `ipv4`."));
  EXPECT_THAT(WordsOf(R"({"type":"string","minLength":3,"maxLength":3,"nullable":true})"),
              ElementsAre("Exactly 3 characters.", "May be null."));
  EXPECT_THAT(WordsOf(R"({"type":"string","enum":["a",""]})"), ElementsAre("One of `a`, `\"\"`."));
  EXPECT_THAT(WordsOf(R"({"type":"array","maxItems":1,"x-kubernetes-list-type":"set","items":{"type":"string","maxLength":2}})"),
              ElementsAre("At most 1 item.", "No two items are equal.", "Each item: At most 2 characters."));
  EXPECT_THAT(WordsOf(R"({"type":"object","minProperties":2,"additionalProperties":{"type":"integer","minimum":0}})"),
              ElementsAre("At least 2 keys.", "Each value: At least 0."));
  EXPECT_THAT(WordsOf(R"({"type":"string","maxLength":20,"allOf":[{"maxLength":10},{"maxLength":30,"pattern":"^x"}]})"),
              ElementsAre("At most 10 characters.", "Matches `^x`."));
}

TEST(SchemaWordsTest, LeavesOutWhatIsKnown) {
  EXPECT_THAT(WordsOf(R"({"type":"object","maxProperties":3,"x-kubernetes-validations":[{"rule":"a"},{"rule":"b","message":"be b"}]})",
                      R"({"x-kubernetes-validations":[{"rule":"a"}]})"),
              ElementsAre("At most 3 fields.", "Rule: be b (`b`)."));
}

// ---- Pages ----

std::vector<Page> PagesOf(const TestRun& run) {
  EXPECT_EQ(run.text(), "");
  Problems problems;
  std::vector<Page> out = MakePages(run.model, BuiltinTypes::Get(), run.crds, {}, problems);
  EXPECT_EQ(problems.ToString(), "");
  return out;
}

TEST(ReferenceTest, WritesAPage) {
  const std::vector<Page> pages = PagesOf(RunHeader(R"(// +groupName=example.com
// +versionName=v1
namespace example::v1 {
using Mode = kube::String;
// Common < all.
struct Common {
  // +required
  kube::String zone{};
  KUBE_TABLE(Common);
};
// A part | of it.
// +kubebuilder:validation:XValidation:rule="self.a || self.b",message="one of them"
struct Part {
  // +kube:inline
  Common common{};
  // +kubebuilder:default=true
  std::optional<bool> a{};
  std::optional<bool> b{};
  KUBE_TABLE(Part);
};
struct ThingSpec {
  // How it | works: a < b.
  //
  // And more
  // +kubebuilder:validation:Enum=x;y
  Mode mode{};
  // +required
  // +listType=map
  // +listMapKey=zone
  kube::List<Part> parts{};
  kube::Map<kube::Quantity> limits{};
  kube::Box<kube::core::v1::PodTemplateSpec> pod{};
  KUBE_TABLE(ThingSpec);
};
// Thing is a kind. It does things.
// +kubebuilder:resource:shortName=th
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Mode,type=string,JSONPath=.spec.mode,description="how",priority=1
struct Thing {
  kube::meta::v1::ObjectMeta metadata{};
  ThingSpec spec{};
  KUBE_TABLE(Thing);
};
})"));
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages[0].file_name, "example.com_v1.md");
  EXPECT_EQ(pages[0].text, R"(<!-- Generated by `kubexx generate`. Do not edit. -->

# example.com/v1

| Kind | Resource | Scope | Description |
|---|---|---|---|
| [Thing](#thing) | `things` | Namespaced | Thing is a kind. |

## Thing

- Resource: `things.example.com`
- Scope: Namespaced
- Short names: `th`
- Subresources: `status`

Thing is a kind. It does things.

Columns of `kubectl get things`:

| Column | Type | JSONPath | Description |
|---|---|---|---|
| Mode | string | `.spec.mode` | how. With `-o wide` only. |

| Field | Type | Required | Default | Description |
|---|---|---|---|---|
| `apiVersion` | string | yes | | `example.com/v1` |
| `kind` | string | yes | | `Thing` |
| `metadata` | [ObjectMeta](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#objectmeta-v1-meta) |  |  | Standard object metadata. |
| `spec` | [ThingSpec](#thingspec) |  |  |  |

### ThingSpec

Used by: [Thing](#thing)

| Field | Type | Required | Default | Description |
|---|---|---|---|---|
| `mode` | string |  |  | How it \| works: a &lt; b.<br><br>And more. One of `x`, `y`. |
| `parts` | list of [Part](#part) | yes |  | No two items have the same `zone`. |
| `limits` | map of [Quantity](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/) |  |  |  |
| `pod` | [PodTemplateSpec](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#podtemplatespec-v1-core) |  |  |  |

### Part

A part | of it.

Used by: [ThingSpec](#thingspec)

| Field | Type | Required | Default | Description |
|---|---|---|---|---|
| `zone` | string | yes |  |  |
| `a` | boolean |  | `true` |  |
| `b` | boolean |  |  |  |

- Rule: one of them (`self.a || self.b`).
)");
}

TEST(ReferenceTest, SaysWhatIsSpecialAboutAVersion) {
  const TestRun run = RunHeaders({{"a.h", ThingHeader("", "// +kubebuilder:storageversion\n")},
                                  {"b.h",
                                   "// +groupName=example.com\n// +versionName=v1alpha1\nnamespace b {\n"
                                   "// +kubebuilder:unservedversion\n// +kubebuilder:deprecatedversion:warning=\"use v1\"\n"
                                   "struct Thing {\n  kube::meta::v1::ObjectMeta metadata{};\n  KUBE_TABLE(Thing);\n};\n}\n"}});
  const std::vector<Page> pages = PagesOf(run);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_THAT(pages[0].text, HasSubstr("- Storage version: "));
  EXPECT_THAT(pages[0].text, Not(HasSubstr("Deprecated")));
  EXPECT_EQ(pages[1].file_name, "example.com_v1alpha1.md");
  EXPECT_THAT(pages[1].text, HasSubstr("- Not served: "));
  EXPECT_THAT(pages[1].text, HasSubstr("- Deprecated: use v1\n"));
}

TEST(ReferenceTest, TellsStructsOfOneNameApart) {
  const std::string text =
      PagesOf(RunHeader("// +groupName=example.com\n// +versionName=v1\nnamespace a {\nstruct Part {\n  bool x{};\n"
                        "  KUBE_TABLE(Part);\n};\n}\nnamespace b {\nstruct Part {\n  bool y{};\n  KUBE_TABLE(Part);\n};\n"
                        "struct Thing {\n  kube::meta::v1::ObjectMeta metadata{};\n  a::Part one{};\n  Part two{};\n"
                        "  KUBE_TABLE(Thing);\n};\n}\n"))
          .at(0)
          .text;
  EXPECT_THAT(text, HasSubstr("| `one` | [a::Part](#apart) |"));
  EXPECT_THAT(text, HasSubstr("| `two` | [b::Part](#bpart) |"));
  EXPECT_THAT(text, HasSubstr("\n### a::Part\n"));
}

}  // namespace
}  // namespace kube::generate
