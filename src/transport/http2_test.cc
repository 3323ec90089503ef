// What is special about HTTP/2: windows, limits of streams, early answers, refusals; against servers of a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "kube/base/thread.h"
#include "kube/transport/http_transport.h"
#include "kube/transport/transport_errors.h"
#include "transport/http_transport_test_util.h"

namespace kube::curl_test {
namespace {

namespace reason = transport_reason;
using serve::HttpExchange;
using Exchange = std::shared_ptr<HttpExchange>;
using ::testing::HasSubstr;

constexpr int kData = 0;
constexpr int kReset = 3;
constexpr int kWindowUpdate = 8;
constexpr std::uint32_t kFirstWindow = 65535;  // of a server that says nothing else

HttpRequest Post(std::string body) {
  HttpRequest request = Get("/");
  request.method = "POST";
  request.body = std::move(body);
  return request;
}

// ---- Windows ----

TEST(Http2WindowTest, ABodyWaitsForTheServersWindows) {
  std::string body(200'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 + i / 1000);
  std::string got;
  std::size_t at_first = 0;
  Http2Server server([&](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t id = http.NextRequest();
    std::uint32_t stream = 0;
    while (got.size() < kFirstWindow && http.NextFrame(kData, stream)) got += http.payload();
    at_first = got.size();
    // One of the two is not enough.
    (void)http.Send(H2WindowUpdate(id, 1'000'000) + H2WindowUpdate(0, 1000));
    while (got.size() < kFirstWindow + 1000 && http.NextFrame(kData, stream)) got += http.payload();
    (void)http.Send(H2WindowUpdate(0, 1'000'000));
    while ((http.flags() & 1U) == 0 && http.NextFrame(kData, stream)) got += http.payload();
    (void)http.Send(H2Headers(id, false) + H2Frame(kData, 1, id, "thanks"));
    peer.ReadToEnd();
  });
  const Result<HttpResponse> answer = TransportTo(server.port())->RoundTrip(Patient(), Post(body));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->body, "thanks");
  EXPECT_EQ(at_first, kFirstWindow);
  EXPECT_TRUE(got == body);
}

// A stream may be ahead of its reader by stream_buffer, and not by a byte more; reading releases it.
TEST(Http2WindowTest, AStalledStreamIsBoundedByItsBuffer) {
  constexpr std::size_t kBuffer = 64 * 1024;
  std::uint32_t window = 0;
  Handover<std::uint32_t> given_back;
  Http2Server server([&](H2Peer& http, RawPeer&, int) {
    std::uint32_t stream = 0;
    if (!http.NextFrame(4, stream)) return;
    const std::string settings = http.payload();
    for (std::size_t i = 0; i + 6 <= settings.size(); i += 6) {
      if (settings[i + 1] == 4) window = H2Number(std::string_view(settings).substr(i + 2));
    }
    (void)http.Send(H2Frame(4, 1, 0, ""));
    const std::uint32_t id = http.NextRequest();
    std::string all = H2Headers(id, false);
    for (std::size_t sent = 0; sent < kBuffer; sent += 16 * 1024) all += H2Frame(kData, 0, id, std::string(16 * 1024, 'x'));
    (void)http.Send(all);
    while (http.NextFrame(kWindowUpdate, stream)) {
      if (stream != id) continue;
      given_back.Put(H2Number(http.payload()));
      (void)http.Send(H2Frame(kData, 1, id, "end"));
    }
  });
  HttpTransportOptions options;
  options.stream_buffer = kBuffer;
  const auto transport = TransportTo(server.port(), true, options);
  const Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/"));
  ASSERT_TRUE(watch) << watch.error().ToString();
  EXPECT_TRUE(Eventually([&] { return transport->stats().paused == 1; }));
  EXPECT_EQ(window, kBuffer);
  std::string buffer(kBuffer / 2, '\0');
  EXPECT_EQ(watch->stream->Read(Patient(), buffer.data(), buffer.size()).value(), kBuffer / 2);
  EXPECT_EQ(given_back.Take(), kBuffer / 2);
  EXPECT_TRUE(Eventually([&] { return transport->stats().paused == 0; }));
  EXPECT_EQ(ReadAll(Patient(), *watch->stream).value().size(), kBuffer / 2 + 3);
}

// An answer that is read whole is not held back by the window of streams.
TEST(Http2WindowTest, ALargeAnswerGetsALargeWindow) {
  std::uint32_t more = 0;
  constexpr std::size_t kPieces = 40;
  Http2Server server([&](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t id = http.NextRequest();
    (void)http.Send(H2Headers(id, false));
    const std::string piece = H2Frame(kData, 0, id, std::string(16 * 1024, 'x'));
    for (int i = 0; i < 10; ++i) (void)http.Send(piece);
    std::uint32_t stream = 0;
    while (stream != id && http.NextFrame(kWindowUpdate, stream)) more = H2Number(http.payload());
    for (std::size_t i = 10; i < kPieces; ++i) (void)http.Send(piece);
    (void)http.Send(H2Frame(kData, 1, id, ""));
    peer.ReadToEnd();
  });
  const Result<HttpResponse> answer = TransportTo(server.port())->RoundTrip(Patient(), Get("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->body.size(), kPieces * 16 * 1024);
  EXPECT_GE(more, 16U << 20U);
}

// ---- Limits of streams ----

TEST(Http2LimitTest, RequestsWaitForAStreamOfTheServersLimit) {
  Handover<std::uint32_t> arrived;
  Handover<bool> go;
  Http2Server server(
      [&](H2Peer& http, RawPeer& peer, int) {
        for (int i = 0; i < 2; ++i) {
          const std::uint32_t id = http.NextRequest();
          arrived.Put(id);
          (void)go.Take();
          (void)http.Send(H2Headers(id, true));
        }
        peer.ReadToEnd();
      },
      H2Setting(3, 1));
  const auto transport = TransportTo(server.port());
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back([&] { good += transport->RoundTrip(Patient(), Get("/")) ? 1 : 0; });
  EXPECT_EQ(arrived.Take(), 1U);
  EXPECT_TRUE(Eventually([&] { return transport->stats().in_flight == 2; }));
  go.Put(true);
  EXPECT_EQ(arrived.Take(), 3U);
  go.Put(true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 2);
  EXPECT_EQ(server.accepted(), 1);
}

TEST(Http2LimitTest, AServerThatRefusesEverythingIsAnErrorAtSomeTime) {
  Http2Server server([](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t id = http.NextRequest();
    (void)http.Send(H2Reset(id, 7));
    peer.ReadToEnd();
  });
  const Result<HttpResponse> answer = TransportTo(server.port())->RoundTrip(Patient(), Post("{}"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason(), reason::kConnectionReset) << answer.error().ToString();
  EXPECT_EQ(server.accepted(), 5);
}

// A connection that ends without an answer: what can be repeated is sent again if the connection had been used before.
TEST(Http2LimitTest, OnlyWhatCanBeRepeatedIsSentAgainWhenAConnectionEnds) {
  std::atomic<int> requests = 0;
  Http2Server server([&](H2Peer& http, RawPeer& peer, int number) {
    std::uint32_t id = http.NextRequest();
    ++requests;
    (void)http.Send(H2Headers(id, true));
    if ((id = http.NextRequest()) == 0) return;
    ++requests;
    if (number == 2) (void)http.Send(H2Headers(id, true));
    if (number == 2) peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port());
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));  // its connection ends, the next one answers
  EXPECT_EQ(requests, 3);
  const Result<HttpResponse> post = transport->RoundTrip(Patient(), Post("{}"));
  ASSERT_FALSE(post);
  EXPECT_EQ(post.error().reason(), reason::kUnexpectedEof) << post.error().ToString();
  EXPECT_EQ(requests, 4);
}

// ---- Answers ----

// Go's server: an answer, and a reset without an error while the body is still being sent.
TEST(Http2AnswerTest, AnEarlyAnswerAndItsResetWhileABodyIsSent) {
  Http2Server server([](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t id = http.NextRequest();
    std::uint32_t stream = 0;
    (void)http.NextFrame(kData, stream);  // it is in the middle of its body, and waits for a window
    (void)http.Send(H2Headers(id, false) + H2Frame(kData, 1, id, "no") + H2Reset(id, 0));
    const std::uint32_t next = http.NextRequest();
    (void)http.Send(H2Headers(next, false) + H2Frame(kData, 1, next, "yes"));
    peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port());
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Post(std::string(1'000'000, 'x')));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->body, "no");
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "yes");
  EXPECT_EQ(server.accepted(), 1);
}

TEST(Http2AnswerTest, TheRestOfABodyIsNotSentAfterTheAnswer) {
  Handover<std::uint32_t> reset;
  Http2Server server([&](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t id = http.NextRequest();
    (void)http.Send(H2Headers(id, true));
    std::uint32_t stream = 0;
    if (http.NextFrame(kReset, stream)) reset.Put(stream);
    peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port());
  ASSERT_TRUE(transport->RoundTrip(Patient(), Post(std::string(1'000'000, 'x'))));
  EXPECT_EQ(reset.Take(), 1U);
}

TEST(Http2AnswerTest, InformationalAnswersAndTrailersAreSkipped) {
  Http2Server server([](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t id = http.NextRequest();
    const std::string early(
        "\x08\x03"
        "103\x00\x01"
        "a\x01"
        "1",
        10);
    const std::string trailer(
        "\x00\x01"
        "b\x01"
        "2",
        5);
    (void)http.Send(H2Frame(1, 4, id, early) + H2Headers(id, false) + H2Frame(kData, 0, id, "text") + H2Frame(1, 5, id, trailer));
    peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port());
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->code, 200);
  EXPECT_EQ(answer->body, "text");
  EXPECT_TRUE(answer->headers.empty());
}

TEST(Http2AnswerTest, AHeaderThatIsTooLargeEndsOneRequest) {
  HttpTransportOptions options;
  options.max_header_bytes = 20'000;
  const auto server = StartServer([](const Exchange& exchange) {
    serve::HttpResponse response{.body = "ok"};
    if (exchange->request().path == "/large") {
      for (int i = 0; i < 40; ++i) response.headers.Add("x-" + std::to_string(i), std::string(1000, 'x'));
    }
    exchange->Reply(std::move(response));
  });
  const auto transport = TransportTo(server->port(), true, options);
  const Result<HttpResponse> large = transport->RoundTrip(Patient(), Get("/large"));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().reason(), reason::kTooLarge) << large.error().ToString();
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "ok");
  EXPECT_EQ(transport->stats().connections_opened, 1U);
}

// A length that is not the body's.
TEST(Http2AnswerTest, AnAnswerThatIsNotAsLongAsItSaysIsAnError) {
  Http2Server server([](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t id = http.NextRequest();
    (void)http.Send(H2Frame(1, 4, id,
                            std::string("\x88\x0f\x0d\x02"
                                        "10",
                                        6)) +
                    H2Frame(kData, 1, id, "half"));
    peer.ReadToEnd();
  });
  const Result<HttpResponse> answer = TransportTo(server.port())->RoundTrip(Patient(), Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason(), reason::kProtocol) << answer.error().ToString();
}

// ---- Compression ----

std::string Gzip(std::string text) {
  z_stream z{};
  if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&z, text.size()) + 32, '\0');
  z.next_in = reinterpret_cast<Bytef*>(text.data());
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  (void)deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  (void)deflateEnd(&z);
  return out;
}

