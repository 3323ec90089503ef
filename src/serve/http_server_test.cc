// What a well-behaved client sees, over all four combinations of HTTP/1.1, HTTP/2, plain and TLS.
#include "kube/serve/http_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <stdexcept>
#include <string>

#include "kube/base/thread.h"
#include "serve/serve_test_util.h"

namespace kube::serve {
namespace {

std::shared_ptr<const std::string> Text(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

struct Wire {
  bool http2 = false;
  bool tls = false;
};

class HttpServerTest : public ::testing::TestWithParam<Wire> {
 protected:
  static HttpServerOptions Options() {
    HttpServerOptions options{.limits = HttpLimits::ForApi()};
    if (GetParam().tls) options.tls = TestTls(false);
    return options;
  }
  // Whether the client can use a connection a second time; see CurlClient.
  static bool Reuses() { return GetParam().tls || !GetParam().http2; }
  static CurlRequest Request(const HttpServer& server, std::string_view path, std::string method = "GET", std::string body = "") {
    return {.url = UrlOf(server, path, GetParam().tls),
            .method = std::move(method),
            .body = std::move(body),
            .http2 = GetParam().http2,
            .ca_pem = Pki().ca_pem};
  }
};

INSTANTIATE_TEST_SUITE_P(Wires, HttpServerTest,
                         ::testing::Values(Wire{false, false}, Wire{false, true}, Wire{true, false}, Wire{true, true}),
                         [](const auto& instance) {
                           return std::string(instance.param.http2 ? "Http2" : "Http1") + (instance.param.tls ? "Tls" : "Plain");
                         });

TEST_P(HttpServerTest, AnswersWithStatusHeadersAndBody) {
  Handover<HttpRequest> seen;
  const auto server = StartServer(Options(), [&](const std::shared_ptr<HttpExchange>& exchange) {
    seen.Put(exchange->request());
    exchange->Reply({.status = 201, .headers = {{"content-type", "text/plain"}, {"x-two", "a\r\nevil: b"}}, .body = "hello\n"});
  });
  CurlRequest request = Request(*server, "/a%20b/c?limit=5&x=%2F");
  request.headers = {"X-Thing: one", "X-Thing: two"};
  const CurlAnswer answer = Fetch(request);
  ASSERT_EQ(answer.curl_code, 0) << answer.curl_error;
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "hello\n");
  EXPECT_EQ(answer.http_version, GetParam().http2 ? 2 : 1);
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain");
  EXPECT_EQ(answer.headers.at("content-length"), "6");
  EXPECT_EQ(answer.headers.count("evil"), 0U);
  EXPECT_TRUE(answer.headers.at("date").ends_with(" GMT"));
  const HttpRequest got = seen.Take();
  EXPECT_EQ(got.method, "GET");
  EXPECT_EQ(got.path, "/a%20b/c");
  EXPECT_EQ(got.query, "limit=5&x=%2F");
  EXPECT_EQ(got.headers.Get("x-thing"), "one");
  EXPECT_EQ(got.headers.GetAll("x-thing"), "one, two");
  EXPECT_EQ(got.headers.Get("host"), fmt::format("127.0.0.1:{}", server->port()));
  EXPECT_EQ(got.headers.Get("absent"), "");
  EXPECT_EQ(got.http_major, GetParam().http2 ? 2 : 1);
  EXPECT_TRUE(got.peer.starts_with("127.0.0.1:"));
  EXPECT_FALSE(got.client_certificate.has_value());
}

TEST_P(HttpServerTest, BodiesOfAllSizesComeBack) {
  HttpServerOptions options = Options();
  options.limits.max_body_bytes = std::size_t{32} << 20;
  const auto server =
      StartServer(options, [](const std::shared_ptr<HttpExchange>& exchange) { exchange->Reply({.body = exchange->request().body}); });
  CurlClient client;
  for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 1000, 16384, 65536, 1000000, 20000000}) {
    std::string body(size, 'x');
    for (std::size_t i = 0; i < size; i += 997) body[i] = static_cast<char>('a' + i % 26);
    const CurlAnswer answer = client.Fetch(Request(*server, "/echo", "POST", body));
    ASSERT_EQ(answer.curl_code, 0) << size << ": " << answer.curl_error;
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body == body) << size << " became " << answer.body.size();
  }
}

