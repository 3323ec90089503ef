// The network transport against a server that behaves: requests, streams, connections, cancellation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "kube/base/fake_clock.h"
#include "kube/transport/http_transport.h"
#include "kube/transport/transport_errors.h"
#include "transport/http_transport_test_util.h"

namespace kube::curl_test {
namespace {

serve::HttpServerOptions WithLimits(const std::function<void(serve::HttpLimits&)>& change) {
  serve::HttpServerOptions options{.limits = serve::HttpLimits::ForApi()};
  change(options.limits);
  return options;
}

using serve::HttpExchange;
using Exchange = std::shared_ptr<HttpExchange>;
using ::testing::HasSubstr;
using ::testing::Not;

void Echo(const Exchange& exchange) {
  const serve::HttpRequest& request = exchange->request();
  serve::HttpResponse response;
  response.headers = {{"content-type", "text/plain"}, {"x-method", request.method}, {"x-major", std::to_string(request.http_major)}};
  response.headers.Add("x-target", request.path + (request.query.empty() ? "" : "?" + request.query));
  response.headers.Add("x-host", std::string(request.headers.Get(request.http_major == 2 ? ":authority" : "host")));
  response.body = request.body;
  exchange->Reply(std::move(response));
}

// ---- Requests ----

TEST(HttpTransportTest, SendsMethodTargetHeadersAndBodyAsTheyAre) {
  Handover<serve::HttpRequest> seen;
  const auto server = StartServer([&](const Exchange& exchange) {
    seen.Put(exchange->request());
    exchange->Reply({.status = 201, .headers = {{"x-answer", "yes"}}, .body = "made"});
  });
  const auto transport = TransportTo(server->port());
  HttpRequest request;
  request.method = "PATCH";
  request.target = "/a/../b//c?x=%2F&y=a%20b|&z={}";
  request.headers = {{"Content-Type", "application/json"}, {"X-Two", "1"}, {"X-Two", "2"}, {"X-Empty", ""}};
  request.body = std::string(100, 'b') + '\0' + "rest";
  const std::string body = request.body;
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), request);
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->code, 201);
  EXPECT_EQ(answer->http_major, 2);
  EXPECT_EQ(answer->headers.Get("X-Answer"), "yes");
  EXPECT_EQ(answer->body, "made");
  EXPECT_EQ(answer->stream, nullptr);
  const serve::HttpRequest got = seen.Take();
  EXPECT_EQ(got.method, "PATCH");
  EXPECT_EQ(got.path, "/a/../b//c");
  EXPECT_EQ(got.query, "x=%2F&y=a%20b|&z={}");
  EXPECT_EQ(got.body, body);
  EXPECT_EQ(got.headers.Get("content-type"), "application/json");
  EXPECT_EQ(got.headers.GetAll("x-two"), "1, 2");
  EXPECT_EQ(got.headers.Get("expect"), "");
  EXPECT_EQ(got.headers.Get("accept"), "");
}

TEST(HttpTransportTest, HandlesAreUsedAgainForOtherMethodsAndHeaders) {
  const auto server = StartServer(Echo);
  const auto transport = TransportTo(server->port());
  const std::vector<std::pair<std::string, std::string>> all = {
      {"GET", ""},  {"POST", "a"}, {"HEAD", ""},   {"PUT", "b"},  {"DELETE", ""}, {"DELETE", "c"}, {"OPTIONS", ""},
      {"POST", ""}, {"GET", ""},   {"PATCH", "d"}, {"POST", "e"}, {"GET", "f"},   {"GET", ""}};
  for (const auto& [method, body] : all) {
    HttpRequest request = Get("/" + method);
    request.method = method;
    request.body = body;
    if (!body.empty()) request.headers.Add("Content-Type", "text/plain");
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), request);
    ASSERT_TRUE(answer) << method << " " << answer.error().ToString();
    EXPECT_EQ(answer->headers.Get("x-method"), method);
    EXPECT_EQ(answer->headers.Get("x-target"), "/" + method);
    EXPECT_EQ(answer->body, body);
  }
  EXPECT_EQ(transport->stats().connections_opened, 1U);
  EXPECT_EQ(transport->stats().requests, all.size());
}

