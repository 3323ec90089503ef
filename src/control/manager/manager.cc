#include "kube/control/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "control/access/access_audit.h"
#include "control/manager/manager_crds.h"
#include "control/manager/manager_servers.h"
#include "control/manager/manager_webhooks.h"
#include "control/observability/debug_endpoint.h"
#include "control/observability/debug_report.h"
#include "control/observability/health.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"

namespace kube {
namespace {

// Grace period of a replica that lost its lease: another one works already, or will in a moment.
constexpr std::chrono::seconds kLostGrace(5);
// Counting the bytes of a cache walks all objects.
constexpr std::chrono::seconds kBytesAge(60);

constexpr const char* kShutdownTimeout = "ShutdownTimeout";

Logger Log() { return Logger("control.manager"); }

std::string Seconds(std::chrono::nanoseconds time) { return fmt::format("{:g}s", std::chrono::duration<double>(time).count()); }

}  // namespace

class Manager::Impl {
 public:
  Impl(Client client, ManagerOptions options)
      : client_(std::move(client)),
        options_(std::move(options)),
        metrics_(options_.metrics ? options_.metrics : std::make_shared<MetricsRegistry>()),
        clock_(options_.clock ? options_.clock : Clock::Real()),
        informers_(client_, Kept(WithMetrics(options_.informers))),
        cached_(client_, informers_, OnClock(WithMetrics(options_.cached))) {
    healthz_.Add("ping", [] { return Result<void>(); });
    collector_ = metrics_->AddCollector([this](MetricsSink& sink) { CollectCaches(sink); });
  }

  ~Impl() {
    stop_.Cancel();
    runner_.Join();
    webhooks_.Stop();
    servers_.Stop();
    controllers_.clear();
    informers_.Shutdown();
  }

  Result<void> Add(ControllerSpec spec) {
    for (const auto& known : controllers_) {
      if (known->name() == spec.name)
        return Error::Invalid(fmt::format("controller {} exists already: names must be unique in a program", spec.name));
    }
    if (started_) return Error::Invalid(fmt::format("controller {} was added too late: the manager is already running", spec.name));
    Result<std::unique_ptr<Controller>> made =
        Controller::Create(std::move(spec), {.informers = &informers_, .metrics = metrics_, .clock = clock_, .writes = cached_.writes()});
    if (!made) return made.error();
    controllers_.push_back(*std::move(made));
    Controller* const controller = controllers_.back().get();
    readyz_.Add(
        controller->name(), [this, controller] { return ControllerReady(*controller); },
        [this, controller] { return ControllerNote(*controller); });
    return {};
  }

  Result<void> Add(Runnable runnable) {
    if (!runnable.run) return Error::Invalid(fmt::format("runnable \"{}\" has no function", runnable.name));
    if (started_) return Error::Invalid(fmt::format("runnable {} was added too late: the manager is already running", runnable.name));
    runnables_.push_back(std::move(runnable));
    return {};
  }

  Result<void> Add(ManagedCrds crds) {
    if (started_) return Error::Invalid("CRDs were added too late: the manager is already running");
    return crds_.Add(std::move(crds));
  }

  Result<void> Add(WebhookSpec webhook) {
    if (started_) return Error::Invalid(fmt::format("webhook {} was added too late: the manager is already running", webhook.name));
    return AddToWebhooks(std::move(webhook));
  }
  Result<void> Add(ConversionSpec conversion) {
    if (started_)
      return Error::Invalid(fmt::format("the conversion of {} was added too late: the manager is already running", conversion.kind()));
    return AddToWebhooks(std::move(conversion));
  }

