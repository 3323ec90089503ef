// Exec and attach: runs commands in containers.
//
//   // Run a command and get its output at the end.
//   Result<ExecResult> done = Exec(ctx, client, {"default", "web"}, {.command = {"cat", "/etc/hostname"}});
//   if (!done) return done.error();            // the command could not be run, or the connection broke
//   if (done->exit_code != 0) std::cerr << done->stderr_data;
//
//   // Interact with a command while it runs.
//   Result<RemoteCommand> shell = StartExec(ctx, client, {"default", "web"},
//                                           {.command = {"sh"}, .open_stdin = true, .tty = true, .on_stdout = [](std::string_view text) {
//                                              std::cout << text << std::flush;
//                                              return Result<void>();
//                                            }});
//   (void)shell->Resize(ctx, {.width = 120, .height = 40});
//   (void)shell->WriteStdin(ctx, "ls\nexit\n");
//   Result<int> exit_code = shell->Wait(ctx);
//
// Each session uses its own WebSocket connection. The handshake offers v5.channel.k8s.io, then v4.channel.k8s.io; servers before 1.29
// choose v4, which cannot signal the end of stdin (CloseStdin fails). SPDY is not supported.
//
// The handshake times out after 60 s (kTimeout). After that the server is pinged every 5 s. A session ends if nothing arrives for 61 s, or
// if sending a message takes longer than 60 s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

// Options of Exec.
struct ExecOptions {
  std::vector<std::string> command{};       // the argv; no shell is involved
  std::string container{};                  // empty: the pod's only container
  std::optional<std::string> stdin_data{};  // input of the command; nothing: it has no stdin
  // Limit for stdout and stderr each. Output beyond it is read and dropped, so the command keeps running.
  std::size_t max_output_bytes = std::size_t{16} << 20;
};

// Result of Exec.
struct ExecResult {
  int exit_code = 0;
  std::string stdout_data{};
  std::string stderr_data{};
  bool truncated = false;  // output beyond max_output_bytes was dropped
};

// Receives output. Called on the session's thread, in order; a slow handler slows down the command. If it returns an error or throws, the
// rest of that stream is dropped and the command keeps running; see RemoteCommand::output_error.
using OutputHandler = std::function<Result<void>(std::string_view bytes)>;

// Options of StartExec and StartAttach.
struct CommandOptions {
  std::vector<std::string> command{};  // exec only
  std::string container{};             // empty: the pod's only container
  bool open_stdin = false;
  bool tty = false;           // merges stdout and stderr: all output goes to on_stdout
  OutputHandler on_stdout{};  // empty: stdout is not requested
  OutputHandler on_stderr{};  // empty: stderr is not requested; never called with `tty`
};

// Size of a terminal, in characters.
struct TerminalSize {
  std::uint16_t width = 0;
  std::uint16_t height = 0;
};

// A running command in a container.
//
// Thread safety: all functions may be called from any thread. An OutputHandler may call only WriteStdin, CloseStdin, Resize and Close.
// Lifetime: the session ends when its context stops, when Close is called, or when this object is destroyed, which waits for a running
//   OutputHandler. The command itself may keep running: servers do not kill it. Independent of the Client.
// Blocking and cancellation: each function returns within 100 ms after its context stops. Cancelling a write in the middle of a message
//   ends the session.
// Errors: those of the context; kTransport (ConnectionLost, UnexpectedEof ...) if the connection broke; kApi with the server's message if
//   the command could not be run; kClosed after the session has ended.
// Cost: one connection and two threads.
class KUBE_EXPORT RemoteCommand {
 public:
  RemoteCommand(RemoteCommand&&) noexcept;
  RemoteCommand& operator=(RemoteCommand&&) noexcept;
  ~RemoteCommand();

  // The negotiated protocol: "v5.channel.k8s.io" or "v4.channel.k8s.io".
  const std::string& protocol() const;

  // Blocks until the system has accepted all bytes. Errors: kInvalid without open_stdin; kClosed after CloseStdin.
  Result<void> WriteStdin(const Context& ctx, std::string_view bytes);
  // Signals the end of stdin to the command. Errors: kInvalid if the server supports only v4.
  Result<void> CloseStdin(const Context& ctx);
  // Sets the terminal size. Errors: kInvalid without `tty`.
  Result<void> Resize(const Context& ctx, TerminalSize size);

  // Waits until the command has ended and all output has been handled. Returns the exit code, also when called again. No handler is called
  // after it has returned a code.
  Result<int> Wait(const Context& ctx);
  // The first error of an OutputHandler, if any.
  std::optional<Error> output_error() const;
  // Ends the session; Wait returns kClosed.
  void Close();

  class Impl;
  explicit RemoteCommand(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// Starts a command. Returns when the server has accepted the session; `ctx` governs the whole session, not only its start.
// Errors: kInvalid for invalid options, in which case nothing is sent; kApi with the server's message if it refused; otherwise as
// ResourceClient.
KUBE_EXPORT Result<RemoteCommand> StartExec(const Context& ctx, const Client& client, const ObjectKey& pod, CommandOptions options);
// Attaches to the main process of the container; otherwise as StartExec.
KUBE_EXPORT Result<RemoteCommand> StartAttach(const Context& ctx, const Client& client, const ObjectKey& pod, CommandOptions options);

// Runs a command until it ends or the context stops. A nonzero exit code is not an error.
// Errors: as StartExec and Wait; kInvalid for stdin_data if the server supports only v4, because the command would wait for more input
// indefinitely.
KUBE_EXPORT Result<ExecResult> Exec(const Context& ctx, const Client& client, const ObjectKey& pod, const ExecOptions& options);

}  // namespace kube
