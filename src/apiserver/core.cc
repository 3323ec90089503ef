#include "apiserver/core.h"

#include "apiserver/object_meta.h"

namespace kube::apiserver {

// The number of requests that a real server serves at a time by default.
constexpr std::size_t kMostWaiting = 200;

ApiCore::ApiCore(std::shared_ptr<Clock> clock, bool all_versions, std::size_t max_watch_backlog, WebhookCaller::Services webhook_services)
    : clock_(std::move(clock)),
      max_watch_backlog_(max_watch_backlog),
      registry_(all_versions),
      caller_(std::move(webhook_services)),
      converter_(caller_),
      hooks_(store_, caller_,
             [this](const Context& ctx, const ServedResource& from, const ServedResource& to, Value object) {
               return Convert(ctx, from, to, std::move(object));
             }),
      workers_(kMostWaiting) {
  admission_.list = [this](std::string_view group, std::string_view resource, std::string_view ns) {
    std::vector<Value> out;
    for (const ObjectPtr& object : store_.List(std::string(group) + "/" + std::string(resource), ns).objects)
      out.push_back(object->Parse());
    return out;
  };
  admission_.name_suffix = [] { return NameFromPrefix(""); };
}

MicroTime ApiCore::NowMicro() const {
  auto now = std::chrono::time_point_cast<std::chrono::microseconds>(clock_->WallNow());
  return MicroTime(now + std::chrono::seconds(skew_seconds_.load(std::memory_order_relaxed)));
}

Time ApiCore::Now() const { return Time::FromUnix(NowMicro().unix_seconds()); }

}  // namespace kube::apiserver
