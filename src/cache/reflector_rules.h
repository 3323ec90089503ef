// How a reflector classifies errors, and how it describes them. No I/O, and no state except RetryWindow's.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/log.h"

namespace kube::internal {

// The server no longer has this version: 410.
bool IsExpired(const Error& e);
// The server does not have this version yet. Servers of different ages report it in three ways.
bool IsTooLargeResourceVersion(const Error& e);
// The server is busy or unreachable, and can most likely continue from the same version: 429, connection refused.
bool IsWorthWaiting(const Error& e);

// Describes the error in one line: "pods: forbidden: User ...".
std::string TroubleText(std::string_view what, const Error& e);
// The same text for all errors that differ only in numbers.
std::string TroubleKind(const Error& e);

// Parses a boolean environment variable like Go: "1", "t", "TRUE"... Returns nullopt if it is not one.
std::optional<bool> ParseSwitch(std::string_view text);
// The meaning of KUBE_FEATURE_WatchListClient: on if it is not set (null, empty) or not understood, which is logged.
bool WatchListClientFrom(const char* value, const Logger& log);
// The value for this process, read once.
bool WatchListClientEnabled();

// Limits how long errors of one kind may repeat. The time starts with the first error, and restarts after a minute without one.
class RetryWindow {
 public:
  explicit RetryWindow(std::chrono::nanoseconds limit) : limit_(limit) {}
  // Records an error at `now`. Returns whether to retry.
  bool Retry(Clock::TimePoint now);

 private:
  const std::chrono::nanoseconds limit_;
  std::optional<Clock::TimePoint> first_{}, last_{};
};

}  // namespace kube::internal
