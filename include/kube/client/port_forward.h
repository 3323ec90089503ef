// Connections to ports of a pod, through the API server.
//
//   // Local ports, as kubectl port-forward.
//   Result<PortForwarder> forwarder = ForwardPorts(ctx, client, {"default", "web"}, {.ports = {"8080:80", ":9090"}});
//   std::cout << forwarder->ports()[1].local << '\n';           // the one that was free
//   Result<void> end = forwarder->Wait(ctx);                     // ok after Stop
//   if (!end && IsLostConnectionToPod(end.error())) ...          // start again
//
//   // No local port at all.
//   Result<std::unique_ptr<PortForwardStream>> stream = forwarder->Dial(ctx, 80);
//   (void)(*stream)->Write(ctx, "GET / HTTP/1.0\r\n\r\n");
//
// Over WebSocket (SPDY/3.1+portforward.k8s.io; servers from 1.30), all connections over one. The protocol has no flow control: a connection
// that nobody reads stops the others once it holds 4 MiB.
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

struct ForwardedPort {
  std::uint16_t local = 0;  // 0: a free one
  std::uint16_t remote = 0;
  friend bool operator==(const ForwardedPort&, const ForwardedPort&) = default;
};

// "8080:80", "80" (the same on both sides), ":80" and "0:80" (a free local one). Errors: kInvalid.
KUBE_EXPORT Result<ForwardedPort> ParseForwardedPort(std::string_view spec);

struct PortForwardOptions {
  std::vector<std::string> ports{};  // as for ParseForwardedPort; none: Dial only
  // Where the local ports are: IP addresses, all of which have to work; "localhost" is 127.0.0.1 and ::1, one of which has to.
  std::vector<std::string> addresses{"localhost"};
  // A connection that could not be forwarded; the others go on. Called on a thread of the forwarder.
  std::function<void(const Error& error)> on_error{};
};

// One connection to a port of the pod.
//
// Thread safety: one reader and one writer at a time; Close from any thread.
// Lifetime: destroying it closes it. May outlive its forwarder: it then fails.
// Blocking and cancellation: each function ends within 100 ms when its context stops. A write that is stopped in the middle of its bytes
//   ends the forwarder, with all its connections.
// Errors: those of the context; kTransport where the connection is lost; kClosed after Close, or once the forwarder has stopped.
class KUBE_EXPORT PortForwardStream {
 public:
  virtual ~PortForwardStream();
  // Waits for at least one byte; 0 when the pod sends no more. Errors: also IsPortForwardFailure with what the pod's node said where it
  // could not connect.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  virtual Result<void> Write(const Context& ctx, std::string_view bytes) = 0;
  // No more will be written; reading goes on.
  virtual Result<void> Finish(const Context& ctx) = 0;
  virtual void Close() = 0;
};

// The connection to the pod was lost, or the server ended it: nothing is forwarded any more.
KUBE_EXPORT bool IsLostConnectionToPod(const Error& e);
// The pod's node could not forward a connection: nobody listens on the port, the pod is gone.
KUBE_EXPORT bool IsPortForwardFailure(const Error& e);

// Thread safety: all functions from any thread.
// Lifetime: forwarding ends when the context that it was started with stops, with Stop, and when this object is destroyed; that waits for
//   its threads. Independent of the Client.
// Blocking and cancellation: functions with a Context end within 100 ms when it stops.
// Cost: a connection and three threads, and two threads more for each connection to a local port.
class KUBE_EXPORT PortForwarder {
 public:
  PortForwarder(PortForwarder&&) noexcept;
  PortForwarder& operator=(PortForwarder&&) noexcept;
  ~PortForwarder();

  // In the order of the options, with the local ports that were found.
  const std::vector<ForwardedPort>& ports() const;
  // A connection to any port of the pod. That nobody listens there comes out when it is read from.
  // Errors: why forwarding has ended, kClosed after Stop; those of the context; kTimeout where the server takes more than 30 s.
  Result<std::unique_ptr<PortForwardStream>> Dial(const Context& ctx, std::uint16_t port);
  // Waits for the end. Ok after Stop. Errors: IsLostConnectionToPod; IsPortForwardFailure, because any failure of the pod's node ends
  // everything, as with kubectl; the error of the context that it was started with; that of `ctx`, and forwarding goes on.
  Result<void> Wait(const Context& ctx);
  // Ends all connections; the local ports are closed a moment later, at the latest by the destructor.
  void Stop();

  class Impl;
  explicit PortForwarder(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// `ctx` is the context of all of it, not of the start alone. Returns when all local ports are open.
// Errors: kInvalid for options that make no sense; kApi where the server refused, with what it said; kTransport where it cannot be reached,
// or a local port cannot be had; kTimeout where it does not answer within 60 s.
KUBE_EXPORT Result<PortForwarder> ForwardPorts(const Context& ctx, const Client& client, const ObjectKey& pod,
                                               const PortForwardOptions& options);

}  // namespace kube
