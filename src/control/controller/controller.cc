#include "kube/control/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "cache/informer_core.h"
#include "control/controller/write_tracker.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

constexpr std::size_t kMostRecent = 100;
constexpr std::size_t kMostFailing = 1000;

Logger Log() { return Logger("control"); }

struct KeyHash {
  std::size_t operator()(const ObjectKey& key) const { return WorkHash<ObjectKey>()(key); }
};

// What collects for a key until it is taken.
struct Pending {
  std::vector<Cause> causes{};
  std::size_t more = 0;
};

std::string Seconds(std::chrono::nanoseconds time) { return fmt::format("{:.3f}s", std::chrono::duration<double>(time).count()); }

}  // namespace

namespace internal {

std::optional<ObjectKey> OwnerKeyIn(const List<meta::v1::OwnerReference>& references, const String& ns, const Gvk& owner,
                                    bool owner_namespaced) {
  const meta::v1::OwnerReference* controller = FindController(references);
  if (controller == nullptr || controller->kind != owner.kind) return std::nullopt;
  const std::string_view version = controller->api_version.view();
  const std::size_t slash = version.find('/');
  if ((slash == std::string_view::npos ? std::string_view() : version.substr(0, slash)) != std::string_view(owner.group))
    return std::nullopt;
  return ObjectKey{owner_namespaced ? ns : String(), controller->name};
}

Handler MakeHandler(const ObjectForm& form, String source, KeysOfChange keys_of, EnqueueFunction enqueue) {
  const auto tell = std::make_shared<const std::function<void(const ErasedChange&)>>(
      [source = std::move(source), keys_of = std::move(keys_of), enqueue = std::move(enqueue)](const ErasedChange& change) {
        std::vector<ObjectKey> keys;
        keys_of(change, keys);
        const int priority = change.initial || change.kind == ChangeKind::kResync ? kInitialPriority : 0;
        for (const ObjectKey& key : keys) enqueue(key, {.source = source, .object = change.key, .change = change.kind}, priority);
      });
  return {.on_add =
              [&form, tell](const ObjectRef& object, bool initial) {
                (*tell)({.kind = ChangeKind::kAdded, .key = form.Key(object.get()), .before = {}, .object = object, .initial = initial});
              },
          .on_update =
              [&form, tell](const ObjectRef& before, const ObjectRef& after) {
                const bool same = form.ResourceVersion(before.get()) == form.ResourceVersion(after.get());
                const ChangeKind kind = same ? ChangeKind::kResync : ChangeKind::kUpdated;
                (*tell)({.kind = kind, .key = form.Key(after.get()), .before = before, .object = after});
              },
          .on_delete = [tell](const ObjectKey& key, const ObjectRef& object,
                              bool) { (*tell)({.kind = ChangeKind::kDeleted, .key = key, .before = {}, .object = object}); }};
}

}  // namespace internal

class Controller::Impl {
 public:
  Impl(ControllerSpec spec, ControllerEnvironment environment)
      : spec_(std::move(spec)),
        environment_(std::move(environment)),
        clock_(environment_.clock ? environment_.clock : Clock::Real()),
        queue_({.name = spec_.name,
                .controller = spec_.name,
                .metrics = environment_.metrics,
                .clock = clock_,
                .rate_limiter = spec_.options.rate_limiter
                                    ? spec_.options.rate_limiter
                                    : ExponentialLimiter(std::chrono::milliseconds(5), std::chrono::seconds(1000))}) {}

  ~Impl() {
    std::vector<Watch> watches;
    {
      MutexLock lock(mu_);
      watches.swap(watches_);
    }
    watches.clear();  // waits for handlers that run, which take the lock
    if (environment_.writes != nullptr) {
      {
        MutexLock lock(resumes_->mu);
        resumes_->queue = nullptr;
      }
      environment_.writes->Forget(String(spec_.name));
    }
    queue_.ShutDown();
  }

  const ControllerSpec& spec() const { return spec_; }

  Result<void> Start() {
    for (const WatchSpec& watch : spec_.watches) {
      if (Result<void> added = AddWatch(watch); !added) return added;
    }
    if (spec_.reconcile_object.source_) source_ = spec_.reconcile_object.source_(*environment_.informers);
    Count("controller_runtime_reconcile_errors_total", 0);
    Count("controller_runtime_reconcile_panics_total", 0);
    Count("controller_runtime_terminal_reconcile_errors_total", 0);
    Count("controller_runtime_reconcile_timeouts_total", 0);
    // So that rates are right from the first one on.
    for (const char* result : {"success", "error", "requeue", "requeue_after"}) CountResult(result, 0);
    if (environment_.metrics) {
      environment_.metrics->Set("controller_runtime_max_concurrent_reconciles", {{"controller", spec_.name}}, spec_.options.workers);
      environment_.metrics->Set("controller_runtime_active_workers", {{"controller", spec_.name}}, 0);
    }
    return {};
  }

