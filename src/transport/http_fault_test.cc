// The network transport against servers that do not behave: each fault is an error that says what to fix, in bounded time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "kube/transport/http_transport.h"
#include "kube/transport/transport_errors.h"
#include "transport/http_transport_test_util.h"

namespace kube::curl_test {
namespace {

namespace reason = transport_reason;
using serve::HttpExchange;
using Exchange = std::shared_ptr<HttpExchange>;
using ::testing::AllOf;
using ::testing::HasSubstr;

void Echo(const Exchange& exchange) { exchange->Reply({.body = "ok"}); }

// The error of a request: its reason, and that it names the server.
void ExpectFailure(HttpTransport& transport, const HttpRequest& request, std::string_view why, std::string_view part,
                   std::string_view host = "127.0.0.1:") {
  const Result<HttpResponse> answer = transport.RoundTrip(Patient(), request);
  ASSERT_FALSE(answer) << answer->code;
  EXPECT_EQ(answer.error().kind(), ErrorKind::kTransport) << answer.error().ToString();
  EXPECT_EQ(answer.error().reason(), why) << answer.error().ToString();
  EXPECT_THAT(answer.error().ToString(), AllOf(HasSubstr(std::string(part)), HasSubstr(std::string(host))));
}

std::shared_ptr<HttpTransport> With(std::uint16_t port, TlsMaterial material, HttpTransportOptions options = {}) {
  options.tls = std::make_shared<FixedTls>(std::move(material));
  return TransportTo(port, true, std::move(options));
}

HttpRequest Post(std::string target) {
  HttpRequest request = Get(std::move(target));
  request.method = "POST";
  request.body = "{}";
  return request;
}

// ---- Reaching the server ----

TEST(TransportFaultTest, RefusedConnection) {
  const std::uint16_t port = UnusedPort();
  ExpectFailure(*TransportTo(port), Get("/"), reason::kConnectionRefused, "refused");
  ExpectFailure(*TransportTo(port, false), Get("/"), reason::kConnectionRefused, "is the server running");
}

TEST(TransportFaultTest, ARefusedServerIsReachedOnceItIsThere) {
  const auto server = StartServer(Echo);
  const auto transport = TransportTo(server->port());
  server->StopListening();
  ExpectFailure(*transport, Get("/"), reason::kConnectionRefused, "refused");
  ASSERT_TRUE(server->Listen());
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "ok");
}

TEST(TransportFaultTest, NameThatDoesNotResolve) {
  // Names have 63 letters at most: the resolver refuses without a request on the network.
  const std::string name = std::string(64, 'x') + ".example";
  HttpTransportOptions options;
  options.base_url = "https://" + name + ":6443";
  ExpectFailure(*TransportTo(1, true, options), Get("/"), reason::kDns, "resolved", name);
}

TEST(TransportFaultTest, ServerThatDoesNotFinishTheHandshakeInTime) {
  RawServer server([](RawPeer& peer, int) { peer.ReadToEnd(); });
  HttpTransportOptions options;
  options.connect_timeout = std::chrono::milliseconds(100);
  const Result<HttpResponse> answer = TransportTo(server.port(), true, options)->RoundTrip(Patient(), Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind(), ErrorKind::kTimeout);
  EXPECT_THAT(answer.error().ToString(), HasSubstr("100 ms"));
}

TEST(TransportFaultTest, CancellationEndsAHandshakeToo) {
  Handover<bool> connected;
  RawServer server([&](RawPeer& peer, int) {
    connected.Put(true);
    peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port());
  auto [ctx, cancel] = Patient().WithCancel();
  std::thread canceller([&connected, source = std::move(cancel)] {
    (void)connected.Take();
    source.Cancel();
  });
  const Result<HttpResponse> answer = transport->RoundTrip(ctx, Get("/"));
  canceller.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind(), ErrorKind::kCancelled);
}

// ---- TLS ----

TEST(Contract12Tls, WrongCa) {
  const auto server = StartServer(Echo);
  TlsMaterial material;
  material.ca_pem = Pki().other_ca.certificate_pem();
  ExpectFailure(*With(server->port(), material), Get("/"), reason::kTls, "unknown authority");
}

TEST(Contract12Tls, TheSystemsRootsDoNotCountBesideACa) {
  const auto server = StartServer(Echo);
  ExpectFailure(*With(server->port(), TlsMaterial()), Get("/"), reason::kTls, "unknown authority");
}

TEST(Contract12Tls, HostnameMismatch) {
  serve::HttpServerOptions options;
  options.tls = serve::HttpTlsOptions{.certificate_pem = Pki().elsewhere.certificate_pem, .key_pem = Pki().elsewhere.key_pem};
  const auto server = StartServer(Echo, true, options);
  ExpectFailure(*With(server->port(), TrustingPki()), Get("/"), reason::kTls, "tls-server-name");
}

TEST(Contract12Tls, ServerNameIsVerifiedAndSent) {
  serve::HttpServerOptions options;
  options.tls = serve::HttpTlsOptions{.certificate_pem = Pki().elsewhere.certificate_pem, .key_pem = Pki().elsewhere.key_pem};
  Handover<std::string> authority;
  const auto server = StartServer(
      [&](const Exchange& exchange) {
        const auto& headers = exchange->request().headers;
        authority.Put(std::string(headers.Get(":authority").empty() ? headers.Get("host") : headers.Get(":authority")));
        Echo(exchange);
      },
      true, options);
  TlsMaterial material = TrustingPki();
  material.server_name = "elsewhere.test";
  const Result<HttpResponse> answer = With(server->port(), material)->RoundTrip(Patient(), Get("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(authority.Take(), "127.0.0.1:" + std::to_string(server->port()));
  material.server_name = "kubernetes.test";
  ExpectFailure(*With(server->port(), material), Get("/"), reason::kTls, "another name");
}

TEST(Contract12Tls, ExpiredCertificate) {
  serve::HttpServerOptions options;
  options.tls = serve::HttpTlsOptions{.certificate_pem = Pki().expired.certificate_pem, .key_pem = Pki().expired.key_pem};
  const auto server = StartServer(Echo, true, options);
  ExpectFailure(*With(server->port(), TrustingPki()), Get("/"), reason::kTls, "expired");
}

TEST(Contract12Tls, InsecureTakesAnyCertificate) {
  serve::HttpServerOptions options;
  options.tls = serve::HttpTlsOptions{.certificate_pem = Pki().expired.certificate_pem, .key_pem = Pki().expired.key_pem};
  const auto server = StartServer(Echo, true, options);
  TlsMaterial material;
  material.insecure = true;
  EXPECT_TRUE(With(server->port(), material)->RoundTrip(Patient(), Get("/")));
}

TEST(Contract12Tls, AnEmptyCaFileTrustsNothing) {
  const auto server = StartServer(Echo);
  TlsMaterial material;
  material.trust_nothing = true;
  ExpectFailure(*With(server->port(), material), Get("/"), reason::kTls, "CA file is empty", "");
}

TEST(Contract12Tls, RubbishForACaOrAKey) {
  const auto server = StartServer(Echo);
  TlsMaterial material = TrustingPki();
  material.ca_pem = "-----BEGIN CERTIFICATE-----\nrubbish\n-----END CERTIFICATE-----\n";
  ExpectFailure(*With(server->port(), material), Get("/"), reason::kTls, "CA cannot be used", "");
  material = TrustingPki();
  serve::KeyPair mixed = Pki().client;
  mixed.key_pem = Pki().second_client.key_pem;
  material.certificate = AsClient(mixed);
  ExpectFailure(*With(server->port(), material), Get("/"), reason::kTls, "belong together", "");
}

serve::HttpServerOptions WithClientCa() {
  serve::HttpServerOptions options;
  options.tls = serve::HttpTlsOptions{
      .certificate_pem = Pki().server.certificate_pem, .key_pem = Pki().server.key_pem, .client_ca_pem = Pki().ca.certificate_pem()};
  return options;
}

void Whoami(const Exchange& exchange) {
  const auto& certificate = exchange->request().client_certificate;
  exchange->Reply({.body = certificate ? certificate->common_name : "nobody"});
}

TEST(Contract12Tls, ClientCertificateIsShown) {
  const auto server = StartServer(Whoami, true, WithClientCa());
  TlsMaterial material = TrustingPki();
  EXPECT_EQ(With(server->port(), material)->RoundTrip(Patient(), Get("/")).value().body, "nobody");
  material.certificate = AsClient(Pki().client);
  EXPECT_EQ(With(server->port(), material)->RoundTrip(Patient(), Get("/")).value().body, "one");
}

TEST(Contract12Tls, ARefusedClientCertificateIsToldSo) {
  const auto server = StartServer(Whoami, true, WithClientCa());
  TlsMaterial material = TrustingPki();
  material.certificate = AsClient(Pki().wrong_client);
  ExpectFailure(*With(server->port(), material), Get("/"), reason::kTls, "refused the client certificate");
}

TEST(Contract12Tls, AChangedClientCertificateClosesAllConnections) {
  Handover<Exchange> started;
  const auto server = StartServer(
      [&](const Exchange& exchange) {
        if (exchange->request().path != "/watch") return Whoami(exchange);
        exchange->Start(200, {});
        started.Put(exchange);
      },
      true, WithClientCa());
  TlsMaterial material = TrustingPki();
  material.certificate = AsClient(Pki().client);
  const auto tls = std::make_shared<FixedTls>(material);
  HttpTransportOptions options;
  options.tls = tls;
  const auto transport = TransportTo(server->port(), true, options);
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "one");
  const Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/watch"));
  ASSERT_TRUE(watch);
  const Exchange held = started.Take();
  material.certificate = AsClient(Pki().second_client);
  material.generation = 1;
  tls->Set(material);
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "two");
  char buffer[16];
  const Result<std::size_t> got = watch->stream->Read(Patient(), buffer, sizeof buffer);
  ASSERT_FALSE(got);
  EXPECT_TRUE(IsProbableEof(got.error())) << got.error().ToString();
  EXPECT_THAT(got.error().ToString(), HasSubstr("certificate changed"));
  EXPECT_EQ(transport->stats().connections_opened, 2U);
  EXPECT_TRUE(Eventually([&] { return server->connections() == 1 && transport->stats().connections_open == 1; }));
}

TEST(Contract12Tls, AChangedCaIsForNewConnectionsAndStreamsGoOn) {
  Handover<Exchange> started;
  const auto server = StartServer([&](const Exchange& exchange) {
    if (exchange->request().path != "/watch") return Echo(exchange);
    exchange->Start(200, {});
    started.Put(exchange);
  });
  TlsMaterial material = TrustingPki();
  const auto tls = std::make_shared<FixedTls>(material);
  HttpTransportOptions options;
  options.tls = tls;
  const auto transport = TransportTo(server->port(), true, options);
  const Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/watch"));
  ASSERT_TRUE(watch);
  const Exchange held = started.Take();
  material.ca_pem = Pki().other_ca.certificate_pem();
  material.ca_generation = 1;
  tls->Set(material);
  ExpectFailure(*transport, Get("/"), reason::kTls, "unknown authority");
  material.ca_pem = Pki().other_ca.certificate_pem() + Pki().ca.certificate_pem();
  material.ca_generation = 2;
  tls->Set(material);
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "ok");
  (void)held->Write(std::make_shared<std::string>("still here"));
  held->Finish();
  EXPECT_EQ(ReadAll(Patient(), *watch->stream).value(), "still here");
}

