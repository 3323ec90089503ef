#include "generate/header_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "generate/comment_text.h"
#include "generate/header_parser.h"

namespace kube::generate {
namespace {

constexpr std::size_t kMostNamespaces = 64;
constexpr std::size_t kMostNamespaceBytes = 256;  // of a::b::c behind one `namespace`

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "include" of `#  include <a.h>`; `rest` becomes "<a.h>".
std::string_view DirectiveName(std::string_view text, std::string_view& rest) {
  text = Trim(text.substr(1));
  std::size_t end = 0;
  while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || text[end] == '_')) ++end;
  rest = Trim(text.substr(end));
  return text.substr(0, end);
}

bool IsVersion(std::string_view text) {
  // v1, v2beta1, v1alpha12
  auto digits = [&] {
    std::size_t n = 0;
    while (n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
    text.remove_prefix(n);
    return n > 0;
  };
  if (!text.starts_with('v')) return false;
  text.remove_prefix(1);
  if (!digits()) return false;
  if (text.empty()) return true;
  if (text.starts_with("alpha"))
    text.remove_prefix(5);
  else if (text.starts_with("beta"))
    text.remove_prefix(4);
  else
    return false;
  return digits() && text.empty();
}

}  // namespace

HeaderParser::HeaderParser(const TokenStream& tokens, std::size_t file, const HeaderOptions& options, Model& model, Problems& problems)
    : stream_(tokens), options_(options), model_(model), problems_(problems), file_(file), taken_(tokens.comments.size()) {
  first_struct_ = model.structs.size();
  first_alias_ = model.aliases.size();
}

// ---- Tokens ----

const Token& HeaderParser::Here(std::size_t ahead) const { return stream_.tokens[std::min(at_ + ahead, stream_.tokens.size() - 1)]; }

void HeaderParser::Advance() {
  if (at_ + 1 < stream_.tokens.size()) ++at_;
}

bool HeaderParser::Skip(std::string_view text) {
  if (!At(text)) return false;
  Advance();
  return true;
}

void HeaderParser::SkipBalanced() {
  int depth = 0;
  while (Here().kind != TokenKind::kEnd) {
    const bool opens = At("(") || At("[") || At("{"), closes = At(")") || At("]") || At("}");
    if (closes && depth == 0) return;
    Advance();
    if (opens) ++depth;
    if (closes && --depth == 0) return;
    if (depth == 0) return;
  }
}

void HeaderParser::SkipDeclaration() {
  while (Here().kind != TokenKind::kEnd && !At("}")) {
    if (At("(") || At("[")) {
      SkipBalanced();
    } else if (At("{")) {
      SkipBalanced();
      // The body of a function ends the declaration; behind an initialiser or the body of a class comes a semicolon.
      if (!At(";") && !At(",") && !At("=")) return;
    } else if (Here().kind == TokenKind::kDirective) {
      return;
    } else {
      const bool end = At(";");
      Advance();
      if (end) return;
    }
  }
}

void HeaderParser::SkipAttributes() {
  while (At("[") && Here(1).Is("[")) SkipBalanced();
}

// ---- Comments ----

HeaderParser::Comments HeaderParser::CommentsBefore(std::size_t index) {
  Comments out;
  const Token& token = stream_.tokens[index];
  const std::size_t begin = index == 0 ? 0 : stream_.tokens[index - 1].comments;
  for (std::size_t i = begin; i < token.comments; ++i) {
    const Comment& comment = stream_.comments[i];
    if (taken_[i]) continue;
    taken_[i] = true;
    if (comment.trailing) {
      if (!MarkerText(comment).empty()) {
        problems_.Error(stream_.At(comment), "marker behind a declaration; write it on a line of its own above it");
      }
      continue;
    }
    if (out.groups.empty() || comment.line > out.groups.back().back()->last_line + 1) out.groups.emplace_back();
    out.groups.back().push_back(&comment);
  }
  out.attached = !out.groups.empty() && token.line <= out.groups.back().back()->last_line + 1;
  return out;
}

void HeaderParser::AddMarker(const Comment& comment, unsigned place, std::vector<Marker>& markers) {
  const std::string_view text = MarkerText(comment);
  if (text.empty()) return;
  Position at = stream_.At(comment);
  at.column += static_cast<int>(comment.text.find('+'));
  std::optional<Marker> marker = ParseMarker(text, at, place, options_.markers, problems_);
  if (marker) markers.push_back(*std::move(marker));
}

