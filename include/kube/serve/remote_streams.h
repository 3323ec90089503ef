// The server's side of `kubectl exec`, `attach` and `port-forward`: several streams over one connection that left HTTP.
//
//   AcceptRemoteCommand   stdin, stdout, stderr, the size of the terminal, and how it ended
//   AcceptPortForward     connections to ports of a pod
//
// Clients come with WebSocket (v5 and v4.channel.k8s.io; port-forward as SPDY inside of WebSocket messages) or with SPDY/3.1; what is
// here hides which. All functions that take a Context block: they are for a thread of the caller, never for a thread of the HttpServer.
//
//   void Exec(const Context& ctx, const std::shared_ptr<HttpExchange>& exchange) {
//     Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(ctx, exchange);
//     if (!session) return;  // the client was told why
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

// Whether the client wants to leave HTTP: `Connection: Upgrade`.
KUBE_EXPORT bool IsUpgradeRequest(const HttpRequest& request);

// What the client asked for, by the query: stdin=true&tty=true ..., or input=1&tty=1 ... as API servers ask kubelets.
struct RemoteCommandOptions {
  bool stdin_stream = false;
  bool stdout_stream = false;
  bool stderr_stream = false;
  bool tty = false;  // stdout and stderr are one
};
KUBE_EXPORT RemoteCommandOptions ParseRemoteCommandOptions(std::string_view query);

struct TerminalSize {
  std::uint16_t width = 0;
  std::uint16_t height = 0;
};

// A command that runs for a client. Destroying it closes the connection; a client that was not told how the command ended by then
// reports an error.
//
// Thread safety: all functions from any thread; one reader of stdin and one of sizes at a time.
// Errors of functions that take a Context: kCancelled, kTimeout; kTransport where the client is gone.
class KUBE_EXPORT RemoteSession {
 public:
  virtual ~RemoteSession();
  virtual const RemoteCommandOptions& options() const = 0;
  // "v5.channel.k8s.io"
  virtual const std::string& protocol() const = 0;

  // Waits for at least one byte; 0 at the end of stdin, and at once where there is none.
  virtual Result<std::size_t> ReadStdin(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Wait until the system has the bytes. What the client did not ask for is dropped.
  virtual Result<void> WriteStdout(const Context& ctx, std::string_view bytes) = 0;
  virtual Result<void> WriteStderr(const Context& ctx, std::string_view bytes) = 0;
  // Waits for the next size of the client's terminal; nothing when there will be no more.
  virtual Result<std::optional<TerminalSize>> NextSize(const Context& ctx) = 0;

  // Tells the client how the command ended, and closes the connection. The first call counts.
  virtual Result<void> Exit(const Context& ctx, int code) = 0;
  // The same, with a Status as JSON: {"status":"Failure","message":...}.
  virtual Result<void> ExitWithStatus(const Context& ctx, std::string_view status_json) = 0;
  // Stops when the client is gone, or the session closed. For handlers that do not read meanwhile.
  virtual const Context& alive() const = 0;
  // The same, for a command that could not be run.
  Result<void> Fail(const Context& ctx, std::string_view message);
  // Ends what waits, and the connection.
  virtual void Close() = 0;
};

// Takes the connection of an exec or attach request. Blocks until the client has opened its streams.
// Errors: kInvalid where the request is not an upgrade that is known here, and the client was told so (400 or 403 with a plain text);
// kTransport, kTimeout, kCancelled.
KUBE_EXPORT Result<std::unique_ptr<RemoteSession>> AcceptRemoteCommand(const Context& ctx, const std::shared_ptr<HttpExchange>& exchange);

// One connection of a client's program to a port of the pod. Destroying it closes it.
//
// Thread safety: one reader and one writer at a time; Close from any thread. May outlive the session: from then on reads end or fail, and
// writes fail.
class KUBE_EXPORT ForwardedConnection {
 public:
  virtual ~ForwardedConnection();
  virtual std::uint16_t port() const = 0;
  // Waits for at least one byte; 0 when the client sends no more.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  virtual Result<void> Write(const Context& ctx, std::string_view bytes) = 0;
  // No more will be written.
  virtual Result<void> Finish(const Context& ctx) = 0;
  // What went wrong; kubectl prints it, and ends. For a port where nobody listens.
  virtual Result<void> Fail(const Context& ctx, std::string_view message) = 0;
  virtual void Close() = 0;
};

// Destroying it closes all its connections.
//
// Thread safety: Accept by one thread, Close from any.
class KUBE_EXPORT PortForwardSession {
 public:
  virtual ~PortForwardSession();
  // Waits for the next connection; null when the client is gone.
  virtual Result<std::unique_ptr<ForwardedConnection>> Accept(const Context& ctx) = 0;
  // Stops when the client is gone, or the session closed.
  virtual const Context& alive() const = 0;
  virtual void Close() = 0;
};

// Errors: as AcceptRemoteCommand.
KUBE_EXPORT Result<std::unique_ptr<PortForwardSession>> AcceptPortForward(const Context& ctx,
                                                                          const std::shared_ptr<HttpExchange>& exchange);

}  // namespace kube::serve
