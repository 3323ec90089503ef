#include "generate/schema_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "apiserver/json_schema.h"
#include "generate/marker_writer.h"
#include "generate/markers.h"
#include "generate/names.h"
#include "generate/schema.h"
#include "generate/struct_size.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

constexpr std::size_t kMostErrors = 50;

constexpr const char* kQuantityPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

Type ScalarType(Scalar scalar) { return {.form = TypeForm::kScalar, .scalar = scalar, .name = {}, .element = {}, .at = {}}; }
Type NamedType(TypeForm form, std::string name) {
  return {.form = form, .scalar = Scalar::kBool, .name = std::move(name), .element = {}, .at = {}};
}
Type Wrap(TypeForm form, Type inner) {
  return {.form = form, .scalar = Scalar::kBool, .name = {}, .element = std::make_shared<const Type>(std::move(inner)), .at = {}};
}
Marker MakeMarker(std::string name, Value value = {}) {
  return {.name = std::move(name), .items = false, .value = std::move(value), .arguments = {}, .at = {}};
}
Marker MakeNamed(std::string name, Value arguments) {
  return {.name = std::move(name), .items = false, .value = {}, .arguments = std::move(arguments), .at = {}};
}

std::string TextOf(const Value& schema, std::string_view key) { return schema[key].string_value().str(); }

