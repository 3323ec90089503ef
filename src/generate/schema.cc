#include "generate/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generate/resolve.h"

namespace kube::generate {
namespace {

// Beyond any CRD that a server takes (1.5 MB). Structs that hold the next one twice double the schema with each level.
constexpr std::size_t kMostNodes = 100'000;
constexpr std::size_t kMostDepth = 100;

constexpr const char* kQuantityPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

Value IntOrStringSchema() {
  Value out = Value::Object();
  out["anyOf"] = Value::Array({Value::Object({{"type", "integer"}}), Value::Object({{"type", "string"}})});
  out["x-kubernetes-int-or-string"] = true;
  return out;
}

// Types that are a reference in Go, too, so that markers of a field are joined with what they say and do not replace it.
const Value* KnownSchema(std::string_view name) {
  static const std::map<std::string, Value, std::less<>> kSchemas = [] {
    std::map<std::string, Value, std::less<>> out;
    const Value time = Value::Object({{"type", "string"}, {"format", "date-time"}});
    out["kube::Time"] = out["kube::MicroTime"] = time;
    out["kube::Duration"] = Value::Object({{"type", "string"}});
    out["kube::IntOrString"] = IntOrStringSchema();
    out["kube::Quantity"] = IntOrStringSchema();
    out["kube::Quantity"]["pattern"] = kQuantityPattern;
    out["kube::RawJson"] = Value::Object({{"x-kubernetes-preserve-unknown-fields", true}});
    return out;
  }();
  auto found = kSchemas.find(name);
  return found == kSchemas.end() ? nullptr : &found->second;
}

Value EmbeddedMetaSchema() {
  const Value text = Value::Object({{"type", "string"}});
  const Value map = Value::Object({{"type", "object"}, {"additionalProperties", text}});
  Value properties = Value::Object({{"name", text}, {"namespace", text}, {"annotations", map}, {"labels", map}});
  properties["finalizers"] = Value::Object({{"type", "array"}, {"items", text}});
  return Value::Object({{"type", "object"}, {"properties", properties}});
}

void AddRule(Value& schema, std::string rule, std::string message) {
  schema["x-kubernetes-validations"].MutableList().push_back(Value::Object({{"rule", rule}, {"message", message}}));
}

}  // namespace

// ---- References ----

Value SchemaMaker::TypeSchema(const Type& type, const Field& field) {
  auto scalar = [](const char* name, const char* format = nullptr) {
    Value out = Value::Object({{"type", name}});
    if (format != nullptr) out["format"] = format;
    return out;
  };
  switch (type.form) {
    case TypeForm::kUnresolved:
      return Value::Object();
    case TypeForm::kOptional:
    case TypeForm::kBox:
      return TypeSchema(*type.element, field);
    case TypeForm::kList:
      return Value::Object({{"type", "array"}, {"items", TypeSchema(*type.element, field)}});
    case TypeForm::kMap:
      return Value::Object({{"type", "object"}, {"additionalProperties", TypeSchema(*type.element, field)}});
    case TypeForm::kScalar:
      switch (type.scalar) {
        case Scalar::kBool:
          return scalar("boolean");
        case Scalar::kInt32:
          return scalar("integer", "int32");
        case Scalar::kInt64:
          return scalar("integer", "int64");
        case Scalar::kString:
          return scalar("string");
        case Scalar::kBytes:
          return scalar("string", "byte");
        case Scalar::kDouble:
          if (!options_.allow_dangerous_types && field.at.file != nullptr) {
            problems_.Error(type.at,
                            "double; languages read floating point numbers differently: write kube::Quantity or kube::String, or pass "
                            "--allow-dangerous-types");
          }
          return scalar("number");
        default:
          return Value::Object({{"$ref", type.Spelling()}});
      }
    case TypeForm::kStruct:
    case TypeForm::kBuiltin:
      return Value::Object({{"$ref", type.name}});
    case TypeForm::kAlias: {
      Value out = Value::Object({{"$ref", type.name}});
      // As for Go's named strings, numbers, slices and maps: the type is known before the reference is followed.
      const Type* under = Underlying(model_, type);
      if (under == nullptr) return out;
      if (under->form == TypeForm::kList) out["type"] = "array";
      if (under->form == TypeForm::kMap) out["type"] = "object";
      if (under->form == TypeForm::kScalar && KnownSchema(under->Spelling()) == nullptr) {
        const Value& schema = Expanded(type.name);
        for (const char* key : {"type", "format"}) {
          if (const Value* value = FindInParts(schema, key)) out[key] = *value;  // an alias may be one of an alias
        }
      }
      return out;
    }
  }
  return Value::Object();
}

Value SchemaMaker::NamedSchema(const std::string& name) {
  if (const Value* known = KnownSchema(name)) return *known;
  if (name == "kube::meta::v1::ObjectMeta")
    return options_.embedded_object_meta ? EmbeddedMetaSchema() : Value::Object({{"type", "object"}});
  if (const Struct* s = model_.FindStruct(name)) return StructSchema(*s);
  if (const Alias* alias = model_.FindAlias(name)) return AliasSchema(*alias);
  if (const Struct* s = builtins_.Find(name)) return StructSchema(*s);
  return Value::Object();
}

const Value& SchemaMaker::Expanded(const std::string& name) {
  if (auto done = expanded_.find(name); done != expanded_.end()) return done->second.schema;
  static const Value kNothing = Value::Object();
  if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
    const std::size_t colon = name.rfind("::");
    problems_.Error(at_,
                    fmt::format("{} contains itself, which the schema of a CRD cannot say; write kube::RawJson, or `// "
                                "+kubebuilder:validation:Schemaless` with `// +kubebuilder:pruning:PreserveUnknownFields` above the field",
                                colon == std::string::npos ? name : name.substr(colon + 2)));
    return kNothing;
  }
  if (open_.size() >= kMostDepth) {
    problems_.Error(at_, fmt::format("structs nested more than {} levels deep; write kube::RawJson for the innermost ones", kMostDepth));
    return kNothing;
  }
  const std::size_t outer_nodes = std::exchange(nodes_, 0);
  open_.push_back(name);
  Value schema = NamedSchema(name);
  Expand(schema, model_.FindStruct(name));
  open_.pop_back();
  const std::size_t nodes = std::exchange(nodes_, outer_nodes);
  // Copied and not moved: copies of what was written share their parts, by which the same part is recognised when schemas are joined.
  return expanded_.emplace(name, Named{schema, nodes}).first->second.schema;
}

