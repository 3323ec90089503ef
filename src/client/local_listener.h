// Local TCP listeners for port-forward.
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

// Listens on one port of all `addresses` and returns the port; port 0 chooses one that is free on all of them. See
// PortForwardOptions::addresses.
// Errors: kInvalid for an invalid address; kTransport if the port is not available.
Result<std::uint16_t> ListenOn(const std::vector<std::string>& addresses, std::uint16_t port, std::vector<Descriptor>& listeners);

// Accepts connections on its own thread.
class Acceptor {
 public:
  struct Listener {
    Descriptor fd;
    std::uint16_t port = 0;  // passed to the handler
  };
  using Handler = std::function<void(Descriptor connection, std::uint16_t port)>;

  Acceptor() = default;
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;
  ~Acceptor() { Stop(); }

  // Both functions are called on the acceptor's thread: `handler` for each connection, `woken` after Wake.
  // Errors: kTransport if the system has no file descriptors left.
  Result<void> Start(std::vector<Listener> listeners, Handler handler, std::function<void()> woken);
  // Makes the thread call `woken`. May be called from any thread.
  void Wake() const { wake_.Set(); }
  // Makes the thread close the ports and end, even before it has started. May be called from any thread.
  void RequestStop();
  // RequestStop, and waits until the thread has ended.
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
