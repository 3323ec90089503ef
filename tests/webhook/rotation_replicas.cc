#include "rotation_replicas.h"

#include <signal.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <utility>

#include "kube/transport/http_transport.h"

namespace kube::rotation {
namespace {

using internal::Process;
using internal::ProcessExit;
using internal::TcpProxy;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// As short as a kubelet's are long: a test has a second for what takes a cluster a minute.
constexpr milliseconds kTendPeriod(10), kProbePeriod(50);
// A Service continues to send connections to a terminating pod; for less than the three seconds that the port answers.
constexpr milliseconds kServiceDelay(500);
constexpr std::chrono::seconds kProbeTimeout(10), kEndPatience(120);

bool IsReady(const std::shared_ptr<Transport>& health) {
  HttpRequest request;
  request.target = "/readyz";
  const Result<HttpResponse> answer = health->RoundTrip(Context::Background().WithTimeout(kProbeTimeout), std::move(request));
  return answer && answer->code == 200;
}

}  // namespace

Replicas::Replicas(int count, std::string directory, std::vector<std::string> arguments, TcpProxy& proxy)
    : directory_(std::move(directory)), die_at_(directory_ + "/die-at"), arguments_(std::move(arguments)), proxy_(proxy) {
  {
    MutexLock lock(mu_);
    for (int i = 0; i < count; ++i) {
      Replica& replica = replicas_.emplace_back();
      replica.name = "replica-" + std::to_string(i);
      replica.report = directory_ + "/" + replica.name + ".ports";
      Start(replica);
    }
  }
  tender_ = Thread("tender", [this] {
    do {
      Tend();
    } while (stop_.first.SleepFor(kTendPeriod));
  });
  // Apart: a replica that is slow to answer does not keep the others from being tended.
  prober_ = Thread("prober", [this] {
    do {
      Probe();
    } while (stop_.first.SleepFor(kProbePeriod));
  });
}

Replicas::~Replicas() {
  stop_.second.Cancel();
  tender_.Join();
  prober_.Join();
  proxy_.UseBackends({});
}

void Replicas::Start(Replica& replica) {
  ::unlink(replica.report.c_str());
  replica.backend = nullptr;
  replica.health = nullptr;
  replica.ready = replica.terminating = false;
  std::vector<std::string> argv = {std::filesystem::read_symlink("/proc/self/exe").replace_filename("rotation_replica").string()};
  argv.insert(argv.end(), arguments_.begin(), arguments_.end());
  argv.insert(argv.end(), {"--report", replica.report, "--die-at", die_at_});
  Result<std::unique_ptr<Process>> process =
      Process::Start({.argv = std::move(argv), .log_file = directory_ + "/" + replica.name + ".log"});
  if (process) {
    replica.process = *std::move(process);
  } else {
    tally_.mistakes.push_back(replica.name + " did not start: " + process.error().ToString());
    finishing_ = true;
  }
}

void Replicas::Ended(Replica& replica, const ProcessExit& exit) {
  replica.process = nullptr;
  replica.ready = false;
  if (exit.signal == SIGKILL) {
    ++tally_.killed;
    if (replica.backend) killed_.push_back(replica.backend);
  } else if (replica.terminating && exit.signal == 0 && exit.code == 0) {
    ++tally_.terminated;
    if (replica.backend) terminated_.push_back(replica.backend);
  } else {
    tally_.mistakes.push_back(replica.name + " ended: " + exit.ToString());
  }
}

void Replicas::ReadReport(Replica& replica) {
  int port = 0, health = 0;
  if (!(std::ifstream(replica.report) >> port >> health)) return;
  const auto made = MakeHttpTransport({.base_url = "http://127.0.0.1:" + std::to_string(health)});
  if (!made) return;
  replica.health = *made;
  replica.backend = std::make_shared<TcpProxy::Backend>(static_cast<std::uint16_t>(port));
  if (!first_port_) first_port_ = steady_clock::now();
}

void Replicas::Tend() {
  TcpProxy::Backends backends;
  MutexLock lock(mu_);
  for (Replica& replica : replicas_) {
    if (replica.process != nullptr) {
      if (const std::optional<ProcessExit> exit = replica.process->exit()) Ended(replica, *exit);
    }
    if (replica.process == nullptr && !finishing_) Start(replica);
    if (replica.process == nullptr) continue;
    if (replica.backend == nullptr) ReadReport(replica);
    const bool leaving = replica.terminating && steady_clock::now() - replica.terminated_at > kServiceDelay;
    if (replica.ready && replica.backend != nullptr && !leaving) backends.push_back(replica.backend);
  }
  proxy_.UseBackends(std::move(backends));
}

void Replicas::Probe() {
  std::vector<std::pair<std::size_t, std::shared_ptr<Transport>>> to_ask;
  {
    MutexLock lock(mu_);
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      if (replicas_[i].health != nullptr) to_ask.emplace_back(i, replicas_[i].health);
    }
  }
  for (const auto& [index, health] : to_ask) {
    const bool ready = IsReady(health);
    MutexLock lock(mu_);
    if (replicas_[index].health == health && !replicas_[index].terminating) replicas_[index].ready = ready;
  }
}

