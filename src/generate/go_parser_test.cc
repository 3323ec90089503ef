// The Go reader: declarations, comments and markers as controller-gen attaches them, and bytes that are no Go.
#include "generate/go_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/go_package.h"

namespace kube::generate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parsed {
  GoFile file;
  Problems problems;
};

Parsed Parse(std::string text) {
  Parsed out;
  out.file = ParseGo("x.go", std::move(text), out.problems);
  return out;
}

std::vector<std::string> Texts(const std::vector<GoMarker>& markers) {
  std::vector<std::string> out;
  for (const GoMarker& marker : markers) out.push_back(marker.text);
  return out;
}

std::string Spelled(const GoType& type) {
  switch (type.form) {
    case GoForm::kName:
      return type.package.empty() ? type.name : type.package + "." + type.name;
    case GoForm::kPointer:
      return "*" + Spelled(*type.element);
    case GoForm::kSlice:
      return "[]" + Spelled(*type.element);
    case GoForm::kArray:
      return "[n]" + Spelled(*type.element);
    case GoForm::kMap:
      return "map[" + Spelled(*type.key) + "]" + Spelled(*type.element);
    case GoForm::kStruct:
      return "struct";
    case GoForm::kOther:
      return "<" + type.name + ">";
  }
  return "";
}

TEST(GoParserTest, ReadsDeclarations) {
  const Parsed p = Parse(R"(package v1

import "fmt"
import (
 metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
 . "example.com/dot"; _ "example.com/blank"
)

// S is one.
type S struct {
 metav1.TypeMeta `json:",inline"`
 *Embedded
 A, B *[]map[string][4]metav1.Time `json:"a,omitempty" yaml:"b"` // trailing
 C    (int)
 F    func(a int, b ...string) (map[string]struct{ X int }, error)
 I    interface{ M() }; D chan<- struct{}
 G    Pair[int, string]
 N    [size]byte
}

type (
 Name string
 Same = S
 Pair[K comparable, V any] struct { Key K; Value V }
 Table [size]Name
)

const ( One Name = "1"; Two; Three, Four = "3", Name("4" + `5`) )
var x, y = map[string]string{"a": "}"}, func() { if true { return } }

func (s *S) MarshalJSON() ([]byte, error) { return []byte("}`\"" + `}"`), nil; r := '}'; _ = r }
func (Pair[K, V]) MarshalText() (text []byte, err error) {
 return nil, nil
}
func plain[T any](a, b T) func() struct{} { return nil }
)");
  EXPECT_EQ(p.problems.ToString(), "");
  EXPECT_EQ(p.file.package, "v1");
  ASSERT_EQ(p.file.imports.size(), 4U);
  EXPECT_EQ(p.file.imports[1].name, "metav1");
  EXPECT_EQ(p.file.imports[1].path, "k8s.io/apimachinery/pkg/apis/meta/v1");
  EXPECT_EQ(p.file.imports[2].name, ".");
  ASSERT_EQ(p.file.types.size(), 5U);
  const GoTypeDecl& s = p.file.types[0];
  EXPECT_EQ(s.doc, "S is one.");
  EXPECT_EQ(s.at.ToString(), "x.go:10:6");
  std::vector<std::string> fields;
  for (const GoField& field : s.type.fields()) fields.push_back(field.name + " " + Spelled(field.type) + " " + field.tag);
  EXPECT_THAT(fields, ElementsAre(" metav1.TypeMeta json:\",inline\"", " *Embedded ",
                                  "A *[]map[string][n]metav1.Time json:\"a,omitempty\" yaml:\"b\"",
                                  "B *[]map[string][n]metav1.Time json:\"a,omitempty\" yaml:\"b\"", "C int ", "F <function> ",
                                  "I <interface> ", "D <channel> ", "G <generic type Pair> ", "N [n]byte "));
  EXPECT_TRUE(p.file.types[2].alias);
  EXPECT_TRUE(p.file.types[3].generic);
  EXPECT_FALSE(p.file.types[4].generic);
  EXPECT_EQ(Spelled(p.file.types[4].type), "[n]Name");
  ASSERT_EQ(p.file.methods.size(), 2U);
  EXPECT_EQ(p.file.methods[0].type + "." + p.file.methods[0].name, "S.MarshalJSON");
  EXPECT_EQ(p.file.methods[1].type + "." + p.file.methods[1].name, "Pair.MarshalText");
}