TEST_P(HttpServerTest, ChunkedRequestsArrive) {
  const auto server =
      StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) { exchange->Reply({.body = exchange->request().body}); });
  CurlRequest request = Request(*server, "/", "PUT", std::string(100000, 'z'));
  request.headers = {"Transfer-Encoding: chunked"};
  const CurlAnswer answer = Fetch(request);
  EXPECT_EQ(answer.curl_code, 0) << answer.curl_error;
  EXPECT_EQ(answer.body.size(), 100000U);
}

TEST_P(HttpServerTest, ConnectionIsKept) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) { exchange->Reply({.body = "x"}); });
  CurlClient client;
  EXPECT_EQ(client.Fetch(Request(*server, "/1")).connects, 1);
  for (int i = 0; i < 20; ++i) {
    const CurlAnswer answer = client.Fetch(Request(*server, "/2", i % 2 == 0 ? "POST" : "DELETE", "body"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.connects, Reuses() ? 0 : 1);
  }
  if (Reuses()) {
    EXPECT_EQ(server->connections(), 1U);
  }
}

TEST_P(HttpServerTest, HeadHasLengthAndNoBody) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) {
    if (exchange->request().path == "/stream") {
      exchange->Start(200, {{"x-a", "b"}});
      exchange->Write(Text("nobody reads this"));
      exchange->Finish();
      return;
    }
    exchange->Reply({.body = "12345"});
  });
  CurlClient client;
  const CurlAnswer whole = client.Fetch(Request(*server, "/whole", "HEAD"));
  EXPECT_EQ(whole.curl_code, 0) << whole.curl_error;
  EXPECT_EQ(whole.headers.at("content-length"), "5");
  EXPECT_EQ(whole.body, "");
  const CurlAnswer stream = client.Fetch(Request(*server, "/stream", "HEAD"));
  EXPECT_EQ(stream.curl_code, 0) << stream.curl_error;
  EXPECT_EQ(stream.headers.at("x-a"), "b");
  EXPECT_EQ(client.Fetch(Request(*server, "/after")).body, "12345");
}

TEST_P(HttpServerTest, BodilessStatusesLeaveTheConnectionUsable) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->Reply({.status = exchange->request().path == "/204" ? 204 : exchange->request().path == "/304" ? 304 : 200, .body = "text"});
  });
  CurlClient client;
  EXPECT_EQ(client.Fetch(Request(*server, "/204")).status, 204);
  EXPECT_EQ(client.Fetch(Request(*server, "/304")).status, 304);
  const CurlAnswer last = client.Fetch(Request(*server, "/"));
  EXPECT_EQ(last.body, "text");
  EXPECT_EQ(last.connects, Reuses() ? 0 : 1);
}

TEST_P(HttpServerTest, StreamsPiecesAsTheyAreWritten) {
  Handover<std::shared_ptr<HttpExchange>> exchanges;
  const auto server = StartServer(Options(), [&](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->Start(200, {{"content-type", "application/json"}});
    exchanges.Put(exchange);
  });
  Handover<std::string> pieces;
  std::atomic<bool> closed = false;
  CurlAnswer answer;
  Thread client("client", [&] {
    CurlRequest request = Request(*server, "/watch");
    request.on_data = [&](std::string_view data) {
      pieces.Put(std::string(data));
      return true;
    };
    answer = Fetch(request);
  });
  const std::shared_ptr<HttpExchange> exchange = exchanges.Take();
  ASSERT_NE(exchange, nullptr);
  exchange->OnClose([&] { closed = true; });
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(exchange->Write(Text(fmt::format("event {}\n", i))));
    EXPECT_EQ(pieces.Take(), fmt::format("event {}\n", i));  // it came before the next one was written
  }
  EXPECT_FALSE(closed);
  exchange->Finish();
  client.Join();
  EXPECT_EQ(answer.curl_code, 0) << answer.curl_error;
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "event 0\nevent 1\nevent 2\nevent 3\nevent 4\n");
  EXPECT_TRUE(Eventually([&] { return closed.load(); }));
  EXPECT_FALSE(exchange->Write(Text("late")));
}

