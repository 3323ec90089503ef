// The replicas of rotation_test as processes, and what a kubelet and a Service do for them: a replica that ends is restarted, and the proxy
// sends connections to those that are ready.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "control/manager/tcp_proxy_test_util.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/transport/transport.h"

namespace kube::rotation {

// Thread safety: all functions from any thread.
class Replicas {
 public:
  // `directory` is for their logs; `arguments` are those of rotation_replica.
  Replicas(int count, std::string directory, std::vector<std::string> arguments, internal::TcpProxy& proxy);
  ~Replicas();  // kills them

  // When the first of them opened its port.
  std::optional<std::chrono::steady_clock::time_point> first_port() const;
  bool AllReady() const;
  // SIGTERM. It is started again when it has ended.
  void Terminate(std::size_t index);
  // The next replica that does the step `place` dies of it ("before promote").
  void KillAt(const std::string& place) const;
  // False: a replica has died of it, or is about to.
  bool WaitsForDeath() const;
  // True: it is too late, a replica has died of it.
  bool CallOff() const;
  // SIGTERM to all; none is started again. Waits until they have ended.
  void Finish();

  struct Tally {
    int terminated = 0, killed = 0;
    // Connections of replicas that ended in this way: see TcpProxy::Backend.
    int cut_by_term = 0, cut_by_kill = 0, perhaps_cut_by_kill = 0;
    std::vector<std::string> mistakes{};  // exits that the test did not cause
  };
  Tally tally() const;
  // The end of their logs.
  std::string Logs(int lines) const;

 private:
  struct Replica {
    std::string name{}, report{};
    std::unique_ptr<internal::Process> process{};
    std::shared_ptr<internal::TcpProxy::Backend> backend{};  // null until it has written its report
    std::shared_ptr<Transport> health{};
    bool ready = false, terminating = false;
    std::chrono::steady_clock::time_point terminated_at{};
  };

  void Tend();
  void Probe();
  void Start(Replica& replica) KUBE_REQUIRES(mu_);
  void Ended(Replica& replica, const internal::ProcessExit& exit) KUBE_REQUIRES(mu_);
  void ReadReport(Replica& replica) KUBE_REQUIRES(mu_);

  const std::string directory_, die_at_;
  const std::vector<std::string> arguments_;
  internal::TcpProxy& proxy_;
  std::pair<Context, CancelSource> stop_ = Context::Background().WithCancel();
  mutable Mutex mu_;
  std::vector<Replica> replicas_ KUBE_GUARDED_BY(mu_);
  bool finishing_ KUBE_GUARDED_BY(mu_) = false;
  std::optional<std::chrono::steady_clock::time_point> first_port_ KUBE_GUARDED_BY(mu_);
  Tally tally_ KUBE_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<internal::TcpProxy::Backend>> terminated_ KUBE_GUARDED_BY(mu_), killed_ KUBE_GUARDED_BY(mu_);
  Thread tender_, prober_;  // last: joined before the rest goes
};

}  // namespace kube::rotation
