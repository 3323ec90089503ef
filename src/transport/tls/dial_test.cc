// Connections as they are opened: names, addresses that do not answer, certificates. The transport's own tests have the rest.
#include "transport/tls/dial.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "kube/transport/http_transport.h"
#include "transport/curl/libcurl.h"
#include "transport/http_transport_test_util.h"
#include "transport/request/settings.h"
#include "transport/tls/tls_socket.h"

namespace kube::curl_test {
namespace {

using internal::Address;
using internal::Descriptor;
using internal::Dial;
using internal::Failure;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Exchange = std::shared_ptr<serve::HttpExchange>;
void Echo(const Exchange& exchange) { exchange->Reply({.body = "ok"}); }

Address Loopback(std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Address address;
  address.family = AF_INET;
  std::memcpy(&address.bytes, &in, sizeof in);
  address.size = sizeof in;
  return address;
}

std::shared_ptr<const internal::Settings> SettingsFor(std::uint16_t port) {
  HttpTransportOptions options;
  options.base_url = fmt::format("https://127.0.0.1:{}", port);
  options.connect_timeout = kPatience;
  return internal::MakeSettings(options).value();
}

Dial::State Finish(Dial& dial) {
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (const Dial::State state = dial.Step(now); state != Dial::State::kUnderWay) return state;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(dial.next() - now).count();
    pollfd one{dial.fd(), POLLIN, 0};
    (void)poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
  }
}

class DialTest : public ::testing::Test {
 protected:
  const TlsMaterial material_ = TrustingPki();
  Failure failure_;
  const internal::SslContext context_ = internal::MakeSslContext(&material_, failure_);
};

TEST(AddressTest, FamiliesTakeTurnsInTheOrderOfTheResolver) {
  std::vector<Address> all(5);
  const int families[] = {AF_INET6, AF_INET6, AF_INET6, AF_INET, AF_INET};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].family = families[i];
    all[i].size = static_cast<socklen_t>(i);
  }
  std::vector<socklen_t> order;
  for (const Address& one : internal::InTurn(all)) order.push_back(one.size);
  EXPECT_THAT(order, ::testing::ElementsAre(0, 3, 1, 4, 2));
  EXPECT_TRUE(internal::InTurn({}).empty());
}

TEST_F(DialTest, AnAddressThatRefusesIsFollowedByTheNext) {
  const auto server = StartServer(Echo);
  Dial dial(SettingsFor(server->port()), &material_, context_.get(), std::chrono::steady_clock::now(),
            {Loopback(UnusedPort()), Loopback(server->port())});
  EXPECT_EQ(Finish(dial), Dial::State::kDone) << dial.failure().detail;
}

TEST_F(DialTest, AnAddressThatDoesNotAnswerIsFollowedByTheNext) {
  // A port that takes no connection: its queue is full, and the server does not accept.
  const Descriptor silent(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address any = Loopback(0);
  ASSERT_EQ(bind(silent.get(), reinterpret_cast<const sockaddr*>(&any.bytes), any.size), 0);
  ASSERT_EQ(listen(silent.get(), 0), 0);
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ASSERT_EQ(getsockname(silent.get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
  const Address full = Loopback(ntohs(bound.sin_port));
  std::vector<Descriptor> fill;
  for (int i = 0; i < 4; ++i) {
    fill.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)connect(fill.back().get(), reinterpret_cast<const sockaddr*>(&full.bytes), full.size);
  }
  const auto server = StartServer(Echo);
  Dial dial(SettingsFor(server->port()), &material_, context_.get(), std::chrono::steady_clock::now(), {full, Loopback(server->port())});
  EXPECT_EQ(Finish(dial), Dial::State::kDone) << dial.failure().detail;
}

TEST_F(DialTest, WhereAllRefuseTheLastReasonIsTold) {
  const std::uint16_t port = UnusedPort();
  Dial dial(SettingsFor(port), &material_, context_.get(), std::chrono::steady_clock::now(), {Loopback(port), Loopback(port)});
  EXPECT_EQ(Finish(dial), Dial::State::kFailed);
  EXPECT_EQ(dial.failure().kind, internal::FailureKind::kConnect);
  EXPECT_EQ(dial.failure().os_error, ECONNREFUSED);
}

// Threads of this process that look up names.
int Lookups() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm");
    std::string name;
    if (std::getline(comm, name) && name == "kube-lookup") ++count;
  }
  return count;
}

