#include "exposer.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "claims.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/client/pager.h"
#include "kube/control/cached_client.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/event_recorder.h"
#include "plan.h"

namespace auto_expose {
namespace {

using kube::Action;
using kube::ChildChange;
using kube::Context;
using kube::EventType;
using kube::ObjectKey;
using kube::Ptr;
using kube::Result;
using kube::String;
using kube::apps::v1::DaemonSet;
using kube::apps::v1::Deployment;
using kube::apps::v1::StatefulSet;
using kube::core::v1::Service;
using kube::networking::v1::Ingress;

constexpr const char* kSet = "auto-expose";
constexpr std::chrono::seconds kLookAgainForKind{15};
constexpr const char* kClaimIndex = "auto-expose/claim";
constexpr const char* kChildIndex = "auto-expose/child";

std::string ChildKey(std::string_view ns, std::string_view child) { return std::string(ns).append("/").append(child); }

// Its namespace is being deleted: the workload goes with it in a moment.
bool NamespaceGoes(const kube::Error& error) {
  if (kube::IsNotFound(error) && error.payload().resource_kind == "namespaces") return true;
  const auto& causes = error.causes();
  return std::any_of(causes.begin(), causes.end(), [](const kube::ErrorCause& cause) { return cause.reason == "NamespaceTerminating"; });
}

// Workloads that are known to be gone before their watch has told: the latest ones are enough. UIDs never come back.
class GoneWorkloads {
 public:
  bool Has(const String& uid) {
    kube::MutexLock lock(mu_);
    return std::find(latest_.begin(), latest_.end(), uid) != latest_.end();
  }
  void Add(const String& uid) {
    kube::MutexLock lock(mu_);
    if (latest_.size() == 64) latest_.pop_front();
    latest_.push_back(uid);
  }

 private:
  kube::Mutex mu_;
  std::deque<String> latest_ KUBE_GUARDED_BY(mu_);
};

// What the controllers of all kinds share.
struct Shared {
  Settings settings{};
  kube::CachedClient client;
  kube::EventRecorder events{};
  std::shared_ptr<kube::serve::MetricsRegistry> metrics{};
  // For each kind that is exposed: who wants this claim, from its cache.
  std::vector<std::function<void(std::string_view claim, std::vector<Claimant>& out)>> claimants{};
  kube::SharedInformer<Service> services;
  kube::SharedInformer<Ingress> ingresses;
  std::optional<kube::SharedInformer<kube::DynamicObject>> routes{};  // of the gateway
  std::optional<kube::RestMapper> mapper{};
  GoneWorkloads gone{};
};

template <typename T>
kube::DesiredState<T> Desired(const kube::Client& client, const T& workload, const Settings& settings, const Plan& plan, bool dry_run,
                              const std::optional<kube::RestMapper>& mapper = {}) {
  kube::DesiredState<T> desired(client, workload, {.field_manager = kFieldManager, .name = kSet, .dry_run = dry_run, .mapper = mapper});
  desired.template Manage<Service, Ingress>();
  if (settings.exposure == Exposure::kGateway) desired.Manage(kHttpRoute);
  if (plan.service) desired.Want(*plan.service);
  if (plan.ingress) desired.Want(*plan.ingress);
  if (plan.route) desired.Want(*plan.route);
  return desired;
}

template <typename T>
class KindExposer {
 public:
  KindExposer(std::shared_ptr<Shared> shared, kube::SharedInformer<T> workloads)
      : shared_(std::move(shared)), workloads_(std::move(workloads)) {}