// Later requests of a connection refer to the headers of earlier ones; the server sees no difference.
TEST(HttpTransportTest, HeadersAreTheSameOnANewAndOnAUsedConnection) {
  Handover<serve::HttpRequest> seen;
  const auto server = StartServer([&](const Exchange& exchange) {
    seen.Put(exchange->request());
    exchange->Reply({});
  });
  TlsMaterial named = TrustingPki();
  named.server_name = "kubernetes.test";
  for (const TlsMaterial& material : {TrustingPki(), named}) {
    HttpTransportOptions options;
    options.tls = std::make_shared<FixedTls>(material);
    const auto transport = TransportTo(server->port(), true, options);
    for (const std::string method : {"GET", "POST", "DELETE"}) {
      HttpRequest request = Get("/api/v1/pods?limit=1");
      request.method = method;
      request.headers = {{"Accept", "application/json;q=0.9, */*"},
                         {"Authorization", "Bearer " + std::string(1200, 't')},
                         {"User-Agent", "test (linux/amd64)"},
                         {"Impersonate-Group", "a"},
                         {"Impersonate-Group", "b"},
                         {"X-Empty", ""}};
      if (method == "POST") {
        request.headers.Add("Content-Type", "application/json");
        request.body = "{}";
      }
      std::vector<std::string> texts;
      for (int i = 0; i < 3; ++i) {
        const Result<HttpResponse> answer = transport->RoundTrip(Patient(), request);
        ASSERT_TRUE(answer) << answer.error().ToString();
        const serve::HttpRequest got = seen.Take();
        std::vector<std::string> lines;
        for (const serve::HttpHeader& header : got.headers) lines.push_back(header.name + ": " + header.value);
        std::sort(lines.begin(), lines.end());
        std::string text = got.method + " " + got.path + "?" + got.query + " " + got.body;
        for (const std::string& line : lines) text += "\n" + line;
        texts.push_back(text);
      }
      EXPECT_EQ(texts[0], texts[1]);
      EXPECT_EQ(texts[0], texts[2]);
      EXPECT_THAT(texts[2], HasSubstr("\nauthorization: Bearer ttt"));
      EXPECT_THAT(texts[2], HasSubstr("\nimpersonate-group: a\nimpersonate-group: b"));
      EXPECT_THAT(texts[2], Not(HasSubstr("keep-alive")));
    }
  }
}

TEST(HttpTransportTest, APathOfTheBaseUrlComesFirst) {
  const auto server = StartServer(Echo);
  HttpTransportOptions options;
  options.base_url = "https://localhost:" + std::to_string(server->port()) + "/k8s/clusters/c-1/";
  const auto transport = TransportTo(server->port(), true, options);
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/api/v1/pods?limit=1"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->headers.Get("x-target"), "/k8s/clusters/c-1/api/v1/pods?limit=1");
}

TEST(HttpTransportTest, AnAnswerOfAnyCodeIsNoErrorAndRedirectsAreNotFollowed) {
  const auto server = StartServer([](const Exchange& exchange) {
    exchange->Reply({.status = std::stoi(exchange->request().path.substr(1)), .headers = {{"location", "/200"}}, .body = "text"});
  });
  const auto transport = TransportTo(server->port());
  for (const int code : {200, 302, 307, 401, 404, 409, 429, 500, 503}) {
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/" + std::to_string(code)));
    ASSERT_TRUE(answer) << answer.error().ToString();
    EXPECT_EQ(answer->code, code);
    EXPECT_EQ(answer->body, "text");
  }
}

TEST(HttpTransportTest, RefusesWhatWouldBreakOutOfAHeader) {
  const auto server = StartServer(Echo);
  const auto transport = TransportTo(server->port());
  HttpRequest header = Get("/");
  header.headers.Add("X-User", "a\r\nX-Admin: yes");
  HttpRequest name = Get("/");
  name.headers.Add("X User:", "a");
  HttpRequest method = Get("/");
  method.method = "GET / HTTP/1.1\r\nX:";
  for (const HttpRequest& request : {header, name, method, Get("/a b"), Get("/a\r\nX: y"), Get("/a#b"), Get("api"), Get("")}) {
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), request);
    ASSERT_FALSE(answer) << request.target;
    EXPECT_EQ(answer.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(answer.error().ToString(), Not(HasSubstr("X-Admin")));
  }
  EXPECT_EQ(transport->stats().requests, 0U);
}

