// The controllers of auto-expose, one per kind of exposed workload.
//
//   Manager manager(client, options);
//   if (Result<void> added = AddExposer(manager, {.settings = settings, .workers = 4}); !added) ...
//   manager.Run(ctx);
//
// One pass over a workload: plan it (plan.h) under its namespace's policy (policy.h); claim its host, and omit the Ingress if another
// workload has it (claims.h); apply the Service and, only if the Service is the workload's own, the Ingress or route; record events.
#pragma once

#include <memory>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/control/manager.h"
#include "settings.h"

namespace auto_expose {

struct ExposerOptions {
  Settings settings{};
  int workers = 4;
};

// Call it before Manager::Run.
kube::Result<void> AddExposer(kube::Manager& manager, const ExposerOptions& options);

// Plans every workload once, changes nothing, and writes to `out` what would be done. Returns the number of workloads with pending changes
// or problems. Errors: those of listing workloads. What the API server refuses for one workload is written to `out`, and the run continues.
kube::Result<int> DryRun(const kube::Context& ctx, const kube::Client& client, const Settings& settings, std::ostream& out);

}  // namespace auto_expose
