#include "apiserver/openapi_protobuf.h"

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "kube/codec/yaml.h"

namespace kube::apiserver {
namespace {

class Writer {
 public:
  void Number(std::uint32_t field, std::uint64_t value) {
    Varint(field << 3);
    Varint(value);
  }
  void Double(std::uint32_t field, double value) {
    Varint(field << 3 | 1);
    std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  void Bytes(std::uint32_t field, std::string_view bytes) {
    Varint(field << 3 | 2);
    Varint(bytes.size());
    out_ += bytes;
  }
  void Text(std::uint32_t field, const Value& value) {
    if (value.is_string() && !value.string_value().empty()) Bytes(field, value.string_value());
  }
  void Flag(std::uint32_t field, const Value& value) {
    if (value.bool_value()) Number(field, 1);
  }
  std::string Take() { return std::move(out_); }

 private:
  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  std::string out_;
};

// Members that a message has as they are: texts, flags, numbers.
enum class Kind { kText, kFlag, kInteger, kDouble, kTexts, kAny, kAnys };
struct Member {
  const char* name;
  std::uint32_t field;
  Kind kind;
};

// Anything goes as YAML.
std::string AnyOf(const Value& value) {
  Writer out;
  out.Bytes(2, ToYaml(value));
  return out.Take();
}

void Plain(Writer& out, const Value& object, std::span<const Member> members) {
  for (const Member& m : members) {
    const Value* value = object.Find(m.name);
    if (value == nullptr) continue;
    switch (m.kind) {
      case Kind::kText:
        out.Text(m.field, *value);
        break;
      case Kind::kFlag:
        out.Flag(m.field, *value);
        break;
      case Kind::kInteger:
        if (value->int_value() != 0) out.Number(m.field, static_cast<std::uint64_t>(value->int_value()));
        break;
      case Kind::kDouble:
        out.Double(m.field, value->is_int() ? static_cast<double>(value->int_value()) : value->double_value());
        break;
      case Kind::kTexts:
        for (const Value& item : value->list()) out.Bytes(m.field, item.string_value());
        break;
      case Kind::kAny:
        out.Bytes(m.field, AnyOf(*value));
        break;
      case Kind::kAnys:
        for (const Value& item : value->list()) out.Bytes(m.field, AnyOf(item));
        break;
    }
  }
}

std::string Named(std::string_view name, const std::string& value) {
  Writer out;
  out.Bytes(1, name);
  out.Bytes(2, value);
  return out.Take();
}

void Extensions(Writer& out, std::uint32_t field, const Value& object) {
  for (const auto& [name, value] : object.object()) {
    if (name.view().starts_with("x-")) out.Bytes(field, Named(name, AnyOf(value)));
  }
}

std::string Wrapped(std::uint32_t field, const std::string& message) {
  Writer out;
  out.Bytes(field, message);
  return out.Take();
}

// A message whose only field is a list of named ones.
template <typename Make>
std::string Map(const Value& object, std::uint32_t field, const Make& make) {
  Writer out;
  for (const auto& [name, value] : object.object()) out.Bytes(field, Named(name, make(value)));
  return out.Take();
}

std::string SchemaOf(const Value& schema) {
  static constexpr Member kMembers[] = {{"$ref", 1, Kind::kText},
                                        {"format", 2, Kind::kText},
                                        {"title", 3, Kind::kText},
                                        {"description", 4, Kind::kText},
                                        {"default", 5, Kind::kAny},
                                        {"multipleOf", 6, Kind::kDouble},
                                        {"maximum", 7, Kind::kDouble},
                                        {"exclusiveMaximum", 8, Kind::kFlag},
                                        {"minimum", 9, Kind::kDouble},
                                        {"exclusiveMinimum", 10, Kind::kFlag},
                                        {"maxLength", 11, Kind::kInteger},
                                        {"minLength", 12, Kind::kInteger},
                                        {"pattern", 13, Kind::kText},
                                        {"maxItems", 14, Kind::kInteger},
                                        {"minItems", 15, Kind::kInteger},
                                        {"uniqueItems", 16, Kind::kFlag},
                                        {"maxProperties", 17, Kind::kInteger},
                                        {"minProperties", 18, Kind::kInteger},
                                        {"required", 19, Kind::kTexts},
                                        {"enum", 20, Kind::kAnys},
                                        {"discriminator", 26, Kind::kText},
                                        {"readOnly", 27, Kind::kFlag},
                                        {"example", 30, Kind::kAny}};
  Writer out;
  Plain(out, schema, kMembers);
  if (const Value* additional = schema.Find("additionalProperties")) {
    Writer item;
    if (additional->is_object()) {
      item.Bytes(1, SchemaOf(*additional));
    } else {
      item.Number(2, additional->bool_value() ? 1 : 0);
    }
    out.Bytes(21, item.Take());
  }
  if (const Value* type = schema.Find("type"); type != nullptr && type->is_string()) {
    Writer item;
    item.Text(1, *type);
    out.Bytes(22, item.Take());
  }
  if (const Value* items = schema.Find("items"); items != nullptr && items->is_object()) out.Bytes(23, Wrapped(1, SchemaOf(*items)));
  for (const Value& part : schema["allOf"].list()) out.Bytes(24, SchemaOf(part));
  if (const Value* properties = schema.Find("properties")) out.Bytes(25, Map(*properties, 1, SchemaOf));
  if (const Value* docs = schema.Find("externalDocs")) {
    static constexpr Member kDocs[] = {{"description", 1, Kind::kText}, {"url", 2, Kind::kText}};
    Writer item;
    Plain(item, *docs, kDocs);
    out.Bytes(29, item.Take());
  }
  Extensions(out, 31, schema);
  return out.Take();
}

std::string ParameterOf(const Value& parameter) {
  if (const Value* reference = parameter.Find("$ref")) {
    Writer out;
    out.Text(1, *reference);
    return Wrapped(2, out.Take());
  }
  Writer out;
  std::string_view in = parameter["in"].string_value();
  if (in == "body") {
    static constexpr Member kBody[] = {
        {"description", 1, Kind::kText}, {"name", 2, Kind::kText}, {"in", 3, Kind::kText}, {"required", 4, Kind::kFlag}};
    Plain(out, parameter, kBody);
    out.Bytes(5, SchemaOf(parameter["schema"]));
    return Wrapped(1, Wrapped(1, out.Take()));
  }
  // In the query a parameter may be empty, which moves the numbers behind that by one.
  static constexpr Member kPath[] = {{"required", 1, Kind::kFlag}, {"in", 2, Kind::kText},          {"description", 3, Kind::kText},
                                     {"name", 4, Kind::kText},     {"type", 5, Kind::kText},        {"format", 6, Kind::kText},
                                     {"pattern", 16, Kind::kText}, {"uniqueItems", 19, Kind::kFlag}};
  static constexpr Member kQuery[] = {{"required", 1, Kind::kFlag}, {"in", 2, Kind::kText},          {"description", 3, Kind::kText},
                                      {"name", 4, Kind::kText},     {"type", 6, Kind::kText},        {"format", 7, Kind::kText},
                                      {"pattern", 17, Kind::kText}, {"uniqueItems", 20, Kind::kFlag}};
  bool query = in == "query";
  Plain(out, parameter, query ? std::span<const Member>(kQuery) : std::span<const Member>(kPath));
  return Wrapped(1, Wrapped(2, Wrapped(query ? 3 : 4, out.Take())));
}

std::string ResponseOf(const Value& response) {
  Writer out;
  out.Text(1, response["description"]);
  if (const Value* schema = response.Find("schema")) out.Bytes(2, Wrapped(1, SchemaOf(*schema)));
  Extensions(out, 5, response);
  return Wrapped(1, out.Take());
}

std::string OperationOf(const Value& operation) {
  static constexpr Member kMembers[] = {{"tags", 1, Kind::kTexts},       {"summary", 2, Kind::kText},    {"description", 3, Kind::kText},
                                        {"operationId", 5, Kind::kText}, {"produces", 6, Kind::kTexts},  {"consumes", 7, Kind::kTexts},
                                        {"schemes", 10, Kind::kTexts},   {"deprecated", 11, Kind::kFlag}};
  Writer out;
  Plain(out, operation, kMembers);
  for (const Value& parameter : operation["parameters"].list()) out.Bytes(8, ParameterOf(parameter));
  out.Bytes(9, Map(operation["responses"], 1, ResponseOf));
  Extensions(out, 13, operation);
  return out.Take();
}

std::string PathOf(const Value& path) {
  static constexpr std::pair<const char*, std::uint32_t> kVerbs[] = {{"get", 2},     {"put", 3},  {"post", 4}, {"delete", 5},
                                                                     {"options", 6}, {"head", 7}, {"patch", 8}};
  Writer out;
  for (const auto& [verb, field] : kVerbs) {
    if (const Value* operation = path.Find(verb)) out.Bytes(field, OperationOf(*operation));
  }
  for (const Value& parameter : path["parameters"].list()) out.Bytes(9, ParameterOf(parameter));
  Extensions(out, 10, path);
  return out.Take();
}

std::string SecurityOf(const Value& definition) {
  static constexpr Member kApiKey[] = {
      {"type", 1, Kind::kText}, {"name", 2, Kind::kText}, {"in", 3, Kind::kText}, {"description", 4, Kind::kText}};
  Writer out;
  Plain(out, definition, kApiKey);
  return Wrapped(2, out.Take());
}

std::string ScopesOf(const Value& scopes) {
  Writer out;
  for (const Value& scope : scopes.list()) out.Bytes(1, scope.string_value());
  return out.Take();
}

}  // namespace

std::string ToOpenApiProtobuf(const Value& document) {
  Writer out;
  out.Text(1, document["swagger"]);
  Writer info;
  info.Text(1, document["info"]["title"]);
  info.Text(2, document["info"]["version"]);
  out.Bytes(2, info.Take());
  out.Bytes(8, Map(document["paths"], 2, PathOf));
  out.Bytes(9, Map(document["definitions"], 1, SchemaOf));
  for (const Value& requirement : document["security"].list()) out.Bytes(12, Map(requirement, 1, ScopesOf));
  out.Bytes(13, Map(document["securityDefinitions"], 1, SecurityOf));
  return out.Take();
}

}  // namespace kube::apiserver
