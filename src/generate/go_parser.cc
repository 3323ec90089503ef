#include "generate/go_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kube::generate {
namespace {

constexpr std::size_t kMostNames = 64;       // in one declaration of fields or constants
constexpr std::size_t kMostExpression = 64;  // tokens of a constant's value

class Parser {
 public:
  Parser(GoTokens tokens, Problems& problems) : tokens_(std::move(tokens)), problems_(problems) {}

  void Run(GoFile& file) {
    file_ = &file;
    std::vector<GoMarker> closest, doc;
    TakeComments(Here(), &file.markers, closest, doc);
    Append(closest, file.markers);
    Append(doc, file.markers);
    if (!At("package")) {
      Error("file without a package clause; write `package NAME` at its top");
      return;
    }
    Advance();
    if (AtName()) {
      file.package = Here().text;
      file.package_at = tokens_.At(Here());
      Advance();
    }
    SkipSemicolon();
    while (!AtEnd()) {
      const std::size_t before = at_;
      Declaration();
      if (at_ == before) Advance();
    }
    Append(MarkersOf(groups_seen_, tokens_.groups.size(), false), file.markers);
  }

 private:
  const GoToken& Here(std::size_t ahead = 0) const { return tokens_.tokens[std::min(at_ + ahead, tokens_.tokens.size() - 1)]; }
  bool At(std::string_view text) const { return Here().Is(text); }
  bool AtName() const { return Here().kind == GoTokenKind::kName; }
  bool AtEnd() const { return Here().kind == GoTokenKind::kEnd; }
  bool AtSemicolon() const { return Here().kind == GoTokenKind::kSemicolon; }
  void Advance() {
    if (!AtEnd()) ++at_;
  }
  bool Skip(std::string_view text) {
    if (!At(text)) return false;
    Advance();
    return true;
  }
  void Error(std::string text) { problems_.Error(tokens_.At(Here()), std::move(text)); }

  // ---- Comments ----

  static void Append(const std::vector<GoMarker>& from, std::vector<GoMarker>& to) { to.insert(to.end(), from.begin(), from.end()); }

