#include "apiserver/core.h"

#include "apiserver/object_meta.h"

namespace kube::apiserver {

ApiCore::ApiCore(std::shared_ptr<Clock> clock, bool all_versions, std::size_t max_watch_backlog)
    : clock_(std::move(clock)), max_watch_backlog_(max_watch_backlog), registry_(all_versions) {
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
