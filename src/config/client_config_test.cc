#include "kube/config/client_config.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "config/text.h"
#include "kube/version.h"

namespace kube {
namespace {

using internal::CleanText;
using internal::Quoted;
using internal::WithoutUserInfo;

ClientConfig Full() {
  ClientConfig config;
  config.host = "https://admin:hunter2@10.0.0.1:6443/prefix";
  config.ns = "team";
  config.tls.ca_data = "ca-pem";
  config.tls.ca_file = "/ca.crt";
  config.tls.server_name = "kube";
  config.tls.certificate_data = "cert-pem";
  config.tls.certificate_file = "/cert.pem";
  config.tls.key_data = SecretString("key-secret");
  config.tls.key_file = "/key.pem";
  config.token = SecretString("token-secret");
  config.token_file = "/token";
  config.username = "bob";
  config.password = SecretString("password-secret");
  ExecConfig exec;
  exec.command = "login";
  exec.args = {"--secret=args-secret"};
  exec.env = {{"NAME", "env-secret"}};
  exec.api_version = "client.authentication.k8s.io/v1";
  exec.cluster_extension = Value("extension-secret");
  config.exec = std::make_shared<const ExecConfig>(exec);
  AuthProviderConfig provider;
  provider.name = "oidc";
  provider.config = {{"refresh-token", "refresh-secret"}};
  config.auth_provider = std::make_shared<const AuthProviderConfig>(provider);
  config.impersonate = {.user = "alice", .uid = "7", .groups = {"dev"}, .extra = {{"scope", {"a"}}}};
  config.proxy_url = "socks5://u:proxy-secret@proxy:1080";
  config.compression = true;
  config.disable_compression = true;
  config.disable_http2 = true;
  config.user_agent = "me/1";
  config.qps = 50;
  config.burst = 100;
  config.timeout = std::chrono::seconds(90);
  config.content_type = "application/json";
  return config;
}

TEST(Contract9ClientConfig, ToStringShowsEverythingButSecrets) {
  EXPECT_EQ(Full().ToString(),
            "ClientConfig{host: \"https://[redacted]@10.0.0.1:6443/prefix\", ns: \"team\", ca_data: (6 bytes), ca_file: \"/ca.crt\", "
            "server_name: \"kube\", certificate_data: (8 bytes), certificate_file: \"/cert.pem\", key_data: [redacted], "
            "key_file: \"/key.pem\", token: [redacted], token_file: \"/token\", username: \"bob\", password: [redacted], "
            "exec: {command: \"login\", args: 1 [redacted], env \"NAME\": [redacted], api_version: \"client.authentication.k8s.io/v1\", "
            "cluster_extension: [redacted]}, auth_provider: {name: \"oidc\", \"refresh-token\": [redacted]}, "
            "impersonate: {user: \"alice\", uid: \"7\", groups: [\"dev\"], extra \"scope\": [\"a\"]}, "
            "proxy_url: \"socks5://[redacted]@proxy:1080\", compression: true, disable_compression: true, disable_http2: true, user_agent: "
            "\"me/1\", "
            "qps: 50, burst: 100, timeout: 1m30s, content_type: \"application/json\"}");
  EXPECT_EQ(ClientConfig().ToString(), "ClientConfig{}");
}

TEST(Contract9ClientConfig, AnonymousKeepsServerAndLimitsOnly) {
  EXPECT_EQ(Full().Anonymous().ToString(),
            "ClientConfig{host: \"https://[redacted]@10.0.0.1:6443/prefix\", ns: \"team\", ca_data: (6 bytes), ca_file: \"/ca.crt\", "
            "server_name: \"kube\", proxy_url: \"socks5://[redacted]@proxy:1080\", compression: true, disable_compression: true, "
            "disable_http2: true, "
            "user_agent: \"me/1\", qps: 50, burst: 100, timeout: 1m30s, content_type: \"application/json\"}");
}

TEST(Contract9ClientConfig, UserAgentNamesProgramPlatformAndLibrary) {
  const std::string agent = DefaultUserAgent();
  EXPECT_EQ(agent.substr(0, agent.find(' ')), "config_test/v" KUBE_VERSION_STRING);
  EXPECT_NE(agent.find(" (linux/"), std::string::npos) << agent;
  EXPECT_EQ(agent.substr(agent.rfind(' ') + 1), "kubexx/" KUBE_VERSION_STRING);
}

TEST(Contract9ClientConfig, HostWithoutSchemeIsHttpsOnlyWhereTlsIsConfigured) {
  ClientConfig config;
  EXPECT_EQ(config.BaseUrl().value(), "http://localhost");
  config.host = "10.0.0.1:8080";
  EXPECT_EQ(config.BaseUrl().value(), "http://10.0.0.1:8080");
  config.tls.insecure = true;
  EXPECT_EQ(config.BaseUrl().value(), "https://10.0.0.1:8080");
  config.tls = {};
  config.tls.ca_file = "/ca.crt";
  EXPECT_EQ(config.BaseUrl().value(), "https://10.0.0.1:8080");
  config.tls = {};
  config.tls.certificate_data = "pem";
  EXPECT_EQ(config.BaseUrl().value(), "https://10.0.0.1:8080");
  config.tls = {};
  config.tls.server_name = "kube";
  EXPECT_EQ(config.BaseUrl().value(), "http://10.0.0.1:8080");
  config.host = "[fd00::1]:6443";
  EXPECT_EQ(config.BaseUrl().value(), "http://[fd00::1]:6443");
}

TEST(Contract9ClientConfig, BaseUrlKeepsThePathAndDropsTheRest) {
  ClientConfig config;
  config.host = "HTTPS://Example.com:6443/a/b//?query=1#part";
  EXPECT_EQ(config.BaseUrl().value(), "https://Example.com:6443/a/b");
  config.host = "http://example.com/";
  EXPECT_EQ(config.BaseUrl().value(), "http://example.com");
}

TEST(ClientConfigTest, BaseUrlSaysWhatIsWrongWithAHost) {
  const auto problem = [](std::string host) {
    ClientConfig config;
    config.host = std::move(host);
    Result<std::string> url = config.BaseUrl();
    return url ? "fine: " + *url : url.error().ToString();
  };
  EXPECT_EQ(problem("example.com/prefix"), "host \"example.com/prefix\": has to be a URL or host:port; with a path, write the scheme too");
  EXPECT_EQ(problem("ftp://example.com"), "host \"ftp://example.com\": the scheme has to be http or https");
  EXPECT_EQ(problem("https://"), "host \"https://\": a URL without a host");
  EXPECT_EQ(problem("https://a:port"), "host \"https://a:port\": a port that is not a number from 1 to 65535");
  EXPECT_EQ(problem("https://a:70000"), "host \"https://a:70000\": a port that is not a number from 1 to 65535");
  EXPECT_EQ(problem("https://fd00::1:6443"), "host \"https://fd00::1:6443\": an IPv6 address needs brackets: https://[fd00::1]:6443");
  EXPECT_EQ(problem("https://[fd00::1"), "host \"https://[fd00::1\": an IPv6 address without its ']'");
  EXPECT_EQ(problem("https://a b"), "host \"https://a b\": a space or another character that a URL cannot have");
  EXPECT_EQ(problem("https://u:hunter2@a b"), "host \"https://[redacted]@a b\": a space or another character that a URL cannot have");
}

TEST(ClientConfigTest, ValidateAcceptsWhatWorks) {
  EXPECT_TRUE(ClientConfig().Validate());
  ClientConfig config;
  config.host = "https://a";
  config.token = SecretString("x");
  config.token_file = "/token";
  config.tls.ca_data = "pem";
  config.tls.ca_file = "/ca";
  config.tls.certificate_file = "/cert";
  config.tls.key_data = SecretString("key");
  config.impersonate.user = "bob";
  config.impersonate.groups = {"g"};
  config.proxy_url = "socks5://p:1";
  EXPECT_TRUE(config.Validate());
}

TEST(ClientConfigTest, ValidateNamesEveryProblem) {
  ClientConfig config;
  config.host = "ftp://a";
  config.tls.insecure = true;
  config.tls.ca_file = "/ca";
  config.tls.certificate_file = "/cert";
  config.token_file = "/token";
  config.username = "bob";
  config.exec = std::make_shared<const ExecConfig>();
  config.auth_provider = std::make_shared<const AuthProviderConfig>();
  config.impersonate.groups = {"g"};
  config.proxy_url = "ftp://u:secret@p";
  config.burst = -1;
  config.timeout = std::chrono::seconds(-1);
  config.user_agent = "a\nb";
  Result<void> valid = config.Validate();
  ASSERT_FALSE(valid);
  EXPECT_EQ(valid.error().kind(), ErrorKind::kConfig);
  EXPECT_EQ(valid.error().message(),
            "client config: host \"ftp://a\": the scheme has to be http or https; tls.insecure together with a CA: it would not be used; "
            "remove one of them; a client certificate without its key: set tls.key_file or tls.key_data; both a token and a username or "
            "password: keep one of them; both exec and auth_provider: keep one of them; exec.command is empty; exec.api_version is empty; "
            "impersonate.uid, groups or extra without impersonate.user: set the user; proxy_url \"ftp://[redacted]@p\": a scheme that is "
            "not known; use http, https or socks5; burst is less than 0; timeout is less than 0; user_agent has a control character");
  config = {};
  config.tls.key_file = "/key";
  EXPECT_EQ(config.Validate().error().message(),
            "client config: a client key without its certificate: set tls.certificate_file or tls.certificate_data");
}

TEST(ConfigTextTest, CleansWhatCouldDriveATerminal) {
  EXPECT_EQ(CleanText("plain text, \xc3\xa4 and \xe2\x82\xac"), "plain text, \xc3\xa4 and \xe2\x82\xac");
  EXPECT_EQ(CleanText("\x1b[1mbold\x1b[0m"), "U+001B[1mboldU+001B[0m");
  EXPECT_EQ(CleanText("a\nb\tc"), "aU+000AbU+0009c");
  EXPECT_EQ(CleanText("a\nb\tc", true), "a\nb\tc");
  EXPECT_EQ(CleanText("\xc2\x9b"
                      "1m"),
            "U+009B1m");  // the one-byte form of ESC [
  EXPECT_EQ(CleanText("a\xe2\x80\xae"
                      "b"),
            "aU+202Eb");  // right-to-left override
  EXPECT_EQ(CleanText("\xff\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(CleanText(std::string_view("\0", 1)), "U+0000");
}

TEST(ConfigTextTest, QuotesAreBounded) {
  EXPECT_EQ(Quoted("x"), "\"x\"");
  EXPECT_EQ(Quoted(std::string(300, 'a')), "\"" + std::string(200, 'a') + "...\"");
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "\xe2\x82\xac";
  EXPECT_TRUE(internal::IsUtf8(Quoted(wide)));
}

TEST(ConfigTextTest, UrlsLoseTheirPasswords) {
  EXPECT_EQ(WithoutUserInfo("http://u:p@h/x@y"), "http://[redacted]@h/x@y");
  EXPECT_EQ(WithoutUserInfo("u:p@h:1"), "[redacted]@h:1");
  EXPECT_EQ(WithoutUserInfo("http://h/x@y?z@w"), "http://h/x@y?z@w");
  EXPECT_EQ(WithoutUserInfo("http://a@b@h"), "http://[redacted]@h");
}

}  // namespace
}  // namespace kube
