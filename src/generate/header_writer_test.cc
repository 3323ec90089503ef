// Markers and headers are written so that the readers understand them as they were meant.
#include "generate/header_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "generate/generate_test_util.h"
#include "generate/marker_writer.h"
#include "generate/names.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

using testing::HasSubstr;
using testing::Not;

// ---- Markers ----

std::string Written(std::string name, Value value, bool items = false) {
  return WriteMarker({.name = std::move(name), .items = items, .value = std::move(value), .arguments = {}, .at = {}}).value_or("nothing");
}

TEST(MarkerWriterTest, WritesWhatPeopleWrite) {
  EXPECT_EQ(Written("required", {}), "+required");
  EXPECT_EQ(Written("listType", "map"), "+listType=map");
  EXPECT_EQ(Written("kubebuilder:validation:MaxLength", 43), "+kubebuilder:validation:MaxLength=43");
  EXPECT_EQ(Written("kubebuilder:validation:MaxLength", 43, true), "+kubebuilder:validation:items:MaxLength=43");
  EXPECT_EQ(Written("kubebuilder:validation:Pattern", "^[a-z]+$"), R"(+kubebuilder:validation:Pattern="^[a-z]+$")");
  EXPECT_EQ(Written("kubebuilder:validation:Pattern", "^\\d$"), R"(+kubebuilder:validation:Pattern=`^\d$`)");
  EXPECT_EQ(Written("kubebuilder:validation:Pattern", "^`\\d$"), R"(+kubebuilder:validation:Pattern="^`\\d$")");
  EXPECT_EQ(Written("kubebuilder:validation:Enum", Value::Array({"TCP", 5, "5", "a b", ""})),
            R"(+kubebuilder:validation:Enum=TCP;5;"5";"a b";"")");
  EXPECT_EQ(Written("kubebuilder:default", "x"), "+kubebuilder:default=x");
  EXPECT_EQ(Written("kubebuilder:default", "true"), R"(+kubebuilder:default="true")");
  EXPECT_EQ(Written("kubebuilder:default", Value::Object({{"a", Value::Array({1, "b;,c"})}})), R"(+kubebuilder:default={"a":[1,"b;,c"]})");
  EXPECT_EQ(WriteMarker({.name = "kubebuilder:resource",
                         .arguments = Value::Object({{"scope", "Cluster"}, {"shortName", Value::Array({"n", "net"})}})}),
            "+kubebuilder:resource:shortName=n;net,scope=Cluster");
  EXPECT_EQ(WriteMarker({.name = "kubebuilder:deprecatedversion", .arguments = Value::Object()}), "+kubebuilder:deprecatedversion");
}

TEST(MarkerWriterTest, RefusesWhatNoLineSays) {
  EXPECT_EQ(WriteMarker({.name = "kubebuilder:validation:Enum", .value = Value::Array({Value()})}), std::nullopt);
  EXPECT_EQ(WriteMarker({.name = "kubebuilder:default", .value = Value()}), std::nullopt);
  EXPECT_EQ(WriteMarker({.name = "no-such-marker"}), std::nullopt);
  EXPECT_EQ(WriteMarker({.name = "kubebuilder:selectablefield", .arguments = Value::Object()}), std::nullopt);
  EXPECT_EQ(WriteMarker({.name = "required", .items = true}), std::nullopt);
  EXPECT_EQ(WriteMarker({.name = "k8s:listMapKey", .value = "a#b"}), std::nullopt);  // a remark begins there
}

class RandomMarker {
 public:
  explicit RandomMarker(unsigned seed) : random_(seed) {}

  Marker Make() {
    const std::span<const MarkerDefinition> all = AllMarkers();
    const MarkerDefinition& definition = all[Below(all.size())];
    Marker out{.name = std::string(definition.name), .items = definition.items && Below(2) == 0, .value = {}, .arguments = {}, .at = {}};
    if (definition.form == MarkerForm::kValue) out.value = Make(definition.type, 0);
    if (definition.form == MarkerForm::kNamed) {
      out.arguments = Value::Object();
      for (const ArgumentDefinition& argument : definition.arguments) {
        if (argument.required || Below(2) == 0) out.arguments[argument.name] = Make(argument.type, 0);
      }
    }
    return out;
  }

 private:
  std::size_t Below(std::size_t n) { return random_() % n; }

  std::string Text() {
    static constexpr auto kParts = std::to_array<std::string_view>({"a",
                                                                    "Z",
                                                                    "5",
                                                                    " ",
                                                                    ",",
                                                                    ";",
                                                                    ":",
                                                                    "=",
                                                                    "\"",
                                                                    "`",
                                                                    "\\",
                                                                    "{",
                                                                    "}",
                                                                    "[",
                                                                    "]",
                                                                    "\n",
                                                                    "\t",
                                                                    "\r",
                                                                    "\x01",
                                                                    "\x7f",
                                                                    "#",
                                                                    "+",
                                                                    "-",
                                                                    ".",
                                                                    "*/",
                                                                    "/*",
                                                                    "//",
                                                                    "?"
                                                                    "?/",
                                                                    "\xc3\xa4",
                                                                    "\xe2\x80\xae",
                                                                    "\xf0\x9f\x98\x80",
                                                                    "true",
                                                                    "1e5",
                                                                    "0x1"});
    std::string out;
    for (std::size_t i = Below(6); i > 0; --i) out += kParts[Below(kParts.size())];
    return out;
  }

  Value Make(ArgumentType type, int depth) {
    switch (type) {
      case ArgumentType::kNone:
        return {};
      case ArgumentType::kString:
        return Value(Text());
      case ArgumentType::kInt:
        return Value(static_cast<std::int64_t>(random_()) - (std::int64_t{1} << 31));
      case ArgumentType::kNumber:
        return Below(2) == 0 ? Make(ArgumentType::kInt, depth) : Value(static_cast<double>(random_()) / 7.0);
      case ArgumentType::kBool:
        return Value(Below(2) == 0);
      case ArgumentType::kStrings:
      case ArgumentType::kAnyList: {
        Value out = Value::Array();
        for (std::size_t i = Below(4); i > 0; --i) {
          out.MutableList().push_back(Make(type == ArgumentType::kStrings ? ArgumentType::kString : kScalars[Below(4)], depth));
        }
        return out;
      }
      case ArgumentType::kAny:
      case ArgumentType::kJson: {
        if (depth > 2 || Below(2) == 0) return Make(kScalars[Below(4)], depth);
        Value out = Below(2) == 0 ? Value::Array() : Value::Object();
        for (std::size_t i = Below(4); i > 0; --i) {
          Value inner = Make(type, depth + 1);
          if (out.is_list()) {
            out.MutableList().push_back(std::move(inner));
          } else {
            out[Text()] = std::move(inner);
          }
        }
        return out;
      }
    }
    return {};
  }

  static constexpr ArgumentType kScalars[] = {ArgumentType::kString, ArgumentType::kInt, ArgumentType::kNumber, ArgumentType::kBool};
  std::mt19937 random_;
};

