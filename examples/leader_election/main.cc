// leader_election: takes part in an election and says who leads. Start it several times.
//
//   leader_election --lease-name NAME [--id NAME] [--namespace NAME] [--kubeconfig FILE] ...
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/client/client.h"
#include "kube/config/load.h"
#include "kube/control/leader_election.h"
#include "kube/value/time.h"

using kube::Result;

namespace {

constexpr const char* kUsage =
    "usage: leader_election --lease-name NAME [flags]\n"
    "  --id NAME               of this replica; made up where it is left out\n"
    "  --lease-name NAME       of the Lease, in the namespace of --namespace\n"
    "  --lease-duration TIME   how long others wait for a leader that is silent (15s)\n"
    "  --renew-deadline TIME   how long a leader tries to renew before it gives up (10s)\n"
    "  --retry-period TIME     between tries (2s)\n";

int Fail(const std::string& what, int code = 1) {
  std::cerr << "leader_election: " << what << "\n";
  return code;
}

bool SetDuration(std::chrono::nanoseconds& to, const std::string& text) {
  const Result<kube::Duration> parsed = kube::Duration::Parse(text);
  if (parsed) to = std::chrono::nanoseconds(parsed->nanoseconds());
  return parsed.ok();
}

}  // namespace

int main(int argc, char** argv) {
  kube::ConfigFlags flags;
  const Result<std::vector<std::string>> rest = flags.Parse(argc, argv);
  if (!rest) return Fail(rest.error().ToString(), 2);
  kube::LeaderElectionOptions options;
  for (std::size_t i = 0; i < rest->size(); ++i) {
    std::string flag = (*rest)[i];
    if (flag == "--help" || flag == "-h") {
      std::cout << kUsage << kube::ConfigFlags::Help();
      return 0;
    }
    std::string value;
    if (const std::size_t equals = flag.find('='); equals != std::string::npos) {
      value = flag.substr(equals + 1);
      flag.resize(equals);
    } else if (++i < rest->size()) {
      value = (*rest)[i];
    } else {
      return Fail(flag + " needs a value\n" + kUsage, 2);
    }
    bool good = true;
    if (flag == "--id") {
      options.identity = value;
    } else if (flag == "--lease-name") {
      options.name = value;
    } else if (flag == "--lease-duration") {
      good = SetDuration(options.lease_duration, value);
    } else if (flag == "--renew-deadline") {
      good = SetDuration(options.renew_deadline, value);
    } else if (flag == "--retry-period") {
      good = SetDuration(options.retry_period, value);
    } else {
      good = false;
    }
    if (!good) return Fail("cannot make sense of " + flag + " " + value + "\n" + kUsage, 2);
  }
  if (options.name.empty()) return Fail(std::string("--lease-name is missing\n") + kUsage, 2);

  const Result<kube::ClientConfig> config = flags.Load();
  if (!config) return Fail(config.error().ToString());
  const Result<kube::Client> client = kube::Client::FromConfig(*config);
  if (!client) return Fail(client.error().ToString());
  const kube::Context ctx = kube::SignalContext();

  const Result<kube::LeaderCandidate> candidate = kube::LeaderCandidate::Start(
      *client, options, {.on_new_leader = [](const std::string& leader) { std::cout << "new leader: " + leader + "\n"
                                                                                    << std::flush; }});
  if (!candidate) return Fail(candidate.error().ToString(), 2);
  std::cout << "running for the lease as " + candidate->identity() + "\n" << std::flush;
  while (const Result<kube::Context> lead = candidate->WaitForLeadership(ctx)) {
    std::cout << "leading\n" << std::flush;
    lead->WaitUntilStopped();  // here the work would be done
    std::cout << "not leading any more\n" << std::flush;
  }
  return 0;  // the candidate gives the lease back
}
