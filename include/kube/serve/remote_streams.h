// The server side of `kubectl exec`, `attach` and `port-forward`: several streams over one upgraded connection.
//
//   AcceptRemoteCommand   stdin, stdout, stderr, the terminal size, and the exit status
//   AcceptPortForward     connections to ports of a pod
//
// Clients connect with WebSocket (v5 and v4.channel.k8s.io; port-forward as SPDY inside WebSocket messages) or with SPDY/3.1; this
// interface hides the difference. All functions that take a Context block: call them on a thread of your own, never on a thread of the
// HttpServer.
//
//   void Exec(const Context& ctx, const std::shared_ptr<HttpExchange>& exchange) {
//     Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(ctx, exchange);
//     if (!session) return;  // the client already got the error
//     (void)(*session)->WriteStdout(ctx, "hello\n");
//     (void)(*session)->Exit(ctx, 0);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/serve/http_server.h"

namespace kube::serve {

// Whether the request asks for a protocol upgrade: `Connection: Upgrade`.
KUBE_EXPORT bool IsUpgradeRequest(const HttpRequest& request);

// The streams requested in the query: stdin=true&tty=true ..., or input=1&tty=1 ... from API servers to kubelets.
struct RemoteCommandOptions {
  bool stdin_stream = false;
  bool stdout_stream = false;
  bool stderr_stream = false;
  bool tty = false;  // a terminal: stdout and stderr are one stream
};
KUBE_EXPORT RemoteCommandOptions ParseRemoteCommandOptions(std::string_view query);  // reads the query of a request's URL

// In characters.
struct TerminalSize {
  std::uint16_t width = 0;
  std::uint16_t height = 0;
};

// A command that runs for a client. The destructor closes the connection; a client that has no exit status by then reports an error.
//
// Thread safety: all functions may be called from any thread; one reader of stdin and one of sizes at a time.
// Errors: functions that take a Context return kCancelled, kTimeout, or kTransport if the client has disconnected.
class KUBE_EXPORT RemoteSession {
 public:
  virtual ~RemoteSession();
  virtual const RemoteCommandOptions& options() const = 0;
  // The subprotocol: "v5.channel.k8s.io".
  virtual const std::string& protocol() const = 0;

  // Waits for at least one byte. Returns 0 at the end of stdin, and immediately if there is no stdin.
  virtual Result<std::size_t> ReadStdin(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Waits until the system has the bytes. Drops output that the client did not request.
  virtual Result<void> WriteStdout(const Context& ctx, std::string_view bytes) = 0;
  virtual Result<void> WriteStderr(const Context& ctx, std::string_view bytes) = 0;
  // Waits for the next size of the client's terminal. Returns nullopt when no more can arrive.
  virtual Result<std::optional<TerminalSize>> NextSize(const Context& ctx) = 0;

  // Reports the exit code and closes the connection. Later calls are ignored.
  virtual Result<void> Exit(const Context& ctx, int code) = 0;
  // The same, with a Status as JSON: {"status":"Failure","message":...}.
  virtual Result<void> ExitWithStatus(const Context& ctx, std::string_view status_json) = 0;
  // Stops when the client disconnects or the session is closed. For handlers that do not read meanwhile.
  virtual const Context& alive() const = 0;
  // The same, for a command that could not be started.
  Result<void> Fail(const Context& ctx, std::string_view message);
  // Ends pending calls and closes the connection.
  virtual void Close() = 0;
};

// Upgrades the connection of an exec or attach request. Blocks until the client has opened its streams. Errors: kInvalid if the request is
// not a supported upgrade, after answering it (400 or 403 with plain text); kTransport, kTimeout, kCancelled.
KUBE_EXPORT Result<std::unique_ptr<RemoteSession>> AcceptRemoteCommand(const Context& ctx, const std::shared_ptr<HttpExchange>& exchange);

// One forwarded connection to a port of the pod. The destructor closes it.
//
// Thread safety: one reader and one writer at a time; Close from any thread. May outlive the session: reads then end or fail, and writes
//   fail.
class KUBE_EXPORT ForwardedConnection {
 public:
  virtual ~ForwardedConnection();
  virtual std::uint16_t port() const = 0;
  // Waits for at least one byte. Returns 0 when the client sends no more.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  virtual Result<void> Write(const Context& ctx, std::string_view bytes) = 0;  // writes all bytes
  // Ends the output.
  virtual Result<void> Finish(const Context& ctx) = 0;
  // Reports an error, which kubectl prints before it exits. For a port without a listener.
  virtual Result<void> Fail(const Context& ctx, std::string_view message) = 0;
  virtual void Close() = 0;  // for both directions
};

// The forwarded connections of one client. The destructor closes all of them.
//
// Thread safety: Accept by one thread, Close from any.
class KUBE_EXPORT PortForwardSession {
 public:
  virtual ~PortForwardSession();
  // Waits for the next connection. Returns null when the client has disconnected.
  virtual Result<std::unique_ptr<ForwardedConnection>> Accept(const Context& ctx) = 0;
  // Stops when the client disconnects or the session is closed.
  virtual const Context& alive() const = 0;
  virtual void Close() = 0;  // closes all connections
};

// Upgrades the connection of a port-forward request. Errors: as AcceptRemoteCommand.
KUBE_EXPORT Result<std::unique_ptr<PortForwardSession>> AcceptPortForward(const Context& ctx,
                                                                          const std::shared_ptr<HttpExchange>& exchange);

}  // namespace kube::serve