// Every marker of the table with any value: the line is fit for a comment and reads as the same marker.
TEST(MarkerWriterTest, WhatIsWrittenReadsAsTheSame) {
  RandomMarker random(20240607);
  int written = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Marker marker = random.Make();
    const std::optional<std::string> line = WriteMarker(marker);
    if (!line) {
      ++refused;
      continue;
    }
    ++written;
    ForEachCodePoint(*line, [&](std::uint32_t code, std::string_view) {
      EXPECT_TRUE(code >= 0x20 && !IsInvisible(code)) << *line << " has code point " << code;
    });
    EXPECT_FALSE(line->ends_with('\\')) << *line;
    if (FindMarker(marker.name)->form == MarkerForm::kIgnored) continue;
    Problems problems;
    const std::optional<Marker> read = ParseMarker(*line, {}, ~0U, {}, problems);
    ASSERT_TRUE(read) << *line << '\n' << problems.ToString();
    EXPECT_EQ(read->name, marker.name);
    EXPECT_EQ(read->items, marker.items);
    EXPECT_EQ(read->value, marker.value) << *line;
    EXPECT_EQ(ToJson(read->arguments), ToJson(marker.arguments)) << *line;
  }
  EXPECT_GT(written, 17'000);
  EXPECT_LT(refused, 2'000);  // names with *, remarks
}

// ---- Names ----

TEST(NamesTest, MembersReadAsInKubexx) {
  for (const auto& [json, member] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{{"runAsUser", "run_as_user"},
                                                                            {"podIPs", "pod_ips"},
                                                                            {"hostPID", "host_pid"},
                                                                            {"openAPIV3Schema", "open_api_v3_schema"},
                                                                            {"x-real-ip", "x_real_ip"},
                                                                            {"HTTPRoute", "http_route"},
                                                                            {"s3", "s3"},
                                                                            {"namespace", "namespace_"},
                                                                            {"kube", "kube_"},
                                                                            {"unknownFields", "unknown_fields_"},
                                                                            {"3scale", "_3scale"},
                                                                            {"\xc3\xa4", "value"},
                                                                            {"", "value"},
                                                                            {"URLs", "urls"}}) {
    EXPECT_EQ(MemberName(json), member) << json;
  }
}

TEST(NamesTest, TypesReadAsTypes) {
  EXPECT_EQ(TypeNamePart("certificateRefs"), "CertificateRefs");
  EXPECT_EQ(TypeNamePart("PENDING"), "Pending");
  EXPECT_EQ(TypeNamePart("2.0"), "2_0");
  EXPECT_EQ(TypeNamePart("kube-proxy"), "KubeProxy");
  EXPECT_EQ(TypeNamePart("*"), "");
  for (const auto& [many, one] : std::initializer_list<std::pair<std::string_view, std::string_view>>{{"refs", "ref"},
                                                                                                      {"policies", "policy"},
                                                                                                      {"addresses", "address"},
                                                                                                      {"status", "status"},
                                                                                                      {"matches", "match"},
                                                                                                      {"indices", "index"},
                                                                                                      {"ips", "ip"},
                                                                                                      {"clauses", "clause"},
                                                                                                      {"alias", "alias"},
                                                                                                      {"aliases", "alias"},
                                                                                                      {"analysis", "analysis"},
                                                                                                      {"metrics", "metrics"},
                                                                                                      {"boxes", "box"},
                                                                                                      {"dns", "dns"},
                                                                                                      {"series", "series"}}) {
    EXPECT_EQ(SingularOf(many), one) << many;
  }
  EXPECT_EQ(NamespaceOfGroup("samplecrd.k8s.io"), "samplecrd");
  EXPECT_EQ(NamespaceOfGroup("cert-manager.io"), "cert_manager");
  EXPECT_EQ(NamespaceOfGroup("std.io"), "std_api");
  EXPECT_EQ(NamespaceOfGroup("access.example.com"), "access_api");
  EXPECT_EQ(NamespaceOfGroup("3scale.net"), "api_3scale");
}

// ---- Headers ----

constexpr std::string_view kHeader = R"(// +groupName=example.com
// +versionName=v1
#pragma once

)"
                                     "#include <kube/api/core/v1.h>\n#include <kube/kind.h>\n"
                                     R"(
