#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

// What the handler may touch: lock-free atomics and a file descriptor.
std::atomic<int> g_event_fd{-1};
std::atomic<int> g_signals_seen{0};
std::atomic<int> g_first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void Wake(int fd) {
  const std::uint64_t one = 1;
  // A full counter means that the reader is awake anyway.
  [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof(one));
}

extern "C" void OnStopSignal(int signal_number) {
  const int saved_errno = errno;
  // The second signal acts from the handler itself: the thread may be busy with callbacks that hang.
  if (g_signals_seen.fetch_add(1) > 0) _exit(EXIT_FAILURE);
  g_first_signal = signal_number;
  Wake(g_event_fd);
  errno = saved_errno;
}

class SignalWatcher {
 public:
  SignalWatcher() : SignalWatcher(Context::Background().WithCancel()) {}

  ~SignalWatcher() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
    closing_ = true;
    Wake(fd_);
    thread_.Join();
    close(fd_);
    cancel_.Detach();  // the end of the process is no reason to run callbacks
  }

  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  const Context& context() const { return context_; }

 private:
  explicit SignalWatcher(std::pair<Context, CancelSource> pair)
      : context_(std::move(pair.first)), cancel_(std::move(pair.second)), fd_(eventfd(0, EFD_CLOEXEC)) {  // blocking, unlike EventFd's
    g_event_fd = fd_;
    thread_ = Thread("kube-signal", [this] { Watch(); });
    struct sigaction action = {};
    action.sa_handler = OnStopSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }

  void Watch() {
    for (;;) {
      std::uint64_t count = 0;
      if (read(fd_, &count, sizeof(count)) < 0 && errno == EINTR) continue;
      if (closing_) return;
      cancel_.Cancel(Error::Cancelled(g_first_signal == SIGINT ? "received SIGINT" : "received SIGTERM"));
    }
  }

  Context context_;
  CancelSource cancel_;
  const int fd_;
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
  std::atomic<bool> closing_{false};
  Thread thread_;
};

}  // namespace

Context SignalContext() {
  static const SignalWatcher watcher;
  return watcher.context();
}

}  // namespace kube