TEST(TransportFaultTest, PlainHttpToATlsPort) {
  RawServer server([](RawPeer&, int) {}, &Pki().server, "http/1.1");
  const Result<HttpResponse> answer = TransportTo(server.port(), false)->RoundTrip(Patient(), Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind(), ErrorKind::kTransport) << answer.error().ToString();
}

TEST(TransportFaultTest, TlsToAPlainPort) {
  const auto server = StartServer(Echo, false);
  ExpectFailure(*TransportTo(server->port(), true), Get("/"), reason::kTls, "does not speak TLS");
}

TEST(TransportFaultTest, HandshakeThatIsCut) {
  RawServer server([](RawPeer& peer, int) { (void)peer.ReadSome(); });
  ExpectFailure(*TransportTo(server.port()), Get("/"), reason::kTls, "handshake");
}

// ---- HTTP/1.1 that is broken ----

void ExpectRawFailure(const std::string& sent, std::string_view why, std::string_view part, HttpTransportOptions options = {}) {
  RawServer server([&](RawPeer& peer, int) {
    (void)peer.ReadUntil("\r\n\r\n");
    (void)peer.Send(sent);
  });
  ExpectFailure(*TransportTo(server.port(), false, std::move(options)), Get("/"), why, part);
}

TEST(TransportFaultTest, CutInTheMiddleOfTheBody) {
  ExpectRawFailure("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", reason::kUnexpectedEof, "before the answer was complete");
  ExpectRawFailure("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf", reason::kUnexpectedEof,
                   "before the answer was complete");
}