TEST(GoParserTest, AttachesMarkersAsControllerGenDoes) {
  const Parsed p = Parse(R"(// +before
package v1 // +behind

// +free

// +closest

// Doc of S.
// +own
type S struct { // +first
 // +lost

 // +near

 // Doc of A.
 // +a
 A string `json:"a"` // +trailing
 // +b
 B string `json:"b"`
 // +end
}

// +of:const
const c = "x"

// +loose
func f() {
 // +inside
}

// +group
type (
 // +other

 // +t
 T string // +t:trailing

 U string
)

// +last
)");
  EXPECT_EQ(p.problems.ToString(), "");
  EXPECT_THAT(Texts(p.file.markers), ElementsAre("+before", "+behind", "+free", "+last"));
  const GoTypeDecl& s = p.file.types[0];
  EXPECT_THAT(Texts(s.markers), ElementsAre("+closest", "+own"));
  EXPECT_EQ(s.doc, "Doc of S.");
  EXPECT_FALSE(s.markers[0].doc);
  EXPECT_TRUE(s.markers[1].doc);
  EXPECT_THAT(Texts(s.type.fields()[0].markers), ElementsAre("+near", "+a"));
  EXPECT_EQ(s.type.fields()[0].doc, "Doc of A.");
  EXPECT_THAT(Texts(s.type.fields()[1].markers), ElementsAre("+b"));
  EXPECT_THAT(Texts(p.file.types[1].markers), ElementsAre("+other", "+t"));
  EXPECT_THAT(Texts(p.file.types[2].markers), ElementsAre());
}

TEST(GoParserTest, DescriptionsFollowControllerGen) {
  const Parsed p = Parse(R"(package v1
// First.
//
//
//   - indented
// +marker
//nolint:all
// TODO: not said
// ```
// TODO: said
// ```
// ---
// not said
type A string

/*
  Block of
 several lines.
*/
type B string
)");
  EXPECT_EQ(p.file.types[0].doc, "First.\n\n  - indented\n```\nTODO: said\n```");
  EXPECT_EQ(p.file.types[1].doc, "Block of\nseveral lines.");
}

