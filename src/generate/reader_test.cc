// The declaration reader: what it understands, and the exact words about what it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/comment_text.h"
#include "generate/generate_test_util.h"

namespace kube::generate {
namespace {

using testing::ElementsAre;

std::string InStruct(std::string_view member) { return "struct S {\n" + std::string(member) + "\n  KUBE_TABLE(S);\n};\n"; }

TEST(HeaderReaderTest, ReadsStructsWithPositions) {
  const TestRun run = ReadOnly(R"(#pragma once
namespace a::b {
// What it is.
struct S {
  // How many.
  std::int32_t count{};
  std::optional<kube::String> name;
  kube::List<kube::Map<kube::String>> deep = {};
  kube::Box<S> next{};

  KUBE_TABLE(S);
};
}
)");
  EXPECT_EQ(run.text(), "");
  ASSERT_EQ(run.model.structs.size(), 1U);
  const Struct& s = run.model.structs[0];
  EXPECT_EQ(s.qualified, "a::b::S");
  EXPECT_EQ(s.description, "What it is.");
  EXPECT_EQ(s.at.ToString(), "x.h:4:8");
  ASSERT_EQ(s.fields.size(), 4U);
  EXPECT_EQ(s.fields[0].description, "How many.");
  EXPECT_EQ(s.fields[0].at.ToString(), "x.h:6:16");
  EXPECT_EQ(s.fields[1].type.Spelling(), "std::optional<kube::String>");
  EXPECT_EQ(s.fields[2].type.Spelling(), "kube::List<kube::Map<kube::String>>");
  EXPECT_EQ(s.fields[3].type.Spelling(), "kube::Box<a::b::S>");
}

TEST(HeaderReaderTest, ReadsWhatTheSubsetAllows) {
  const TestRun run = ReadOnly(R"(#ifndef X_H
#define X_H
#include "kind.h"  // field types
/* a block */
namespace outer { inline namespace v1 {
namespace metav1 = kube::meta::v1;
struct Later;
using kube::String;
using Names = kube::List<String>;
static_assert(sizeof(int) == 4, "why");
inline constexpr int kAnswer = 42;
inline constexpr std::string_view kModeOn = "on", kModeOff{"off"};
using Mode = ::kube::String;
struct [[nodiscard]] MY_EXPORT Later final {
 public:
  static constexpr int kSize = f(3);
  using Inner = kube::Map<String>;
  String run_as_user{};
  String namespace_ = "";
  Names names{};
  Inner inner{};
  metav1::Condition condition{};
  bool on = false;
  std::int64_t n = 0;

  KUBE_TABLE(Later);
};
}}
#endif  // X_H
)");
  EXPECT_EQ(run.text(), "");
  ASSERT_EQ(run.model.structs.size(), 1U);
  const Struct& s = run.model.structs[0];
  EXPECT_EQ(s.qualified, "outer::v1::Later");
  std::vector<std::string> names;
  for (const Field& field : s.fields) names.push_back(field.json);
  EXPECT_THAT(names, ElementsAre("runAsUser", "namespace", "names", "inner", "condition", "on", "n"));
  EXPECT_EQ(s.fields[4].type.Spelling(), "kube::meta::v1::Condition");
  const Alias* mode = run.model.FindAlias("outer::v1::Mode");
  ASSERT_NE(mode, nullptr);
  EXPECT_THAT(mode->constants, ElementsAre("on", "off"));
}

TEST(HeaderReaderTest, ConstantsBelongToTheLongestAlias) {
  const TestRun run = ReadOnly(R"(
using Phase = kube::String;
using PhaseReason = kube::String;
inline constexpr std::string_view kPhaseReady = "Ready", kPhaseReasonLost = "Lost", kPhaser = "x";
)");
  EXPECT_THAT(run.model.FindAlias("Phase")->constants, ElementsAre("Ready"));
  EXPECT_THAT(run.model.FindAlias("PhaseReason")->constants, ElementsAre("Lost"));
}

TEST(HeaderReaderTest, MarkersBelongToWhatFollows) {
  const TestRun run = ReadOnly(R"(// +groupName=example.com
// +versionName=v1beta1

// About the file.
#pragma once

// +kubebuilder:validation:AtMostOneOf=a;b

// The struct.
struct S {
  // +optional

  // A field.
  // +kubebuilder:validation:MaxLength=3
  kube::String a{};
  kube::String b{};
  KUBE_TABLE(S);
};
)");
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.model.files[0].group, "example.com");
  EXPECT_EQ(run.model.files[0].version, "v1beta1");
  const Struct& s = run.model.structs[0];
  EXPECT_EQ(s.description, "The struct.");
  ASSERT_EQ(s.markers.size(), 1U);
  ASSERT_EQ(s.fields[0].markers.size(), 2U);
  EXPECT_EQ(s.fields[0].description, "A field.");
  EXPECT_EQ(s.fields[0].markers[1].at.ToString(), "x.h:14:6");
}

TEST(HeaderReaderTest, TheNamespaceNamesTheVersion) {
  EXPECT_EQ(ReadOnly("namespace a::v2alpha1 {\n" + InStruct("") + "}\n").model.files[0].version, "v2alpha1");
  EXPECT_EQ(ReadOnly("namespace a::vx {\n" + InStruct("") + "}\n").model.files[0].version, "");
}

struct Refused {
  const char* text;
  const char* error;
};

class RefusedTest : public testing::TestWithParam<Refused> {};

TEST_P(RefusedTest, NamesPlaceAndRemedy) { EXPECT_EQ(ReadOnly(GetParam().text).text(), std::string(GetParam().error) + '\n'); }

INSTANTIATE_TEST_SUITE_P(
    InNamespaces, RefusedTest,
    testing::Values(
        Refused{"class C {};", "x.h:1:1: class; write struct, whose members are public"},
        Refused{"enum class E { kA };",
                "x.h:1:1: enum; write `// +k8s:enum` above `using Phase = kube::String;` and its values as `inline constexpr "
                "std::string_view kPhase... = "
                "\"...\";`, so that values of newer servers survive"},
        Refused{"union U { int a; };",
                "x.h:1:1: union; write a struct with optional members and `// +kubebuilder:validation:ExactlyOneOf=...`"},
        Refused{"template <typename T> struct S {};", "x.h:1:1: template; write a plain struct, or move the template to another header"},
        Refused{"typedef int I;", "x.h:1:1: typedef; write `using Name = Type;`"},
        Refused{"extern int i;", "x.h:1:1: extern declaration; move it to another header"},
        Refused{"using namespace kube;", "x.h:1:1: using namespace; write names with their namespace"},
        Refused{"namespace { }", "x.h:1:1: namespace without a name; write a name, so that the generated table can refer to it"},
        Refused{"inline bool f() { return true; }",
                "x.h:1:1: declaration that is no struct, alias or constant; a header of types holds only these: move it to another header"},
        Refused{"constexpr int f() { return 1; }",
                "x.h:1:15: function f; a header of types holds structs, aliases and constants only: move it to another header"},
        Refused{"MACRO(x);",
                "x.h:1:1: macro or function MACRO; a header of types holds structs, aliases and constants only: move it to another header"},
        Refused{"#ifdef A\n#endif",
                "x.h:1:1: #ifdef; the reader does not preprocess: declare everything unconditionally, and move the rest to another header\n"
                "x.h:2:1: #endif; the reader does not preprocess: declare everything unconditionally, and move the rest to another header"},
        Refused{
            "#define X 1",
            "x.h:1:1: #define; the reader does not preprocess: declare everything unconditionally, and move the rest to another header"},
        Refused{"}", "x.h:1:1: } without a {"}, Refused{"namespace a {", "x.h:1:1: namespace a without an end; write } behind it"},
        Refused{"/* a", "x.h:1:1: comment without an end; write */ behind it"},
        Refused{"struct S : T {};", "x.h:1:10: struct S with a base; write a member of the base's type with `// +kube:inline` above it"},
        Refused{"struct S {};", "x.h:1:8: struct S has no KUBE_TABLE; write KUBE_TABLE(S); as its last line"},
        Refused{"struct S { KUBE_TABLE(T); };", "x.h:1:12: KUBE_TABLE of another struct; write KUBE_TABLE(S);"},
        Refused{"struct S { KUBE_TABLE(S); bool a{}; };",
                "x.h:1:27: member behind KUBE_TABLE(S); write KUBE_TABLE as the last line of the struct"},
        Refused{"struct S { KUBE_TABLE(S); }", "x.h:1:28: struct S without a semicolon; write }; at its end"},
        Refused{"struct S { KUBE_TABLE(S);", "x.h:1:8: struct S without an end; write }; behind it"},
        Refused{"using A = B;", "x.h:1:11: unknown type B; declare it in this header, or include the header that does"},
        Refused{"struct S { KUBE_TABLE(S); };\nstruct S { KUBE_TABLE(S); };", "x.h:2:8: S is declared twice; the first one is at x.h:1:8"},
        Refused{"bool b{};  // +optional",
                "x.h:1:1: declaration that is no struct, alias or constant; a header of types holds only these: move it to another header\n"
                "x.h:1:12: marker behind a declaration; write it on a line of its own above it"}));

// Members: the struct is `struct S {`, so a member stands in line 2.
class RefusedMemberTest : public testing::TestWithParam<Refused> {};

TEST_P(RefusedMemberTest, NamesPlaceAndRemedy) {
  EXPECT_EQ(ReadOnly(InStruct(GetParam().text)).text(), std::string(GetParam().error) + '\n');
}

INSTANTIATE_TEST_SUITE_P(
    InStructs, RefusedMemberTest,
    testing::Values(
        Refused{"std::string a{};", "x.h:2:1: a field cannot have type std::string; write kube::String"},
        Refused{"std::vector<bool> a{};", "x.h:2:1: a field cannot have type std::vector; write kube::List<bool>"},
        Refused{"std::map<kube::String, bool> a{};", "x.h:2:1: a field cannot have type std::map; write kube::Map<bool>"},
        Refused{"std::unique_ptr<S> a{};", "x.h:2:1: a field cannot have type std::unique_ptr; write kube::Box<S>"},
        Refused{"int a{};", "x.h:2:1: a field cannot have type int; write std::int32_t"},
        Refused{"unsigned long long a{};", "x.h:2:1: a field cannot have type unsigned long long; write std::int64_t"},
        Refused{"float a{};", "x.h:2:1: a field cannot have type float; write double"},
        Refused{"kube::Value a{};", "x.h:2:1: a field cannot have type kube::Value; write kube::RawJson"},
        Refused{"kube::core::v1::Podd a{};",
                "x.h:2:1: unknown type kube::core::v1::Podd; it is neither a field type nor a struct of kubexx"},
        Refused{"kube::List a{};", "x.h:2:1: kube::List without the type that it holds; write kube::List<...>"},
        Refused{"kube::String<bool> a{};", "x.h:2:1: kube::String is no template; leave out <...>"},
        Refused{"std::optional<kube::meta::v1::Condition> a{};",
                "x.h:2:1: std::optional of a struct; write kube::Box<kube::meta::v1::Condition>"},
        Refused{"std::optional<kube::Time> a{};",
                "x.h:2:1: std::optional of kube::Time; write kube::Time, which is absent when it is zero"},
        Refused{"std::optional<kube::List<bool>> a{};",
                "x.h:2:1: std::optional of kube::List<bool>; write kube::Box<kube::List<bool>> to distinguish an empty one from none, or "
                "kube::List<bool>"},
        Refused{"kube::Box<bool> a{};", "x.h:2:1: kube::Box of a scalar; write std::optional<bool>"},
        Refused{"kube::List<std::optional<bool>> a{};", "x.h:2:12: std::optional inside of a list or map; write bool"},
        Refused{"kube::List<kube::Box<S>> a{};", "x.h:2:12: kube::Box inside of a list or map; write S"},
        Refused{
            "kube::String* a{};",
            "x.h:2:13: pointer; write kube::Box<kube::String> for an optional struct, std::optional<kube::String> for an optional scalar"},
        Refused{"kube::String& a;",
                "x.h:2:13: reference; write kube::Box<kube::String> for an optional struct, std::optional<kube::String> for an optional "
                "scalar"},
        Refused{"bool a : 1;", "x.h:2:8: bit-field a; leave out its width"},
        Refused{"bool a[3]{};", "x.h:2:7: array a; write kube::List<bool> a{};"},
        Refused{"bool a{}, b{};", "x.h:2:9: several members in one declaration; write each on a line of its own"},
        Refused{"std::int32_t a = 5;",
                "x.h:2:16: initialiser 5 of member a; write {} and `// +kubebuilder:default=5` above it: the server sets defaults"},
        Refused{"bool f() const { return true; }", "x.h:2:6: member function f; write functions outside of the struct"},
        Refused{"S() = default;", "x.h:2:1: constructor of S; a struct with a table is an aggregate: leave it out"},
        Refused{"MEMBER(bool, a)\nbool b{};", "x.h:2:1: macro or function MEMBER; members are written out, `Type name{};`"},
        Refused{"friend bool operator==(const S&, const S&);",
                "x.h:2:1: friend; a struct with a table has members and KUBE_TABLE only: write functions outside of it"},
        Refused{"private:\nbool a{};", "x.h:2:1: private section; the members of a struct with a table are public"},
        Refused{"#ifdef X\nbool a{};\n#endif",
                "x.h:2:1: preprocessor line inside of a struct; members cannot depend on it: declare them unconditionally\n"
                "x.h:4:1: preprocessor line inside of a struct; members cannot depend on it: declare them unconditionally"},
        Refused{"union { bool a; bool b; };",
                "x.h:2:1: union; write optional members and `// +kubebuilder:validation:ExactlyOneOf=...` above the struct"},
        Refused{"struct T { bool a; };", "x.h:2:1: struct inside of S; declare it in the namespace, before S"},
        Refused{"template <int N> bool f();", "x.h:2:1: template member; move it out of the struct"},
        Refused{"const bool a{};", "x.h:2:1: const member; leave const out"},
        Refused{"static bool a;", "x.h:2:1: static member; only static constexpr ones may stand in a struct with a table"},
        Refused{"bool a_b{};\nbool aB{};", "x.h:3:6: JSON name aB stands twice in S; give one of them another with `// +kube:json=...`"},
        Refused{"// +kube:inline\nbool a{};", "x.h:3:6: +kube:inline on a, which is no struct"},
        Refused{"// +optional\n// +optional\nbool a{};", "x.h:3:4: marker +optional stands twice; the first one is in line 2"},
        Refused{"bool a{};\n// +optional", "x.h:3:4: marker +optional does not belong here; write it above a field"}));

TEST(HeaderReaderTest, HeadersAreUtf8) {
  const std::string s = InStruct("  // \xc3\xa4 is one character.\n  kube::String a{};\n");
  EXPECT_EQ(ReadOnly("\xef\xbb\xbf" + s).text(), "");
  EXPECT_EQ(ReadOnly("// x\n\n// caf\xe9\n" + s).text(), "x.h:3:7: byte 0xe9, which is no text; save the header as UTF-8\n");
  EXPECT_EQ(ReadOnly(s + std::string("// a\0b\n", 7)).problems.Sorted().at(0).text,
            "byte 0x00, which is no text; save the header as UTF-8");
  EXPECT_EQ(ReadOnly(std::string("\xff\xfes\0t\0", 6)).text(), "x.h:1:1: byte 0xff, which is no text; save the header as UTF-8\n");
}

TEST(HeaderReaderTest, LinesOfCommentsEndWithTheLine) {
  EXPECT_EQ(ReadOnly("// one \\\n" + InStruct("  kube::String a{};\n")).text(),
            "x.h:1:8: backslash that makes the next line a part of this comment; write something behind it, or leave it out\n");
  EXPECT_EQ(ReadOnly("// one \\\r\n" + InStruct("  kube::String a{};\n")).problems.Sorted().size(), 1U);
  EXPECT_EQ(ReadOnly(InStruct("  kube::String a{};\n") + "// the last line \\").text(), "");
}

TEST(HeaderReaderTest, LongErrorsKeepTheirRemedy) {
  const std::string text = ReadOnly("struct S {\n  kube::String a = " + std::string(5000, '5') + ";\n  KUBE_TABLE(S);\n};\n").text();
  EXPECT_LT(text.size(), 1100U);
  EXPECT_THAT(text, testing::StartsWith("x.h:2:18: initialiser 555"));
  EXPECT_THAT(text, testing::EndsWith("5` above it: the server sets defaults\n"));
}

TEST(HeaderReaderTest, ReportsAllErrorsOfAFile) {
  const TestRun run = ReadOnly("struct S {\n  std::string a{};\n  int b{};\n  kube::Strin c{};\n  KUBE_TABLE(S);\n};\nclass C {};\n");
  EXPECT_EQ(run.problems.error_count(), 4U);
}

TEST(HeaderReaderTest, KeepsABoundedNumberOfErrors) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "class C {};\n";
  const TestRun run = ReadOnly(text);
  EXPECT_EQ(run.problems.error_count(), 5000U);
  EXPECT_EQ(run.problems.Sorted().size(), kMostProblems);
  EXPECT_THAT(run.text(), testing::HasSubstr("... and 4900 more"));
}

