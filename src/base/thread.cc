#include "kube/base/thread.h"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace kube {

Thread::Thread(std::string name, std::function<void()> body) {
  // The new thread inherits the mask of its creator: block around the creation, so that no signal slips in between. Faults of the
  // thread's own making stay deliverable.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([name = std::move(name), body = std::move(body)]() noexcept {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    body();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Thread& Thread::operator=(Thread&& other) noexcept {
  if (this != &other) {
    Join();
    thread_ = std::move(other.thread_);
  }
  return *this;
}

Thread::~Thread() { Join(); }

void Thread::Detach() { thread_.detach(); }

void Thread::Join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace kube
