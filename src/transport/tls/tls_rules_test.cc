// What the server's TLS has to be, however the connection is made: by OpenSSL, by libcurl, through a proxy, for an upgrade.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/transport/http_transport.h"
#include "kube/transport/transport_errors.h"
#include "transport/http_transport_test_util.h"

namespace kube::curl_test {
namespace {

using Exchange = std::shared_ptr<serve::HttpExchange>;
using ::testing::HasSubstr;

// How a connection is made.
enum class Way { kHttp2, kHttp1, kUpgrade, kProxy, kProxyHttp1 };

std::string NameOf(const ::testing::TestParamInfo<Way>& info) {
  switch (info.param) {
    case Way::kHttp2:
      return "Http2";
    case Way::kHttp1:
      return "Http1";
    case Way::kUpgrade:
      return "Upgrade";
    case Way::kProxy:
      return "Proxy";
    case Way::kProxyHttp1:
      return "ProxyHttp1";
  }
  return "";
}

void Tunnel(RawPeer& peer, int /*number*/) {
  const std::string head = peer.ReadUntil("\r\n\r\n");
  const std::size_t colon = head.find(':');
  if (colon == std::string::npos) return;
  const int target = ConnectTo(static_cast<std::uint16_t>(std::stoi(head.substr(colon + 1))));
  (void)peer.Send("HTTP/1.1 200 Connection established\r\n\r\n");
  Splice(peer, target);
}

class TlsRulesTest : public ::testing::TestWithParam<Way> {
 protected:
  std::string url(std::uint16_t port) const { return fmt::format("https://localhost:{}", port); }
  bool http2() const { return GetParam() == Way::kHttp2 || GetParam() == Way::kProxy; }

  HttpTransportOptions Options(std::uint16_t port, TlsMaterial material) const {
    HttpTransportOptions options;
    options.base_url = url(port);
    options.tls = std::make_shared<FixedTls>(std::move(material));
    options.disable_http2 = GetParam() == Way::kHttp1 || GetParam() == Way::kProxyHttp1;
    if (GetParam() == Way::kProxy || GetParam() == Way::kProxyHttp1) options.proxy_url = fmt::format("http://127.0.0.1:{}", proxy_.port());
    return options;
  }
  // Whether a request got any answer.
  Result<void> Ask(const serve::KeyPair& certificate, TlsMaterial material) const {
    serve::HttpServerOptions how;
    how.tls = serve::HttpTlsOptions{.certificate_pem = certificate.certificate_pem, .key_pem = certificate.key_pem};
    const auto server = StartServer([](const Exchange& exchange) { exchange->Reply({.body = "hello"}); }, true, std::move(how));
    const std::shared_ptr<HttpTransport> transport = MakeHttpTransport(Options(server->port(), std::move(material))).value();
    if (GetParam() == Way::kUpgrade) {
      HttpRequest request = Get("/");
      request.headers = {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}};
      const Result<UpgradeResponse> answer = transport->Upgrade(Patient(), request);
      return answer ? Result<void>() : answer.error();
    }
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
    if (!answer) return answer.error();
    EXPECT_EQ(answer->http_major, http2() ? 2 : 1);
    return {};
  }

  RawServer proxy_{&Tunnel};
};

INSTANTIATE_TEST_SUITE_P(Ways, TlsRulesTest, ::testing::Values(Way::kHttp2, Way::kHttp1, Way::kUpgrade, Way::kProxy, Way::kProxyHttp1),
                         &NameOf);

TEST_P(TlsRulesTest, ACertificateWithoutSubjectAltNamesIsRefused) {
  const serve::KeyPair named = Pki().ca.Issue({.common_name = "localhost", .server = true}).value();
  const Result<void> refused = Ask(named, TrustingPki());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), transport_reason::kTls);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("has no subjectAltName"));
  TlsMaterial insecure;
  insecure.insecure = true;
  EXPECT_TRUE(Ask(named, insecure));  // as before
  EXPECT_TRUE(Ask(Pki().server, TrustingPki()));
}

// Without a DNS name among the alternatives, OpenSSL by itself takes the common name.
TEST_P(TlsRulesTest, ACommonNameDoesNotCountBesideAnAddressEither) {
  const serve::KeyPair addressed = Pki().ca.Issue({.common_name = "localhost", .addresses = {"192.0.2.1"}, .server = true}).value();
  const Result<void> refused = Ask(addressed, TrustingPki());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), transport_reason::kTls);
}

TEST_P(TlsRulesTest, ABadCertificateHidesNoneBehindIt) {
  const std::string good = Pki().ca.certificate_pem();
  const std::string begin = "-----BEGIN CERTIFICATE-----\n";
  const std::string end = "-----END CERTIFICATE-----\n";
  for (const std::string& bad : {
           begin + "YWJj\n" + end,                  // not a certificate
           begin + "%%%%\n" + end,                  // not base64
           begin + end,                             // nothing
           good.substr(0, good.size() / 2) + "\n",  // cut off
           good.substr(0, good.size() / 2),         // in the middle of a line
           begin,                                   // hardly begun
           std::string("# a comment\n\xff\xfe\n"),  // text
           Pki().server.key_pem,                    // a key
       }) {
    SCOPED_TRACE(bad);
    TlsMaterial material;
    material.ca_pem = bad + good + bad;
    const Result<void> answer = Ask(Pki().server, material);
    EXPECT_TRUE(answer) << answer.error().ToString();
  }
}