TEST_P(HttpServerTest, AnswersFromAnotherThreadLater) {
  Handover<std::shared_ptr<HttpExchange>> exchanges;
  const auto server = StartServer(Options(), [&](const std::shared_ptr<HttpExchange>& exchange) { exchanges.Put(exchange); });
  Thread worker("worker", [&] { exchanges.Take()->Reply({.body = "later"}); });
  EXPECT_EQ(Fetch(Request(*server, "/")).body, "later");
}

TEST_P(HttpServerTest, DroppedExchangeIsA500) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>&) {});
  EXPECT_EQ(Fetch(Request(*server, "/")).status, 500);
}

TEST_P(HttpServerTest, ThrowingHandlerIsA500) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>&) { throw std::runtime_error("bad luck"); });
  CurlClient client;
  EXPECT_EQ(client.Fetch(Request(*server, "/")).status, 500);
  EXPECT_EQ(client.Fetch(Request(*server, "/")).status, 500);
}

TEST_P(HttpServerTest, DroppedStreamIsNotMistakenForACompleteOne) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->Start(200, {});
    exchange->Write(Text("half"));
  });
  EXPECT_NE(Fetch(Request(*server, "/")).curl_code, 0);
}

TEST_P(HttpServerTest, SecondAnswerIsIgnored) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->Reply({.body = "first"});
    exchange->Reply({.status = 500, .body = "second"});
    exchange->Start(500, {});
    EXPECT_FALSE(exchange->Write(Text("third")));
    exchange->Finish();
  });
  const CurlAnswer answer = Fetch(Request(*server, "/"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "first");
}

TEST_P(HttpServerTest, OnCloseTellsThatTheClientLeft) {
  Handover<std::shared_ptr<HttpExchange>> exchanges;
  std::atomic<int> closed = 0;
  const auto server = StartServer(Options(), [&](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->OnClose([&] { ++closed; });
    exchange->Start(200, {});
    exchange->Write(Text("x"));
    exchanges.Put(exchange);
  });
  CurlRequest request = Request(*server, "/watch");
  request.on_data = [](std::string_view) { return false; };
  Fetch(request);
  EXPECT_TRUE(Eventually([&] { return closed == 1; }));
  const std::shared_ptr<HttpExchange> exchange = exchanges.Take();
  EXPECT_FALSE(exchange->Write(Text("late")));
  exchange->Finish();
  exchange->Abort();
  bool at_once = false;
  exchange->OnClose([&] { at_once = true; });
  EXPECT_TRUE(at_once);
  EXPECT_EQ(closed, 1);
}

TEST_P(HttpServerTest, OversizedBodyReachesTheHandlerAsSuch) {
  HttpServerOptions options = Options();
  options.limits.max_body_bytes = 1000;
  const auto server = StartServer(options, [](const std::shared_ptr<HttpExchange>& exchange) {
    EXPECT_EQ(exchange->request().body_too_large, exchange->request().path == "/large");
    if (exchange->request().body_too_large) {
      EXPECT_EQ(exchange->request().body, "");
      exchange->Reply({.status = 413, .body = "too large\n"});
    } else {
      exchange->Reply({.body = "fine\n"});
    }
  });
  CurlClient client;
  EXPECT_EQ(client.Fetch(Request(*server, "/small", "POST", std::string(1000, 'x'))).status, 200);
  const CurlAnswer one_more = client.Fetch(Request(*server, "/large", "POST", std::string(1001, 'x')));
  EXPECT_EQ(one_more.status, 413);
  EXPECT_EQ(one_more.body, "too large\n");
  // Curl asks first for a body of this size (Expect: 100-continue), and does not send it.
  EXPECT_EQ(client.Fetch(Request(*server, "/large", "POST", std::string(5000000, 'x'))).status, 413);
  CurlRequest chunked = Request(*server, "/large", "POST", std::string(5000000, 'x'));
  chunked.headers = {"Transfer-Encoding: chunked", "Expect:"};
  EXPECT_EQ(client.Fetch(chunked).status, 413);
  EXPECT_EQ(client.Fetch(Request(*server, "/small")).status, 200);
}

