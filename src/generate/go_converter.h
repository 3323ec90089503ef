// Inside of go_types.h: the conversion of one run.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generate/go_builtins.h"
#include "generate/go_package.h"
#include "generate/model.h"
#include "generate/problems.h"

namespace kube::generate {

class GoConverter {
 public:
  GoConverter(GoPackages& packages, Model& model, Problems& problems) : packages_(packages), model_(model), problems_(problems) {}

  void Run(const std::vector<const GoPackage*>& given);

 private:
  // A name of a file and what it stands for. `package` is null for a type of the language, or one that was reported.
  struct Named {
    const GoPackage* package = nullptr;
    const GoPackage::Declaration* declaration = nullptr;
    std::optional<GoBuiltin> builtin;
    std::string path, name;
  };
  // A type, and the markers without which its schema would be another: of the value, or with `items` of the list's elements.
  struct Converted {
    Type type;
    std::vector<Marker> needs;
  };
  // Where a type stands: its package and file, for the names in it.
  struct Scope {
    const GoPackage* package;
    const GoFile* file;
  };
  struct OpenStruct {
    std::size_t index;  // in Model::structs
    Scope scope;        // of the fields
    const GoTypeDecl* decl;
    const GoTypeDecl* base;    // declares the fields; `decl` itself if it is a struct
    const GoPackage* package;  // of `decl`
  };

  // ---- Packages and names (go_names.cc) ----
  std::size_t FileOf(const GoPackage& package);
  std::string NamespaceOf(const GoPackage& package, const std::string& group, const std::string& version);
  Named Look(const Scope& scope, const GoType& type);
  Named LookHere(const GoPackage& package, const std::string& name);
  const GoImport* ImportNamed(const Scope& scope, const std::string& name);
  const GoImport* FindImport(const Scope& scope, const std::string& name);
  std::string TypeName(const GoPackage& package, const std::string& name);
  // Whether the type has this method, of its own or of what it embeds.
  bool Has(const Scope& scope, const GoTypeDecl& decl, const std::string& method);
  bool IsMeta(const Scope& scope, const GoType& type, std::string_view name);  // metav1's
  bool Embeds(const Scope& scope, const GoTypeDecl& decl, std::string_view name);
  // The struct that declares the fields of a type: its own, or that of `type A other.A` if A is a kind. False if there is none.
  bool FieldsOf(const Scope& scope, const GoTypeDecl& decl, OpenStruct& out);
  bool IsKind(const GoPackage& package, const GoTypeDecl& decl);
  bool IsList(const Scope& scope, const GoTypeDecl& decl);

  // ---- Markers (go_markers.cc) ----
  std::vector<Marker> ReadMarkers(const std::vector<GoMarker>& lines, unsigned place, bool given);
  bool IsRequired(const std::vector<Marker>& markers, bool required_default) const;

  // ---- Types (go_types.cc) ----
  Type Declare(const GoPackage& package, const GoPackage::Declaration& declaration);
  bool DeclareMarshalled(const Scope& scope, const GoTypeDecl& decl, Alias& alias);
  void AddConstants(const GoPackage& package, const GoTypeDecl& decl, Alias& alias);
  Type Helper(const Scope& scope, const Converted& of);
  Converted Convert(const Scope& scope, const GoType& type);
  Converted ConvertName(const Scope& scope, const GoType& type);
  Converted Elements(const Scope& scope, const GoType& type);
  bool IsStringKey(const Scope& scope, const GoType& key, int depth = 0);
  const Type* Under(const Type& type) const;

  void Fill(const OpenStruct& open);
  void AddField(Struct& s, const Scope& scope, const GoField& go, bool required_default);
  bool IsTaken(const Struct& s, const std::string& json, const Position& at);
  void AddTypeMeta(Struct& s, const Position& at);
  void Place(Struct& s, const GoField& go, Field& field, bool pointer, bool required);
  void NameMember(const Struct& s, const std::string& go_name, Field& field) const;
  void MarkRoots();
  void BoxLargeStructs();
  std::size_t BytesOf(std::size_t index, int depth, std::vector<std::size_t>& known);
  std::size_t BytesOf(const Struct& s, Field& field, int depth, std::vector<std::size_t>& known);
  void AskForApproval();

  // ---- Inlined structs (go_inlined.cc) ----
  struct Inlined;
  std::size_t StructOf(const Type& type) const;  // in Model::structs; their number if it is none of them
  void SeparateHidden();
  void SeparateHidden(std::size_t index, int depth, std::vector<bool>& seen);
  bool FindHidden(std::vector<Inlined>& all);
  static std::vector<std::size_t> JoinOrder(const std::vector<Inlined>& all);
  void Join(const Field& field, const Field& hidden, const Struct& s, std::vector<Marker>& out);
  void CopyInlined(std::vector<Inlined>& all);
  std::string AddCopy(Struct s, Struct& user);

  GoPackages& packages_;
  Model& model_;
  Problems& problems_;
  std::set<const GoPackage*> given_;
  std::map<const GoPackage*, std::size_t> files_;
  std::map<const GoPackage*, bool> required_default_;
  std::vector<std::string> scopes_;  // the namespaces of the files
  std::set<std::string> namespaces_, names_;
  std::map<const GoTypeDecl*, Type> declared_;
  std::map<std::pair<const GoTypeDecl*, std::string>, bool> methods_;
  std::map<std::pair<const GoFile*, std::string>, const GoImport*> imports_;
  std::set<const GoTypeDecl*> open_aliases_;
  std::map<std::string, std::size_t> aliases_, structs_;  // by qualified name
  std::set<std::string> used_;                            // structs that a field or alias has
  std::map<std::pair<std::size_t, std::string>, Type> helpers_;
  std::deque<OpenStruct> open_;
  int depth_ = 0, embedded_ = 0;
};

}  // namespace kube::generate
