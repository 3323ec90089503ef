// JSON text that may hold strings that are not UTF-8, byte for byte: a form for the inside of this process, never for the wire. Objects
// that came by protobuf keep their bytes while they are converted through it.
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
// As JSON on the wire has it: with U+FFFD for each byte that is not UTF-8.
KUBE_EXPORT std::string ToWireJson(std::string text);

}  // namespace kube::internal