void SchemaMaker::Expand(Value& schema, const Struct* owner) {
  if (!schema.is_object()) return;
  ++nodes_;
  if (const Value* ref = schema.Find("$ref")) {
    const std::string name = ref->string_value().str();
    Value field = schema;
    field.MutableObject().Erase("$ref");
    const Value& type = Expanded(name);
    if (auto known = expanded_.find(name); known != expanded_.end()) nodes_ += known->second.nodes;
    if (nodes_ > kMostNodes) {
      problems_.Error(
          at_, fmt::format("schema with more than {} fields, which no server takes; write kube::RawJson for some of them", kMostNodes));
      schema = Value::Object();
      return;
    }
    Value out = Value::Object();
    for (const char* key : {"description", "title", "externalDocs", "example"}) {
      const Value* own = field.Find(key);
      const Value* inherited = type.Find(key);
      if (own != nullptr || inherited != nullptr) out[key] = own != nullptr ? *own : *inherited;
      if (own != nullptr) field.MutableObject().Erase(key);
    }
    out["allOf"] = Value::Array({type, field});
    schema = std::move(out);
    return;
  }
  auto below = [&](const char* key) {
    if (schema.Find(key) == nullptr) return;
    Value inner = schema[key];
    Expand(inner);
    schema[key] = std::move(inner);
  };
  below("items");
  below("additionalProperties");
  if (schema.Find("properties") != nullptr) {
    Value properties = Value::Object();
    for (const auto& [name, property] : std::as_const(schema)["properties"].object()) {
      if (owner != nullptr) {
        const std::string_view json = name;
        auto field = std::find_if(owner->fields.begin(), owner->fields.end(), [&](const Field& f) { return f.json == json; });
        if (field != owner->fields.end()) at_ = field->at;
      }
      Value inner = property;
      Expand(inner);
      properties[name] = std::move(inner);
    }
    schema["properties"] = std::move(properties);
  }
  if (schema.Find("allOf") != nullptr) {
    Value all = Value::Array();
    for (const Value& part : std::as_const(schema)["allOf"].list()) {
      Value inner = part;
      Expand(inner);
      all.MutableList().push_back(std::move(inner));
    }
    schema["allOf"] = std::move(all);
  }
}

// ---- Structs and aliases ----

bool SchemaMaker::IsRequired(const Struct& s, const Field& field) {
  const Marker* optional = field.Find("kubebuilder:validation:Optional");
  const Marker* required = field.Find("kubebuilder:validation:Required");
  if (optional == nullptr) optional = field.Find("optional");
  if (optional == nullptr) optional = field.Find("k8s:optional");
  if (required == nullptr) required = field.Find("required");
  if (required == nullptr) required = field.Find("k8s:required");
  // Kubernetes' own types say both in places; Kubebuilder's words decide there, and optional before required.
  if (optional != nullptr && required != nullptr && field.at.file != nullptr) {
    problems_.Error(field.at, fmt::format("field {} is marked +{} and +{}; leave one out", field.name, optional->name, required->name));
  }
  if (optional != nullptr) return false;
  if (required != nullptr) return true;
  return field.at.file != nullptr && model_.FileOf(s).required_default && !field.inlined &&
         !(s.role == StructRole::kKind && field.json == "metadata");
}

