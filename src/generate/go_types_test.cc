// From Go to C++: what each type, tag and marker becomes, and the exact words about what has no form in C++.
#include "generate/go_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/folder_test_util.h"
#include "generate/generate_test_util.h"
#include "generate/header_writer.h"
#include "generate/table_writer.h"

namespace kube::generate {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct GoRun {
  Model model;
  Problems problems;
  std::vector<std::string> headers;

  std::string text() const { return problems.ToString(); }
};

using Sources = std::vector<std::pair<std::string, std::string>>;  // import path, text

// The first package is the given one.
GoRun Convert(const Sources& sources) {
  GoRun run;
  GoPackages packages({.imports = {}, .run_go = false}, run.problems);
  const GoPackage* given = nullptr;
  for (const auto& [path, text] : sources) {
    const GoPackage* package = packages.Add(path, {{path == sources[0].first ? "x.go" : path + "/x.go", text}});
    if (given == nullptr) given = package;
  }
  ReadGoTypes({given}, packages, run.model, run.problems);
  for (std::size_t i = 0; i < run.model.files.size(); ++i) run.headers.push_back(WriteHeader(run.model, i, run.problems));
  return run;
}

constexpr std::string_view kImports = R"(import (
 corev1 "k8s.io/api/core/v1"
 "k8s.io/apimachinery/pkg/api/resource"
 metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
 "k8s.io/apimachinery/pkg/runtime"
 "k8s.io/apimachinery/pkg/util/intstr"
 "time"
)
)";

// A package with struct S of these fields.
GoRun Fields(const std::string& fields, const std::string& rest = "") {
  return Convert({{"example.com/api/v1", "package v1\n" + std::string(kImports) + "type S struct {\n" + fields + "\n}\n" + rest}});
}

// The lines of the member in the header, without its indentation.
std::string Member(const std::string& field, const std::string& rest = "") {
  const GoRun run = Fields(field, rest);
  if (run.problems.has_errors()) return run.text();
  const std::string& header = run.headers[0];
  const std::size_t begin = header.find("struct S {\n") + 11, end = header.find("\n  KUBE_TABLE(S)");
  std::string out;
  for (std::size_t at = begin; at < end;) {
    const std::size_t line = header.find('\n', at);
    out += header.substr(at + 2, line - at - 1);
    at = line + 1;
  }
  return out;
}

TEST(GoTypesTest, ScalarsAndContainers) {
  EXPECT_EQ(Member("A string `json:\"a,omitempty\"`"), "kube::String a{};\n");
  EXPECT_EQ(Member("A *string `json:\"a,omitempty\"`"), "std::optional<kube::String> a{};\n");
  EXPECT_EQ(Member("A bool `json:\"a,omitempty\"`"), "bool a{};\n");
  EXPECT_EQ(Member("A *int32 `json:\"a,omitzero\"`"), "std::optional<std::int32_t> a{};\n");
  EXPECT_EQ(Member("A []byte `json:\"a,omitempty\"`"), "kube::Bytes a{};\n");
  EXPECT_EQ(Member("A [3]string `json:\"a,omitempty\"`"), "kube::List<kube::String> a{};\n");
  EXPECT_EQ(Member("A map[string][]*int64 `json:\"a,omitempty\"`"), "kube::Map<kube::List<std::int64_t>> a{};\n");
  EXPECT_EQ(Member("A *[]string `json:\"a,omitempty\"`"), "kube::Box<kube::List<kube::String>> a{};\n");
  EXPECT_EQ(Member("A float64 `json:\"a,omitempty\"`"), "double a{};\n");
  EXPECT_EQ(Member("A time.Duration `json:\"a,omitempty\"`"), "std::int64_t a{};\n");
}

