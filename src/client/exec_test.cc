// Exec and attach against a server that the test plays, frame by frame.
#include "kube/client/exec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"
#include "kube/config/client_config.h"
#include "kube/transport/transport_errors.h"
#include "kube/transport/write_permit.h"
#include "transport/pipe_test_util.h"

namespace kube::internal {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSuccess = R"({"metadata":{},"status":"Success"})";
constexpr std::string_view kExit3 =
    R"({"metadata":{},"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}})";

Context Patient() { return Context::Background().WithTimeout(kPipePatience); }

Client ClientWith(const std::shared_ptr<Transport>& transport) { return Client::FromConfig({.qps = -1}, {.transport = transport}).value(); }

// What output handlers got.
class Collected {
 public:
  OutputHandler Handler() {
    return [this](std::string_view bytes) {
      MutexLock lock(mu_);
      text_.append(bytes);
      changed_.NotifyAll();
      return Result<void>();
    };
  }
  std::string text() const {
    MutexLock lock(mu_);
    return text_;
  }
  bool WaitFor(std::size_t size, std::chrono::milliseconds limit) {
    MutexLock lock(mu_);
    const auto enough = [&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return text_.size() >= size; };
    return WaitUntil(Context::Background().WithTimeout(limit), mu_, changed_, enough).ok();
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  std::string text_ KUBE_GUARDED_BY(mu_);
};

class ExecTest : public ::testing::Test {
 protected:
  // The client's side; the server's is in server_ then.
  Result<RemoteCommand> Start(CommandOptions options, const Context& ctx = Patient(), UpgradeTransport::Options how = {}) {
    transport_ = std::make_shared<UpgradeTransport>(std::move(how));
    const Client client = ClientWith(transport_);
    if (options.command.empty()) options.command = {"sh"};
    Result<RemoteCommand> session = StartExec(ctx, client, pod_, std::move(options));
    if (session) server_ = std::make_unique<RawWebSocket>(transport_->Accept());
    return session;
  }
  void End(std::string_view status = kSuccess) {
    server_->SendChannel(3, status);
    server_->SendClose();
  }

  const ObjectKey pod_{"default", "web"};
  std::shared_ptr<UpgradeTransport> transport_;
  std::unique_ptr<RawWebSocket> server_;
  Collected out_;
  Collected err_;
};
using Contract17Exec = ExecTest;
using Contract17WebSocketClient = ExecTest;
using Contract17Fallback = ExecTest;

TEST_F(Contract17Exec, AsksAsKubectlDoes) {
  Result<RemoteCommand> session = Start({.command = {"sh", "-c", "echo $A & b"},
                                         .container = "app",
                                         .open_stdin = true,
                                         .on_stdout = out_.Handler(),
                                         .on_stderr = err_.Handler()});
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  const HttpRequest request = transport_->requests().at(0);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target,
            "/api/v1/namespaces/default/pods/web/exec?command=sh&command=-c&command=echo+%24A+%26+b&container=app&stderr=true&stdin=true"
            "&stdout=true");
  EXPECT_EQ(request.headers.Get("Sec-WebSocket-Protocol"), "v5.channel.k8s.io, v4.channel.k8s.io");
  EXPECT_EQ(session->protocol(), "v5.channel.k8s.io");
}

TEST_F(Contract17Exec, ATerminalHasNoStderr) {
  Result<RemoteCommand> session = Start({.tty = true, .on_stdout = out_.Handler(), .on_stderr = err_.Handler()});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(transport_->requests().at(0).target, "/api/v1/namespaces/default/pods/web/exec?command=sh&stdout=true&tty=true");
  server_->SendChannel(2, "not for us");
  server_->SendChannel(1, "screen");
  End();
  EXPECT_EQ(session->Wait(Patient()).value(), 0);
  EXPECT_EQ(out_.text(), "screen");
  EXPECT_EQ(err_.text(), "");
}

