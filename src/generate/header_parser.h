// The parser behind ReadHeader. Parts: what stands in namespaces (header_reader.cc), in structs (header_struct.cc), types (header_type.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generate/header_reader.h"
#include "generate/tokens.h"

namespace kube::generate {

class HeaderParser {
 public:
  HeaderParser(const TokenStream& tokens, std::size_t file, const HeaderOptions& options, Model& model, Problems& problems);

  void Run();

 private:
  // ---- Tokens ----
  const Token& Here(std::size_t ahead = 0) const;
  bool At(std::string_view text) const { return Here().Is(text); }
  bool AtName() const { return Here().kind == TokenKind::kName; }
  void Advance();
  bool Skip(std::string_view text);
  void Error(const Token& token, std::string text) { problems_.Error(stream_.At(token), std::move(text)); }
  // Over the rest of a declaration that was not understood: up to its semicolon or the end of its body.
  void SkipDeclaration();
  // Over ( ) [ ] { } with all that they hold; stands behind them afterwards.
  void SkipBalanced();
  void SkipAttributes();

  // ---- Comments ----
  struct Comments {
    std::vector<std::vector<const Comment*>> groups;  // adjacent lines together, from top to bottom
    bool attached = false;                            // the last group ends on the line above the token
  };
  // What stands before the token at `index`, without comments behind the token before it.
  Comments CommentsBefore(std::size_t index);
  // Markers and description of the declaration that begins at `index`. Markers of the file found on the way are added to it.
  void Attach(std::size_t index, unsigned place, bool in_struct, std::vector<Marker>& markers, std::string& description);
  void AttachToFile(std::size_t index);
  void AddMarker(const Comment& comment, unsigned place, std::vector<Marker>& markers);
  // Before something that has none: each is an error.
  void RefuseMarkers(std::size_t index);
  void ReportForgottenMarkers();

  // ---- Namespaces: header_reader.cc ----
  void Directive();
  void Declaration();
  void Namespace();
  void CloseNamespace();
  void Using();
  void Constants();
  bool AtConstant() const;
  void FinishFile();
  void GiveConstantsToAliases();

  // ---- Structs: header_struct.cc ----
  void StructDeclaration();
  void StructBody(Struct& s);
  void Member(Struct& s);
  void StructAlias(Struct& s);
  void Table(Struct& s, bool& seen);
  bool MemberIsWrong(const Struct& s);
  bool Initialiser(const Token& name);
  void AddField(Struct& s, Field field, std::size_t first);
  void CheckRole(Struct& s, std::size_t first);

  // ---- Types: header_type.cc ----
  // False if no type of the subset stands here; then it was reported.
  bool ReadType(Type& out, int depth = 0);
  bool ReadQualifiedName(std::string& out);

  std::string Scope() const;

  const TokenStream& stream_;
  const HeaderOptions& options_;
  Model& model_;
  Problems& problems_;
  const std::size_t file_;
  std::size_t at_ = 0;

  struct OpenNamespace {
    std::string name;
    Token at;
  };
  struct Constant {
    std::string name, scope, value;
  };
  std::vector<OpenNamespace> namespaces_;  // one for each brace; "a::b" for nested ones
  std::string guard_;
  std::vector<bool> taken_;  // comments whose markers were looked at
  std::vector<Constant> constants_;
  std::size_t first_struct_ = 0, first_alias_ = 0;
};

}  // namespace kube::generate
