// Contexts for code that uses std::stop_token and std::jthread.
//
//   std::jthread worker([&](std::stop_token token) { Work(kube::WithStopToken(ctx, token)); });
//
// This is a separate header because few programs need it and <stop_token> is large.
#pragma once

#include <stop_token>

#include "kube/base/context.h"
#include "kube/base/export.h"

namespace kube {

// Returns a child of `parent` that also stops, with kCancelled, when `token` is stopped.
[[nodiscard]] KUBE_EXPORT Context WithStopToken(const Context& parent, std::stop_token token);

// Returns a token that is stopped when `context` stops.
KUBE_EXPORT std::stop_token StopTokenOf(const Context& context);

}  // namespace kube
