// Connections that leave HTTP.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kube/transport/http_transport.h"
#include "kube/transport/transport_errors.h"
#include "transport/http_transport_test_util.h"
#include "transport/request/http_head.h"

namespace kube::curl_test {
namespace {

namespace reason = transport_reason;
using Exchange = std::shared_ptr<serve::HttpExchange>;
using ::testing::HasSubstr;

HttpRequest UpgradeRequest(std::string target = "/exec") {
  HttpRequest request = Get(std::move(target));
  request.headers = {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}};
  return request;
}

std::string ReadExactly(UpgradedConnection& connection, std::size_t size) {
  std::string text;
  std::string buffer(65536, '\0');
  while (text.size() < size) {
    const Result<std::size_t> got = connection.Read(Patient(), buffer.data(), std::min(buffer.size(), size - text.size()));
    if (!got || *got == 0) return text + (got ? "[end]" : got.error().ToString());
    text.append(buffer, 0, *got);
  }
  return text;
}

// Answers 101, then sends everything back.
RawServer::Script EchoAfterUpgrade(std::string early = "") {
  return [early = std::move(early)](RawPeer& peer, int) {
    const std::string head = peer.ReadUntil("\r\n\r\n");
    (void)peer.Send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nX-Line: " + head.substr(0, head.find("\r\n")) + "\r\n\r\n" +
                    early);
    for (;;) {
      const std::string some = peer.ReadSome();
      if (some.empty() || !peer.Send(some)) return;
    }
  };
}

TEST(UpgradeTest, GivesTheConnectionWithTheBytesBehindTheHead) {
  for (const bool tls : {true, false}) {
    RawServer server(EchoAfterUpgrade("early"), tls ? &Pki().server : nullptr, "http/1.1");
    const auto transport = TransportTo(server.port(), tls);
    const Result<UpgradeResponse> answer = transport->Upgrade(Patient(), UpgradeRequest("/exec?command=ls&stdin=true"));
    ASSERT_TRUE(answer) << answer.error().ToString();
    EXPECT_EQ(answer->code, 101);
    EXPECT_EQ(answer->headers.Get("X-Line"), "GET /exec?command=ls&stdin=true HTTP/1.1");
    ASSERT_NE(answer->connection, nullptr);
    EXPECT_EQ(ReadExactly(*answer->connection, 5), "early");
    ASSERT_TRUE(answer->connection->Write(Patient(), "hello"));
    EXPECT_EQ(ReadExactly(*answer->connection, 5), "hello");
  }
}

TEST(UpgradeTest, ReadsAndWritesAtOnce) {
  RawServer server(EchoAfterUpgrade(), &Pki().server, "http/1.1");
  const auto transport = TransportTo(server.port());
  const Result<UpgradeResponse> answer = transport->Upgrade(Patient(), UpgradeRequest());
  ASSERT_TRUE(answer) << answer.error().ToString();
  std::string sent(std::size_t{8} << 20, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 13 + i / 777);
  std::thread writer([&] { EXPECT_TRUE(answer->connection->Write(Patient(), sent)); });
  const std::string got = ReadExactly(*answer->connection, sent.size());
  writer.join();
  EXPECT_TRUE(got == sent);
}

TEST(UpgradeTest, TheServerOfThisProjectUpgradesToo) {
  Handover<Exchange> seen;
  const auto server = StartServer([&](const Exchange& exchange) { seen.Put(exchange); });
  const auto transport = TransportTo(server->port());
  std::thread other([&] {
    const Exchange exchange = seen.Take();
    ASSERT_NE(exchange, nullptr);
    EXPECT_EQ(exchange->request().http_major, 1);
    EXPECT_EQ(exchange->request().headers.Get("sec-websocket-protocol"), "v5.channel.k8s.io");
    auto stream = exchange->Upgrade({{"upgrade", "websocket"}});
    ASSERT_TRUE(stream);
    ASSERT_TRUE((*stream)->Write(Patient(), "from the server"));
    char buffer[64];
    const Result<std::size_t> got = (*stream)->Read(Patient(), buffer, sizeof buffer);
    ASSERT_TRUE(got);
    EXPECT_EQ(std::string(buffer, *got), "from the client");
  });
  const Result<UpgradeResponse> answer = transport->Upgrade(Patient(), UpgradeRequest());
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(ReadExactly(*answer->connection, 15), "from the server");
  ASSERT_TRUE(answer->connection->Write(Patient(), "from the client"));
  other.join();
  char buffer[8];
  const Result<std::size_t> end = answer->connection->Read(Patient(), buffer, sizeof buffer);
  EXPECT_TRUE(!end || *end == 0);
}

