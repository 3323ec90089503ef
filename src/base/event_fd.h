// EventFd: wakes a thread that blocks in poll(2) or epoll_wait(2).
//
//   pollfd waits[2] = {{socket, POLLIN, 0}, {event.fd(), POLLIN, 0}};
//   poll(waits, 2, -1);
//   if (waits[1].revents != 0) event.Clear();
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/descriptor.h"

namespace kube::internal {

// Thread safety: Set and Clear may be called from any thread. Once set, it stays readable until Clear.
class EventFd {
 public:
  enum class Later { kLater };

  EventFd() { Prepare(); }
  // Creates no descriptor until Prepare.
  explicit EventFd(Later) {}
  EventFd(const EventFd&) = delete;
  EventFd& operator=(const EventFd&) = delete;

  // Creates the descriptor; returns false if the system has none left. Call it before any call of Set.
  bool Prepare() {
    if (fd_.get() < 0) fd_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return valid();
  }
  bool valid() const { return fd_.get() >= 0; }
  int fd() const { return fd_.get(); }

  // Does nothing without a descriptor.
  void Set() const {
    const std::uint64_t one = 1;
    (void)!write(fd_.get(), &one, sizeof one);
  }
  void Clear() const {
    std::uint64_t count = 0;
    (void)!read(fd_.get(), &count, sizeof count);
  }

 private:
  Descriptor fd_;
};

}  // namespace kube::internal