TEST_F(Contract17Exec, AttachIsTheSameWithoutACommand) {
  transport_ = std::make_shared<UpgradeTransport>();
  const Client client = ClientWith(transport_);
  Result<RemoteCommand> session = StartAttach(Patient(), client, pod_, {.container = "app", .on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(transport_->requests().at(0).target, "/api/v1/namespaces/default/pods/web/attach?container=app&stdout=true");
  EXPECT_EQ(StartAttach(Patient(), client, pod_, {.command = {"ls"}, .on_stdout = out_.Handler()}).error().kind(), ErrorKind::kInvalid);
}

class Switch : public WritePermit {
 public:
  Result<void> Check() override { return allowed ? Result<void>() : Error::Timeout("not the leader any more"); }
  std::atomic<bool> allowed = true;
};

// A replica that may no longer lead must change nothing in a pod either.
TEST_F(Contract17Exec, ExecAndAttachNeedTheWritePermitOfTheirContext) {
  const auto permit = std::make_shared<Switch>();
  const Context ctx = AddWritePermit(Patient(), permit);
  Result<RemoteCommand> session = Start({.open_stdin = true, .on_stdout = out_.Handler()}, ctx);
  ASSERT_TRUE(session) << session.error().ToString();
  ASSERT_TRUE(session->WriteStdin(Patient(), "one"));
  permit->allowed = false;
  const Result<void> written = session->WriteStdin(Patient(), "two");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().ToString(), HasSubstr("not the leader any more"));

  const Client client = ClientWith(transport_);
  for (const bool attach : {false, true}) {
    CommandOptions options{.on_stdout = [](std::string_view) { return Result<void>(); }};
    if (!attach) options.command = {"sh"};
    const Result<RemoteCommand> refused = attach ? StartAttach(ctx, client, pod_, options) : StartExec(ctx, client, pod_, options);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().ToString(), HasSubstr("not the leader any more"));
  }
}

