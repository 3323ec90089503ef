#include "transport/websocket/websocket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/transport/transport_errors.h"
#include "transport/pipe_test_util.h"

namespace kube::internal {
namespace {

using ::testing::HasSubstr;

Context Patient() { return Context::Background().WithTimeout(kPipePatience); }

struct Pair {
  std::unique_ptr<WebSocket> client;
  std::unique_ptr<RawWebSocket> server;
};

Pair Connect(const WebSocket::Limits& limits = {}, std::size_t limit = std::size_t{1} << 20) {
  auto [a, b] = PipeEnd::Make(limit);
  return {std::make_unique<WebSocket>(std::move(a), WebSocket::Role::kClient, limits), std::make_unique<RawWebSocket>(std::move(b))};
}

TEST(Contract17WebSocketHandshake, SendsWhatAServerNeedsAndTakesItsChoice) {
  UpgradeTransport transport({.protocol = "v4"});
  Result<WebSocketDial> dial = DialWebSocket(transport, Patient(), {.target = "/x?y=1"}, {"v5", "v4"}, {});
  ASSERT_TRUE(dial.ok()) << dial.error().ToString();
  ASSERT_NE(dial->socket, nullptr);
  EXPECT_EQ(dial->protocol, "v4");
  const HttpRequest request = transport.requests().at(0);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/x?y=1");
  EXPECT_EQ(request.headers.Get("connection"), "Upgrade");
  EXPECT_EQ(request.headers.Get("upgrade"), "websocket");
  EXPECT_EQ(request.headers.Get("sec-websocket-version"), "13");
  EXPECT_EQ(request.headers.Get("sec-websocket-protocol"), "v5, v4");
  EXPECT_EQ(request.headers.Get("sec-websocket-key").size(), 24U);
}

TEST(Contract17WebSocketHandshake, EachHasAKeyOfItsOwn) {
  UpgradeTransport transport;
  ASSERT_TRUE(DialWebSocket(transport, Patient(), {}, {"v5"}, {}).ok());
  ASSERT_TRUE(DialWebSocket(transport, Patient(), {}, {"v5"}, {}).ok());
  EXPECT_NE(transport.requests().at(0).headers.Get("sec-websocket-key"), transport.requests().at(1).headers.Get("sec-websocket-key"));
}

TEST(Contract17WebSocketHandshake, ARefusalIsGivenBackAsItIs) {
  UpgradeTransport transport({.refusal = 403, .refusal_body = "no"});
  Result<WebSocketDial> dial = DialWebSocket(transport, Patient(), {}, {"v5"}, {});
  ASSERT_TRUE(dial.ok());
  EXPECT_EQ(dial->socket, nullptr);
  EXPECT_EQ(dial->refusal.code, 403);
  EXPECT_EQ(dial->refusal.body, "no");
}

TEST(Contract17WebSocketHandshake, WrongAnswersAreRefused) {
  UpgradeTransport wrong_key({.accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="});
  Result<WebSocketDial> dial = DialWebSocket(wrong_key, Patient(), {}, {"v5"}, {});
  ASSERT_FALSE(dial.ok());
  EXPECT_TRUE(IsTransportError(dial.error(), transport_reason::kProtocol)) << dial.error().ToString();
  UpgradeTransport other_protocol({.protocol = "v1"});
  dial = DialWebSocket(other_protocol, Patient(), {}, {"v5", "v4"}, {});
  ASSERT_FALSE(dial.ok());
  EXPECT_THAT(dial.error().ToString(), HasSubstr("\"v1\""));
}

TEST(WebSocketTest, MessagesGoBothWaysAndAClientsAreMasked) {
  Pair pair = Connect();
  ASSERT_TRUE(pair.client->WriteMessage(Patient(), "\x01", "hello").ok());
  EXPECT_EQ(pair.server->NextMessage(), "\x01hello");  // the parser refuses frames without a mask
  pair.server->Send(WebSocketOpcode::kBinary, "answer");
  pair.server->Send(WebSocketOpcode::kText, "text");
  Result<std::optional<WebSocket::Message>> message = pair.client->ReadMessage(Patient());
  ASSERT_TRUE(message.ok() && message->has_value());
  EXPECT_EQ((*message)->payload, "answer");
  EXPECT_FALSE((*message)->text);
  message = pair.client->ReadMessage(Patient());
  ASSERT_TRUE(message.ok() && message->has_value());
  EXPECT_TRUE((*message)->text);
}

TEST(WebSocketTest, PingsAreAnsweredWithTheirData) {
  Pair pair = Connect();
  pair.server->Send(WebSocketOpcode::kPing, "are you there");
  pair.server->Send(WebSocketOpcode::kBinary, "x");
  ASSERT_TRUE(pair.client->ReadMessage(Patient()).ok());
  const WebSocketParser::Item pong = pair.server->Next();
  EXPECT_EQ(pong.opcode, WebSocketOpcode::kPong);
  EXPECT_EQ(pong.payload, "are you there");
}

TEST(WebSocketTest, AGoodbyeIsTheEndAndItsCodeIsKnown) {
  Pair pair = Connect();
  pair.server->SendClose(1011, "broken");
  Result<std::optional<WebSocket::Message>> message = pair.client->ReadMessage(Patient());
  ASSERT_TRUE(message.ok());
  EXPECT_FALSE(message->has_value());
  EXPECT_EQ(pair.client->close_code(), 1011);
  EXPECT_EQ(pair.client->close_reason(), "broken");
  EXPECT_EQ(pair.server->Next().payload, WebSocketClosePayload(1011, ""));  // said back
  message = pair.client->ReadMessage(Patient());
  EXPECT_TRUE(message.ok() && !message->has_value());
}

TEST(WebSocketTest, AnEndWithoutAGoodbyeIsAnError) {
  Pair pair = Connect();
  pair.server->end().Close();
  const Result<std::optional<WebSocket::Message>> message = pair.client->ReadMessage(Patient());
  ASSERT_FALSE(message.ok());
  EXPECT_TRUE(IsTransportError(message.error(), transport_reason::kUnexpectedEof));
}

TEST(WebSocketTest, RubbishIsAnErrorAndThePeerIsTold) {
  Pair pair = Connect();
  ASSERT_TRUE(pair.server->end().Write(Patient(), "HTTP/1.1 200 OK\r\n\r\n").ok());
  const Result<std::optional<WebSocket::Message>> message = pair.client->ReadMessage(Patient());
  ASSERT_FALSE(message.ok());
  EXPECT_TRUE(IsTransportError(message.error(), transport_reason::kProtocol));
  EXPECT_EQ(pair.server->Next().payload, WebSocketClosePayload(1002, ""));
}

TEST(WebSocketTest, SilenceBeyondTheReadTimeoutIsALostConnection) {
  const auto clock = std::make_shared<FakeClock>();
  WebSocket::Limits limits;
  limits.read_timeout = std::chrono::seconds(61);
  Pair pair = Connect(limits);
  std::optional<Result<std::optional<WebSocket::Message>>> message;
  Thread reader("reader", [&] { message = pair.client->ReadMessage(Context::Background(clock)); });
  ASSERT_TRUE(clock->WaitForWaiters(1));
  clock->Advance(std::chrono::seconds(61));
  reader.Join();
  ASSERT_FALSE(message->ok());
  EXPECT_TRUE(IsTransportError(message->error(), transport_reason::kConnectionLost)) << message->error().ToString();
}

TEST(WebSocketTest, AWriteThatTakesTooLongBreaksTheSocket) {
  const auto clock = std::make_shared<FakeClock>();
  WebSocket::Limits limits;
  limits.write_timeout = std::chrono::seconds(60);
  Pair pair = Connect(limits, 10);
  Result<void> written;
  Thread writer("writer", [&] { written = pair.client->WriteMessage(Context::Background(clock), {}, std::string(100, 'x')); });
  ASSERT_TRUE(clock->WaitForWaiters(1));
  clock->Advance(std::chrono::seconds(60));
  writer.Join();
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind(), ErrorKind::kTimeout);
  EXPECT_TRUE(pair.client->broken());
}

TEST(Contract17TunnelingConnection, BytesOfBinaryMessagesAreOneStream) {
  Pair pair = Connect();
  const std::unique_ptr<UpgradedConnection> tunnel = MakeWebSocketTunnel(std::move(pair.client));
  ASSERT_TRUE(tunnel->Write(Patient(), "abc").ok());
  EXPECT_EQ(pair.server->NextMessage(), "abc");
  pair.server->Send(WebSocketOpcode::kBinary, "");
  pair.server->Send(WebSocketOpcode::kBinary, "12345");
  pair.server->Send(WebSocketOpcode::kBinary, "67");
  std::string got;
  while (got.size() < 7) {
    std::string buffer(3, '\0');
    const Result<std::size_t> n = tunnel->Read(Patient(), buffer.data(), buffer.size());
    ASSERT_TRUE(n.ok());
    ASSERT_GT(*n, 0U);
    got.append(buffer, 0, *n);
  }
  EXPECT_EQ(got, "1234567");
}

TEST(Contract17TunnelingConnection, CloseSaysGoodbyeAndAGoodbyeIsTheEnd) {
  Pair pair = Connect();
  const std::unique_ptr<UpgradedConnection> tunnel = MakeWebSocketTunnel(std::move(pair.client));
  pair.server->SendClose();
  char c = 0;
  const Result<std::size_t> end = tunnel->Read(Patient(), &c, 1);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(*end, 0U);
  Pair other = Connect();
  const std::unique_ptr<UpgradedConnection> closing = MakeWebSocketTunnel(std::move(other.client));
  closing->Close();
  const WebSocketParser::Item goodbye = other.server->Next();
  EXPECT_EQ(goodbye.opcode, WebSocketOpcode::kClose);
  EXPECT_EQ(goodbye.payload, WebSocketClosePayload(1000, ""));
}

TEST(Contract17TunnelingConnection, ATextMessageIsAnError) {
  Pair pair = Connect();
  const std::unique_ptr<UpgradedConnection> tunnel = MakeWebSocketTunnel(std::move(pair.client));
  pair.server->Send(WebSocketOpcode::kText, "x");
  char c = 0;
  EXPECT_FALSE(tunnel->Read(Patient(), &c, 1).ok());
}

}  // namespace
}  // namespace kube::internal