TEST(Http2GzipTest, StreamsAndWholeAnswersAreUndone) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7) + "\n";
  // Two members, as a proxy may put them together.
  const std::string packed = Gzip(text) + Gzip("end");
  const auto server = StartServer([&](const Exchange& exchange) {
    const std::string& path = exchange->request().path;
    std::string body = path == "/rubbish" ? "this is not gzip at all" : packed;
    if (path == "/cut") body.resize(body.size() / 2);
    exchange->Reply({.headers = {{"content-encoding", "gzip"}}, .body = std::move(body)});
  });
  HttpTransportOptions options;
  options.max_response = text.size() + 3;
  const auto transport = TransportTo(server->port(), true, options);
  EXPECT_TRUE(transport->RoundTrip(Patient(), Get("/")).value().body == text + "end");
  const Result<HttpResponse> stream = transport->RoundTrip(Patient(), Streaming("/"));
  ASSERT_TRUE(stream);
  EXPECT_FALSE(stream->headers.Has("Content-Encoding"));
  EXPECT_TRUE(ReadAll(Patient(), *stream->stream).value() == text + "end");
  for (const std::string path : {"/rubbish", "/cut"}) {
    const Result<HttpResponse> whole = transport->RoundTrip(Patient(), Get(path));
    ASSERT_FALSE(whole) << path;
    EXPECT_EQ(whole.error().reason(), reason::kProtocol);
    EXPECT_THAT(whole.error().ToString(), HasSubstr("compressed"));
    const Result<HttpResponse> part = transport->RoundTrip(Patient(), Streaming(path));
    ASSERT_TRUE(part);
    EXPECT_EQ(ReadAll(Patient(), *part->stream).error().reason(), reason::kProtocol) << path;
  }
  options.max_response = text.size();
  const Result<HttpResponse> large = TransportTo(server->port(), true, options)->RoundTrip(Patient(), Get("/"));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().reason(), reason::kTooLarge);
}