TEST_F(Contract17Exec, WhatMakesNoSenseIsNotSent) {
  transport_ = std::make_shared<UpgradeTransport>();
  const Client client = ClientWith(transport_);
  EXPECT_EQ(StartExec(Patient(), client, pod_, {.on_stdout = out_.Handler()}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(StartExec(Patient(), client, pod_, {.command = {"ls"}}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(StartExec(Patient(), client, pod_, {.command = {"ls"}, .tty = true, .on_stderr = out_.Handler()}).error().kind(),
            ErrorKind::kInvalid);
  EXPECT_EQ(Exec(Patient(), client, {"default", ""}, {.command = {"ls"}}).error().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(transport_->requests().empty());
}

TEST_F(Contract17WebSocketClient, StdinComesBackOnStdoutAndStderr) {
  Result<RemoteCommand> session = Start({.open_stdin = true, .on_stdout = out_.Handler(), .on_stderr = err_.Handler()});
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(session->WriteStdin(Patient(), "some text").ok());
  const std::string message = server_->NextMessage();
  EXPECT_EQ(message, std::string("\0some text", 10));
  server_->SendChannel(1, message.substr(1));
  server_->SendChannel(2, message.substr(1));
  End();
  EXPECT_EQ(session->Wait(Patient()).value(), 0);
  EXPECT_EQ(out_.text(), "some text");
  EXPECT_EQ(err_.text(), "some text");
}

TEST_F(Contract17WebSocketClient, ClosingStdinIsAHalfClose) {
  Result<RemoteCommand> session = Start({.open_stdin = true, .on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(session->CloseStdin(Patient()).ok());
  EXPECT_EQ(server_->NextMessage(), std::string("\xff\0", 2));
  EXPECT_TRUE(session->CloseStdin(Patient()).ok());  // once is enough
  EXPECT_EQ(session->WriteStdin(Patient(), "late").error().kind(), ErrorKind::kClosed);
  server_->SendChannel(1, "still here");
  End();
  EXPECT_EQ(session->Wait(Patient()).value(), 0);
  EXPECT_EQ(out_.text(), "still here");
}

TEST_F(Contract17WebSocketClient, MessagesAreAtMost32KiBWhateverTheBuffer) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1} << 10, std::size_t{32} << 10, (std::size_t{32} << 10) + 1, std::size_t{128} << 10}) {
    Collected out;
    Result<RemoteCommand> session = Start({.open_stdin = true, .on_stdout = out.Handler()});
    ASSERT_TRUE(session.ok());
    ASSERT_TRUE(session->WriteStdin(Patient(), std::string(size, 'x')).ok());
    std::size_t got = 0;
    while (got < size) {
      const std::string message = server_->NextMessage();
      ASSERT_EQ(message[0], '\0');
      ASSERT_LE(message.size(), (std::size_t{32} << 10) + 1);
      got += message.size() - 1;
    }
    EXPECT_EQ(got, size);
    server_->SendChannel(1, std::string(size, 'y'));  // as one message, as some servers do
    End();
    EXPECT_EQ(session->Wait(Patient()).value(), 0);
    EXPECT_EQ(out.text(), std::string(size, 'y'));
  }
}

TEST_F(Contract17WebSocketClient, StdinAndSizesShareTheConnection) {
  Result<RemoteCommand> session = Start({.open_stdin = true, .tty = true, .on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  Thread sizes("sizes", [&] {
    for (std::uint16_t i = 0; i < 100; ++i) EXPECT_TRUE(session->Resize(Patient(), {.width = i, .height = 24}).ok());
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(session->WriteStdin(Patient(), "k").ok());
  sizes.Join();
  std::string typed;
  std::vector<std::string> resized;
  while (typed.size() + resized.size() < 200) {
    const std::string message = server_->NextMessage();
    ASSERT_FALSE(message.empty());
    if (message[0] == 0) {
      typed += message.substr(1);
    } else {
      ASSERT_EQ(message[0], 4);
      resized.push_back(message.substr(1));
    }
  }
  EXPECT_EQ(typed, std::string(100, 'k'));
  EXPECT_EQ(resized.at(0), "{\"Width\":0,\"Height\":24}\n");
  EXPECT_EQ(resized.at(99), "{\"Width\":99,\"Height\":24}\n");
}

TEST_F(Contract17WebSocketClient, TheErrorChannelHasTheExitCode) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  server_->SendChannel(3, kExit3.substr(0, 20));
  server_->SendChannel(1, "after the first half of the status");  // order between channels is not promised
  server_->SendChannel(3, kExit3.substr(20));
  server_->SendChannel(1, "!");
  server_->SendClose();
  EXPECT_EQ(session->Wait(Patient()).value(), 3);
  EXPECT_EQ(session->Wait(Patient()).value(), 3);
  EXPECT_EQ(out_.text(), "after the first half of the status!");
  EXPECT_EQ(session->WriteStdin(Patient(), "x").error().kind(), ErrorKind::kInvalid);  // has none
}

TEST_F(Contract17WebSocketClient, AFailureToRunIsTheServersError) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  End(R"({"status":"Failure","reason":"InternalError","message":"no such file or directory","code":500})");
  const Result<int> code = session->Wait(Patient());
  ASSERT_FALSE(code.ok());
  EXPECT_TRUE(IsInternalError(code.error()));
  EXPECT_EQ(code.error().ToString(), "exec default/web: no such file or directory");
}

TEST_F(Contract17WebSocketClient, AnEndWithoutAStatusIsAnError) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  server_->SendClose();
  EXPECT_TRUE(IsTransportError(session->Wait(Patient()).error(), transport_reason::kUnexpectedEof));
}

TEST_F(Contract17WebSocketClient, ALostConnectionIsAnErrorAlsoAfterTheStatus) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  server_->SendChannel(3, kSuccess);
  server_->end().Close();  // output may be missing
  EXPECT_TRUE(IsTransportError(session->Wait(Patient()).error(), transport_reason::kUnexpectedEof));
}

TEST_F(Contract17WebSocketClient, AnAbnormalCloseIsAnErrorWithItsReason) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  server_->SendChannel(3, kSuccess);
  server_->SendClose(1011, "the kubelet is gone");
  EXPECT_THAT(session->Wait(Patient()).error().ToString(), HasSubstr("1011: the kubelet is gone"));
}

TEST_F(Contract17WebSocketClient, VersionFourIsTakenWhereTheServerHasNoFive) {
  Result<RemoteCommand> session = Start({.open_stdin = true, .on_stdout = out_.Handler()}, Patient(), {.protocol = "v4.channel.k8s.io"});
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->protocol(), "v4.channel.k8s.io");
  ASSERT_TRUE(session->WriteStdin(Patient(), "x").ok());
  EXPECT_EQ(server_->NextMessage(), std::string("\0x", 2));
  EXPECT_EQ(session->CloseStdin(Patient()).error().kind(), ErrorKind::kInvalid);  // v4 cannot say it
  End(kExit3);
  EXPECT_EQ(session->Wait(Patient()).value(), 3);
}

TEST_F(Contract17WebSocketClient, OtherVersionsAreRefused) {
  const Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()}, Patient(), {.protocol = "channel.k8s.io"});
  ASSERT_FALSE(session.ok());
  EXPECT_TRUE(IsTransportError(session.error(), transport_reason::kProtocol));
}