TEST(TransportFaultTest, ClosedWithoutAnAnswer) { ExpectRawFailure("", reason::kUnexpectedEof, "without an answer"); }

TEST(TransportFaultTest, RubbishInsteadOfHttp) {
  ExpectRawFailure("220 mail.example.com ESMTP\r\n", reason::kProtocol, "does not answer with HTTP");
  ExpectRawFailure(std::string("\x15\x03\x01\x00\x02\x02\x46", 7), reason::kProtocol, "https://");
}

TEST(TransportFaultTest, AnswerThatIsNotCompressedAsItSays) {
  ExpectRawFailure("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain", reason::kProtocol, "compressed");
}

TEST(TransportFaultTest, HeaderThatDoesNotEnd) {
  HttpTransportOptions options;
  options.max_header_bytes = 20'000;
  std::string head = "HTTP/1.1 200 OK\r\n";
  while (head.size() < 40'000) head += "X-Long: " + std::string(1000, 'x') + "\r\n";
  ExpectRawFailure(head, reason::kTooLarge, "20000", options);
  // Without any line break libcurl's own limit counts.
  RawServer server([&](RawPeer& peer, int) {
    (void)peer.ReadUntil("\r\n\r\n");
    (void)peer.Send("HTTP/1.1 200 OK\r\nX: ");
    while (peer.Send(std::string(65536, 'x'))) {
    }
  });
  const Result<HttpResponse> answer = TransportTo(server.port(), false)->RoundTrip(Patient(), Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason(), reason::kTooLarge) << answer.error().ToString();
}

TEST(TransportFaultTest, AnswerThatIsTooLarge) {
  HttpTransportOptions options;
  options.max_response = 1000;
  const auto server = StartServer([](const Exchange& exchange) { exchange->Reply({.body = std::string(1001, 'x')}); });
  ExpectFailure(*TransportTo(server->port(), true, options), Get("/"), reason::kTooLarge, "1000 bytes");
  // Streams have no end, and no limit.
  EXPECT_EQ(
      ReadAll(Patient(), *TransportTo(server->port(), true, options)->RoundTrip(Patient(), Streaming("/")).value().stream).value().size(),
      1001U);
}

TEST(TransportFaultTest, ResetByThePeer) {
  RawServer server([](RawPeer& peer, int) {
    (void)peer.ReadUntil("\r\n\r\n");
    peer.Reset();
  });
  ExpectFailure(*TransportTo(server.port(), false), Get("/"), reason::kConnectionReset, "reset");
}

TEST(TransportFaultTest, InformationalAnswersAreSkipped) {
  RawServer server([](RawPeer& peer, int) {
    (void)peer.ReadUntil("\r\n\r\n");
    (void)peer.Send("HTTP/1.1 103 Early Hints\r\nX-Early: yes\r\n\r\nHTTP/1.1 200 OK\r\nX-Real: yes\r\nContent-Length: 2\r\n\r\nok");
  });
  const Result<HttpResponse> answer = TransportTo(server.port(), false)->RoundTrip(Patient(), Get("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->code, 200);
  EXPECT_FALSE(answer->headers.Has("X-Early"));
  EXPECT_EQ(answer->headers.Get("X-Real"), "yes");
}

// A connection that was used before and ends without an answer: a GET is sent again at once, a POST may have been done.
TEST(Contract24No19, OnlyWhatCanBeRepeatedIsSentTwice) {
  std::atomic<int> posts = 0;
  std::atomic<int> gets = 0;
  std::atomic<int> resets = 0;
  RawServer server([&](RawPeer& peer, int) {
    for (int i = 0;; ++i) {
      const std::string head = peer.ReadUntil("\r\n\r\n");
      if (head.empty()) return;
      const bool post = head.compare(0, 4, "POST") == 0;
      if (post) (void)peer.ReadExactly(2);
      ++(post ? posts : gets);
      if (i == 1 && ++resets <= 2) return peer.Reset();
      (void)peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  });
  const auto transport = TransportTo(server.port(), false);
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  ExpectFailure(*transport, Post("/"), reason::kConnectionReset, "");
  EXPECT_EQ(posts, 1);
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  EXPECT_TRUE(transport->RoundTrip(Patient(), Get("/")));  // its connection ends, the next one answers
  EXPECT_EQ(gets, 4);
}

// ---- HTTP/2 that is broken ----

TEST(TransportFaultTest, ResetStream) {
  Http2Server server([](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t first = http.NextRequest();
    (void)http.Send(H2Reset(first, 2));
    const std::uint32_t second = http.NextRequest();
    (void)http.Send(H2Headers(second, false) + H2Frame(0, 0, second, "half") + H2Reset(second, 8));
    const std::uint32_t third = http.NextRequest();
    (void)http.Send(H2Headers(third, false) + H2Frame(0, 1, third, "whole"));
    peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port());
  ExpectFailure(*transport, Get("/"), reason::kConnectionReset, "reset the request");
  ExpectFailure(*transport, Get("/"), reason::kConnectionReset, "reset the request");
  // The connection is as good as before.
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "whole");
  EXPECT_EQ(server.accepted(), 1);
}

TEST(TransportFaultTest, Http2ConnectionThatEndsInTheMiddle) {
  Http2Server server([](H2Peer& http, RawPeer&, int) {
    const std::uint32_t stream = http.NextRequest();
    (void)http.Send(H2Headers(stream, false) + H2Frame(0, 0, stream, "half"));
  });
  const auto transport = TransportTo(server.port());
  ExpectFailure(*transport, Get("/"), reason::kUnexpectedEof, "before the answer was complete");
  const Result<HttpResponse> stream = transport->RoundTrip(Patient(), Streaming("/"));
  ASSERT_TRUE(stream) << stream.error().ToString();
  const Result<std::string> body = ReadAll(Patient(), *stream->stream);
  ASSERT_FALSE(body);
  EXPECT_TRUE(IsProbableEof(body.error())) << body.error().ToString();
}

// A graceful GOAWAY: what is under way is answered, what comes later goes to another connection.
TEST(TransportFaultTest, GoAwayThatLetsRequestsEnd) {
  Http2Server server([](H2Peer& http, RawPeer& peer, int number) {
    for (int i = 0;; ++i) {
      const std::uint32_t stream = http.NextRequest();
      if (stream == 0) return;
      const std::string goaway = i == 1 ? H2GoAway(stream, 0) : "";
      (void)http.Send(goaway + H2Headers(stream, false) + H2Frame(0, 1, stream, std::to_string(number)));
      if (i == 1) return peer.ReadToEnd();
    }
  });
  const auto transport = TransportTo(server.port());
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "0");
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "0");
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "1");
  EXPECT_EQ(server.accepted(), 2);
}

// A GOAWAY for a request that the server did not take: it goes to another connection, whatever it does.
TEST(TransportFaultTest, GoAwayBeforeTheRequestWasTaken) {
  std::atomic<int> taken = 0;
  Http2Server server([&](H2Peer& http, RawPeer& peer, int number) {
    for (;;) {
      const std::uint32_t stream = http.NextRequest();
      if (stream == 0) return;
      if (number % 2 == 0) {
        (void)http.Send(H2GoAway(0, 0));
        return peer.ReadToEnd();
      }
      ++taken;
      (void)http.Send(H2Headers(stream, false) + H2Frame(0, 1, stream, std::to_string(number)));
    }
  });
  const auto transport = TransportTo(server.port());
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "1");
  transport->CloseConnections();
  EXPECT_EQ(transport->RoundTrip(Patient(), Post("/")).value().body, "3");
  EXPECT_EQ(taken, 2);
}

