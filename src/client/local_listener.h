// TCP ports of this machine that a port-forward listens on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/result.h"
#include "kube/base/thread.h"

namespace kube::internal {

// A file descriptor of the system, closed with this object. Move-only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// Listens on one port of all `addresses`; port 0: a free one, the same for all of them. Gives the port. See PortForwardOptions::addresses.
// Errors: kInvalid for what is no address; kTransport where the port cannot be had.
Result<std::uint16_t> ListenOn(const std::vector<std::string>& addresses, std::uint16_t port, std::vector<FileDescriptor>& listeners);

// Accepts connections on a thread of its own.
class Acceptor {
 public:
  struct Listener {
    FileDescriptor fd;
    std::uint16_t port = 0;  // given to the handler
  };
  using Handler = std::function<void(FileDescriptor connection, std::uint16_t port)>;

  Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor() { Stop(); }

  // Both functions are called on the acceptor's thread: for each connection, and after Wake.
  // Errors: kTransport where the system has no file descriptors left.
  Result<void> Start(std::vector<Listener> listeners, Handler handler, std::function<void()> woken);
  // Makes the thread call `woken`. From any thread.
  void Wake() const;
  // Makes the thread close the ports and end; it may have to be started yet. From any thread.
  void RequestStop() const;
  // Waits for that.
  void Stop();

 private:
  void Run();

  std::vector<Listener> listeners_;
  Handler handler_;
  std::function<void()> woken_;
  const FileDescriptor wake_;  // an eventfd: 1 to wake, a large number to stop
  Thread thread_;
};

}  // namespace kube::internal