TEST_F(Contract17WebSocketClient, ABadHandshakeCarriesTheServersStatus) {
  const Result<RemoteCommand> session =
      Start({.on_stdout = out_.Handler()}, Patient(),
            {.refusal = 403,
             .refusal_body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,)"
                             R"("message":"pods \"web\" is forbidden: User \"x\" cannot create resource \"pods/exec\""})"});
  ASSERT_FALSE(session.ok());
  EXPECT_TRUE(IsForbidden(session.error()));
  EXPECT_EQ(session.error().ToString(), R"(exec default/web: pods "web" is forbidden: User "x" cannot create resource "pods/exec")");
}

TEST_F(Contract17WebSocketClient, ABadHandshakeOfAProxyIsAClearErrorToo) {
  const Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()}, Patient(),
                                              {.refusal = 502, .refusal_body = "<html>Bad Gateway</html>", .refusal_type = "text/html"});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().kind(), ErrorKind::kApi);
  EXPECT_EQ(session.error().http_code(), 502);
  EXPECT_THAT(session.error().ToString(), HasSubstr("did not upgrade"));
}

TEST_F(Contract17WebSocketClient, TextAndEmptyMessagesAreFatal) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  server_->Send(WebSocketOpcode::kText, "\1hello");
  EXPECT_TRUE(IsTransportError(session->Wait(Patient()).error(), transport_reason::kProtocol));
  session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  server_->Send(WebSocketOpcode::kBinary, "");
  EXPECT_TRUE(IsTransportError(session->Wait(Patient()).error(), transport_reason::kProtocol));
  EXPECT_EQ(out_.text(), "");
}

TEST_F(Contract17WebSocketClient, UnknownChannelsAreDropped) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  server_->SendChannel(9, "what");
  server_->SendChannel(2, "nobody asked for stderr");
  server_->SendChannel(255, "\1");
  server_->SendChannel(1, "ok");
  End();
  EXPECT_EQ(session->Wait(Patient()).value(), 0);
  EXPECT_EQ(out_.text(), "ok");
}

