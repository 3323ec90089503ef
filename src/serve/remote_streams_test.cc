// exec, attach and port-forward with clients that speak as kubectl does.
#include "kube/serve/remote_streams.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kube/base/thread.h"
#include "serve/serve_test_util.h"
#include "transport/spdy/spdy_frames.h"
#include "transport/websocket/websocket_frames.h"

namespace kube::serve {
namespace {

using internal::EncodeSpdyData;
using internal::EncodeSpdyFrame;
using internal::SpdyDeflater;
using internal::SpdyFrame;
using internal::SpdyParser;
using internal::SpdyType;
using internal::WebSocketClosePayload;
using internal::WebSocketFrame;
using internal::WebSocketOpcode;
using internal::WebSocketParser;
using Exchange = std::shared_ptr<HttpExchange>;

Context Patient() { return Context::Background().WithTimeout(kPatience); }

std::string WebSocketRequest(const std::string& target, const std::string& protocols) {
  return fmt::format(
      "GET {} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
      target, protocols);
}

std::string SpdyRequest(const std::string& target, const std::string& protocol) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {}\r\n\r\n",
                     target, protocol);
}

class WebSocketClient {
 public:
  WebSocketClient(std::uint16_t port, const std::string& target, const std::string& protocols) : raw_(port), parser_(1 << 24, false) {
    raw_.Send(WebSocketRequest(target, protocols));
    head_ = raw_.ReadUntil("\r\n\r\n");
  }
  const std::string& head() const { return head_; }
  void Send(WebSocketOpcode opcode, std::string_view payload) { raw_.Send(WebSocketFrame(opcode, payload, 0xdeadbeef)); }
  void SendBinary(std::string_view payload) { Send(WebSocketOpcode::kBinary, payload); }
  // The next message or control frame; a close frame with code 1006 if the connection ended.
  WebSocketParser::Item Next() {
    while (true) {
      Result<std::optional<WebSocketParser::Item>> next = parser_.Next();
      if (!next.ok()) return {WebSocketOpcode::kClose, "bad frame"};
      if (*next) return **std::move(next);
      const std::string more = raw_.ReadExactly(1);
      if (more.empty()) return {WebSocketOpcode::kClose, WebSocketClosePayload(1006, "")};
      parser_.Feed(more);
    }
  }
  RawClient& raw() { return raw_; }

 private:
  RawClient raw_;
  std::string head_;
  WebSocketParser parser_;
};

// Speaks SPDY, over a plain connection or inside of a WebSocket.
class SpdyClient {
 public:
  explicit SpdyClient(RawClient& raw) : raw_(&raw) {}
  explicit SpdyClient(WebSocketClient& socket) : socket_(&socket) {}

  void SendFrame(const SpdyFrame& frame) { SendBytes(EncodeSpdyFrame(frame, deflater_)); }
  void Open(std::uint32_t id, kube::HttpHeaders headers, bool fin = false) {
    SendFrame({.type = SpdyType::kSynStream, .stream = id, .fin = fin, .headers = std::move(headers)});
    const SpdyFrame reply = Next();
    EXPECT_EQ(reply.type, SpdyType::kSynReply);
    EXPECT_EQ(reply.stream, id);
  }
  void Data(std::uint32_t id, std::string_view data, bool fin = false) { SendBytes(EncodeSpdyData(id, data, fin)); }
  // A goodbye if the connection ended.
  SpdyFrame Next() {
    while (true) {
      Result<std::optional<SpdyFrame>> next = parser_.Next();
      EXPECT_TRUE(next.ok());
      if (!next.ok()) return {.type = SpdyType::kGoAway};
      if (*next) return **std::move(next);
      std::string more;
      if (raw_ != nullptr) {
        more = raw_->ReadExactly(1);
      } else {
        const WebSocketParser::Item item = socket_->Next();
        if (item.opcode == WebSocketOpcode::kBinary) more = item.payload;
      }
      if (more.empty()) return {.type = SpdyType::kGoAway};
      parser_.Feed(more);
    }
  }