void HeaderParser::Attach(std::size_t index, unsigned place, bool in_struct, std::vector<Marker>& markers, std::string& description) {
  const Comments comments = CommentsBefore(index);
  const std::size_t count = comments.groups.size();
  const std::size_t doc = comments.attached ? count - 1 : count;  // index of the attached group
  for (std::size_t g = 0; g < count; ++g) {
    if (g == doc) {
      for (const Comment* comment : comments.groups[g]) AddMarker(*comment, place, markers);
      description = DescriptionOf(comments.groups[g]);
      continue;
    }
    // Markers may stand in a comment of their own above the one that describes.
    const bool closest = g + 1 == doc;
    for (const Comment* comment : comments.groups[g]) {
      const std::string_view text = MarkerText(*comment);
      if (text.empty()) continue;
      if (closest && (in_struct || MayStand(text, place))) {
        AddMarker(*comment, place, markers);
      } else if (in_struct) {
        problems_.Error(stream_.At(*comment), fmt::format("marker {} belongs to no field; write it directly above one", text));
      } else {
        AddMarker(*comment, kInFile, model_.files[file_].markers);
      }
    }
  }
}

void HeaderParser::AttachToFile(std::size_t index) {
  for (const auto& group : CommentsBefore(index).groups) {
    for (const Comment* comment : group) AddMarker(*comment, kInFile, model_.files[file_].markers);
  }
}

void HeaderParser::RefuseMarkers(std::size_t index) {
  std::vector<Marker> none;
  for (const auto& group : CommentsBefore(index).groups) {
    for (const Comment* comment : group) AddMarker(*comment, 0, none);
  }
}

void HeaderParser::ReportForgottenMarkers() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    const std::string_view text = MarkerText(stream_.comments[i]);
    if (text.empty() || FindMarker(text.substr(1, text.find('=') - 1)) == nullptr) continue;
    problems_.Error(stream_.At(stream_.comments[i]), fmt::format("marker {} stands inside of a declaration; write it above it", text));
  }
}

// ---- Namespaces ----

std::string HeaderParser::Scope() const {
  std::string out;
  for (const OpenNamespace& open : namespaces_) out += (out.empty() ? "" : "::") + open.name;
  return out;
}

void HeaderParser::Run() {
  while (Here().kind != TokenKind::kEnd) {
    const std::size_t before = at_;
    Declaration();
    if (at_ == before) Advance();  // whatever it is, go on behind it
  }
  AttachToFile(stream_.tokens.size() - 1);
  for (const OpenNamespace& open : namespaces_) Error(open.at, fmt::format("namespace {} without an end; write }} behind it", open.name));
  GiveConstantsToAliases();
  FinishFile();
  ReportForgottenMarkers();
}

void HeaderParser::Declaration() {
  const Token& token = Here();
  if (token.kind == TokenKind::kDirective) return Directive();
  if (At(";")) return Advance();
  if (At("}")) return CloseNamespace();
  if (At("namespace") || (At("inline") && Here(1).Is("namespace"))) return Namespace();
  if (At("struct")) return StructDeclaration();
  if (At("using")) return Using();
  if (AtConstant()) return Constants();
  AttachToFile(at_);
  if (At("static_assert")) return SkipDeclaration();
  if (At("class")) {
    Error(token, "class; write struct, whose members are public");
  } else if (At("enum")) {
    Error(token,
          "enum; write `// +k8s:enum` above `using Phase = kube::String;` and its values as `inline constexpr std::string_view kPhase... = "
          "\"...\";`, so that values of newer servers survive");
  } else if (At("union")) {
    Error(token, "union; write a struct with optional members and `// +kubebuilder:validation:ExactlyOneOf=...`");
  } else if (At("template")) {
    Error(token, "template; write a plain struct, or move the template to another header");
  } else if (At("typedef")) {
    Error(token, "typedef; write `using Name = Type;`");
  } else if (At("extern")) {
    Error(token, "extern declaration; move it to another header");
  } else if (token.kind == TokenKind::kName && Here(1).Is("(")) {
    Error(token, fmt::format("macro or function {}; a header of types holds structs, aliases and constants only: move it to another header",
                             token.text));
  } else {
    Error(token, "declaration that is no struct, alias or constant; a header of types holds only these: move it to another header");
  }
  SkipDeclaration();
}

