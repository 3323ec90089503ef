#include "control/debug_report.h"

#include "kube/codec/json.h"
#include "kube/value/time.h"
#include "kube/value/value.h"

namespace kube::internal {
namespace {

Value Number(std::uint64_t n) { return Value(static_cast<std::int64_t>(n)); }
Value Seconds(std::chrono::nanoseconds time) { return Value(std::chrono::duration<double>(time).count()); }
Value Text(std::string_view text) { return Value(String(text)); }

Value Causes(const std::vector<Cause>& causes) {
  List<Value> list;
  for (const Cause& cause : causes) list.push_back(Text(cause.ToString()));
  return Value(list);
}

Value Report(const KeyReport& report) {
  Value value = Value::Object();
  value["key"] = Text(report.key.ToString());
  value["failures"] = Number(static_cast<std::uint64_t>(report.failures));
  value["lastResult"] = Text(report.last_result);
  value["lastRun"] = Seconds(report.last_run.time_since_epoch());
  value["lastSeconds"] = Seconds(report.last_duration);
  value["causes"] = Causes(report.last_causes);
  return value;
}

Value Reports(const std::vector<KeyReport>& reports) {
  List<Value> list;
  for (const KeyReport& report : reports) list.push_back(Report(report));
  return Value(list);
}

std::string_view StateOf(KeyState state) {
  switch (state) {
    case KeyState::kQueued:
      return "queued";
    case KeyState::kProcessing:
      return "processing";
    case KeyState::kWaiting:
      return "waiting";
  }
  return "unknown";
}

Value Queue(const WorkQueueSnapshot<ObjectKey>& queue) {
  Value value = Value::Object();
  value["queued"] = Number(queue.queued);
  value["processing"] = Number(queue.processing);
  value["waiting"] = Number(queue.waiting);
  value["oldestSeconds"] = Seconds(queue.oldest);
  List<Value> keys;
  for (const WorkQueueEntry<ObjectKey>& entry : queue.entries) {
    Value key = Value::Object();
    key["key"] = Text(entry.key.ToString());
    key["state"] = Text(StateOf(entry.state));
    key["priority"] = Value(static_cast<std::int64_t>(entry.priority));
    key["requeues"] = Value(static_cast<std::int64_t>(entry.requeues));
    key["ageSeconds"] = Seconds(entry.age);
    if (entry.due_in) key["dueInSeconds"] = Seconds(*entry.due_in);
    if (entry.again) key["again"] = Value(true);
    keys.push_back(std::move(key));
  }
  value["keys"] = Value(keys);
  return value;
}

}  // namespace

std::string DebugReport(const std::vector<ControllerStatus>& controllers, const std::vector<InformerStatus>& informers, bool leader) {
  Value report = Value::Object();
  report["leader"] = Value(leader);
  List<Value> all;
  for (const ControllerStatus& status : controllers) {
    Value value = Value::Object();
    value["name"] = Text(status.name);
    value["workers"] = Value(static_cast<std::int64_t>(status.workers));
    value["active"] = Value(static_cast<std::int64_t>(status.active));
    value["running"] = Value(status.running);
    value["runs"] = Number(status.runs);
    value["errors"] = Number(status.errors);
    List<Value> watches;
    for (const std::string& watch : status.watches) watches.push_back(Text(watch));
    value["watches"] = Value(watches);
    value["queue"] = Queue(status.queue);
    value["failing"] = Reports(status.failing);
    value["recent"] = Reports(status.recent);
    all.push_back(std::move(value));
  }
  report["controllers"] = Value(all);
  List<Value> caches;
  for (const InformerStatus& informer : informers) {
    Value value = Value::Object();
    value["resource"] = Text(informer.what);
    value["namespace"] = Text(informer.ns);
    value["synced"] = Value(informer.synced);
    value["objects"] = Number(informer.objects);
    value["state"] = Text(ToString(informer.reflector.state));
    value["resourceVersion"] = Text(informer.reflector.resource_version);
    if (informer.reflector.error) value["error"] = Text(informer.reflector.error->ToString());
    caches.push_back(std::move(value));
  }
  report["caches"] = Value(caches);
  return ToJson(report);
}

}  // namespace kube::internal
