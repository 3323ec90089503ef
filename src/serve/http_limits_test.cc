// What clients may cost a server: HttpLimits, over real connections. The parts by themselves: ledger_test.cc. Against a manager, with
// attackers in a process of their own: tests/ports.
#include "kube/serve/http_limits.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/serve/http_server.h"
#include "serve/http2_frames_test_util.h"
#include "serve/serve_test_util.h"

namespace kube::serve {
namespace {

using std::chrono::milliseconds;
using Exchange = std::shared_ptr<HttpExchange>;

void Hello(const Exchange& exchange) { exchange->Reply({.body = "hello"}); }

std::unique_ptr<HttpServer> Start(const HttpLimits& limits, HttpServer::Handler handler = Hello) {
  return HttpServer::Start({.io_threads = 1, .limits = limits}, std::move(handler)).value();
}

// A connection from one of the addresses of this machine.
class From {
 public:
  From(const char* address, std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    inet_pton(AF_INET, address, &at.sin_addr);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    at.sin_port = htons(port);
    const timeval patience{60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  }
  From(const From&) = delete;
  From& operator=(const From&) = delete;
  ~From() { close(fd_); }
  bool Send(std::string_view bytes) const {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // The server answers a request on this connection.
  bool Works() const {
    if (!Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")) return false;
    std::string got;
    char buffer[1024];
    while (!got.ends_with("hello")) {
      const ssize_t size = recv(fd_, buffer, sizeof(buffer), 0);
      if (size <= 0) return false;
      got.append(buffer, static_cast<std::size_t>(size));
    }
    return true;
  }
  // Until the server closes, or for a minute.
  bool Closed() const {
    char buffer[65536];
    ssize_t size = 0;
    while ((size = recv(fd_, buffer, sizeof(buffer), 0)) > 0) {
    }
    return size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  const int fd_;
};

TEST(HttpLimitsTest, Http2IsOffByDefault) {
  const auto server = Start({});
  RawClient client(server->port());
  client.Send(http2::Preface());
  EXPECT_TRUE(client.ReadAll().starts_with("HTTP/1.1 505 ")) << "HTTP/2 with prior knowledge";
  const auto secure = HttpServer::Start({.tls = TestTls(false)}, Hello).value();
  const CurlAnswer answer = Fetch({.url = UrlOf(*secure, "/", true), .http2 = true, .ca_pem = Pki().ca_pem});
  EXPECT_EQ(answer.body, "hello") << answer.curl_error;
  EXPECT_EQ(answer.http_version, 1) << "HTTP/2 by ALPN";
  const auto both = HttpServer::Start({.tls = TestTls(false), .limits = {.http2 = true}}, Hello).value();
  EXPECT_EQ(Fetch({.url = UrlOf(*both, "/", true), .http2 = true, .ca_pem = Pki().ca_pem}).http_version, 2);
}

// kube-apiserver (Go's http.Transport) does after 90 s. The side that closes first may cut a request that is on its way.
TEST(HttpLimitsTest, WebhooksKeepIdleConnectionsLongerThanApiServersDo) {
  EXPECT_GT(HttpLimits::ForWebhooks().idle_timeout, std::chrono::seconds(90));
}

// The health and the metrics port of a program with a memory limit of 128 MiB, of which it needs about 28 MiB itself.
TEST(HttpLimitsTest, TwoPortsTakeAThirdOfTheMemory) {
  const HttpLimits limits;
  const std::size_t kernel = limits.max_connections * 2 * (limits.send_buffer_bytes + limits.receive_buffer_bytes);
  EXPECT_LE(2 * (limits.max_bytes + kernel), (std::size_t{128} << 20) / 3);
  EXPECT_LT(limits.max_bytes_per_peer, limits.max_bytes);
  EXPECT_LT(limits.max_connections_per_peer, limits.max_connections);
}

TEST(HttpLimitsTest, RequestsAreSmallByDefault) {
  const auto server = Start({.http2 = true}, [](const Exchange& exchange) {
    exchange->Reply({.body = exchange->request().body_too_large ? "too large" : "fits"});
  });
  for (const bool http2 : {false, true}) {
    const std::string url = UrlOf(*server, "/");
    EXPECT_EQ(Fetch({.url = url, .headers = {"X-Long: " + std::string(15000, 'x')}, .http2 = http2}).body, "fits");
    EXPECT_EQ(Fetch({.url = url, .headers = {"X-Long: " + std::string(17000, 'x')}, .http2 = http2}).status, 431);
    EXPECT_EQ(Fetch({.url = url, .method = "POST", .body = "x", .http2 = http2}).body, "too large");
  }
}

// One byte on the wire is 4 KB of a header.
TEST(HttpLimitsTest, DecodedHeadersCount) {
  const auto server = Start({.http2 = true});
  RawClient client(server->port());
  const std::string remembered = http2::Remembered("x", std::string(4000, 'x'));
  client.Send(http2::Preface() + http2::Get(1, "/", remembered));
  EXPECT_NE(client.ReadUntil("hello").find("hello"), std::string::npos);
  client.Send(http2::Get(3, "/", std::string(5, http2::kLast[0])));  // 20 KB
  // 431 from the table of header compression: a literal with the name of its entry 8.
  EXPECT_NE(client.ReadUntil("431").find("431"), std::string::npos);
  EXPECT_EQ(server->usage().closed_for_flood, 0U);
  client.Send(http2::Get(5, "/", std::string(100, http2::kLast[0])));  // 400 KB: not worth decoding
  EXPECT_FALSE(client.ReadAll().ends_with("[timeout]"));
  EXPECT_EQ(server->usage().closed_for_flood, 1U);
}

// Headers that are never read also count: trailers, and those that are no HTTP.
TEST(HttpLimitsTest, HeadersThatAreDroppedCount) {
  const auto server = Start({.http2 = true, .max_body_bytes = 100});
  const std::string many(200, http2::kLast[0]);
  RawClient trailers(server->port());
  trailers.Send(
      http2::Preface() +
      http2::Frame(http2::kHeaders, http2::kEndHeaders, 1, http2::GetBlock("/") + http2::Remembered("x", std::string(4000, 'x'))) +
      http2::Frame(http2::kHeaders, http2::kEndHeaders | http2::kEndStream, 1, many));
  EXPECT_FALSE(trailers.ReadAll().ends_with("[timeout]"));
  EXPECT_EQ(server->usage().closed_for_flood, 1U);
  RawClient invalid(server->port());
  invalid.Send(http2::Preface() + http2::Get(1, "/", http2::Remembered("x", std::string(4000, '\x01')) + many));
  EXPECT_FALSE(invalid.ReadAll().ends_with("[timeout]"));
  EXPECT_EQ(server->usage().closed_for_flood, 2U);
}

TEST(HttpLimitsTest, RequestsAreFreedOnceAnswered) {
  const auto server = Start({.http2 = true});
  RawClient client(server->port());
  // No answer can be sent: 32 streams wait for a window, with 12 KB of headers each.
  std::string attack = http2::Preface({{http2::kInitialWindow, 0}}) + http2::Get(1, "/", http2::Remembered("x", std::string(4000, 'x')));
  for (std::uint32_t stream = 3; stream < 65; stream += 2) attack += http2::Get(stream, "/", std::string(3, http2::kLast[0]));
  client.Send(attack);
  EXPECT_TRUE(Eventually([&] { return server->usage().most_bytes_held > 32 * 1536; }));
  EXPECT_TRUE(Eventually([&] { return server->usage().bytes_held < std::size_t{160} << 10; })) << server->usage().bytes_held;
  EXPECT_EQ(server->usage().connections, 1U);
}

TEST(HttpLimitsTest, ANewConnectionTakesThePlaceOfAnIdleOne) {
  const auto server = Start({.max_connections_per_peer = 4});
  const From served("127.0.0.1", server->port());
  EXPECT_TRUE(served.Works());
  std::vector<std::unique_ptr<From>> idle;
  for (int i = 0; i < 3; ++i) idle.push_back(std::make_unique<From>("127.0.0.1", server->port()));
  ASSERT_TRUE(Eventually([&] { return server->usage().connections == 4; }));
  EXPECT_TRUE(served.Works());
  for (int i = 0; i < 3; ++i) idle.push_back(std::make_unique<From>("127.0.0.1", server->port()));
  EXPECT_TRUE(idle.back()->Works());
  EXPECT_TRUE(served.Works()) << "it was answered later than the idle ones came";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(idle[i]->Closed());
  EXPECT_EQ(server->usage().connections, 4U);
  EXPECT_EQ(server->usage().most_connections, 4U);
  EXPECT_EQ(server->usage().closed_for_connections, 3U);
}

TEST(HttpLimitsTest, ThePeerWithMostConnectionsMakesRoom) {
  const auto server = Start({.max_connections = 8, .max_connections_per_peer = 8});
  const From scraper("127.0.0.3", server->port());
  EXPECT_TRUE(scraper.Works());
  std::vector<std::unique_ptr<From>> attackers;
  for (int i = 0; i < 50; ++i) attackers.push_back(std::make_unique<From>("127.0.0.2", server->port()));
  EXPECT_TRUE(attackers.back()->Works());
  EXPECT_TRUE(scraper.Works()) << "its first answer is older than all of them";
  const From kubelet("127.0.0.4", server->port());
  EXPECT_TRUE(kubelet.Works());
  EXPECT_LE(server->usage().most_connections, 8U);
}

TEST(HttpLimitsTest, AnswersThatAreNotReadHoldBoundedBytes) {
  constexpr std::size_t kAnswer = std::size_t{1} << 20;
  const auto server = Start({.max_bytes = 4 * kAnswer, .max_bytes_per_peer = 3 * kAnswer}, [](const Exchange& exchange) {
    exchange->Reply({.body = exchange->request().path == "/large" ? std::string(kAnswer, 'x') : "hello"});
  });
  std::vector<std::unique_ptr<From>> silent;
  for (const char* address : {"127.0.0.2", "127.0.0.3"}) {
    for (int i = 0; i < 10; ++i) {
      silent.push_back(std::make_unique<From>(address, server->port()));
      silent.back()->Send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
    }
  }
  // 20 answers, of which at most 4 fit: what is sent at once is in the kernel's hands, so that five may do.
  EXPECT_TRUE(Eventually([&] { return server->usage().closed_for_bytes >= 14; })) << server->usage().closed_for_bytes;
  EXPECT_LE(server->usage().most_bytes_held, 5 * kAnswer + (std::size_t{64} << 10));
  EXPECT_TRUE(Eventually([&] { return server->usage().bytes_held <= 4 * kAnswer; }));
  const From scraper("127.0.0.1", server->port());
  EXPECT_TRUE(scraper.Works());
}

TEST(HttpLimitsTest, AnAnswerHasToBeReadInTime) {
  const auto server = Start({.answer_timeout = milliseconds(50)},
                            [](const Exchange& exchange) { exchange->Reply({.body = std::string(std::size_t{2} << 20, 'x')}); });
  const From client("127.0.0.1", server->port());
  client.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return server->usage().closed_for_deadline == 1 && server->usage().connections == 0; }));
  EXPECT_EQ(server->usage().bytes_held, 0U);
}

TEST(HttpLimitsTest, AWindowHasToOpenInTime) {
  const auto server = Start({.http2 = true, .answer_timeout = milliseconds(50)},
                            [](const Exchange& exchange) { exchange->Reply({.body = std::string(std::size_t{1} << 20, 'x')}); });
  RawClient client(server->port());
  client.Send(http2::Preface({{http2::kInitialWindow, 0}}) + http2::Get(1, "/") + http2::Get(3, "/"));
  EXPECT_TRUE(Eventually([&] { return server->usage().most_bytes_held > std::size_t{2} << 20; }));
  EXPECT_TRUE(Eventually([&] { return server->usage().bytes_held < std::size_t{1} << 20; }));
  EXPECT_EQ(server->usage().closed_for_deadline, 2U);
}

// A byte now and then does not help: the time counts from the start.
TEST(HttpLimitsTest, ARequestHasToBeCompleteInTime) {
  const auto server = Start({.header_timeout = milliseconds(100)});
  const From client("127.0.0.1", server->port());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(Eventually([&] { return !client.Send("G") || std::chrono::steady_clock::now() - begin > std::chrono::seconds(50); }));
  EXPECT_EQ(server->usage().closed_for_deadline + server->usage().connections, 1U);
  EXPECT_EQ(server->usage().connections, 0U);
}

class HttpFloodTest : public ::testing::Test {
 protected:
  // Sends it until the server closes; how many bytes that took, at most.
  void ExpectCut(const std::function<std::string(std::uint32_t turn)>& frames, std::string_view what) {
    RawClient client(server_->port());
    client.Send(http2::Preface());
    const std::uint64_t before = server_->usage().closed_for_flood;
    std::uint32_t turn = 0;
    while (turn < 1'000'000 && client.Send(frames(turn))) ++turn;
    EXPECT_LT(turn, 1'000'000U) << what;
    EXPECT_TRUE(Eventually([&] { return server_->usage().connections == 0; })) << what;
    EXPECT_EQ(server_->usage().closed_for_flood, before + 1) << what;
    EXPECT_LE(server_->usage().most_bytes_held, std::size_t{1} << 20) << what;
  }