void HeaderParser::Directive() {
  const Token token = Here();
  AttachToFile(at_);
  std::string_view rest;
  const std::string_view name = DirectiveName(token.text, rest);
  const bool last = Here(1).kind == TokenKind::kEnd;
  if (name == "include") {
    if (const std::optional<std::string_view> included = IncludedName(token.text)) {
      model_.files[file_].includes.emplace_back(*included);
    } else {
      Error(token, "#include of a macro; write the name of the header");
    }
  } else if (name == "ifndef" && at_ == 0) {
    guard_ = rest;
  } else if (!guard_.empty() && ((name == "define" && at_ == 1 && rest == guard_) || (name == "endif" && last))) {
    if (name == "endif") guard_.clear();
  } else if (name != "pragma" && !name.empty()) {
    Error(token, fmt::format("#{}; the reader does not preprocess: declare everything unconditionally, and move the rest to another header",
                             name));
  }
  Advance();
}

void HeaderParser::Namespace() {
  AttachToFile(at_);
  const Token first = Here();
  Skip("inline");
  Advance();
  SkipAttributes();
  if (At("{")) {
    Error(first, "namespace without a name; write a name, so that the generated table can refer to it");
    SkipBalanced();
    return;
  }
  std::string name;
  while (AtName()) {
    if (At("inline")) {
      Advance();
      continue;
    }
    name += (name.empty() ? "" : "::") + std::string(Here().text);
    Advance();
    if (!Skip("::")) break;
  }
  if (Skip("=")) {
    std::string target;
    if (name.empty() || !ReadQualifiedName(target) || !At(";")) {
      Error(first, "namespace alias that is not understood; write `namespace a = b::c;`");
      return SkipDeclaration();
    }
    Advance();
    const std::string scope = Scope();
    model_.namespace_aliases[(scope.empty() ? "" : scope + "::") + name] = target;
    return;
  }
  if (name.empty() || !At("{")) {
    Error(first, "namespace that is not understood; write `namespace a::b {`");
    return SkipDeclaration();
  }
  if (namespaces_.size() >= kMostNamespaces || name.size() > kMostNamespaceBytes) {
    Error(first, "namespaces nested too deeply");
    return SkipBalanced();
  }
  Advance();
  namespaces_.push_back({name, first});
}

void HeaderParser::CloseNamespace() {
  AttachToFile(at_);
  if (namespaces_.empty()) {
    Error(Here(), "} without a {");
  } else {
    namespaces_.pop_back();
  }
  Advance();
}

void HeaderParser::Using() {
  const std::size_t first = at_;
  const Token token = Here();
  Advance();
  if (At("namespace")) {
    AttachToFile(first);
    Error(token, "using namespace; write names with their namespace");
    return SkipDeclaration();
  }
  const std::string scope = Scope();
  Alias alias{.scope = scope, .at = stream_.At(Here()), .file = file_};
  const bool plain = AtName() && (Here(1).Is("=") || Here(1).Is("["));
  if (plain) {
    alias.name = Here().text;
    Advance();
    SkipAttributes();
    Skip("=");
  }
  // `using kube::String;` names what it names.
  if (!ReadType(alias.type)) return SkipDeclaration();
  if (!At(";")) {
    Error(Here(), "alias that is not understood; write `using Name = Type;`");
    return SkipDeclaration();
  }
  Advance();
  if (!plain) {
    const std::size_t colon = alias.type.name.rfind("::");
    alias.name = colon == std::string::npos ? alias.type.name : alias.type.name.substr(colon + 2);
    if (!alias.type.name.starts_with("::")) alias.type.name = "::" + alias.type.name;  // a name in its own scope would name itself
  }
  alias.qualified = (scope.empty() ? "" : scope + "::") + alias.name;
  Attach(first, kOnAlias, false, alias.markers, alias.description);
  CheckRepetition(alias.markers, problems_);
  model_.aliases.push_back(std::move(alias));
}

bool HeaderParser::AtConstant() const {
  bool constant = false;
  for (std::size_t i = 0;; ++i) {
    const Token& token = Here(i);
    if (token.Is("constexpr") || token.Is("const") || token.Is("constinit")) {
      constant = true;
    } else if (!token.Is("inline") && !token.Is("static")) {
      return constant;
    }
    if (i > 8) return false;
  }
}