// The type's name in Go, with which its documentation begins: "RouteMatch defines ...". Empty if it does not look so.
std::string TypeNameIn(std::string_view description) {
  static constexpr std::string_view kVerbs[] = {"allows",     "are",        "configures", "contains",  "defines", "describes",
                                                "has",        "holds",      "identifies", "indicates", "is",      "provides",
                                                "references", "represents", "selects",    "specifies"};
  static constexpr std::string_view kOthers[] = {"Each", "Here", "That", "There", "These", "This", "Which", "What"};
  const std::string_view name = description.substr(0, description.find(' '));
  std::string_view rest = description.substr(std::min(description.size(), name.size() + 1));
  rest = rest.substr(0, rest.find_first_of(" \n"));
  const auto among = [](const auto& words, std::string_view word) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
  };
  const bool letters = std::all_of(name.begin(), name.end(),
                                   [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
  const bool fits = name.size() > 3 && name[0] >= 'A' && name[0] <= 'Z' && letters && !among(kOthers, name) && among(kVerbs, rest);
  return fits ? std::string(name) : "";
}

// The name that a schema has from a front end, or from its documentation.
std::string HintOf(const Value& schema, bool element) {
  const std::string name = TextOf(schema, kTypeNameKey);
  return name.empty() && element ? TypeNameIn(TextOf(schema, "description")) : TypeNamePart(name);
}

// Lists of lists of lists ... are given names now and then: a type that is written out has a limit.
bool IsDeep(const Type& type) {
  constexpr int kDeep = 8;
  int depth = 0;
  for (const Type* at = &type; at->element != nullptr; at = at->element.get()) ++depth;
  return depth >= kDeep;
}

// What a schema says itself, without what is below it. False and an empty list say as much as nothing.
Value OwnKeys(const Value& schema) {
  Value out = Value::Object();
  for (const auto& [name, value] : schema.object()) {
    const std::string_view key = name;
    const bool empty = value == Value(false) || (value.is_list() && value.list().empty());
    const bool data = key == "default" || key == "example";
    if (empty && !data && key != "x-kubernetes-preserve-unknown-fields") continue;
    // OpenAPI documents have 65535.0 for the 65535 of a schema.
    if (const double number = value.double_value(); !data && value.is_double() && number == std::trunc(number) && std::abs(number) < 9e15) {
      out[key] = static_cast<std::int64_t>(number);
      continue;
    }
    if (key != "properties" && key != "items" && key != "additionalProperties" && key != "description" && key != kTypeNameKey)
      out[key] = value;
  }
  return out;
}

bool IsIntegerOrString(const Value& any) {
  return any == Value::Array({Value::Object({{"type", "integer"}}), Value::Object({{"type", "string"}})});
}

bool IsEmpty(const Value& value) {
  return value.is_null() || (value.is_list() && value.list().empty()) || (value.is_object() && value.object().empty());
}

// Whether the schema allows the value of a C++ scalar that was never set.
bool ZeroIsValid(const Value& schema) {
  const std::string type = TextOf(schema, "type");
  const bool text = type == "string" || schema["x-kubernetes-int-or-string"].bool_value();
  if (const Value* values = schema.Find("enum")) {
    const Value zero = type == "string" ? Value("") : type == "boolean" ? Value(false) : Value(0);
    if (std::find(values->list().begin(), values->list().end(), zero) == values->list().end()) return false;
  }
  if (text && type == "string") {
    if (schema["minLength"].int_value() > 0) return false;
    const Value* pattern = schema.Find("pattern");
    return pattern == nullptr || apiserver::Pattern(pattern->string_value()).Matches("");
  }
  if (type != "integer" && type != "number") return true;
  const Value *least = schema.Find("minimum"), *most = schema.Find("maximum");
  if (least != nullptr && (least->double_value() > 0 || (least->double_value() == 0 && schema["exclusiveMinimum"].bool_value())))
    return false;
  return most == nullptr || !(most->double_value() < 0 || (most->double_value() == 0 && schema["exclusiveMaximum"].bool_value()));
}

// Whether the reader of rules would take it as it is.
bool IsPlainRule(const Value& rule) {
  static constexpr std::string_view kTexts[] = {"rule", "message", "messageExpression", "reason", "fieldPath"};
  static constexpr std::string_view kReasons[] = {"FieldValueRequired", "FieldValueInvalid", "FieldValueForbidden", "FieldValueDuplicate"};
  if (!rule.is_object() || rule.Find("rule") == nullptr) return false;
  for (const auto& [name, value] : rule.object()) {
    const std::string_view key = name;
    if (key == "optionalOldSelf" && value.is_bool()) continue;
    if (std::find(std::begin(kTexts), std::end(kTexts), key) == std::end(kTexts) || value.string_value().empty()) return false;
    if (key == "reason" && std::find(std::begin(kReasons), std::end(kReasons), value.string_value().view()) == std::end(kReasons))
      return false;
  }
  return true;
}

// What +required above the fields says. Its order does not matter; names of other things than fields are left to +kube:schema.
void SetRequired(const Value& schema, Value& own, Value& made) {
  std::set<std::string> all, fields;
  for (const Value& name : schema["required"].list()) {
    all.insert(name.string_value().str());
    if (schema["properties"].Find(name.string_value()) != nullptr) fields.insert(name.string_value().str());
  }
  const auto list = [](const std::set<std::string>& names) {
    Value out = Value::Array();
    for (const std::string& name : names) out.MutableList().push_back(Value(name));
    return out;
  };
  if (!all.empty() && all.size() == schema["required"].list().size()) own["required"] = list(all);
  if (!fields.empty()) made["required"] = list(fields);
}

// The types of schemas that a key belongs to.
enum Needs : unsigned { kAnything = 0, kNumber = 1, kText = 2, kArray = 4, kObject = 8 };
struct Simple {
  std::string_view key, marker;
  unsigned needs;
};
// In the order in which people write them.
constexpr Simple kSimple[] = {
    {"enum", "kubebuilder:validation:Enum", kAnything},
    {"minLength", "kubebuilder:validation:MinLength", kText},
    {"maxLength", "kubebuilder:validation:MaxLength", kText},
    {"pattern", "kubebuilder:validation:Pattern", kText},
    {"minimum", "kubebuilder:validation:Minimum", kNumber},
    {"exclusiveMinimum", "kubebuilder:validation:ExclusiveMinimum", kNumber},
    {"maximum", "kubebuilder:validation:Maximum", kNumber},
    {"exclusiveMaximum", "kubebuilder:validation:ExclusiveMaximum", kNumber},
    {"multipleOf", "kubebuilder:validation:MultipleOf", kNumber},
    {"minItems", "kubebuilder:validation:MinItems", kArray},
    {"maxItems", "kubebuilder:validation:MaxItems", kArray},
    {"uniqueItems", "kubebuilder:validation:UniqueItems", kArray},
    {"minProperties", "kubebuilder:validation:MinProperties", kObject},
    {"maxProperties", "kubebuilder:validation:MaxProperties", kObject},
    {"title", "kubebuilder:title", kAnything},
};

// Markers with a line each, and `made` with what they say.
class MarkerMaker {
 public:
  MarkerMaker(const Value& own, Value& made, bool element, std::vector<Marker>& out)
      : own_(own), made_(made), element_(element), out_(out) {}

  void Run() {
    Types();
    Lists();
    for (const Simple& simple : kSimple) {
      const Value* value = own_.Find(simple.key);
      if (value == nullptr || Made(simple.key) || !Fits(simple.needs, *value)) continue;
      if (value->is_bool() && !value->bool_value()) continue;
      if ((simple.key == "title" || simple.key == "pattern") && value->string_value().empty()) continue;
      Add(MakeMarker(std::string(simple.marker), *value), simple.key);
    }
    Flags();
    OfFields();
    Rules();
    Rest();
  }

 private:
  bool Made(std::string_view key) const {
    const Value *own = own_.Find(key), *made = made_.Find(key);
    return own != nullptr && made != nullptr && own->kind() == made->kind() && *own == *made;
  }
  bool Fits(unsigned needs, const Value& value) const {
    const std::string type = TextOf(own_, "type");
    switch (needs) {
      case kNumber:
        return (type == "integer" && (value.is_int() || value.is_bool())) || (type == "number" && (value.is_number() || value.is_bool()));
      case kText:
        return (value.is_int() || value.is_string()) && (type == "string" || own_["x-kubernetes-int-or-string"].bool_value());
      case kArray:
        return type == "array" && (value.is_int() || value.is_bool());
      case kObject:
        return type == "object" && value.is_int();
      default:
        return true;
    }
  }
  // False if the marker cannot be written.
  bool Add(Marker marker, std::string_view key) {
    if (!WriteMarker(marker)) return false;
    out_.push_back(std::move(marker));
    made_[key] = own_[key];
    return true;
  }

  void Types() {
    static constexpr std::string_view kTypes[] = {"string", "integer", "number", "boolean", "object", "array"};
    const std::string type = TextOf(own_, "type");
    if (!Made("type") && std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes))
      Add(MakeMarker("kubebuilder:validation:Type", type), "type");
    if (Made("format")) return;
    if (own_.Find("format") != nullptr && own_["format"].is_string() && !own_["format"].string_value().empty()) {
      Add(MakeMarker("kubebuilder:validation:Format", own_["format"]), "format");
    } else if (own_.Find("format") == nullptr && made_.Find("format") != nullptr) {
      out_.push_back(MakeMarker("kubebuilder:validation:Format", ""));
      made_.MutableObject().Erase("format");
    }
  }

  void Lists() {
    if (const Value& type = own_["x-kubernetes-list-type"];
        TextOf(own_, "type") == "array" && (type == Value("atomic") || type == Value("set") || type == Value("map"))) {
      Add(MakeMarker("listType", type), "x-kubernetes-list-type");
      const Value& keys = own_["x-kubernetes-list-map-keys"];
      std::set<std::string> seen;
      const bool plain = std::all_of(keys.list().begin(), keys.list().end(), [&](const Value& key) {
        return !key.string_value().empty() && seen.insert(key.string_value().str()).second;
      });
      if (type == Value("map") && plain && !keys.list().empty()) {
        for (const Value& key : keys.list()) out_.push_back(MakeMarker("listMapKey", key));
        made_["x-kubernetes-list-map-keys"] = keys;
      }
    }
    if (const Value& type = own_["x-kubernetes-map-type"];
        !Made("x-kubernetes-map-type") && TextOf(own_, "type") == "object" && (type == Value("atomic") || type == Value("granular"))) {
      Add(MakeMarker(made_.Find("additionalProperties") != nullptr ? "mapType" : "structType", type), "x-kubernetes-map-type");
    }
  }

  void Flags() {
    const auto flag = [&](std::string_view key, std::string_view marker) {
      if (!Made(key) && own_[key] == Value(true)) Add(MakeMarker(std::string(marker)), key);
    };
    flag("x-kubernetes-preserve-unknown-fields", "kubebuilder:pruning:PreserveUnknownFields");
    flag("x-kubernetes-embedded-resource",
         element_ ? "kubebuilder:validation:XEmbeddedResource" : "kubebuilder:validation:EmbeddedResource");
    flag("x-kubernetes-int-or-string", "kubebuilder:validation:XIntOrString");
    if (const Value& docs = own_["externalDocs"]; docs["url"].is_string() && docs.is_object())
      Add(MakeNamed("kubebuilder:externalDocs", docs), "externalDocs");
  }

  void OfFields() {
    if (element_) return;
    if (own_["nullable"] == Value(true)) Add(MakeMarker("nullable"), "nullable");
    // {} as the default of a list would read as [].
    if (const Value* value = own_.Find("default")) Add(MakeMarker("kubebuilder:default", *value), "default");
    if (const Value* value = own_.Find("example")) Add(MakeMarker("kubebuilder:example", *value), "example");
  }

  void Rules() {
    const Value* rules = own_.Find("x-kubernetes-validations");
    if (rules == nullptr || rules->list().empty() || !std::all_of(rules->list().begin(), rules->list().end(), IsPlainRule)) return;
    std::vector<Marker> markers;
    for (const Value& rule : rules->list()) markers.push_back(MakeNamed("kubebuilder:validation:XValidation", rule));
    if (!std::all_of(markers.begin(), markers.end(), [](const Marker& m) { return WriteMarker(m).has_value(); })) return;
    out_.insert(out_.end(), markers.begin(), markers.end());
    made_["x-kubernetes-validations"] = *rules;
  }

  // What is not said yet, or was said and should not be.
  void Rest() {
    Value keys = Value::Object();
    for (const auto& [key, value] : own_.object()) {
      if (!Made(key)) keys[key] = value;
    }
    for (const auto& [key, value] : made_.object()) {
      if (own_.Find(key) == nullptr && key != "additionalProperties") keys[key] = Value();
    }
    if (const Value* maps = made_.Find("additionalProperties"); maps != nullptr && maps->is_bool()) keys["additionalProperties"] = *maps;
    if (!keys.object().empty()) out_.push_back(MakeMarker("kube:schema", keys));
  }

  const Value& own_;
  Value& made_;
  const bool element_;
  std::vector<Marker>& out_;
};

}  // namespace