  Result<void> AddWatch(const WatchSpec& watch) {
    {
      MutexLock lock(mu_);
      for (const Watch& known : watches_) {
        if (known.name == watch.name) return Error::Invalid(fmt::format("controller {}: watch {} exists already", spec_.name, watch.name));
      }
    }
    // Without the lock: handlers may be called with existing objects before this returns, and they take it.
    Result<HandlerRegistration> registration = watch.start(
        *environment_.informers, [this](const ObjectKey& key, Cause cause, int priority) { Enqueue(key, std::move(cause), priority); });
    if (!registration) return registration.error().WithContext(fmt::format("controller {}: watch {}", spec_.name, watch.name));
    MutexLock lock(mu_);
    watches_.push_back({watch.name, watch.optional, std::make_shared<HandlerRegistration>(*std::move(registration))});
    return {};
  }

  Result<void> RemoveWatch(std::string_view name) {
    std::shared_ptr<HandlerRegistration> removed;
    {
      MutexLock lock(mu_);
      const auto found = std::find_if(watches_.begin(), watches_.end(), [&](const Watch& watch) { return watch.name == name; });
      if (found == watches_.end()) return Error::Invalid(fmt::format("controller {}: there is no watch {}", spec_.name, name));
      removed = std::move(found->registration);
      watches_.erase(found);
    }
    return {};
  }

  void Enqueue(const ObjectKey& key, Cause cause, int priority) {
    {
      MutexLock lock(mu_);
      Pending& pending = pending_[key];
      if (std::find(pending.causes.begin(), pending.causes.end(), cause) == pending.causes.end()) {
        if (pending.causes.size() < Request::kMostCauses) {
          pending.causes.push_back(std::move(cause));
        } else {
          ++pending.more;
        }
      }
    }
    queue_.Add(key, {.priority = priority});
  }

  Result<void> WaitForSync(const Context& ctx) const {
    for (const Watch& watch : Watches()) {
      if (watch.optional) {
        if (Result<bool> known = watch.registration->WaitForSyncOrRefusal(ctx); !known) return known.error();
      } else if (Result<void> synced = watch.registration->WaitForSync(ctx); !synced) {
        return synced;
      }
    }
    return {};
  }

  Result<void> Run(const Context& ctx) {
    if (Result<void> synced = WaitForSync(ctx); !synced) return synced;
    Log().V(1).Info("Starting workers", {{"controller", spec_.name}, {"workers", spec_.options.workers}});
    running_ = true;
    {
      std::vector<Thread> workers;
      for (int i = 0; i < spec_.options.workers; ++i) {
        workers.emplace_back(fmt::format("kube-w-{}", i), [this, &ctx] {
          while (Result<WorkQueue<>::Item> item = queue_.Take(ctx)) RunOnce(ctx, *item);
        });
      }
    }  // joined
    running_ = false;
    Log().V(1).Info("All workers finished", {{"controller", spec_.name}});
    return {};
  }

  ControllerStatus status(std::size_t most) const {
    ControllerStatus status{.name = spec_.name,
                            .workers = spec_.options.workers,
                            .active = active_,
                            .running = running_,
                            .runs = runs_,
                            .errors = errors_,
                            .queue = queue_.Snapshot(most)};
    MutexLock lock(mu_);
    status.causes.reserve(status.queue.entries.size());
    for (const WorkQueueEntry<ObjectKey>& entry : status.queue.entries) status.causes.push_back(CausesOf(entry));
    for (const Watch& watch : watches_) {
      const char* state = watch.registration->HasSynced() ? ": synced"
                          : watch.registration->refused() ? ": not found, or not allowed"
                                                          : ": waiting for its first list";
      status.watches.push_back(watch.name + state);
    }
    for (auto key = held_.begin(); key != held_.end() && status.held.size() < most; ++key) status.held.push_back(*key);
    for (const auto& [key, report] : failing_) status.failing.push_back(report);
    std::sort(status.failing.begin(), status.failing.end(), [](const KeyReport& a, const KeyReport& b) {
      return a.failures != b.failures ? a.failures > b.failures : a.key.ToString() < b.key.ToString();
    });
    if (status.failing.size() > most) status.failing.resize(most);
    for (auto report = recent_.rbegin(); report != recent_.rend() && status.recent.size() < most; ++report)
      status.recent.push_back(*report);
    return status;
  }

