// JSON text whose strings may contain invalid UTF-8, byte for byte. It is used only inside this process, never on the wire, so that objects
// decoded from protobuf keep their bytes during conversion.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/codec/json.h"

namespace kube::internal {

KUBE_EXPORT Result<void> DecodeJsonBytes(const TypeInfo& type, void* object, std::string_view text, const DecodeOptions& options = {});
// Appends to `out`; as EncodeJson.
KUBE_EXPORT Result<void> EncodeJsonBytes(const TypeInfo& type, const void* object, std::string& out);
KUBE_EXPORT Result<Value> ParseJsonBytes(std::string_view text, const DecodeOptions& options = {});
KUBE_EXPORT std::string ToJsonBytes(const Value& value);
// Converts to JSON for the wire, with U+FFFD for each byte that is not valid UTF-8.
KUBE_EXPORT std::string ToWireJson(std::string text);

}  // namespace kube::internal