TEST_P(HttpServerTest, CutAfterEndsTheAnswerThere) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->CutAfter(exchange->request().path == "/none" ? 0 : exchange->request().path == "/all" ? 10 : 4);
    if (exchange->request().path == "/less") {
      exchange->Reply({.body = "123"});
    } else {
      exchange->Reply({.body = "1234567890"});
    }
  });
  const CurlAnswer middle = Fetch(Request(*server, "/middle"));
  EXPECT_NE(middle.curl_code, 0);
  EXPECT_EQ(middle.status, 200);
  EXPECT_EQ(middle.body, "1234");
  const CurlAnswer none = Fetch(Request(*server, "/none"));
  EXPECT_NE(none.curl_code, 0);
  EXPECT_EQ(none.body, "");
  const CurlAnswer less = Fetch(Request(*server, "/less"));
  EXPECT_EQ(less.curl_code, 0) << less.curl_error;
  EXPECT_EQ(less.body, "123");
}

TEST_P(HttpServerTest, StallHoldsTheAnswerBack) {
  Handover<std::shared_ptr<HttpExchange>> exchanges;
  const auto server = StartServer(Options(), [&](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->Start(200, {});
    exchange->Write(Text("one\n"));
    exchanges.Put(exchange);
  });
  Handover<std::string> pieces;
  CurlAnswer answer;
  Thread client("client", [&] {
    CurlRequest request = Request(*server, "/");
    request.on_data = [&](std::string_view data) {
      pieces.Put(std::string(data));
      return true;
    };
    answer = Fetch(request);
  });
  const std::shared_ptr<HttpExchange> exchange = exchanges.Take();
  ASSERT_NE(exchange, nullptr);
  EXPECT_EQ(pieces.Take(), "one\n");
  exchange->Stall(true);
  exchange->Write(Text("two\n"));
  exchange->Write(Text("three\n"));
  // Others are served meanwhile; what they do passes through the same threads.
  for (int i = 0; i < 10; ++i) {
    Thread other("other", [&] { Fetch(Request(*server, "/other")); });
    exchanges.Take()->Finish();
    other.Join();
  }
  EXPECT_EQ(exchange->buffered_bytes(), 10U);
  exchange->Stall(false);
  exchange->Finish();
  client.Join();
  EXPECT_EQ(answer.curl_code, 0) << answer.curl_error;
  EXPECT_EQ(answer.body, "one\ntwo\nthree\n");
}

TEST_P(HttpServerTest, AbortEndsTheHardWay) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) {
    if (exchange->request().path == "/started") exchange->Start(200, {});
    exchange->Abort();
  });
  EXPECT_NE(Fetch(Request(*server, "/started")).curl_code, 0);
  EXPECT_NE(Fetch(Request(*server, "/unstarted")).curl_code, 0);
}

TEST_P(HttpServerTest, StoppingWhileStreamingEndsEverything) {
  Handover<std::shared_ptr<HttpExchange>> exchanges;
  std::atomic<int> closed = 0;
  auto server = StartServer(Options(), [&](const std::shared_ptr<HttpExchange>& exchange) {
    exchange->OnClose([&] { ++closed; });
    exchange->Start(200, {});
    exchange->Write(Text("x"));
    exchanges.Put(exchange);
  });
  CurlAnswer answer;
  Thread client("client", [&] { answer = Fetch(Request(*server, "/")); });
  const std::shared_ptr<HttpExchange> exchange = exchanges.Take();
  std::atomic<bool> stop = false;
  Thread writer("writer", [&] {
    while (!stop) exchange->Write(Text("more"));
  });
  const CurlRequest again = Request(*server, "/");
  server = nullptr;
  EXPECT_EQ(closed, 1);
  EXPECT_FALSE(exchange->Write(Text("x")));
  stop = true;
  writer.Join();
  client.Join();
  EXPECT_NE(answer.curl_code, 0);
  exchange->Finish();
  EXPECT_NE(Fetch(again).curl_code, 0);
}