namespace example::v1 {

// How it is.
// +k8s:enum
using Phase = kube::String;
inline constexpr std::string_view kPhasePending = "PENDING", kPhaseReady = "READY";

struct ThingSpec {
  // What it is called.
  //
  // In two paragraphs.
  // +required
  // +kubebuilder:validation:MaxLength=43
  kube::String name{};
  // +kube:json=podCIDR
  kube::List<kube::String> pod_cidr{};
  kube::Box<kube::core::v1::PodTemplateSpec> template_{};
  Phase phase{};

  KUBE_TABLE(ThingSpec);
};

// +kubebuilder:resource:shortName=th
struct Thing {
  kube::meta::v1::ObjectMeta metadata{};
  ThingSpec spec{};

  KUBE_TABLE(Thing);
};

}  // namespace example::v1
)";

std::string WriteBack(const TestRun& run) {
  Problems problems;
  std::string out = WriteHeader(run.model, 0, problems);
  EXPECT_EQ(problems.ToString(), "");
  return out;
}

TEST(HeaderWriterTest, WritesWhatItReads) { EXPECT_EQ(WriteBack(ReadOnly(kHeader)), kHeader); }

TEST(HeaderWriterTest, WritesWhatAStructNeedsBeforeIt) {
  TestRun run = ReadOnly(ThingHeader("Part part{};", "", "struct Part {\n  KUBE_TABLE(Part);\n};\n"));
  ASSERT_EQ(run.text(), "");
  std::reverse(run.model.structs.begin(), run.model.structs.end());
  run.model.Index();
  const std::string text = WriteBack(run);
  EXPECT_LT(text.find("struct Part "), text.find("struct ThingSpec "));
  EXPECT_LT(text.find("struct ThingSpec "), text.find("struct Thing "));
}

