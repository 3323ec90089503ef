// Encodes and decodes objects as HTTP bodies: structs with a table, or DynamicObject.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/client/resource_client.h"
#include "kube/codec/options.h"
#include "kube/value/type_info.h"

namespace kube::internal {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

enum class BodyFormat { kJson, kProtobuf, kUnknown };
// The format of a Content-Type, ignoring its parameters.
BodyFormat FormatOf(std::string_view content_type);

// Whether servers support protobuf for the type. True only for built-in kinds, even if another table has protobuf numbers.
bool HasProtobuf(const TypeInfo& type);

// The table of ObjectList<T> for the table of T. Always the same one; never freed.
const TypeInfo& ListTableOf(const TypeInfo& item);

struct EncodedBody {
  std::string bytes;
  std::string_view content_type;
};
// A null `type` means DynamicObject. Uses protobuf if it is preferred and can express the object. An object with unknown members from JSON
// cannot be expressed and is sent as JSON.
Result<EncodedBody> EncodeObject(const TypeInfo* type, const void* object, bool prefer_protobuf);

// The kind that a body declares; empty if it has none. Cheap: does not decode the rest of a protobuf body.
struct BodyKind {
  std::string api_version;
  std::string kind;
};

// Decodes one object of a response. A body with a failure Status returns that error, whatever the HTTP code.
Result<void> DecodeObject(const TypeInfo* type, bool metadata_only, std::string_view content_type, std::string_view body,
                          const DecodeOptions& options, void* object);
// Decodes an ObjectList<T>. With `undecodable`, items that cannot be decoded are stored there, and the list has the others.
Result<void> DecodeObjectList(const TypeInfo* type, bool metadata_only, std::string_view content_type, std::string_view body,
                              const DecodeOptions& options, void* list, std::vector<UndecodableObject>* undecodable = nullptr);

// Resets an object to its default value after a failed decode, because decoders need an empty object.
void ResetObject(const TypeInfo& type, void* object);

// The metadata of an object of either form.
ObjectKey KeyOfObject(const TypeInfo* type, const void* object);

}  // namespace kube::internal