  bool HasSynced() const {
    const std::vector<Watch> watches = Watches();
    return std::all_of(watches.begin(), watches.end(), [](const Watch& watch) {
      return watch.registration->HasSynced() || (watch.optional && watch.registration->refused());
    });
  }

 private:
  struct Watch {
    std::string name{};
    bool optional = false;
    std::shared_ptr<HandlerRegistration> registration{};
  };
  std::vector<Watch> Watches() const {
    MutexLock lock(mu_);
    return watches_;
  }

  void Count(std::string_view counter, double value = 1) const {
    if (environment_.metrics) environment_.metrics->Add(counter, {{"controller", spec_.name}}, value);
  }
  void CountResult(std::string_view result, double value = 1) const {
    if (environment_.metrics)
      environment_.metrics->Add("controller_runtime_reconcile_total", {{"controller", spec_.name}, {"result", result}}, value);
  }

  Request MakeRequest(const ObjectKey& key) {
    Request request{.key = key, .attempt = queue_.NumRequeues(key) + 1, .id = next_id_.fetch_add(1) + 1};
    MutexLock lock(mu_);
    if (const auto found = pending_.find(key); found != pending_.end()) {
      request.causes = std::move(found->second.causes);
      request.more_causes = found->second.more;
      pending_.erase(found);
    }
    return request;
  }

