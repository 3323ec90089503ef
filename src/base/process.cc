#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "base/descriptor.h"

namespace kube::internal {
namespace {

// What the child needs, made before the fork: between fork and exec it may neither allocate nor lock.
struct Prepared {
  std::vector<char*> argv;
  std::vector<std::string> environment_text;
  std::vector<char*> environment;
  const char* directory = nullptr;
  int in = -1;
  int out = -1;
  int err = -1;
  int error_pipe = -1;  // errno of a failed exec; closed by a good one
  bool die_with_parent = true;
  bool own_group = true;
  pid_t parent = 0;
};

std::vector<std::string> MergeEnvironment(const std::vector<std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& other : added) replaced = replaced || (!name.empty() && other.compare(0, name.size(), name) == 0);
    if (!replaced) merged.emplace_back(text);
  }
  merged.insert(merged.end(), added.begin(), added.end());
  return merged;
}

// In the child. Only async-signal-safe calls.
[[noreturn]] void Exec(const Prepared& p) {
  const auto fail = [&p] {
    const int code = errno;
    [[maybe_unused]] const ssize_t written = write(p.error_pipe, &code, sizeof code);
    _exit(127);
  };
  if (p.die_with_parent) {
    if (p.own_group && setpgid(0, 0) != 0) fail();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
    if (getppid() != p.parent) _exit(127);  // it died before it could be watched
  } else {
    setsid();
  }
  for (int signal_number = 1; signal_number < NSIG; ++signal_number) signal(signal_number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(p.in, 0) < 0 || dup2(p.out, 1) < 0 || dup2(p.err, 2) < 0) fail();
  if (p.directory != nullptr && chdir(p.directory) != 0) fail();
  // Descriptors that other code in this process left inheritable. Kernels before 5.11 do not have this call; there they are inherited.
  syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  execve(p.argv[0], p.argv.data(), p.environment.data());
  fail();
  _exit(127);
}

ProcessExit FromStatus(int status) {
  ProcessExit out;
  if (WIFSIGNALED(status)) {
    out.signal = WTERMSIG(status);
  } else {
    out.code = WEXITSTATUS(status);
  }
  return out;
}

}  // namespace

std::string ProcessExit::ToString() const {
  return signal != 0 ? "killed by signal " + std::to_string(signal) : "exit code " + std::to_string(code);
}

Result<std::unique_ptr<Process>> Process::Start(ProcessOptions options) {
  if (options.argv.empty()) return Error::Invalid("a process needs the path of a program");
  std::unique_ptr<Process> process(new Process());
  const std::string program = options.argv[0];
  process->own_group_ = options.own_group || !options.die_with_parent;  // a session's leader leads a group too
  process->thread_ = Thread("kube-process", [p = process.get(), o = std::move(options)] { p->Run(o); });
  MutexLock lock(process->mu_);
  while (!process->started_) process->changed_.Wait(process->mu_);
  if (process->start_errno_ != 0) {
    return Error(process->fork_failed_ ? ErrorKind::kInternal : ErrorKind::kConfig,
                 "cannot run " + program + ": " + std::strerror(process->start_errno_));
  }
  return process;
}

void Process::Run(const ProcessOptions& options) {
  const auto failed = [this](int code, bool fork_failed) {
    MutexLock lock(mu_);
    start_errno_ = code;
    fork_failed_ = fork_failed;
    started_ = true;
    changed_.NotifyAll();
  };
  Prepared p;
  for (const std::string& arg : options.argv) p.argv.push_back(const_cast<char*>(arg.c_str()));
  p.argv.push_back(nullptr);
  p.environment_text = MergeEnvironment(options.environment);
  for (const std::string& entry : p.environment_text) p.environment.push_back(const_cast<char*>(entry.c_str()));
  p.environment.push_back(nullptr);
  if (!options.directory.empty()) p.directory = options.directory.c_str();
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Descriptor log(options.log_file.empty() ? -1 : open(options.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (null.get() < 0 || (!options.log_file.empty() && log.get() < 0)) return failed(errno, true);
  p.in = options.stdin_fd >= 0 ? options.stdin_fd : null.get();
  const int log_or_null = log.get() >= 0 ? log.get() : null.get();
  p.out = options.stdout_fd >= 0 ? options.stdout_fd : log_or_null;
  p.err = options.stderr_fd >= 0 ? options.stderr_fd : log_or_null;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return failed(errno, true);
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  p.error_pipe = write_end.get();
  p.die_with_parent = options.die_with_parent;
  p.own_group = own_group_;
  p.parent = getpid();

  const pid_t child = fork();
  if (child < 0) return failed(errno, true);
  if (child == 0) Exec(p);
  write_end.Close();
  int exec_errno = 0;
  ssize_t got = 0;
  do {
    got = read(read_end.get(), &exec_errno, sizeof exec_errno);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return failed(exec_errno, false);
  }
  {
    MutexLock lock(mu_);
    pid_ = child;
    started_ = true;
    changed_.NotifyAll();
  }
  // Waits without reaping: as long as the child is a zombie, its number and its group's are not reused.
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  {
    MutexLock lock(mu_);
    if (own_group_) kill(-child, SIGKILL);  // what it started itself
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    exit_ = FromStatus(status);
    changed_.NotifyAll();
  }
  if (options.on_exit) options.on_exit();
}

Process::~Process() {
  Signal(SIGKILL);
  thread_.Join();
}

pid_t Process::pid() const {
  MutexLock lock(mu_);
  return pid_;
}

bool Process::running() const {
  MutexLock lock(mu_);
  return pid_ != 0 && !exit_;
}

bool Process::Signal(int signal) {
  pid_t pid = 0;
  {
    MutexLock lock(mu_);
    if (pid_ == 0 || exit_) return false;
    if (kill(own_group_ ? -pid_ : pid_, signal) != 0) return false;
    pid = pid_;
  }
  if (signal == SIGSTOP) {
    // Its threads stop one after another. Waits without reaping, as Run does; if it ended instead, there is nothing to wait for.
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
  }
  return true;
}

std::optional<ProcessExit> Process::Wait(TimePoint until) {
  MutexLock lock(mu_);
  while (!exit_) {
    if (!changed_.WaitUntil(mu_, until)) break;
  }
  return exit_;
}

std::optional<ProcessExit> Process::exit() const {
  MutexLock lock(mu_);
  return exit_;
}

}  // namespace kube::internal
