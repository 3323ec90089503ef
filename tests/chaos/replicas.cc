#include "replicas.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "kube/base/context.h"
#include "wanted.h"

namespace kube::chaos {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A replica that gives its lease back waits for the server, but not for long.
constexpr std::chrono::seconds kTerminationPatience{60};
constexpr std::chrono::seconds kReportPatience{10};

}  // namespace

void Timeline::Note(const std::string& what) {
  char time[32];
  std::snprintf(time, sizeof time, "%8.3f s  ", std::chrono::duration<double>(steady_clock::now() - begin_).count());
  MutexLock lock(mu_);
  lines_.push_back(time + what);
}

std::string Timeline::ToString() const {
  MutexLock lock(mu_);
  std::string out;
  for (const std::string& line : lines_) out += line + "\n";
  return out;
}

Micros WallMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Replica::Replica(std::string name, ReplicaOptions options, Timeline* timeline)
    : name_(std::move(name)), options_(std::move(options)), timeline_(timeline) {}

std::string Replica::identity() const {
  MutexLock lock(mu_);
  return IdentityLocked();
}

void Replica::Start() {
  ++started_;
  expected_signal_ = 0;
  const auto text = [](milliseconds time) { return std::to_string(time.count()); };
  Result<std::unique_ptr<internal::Process>> process =
      internal::Process::Start({.argv = {options_.program, options_.kubeconfig, options_.ns, IdentityLocked(),
                                         text(options_.lease_duration), text(options_.renew_deadline), text(options_.retry_period)},
                                .log_file = LogFile()});
  if (!process) {
    mistakes_.push_back(IdentityLocked() + " did not start: " + process.error().ToString());
    not_before_ = steady_clock::now() + std::chrono::seconds(1);
    return;
  }
  process_ = *std::move(process);
  timeline_->Note(IdentityLocked() + " started, process " + std::to_string(process_->pid()));
}

void Replica::Ended(const internal::ProcessExit& exit) {
  const std::string what = IdentityLocked() + " ended: " + exit.ToString();
  timeline_->Note(what);
  const bool lost = exit.signal == 0 && exit.code == kExitLostLease;
  if (lost) ++losses_;
  const bool killed = expected_signal_ == SIGKILL && exit.signal == SIGKILL;
  // A signal that comes before the program has its handler ends it, too.
  const bool terminated = expected_signal_ == SIGTERM && ((exit.signal == 0 && exit.code == 0) || exit.signal == SIGTERM);
  if (!lost && !killed && !terminated) mistakes_.push_back(what);
  if (frozen_since_ != 0) freezes_.push_back({IdentityLocked(), std::exchange(frozen_since_, 0), WallMicros()});
  process_ = nullptr;
}

void Replica::Tend() {
  MutexLock lock(mu_);
  const auto now = steady_clock::now();
  if (process_ != nullptr) {
    if (const std::optional<internal::ProcessExit> exit = process_->exit()) {
      Ended(*exit);
    } else if (expected_signal_ == SIGTERM && now - signalled_ > kTerminationPatience) {
      mistakes_.push_back(IdentityLocked() + " does not end after SIGTERM");
      expected_signal_ = SIGKILL;
      process_->Signal(SIGKILL);
    }
  }
  if (process_ == nullptr && now >= not_before_) Start();
}

void Replica::Kill(milliseconds rest) {
  MutexLock lock(mu_);
  if (process_ == nullptr) return;
  timeline_->Note("kill -9 " + IdentityLocked());
  expected_signal_ = SIGKILL;
  not_before_ = steady_clock::now() + rest;
  process_->Signal(SIGKILL);
}

void Replica::Terminate(milliseconds rest) {
  MutexLock lock(mu_);
  if (process_ == nullptr || expected_signal_ != 0) return;
  timeline_->Note("SIGTERM to " + IdentityLocked());
  expected_signal_ = SIGTERM;
  signalled_ = steady_clock::now();
  not_before_ = signalled_ + rest;
  process_->Signal(SIGTERM);
}

void Replica::Freeze() {
  MutexLock lock(mu_);
  if (process_ == nullptr || frozen_since_ != 0) return;
  const Micros before = WallMicros();
  if (!process_->Signal(SIGSTOP)) return;
  frozen_since_ = before;
  timeline_->Note("froze " + IdentityLocked());
}

void Replica::Resume() {
  MutexLock lock(mu_);
  if (process_ == nullptr || frozen_since_ == 0) return;
  freezes_.push_back({IdentityLocked(), std::exchange(frozen_since_, 0), WallMicros()});
  process_->Signal(SIGCONT);
  timeline_->Note("resumed " + IdentityLocked());
}

void Replica::Finish(std::chrono::seconds patience) {
  MutexLock lock(mu_);
  if (process_ == nullptr) return;
  expected_signal_ = SIGTERM;
  process_->Signal(SIGTERM);
  const std::optional<internal::ProcessExit> exit = process_->Wait(steady_clock::now() + patience);
  if (exit) return Ended(*exit);
  mistakes_.push_back(IdentityLocked() + " does not end after SIGTERM");
  process_ = nullptr;  // killed
}

std::vector<std::string> Replica::mistakes() const {
  MutexLock lock(mu_);
  return mistakes_;
}
std::vector<Freeze> Replica::freezes() const {
  MutexLock lock(mu_);
  return freezes_;
}
int Replica::losses() const {
  MutexLock lock(mu_);
  return losses_;
}

std::optional<Usage> Replica::usage() const {
  MutexLock lock(mu_);
  if (process_ == nullptr || !process_->running()) return std::nullopt;
  const std::string folder = "/proc/" + std::to_string(process_->pid());
  std::ifstream file(folder + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  // From the third field on: 14 and 15 are the times, 20 the threads, 24 the resident pages.
  std::istringstream rest(stat.substr(name_end + 1));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  if (fields.size() < 22) return std::nullopt;
  const double ticks = std::stod(fields[11]) + std::stod(fields[12]);
  return Usage{.cpu_seconds = ticks / static_cast<double>(sysconf(_SC_CLK_TCK)),
               .resident_mib = std::stod(fields[21]) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20),
               .threads = std::stoi(fields[17])};
}

std::string Replica::Report() const {
  const auto log = [this] {
    std::ifstream file(LogFile());
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::size_t begin = log().size();
  {
    MutexLock lock(mu_);
    if (process_ == nullptr || !process_->Signal(SIGUSR1)) return {};
  }
  for (const auto until = steady_clock::now() + kReportPatience; steady_clock::now() < until;) {
    const std::string text = log();
    if (text.size() > begin && text.find(kEndOfReport, begin) != std::string::npos) return text.substr(begin);
    (void)Context::Background().SleepFor(milliseconds(20));
  }
  return {};
}

std::string Replica::LastLines(int lines) const {
  std::ifstream file(LogFile());
  std::deque<std::string> last;
  for (std::string line; std::getline(file, line);) {
    last.push_back(line);
    if (last.size() > static_cast<std::size_t>(lines)) last.pop_front();
  }
  std::string out = "---- " + name_ + ".log ----\n";
  for (const std::string& line : last) out += line + "\n";
  return out;
}

}  // namespace kube::chaos
