// Versions and cipher suites: their names, and what clients of OpenSSL get.
#include "serve/tls_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "serve/serve_test_util.h"

namespace kube::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void Hello(const std::shared_ptr<HttpExchange>& exchange) { exchange->Reply({.body = "hello"}); }

struct Handshake {
  int max_version = 0;
  std::string ciphers = "ALL";
};

// "TLSv1.3 TLS_AES_256_GCM_SHA384", or "" if the server refuses.
std::string Connect(const HttpServer& server, const Handshake& with) {
  const RawClient client(server.port());
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), with.max_version);
  SSL_CTX_set_cipher_list(context.get(), with.ciphers.c_str());
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), client.fd());
  if (SSL_connect(ssl.get()) != 1) return "";
  return std::string(SSL_get_version(ssl.get())) + " " + SSL_get_cipher_name(ssl.get());
}

std::unique_ptr<HttpServer> StartWith(TlsPolicy policy) {
  return StartServer({.tls = TestTls(false), .tls_policy = std::move(policy)}, Hello);
}

TEST(TlsPolicyTest, NamesAreThoseOfKubernetes) {
  EXPECT_TRUE(CheckTlsVersion("VersionTLS12"));
  EXPECT_TRUE(CheckTlsVersion("VersionTLS13"));
  EXPECT_EQ(CheckTlsVersion("TLS1.2").error().ToString(), "unknown TLS version \"TLS1.2\": use VersionTLS12 or VersionTLS13");
  EXPECT_THAT(CheckTlsVersion("VersionTLS10").error().ToString(), HasSubstr("VersionTLS10 is not supported"));
  EXPECT_THAT(ParseCipherSuites(" TLS_AES_128_GCM_SHA256 ,TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA").value(),
              ElementsAre("TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"));
  EXPECT_THAT(ParseCipherSuites("").value(), ElementsAre());
  for (const char* wrong : {"TLS_RSA_WITH_RC4_128_SHA", "ECDHE-RSA-AES128-SHA", "TLS_AES_128_GCM_SHA256,", ",", "tls_aes_128_gcm_sha256"}) {
    const auto parsed = ParseCipherSuites(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_THAT(parsed.error().ToString(), HasSubstr("unknown or insecure cipher suite \"")) << wrong;
    EXPECT_THAT(parsed.error().ToString(), HasSubstr("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"));
  }
}

// OpenSSL drops names that it does not know without a word.
TEST(TlsPolicyTest, EachNameIsOneThatOpenSslHas) {
  for (const std::string_view name : CipherSuiteNames()) {
    const auto server = StartWith({.cipher_suites = {std::string(name)}});
    const OpenSslPolicy translated = TranslateTlsPolicy({.cipher_suites = {std::string(name)}}).value();
    EXPECT_EQ(translated.only_tls13, translated.tls12_ciphers.empty()) << name;
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    const std::string& tls12 = translated.tls12_ciphers;
    EXPECT_TRUE(tls12.empty() || SSL_CTX_set_cipher_list(context.get(), tls12.c_str()) == 1) << name;
    const std::string& tls13 = translated.tls13_suites;
    EXPECT_TRUE(tls13.empty() || SSL_CTX_set_ciphersuites(context.get(), tls13.c_str()) == 1) << name;
  }
}

TEST(TlsPolicyTest, BadPoliciesStartNoServer) {
  const auto version = HttpServer::Start({.tls = TestTls(false), .tls_policy = {.min_version = "1.2"}}, Hello);
  ASSERT_FALSE(version);
  EXPECT_THAT(version.error().ToString(), HasSubstr("unknown TLS version \"1.2\""));
  const auto suite = HttpServer::Start({.tls = TestTls(false), .tls_policy = {.cipher_suites = {"NULL"}}}, Hello);
  ASSERT_FALSE(suite);
  EXPECT_THAT(suite.error().ToString(), HasSubstr("cipher suite \"NULL\""));
}

TEST(TlsPolicyTest, OlderVersionsAreRefused) {
  const auto old = StartWith({});
  EXPECT_EQ(Connect(*old, {.max_version = TLS1_1_VERSION, .ciphers = "ALL@SECLEVEL=0"}), "");
  EXPECT_THAT(Connect(*old, {.max_version = TLS1_2_VERSION}), HasSubstr("TLSv1.2 ECDHE-"));
  EXPECT_THAT(Connect(*old, {.max_version = TLS1_3_VERSION}), HasSubstr("TLSv1.3 "));
  const auto strict = StartWith({.min_version = "VersionTLS13"});
  EXPECT_EQ(Connect(*strict, {.max_version = TLS1_2_VERSION}), "");
  EXPECT_THAT(Connect(*strict, {.max_version = TLS1_3_VERSION}), HasSubstr("TLSv1.3 "));
  // It stays so with another certificate.
  ASSERT_TRUE(strict->SetTls(TestTls(false)));
  EXPECT_EQ(Connect(*strict, {.max_version = TLS1_2_VERSION}), "");
}

TEST(TlsPolicyTest, OnlyTheSuitesOfTheList) {
  // The test's certificate may be of either sort.
  const auto server = StartWith({.cipher_suites = {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
                                                   "TLS_CHACHA20_POLY1305_SHA256"}});
  EXPECT_THAT(Connect(*server, {.max_version = TLS1_2_VERSION}), HasSubstr("AES256-GCM-SHA384"));
  EXPECT_EQ(Connect(*server, {.max_version = TLS1_2_VERSION, .ciphers = "ECDHE+AES128"}), "");
  EXPECT_EQ(Connect(*server, {.max_version = TLS1_3_VERSION}), "TLSv1.3 TLS_CHACHA20_POLY1305_SHA256");
}

// Neither forward secrecy nor authenticated encryption can be talked away.
TEST(TlsPolicyTest, WeakSuitesAreNotOfferedByDefault) {
  const auto server = StartWith({});
  for (const char* weak : {"kRSA", "AES128-SHA", "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA", "aNULL", "eNULL"})
    EXPECT_EQ(Connect(*server, {.max_version = TLS1_2_VERSION, .ciphers = std::string(weak) + ":@SECLEVEL=0"}), "") << weak;
}

TEST(TlsPolicyTest, ClientsCannotRenegotiate) {
  const auto server = StartWith({});
  const RawClient client(server->port());
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), client.fd());
  ASSERT_EQ(SSL_connect(ssl.get()), 1);
  ASSERT_EQ(SSL_renegotiate(ssl.get()), 1);
  EXPECT_NE(SSL_do_handshake(ssl.get()), 1);
}

}  // namespace
}  // namespace kube::serve