TEST_F(DialTest, ALookupMayOutliveWhoAskedForIt) {
  HttpTransportOptions options;
  options.base_url = "https://localhost";
  for (int i = 0; i < 10; ++i) {
    Dial dial(internal::MakeSettings(options).value(), &material_, context_.get(), std::chrono::steady_clock::now());
    EXPECT_NE(dial.Step(std::chrono::steady_clock::now()), Dial::State::kDone);
  }
  // What they hold is theirs as long as they live; a process that ends before them would seem to have lost it.
  EXPECT_TRUE(Eventually([] { return Lookups() == 0; }));
}

TEST(Contract12Tls, NamesAreLookedUpVerifiedAndSent) {
  const auto server = StartServer(Echo);
  HttpTransportOptions options;
  options.base_url = fmt::format("https://localhost:{}", server->port());
  const Result<HttpResponse> answer = TransportTo(server->port(), true, options)->RoundTrip(Patient(), Get("/"));
  ASSERT_TRUE(answer) << answer.error().ToString();
  EXPECT_EQ(answer->http_major, 2);
}

TEST(Contract12Tls, WithoutACaTheRootsOfTheSystemCount) {
  char path[] = "/tmp/kubexx-roots-XXXXXX";
  const Descriptor file(mkstemp(path));
  const std::string pem = Pki().ca.certificate_pem();
  ASSERT_EQ(write(file.get(), pem.data(), pem.size()), static_cast<ssize_t>(pem.size()));
  for (const bool http2 : {true, false}) {
    const auto server = StartServer(Echo);
    HttpTransportOptions options;
    options.base_url = fmt::format("https://127.0.0.1:{}", server->port());
    options.disable_http2 = !http2;
    const auto send = [&] { return MakeHttpTransport(options).value()->RoundTrip(Patient(), Get("/")); };
    const Result<HttpResponse> stranger = send();
    ASSERT_FALSE(stranger);
    EXPECT_THAT(stranger.error().ToString(), HasSubstr("unknown authority"));
    ASSERT_EQ(setenv("SSL_CERT_FILE", path, 1), 0);
    const Result<HttpResponse> known = send();
    ASSERT_EQ(unsetenv("SSL_CERT_FILE"), 0);
    EXPECT_TRUE(known) << known.error().ToString();
  }
  unlink(path);
}

// As in Go: a CA need not be a root, nor even a CA.
TEST(Contract12Tls, AServersOwnCertificateMayBeTheCa) {
  const auto server = StartServer(Echo);
  TlsMaterial material;
  material.ca_pem = Pki().server.certificate_pem;
  HttpTransportOptions options;
  options.tls = std::make_shared<FixedTls>(material);
  const Result<HttpResponse> answer = TransportTo(server->port(), true, options)->RoundTrip(Patient(), Get("/"));
  EXPECT_TRUE(answer) << answer.error().ToString();
}

TEST(Contract12Tls, AKeyWithAPassphraseIsAnErrorAndNobodyIsAsked) {
  BIO* text = BIO_new_mem_buf(Pki().client.key_pem.data(), static_cast<int>(Pki().client.key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  ASSERT_NE(key, nullptr);
  BIO* out = BIO_new(BIO_s_mem());
  char passphrase[] = "secret";
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_256_cbc(), passphrase, 6, nullptr, nullptr), 1);
  EVP_PKEY_free(key);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out, &bytes);
  serve::KeyPair locked = Pki().client;
  locked.key_pem.assign(bytes, static_cast<std::size_t>(size));
  BIO_free(out);

  TlsMaterial material = TrustingPki();
  material.certificate = AsClient(locked);
  Failure failure;
  EXPECT_EQ(internal::MakeSslContext(&material, failure), nullptr);
  EXPECT_EQ(failure.kind, internal::FailureKind::kClientCertificate);
}

TEST(LibCurlTest, OneThatIsMissingOrAnotherLibraryIsToldSo) {
  const Result<internal::LibCurl> missing = internal::LoadCurlFrom("libcurl-of-nobody.so.4");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::kConfig);
  EXPECT_THAT(missing.error().ToString(), AllOf(HasSubstr("libcurl-of-nobody.so.4"), HasSubstr("install"), HasSubstr("proxies")));
  const Result<internal::LibCurl> other = internal::LoadCurlFrom("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().ToString(), HasSubstr("curl_"));
}

}  // namespace
}  // namespace kube::curl_test
