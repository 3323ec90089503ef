// Text that may not be UTF-8: protobuf carries any bytes, JSON does not.
#pragma once

#include <string>
#include <string_view>

namespace kube::internal {

bool ValidUtf8(std::string_view text);

// The text with U+FFFD in place of every byte that is not part of a valid character: one for each byte, as Go's encoding/json has it.
std::string MendUtf8(std::string_view text);

// The text with `placeholder` in place of these bytes, so that every other byte stays where it is.
std::string MaskUtf8(std::string_view text, char placeholder);

}  // namespace kube::internal
