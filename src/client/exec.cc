#include "kube/client/exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "client/client_core.h"
#include "client/exit_status.h"
#include "client/pod_request.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"
#include "kube/transport/transport_errors.h"

namespace kube {
namespace {

using internal::WebSocket;
using internal::WebSocketDial;

constexpr std::string_view kV5 = "v5.channel.k8s.io";
constexpr std::string_view kV4 = "v4.channel.k8s.io";
constexpr std::chrono::seconds kPingPeriod{5};
constexpr std::size_t kChunk = std::size_t{32} << 10;
constexpr std::size_t kMaxStatus = std::size_t{1} << 20;

enum Channel : char { kStdin = 0, kStdout = 1, kStderr = 2, kError = 3, kResize = 4 };
constexpr char kCloseChannel = static_cast<char>(255);

Error Broken(std::string_view reason, std::string message) {
  return Error({.kind = ErrorKind::kTransport, .reason = std::string(reason), .message = std::move(message)});
}

Result<internal::Query> ToQuery(const CommandOptions& options, bool attach) {
  if (attach && !options.command.empty()) return Error::Invalid("attach runs no command: use StartExec");
  if (!attach && options.command.empty()) return Error::Invalid("the command is missing");
  const bool stderr_stream = static_cast<bool>(options.on_stderr) && !options.tty;
  if (!options.open_stdin && !options.on_stdout && !stderr_stream) {
    return Error::Invalid("no stream is requested: set open_stdin, on_stdout or on_stderr");
  }
  internal::Query query;
  for (const std::string& argument : options.command) query.emplace("command", argument);
  if (!options.container.empty()) query.emplace("container", options.container);
  if (options.open_stdin) query.emplace("stdin", "true");
  if (options.on_stdout) query.emplace("stdout", "true");
  if (stderr_stream) query.emplace("stderr", "true");
  if (options.tty) query.emplace("tty", "true");
  return query;
}

}  // namespace

class RemoteCommand::Impl {
 public:
  Impl(WebSocketDial dial, const Context& ctx, CommandOptions options, std::string what)
      : socket_(std::move(dial.socket)),
        protocol_(std::move(dial.protocol)),
        what_(std::move(what)),
        options_(std::move(options)),
        session_(ctx.WithCancel()),
        stopped_(session_.first.OnDone([this] {
          // Nothing, if the session has ended by itself.
          Finish(session_.first.Err()->WithContext(what_));
          socket_->Close();
        })),
        reader_("kube-exec", [this] { Run(); }),
        pinger_("kube-exec-ping", [this] { Ping(); }) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    Close();
    reader_.Join();
    pinger_.Join();
  }

  const std::string& protocol() const { return protocol_; }

  Result<void> WriteStdin(const Context& ctx, std::string_view bytes) {
    if (!options_.open_stdin) return Error::Invalid("the session has no stdin: start it with open_stdin");
    do {
      {
        MutexLock lock(mu_);
        if (stdin_closed_) return Error(ErrorKind::kClosed, "stdin was closed");
      }
      const std::string_view part = bytes.substr(0, kChunk);
      bytes.remove_prefix(part.size());
      if (part.empty()) break;
      if (Result<void> sent = Send(ctx, kStdin, part); !sent) return sent;
    } while (!bytes.empty());
    return {};
  }

  Result<void> CloseStdin(const Context& ctx) {
    if (!options_.open_stdin) return Error::Invalid("the session has no stdin: start it with open_stdin");
    if (protocol_ != kV5) {
      return Error::Invalid("the server speaks only " + protocol_ + ", which cannot signal the end of stdin");
    }
    {
      MutexLock lock(mu_);
      if (stdin_closed_) return {};
      stdin_closed_ = true;
    }
    return Send(ctx, kCloseChannel, std::string_view("\0", 1));
  }

  Result<void> Resize(const Context& ctx, TerminalSize size) {
    if (!options_.tty) return Error::Invalid("the session has no terminal: start it with tty");
    return Send(ctx, kResize, fmt::format("{{\"Width\":{},\"Height\":{}}}\n", size.width, size.height));
  }