TEST_P(TlsRulesTest, ABundleWithoutAnyGoodCertificateTrustsNothing) {
  TlsMaterial material;
  material.ca_pem = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";
  const Result<void> refused = Ask(Pki().server, material);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("the CA cannot be used"));
}

TEST_P(TlsRulesTest, AnotherAuthorityIsNotTrusted) {
  TlsMaterial material;
  material.ca_pem = Pki().other_ca.certificate_pem();
  const Result<void> refused = Ask(Pki().server, material);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("unknown authority"));
}

TEST_P(TlsRulesTest, ThereIsNoRenegotiation) {
  Handover<int> outcome;
  RawServer server(
      [&](RawPeer& peer, int) {
        // The request has come, and the client waits for its answer.
        (void)peer.ReadUntil(http2() ? "SM\r\n\r\n" : "\r\n\r\n");
        outcome.Put(peer.RenegotiationIsRefused() ? 1 : 2);
      },
      &Pki().server, http2() ? "h2" : "http/1.1", true);
  const std::shared_ptr<HttpTransport> transport = MakeHttpTransport(Options(server.port(), TrustingPki())).value();
  if (GetParam() == Way::kUpgrade) {
    EXPECT_FALSE(transport->Upgrade(Patient(), Get("/")));
  } else {
    EXPECT_FALSE(transport->RoundTrip(Patient(), Get("/")));
  }
  EXPECT_EQ(outcome.Take(), 1);
}

// A proxy is verified by the same rules, whatever lies behind it.
TEST(TlsProxyTest, AProxyNeedsSubjectAltNamesToo) {
  const serve::KeyPair named = Pki().ca.Issue({.common_name = "localhost", .server = true}).value();
  const auto server = StartServer([](const Exchange& exchange) { exchange->Reply({.body = "hello"}); });
  for (const bool http1 : {false, true}) {
    for (const serve::KeyPair* certificate : {&named, &Pki().server}) {
      RawServer proxy([](RawPeer& peer, int) { (void)peer.ReadUntil("\r\n\r\n"), (void)peer.Send("HTTP/1.1 403 No\r\n\r\n"); }, certificate,
                      "http/1.1");
      HttpTransportOptions options;
      options.proxy_url = fmt::format("https://localhost:{}", proxy.port());
      options.disable_http2 = http1;
      const Result<HttpResponse> answer = TransportTo(server->port(), true, options)->RoundTrip(Patient(), Get("/"));
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().reason(), certificate == &named ? transport_reason::kTls : transport_reason::kProxy)
          << answer.error().ToString();
    }
  }
}

// ---- ALPN ----

// Answers each request with the number of its connection, in the protocol that was agreed on.
void Answer(RawPeer& peer, const std::string& alpn) {
  if (alpn == "h2") {
    H2Peer http(peer);
    if (!http.Start(H2Settings())) return;
    while (const std::uint32_t stream = http.NextRequest()) (void)http.Send(H2Headers(stream, true));
    return;
  }
  while (!peer.ReadUntil("\r\n\r\n").empty() && peer.ok()) (void)peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

// A load balancer that was not ready yet must not slow a client down for the rest of its life.
TEST(AlpnTest, AServerThatChoseHttp1OnceIsOfferedHttp2Again) {
  for (const bool by_proxy : {false, true}) {
    SCOPED_TRACE(by_proxy);
    RawServer proxy(&Tunnel);
    RawServer server(
        [&](RawPeer& peer, int) {
          // The first bytes show which protocol was agreed on.
          std::string first = peer.ReadExactly(3);
          const bool preface = first == "PRI";
          peer.Unread(std::move(first));
          Answer(peer, preface ? "h2" : "http/1.1");
        },
        &Pki().server, "http/1.1");
    HttpTransportOptions options;
    if (by_proxy) options.proxy_url = fmt::format("http://127.0.0.1:{}", proxy.port());
    options.http2_retry = std::chrono::milliseconds(0);
    const auto transport = TransportTo(server.port(), true, options);
    for (int i = 0; i < 3; ++i) {
      const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
      ASSERT_TRUE(answer) << answer.error().ToString();
      EXPECT_EQ(answer->http_major, 1);
    }
    server.SetAlpn("h2");
    // Connections of HTTP/1.1 that are open serve the requests until the offer was taken.
    EXPECT_TRUE(Eventually([&] {
      const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
      EXPECT_TRUE(answer) << answer.error().ToString();
      return !answer || answer->http_major == 2;
    }));
    // And it stays so.
    EXPECT_EQ(transport->RoundTrip(Patient(), Get("/")).value().http_major, 2);
  }
}

// Nor does a server that never speaks HTTP/2 see a connection for each request.
TEST(AlpnTest, AServerOfHttp1IsNotOfferedHttp2AgainAtOnce) {
  RawServer server([](RawPeer& peer, int) { Answer(peer, "http/1.1"); }, &Pki().server, "http/1.1");
  HttpTransportOptions options;
  options.http2_retry = std::chrono::hours(1);
  const auto transport = TransportTo(server.port(), true, options);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(transport->RoundTrip(Patient(), Get("/")));
  EXPECT_EQ(server.accepted(), 2);  // the one that found out, and the one in use
}

}  // namespace
}  // namespace kube::curl_test