TEST(UpgradeTest, ARefusalComesWithItsBody) {
  struct Case {
    std::string sent, body;
  };
  const std::vector<Case> cases = {
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nforbidden and more", "forbidden"},
      {"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nforbi\r\n4;x=y\r\ndden\r\n0\r\n\r\n", "forbidden"},
      {"HTTP/1.1 403 Forbidden\r\n\r\nforbidden", "forbidden"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 Forbidden\nContent-Length: 9\n\nforbidden", "forbidden"},
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 200000\r\n\r\n" + std::string(200'000, 'x'), std::string(64 * 1024, 'x')},
  };
  for (const Case& one : cases) {
    RawServer server([&](RawPeer& peer, int) {
      (void)peer.ReadUntil("\r\n\r\n");
      (void)peer.Send(one.sent);
    });
    const Result<UpgradeResponse> answer = TransportTo(server.port(), false)->Upgrade(Patient(), UpgradeRequest());
    ASSERT_TRUE(answer) << answer.error().ToString();
    EXPECT_EQ(answer->code, 403);
    EXPECT_EQ(answer->body, one.body);
    EXPECT_EQ(answer->connection, nullptr);
  }
}

TEST(UpgradeTest, FaultsAreErrorsThatSayWhatToFix) {
  struct Case {
    std::string sent;
    std::string_view why;
  };
  std::string endless = "HTTP/1.1 101 Switching Protocols\r\n";
  while (endless.size() < 200'000) endless += "X: " + std::string(100, 'x') + "\r\n";
  for (const Case& one : {Case{"", reason::kUnexpectedEof}, Case{"220 smtp ready\r\n", reason::kProtocol},
                          Case{"HTTP/1.1 xyz\r\n\r\n", reason::kProtocol}, Case{endless, reason::kTooLarge}}) {
    RawServer server([&](RawPeer& peer, int) {
      (void)peer.ReadUntil("\r\n\r\n");
      (void)peer.Send(one.sent);
    });
    const Result<UpgradeResponse> answer = TransportTo(server.port(), false)->Upgrade(Patient(), UpgradeRequest());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason(), one.why) << answer.error().ToString();
  }
  EXPECT_TRUE(IsConnectionRefused(TransportTo(UnusedPort())->Upgrade(Patient(), UpgradeRequest()).error()));
}

TEST(UpgradeTest, TlsIsVerifiedAsForRequests) {
  RawServer server(EchoAfterUpgrade(), &Pki().elsewhere, "http/1.1");
  HttpTransportOptions options;
  const Result<UpgradeResponse> wrong = TransportTo(server.port())->Upgrade(Patient(), UpgradeRequest());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().reason(), reason::kTls) << wrong.error().ToString();
  TlsMaterial material = TrustingPki();
  material.server_name = "elsewhere.test";
  options.tls = std::make_shared<FixedTls>(material);
  EXPECT_TRUE(TransportTo(server.port(), true, options)->Upgrade(Patient(), UpgradeRequest()));
}

TEST(UpgradeTest, CloseWakesWhoWaits) {
  RawServer server(EchoAfterUpgrade(), &Pki().server, "http/1.1");
  const Result<UpgradeResponse> answer = TransportTo(server.port())->Upgrade(Patient(), UpgradeRequest());
  ASSERT_TRUE(answer);
  std::thread reader([&] {
    char buffer[8];
    const Result<std::size_t> got = answer->connection->Read(Patient(), buffer, sizeof buffer);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind(), ErrorKind::kClosed);
  });
  answer->connection->Close();
  reader.join();
  EXPECT_EQ(answer->connection->Write(Patient(), "x").error().kind(), ErrorKind::kClosed);
}