void SchemaReader::AddMarkers(const Value& own, Value made, bool element, std::vector<Marker>& out) {
  MarkerMaker(own, made, element, out).Run();
}

// ---- Scalars ----

SchemaReader::Read SchemaReader::ReadScalar(const Value& own, bool element) {
  const std::string type = TextOf(own, "type"), format = TextOf(own, "format");
  Read out;
  Value made = Value::Object({{"type", type}});
  const auto is = [&](Scalar scalar, const char* its_format = nullptr) {
    out.type = ScalarType(scalar);
    out.bytes = BytesOf(scalar);
    if (its_format != nullptr) made["format"] = its_format;
  };
  const bool mixed = own["x-kubernetes-int-or-string"] == Value(true) && (type.empty() || own.Find("type") == nullptr);
  if (mixed) {
    made = Value::Object({{"x-kubernetes-int-or-string", true}});
    made["anyOf"] = Value::Array({Value::Object({{"type", "integer"}}), Value::Object({{"type", "string"}})});
    if (TextOf(own, "pattern") == kQuantityPattern && IsIntegerOrString(own["anyOf"])) {
      is(Scalar::kQuantity);
      made["pattern"] = kQuantityPattern;
    } else {
      is(Scalar::kIntOrString);
    }
  } else if (type == "boolean") {
    is(Scalar::kBool);
  } else if (type == "integer") {
    if (format == "int32") {
      is(Scalar::kInt32, "int32");
    } else {
      is(Scalar::kInt64, "int64");
    }
  } else if (type == "number") {
    is(Scalar::kDouble);
    reading_.has_doubles = true;
  } else if (type == "string" && format == "date-time") {
    is(Scalar::kTime, "date-time");
    out.category = Category::kUnset;
  } else if (type == "string" && format == "byte") {
    is(Scalar::kBytes, "byte");
  } else if (type == "string") {
    is(Scalar::kString);
    ReadEnum(own, element, out, made);
  } else {
    is(Scalar::kRawJson);
    out.category = Category::kUnset;
    made = Value::Object({{"x-kubernetes-preserve-unknown-fields", true}});
    if (own["x-kubernetes-preserve-unknown-fields"] != Value(true) && !element) {
      made = Value::Object();
      out.markers.push_back(MakeMarker("kubebuilder:validation:Schemaless"));
    }
  }
  AddMarkers(own, std::move(made), element, out.markers);
  return out;
}