  Result<void> Run(const Context& ctx) {
    if (ctx.clock() != clock_) {
      return Error::Invalid("the context of Run uses another clock than the manager: set ManagerOptions::clock to it");
    }
    if (started_.exchange(true)) return Error::Invalid("a manager can run only once");
    // A version that the program does not convert is an error here, and not for clients later.
    const auto converted = [this](DynamicObject& crd) { return webhooks_.SetConversion(crd, ""); };
    if (Result<void> checked = crds_.ForEach(converted); !checked) return checked;
    if (Result<void> checked = webhooks_.Check(); !checked) return checked;
    if (options_.print_manifests) return Print(ManifestsYaml(*options_.print_manifests));
    if (options_.print_rbac) return Print(kube::RbacYaml(needs(), *options_.print_rbac));
    // Everything stops with the caller's context, or when something failed. It runs on a thread of its own, so that this one can return
    // although something does not.
    const Context::Registration stops = ctx.OnDone([this] { stop_.Cancel(); });
    runner_ = Thread("kube-manager", [this] { RunAndEnd(); });
    const auto done = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return result_.has_value(); };
    {
      MutexLock lock(mu_);
      (void)WaitUntil(stopping_, mu_, changed_, done);
      if (!result_) {
        const std::optional<std::chrono::nanoseconds> grace = Grace();
        const Context limit = Context::Background(clock_);
        (void)WaitUntil(grace ? limit.WithTimeout(*grace) : limit, mu_, changed_, done);
      }
      if (!result_) return Unfinished();
    }
    runner_.Join();
    MutexLock lock(mu_);
    return *result_;
  }

  void Needs(AccessNeed need) {
    MutexLock lock(mu_);
    needs_.push_back(std::move(need));
  }

  // Whatever else can be added and needs an object in the cluster appends its documents here.
  std::string ManifestsYaml(const RbacOptions& names) const { return kube::RbacYaml(needs(), names) + webhooks_.Manifests(names, crds_); }

  std::vector<AccessNeed> needs() const {
    std::vector<AccessNeed> all;
    for (const auto& controller : controllers_) {
      for (const WatchSpec& watch : controller->watches()) {
        all.push_back({.group = watch.gvr.group.str(),
                       .resource = watch.gvr.resource.str(),
                       .verbs = {"list", "watch"},
                       .ns = watch.namespaced ? watch.ns : "",
                       .why = fmt::format("controller {} watches it", controller->name())});
      }
      all.insert(all.end(), controller->needs().begin(), controller->needs().end());
    }
    // Informers that other code requested from the factory.
    for (const InformerStatus& informer : informers_.status()) {
      const GroupResource resource = GroupResource::Parse(informer.what);
      const bool known = std::any_of(all.begin(), all.end(), [&](const AccessNeed& need) {
        const std::string ns = need.ns.value_or(options_.informers.ns);
        return need.group == resource.group.view() && need.resource == resource.resource.view() && (ns.empty() || ns == informer.ns);
      });
      if (known) continue;
      all.push_back({.group = resource.group.str(),
                     .resource = resource.resource.str(),
                     .verbs = {"list", "watch"},
                     .ns = informer.ns,
                     .why = "an informer watches it"});
    }
    if (options_.leader_election) {
      const LeaderElectionOptions& election = *options_.leader_election;
      all.push_back({.group = "coordination.k8s.io",
                     .resource = "leases",
                     .verbs = {"create", "get", "update"},
                     .ns = election.ns.empty() ? std::string(kOwnNamespace) : election.ns,
                     .name = election.name,
                     .why = "leader election"});
    }
    const bool has_metrics_server = !options_.metrics_bind_address.empty() && options_.metrics_bind_address != "0";
    if (options_.metrics_authorization && has_metrics_server) {
      const auto review = [&](const char* group, const char* resource) {
        all.push_back({.group = group, .resource = resource, .verbs = {"create"}, .ns = "", .why = "metrics_authorization"});
      };
      review("authentication.k8s.io", "tokenreviews");
      review("authorization.k8s.io", "subjectaccessreviews");
    }
    for (std::vector<AccessNeed> more : {crds_.needs(), webhooks_.needs()})
      all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    MutexLock lock(mu_);
    if (events_) all.push_back({.group = "events.k8s.io", .resource = "events", .verbs = {"create", "patch"}, .why = "events"});
    all.insert(all.end(), needs_.begin(), needs_.end());
    std::vector<AccessNeed> placed;
    for (AccessNeed& need : all) {
      if (!need.ns && need.path.empty() && options_.write_namespaces) Divide(need, *options_.write_namespaces, placed);
      if (!need.ns) need.ns = options_.informers.ns;
      if (!need.verbs.empty()) placed.push_back(std::move(need));
    }
    return placed;
  }