  std::vector<GoMarker> MarkersOf(std::size_t begin, std::size_t end, bool doc) const {
    std::vector<GoMarker> out;
    for (std::size_t i = begin; i < end; ++i) {
      for (const Comment& comment : tokens_.groups[i].comments) {
        if (!comment.text.starts_with("//")) continue;
        std::string_view text = comment.text.substr(2);
        while (!text.empty() && std::string_view(" \t\r\v\f").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
        while (!text.empty() && std::string_view(" \t\r\v\f").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
        if (text.starts_with('+')) out.push_back({.text = std::string(text), .doc = doc, .at = tokens_.At(comment)});
      }
    }
    return out;
  }

  // The markers in front of a node: in the closest group that is not its doc comment, and in the doc comment. Those of groups before that
  // go to `free`.
  void TakeComments(const GoToken& node, std::vector<GoMarker>* free, std::vector<GoMarker>& closest, std::vector<GoMarker>& doc) {
    if (node.groups <= groups_seen_) return;
    const std::size_t last = node.groups - 1;
    const bool has_doc = node.doc == static_cast<int>(last);
    if (!has_doc || last > groups_seen_) {
      const std::size_t own = has_doc ? last - 1 : last;
      if (free != nullptr) Append(MarkersOf(groups_seen_, own, false), *free);
      closest = MarkersOf(own, own + 1, false);
    }
    if (has_doc) doc = MarkersOf(last, last + 1, true);
    groups_seen_ = last + 1;
  }

  std::string DocOf(const GoToken& node) const {
    return node.doc < 0 ? "" : GoDescription(tokens_.groups[static_cast<std::size_t>(node.doc)]);
  }

  // Comments inside of what was read belong to nothing, and neither does the one behind it.
  void EndNode(bool takes_trailing) {
    if (at_ == 0) return;
    std::size_t last = at_ - 1;
    int trailing = tokens_.tokens[last].trailing;
    while (last > 0 && tokens_.tokens[last].kind == GoTokenKind::kSemicolon) {
      if (tokens_.tokens[last].text == ";") trailing = tokens_.tokens[last].trailing;
      --last;
      if (trailing < 0) trailing = tokens_.tokens[last].trailing;
    }
    groups_seen_ = std::max(groups_seen_, tokens_.tokens[last].groups);
    if (takes_trailing && trailing == static_cast<int>(groups_seen_)) ++groups_seen_;
  }

  // ---- Skipping ----

  // Behind the bracket that closes the one here.
  void SkipBrackets() {
    std::size_t depth = 0;
    do {
      if (At("(") || At("[") || At("{")) ++depth;
      if ((At(")") || At("]") || At("}")) && depth > 0) --depth;
      Advance();
    } while (depth > 0 && !AtEnd());
  }
  void SkipSemicolon() {
    if (AtSemicolon()) return Advance();
    if (!AtEnd() && !At(")") && !At("}")) {
      Error(fmt::format("unexpected {}", Here().text.substr(0, 40)));
      SkipStatement();
    }
  }
  // Behind the next semicolon that is not inside of brackets.
  void SkipStatement() {
    while (!AtEnd() && !AtSemicolon()) {
      if (At("(") || At("[") || At("{")) {
        SkipBrackets();
      } else if (At(")") || At("}")) {
        return;
      } else {
        Advance();
      }
    }
    Advance();
  }

  // ---- Declarations ----

  void Declaration() {
    if (AtSemicolon()) return Advance();
    const GoToken keyword = Here();
    std::vector<GoMarker> closest, doc;
    TakeComments(keyword, &file_->markers, closest, doc);
    const bool grouped = Here(1).Is("(");
    if (keyword.Is("func")) {
      Append(closest, file_->markers);
      Function();
      return EndNode(false);
    }
    if (!keyword.Is("import") && !keyword.Is("type") && !keyword.Is("const") && !keyword.Is("var")) {
      Append(closest, file_->markers);
      Error(fmt::format("unexpected {}; expected a declaration", keyword.text.substr(0, 40)));
      SkipStatement();
      return EndNode(false);
    }
    Advance();
    if (!keyword.Is("type") || grouped) Append(closest, file_->markers);
    if (!grouped) {
      if (keyword.Is("type")) {
        Append(doc, closest);
        TypeSpec(std::move(closest), DocOf(keyword));
      } else {
        Spec(keyword);
      }
      SkipSemicolon();
      return EndNode(true);
    }
    Advance();
    repeated_ = {};
    while (!AtEnd() && !At(")")) {
      const std::size_t before = at_;
      if (AtSemicolon()) {
        Advance();
        continue;
      }
      if (keyword.Is("type")) {
        std::vector<GoMarker> above, own;
        TakeComments(Here(), nullptr, above, own);
        Append(own, above);
        TypeSpec(std::move(above), DocOf(Here()));
      } else {
        Spec(keyword);
      }
      SkipSemicolon();
      EndNode(true);
      if (at_ == before) Advance();
    }
    Skip(")");
    SkipSemicolon();
    EndNode(true);
  }

  void Spec(const GoToken& keyword) {
    if (keyword.Is("import")) return Import();
    if (keyword.Is("const")) return Constant();
    SkipToSemicolon();
  }

  void SkipToSemicolon() {
    while (!AtEnd() && !AtSemicolon() && !At(")") && !At("}")) {
      if (At("(") || At("[") || At("{")) {
        SkipBrackets();
      } else {
        Advance();
      }
    }
  }

  void Import() {
    GoImport import{.name = "", .path = "", .at = tokens_.At(Here())};
    if (AtName() || At(".")) {
      import.name = Here().text;
      Advance();
    }
    if (Here().kind != GoTokenKind::kString || !GoStringValue(Here().text, import.path)) {
      Error("import without a path in quotes");
      return SkipToSemicolon();
    }
    import.at = tokens_.At(Here());
    Advance();
    file_->imports.push_back(std::move(import));
  }

  void Constant() {
    std::vector<std::string> names;
    while (AtName()) {
      if (names.size() < kMostNames) names.emplace_back(Here().text);
      Advance();
      if (!Skip(",")) break;
    }
    std::string type;
    if (AtName()) {
      type = Here().text;
      Advance();
      while (Skip(".")) {
        type += '.';
        type += Here().text;
        Advance();
      }
    }
    std::vector<std::vector<GoToken>> values;
    if (Skip("=")) {
      values.emplace_back();
      std::size_t depth = 0, size = 0;
      while (!AtEnd() && !(AtSemicolon() && depth == 0) && !(At(")") && depth == 0)) {
        if (At(",") && depth == 0) {
          if (values.size() == kMostNames) break;
          values.emplace_back();
          size = 0;
        } else {
          if (At("(") || At("[") || At("{")) ++depth;
          if ((At(")") || At("]") || At("}")) && depth > 0) --depth;
          if (++size > kMostExpression) {
            values.back().clear();
          } else {
            values.back().push_back(Here());
          }
        }
        Advance();
      }
      SkipToSemicolon();
      repeated_ = {type, values};
    } else if (type.empty()) {
      type = repeated_.first;
      values = repeated_.second;
    }
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) file_->consts.push_back({names[i], type, values[i]});
  }

  void Function() {
    Advance();
    std::string receiver;
    if (At("(")) {
      // (t Type), (t *Type), (Type), (t *Type[T])
      const std::size_t open = at_;
      SkipBrackets();
      for (std::size_t i = open + 1; i + 1 < at_; ++i) {
        const GoToken& token = tokens_.tokens[i];
        if (token.Is("[")) break;
        if (token.kind == GoTokenKind::kName) receiver = token.text;
      }
    }
    const std::string name = AtName() ? std::string(Here().text) : "";
    Advance();
    if (At("[")) SkipBrackets();
    const bool plain = At("(") && Here(1).Is(")");
    if (At("(")) SkipBrackets();
    if (!receiver.empty() && plain) file_->methods.push_back({receiver, name});
    Results();
    if (At("{")) SkipBrackets();
    SkipSemicolon();
  }

  void Results() {
    if (At("(")) return SkipBrackets();
    if (!AtSemicolon() && !At("{") && !At("}") && !At(",") && !At(")") && !At("]") && !At("=") && !AtEnd() &&
        Here().kind != GoTokenKind::kString) {
      ReadType();
    }
  }

  void TypeSpec(std::vector<GoMarker> markers, std::string doc) {
    GoTypeDecl decl;
    decl.markers = std::move(markers);
    decl.doc = std::move(doc);
    decl.at = tokens_.At(Here());
    if (!AtName()) {
      Error("type declaration without a name");
      return SkipToSemicolon();
    }
    decl.name = Here().text;
    Advance();
    if (At("[") && HasTypeParameters()) {
      decl.generic = true;
      SkipBrackets();
    }
    decl.alias = Skip("=");
    decl.type = ReadType();
    file_->types.push_back(std::move(decl));
  }

  // [T any], [K comparable, V any], [T interface{...}] in contrast to [], [4] and [N].
  bool HasTypeParameters() const {
    if (Here(1).kind != GoTokenKind::kName) return false;
    const GoToken& next = Here(2);
    return next.kind == GoTokenKind::kName || next.Is(",") || next.Is("~") || next.Is("[") || (next.Is("*") && Here(4).Is(",")) ||
           (next.Is("*") && Here(4).Is("]"));
  }

  // ---- Types ----

  GoType Other(std::string what, const Position& at) {
    GoType out;
    out.name = std::move(what);
    out.at = at;
    return out;
  }

  GoType ReadType() {
    const Position at = tokens_.At(Here());
    if (depth_ >= kMostGoDepth) {
      Error(fmt::format("types nested more than {} levels deep", kMostGoDepth));
      SkipToSemicolon();
      return Other("too deep a type", at);
    }
    ++depth_;
    GoType out = ReadTypeHere(at);
    --depth_;
    return out;
  }

  GoType ReadTypeHere(const Position& at) {
    GoType out;
    out.at = at;
    if (Skip("*")) {
      out.form = GoForm::kPointer;
      out.element = std::make_shared<const GoType>(ReadType());
    } else if (At("(")) {
      Advance();
      out = ReadType();
      Skip(")");
    } else if (At("[")) {
      out.form = Here(1).Is("]") ? GoForm::kSlice : GoForm::kArray;
      SkipBrackets();
      out.element = std::make_shared<const GoType>(ReadType());
    } else if (At("map")) {
      Advance();
      out.form = GoForm::kMap;
      if (!Skip("[")) Error("map without the type of its keys");
      out.key = std::make_shared<const GoType>(ReadType());
      if (!Skip("]")) Error("map without ] behind the type of its keys");
      out.element = std::make_shared<const GoType>(ReadType());
    } else if (At("struct")) {
      Advance();
      out.form = GoForm::kStruct;
      StructBody(out);
    } else if (At("interface")) {
      Advance();
      if (At("{")) SkipBrackets();
      return Other("interface", at);
    } else if (At("func")) {
      Advance();
      if (At("(")) SkipBrackets();
      Results();
      return Other("function", at);
    } else if (At("chan") || At("<")) {
      Skip("<");
      Skip("-");
      Skip("chan");
      Skip("<");
      Skip("-");
      ReadType();
      return Other("channel", at);
    } else if (AtName()) {
      out.form = GoForm::kName;
      out.name = Here().text;
      Advance();
      if (Skip(".")) {
        out.package = std::exchange(out.name, std::string(Here().text));
        Advance();
      }
      if (At("[") && !Here(1).Is("]")) {
        SkipBrackets();
        return Other("generic type " + out.name, at);
      }
    } else {
      Error(fmt::format("{} where a type is expected", AtSemicolon() || AtEnd() ? "line end" : Here().text.substr(0, 40)));
      if (!AtSemicolon() && !At("}") && !At(")")) Advance();
      return Other("unknown type", at);
    }
    return out;
  }

  void StructBody(GoType& out) {
    std::vector<GoField> fields;
    if (!Skip("{")) return Error("struct without {");
    while (!AtEnd() && !At("}")) {
      const std::size_t before = at_;
      if (AtSemicolon()) {
        Advance();
        continue;
      }
      Member(fields);
      if (!AtSemicolon() && !At("}")) {
        Error(fmt::format("unexpected {} in a struct", Here().text.substr(0, 40)));
        SkipToSemicolon();
      }
      if (AtSemicolon()) Advance();
      EndNode(true);
      if (at_ == before) Advance();
    }
    if (AtEnd()) problems_.Error(out.at, "struct without an end; write } behind it");
    Skip("}");
    out.members = std::make_shared<const std::vector<GoField>>(std::move(fields));
  }

  void Member(std::vector<GoField>& out) {
    const GoToken first = Here();
    GoField field;
    std::vector<GoMarker> doc;
    TakeComments(first, nullptr, field.markers, doc);
    Append(doc, field.markers);
    field.doc = DocOf(first);
    field.at = tokens_.At(first);
    const GoToken& next = Here(1);
    const bool ends = next.kind == GoTokenKind::kSemicolon || next.kind == GoTokenKind::kString || next.Is("}");
    const bool generic = next.Is("[") && !Here(2).Is("]") && Here(2).kind == GoTokenKind::kName && EndsBehindBrackets();
    const bool embedded = !AtName() || ends || next.Is(".") || generic;
    std::vector<GoToken> names;
    if (!embedded) {
      while (AtName()) {
        if (names.size() == kMostNames) Error(fmt::format("more than {} names of fields; write each on a line of its own", kMostNames));
        if (names.size() <= kMostNames) names.push_back(Here());
        Advance();
        if (!Skip(",")) break;
      }
    }
    field.type = ReadType();
    if (Here().kind == GoTokenKind::kString) {
      if (!GoStringValue(Here().text, field.tag)) Error("struct tag that is not understood");
      Advance();
    }
    if (embedded) out.push_back(field);
    for (const GoToken& name : names) {
      field.name = name.text;
      field.at = tokens_.At(name);
      out.push_back(field);
    }
  }

  // Whether Name[...] is all of a member: an embedded generic type, and no field Name of an array.
  bool EndsBehindBrackets() const {
    std::size_t depth = 0;
    for (std::size_t i = at_ + 1; i < tokens_.tokens.size(); ++i) {
      const GoToken& token = tokens_.tokens[i];
      if (token.Is("[")) ++depth;
      if (token.Is("]") && --depth == 0) {
        const GoToken& next = tokens_.tokens[std::min(i + 1, tokens_.tokens.size() - 1)];
        return next.kind == GoTokenKind::kSemicolon || next.kind == GoTokenKind::kString || next.Is("}");
      }
      if (token.kind == GoTokenKind::kSemicolon) return false;
    }
    return false;
  }

  const GoTokens tokens_;
  Problems& problems_;
  GoFile* file_ = nullptr;
  std::size_t at_ = 0;
  std::size_t groups_seen_ = 0;  // comment groups that were attached
  int depth_ = 0;
  std::pair<std::string, std::vector<std::vector<GoToken>>> repeated_;  // the last type and values of a group of constants
};

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\v\f").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}
std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\v\f").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  return TrimRight(text);
}

// //go:generate, //nolint:all, //line, as go/ast recognises them.
bool IsDirective(std::string_view body) {
  for (std::string_view word : {"line ", "extern ", "export "}) {
    if (body.starts_with(word)) return true;
  }
  const std::size_t colon = body.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 >= body.size()) return false;
  const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return word(body[colon + 1]) && std::all_of(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(colon), word);
}

}  // namespace

