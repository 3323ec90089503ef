#include "webhook/call_timeout.h"

#include "kube/value/time.h"

namespace kube::internal {

std::optional<std::chrono::nanoseconds> TimeoutOfQuery(std::string_view query) {
  constexpr std::string_view kName = "timeout=";
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (!part.starts_with(kName)) continue;
    const Result<Duration> timeout = Duration::Parse(part.substr(kName.size()));
    if (!timeout || timeout->nanoseconds() <= 0) return std::nullopt;
    return std::chrono::nanoseconds(timeout->nanoseconds());
  }
  return std::nullopt;
}

}  // namespace kube::internal
