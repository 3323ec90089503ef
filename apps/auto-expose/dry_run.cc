// Shows what auto-expose would do, without doing it.
#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apply.h"
#include "children.h"
#include "claims.h"
#include "exposer.h"
#include "kube/base/printable.h"
#include "kube/client/pager.h"
#include "kube/meta/owner_reference.h"
#include "orphans.h"
#include "plan.h"
#include "seeds.h"

namespace auto_expose {
namespace {

using kube::Context;
using kube::Result;
using kube::String;
using kube::apps::v1::DaemonSet;
using kube::apps::v1::Deployment;
using kube::apps::v1::StatefulSet;
using kube::core::v1::Namespace;
using kube::networking::v1::Ingress;

// A workload and its plan.
template <typename T>
struct Planned {
  T workload{};
  Plan plan{};
};

// A child without a workload: it is adopted or deleted (orphans.h).
struct Orphan {
  std::string kind{};
  kube::ObjectKey key{};
  std::string owner{};  // UID of the workload that it was made for
};

// An object that this program cannot decode. Only its key is known.
struct Unreadable {
  std::string kind{};
  kube::UndecodableObject object{};
};

// The state of the cluster for a dry run.
struct Snapshot {
  // Whether each kind could be listed. As in the program itself, an unknown state changes no Ingress and no route.
  bool knows_namespaces = true, knows_ingresses = true, knows_routes = true;
  std::map<String, NamespacePolicy> namespaces{};
  std::vector<ClaimBoard::Holder> holders{};
  std::vector<Seed> seeds{};
  std::vector<ClaimBoard::Rival> rivals{};
  std::vector<Orphan> orphans{};
  std::vector<Unreadable> unreadable{};
  std::set<std::string> uids{};                         // of the workloads
  std::set<std::pair<String, std::string>> children{};  // namespaces and names of the children that workloads need