  static Result<void> Print(const std::string& yaml) {
    std::fwrite(yaml.data(), 1, yaml.size(), stdout);
    if (std::fflush(stdout) != 0) return Error::Internal("standard output cannot be written");
    return {};
  }

  // Leaves the verbs of a watch with the need, which is for wherever the manager watches; the others are for `namespaces`.
  static void Divide(AccessNeed& need, const std::vector<std::string>& namespaces, std::vector<AccessNeed>& out) {
    const auto watches = [](const std::string& verb) { return verb == "list" || verb == "watch"; };
    const auto rest = std::stable_partition(need.verbs.begin(), need.verbs.end(), watches);
    AccessNeed write = need;
    write.verbs.assign(rest, need.verbs.end());
    need.verbs.erase(rest, need.verbs.end());
    for (const std::string& ns : namespaces) {
      if (write.verbs.empty()) return;
      write.ns = ns;
      out.push_back(write);
    }
  }

  EventRecorder events(std::string controller) {
    MutexLock lock(mu_);
    if (!events_) events_.emplace(client_, EventRecorderOptions{.controller = controller, .metrics = metrics_, .clock = clock_});
    return events_->For(std::move(controller));
  }

  std::vector<std::string> StillRunning() const {
    std::map<std::string, int> parts;
    {
      MutexLock lock(mu_);
      parts = parts_;
    }
    std::vector<std::string> out;
    for (const auto& [name, count] : parts) {
      out.push_back(name);
      // Which keys a controller's workers have.
      for (const auto& controller : controllers_) {
        if (name != "controller " + controller->name()) continue;
        std::vector<std::string> keys;
        for (const WorkQueueEntry<ObjectKey>& entry : controller->status(1000).queue.entries) {
          if (entry.state == KeyState::kProcessing) keys.push_back(entry.key.ToString());
        }
        std::sort(keys.begin(), keys.end());
        if (!keys.empty()) out.back() += fmt::format(" ({})", fmt::join(keys, ", "));
      }
    }
    return out;
  }

  std::string DebugJson() const {
    std::vector<ControllerStatus> controllers;
    for (const auto& controller : controllers_) controllers.push_back(controller->status(internal::DebugQuery().most()));
    return internal::DebugReport(controllers, informers_.status(), is_leader(), clock_->WallNow(), {}, webhooks_.Report());
  }

  bool is_leader() const {
    if (!leading_) return false;
    std::shared_ptr<const LeaderElector> elector;
    {
      MutexLock lock(mu_);
      elector = elector_;
    }
    // Work that goes on after a standstill does not mean that the lease is still held.
    return elector == nullptr || elector->is_leader();
  }

  const Client client_;
  const ManagerOptions options_;
  const std::shared_ptr<MetricsRegistry> metrics_;
  const std::shared_ptr<Clock> clock_;
  InformerFactory informers_;
  const CachedClient cached_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::vector<Runnable> runnables_;
  internal::ManagerCrds crds_{client_};
  internal::ManagerWebhooks webhooks_{{.options = &options_,
                                       .client = &client_,
                                       .metrics = metrics_,
                                       .clock = clock_,
                                       .leads = [this] { return options_.leader_election ? is_leader() : true; },
                                       .failed = [this](Error error) { Fail(std::move(error)); }}};
  internal::HealthChecks healthz_{"/healthz"}, readyz_{"/readyz"};
  internal::ManagerServers servers_{{.options = &options_,
                                     .client = &client_,
                                     .metrics = metrics_,
                                     .healthz = &healthz_,
                                     .readyz = &readyz_,
                                     .debug = [this](const auto& request) {
                                       return internal::AnswerDebug(request, controllers_, informers_, is_leader(), webhooks_.Report());
                                     }}};

 private:
  template <typename Spec>
  Result<void> AddToWebhooks(Spec spec) {
    const bool first = webhooks_.empty();
    if (Result<void> added = webhooks_.Add(std::move(spec)); !added) return added;
    if (first)
      readyz_.Add(
          "webhooks", [this] { return webhooks_.Ready(); }, [this] { return webhooks_.Note(); });
    return {};
  }