 private:
  void SendBytes(const std::string& bytes) {
    if (raw_ != nullptr) {
      raw_->Send(bytes);
    } else {
      // A frame may lie across messages.
      socket_->SendBinary(std::string_view(bytes).substr(0, bytes.size() / 2));
      socket_->SendBinary(std::string_view(bytes).substr(bytes.size() / 2));
    }
  }
  RawClient* raw_ = nullptr;
  WebSocketClient* socket_ = nullptr;
  SpdyDeflater deflater_;
  SpdyParser parser_;
};

// A server whose requests are handled by a thread of the test.
class RemoteStreamsTest : public ::testing::Test {
 protected:
  ~RemoteStreamsTest() override { worker_.Join(); }
  void Serve(std::function<void(const Exchange&)> handler) {
    server_ = StartServer({}, [this](const Exchange& exchange) { exchanges_.Put(exchange); });
    worker_ = Thread("worker", [this, handler = std::move(handler)] {
      const Exchange exchange = exchanges_.Take();
      if (exchange != nullptr) handler(exchange);
    });
  }
  // The program that runs in the container: echoes what it reads, and ends as requested.
  void ServeCommand(bool client_stays = true) {
    Serve([client_stays](const Exchange& exchange) {
      Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(Patient(), exchange);
      ASSERT_TRUE(session.ok()) << session.error().ToString();
      RemoteSession& remote = **session;
      EXPECT_TRUE(remote.WriteStdout(Patient(), "out ").ok());
      EXPECT_TRUE(remote.WriteStderr(Patient(), "err ").ok());
      std::string input;
      std::string buffer(1000, '\0');
      while (true) {
        const Result<std::size_t> got = remote.ReadStdin(Patient(), buffer.data(), buffer.size());
        ASSERT_TRUE(got.ok()) << got.error().ToString();
        if (*got == 0) break;
        input.append(buffer, 0, *got);
      }
      const Result<void> written = remote.WriteStdout(Patient(), "got " + input);
      const Result<void> exited = remote.Exit(Patient(), input == "fail" ? 3 : 0);
      if (client_stays) {
        EXPECT_TRUE(written.ok() && exited.ok());
      }
    });
  }

  Handover<Exchange> exchanges_;
  std::unique_ptr<HttpServer> server_;
  Thread worker_;
};

constexpr const char* kExec = "/exec?command=cat&stdin=true&stdout=true&stderr=true";