// Whatever a description says, the header declares the same, and where comments can say it, the description is the same.
TEST(HeaderWriterTest, DescriptionsStayInTheirComments) {
  struct Case {
    std::string_view text, read;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"plain", "plain"},
           {" indented\n\n\nlines", " indented\n\n\nlines"},
           {"a */ b /* c", "a */ b /* c"},
           {"ends in \\", "ends in \\"},
           {"kubectl \\\n  apply", "kubectl \\\napply"},
           {"?"
            "?/",
            "?"
            "?/"},
           {"*/ \\", "*/ \\ ."},
           {"+kubebuilder:validation:MaxLength=1", "+kubebuilder:validation:MaxLength=1"},
           {"+optional */", "\\+optional */"},
           {"a\rint x;\nb", "aint x;\nb"},
           {"a\x01"
            "b\x7f\xe2\x80\xae",
            "a b"},
           {"\xc3\xa4 \xff", "\xc3\xa4 ?"},
           {"trailing  \n", "trailing\n"},
       }) {
    TestRun run = ReadOnly(kHeader);
    run.model.structs[0].fields[0].description = std::string(c.text);
    run.model.structs[0].description = std::string(c.text);
    const std::string text = WriteBack(run);
    const TestRun again = ReadOnly(text);
    EXPECT_EQ(again.text(), "") << text;
    ASSERT_EQ(again.model.structs.size(), 2U) << text;
    const Struct& s = again.model.structs[0];
    EXPECT_EQ(s.description, c.read);
    ASSERT_EQ(s.fields.size(), 4U) << text;
    EXPECT_EQ(s.fields[0].description, c.read);
    EXPECT_EQ(s.fields[0].markers.size(), 2U) << text;
    EXPECT_THAT(text, Not(HasSubstr("\\\n  kube"))) << text;
  }
}

TEST(HeaderWriterTest, ConstantsBelongToTheirAlias) {
  TestRun run = ReadOnly(kHeader);
  Alias other = run.model.aliases[0];
  other.name = "PhaseReady";
  other.qualified = "example::v1::PhaseReady";
  other.constants = {"",
                     "*",
                     "!=",
                     "a b",
                     "a-b",
                     "a\nb\"\\",
                     "?"
                     "?/5",
                     "\xc3\xa4",
                     "Ready",
                     "5"};
  run.model.aliases.push_back(other);
  run.model.aliases[0].constants = {"Ready", "ReadyOrNot", "READY", "x"};
  run.model.structs[0].fields[3].type.element = nullptr;
  run.model.Index();
  const std::string text = WriteBack(run);
  const TestRun again = ReadOnly(text);
  EXPECT_EQ(again.text(), "");
  for (const Alias& alias : again.model.aliases) {
    const Alias* before = run.model.FindAlias(alias.qualified);
    ASSERT_NE(before, nullptr);
    EXPECT_EQ(alias.constants, before->constants) << text;
  }
  EXPECT_EQ(again.model.aliases.size(), 2U);
}

}  // namespace
}  // namespace kube::generate
