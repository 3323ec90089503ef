#include "apiserver/encoder.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "apiserver/table.h"
#include "codec/json_bytes.h"
#include "kube/api/all.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/registry.h"
#include "kube/meta/v1.h"
#include "kube/value/any_object.h"

namespace kube::apiserver {
namespace {

const TypeRegistry& AllTypes() {
  static const TypeRegistry registry = [] {
    TypeRegistry r = TypeRegistry::WithMetaKinds();
    r.Add(api::AllKinds());
    return r;
  }();
  return registry;
}

const TypeInfo* TypeOf(const Value& object) {
  return AllTypes().Find(object["apiVersion"].string_value().view(), object["kind"].string_value().view());
}

// JSON text to Kubernetes protobuf, through the table. Nothing if the type has no protobuf form.
std::optional<std::string> Transcode(const TypeInfo& type, std::string_view json) {
  AnyObject object(type);
  std::string out;
  if (!internal::DecodeJsonBytes(type, object.mutable_data(), json, {.keep_unknown = false})) return std::nullopt;
  if (!EncodeProtobuf(type, object.data(), out)) return std::nullopt;
  return out;
}

// The same JSON for people, with its members in the same order. Requires: valid JSON without blanks.
std::string Indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  bool quoted = false;
  auto line = [&] {
    out += '\n';
    out.append(2 * depth, ' ');
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (quoted) {
      out += c;
      if (c == '\\') out += json[++i];
      if (c == '"') quoted = false;
    } else if (c == '{' || c == '[') {
      out += c;
      if (json[i + 1] == '}' || json[i + 1] == ']') {
        out += json[++i];
      } else {
        ++depth;
        line();
      }
    } else if (c == '}' || c == ']') {
      --depth;
      line();
      out += c;
    } else {
      out += c;
      if (c == ',') line();
      if (c == ':') out += ' ';
      if (c == '"') quoted = true;
    }
  }
  return out;
}

Encoded FromJsonText(std::string json, const TypeInfo* type, const AnswerForm& form) {
  if (form.encoding == Encoding::kProtobuf && type != nullptr) {
    if (std::optional<std::string> bytes = Transcode(*type, json)) return {*std::move(bytes), std::string(form.ContentType())};
  }
  json = internal::ToWireJson(std::move(json));
  if (form.encoding == Encoding::kYaml || form.pretty) {
    if (Result<Value> value = ParseJson(json)) {
      if (form.encoding == Encoding::kYaml) return {ToYaml(*value), "application/yaml"};
      return {Indented(json), "application/json"};
    }
  }
  return {std::move(json), "application/json"};
}

// The list object around items, as JSON text.
std::string ListHead(std::string_view api_version, std::string_view kind, const Answer& answer, bool custom = false) {
  Value meta = Value::Object({{"resourceVersion", answer.list_version}});
  if (custom || !answer.continue_token.empty()) meta["continue"] = answer.continue_token;
  if (answer.remaining >= 0) meta["remainingItemCount"] = answer.remaining;
  return fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{},"items":[)", kind, api_version, ToJson(meta));
}

Value PartialOf(const StoredObject& object, const AnswerForm& form) { return PartialMetadataOf(object.Parse(), form.transform_version); }

Result<Encoded> EncodeTable(const Answer& answer, const EncodeContext& c) {
  TableOptions options;
  options.version = c.form.transform_version;
  options.now = c.now;
  options.include_object = c.include_object;
  Value table;
  if (answer.is_list) {
    table = TableOf(*c.resource, answer.items, options);
    table["metadata"]["resourceVersion"] = answer.list_version;
    if (!answer.continue_token.empty()) table["metadata"]["continue"] = answer.continue_token;
    if (answer.remaining >= 0) table["metadata"]["remainingItemCount"] = answer.remaining;
  } else {
    ObjectPtr object = answer.stored;
    if (!object) {
      auto made = std::make_shared<StoredObject>();
      made->json = std::make_shared<const std::string>(internal::ToJsonBytes(answer.object));
      if (c.resource->custom) made->form = c.resource->custom->schema;  // it is in the form of the request
      object = std::move(made);
    }
    table = TableOf(*c.resource, std::span<const ObjectPtr>(&object, 1), options);
  }
  return FromJsonText(ToJson(table), nullptr, c.form);
}

Result<Encoded> EncodePartial(const Answer& answer, const EncodeContext& c) {
  std::string api_version = "meta.k8s.io/" + c.form.transform_version;
  std::string text;
  if (answer.is_list) {
    text = ListHead(api_version, "PartialObjectMetadataList", answer);
    for (std::size_t i = 0; i < answer.items.size(); ++i)
      text += (i == 0 ? "" : ",") + internal::ToJsonBytes(PartialOf(*answer.items[i], c.form));
    text += "]}";
  } else {
    text = internal::ToJsonBytes(answer.stored ? PartialOf(*answer.stored, c.form)
                                               : PartialMetadataOf(answer.object, c.form.transform_version));
  }
  const TypeInfo& type = answer.is_list ? meta::v1::PartialObjectMetadataList::kType : meta::v1::PartialObjectMetadata::kType;
  return FromJsonText(std::move(text), &type, c.form);
}

std::string BigEndian32(std::size_t n) {
  std::string out(4, '\0');
  for (int i = 0; i < 4; ++i) out[static_cast<std::size_t>(i)] = static_cast<char>((n >> (24 - 8 * i)) & 0xff);
  return out;
}

// A frame around an object that is encoded already.
std::shared_ptr<const std::string> Frame(std::string_view type, std::string object, Encoding encoding) {
  auto out = std::make_shared<std::string>();
  if (encoding == Encoding::kProtobuf) {
    // WatchEvent: 1 = type, 2 = RawExtension { 1 = raw }. Frames are delimited by their length.
    auto varint = [](std::string& to, std::size_t n) {
      for (; n >= 0x80; n >>= 7) to += static_cast<char>(n | 0x80);
      to += static_cast<char>(n);
    };
    std::string raw("\x0a");
    varint(raw, object.size());
    raw += object;
    std::string event("\x0a");
    varint(event, type.size());
    event += type;
    event += '\x12';
    varint(event, raw.size());
    event += raw;
    *out = BigEndian32(event.size()) + event;
    return out;
  }
  out->reserve(object.size() + type.size() + 32);
  *out += R"({"type":")";
  *out += type;
  *out += R"(","object":)";
  *out += object;
  *out += "}\n";
  return out;
}

}  // namespace