TEST(HeaderReaderTest, HostileNestingEnds) {
  ReadOnly("struct S { " + std::string(100000, '{'));
  ReadOnly("struct S { " + [] {
    std::string text;
    for (int i = 0; i < 50000; ++i) text += "kube::List<";
    return text;
  }());
  ReadOnly([] {
    std::string text;
    for (int i = 0; i < 50000; ++i) text += "namespace a {";
    return text;
  }());
  std::string parts = "a";
  for (int i = 0; i < 100000; ++i) parts += "::a";
  ReadOnly("namespace " + parts + " {\nstruct S { T a{}; U b{}; KUBE_TABLE(S); };\n}\n");
}

TEST(HeaderReaderTest, AliasesThatNameThemselvesEnd) {
  const std::string s = "struct S {\n  A a{};\n  KUBE_TABLE(S);\n};\n";
  EXPECT_EQ(ReadOnly("using A = B;\nusing B = A;\n" + s).text(), "x.h:1:7: alias A that names itself\n");
  EXPECT_EQ(ReadOnly("using A = kube::List<B>;\nusing B = kube::Map<A>;\n" + s).text(), "x.h:1:7: alias A that names itself\n");
}

TEST(HeaderReaderTest, AliasesDoNotHideWhatAFieldCannotHold) {
  EXPECT_EQ(ReadOnly("using A = std::optional<bool>;\nstruct S {\n  kube::List<A> a{};\n  KUBE_TABLE(S);\n};\n").text(),
            "x.h:1:11: std::optional inside of a list or map; write bool\n");
  EXPECT_EQ(ReadOnly("struct T {\n  KUBE_TABLE(T);\n};\nusing A = std::optional<T>;\nstruct S {\n  A a{};\n  KUBE_TABLE(S);\n};\n").text(),
            "x.h:4:11: std::optional of a struct; write kube::Box<T>\n");
}

// ---- Comments ----

std::string Description(std::string_view text) {
  Problems problems;
  const TokenStream stream = Tokenize("x.h", text, problems);
  std::vector<const Comment*> group;
  for (const Comment& comment : stream.comments) group.push_back(&comment);
  return DescriptionOf(group);
}

TEST(CommentTextTest, FollowsControllerGen) {
  EXPECT_EQ(Description("// One\n// two.\n//\n//\n// Three."), "One\ntwo.\n\n\nThree.");  // Go makes one of both empty lines
  EXPECT_EQ(Description("//\n// One  \n//   indented\n//"), "One\n  indented");
  EXPECT_EQ(Description("// One\n// +optional\n// two"), "One\ntwo");
  EXPECT_EQ(Description("// One\n// TODO: not this\n// two\n// ---\n// nor this"), "One\ntwo");
  EXPECT_EQ(Description("// ```\n// TODO stays\n// ```"), "```\nTODO stays\n```");
  EXPECT_EQ(Description("/* One\n   two */"), "One\ntwo");
  EXPECT_EQ(Description("/**\n * One\n *\n * two\n */"), "One\n\ntwo");
  EXPECT_EQ(Description("/// One\n//! two"), "One\ntwo");
}

}  // namespace
}  // namespace kube::generate
