// Base64 as Go's encoding/json has it for []byte: standard alphabet, with padding; CR and LF in between are skipped when read.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/export.h"

namespace kube::internal {

KUBE_EXPORT void AppendBase64(std::string_view bytes, std::string& out);
// Appends the bytes; false where the text is not base64.
KUBE_EXPORT bool DecodeBase64(std::string_view text, std::string& out);

}  // namespace kube::internal
