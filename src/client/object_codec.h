// Objects to bodies and back, whatever form they have here: structs with a table, or DynamicObject.
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
// By a Content-Type, whatever parameters it has.
BodyFormat FormatOf(std::string_view content_type);

// Whether servers speak protobuf for the type: built-in kinds, whatever the table of another one says.
bool HasProtobuf(const TypeInfo& type);

// The table of ObjectList<T> for the table of T. The same one each time; never freed.
const TypeInfo& ListTableOf(const TypeInfo& item);

struct EncodedBody {
  std::string bytes;
  std::string_view content_type;
};
// `type` null: a DynamicObject. Protobuf where it is wanted and the object can be said in it: one with members that came unknown by JSON
// cannot, and goes as JSON.
Result<EncodedBody> EncodeObject(const TypeInfo* type, const void* object, bool prefer_protobuf);

// The kind that a body says it has; empty where it says nothing. Cheap: does not decode the rest of a protobuf body.
struct BodyKind {
  std::string api_version;
  std::string kind;
};

// Reads one object of an answer. A body that is a Status of failure gives that error, whatever the HTTP code was.
Result<void> DecodeObject(const TypeInfo* type, bool metadata_only, std::string_view content_type, std::string_view body,
                          const DecodeOptions& options, void* object);
// Reads an ObjectList<T>. With `undecodable`, items that cannot be decoded go there, and the list has the others.
Result<void> DecodeObjectList(const TypeInfo* type, bool metadata_only, std::string_view content_type, std::string_view body,
                              const DecodeOptions& options, void* list, std::vector<UndecodableObject>* undecodable = nullptr);

// Back to its default value, whatever a decoder that failed has left in it: decoders want an empty object.
void ResetObject(const TypeInfo& type, void* object);

// The metadata of an object in either form.
ObjectKey KeyOfObject(const TypeInfo* type, const void* object);

}  // namespace kube::internal
