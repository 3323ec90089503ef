// ManagerFlags: the flags that controller programs have in common, under the names that people know from Go programs.
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
// Defaults are those that kubebuilder's programs have: probes on :8081, no metrics server, and where there is one, HTTPS for those who
// may read it. A program that wants others sets `options` and `election` before Run or Parse.
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

// Thread safety: none. Lifetime: a plain object.
// Blocking: Run, as Manager::Run; Parse and NewClient read small files.
class KUBE_EXPORT ManagerFlags : private FlagSet {
 public:
  // The program's name, of messages and environment variables; the Lease and the roles have it too unless flags say otherwise.
  explicit ManagerFlags(std::string name);

  ConfigFlags config{};  // --kubeconfig ...; --namespace is also the one that is watched, without it all are
  ManagerOptions options{};
  LeaderElectionOptions election{};  // what --leader-elect puts into `options`
  bool leader_elect = false;
  // Requests a second that this program allows itself, and how many at once; less than 0: no limit, the server knows how to be fair.
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

  // The whole program: parses the command line, connects, calls `setup` with a new manager and runs it until SIGINT or SIGTERM; prints
  // manifests instead for --print-manifests and --print-rbac. Returns the exit code: 0; 2 for an invalid command line; 1 for any other
  // error, with a message on standard error. An error that `setup` throws (Result::value()) counts as if it had been returned. Answers
  // --help and --version. The manager is destroyed and its threads are joined before Run returns, also after a lost lease or a failed
  // start, so whatever `setup` uses only has to outlive the call. The exception is a hanging reconciler or runnable: see the other Run.
  int Run(int argc, const char* const* argv, const std::function<Result<void>(Manager& manager)>& setup,
          const Context& ctx = SignalContext());

  // For programs that do this step by step. Log flags count at once, for the whole process. Errors: as FlagSet::Parse; these members are as
  // before then.
  Result<void> Parse(int argc, const char* const* argv);
  Result<void> Parse(const std::vector<std::string>& arguments);
  // With --kube-api-qps, unless what was loaded has a limit. Counts its requests where the manager's metrics are. For --print-rbac a client
  // that need not find a server, and for --print-manifests one that has none.
  Result<Client> NewClient(ClientOptions client_options = {});
  // Manager::Run, with an exit code: 0, or 1 and a message on standard error. If a reconciler or runnable is still running when the grace
  // period is over, this prints which one and calls std::quick_exit(1): it cannot be stopped from outside, and destructors would either
  // wait for it or pull its objects away.
  int Run(Manager& manager, const Context& ctx = SignalContext()) const;
  // A message, and the exit code: `if (!parsed) return flags.Fail(parsed.error());` prints the help if that was asked for.
  using FlagSet::Fail;
  // The text of --help.
  std::string Help() const;

 private:
  internal::ManagerFlagState Now() const;
  FlagSet All(internal::ManagerFlagState& to) const;
};

}  // namespace kube
