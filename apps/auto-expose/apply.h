// Applies the children of a plan.
#pragma once

#include <optional>
#include <utility>

#include "children.h"
#include "kube/cache/lister.h"
#include "kube/control/desired_state.h"
#include "plan.h"

namespace auto_expose {

// Caches to read children from. Kinds without one are read from the API server.
struct ChildCaches {
  std::optional<kube::Lister<kube::core::v1::Service>> services{};
  std::optional<kube::Lister<kube::networking::v1::Ingress>> ingresses{};
  std::optional<kube::Lister<kube::DynamicObject>> routes{};
};
struct ApplyOptions {
  bool dry_run = false;
  bool routes = false;       // HTTPRoutes are managed too
  bool keep_routes = false;  // leave Ingress and HTTPRoute unchanged while the Service is the workload's own
  bool adopt = false;        // for a dry run: children without a controller count as adopted
  std::optional<kube::RestMapper> mapper{};
  ChildCaches caches{};
};

inline void Append(kube::Changes& all, kube::Changes more) {
  for (kube::ChildChange& child : more.children) all.children.push_back(std::move(child));
  all.writes += more.writes;
  all.owner_deleted = all.owner_deleted || more.owner_deleted;
}

// Applies the Service first, and then what routes to it, but only if the Service is the workload's own. Otherwise removes Ingress and route
// from the plan.
template <typename T>
kube::Result<kube::Changes> ApplyPlan(const kube::Context& ctx, const kube::Client& client, const T& workload, Plan& plan,
                                      const ApplyOptions& options) {
  const auto set = [&] {
    return kube::DesiredState<T>(client, workload,
                                 {.field_manager = kFieldManager,
                                  .name = kSet,
                                  .dry_run = options.dry_run,
                                  .adopt = options.adopt && options.dry_run,
                                  .mapper = options.mapper});
  };
  kube::Changes all{.dry_run = options.dry_run};
  bool routes_settled = options.keep_routes;
  const auto settle_routes = [&]() -> kube::Result<void> {
    if (std::exchange(routes_settled, true)) return {};
    kube::DesiredState<T> desired = set();
    desired.template Manage<kube::networking::v1::Ingress>();
    if (options.routes) desired.Manage(kHttpRoute);
    if (plan.ingress) desired.Want(*plan.ingress);
    if (plan.route) desired.Want(*plan.route);
    if (options.caches.ingresses) desired.ReadFrom(*options.caches.ingresses);
    if (options.caches.routes) desired.ReadFrom(kHttpRoute, *options.caches.routes);
    kube::Result<kube::Changes> changes = desired.TryApply(ctx);
    if (!changes) return changes.error();
    Append(all, *std::move(changes));
    return {};
  };
  const auto close = [&] {
    plan.ingress.reset();
    plan.route.reset();
    plan.url.clear();
  };

  if (!plan.service) {
    close();
    if (kube::Result<void> settled = settle_routes(); !settled) return settled.error();
  }
  kube::DesiredState<T> desired = set();
  desired.template Manage<kube::core::v1::Service>();
  if (plan.service) desired.Want(*plan.service);
  if (options.caches.services) desired.ReadFrom(*options.caches.services);
  kube::Result<kube::Changes> changes = desired.TryApply(ctx);
  if (!changes) return changes.error();
  const kube::ChildChange* service =
      plan.service ? changes->Find<kube::core::v1::Service>({workload.metadata.namespace_, plan.service->metadata.name}) : nullptr;
  if (service != nullptr) {
    switch (service->outcome) {
      case kube::ChildChange::Outcome::kCreated:
      case kube::ChildChange::Outcome::kUpdated:
      case kube::ChildChange::Outcome::kUnchanged:
      case kube::ChildChange::Outcome::kPruned:
        break;
      case kube::ChildChange::Outcome::kDeleting:  // still ours; recreated once it is deleted
        routes_settled = true;
        break;
      case kube::ChildChange::Outcome::kConflict:
        close();
        // As far as the caches show them.
        routes_settled = routes_settled && !options.caches.ingresses;
        break;
      case kube::ChildChange::Outcome::kFailed: {
        // A failed update does not change the owner. A Service that cannot be decoded may be the workload's own.
        using Cached = kube::Result<kube::Ptr<kube::core::v1::Service>>;
        const Cached cached = options.caches.services ? options.caches.services->indexer().Read(service->key) : Cached(nullptr);
        if (!cached || (*cached != nullptr && IsControlledBy((*cached)->metadata, workload.metadata.uid))) {
          routes_settled = true;
        } else {
          close();
        }
        break;
      }
    }
  }
  Append(all, *std::move(changes));
  if (kube::Result<void> settled = settle_routes(); !settled) return settled.error();
  return all;
}

}  // namespace auto_expose
