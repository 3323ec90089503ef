#include "exposer.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apply.h"
#include "children.h"
#include "claims.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/control/cached_client.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/event_recorder.h"
#include "kube/meta/owner_reference.h"
#include "orphans.h"
#include "plan.h"
#include "seeds.h"
#include "unreadable.h"

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
using kube::core::v1::Namespace;
using kube::core::v1::Service;
using kube::networking::v1::Ingress;

constexpr std::chrono::seconds kLookAgainForKind{15};
// A claim may become free without an event: its holder failed to use it.
constexpr std::chrono::minutes kLookAgainForClaim{1};
// The watch of namespaces lags behind that of workloads.
constexpr std::chrono::seconds kLookAgainForNamespace{1};
constexpr const char* kClaimIndex = "auto-expose/claim";
constexpr const char* kChildIndex = "auto-expose/child";
constexpr const char* kHolderIndex = "auto-expose/holder";
constexpr int kMaxGone = 16;  // leftovers of deleted workloads that one claim ignores

std::string ChildKey(std::string_view ns, std::string_view child) { return std::string(ns).append("/").append(child); }

// Whether the namespace is being deleted: the workload is about to be deleted with it.
bool NamespaceGoes(const kube::Error& error) {
  if (kube::IsNotFound(error) && error.payload().resource_kind == "namespaces") return true;
  const auto& causes = error.causes();
  return std::any_of(causes.begin(), causes.end(), [](const kube::ErrorCause& cause) { return cause.reason == "NamespaceTerminating"; });
}