// ---- TLS inside of TLS ----

// Copies bytes both ways, by one thread: `peer` speaks TLS.
void SpliceTls(RawPeer& peer, int to) {
  std::string chunk(65536, '\0');
  for (;;) {
    pollfd fds[2] = {{peer.fd(), POLLIN, 0}, {to, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0) break;
    if (fds[0].revents != 0) {
      const std::string some = peer.ReadSome();
      if (some.empty() || send(to, some.data(), some.size(), MSG_NOSIGNAL) <= 0) break;
    }
    if (fds[1].revents != 0) {
      const ssize_t got = recv(to, chunk.data(), chunk.size(), 0);
      if (got <= 0 || !peer.Send(std::string_view(chunk.data(), static_cast<std::size_t>(got)))) break;
    }
  }
  close(to);
}

TEST(Http2ProxyTest, AnHttpsProxyTunnelsHttp2) {
  const auto server = StartServer([](const Exchange& exchange) { exchange->Reply({.body = exchange->request().body}); });
  RawServer proxy(
      [&](RawPeer& peer, int) {
        (void)peer.ReadUntil("\r\n\r\n");
        (void)peer.Send("HTTP/1.1 200 Connection established\r\n\r\n");
        SpliceTls(peer, ConnectTo(server->port()));
      },
      &Pki().server, "http/1.1");
  HttpTransportOptions options;
  options.proxy_url = "https://127.0.0.1:" + std::to_string(proxy.port());
  const auto transport = TransportTo(server->port(), true, options);
  for (const std::size_t size : {10U, 1'000'000U, 20U}) {
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Post(std::string(size, 'x')));
    ASSERT_TRUE(answer) << answer.error().ToString();
    EXPECT_EQ(answer->http_major, 2);
    EXPECT_EQ(answer->body.size(), size);
  }
  EXPECT_EQ(proxy.accepted(), 1);
}

TEST(Http2ProxyTest, LargeBodiesAtOnceShareAConnection) {
  const auto server =
      StartServer([](const Exchange& exchange) { exchange->Reply({.body = std::to_string(exchange->request().body.size())}); });
  RawServer proxy([&](RawPeer& peer, int) {
    (void)peer.ReadUntil("\r\n\r\n");
    (void)peer.Send("HTTP/1.1 200 Connection established\r\n\r\n");
    Splice(peer, ConnectTo(server->port()));
  });
  HttpTransportOptions options;
  options.proxy_url = "http://127.0.0.1:" + std::to_string(proxy.port());
  const auto transport = TransportTo(server->port(), true, options);
  constexpr std::size_t kSize = 2'000'000;
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back("sender", [&] {
        for (int n = 0; n < 3; ++n) {
          const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Post(std::string(kSize, 'x')));
          ASSERT_TRUE(answer) << answer.error().ToString();
          EXPECT_EQ(answer->body, std::to_string(kSize));
        }
      });
    }
  }
  EXPECT_EQ(transport->stats().connections_opened, 1U);
}

}  // namespace
}  // namespace kube::curl_test