TEST(UpgradeTest, AStoppedContextEndsConnectingReadingAndWriting) {
  const auto soon = [] { return Context::Background().WithTimeout(std::chrono::milliseconds(50)); };
  RawServer silent([](RawPeer& peer, int) { peer.ReadToEnd(); });
  EXPECT_EQ(TransportTo(silent.port(), true)->Upgrade(soon(), UpgradeRequest()).error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(TransportTo(silent.port(), false)->Upgrade(soon(), UpgradeRequest()).error().kind(), ErrorKind::kTimeout);
  std::atomic<bool> leave = false;
  RawServer deaf([&](RawPeer& peer, int) {
    (void)peer.ReadUntil("\r\n\r\n");
    (void)peer.Send("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    (void)Eventually([&] { return leave.load(); });
  });
  const Result<UpgradeResponse> answer = TransportTo(deaf.port(), false)->Upgrade(Patient(), UpgradeRequest());
  ASSERT_TRUE(answer);
  char buffer[8];
  EXPECT_EQ(answer->connection->Read(soon(), buffer, sizeof buffer).error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(answer->connection->Write(soon(), std::string(std::size_t{64} << 20, 'x')).error().kind(), ErrorKind::kTimeout);
  leave = true;
}

TEST(UpgradeTest, GoesThroughAProxyAsATunnel) {
  RawServer server(EchoAfterUpgrade());
  Handover<std::string> seen;
  RawServer proxy([&](RawPeer& peer, int) {
    const std::string head = peer.ReadUntil("\r\n\r\n");
    seen.Put(head.substr(0, head.find("\r\n")));
    (void)peer.Send("HTTP/1.1 200 OK\r\n\r\n");
    Splice(peer, ConnectTo(server.port()));
  });
  HttpTransportOptions options;
  options.base_url = "http://cluster.test:8080";
  options.proxy_url = fmt::format("http://127.0.0.1:{}", proxy.port());
  const Result<UpgradeResponse> answer = TransportTo(1, false, options)->Upgrade(Patient(), UpgradeRequest());
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(seen.Take(), "CONNECT cluster.test:8080 HTTP/1.1");
  ASSERT_TRUE(answer->connection->Write(Patient(), "hello"));
  EXPECT_EQ(ReadExactly(*answer->connection, 5), "hello");
}

TEST(HttpHeadTest, TakesHeadsApart) {
  using internal::ParseHttpHead;
  EXPECT_FALSE(*ParseHttpHead(""));
  EXPECT_FALSE(*ParseHttpHead("HTT"));
  EXPECT_FALSE(*ParseHttpHead("HTTP/1.1 200 OK\r\nA: b\r\n"));
  const auto head = ParseHttpHead("HTTP/1.1 200 OK\r\nA:  b \r\nC:\r\n\r\nrest").value();
  ASSERT_TRUE(head);
  EXPECT_EQ(head->code, 200);
  EXPECT_EQ(head->headers.Get("a"), "b");
  EXPECT_TRUE(head->headers.Has("c"));
  EXPECT_EQ(head->size, 31U);
  for (const char* bad : {"X", "HTTP/2 200\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 999 X\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"}) {
    EXPECT_FALSE(ParseHttpHead(bad)) << bad;
  }
  bool complete = false;
  EXPECT_EQ(internal::DecodeChunks("3\r\nabc\r\n2\r\nde", complete), "abcde");
  EXPECT_FALSE(complete);
  EXPECT_EQ(internal::DecodeChunks("3\r\nabc\r\n0\r\n\r\n", complete), "abc");
  EXPECT_TRUE(complete);
}

}  // namespace
}  // namespace kube::curl_test
