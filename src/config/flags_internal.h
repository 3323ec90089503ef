// Shared by the parts of FlagSet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/config/flags.h"

namespace kube::internal {

inline constexpr std::string_view kHelpReason = "FlagHelp";
inline constexpr std::string_view kUsageReason = "FlagUsage";

Error HelpText(std::string text);
// "--name", "-v"
std::string SpelledFlag(const FlagSpec& flag);
// "a, b or c"
std::string OneOfThese(const std::vector<std::string>& choices);

}  // namespace kube::internal