  NamespacePolicy PolicyOf(const String& ns) const {
    const auto found = namespaces.find(ns);
    return found == namespaces.end() ? NamespacePolicy{} : found->second;
  }
};

// Lists everything that can be decoded: one tenant's object must not hide the rest from the operator.
template <typename T>
Result<kube::ObjectList<T>> ListReadable(const kube::ResourceClient<T>& resource, const Context& ctx, const String& kind,
                                         Snapshot& snapshot, kube::ListOptions options = {}) {
  std::vector<kube::UndecodableObject> unreadable;
  options.undecodable = &unreadable;
  Result<kube::ObjectList<T>> all = kube::ListAllPages(resource, ctx, options);
  for (kube::UndecodableObject& object : unreadable) snapshot.unreadable.push_back({kind.str(), std::move(object)});
  return all;
}

template <typename T>
Result<std::vector<Planned<T>>> PlanAll(const Context& ctx, const kube::Client& client, const Settings& settings, Snapshot& snapshot) {
  std::vector<Planned<T>> plans;
  const std::size_t before = snapshot.unreadable.size();
  Result<kube::ObjectList<T>> all = ListReadable(client.template Resource<T>(), ctx, kube::GvkOf<T>().kind, snapshot);
  if (!all) return all.error();
  for (std::size_t i = before; i < snapshot.unreadable.size(); ++i) {
    const kube::UndecodableObject& object = snapshot.unreadable[i].object;
    snapshot.uids.insert(object.uid.str());
    snapshot.children.emplace(object.key.ns, ChildName(object.key.name));
  }
  for (T& workload : all->items) {
    Plan plan = PlanFor(WorkloadOf(workload), settings, snapshot.PolicyOf(workload.metadata.namespace_));
    snapshot.children.emplace(workload.metadata.namespace_, ChildName(workload.metadata.name));
    if (plan.claim) snapshot.rivals.push_back({Claimant::Of(WorkloadOf(workload)), *plan.claim});
    snapshot.uids.insert(workload.metadata.uid.str());
    plans.push_back({std::move(workload), std::move(plan)});
  }
  return plans;
}

// Returns true for an orphan: it holds nothing.
bool AddOrphan(const char* kind, const kube::DynamicObject& child, const Settings& settings, Snapshot& snapshot) {
  const kube::meta::v1::ObjectMeta metadata = child.metadata();
  if (!IsOrphan(metadata) || !CoversNamespace(settings, metadata.namespace_)) return false;
  if (IsOwnOrphan(child)) snapshot.orphans.push_back({kind, kube::KeyOf(metadata), metadata.labels.Get(kOwnerLabel).str()});
  return true;
}

void AddHolders(const char* kind, const kube::Gvr& gvr, const kube::meta::v1::ObjectMeta& metadata, const std::vector<Claim>& claims,
                const Settings& settings, Snapshot& snapshot) {
  const kube::ObjectKey key = kube::KeyOf(metadata);
  std::optional<Seed> seed = SeedOf(gvr, key, OwnerOf(metadata), claims, settings, snapshot.PolicyOf(key.ns));
  const bool policy_is_known = !settings.allowed.hosts_of_namespaces || snapshot.knows_namespaces;
  if (seed && metadata.deletion_timestamp.IsZero() && (!policy_is_known || MayHave(*seed, settings, snapshot.PolicyOf(key.ns)))) {
    snapshot.seeds.push_back(*std::move(seed));
  }
  const kube::meta::v1::OwnerReference* controller = kube::FindController(metadata.owner_references);
  for (const Claim& claim : claims) {
    snapshot.holders.push_back({kind, key, OwnerOf(metadata), controller == nullptr ? String() : controller->uid, claim});
  }
}

// Ignores a kind that the API server does not have or this user may not read. Errors: all others.
Result<void> Optional(const kube::Error& error) {
  if (kube::IsNotFound(error) || kube::IsForbidden(error) || kube::IsNoMatch(error)) return {};
  return error;
}

Result<Snapshot> ReadSnapshot(const Context& ctx, const kube::Client& client, const Settings& settings) {
  Snapshot snapshot;
  const kube::Gvr services = kube::GvrOf<kube::core::v1::Service>();
  const auto own =
      ListReadable(client.Resource(services), ctx, "Service", snapshot, {.label_selector = std::string(kSetLabel) + "=" + kSet});
  if (!own) {
    if (Result<void> r = Optional(own.error()); !r) return r.error();
  } else {
    for (const kube::DynamicObject& service : own->items) (void)AddOrphan("Service", service, settings, snapshot);
  }
  if (settings.exposure == Exposure::kNone) return snapshot;
  if (settings.allowed.hosts_of_namespaces) {
    const Result<kube::ObjectList<Namespace>> namespaces = ListReadable(client.Resource<Namespace>(), ctx, "Namespace", snapshot);
    if (!namespaces) {
      if (Result<void> r = Optional(namespaces.error()); !r) return r.error();
      snapshot.knows_namespaces = false;
    } else {
      for (const Namespace& ns : namespaces->items)
        snapshot.namespaces.emplace(ns.metadata.name, NamespacePolicy::Of(ns.metadata.annotations));
    }
  }
  const Result<kube::ObjectList<Ingress>> ingresses = ListReadable(client.Resource<Ingress>(), ctx, "Ingress", snapshot);
  if (!ingresses) {
    if (Result<void> r = Optional(ingresses.error()); !r) return r.error();
    snapshot.knows_ingresses = false;
  } else {
    for (const Ingress& ingress : ingresses->items) {
      const Result<kube::DynamicObject> whole = kube::ToDynamic(ingress);
      if (!whole) return whole.error();
      if (AddOrphan("Ingress", *whole, settings, snapshot)) continue;
      AddHolders("Ingress", kube::GvrOf<Ingress>(), ingress.metadata, ClaimsOf(ingress), settings, snapshot);
    }
  }
  const Result<kube::ObjectList<kube::DynamicObject>> routes = ListReadable(client.Resource(kHttpRoutes), ctx, "HTTPRoute", snapshot);
  if (!routes) {
    if (Result<void> r = Optional(routes.error()); !r) return r.error();
    snapshot.knows_routes = false;
  } else {
    for (const kube::DynamicObject& route : routes->items) {
      if (AddOrphan("HTTPRoute", route, settings, snapshot)) continue;
      AddHolders("HTTPRoute", kHttpRoutes, route.metadata(), ClaimsOf(route), settings, snapshot);
    }
  }
  return snapshot;
}

void PrintUnreadable(const Snapshot& snapshot, std::ostream& out) {
  for (const Unreadable& one : snapshot.unreadable) {
    out << one.kind << " " << (one.object.named() ? one.object.key.ToString() : "without a name that can be read")
        << "\n  left out here, because it cannot be decoded: " << kube::Printable(one.object.error) << "\n"
        << std::flush;
  }
}

template <typename T>
kube::ObjectKey ChildKeyOf(const T& workload) {
  return {workload.metadata.namespace_, String(ChildName(workload.metadata.name))};
}

// What no workload can adopt is deleted.
int DryRunOfOrphans(const Snapshot& snapshot, std::ostream& out) {
  int count = 0;
  for (const Orphan& orphan : snapshot.orphans) {
    if (snapshot.uids.count(orphan.owner) != 0 || snapshot.children.count({orphan.key.ns, orphan.key.name.str()}) != 0) continue;
    ++count;
    out << orphan.kind << " " << orphan.key.ToString() << "\n  deleted: its workload does not exist any more\n" << std::flush;
  }
  return count;
}

template <typename T>
int DryRunOf(const Context& ctx, const kube::Client& client, const Settings& settings, std::vector<Planned<T>>& plans, ClaimBoard& board,
             const Snapshot& snapshot, std::ostream& out) {
  const ClaimBoard::Sources sources{
      .holders = [&](const Claim&, const auto& visit) { (void)std::any_of(snapshot.holders.begin(), snapshot.holders.end(), visit); },
      .rivals = [&](const Claim&, const Claimant&,
                    const auto& visit) { (void)std::any_of(snapshot.rivals.begin(), snapshot.rivals.end(), visit); }};
  std::set<std::string> gone;
  for (const ClaimBoard::Holder& holder : snapshot.holders) {
    const bool known = holder.owner && (holder.owner->kind == kube::GvkOf<T>().kind);
    if (known && snapshot.uids.count(holder.owner->uid.str()) == 0) gone.insert(holder.owner->uid.str());
  }
  int count = 0;
  for (auto& [workload, plan] : plans) {
    const Claimant self = Claimant::Of(WorkloadOf(workload));
    const bool undecided = settings.allowed.hosts_of_namespaces && !snapshot.knows_namespaces && IsRefusedForHostOnly(plan);
    const bool blind = (plan.ingress && !snapshot.knows_ingresses) || (plan.route && !snapshot.knows_routes);
    if (undecided) {
      LeaveHostUndecided(plan);
    } else if (blind) {
      LeaveHostsUnknown(plan);
    } else if (plan.claim) {
      const ClaimBoard::Answer answer = board.Take(self, *plan.claim, sources, gone);
      if (answer.blocker) Yield(plan, *answer.blocker, answer.blocker->ns);
    }
    const bool keep = undecided || blind || IsRefused(plan, kHostDisputed);
    std::string text;
    bool adopts = false;
    for (const Orphan& orphan : snapshot.orphans) {
      if (plan.verdict == Plan::Verdict::kIgnore || orphan.key != ChildKeyOf(workload)) continue;
      text += "  " + orphan.kind + " " + orphan.key.ToString() + ": adopted: its former workload does not exist any more\n";
      adopts = true;
    }
    for (const Problem& problem : plan.problems) text += "  " + problem.reason + ": " + kube::Printable(problem.message) + "\n";
    if (plan.verdict != Plan::Verdict::kKeep && plan.verdict != Plan::Verdict::kIgnore) {
      const Result<kube::Changes> changes =
          ApplyPlan(ctx, client, workload, plan,
                    {.dry_run = true, .routes = settings.exposure == Exposure::kGateway, .keep_routes = keep, .adopt = adopts});
      if (!changes) {
        text += "  " + kube::Printable(changes.error().ToString()) + "\n";
      } else if (!changes->complete() || changes->changed()) {
        text += kube::PrintableLines(changes->ToString());
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
  Result<Snapshot> snapshot = ReadSnapshot(ctx, client, settings);
  if (!snapshot) return snapshot.error();
  Result<std::vector<Planned<Deployment>>> deployments{std::vector<Planned<Deployment>>{}};
  Result<std::vector<Planned<StatefulSet>>> stateful_sets{std::vector<Planned<StatefulSet>>{}};
  Result<std::vector<Planned<DaemonSet>>> daemon_sets{std::vector<Planned<DaemonSet>>{}};
  if (settings.deployments) deployments = PlanAll<Deployment>(ctx, client, settings, *snapshot);
  if (!deployments) return deployments.error();
  if (settings.stateful_sets) stateful_sets = PlanAll<StatefulSet>(ctx, client, settings, *snapshot);
  if (!stateful_sets) return stateful_sets.error();
  if (settings.daemon_sets) daemon_sets = PlanAll<DaemonSet>(ctx, client, settings, *snapshot);
  if (!daemon_sets) return daemon_sets.error();
  PrintUnreadable(*snapshot, out);
  ClaimBoard board(SharedHost(settings));
  std::erase_if(snapshot->seeds, [&](const Seed& seed) { return snapshot->uids.count(seed.owner.uid.str()) == 0; });
  const auto holders = [&](const Claim&, std::string_view, const auto& visit) {
    (void)std::any_of(snapshot->holders.begin(), snapshot->holders.end(), visit);
  };
  if (Result<void> r = PutSeeds(ctx, client, snapshot->seeds, holders, board); !r) return r.error();
  return DryRunOfOrphans(*snapshot, out) + DryRunOf(ctx, client, settings, *deployments, board, *snapshot, out) +
         DryRunOf(ctx, client, settings, *stateful_sets, board, *snapshot, out) +
         DryRunOf(ctx, client, settings, *daemon_sets, board, *snapshot, out);
}

}  // namespace auto_expose