// The values as constants of an alias. In an element the alias has all the rest of the schema, too, and is made with it.
void SchemaReader::ReadEnum(const Value& own, bool element, Read& out, Value& made) {
  const Value& values = own["enum"];
  Alias alias;
  std::set<std::string> seen;
  for (const Value& value : values.list()) {
    if (!value.is_string()) return;
    if (seen.insert(value.string_value().str()).second) alias.constants.push_back(value.string_value().str());
  }
  if (alias.constants.empty()) return;
  alias.type = ScalarType(Scalar::kString);
  Marker all = MakeMarker("kubebuilder:validation:Enum", values);
  const bool sorted =
      values.list().size() == seen.size() && std::is_sorted(alias.constants.begin(), alias.constants.end(), &StandsBeforeInEnum);
  if (!sorted && !WriteMarker(all)) return;
  alias.markers.push_back(sorted ? MakeMarker("k8s:enum") : std::move(all));
  made["enum"] = values;
  if (!element) {
    out.type = NamedType(TypeForm::kAlias, pool_.AddAlias(std::move(alias), description_, Place(hint_)));
    return;
  }
  Value rest = made;
  AddMarkers(own, std::move(rest), true, alias.markers);
  out.type = NamedType(TypeForm::kAlias, pool_.AddAlias(std::move(alias), description_, Place(hint_)));
  for (const auto& [key, value] : own.object()) made[key] = value;
  out.takes_description = false;  // it has it
}

