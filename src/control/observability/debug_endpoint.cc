#include "control/observability/debug_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "control/observability/debug_report.h"
#include "kube/base/clock.h"

namespace kube::internal {
namespace {

using serve::HttpResponse;

HttpResponse Answer(int status, std::string_view type, std::string body) {
  return {.status = status,
          .headers = {{"content-type", std::string(type)}, {"cache-control", "no-store"}, {"x-content-type-options", "nosniff"}},
          .body = std::move(body)};
}
HttpResponse Say(int status, std::string text) { return Answer(status, "text/plain; charset=utf-8", std::move(text) + "\n"); }

HttpResponse Page() {
  HttpResponse response = Answer(200, "text/html; charset=utf-8", std::string(kDebugPage));
  response.headers.Add("content-security-policy", std::string(kDebugPagePolicy));
  response.headers.Add("referrer-policy", "no-referrer");
  return response;
}

HttpResponse Report(std::string_view text, const std::vector<std::unique_ptr<Controller>>& controllers, const InformerFactory& informers,
                    bool leader, const Value& webhooks) {
  const Result<DebugQuery> query = DebugQuery::Parse(text);
  if (!query) return Say(400, query.error().ToString());
  std::vector<ControllerStatus> statuses;
  std::string names;
  for (const auto& controller : controllers) {
    names += (names.empty() ? "" : ", ") + controller->name();
    if (query->controller.empty() || query->controller == controller->name()) statuses.push_back(controller->status(query->most()));
  }
  if (statuses.empty() && !query->controller.empty())
    return Say(404, fmt::format("there is no controller \"{}\"; there are: {}", query->controller, names));
  return Answer(200, "application/json", DebugReport(statuses, informers.status(), leader, Clock::Real()->WallNow(), *query, webhooks));
}

}  // namespace

std::optional<HttpResponse> AnswerDebug(const serve::HttpRequest& request, const std::vector<std::unique_ptr<Controller>>& controllers,
                                        const InformerFactory& informers, bool leader, const Value& webhooks) {
  if (request.path != "/debug" && !request.path.starts_with("/debug/")) return std::nullopt;
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refused = Say(405, "read-only: use GET");
    refused.headers.Add("allow", "GET, HEAD");
    return refused;
  }
  if (request.path == "/debug/controllers") return Report(request.query, controllers, informers, leader, webhooks);
  if (request.path == "/debug/") return Page();
  if (request.path != "/debug") return Say(404, "not found; there are /debug/ and /debug/controllers");
  // The page asks for "controllers" beside itself, whatever stands before it in a proxy's address; so does this.
  HttpResponse moved = Say(308, "it is at /debug/");
  moved.headers.Add("location", "debug/");
  return moved;
}

}  // namespace kube::internal