// Workloads that are known to be deleted before their watch reports it: the latest ones are enough. UIDs are never reused.
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
  std::shared_ptr<kube::MetricsRegistry> metrics{};
  ClaimBoard board;
  kube::SharedInformer<Service> services;
  kube::SharedInformer<Ingress> ingresses;
  std::optional<kube::SharedInformer<kube::DynamicObject>> routes{};
  std::optional<kube::SharedInformer<Namespace>> namespaces{};  // unset: limited to one namespace
  std::optional<kube::RestMapper> mapper{};                     // for the gateway
  // For each exposed kind, from its cache: the workloads that request something that overlaps, and whether one is certainly deleted.
  std::vector<std::function<bool(const Claim& claim, const Claimant& self, const std::function<bool(const ClaimBoard::Rival&)>& visit)>>
      rivals{};
  std::map<String, std::function<Result<bool>(const Context& ctx, const ChildOwner& owner)>> gone_of_kind{};
  // For each kind, from the API server: whether there is a workload whose children have this name, or one with this UID.
  std::vector<std::function<Result<bool>(const Context& ctx, const ObjectKey& child, const String& uid)>> has_owner{};
  GoneWorkloads gone{};
  UnreadableHolders unreadable{};
  kube::Mutex seed_mu{};
  bool ingresses_seeded KUBE_GUARDED_BY(seed_mu) = false;
  bool routes_seeded KUBE_GUARDED_BY(seed_mu) = false;

  // According to the cache.
  NamespacePolicy CachedPolicyOf(const String& ns) const { return KnownPolicyOf(ns).value_or(NamespacePolicy{}); }
  std::optional<NamespacePolicy> KnownPolicyOf(const String& ns) const {
    if (!namespaces) return NamespacePolicy{};
    const Ptr<Namespace> found = namespaces->HasSynced() ? namespaces->indexer().Get({"", ns}) : nullptr;
    if (found == nullptr) return std::nullopt;
    return NamespacePolicy::Of(found->metadata.annotations);
  }
  // Unset if the cache does not have the namespace yet, or Namespaces cannot be listed. Errors: it exists but cannot be read.
  Result<std::optional<NamespacePolicy>> PolicyOf(const Context& ctx, const String& ns) const {
    if (!namespaces) return std::optional<NamespacePolicy>(NamespacePolicy{});
    if (!namespaces->HasSynced()) return std::optional<NamespacePolicy>();
    const Result<Ptr<Namespace>> found = client.Get<Namespace>(ctx, {"", ns});
    if (found) return std::optional(NamespacePolicy::Of((*found)->metadata.annotations));
    if (kube::IsNotFound(found.error())) return std::optional<NamespacePolicy>();
    return found.error();
  }

  ClaimBoard::Sources Sources() const {
    return {.holders = [this](const Claim& claim, const auto& visit) { VisitHolders(claim, "", visit); },
            .rivals =
                [this](const Claim& claim, const Claimant& self, const auto& visit) {
                  for (const auto& of_kind : rivals) {
                    if (of_kind(claim, self, visit)) return;
                  }
                }};
  }
  // Skips the objects of the namespace `except`, if it is not empty.
  void VisitHolders(const Claim& claim, std::string_view except, const std::function<bool(const ClaimBoard::Holder&)>& visit) const {
    std::set<std::pair<std::string_view, ObjectKey>> seen;
    const auto skips = [&](const String& ns) { return !except.empty() && ns.view() == except; };
    // Returns true once it has seen enough.
    const auto show = [&](std::string_view kind, const kube::meta::v1::ObjectMeta& metadata, const auto& object) {
      if (!seen.emplace(kind, kube::KeyOf(metadata)).second) return false;
      // About to be adopted or deleted: it holds nothing.
      if (IsOrphan(metadata) && CoversNamespace(settings, metadata.namespace_)) return false;
      const kube::meta::v1::OwnerReference* controller = kube::FindController(metadata.owner_references);
      ClaimBoard::Holder holder{std::string(kind), kube::KeyOf(metadata), OwnerOf(metadata),
                                controller == nullptr ? String() : controller->uid};
      for (Claim& one : ClaimsOf(object)) {
        if (!HostsOverlap(one.host, claim.host)) continue;
        holder.claim = std::move(one);
        if (visit(holder)) return true;
      }
      return false;
    };
    for (const std::string& key : LookupKeys(claim, board.shared_host())) {
      if (const Result<std::vector<Ptr<Ingress>>> found = ingresses.indexer().ByIndex(kHolderIndex, key)) {
        for (const Ptr<Ingress>& ingress : *found) {
          if (!skips(ingress->metadata.namespace_) && show("Ingress", ingress->metadata, *ingress)) return;
        }
      }
      if (!routes) continue;
      if (const Result<std::vector<Ptr<kube::DynamicObject>>> found = routes->indexer().ByIndex(kHolderIndex, key)) {
        for (const Ptr<kube::DynamicObject>& route : *found) {
          if (!skips(route->namespace_()) && show("HTTPRoute", route->metadata(), *route)) return;
        }
      }
    }
    for (const ClaimBoard::Holder& holder : unreadable.HoldersOf(claim)) {
      if (!skips(holder.key.ns) && visit(holder)) return;
    }
  }
  // Call it before granting a claim: reads the hosts of objects that the caches cannot decode.
  Result<void> ReadUnreadable(const Context& ctx) {
    std::vector<UnreadableHolders::Source> sources;
    const auto add = [&](std::string kind, const auto& informer, auto claims) {
      sources.push_back({std::move(kind), informer.gvr(),
                         [cache = informer.indexer()](std::size_t most) { return cache.Undecodable(most); },
                         [cache = informer.indexer()](const kube::ObjectKey& key) { return cache.Get(key) != nullptr; }, claims});
    };
    add("Ingress", ingresses, ClaimsOfIngress);
    if (routes) {
      const auto claims = [](const kube::Value& route) { return ClaimsOf(kube::DynamicObject(route)); };
      add("HTTPRoute", *routes, claims);
    }
    return unreadable.Refresh(ctx, client.Live(), sources);
  }

  // Called once the caches have synced: each existing Ingress or route holds its claim. Later only grants count, so that editing an Ingress
  // does not win a claim. Errors: those of reading the evidence for hosts that several namespaces have; call it again then.
  Result<void> SeedBoard(const Context& ctx) {
    kube::MutexLock lock(seed_mu);
    const bool seed_ingresses = !ingresses_seeded && ingresses.HasSynced();
    const bool seed_routes = !routes_seeded && routes && routes->HasSynced();
    if (!seed_ingresses && !seed_routes) return {};
    if (Result<void> read = ReadUnreadable(ctx); !read) return read;
    const auto put = [&](const kube::Gvr& gvr, const auto& cache, bool known) {
      std::vector<Seed> seeds = unreadable.Seeds(gvr, settings);
      for (const auto& child : cache.indexer().List()) {
        const kube::meta::v1::ObjectMeta metadata = kube::MetadataOf(*child);
        if (!metadata.deletion_timestamp.IsZero()) continue;
        std::optional<Seed> seed =
            SeedOf(gvr, kube::KeyOf(metadata), OwnerOf(metadata), ClaimsOf(*child), settings, CachedPolicyOf(metadata.namespace_));
        if (seed) seeds.push_back(*std::move(seed));
      }
      std::erase_if(seeds, [&](const Seed& seed) {
        if (gone_of_kind.count(seed.owner.kind) == 0) return true;
        const std::optional<NamespacePolicy> policy = KnownPolicyOf(seed.key.ns);
        return policy && !MayHave(seed, settings, *policy);
      });
      const auto holders = [&](const Claim& claim, std::string_view except, const auto& visit) { VisitHolders(claim, except, visit); };
      return PutSeeds(ctx, client.Live(), seeds, holders, board, known);
    };
    // One kind may sync long after the other. Its objects may conflict with the other kind's seeds: these are compared again.
    if (seed_ingresses || ingresses_seeded) {
      if (Result<void> r = put(kube::GvrOf<Ingress>(), ingresses, ingresses_seeded); !r) return r;
      ingresses_seeded = true;
    }
    if (seed_routes || routes_seeded) {
      if (Result<void> r = put(kHttpRoutes, *routes, routes_seeded); !r) return r;
      routes_seeded = true;
    }
    return {};
  }
};

template <typename T>
class KindExposer {
 public:
  KindExposer(std::shared_ptr<Shared> shared, kube::SharedInformer<T> workloads)
      : shared_(std::move(shared)), workloads_(std::move(workloads)) {}

