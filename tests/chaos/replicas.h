// The replicas of the controller under test, as processes that are killed, frozen, ended and started again, as a kubelet would.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "audit_log.h"
#include "base/process.h"
#include "kube/base/mutex.h"

namespace kube::chaos {

// What happened when; thread-safe.
class Timeline {
 public:
  void Note(const std::string& what);
  std::string ToString() const;

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  mutable Mutex mu_;
  std::vector<std::string> lines_ KUBE_GUARDED_BY(mu_);
};

Micros WallMicros();

// What a process uses, from /proc.
struct Usage {
  double cpu_seconds = 0;
  double resident_mib = 0;
  int threads = 0;
};

struct ReplicaOptions {
  std::string program{};
  std::string directory{};  // of the log
  std::string kubeconfig{};
  std::string ns{};
  std::chrono::milliseconds lease_duration{}, renew_deadline{}, retry_period{};
};

// Thread safety: all functions from any thread.
class Replica {
 public:
  Replica(std::string name, ReplicaOptions options, Timeline* timeline);

  const std::string& name() const { return name_; }
  // Identity of the process that runs or ran last: "a-3".
  std::string identity() const;

  // Starts it if it should run and does not. To be called again and again.
  void Tend();

  // It is started again after `rest`.
  void Kill(std::chrono::milliseconds rest);
  void Terminate(std::chrono::milliseconds rest);
  void Freeze();
  void Resume();
  // At the end: SIGTERM, and nothing afterwards.
  void Finish(std::chrono::seconds patience);

  // Exits that this class did not cause, and shutdowns that took too long.
  std::vector<std::string> mistakes() const;
  std::vector<chaos::Freeze> freezes() const;
  int losses() const;  // of leadership
  std::optional<Usage> usage() const;
  std::string LastLines(int lines) const;
  // What its manager says of itself now; empty if it does not answer.
  std::string Report() const;

 private:
  void Start() KUBE_REQUIRES(mu_);
  void Ended(const internal::ProcessExit& exit) KUBE_REQUIRES(mu_);
  std::string LogFile() const { return options_.directory + "/" + name_ + ".log"; }
  std::string IdentityLocked() const KUBE_REQUIRES(mu_) { return name_ + "-" + std::to_string(started_); }

  const std::string name_;
  const ReplicaOptions options_;
  Timeline* const timeline_;
  mutable Mutex mu_;
  std::unique_ptr<internal::Process> process_ KUBE_GUARDED_BY(mu_);
  int started_ KUBE_GUARDED_BY(mu_) = 0;
  int losses_ KUBE_GUARDED_BY(mu_) = 0;
  int expected_signal_ KUBE_GUARDED_BY(mu_) = 0;  // what we sent to end it
  std::chrono::steady_clock::time_point signalled_ KUBE_GUARDED_BY(mu_){};
  std::chrono::steady_clock::time_point not_before_ KUBE_GUARDED_BY(mu_){};
  Micros frozen_since_ KUBE_GUARDED_BY(mu_) = 0;  // 0: it is not
  std::vector<chaos::Freeze> freezes_ KUBE_GUARDED_BY(mu_);
  std::vector<std::string> mistakes_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::chaos
