// Descriptor: an open file that is closed by its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace kube::internal {

// Thread safety: none. -1 is none.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.release();
    }
    return *this;
  }

  int get() const { return fd_; }
  // The caller closes it.
  int release() { return std::exchange(fd_, -1); }
  // False where the system lost what was written.
  bool Close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

}  // namespace kube::internal