TEST(GoTypesTest, IntegersWithoutASizeHaveNoFormat) {
  EXPECT_EQ(Member("A int `json:\"a,omitempty\"`"), "// +kubebuilder:validation:Format=\"\"\nstd::int64_t a{};\n");
  EXPECT_EQ(Member("A uint32 `json:\"a,omitempty\"`"), "// +kubebuilder:validation:Format=int32\nstd::int64_t a{};\n");
  EXPECT_EQ(Member("A []uint8 `json:\"a,omitempty\"`\n\tB []int `json:\"b,omitempty\"`"),
            "kube::Bytes a{};\n// +kubebuilder:validation:items:Format=\"\"\nkube::List<std::int64_t> b{};\n");
  const GoRun run = Fields("A map[string]int `json:\"a,omitempty\"`\nB [][]int `json:\"b,omitempty\"`");
  EXPECT_EQ(run.text(), "");
  EXPECT_THAT(run.headers[0], HasSubstr("// +kubebuilder:validation:Format=\"\"\nusing Int = std::int64_t;\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("  kube::Map<Int> a{};\n"));
  // The marker of the writer's own is not written over one of the field's.
  EXPECT_EQ(Member("// +kubebuilder:validation:Format=int64\nA int `json:\"a,omitempty\"`"),
            "// +kubebuilder:validation:Format=int64\nstd::int64_t a{};\n");
}

TEST(GoTypesTest, TypesOfKubernetes) {
  EXPECT_EQ(Member("A *metav1.Time `json:\"a,omitempty\"`"), "kube::Time a{};\n");
  EXPECT_EQ(Member("A *metav1.Duration `json:\"a,omitempty\"`"), "std::optional<kube::Duration> a{};\n");
  EXPECT_EQ(Member("A resource.Quantity `json:\"a,omitempty\"`"), "kube::Quantity a{};\n");
  EXPECT_EQ(Member("A *intstr.IntOrString `json:\"a,omitempty\"`"), "std::optional<kube::IntOrString> a{};\n");
  EXPECT_EQ(Member("A corev1.Protocol `json:\"a,omitempty\"`"), "kube::String a{};\n");
  EXPECT_EQ(Member("A corev1.ResourceList `json:\"a,omitempty\"`"), "kube::Map<kube::Quantity> a{};\n");
  EXPECT_EQ(Member("A *corev1.PodTemplateSpec `json:\"a,omitempty\"`"), "kube::Box<kube::core::v1::PodTemplateSpec> a{};\n");
  EXPECT_EQ(Member("A []metav1.Condition `json:\"a,omitempty\"`"), "kube::List<kube::meta::v1::Condition> a{};\n");
  EXPECT_EQ(Member("A *runtime.RawExtension `json:\"a,omitempty\"`"), "// +kubebuilder:validation:Type=object\nkube::RawJson a{};\n");
  EXPECT_THAT(
      Member("A corev1.Nothing `json:\"a,omitempty\"`"),
      HasSubstr("package \"k8s.io/api/core/v1\" is not found, and Go is not there to look for it; pass --import k8s.io/api/core/v1=DIR "));
}

TEST(GoTypesTest, RequiredFieldsAsControllerGenDecides) {
  EXPECT_EQ(Member("A string `json:\"a\"`"), "// +required\nkube::String a{};\n");
  EXPECT_EQ(Member("// +optional\nA string `json:\"a\"`"), "kube::String a{};\n");
  EXPECT_EQ(Member("// +required\nA string `json:\"a,omitempty\"`"), "// +required\nkube::String a{};\n");
  EXPECT_EQ(Member("// +required\n// +optional\nA string `json:\"a,omitempty\"`"), "kube::String a{};\n");
  EXPECT_EQ(Member("// +kubebuilder:validation:Required\n// +optional\nA string `json:\"a,omitempty\"`"),
            "// +required\nkube::String a{};\n");
  EXPECT_EQ(Member("// +k8s:required\nA string `json:\"a,omitempty\"`"), "// +k8s:required\nkube::String a{};\n");
  const GoRun run =
      Convert({{"example.com/v1", "// +kubebuilder:validation:Optional\npackage v1\ntype S struct { A string `json:\"a\"` }\n"}});
  EXPECT_THAT(run.headers[0], Not(HasSubstr("+required")));
}

TEST(GoTypesTest, Structs) {
  const std::string part = "// Part of it.\ntype Part struct {\n\tA string `json:\"a,omitempty\"`\n}\n";
  EXPECT_EQ(Member("P Part `json:\"p\"`", part), "// +required\nPart p{};\n");
  EXPECT_EQ(Member("P Part `json:\"p,omitempty\"`", part), "kube::Box<Part> p{};\n");
  EXPECT_EQ(Member("P *Part `json:\"p,omitempty\"`", part), "kube::Box<Part> p{};\n");
  EXPECT_EQ(Member("Part `json:\",inline\"`", part), "// +kube:inline\nPart part{};\n");
  EXPECT_EQ(Member("*Part", part), "// +kube:inline\nPart part{};\n");
  EXPECT_EQ(Member("Part `json:\"theParts\"`", part), "// +required\nPart the_parts{};\n");
  EXPECT_EQ(Member("metav1.TypeMeta `json:\",inline\"`\nA string `json:\"a,omitempty\"`"),
            "kube::String api_version{};\nkube::String kind{};\nkube::String a{};\n");
  EXPECT_EQ(Member("Next *S `json:\"next,omitempty\"`\nAll []S `json:\"all,omitempty\"`"), "kube::Box<S> next{};\nkube::List<S> all{};\n");
}

TEST(GoTypesTest, Names) {
  EXPECT_EQ(Member("A string `json:\"podCIDR,omitempty\"`"), "// +kube:json=podCIDR\nkube::String pod_cidr{};\n");
  EXPECT_EQ(Member("A string `json:\"class,omitempty\"`"), "kube::String class_{};\n");
  EXPECT_EQ(Member("A string `json:\"-,omitempty\"`"), "// +kube:json=-\nkube::String value{};\n");
  EXPECT_EQ(Member("URL string `json:\"url,omitempty\"`\nUrl string `json:\"URL,omitempty\"`"),
            "kube::String url{};\n// +kube:json=URL\nkube::String url_2{};\n");
  EXPECT_EQ(Member("A string `json:\"-\"`\nb int\nC string `json:\"c,omitempty\"`"), "kube::String c{};\n");
}

TEST(GoTypesTest, AliasesAndConstants) {
  const GoRun run = Fields(
      "P Phase `json:\"p,omitempty\"`\nQ *Phases `json:\"q,omitempty\"`\nR Same `json:\"r,omitempty\"`\nT Text `json:\"t,omitempty\"`",
      R"(// Phase says how far it is.
// +k8s:enum
type Phase string
const (
 PhaseDone Phase = "DONE"
 PhaseOther = Phase("Other-One")
 unrelated = "x"
)
// +kubebuilder:validation:MaxItems:=3
type Phases []Phase
type Same = Phases
// +kubebuilder:validation:MinLength=1
type Text = string
)");
  // controller-gen's enum has no constants that are conversions.
  EXPECT_EQ(
      run.text(),
      "x.go:18:6: warning: enum Phase lacks PhaseOther, as in controller-gen, which knows constants with a text in quotes only; write "
      "PhaseOther Phase = \"...\" in Go to have it\n");
  EXPECT_THAT(run.headers[0], HasSubstr("// Phase says how far it is.\n// +kubebuilder:validation:Enum=DONE\nusing Phase = kube::String;\n"
                                        "inline constexpr std::string_view kPhaseDone = \"DONE\", kPhaseOtherOne = \"Other-One\";\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("// +kubebuilder:validation:MaxItems=3\nusing Phases = kube::List<Phase>;\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("  Phase p{};\n  kube::Box<Phases> q{};\n  Phases r{};\n  Text t{};\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("// +kubebuilder:validation:MinLength=1\nusing Text = kube::String;\n"));
}

TEST(GoTypesTest, EnumsAreTheirConstants) {
  const GoRun run =
      Fields("P Phase `json:\"p,omitempty\"`", "// +k8s:enum\ntype Phase string\nconst (\n B, A Phase = \"b\", \"a\"\n C = \"c\"\n)\n");
  EXPECT_EQ(run.text(), "");
  EXPECT_THAT(run.headers[0], HasSubstr("// +k8s:enum\nusing Phase = kube::String;\n"
                                        "inline constexpr std::string_view kPhaseB = \"b\", kPhaseA = \"a\";\n"));
}

TEST(GoTypesTest, DefaultsThatAreNotZeroNeedOptional) {
  EXPECT_THAT(Member("// +kubebuilder:default=5\nA int32 `json:\"a,omitempty\"`"), HasSubstr("std::optional<std::int32_t> a{};"));
  EXPECT_THAT(Member("// +kubebuilder:default=0\nA int32 `json:\"a,omitempty\"`"), HasSubstr("\nstd::int32_t a{};"));
  EXPECT_THAT(Member("// +kubebuilder:default=x\nA string `json:\"a,omitempty\"`"), HasSubstr("\nkube::String a{};"));
}

TEST(GoTypesTest, TypesThatMarshalThemselves) {
  const GoRun run = Fields(
      "A Token `json:\"a,omitempty\"`\nB Text `json:\"b,omitempty\"`\nC Plain `json:\"c,omitempty\"`\nD Raw `json:\"d,omitempty\"`\nE "
      "Stamp `json:\"e,omitempty\"`",
      R"(// Token is text.
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=3
type Token struct { id string }
func (t Token) MarshalJSON() ([]byte, error) { return nil, nil }
type Text struct { a, b int }
func (t *Text) MarshalText() ([]byte, error) { return nil, nil }
// Plain is read as it stands.
type Plain struct { A string `json:"a,omitempty"` }
func (p *Plain) MarshalJSON() ([]byte, error) { return nil, nil }
type Raw struct { a int }
func (p *Raw) MarshalJSON() ([]byte, error) { return nil, nil }
// +kubebuilder:validation:Type=string
type Stamp struct { metav1.Time; n int }
)");
  EXPECT_EQ(run.text(), "x.go:27:6: warning: type Raw has a MarshalJSON method and no +kubebuilder:validation:Type; it becomes raw JSON\n");
  EXPECT_THAT(run.headers[0], HasSubstr("\n\n// +kubebuilder:validation:MaxLength=3\nusing Token = kube::String;\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("\nusing Text = kube::String;\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("// Plain is read as it stands.\nstruct Plain {\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("\nusing Raw = kube::RawJson;\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("\nusing Stamp = kube::String;\n"));
}

// The part of a header from here on.
std::string From(const GoRun& run, std::string_view text) {
  const std::size_t at = run.headers.at(0).find(text);
  return at == std::string::npos ? "not found in " + run.headers[0] : run.headers[0].substr(at);
}

TEST(GoTypesTest, InlinedStructsAreCopiedWithoutWhatIsHidden) {
  const GoRun run = Fields("// Of S.\n// +kubebuilder:validation:MinLength=1\nA *string `json:\"a,omitempty\"`\nOuter `json:\",inline\"`",
                           R"(type Outer struct {
 // +kubebuilder:validation:MaxLength=1
 // +kubebuilder:validation:MinLength=1
 // +kubebuilder:title=Left
 A *string `json:"a"`
 Inner `json:",inline"`
 B string `json:"b,omitempty"`
}
// +kubebuilder:validation:AtMostOneOf=b;c
// +kubebuilder:validation:AtMostOneOf=c
type Inner struct {
 B string `json:"b,omitempty"`
 // Of Inner.
 A string `json:"a,omitempty"`
 C string `json:"c,omitempty"`
}
type Other struct { Outer `json:",inline"` }
)");
  EXPECT_EQ(run.text(), "");
  // Outer itself hides fields of Inner; S hides one of Outer in addition.
  EXPECT_THAT(From(run, "struct OuterInner {"), StartsWith("struct OuterInner {\n  kube::String c{};\n\n  KUBE_TABLE(OuterInner);\n};\n"));
  EXPECT_THAT(From(run, "struct SOuter {"), StartsWith(R"(struct SOuter {
  // +kube:inline
  OuterInner inner{};
  kube::String b{};

  KUBE_TABLE(SOuter);
};
)"));
  EXPECT_THAT(From(run, "struct S {"), StartsWith(R"(struct S {
  // Of Inner.
  // +kubebuilder:validation:MaxLength=1
  // +required
  // +kubebuilder:validation:MinLength=1
  std::optional<kube::String> a{};
  // +kube:inline
  SOuter outer{};

  KUBE_TABLE(S);
};
)"));
  EXPECT_THAT(run.headers[0], HasSubstr("struct Other {\n  // +kube:inline\n  Outer outer{};\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("// +kubebuilder:validation:AtMostOneOf=b;c\nstruct Outer {\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("// +kubebuilder:validation:AtMostOneOf=c\nstruct OuterInner {\n"));
  const TestRun again = RunHeaders({{"x.h", run.headers[0]}});
  EXPECT_EQ(again.text(), "");
  Problems problems;
  EXPECT_THAT(WriteTables(again.model, 0, "x.h", problems), HasSubstr("KUBE_GENERATED_TABLE(S, "));
  EXPECT_EQ(problems.ToString(), "");
}

TEST(GoTypesTest, FieldsOfOneDepthGoToTheFirst) {
  const GoRun run = Fields(
      "L `json:\",inline\"`\nR `json:\",inline\"`",
      "type L struct { A string `json:\"a,omitempty\"` }\n"
      "type R struct {\n// +kubebuilder:validation:MaxLength=1\nA string `json:\"a,omitempty\"`\nB string `json:\"b,omitempty\"`\n}");
  EXPECT_EQ(run.text(), "");
  EXPECT_THAT(From(run, "struct SL {"), StartsWith("struct SL {\n  // +kubebuilder:validation:MaxLength=1\n  kube::String a{};\n"));
  EXPECT_THAT(From(run, "struct SR {"), StartsWith("struct SR {\n  kube::String b{};\n"));
}

TEST(GoTypesTest, HiddenFieldsOfAnotherTypeAreWarnings) {
  constexpr std::string_view kWarning =
      "warning: field a hides one of another type, or with other markers, that S inlines; the schema has only the former\n";
  const auto text = [](const std::string& field, const std::string& hidden) {
    return Fields(field + "\nIn `json:\",inline\"`", "type In struct {\n" + hidden + "\n}").text();
  };
  EXPECT_THAT(text("A string `json:\"a,omitempty\"`", "A int32 `json:\"a,omitempty\"`"), HasSubstr(kWarning));
  EXPECT_THAT(text("// +kubebuilder:validation:MaxLength=1\nA string `json:\"a,omitempty\"`",
                   "// +kubebuilder:validation:MaxLength=2\nA string `json:\"a,omitempty\"`"),
              HasSubstr(kWarning));
  EXPECT_THAT(text("A string `json:\"a,omitempty\"`", "// +kubebuilder:default=x\nA string `json:\"a,omitempty\"`"), HasSubstr(kWarning));
  EXPECT_EQ(text("A *string `json:\"a,omitempty\"`", "A string `json:\"a,omitempty\"`"), "");
}

TEST(GoTypesTest, StructsThatInlineThemselvesEnd) {
  EXPECT_THAT(From(Fields("A string `json:\"a\"`\n*S `json:\",inline\"`"), "struct S {"), HasSubstr("  S s{};\n"));
  const std::string rest = "type X struct { A string `json:\"a\"`\n*Y `json:\",inline\"` }\ntype Y struct { *X `json:\",inline\"` }";
  EXPECT_THAT(From(Fields("A string `json:\"a\"`\nX `json:\",inline\"`", rest), "struct S {"), HasSubstr("  X x{};\n"));
}

TEST(GoTypesTest, LargeRequiredStructsAreBoxed) {
  std::string large = "type Large struct {\n";
  for (int i = 0; i < 43; ++i) large += "F" + std::to_string(i) + " string `json:\"f" + std::to_string(i) + "\"`\n";
  const GoRun run = Fields("L Large `json:\"l\"`\nM Medium `json:\"m\"`\nN Outer `json:\"n\"`\nI Node `json:\"i\"`",
                           large +
                               "}\ntype Medium struct { A string `json:\"a\"` }\n"
                               "type Outer struct { Large `json:\",inline\"` }\ntype Node struct { Next *Node `json:\"next\"` }");
  EXPECT_THAT(run.headers[0], HasSubstr("  kube::Box<Large> l{};\n  // +required\n  Medium m{};\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("  kube::Box<Outer> n{};\n  // +required\n  Node i{};\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("  // +kube:inline\n  Large large{};\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("  kube::Box<Node> next{};\n"));
}

constexpr std::string_view kKind = R"(// Package v1 has one kind.
// +groupName=shop.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=wd

// Widget is one.
type Widget struct {
 metav1.TypeMeta   `json:",inline"`
 metav1.ObjectMeta `json:"metadata,omitempty"`
 // Spec of it.
 Spec WidgetSpec `json:"spec,omitempty"`
 Status *WidgetStatus `json:"status,omitempty"`
}
// +kubebuilder:object:root=true
type WidgetList struct {
 metav1.TypeMeta `json:",inline"`
 metav1.ListMeta `json:"metadata,omitempty"`
 Items []Widget `json:"items"`
}
type WidgetSpec struct { Size int32 `json:"size"` }
type WidgetStatus struct { Ready bool `json:"ready,omitempty"` }
type Unused struct { F func() }
)";

TEST(GoTypesTest, Kinds) {
  const GoRun run = Convert({{"example.com/api/v1", std::string(kKind)}});
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.model.files[0].path, "shop/v1/types.h");
  EXPECT_TRUE(
      run.headers[0].starts_with("// +groupName=shop.example.com\n// +versionName=v1\n"
                                 "// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\n#pragma once\n"))
      << run.headers[0];
  EXPECT_EQ(run.headers[0].substr(run.headers[0].find("namespace")), R"(namespace shop::v1 {

struct WidgetSpec {
  // +required
  std::int32_t size{};

  KUBE_TABLE(WidgetSpec);
};

struct WidgetStatus {
  bool ready{};

  KUBE_TABLE(WidgetStatus);
};

// Widget is one.
// +kubebuilder:resource:shortName=wd
struct Widget {
  kube::meta::v1::ObjectMeta metadata{};
  // Spec of it.
  WidgetSpec spec{};
  WidgetStatus status{};

  KUBE_TABLE(Widget);
};

}  // namespace shop::v1
)");
}

TEST(GoTypesTest, HeadersReadBackAsTheSameTypes) {
  const GoRun run = Convert({{"example.com/api/v1", std::string(kKind)}});
  const TestRun again = RunHeaders({{run.model.files[0].path, run.headers[0]}});
  EXPECT_EQ(again.text(), "");
  ASSERT_EQ(again.crds.size(), 1U);
  EXPECT_EQ(again.crds[0].file_name, "shop.example.com_widgets.yaml");
}

// The kind of kKind in another group, with these markers.
GoRun KindOf(const std::string& group, const std::string& markers) {
  std::string text(kKind);
  text.replace(text.find("shop.example.com"), std::string("shop.example.com").size(), group);
  text.insert(text.find("// +kubebuilder:resource"), markers);
  return Convert({{"example.com/api/v1", text}});
}

TEST(GoTypesTest, ProtectedGroupsAreMarkedAsUnapproved) {
  constexpr std::string_view kMarker = "// +kubebuilder:metadata:annotations=\"api-approved.kubernetes.io=unapproved\"\n";
  const GoRun run = KindOf("shop.k8s.io", "");
  EXPECT_EQ(run.text(),
            "x.go:12:6: warning: kind Widget: group shop.k8s.io belongs to the Kubernetes project; its header says "
            "api-approved.kubernetes.io=unapproved, which has to be the URL of the approval if there is one\n");
  EXPECT_THAT(run.headers[0], HasSubstr(std::string(kMarker) + "struct Widget {\n"));
  // A server takes it.
  const TestRun again = RunHeaders({{run.model.files[0].path, run.headers[0]}});
  EXPECT_EQ(again.text(), "");
  ASSERT_EQ(again.crds.size(), 1U);
  EXPECT_EQ(again.crds[0].object["metadata"]["annotations"]["api-approved.kubernetes.io"], Value("unapproved"));

  for (const GoRun& other :
       {KindOf("shop.example.com", ""), KindOf("notk8s.io", ""),
        KindOf("shop.k8s.io", "// +kubebuilder:metadata:annotations=\"api-approved.kubernetes.io=https://example.com/1\"\n")}) {
    EXPECT_EQ(other.text(), "");
    EXPECT_THAT(other.headers[0], Not(HasSubstr(kMarker)));
  }
}

TEST(GoTypesTest, OneVersionIsApprovedForAll) {
  Model model;
  Problems problems;
  GoPackages packages({.imports = {}, .run_go = false}, problems);
  const auto add = [&](const std::string& version, const std::string& markers) {
    const std::string text = "// +groupName=shop.k8s.io\npackage " + version +
                             "\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n" + markers +
                             "type Widget struct {\n metav1.TypeMeta `json:\",inline\"`\n metav1.ObjectMeta `json:\"metadata\"`\n}\n";
    return packages.Add("example.com/api/" + version, {{version + ".go", text}});
  };
  const GoPackage* v1 = add("v1", "");
  const GoPackage* v2 = add("v2", "// +kubebuilder:metadata:annotations=\"api-approved.kubernetes.io=https://example.com/1\"\n");
  const GoPackage* v3 = add("v3", "");
  ReadGoTypes({v1, v2, v3}, packages, model, problems);
  EXPECT_EQ(problems.ToString(), "");
  Model without;
  ReadGoTypes({v1, v3}, packages, without, problems);
  EXPECT_THAT(problems.ToString(), AllOf(HasSubstr("v1.go:4:6: warning: kind Widget: group shop.k8s.io"), Not(HasSubstr("v3.go"))));
  for (const Struct& s : without.structs) EXPECT_NE(s.Find("kubebuilder:metadata"), nullptr) << s.qualified;
}

TEST(GoTypesTest, DescriptionsAreThoseOfControllerGen) {
  const GoRun run = Fields(
      "// Text of A.\n//\n// TODO: not said\nA string `json:\"a,omitempty\"`\n\n// One.\n//\n// TODO: x\n//\n// Two.\nB string "
      "`json:\"b,omitempty\"`");
  EXPECT_THAT(run.headers[0], HasSubstr("  // Text of A.\n  //\n  // ---\n  kube::String a{};\n  // One.\n  //\n  //\n  // Two.\n"));
  const TestRun again = RunHeaders({{"x.h", run.headers[0]}});
  ASSERT_EQ(again.model.structs.size(), 1U);
  EXPECT_EQ(again.model.structs[0].fields[0].description, "Text of A.\n");
  EXPECT_EQ(again.model.structs[0].fields[1].description, "One.\n\n\nTwo.");
}

TEST(GoTypesTest, ImportedPackages) {
  const std::string user = R"(// +groupName=a.example.com
package v1
import (
 metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
 "example.com/go-shared/v2"
 same "example.com/other/v1"
 . "example.com/dotted"
)
type A struct {
 metav1.TypeMeta `json:",inline"`
 metav1.ObjectMeta `json:"metadata,omitempty"`
 S shared.Ref `json:"s,omitempty"`
 O same.Kind `json:"o,omitempty"`
 D Dot `json:"d,omitempty"`
}
)";
  const GoRun run =
      Convert({{"example.com/a/v1", user},
               {"example.com/go-shared/v2",
                "package shared\n// Ref names one.\ntype Ref struct { Name string `json:\"name\"` }\ntype Other struct { F func() }\n"},
               {"example.com/other/v1",
                "// +groupName=b.example.com\npackage v1\nimport metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n"
                "type Kind struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\tmetav1.ObjectMeta `json:\"metadata,omitempty\"`\n}\n"},
               {"example.com/dotted", "package dotted\ntype Dot string\n"}});
  EXPECT_EQ(run.text(), "");
  ASSERT_EQ(run.headers.size(), 4U);
  EXPECT_THAT(run.headers[0], HasSubstr("#include \"../../b/v1/types.h\"\n"));
  EXPECT_THAT(run.headers[0], HasSubstr("  kube::Box<b::v1::Kind> o{};\n"));
  EXPECT_EQ(run.model.files[1].path, "go_shared/shared/types.h");
  EXPECT_THAT(run.headers[1], HasSubstr("// +kubebuilder:skip\n"));
  EXPECT_THAT(run.headers[1], Not(HasSubstr("Other")));
  EXPECT_THAT(run.headers[2],
              HasSubstr("  kube::String api_version{};\n  kube::String kind{};\n  kube::meta::v1::ObjectMeta metadata{};\n"));
}

// As in controller-gen: one of the own package is just another name.
TEST(GoTypesTest, AliasesOfOtherPackagesKeepTheirText) {
  const GoRun run = Convert({{"example.com/api/v1", R"(package v1
import "example.com/lib"
// Here is not seen.
type Here = S
type S struct {
 // +optional
 A []lib.Condition `json:"a,omitempty"`
 // +optional
 B *lib.Text `json:"b,omitempty"`
 // +optional
 C Here2 `json:"c,omitempty"`
}
// Here2 is not seen.
// +kubebuilder:validation:MinLength=1
type Here2 = Plain
// Plain is a text.
type Plain string
)"},
                             {"example.com/lib", R"(package lib
import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
// Condition is another name.
type Condition = metav1.Condition
// Text is another name.
// +kubebuilder:validation:MaxLength=5
type Text = Inner
type Inner string
)"}});
  EXPECT_EQ(run.text(), "");
  ASSERT_EQ(run.headers.size(), 2U);
  EXPECT_THAT(run.headers[0],
              AllOf(HasSubstr("kube::List<example::lib::Condition> a{};\n"), HasSubstr("std::optional<example::lib::Text> b{};\n"),
                    HasSubstr("  Plain c{};\n"), Not(HasSubstr("not seen"))));
  EXPECT_THAT(run.headers[1], AllOf(HasSubstr("// Condition is another name.\nusing Condition = kube::meta::v1::Condition;\n"),
                                    HasSubstr("// Text is another name.\n// +kubebuilder:validation:MaxLength=5\nusing Text = Inner;\n")));
}

TEST(GoTypesTest, UnstructuredObjectsArePrunedUnlessAMarkerKeepsThem) {
  const auto header = [](const std::string& marker) {
    const GoRun run =
        Convert({{"example.com/api/v1", "package v1\nimport \"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured\"\ntype S struct {\n" +
                                            marker + " A *unstructured.Unstructured `json:\"a,omitempty\"`\n}\n"}});
    EXPECT_EQ(run.text(), "");
    return run.headers[0];
  };
  EXPECT_THAT(header(""), HasSubstr("  // +kubebuilder:validation:Type=object\n"
                                    "  // +kube:schema={\"x-kubernetes-preserve-unknown-fields\":null}\n  kube::RawJson a{};\n"));
  EXPECT_THAT(
      header("// +kubebuilder:pruning:PreserveUnknownFields\n"),
      HasSubstr("  // +kubebuilder:validation:Type=object\n  // +kubebuilder:pruning:PreserveUnknownFields\n  kube::RawJson a{};\n"));
}

TEST(GoTypesTest, WhatHasNoFormInCppIsAnErrorWithARemedy) {
  EXPECT_EQ(Member("A interface{} `json:\"a\"`"), "x.go:11:3: interface has no schema; write apiextensionsv1.JSON for any JSON value\n");
  EXPECT_EQ(Member("A any `json:\"a\"`"), "x.go:11:3: any has no schema; write apiextensionsv1.JSON for any JSON value\n");
  EXPECT_EQ(Member("A func() `json:\"a\"`"),
            "x.go:11:3: function has no schema; write a type that JSON has, or `json:\"-\"` to leave the field out\n");
  EXPECT_EQ(Member("A struct{ B string } `json:\"a\"`"), "x.go:11:3: struct without a name; declare it as a type of its own\n");
  EXPECT_EQ(Member("A map[int]string `json:\"a\"`"), "x.go:11:3: map whose keys are no strings; write map[string]...\n");
  EXPECT_EQ(Member("A Missing `json:\"a\"`"), "x.go:11:3: unknown type Missing\n");
  EXPECT_EQ(Member("A other.Missing `json:\"a\"`"), "x.go:11:3: other.Missing: this file imports no package other\n");
  EXPECT_EQ(Member("A time.Time `json:\"a\"`"), "x.go:11:3: time.Time has no schema; write metav1.Time\n");
  EXPECT_EQ(Member("A Pair[int] `json:\"a\"`", "type Pair[T any] struct { A T `json:\"a\"` }\n"),
            "x.go:11:3: generic type Pair has no schema; write a type that JSON has, or `json:\"-\"` to leave the field out\n");
  EXPECT_EQ(Member("A string `json:\"a\"`\nB string `json:\"a\"`"), "x.go:12:1: JSON name a stands twice in S\n");
  EXPECT_EQ(Member("A string"),
            "x.go:11:1: field A of S has no JSON name; write `json:\"name,omitempty\"` behind it, or `json:\"-\"` to leave it out\n");
  EXPECT_EQ(
      Member("A int `json:\"a,string\"`"),
      "x.go:11:1: field A of S is a number that JSON has as a string; write a type for it with `// +kubebuilder:validation:Type=string`\n");
  EXPECT_EQ(Member("Text `json:\",inline\"`", "type Text string\n"),
            "x.go:11:1: inlined field of S that is no struct; give it a JSON name\n");
  EXPECT_EQ(Member("A Loop `json:\"a\"`", "type Loop []Loop\n"),
            "x.go:13:6: type Loop contains itself; write a struct, or apiextensionsv1.JSON for what it contains\n");
  EXPECT_EQ(Member("A Loop `json:\"a\"`", "type Loop = Pool\ntype Pool = Loop\n"),
            "x.go:14:6: type Pool names itself, or more than 64 others\n");
  EXPECT_EQ(Member("A Loop `json:\"a\"`", "type Loop Pool\ntype Pool Loop\n"),
            "x.go:13:6: type Loop contains itself; write a struct, or apiextensionsv1.JSON for what it contains\n");
  EXPECT_EQ(Member("// +kubebuilder:validation:MaxLength=x\nA string `json:\"a,omitempty\"`"),
            "x.go:11:1: marker +kubebuilder:validation:MaxLength: expected an integer\n");
}

TEST(GoTypesTest, SchemalessFieldsMayHaveAnyType) {
  EXPECT_EQ(Member("// +kubebuilder:validation:Schemaless\nA interface{} `json:\"a,omitempty\"`"),
            "// +kubebuilder:validation:Schemaless\nkube::RawJson a{};\n");
}

TEST(GoTypesTest, MarkersThatMeanNothingAreWarnings) {
  const GoRun run = Fields(
      "// +kubebuilder:validation:MaxLenght=5\n// +kubebuilder:resource:path=x\n// +k8s:openapi-gen=true\n// +mytool:x\nA string "
      "`json:\"a,omitempty\"`");
  EXPECT_EQ(run.text(),
            "x.go:11:1: warning: unknown marker +kubebuilder:validation:MaxLenght; did you mean +kubebuilder:validation:MaxLength?\n"
            "x.go:12:1: warning: marker +kubebuilder:resource:path has no effect here, and is left out\n");
}

TEST(GoTypesTest, PackagesOfFolders) {
  kube::internal::TestFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((fs::path(folder.path()) / name).parent_path());
    std::ofstream(fs::path(folder.path()) / name) << text;
  };
  write("go.mod", "// the module\nmodule \"example.com/api\"\n\ngo 1.24\n");
  write("v1/types.go",
        "package v1\nimport (\n\t\"example.com/api/shared\"\n\t\"example.org/far\"\n\t\"example.org/vendored\"\n)\n"
        "type S struct {\n\tA shared.A `json:\"a\"`\n\tB far.B `json:\"b\"`\n\tC vendored.C `json:\"c\"`\n}\n");
  write("v1/types_test.go", "package v1_test\n");
  write("v1/types_windows.go", "package v1\ntype S struct{}\n");
  write("v1/main.go", "//go:build ignore\n\npackage main\n");
  write("shared/a.go", "package shared\ntype A string\n");
  write("vendor/example.org/vendored/c.go", "package vendored\ntype C string\n");
  write("elsewhere/b.go", "package far\ntype B string\n");
  fs::create_symlink("nowhere.go", fs::path(folder.path()) / "v1/dangling.go");
  fs::create_directory_symlink(".", fs::path(folder.path()) / "v1/loop.go");
  for (const bool imported : {true, false}) {
    Model model;
    Problems problems;
    GoPackageOptions options{.imports = {}, .run_go = false};
    if (imported) options.imports = {{"example.org/far", (fs::path(folder.path()) / "elsewhere").string()}};
    GoPackages packages(options, problems);
    const std::string v1 = (fs::path(folder.path()) / "v1").string();
    ReadGoTypes({packages.Read(v1)}, packages, model, problems);
    EXPECT_EQ(problems.ToString(),
              imported ? ""
                       : v1 + "/types.go:4:2: package \"example.org/far\" is not found, and Go is not there to look for it; "
                              "pass --import example.org/far=DIR with the folder of its sources\n");
    EXPECT_EQ(model.aliases.size(), imported ? 3U : 2U);
  }
  Problems problems;
  GoPackages packages({.imports = {{"example.org", "/nonexistent"}}, .run_go = false}, problems);
  EXPECT_EQ(packages.Read((fs::path(folder.path()) / "missing").string()), nullptr);
  EXPECT_EQ(packages.Read(folder.path()), nullptr);
  write("two/a.go", "package a\n");
  write("two/b.go", "package b\n");
  EXPECT_NE(packages.Read((fs::path(folder.path()) / "two").string()), nullptr);
  EXPECT_THAT(problems.ToString(), HasSubstr("missing: No such file or directory\n"));
  EXPECT_THAT(problems.ToString(), HasSubstr(": no Go files\n"));
  EXPECT_THAT(problems.ToString(), HasSubstr("/two/b.go:1:9: package b in the folder of package a; keep one package in a folder\n"));
}

}  // namespace
}  // namespace kube::generate