  // The workloads of this kind that need the children's name.
  std::vector<ObjectKey> ByChild(const kube::meta::v1::ObjectMeta& child) const {
    Result<std::vector<ObjectKey>> found = workloads_.indexer().KeysByIndex(kChildIndex, ChildKey(child.namespace_, child.name));
    std::vector<ObjectKey> keys = found ? *std::move(found) : std::vector<ObjectKey>{};
    // If no workload needs it, reconciling the missing workload deletes it.
    if (keys.empty() && IsOrphan(child)) keys.push_back(kube::KeyOf(child));
    return keys;
  }
  // The workloads that request something that overlaps with one of these.
  std::vector<ObjectKey> Rivals(const std::vector<Claim>& claims) const {
    std::set<ObjectKey> keys;
    std::set<std::string> lookups;
    for (const Claim& claim : claims) {
      for (std::string& key : LookupKeys(claim, shared_->board.shared_host())) lookups.insert(std::move(key));
    }
    for (const std::string& key : lookups) {
      const Result<std::vector<ObjectKey>> found = workloads_.indexer().KeysByIndex(kClaimIndex, key);
      if (found) keys.insert(found->begin(), found->end());
    }
    return {keys.begin(), keys.end()};
  }
  // The workloads that request something that overlaps with what this workload requests and may have.
  template <typename Other>
  std::vector<ObjectKey> RivalsOf(const Other& workload) const {
    const NamespacePolicy policy = shared_->CachedPolicyOf(workload.metadata.namespace_);
    const std::optional<Claim> claim = PlanFor(WorkloadOf(workload), shared_->settings, policy).claim;
    return claim ? Rivals({*claim}) : std::vector<ObjectKey>{};
  }
  // Whether rivals have a reason to try again. A new request of the workload is none: a current holder keeps its claim.
  template <typename Other>
  bool GivesUp(const kube::Change<Other>& change) const {
    const bool deleted = change.kind == kube::ChangeKind::kDeleted;
    const Ptr<Other>& before = deleted ? change.object : change.before;
    if (before == nullptr) return false;
    const NamespacePolicy policy = shared_->CachedPolicyOf(before->metadata.namespace_);
    if (deleted) return GivenUp(WorkloadOf(*before), nullptr, shared_->settings, policy).has_value();
    const Workload after = WorkloadOf(*change.object);
    return GivenUp(WorkloadOf(*before), &after, shared_->settings, policy).has_value();
  }
  std::vector<ObjectKey> OfNamespace(const String& ns) const {
    Result<std::vector<ObjectKey>> keys = workloads_.indexer().KeysByIndex(kube::kNamespaceIndex, ns.view());
    return keys ? *std::move(keys) : std::vector<ObjectKey>{};
  }

  Result<Action> Reconcile(const Context& ctx, const kube::Request& request) const {
    if (Result<void> seeded = shared_->SeedBoard(ctx); !seeded) return seeded.error();
    const String kind = kube::GvkOf<T>().kind;
    const Result<Ptr<T>> found = shared_->client.template Get<T>(ctx, request.key);
    if (!found) {
      // Any other error: the workload exists but cannot be read. It keeps what it has.
      if (!kube::IsNotFound(found.error())) return found.error();
      // The workload is deleted. Its children have owner references and are garbage-collected.
      shared_->board.Release(kind, request.key);
      if (Result<void> settled = SettleOrphans(ctx, request.key, nullptr); !settled) return settled.error();
      return Action::Done();
    }
    const T& workload = **found;
    const auto going = [&] {
      shared_->board.Release(kind, request.key);
      return Action::Done();
    };
    if (!workload.metadata.deletion_timestamp.IsZero()) return going();
    // Children are deleted with their workload, and another watch reports its deletion: they must not be recreated.
    if (shared_->gone.Has(workload.metadata.uid)) return going();
    if (request.Has(kube::ChangeKind::kDeleted)) {
      const Result<bool> there = IsThere(ctx, kube::KeyOf(workload), workload.metadata.uid);
      if (!there) return there.error();
      if (!*there) return shared_->gone.Add(workload.metadata.uid), going();
    }

    const Result<std::optional<NamespacePolicy>> of_namespace = shared_->PolicyOf(ctx, workload.metadata.namespace_);
    if (!of_namespace) return of_namespace.error();
    const NamespacePolicy policy = of_namespace->value_or(NamespacePolicy{});
    Plan plan = PlanFor(WorkloadOf(workload), shared_->settings, policy);
    if (plan.verdict == Plan::Verdict::kIgnore) return going();
    const Workload plain = WorkloadOf(workload);
    if (Result<void> settled = SettleOrphans(ctx, request.key, &plain); !settled) return settled.error();
    // The namespace's policy is unknown: nothing is removed because of it. If the watch is only behind, the policy will be known soon.
    const bool unlisted = !*of_namespace && !shared_->namespaces->HasSynced();
    if (plan.verdict == Plan::Verdict::kKeep) {
      Result<Action> kept = Keep(ctx, workload, plan, policy, of_namespace->has_value());
      if (!kept || *of_namespace) return kept;
      return Action::RequeueAfter(unlisted ? kLookAgainForKind : kLookAgainForNamespace);
    }
    const bool undecided = !*of_namespace && IsRefusedForHostOnly(plan);
    if (undecided && !unlisted) return Action::RequeueAfter(kLookAgainForNamespace);

    // Without a complete list of objects, the hosts in use are unknown.
    const bool blind = (plan.ingress && !shared_->ingresses.HasSynced()) || (plan.route && !shared_->routes->HasSynced());
    if (undecided) {
      LeaveHostUndecided(plan);
    } else if (blind) {
      LeaveHostsUnknown(plan);
    } else if (plan.claim) {
      if (Result<void> taken = TakeClaim(ctx, workload, plan); !taken) return taken.error();
    } else {
      shared_->board.Release(kind, request.key);
    }
    for (const Problem& problem : plan.problems) Warn(workload, problem);

    const bool disputed = IsRefused(plan, kHostDisputed);
    const ApplyOptions options = Options(workload, blind || undecided || disputed);
    const Result<kube::Changes> changes = ApplyPlan(ctx, shared_->client.Live(), workload, plan, options);
    if (!changes) return changes.error();
    Result<Action> reported = Report(workload, plan, *changes);
    if (!reported) return reported;
    if (blind || undecided) return Action::RequeueAfter(kLookAgainForKind);
    if (disputed || IsRefused(plan, "HostConflict")) return Action::RequeueAfter(kLookAgainForClaim);
    return reported;
  }

