// Descriptor: an owned file descriptor, closed by the destructor.
#pragma once

#include <unistd.h>

#include <utility>

namespace kube::internal {

// Thread safety: none. -1 means no descriptor.
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
  // Releases ownership: the caller closes the descriptor.
  int release() { return std::exchange(fd_, -1); }
  // Returns false if the system reports that written data was lost.
  bool Close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

}  // namespace kube::internal
