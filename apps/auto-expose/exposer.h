// The controllers of auto-expose, one for each kind of workload that is exposed.
//
//   Manager manager(client, options);
//   if (Result<void> added = AddExposer(manager, {.settings = settings, .workers = 4}); !added) ...
//   manager.Run(ctx);
//
// A pass over one workload: plan it (plan.h); if an older workload has the same host and path, leave the Ingress out; then let
// kube::DesiredState make the server have the children, and tell the workload's owner by events what happened.
#pragma once

#include <memory>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/control/manager.h"
#include "settings.h"

namespace auto_expose {

inline constexpr const char* kFieldManager = "auto-expose";

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
