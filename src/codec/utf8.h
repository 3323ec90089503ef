// Text that may be invalid UTF-8: protobuf allows any bytes, JSON does not.
#pragma once

#include <string>
#include <string_view>

namespace kube::internal {

bool ValidUtf8(std::string_view text);

// Replaces every byte that is not part of a valid character by U+FFFD, one per byte, as in Go's encoding/json.
std::string MendUtf8(std::string_view text);

// Replaces these bytes by `placeholder`, so that every other byte keeps its position.
std::string MaskUtf8(std::string_view text, char placeholder);

}  // namespace kube::internal