  const std::unique_ptr<HttpServer> server_ = Start({.http2 = true});
};

TEST_F(HttpFloodTest, ResetsAreBounded) {
  ExpectCut([](std::uint32_t turn) { return http2::Get(2 * turn + 1, "/") + http2::Reset(2 * turn + 1); }, "rapid reset");
}

TEST_F(HttpFloodTest, UnfinishedRequestsThatAreResetAreBounded) {
  ExpectCut(
      [](std::uint32_t turn) {
        return http2::Frame(http2::kHeaders, http2::kEndHeaders, 2 * turn + 1, http2::GetBlock("/")) + http2::Reset(2 * turn + 1);
      },
      "without an end");
}

TEST_F(HttpFloodTest, PingsAndSettingsAreBounded) {
  ExpectCut([](std::uint32_t) { return http2::Frame(http2::kPing, 0, 0, "12345678"); }, "PING");
  ExpectCut([](std::uint32_t) { return http2::Settings({{http2::kInitialWindow, 1}}); }, "SETTINGS");
  ExpectCut([](std::uint32_t) { return http2::Frame(http2::kWindowUpdate, 0, 0, http2::Number(1, 4)); }, "WINDOW_UPDATE");
  ExpectCut([](std::uint32_t turn) { return http2::Frame(http2::kPriority, 0, 2 * turn + 1, http2::Number(0, 5)); }, "PRIORITY");
}

TEST_F(HttpFloodTest, ContinuationsAreBounded) {
  RawClient client(server_->port());
  client.Send(http2::Preface() + http2::Frame(http2::kHeaders, http2::kEndStream, 1, http2::GetBlock("/")));
  int sent = 0;
  while (sent < 1'000'000 && client.Send(http2::Frame(http2::kContinuation, 0, 1, ""))) ++sent;
  EXPECT_LT(sent, 1'000'000);
  EXPECT_TRUE(Eventually([&] { return server_->usage().connections == 0; }));
}

// Clients that get something done are not counted out.
TEST_F(HttpFloodTest, ManyRequestsAreFine) {
  RawClient client(server_->port());
  client.Send(http2::Preface());
  for (std::uint32_t turn = 0; turn < 2000; ++turn) {
    client.Send(http2::Get(2 * turn + 1, "/") + http2::Frame(http2::kWindowUpdate, 0, 0, http2::Number(5, 4)));
    ASSERT_TRUE(client.ReadUntil("hello").ends_with("hello")) << turn;
  }
  EXPECT_EQ(server_->usage().closed_for_flood, 0U);
}

}  // namespace
}  // namespace kube::serve