TEST(HttpTransportTest, LargeBodiesGoBothWays) {
  const auto server = StartServer(Echo, true, WithLimits([](serve::HttpLimits& limits) { limits.max_body_bytes = std::size_t{64} << 20; }));
  const auto transport = TransportTo(server->port());
  HttpRequest request = Get("/");
  request.method = "POST";
  request.body.resize(std::size_t{8} << 20);
  for (std::size_t i = 0; i < request.body.size(); ++i) request.body[i] = static_cast<char>(i * 31 + i / 4096);
  const std::string body = request.body;
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), request);
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_TRUE(answer->body == body);
}

TEST(HttpTransportTest, PlainHttpIsHttp11AndUsesItsConnectionAgain) {
  const auto server = StartServer(Echo, false);
  const auto transport = TransportTo(server->port(), false);
  for (int i = 0; i < 5; ++i) {
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/x"));
    ASSERT_TRUE(answer) << answer.error().ToString();
    EXPECT_EQ(answer->http_major, 1);
    EXPECT_EQ(answer->headers.Get("x-host"), "127.0.0.1:" + std::to_string(server->port()));
  }
  EXPECT_EQ(transport->stats().connections_opened, 1U);
  EXPECT_EQ(server->connections(), 1U);
}

TEST(Contract12Transport, Http2UnlessDisabled) {
  const auto server = StartServer(Echo);
  HttpTransportOptions options;
  options.disable_http2 = true;
  EXPECT_EQ(TransportTo(server->port())->RoundTrip(Patient(), Get("/")).value().http_major, 2);
  EXPECT_EQ(TransportTo(server->port(), true, options)->RoundTrip(Patient(), Get("/")).value().http_major, 1);
}