// A server that does not wait for the body, as with 401: its answer is there at once all the same.
TEST(TransportFaultTest, AnswerBeforeTheBodyWasSent) {
  Http2Server server([](H2Peer& http, RawPeer&, int) {
    for (;;) {
      const std::uint32_t stream = http.NextRequest();
      if (stream == 0) return;
      (void)http.Send(H2Headers(stream, false) + H2Frame(0, 1, stream, "early"));
    }
  });
  const auto transport = TransportTo(server.port());
  for (int i = 0; i < 100; ++i) {
    HttpRequest request = Post("/");
    if (i % 4 == 3) request.body = std::string(50'000, 'x');  // the window of a connection is 65535
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), request);
    ASSERT_TRUE(answer) << i << " " << answer.error().ToString();
    EXPECT_EQ(answer->body, "early");
    if (i % 4 == 3) transport->CloseConnections();
  }
}

// The same, with the reset that Go's server sends behind such an answer.
TEST(TransportFaultTest, AnswerBeforeTheBodyWasSentAndAReset) {
  Http2Server server([](H2Peer& http, RawPeer&, int) {
    for (;;) {
      const std::uint32_t stream = http.NextRequest();
      if (stream == 0) return;
      (void)http.Send(H2Headers(stream, false) + H2Frame(0, 1, stream, "early") + H2Reset(stream, 0));
    }
  });
  const auto transport = TransportTo(server.port());
  for (int i = 0; i < 50; ++i) {
    HttpRequest request = Post("/");
    if (i % 4 == 3) request.body = std::string(100'000, 'x');  // more than the windows allow: the rest is never sent
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), request);
    ASSERT_TRUE(answer) << i << " " << answer.error().ToString();
    EXPECT_EQ(answer->body, "early");
    if (i % 4 == 3) transport->CloseConnections();
  }
}

