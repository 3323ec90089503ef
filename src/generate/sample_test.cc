// Samples: values that fit the schema, what is said of those that do not, and files that are written once.
#include "generate/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "apiserver/json_schema.h"
#include "base/folder_test_util.h"
#include "generate/generate.h"
#include "generate/generate_test_util.h"
#include "generate/pattern_example.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- Patterns ----

TEST(PatternExampleTest, MatchesItsPattern) {
  for (const char* pattern :
       {"^[a-z]+$", "^a", "b$", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "^(foo|bar)-\\d{3,5}$", "^[^/]+/[^/]+$", "^\\w+\\.\\w+$",
        "^[[:alpha:]_][[:alnum:]_]*$", "^(?:[0-9]{1,3}\\.){3}[0-9]{1,3}$", "^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$", "^$", "^[]a]+$",
        "^\\$\\{[A-Z]+\\}$", "^a{2}b{2,}c{0,1}$", "^(?P<name>x)(?<other>y)(?i:z)$", "^[\\d-]+$", "^x{,3}$",
        R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)"}) {
    const apiserver::Pattern compiled(pattern);
    ASSERT_EQ(compiled.error(), "") << pattern;
    for (std::size_t repeat = 0; repeat < 4; ++repeat) {
      for (std::size_t first = 0; first < 7; ++first) {
        const std::optional<std::string> text =
            PatternExample(pattern, {.pick = [&](std::size_t count) { return (first * 31 + repeat) % count; }, .repeat = repeat});
        ASSERT_TRUE(text) << pattern;
        EXPECT_TRUE(compiled.Matches(*text)) << pattern << ": " << *text;
      }
    }
  }
}