  // Requests that are with the reconciler, so that people can see what a run is for.
  void Began(const Request& request) {
    MutexLock lock(mu_);
    in_flight_.push_back(&request);
  }
  void Ended(const Request& request) {
    MutexLock lock(mu_);
    in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), &request));
  }
  KeyCauses CausesOf(const WorkQueueEntry<ObjectKey>& entry) const KUBE_REQUIRES(mu_) {
    if (entry.state == KeyState::kProcessing) {
      for (const Request* request : in_flight_) {
        if (request->key == entry.key) return {request->causes, request->more_causes};
      }
    }
    const auto found = pending_.find(entry.key);
    return found == pending_.end() ? KeyCauses() : KeyCauses{found->second.causes, found->second.more};
  }

  Result<Action> Call(const Context& ctx, const Request& request) {
    try {
      return spec_.reconcile_object.call_ ? CallWithObject(ctx, request.key) : spec_.reconcile(ctx, request);
    } catch (const ErrorException& e) {  // Result::value(): the same as returning that error
      return e.error();
    } catch (const std::exception& e) {
      return Threw(e.what());
    } catch (...) {
      return Threw("something that is not a std::exception");
    }
  }
  Error Threw(std::string_view what) const {
    Count("controller_runtime_reconcile_panics_total");
    return {ErrorKind::kUserCode, fmt::format("reconciler of controller {} threw: {}", spec_.name, what)};
  }

  Result<Action> CallWithObject(const Context& ctx, const ObjectKey& key) const {
    internal::InformerCore& cache = source_->core();
    const auto failed = [&](const Error& error) {
      return error.WithContext(fmt::format("get {} {} from the cache", cache.gvr().group_resource().ToString(), key.ToString()));
    };
    if (!cache.HasSynced()) return failed(Error::Timeout("the cache is not complete yet"));
    if (environment_.writes != nullptr) {
      if (Result<void> seen = environment_.writes->BeforeGet(ctx, cache, key); !seen) return failed(seen.error());
    }
    const Result<internal::ObjectRef> found = cache.store()->Read(key.ns.view(), key.name.view());
    if (!found) return failed(found.error());
    if (*found == nullptr) return Action::Done();
    return spec_.reconcile_object.call_(ctx, found->get());
  }

  // Whether caches have yet to see what the last run wrote: the key comes again when they have, and no worker waits for that.
  bool HoldBack(const WorkQueue<>::Item& item) {
    const ObjectKey& key = item.key();
    const bool held = environment_.writes->HoldBack(name_, key, clock_, [resumes = resumes_, key, priority = item.priority()] {
      MutexLock lock(resumes->mu);
      if (resumes->queue != nullptr) resumes->queue->Add(key, {.priority = priority});
    });
    MutexLock lock(mu_);
    if (held) {
      held_.insert(key);
    } else if (!held_.empty()) {
      held_.erase(key);
    }
    return held;
  }

  void RunOnce(const Context& outer, WorkQueue<>::Item& item) {
    const ObjectKey key = item.key();
    if (environment_.writes != nullptr && HoldBack(item)) return;
    const Context ctx = environment_.writes != nullptr ? environment_.writes->Scope(outer, name_, key) : outer;
    const Request request = MakeRequest(key);
    const Clock::TimePoint begin = clock_->Now();
    Active(1);
    Began(request);
    Result<Action> result = Action::Done();
    bool timed_out = false;
    if (spec_.options.reconcile_timeout > std::chrono::nanoseconds(0)) {
      const Context limited = ctx.WithTimeout(spec_.options.reconcile_timeout);
      result = Call(limited, request);
      timed_out = limited.stopped() && !ctx.stopped();
    } else {
      result = Call(ctx, request);
    }
    Ended(request);
    Active(-1);
    if (timed_out) Count("controller_runtime_reconcile_timeouts_total");
    const std::chrono::nanoseconds took = clock_->Now() - begin;
    if (environment_.metrics) {
      environment_.metrics->Observe("controller_runtime_reconcile_time_seconds", {{"controller", spec_.name}},
                                    std::chrono::duration<double>(took).count());
    }
    ++runs_;
    Finish(ctx, item, request, result, took);
  }

  void Finish(const Context& ctx, WorkQueue<>::Item& item, const Request& request, const Result<Action>& result,
              std::chrono::nanoseconds took) {
    const ObjectKey& key = request.key;
    KeyReport report{.key = key,
                     .last_run = clock_->WallNow(),
                     .last_duration = took,
                     .last_causes = request.causes,
                     .more_causes = request.more_causes};
    if (!result) {
      // A run that was stopped from outside did not fail: the key waits for the next worker.
      if (ctx.stopped()) {
        Again(key, ChangeKind::kRetry);
        queue_.Add(key, {.priority = item.priority()});
        return;
      }
      ++errors_;
      Count("controller_runtime_reconcile_errors_total");
      CountResult("error");
      Log().Error(result.error(), "Reconciler failed",
                  {{"controller", spec_.name}, {"key", key.ToString()}, {"attempt", request.attempt}, {"run", request.id}});
      report.failures = request.attempt;
      report.last_result = "error: " + result.error().ToString();
      Report(std::move(report));
      Again(key, ChangeKind::kRetry);
      Clock::Duration after{};
      if (const std::optional<int> seconds = result.error().retry_after_seconds()) after = std::chrono::seconds(*seconds);
      queue_.Add(key, {.priority = item.priority(), .after = after, .rate_limited = true});
      return;
    }
    const Action& action = *result;
    const int priority = action.priority().value_or(item.priority());
    if (action.error()) {
      ++errors_;
      Count("controller_runtime_reconcile_errors_total");
      Count("controller_runtime_terminal_reconcile_errors_total");
      CountResult("error");
      Log().Error(*action.error(), "Reconciler returned a terminal error; not retrying until something changes",
                  {{"controller", spec_.name}, {"key", key.ToString()}, {"attempt", request.attempt}, {"run", request.id}});
      report.failures = request.attempt;
      report.last_result = "terminal error: " + action.error()->ToString();
      queue_.Forget(key);
    } else if (action.requeue()) {
      CountResult("requeue");
      report.last_result = "requeue";
      Again(key, ChangeKind::kRequeue);
      queue_.Add(key, {.priority = priority, .rate_limited = true});
    } else if (action.after()) {
      CountResult("requeue_after");
      report.last_result = "requeue after " + Seconds(*action.after());
      queue_.Forget(key);
      Again(key, ChangeKind::kRequeue);
      queue_.Add(key, {.priority = priority, .after = *action.after()});
    } else {
      CountResult("success");
      report.last_result = "success";
      queue_.Forget(key);
    }
    Log().V(5).Info("Reconciled",
                    {{"controller", spec_.name}, {"key", key.ToString()}, {"result", report.last_result}, {"run", request.id}});
    Report(std::move(report));
  }

  // Why it will be there again.
  void Again(const ObjectKey& key, ChangeKind why) {
    MutexLock lock(mu_);
    Pending& pending = pending_[key];
    const Cause cause{.change = why};
    if (pending.causes.size() < Request::kMostCauses &&
        std::find(pending.causes.begin(), pending.causes.end(), cause) == pending.causes.end())
      pending.causes.push_back(cause);
  }

  void Report(KeyReport report) {
    MutexLock lock(mu_);
    if (report.failures > 0) {
      if (failing_.size() < kMostFailing || failing_.count(report.key) > 0) failing_[report.key] = report;
    } else {
      failing_.erase(report.key);
    }
    recent_.push_back(std::move(report));
    if (recent_.size() > kMostRecent) recent_.pop_front();
  }

  void Active(int change) {
    const int now = active_.fetch_add(change) + change;
    if (environment_.metrics) environment_.metrics->Set("controller_runtime_active_workers", {{"controller", spec_.name}}, now);
  }

  const ControllerSpec spec_;
  const ControllerEnvironment environment_;
  const std::shared_ptr<Clock> clock_;
  WorkQueue<> queue_;
  std::shared_ptr<internal::InformerHandle> source_;  // of spec_.reconcile_object; set by Start
  const String name_{spec_.name};
  // How keys that were put aside get back into the queue, as long as there is one.
  struct Resumes {
    Mutex mu;
    WorkQueue<>* queue KUBE_GUARDED_BY(mu) = nullptr;
  };
  const std::shared_ptr<Resumes> resumes_ = [this] {
    auto resumes = std::make_shared<Resumes>();
    MutexLock lock(resumes->mu);
    resumes->queue = &queue_;
    return resumes;
  }();
  std::atomic<int> active_ = 0;
  std::atomic<bool> running_ = false;
  std::atomic<std::uint64_t> runs_ = 0, errors_ = 0, next_id_ = 0;

  mutable Mutex mu_;
  std::vector<Watch> watches_ KUBE_GUARDED_BY(mu_);
  std::unordered_map<ObjectKey, Pending, KeyHash> pending_ KUBE_GUARDED_BY(mu_);
  std::vector<const Request*> in_flight_ KUBE_GUARDED_BY(mu_);
  std::unordered_map<ObjectKey, KeyReport, KeyHash> failing_ KUBE_GUARDED_BY(mu_);
  std::deque<KeyReport> recent_ KUBE_GUARDED_BY(mu_);
  std::unordered_set<ObjectKey, KeyHash> held_ KUBE_GUARDED_BY(mu_);
};

