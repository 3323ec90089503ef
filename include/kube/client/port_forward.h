// Port forwarding: connections to ports of a pod, through the API server.
//
//   // Local ports, as with kubectl port-forward.
//   Result<PortForwarder> forwarder = ForwardPorts(ctx, client, {"default", "web"}, {.ports = {"8080:80", ":9090"}});
//   std::cout << forwarder->ports()[1].local << '\n';           // the free port that was chosen
//   Result<void> end = forwarder->Wait(ctx);                     // ok after Stop
//   if (!end && IsLostConnectionToPod(end.error())) ...          // forward again
//
//   // A connection without a local port.
//   Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(ctx, 80);
//   (void)(*stream)->Write(ctx, "GET / HTTP/1.0\r\n\r\n");
//
// All connections share one WebSocket (SPDY/3.1+portforward.k8s.io; servers since 1.30). The protocol has no flow control: a connection
// that is not read blocks the others once it buffers 4 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/client/client.h"
#include "kube/meta/object_key.h"

namespace kube {

// A local port and the port of the pod it leads to.
struct ForwardedPort {
  std::uint16_t local = 0;  // 0: any free port
  std::uint16_t remote = 0;
  friend bool operator==(const ForwardedPort&, const ForwardedPort&) = default;
};

// Parses "8080:80", "80" (the same port on both sides), ":80" and "0:80" (any free local port). Errors: kInvalid.
KUBE_EXPORT Result<ForwardedPort> ParseForwardedPort(std::string_view spec);

// Options of ForwardPorts.
struct PortForwardOptions {
  std::vector<std::string> ports{};  // as for ParseForwardedPort; empty: Dial only
  // Local addresses to listen on: IP addresses, all of which must be available; "localhost" stands for 127.0.0.1 and ::1, at least one of
  // which must be.
  std::vector<std::string> addresses{"localhost"};
  // Called on a thread of the forwarder when one connection cannot be forwarded; the others continue.
  std::function<void(const Error& error)> on_error{};
};

// One connection to a port of the pod.
//
// Thread safety: one reader and one writer at a time; Close may be called from any thread.
// Lifetime: destroying it closes it. It may outlive its forwarder; calls then fail.
// Blocking and cancellation: each function returns within 100 ms after its context stops. Cancelling a write in the middle of its bytes
//   ends the forwarder with all its connections.
// Errors: those of the context; kTransport if the connection is lost; kClosed after Close, or after the forwarder has stopped.
class KUBE_EXPORT PortForwardStream {
 public:
  virtual ~PortForwardStream();
  // Waits for at least one byte; returns 0 if the pod sends no more. Errors: also IsPortForwardFailure, with the message of the pod's node
  // if it could not connect.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Sends all bytes.
  virtual Result<void> Write(const Context& ctx, std::string_view bytes) = 0;
  // Closes the sending direction; reading continues.
  virtual Result<void> Finish(const Context& ctx) = 0;
  // Closes the connection in both directions.
  virtual void Close() = 0;
};

// True if the connection to the pod was lost or the server ended it. Nothing is forwarded any more.
KUBE_EXPORT bool IsLostConnectionToPod(const Error& e);
// True if the pod's node could not forward a connection: the port is closed, or the pod does not exist.
KUBE_EXPORT bool IsPortForwardFailure(const Error& e);

// A running port forwarding.
//
// Thread safety: all functions may be called from any thread.
// Lifetime: forwarding ends when its context stops, when Stop is called, or when this object is destroyed, which joins its threads.
//   Independent of the Client.
// Blocking and cancellation: functions with a Context return within 100 ms after it stops.
// Cost: one connection and three threads, plus two threads for each connection to a local port.
class KUBE_EXPORT PortForwarder {
 public:
  PortForwarder(PortForwarder&&) noexcept;
  PortForwarder& operator=(PortForwarder&&) noexcept;
  ~PortForwarder();

  // In the order of the options, with the local ports that were chosen.
  const std::vector<ForwardedPort>& ports() const;
  // Connects to any port of the pod. A closed port is reported by the first read.
  // Errors: the reason why forwarding ended, kClosed after Stop; those of the context; kTimeout if the server takes more than 30 s.
  Result<std::unique_ptr<PortForwardStream>> Dial(const Context& ctx, std::uint16_t port);
  // Waits until forwarding ends. Ok after Stop. Errors: IsLostConnectionToPod; IsPortForwardFailure, because any failure of the pod's node
  // ends all forwarding, as with kubectl; the error of the session's context; the error of `ctx`, in which case forwarding continues.
  Result<void> Wait(const Context& ctx);
  // Ends all connections. The local ports are closed shortly after, at the latest by the destructor.
  void Stop();

  class Impl;
  explicit PortForwarder(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// Starts forwarding. Returns when all local ports are open; `ctx` governs the whole session, not only its start.
// Errors: kInvalid for invalid options; kApi with the server's message if it refused; kTransport if the server cannot be reached or a local
// port is not available; kTimeout if the server does not answer within 60 s.
KUBE_EXPORT Result<PortForwarder> ForwardPorts(const Context& ctx, const Client& client, const ObjectKey& pod,
                                               const PortForwardOptions& options);

}  // namespace kube
