// ManagerFlags: the common flags of controller programs, under the names that Go programs use.
//
//   int main(int argc, char** argv) {
//     std::string text = "Hello";
//     kube::ManagerFlags flags("greeter");                                 // --leader-elect, --metrics-bind-address, --kubeconfig ...
//     flags.Add("text", &text, "what the ConfigMap says");                 // the program's own, see kube/config/flags.h
//     return flags.Run(argc, argv, [&](kube::Manager& manager) -> kube::Result<void> {
//       return manager.Add(...);
//     });
//   }
//
// A program without flags of its own is shorter with kube::Main (kube/control/main.h).
//
// Defaults are those of kubebuilder projects: probes on :8081, and no metrics server. With a metrics server, HTTPS and authorization are
// on. A program that wants other defaults sets `options` and `election` before Run or Parse.
#pragma once

#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"
#include "kube/config/flags.h"
#include "kube/control/leader_election.h"
#include "kube/control/manager.h"

namespace kube {

namespace internal {
struct ManagerFlagState;
}
// The flags of a manager, together with the program's own.

// Thread safety: none. Lifetime: a plain object.
// Blocking: Run blocks like Manager::Run; Parse and NewClient read small files.
class KUBE_EXPORT ManagerFlags : private FlagSet {
 public:
  // `name` is the program's name, used in messages and environment variables, and the default name of the Lease and the roles.
  explicit ManagerFlags(std::string name);

  // --kubeconfig ...; --namespace also limits the watched namespace, which is all by default.
  ConfigFlags config{};
  // Options of the manager, which the flags modify.
  ManagerOptions options{};
  LeaderElectionOptions election{};  // the options that --leader-elect puts into `options`
  // --leader-elect.
  bool leader_elect = false;
  // Client-side rate limit: requests per second, and burst. A negative rate means no limit and leaves it to the server's API Priority and
  // Fairness.
  double kube_api_qps = -1;
  int kube_api_burst = 30;

  // The program's own flags and arguments: see FlagSet.
  using FlagSet::About;
  using FlagSet::Add;
  using FlagSet::Arguments;
  using FlagSet::Call;
  using FlagSet::Flag;
  using FlagSet::Group;
  using FlagSet::Interspersed;
  using FlagSet::program;
  using FlagSet::SetEnvironment;
  using FlagSet::Usage;
  using FlagSet::Version;

  // Runs the whole program: parses the command line, connects, calls `setup` with a new manager and runs it until SIGINT or SIGTERM. With
  // --print-manifests or --print-rbac it prints manifests instead. Returns the exit code: 0; 2 for an invalid command line; 1 for any other
  // error, with a message on standard error. An error that `setup` throws (Result::value()) is treated like a returned one. Handles --help
  // and --version. The manager is destroyed and its threads are joined before Run returns, even after a lost lease or a failed start, so
  // whatever `setup` uses only has to outlive the call. The exception is a reconciler or runnable that hangs: see the other Run.
  int Run(int argc, const char* const* argv, const std::function<Result<void>(Manager& manager)>& setup,
          const Context& ctx = SignalContext());

  // Parses the command line, for programs that perform the steps themselves. Log flags take effect at once, for the whole process. Errors:
  // those of FlagSet::Parse; this object is unchanged then.
  Result<void> Parse(int argc, const char* const* argv);
  Result<void> Parse(const std::vector<std::string>& arguments);
  // Returns a client with --kube-api-qps, unless the loaded configuration has a limit. Its requests are counted in the manager's metrics.
  // For --print-rbac the client need not reach a server, and for --print-manifests it has none.
  Result<Client> NewClient(ClientOptions client_options = {});
  // Calls Manager::Run and returns an exit code: 0, or 1 with a message on standard error. If a reconciler or runnable is still running
  // after the grace period, this prints its name and calls std::quick_exit(1): the call cannot be stopped from outside, and destructors
  // would either wait for it or destroy objects that it uses.
  int Run(Manager& manager, const Context& ctx = SignalContext()) const;
  // Prints a message and returns the exit code: `if (!parsed) return flags.Fail(parsed.error());` prints the help if --help was given.
  using FlagSet::Fail;
  // The text of --help.
  std::string Help() const;

 private:
  internal::ManagerFlagState Now() const;
  FlagSet All(internal::ManagerFlagState& to) const;
};

}  // namespace kube