  template <typename Options>
  Options WithMetrics(Options options) const {
    if (!options.metrics) options.metrics = metrics_;
    return options;
  }

  CachedClientOptions OnClock(CachedClientOptions options) const {
    if (!options.clock) options.clock = clock_;
    return options;
  }
  static InformerFactoryOptions Kept(InformerFactoryOptions options) {
    options.keep = true;
    return options;
  }

  // Nothing: as long as it takes.
  std::optional<std::chrono::nanoseconds> Grace() const KUBE_REQUIRES(mu_) {
    const std::chrono::nanoseconds wanted = options_.graceful_shutdown_timeout;
    if (wanted >= std::chrono::nanoseconds(0)) return lost_ ? std::min<std::chrono::nanoseconds>(wanted, kLostGrace) : wanted;
    return lost_ ? std::optional<std::chrono::nanoseconds>(kLostGrace) : std::nullopt;
  }

  Result<void> Unfinished() KUBE_REQUIRES(mu_) {
    const std::string waited = Seconds(*Grace());
    const std::optional<Error> failure = failure_;
    const bool lost = lost_;
    mu_.Unlock();
    const std::string running = fmt::format("{}", fmt::join(StillRunning(), ", "));
    mu_.Lock();
    Log().Error("Shutdown did not finish in time", {{"waited", waited}, {"still_running", running}});
    const std::string text = fmt::format("shutdown did not finish within {}, still running: {}", waited, running);
    if (failure) return failure->WithContext(text);
    Error::Payload payload;
    payload.kind = lost ? ErrorKind::kClosed : ErrorKind::kTimeout;
    payload.reason = lost ? "LeadershipLost" : kShutdownTimeout;
    payload.message = lost ? "leader election: lost the lease; " + text : text;
    return Error(std::move(payload));
  }

  // On its own thread: all of it, from start to end.
  void RunAndEnd() {
    // As soon as the manager starts to stop: new connections go elsewhere while the rest shuts down.
    const Context::Registration drains = stopping_.OnDone([this] { webhooks_.BeginShutdown(); });
    Result<void> result = RunParts();
    stop_.Cancel();
    crds_waiter_.Join();
    for (Thread& thread : threads_) thread.Join();
    threads_.clear();
    std::optional<EventRecorder> events;
    {
      const Part caches(*this, "caches");
      informers_.Shutdown();
    }
    {
      const Part part(*this, "events");
      {
        MutexLock lock(mu_);
        events = events_;
      }
      if (events) events->Shutdown();
    }
    {
      const Part part(*this, "webhooks");
      webhooks_.Stop();
    }
    servers_.Stop();
    MutexLock lock(mu_);
    result_ = std::move(result);
    changed_.NotifyAll();
  }

  // Something that StillRunning names.
  class Part {
   public:
    Part(Impl& impl, std::string name) : impl_(impl), name_(std::move(name)) {
      MutexLock lock(impl_.mu_);
      ++impl_.parts_[name_];
    }
    ~Part() {
      MutexLock lock(impl_.mu_);
      if (--impl_.parts_[name_] == 0) impl_.parts_.erase(name_);
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    Impl& impl_;
    const std::string name_;
  };

