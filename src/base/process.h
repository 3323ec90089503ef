// Process: a child program that does not outlive this process.
//
//   Result<std::unique_ptr<Process>> etcd = Process::Start({.argv = {"/usr/bin/etcd", "--name=a"}, .log_file = "/tmp/x/etcd.log"});
//   etcd->Signal(SIGTERM);
//   if (!(*etcd)->Wait(Clock::Real()->Now() + 5s)) (*etcd)->Signal(SIGKILL);
//
// The child leads a process group of its own, unless it is told not to; signals go to the whole group. It is killed by its destructor, and
// by the kernel where this process dies in any way. Linux only.
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
  std::vector<std::string> environment;  // "NAME=value", added to or replacing what this process has
  std::string directory;                 // where it runs; empty: here
  std::string log_file;                  // standard output and error are appended; empty: /dev/null
  int stdin_fd = -1;                     // what it reads; -1: /dev/null; 0: what this process reads
  int stdout_fd = -1;                    // where its output goes, instead of the log file
  int stderr_fd = -1;                    // where its errors go, instead of the log file; 2: where this process's go
  bool die_with_parent = true;           // false: it is a session of its own, and lives on where this process dies
  // False: it stays in this process's group, as one has to that reads from the terminal; signals then go to it alone, and what it starts
  // itself and leaves behind is left alone.
  bool own_group = true;
  std::function<void()> on_exit;  // called on the thread of the process after its end; must be quick and must not destroy it
};

struct KUBE_EXPORT ProcessExit {
  int code = 0;    // where it ended by itself
  int signal = 0;  // where a signal ended it; 0 otherwise
  // "exit code 1" or "killed by signal 9".
  std::string ToString() const;
};

// Thread safety: all functions may be called from any thread.
// Threads: one, that starts the child and waits for its end. It is the child's parent as far as the kernel's "parent died" signal is
// concerned, so that the child may be started from a thread that ends early.
class KUBE_EXPORT Process {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Errors: kConfig where the program cannot be run, kInternal where the system refuses a process.
  static Result<std::unique_ptr<Process>> Start(ProcessOptions options);
  // Kills what still runs, and waits for that.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const;
  bool running() const;
  // False where it has ended before. Of SIGSTOP it waits for the effect: nothing of the child runs any more afterwards.
  bool Signal(int signal);
  // Nothing where it still runs at `until`.
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
  Thread thread_;  // last: joined before the rest goes
};

}  // namespace kube::internal