// `inline constexpr std::string_view kPhasePending = "PENDING", kPhaseDone = "DONE";`
void HeaderParser::Constants() {
  AttachToFile(at_);
  const Token first = Here();
  while (At("inline") || At("static") || At("constexpr") || At("const") || At("constinit")) Advance();
  std::string type;
  if (At("auto")) {
    type = "auto";
    Advance();
  } else if (!ReadQualifiedName(type)) {
    Error(first, "constant that is not understood; write `inline constexpr std::string_view kName = \"value\";`");
    return SkipDeclaration();
  }
  bool text = type == "std::string_view" || type == "string_view" || type == "::std::string_view" || type == "char" || type == "auto";
  while (At("*") || At("const")) Advance();
  if (AtName() && Here(1).Is("(")) {
    Error(Here(),
          fmt::format("function {}; a header of types holds structs, aliases and constants only: move it to another header", Here().text));
    return SkipDeclaration();
  }
  while (AtName()) {
    const std::string name(Here().text);
    Advance();
    if (At("[")) SkipBalanced();
    const bool braced = At("{");
    if (!braced && !At("=")) break;
    Advance();
    std::string value, part;
    bool literal = Here().kind == TokenKind::kString;
    while (Here().kind == TokenKind::kString) {
      literal = StringLiteralValue(Here().text, part) && literal;
      value += part;
      Advance();
    }
    if (text && literal && (At(",") || At(";") || At("}"))) constants_.push_back({name, Scope(), value});
    int depth = braced ? 1 : 0;
    while (Here().kind != TokenKind::kEnd && !(depth == 0 && (At(",") || At(";")))) {
      if (At("(") || At("{") || At("[")) ++depth;
      if (At(")") || At("}") || At("]")) --depth;
      if (depth < 0) break;
      Advance();
    }
    if (!Skip(",")) break;
  }
  if (!Skip(";")) {
    Error(first, "constant that is not understood; write `inline constexpr std::string_view kName = \"value\";`");
    SkipDeclaration();
  }
}

// A constant belongs to the alias of its namespace with the longest name that it begins with.
void HeaderParser::GiveConstantsToAliases() {
  std::map<std::string, Alias*> aliases;
  for (std::size_t i = first_alias_; i < model_.aliases.size(); ++i) aliases[model_.aliases[i].qualified] = &model_.aliases[i];
  for (const Constant& constant : constants_) {
    constexpr std::size_t kMostNameBytes = 256;  // the search below is quadratic in the name
    if (constant.name.size() < 2 || constant.name.size() > kMostNameBytes || constant.name[0] != 'k') continue;
    for (std::size_t end = constant.name.size(); end > 1; --end) {
      const char next = end < constant.name.size() ? constant.name[end] : 'A';
      if (next >= 'a' && next <= 'z') continue;  // in the middle of a word
      auto found = aliases.find((constant.scope.empty() ? "" : constant.scope + "::") + constant.name.substr(1, end - 1));
      if (found == aliases.end()) continue;
      found->second->constants.push_back(constant.value);
      break;
    }
  }
}

void HeaderParser::FinishFile() {
  File& file = model_.files[file_];
  if (!guard_.empty()) Error(stream_.tokens[0], "include guard that does not end the file; write #pragma once");
  CheckRepetition(file.markers, problems_);
  for (const Marker& marker : file.markers) {
    if (marker.name == "groupName") file.group = marker.value.string_value().str();
    if (marker.name == "versionName") file.version = marker.value.string_value().str();
    if (marker.name == "kubebuilder:skip") file.skip = true;
    if (marker.name == "kubebuilder:validation:Required") file.required_default = true;
  }
  if (!file.version.empty()) return;
  // As in Go, where the package gives the version its name.
  for (std::size_t i = first_struct_; i < model_.structs.size(); ++i) {
    const std::string& scope = model_.structs[i].scope;
    const std::size_t colon = scope.rfind("::");
    const std::string last = colon == std::string::npos ? scope : scope.substr(colon + 2);
    if (IsVersion(last)) file.version = last;
  }
}

void ReadHeader(const std::string& path, std::string_view text, const HeaderOptions& options, Model& model, Problems& problems) {
  // Descriptions and values of markers go to manifests, which are UTF-8.
  const std::size_t bad = FindNoText(text);
  if (bad != std::string_view::npos) {
    const std::string_view before = text.substr(0, bad);
    const std::size_t line = before.rfind('\n');  // npos + 1 is 0
    const Position at{std::make_shared<const std::string>(path), static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
                      static_cast<int>(bad - (line + 1)) + 1};
    problems.Error(at, fmt::format("byte 0x{:02x}, which is no text; save the header as UTF-8", static_cast<unsigned char>(text[bad])));
  }
  const TokenStream tokens = Tokenize(path, bad == std::string_view::npos ? text : "", problems);
  model.files.push_back({.path = path, .given = options.given});
  HeaderParser(tokens, model.files.size() - 1, options, model, problems).Run();
}

}  // namespace kube::generate