  Result<int> Wait(const Context& ctx) {
    MutexLock lock(mu_);
    const auto ready = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return outcome_.has_value(); };
    if (Result<void> waited = WaitUntil(ctx, mu_, changed_, ready); !waited) return waited.error();
    return *outcome_;
  }

  std::optional<Error> output_error() const {
    MutexLock lock(mu_);
    return output_error_;
  }

  void Close() { session_.second.Cancel(Error(ErrorKind::kClosed, "the session was closed")); }

 private:
  // The first one counts.
  void Finish(Result<int> outcome) {
    MutexLock lock(mu_);
    if (!outcome_) outcome_ = std::move(outcome);
    changed_.NotifyAll();
  }

  Result<void> Send(const Context& ctx, char channel, std::string_view payload) {
    {
      MutexLock lock(mu_);
      if (outcome_) return outcome_->ok() ? Error(ErrorKind::kClosed, "the command has ended") : outcome_->error();
    }
    Result<void> sent = socket_->WriteMessage(ctx, {&channel, 1}, payload);
    if (sent) return sent;
    // A connection that broke is for the reader to judge: the exit code may have come before.
    const ErrorKind kind = sent.error().kind();
    if (socket_->broken() && (kind == ErrorKind::kTimeout || kind == ErrorKind::kCancelled)) {
      session_.second.Cancel(
          Broken(transport_reason::kConnectionLost, "a message could not be sent as a whole: " + sent.error().message()));
    }
    return sent.error().WithContext(what_);
  }

  void Run() {
    Result<int> outcome = Read();
    Finish(outcome.ok() ? std::move(outcome) : outcome.error().WithContext(what_));
    session_.second.Cancel();
    socket_->Close();
  }

  // Until the end of the session.
  Result<int> Read() {
    std::string status;
    while (true) {
      Result<std::optional<WebSocket::Message>> message = socket_->ReadMessage(session_.first);
      if (!message) {
        if (std::optional<Error> why = session_.first.Err()) return *std::move(why);
        return message.error();
      }
      if (!*message) break;
      const std::string_view bytes = (*message)->payload;
      if ((*message)->text) {
        (void)socket_->WriteClose(session_.first.WithTimeout(std::chrono::seconds(1)), 1003);
        return Broken(transport_reason::kProtocol, "received a text message, expected binary ones");
      }
      if (bytes.empty()) return Broken(transport_reason::kProtocol, "received a message without a channel");
      switch (bytes[0]) {
        case kStdout:
          Deliver(options_.on_stdout, stdout_failed_, bytes.substr(1));
          break;
        case kStderr:
          if (!options_.tty) Deliver(options_.on_stderr, stderr_failed_, bytes.substr(1));
          break;
        case kError:
          status.append(bytes.substr(1));
          if (status.size() > kMaxStatus) return Broken(transport_reason::kProtocol, "the status of the command is too long");
          break;
        default:  // not ours: dropped
          break;
      }
    }
    if (socket_->close_code() != 1000 && socket_->close_code() != 1005) {
      return Broken(transport_reason::kConnectionReset,
                    fmt::format("the server closed the WebSocket with code {}: {}", socket_->close_code(), socket_->close_reason()));
    }
    if (status.empty()) return Broken(transport_reason::kUnexpectedEof, "the server closed without saying how the command ended");
    return internal::ParseExitStatus(status);
  }

  // Reads output even without a handler: the command must not hang.
  void Deliver(const OutputHandler& handler, bool& failed, std::string_view bytes) {
    if (!handler || failed || bytes.empty()) return;
    std::optional<Error> error;
    try {
      if (Result<void> taken = handler(bytes); !taken) error = taken.error();
    } catch (const std::exception& e) {
      error = Error(ErrorKind::kUserCode, std::string("an output handler threw: ") + e.what());
    } catch (...) {
      error = Error(ErrorKind::kUserCode, "an output handler threw");
    }
    if (!error) return;
    failed = true;
    MutexLock lock(mu_);
    if (!output_error_) output_error_ = std::move(error);
  }

  void Ping() {
    while (session_.first.SleepFor(kPingPeriod)) {
      if (Result<void> sent = socket_->WritePing(session_.first, {}); !sent && sent.error().kind() == ErrorKind::kTimeout) {
        session_.second.Cancel(Broken(transport_reason::kConnectionLost, "the server takes no more bytes: " + sent.error().message()));
      }
    }
  }

  const std::unique_ptr<WebSocket> socket_;
  const std::string protocol_;
  const std::string what_;
  const CommandOptions options_;
  bool stdout_failed_ = false;  // of the reader
  bool stderr_failed_ = false;
  mutable Mutex mu_;
  CondVar changed_;
  std::optional<Result<int>> outcome_ KUBE_GUARDED_BY(mu_);
  std::optional<Error> output_error_ KUBE_GUARDED_BY(mu_);
  bool stdin_closed_ KUBE_GUARDED_BY(mu_) = false;
  const std::pair<Context, CancelSource> session_;
  const Context::Registration stopped_;
  Thread reader_;
  Thread pinger_;
};

