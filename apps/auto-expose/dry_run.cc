// What auto-expose would do, without doing it.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apply.h"
#include "children.h"
#include "claims.h"
#include "exposer.h"
#include "kube/client/pager.h"
#include "kube/meta/owner_reference.h"
#include "plan.h"

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

// A workload, and what it would get.
template <typename T>
struct Planned {
  T workload{};
  Plan plan{};
};

// What the whole cluster is, for a dry run.
struct Snapshot {
  std::map<String, NamespacePolicy> namespaces{};
  std::vector<ClaimBoard::Holder> holders{};
  std::vector<ClaimBoard::Rival> rivals{};
  std::set<std::string> uids{};  // of the workloads
};

template <typename T>
Result<std::vector<Planned<T>>> PlanAll(const Context& ctx, const kube::Client& client, const Settings& settings, Snapshot& snapshot) {
  std::vector<Planned<T>> plans;
  Result<kube::ObjectList<T>> all = kube::ListAllPages(client.template Resource<T>(), ctx);
  if (!all) return all.error();
  for (T& workload : all->items) {
    const auto policy = snapshot.namespaces.find(workload.metadata.namespace_);
    Plan plan = PlanFor(WorkloadOf(workload), settings, policy == snapshot.namespaces.end() ? NamespacePolicy{} : policy->second);
    if (plan.claim) snapshot.rivals.push_back({Claimant::Of(WorkloadOf(workload)), *plan.claim});
    snapshot.uids.insert(workload.metadata.uid.str());
    plans.push_back({std::move(workload), std::move(plan)});
  }
  return plans;
}

void AddHolders(const char* kind, const kube::meta::v1::ObjectMeta& metadata, const std::vector<Claim>& claims, Snapshot& snapshot) {
  const kube::meta::v1::OwnerReference* controller = kube::FindController(metadata.owner_references);
  for (const Claim& claim : claims) {
    snapshot.holders.push_back({kind, kube::KeyOf(metadata), OwnerOf(metadata), controller == nullptr ? String() : controller->uid, claim});
  }
}

// A kind that the server does not have or does not let this user read says nothing. Errors: others.
Result<void> Optional(const kube::Error& error) {
  if (kube::IsNotFound(error) || kube::IsForbidden(error) || kube::IsNoMatch(error)) return {};
  return error;
}

Result<Snapshot> ReadSnapshot(const Context& ctx, const kube::Client& client, const Settings& settings) {
  Snapshot snapshot;
  if (settings.exposure == Exposure::kNone) return snapshot;
  if (settings.allowed.hosts_of_namespaces) {
    const Result<kube::ObjectList<Namespace>> namespaces = kube::ListAllPages(client.Resource<Namespace>(), ctx);
    if (!namespaces) {
      if (Result<void> r = Optional(namespaces.error()); !r) return r.error();
    } else {
      for (const Namespace& ns : namespaces->items)
        snapshot.namespaces.emplace(ns.metadata.name, NamespacePolicy::Of(ns.metadata.annotations));
    }
  }
  const Result<kube::ObjectList<Ingress>> ingresses = kube::ListAllPages(client.Resource<Ingress>(), ctx);
  if (!ingresses) {
    if (Result<void> r = Optional(ingresses.error()); !r) return r.error();
  } else {
    for (const Ingress& ingress : ingresses->items) AddHolders("Ingress", ingress.metadata, ClaimsOf(ingress), snapshot);
  }
  const Result<kube::ObjectList<kube::DynamicObject>> routes = kube::ListAllPages(client.Resource(kHttpRoutes), ctx);
  if (!routes) {
    if (Result<void> r = Optional(routes.error()); !r) return r.error();
  } else {
    for (const kube::DynamicObject& route : routes->items) AddHolders("HTTPRoute", route.metadata(), ClaimsOf(route), snapshot);
  }
  return snapshot;
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
    if (plan.claim) {
      const ClaimBoard::Answer answer = board.Take(self, *plan.claim, sources, gone);
      if (answer.blocker) Yield(plan, *answer.blocker, answer.blocker->ns);
    }
    std::string text;
    for (const Problem& problem : plan.problems) text += "  " + problem.reason + ": " + problem.message + "\n";
    if (plan.verdict != Plan::Verdict::kKeep && plan.verdict != Plan::Verdict::kIgnore) {
      const Result<kube::Changes> changes =
          ApplyPlan(ctx, client, workload, plan, {.dry_run = true, .routes = settings.exposure == Exposure::kGateway});
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
  ClaimBoard board(SharedHost(settings));
  for (const ClaimBoard::Holder& holder : snapshot->holders) {
    if (holder.owner && snapshot->uids.count(holder.owner->uid.str()) != 0) board.Seed(*holder.owner, holder.claim);
  }
  return DryRunOf(ctx, client, settings, *deployments, board, *snapshot, out) +
         DryRunOf(ctx, client, settings, *stateful_sets, board, *snapshot, out) +
         DryRunOf(ctx, client, settings, *daemon_sets, board, *snapshot, out);
}

}  // namespace auto_expose
