// Commands in containers: exec and attach.
//
//   // Run, and get everything at the end.
//   Result<ExecResult> done = Exec(ctx, client, {"default", "web"}, {.command = {"cat", "/etc/hostname"}});
//   if (!done) return done.error();            // the command could not be run, or the connection broke
//   if (done->exit_code != 0) std::cerr << done->stderr_data;
//
//   // Talk to it while it runs.
//   Result<RemoteCommand> shell = StartExec(ctx, client, {"default", "web"},
//                                           {.command = {"sh"}, .open_stdin = true, .tty = true, .on_stdout = [](std::string_view text) {
//                                              std::cout << text << std::flush;
//                                              return Result<void>();
//                                            }});
//   (void)shell->Resize(ctx, {.width = 120, .height = 40});
//   (void)shell->WriteStdin(ctx, "ls\nexit\n");
//   Result<int> exit_code = shell->Wait(ctx);
//
// Over WebSocket, on a connection of its own: v5.channel.k8s.io is asked for first, then v4.channel.k8s.io, both in one handshake, so that
// a server of before 1.29 chooses v4. In v4 the end of stdin cannot be told (CloseStdin fails). SPDY is not spoken.
//
// A server that does not answer the handshake within 60 s is given up (kTimeout). Then it is pinged every 5 s: a session where nothing
// comes for 61 s, or where a message of ours takes longer than 60 s, is over.
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

struct ExecOptions {
  std::vector<std::string> command{};       // as an argv: nothing is given to a shell
  std::string container{};                  // empty: the only one of the pod
  std::optional<std::string> stdin_data{};  // what the command reads; nothing: it has no stdin
  // Of stdout and of stderr each. What is more is read, so that the command goes on, but dropped.
  std::size_t max_output_bytes = std::size_t{16} << 20;
};

struct ExecResult {
  int exit_code = 0;
  std::string stdout_data{};
  std::string stderr_data{};
  bool truncated = false;  // there was more
};

// Takes output. Called on the session's thread, in order; a slow one holds back the command. An error (or an exception) makes the rest of
// that stream be dropped: the command goes on, see RemoteCommand::output_error.
using OutputHandler = std::function<Result<void>(std::string_view bytes)>;

struct CommandOptions {
  std::vector<std::string> command{};  // of exec only
  std::string container{};
  bool open_stdin = false;
  bool tty = false;           // stdout and stderr are one: everything comes to on_stdout
  OutputHandler on_stdout{};  // empty: not asked for
  OutputHandler on_stderr{};  // empty: not asked for; with `tty` never called
};

struct TerminalSize {
  std::uint16_t width = 0;
  std::uint16_t height = 0;
};

// A command that runs in a container.
//
// Thread safety: all functions from any thread; not from an OutputHandler, but for WriteStdin, CloseStdin, Resize and Close.
// Lifetime: the session ends when the context that it was started with stops, when it is closed, and when this object is destroyed; that
//   waits for an OutputHandler that is running. The command itself may go on: servers do not kill what they run. Independent of the Client.
// Blocking and cancellation: each function ends within 100 ms when its context stops. A write that is stopped in the middle of a message
//   ends the session.
// Errors: those of the context; kTransport (ConnectionLost, UnexpectedEof ...) where the connection broke; kApi with the server's words
//   where the command could not be run; kClosed once the session is over.
// Cost: a connection and two threads.
class KUBE_EXPORT RemoteCommand {
 public:
  RemoteCommand(RemoteCommand&&) noexcept;
  RemoteCommand& operator=(RemoteCommand&&) noexcept;
  ~RemoteCommand();

  // "v5.channel.k8s.io"
  const std::string& protocol() const;

  // Waits until the system has all of it. Errors: kInvalid without open_stdin; kClosed after CloseStdin.
  Result<void> WriteStdin(const Context& ctx, std::string_view bytes);
  // The command reads the end of its input. Errors: kInvalid where the server speaks v4 only.
  Result<void> CloseStdin(const Context& ctx);
  // The size of the terminal. Errors: kInvalid without `tty`.
  Result<void> Resize(const Context& ctx, TerminalSize size);

  // Waits for the end of the command and of all its output; gives its exit code, each time again. The handlers are not called any more
  // once this has given a code.
  Result<int> Wait(const Context& ctx);
  // The first error of an OutputHandler.
  std::optional<Error> output_error() const;
  // Ends the session; Wait gives kClosed.
  void Close();

  class Impl;
  explicit RemoteCommand(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// `ctx` is the context of the whole session, not of its start alone. Returns when the server has taken the session.
// Errors: kInvalid for options that make no sense, and nothing was sent then; kApi where the server refused, with what it said; otherwise
// as ResourceClient.
KUBE_EXPORT Result<RemoteCommand> StartExec(const Context& ctx, const Client& client, const ObjectKey& pod, CommandOptions options);
// To the main process of the container.
KUBE_EXPORT Result<RemoteCommand> StartAttach(const Context& ctx, const Client& client, const ObjectKey& pod, CommandOptions options);

// Runs a command to its end, or until the context stops. An exit code other than 0 is no error.
// Errors: as StartExec and Wait; kInvalid for stdin_data where the server speaks v4 only: the command would wait for more forever.
KUBE_EXPORT Result<ExecResult> Exec(const Context& ctx, const Client& client, const ObjectKey& pod, const ExecOptions& options);

}  // namespace kube