  void CollectCaches(MetricsSink& sink) {
    // Watches of one resource that differ only in selectors or fields are summed up in one series.
    struct Sum {
      double objects = 0, pending = 0, silence = 0;
      double undecodable = 0;
      bool synced = true;
    };
    std::map<std::pair<std::string, std::string>, Sum> sums;
    for (const InformerStatus& informer : informers_.status()) {
      Sum& sum = sums[{informer.what, informer.ns}];
      sum.objects += static_cast<double>(informer.objects);
      sum.undecodable += static_cast<double>(informer.undecodable);
      for (const UndecodableObject& object : informer.undecodable_objects) {
        sink.Set("kubexx_cache_undecodable_object",
                 {{"resource", informer.what}, {"namespace", object.key.ns.view()}, {"name", object.key.name.view()}}, 1);
      }
      sum.synced = sum.synced && informer.synced;
      sum.silence = std::max(sum.silence, std::chrono::duration<double>(informer.silence).count());
      for (const HandlerStatus& handler : informer.handlers) sum.pending += static_cast<double>(handler.pending);
    }
    for (const auto& [where, sum] : sums) {
      const MetricLabels labels = {{"resource", where.first}, {"namespace", where.second}};
      sink.Set("kubexx_cache_objects", labels, sum.objects);
      sink.Set("kubexx_cache_undecodable_objects", labels, sum.undecodable);
      sink.Set("kubexx_cache_synced", labels, sum.synced ? 1 : 0);
      sink.Set("kubexx_cache_silence_seconds", labels, sum.silence);
      sink.Set("kubexx_cache_pending_notifications", labels, sum.pending);
    }
    MutexLock lock(bytes_mu_);
    const Clock::TimePoint now = clock_->Now();
    if (!bytes_at_ || now - *bytes_at_ >= kBytesAge) {
      bytes_.clear();
      for (const InformerMemory& memory : informers_.memory()) {
        CacheStats& sum = bytes_[{memory.what, memory.ns}];
        sum.real_bytes += memory.stats.real_bytes;
        sum.logical_bytes += memory.stats.logical_bytes;
      }
      bytes_at_ = now;
    }
    for (const auto& [where, stats] : bytes_) {
      const MetricLabels labels = {{"resource", where.first}, {"namespace", where.second}};
      sink.Set("kubexx_cache_bytes", labels, static_cast<double>(stats.real_bytes));
      sink.Set("kubexx_cache_logical_bytes", labels, static_cast<double>(stats.logical_bytes));
    }
  }

  // Errors: only if the options say so.
  Result<void> CheckAccess(const Context& ctx) const {
    if (options_.preflight == Preflight::kSkip) return {};
    const std::vector<AccessNeed> all = needs();
    if (all.empty()) return {};
    const Result<AccessReport> report = ReviewAccess(ctx, client_, all, {.timeout = options_.preflight_timeout});
    if (!report) return {};  // the manager's shutdown is reported elsewhere
    if (report->unknown) Log().Warn("Could not check the permissions of this program", {{"err", *report->unknown}});
    if (report->missing.empty()) {
      if (!report->unknown) Log().V(1).Info("This program has the permissions that it needs", {{"reviews", report->asked}});
      return {};
    }
    const RbacOptions names = options_.print_rbac.value_or(RbacOptions());
    if (options_.preflight == Preflight::kFail) return Error(ErrorKind::kConfig, "pre-flight: " + report->ToString(names));
    Log().Warn("This program lacks permissions that it needs", {{"missing", report->Summary()}, {"rules", report->Rules()}});
    return {};
  }

  // What does not keep it from being ready: caches that wait for this program's own conversions, and objects of its kinds that cannot be
  // decoded, because all others are served.
  std::string ControllerNote(const Controller& controller) const {
    std::string out;
    if (!caches_started_ && !crds_.empty()) {
      out = "it waits for the leader to install its CRDs";
    } else if (!controller.HasSynced()) {
      out = "its caches wait for the conversions that this program serves";
    }
    for (const InformerStatus& informer : informers_.status()) {
      const auto its = [&](const WatchSpec& watch) { return watch.gvr.group_resource().ToString() == informer.what; };
      const auto& watches = controller.watches();
      if (std::none_of(watches.begin(), watches.end(), its)) continue;
      if (!out.empty() && !informer.synced && informer.reflector.error) out += fmt::format(" ({})", informer.reflector.error->ToString());
      const std::string text = informer.UndecodableText();
      if (!text.empty()) out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", informer.what, text);
    }
    return out;
  }

