// How long an API server waits for the answer to a call.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "kube/base/export.h"

namespace kube::internal {

// Of the query of a call's URL, "timeout=10s". Nothing if it does not say, or says nonsense.
KUBE_EXPORT std::optional<std::chrono::nanoseconds> TimeoutOfQuery(std::string_view query);

}  // namespace kube::internal