TEST(Contract12Transport, FallsBackToHttp11) {
  RawServer server(
      [](RawPeer& peer, int) {
        while (!peer.ReadUntil("\r\n\r\n").empty()) (void)peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      },
      &Pki().server, "http/1.1");
  const auto transport = TransportTo(server.port());
  for (int i = 0; i < 3; ++i) {
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
    ASSERT_TRUE(answer) << answer.error().ToString();
    EXPECT_EQ(answer->http_major, 1);
    EXPECT_EQ(answer->body, "ok");
  }
  EXPECT_EQ(server.accepted(), 2);  // the first one only told what the server speaks
  EXPECT_EQ(transport->stats().connections_opened, 1U);
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

std::unique_ptr<serve::HttpServer> GzipServer(Handover<std::string>& asked) {
  return StartServer([&](const Exchange& exchange) {
    const std::string wanted(exchange->request().headers.Get("accept-encoding"));
    asked.Put(wanted.empty() ? "-" : wanted);
    if (wanted.find("gzip") == std::string::npos) return exchange->Reply({.body = "plain"});
    exchange->Reply({.headers = {{"content-encoding", "gzip"}}, .body = Gzip("hello, hello")});
  });
}

TEST(Contract12Transport, CompressionIsOnUnlessDisabled) {
  Handover<std::string> asked;
  const auto server = GzipServer(asked);
  const Result<HttpResponse> answer = TransportTo(server->port())->RoundTrip(Patient(), Get("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(asked.Take(), "gzip");
  EXPECT_EQ(answer->body, "hello, hello");
  EXPECT_FALSE(answer->headers.Has("Content-Encoding"));
  EXPECT_FALSE(answer->headers.Has("Content-Length"));

  const auto twice = TransportTo(server->port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(twice->RoundTrip(Patient(), Get("/")).value().body, "hello, hello");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(asked.Take(), "gzip");

  HttpTransportOptions options;
  options.disable_compression = true;
  const auto plain = TransportTo(server->port(), true, options);
  EXPECT_EQ(plain->RoundTrip(Patient(), Get("/")).value().body, "plain");
  EXPECT_EQ(asked.Take(), "-");
  // A caller that asks for it gets it as it comes.
  HttpRequest wants = Get("/");
  wants.headers.Add("Accept-Encoding", "gzip");
  for (const auto& transport : {plain, twice}) {
    const Result<HttpResponse> raw = transport->RoundTrip(Patient(), wants);
    ASSERT_TRUE(raw) << raw.error().ToString();
    EXPECT_EQ(raw->body, Gzip("hello, hello"));
    EXPECT_EQ(raw->headers.Get("Content-Encoding"), "gzip");
    EXPECT_EQ(asked.Take(), "gzip");
  }
}

// ---- One connection for all ----

TEST(Contract9Connections, RequestsOneAfterTheOtherShareAConnection) {
  const auto server = StartServer(Echo);
  const auto transport = TransportTo(server->port());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  EXPECT_EQ(transport->stats().connections_opened, 1U);
  EXPECT_EQ(transport->stats().connections_open, 1U);
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_EQ(transport->stats().in_flight, 0U);
}

TEST(Contract9Connections, AHundredRequestsAndTwentyStreamsShareOneConnection) {
  constexpr int kRequests = 100;
  constexpr int kStreams = 20;
  Mutex mu;
  std::vector<Exchange> held;
  std::vector<Exchange> streams;
  bool released = false;
  const auto server = StartServer(
      [&](const Exchange& exchange) {
        MutexLock lock(mu);
        if (exchange->request().path == "/watch") {
          exchange->Start(200, {});
          streams.push_back(exchange);
        } else if (released) {
          exchange->Reply({.body = "got"});
        } else {
          held.push_back(exchange);
        }
      },
      true, WithLimits([](serve::HttpLimits& limits) { limits.max_streams = 100; }));
  const auto transport = TransportTo(server->port());
  std::vector<std::unique_ptr<BodyStream>> bodies;
  for (int i = 0; i < kStreams; ++i) {
    Result<HttpResponse> answer = transport->RoundTrip(Patient(), Streaming("/watch"));
    ASSERT_TRUE(answer) << answer.error().ToString();
    bodies.push_back(std::move(answer->stream));
  }
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kRequests; ++i) {
    threads.emplace_back([&] {
      const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/get"));
      if (answer && answer->body == "got") ++good;
    });
  }
  // As many are there at once as the server takes on one connection; the others wait for them, and not for another connection.
  constexpr std::size_t kAtOnce = 100 - kStreams;
  EXPECT_TRUE(Eventually([&] {
    MutexLock lock(mu);
    return held.size() == kAtOnce && transport->stats().in_flight == kRequests + kStreams;
  }));
  EXPECT_EQ(server->connections(), 1U);
  EXPECT_EQ(transport->stats().connections_opened, 1U);
  {
    MutexLock lock(mu);
    released = true;
    for (const Exchange& exchange : held) exchange->Reply({.body = "got"});
    for (std::size_t i = 0; i < streams.size(); ++i) {
      (void)streams[i]->Write(std::make_shared<std::string>("event"));
      streams[i]->Finish();
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kRequests);
  for (const auto& body : bodies) EXPECT_EQ(ReadAll(Patient(), *body).value(), "event");
  EXPECT_EQ(server->connections(), 1U);
}

TEST(Contract9Connections, Http11GetsAConnectionForEachRequestAtATime) {
  std::atomic<int> waiting = 0;
  Mutex mu;
  std::vector<Exchange> held;
  const auto server = StartServer(
      [&](const Exchange& exchange) {
        MutexLock lock(mu);
        held.push_back(exchange);
        ++waiting;
      },
      false);
  const auto transport = TransportTo(server->port(), false);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { good += transport->RoundTrip(Patient(), Get("/")) ? 1 : 0; });
  EXPECT_TRUE(Eventually([&] { return waiting == 8; }));
  {
    MutexLock lock(mu);
    for (const Exchange& exchange : held) exchange->Reply({.body = "x"});
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(transport->stats().connections_opened, 8U);
}

TEST(Contract9Connections, ManyThreadsManyRequests) {
  const auto server = StartServer(Echo);
  const auto transport = TransportTo(server->port());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        HttpRequest request = Get("/" + std::to_string(t) + "/" + std::to_string(i));
        if (i % 3 == 1) {
          request.method = "POST";
          request.body = std::string(static_cast<std::size_t>(i) * 100, static_cast<char>('a' + t));
        }
        const std::string body = request.body;
        const std::string target = request.target;
        const Result<HttpResponse> answer = transport->RoundTrip(Patient(), std::move(request));
        if (!answer || answer->body != body || answer->headers.Get("x-target") != target) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(transport->stats().connections_opened, 1U);
}

// The server's limit of streams is kept: further requests use another connection.
TEST(Contract9Connections, MoreStreamsThanTheServerAllowsOpenAnotherConnection) {
  std::atomic<int> streams = 0;
  const auto server = StartServer(
      [&](const Exchange& exchange) {
        if (exchange->request().path == "/get") return exchange->Reply({.body = "got"});
        exchange->Start(200, {});
        ++streams;
        exchange->OnClose([exchange] {});
      },
      true, WithLimits([](serve::HttpLimits& limits) { limits.max_streams = 10; }));
  const auto transport = TransportTo(server->port());
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/get")));
  std::vector<std::unique_ptr<BodyStream>> bodies;
  for (int i = 0; i < 15; ++i) bodies.push_back(std::move(transport->RoundTrip(Patient(), Streaming("/watch")).value().stream));
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/get")).value().body, "got");
  EXPECT_EQ(transport->stats().connections_opened, 2U);
}

TEST(HttpTransportTest, CloseConnectionsLetsNoneBeUsedAgain) {
  Handover<Exchange> started;
  const auto server = StartServer([&](const Exchange& exchange) {
    if (exchange->request().path != "/watch") return Echo(exchange);
    exchange->Start(200, {});
    started.Put(exchange);
  });
  const auto transport = TransportTo(server->port());
  const Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/watch"));
  ASSERT_TRUE(watch);
  const Exchange exchange = started.Take();
  transport->CloseConnections();
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  EXPECT_EQ(transport->stats().connections_opened, 2U);
  // The stream continues over the old connection, which ends with it.
  (void)exchange->Write(std::make_shared<std::string>("event"));
  exchange->Finish();
  EXPECT_EQ(ReadAll(Patient(), *watch->stream).value(), "event");
  EXPECT_TRUE(Eventually([&] { return server->connections() == 1; }));
  EXPECT_TRUE(Eventually([&] { return transport->stats().connections_open == 1; }));
}

// ---- Streams ----

TEST(BodyStreamTest, GivesBytesAsTheyComeAndThenTheEnd) {
  Handover<Exchange> started;
  const auto server = StartServer([&](const Exchange& exchange) {
    exchange->Start(200, {{"x-head", "first"}});
    started.Put(exchange);
  });
  const auto transport = TransportTo(server->port());
  Result<HttpResponse> answer = transport->RoundTrip(Patient(), Streaming("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->headers.Get("x-head"), "first");
  const Exchange exchange = started.Take();
  for (const std::string text : {"one", "two", "three"}) {
    (void)exchange->Write(std::make_shared<std::string>(text));
    char buffer[64];
    const Result<std::size_t> got = answer->stream->Read(Patient(), buffer, sizeof buffer);
    ASSERT_TRUE(got);
    EXPECT_EQ(std::string(buffer, *got), text);
  }
  exchange->Finish();
  char buffer[64];
  EXPECT_EQ(answer->stream->Read(Patient(), buffer, sizeof buffer).value(), 0U);
  EXPECT_EQ(answer->stream->Read(Patient(), buffer, sizeof buffer).value(), 0U);
  EXPECT_TRUE(Eventually([&] { return transport->stats().in_flight == 0; }));
}

TEST(BodyStreamTest, ALargeOneComesWholeThroughASmallBuffer) {
  const auto text = std::make_shared<std::string>(std::size_t{12} << 20, '\0');
  for (std::size_t i = 0; i < text->size(); ++i) (*text)[i] = static_cast<char>(i * 7 + i / 1000);
  for (const bool tls : {true, false}) {
    const auto server = StartServer(
        [&](const Exchange& exchange) {
          exchange->Start(200, {});
          (void)exchange->Write(text);
          exchange->Finish();
        },
        tls);
    HttpTransportOptions options;
    options.stream_buffer = 32 * 1024;
    const auto transport = TransportTo(server->port(), tls, options);
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Streaming("/"));
    ASSERT_TRUE(answer);
    const Result<std::string> body = ReadAll(Patient(), *answer->stream);
    ASSERT_TRUE(body) << body.error().ToString();
    EXPECT_TRUE(*body == *text) << tls;
  }
}

// A reader that does not read blocks only its own sender; unread bytes stay bounded.
TEST(Contract9Streams, AStalledStreamDelaysNobodyAndIsHeldBack) {
  const auto text = std::make_shared<std::string>(std::size_t{1} << 20, 'x');
  constexpr int kPieces = 128;
  Handover<Exchange> started;
  const auto server = StartServer([&](const Exchange& exchange) {
    if (exchange->request().path != "/watch") return Echo(exchange);
    exchange->Start(200, {});
    for (int i = 0; i < kPieces; ++i) (void)exchange->Write(text);
    exchange->Finish();
    started.Put(exchange);
  });
  const auto transport = TransportTo(server->port());
  Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/watch"));
  ASSERT_TRUE(watch);
  const Exchange exchange = started.Take();
  EXPECT_TRUE(Eventually([&] { return transport->stats().paused == 1; }));
  for (int i = 0; i < 100; ++i) {
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
    ASSERT_TRUE(answer) << answer.error().ToString();
  }
  EXPECT_EQ(transport->stats().connections_opened, 1U);
  // The window of a stream is as large as its buffer: the rest waits on the server.
  EXPECT_GE(exchange->buffered_bytes() + HttpTransportOptions().stream_buffer, kPieces * text->size());
  std::size_t total = 0;
  std::string buffer(1 << 20, '\0');
  for (;;) {
    const Result<std::size_t> got = watch->stream->Read(Patient(), buffer.data(), buffer.size());
    ASSERT_TRUE(got) << got.error().ToString();
    if (*got == 0) break;
    total += *got;
  }
  EXPECT_EQ(total, kPieces * text->size());
  EXPECT_EQ(transport->stats().paused, 0U);
}

TEST(Contract9Streams, Http11IsHeldBackByItsOwnConnection) {
  const auto text = std::make_shared<std::string>(std::size_t{64} << 20, 'x');
  Handover<Exchange> started;
  const auto server = StartServer(
      [&](const Exchange& exchange) {
        if (exchange->request().path != "/watch") return Echo(exchange);
        exchange->Start(200, {});
        (void)exchange->Write(text);
        exchange->Finish();
        started.Put(exchange);
      },
      false);
  const auto transport = TransportTo(server->port(), false);
  Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/watch"));
  ASSERT_TRUE(watch);
  const Exchange exchange = started.Take();
  EXPECT_TRUE(Eventually([&] { return transport->stats().paused == 1; }));
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  EXPECT_GE(exchange->buffered_bytes(), std::size_t{32} << 20);
  EXPECT_EQ(ReadAll(Patient(), *watch->stream).value().size(), text->size());
}

TEST(BodyStreamTest, CloseEndsTheTransferAndWhoWaits) {
  Handover<Exchange> started;
  Handover<bool> closed;
  const auto server = StartServer([&](const Exchange& exchange) {
    if (exchange->request().path != "/watch") return Echo(exchange);
    exchange->Start(200, {});
    exchange->OnClose([&] { closed.Put(true); });
    started.Put(exchange);
  });
  const auto transport = TransportTo(server->port());
  // Another stream on the same connection, so that it stays.
  const Result<HttpResponse> other = transport->RoundTrip(Patient(), Streaming("/watch"));
  Result<HttpResponse> answer = transport->RoundTrip(Patient(), Streaming("/watch"));
  ASSERT_TRUE(other && answer);
  std::thread reader([&] {
    char buffer[16];
    const Result<std::size_t> got = answer->stream->Read(Patient(), buffer, sizeof buffer);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind(), ErrorKind::kClosed);
  });
  answer->stream->Close();
  reader.join();
  EXPECT_TRUE(closed.Take());  // the server was notified
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().code, 200);
  EXPECT_EQ(transport->stats().connections_opened, 1U);
}

TEST(BodyStreamTest, ALastOneThatIsClosedReachesTheServerToo) {
  Handover<bool> closed;
  const auto server = StartServer([&](const Exchange& exchange) {
    exchange->Start(200, {});
    exchange->OnClose([&closed, exchange] { closed.Put(true); });
  });
  const auto transport = TransportTo(server->port());
  { const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Streaming("/watch")); }
  EXPECT_TRUE(closed.Take());
}

// ---- Cancellation and deadlines ----

TEST(HttpTransportTest, AStoppedContextEndsARequestAndTheConnectionStays) {
  Handover<Exchange> arrived;
  Handover<bool> closed;
  const auto server = StartServer([&](const Exchange& exchange) {
    if (exchange->request().path != "/slow") return Echo(exchange);
    exchange->OnClose([&] { closed.Put(true); });
    arrived.Put(exchange);
  });
  const auto transport = TransportTo(server->port());
  for (int i = 0; i < 3; ++i) {
    auto [ctx, cancel] = Patient().WithCancel();
    std::atomic<bool> returned = false;
    std::optional<Error> error;
    std::thread caller([&, context = ctx] {
      const Result<HttpResponse> answer = transport->RoundTrip(context, Get("/slow"));
      if (!answer) error = answer.error();
      returned = true;
    });
    const Exchange held = arrived.Take();
    EXPECT_FALSE(returned);
    cancel.Cancel();
    caller.join();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::kCancelled);
    EXPECT_TRUE(closed.Take());  // the server was notified
    ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  }
  EXPECT_EQ(transport->stats().connections_opened, 1U);
}

TEST(HttpTransportTest, DeadlinesAreTheContexts) {
  Handover<Exchange> arrived;
  const auto clock = std::make_shared<FakeClock>();
  const auto server = StartServer([&](const Exchange& exchange) {
    arrived.Put(exchange);
    clock->Advance(std::chrono::seconds(1));  // not before the request was sent
  });
  const auto transport = TransportTo(server->port());
  const Result<HttpResponse> answer = transport->RoundTrip(Context::Background(clock).WithTimeout(std::chrono::seconds(1)), Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind(), ErrorKind::kTimeout);
  const auto [stopped, source] = Context::Background().WithCancel();
  source.Cancel();
  EXPECT_EQ(transport->RoundTrip(stopped, Get("/")).error().kind(), ErrorKind::kCancelled);
  EXPECT_EQ(transport->stats().requests, 1U);  // the second was not sent
}

TEST(BodyStreamTest, AStoppedContextEndsOneReadAndTheStreamGoesOn) {
  Handover<Exchange> started;
  const auto server = StartServer([&](const Exchange& exchange) {
    exchange->Start(200, {});
    started.Put(exchange);
  });
  const auto transport = TransportTo(server->port());
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Streaming("/"));
  ASSERT_TRUE(answer);
  char buffer[16];
  EXPECT_EQ(answer->stream->Read(Context::Background().WithTimeout(std::chrono::milliseconds(20)), buffer, 16).error().kind(),
            ErrorKind::kTimeout);
  const Exchange exchange = started.Take();
  (void)exchange->Write(std::make_shared<std::string>("later"));
  EXPECT_EQ(std::string(buffer, answer->stream->Read(Patient(), buffer, 16).value()), "later");
}

