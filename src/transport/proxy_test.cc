// Ways to the server: proxies, and which one the environment asks for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "kube/transport/http_transport.h"
#include "kube/transport/transport_errors.h"
#include "transport/http_transport_test_util.h"
#include "transport/request/endpoint.h"

namespace kube::curl_test {
namespace {

using internal::Endpoint;
using internal::EnvironmentProxy;
using internal::MatchesNoProxy;
using internal::ParseBaseUrl;
using internal::ParseProxyUrl;
using internal::Proxy;
using Exchange = std::shared_ptr<serve::HttpExchange>;
using ::testing::HasSubstr;
using ::testing::Not;

void Echo(const Exchange& exchange) { exchange->Reply({.body = exchange->request().path}); }

std::shared_ptr<HttpTransport> Through(const std::string& proxy, std::uint16_t port, bool tls = true) {
  HttpTransportOptions options;
  options.proxy_url = proxy;
  return TransportTo(port, tls, options);
}

// A proxy for CONNECT. Puts the head of each request into `seen`.
RawServer::Script ConnectProxy(Handover<std::string>& seen, int code = 200) {
  return [&seen, code](RawPeer& peer, int) {
    const std::string head = peer.ReadUntil("\r\n\r\n");
    seen.Put(head);
    if (code != 200) {
      (void)peer.Send(fmt::format("HTTP/1.1 {} No\r\nContent-Length: 0\r\n\r\n", code));
      return;
    }
    const std::size_t colon = head.find(':');
    const int target = ConnectTo(static_cast<std::uint16_t>(std::stoi(head.substr(colon + 1))));
    (void)peer.Send("HTTP/1.1 200 Connection established\r\n\r\n");
    Splice(peer, target);
  };
}

TEST(Contract12Proxy, HttpProxyTunnelsTls) {
  Handover<std::string> seen;
  RawServer proxy(ConnectProxy(seen));
  const auto server = StartServer(Echo);
  const auto transport = Through(fmt::format("http://user:p%40ss@127.0.0.1:{}", proxy.port()), server->port());
  for (int i = 0; i < 3; ++i) {
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/a"));
    ASSERT_TRUE(answer) << answer.error().ToString();
    EXPECT_EQ(answer->body, "/a");
    EXPECT_EQ(answer->http_major, 2);
    EXPECT_FALSE(answer->headers.Has("Connection"));
  }
  const std::string head = seen.Take();
  EXPECT_EQ(head.substr(0, head.find("\r\n")), fmt::format("CONNECT 127.0.0.1:{} HTTP/1.1", server->port()));
  EXPECT_THAT(head, HasSubstr("Proxy-Authorization: Basic dXNlcjpwQHNz"));  // user:p@ss
  EXPECT_EQ(proxy.accepted(), 1);
}

TEST(Contract12Proxy, HttpsProxyIsVerifiedByTheSameCa) {
  Handover<std::string> seen;
  Handover<std::string> unseen;
  const auto server = StartServer(Echo, false);
  // TLS to the proxy; the server behind it is plain, so that the splice of this test needs no second thread for TLS.
  RawServer proxy(
      [&](RawPeer& peer, int) {
        const std::string head = peer.ReadUntil("\r\n\r\n");
        seen.Put(head.substr(0, head.find("\r\n")));
        (void)peer.Send("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
      },
      &Pki().server, "http/1.1");
  const auto transport = Through(fmt::format("https://127.0.0.1:{}", proxy.port()), server->port(), true);
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason(), transport_reason::kProxy) << answer.error().ToString();
  EXPECT_EQ(seen.Take(), fmt::format("CONNECT 127.0.0.1:{} HTTP/1.1", server->port()));
}

TEST(Contract12Proxy, PlainRequestsAreHandedToAnHttpProxy) {
  RawServer proxy([](RawPeer& peer, int) {
    const std::string head = peer.ReadUntil("\r\n\r\n");
    const std::string line = head.substr(0, head.find("\r\n"));
    (void)peer.Send(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", line.size(), line));
  });
  HttpTransportOptions options;
  options.base_url = "http://cluster.test:8080/base";
  options.proxy_url = fmt::format("127.0.0.1:{}", proxy.port());
  const Result<HttpResponse> answer = TransportTo(1, false, options)->RoundTrip(Patient(), Get("/a?b=c"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->body, "GET http://cluster.test:8080/base/a?b=c HTTP/1.1");
}

TEST(Contract12Proxy, Socks5GetsTheNameAndTheCredentials) {
  Handover<std::string> seen;
  const auto server = StartServer(Echo);
  RawServer proxy([&](RawPeer& peer, int) {
    const std::string hello = peer.ReadExactly(2);
    (void)peer.ReadExactly(static_cast<std::size_t>(hello[1]));
    (void)peer.Send(std::string("\x05\x02", 2));
    const std::string user = peer.ReadExactly(static_cast<std::size_t>(peer.ReadExactly(2)[1]));
    const std::string password = peer.ReadExactly(static_cast<std::size_t>(peer.ReadExactly(1)[0]));
    (void)peer.Send(std::string("\x01\x00", 2));
    const std::string ask = peer.ReadExactly(5);
    const std::string host = peer.ReadExactly(static_cast<std::size_t>(ask[4]));
    const std::string port = peer.ReadExactly(2);
    seen.Put(user + "|" + password + "|" + std::to_string(static_cast<int>(ask[3])) + "|" + host);
    const int number = static_cast<unsigned char>(port[0]) * 256 + static_cast<unsigned char>(port[1]);
    (void)peer.Send(std::string("\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00", 10));
    Splice(peer, ConnectTo(static_cast<std::uint16_t>(number)));
  });
  HttpTransportOptions options;
  options.base_url = fmt::format("https://kubernetes.test:{}", server->port());  // only the proxy knows this name
  options.proxy_url = fmt::format("socks5://me:secret@127.0.0.1:{}", proxy.port());
  const Result<HttpResponse> answer = TransportTo(1, true, options)->RoundTrip(Patient(), Get("/a"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->body, "/a");
  EXPECT_EQ(seen.Take(), "me|secret|3|kubernetes.test");
}

TEST(Contract12Proxy, AProxyThatRefusesIsNamedWithoutItsPassword) {
  Handover<std::string> seen;
  for (const int code : {403, 407, 502}) {
    RawServer proxy(ConnectProxy(seen, code));
    const auto transport = Through(fmt::format("http://user:secret@127.0.0.1:{}", proxy.port()), 6443);
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().reason(), transport_reason::kProxy) << answer.error().ToString();
    EXPECT_THAT(answer.error().ToString(), HasSubstr(std::to_string(code)));
    EXPECT_THAT(answer.error().ToString(), HasSubstr("user:***@127.0.0.1"));
    EXPECT_THAT(answer.error().ToString(), Not(HasSubstr("secret")));
  }
}

TEST(Contract12Proxy, AProxyThatIsNotThere) {
  const auto transport = Through(fmt::format("http://user:secret@127.0.0.1:{}", UnusedPort()), 6443);
  const Result<HttpResponse> answer = transport->RoundTrip(Patient(), Get("/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason(), transport_reason::kProxy) << answer.error().ToString();
  EXPECT_FALSE(IsConnectionRefused(answer.error()));
  EXPECT_THAT(answer.error().ToString(), Not(HasSubstr("secret")));
}

// ---- The environment ----

using Environment = std::map<std::string, std::string>;

std::string ProxyFor(const std::string& url, const Environment& environment) {
  const Endpoint endpoint = ParseBaseUrl(url).value();
  const Result<std::optional<Proxy>> proxy = EnvironmentProxy(endpoint, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  });
  if (!proxy) return proxy.error().ToString();
  return *proxy ? (*proxy)->Describe() : "none";
}

TEST(Contract12Proxy, TheSchemeOfTheServerDecidesWhichVariableCounts) {
  const Environment both = {{"HTTPS_PROXY", "http://s:1"}, {"HTTP_PROXY", "http://p:2"}};
  EXPECT_EQ(ProxyFor("https://example.com", both), "http://s:1");
  EXPECT_EQ(ProxyFor("http://example.com", both), "http://p:2");
  EXPECT_EQ(ProxyFor("https://example.com", {{"https_proxy", "s"}}), "http://s:80");
  EXPECT_EQ(ProxyFor("http://example.com", {{"http_proxy", "socks5://s"}}), "socks5://s:1080");
  EXPECT_EQ(ProxyFor("https://example.com", {{"HTTPS_PROXY", "one"}, {"https_proxy", "two"}}), "http://one:80");
  EXPECT_EQ(ProxyFor("https://example.com", {{"HTTP_PROXY", "http://p:2"}}), "none");
  EXPECT_EQ(ProxyFor("http://example.com", {{"HTTP_PROXY", "p"}, {"REQUEST_METHOD", "GET"}}), "none");
  EXPECT_THAT(ProxyFor("https://example.com", {{"HTTPS_PROXY", "gopher://u:secret@p"}}), HasSubstr("HTTPS_PROXY"));
  EXPECT_THAT(ProxyFor("https://example.com", {{"HTTPS_PROXY", "gopher://u:secret@p"}}), Not(HasSubstr("secret")));
}

TEST(Contract12Proxy, ThisMachineIsNeverBehindAProxyOfTheEnvironment) {
  const Environment all = {{"HTTPS_PROXY", "http://s:1"}};
  for (const char* url :
       {"https://localhost:6443", "https://LOCALHOST", "https://127.0.0.1:6443", "https://127.3.2.1", "https://[::1]:6443"}) {
    EXPECT_EQ(ProxyFor(url, all), "none") << url;
  }
  EXPECT_EQ(ProxyFor("https://localhost.example.com", all), "http://s:1");
}

TEST(Contract12Proxy, NoProxyKnowsNamesAddressesAndCidrs) {
  struct Case {
    const char* list;
    const char* host;
    bool match;
  };
  const std::vector<Case> cases = {
      {"example.com", "example.com", true},
      {"example.com", "EXAMPLE.com", true},
      {"example.com", "api.example.com", true},
      {"example.com", "badexample.com", false},
      {".example.com", "api.example.com", true},
      {".example.com", "example.com", false},
      {"*.example.com", "api.example.com", true},
      {"*.example.com", "example.com", false},
      {"*", "anything", true},
      {"a, example.com ,b", "example.com", true},
      {"example.com:6443", "example.com", true},
      {"example.com:443", "example.com", false},
      {"10.0.0.0/8", "10.1.2.3", true},
      {"10.0.0.0/8", "11.1.2.3", false},
      {"10.96.0.0/12", "10.111.255.1", true},
      {"10.96.0.0/12", "10.112.0.1", false},
      {"192.168.1.5", "192.168.1.5", true},
      {"192.168.1.5", "192.168.1.50", false},
      {"192.168.1.5:6443", "192.168.1.5", true},
      {"192.168.1.5:1", "192.168.1.5", false},
      {"fd00::/8", "fd12::1", true},
      {"fd00::/8", "fe12::1", false},
      {"[fd12::1]:6443", "fd12::1", true},
      {"10.0.0.0/99", "10.1.2.3", false},
      {"10.0.0.0/x", "10.1.2.3", false},
      {"10.0.0.0/8", "ten.example.com", false},
      {"", "example.com", false},
      {",,", "example.com", false},
  };
  for (const Case& one : cases) EXPECT_EQ(MatchesNoProxy(one.list, one.host, 6443), one.match) << one.list << " " << one.host;
  EXPECT_EQ(ProxyFor("https://10.0.0.1:6443", {{"HTTPS_PROXY", "p"}, {"no_proxy", "10.0.0.0/24"}}), "none");
  EXPECT_EQ(ProxyFor("https://10.0.1.1:6443", {{"HTTPS_PROXY", "p"}, {"NO_PROXY", "10.0.0.0/24"}}), "http://p:80");
}

TEST(EndpointTest, PartsOfAUrl) {
  const Endpoint endpoint = ParseBaseUrl("https://[fd00::1]:6443/a/b/?x=1#y").value();
  EXPECT_TRUE(endpoint.tls);
  EXPECT_EQ(endpoint.host, "fd00::1");
  EXPECT_EQ(endpoint.path, "/a/b");
  EXPECT_EQ(endpoint.Authority(), "[fd00::1]:6443");
  EXPECT_EQ(ParseBaseUrl("https://example.com").value().Authority(), "example.com");
  EXPECT_EQ(ParseBaseUrl("http://example.com").value().HostPort(), "example.com:80");
  EXPECT_EQ(ParseBaseUrl("http://example.com:443").value().Authority(), "example.com:443");
}

}  // namespace
}  // namespace kube::curl_test