std::optional<steady_clock::time_point> Replicas::first_port() const {
  MutexLock lock(mu_);
  return first_port_;
}

bool Replicas::AllReady() const {
  MutexLock lock(mu_);
  for (const Replica& replica : replicas_) {
    if (!replica.ready || replica.terminating || (replica.process != nullptr && !replica.process->running())) return false;
  }
  return true;
}

void Replicas::Terminate(std::size_t index) {
  MutexLock lock(mu_);
  Replica& replica = replicas_[index];
  if (replica.process == nullptr) return;
  replica.terminating = true;
  replica.terminated_at = steady_clock::now();
  replica.process->Signal(SIGTERM);
}

void Replicas::KillAt(const std::string& place) const {
  std::ofstream(die_at_ + ".new") << place;
  (void)::rename((die_at_ + ".new").c_str(), die_at_.c_str());
}
bool Replicas::WaitsForDeath() const { return ::access(die_at_.c_str(), F_OK) == 0; }
bool Replicas::CallOff() const { return ::unlink(die_at_.c_str()) != 0; }

void Replicas::Finish() {
  {
    MutexLock lock(mu_);
    finishing_ = true;
    for (Replica& replica : replicas_) {
      replica.terminating = true;
      replica.terminated_at = steady_clock::now();
      if (replica.process != nullptr) replica.process->Signal(SIGTERM);
    }
  }
  const auto end = steady_clock::now() + kEndPatience;
  const auto running = [this] {
    MutexLock lock(mu_);
    for (const Replica& replica : replicas_) {
      if (replica.process != nullptr) return true;
    }
    return false;
  };
  while (running()) {
    if (steady_clock::now() > end) {
      MutexLock lock(mu_);
      tally_.mistakes.emplace_back("a replica does not end after SIGTERM");
      return;
    }
    if (!stop_.first.SleepFor(kTendPeriod)) return;
  }
}

Replicas::Tally Replicas::tally() const {
  MutexLock lock(mu_);
  Tally tally = tally_;
  for (const auto& backend : terminated_) tally.cut_by_term += backend->cut;
  for (const auto& backend : killed_) {
    tally.cut_by_kill += backend->cut;
    tally.perhaps_cut_by_kill += backend->perhaps_cut;
  }
  return tally;
}

std::string Replicas::Logs(int lines) const {
  std::string out;
  MutexLock lock(mu_);
  for (const Replica& replica : replicas_) {
    std::ifstream file(directory_ + "/" + replica.name + ".log");
    std::deque<std::string> last;
    for (std::string line; std::getline(file, line);) {
      last.push_back(line);
      if (last.size() > static_cast<std::size_t>(lines)) last.pop_front();
    }
    out += "---- " + replica.name + " ----\n";
    for (const std::string& line : last) out += line + "\n";
  }
  return out;
}

}  // namespace kube::rotation
