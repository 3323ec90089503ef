// One Go file, as far as types of an API need it: imports, type declarations, string constants, and which types have methods of their own.
//
//   GoFile file = ParseGo("api/v1/types.go", text, problems);
//
// Comments and markers are attached as controller-gen attaches them: markers of a declaration stand in its doc comment or in the closest
// comment group above that; others above declarations belong to the package. Bodies of functions and values of variables are skipped.
//
// Cost: linear in the text. What cannot be read is reported and skipped; types nest kMostGoDepth deep at most.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generate/go_tokens.h"
#include "generate/problems.h"

namespace kube::generate {

inline constexpr int kMostGoDepth = 64;

enum class GoForm : std::uint8_t {
  kName,     // string, Phase, metav1.Time
  kPointer,  // *element
  kSlice,    // []element
  kArray,    // [N]element
  kMap,      // map[key]element
  kStruct,   // struct { fields }
  kOther,    // what JSON has no schema for: `name` says what it is, such as "interface"
};

struct GoMarker {
  std::string text;  // "+optional"
  bool doc = false;  // it stands in the doc comment
  Position at;
};

struct GoField;

struct GoType {
  GoForm form = GoForm::kOther;
  std::string package, name;
  std::shared_ptr<const GoType> element, key;
  std::shared_ptr<const std::vector<GoField>> members;  // of a struct
  Position at;

  const std::vector<GoField>& fields() const;
};

struct GoField {
  std::string name;  // empty: embedded
  GoType type;
  std::string tag;  // unquoted: json:"name,omitempty"
  std::string doc;
  std::vector<GoMarker> markers;
  Position at;
};

inline const std::vector<GoField>& GoType::fields() const {
  static const std::vector<GoField> kNone;
  return members != nullptr ? *members : kNone;
}

struct GoTypeDecl {
  std::string name;
  bool alias = false;    // type A = B
  bool generic = false;  // type A[T any] ...
  GoType type;
  std::string doc;
  std::vector<GoMarker> markers;
  Position at;
};

// `const Pending Phase = "Pending"`. The expression's tokens are kept, since it may name constants of other files; none of a long one.
struct GoConst {
  std::string name, type;
  std::vector<GoToken> expression;  // refers to GoFile::text
};

struct GoImport {
  std::string name;  // empty: that of the package; "." and "_" as written
  std::string path;
  Position at;
};

struct GoMethod {
  std::string type, name;
};

struct GoFile {
  std::shared_ptr<const std::string> text;
  std::string package;
  Position package_at;
  std::vector<GoImport> imports;
  std::vector<GoTypeDecl> types;
  std::vector<GoConst> consts;
  std::vector<GoMethod> methods;  // without parameters
  std::vector<GoMarker> markers;  // of the package
};

GoFile ParseGo(const std::string& path, std::string text, Problems& problems);

// Whether the build constraints of a file, `//go:build ...` or `// +build ...`, hold on Linux.
bool GoFileIsBuilt(std::string_view name, std::string_view text);

// What the comments say as controller-gen reads them: the text without markers, directives and TODO lines, up to a line of ---.
std::string GoDescription(const GoCommentGroup& group);

// The value of a key in a struct tag: GoTagValue(`json:"a" yaml:"b"`, "json") is "a". False if the key is not there.
bool GoTagValue(std::string_view tag, std::string_view key, std::string& out);

}  // namespace kube::generate