  // Which watch has no complete cache, and why.
  Result<void> ControllerReady(const Controller& controller) const {
    // Before its watches are there, a controller lacks none of them.
    if (!caches_started_) {
      // The leader installs them. If a replica that waits for that were not ready, a rolling update would never remove the leader before.
      if (!crds_.empty() && options_.leader_election && !leading_) return {};
      return Error::Internal(crds_.empty() ? "its watches have not started yet" : "its CRDs are not served yet");
    }
    if (controller.HasSynced()) return {};
    std::string missing;
    bool waits_for_itself = false;
    const std::vector<InformerStatus> informers = informers_.status();
    for (const WatchSpec& watch : controller.watches()) {
      const std::string resource = watch.gvr.group_resource().ToString();
      for (const InformerStatus& informer : informers) {
        if (informer.synced || informer.what != resource) continue;
        // API servers convert its objects by webhooks of this program, and a Service sends them to ready replicas only. If no replica is
        // left, the first one to start has to be ready before its caches can be complete. A missing permission has another cause.
        const std::optional<Error>& error = informer.reflector.error;
        const bool is_refused = error && (IsForbidden(*error) || IsUnauthorized(*error));
        if (webhooks_.Converts(resource) && !is_refused) {
          waits_for_itself = true;
          continue;
        }
        missing += fmt::format("{}{}: {}", missing.empty() ? "" : "; ", resource,
                               error ? error->ToString() : std::string(ToString(informer.reflector.state)));
      }
    }
    if (waits_for_itself && missing.empty()) return {};
    return Error::Internal(
        fmt::format("caches are not complete: {}", missing.empty() ? "handlers are still processing the initial list" : missing));
  }

  Result<void> RunParts() {
    if (Result<void> serving = servers_.Start(); !serving) return serving;
    const Context ctx = stopping_;
    if (Result<void> allowed = CheckAccess(ctx); !allowed) return allowed;
    audit_->Declare(needs());
    // Before caches: the API server may need them for the objects that caches list.
    const auto managed = [this](std::string_view crd) { return crds_.Find(crd) != nullptr; };
    if (Result<void> serving = webhooks_.Start(audit_->Watch(ctx, "webhooks", std::nullopt), managed); !serving) return serving;
    if (crds_.empty()) {
      if (Result<void> started = StartCaches(ctx); !started) return started;
    } else {
      // The leader, which may be this replica, installs them meanwhile.
      crds_waiter_ = Start("CRDs", "crds", ctx, [this](const Context& wait) -> Result<void> {
        if (Result<void> there = crds_.Await(wait); !there) return there;
        return StartCaches(wait);
      });
    }
    if (!options_.leader_election) {
      leading_ = true;
      Lead(ctx);
      leading_ = false;
      return Failure();
    }
    LeaderElectionOptions election = *options_.leader_election;
    if (!election.metrics) election.metrics = metrics_;
    // A bit less than Run waits: the lease has to be released within that time.
    const std::chrono::nanoseconds drain = options_.graceful_shutdown_timeout;
    if (drain >= std::chrono::nanoseconds(0)) {
      election.drain_timeout = drain - std::min<std::chrono::nanoseconds>(drain / 10, std::chrono::seconds(1));
    } else {
      election.drain_timeout = std::chrono::hours(24 * 365);
    }
    Result<LeaderElector> made = LeaderElector::Create(client_, std::move(election),
                                                       {.on_started_leading =
                                                            [this](const Context& lead) {
                                                              leading_ = true;
                                                              Lead(lead);
                                                              leading_ = false;
                                                            },
                                                        .on_stopped_leading = [this] { StoppedLeading(); },
                                                        .on_new_leader =
                                                            [](const std::string& identity) {
                                                              Log().Info("New leader", {{"identity", identity}});
                                                            }});
    if (!made) return made.error();
    // Shared: a check may still be running when this returns.
    const auto elector = std::make_shared<LeaderElector>(*std::move(made));
    {
      MutexLock lock(mu_);
      elector_ = elector;
    }
    healthz_.Add("leader-election", [elector] { return elector->Check(std::chrono::seconds(20)); });
    const Part part(*this, "leader election");
    const Result<void> ran = elector->Run(ctx);
    healthz_.Add("leader-election", [] { return Result<void>(); });
    return ran ? Failure() : ran;
  }

  // Everything that does not need leadership.
  Result<void> StartCaches(const Context& ctx) {
    informers_.Start(ctx);  // what the program asked for; those of watches end with their watch
    for (const auto& controller : controllers_) {
      if (Result<void> started = controller->Start(); !started) return started;
    }
    informers_.Start(ctx);
    for (const Runnable& runnable : runnables_) {
      if (!runnable.needs_leader) threads_.push_back(Start(runnable, ctx));
    }
    for (const auto& controller : controllers_) {
      if (!controller->needs_leader()) threads_.push_back(Start(*controller, ctx));
    }
    MutexLock lock(mu_);
    caches_started_ = true;
    changed_.NotifyAll();
    return {};
  }

