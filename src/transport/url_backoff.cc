#include "transport/url_backoff.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "transport/text.h"

namespace kube {

UrlBackoff UrlBackoffFromEnvironment() {
  const auto seconds = [](const char* name) -> std::optional<std::chrono::nanoseconds> {
    const char* text = std::getenv(name);
    const std::optional<std::int64_t> number = internal::ParseWhole(text == nullptr ? "" : text);
    if (!number) return std::nullopt;
    constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600;  // longer waits make no sense, and would overflow when doubled
    return std::chrono::seconds(std::clamp<std::int64_t>(*number, 0, kYear));
  };
  const std::optional<std::chrono::nanoseconds> base = seconds("KUBE_CLIENT_BACKOFF_BASE");
  const std::optional<std::chrono::nanoseconds> max = seconds("KUBE_CLIENT_BACKOFF_DURATION");
  if (!base || !max) return {};
  return {*base, *max};
}

namespace internal {

std::chrono::nanoseconds UrlBackoffState::Delay() {
  MutexLock lock(mu_);
  return failing_ ? delay_ : std::chrono::nanoseconds::zero();
}

void UrlBackoffState::Update(int code, Clock::TimePoint now) {
  if (settings_.max <= std::chrono::nanoseconds::zero()) return;
  MutexLock lock(mu_);
  if (code != 429 && code < 500) {
    failing_ = false;
    return;
  }
  const bool fresh = !failing_ || now - updated_ > settings_.max * 2;
  delay_ = fresh ? settings_.base : std::min(delay_ * 2, settings_.max);
  failing_ = true;
  updated_ = now;
}

}  // namespace internal
}  // namespace kube