// ---- Structs, lists, maps ----

bool SchemaReader::ReadBuiltin(const Value& schema, bool element, Read& out) {
  BuiltinMatcher::Match match = matcher_.Find(schema);
  if (match.name.empty()) return false;
  reading_.builtins.insert(prefix_ + ToString(path_));
  out.type = NamedType(TypeForm::kBuiltin, std::move(match.name));
  out.category = Category::kStruct;
  out.bytes = kBuiltinStruct;
  out.takes_description = !element;
  // What its schema says is said; a subset has fewer fields, and so fewer required ones.
  Value made = OwnKeys(match.schema), own = OwnKeys(schema);
  made.MutableObject().Erase("required");
  own.MutableObject().Erase("required");
  AddMarkers(own, std::move(made), element, out.markers);
  return true;
}

SchemaReader::Read SchemaReader::ReadStruct(const Value& schema, bool element) {
  Read out;
  if (ReadBuiltin(schema, element, out)) return out;
  const std::optional<std::string> description = description_;
  const std::string hint(hint_);
  Struct s;
  out.bytes = kHandle;
  s.fields = ReadFields(schema, false, out.bytes);
  Value own = OwnKeys(schema), made = Value::Object({{"type", "object"}});
  // What only fields can say is said above the field, and everything else above the struct.
  Value of_field = Value::Object();
  if (!element) {
    for (const char* key : {"default", "nullable", "example"}) {
      if (const Value* value = own.Find(key)) {
        of_field[key] = *value;
        own.MutableObject().Erase(key);
      }
    }
  }
  SetRequired(schema, own, made);
  if (const Value* more = schema.Find("additionalProperties")) own["additionalProperties"] = *more;
  AddMarkers(own, std::move(made), true, s.markers);
  AddMarkers(of_field, Value::Object(), element, out.markers);
  out.type = NamedType(TypeForm::kStruct, pool_.AddStruct(std::move(s), out.bytes, description, Place(hint)));
  out.category = Category::kStruct;
  out.takes_description = !element;
  return out;
}

