// One program of a control plane: its command line, its process, its log, and its readiness check.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "testing/http.h"

namespace kube::testing::internal {

using kube::internal::Process;
using kube::internal::ProcessExit;

// Thread safety: all functions may be called from any thread; Start and Stop not at the same time as each other.
class ControlPlaneProgram {
 public:
  struct Options {
    std::string name;
    std::string program;
    std::string directory;
    std::string log_file;
    std::string host_url;    // "https://127.0.0.1"
    std::string ready_path;  // "/readyz"
    HttpIdentity identity;   // identity for the readiness check
    std::function<std::vector<std::string>(std::uint16_t port)> flags;
    std::function<void(std::string_view)> progress;
  };
  explicit ControlPlaneProgram(Options options) : options_(std::move(options)) {}

  // Starts it on a port of its own choice, the same each time, and waits until it answers. If another process has taken the port meanwhile,
  // the first start tries another port; later starts retry the same one until the context stops.
  Result<void> Start(const Context& ctx);
  // Sends SIGTERM, and SIGKILL if it still runs after `patience`. Does nothing if it is not running.
  void Stop(std::chrono::milliseconds patience);
  void Kill() { Stop(std::chrono::milliseconds(0)); }
  Result<void> Signal(int signal);
  Result<void> WaitReady(const Context& ctx) const;

  const std::string& name() const { return options_.name; }
  std::string url() const;
  bool running() const;
  int pid() const;
  std::string Log(int lines) const;

 private:
  Result<void> StartOnce(const Context& ctx, std::uint16_t port);
  std::shared_ptr<Process> process() const;
  Error Failed(ErrorKind kind, std::string_view what) const;
  void Say(std::string_view text) const;

  const Options options_;
  mutable Mutex mu_;
  std::shared_ptr<Process> process_ KUBE_GUARDED_BY(mu_);
  std::uint16_t port_ KUBE_GUARDED_BY(mu_) = 0;
};

}  // namespace kube::testing::internal
