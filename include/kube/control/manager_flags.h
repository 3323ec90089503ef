// ManagerFlags: the flags that controller programs have in common, under the names that people know from Go programs.
//
//   int main(int argc, char** argv) {
//     kube::ManagerFlags flags("auto-expose");
//     Result<std::vector<std::string>> rest = flags.Parse(argc, argv);       // --leader-elect, --metrics-bind-address, --kubeconfig ...
//     if (!rest) return flags.Fail(rest.error());
//     if (flags.help) return flags.PrintHelp();
//     Result<Client> client = flags.NewClient();
//     if (!client) return flags.Fail(client.error());
//     Manager manager(*client, flags.options);
//     ... manager.Add(...);
//     return flags.Run(manager);                                             // until SIGTERM; or prints, for --print-rbac
//   }
//
// Defaults are those that kubebuilder's programs have: probes on :8081, no metrics server, and where there is one, HTTPS for those who
// may read it. A program that wants others sets `options` and `election` before Parse.
#pragma once

#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/config/load.h"
#include "kube/control/leader_election.h"
#include "kube/control/manager.h"

namespace kube {

// Thread safety: none. Lifetime: a plain object.
// Blocking: Run, as Manager::Run; NewClient reads small files.
// Errors: of Parse kInvalid, naming the flag; everything is as it was before then.
class KUBE_EXPORT ManagerFlags {
 public:
  // The program's name, of messages; the Lease and the roles have it too unless flags say otherwise.
  explicit ManagerFlags(std::string name);

  ConfigFlags config{};  // --kubeconfig ...; --namespace is also the one that is watched, without it all are
  ManagerOptions options{};
  LeaderElectionOptions election{};  // what --leader-elect puts into `options`
  bool leader_elect = false;
  // Requests a second that this program allows itself, and how many at once; less than 0: no limit, the server knows how to be fair.
  double kube_api_qps = -1;
  int kube_api_burst = 30;
  bool help = false;

  // Takes what it knows out of the arguments and gives back the others, as ConfigFlags::Parse does. Log flags count at once, for the
  // whole process.
  Result<std::vector<std::string>> Parse(int argc, const char* const* argv);
  Result<std::vector<std::string>> Parse(const std::vector<std::string>& arguments);
  // Lines for --help, those of ConfigFlags included.
  std::string Help() const;
  // "usage: NAME [flags]" and these lines on standard output; returns 0.
  int PrintHelp() const;

  // With --kube-api-qps, unless what was loaded has a limit. Counts its requests where the manager's metrics are. For --print-rbac a client
  // that need not find a server.
  Result<Client> NewClient(ClientOptions client_options = {});

  // Manager::Run, with an exit code: 0, or 1 and a message on standard error. Where something does not return when it is told to, this
  // does not either: it leaves the process with code 1, without destructors.
  int Run(Manager& manager, const Context& ctx = SignalContext()) const;
  // "NAME: message" on standard error; returns 1.
  int Fail(const Error& error) const;

 private:
  std::string name_;
};

}  // namespace kube