  // Whether the API server has a workload of this kind with this UID, or with this name of its children.
  Result<bool> HasOwner(const Context& ctx, const ObjectKey& child, const String& uid) const {
    const kube::Client& live = shared_->client.Live();
    const auto found = live.Metadata(kube::GvrOf<T>()).List(ctx, {.ns = child.ns.str()});
    if (!found) return found.error();
    return std::any_of(found->items.begin(), found->items.end(), [&](const kube::meta::v1::PartialObjectMetadata& item) {
      return item.metadata.uid == uid || ChildName(item.metadata.name) == child.name.view();
    });
  }
  // Whether the workload of a child is certainly deleted. Errors: those of the requests.
  Result<bool> IsGone(const Context& ctx, const ChildOwner& owner) const {
    const Result<Ptr<T>> found = shared_->client.template Get<T>(ctx, owner.key);
    if (found && (*found)->metadata.uid == owner.uid) return false;
    if (!found && !kube::IsNotFound(found.error())) return false;
    const Result<bool> there = IsThere(ctx, owner.key, owner.uid);
    if (!there) return there.error();
    return !*there;
  }

 private:
  // Reads from the API server with a list: permission to watch implies permission to list.
  Result<bool> IsThere(const Context& ctx, const ObjectKey& key, const String& uid) const {
    const kube::Client& live = shared_->client.Live();
    const Result<kube::ObjectList<T>> found = live.List<T>(ctx, {.ns = key.ns.str(), .field_selector = "metadata.name=" + key.name.str()});
    if (!found) return found.error();
    return std::any_of(found->items.begin(), found->items.end(),
                       [&](const T& item) { return item.metadata.uid == uid && item.metadata.deletion_timestamp.IsZero(); });
  }

  // Adopts children that lost their owner reference, or deletes them if there is no workload.
  Result<void> SettleOrphans(const Context& ctx, const ObjectKey& workload, const Workload* owner) const {
    if (!CoversNamespace(shared_->settings, workload.ns)) return {};
    const ObjectKey child{workload.ns, String(ChildName(workload.name))};
    const auto has_owner = [&](const String& uid) -> Result<bool> {
      for (const auto& of_kind : shared_->has_owner) {
        const Result<bool> has = of_kind(ctx, child, uid);
        if (!has || *has) return has;
      }
      return false;
    };
    const auto settle = [&](const kube::Gvr& gvr) { return SettleOrphan(ctx, shared_->client.Live(), gvr, child, owner, has_owner); };
    if (const Ptr<kube::DynamicObject> route = shared_->routes ? shared_->routes->indexer().Get(child) : nullptr;
        route != nullptr && IsOrphan(route->metadata())) {
      if (Result<void> r = settle(kHttpRoutes); !r) return r;
    }
    if (const Ptr<Ingress> ingress = shared_->ingresses.indexer().Get(child); ingress != nullptr && IsOrphan(ingress->metadata)) {
      if (Result<void> r = settle(kube::GvrOf<Ingress>()); !r) return r;
    }
    if (const Ptr<Service> service = shared_->services.indexer().Get(child); service != nullptr && IsOrphan(service->metadata)) {
      if (Result<void> r = settle(kube::GvrOf<Service>()); !r) return r;
    }
    return {};
  }

