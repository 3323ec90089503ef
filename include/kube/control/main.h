// kube::Main: the main function of a controller.
//
//   int main(int argc, char** argv) {
//     return kube::Main(argc, argv, "greeter", [](kube::Manager& manager) {
//       return manager.Add(kube::ControllerFor<Namespace>("greeter").Reconcile(...));
//     });
//   }
//
// It accepts the flags of ManagerFlags (--leader-elect, --kubeconfig, --print-rbac ...), --help and --version. A program with flags of its
// own uses ManagerFlags::Run.
#pragma once

#include <string>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/control/manager.h"

namespace kube {

// ManagerFlags(name).Run(argc, argv, setup): runs until SIGINT or SIGTERM and returns the exit code after the manager is destroyed. An
// error that `setup` or a reconciler throws (Result::value()) is treated like a returned one. The process exits through std::quick_exit
// only if a reconciler or runnable ignores its stopped context beyond the grace period.
KUBE_EXPORT int Main(int argc, const char* const* argv, std::string name, const std::function<Result<void>(Manager& manager)>& setup);

}  // namespace kube