TEST_F(RemoteStreamsTest, WebSocketCommandRunsAndSucceeds) {
  ServeCommand();
  WebSocketClient client(server_->port(), kExec, "v5.channel.k8s.io, v4.channel.k8s.io");
  EXPECT_TRUE(client.head().starts_with("HTTP/1.1 101"));
  EXPECT_NE(client.head().find("sec-websocket-protocol: v5.channel.k8s.io\r\n"), std::string::npos) << client.head();
  EXPECT_NE(client.head().find("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), std::string::npos);
  EXPECT_EQ(client.Next().payload, "\x01out ");
  EXPECT_EQ(client.Next().payload,
            "\x02"
            "err ");
  client.Send(WebSocketOpcode::kPing, "p1");
  const WebSocketParser::Item pong = client.Next();
  EXPECT_EQ(pong.opcode, WebSocketOpcode::kPong);
  EXPECT_EQ(pong.payload, "p1");
  client.SendBinary(std::string("\0one ", 5));
  client.SendBinary(std::string("\0two", 4));
  client.SendBinary(std::string("\xff\0", 2));  // stdin is over
  EXPECT_EQ(client.Next().payload, "\x01got one two");
  EXPECT_EQ(client.Next().payload, "\x03{\"metadata\":{},\"status\":\"Success\"}");
  const WebSocketParser::Item close = client.Next();
  EXPECT_EQ(close.opcode, WebSocketOpcode::kClose);
  EXPECT_EQ(close.payload, WebSocketClosePayload(1000, ""));
}

TEST_F(RemoteStreamsTest, WebSocketCommandTellsItsExitCode) {
  ServeCommand();
  WebSocketClient client(server_->port(), kExec, "v5.channel.k8s.io");
  client.SendBinary(std::string("\0fail", 5));
  client.SendBinary(std::string("\xff\0", 2));
  std::string status;
  while (true) {
    const WebSocketParser::Item item = client.Next();
    if (item.opcode == WebSocketOpcode::kClose) break;
    if (item.payload[0] == 3) status = item.payload.substr(1);
  }
  EXPECT_NE(status.find(R"("reason":"NonZeroExitCode")"), std::string::npos) << status;
  EXPECT_NE(status.find(R"({"reason":"ExitCode","message":"3"})"), std::string::npos) << status;
}

TEST_F(RemoteStreamsTest, WebSocketV4HasNoEndOfStdinButTheClients) {
  ServeCommand(false);
  WebSocketClient client(server_->port(), kExec, "v4.channel.k8s.io");
  EXPECT_NE(client.head().find("sec-websocket-protocol: v4.channel.k8s.io\r\n"), std::string::npos);
  EXPECT_EQ(client.Next().payload, "\x01out ");
  EXPECT_EQ(client.Next().payload,
            "\x02"
            "err ");
  client.SendBinary(std::string("\0x", 2));
  client.SendBinary(std::string("\xff\0", 2));  // means nothing here
  client.Send(WebSocketOpcode::kClose, WebSocketClosePayload(1000, ""));
  while (client.Next().opcode != WebSocketOpcode::kClose) {
  }
}

TEST_F(RemoteStreamsTest, SpdyCommandRuns) {
  ServeCommand();
  RawClient raw(server_->port());
  raw.Send(SpdyRequest(kExec, "v5.channel.k8s.io\r\nX-Stream-Protocol-Version: v4.channel.k8s.io"));
  const std::string head = raw.ReadUntil("\r\n\r\n");
  EXPECT_NE(head.find("x-stream-protocol-version: v4.channel.k8s.io\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("upgrade: SPDY/3.1\r\n"), std::string::npos);
  SpdyClient client(raw);
  client.Open(1, {{"streamtype", "error"}});
  client.Open(3, {{"streamtype", "stdin"}});
  client.Open(5, {{"streamtype", "stdout"}});
  client.SendFrame({.type = SpdyType::kPing, .stream = 9});
  EXPECT_EQ(client.Next().type, SpdyType::kPing);
  client.Open(7, {{"streamtype", "stderr"}});
  client.Data(3, "fail", true);
  std::map<std::uint32_t, std::string> seen;
  std::map<std::uint32_t, bool> finished;
  while (true) {
    const SpdyFrame frame = client.Next();
    if (frame.type == SpdyType::kGoAway) break;
    ASSERT_EQ(frame.type, SpdyType::kData);
    seen[frame.stream] += frame.data;
    finished[frame.stream] = finished[frame.stream] || frame.fin;
  }
  EXPECT_EQ(seen[5], "out got fail");
  EXPECT_EQ(seen[7], "err ");
  EXPECT_NE(seen[1].find(R"("message":"3")"), std::string::npos);
  EXPECT_TRUE(finished[1] && finished[5] && finished[7]);
}

TEST_F(RemoteStreamsTest, TerminalsHaveSizes) {
  for (const bool spdy : {false, true}) {
    Handover<std::string> seen;
    Serve([&](const Exchange& exchange) {
      Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(Patient(), exchange);
      ASSERT_TRUE(session.ok()) << session.error().ToString();
      EXPECT_TRUE((*session)->options().tty);
      while (true) {
        const Result<std::optional<TerminalSize>> size = (*session)->NextSize(Patient());
        ASSERT_TRUE(size.ok());
        if (!*size) break;
        seen.Put(fmt::format("{}x{}", (*size)->width, (*size)->height));
      }
      seen.Put("end");
      (void)(*session)->Exit(Patient(), 0);
    });
    const std::string target = "/exec?stdout=1&stderr=true&tty=true";
    const std::string first = "{\"Width\":80,\"Height\":24}\n";
    const std::string second = "{\"Width\": 132, \"Height\": 43}";
    std::unique_ptr<WebSocketClient> socket;
    RawClient raw(server_->port());
    if (spdy) {
      raw.Send(SpdyRequest(target, "v4.channel.k8s.io"));
      raw.ReadUntil("\r\n\r\n");
      SpdyClient client(raw);
      client.Open(1, {{"streamtype", "error"}});
      client.Open(3, {{"streamtype", "stdout"}});
      client.Open(5, {{"streamtype", "resize"}});
      client.Data(5, first + second.substr(0, 5));
      client.Data(5, second.substr(5), true);
    } else {
      socket = std::make_unique<WebSocketClient>(server_->port(), target, "v5.channel.k8s.io");
      socket->SendBinary("\x04" + first);
      socket->SendBinary("\x04" + second);
      socket->SendBinary("\xff\x04");
    }
    EXPECT_EQ(seen.Take(), "80x24");
    EXPECT_EQ(seen.Take(), "132x43");
    EXPECT_EQ(seen.Take(), "end");
    worker_.Join();
  }
}

TEST_F(RemoteStreamsTest, MuchDataPassesBothWays) {
  static constexpr std::size_t kSize = std::size_t{8} << 20;
  Serve([](const Exchange& exchange) {
    Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(Patient(), exchange);
    ASSERT_TRUE(session.ok());
    std::string buffer(100000, '\0');
    std::size_t sum = 0;
    while (true) {
      const Result<std::size_t> got = (*session)->ReadStdin(Patient(), buffer.data(), buffer.size());
      ASSERT_TRUE(got.ok());
      if (*got == 0) break;
      sum += *got;
      ASSERT_TRUE((*session)->WriteStdout(Patient(), std::string_view(buffer).substr(0, *got)).ok());
    }
    EXPECT_EQ(sum, kSize);
    EXPECT_TRUE((*session)->Exit(Patient(), 0).ok());
  });
  WebSocketClient client(server_->port(), kExec, "v5.channel.k8s.io");
  Thread sender("sender", [&] {
    for (std::size_t sent = 0; sent < kSize; sent += 65536) client.SendBinary(std::string(1, '\0') + std::string(65536, 's'));
    client.SendBinary(std::string("\xff\0", 2));
  });
  // Bytes one at a time are too slow here: everything is read, then taken apart.
  const std::string all = client.raw().ReadAll();
  sender.Join();
  WebSocketParser parser(1 << 24, false);
  parser.Feed(all);
  std::size_t got = 0;
  while (true) {
    Result<std::optional<WebSocketParser::Item>> next = parser.Next();
    ASSERT_TRUE(next.ok());
    if (!*next) break;
    if ((*next)->payload[0] == 1) got += (*next)->payload.size() - 1;
  }
  EXPECT_EQ(got, kSize);
}

TEST_F(RemoteStreamsTest, FailuresCarryAText) {
  Serve([](const Exchange& exchange) {
    Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(Patient(), exchange);
    ASSERT_TRUE(session.ok());
    EXPECT_TRUE((*session)->Fail(Patient(), "no \"such\" container\n").ok());
    EXPECT_FALSE((*session)->WriteStdout(Patient(), "late").ok());
  });
  WebSocketClient client(server_->port(), kExec, "v5.channel.k8s.io");
  const std::string status = client.Next().payload;
  EXPECT_NE(status.find(R"("message":"no \"such\" container\u000a")"), std::string::npos) << status;
  EXPECT_NE(status.find(R"("reason":"InternalError")"), std::string::npos);
}

TEST_F(RemoteStreamsTest, ClientThatLeavesEndsTheReads) {
  Handover<std::string> seen;
  Serve([&](const Exchange& exchange) {
    Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(Patient(), exchange);
    ASSERT_TRUE(session.ok());
    char byte = 0;
    const Result<std::size_t> got = (*session)->ReadStdin(Patient(), &byte, 1);
    seen.Put(got.ok() && *got == 0 ? "end" : "else");
  });
  { WebSocketClient client(server_->port(), kExec, "v5.channel.k8s.io"); }
  EXPECT_EQ(seen.Take(), "end");
}

TEST_F(RemoteStreamsTest, ServerThatStopsEndsTheReads) {
  Handover<std::string> seen;
  Serve([&](const Exchange& exchange) {
    Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(Patient(), exchange);
    ASSERT_TRUE(session.ok());
    seen.Put("running");
    char byte = 0;
    (void)(*session)->ReadStdin(Context::Background(), &byte, 1);
    EXPECT_FALSE((*session)->WriteStdout(Patient(), "x").ok());
    seen.Put("over");
  });
  WebSocketClient client(server_->port(), kExec, "v5.channel.k8s.io");
  EXPECT_EQ(seen.Take(), "running");
  server_ = nullptr;
  EXPECT_EQ(seen.Take(), "over");
}

TEST_F(RemoteStreamsTest, BadFramesOfAWebSocketEndIt) {
  ServeCommand(false);
  WebSocketClient client(server_->port(), kExec, "v5.channel.k8s.io");
  client.Next();
  client.Next();
  client.raw().Send(WebSocketFrame(WebSocketOpcode::kBinary, "not masked"));
  WebSocketParser::Item item = client.Next();
  while (item.opcode != WebSocketOpcode::kClose) item = client.Next();
  EXPECT_EQ(item.payload, WebSocketClosePayload(1002, ""));
}

TEST_F(RemoteStreamsTest, RequestsThatCannotBeAreRefused) {
  struct Case {
    std::string request;
    std::string answer;
  };
  const std::vector<Case> cases = {
      {"POST /exec HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400"},
      {WebSocketRequest("/exec", "v1.channel.k8s.io"), "HTTP/1.1 403"},
      {SpdyRequest("/exec", "v1.channel.k8s.io"), "HTTP/1.1 403"},
      {SpdyRequest("/exec", ""), "HTTP/1.1 400"},
      {"GET /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n",
       "HTTP/1.1 400"},
  };
  for (const Case& one : cases) {
    Serve([](const Exchange& exchange) {
      const Result<std::unique_ptr<RemoteSession>> session = AcceptRemoteCommand(Patient(), exchange);
      ASSERT_FALSE(session.ok());
      EXPECT_EQ(session.error().kind(), ErrorKind::kInvalid);
    });
    RawClient client(server_->port());
    client.Send(one.request);
    const std::string head = client.ReadUntil("\r\n\r\n");
    EXPECT_TRUE(head.starts_with(one.answer)) << one.request << head;
    worker_.Join();
  }
}

void ForwardEcho(const Exchange& exchange) {
  Result<std::unique_ptr<PortForwardSession>> session = AcceptPortForward(Patient(), exchange);
  ASSERT_TRUE(session.ok()) << session.error().ToString();
  while (true) {
    Result<std::unique_ptr<ForwardedConnection>> connection = (*session)->Accept(Patient());
    ASSERT_TRUE(connection.ok()) << connection.error().ToString();
    if (*connection == nullptr) return;
    if ((*connection)->port() != 80) {
      EXPECT_TRUE((*connection)->Fail(Patient(), "connection refused").ok());
      continue;
    }
    std::string buffer(1000, '\0');
    while (true) {
      const Result<std::size_t> got = (*connection)->Read(Patient(), buffer.data(), buffer.size());
      ASSERT_TRUE(got.ok());
      if (*got == 0) break;
      EXPECT_TRUE((*connection)->Write(Patient(), "echo " + buffer.substr(0, *got)).ok());
    }
    EXPECT_TRUE((*connection)->Finish(Patient()).ok());
  }
}

void ForwardAsKubectlDoes(SpdyClient& client) {
  for (std::uint32_t round = 0; round < 3; ++round) {
    const std::uint32_t error = 1 + 4 * round;
    const std::uint32_t data = 3 + 4 * round;
    const std::string port = round == 1 ? "81" : "80";
    const std::string request = std::to_string(round);
    client.Open(error, {{"streamtype", "error"}, {"port", port}, {"requestid", request}});
    client.Data(error, "", true);
    client.Open(data, {{"streamtype", "data"}, {"port", port}, {"requestid", request}});
    if (round != 1) client.Data(data, "hello", true);
    std::map<std::uint32_t, std::string> seen;
    int finished = 0;
    while (finished < 2) {
      const SpdyFrame frame = client.Next();
      ASSERT_EQ(frame.type, SpdyType::kData);
      seen[frame.stream] += frame.data;
      finished += frame.fin ? 1 : 0;
    }
    EXPECT_EQ(seen[data], round == 1 ? "" : "echo hello");
    EXPECT_EQ(seen[error], round == 1 ? "connection refused" : "");
    client.SendFrame({.type = SpdyType::kReset, .stream = data, .status = 5});
  }
}

TEST_F(RemoteStreamsTest, SpdyForwardsPorts) {
  Serve(ForwardEcho);
  RawClient raw(server_->port());
  raw.Send(SpdyRequest("/portforward", "portforward.k8s.io"));
  EXPECT_TRUE(raw.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 101"));
  SpdyClient client(raw);
  ForwardAsKubectlDoes(client);
  client.Open(101, {{"streamtype", "data"}, {"port", "no number"}, {"requestid", "9"}});
  EXPECT_TRUE(client.Next().fin);  // refused, and the session goes on
  raw.End();
}

TEST_F(RemoteStreamsTest, TunnelForwardsPorts) {
  Serve(ForwardEcho);
  WebSocketClient socket(server_->port(), "/portforward?ports=80", "SPDY/3.1+portforward.k8s.io");
  EXPECT_NE(socket.head().find("sec-websocket-protocol: SPDY/3.1+portforward.k8s.io\r\n"), std::string::npos);
  SpdyClient client(socket);
  ForwardAsKubectlDoes(client);
  socket.Send(WebSocketOpcode::kClose, WebSocketClosePayload(1000, ""));
  EXPECT_EQ(socket.Next().opcode, WebSocketOpcode::kClose);
}

TEST_F(RemoteStreamsTest, ConnectionOutlivesItsSessionSafely) {
  std::unique_ptr<ForwardedConnection> kept;
  Handover<int> done;
  Serve([&](const Exchange& exchange) {
    Result<std::unique_ptr<PortForwardSession>> session = AcceptPortForward(Patient(), exchange);
    ASSERT_TRUE(session.ok());
    kept = *(*session)->Accept(Patient());
    done.Put(1);
  });
  RawClient raw(server_->port());
  raw.Send(SpdyRequest("/portforward", "portforward.k8s.io"));
  raw.ReadUntil("\r\n\r\n");
  SpdyClient client(raw);
  client.Open(1, {{"streamtype", "error"}, {"port", "80"}});
  client.Open(3, {{"streamtype", "data"}, {"port", "80"}});
  EXPECT_EQ(done.Take(), 1);
  worker_.Join();
  ASSERT_NE(kept, nullptr);
  EXPECT_FALSE(kept->Write(Patient(), "x").ok());
  char byte = 0;
  const Result<std::size_t> got = kept->Read(Patient(), &byte, 1);
  EXPECT_TRUE(!got.ok() || *got == 0);
  kept->Close();
}

}  // namespace
}  // namespace kube::serve