  // Installs the CRDs, and waits until the caches of this replica have started. False if there is nothing more to do.
  bool InstallCrds(const Context& ctx) {
    Result<void> installed;
    {
      const Part part(*this, "CRDs");
      // A definition with a conversion cannot be used before this replica converts.
      const Result<std::string> ca = webhooks_.ConvertsAnyOf(crds_) ? webhooks_.Await(ctx) : Result<std::string>(std::string());
      if (!ca) return false;  // the context stopped
      installed =
          crds_.Install(audit_->Watch(ctx, "CRDs", std::nullopt), [&](DynamicObject& crd) { return webhooks_.SetConversion(crd, *ca); });
    }
    if (!installed) {
      if (!ctx.stopped()) Fail(installed.error().WithContext("CRDs"));
      return false;
    }
    MutexLock lock(mu_);
    return WaitUntil(ctx, mu_, changed_, [this] { return caches_started_.load(); }).ok();
  }

  // The first failure ends the manager.
  void Fail(Error error) {
    {
      MutexLock lock(mu_);
      if (!failure_) failure_ = std::move(error);
    }
    stop_.Cancel();
  }

  void StoppedLeading() {
    leading_ = false;
    if (stopping_.stopped()) return;
    {
      MutexLock lock(mu_);
      lost_ = true;
    }
    stop_.Cancel();
  }

  // Everything that needs leadership, until `ctx` stops or something fails.
  void Lead(const Context& ctx) {
    webhooks_.Wake();
    std::deque<Thread> threads;
    if (!crds_.empty() && !InstallCrds(ctx)) {
      ctx.WaitUntilStopped();
      return;
    }
    if (crds_.migrates()) {
      threads.push_back(
          Start("storage migration", "migration", audit_->Watch(ctx, "storage migration", std::nullopt), [this](const Context& run) {
            crds_.Migrate(run);
            return Result<void>();
          }));
    }
    for (const Runnable& runnable : runnables_) {
      if (runnable.needs_leader) threads.push_back(Start(runnable, ctx));
    }
    for (const auto& controller : controllers_) {
      if (controller->needs_leader()) threads.push_back(Start(*controller, ctx));
    }
    ctx.WaitUntilStopped();
    for (Thread& thread : threads) thread.Join();
  }

  Thread Start(const Runnable& runnable, const Context& ctx) {
    const std::string part = "runnable " + runnable.name;
    return Start(part, runnable.name, audit_->Watch(ctx, part, std::nullopt), runnable.run);
  }
  Thread Start(Controller& controller, const Context& ctx) {
    return Start("controller " + controller.name(), controller.name(),
                 audit_->Watch(ctx, "controller " + controller.name(), controller.watches().front().gvr),
                 [&controller](const Context& run) { return controller.Run(run); });
  }
  Thread Start(const std::string& part, const std::string& name, const Context& ctx,
               const std::function<Result<void>(const Context&)>& run) {
    // Before the thread starts: a list of running parts must include it.
    auto counted = std::make_shared<std::optional<Part>>();
    counted->emplace(*this, part);
    return Thread("kube-" + name.substr(0, 10), [this, name, ctx, run, counted] {
      Result<void> result;
      try {
        result = run(ctx);
      } catch (const ErrorException& e) {  // Result::value(): the same as returning that error
        result = e.error();
      } catch (const std::exception& e) {
        result = Error(ErrorKind::kUserCode, fmt::format("it threw: {}", e.what()));
      } catch (...) {
        result = Error(ErrorKind::kUserCode, "it threw something that is not a std::exception");
      }
      counted->reset();
      if (result || ctx.stopped()) return;
      Fail(result.error().WithContext(name));
    });
  }

  Result<void> Failure() const {
    MutexLock lock(mu_);
    if (failure_) return *failure_;
    return {};
  }