  // Which workloads of this kind want the children's name.
  std::vector<ObjectKey> ByChild(std::string_view ns, std::string_view child) const {
    Result<std::vector<ObjectKey>> keys = workloads_.indexer().KeysByIndex(kChildIndex, ChildKey(ns, child));
    return keys ? *std::move(keys) : std::vector<ObjectKey>{};
  }
  // Which ones want what this workload wants.
  template <typename Other>
  std::vector<ObjectKey> Rivals(const Other& workload) const {
    const std::string claim = PlanFor(WorkloadOf(workload), shared_->settings).claim;
    if (claim.empty()) return {};
    Result<std::vector<ObjectKey>> keys = workloads_.indexer().KeysByIndex(kClaimIndex, claim);
    return keys ? *std::move(keys) : std::vector<ObjectKey>{};
  }

  Result<Action> Reconcile(const Context& ctx, const kube::Request& request) const {
    const Result<Ptr<T>> found = shared_->client.template Get<T>(ctx, request.key);
    // Gone: its children go with it, they have owner references.
    if (!found) return kube::IsNotFound(found.error()) ? Result<Action>(Action::Done()) : found.error();
    const T& workload = **found;
    if (!workload.metadata.deletion_timestamp.IsZero()) return Action::Done();
    // Children go with their workload, and it is another watch that tells of its end: what was deleted with it must not come back.
    if (shared_->gone.Has(workload.metadata.uid)) return Action::Done();
    if (request.Has(kube::ChangeKind::kDeleted)) {
      const Result<bool> there = IsThere(ctx, workload);
      if (!there) return there.error();
      if (!*there) return shared_->gone.Add(workload.metadata.uid), Action::Done();
    }

    Plan plan = PlanFor(WorkloadOf(workload), shared_->settings);
    if (!plan.claim.empty()) {
      std::vector<Claimant> claimants;
      for (const auto& of_kind : shared_->claimants) of_kind(plan.claim, claimants);
      if (const std::optional<Claimant> winner = WinnerOver(Claimant::Of(WorkloadOf(workload)), claimants)) Yield(plan, *winner);
    }
    for (const Problem& problem : plan.problems) Warn(workload, problem.reason, problem.message);
    if (plan.verdict == Plan::Verdict::kKeep || plan.verdict == Plan::Verdict::kIgnore) return Action::Done();

    kube::DesiredState<T> desired = Desired(shared_->client, workload, shared_->settings, plan, false, shared_->mapper);
    desired.ReadFrom(shared_->services.lister());
    // Those may be missing, or not allowed: then the rest goes on, and the server says for each workload what it cannot have.
    if (shared_->ingresses.HasSynced()) desired.ReadFrom(shared_->ingresses.lister());
    if (shared_->routes && shared_->routes->HasSynced()) desired.ReadFrom(kHttpRoute, shared_->routes->lister());
    const Result<kube::Changes> changes = desired.Apply(ctx);
    if (!changes) return changes.error();
    return Report(workload, plan, *changes);
  }

 private:
  // On the server. By a list: permission to watch is permission to list.
  Result<bool> IsThere(const Context& ctx, const T& workload) const {
    const kube::Client& live = shared_->client;
    const Result<kube::ObjectList<T>> found =
        live.List<T>(ctx, {.ns = workload.metadata.namespace_.str(), .field_selector = "metadata.name=" + workload.metadata.name.str()});
    if (!found) return found.error();
    return std::any_of(found->items.begin(), found->items.end(), [&](const T& item) {
      return item.metadata.uid == workload.metadata.uid && item.metadata.deletion_timestamp.IsZero();
    });
  }

  void Warn(const T& workload, const std::string& reason, const std::string& message) const {
    shared_->metrics->Add("auto_expose_problems_total", {{"reason", reason}});
    shared_->events.Event(workload, EventType::kWarning, reason, "Expose", message);
  }

