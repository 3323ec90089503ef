// Process: a child program that does not outlive this process.
//
//   Result<std::unique_ptr<Process>> etcd = Process::Start({.argv = {"/usr/bin/etcd", "--name=a"}, .log_file = "/tmp/x/etcd.log"});
//   etcd->Signal(SIGTERM);
//   if (!(*etcd)->Wait(Clock::Real()->Now() + 5s)) (*etcd)->Signal(SIGKILL);
//
// By default the child leads its own process group, and signals go to the whole group. It is killed by the destructor of this object, and
// by the kernel if this process dies. Linux only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/base/thread.h"

namespace kube::internal {

struct ProcessOptions {
  std::vector<std::string> argv;         // argv[0] is the path of the program
  std::vector<std::string> environment;  // "NAME=value", added to or overriding the environment of this process
  std::string directory;                 // working directory; empty: that of this process
  std::string log_file;                  // standard output and error are appended to it; empty: /dev/null
  int stdin_fd = -1;                     // standard input; -1: /dev/null; 0: inherited
  int stdout_fd = -1;                    // standard output, instead of the log file
  int stderr_fd = -1;                    // standard error, instead of the log file; 2: inherited
  bool die_with_parent = true;           // false: the child gets its own session and survives this process
  // False: the child stays in the process group of this process, which is required to read from the terminal. Signals then go only to the
  // child; processes that it started and left behind are not signaled.
  bool own_group = true;
  std::function<void()> on_exit;  // called on the thread of the process after its end; must be non-blocking and must not destroy it
};

struct KUBE_EXPORT ProcessExit {
  int code = 0;    // exit code, if it exited by itself
  int signal = 0;  // the signal that killed it; 0 if none
  // "exit code 1" or "killed by signal 9".
  std::string ToString() const;
};

// Thread safety: all functions may be called from any thread.
// Threads: one, which starts the child and waits for its end. It is the child's parent for the kernel's parent-death signal, so the child
// may be started from a thread that ends early.
class KUBE_EXPORT Process {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Errors: kConfig if the program cannot be run, kInternal if the system refuses to create a process.
  static Result<std::unique_ptr<Process>> Start(ProcessOptions options);
  // Kills the child if it still runs, and waits for its end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const;
  bool running() const;
  // Returns false if the child has already ended. For SIGSTOP it waits for the effect: afterwards no part of the child is running.
  bool Signal(int signal);
  // Nothing if the child still runs at `until`.
  std::optional<ProcessExit> Wait(TimePoint until);
  std::optional<ProcessExit> exit() const;

 private:
  Process() = default;
  void Run(const ProcessOptions& options);

  mutable Mutex mu_;
  CondVar changed_;
  bool started_ KUBE_GUARDED_BY(mu_) = false;
  int start_errno_ KUBE_GUARDED_BY(mu_) = 0;
  bool fork_failed_ KUBE_GUARDED_BY(mu_) = false;
  pid_t pid_ KUBE_GUARDED_BY(mu_) = 0;
  std::optional<ProcessExit> exit_ KUBE_GUARDED_BY(mu_);
  bool own_group_ = true;
  Thread thread_;  // last, so that it is joined before the other members are destroyed
};

}  // namespace kube::internal