  const std::shared_ptr<internal::AccessAudit> audit_ = std::make_shared<internal::AccessAudit>(client_);
  Context stopping_ = Context::Background(clock_);
  CancelSource stop_ = [this] {
    auto [ctx, cancel] = Context::Background(clock_).WithCancel();
    stopping_ = ctx;
    return std::move(cancel);
  }();
  std::atomic<bool> started_ = false;
  std::atomic<bool> leading_ = false;
  std::atomic<bool> caches_started_ = false;  // set under mu_
  mutable Mutex mu_;
  CondVar changed_;
  std::optional<Error> failure_ KUBE_GUARDED_BY(mu_);
  std::optional<Result<void>> result_ KUBE_GUARDED_BY(mu_);  // when everything has ended
  bool lost_ KUBE_GUARDED_BY(mu_) = false;                   // the lease
  std::shared_ptr<const LeaderElector> elector_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, int> parts_ KUBE_GUARDED_BY(mu_);
  std::vector<AccessNeed> needs_ KUBE_GUARDED_BY(mu_);
  std::optional<EventRecorder> events_ KUBE_GUARDED_BY(mu_);
  Mutex bytes_mu_;
  std::map<std::pair<std::string, std::string>, CacheStats> bytes_ KUBE_GUARDED_BY(bytes_mu_);
  std::optional<Clock::TimePoint> bytes_at_ KUBE_GUARDED_BY(bytes_mu_);
  std::deque<Thread> threads_;  // of runner_, and of crds_waiter_ until it has ended
  Thread crds_waiter_;
  Thread runner_;
  MetricsRegistry::Collector collector_;
};

bool IsShutdownTimeout(const Error& e) { return e.reason() == kShutdownTimeout; }

Manager::Manager(Client client, ManagerOptions options) : impl_(std::make_unique<Impl>(std::move(client), std::move(options))) {}
Manager::~Manager() = default;
Result<void> Manager::Add(ControllerSpec controller) { return impl_->Add(std::move(controller)); }
Result<void> Manager::Add(Runnable runnable) { return impl_->Add(std::move(runnable)); }
Result<void> Manager::Add(WebhookSpec webhook) { return impl_->Add(std::move(webhook)); }
Result<void> Manager::Add(ConversionSpec conversion) { return impl_->Add(std::move(conversion)); }
Result<void> Manager::Add(ManagedCrds crds) { return impl_->Add(std::move(crds)); }
void Manager::Needs(AccessNeed need) { impl_->Needs(std::move(need)); }
std::vector<AccessNeed> Manager::needs() const { return impl_->needs(); }
std::string Manager::RbacYaml(const RbacOptions& options) const { return kube::RbacYaml(impl_->needs(), options); }
std::string Manager::ManifestsYaml(const RbacOptions& options) const { return impl_->ManifestsYaml(options); }
EventRecorder Manager::events(std::string controller) { return impl_->events(std::move(controller)); }
std::vector<std::string> Manager::StillRunning() const { return impl_->StillRunning(); }
void Manager::AddHealthCheck(std::string name, HealthCheck check) { impl_->healthz_.Add(std::move(name), std::move(check)); }
void Manager::AddReadyCheck(std::string name, HealthCheck check) { impl_->readyz_.Add(std::move(name), std::move(check)); }
Result<void> Manager::Run(const Context& ctx) { return impl_->Run(ctx); }
const Client& Manager::client() const { return impl_->client_; }
const CachedClient& Manager::cached() const { return impl_->cached_; }
InformerFactory& Manager::informers() { return impl_->informers_; }
const std::shared_ptr<MetricsRegistry>& Manager::metrics() const { return impl_->metrics_; }
Controller* Manager::controller(std::string_view name) {
  for (const auto& controller : impl_->controllers_) {
    if (controller->name() == name) return controller.get();
  }
  return nullptr;
}
bool Manager::is_leader() const { return impl_->is_leader(); }
std::uint16_t Manager::metrics_port() const { return impl_->servers_.metrics_port(); }
std::uint16_t Manager::health_port() const { return impl_->servers_.health_port(); }
std::uint16_t Manager::webhook_port() const { return impl_->webhooks_.port(); }
std::string Manager::DebugJson() const { return impl_->DebugJson(); }

}  // namespace kube