TEST(PatternExampleTest, GivesUpOnWhatItDoesNotKnow) {
  for (const char* pattern : {"^\\pL$", "\\Qa.b\\E", "^[\\p{Lu}]$", "(", "[a", "a)", "\\", "[^\\x00-\\x7f]"}) {
    EXPECT_EQ(PatternExample(pattern, {}), std::nullopt) << pattern;
  }
  EXPECT_EQ(PatternExample("(((a{1000}){1000}){1000})", {}), std::nullopt);
  EXPECT_EQ(PatternExample(std::string(100'000, '('), {}), std::nullopt);
  EXPECT_EQ(PatternExample("(a*)*", {.repeat = 3}), "aaaaaaaaa");
}

// ---- Values ----

Sample SampleOf(const std::string& header) {
  const TestRun run = RunHeader(header);
  EXPECT_EQ(run.text(), "");
  const std::vector<Sample> samples = MakeSamples(run.crds, run.model);
  EXPECT_EQ(samples.size(), 1u);
  return samples.empty() ? Sample{} : samples[0];
}

// The spec of the sample of a Thing with these members, as JSON; and what is wrong with it.
std::string SpecOf(const std::string& members) {
  const Sample sample = SampleOf(ThingHeader(members));
  std::string out = ToJson(sample.object["spec"]);
  for (const std::string& problem : sample.wrong) out += "; " + problem;
  return out;
}

TEST(SampleTest, HasNameAndKindAndNoStatus) {
  const Sample sample = SampleOf(
      "// +groupName=shop.example.com\n// +versionName=v1beta1\nnamespace a {\nstruct S {\n  // +required\n  std::int32_t n{};\n  "
      "KUBE_TABLE(S);\n};\nstruct Big {\n  kube::meta::v1::ObjectMeta metadata{};\n  S status{};\n  KUBE_TABLE(Big);\n};\n}\n");
  EXPECT_EQ(sample.file_name, "shop_v1beta1_big.yaml");
  EXPECT_EQ(sample.ToYaml(),
            "# A sample to edit: `kubexx generate` writes this file once and does not touch it again.\n---\n"
            "apiVersion: shop.example.com/v1beta1\nkind: Big\nmetadata:\n  name: big-sample\n");
}

TEST(SampleTest, HasRequiredFieldsAndThoseWithAnExampleOrDefault) {
  EXPECT_EQ(
      SpecOf("  // +required\n  kube::String a{};\n  kube::String b{};\n  // +kubebuilder:default=7\n  std::optional<std::int32_t> c{};\n"
             "  // +kubebuilder:example=red\n  kube::String d{};\n  // +required\n  // +kubebuilder:example=9\n"
             "  // +kubebuilder:default=8\n  std::optional<std::int32_t> e{};\n"),
      R"({"a":"example","c":7,"d":"red","e":9})");
}

TEST(SampleTest, NamesTheFieldsOfASpecThatRequiresNone) {
  const Sample sample = SampleOf(ThingHeader("  kube::String a{};\n  kube::String b{};\n"));
  EXPECT_EQ(ToJson(sample.object["spec"]), "{}");
  EXPECT_THAT(sample.ToYaml(), HasSubstr("# Optional fields of the spec:\n#   a\n#   b\n---\n"));
}

TEST(SampleTest, FitsNumbers) {
  const std::string number = "  // +required\n";
  EXPECT_EQ(SpecOf(number + "  // +kubebuilder:validation:Minimum=576\n  std::int32_t n{};\n"), R"({"n":576})");
  EXPECT_EQ(SpecOf(number + "  // +kubebuilder:validation:Maximum=-3\n  std::int32_t n{};\n"), R"({"n":-3})");
  EXPECT_EQ(
      SpecOf(number + "  // +kubebuilder:validation:Minimum=5\n  // +kubebuilder:validation:ExclusiveMinimum=true\n"
                      "  // +kubebuilder:validation:Maximum=7\n  // +kubebuilder:validation:ExclusiveMaximum=true\n  std::int64_t n{};\n"),
      R"({"n":6})");
  EXPECT_EQ(SpecOf(number + "  // +kubebuilder:validation:Minimum=13\n  // +kubebuilder:validation:MultipleOf=8\n  std::int32_t n{};\n"),
            R"({"n":16})");
  EXPECT_EQ(SpecOf(number + "  bool n{};\n"), R"({"n":false})");
}

TEST(SampleTest, FitsTexts) {
  const std::string text = "  // +required\n  // +kubebuilder:validation:";
  EXPECT_EQ(SpecOf(text + "MaxLength=3\n  kube::String s{};\n"), R"({"s":"exa"})");
  EXPECT_EQ(SpecOf(text + "MinLength=10\n  kube::String s{};\n"), R"({"s":"exampleexa"})");
  EXPECT_EQ(SpecOf(text + "Enum=blue;green\n  kube::String s{};\n"), R"({"s":"blue"})");
  EXPECT_EQ(SpecOf(text + "Pattern=`^v[0-9]+$`\n  kube::String s{};\n"), R"({"s":"v0"})");
  EXPECT_EQ(SpecOf(text + "Pattern=`^v[0-9]+$`\n  // +kubebuilder:validation:MinLength=4\n  kube::String s{};\n"), R"({"s":"v000"})");
  EXPECT_EQ(SpecOf(text + "Pattern=`^v`\n  // +kubebuilder:validation:MinLength=4\n  kube::String s{};\n"), R"({"s":"vaaa"})");
  EXPECT_EQ(SpecOf("  // +required\n  kube::Time s{};\n"), R"({"s":"2026-01-01T00:00:00Z"})");
  EXPECT_EQ(SpecOf("  // +required\n  kube::Bytes s{};\n"), R"({"s":"ZXhhbXBsZQ=="})");
  EXPECT_EQ(SpecOf("  // +required\n  kube::Quantity s{};\n"), R"({"s":1})");
}

TEST(SampleTest, FitsEveryFormat) {
  for (const char* format :
       {"bsonobjectid", "byte", "cidr", "creditcard", "date",   "date-time", "duration",      "email",         "hexcolor",
        "hostname",     "ipv4", "ipv6", "isbn",       "isbn10", "isbn13",    "mac",           "password",      "rgbcolor",
        "ssn",          "uri",  "uuid", "uuid3",      "uuid4",  "uuid5",     "k8s-long-name", "k8s-short-name"}) {
    EXPECT_THAT(SpecOf(std::string("  // +required\n  // +kubebuilder:validation:Format=") + format + "\n  kube::String s{};\n"),
                testing::EndsWith("\"}"))
        << format;
  }
}

TEST(SampleTest, FitsListsAndMaps) {
  EXPECT_EQ(SpecOf("  // +required\n  kube::List<kube::String> l{};\n"), R"({"l":["example"]})");
  EXPECT_EQ(SpecOf("  // +required\n  // +listType=set\n  // +kubebuilder:validation:MinItems=3\n  kube::List<std::int32_t> l{};\n"),
            R"({"l":[1,2,3]})");
  EXPECT_EQ(SpecOf("  // +required\n  // +listType=set\n  // +kubebuilder:validation:MinItems=3\n"
                   "  // +kubebuilder:validation:items:Pattern=`^[xyz]$`\n  kube::List<kube::String> l{};\n"),
            R"({"l":["x","y","z"]})");
  EXPECT_EQ(SpecOf("  // +required\n  // +kubebuilder:validation:MinProperties=2\n  kube::Map<kube::String> m{};\n"),
            R"({"m":{"example":"example","example-2":"example-2"}})");
  EXPECT_EQ(SpecOf("  // +required\n  kube::RawJson r{};\n"), R"({"r":{}})");
}

TEST(SampleTest, GivesItemsOfAMapDifferentKeys) {
  const Sample sample = SampleOf(ThingHeader(
      "  // +required\n  // +listType=map\n  // +listMapKey=name\n  // +kubebuilder:validation:MinItems=2\n  kube::List<Part> parts{};\n",
      "", "struct Part {\n  // +required\n  // +kubebuilder:example=hub\n  kube::String name{};\n  KUBE_TABLE(Part);\n};\n"));
  EXPECT_THAT(sample.wrong, IsEmpty());
  EXPECT_EQ(ToJson(sample.object["spec"]["parts"]), R"([{"name":"hub"},{"name":"example-2"}])");
}

TEST(SampleTest, SatisfiesOneOf) {
  const Sample sample = SampleOf(ThingHeader(
      "  std::optional<kube::String> a{};\n  std::optional<kube::String> b{};\n  kube::String c{};\n  // +kubebuilder:example=d\n"
      "  kube::String d{};\n",
      "",
      "// +kubebuilder:validation:ExactlyOneOf=a;b\n// +kubebuilder:validation:AtMostOneOf=a;d\n// "
      "+kubebuilder:validation:AtLeastOneOf=a;c\n"));
  EXPECT_EQ(ToJson(sample.object["spec"]), R"({"b":"example","c":"example","d":"d"})");
  EXPECT_THAT(sample.unchecked, IsEmpty());
}

TEST(SampleTest, NamesRulesThatOnlyTheServerChecks) {
  const Sample sample = SampleOf(ThingHeader(
      "  // +required\n  // +kubebuilder:validation:MaxLength=9\n  // +kubebuilder:validation:XValidation:rule=\"self == 'x'\"\n"
      "  kube::String a{};\n  // +k8s:immutable\n  kube::String b{};\n",
      "", "// +kubebuilder:validation:XValidation:rule=\"self.a != ''\",message=\"a is needed\"\n"));
  EXPECT_THAT(sample.unchecked, ElementsAre("spec: a is needed", "spec.a: self == 'x'"));
  EXPECT_THAT(sample.ToYaml(),
              HasSubstr("# To do: these rules are checked by the server only:\n#   spec: a is needed\n#   spec.a: self == 'x'\n"));
}

TEST(SampleTest, NamesWhatItCouldNotFill) {
  const Sample sample =
      SampleOf(ThingHeader("  // +required\n  // +kubebuilder:validation:Pattern=`^\\p{Greek}+$`\n  kube::String a{};\n"));
  ASSERT_EQ(sample.wrong.size(), 1u);
  EXPECT_THAT(sample.wrong[0], testing::StartsWith("spec.a: Invalid value: \"example\""));
  EXPECT_THAT(sample.ToYaml(), HasSubstr("#   spec.a: Invalid value"));
}

TEST(SampleTest, DoesNotUseAnExampleThatDoesNotFit) {
  EXPECT_EQ(
      SpecOf("  // +required\n  // +kubebuilder:validation:MaxLength=3\n  // +kubebuilder:example=much-too-long\n  kube::String a{};\n"),
      R"({"a":"exa"})");
}

TEST(SampleTest, LeavesOutVersionsThatAreNotServed) {
  const TestRun run = RunHeaders({{"a.h", ThingHeader("", "// +kubebuilder:storageversion\n")},
                                  {"b.h",
                                   "// +groupName=example.com\n// +versionName=v1alpha1\nnamespace b {\n"
                                   "// +kubebuilder:unservedversion\nstruct Thing {\n  kube::meta::v1::ObjectMeta metadata{};\n"
                                   "  KUBE_TABLE(Thing);\n};\n}\n"}});
  ASSERT_EQ(run.text(), "");
  const std::vector<Sample> samples = MakeSamples(run.crds, run.model);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].file_name, "example_v1_thing.yaml");
}

TEST(SampleTest, NamesTheWholeGroupIfAnotherBeginsAlike) {
  auto header = [](const std::string& group) {
    return "// +groupName=" + group + "\n// +versionName=v1\nnamespace " + group.substr(5, 1) +
           " {\nstruct Thing {\n  kube::meta::v1::ObjectMeta metadata{};\n  KUBE_TABLE(Thing);\n};\n}\n";
  };
  const TestRun run = RunHeaders({{"a.h", header("shop.a.com")}, {"b.h", header("shop.b.com")}});
  ASSERT_EQ(run.text(), "");
  const std::vector<Sample> samples = MakeSamples(run.crds, run.model);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].file_name, "shop.a.com_v1_thing.yaml");
  EXPECT_EQ(samples[1].file_name, "shop.b.com_v1_thing.yaml");
}

