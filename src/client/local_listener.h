// TCP ports of this machine that a port-forward listens on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/event_fd.h"
#include "kube/base/result.h"
#include "kube/base/thread.h"

namespace kube::internal {

// Listens on one port of all `addresses`; port 0: a free one, the same for all of them. Gives the port. See PortForwardOptions::addresses.
// Errors: kInvalid for what is no address; kTransport where the port cannot be had.
Result<std::uint16_t> ListenOn(const std::vector<std::string>& addresses, std::uint16_t port, std::vector<Descriptor>& listeners);

// Accepts connections on a thread of its own.
class Acceptor {
 public:
  struct Listener {
    Descriptor fd;
    std::uint16_t port = 0;  // given to the handler
  };
  using Handler = std::function<void(Descriptor connection, std::uint16_t port)>;

  Acceptor() = default;
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor() { Stop(); }

  // Both functions are called on the acceptor's thread: for each connection, and after Wake.
  // Errors: kTransport where the system has no file descriptors left.
  Result<void> Start(std::vector<Listener> listeners, Handler handler, std::function<void()> woken);
  // Makes the thread call `woken`. From any thread.
  void Wake() const { wake_.Set(); }
  // Makes the thread close the ports and end; it may have to be started yet. From any thread.
  void RequestStop();
  // Waits for that.
  void Stop();

 private:
  void Run();

  std::vector<Listener> listeners_;
  Handler handler_;
  std::function<void()> woken_;
  EventFd wake_;
  std::atomic<bool> stopping_ = false;
  Thread thread_;
};

}  // namespace kube::internal