SchemaReader::Read SchemaReader::ReadSchema(const Value& schema, bool element) {
  if (!schema.is_object()) {
    Error("expected a schema, which is an object");
    return {.type = ScalarType(Scalar::kRawJson), .category = Category::kUnset, .markers = {}};
  }
  if (schema.Find("$ref") != nullptr) {
    Error("$ref is not allowed in the schema of a CRD; for an OpenAPI document pass --from-openapi");
    return {.type = ScalarType(Scalar::kRawJson), .category = Category::kUnset, .markers = {}};
  }
  const Value own = OwnKeys(schema);
  const std::string type = TextOf(schema, "type");
  const Value *items = schema.Find("items"), *more = schema.Find("additionalProperties");
  const bool has_properties = !schema["properties"].object().empty();
  const bool preserves = schema["x-kubernetes-preserve-unknown-fields"] == Value(true);
  if ((type == "object" || own.Find("type") == nullptr) && has_properties) return ReadStruct(schema, element);
  if (type == "array" && items != nullptr && items->is_object()) {
    Read out{.type = {}, .category = Category::kContainer, .markers = {}};
    std::vector<Marker> of_items;
    const auto outer = std::exchange(description_, std::nullopt);
    out.type = Wrap(TypeForm::kList, ReadElement(*items, element ? nullptr : &of_items));
    description_ = outer;
    AddMarkers(own, Value::Object({{"type", "array"}}), element, out.markers);
    out.markers.insert(out.markers.end(), of_items.begin(), of_items.end());
    return out;
  }
  if (type == "object" && more != nullptr && (more->is_object() || *more == Value(true))) {
    Read out{.type = {}, .category = Category::kContainer, .markers = {}};
    Value made = Value::Object({{"type", "object"}, {"additionalProperties", Value::Object()}});
    if (more->is_object()) {
      const auto outer = std::exchange(description_, std::nullopt);
      out.type = Wrap(TypeForm::kMap, ReadElement(*more, nullptr));
      description_ = outer;
    } else {
      out.type = Wrap(TypeForm::kMap, ScalarType(Scalar::kRawJson));
      made["additionalProperties"] = true;
    }
    AddMarkers(own, std::move(made), element, out.markers);
    return out;
  }
  if (type == "object" && !preserves && more == nullptr && !own["x-kubernetes-embedded-resource"].bool_value()) {
    if (!path_.empty() && path_.back().name == "metadata") {
      Read out{.type = NamedType(TypeForm::kBuiltin, "kube::meta::v1::ObjectMeta"), .category = Category::kStruct, .markers = {}};
      out.bytes = 200;
      AddMarkers(own, Value::Object({{"type", "object"}}), element, out.markers);
      return out;
    }
    return ReadStruct(schema, element);
  }
  // Keys that belong to other types than the schema has.
  Value all = own;
  for (const char* key : {"properties", "items", "additionalProperties"}) {
    if (const Value* value = schema.Find(key)) all[key] = *value;
  }
  return ReadScalar(all, element);
}

Type SchemaReader::ReadElement(const Value& schema, std::vector<Marker>* items) {
  path_.push_back({"", true});
  description_ = TextOf(schema, "description");
  const std::string hint = std::exchange(hint_, HintOf(schema, true));
  const std::string text = *description_, own_hint = hint_;
  Read read = ReadSchema(schema, true);
  hint_ = hint;
  description_ = std::nullopt;
  const bool described = read.takes_description && !text.empty();
  const bool simple = std::all_of(read.markers.begin(), read.markers.end(), [](const Marker& m) {
    const MarkerDefinition* definition = FindMarker(m.name);
    return definition != nullptr && definition->items;
  });
  if (items != nullptr && simple && !described && read.category != Category::kStruct && read.category != Category::kContainer) {
    for (Marker& marker : read.markers) {
      marker.items = true;
      items->push_back(std::move(marker));
    }
  } else if (!read.markers.empty() || described || IsDeep(read.type)) {
    Alias alias;
    alias.type = read.type;
    alias.markers = std::move(read.markers);
    read.type = NamedType(TypeForm::kAlias, pool_.AddAlias(std::move(alias), text, Place(own_hint)));
  }
  path_.pop_back();
  return read.type;
}

// ---- Fields ----

