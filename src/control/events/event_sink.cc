#include "control/events/event_sink.h"

#include <chrono>
#include <string>

#include "kube/base/log.h"
#include "kube/transport/http.h"

namespace kube::internal {
namespace {

const Logger& Log() {
  static const Logger log("control.events");
  return log;
}

Result<void> Plain(const auto& result) {
  if (!result) return result.error();
  return {};
}

}  // namespace

core::v1::Event ToCoreEvent(const events::v1::Event& event) {
  core::v1::Event core;
  core.metadata = event.metadata;
  core.involved_object = event.regarding;
  core.related = event.related;
  core.reason = event.reason;
  core.message = event.note;
  core.type = event.type;
  core.action = event.action;
  core.event_time = event.event_time;
  core.reporting_component = event.reporting_controller;
  core.reporting_instance = event.reporting_instance;
  core.source.component = event.reporting_controller;
  core.first_timestamp = Time::FromUnix(event.event_time.unix_seconds());
  core.last_timestamp = core.first_timestamp;
  core.count = 1;
  if (event.series) {
    core::v1::EventSeries series;
    series.count = event.series->count;
    series.last_observed_time = event.series->last_observed_time;
    core.series = series;
    core.count = event.series->count;
    core.last_timestamp = Time::FromUnix(event.series->last_observed_time.unix_seconds());
  }
  return core;
}

bool ClientEventSink::LacksApi(const Context& ctx) {
  if (api_ != Api::kUnknown) return api_ == Api::kCore;
  HttpRequest request;
  request.method = "GET";
  request.target = "/apis/events.k8s.io/v1";
  const Result<HttpResponse> answer = client_.Raw(ctx, std::move(request));
  if (answer) {
    api_ = Api::kEvents;
  } else if (IsNotFound(answer.error())) {
    Log().Info("The server has no events.k8s.io/v1; events are written by core/v1");
    api_ = Api::kCore;
  }
  return api_ == Api::kCore;
}

Result<void> ClientEventSink::Create(const Context& ctx, const events::v1::Event& event) {
  if (api_ != Api::kCore) {
    const Result<events::v1::Event> created = client_.Create(ctx, event);
    if (created) api_ = Api::kEvents;
    // A missing namespace is also a 404.
    if (created || !IsNotFound(created.error()) || !LacksApi(ctx)) return Plain(created);
  }
  return Plain(client_.Create(ctx, ToCoreEvent(event)));
}

Result<void> ClientEventSink::Patch(const Context& ctx, const events::v1::Event& event) {
  const ObjectKey key = KeyOf(event);
  const std::string time = event.series->last_observed_time.ToString();
  Value series = Value::Object({{"count", event.series->count}, {"lastObservedTime", String(time)}});
  if (api_ != Api::kCore) {
    const kube::Patch patch = kube::Patch::Merge(Value::Object({{"series", series}}));
    return Plain(client_.Patch<events::v1::Event>(ctx, key, patch));
  }
  const core::v1::Event core = ToCoreEvent(event);
  const kube::Patch patch = kube::Patch::Merge(
      Value::Object({{"count", core.count}, {"lastTimestamp", String(core.last_timestamp.ToString())}, {"series", series}}));
  return Plain(client_.Patch<core::v1::Event>(ctx, key, patch));
}

}  // namespace kube::internal