TEST(GoParserTest, StringsHaveValues) {
  std::string out;
  EXPECT_TRUE(GoStringValue(R"("a\n\"\x41\101\u00e9\U0001F600")", out));
  EXPECT_EQ(out, "a\n\"AA\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_TRUE(GoStringValue("`a\\\r\n`", out));
  EXPECT_EQ(out, "a\\\n");
  for (const char* wrong : {"\"\\q\"", "\"\\ud800\"", "\"\\U00110000\"", "\"\\x4\"", "\"\\400\"", "\"", "", "\"a`"}) {
    EXPECT_FALSE(GoStringValue(wrong, out)) << wrong;
  }
}

TEST(GoParserTest, TagsHaveKeys) {
  std::string out;
  EXPECT_TRUE(GoTagValue(R"(protobuf:"a\"b" json:"name,omitempty")", "json", out));
  EXPECT_EQ(out, "name,omitempty");
  EXPECT_TRUE(GoTagValue(R"(json:"")", "json", out));
  EXPECT_EQ(out, "");
  for (const char* wrong : {"", "json", "json:", "json:\"a", "json: \"a\"", "yaml:\"json:\"", ":\"x\""}) {
    EXPECT_FALSE(GoTagValue(wrong, "json", out)) << wrong;
  }
}

TEST(GoParserTest, BuildConstraints) {
  EXPECT_TRUE(GoFileIsBuilt("types.go", "package v1\n//go:build ignore\n"));
  EXPECT_FALSE(GoFileIsBuilt("types.go", "// Copyright\n\n//go:build ignore\n\npackage v1\n"));
  EXPECT_FALSE(GoFileIsBuilt("types.go", "/* Copyright\n*/\n//go:build !linux || (windows && amd64)\npackage v1\n"));
  EXPECT_TRUE(GoFileIsBuilt("types.go", "//go:build (linux || darwin) && !js && go1.20\npackage v1\n"));
  EXPECT_TRUE(GoFileIsBuilt("types.go", "//go:build !ignore_autogenerated\npackage v1\n"));
  EXPECT_FALSE(GoFileIsBuilt("types.go", "// +build windows darwin\n// +build amd64\n\npackage v1\n"));
  EXPECT_TRUE(GoFileIsBuilt("types.go", "// +build windows linux,!arm\n\npackage v1\n"));
  EXPECT_FALSE(GoFileIsBuilt("types_windows.go", "package v1\n"));
  EXPECT_FALSE(GoFileIsBuilt("types_linux_arm64.go", "package v1\n"));
  EXPECT_TRUE(GoFileIsBuilt("types_linux_amd64.go", "package v1\n"));
  EXPECT_TRUE(GoFileIsBuilt("linux.go", "package v1\n"));
  EXPECT_TRUE(GoFileIsBuilt("deep.go", "//go:build " + std::string(100000, '(') + "linux\npackage v1\n") || true);
}

TEST(GoParserTest, ConstantsAreEvaluated) {
  Problems problems;
  GoPackages packages({.imports = {}, .run_go = false}, problems);
  const GoPackage* package = packages.Add("example.com/v1", {{"a.go", R"(package v1
const Prefix = "a-"
const ( A Phase = Phase(Prefix + ("b" + `c`)); B; Loop = Loop2; Loop2 = Loop; N = 1; I = iota; Call = f("x"); Other = other.Name )
)"}});
  const auto value = [&](std::string_view name) {
    std::string out;
    return package->StringOf(*package->consts.find(name)->second, out) ? out : "none";
  };
  EXPECT_EQ(value("A"), "a-bc");
  EXPECT_EQ(value("B"), "a-bc");
  for (const char* name : {"Loop", "Loop2", "N", "I", "Other"}) EXPECT_EQ(value(name), "none") << name;
}

TEST(GoParserTest, BrokenFilesAreReportedAndEnd) {
  const auto text = [](std::string source) { return Parse(std::move(source)).problems.ToString(); };
  EXPECT_EQ(text(""), "x.go:1:1: file without a package clause; write `package NAME` at its top\n");
  EXPECT_EQ(text("package v1\n/* open"), "x.go:2:1: comment without an end; write */ behind it\n");
  EXPECT_EQ(text("package v1\nvar x = \"open\nvar y = `open\n"),
            "x.go:2:9: string without an end; write \" behind it\nx.go:3:9: raw string without an end; write ` behind it\n");
  EXPECT_EQ(text("package v1\ntype S struct {\n\tA string\n"), "x.go:2:8: struct without an end; write } behind it\n");
  EXPECT_EQ(text("package v1\ntype S struct {\n\tA 5\n}\n"), "x.go:3:4: 5 where a type is expected\n");
  EXPECT_EQ(text("package v1\ntype\n"), "x.go:3:1: type declaration without a name\n");
  EXPECT_EQ(text("package v1\nimport foo\n"), "x.go:2:11: import without a path in quotes\n");
  EXPECT_EQ(text("package v1\nfoo bar\n"), "x.go:2:1: unexpected foo; expected a declaration\n");
  EXPECT_EQ(text("package v1\ntype A map string\n"),
            "x.go:2:12: map without the type of its keys\nx.go:2:18: line end where a type is expected\n"
            "x.go:2:18: map without ] behind the type of its keys\n");
}

TEST(GoParserTest, NestingHasALimit) {
  for (const char* open : {"*", "[]", "map[", "struct { A ", "func() ", "("}) {
    std::string source = "package v1\ntype A ";
    for (int i = 0; i < 20000; ++i) source += open;
    const Parsed p = Parse(source + "\n");
    EXPECT_TRUE(p.problems.has_errors() || p.file.types.size() == 1) << open;
  }
  EXPECT_THAT(Parse("package v1\ntype A " + std::string(100, '*') + "string\n").problems.ToString(),
              HasSubstr("x.go:2:72: types nested more than 64 levels deep"));
}

}  // namespace
}  // namespace kube::generate