Value SchemaMaker::FieldSchema(const Field& field) {
  Value out = Value::Object();
  if (field.Find("kubebuilder:validation:Schemaless") == nullptr) out = TypeSchema(field.type, field);
  if (!field.description.empty()) out["description"] = field.description;
  if (field.at.file != nullptr) at_ = field.at;
  Apply(field.markers, out, nullptr);
  return out;
}

void SchemaMaker::AddOneOfChecks(const Struct& s) {
  for (const Marker& marker : s.markers) {
    if (!marker.name.ends_with("OneOf")) continue;
    if (marker.value.list().empty())
      problems_.Error(marker.at, fmt::format("marker +{}: no fields; write +{}=a;b", marker.name, marker.name));
    for (const Value& name : marker.value.list()) {
      auto field = std::find_if(s.fields.begin(), s.fields.end(), [&](const Field& f) { return f.json == name.string_value().view(); });
      if (field == s.fields.end()) {
        // Fields of inlined structs count, but are unknown here without their schema, so only plain structs are checked.
        if (std::none_of(s.fields.begin(), s.fields.end(), [](const Field& f) { return f.inlined; })) {
          problems_.Error(marker.at, fmt::format("marker +{}: {} has no field {}", marker.name, s.name, name.string_value().view()));
        }
      } else if (IsRequired(s, *field)) {
        problems_.Error(marker.at,
                        fmt::format("marker +{}: field {} is required, so it cannot be one of several", marker.name, field->json));
      }
    }
  }
}

Value SchemaMaker::StructSchema(const Struct& s) {
  Value out = Value::Object({{"type", "object"}});
  Value properties = Value::Object(), all = Value::Array();
  std::vector<std::string> required, immutable;
  for (const Field& field : s.fields) {
    Value schema = FieldSchema(field);
    if (field.inlined) {
      all.MutableList().push_back(std::move(schema));
      continue;
    }
    const bool needed = IsRequired(s, field);
    if (needed) required.push_back(field.json);
    if (!needed && field.Find("k8s:immutable") != nullptr) immutable.push_back(field.json);
    properties[field.json] = std::move(schema);
  }
  if (!properties.object().empty()) out["properties"] = std::move(properties);
  if (!all.list().empty()) out["allOf"] = std::move(all);
  std::sort(required.begin(), required.end());
  for (const std::string& name : required) out["required"].MutableList().push_back(Value(name));
  // The rule of the field does not run when the field is removed; this one does.
  for (const std::string& name : immutable) {
    AddRule(out, fmt::format("!has(oldSelf.{0}) || has(self.{0})", name), fmt::format("field {} is immutable once set", name));
  }
  if (!s.description.empty()) out["description"] = s.description;
  if (s.at.file != nullptr) at_ = s.at;
  AddOneOfChecks(s);
  Apply(s.markers, out, nullptr);
  return out;
}

Value SchemaMaker::AliasSchema(const Alias& alias) {
  Field field;
  field.at = alias.at;
  Value out = TypeSchema(alias.type, field);
  if (!alias.description.empty()) out["description"] = alias.description;
  at_ = alias.at;
  Apply(alias.markers, out, &alias);
  return out;
}

Value SchemaMaker::WholeSchema(const std::string& qualified) {
  Value schema = Expanded(qualified);
  FlattenAllOf(schema, at_, problems_);
  return schema;
}

Value SchemaMaker::KindSchema(const Struct& kind) {
  at_ = kind.at;
  Value schema = Expanded(kind.qualified);
  FlattenAllOf(schema, kind.at, problems_);
  const Value text = Value::Object({{"type", "string"}});
  schema["properties"]["apiVersion"] = text;
  schema["properties"]["kind"] = text;
  Value metadata = Value::Object({{"type", "object"}});
  // A schema may restrict the name.
  for (const Field& field : kind.fields) {
    const Marker* keys = field.json == "metadata" ? field.Find("kube:schema") : nullptr;
    if (keys == nullptr) continue;
    for (const auto& [key, value] : keys->value.object()) metadata[key] = value;
  }
  schema["properties"]["metadata"] = std::move(metadata);
  if (options_.max_description) TruncateDescriptions(schema, *options_.max_description);
  return schema;
}

}  // namespace kube::generate