TEST_F(Contract17WebSocketClient, TheServerIsPingedEveryFiveSeconds) {
  const auto clock = std::make_shared<FakeClock>();
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()}, Context::Background(clock));
  ASSERT_TRUE(session.ok());
  Thread server("server", [&] {
    while (true) {
      const WebSocketParser::Item item = server_->Next();
      if (item.opcode == WebSocketOpcode::kClose) return;
      if (item.opcode != WebSocketOpcode::kPing) continue;
      server_->Send(WebSocketOpcode::kPong, item.payload);
      server_->SendChannel(1, "x");  // shows that the pong was read
    }
  });
  ASSERT_TRUE(clock->WaitForWaiters(2));  // the first ping, and the read that waits
  clock->Advance(std::chrono::milliseconds(4999));
  EXPECT_FALSE(out_.WaitFor(1, std::chrono::milliseconds(20)));
  clock->Advance(std::chrono::milliseconds(1));
  ASSERT_TRUE(out_.WaitFor(1, kPipePatience));
  for (std::size_t i = 2; i <= 30; ++i) {
    clock->Advance(std::chrono::seconds(5));
    // The thread that pings may have begun to sleep only after that.
    while (!out_.WaitFor(i, std::chrono::milliseconds(300))) clock->Advance(std::chrono::seconds(1));
  }
  // Two and a half minutes later it is alive.
  EXPECT_FALSE(session->Wait(Context::Background().WithTimeout(std::chrono::milliseconds(1))).ok());
  End();
  EXPECT_EQ(session->Wait(Patient()).value(), 0);
  server.Join();
}

TEST_F(Contract17WebSocketClient, SilenceFor61SecondsEndsTheSession) {
  const auto clock = std::make_shared<FakeClock>();
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()}, Context::Background(clock));
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(clock->WaitForWaiters(2));
  clock->Advance(std::chrono::seconds(61));
  const Result<int> code = session->Wait(Patient());
  ASSERT_FALSE(code.ok());
  EXPECT_TRUE(IsTransportError(code.error(), transport_reason::kConnectionLost)) << code.error().ToString();
}

TEST_F(Contract17WebSocketClient, AWriteThatHangsFor60SecondsEndsTheSession) {
  const auto clock = std::make_shared<FakeClock>();
  Result<RemoteCommand> session = Start({.open_stdin = true}, Context::Background(clock), {.limit = 100});
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(clock->WaitForWaiters(2));
  Result<void> written;
  Thread writer("writer", [&] { written = session->WriteStdin(Context::Background(clock), std::string(10000, 'x')); });
  ASSERT_TRUE(clock->WaitForWaiters(3));
  // Its first bytes show that it has its turn at the connection; a stream that never had it breaks nothing when its time is up.
  char first[10];
  ASSERT_TRUE(server_->end().Read(Patient(), first, sizeof first).ok());
  clock->Advance(std::chrono::milliseconds(60'500));
  writer.Join();
  EXPECT_FALSE(written.ok());
  EXPECT_TRUE(IsTransportError(session->Wait(Patient()).error(), transport_reason::kConnectionLost));
}

TEST_F(Contract17Exec, CancellingReturnsTheContextsErrorAtOnce) {
  auto [ctx, cancel] = Context::Background().WithCancel();
  Result<RemoteCommand> session = Start({.open_stdin = true, .on_stdout = out_.Handler()}, ctx);
  ASSERT_TRUE(session.ok());
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(session->Wait(Patient()).error()));
  EXPECT_TRUE(IsCancelled(session->WriteStdin(Patient(), "x").error()));
  EXPECT_EQ(server_->NextMessage(), "[closed]");
}

TEST_F(Contract17Exec, CancellingEndsAWaitAlsoWhileAHandlerHangs) {
  auto [ctx, cancel] = Context::Background().WithCancel();
  Mutex mu;
  CondVar changed;
  bool release = false;
  Result<RemoteCommand> session = Start({.on_stdout =
                                             [&](std::string_view) {
                                               MutexLock lock(mu);
                                               while (!release) changed.Wait(mu);
                                               return Result<void>();
                                             }},
                                        ctx);
  ASSERT_TRUE(session.ok());
  server_->SendChannel(1, "x");
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(session->Wait(Patient()).error()));
  {
    MutexLock lock(mu);
    release = true;
    changed.NotifyAll();
  }
}

