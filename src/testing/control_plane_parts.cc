#include "testing/control_plane_parts.h"

#include <signal.h>

#include <utility>

#include "testing/assets.h"

namespace kube::testing::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kPortAttempts = 5;
constexpr milliseconds kPollInterval{50};
constexpr seconds kReportInterval{5};
constexpr seconds kAskTimeout{5};
constexpr int kLogLinesOfFailure = 25;

bool PortWasTaken(const std::string& log) {
  return log.find("address already in use") != std::string::npos || log.find("failed to create listener") != std::string::npos;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// What a health page says is missing: the lines "[-]name failed: reason".
std::string Missing(const std::string& body) {
  std::string out;
  std::size_t at = 0;
  while ((at = body.find("[-]", at)) != std::string::npos) {
    const std::size_t end = body.find_first_of(" \n", at);
    if (!out.empty()) out += ", ";
    out += body.substr(at + 3, end - at - 3);
    at = end == std::string::npos ? body.size() : end;
  }
  return out.empty() ? FirstLine(body) : out;
}

}  // namespace

std::shared_ptr<Process> ControlPlaneProgram::process() const {
  MutexLock lock(mu_);
  return process_;
}

std::string ControlPlaneProgram::url() const {
  MutexLock lock(mu_);
  return options_.host_url + ":" + std::to_string(port_);
}

bool ControlPlaneProgram::running() const {
  const std::shared_ptr<Process> p = process();
  return p != nullptr && p->running();
}

int ControlPlaneProgram::pid() const {
  const std::shared_ptr<Process> p = process();
  return p != nullptr && p->running() ? p->pid() : 0;
}

std::string ControlPlaneProgram::Log(int lines) const { return TailOf(options_.log_file, lines); }

void ControlPlaneProgram::Say(std::string_view text) const {
  if (options_.progress) options_.progress(options_.name + ": " + std::string(text));
}

Error ControlPlaneProgram::Failed(ErrorKind kind, std::string_view what) const {
  std::string message = options_.name + ": " + std::string(what);
  const std::string log = Log(kLogLinesOfFailure);
  if (!log.empty()) message += "\nThe end of its log:\n" + log;
  return Error(kind, std::move(message));
}

Result<void> ControlPlaneProgram::Start(const Context& ctx) {
  std::uint16_t port = 0;
  {
    MutexLock lock(mu_);
    port = port_;
  }
  const bool first = port == 0;
  for (int attempt = 1;; ++attempt) {
    if (auto r = ctx.Check(); !r) return r;
    if (first) {
      Result<std::uint16_t> picked = PickPort();
      if (!picked) return picked.error();
      port = *picked;
    }
    Result<void> started = StartOnce(ctx, port);
    if (started) return {};
    if (!PortWasTaken(Log(kLogLinesOfFailure)) || running() || (first && attempt == kPortAttempts)) {
      Kill();
      return started;
    }
    Say("port " + std::to_string(port) + " is taken, trying again");
    if (auto r = ctx.SleepFor(milliseconds(200)); !r) return started;
  }
}

Result<void> ControlPlaneProgram::StartOnce(const Context& ctx, std::uint16_t port) {
  // One log for each start: what an earlier one said about ports must not be taken for this one's words.
  const std::string marker = options_.log_file + ".previous";
  if (const std::string before = TailOf(options_.log_file, 100'000); !before.empty()) {
    if (auto r = WriteFile(marker, before); !r) return r;
    if (auto r = WriteFile(options_.log_file, ""); !r) return r;
  }
  std::vector<std::string> argv = {options_.program};
  for (std::string& flag : options_.flags(port)) argv.push_back(std::move(flag));
  Result<std::unique_ptr<Process>> started =
      Process::Start({.argv = std::move(argv), .directory = options_.directory, .log_file = options_.log_file});
  if (!started) return started.error();
  {
    MutexLock lock(mu_);
    process_ = std::move(*started);
    port_ = port;
  }
  Say("started on port " + std::to_string(port));
  return WaitReady(ctx);
}

Result<void> ControlPlaneProgram::WaitReady(const Context& ctx) const {
  HttpCaller caller(options_.identity);
  const auto begin = std::chrono::steady_clock::now();
  auto reported = begin;
  std::string last = "no answer yet";
  while (true) {
    const std::shared_ptr<Process> p = process();
    if (p == nullptr) return Error(ErrorKind::kClosed, options_.name + " does not run");
    if (const std::optional<ProcessExit> ended = p->exit()) return Failed(ErrorKind::kInternal, "ended by itself: " + ended->ToString());
    milliseconds patience = kAskTimeout;
    if (const auto left = ctx.remaining()) patience = std::min(patience, std::chrono::duration_cast<milliseconds>(*left) + milliseconds(1));
    const Result<HttpAnswer> answer = caller.Do({.url = url() + options_.ready_path, .timeout = patience});
    // An answer from another server on this port fails at the certificate, because etcd and the API server each have a CA of their own.
    if (answer && answer->status == 200) {
      const auto took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
      Say("ready after " + std::to_string(took.count()) + " ms");
      return {};
    }
    last = answer ? Missing(answer->body) : answer.error().message();
    const auto now = std::chrono::steady_clock::now();
    if (now - reported >= kReportInterval) {
      reported = now;
      Say("not ready after " + std::to_string(std::chrono::duration_cast<seconds>(now - begin).count()) + " s: " + last);
    }
    if (auto r = ctx.SleepFor(kPollInterval); !r) {
      return Failed(r.error().kind(), "not ready (" + r.error().message() + "): " + last);
    }
  }
}

void ControlPlaneProgram::Stop(milliseconds patience) {
  const std::shared_ptr<Process> p = process();
  if (p == nullptr) return;
  if (patience.count() > 0) {
    p->Signal(SIGTERM);
    p->Signal(SIGCONT);  // a paused one has to wake up to hear it
    p->Wait(std::chrono::steady_clock::now() + patience);
  }
  p->Signal(SIGKILL);
  p->Wait(std::chrono::steady_clock::time_point::max());
  MutexLock lock(mu_);
  process_ = nullptr;
}

Result<void> ControlPlaneProgram::Signal(int signal) {
  const std::shared_ptr<Process> p = process();
  if (p == nullptr || !p->Signal(signal)) return Error(ErrorKind::kClosed, options_.name + " does not run");
  return {};
}

}  // namespace kube::testing::internal