TEST_P(HttpServerTest, FaultsOfTheWholeServer) {
  const auto server = StartServer(Options(), [](const std::shared_ptr<HttpExchange>& exchange) { exchange->Reply({.body = "x"}); });
  CurlClient client;
  EXPECT_EQ(client.Fetch(Request(*server, "/")).status, 200);
  server->StopListening();
  if (Reuses()) {
    EXPECT_EQ(client.Fetch(Request(*server, "/")).connects, 0);  // connections that were there go on
  }
  EXPECT_FALSE(RawClient(server->port()).connected());
  server->CloseConnections();
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
  EXPECT_NE(client.Fetch(Request(*server, "/")).curl_code, 0);
  const std::uint16_t port = server->port();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(server->Listen().ok());
    ASSERT_TRUE(server->Listen().ok());  // harmless
    EXPECT_EQ(server->port(), port);
    EXPECT_EQ(client.Fetch(Request(*server, "/")).status, 200);
    server->StopListening();
    server->StopListening();
    EXPECT_FALSE(RawClient(port).connected());
  }
}

// Also those that the kernel had already, or that were on the way to their thread.
TEST_P(HttpServerTest, NoConnectionSurvivesWhenTheServerRefusesAndCloses) {
  HttpServerOptions options = Options();
  options.io_threads = 2;
  const auto server = StartServer(options, [](const std::shared_ptr<HttpExchange>& exchange) { exchange->Reply({.body = "x"}); });
  server->StopListening();
  std::atomic<bool> stop = false;
  std::atomic<int> connected = 0;
  std::atomic<int> round = 0;
  Thread callers("callers", [&] {
    std::deque<RawClient> clients;  // they stay until the round was looked at: only the server may close
    for (int mine = 0; !stop;) {
      if (const int now = round; mine != now) {
        clients.clear();
        mine = now;
      }
      if (clients.size() == 16) continue;
      if (clients.emplace_back(server->port()).connected()) {
        ++connected;
      } else {
        clients.pop_back();
      }
    }
  });
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const int before = connected;
    EXPECT_TRUE(server->Listen().ok());
    EXPECT_TRUE(Eventually([&] { return connected > before; }));
    server->StopListening();
    server->CloseConnections();
    EXPECT_TRUE(Eventually([&] { return server->connections() == 0; })) << "round " << i;
    ++round;
  }
  stop = true;
  callers.Join();
}

// A pod of a cluster without IPv4 is reached by IPv6 only.
TEST(HttpServerAddressTest, AllAddressesAreThoseOfBothFamilies) {
  const auto answers = [](const HttpServer& server, const char* host) {
    return Fetch({.url = fmt::format("http://{}:{}/", host, server.port())}).body;
  };
  const auto hello = [](const std::shared_ptr<HttpExchange>& exchange) { exchange->Reply({.body = "hello"}); };
  const bool has_ipv6 = HttpServer::Start({.address = "::1"}, hello).ok();
  for (const char* all : {"", "::"}) {
    if (!has_ipv6 && *all != '\0') continue;
    const Result<std::unique_ptr<HttpServer>> server = HttpServer::Start({.address = all}, hello);
    ASSERT_TRUE(server.ok()) << server.error().ToString();
    EXPECT_EQ(answers(**server, "127.0.0.1"), "hello") << '"' << all << '"';
    if (has_ipv6) {
      EXPECT_EQ(answers(**server, "[::1]"), "hello") << '"' << all << '"';
    }
  }
  const Result<std::unique_ptr<HttpServer>> ipv4 = HttpServer::Start({.address = "0.0.0.0"}, hello);
  ASSERT_TRUE(ipv4.ok()) << ipv4.error().ToString();
  EXPECT_EQ(answers(**ipv4, "127.0.0.1"), "hello");
  EXPECT_EQ(answers(**ipv4, "[::1]"), "");
}

}  // namespace
}  // namespace kube::serve
