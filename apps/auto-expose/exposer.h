// The controllers of auto-expose, one for each kind of workload that is exposed.
//
//   Manager manager(client, options);
//   if (Result<void> added = AddExposer(manager, {.settings = settings, .workers = 4}); !added) ...
//   manager.Run(ctx);
//
// A pass over one workload: plan it (plan.h) under the policy of its namespace (policy.h); take the claim to its host, and leave the
// Ingress out if another one has it (claims.h); apply the Service, and only if that is the workload's own, the Ingress or route; record
// events.
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

// Before Manager::Run.
kube::Result<void> AddExposer(kube::Manager& manager, const ExposerOptions& options);

// Looks at every workload once, changes nothing, and writes to `out` what would be done. Errors: those of listing workloads; what the
// server refuses of one workload is written and goes on. Gives the number of workloads with something to do or to mend.
kube::Result<int> DryRun(const kube::Context& ctx, const kube::Client& client, const Settings& settings, std::ostream& out);

}  // namespace auto_expose
