#include "generate/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace kube::generate {
namespace {

constexpr int kMostAliases = 32;

struct Known {
  std::string_view name;
  TypeForm form;
  Scalar scalar = Scalar::kBool;
};
constexpr auto kKnown = std::to_array<Known>({
    {"bool", TypeForm::kScalar, Scalar::kBool},
    {"double", TypeForm::kScalar, Scalar::kDouble},
    {"int32_t", TypeForm::kScalar, Scalar::kInt32},
    {"int64_t", TypeForm::kScalar, Scalar::kInt64},
    {"kube::Box", TypeForm::kBox},
    {"kube::Bytes", TypeForm::kScalar, Scalar::kBytes},
    {"kube::Duration", TypeForm::kScalar, Scalar::kDuration},
    {"kube::IntOrString", TypeForm::kScalar, Scalar::kIntOrString},
    {"kube::List", TypeForm::kList},
    {"kube::Map", TypeForm::kMap},
    {"kube::MicroTime", TypeForm::kScalar, Scalar::kMicroTime},
    {"kube::Quantity", TypeForm::kScalar, Scalar::kQuantity},
    {"kube::RawJson", TypeForm::kScalar, Scalar::kRawJson},
    {"kube::String", TypeForm::kScalar, Scalar::kString},
    {"kube::Time", TypeForm::kScalar, Scalar::kTime},
    {"std::int32_t", TypeForm::kScalar, Scalar::kInt32},
    {"std::int64_t", TypeForm::kScalar, Scalar::kInt64},
    {"std::optional", TypeForm::kOptional},
});

// What people write, and what a field has instead. $ is the template argument.
struct Instead {
  std::string_view name, write;
};
constexpr auto kInstead = std::to_array<Instead>({
    {"char", "kube::String"},
    {"float", "double"},
    {"int", "std::int32_t"},
    {"int16_t", "std::int32_t"},
    {"int8_t", "std::int32_t"},
    {"kube::Value", "kube::RawJson"},
    {"long", "std::int64_t"},
    {"long int", "std::int64_t"},
    {"long long", "std::int64_t"},
    {"long long int", "std::int64_t"},
    {"short", "std::int32_t"},
    {"size_t", "std::int64_t"},
    {"std::array", "kube::List<$>"},
    {"std::chrono::duration", "kube::Duration"},
    {"std::chrono::milliseconds", "kube::Duration"},
    {"std::chrono::minutes", "kube::Duration"},
    {"std::chrono::seconds", "kube::Duration"},
    {"std::chrono::system_clock::time_point", "kube::Time"},
    {"std::deque", "kube::List<$>"},
    {"std::int16_t", "std::int32_t"},
    {"std::int8_t", "std::int32_t"},
    {"std::list", "kube::List<$>"},
    {"std::map", "kube::Map<$>"},
    {"std::set", "kube::List<$>"},
    {"std::shared_ptr", "kube::Box<$>"},
    {"std::size_t", "std::int64_t"},
    {"std::span", "kube::List<$>"},
    {"std::string", "kube::String"},
    {"std::string_view", "kube::String"},
    {"std::uint16_t", "std::int32_t"},
    {"std::uint32_t", "std::int64_t"},
    {"std::uint64_t", "std::int64_t"},
    {"std::uint8_t", "std::int32_t"},
    {"std::unique_ptr", "kube::Box<$>"},
    {"std::unordered_map", "kube::Map<$>"},
    {"std::unordered_set", "kube::List<$>"},
    {"std::variant", "a struct with optional members and `// +kubebuilder:validation:ExactlyOneOf=...` above it"},
    {"std::vector", "kube::List<$>"},
    {"uint16_t", "std::int32_t"},
    {"uint32_t", "std::int64_t"},
    {"uint64_t", "std::int64_t"},
    {"unsigned", "std::int64_t"},
    {"unsigned int", "std::int64_t"},
    {"unsigned long", "std::int64_t"},
    {"unsigned long long", "std::int64_t"},
});

template <typename Rows>
const typename Rows::value_type* FindRow(const Rows& rows, std::string_view name) {
  auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

// "a::b" of "a::b::c"; "" of "a".
std::string_view Outer(std::string_view scope) {
  const std::size_t colon = scope.rfind("::");
  return colon == std::string_view::npos ? "" : scope.substr(0, colon);
}

class Resolver {
 public:
  Resolver(Model& model, BuiltinTypes& builtins, Problems& problems) : model_(model), builtins_(builtins), problems_(problems) {}

  void Run() {
    CheckNames();
    model_.Index();
    for (Alias& alias : model_.aliases) Resolve(alias.type, alias.scope, alias.qualified);
    for (Alias& alias : model_.aliases) {
      if (Ends(alias.type)) continue;
      problems_.Error(alias.at, fmt::format("alias {} that names itself", alias.name));
      alias.type.form = TypeForm::kUnresolved;
      alias.type.element = nullptr;
    }
    for (Struct& s : model_.structs) {
      for (Field& field : s.fields) {
        Resolve(field.type, s.qualified, "");
        CheckShape(field);
      }
      CheckFields(s);
    }
    DecideRoles();
  }

 private:
  // Whether a type comes to an end: aliases may name themselves inside of lists and maps, too.
  bool Ends(const Type& type) const {
    const Type* at = &type;
    for (int aliases = 0; aliases < kMostAliases;) {
      if (at->element != nullptr) {
        at = at->element.get();
        continue;
      }
      const Alias* alias = at->form == TypeForm::kAlias ? model_.FindAlias(at->name) : nullptr;
      if (alias == nullptr) return true;
      at = &alias->type;
      ++aliases;
    }
    return false;
  }

  void CheckNames() {
    std::map<std::string_view, const Position*> seen;
    auto check = [&](const std::string& qualified, const std::string& name, const Position& at) {
      auto [first, added] = seen.emplace(qualified, &at);
      if (!added) problems_.Error(at, fmt::format("{} is declared twice; the first one is at {}", name, first->second->ToString()));
    };
    for (const Struct& s : model_.structs) check(s.qualified, s.name, s.at);
    for (const Alias& alias : model_.aliases) check(alias.qualified, alias.name, alias.at);
  }

  // Names of namespaces at the beginning of a name replaced by what they stand for.
  std::string ExpandNamespaces(std::string name) const {
    for (int i = 0; i < kMostAliases; ++i) {
      bool changed = false;
      for (std::size_t colon = name.find("::"); colon != std::string::npos; colon = name.find("::", colon + 2)) {
        auto found = model_.namespace_aliases.find(std::string_view(name).substr(0, colon));
        if (found == model_.namespace_aliases.end()) continue;
        if (found->second.size() > 256) break;
        std::string target = found->second.starts_with("::") ? found->second.substr(2) : found->second;
        name = target + name.substr(colon);
        changed = true;
        break;
      }
      if (!changed) break;
    }
    return name;
  }

  // Whether `qualified` names a type; sets what it is.
  bool Look(const std::string& qualified, std::string_view self, Type& out) {
    if (const Known* known = FindRow(kKnown, qualified)) {
      out.form = known->form;
      out.scalar = known->scalar;
      out.name.clear();
      return true;
    }
    if (qualified != self && model_.FindAlias(qualified) != nullptr) {
      out.form = TypeForm::kAlias;
    } else if (model_.FindStruct(qualified) != nullptr) {
      out.form = TypeForm::kStruct;
    } else if (builtins_.Has(qualified)) {
      out.form = TypeForm::kBuiltin;
    } else {
      return false;
    }
    out.name = qualified;
    return true;
  }

  void Resolve(Type& type, std::string_view scope, std::string_view self) {
    if (type.element != nullptr) {
      Type element = *type.element;
      Resolve(element, scope, self);
      type.element = std::make_shared<const Type>(std::move(element));
    }
    const std::string written = type.name;
    bool found = false;
    if (written.starts_with("::")) {
      found = Look(ExpandNamespaces(written.substr(2)), self, type);
    } else {
      for (std::string_view at = scope;; at = Outer(at)) {
        found = Look(ExpandNamespaces(at.empty() ? written : std::string(at) + "::" + written), self, type);
        if (found || at.empty()) break;
      }
    }
    if (!found) return ReportUnknown(type);
    const bool takes =
        type.form == TypeForm::kOptional || type.form == TypeForm::kBox || type.form == TypeForm::kList || type.form == TypeForm::kMap;
    if (takes != (type.element != nullptr)) {
      problems_.Error(type.at, takes ? fmt::format("{0} without the type that it holds; write {0}<...>", written)
                                     : fmt::format("{} is no template; leave out <...>", written));
      type.form = TypeForm::kUnresolved;
      type.element = nullptr;
    }
  }

  void ReportUnknown(Type& type) {
    std::string_view plain = type.name;
    if (plain.starts_with("::")) plain.remove_prefix(2);
    if (const Instead* instead = FindRow(kInstead, plain)) {
      std::string write(instead->write);
      if (const std::size_t at = write.find('$'); at != std::string::npos) {
        write.replace(at, 1, type.element != nullptr ? type.element->Spelling() : "...");
      }
      problems_.Error(type.at, fmt::format("a field cannot have type {}; write {}", plain, write));
    } else if (plain.starts_with("kube::")) {
      problems_.Error(type.at, fmt::format("unknown type {}; it is neither a field type nor a struct of kubexx", plain));
    } else {
      problems_.Error(type.at, fmt::format("unknown type {}; declare it in this header, or include the header that does", plain));
    }
    type.form = TypeForm::kUnresolved;
  }

  bool IsStruct(const Type& type) const {
    const Type* under = Underlying(model_, type);
    return under != nullptr && (under->form == TypeForm::kStruct || under->form == TypeForm::kBuiltin);
  }

  // Which types may hold which.
  void CheckShape(const Field& field) { CheckShape(field.type, true); }
  void CheckShape(const Type& written, bool member) {
    const Type* behind = Underlying(model_, written);
    if (behind == nullptr || behind->element == nullptr) return;
    const Type& type = *behind;
    const Type& element = *type.element;
    if (element.form == TypeForm::kUnresolved) return;
    const Type* under = Underlying(model_, element);
    if (under == nullptr) return;
    const std::string inner = element.Spelling();
    const bool container = under->form == TypeForm::kList || under->form == TypeForm::kMap;
    const bool wrapped = under->form == TypeForm::kOptional || under->form == TypeForm::kBox;
    if (type.form == TypeForm::kOptional) {
      if (IsStruct(element)) {
        problems_.Error(type.at, fmt::format("std::optional of a struct; write kube::Box<{}>", inner));
      } else if (container || wrapped) {
        problems_.Error(type.at,
                        fmt::format("std::optional of {0}; write kube::Box<{0}> to distinguish an empty one from none, or {0}", inner));
      } else if (under->form == TypeForm::kScalar && (under->scalar == Scalar::kTime || under->scalar == Scalar::kMicroTime)) {
        problems_.Error(type.at, fmt::format("std::optional of {0}; write {0}, which is absent when it is zero", inner));
      } else if (!member) {
        problems_.Error(type.at, fmt::format("std::optional inside of a list or map; write {}", inner));
      }
    } else if (type.form == TypeForm::kBox) {
      if (wrapped) {
        problems_.Error(type.at, fmt::format("kube::Box of {0}; write {0}", inner));
      } else if (!container && !IsStruct(element)) {
        problems_.Error(type.at, fmt::format("kube::Box of a scalar; write std::optional<{}>", inner));
      } else if (!member) {
        problems_.Error(type.at, fmt::format("kube::Box inside of a list or map; write {}", inner));
      }
    }
    CheckShape(element, false);
  }

  void CheckFields(Struct& s) {
    std::map<std::string_view, const Field*> seen;
    for (const Field& field : s.fields) {
      if (field.inlined) {
        if (field.type.form != TypeForm::kUnresolved && !IsStruct(field.type)) {
          problems_.Error(field.at, fmt::format("+kube:inline on {}, which is no struct", field.name));
        }
        continue;
      }
      auto [first, added] = seen.emplace(field.json, &field);
      if (!added)
        problems_.Error(field.at, fmt::format("JSON name {} stands twice in {}; give one of them another with `// +kube:json=...`",
                                              field.json, s.name));
    }
  }

  static bool HasKindMarkers(const Struct& s) {
    return std::any_of(s.markers.begin(), s.markers.end(), [](const Marker& m) {
      return m.name == "kubebuilder:resource" || m.name.starts_with("kubebuilder:subresource:") || m.name == "kubebuilder:printcolumn" ||
             m.name == "kubebuilder:storageversion" || m.name == "kubebuilder:unservedversion" ||
             m.name == "kubebuilder:deprecatedversion" || m.name == "kubebuilder:selectablefield" || m.name == "kubebuilder:metadata" ||
             m.name == "kubebuilder:skipversion" || (m.name == "kubebuilder:object:root" && m.value.bool_value());
    });
  }

  void Collect(const Type& type, std::set<std::string, std::less<>>& used) const {
    if (type.element != nullptr) return Collect(*type.element, used);
    const Type* under = Underlying(model_, type);
    if (under == nullptr) return;
    if (under != &type) return Collect(*under, used);
    if (type.form == TypeForm::kStruct) used.insert(type.name);
  }

  // A struct with ObjectMeta is a kind, unless it is a part of another struct (a template of objects) or says otherwise.
  void DecideRoles() {
    std::set<std::string, std::less<>> used;
    for (const Struct& s : model_.structs) {
      if (s.role == StructRole::kKindList) continue;
      for (const Field& field : s.fields) Collect(field.type, used);
    }
    for (Struct& s : model_.structs) {
      if (s.role == StructRole::kPart) continue;
      const Marker* root = s.Find("kubebuilder:object:root");
      const std::string_view wanted = s.role == StructRole::kKind ? "kube::meta::v1::ObjectMeta" : "kube::meta::v1::ListMeta";
      const bool is_meta = std::any_of(s.fields.begin(), s.fields.end(), [&](const Field& f) {
        const Type* under = Underlying(model_, f.type);
        return f.json == "metadata" && under != nullptr && under->name == wanted;
      });
      if (!is_meta || (root != nullptr && !root->value.bool_value()) || model_.FileOf(s).skip) {
        s.role = StructRole::kPart;
      } else if (s.role == StructRole::kKind && used.contains(s.qualified) && !HasKindMarkers(s)) {
        s.role = StructRole::kPart;
      }
    }
  }

  Model& model_;
  BuiltinTypes& builtins_;
  Problems& problems_;
};

}  // namespace

const Type* Underlying(const Model& model, const Type& type) {
  const Type* at = &type;
  for (int i = 0; i < kMostAliases; ++i) {
    if (at->form != TypeForm::kAlias) return at;
    const Alias* alias = model.FindAlias(at->name);
    if (alias == nullptr) return at;
    at = &alias->type;
  }
  return nullptr;
}

void ResolveTypes(Model& model, BuiltinTypes& builtins, Problems& problems) { Resolver(model, builtins, problems).Run(); }

}  // namespace kube::generate