TEST(HttpTransportTest, ATransportThatGoesEndsWhatIsInFlight) {
  Handover<Exchange> arrived;
  const auto server = StartServer([&](const Exchange& exchange) {
    if (exchange->request().path == "/watch") exchange->Start(200, {});
    arrived.Put(exchange);
  });
  auto transport = TransportTo(server->port());
  Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/watch"));
  ASSERT_TRUE(watch);
  const Exchange first = arrived.Take();
  std::optional<Error> error;
  std::thread caller([&, raw = transport.get()] {
    const Result<HttpResponse> answer = raw->RoundTrip(Patient(), Get("/slow"));
    if (!answer) error = answer.error();
  });
  const Exchange second = arrived.Take();
  transport.reset();
  caller.join();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::kClosed);
  char buffer[16];
  const Result<std::size_t> got = watch->stream->Read(Patient(), buffer, sizeof buffer);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kClosed);
  watch->stream->Close();
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
}

TEST(HttpTransportTest, SmallAnswersDoNotWaitForAnything) {
  const auto server = StartServer(Echo);
  const auto transport = TransportTo(server->port());
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  // With streams open beside it, and bodies that end with their last bytes or later.
  std::vector<std::chrono::steady_clock::duration> times;
  for (int i = 0; i < 101; ++i) {
    const auto before = std::chrono::steady_clock::now();
    ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
    times.push_back(std::chrono::steady_clock::now() - before);
  }
  // The best of them: something to wait for would show in each, a busy machine in some.
  EXPECT_LT(*std::min_element(times.begin(), times.end()), std::chrono::milliseconds(200));
}

TEST(HttpTransportTest, BaseUrlsThatCannotBeUsedAreToldSo) {
  for (const std::string url :
       {"", "127.0.0.1:6443", "ftp://host", "https://", "https://host:99999", "https://user:secret@host", "https://[::1"}) {
    const Result<std::shared_ptr<HttpTransport>> made = MakeHttpTransport({.base_url = url});
    ASSERT_FALSE(made) << url;
    EXPECT_EQ(made.error().kind(), ErrorKind::kConfig);
    EXPECT_THAT(made.error().ToString(), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(MakeHttpTransport({.base_url = "https://h", .proxy_url = "ftp://a:secret@b"}).error().kind(), ErrorKind::kConfig);
}

}  // namespace
}  // namespace kube::curl_test