// A refused stream was not taken: even a POST goes to another connection.
TEST(TransportFaultTest, RefusedStreamIsSentAgain) {
  std::atomic<int> taken = 0;
  Http2Server server([&](H2Peer& http, RawPeer& peer, int number) {
    for (;;) {
      const std::uint32_t stream = http.NextRequest();
      if (stream == 0) return;
      if (number == 0) {
        (void)http.Send(H2Reset(stream, 7));
        return peer.ReadToEnd();
      }
      ++taken;
      (void)http.Send(H2Headers(stream, false) + H2Frame(0, 1, stream, "taken"));
    }
  });
  const auto transport = TransportTo(server.port());
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Post("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->body, "taken");
  EXPECT_EQ(taken, 1);
}

TEST(TransportFaultTest, RubbishInsteadOfHttp2) {
  Http2Server server([](H2Peer& http, RawPeer&, int) {
    (void)http.NextRequest();
    (void)http.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, this is no frame");
  });
  const Result<HttpResponse> answer = TransportTo(server.port())->RoundTrip(Patient(), Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind(), ErrorKind::kTransport) << answer.error().ToString();
}

// ---- Connections that are only half there ----

// Pings soon. How long an answer may take is for the test to say: a server's thread has to come to run in that time.
HttpTransportOptions ShortHealth(std::chrono::milliseconds ping_timeout = kPatience) {
  HttpTransportOptions options;
  options.read_idle_timeout = std::chrono::milliseconds(100);
  options.ping_timeout = ping_timeout;
  return options;
}

TEST(Contract9Health, AConnectionThatDoesNotAnswerIsGivenUpForAllItsStreams) {
  std::atomic<int> requests = 0;
  Http2Server server([&](H2Peer& http, RawPeer& peer, int number) {
    for (int i = 0; number == 0 && i < 2; ++i) {
      const std::uint32_t stream = http.NextRequest();
      ++requests;
      (void)http.Send(H2Headers(stream, false));
    }
    if (number == 0) return peer.ReadToEnd();  // it takes bytes, and says nothing
    const std::uint32_t stream = http.NextRequest();
    (void)http.Send(H2Headers(stream, false) + H2Frame(0, 1, stream, "alive"));
    peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port(), true, ShortHealth(std::chrono::seconds(3)));
  const Result<HttpResponse> one = transport->RoundTrip(Patient(), Streaming("/1"));
  const Result<HttpResponse> two = transport->RoundTrip(Patient(), Streaming("/2"));
  ASSERT_TRUE(one && two);
  EXPECT_EQ(transport->stats().connections_opened, 1U);
  for (const Result<HttpResponse>* answer : {&one, &two}) {
    char buffer[16];
    const Result<std::size_t> got = (*answer)->stream->Read(Patient(), buffer, sizeof buffer);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().reason(), reason::kConnectionLost) << got.error().ToString();
    EXPECT_TRUE(IsProbableEof(got.error()));
  }
  EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().body, "alive");
}

