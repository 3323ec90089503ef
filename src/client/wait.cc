#include "kube/client/wait.h"

#include <chrono>
#include <string>

namespace kube::internal {

Result<void> PauseAfter(const Context& ctx, const Error& error) {
  const bool for_good = IsForbidden(error) || IsUnauthorized(error) || IsInvalid(error) || IsBadRequest(error) || IsNotFound(error) ||
                        IsMethodNotSupported(error) || error.kind() == ErrorKind::kInvalid || error.kind() == ErrorKind::kConfig ||
                        error.kind() == ErrorKind::kDecode || error.kind() == ErrorKind::kClosed;
  if (for_good || ctx.stopped()) return error;
  std::chrono::nanoseconds pause = std::chrono::milliseconds(500);
  if (const std::optional<int> wish = SuggestsClientDelay(error)) pause = std::chrono::seconds(*wish);
  return ctx.SleepFor(pause);
}

Error WaitEnded(const Context& ctx, const Error& error, const ObjectKey& key, const char* last_seen) {
  if (!ctx.stopped()) return error;
  const Error why = ctx.Err().value_or(error);
  return Error(why.kind(), why.message() + " while waiting for " + key.ToString() + ": " + last_seen);
}

}  // namespace kube::internal