Field SchemaReader::ReadField(const std::string& json, const Value& schema, bool required, bool of_kind) {
  Field out;
  out.json = json;
  out.description = TextOf(schema, "description");
  description_ = out.description.empty() ? std::optional<std::string>("") : std::nullopt;
  hint_ = HintOf(schema, false);
  Read read = ReadSchema(schema, false);
  if (required) out.markers.push_back(MakeMarker("required"));
  out.markers.insert(out.markers.end(), std::make_move_iterator(read.markers.begin()), std::make_move_iterator(read.markers.end()));
  const bool has_default = schema.Find("default") != nullptr && !IsEmpty(schema["default"]);
  bytes_ = read.bytes;
  switch (read.category) {
    case Category::kUnset:
      break;
    case Category::kScalar:
      if (!required && (has_default || ZeroIsValid(schema))) read.type = Wrap(TypeForm::kOptional, std::move(read.type));
      break;
    case Category::kContainer:
      // Without a default an empty list is as good as none.
      if (!required && has_default && schema["minItems"].int_value() < 1 && schema["minProperties"].int_value() < 1)
        read.type = Wrap(TypeForm::kBox, std::move(read.type));
      break;
    case Category::kStruct:
      if (!of_kind && (!required || read.bytes > kLargeStruct)) {
        read.type = Wrap(TypeForm::kBox, std::move(read.type));
        bytes_ = kHandle;
      }
      break;
  }
  out.type = std::move(read.type);
  return out;
}

std::vector<Field> SchemaReader::ReadFields(const Value& schema, bool of_kind, std::size_t& bytes) {
  std::set<std::string_view> required;
  for (const Value& name : schema["required"].list()) required.insert(name.string_value().view());
  std::vector<Field> out;
  for (const auto& [name, property] : schema["properties"].object()) {
    if (of_kind && (name == "apiVersion" || name == "kind" || name == "metadata")) continue;
    path_.push_back({name.str(), false});
    if (name.empty()) {
      Error("a property without a name, which no field can have");
    } else if (errors_.size() < kMostErrors) {
      out.push_back(ReadField(name.str(), property, required.contains(name.view()), of_kind));
      bytes += bytes_;
    }
    path_.pop_back();
  }
  // Spec before status; elsewhere the order of the alphabet, since that of the schema is not known.
  if (of_kind) {
    const auto rank = [](const Field& f) { return f.json == "spec" ? 0 : f.json == "status" ? 2 : 1; };
    std::stable_sort(out.begin(), out.end(), [&](const Field& a, const Field& b) { return rank(a) < rank(b); });
  }
  // Names of C++ that no other member would have.
  std::map<std::string, std::size_t> wanted;
  for (const Field& field : out) ++wanted[MemberName(field.json)];
  std::set<std::string> taken = of_kind ? std::set<std::string>{"metadata"} : std::set<std::string>{};
  for (Field& field : out) {
    const std::string name = MemberName(field.json);
    field.name = name;
    // The one that needs no marker for its JSON name keeps it.
    const bool natural = LowerCamel(name) == field.json;
    for (int i = 2; (wanted[name] > 1 && !natural && field.name == name) || taken.contains(field.name) ||
                    (field.name != name && wanted.contains(field.name));
         ++i) {
      field.name = fmt::format("{}_{}", name, i);
    }
    taken.insert(field.name);
  }
  return out;
}

Struct SchemaReader::ReadKind(const Value& schema) {
  Struct out;
  std::size_t bytes = 0;
  out.fields = ReadFields(schema, true, bytes);
  Value own = OwnKeys(schema), made = Value::Object({{"type", "object"}});
  own["type"] = "object";
  Value fields = schema;
  for (const char* key : {"apiVersion", "kind"}) fields["properties"].MutableObject().Erase(key);
  fields["properties"]["metadata"];
  SetRequired(fields, own, made);
  AddMarkers(own, std::move(made), true, out.markers);
  out.description = TextOf(schema, "description");
  Field metadata;
  metadata.name = metadata.json = "metadata";
  metadata.type = NamedType(TypeForm::kBuiltin, "kube::meta::v1::ObjectMeta");
  for (const Value& name : schema["required"].list()) {
    if (name.string_value() == "metadata") metadata.markers.push_back(MakeMarker("required"));
  }
  // Restrictions of its name.
  Value keys = schema["properties"]["metadata"];
  if (keys.is_object()) {
    for (const char* key : {"type", "description"}) keys.MutableObject().Erase(key);
    if (!keys.object().empty()) metadata.markers.push_back(MakeMarker("kube:schema", keys));
  }
  out.fields.insert(out.fields.begin(), std::move(metadata));
  return out;
}

}  // namespace kube::generate