GoFile ParseGo(const std::string& path, std::string text, Problems& problems) {
  GoFile file;
  if (text.size() > kMostGoBytes) {
    problems.Error({std::make_shared<const std::string>(path), 0, 0}, fmt::format("file larger than {} bytes is not read", kMostGoBytes));
    return file;
  }
  file.text = std::make_shared<const std::string>(std::move(text));
  Parser(TokenizeGo(path, *file.text, problems), problems).Run(file);
  return file;
}

std::string GoDescription(const GoCommentGroup& group) {
  std::vector<std::string_view> lines;
  bool block = false;
  for (const Comment& comment : group.comments) {
    std::string_view text = comment.text;
    if (text.starts_with("/*")) {
      block = true;
      text.remove_prefix(2);
      if (text.ends_with("*/")) text.remove_suffix(2);
      while (true) {
        const std::size_t end = text.find('\n');
        lines.push_back(TrimRight(text.substr(0, end)));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
      }
      continue;
    }
    text.remove_prefix(2);
    if (Trim(text).starts_with('+')) continue;
    if (text.starts_with(' ')) {
      text.remove_prefix(1);
    } else if (IsDirective(text)) {
      continue;
    }
    lines.push_back(TrimRight(text));
  }
  std::vector<std::string_view> kept;
  for (std::string_view line : lines) {
    if (line.empty() && (kept.empty() || kept.back().empty())) continue;
    kept.push_back(line);
  }
  if (!kept.empty() && kept.back().empty()) kept.pop_back();
  std::string out;
  bool fenced = false, first = true;
  for (std::string_view line : kept) {
    if (block) line = Trim(line);
    if (line.starts_with("```") || line.starts_with("~~~")) fenced = !fenced;
    if (!fenced && line.starts_with("TODO")) continue;
    if (!fenced && line.starts_with("---")) break;
    if (!std::exchange(first, false)) out += '\n';
    out += line;
  }
  return out;
}

bool GoTagValue(std::string_view tag, std::string_view key, std::string& out) {
  while (true) {
    while (tag.starts_with(' ')) tag.remove_prefix(1);
    const std::size_t colon = tag.find(':');
    if (colon == 0 || colon == std::string_view::npos || colon + 1 >= tag.size() || tag[colon + 1] != '"') return false;
    const std::string_view name = tag.substr(0, colon);
    std::size_t end = colon + 2;
    while (end < tag.size() && tag[end] != '"') end += tag[end] == '\\' ? 2 : 1;
    if (end >= tag.size()) return false;
    if (name == key) return GoStringValue(tag.substr(colon + 1, end - colon), out);
    tag.remove_prefix(end + 1);
  }
}

}  // namespace kube::generate