  Result<Action> Report(const T& workload, const Plan& plan, const kube::Changes& changes) const {
    bool written = false, pruned = false;
    const kube::Error* failure = nullptr;
    for (const ChildChange& child : changes.children) {
      if (child.outcome == ChildChange::Outcome::kUnchanged) continue;
      shared_->metrics->Add("auto_expose_changes_total", {{"kind", child.gvk.kind.view()}, {"outcome", kube::ToString(child.outcome)}});
      switch (child.outcome) {
        case ChildChange::Outcome::kCreated:
        case ChildChange::Outcome::kUpdated:
          written = true;
          break;
        case ChildChange::Outcome::kPruned:
          pruned = true;
          break;
        case ChildChange::Outcome::kConflict:
          // Nothing to try again: when the other object goes, its watch says so.
          Warn(workload, "NameConflict", child.gvk.kind.str() + " " + child.key.name.str() + ": " + child.message);
          break;
        case ChildChange::Outcome::kFailed:
          failure = &*child.error;
          break;
        case ChildChange::Outcome::kDeleting:  // its watch tells when it is gone
        case ChildChange::Outcome::kUnchanged:
          break;
      }
    }
    if (changes.changed()) {
      kube::Logger("auto-expose")
          .Info("Changed", {{"workload", kube::KeyOf(workload).ToString()}, {"changes", changes.Summary()}, {"url", plan.url}});
    }
    if (failure != nullptr) {
      if (NamespaceGoes(*failure)) return Action::Done();
      Warn(workload, "Failed", failure->message());
      // A CRD that somebody installs later makes no change that a watch would tell.
      if (kube::IsNoMatch(*failure)) return Action::RequeueAfter(kLookAgainForKind);
      return *failure;
    }
    if (written) {
      shared_->events.Event(workload, EventType::kNormal, "Exposed", "Expose",
                            plan.url.empty() ? "inside the cluster, by Service " + plan.service->metadata.name.str() : "at " + plan.url);
    } else if (pruned && !plan.service) {
      shared_->events.Event(workload, EventType::kNormal, "Withdrawn", "Expose", plan.why);
    }
    return Action::Done();
  }