RemoteCommand::RemoteCommand(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RemoteCommand::RemoteCommand(RemoteCommand&&) noexcept = default;
RemoteCommand& RemoteCommand::operator=(RemoteCommand&&) noexcept = default;
RemoteCommand::~RemoteCommand() = default;

const std::string& RemoteCommand::protocol() const { return impl_->protocol(); }
Result<void> RemoteCommand::WriteStdin(const Context& ctx, std::string_view bytes) { return impl_->WriteStdin(ctx, bytes); }
Result<void> RemoteCommand::CloseStdin(const Context& ctx) { return impl_->CloseStdin(ctx); }
Result<void> RemoteCommand::Resize(const Context& ctx, TerminalSize size) { return impl_->Resize(ctx, size); }
Result<int> RemoteCommand::Wait(const Context& ctx) { return impl_->Wait(ctx); }
std::optional<Error> RemoteCommand::output_error() const { return impl_->output_error(); }
void RemoteCommand::Close() { impl_->Close(); }

namespace {

Result<RemoteCommand> Start(const Context& ctx, const Client& client, const ObjectKey& pod, CommandOptions options, bool attach) {
  const std::string_view subresource = attach ? "attach" : "exec";
  std::string what = std::string(subresource) + " " + pod.ToString();
  const Result<internal::Query> query = ToQuery(options, attach);
  if (!query) return query.error().WithContext(std::move(what));
  Result<HttpRequest> request = internal::PodRequest(pod, subresource, *query);
  if (!request) return request.error();
  Result<WebSocketDial> dial = internal::DialPod(*client.transport(), ctx, *std::move(request), {kV5, kV4});
  if (!dial) return dial.error().WithContext(std::move(what));
  return RemoteCommand(std::make_unique<RemoteCommand::Impl>(*std::move(dial), ctx, std::move(options), std::move(what)));
}

}  // namespace

Result<RemoteCommand> StartExec(const Context& ctx, const Client& client, const ObjectKey& pod, CommandOptions options) {
  return Start(ctx, client, pod, std::move(options), false);
}

Result<RemoteCommand> StartAttach(const Context& ctx, const Client& client, const ObjectKey& pod, CommandOptions options) {
  return Start(ctx, client, pod, std::move(options), true);
}

Result<ExecResult> Exec(const Context& ctx, const Client& client, const ObjectKey& pod, const ExecOptions& options) {
  ExecResult result;
  // Written by the session's thread, read after Wait.
  const auto keep = [&result, limit = options.max_output_bytes](std::string& out, std::string_view bytes) {
    const std::size_t part = std::min(bytes.size(), limit - out.size());
    out.append(bytes.substr(0, part));
    if (part < bytes.size()) result.truncated = true;
    return Result<void>();
  };
  CommandOptions command{.command = options.command, .container = options.container, .open_stdin = options.stdin_data.has_value()};
  command.on_stdout = [&result, &keep](std::string_view bytes) { return keep(result.stdout_data, bytes); };
  command.on_stderr = [&result, &keep](std::string_view bytes) { return keep(result.stderr_data, bytes); };
  Result<RemoteCommand> session = StartExec(ctx, client, pod, std::move(command));
  if (!session) return session.error();
  if (options.stdin_data) {
    Result<void> written = session->WriteStdin(ctx, *options.stdin_data);
    if (written) written = session->CloseStdin(ctx);
    // A command that ends before it has read everything is fine; Wait reports all other failures.
    if (!written && written.error().kind() == ErrorKind::kInvalid) return written.error();
  }
  const Result<int> code = session->Wait(ctx);
  if (!code) return code.error();
  result.exit_code = *code;
  return result;
}

}  // namespace kube