TEST(Contract9Health, AnIdleStreamOfAServerThatAnswersPingsStays) {
  Http2Server server([&](H2Peer& http, RawPeer& peer, int) {
    const std::uint32_t stream = http.NextRequest();
    (void)http.Send(H2Headers(stream, false));
    for (int pings = 0; pings < 3; ++pings) {
      std::uint32_t zero = 1;
      if (!http.NextFrame(6, zero)) return;
      EXPECT_EQ(zero, 0U);
      (void)http.Send(H2Frame(6, 1, 0, http.payload()));
    }
    (void)http.Send(H2Frame(0, 1, stream, "event"));
    peer.ReadToEnd();
  });
  const auto transport = TransportTo(server.port(), true, ShortHealth());
  const Result<HttpResponse> watch = transport->RoundTrip(Patient(), Streaming("/watch"));
  ASSERT_TRUE(watch);
  EXPECT_EQ(ReadAll(Patient(), *watch->stream).value(), "event");
  EXPECT_EQ(transport->stats().connections_opened, 1U);
}

TEST(Contract9Health, NothingIsPingedWhereNothingIsInFlight) {
  std::atomic<int> pings = 0;
  Http2Server server([&](H2Peer& http, RawPeer&, int) {
    const std::uint32_t stream = http.NextRequest();
    (void)http.Send(H2Headers(stream, true));
    for (std::uint32_t zero = 0; http.NextFrame(6, zero);) {
      ++pings;
      (void)http.Send(H2Frame(6, 1, 0, http.payload()));
    }
  });
  const auto transport = TransportTo(server.port(), true, ShortHealth());
  ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  ASSERT_TRUE(Context::Background().SleepFor(std::chrono::milliseconds(500)));  // there is no event to wait for: nothing must happen
  EXPECT_LE(pings, 1);                                                          // on a slow machine one came before the answer
}

TEST(TransportFaultTest, ServerThatRestartsIsReachedAgain) {
  const auto server = StartServer(Echo);
  const auto transport = TransportTo(server->port());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
    server->CloseConnections();
    ASSERT_TRUE(Eventually([&] { return server->connections() == 0; }));
  }
  EXPECT_EQ(transport->stats().connections_opened, 5U);
}

TEST(TransportFaultTest, AStreamThatIsCutIsAnErrorForItsReader) {
  const auto server = StartServer([](const Exchange& exchange) {
    exchange->OnClose([exchange] {});  // it lives until then
    exchange->CutAfter(4);
    exchange->Start(200, {});
    (void)exchange->Write(std::make_shared<std::string>("some bytes"));
  });
  const auto transport = TransportTo(server->port());
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Streaming("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  const Result<std::string> body = ReadAll(Patient(), *answer->stream);
  ASSERT_FALSE(body);
  EXPECT_TRUE(IsConnectionReset(body.error())) << body.error().ToString();
}

}  // namespace
}  // namespace kube::curl_test