  std::shared_ptr<Shared> shared_;
  kube::SharedInformer<T> workloads_;
};

// Who manages which field takes as much memory as all the rest, and is nothing that a plan or its comparison needs: what others add to
// lists of ours is theirs to keep, and before an object is changed it is read whole from the server.
kube::InformerOptions LeanOptions(kube::Manager& manager) {
  kube::InformerOptions options = manager.informers().defaults();
  options.strip_managed_fields = true;
  return options;
}

template <typename T>
Result<kube::SharedInformer<T>> MakeInformer(kube::Manager& manager, const std::shared_ptr<Shared>& shared) {
  kube::SharedInformer<T> informer = manager.informers().For<T>(LeanOptions(manager));
  const auto claim = [settings = shared->settings](const T& workload) -> std::vector<String> {
    const std::string text = PlanFor(WorkloadOf(workload), settings).claim;
    return text.empty() ? std::vector<String>{} : std::vector<String>{String(text)};
  };
  if (Result<void> r = informer.AddIndex(kClaimIndex, claim); !r) return r.error();
  const auto child = [](const T& workload) -> std::vector<String> {
    return {String(ChildKey(workload.metadata.namespace_, ChildName(workload.metadata.name)))};
  };
  if (Result<void> r = informer.AddIndex(kChildIndex, child); !r) return r.error();
  shared->claimants.push_back([informer](std::string_view text, std::vector<Claimant>& out) {
    const Result<std::vector<Ptr<T>>> all = informer.indexer().ByIndex(kClaimIndex, text);
    if (!all) return;
    for (const Ptr<T>& workload : *all) out.push_back(Claimant::Of(WorkloadOf(*workload)));
  });
  return informer;
}

// Of HTTPRoutes that are a workload's of this kind.
template <typename T>
std::vector<ObjectKey> OwnerOf(const kube::DynamicObject& route) {
  for (const kube::meta::v1::OwnerReference& reference : route.metadata().owner_references) {
    if (reference.controller.value_or(false) && reference.kind == kube::GvkOf<T>().kind) return {{route.namespace_(), reference.name}};
  }
  return {};
}

template <typename T>
void WatchRivals(kube::ControllerBuilder<T>& builder, const std::shared_ptr<KindExposer<T>>& exposer, kube::Manager& manager,
                 const Settings& settings) {
  const auto watch = [&]<typename Other>(const char* name) {
    builder.template Watches<Other>([exposer](const Other& other) { return exposer->Rivals(other); },
                                    {.informer = LeanOptions(manager), .name = name});
  };
  if (settings.exposure == Exposure::kNone) return;
  if (settings.deployments) watch.template operator()<Deployment>("deployments with the same host");
  if (settings.stateful_sets) watch.template operator()<StatefulSet>("statefulsets with the same host");
  if (settings.daemon_sets) watch.template operator()<DaemonSet>("daemonsets with the same host");
}

template <typename T>
Result<void> AddKind(kube::Manager& manager, const std::shared_ptr<Shared>& shared, const ExposerOptions& options) {
  Result<kube::SharedInformer<T>> informer = MakeInformer<T>(manager, shared);
  if (!informer) return informer.error();
  const auto exposer = std::make_shared<KindExposer<T>>(shared, *informer);
  kube::ControllerBuilder<T> builder = kube::ControllerFor<T>("auto-expose-" + kube::GvrOf<T>().resource.str());
  builder.For({.informer = LeanOptions(manager)})
      .template Owns<Service>({.informer = LeanOptions(manager)})
      .template Owns<Ingress>({.informer = LeanOptions(manager), .optional = true})
      // An object of somebody else with a child's name: when it goes, the child can come.
      .template Watches<Service>([exposer](const Service& s) { return exposer->ByChild(s.metadata.namespace_, s.metadata.name); },
                                 {.informer = LeanOptions(manager), .name = "services by name"})
      .template Watches<Ingress>([exposer](const Ingress& i) { return exposer->ByChild(i.metadata.namespace_, i.metadata.name); },
                                 {.informer = LeanOptions(manager), .name = "ingresses by name", .optional = true})
      .template Applies<Service, Ingress>()
      .Workers(options.workers);
  WatchRivals(builder, exposer, manager, shared->settings);
  if (options.settings.exposure == Exposure::kGateway) {
    builder.Watches(kHttpRoutes, [](const kube::DynamicObject& route) { return OwnerOf<T>(route); }, {.optional = true});
    builder.Needs({.group = "gateway.networking.k8s.io", .resource = "httproutes", .verbs = kube::ApplyVerbs()});
  }
  return manager.Add(
      builder.Reconcile([exposer](const Context& ctx, const kube::Request& request) { return exposer->Reconcile(ctx, request); }));
}

void Describe(kube::serve::MetricsRegistry& metrics) {
  metrics.Describe("auto_expose_changes_total", "Children that were written, by kind and outcome.");
  metrics.Describe("auto_expose_problems_total", "Workloads that could not be exposed as asked, by reason; counted at each pass.");
}

}  // namespace

Result<void> AddExposer(kube::Manager& manager, const ExposerOptions& options) {
  Describe(*manager.metrics());
  const std::shared_ptr<Shared> shared(new Shared{.settings = options.settings,
                                                  .client = manager.cached(),
                                                  .events = manager.events("auto-expose"),
                                                  .metrics = manager.metrics(),
                                                  .services = manager.informers().For<Service>(LeanOptions(manager)),
                                                  .ingresses = manager.informers().For<Ingress>(LeanOptions(manager))});
  if (options.settings.exposure == Exposure::kGateway) {
    shared->routes.emplace(manager.informers().For(kHttpRoutes));
    shared->mapper.emplace(shared->client);
  }
  if (options.settings.deployments) {
    if (Result<void> r = AddKind<Deployment>(manager, shared, options); !r) return r;
  }
  if (options.settings.stateful_sets) {
    if (Result<void> r = AddKind<StatefulSet>(manager, shared, options); !r) return r;
  }
  if (options.settings.daemon_sets) {
    if (Result<void> r = AddKind<DaemonSet>(manager, shared, options); !r) return r;
  }
  return {};
}

namespace {

// All workloads of a kind, with what they would get.
template <typename T>
Result<std::vector<std::pair<T, Plan>>> PlanAll(const Context& ctx, const kube::Client& client, const Settings& settings,
                                                std::multimap<std::string, Claimant>& claims) {
  std::vector<std::pair<T, Plan>> plans;
  Result<kube::ObjectList<T>> all = kube::ListAllPages(client.template Resource<T>(), ctx);
  if (!all) return all.error();
  for (T& workload : all->items) {
    Plan plan = PlanFor(WorkloadOf(workload), settings);
    if (!plan.claim.empty()) claims.emplace(plan.claim, Claimant::Of(WorkloadOf(workload)));
    plans.emplace_back(std::move(workload), std::move(plan));
  }
  return plans;
}

template <typename T>
int DryRunOf(const Context& ctx, const kube::Client& client, const Settings& settings, std::vector<std::pair<T, Plan>>& plans,
             const std::multimap<std::string, Claimant>& claims, std::ostream& out) {
  int count = 0;
  for (auto& [workload, plan] : plans) {
    const Claimant self = Claimant::Of(WorkloadOf(workload));
    std::vector<Claimant> rivals;
    const auto [begin, end] = claims.equal_range(plan.claim);
    for (auto claim = begin; claim != end; ++claim) rivals.push_back(claim->second);
    if (const std::optional<Claimant> winner = WinnerOver(self, rivals); winner && !plan.claim.empty()) Yield(plan, *winner);
    std::string text;
    for (const Problem& problem : plan.problems) text += "  " + problem.reason + ": " + problem.message + "\n";
    if (plan.verdict != Plan::Verdict::kKeep && plan.verdict != Plan::Verdict::kIgnore) {
      const Result<kube::Changes> changes = Desired(client, workload, settings, plan, true).Apply(ctx);
      if (!changes) {
        text += "  " + changes.error().ToString() + "\n";
      } else if (!changes->complete() || changes->changed()) {
        text += changes->ToString();
      }
    }
    if (text.empty()) continue;
    ++count;
    out << self.ToString() << (plan.url.empty() ? "" : "  " + plan.url) << "\n" << text << (text.ends_with('\n') ? "" : "\n") << std::flush;
  }
  return count;
}

}  // namespace

Result<int> DryRun(const Context& ctx, const kube::Client& client, const Settings& settings, std::ostream& out) {
  std::multimap<std::string, Claimant> claims;
  Result<std::vector<std::pair<Deployment, Plan>>> deployments{std::vector<std::pair<Deployment, Plan>>{}};
  Result<std::vector<std::pair<StatefulSet, Plan>>> stateful_sets{std::vector<std::pair<StatefulSet, Plan>>{}};
  Result<std::vector<std::pair<DaemonSet, Plan>>> daemon_sets{std::vector<std::pair<DaemonSet, Plan>>{}};
  if (settings.deployments) deployments = PlanAll<Deployment>(ctx, client, settings, claims);
  if (!deployments) return deployments.error();
  if (settings.stateful_sets) stateful_sets = PlanAll<StatefulSet>(ctx, client, settings, claims);
  if (!stateful_sets) return stateful_sets.error();
  if (settings.daemon_sets) daemon_sets = PlanAll<DaemonSet>(ctx, client, settings, claims);
  if (!daemon_sets) return daemon_sets.error();
  return DryRunOf(ctx, client, settings, *deployments, claims, out) + DryRunOf(ctx, client, settings, *stateful_sets, claims, out) +
         DryRunOf(ctx, client, settings, *daemon_sets, claims, out);
}

}  // namespace auto_expose