  // Takes the plan's claim, or removes Ingress and route from the plan.
  Result<void> TakeClaim(const Context& ctx, const T& workload, Plan& plan) const {
    const Claimant self = Claimant::Of(WorkloadOf(workload));
    if (shared_->board.Held(self.kind, self.key) != plan.claim) {
      if (Result<void> read = shared_->ReadUnreadable(ctx); !read) return read;
    }
    std::set<std::string> gone;
    for (;;) {
      const ClaimBoard::Answer answer = shared_->board.Take(self, *plan.claim, shared_->Sources(), gone);
      if (!answer.blocker) {
        if (answer.contested) plan.problems.push_back(Contested(plan, *answer.contested, self));
        return {};
      }
      // Children of a deleted workload block no claim. Its absence from the cache does not prove that it is deleted.
      if (const auto& owner = answer.blocker->owner; owner && gone.size() < kMaxGone && gone.count(owner->uid.str()) == 0) {
        const auto of_kind = shared_->gone_of_kind.find(owner->kind);
        const Result<bool> is_gone = of_kind == shared_->gone_of_kind.end() ? Result<bool>(false) : of_kind->second(ctx, *owner);
        if (!is_gone) return is_gone.error();
        if (*is_gone) {
          gone.insert(owner->uid.str());
          shared_->board.Release(owner->kind, owner->key, owner->uid);
          continue;
        }
      }
      const kube::Logger log("auto-expose");
      if (answer.blocker->disputed) {
        // Only users can resolve this, so it is a warning.
        log.Warn("Two namespaces have the same host, and it is unknown which had it first: both stay unchanged",
                 {{"workload", self.ToString()}, {"host", plan.claim->host}, {"other", answer.blocker->what}});
      } else {
        log.V(1).Info("Refused a host", {{"workload", self.ToString()}, {"host", plan.claim->host}, {"blocker", answer.blocker->what}});
        shared_->board.Release(self.kind, self.key);
      }
      Yield(plan, *answer.blocker, self.key.ns.view());
      return {};
    }
  }
  static Problem Contested(const Plan& plan, const ClaimBoard::Blocker& other, const Claimant& self) {
    const std::string who = other.ns == self.key.ns.view() ? other.what : "an Ingress or HTTPRoute of another namespace";
    return {"HostContested", plan.url + " belongs to " + self.ToString() + ", and " + who +
                                 " also serves it. The ingress controller may send requests to either: delete the other one, or ask the "
                                 "operator to"};
  }

  ApplyOptions Options(const T& workload, bool keep_routes) const {
    ApplyOptions options{.routes = shared_->settings.exposure == Exposure::kGateway, .keep_routes = keep_routes, .mapper = shared_->mapper};
    options.caches.services = shared_->services.lister();
    // Those may be missing, or not allowed: then the rest goes on, and the server says for each workload what it cannot have.
    if (shared_->ingresses.HasSynced()) options.caches.ingresses = shared_->ingresses.lister();
    if (shared_->routes && shared_->routes->HasSynced()) {
      options.caches.routes = shared_->routes->lister();
      // One of the time before --ingress was changed.
      const Ptr<kube::DynamicObject> left =
          shared_->routes->indexer().Get({workload.metadata.namespace_, String(ChildName(workload.metadata.name))});
      options.routes = options.routes || (left != nullptr && IsControlledBy(left->metadata(), workload.metadata.uid));
    }
    return options;
  }

  // The annotations are invalid: the children stay as they are, as far as the policy allows them, and nothing routes to a Service that is
  // not the workload's own. The workload keeps its claim. Without `policy_is_known` no host is refused.
  Result<Action> Keep(const Context& ctx, const T& workload, Plan& plan, const NamespacePolicy& policy, bool policy_is_known) const {
    const Workload plain = WorkloadOf(workload);
    const Settings& settings = shared_->settings;
    const ObjectKey key{workload.metadata.namespace_, String(ChildName(workload.metadata.name))};
    const kube::Client& live = shared_->client.Live();
    std::vector<Problem> refused;
    const auto add = [&](std::vector<Problem> more) { refused.insert(refused.end(), more.begin(), more.end()); };
    // A child that cannot be decoded may be the workload's own: nothing is removed until it can be.
    const Result<Ptr<Service>> service = shared_->services.indexer().Read(key);
    if (!service) return service.error();
    const bool own = *service != nullptr && IsControlledBy((*service)->metadata, workload.metadata.uid);
    if (own) add(RefusedOf(**service, plain, settings));
    const bool drop_service = !refused.empty();
    const auto cached_ingress = shared_->ingresses.HasSynced() ? shared_->ingresses.indexer().Read(key) : Result<Ptr<Ingress>>(nullptr);
    if (!cached_ingress) return cached_ingress.error();
    if (*cached_ingress != nullptr && IsControlledBy((*cached_ingress)->metadata, workload.metadata.uid)) {
      const Result<Ingress> ingress = live.Get<Ingress>(ctx, key);
      if (!ingress && !kube::IsNotFound(ingress.error())) return ingress.error();
      if (ingress) {
        const Result<kube::DynamicObject> whole = kube::ToDynamic(*ingress);
        if (!whole) return whole.error();
        const Result<bool> by_default = IsDefaultClass(ctx, *ingress);
        if (!by_default) return by_default.error();
        add(RefusedOf(*ingress, *whole, plain, settings, policy, *by_default));
      }
    }
    const auto cached_route =
        shared_->routes && shared_->routes->HasSynced() ? shared_->routes->indexer().Read(key) : Result<Ptr<kube::DynamicObject>>(nullptr);
    if (!cached_route) return cached_route.error();
    if (*cached_route != nullptr && IsControlledBy((*cached_route)->metadata(), workload.metadata.uid)) {
      const Result<kube::DynamicObject> route = live.Resource(kHttpRoutes).Get(ctx, key);
      if (!route && !kube::IsNotFound(route.error())) return route.error();
      if (route) add(RefusedOf(*route, plain, settings, policy));
    }
    if (!policy_is_known) std::erase_if(refused, IsHostRefusal);
    plan.problems.insert(plan.problems.end(), refused.begin(), refused.end());
    for (const Problem& problem : plan.problems) Warn(workload, problem);
    if (own && refused.empty()) return Action::Done();
    if (!refused.empty()) shared_->board.Release(kube::GvkOf<T>().kind, kube::KeyOf(workload));
    plan.why = "it has settings that are not allowed, and its annotations are invalid";
    const Result<kube::Changes> changes = RemoveChildren(ctx, workload, drop_service, Options(workload, false));
    if (!changes) return changes.error();
    return Report(workload, plan, *changes);
  }
  // Ingress and HTTPRoute, and the Service with them.
  Result<kube::Changes> RemoveChildren(const Context& ctx, const T& workload, bool with_service, const ApplyOptions& options) const {
    kube::DesiredState<T> desired(shared_->client.Live(), workload,
                                  {.field_manager = kFieldManager, .name = kSet, .mapper = options.mapper});
    desired.template Manage<Ingress>();
    if (options.routes) desired.Manage(kHttpRoute);
    if (with_service) desired.template Manage<Service>();
    if (options.caches.ingresses) desired.ReadFrom(*options.caches.ingresses);
    if (options.caches.routes) desired.ReadFrom(kHttpRoute, *options.caches.routes);
    return desired.TryApply(ctx);
  }
  // Whether the API server may have set the class by default. If the role cannot read classes, this is unknown and the Ingress stays.
  Result<bool> IsDefaultClass(const Context& ctx, const Ingress& ingress) const {
    if (!shared_->settings.ingress_class.empty() || !ingress.spec.ingress_class_name) return false;
    const kube::Client& live = shared_->client.Live();
    const Result<kube::ObjectList<kube::networking::v1::IngressClass>> classes = live.List<kube::networking::v1::IngressClass>(ctx);
    if (!classes) return kube::IsForbidden(classes.error()) ? Result<bool>(true) : classes.error();
    return std::any_of(classes->items.begin(), classes->items.end(), [&](const kube::networking::v1::IngressClass& one) {
      return one.metadata.name == *ingress.spec.ingress_class_name &&
             one.metadata.annotations.Get("ingressclass.kubernetes.io/is-default-class") == "true";
    });
  }