Encoded EncodeValue(const Value& object, const AnswerForm& form) {
  const TypeInfo* type = form.encoding == Encoding::kProtobuf ? TypeOf(object) : nullptr;
  return FromJsonText(internal::ToJsonBytes(object), type, form);
}

Result<Encoded> EncodeAnswer(const Answer& answer, const EncodeContext& c) {
  if (c.resource != nullptr && answer.is_resource && c.form.transform == Transform::kTable) return EncodeTable(answer, c);
  if (c.resource != nullptr && answer.is_resource && c.form.transform == Transform::kPartialMetadata) return EncodePartial(answer, c);
  if (answer.is_list) {
    const ServedResource& r = *c.resource;
    std::string text = ListHead(r.api_version(), r.list_kind, answer, r.custom != nullptr);
    std::string head = fmt::format(R"({{"kind":"{}","apiVersion":"{}",)", r.kind, r.api_version());
    std::size_t bytes = text.size() + 2;
    for (const ObjectPtr& item : answer.items) bytes += item->json->size() + 1;
    text.reserve(bytes);
    for (std::size_t i = 0; i < answer.items.size(); ++i) {
      if (i != 0) text += ',';
      std::shared_ptr<const std::string> item = TextFor(r, *answer.items[i]);
      // Items of built-in lists do not repeat what they are.
      if (r.builtin != nullptr && item->starts_with(head)) {
        text += '{';
        text += std::string_view(*item).substr(head.size());
      } else {
        text += *item;
      }
    }
    text += "]}";
    const TypeInfo* type = nullptr;
    if (c.form.encoding == Encoding::kProtobuf && r.type != nullptr) type = AllTypes().FindListOf(*r.type);
    return FromJsonText(std::move(text), type, c.form);
  }
  if (answer.stored) return FromJsonText(*TextFor(*c.resource, *answer.stored), c.resource->type, c.form);
  return EncodeValue(answer.object, c.form);
}

Result<std::shared_ptr<const std::string>> EncodeEvent(std::string_view type, const StoredObject& object, const EncodeContext& c,
                                                       bool first) {
  if (c.form.transform == Transform::kTable) {
    TableOptions options;
    options.version = c.form.transform_version;
    options.now = c.now;
    options.include_object = c.include_object;
    ObjectPtr alias(std::shared_ptr<void>(), &object);  // owned by the caller
    Value table = TableOf(*c.resource, std::span<const ObjectPtr>(&alias, 1), options);
    table["metadata"]["resourceVersion"] = std::to_string(object.version);
    if (!first) table["columnDefinitions"] = Value();
    return Frame(type, ToJson(table), Encoding::kJson);
  }
  std::string text;
  const TypeInfo* message = c.resource->type;
  if (c.form.transform == Transform::kPartialMetadata) {
    text = internal::ToJsonBytes(PartialOf(object, c.form));
    message = &meta::v1::PartialObjectMetadata::kType;
  } else {
    text = *TextFor(*c.resource, object);
  }
  if (c.form.encoding == Encoding::kProtobuf && message != nullptr) {
    std::optional<std::string> bytes = Transcode(*message, text);
    if (!bytes) return InternalError("object has no protobuf form");
    return Frame(type, *std::move(bytes), Encoding::kProtobuf);
  }
  return Frame(type, internal::ToWireJson(std::move(text)), Encoding::kJson);
}

std::shared_ptr<const std::string> EncodeEvent(std::string_view type, const Value& object, const EncodeContext& c) {
  if (c.form.encoding == Encoding::kProtobuf) {
    const TypeInfo* message = TypeOf(object);
    std::optional<std::string> bytes = message != nullptr ? Transcode(*message, internal::ToJsonBytes(object)) : std::nullopt;
    if (bytes) return Frame(type, *std::move(bytes), Encoding::kProtobuf);
  }
  return Frame(type, ToJson(object), c.form.encoding == Encoding::kProtobuf ? Encoding::kProtobuf : Encoding::kJson);
}

std::string WatchContentType(const AnswerForm& form) {
  if (form.encoding == Encoding::kProtobuf) return "application/vnd.kubernetes.protobuf;stream=watch";
  return "application/json";
}

}  // namespace kube::apiserver
