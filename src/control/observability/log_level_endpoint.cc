#include "control/observability/log_level_endpoint.h"

#include <fmt/format.h>

#include <utility>

namespace kube::internal {
namespace {

Logger Log() { return Logger("control.manager"); }

serve::HttpResponse Say(int status, std::string text) {
  return {.status = status,
          .headers = {{"content-type", "text/plain; charset=utf-8"}, {"cache-control", "no-store"}, {"x-content-type-options", "nosniff"}},
          .body = std::move(text) + "\n"};
}

std::string ToText(const LogThreshold& threshold) {
  if (threshold.level == LogLevel::kInfo && threshold.verbosity > 0) return std::to_string(threshold.verbosity);
  switch (threshold.level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kInfo:
      break;
  }
  return "info";
}

// Where people press enter, and what `curl -d` leaves.
std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

Result<LogSettings> Wanted(const serve::HttpRequest& request, LogSettings now) {
  const std::string_view text = Trimmed(request.body);
  if (request.body_too_large) return Error::Invalid("the text is too long");
  if (request.query.empty()) {
    if (text.empty()) return Error::Invalid("send the new level, such as \"info\" or \"info,cache=4\"");
    return LogSettings::Parse(text);
  }
  constexpr std::string_view kComponent = "component=";
  if (!request.query.starts_with(kComponent) || request.query.find('&') != std::string::npos)
    return Error::Invalid("the query may only be component=NAME");
  const std::string component = request.query.substr(kComponent.size());
  if (component.empty() || component.find_first_of(",=%+") != std::string::npos)
    return Error::Invalid("component: names have letters, digits, dots and underscores");
  if (text.empty()) {
    now.components.erase(component);
    return now;
  }
  if (text.find_first_of(",=") != std::string_view::npos)
    return Error::Invalid("with a component, the text is one level: error, warn, info or a number");
  Result<LogSettings> one = LogSettings::Parse(text);
  if (!one) return one.error();
  now.components[component] = one->everything;
  return now;
}

}  // namespace

std::string ToText(const LogSettings& settings) {
  std::string out = ToText(settings.everything);
  for (const auto& [component, threshold] : settings.components) out += "," + component + "=" + ToText(threshold);
  return out;
}

serve::HttpResponse AnswerLogLevel(const serve::HttpRequest& request, LogBackend& backend) {
  if (request.method == "GET" || request.method == "HEAD") return Say(200, ToText(backend.settings()));
  if (request.method != "PUT") {
    serve::HttpResponse refused = Say(405, "GET reads it, PUT changes it");
    refused.headers.Add("allow", "GET, HEAD, PUT");
    return refused;
  }
  const LogSettings before = backend.settings();
  const Result<LogSettings> wanted = Wanted(request, before);
  if (!wanted) return Say(400, wanted.error().ToString());
  backend.SetSettings(*wanted);
  Log().Info("The log level was changed", {{"from", ToText(before)}, {"to", ToText(*wanted)}, {"by", request.peer}});
  return Say(200, ToText(*wanted));
}

}  // namespace kube::internal
