// Structs and their members.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "generate/header_parser.h"

namespace kube::generate {
namespace {

// KUBE_EXPORT, MYLIB_API: what stands between `struct` and its name.
bool IsMacroName(std::string_view name) {
  return name.size() > 1 &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

std::string_view LastPart(std::string_view name) {
  const std::size_t colon = name.rfind("::");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

}  // namespace

void HeaderParser::StructDeclaration() {
  const std::size_t first = at_;
  Advance();
  SkipAttributes();
  if (AtName() && IsMacroName(Here().text) && Here(1).kind == TokenKind::kName) Advance();
  if (!AtName()) {
    AttachToFile(first);
    Error(Here(), "struct without a name; write `struct Name {`");
    return SkipDeclaration();
  }
  Struct s{.name = std::string(Here().text), .scope = Scope(), .at = stream_.At(Here()), .file = file_};
  const Token name = Here();
  s.qualified = (s.scope.empty() ? "" : s.scope + "::") + s.name;
  Advance();
  if (At(";")) {  // a forward declaration
    AttachToFile(first);
    return Advance();
  }
  if (At("::") || At("<")) {
    AttachToFile(first);
    Error(name, fmt::format("struct {} with a qualified name; declare it inside of its namespace", s.name));
    return SkipDeclaration();
  }
  Skip("final");
  if (At(":")) {
    AttachToFile(first);
    Error(Here(), fmt::format("struct {} with a base; write a member of the base's type with `// +kube:inline` above it", s.name));
    return SkipDeclaration();
  }
  if (!At("{")) {
    AttachToFile(first);
    Error(Here(), fmt::format("struct {} that is not understood; write `struct {} {{`", s.name, s.name));
    return SkipDeclaration();
  }
  Advance();
  StructBody(s);
  CheckRole(s, first);
  model_.structs.push_back(std::move(s));
}

// ObjectMeta makes a kind, ListMeta the list of one. Which markers the struct may have depends on it.
void HeaderParser::CheckRole(Struct& s, std::size_t first) {
  for (const Field& field : s.fields) {
    if (field.json != "metadata" || field.type.element != nullptr) continue;
    if (LastPart(field.type.name) == "ObjectMeta") s.role = StructRole::kKind;
    if (LastPart(field.type.name) == "ListMeta") s.role = StructRole::kKindList;
  }
  Attach(first, s.role == StructRole::kKind ? kOnKind : kOnStruct, false, s.markers, s.description);
  CheckRepetition(s.markers, problems_);
}

void HeaderParser::StructBody(Struct& s) {
  bool table = false;
  const std::size_t errors = problems_.error_count();
  while (Here().kind != TokenKind::kEnd && !At("}")) {
    const std::size_t before = at_;
    if (At("KUBE_TABLE")) {
      Table(s, table);
    } else if (table) {
      Error(Here(), fmt::format("member behind KUBE_TABLE({}); write KUBE_TABLE as the last line of the struct", s.name));
      SkipDeclaration();
    } else {
      Member(s);
    }
    if (at_ == before) Advance();
  }
  if (Here().kind == TokenKind::kEnd) {
    problems_.Error(s.at, fmt::format("struct {} without an end; write }}; behind it", s.name));
    return;
  }
  RefuseMarkers(at_);
  Advance();
  if (!Skip(";")) {
    problems_.Error(stream_.At(Here()), fmt::format("struct {} without a semicolon; write }}; at its end", s.name));
    SkipDeclaration();
  }
  if (!table && problems_.error_count() == errors) {
    problems_.Error(s.at, fmt::format("struct {} has no KUBE_TABLE; write KUBE_TABLE({}); as its last line", s.name, s.name));
  }
}

void HeaderParser::Table(Struct& s, bool& seen) {
  const Token token = Here();
  RefuseMarkers(at_);
  Advance();
  if (!At("(") || Here(1).text != s.name || !Here(2).Is(")")) {
    Error(token, fmt::format("KUBE_TABLE of another struct; write KUBE_TABLE({});", s.name));
    seen = true;
    return SkipDeclaration();
  }
  if (seen) Error(token, fmt::format("KUBE_TABLE({}) stands twice; leave one out", s.name));
  seen = true;
  Advance();
  Advance();
  Advance();
  if (!Skip(";")) Error(Here(), fmt::format("KUBE_TABLE without a semicolon; write KUBE_TABLE({});", s.name));
}

// What cannot be a member of the subset, by its first tokens. True: it was reported and skipped.
bool HeaderParser::MemberIsWrong(const Struct& s) {
  const Token token = Here();
  auto wrong = [&](std::string text) {
    Error(token, std::move(text));
    CommentsBefore(at_);
    SkipDeclaration();
    return true;
  };
  if (token.kind == TokenKind::kDirective) {
    Error(token, "preprocessor line inside of a struct; members cannot depend on it: declare them unconditionally");
    CommentsBefore(at_);
    Advance();
    return true;
  }
  if (At("private") || At("protected")) {
    Error(token, fmt::format("{} section; the members of a struct with a table are public", token.text));
    Advance();
    Skip(":");
    return true;
  }
  if (At("struct") || At("class") || At("union") || At("enum")) {
    return wrong(At("union") ? "union; write optional members and `// +kubebuilder:validation:ExactlyOneOf=...` above the struct"
                             : fmt::format("{} inside of {}; declare it in the namespace, before {}", token.text, s.name, s.name));
  }
  if (At("template")) return wrong("template member; move it out of the struct");
  if (At("friend") || At("operator") || At("virtual") || At("explicit") || At("~") || At("typedef")) {
    return wrong(fmt::format("{}; a struct with a table has members and KUBE_TABLE only: write functions outside of it", token.text));
  }
  if (At("mutable") || At("volatile") || At("const") || At("thread_local") || At("register")) {
    return wrong(fmt::format("{} member; leave {} out", token.text, token.text));
  }
  if (token.kind == TokenKind::kName && Here(1).Is("(")) {
    return wrong(token.text == s.name ? fmt::format("constructor of {}; a struct with a table is an aggregate: leave it out", s.name)
                                      : fmt::format("macro or function {}; members are written out, `Type name{{}};`", token.text));
  }
  return false;
}

void HeaderParser::Member(Struct& s) {
  if (At(";")) return Advance();
  if (At("public") && Here(1).Is(":")) {
    Advance();
    return Advance();
  }
  if (At("using")) return StructAlias(s);
  if (At("static") || At("constexpr") || At("inline")) {
    const Token token = Here();
    const bool constant = AtConstant();
    CommentsBefore(at_);
    if (!constant) {
      Error(token, fmt::format("{} member; only static constexpr ones may stand in a struct with a table", token.text));
      return SkipDeclaration();
    }
    while (Here().kind != TokenKind::kEnd && !At(";") && !At("}")) {
      if (At("(") && !At("{")) {
        // constexpr bool f() is also a function; a value in parentheses comes behind `=`.
        Error(token, "static member function; write functions outside of the struct");
        return SkipDeclaration();
      }
      if (At("=") || At("{")) return SkipDeclaration();
      Advance();
    }
    Skip(";");
    return;
  }
  const std::size_t first = at_;
  SkipAttributes();
  if (MemberIsWrong(s)) return;
  Field field;
  if (!ReadType(field.type)) {
    CommentsBefore(first);
    return SkipDeclaration();
  }
  const Token name = Here();
  auto wrong = [&](const Token& token, std::string text) {
    Error(token, std::move(text));
    CommentsBefore(first);
    SkipDeclaration();
  };
  if (!AtName()) return wrong(name, "member that is not understood; write `Type name{};`");
  if (At("operator")) return wrong(name, "operator; a struct with a table has members and KUBE_TABLE only: write functions outside of it");
  field.name = name.text;
  field.at = stream_.At(name);
  Advance();
  SkipAttributes();
  if (At("(")) return wrong(name, fmt::format("member function {}; write functions outside of the struct", field.name));
  if (At(":")) return wrong(Here(), fmt::format("bit-field {}; leave out its width", field.name));
  if (At("[")) return wrong(Here(), fmt::format("array {}; write kube::List<{}> {}{{}};", field.name, field.type.name, field.name));
  if (At(",")) return wrong(Here(), "several members in one declaration; write each on a line of its own");
  if (!Initialiser(name)) {
    CommentsBefore(first);
    return SkipDeclaration();
  }
  AddField(s, std::move(field), first);
}

// `{}`, `= 0` and their like: members begin as zero, since the server sets defaults and decoders start from zeroed memory.
bool HeaderParser::Initialiser(const Token& name) {
  const Token start = Here();
  std::string value;
  if (Skip("{")) {
    while (Here().kind != TokenKind::kEnd && !At("}") && !At(";")) {
      value += Here().text;
      Advance();
    }
    Skip("}");
  } else if (Skip("=")) {
    while (Here().kind != TokenKind::kEnd && !At(";") && !At(",") && !At("}")) {
      value += Here().text;
      Advance();
      if (value == "{" && At("}")) {
        Advance();
        value.clear();
        break;
      }
    }
  } else if (!At(";")) {
    Error(start, fmt::format("member {} that is not understood; write `Type {}{{}};`", name.text, name.text));
    return false;
  }
  if (At(",")) {
    Error(Here(), "several members in one declaration; write each on a line of its own");
    return false;
  }
  static constexpr auto kZero = std::to_array<std::string_view>({"", "0", "false", "\"\"", "0.0", "0LL", "0L", "std::nullopt", "nullptr"});
  if (std::find(kZero.begin(), kZero.end(), value) == kZero.end()) {
    Error(start, fmt::format("initialiser {} of member {}; write {{}} and `// +kubebuilder:default={}` above it: the server sets defaults",
                             value, name.text, value));
    return false;
  }
  if (!Skip(";")) {
    Error(Here(), fmt::format("member {} without a semicolon", name.text));
    return false;
  }
  return true;
}

void HeaderParser::AddField(Struct& s, Field field, std::size_t first) {
  Attach(first, kOnField, true, field.markers, field.description);
  CheckRepetition(field.markers, problems_);
  field.inlined = field.Find("kube:inline") != nullptr;
  const Marker* json = field.Find("kube:json");
  field.json = json != nullptr ? json->value.string_value().str() : LowerCamel(field.name);
  if (json != nullptr && field.json.empty()) problems_.Error(json->at, "marker +kube:json: the name is empty");
  if (json != nullptr && field.json.find('\0') != std::string::npos)
    problems_.Error(json->at, "marker +kube:json: the name has a zero byte");
  if (field.inlined) field.json.clear();
  s.fields.push_back(std::move(field));
}

void HeaderParser::StructAlias(Struct& s) {
  const std::size_t first = at_;
  Advance();
  Alias alias{.name = std::string(Here().text), .scope = s.qualified, .at = stream_.At(Here()), .file = file_};
  alias.qualified = s.qualified + "::" + alias.name;
  if (!AtName() || !Here(1).Is("=")) {
    Error(Here(), "alias that is not understood; write `using Name = Type;`");
    CommentsBefore(first);
    return SkipDeclaration();
  }
  Advance();
  Advance();
  if (!ReadType(alias.type)) {
    CommentsBefore(first);
    return SkipDeclaration();
  }
  if (!Skip(";")) {
    Error(Here(), "alias that is not understood; write `using Name = Type;`");
    CommentsBefore(first);
    return SkipDeclaration();
  }
  Attach(first, kOnAlias, true, alias.markers, alias.description);
  model_.aliases.push_back(std::move(alias));
}

}  // namespace kube::generate