// ---- Files ----

class SampleFilesTest : public testing::Test {
 protected:
  void SetUp() override { Write("api/thing.h", ThingHeader("  // +required\n  kube::String a{};\n")); }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string Read(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(folder_ / name).rdbuf();
    return out.str();
  }
  Output Run() {
    problems_ = {};
    return Generate(
        {.headers = {(folder_ / "api").string()}, .samples = (folder_ / "samples").string(), .docs = (folder_ / "docs").string()},
        problems_);
  }
  std::vector<std::string> Names(const std::vector<std::string>& paths) const {
    std::vector<std::string> out;
    for (const std::string& path : paths) out.push_back(fs::relative(path, folder_).string());
    return out;
  }

  const kube::internal::TestFolder temporary_;
  const fs::path folder_ = temporary_.path();
  Problems problems_;
};

TEST_F(SampleFilesTest, AreWrittenOnce) {
  EXPECT_THAT(Names(StaleFiles(Run()).value()), ElementsAre("docs/example.com_v1.md", "samples/example_v1_thing.yaml"));
  EXPECT_THAT(Names(WriteOutput(Run()).value()), ElementsAre("docs/example.com_v1.md", "samples/example_v1_thing.yaml"));
  const std::string edited = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: mine}\nspec: {a: b}\n";
  Write("samples/example_v1_thing.yaml", edited);
  EXPECT_THAT(StaleFiles(Run()).value(), IsEmpty());
  EXPECT_EQ(problems_.ToString(), "");
  Write("api/thing.h", ThingHeader("  // +required\n  kube::String c{};\n"));
  EXPECT_THAT(Names(StaleFiles(Run()).value()), ElementsAre("docs/example.com_v1.md"));
  EXPECT_THAT(problems_.ToString(), HasSubstr("example_v1_thing.yaml: a server would refuse the sample: spec.c: Required value"));
  EXPECT_FALSE(problems_.has_errors());
  EXPECT_THAT(Names(WriteOutput(Run()).value()), ElementsAre("docs/example.com_v1.md"));
  EXPECT_EQ(Read("samples/example_v1_thing.yaml"), edited);
}

TEST_F(SampleFilesTest, RemovesPagesOfVersionsThatAreGone) {
  WriteOutput(Run()).value();
  Write("docs/example.com_v9.md", "My own page.\n");
  Write("docs/other.com_v1.md", Read("docs/example.com_v1.md"));
  std::string header = ThingHeader("  kube::String a{};\n");
  header.replace(header.find("versionName=v1"), 14, "versionName=v2");
  Write("api/thing.h", header);
  EXPECT_THAT(Names(WriteOutput(Run()).value()),
              ElementsAre("docs/example.com_v2.md", "samples/example_v2_thing.yaml", "docs/example.com_v1.md"));
  EXPECT_TRUE(fs::exists(folder_ / "docs/example.com_v9.md"));
  EXPECT_TRUE(fs::exists(folder_ / "docs/other.com_v1.md"));
  EXPECT_TRUE(fs::exists(folder_ / "samples/example_v1_thing.yaml"));  // the user's
}

}  // namespace
}  // namespace kube::generate