  void ReleaseIfUnused(const T& workload) const {
    const ObjectKey key{workload.metadata.namespace_, String(ChildName(workload.metadata.name))};
    // An Ingress or route that cannot be decoded may be the workload's own.
    const Result<Ptr<Ingress>> ingress = shared_->ingresses.indexer().Read(key);
    if (!ingress || (*ingress != nullptr && IsControlledBy((*ingress)->metadata, workload.metadata.uid))) return;
    if (shared_->routes) {
      const Result<Ptr<kube::DynamicObject>> route = shared_->routes->indexer().Read(key);
      if (!route || (*route != nullptr && IsControlledBy((*route)->metadata(), workload.metadata.uid))) return;
    }
    shared_->board.Release(kube::GvkOf<T>().kind, kube::KeyOf(workload));
  }

  void Warn(const T& workload, const Problem& problem) const {
    shared_->metrics->Add("auto_expose_problems_total", {{"reason", problem.reason}});
    if (problem.refused) shared_->metrics->Add("auto_expose_refusals_total", {{"reason", problem.reason}});
    shared_->events.Event(workload, EventType::kWarning, problem.reason, "Expose", problem.message);
  }

  Result<Action> Report(const T& workload, const Plan& plan, const kube::Changes& changes) const {
    bool written = false, pruned = false, conflict = false;
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
          // Do not retry: the watch reports when the other object is deleted.
          Warn(workload, {"NameConflict", child.gvk.kind.str() + " " + child.key.name.str() + ": " + child.message, true});
          conflict = true;
          break;
        case ChildChange::Outcome::kFailed:
          failure = &*child.error;
          break;
        case ChildChange::Outcome::kDeleting:  // the watch reports its deletion
        case ChildChange::Outcome::kUnchanged:
          break;
      }
    }
    if (changes.changed()) {
      kube::Logger("auto-expose")
          .Info("Changed", {{"workload", kube::KeyOf(workload).ToString()}, {"changes", changes.Summary()}, {"url", plan.url}});
    }
    // Without an Ingress or route of its own it has no claim.
    if (conflict) ReleaseIfUnused(workload);
    if (failure != nullptr) {
      if (NamespaceGoes(*failure)) return Action::Done();
      Warn(workload, {"Failed", failure->message()});
      // The server will not have it. Other errors may be over at the next try.
      if (kube::IsForbidden(*failure) || kube::IsInvalid(*failure)) ReleaseIfUnused(workload);
      // Installing a CRD later causes no event on these watches.
      if (kube::IsNoMatch(*failure)) return Action::RequeueAfter(kLookAgainForKind);
      return *failure;
    }
    const bool complete = !conflict && plan.problems.empty();
    if (written && complete) {
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

// managedFields take as much memory as everything else, and neither a plan nor its comparison needs them: other managers' additions to our
// lists are theirs to keep, and an object is read in full from the API server before it is changed.
kube::InformerOptions LeanOptions(kube::Manager& manager) {
  kube::InformerOptions options = manager.informers().defaults();
  options.strip_managed_fields = true;
  return options;
}

std::vector<String> AsIndex(const std::vector<std::string>& keys) { return {keys.begin(), keys.end()}; }

template <typename T>
Result<kube::SharedInformer<T>> MakeInformer(kube::Manager& manager, const std::shared_ptr<Shared>& shared) {
  kube::SharedInformer<T> informer = manager.informers().For<T>(LeanOptions(manager));
  // By what is requested, allowed or not: an index cannot follow the policy.
  const auto wish = [settings = shared->settings, shared_host = shared->board.shared_host()](const T& workload) -> std::vector<String> {
    const std::optional<Claim> claim = PlanFor(WorkloadOf(workload), settings).wish;
    return claim ? AsIndex(StoredKeys(*claim, shared_host)) : std::vector<String>{};
  };
  if (Result<void> r = informer.AddIndex(kClaimIndex, wish); !r) return r.error();
  const auto child = [](const T& workload) -> std::vector<String> {
    return {String(ChildKey(workload.metadata.namespace_, ChildName(workload.metadata.name)))};
  };
  if (Result<void> r = informer.AddIndex(kChildIndex, child); !r) return r.error();
  // Whether the visitor has seen enough.
  shared->rivals.push_back([informer, shared = shared.get()](const Claim& claim, const Claimant& self, const auto& visit) {
    std::set<ObjectKey> seen;
    for (const std::string& key : LookupKeys(claim, shared->board.shared_host())) {
      const Result<std::vector<Ptr<T>>> all = informer.indexer().ByIndex(kClaimIndex, key);
      if (!all) continue;
      for (const Ptr<T>& workload : *all) {
        if (!seen.insert(kube::KeyOf(*workload)).second || !workload->metadata.deletion_timestamp.IsZero()) continue;
        const Workload plain = WorkloadOf(*workload);
        if (!(Claimant::Of(plain) < self)) continue;
        const Plan plan = PlanFor(plain, shared->settings, shared->CachedPolicyOf(workload->metadata.namespace_));
        if (!plan.claim) continue;
        // If its Service's name is taken, it cannot have an Ingress and must not block others.
        const Ptr<Service> service = shared->services.indexer().Get({workload->metadata.namespace_, plan.service->metadata.name});
        if (service != nullptr && !IsControlledBy(service->metadata, workload->metadata.uid)) continue;
        if (visit({Claimant::Of(plain), *plan.claim})) return true;
      }
    }
    return false;
  });
  return informer;
}

// The workload of this kind that owns an HTTPRoute.
template <typename T>
std::vector<ObjectKey> OwnerOfRoute(const kube::DynamicObject& route) {
  for (const kube::meta::v1::OwnerReference& reference : route.metadata().owner_references) {
    if (reference.controller.value_or(false) && reference.kind == kube::GvkOf<T>().kind) return {{route.namespace_(), reference.name}};
  }
  return {};
}

// Updates that leave the claims of an Ingress or route unchanged do not affect others: controllers write their status all the time.
template <typename U>
bool HoldsOtherwise(const kube::Change<U>& change) {
  return change.before == nullptr || change.object == nullptr || !HoldsTheSame(*change.before, *change.object);
}

// Watches the workloads, Ingresses and routes that may hold or release what a workload requests.
template <typename T>
void WatchRivals(kube::ControllerBuilder<T>& builder, const std::shared_ptr<KindExposer<T>>& exposer, kube::Manager& manager,
                 const Shared& shared) {
  const Settings& settings = shared.settings;
  const auto watch = [&]<typename Other>(const char* name) {
    builder.template Watches<Other>([exposer](const Other& other) { return exposer->RivalsOf(other); },
                                    {.when = [exposer](const kube::Change<Other>& change) { return exposer->GivesUp(change); },
                                     .informer = LeanOptions(manager),
                                     .name = name});
  };
  if (settings.exposure == Exposure::kNone) return;
  if (settings.deployments) watch.template operator()<Deployment>("deployments with the same host");
  if (settings.stateful_sets) watch.template operator()<StatefulSet>("statefulsets with the same host");
  if (settings.daemon_sets) watch.template operator()<DaemonSet>("daemonsets with the same host");
  builder.template Watches<Ingress>(
      [exposer](const Ingress& ingress) { return exposer->Rivals(ClaimsOf(ingress)); },
      {.when = HoldsOtherwise<Ingress>, .informer = LeanOptions(manager), .name = "ingresses with the same host", .optional = true});
  builder.Watches(kHttpRoutes,
                  [exposer](const kube::DynamicObject& route) {
                    std::vector<ObjectKey> keys = OwnerOfRoute<T>(route);
                    if (IsOrphan(route.metadata())) {
                      for (const ObjectKey& owner : exposer->ByChild(route.metadata())) keys.push_back(owner);
                    }
                    return keys;
                  },
                  {.informer = LeanOptions(manager), .optional = true});
  builder.Watches(kHttpRoutes, [exposer](const kube::DynamicObject& route) { return exposer->Rivals(ClaimsOf(route)); },
                  {.when = HoldsOtherwise<kube::DynamicObject>,
                   .informer = LeanOptions(manager),
                   .name = "httproutes with the same host",
                   .optional = true});
  if (!shared.namespaces) return;
  builder.template Watches<Namespace>(
      [exposer](const Namespace& ns) {
        const bool says = ns.metadata.annotations.Find(kAllowHostsAnnotation) != nullptr;
        return says ? exposer->OfNamespace(ns.metadata.name) : std::vector<ObjectKey>{};
      },
      {.informer = LeanOptions(manager), .optional = true});
}

template <typename T>
Result<void> AddKind(kube::Manager& manager, const std::shared_ptr<Shared>& shared, const ExposerOptions& options) {
  Result<kube::SharedInformer<T>> informer = MakeInformer<T>(manager, shared);
  if (!informer) return informer.error();
  const auto exposer = std::make_shared<KindExposer<T>>(shared, *informer);
  shared->gone_of_kind.emplace(kube::GvkOf<T>().kind, [weak = std::weak_ptr(exposer)](const Context& ctx, const ChildOwner& owner) {
    const std::shared_ptr<KindExposer<T>> locked = weak.lock();
    return locked == nullptr ? Result<bool>(false) : locked->IsGone(ctx, owner);
  });
  shared->has_owner.push_back([weak = std::weak_ptr(exposer)](const Context& ctx, const ObjectKey& child, const String& uid) {
    const std::shared_ptr<KindExposer<T>> locked = weak.lock();
    return locked == nullptr ? Result<bool>(true) : locked->HasOwner(ctx, child, uid);
  });
  kube::ControllerBuilder<T> builder = kube::ControllerFor<T>("auto-expose-" + kube::GvrOf<T>().resource.str());
  builder.For({.informer = LeanOptions(manager)})
      .template Owns<Service>({.informer = LeanOptions(manager)})
      .template Owns<Ingress>({.informer = LeanOptions(manager), .optional = true})
      // Another owner's object with a child's name: once it is deleted, the child can be created.
      .template Watches<Service>([exposer](const Service& s) { return exposer->ByChild(s.metadata); },
                                 {.informer = LeanOptions(manager), .name = "services by name"})
      .template Watches<Ingress>([exposer](const Ingress& i) { return exposer->ByChild(i.metadata); },
                                 {.informer = LeanOptions(manager), .name = "ingresses by name", .optional = true})
      .Workers(options.workers);
  WatchRivals(builder, exposer, manager, *shared);
  if (options.settings.exposure == Exposure::kIngress && options.settings.ingress_class.empty() &&
      manager.informers().defaults().ns.empty()) {
    builder.Needs({.group = "networking.k8s.io",
                   .resource = "ingressclasses",
                   .verbs = {"list"},
                   .ns = "",
                   .why = "controller auto-expose reads the default class"});
  }
  if (options.settings.exposure == Exposure::kGateway) {
    builder.Needs({.group = "gateway.networking.k8s.io", .resource = "httproutes", .verbs = kube::ApplyVerbs()});
  }
  return manager.Add(
      builder.Reconcile([exposer](const Context& ctx, const kube::Request& request) { return exposer->Reconcile(ctx, request); }));
}

void Describe(kube::MetricsRegistry& metrics) {
  metrics.Describe("auto_expose_changes_total", "Children that were written, by kind and outcome.");
  metrics.Describe("auto_expose_problems_total", "Workloads that could not be exposed as asked, by reason; counted at each pass.");
  metrics.Describe("auto_expose_refusals_total", "Workloads that policy or a claim refused, by reason; counted at each pass.");
}

}  // namespace

