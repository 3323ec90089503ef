// Base64 as in Go's encoding/json for []byte: standard alphabet, with padding. Decoding skips CR and LF.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/export.h"

namespace kube::internal {

KUBE_EXPORT void AppendBase64(std::string_view bytes, std::string& out);
// Appends the bytes; returns false if the text is not base64.
KUBE_EXPORT bool DecodeBase64(std::string_view text, std::string& out);

}  // namespace kube::internal
