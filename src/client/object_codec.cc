#include "client/object_codec.h"

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "client/raw_object.h"
#include "codec/array_builder.h"
#include "kube/base/mutex.h"
#include "kube/client/status_error.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/meta/v1.h"
#include "value/field_access.h"

namespace kube::internal {
namespace {

using meta::v1::PartialObjectMetadata;
using AnyList = ObjectList<PartialObjectMetadata>;  // all ObjectLists of structs look alike

struct ListTable {
  std::string name;
  std::string kind_name;
  FieldInfo fields[2];
  KindInfo kind;
  TypeInfo type;
};

std::unique_ptr<ListTable> MakeListTable(const TypeInfo& item) {
  auto table = std::make_unique<ListTable>();
  table->name = std::string(item.name) + "List";
  table->fields[0] = {.json_name = "metadata",
                      .type = &meta::v1::ListMeta::kType,
                      .offset = offsetof(AnyList, metadata),
                      .number = 1,
                      .kind = FieldKind::kMessage,
                      .shape = FieldShape::kPlain};
  table->fields[1] = {.json_name = "items",
                      .type = &item,
                      .offset = offsetof(AnyList, items),
                      .number = 2,
                      .kind = FieldKind::kMessage,
                      .shape = FieldShape::kList,
                      .required = true};
  table->type = {.name = table->name,
                 .fields = table->fields,
                 .field_count = 2,
                 .size = sizeof(AnyList),
                 .unknown_offset = offsetof(AnyList, unknown_fields),
                 .form = TypeForm::kStruct};
  if (item.kind != nullptr) {
    table->kind_name = std::string(item.kind->kind) + "List";
    table->kind = *item.kind;
    table->kind.kind = table->kind_name;
    table->kind.is_list = true;
    table->type.kind = &table->kind;
  }
  return table;
}

// A Status of failure inside of an answer that should have been something else.
std::optional<Error> FailureIn(const meta::v1::Status& status) {
  if (status.status == "Success" || (status.status.empty() && status.code < 400)) return std::nullopt;
  return StatusToError(status);
}

std::optional<Error> StatusInJson(std::string_view body) {
  const Result<meta::v1::Status> status = FromJson<meta::v1::Status>(body);
  if (!status) return std::nullopt;
  return FailureIn(*status);
}

Error NotUnderstood(std::string_view content_type, std::string_view body) {
  std::string begin(body.substr(0, 120));
  for (char& c : begin) {
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '.';
  }
  return Error::Decode(
      "the server answered with content type \"" + std::string(content_type) +
      "\", which is neither JSON nor Kubernetes protobuf; is this the address of an API server? The answer begins: " + begin);
}

Error EmptyBody() { return Error::Decode("the server's response is empty, expected an object"); }

// A list as a Value: a selection of fields is about its items.
Result<Value> ParseListJson(std::string_view body, DecodeOptions options) {
  const FieldSelection of_items = options.fields == nullptr ? FieldSelection() : options.fields->ForItems();
  options.fields = &of_items;
  return ParseJson(body, options);
}

// From a whole object to its metadata; for servers that do not know how to leave the rest out.
Result<void> TakeMetadata(const Value& value, PartialObjectMetadata& out) {
  Result<meta::v1::ObjectMeta> metadata =
      value["metadata"].is_null() ? meta::v1::ObjectMeta() : FromValue<meta::v1::ObjectMeta>(value["metadata"]);
  if (!metadata) return metadata.error();
  if (metadata->uid.empty() && metadata->creation_timestamp.IsZero() && metadata->name.empty() && metadata->generate_name.empty()) {
    return Error::Decode("the answer has no object metadata: " + value["kind"].string_value().str() + " is not a kind with metadata");
  }
  out.metadata = *std::move(metadata);
  return {};
}

Result<void> DecodeMetadataJson(std::string_view body, PartialObjectMetadata& out, const DecodeOptions& options) {
  if (DecodeJson(PartialObjectMetadata::kType, &out, body, options)) return {};
  Result<Value> value = ParseJson(body, options);
  if (!value) return value.error();
  if (std::optional<Error> failure = StatusInJson(body)) return *failure;
  return TakeMetadata(*value, out);
}

Result<void> DecodeMetadataListJson(std::string_view body, AnyList& out, const DecodeOptions& options) {
  if (DecodeJson(ListTableOf(PartialObjectMetadata::kType), &out, body, options)) return {};
  Result<Value> value = ParseListJson(body, options);
  if (!value) return value.error();
  if (std::optional<Error> failure = StatusInJson(body)) return *failure;
  out = {};
  Result<meta::v1::ListMeta> metadata = FromValue<meta::v1::ListMeta>((*value)["metadata"]);
  if (!metadata) return metadata.error();
  out.metadata = *std::move(metadata);
  for (const Value& item : (*value)["items"].list()) {
    PartialObjectMetadata object;
    if (Result<void> taken = TakeMetadata(item, object); !taken) return taken;
    out.items.push_back(std::move(object));
  }
  return {};
}

Result<void> DecodeProtobufBody(const TypeInfo& type, std::string_view body, const DecodeOptions& options, void* object) {
  if (HasProtobufEnvelope(body)) {
    const Result<ProtobufEnvelope> envelope = ParseProtobufEnvelope(body);
    if (!envelope) return envelope.error();
    if (envelope->kind == "Status" && envelope->api_version == "v1" && &type != &meta::v1::Status::kType) {
      const Result<meta::v1::Status> status = FromProtobuf<meta::v1::Status>(body);
      if (!status) return status.error();
      if (std::optional<Error> failure = FailureIn(*status)) return *failure;
    }
    // A server may put JSON into the envelope for kinds that have no protobuf form of their own.
    if (envelope->content_type == kJsonType) return DecodeJson(type, object, envelope->raw, options);
  }
  return DecodeProtobuf(type, object, body, options);
}

}  // namespace

BodyFormat FormatOf(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (!content_type.empty() && content_type.back() == ' ') content_type.remove_suffix(1);
  if (content_type == kProtobufType) return BodyFormat::kProtobuf;
  if (content_type == kJsonType) return BodyFormat::kJson;
  return BodyFormat::kUnknown;
}

bool HasProtobuf(const TypeInfo& type) {
  return type.kind != nullptr && type.kind->built_in && type.field_count > 0 && type.fields[0].number != 0;
}

const TypeInfo& ListTableOf(const TypeInfo& item) {
  static Mutex mu;
  static auto& tables = *new std::map<const TypeInfo*, std::unique_ptr<ListTable>>();
  MutexLock lock(mu);
  std::unique_ptr<ListTable>& table = tables[&item];
  if (table == nullptr) table = MakeListTable(item);
  return table->type;
}

Result<EncodedBody> EncodeObject(const TypeInfo* type, const void* object, bool prefer_protobuf) {
  EncodedBody body;
  if (type == nullptr) {
    body.bytes = ToJson(static_cast<const DynamicObject*>(object)->value());
    body.content_type = kJsonType;
    return body;
  }
  if (prefer_protobuf && HasProtobuf(*type) && EncodeProtobuf(*type, object, body.bytes)) {
    body.content_type = kProtobufType;
    return body;
  }
  if (Result<void> encoded = EncodeJson(*type, object, body.bytes); !encoded) return encoded.error();
  body.content_type = kJsonType;
  return body;
}

Result<void> DecodeObject(const TypeInfo* type, bool metadata_only, std::string_view content_type, std::string_view body,
                          const DecodeOptions& options, void* object) {
  if (body.empty()) return EmptyBody();
  const BodyFormat format = FormatOf(content_type);
  if (format == BodyFormat::kUnknown) return NotUnderstood(content_type, body);
  if (type == nullptr) {
    if (format != BodyFormat::kJson) return Error::Decode("the server answered with protobuf, but JSON was requested");
    Result<DynamicObject> read = FromJson<DynamicObject>(body, options);
    if (!read) return read.error();
    if (read->kind() == "Status" && read->api_version() == "v1") {
      if (std::optional<Error> failure = StatusInJson(body)) return *failure;
    }
    *static_cast<DynamicObject*>(object) = *std::move(read);
    return {};
  }
  if (format == BodyFormat::kProtobuf) return DecodeProtobufBody(*type, body, options, object);
  if (metadata_only) return DecodeMetadataJson(body, *static_cast<PartialObjectMetadata*>(object), options);
  Result<void> read = DecodeJson(*type, object, body, options);
  if (!read && type != &meta::v1::Status::kType) {
    if (std::optional<Error> failure = StatusInJson(body)) return *failure;
  }
  return read;
}

namespace {

// Fails at the first item that cannot be decoded.
Result<void> DecodeWholeList(const TypeInfo* type, bool metadata_only, BodyFormat format, std::string_view body,
                             const DecodeOptions& options, void* list) {
  if (type == nullptr) {
    if (format != BodyFormat::kJson) return Error::Decode("the server answered with protobuf, but JSON was requested");
    Result<Value> value = ParseListJson(body, options);
    if (!value) return value.error();
    const DynamicObject read(*std::move(value));
    if (!read.is_list()) {
      if (std::optional<Error> failure = StatusInJson(body)) return *failure;
      return Error::Decode("the answer to a list has no items: it is of kind \"" + read.kind().str() + "\"");
    }
    auto& out = *static_cast<ObjectList<DynamicObject>*>(list);
    DecodeOptions of_metadata = options;
    of_metadata.fields = nullptr;
    Result<meta::v1::ListMeta> metadata = FromValue<meta::v1::ListMeta>(read["metadata"], of_metadata);
    if (!metadata) return metadata.error().WithContext("metadata");
    out.metadata = *std::move(metadata);
    out.items = read.Items();
    return {};
  }
  const TypeInfo& list_type = ListTableOf(*type);
  if (format == BodyFormat::kProtobuf) return DecodeProtobufBody(list_type, body, options, list);
  if (metadata_only) return DecodeMetadataListJson(body, *static_cast<AnyList*>(list), options);
  Result<void> read = DecodeJson(list_type, list, body, options);
  if (!read) {
    if (std::optional<Error> failure = StatusInJson(body)) return *failure;
  }
  return read;
}

// If there are very many, keeping every reason is not worth the memory.
constexpr std::size_t kMostReasons = 1000;
void Skip(UndecodableObject object, std::vector<UndecodableObject>& undecodable) {
  if (undecodable.size() >= kMostReasons) DropReason(object);
  undecodable.push_back(std::move(object));
}

// What the items of a list are read with.
DecodeOptions OfItems(DecodeOptions options) {
  options.predecessors = nullptr;
  return options;
}

Result<void> DecodeDynamicItems(const RawList& raw, const DecodeOptions& options, ObjectList<DynamicObject>& list,
                                std::vector<UndecodableObject>& undecodable) {
  // Without items it has the same kind and metadata.
  if (Result<void> head = DecodeWholeList(nullptr, false, BodyFormat::kJson, raw.head, options, &list); !head) return head;
  const Result<Value> head = ParseJson(raw.head);
  if (!head) return head.error();
  Value one = *head;
  for (const std::string_view text : raw.items) {
    Result<Value> item = ParseJson(text, options);
    if (item && !item->is_object()) item = Error::Decode("expected an object, got " + std::string(item->kind_name()));
    if (!item) {
      Skip(IdentifyJson(text, item.error()), undecodable);
      continue;
    }
    // As a list of one: it gets its kind from the list's.
    one["items"] = Value::Array({*std::move(item)});
    list.items.push_back(DynamicObject(one).Items().front());
  }
  return {};
}

// A list of structs, item by item.
Result<void> DecodeTypedItems(const TypeInfo& type, bool metadata_only, BodyFormat format, const RawList& raw, const DecodeOptions& options,
                              void* list, std::vector<UndecodableObject>& undecodable) {
  const TypeInfo& list_type = ListTableOf(type);
  ResetObject(list_type, list);
  Result<void> head = format == BodyFormat::kProtobuf ? DecodeProtobuf(list_type, list, raw.head, options)
                      : metadata_only                 ? DecodeMetadataListJson(raw.head, *static_cast<AnyList*>(list), options)
                                                      : DecodeJson(list_type, list, raw.head, options);
  if (!head) return head;
  const FieldInfo& items = list_type.fields[1];
  ArrayRep*& rep = Write<ArrayRep*>(At(list, items));
  ArrayBuilder builder(items, &rep, raw.items.size());
  for (const std::string_view bytes : raw.items) {
    char* const item = builder.Add();
    const Result<void> read = format == BodyFormat::kProtobuf ? DecodeProtobuf(type, item, bytes, options)
                              : metadata_only ? DecodeMetadataJson(bytes, *reinterpret_cast<PartialObjectMetadata*>(item), options)
                                              : DecodeJson(type, item, bytes, options);
    if (read) continue;
    ResetObject(type, item);
    --rep->size;
    Skip(format == BodyFormat::kProtobuf ? IdentifyProtobuf(bytes, read.error()) : IdentifyJson(bytes, read.error()), undecodable);
  }
  return {};
}

// The list that failed with `why`, item by item.
Result<void> DecodeItemByItem(const TypeInfo* type, bool metadata_only, BodyFormat format, std::string_view body,
                              const DecodeOptions& options, void* list, std::vector<UndecodableObject>& undecodable, const Error& why) {
  RawList raw;
  if (format == BodyFormat::kProtobuf && HasProtobufEnvelope(body)) {
    const Result<ProtobufEnvelope> envelope = ParseProtobufEnvelope(body);
    if (!envelope) return why;
    const KindInfo* const kind = ListTableOf(*type).kind;
    if (kind != nullptr && !envelope->kind.empty() && envelope->kind != kind->kind) return why;
    body = envelope->raw;
    if (envelope->content_type == kJsonType) format = BodyFormat::kJson;
  }
  if (!(format == BodyFormat::kProtobuf ? SplitProtobufList(body, raw) : SplitJsonList(body, raw))) return why;
  if (type != nullptr) return DecodeTypedItems(*type, metadata_only, format, raw, OfItems(options), list, undecodable);
  return DecodeDynamicItems(raw, OfItems(options), *static_cast<ObjectList<DynamicObject>*>(list), undecodable);
}

}  // namespace

Result<void> DecodeObjectList(const TypeInfo* type, bool metadata_only, std::string_view content_type, std::string_view body,
                              const DecodeOptions& options, void* list, std::vector<UndecodableObject>* undecodable) {
  if (body.empty()) return EmptyBody();
  const BodyFormat format = FormatOf(content_type);
  if (format == BodyFormat::kUnknown) return NotUnderstood(content_type, body);
  Result<void> read = DecodeWholeList(type, metadata_only, format, body, options, list);
  if (read || undecodable == nullptr || read.error().kind() != ErrorKind::kDecode) return read;
  if (type == nullptr && format != BodyFormat::kJson) return read;
  return DecodeItemByItem(type, metadata_only, format, body, options, list, *undecodable, read.error());
}

void ResetObject(const TypeInfo& type, void* object) {
  DestroyObject(type, object);
  std::memset(object, 0, type.size);
}

ObjectKey KeyOfObject(const TypeInfo* type, const void* object) {
  if (type == nullptr) return static_cast<const DynamicObject*>(object)->key();
  const meta::v1::ObjectMeta* metadata = MetadataOf(*type, object);
  return metadata == nullptr ? ObjectKey() : KeyOf(*metadata);
}

}  // namespace kube::internal