Result<void> AddExposer(kube::Manager& manager, const ExposerOptions& options) {
  Describe(*manager.metrics());
  const std::shared_ptr<Shared> shared(new Shared{.settings = options.settings,
                                                  .client = manager.cached(),
                                                  .events = manager.events("auto-expose"),
                                                  .metrics = manager.metrics(),
                                                  .board = ClaimBoard(SharedHost(options.settings)),
                                                  .services = manager.informers().For<Service>(LeanOptions(manager)),
                                                  .ingresses = manager.informers().For<Ingress>(LeanOptions(manager))});
  const auto shared_host = [&] { return shared->board.shared_host(); };
  if (options.settings.exposure != Exposure::kNone) {
    const auto of_ingress = [host = shared_host()](const Ingress& ingress) { return AsIndex(StoredKeys(ClaimsOf(ingress), host)); };
    if (Result<void> r = shared->ingresses.AddIndex(kHolderIndex, of_ingress); !r) return r;
    shared->routes.emplace(manager.informers().For(kHttpRoutes, LeanOptions(manager)));
    const auto of_route = [host = shared_host()](const kube::DynamicObject& route) { return AsIndex(StoredKeys(ClaimsOf(route), host)); };
    if (Result<void> r = shared->routes->AddIndex(kHolderIndex, of_route); !r) return r;
    // A program that sees one namespace only may not read Namespaces.
    if (options.settings.allowed.hosts_of_namespaces && manager.informers().defaults().ns.empty()) {
      shared->namespaces.emplace(manager.informers().For<Namespace>(LeanOptions(manager)));
    }
  }
  if (options.settings.exposure == Exposure::kGateway) shared->mapper.emplace(shared->client.Live());
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

}  // namespace auto_expose