Controller::Controller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Controller::~Controller() = default;

Result<std::unique_ptr<Controller>> Controller::Create(ControllerSpec spec, ControllerEnvironment environment) {
  if (spec.name.empty()) return Error::Invalid("a controller needs a name: ControllerFor<T>(\"...\")");
  const auto wrong = [&](std::string_view what) { return Error::Invalid(fmt::format("controller {}: {}", spec.name, what)); };
  if (!spec.reconcile && !spec.reconcile_object.call_) return wrong("it has no reconciler");
  if (spec.watches.empty()) return wrong("it watches nothing, so nothing would ever be reconciled");
  if (spec.options.workers < 1) return wrong(fmt::format("{} workers; it needs at least one", spec.options.workers));
  if (environment.informers == nullptr) return wrong("ControllerEnvironment::informers is missing");
  return std::unique_ptr<Controller>(new Controller(std::make_unique<Impl>(std::move(spec), std::move(environment))));
}

const std::string& Controller::name() const { return impl_->spec().name; }
bool Controller::needs_leader() const { return impl_->spec().options.needs_leader; }
const std::vector<WatchSpec>& Controller::watches() const { return impl_->spec().watches; }
const std::vector<AccessNeed>& Controller::needs() const { return impl_->spec().needs; }
Result<void> Controller::Start() { return impl_->Start(); }
bool Controller::HasSynced() const { return impl_->HasSynced(); }
Result<void> Controller::WaitForSync(const Context& ctx) const { return impl_->WaitForSync(ctx); }
Result<void> Controller::Run(const Context& ctx) { return impl_->Run(ctx); }
void Controller::Enqueue(const ObjectKey& key, std::string_view source, int priority) {
  impl_->Enqueue(key, {.source = String(source), .object = key, .change = ChangeKind::kExternal}, priority);
}
Result<void> Controller::AddWatch(WatchSpec watch) { return impl_->AddWatch(watch); }
Result<void> Controller::RemoveWatch(std::string_view name) { return impl_->RemoveWatch(name); }
ControllerStatus Controller::status(std::size_t most) const { return impl_->status(most); }

}  // namespace kube
