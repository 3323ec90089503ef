// The timeout of an API server's call.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "kube/base/export.h"

namespace kube::internal {

// Parses the query of a call's URL, "timeout=10s". Returns nullopt if it has no valid timeout.
KUBE_EXPORT std::optional<std::chrono::nanoseconds> TimeoutOfQuery(std::string_view query);

}  // namespace kube::internal
