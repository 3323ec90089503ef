// The rules by which a reflector tells errors apart, and the words it has for them. No I/O, no state but RetryWindow's.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/log.h"

namespace kube::internal {

// The server does not know this version any more: 410.
bool IsExpired(const Error& e);
// The server does not know this version yet. Servers of different ages say it in three ways.
bool IsTooLargeResourceVersion(const Error& e);
// The server is busy or away, and will most likely be able to go on where it was: 429, connection refused.
bool IsWorthWaiting(const Error& e);

// "pods: forbidden: User ...": what went wrong, in one line.
std::string TroubleText(std::string_view what, const Error& e);
// The same for all errors that only differ in numbers.
std::string TroubleKind(const Error& e);

// A switch of the environment, as Go reads them: "1", "t", "TRUE"... Nothing where it is none.
std::optional<bool> ParseSwitch(std::string_view text);
// What a value of KUBE_FEATURE_WatchListClient means: on where it is not set (null, empty) or not understood, which `log` is told.
bool WatchListClientFrom(const char* value, const Logger& log);
// The one of this process, read once.
bool WatchListClientEnabled();

// How long errors of one kind may repeat before it is enough. The time counts from the first one; a minute without any starts it anew.
class RetryWindow {
 public:
  explicit RetryWindow(std::chrono::nanoseconds limit) : limit_(limit) {}
  // An error came at `now`. Whether to try once more.
  bool Retry(Clock::TimePoint now);

 private:
  const std::chrono::nanoseconds limit_;
  std::optional<Clock::TimePoint> first_{}, last_{};
};

}  // namespace kube::internal