TEST_F(Contract17Exec, AWaitThatIsCancelledLeavesTheSessionAlone) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(session->Wait(ctx).error()));
  server_->SendChannel(1, "x");
  End();
  EXPECT_EQ(session->Wait(Patient()).value(), 0);
  EXPECT_EQ(out_.text(), "x");
}

TEST_F(Contract17Exec, CloseEndsTheSession) {
  Result<RemoteCommand> session = Start({.on_stdout = out_.Handler()});
  ASSERT_TRUE(session.ok());
  session->Close();
  EXPECT_EQ(session->Wait(Patient()).error().kind(), ErrorKind::kClosed);
  EXPECT_EQ(server_->NextMessage(), "[closed]");
}

TEST_F(Contract17Exec, OutputIsDrainedWhereItsHandlerFails) {
  Result<RemoteCommand> session =
      Start({.on_stdout = [](std::string_view) -> Result<void> { return Error(ErrorKind::kUserCode, "disk full"); },
             .on_stderr = [](std::string_view) -> Result<void> { throw std::runtime_error("boom"); }},
            Patient(), {.limit = 1000});
  ASSERT_TRUE(session.ok());
  for (int i = 0; i < 100; ++i) {
    server_->SendChannel(1, std::string(1000, 'x'));
    server_->SendChannel(2, std::string(1000, 'y'));
  }
  End(kExit3);
  EXPECT_EQ(session->Wait(Patient()).value(), 3);
  ASSERT_TRUE(session->output_error().has_value());
  EXPECT_EQ(session->output_error()->message(), "disk full");
}

TEST_F(Contract17Exec, OneCallRunsACommandToItsEnd) {
  transport_ = std::make_shared<UpgradeTransport>();
  const Client client = ClientWith(transport_);
  Thread server("server", [&] {
    RawWebSocket socket(transport_->Accept());
    EXPECT_EQ(socket.NextMessage(), std::string("\0input", 6));
    EXPECT_EQ(socket.NextMessage(), std::string("\xff\0", 2));
    socket.SendChannel(1, "0123456789");
    socket.SendChannel(2, "oops");
    socket.SendChannel(1, "0123456789");
    socket.SendChannel(3, kExit3);
    socket.SendClose();
    while (socket.NextMessage() != "[closed]") {
    }
  });
  const Result<ExecResult> done = Exec(Patient(), client, pod_, {.command = {"cat"}, .stdin_data = "input", .max_output_bytes = 15});
  server.Join();
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_EQ(done->exit_code, 3);
  EXPECT_EQ(done->stdout_data, "012345678901234");
  EXPECT_EQ(done->stderr_data, "oops");
  EXPECT_TRUE(done->truncated);
}

TEST_F(Contract17Exec, ACommandThatDoesNotReadItsInputIsFine) {
  transport_ = std::make_shared<UpgradeTransport>(UpgradeTransport::Options{.limit = 1000});
  const Client client = ClientWith(transport_);
  Thread server("server", [&] {
    RawWebSocket socket(transport_->Accept());
    socket.SendChannel(1, "done");
    socket.SendChannel(3, kSuccess);
    socket.SendClose();
    while (socket.NextMessage() != "[closed]") {
    }
  });
  const Result<ExecResult> done = Exec(Patient(), client, pod_, {.command = {"true"}, .stdin_data = std::string(1000000, 'x')});
  server.Join();
  ASSERT_TRUE(done.ok()) << done.error().ToString();
  EXPECT_EQ(done->stdout_data, "done");
  EXPECT_FALSE(done->truncated);
}

TEST_F(Contract17Fallback, InputForAServerThatCannotEndItIsAnError) {
  transport_ = std::make_shared<UpgradeTransport>(UpgradeTransport::Options{.protocol = "v4.channel.k8s.io"});
  const Client client = ClientWith(transport_);
  const Result<ExecResult> done = Exec(Patient(), client, pod_, {.command = {"cat"}, .stdin_data = "x"});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(done.error().ToString(), HasSubstr("v4.channel.k8s.io"));
}

}  // namespace
}  // namespace kube::internal
