#include "cache/reflector_rules.h"

#include <algorithm>
#include <cstdlib>

#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {
constexpr std::chrono::minutes kRetryReset{1};
constexpr std::string_view kTooLarge = "Too large resource version";
}  // namespace

bool IsExpired(const Error& e) { return IsResourceExpired(e) || IsGone(e); }

bool IsTooLargeResourceVersion(const Error& e) {
  if (e.kind() != ErrorKind::kApi) return false;
  const auto& causes = e.causes();
  if (std::any_of(causes.begin(), causes.end(), [](const ErrorCause& cause) { return cause.reason == "ResourceVersionTooLarge"; })) {
    return true;
  }
  if (!IsTimeout(e)) return false;
  if (std::any_of(causes.begin(), causes.end(),
                  [](const ErrorCause& cause) { return cause.message.find(kTooLarge) != std::string::npos; })) {
    return true;
  }
  return e.message().find(kTooLarge) != std::string::npos;
}

bool IsWorthWaiting(const Error& e) { return IsTooManyRequests(e) || IsConnectionRefused(e); }

std::string TroubleText(std::string_view what, const Error& e) {
  std::string message = e.message().empty() ? e.ToString() : e.message();
  // Servers say "pods is forbidden: ..."; once is enough.
  const std::string said = std::string(what) + " is ";
  if (message.starts_with(said)) message.erase(0, said.size());
  return std::string(what) + ": " + message;
}

std::string TroubleKind(const Error& e) {
  std::string kind(ToString(e.kind()));
  kind += '/' + std::to_string(e.http_code()) + '/' + e.reason() + '/';
  for (const char c : e.message()) {
    if (c < '0' || c > '9') kind += c;
  }
  return kind;
}

std::optional<bool> ParseSwitch(std::string_view text) {
  for (const std::string_view on : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == on) return true;
  }
  for (const std::string_view off : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == off) return false;
  }
  return std::nullopt;
}

bool WatchListClientFrom(const char* value, const Logger& log) {
  if (value == nullptr || *value == '\0') return true;
  const std::optional<bool> read = ParseSwitch(value);
  if (!read) log.Warn("KUBE_FEATURE_WatchListClient is neither true nor false: using streamed lists", {{"value", value}});
  return read.value_or(true);
}

bool WatchListClientEnabled() {
  static const bool enabled =
      WatchListClientFrom(std::getenv("KUBE_FEATURE_WatchListClient"), Logger("cache.reflector"));  // NOLINT(concurrency-mt-unsafe)
  return enabled;
}

bool RetryWindow::Retry(Clock::TimePoint now) {
  if (limit_ <= std::chrono::nanoseconds::zero()) return false;
  if (!first_ || now - *last_ >= kRetryReset) first_ = now;
  last_ = now;
  if (now - *first_ <= limit_) return true;
  first_.reset();
  return false;
}

}  // namespace kube::internal
