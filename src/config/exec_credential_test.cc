#include "config/exec_credential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/codec/json.h"

namespace kube::internal {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

std::string Answer(const Value& status) {
  return ToJson(Value::Object({{"kind", "ExecCredential"}, {"apiVersion", kV1}, {"status", status}}));
}

TEST(ExecCredentialTest, ReadsJsonAndYaml) {
  const std::string yaml = "apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: abc\n";
  EXPECT_EQ(ParseExecCredential(yaml, kV1).value().token.reveal(), "abc");
  const std::string json = Answer(Value::Object({{"token", "abc"}}));
  EXPECT_EQ(ParseExecCredential("\n " + json + "\n", kV1).value().token.reveal(), "abc");
  EXPECT_FALSE(ParseExecCredential(json + json, kV1));
  EXPECT_FALSE(ParseExecCredential(yaml + "---\n" + yaml, kV1));
  EXPECT_FALSE(ParseExecCredential(std::string(kMaxExecOutput + 1, ' '), kV1));
}

TEST(ExecCredentialTest, ReadsTheEnd) {
  const auto expires = [](const Value& text) {
    return ParseExecCredential(Answer(Value::Object({{"token", "t"}, {"expirationTimestamp", text}})), kV1).value().expires;
  };
  EXPECT_EQ(expires("1970-01-01T00:01:00Z"), system_clock::time_point(seconds(60)));
  EXPECT_EQ(expires("1970-01-01T01:01:00.5+01:00"), system_clock::time_point(seconds(60)));
  EXPECT_EQ(expires("0001-01-01T00:00:00Z"), std::nullopt);
  EXPECT_EQ(expires("9999-12-31T23:59:59Z"), std::nullopt);
  EXPECT_EQ(expires(""), std::nullopt);
  EXPECT_EQ(expires(Value()), std::nullopt);
  EXPECT_LT(expires("0002-01-01T00:00:00Z").value(), system_clock::time_point());
}

TEST(ExecCredentialTest, TellsThePluginTheClusterAndNoMore) {
  ClientConfig config;
  config.host = "https://a.test";
  config.token = SecretString("hunter2");
  EXPECT_EQ(ToJson(ExecClusterInfo(config, "")), R"({"config":null,"server":"https://a.test"})");
  config.tls.server_name = "b.test";
  config.tls.insecure = true;
  config.proxy_url = "http://proxy.test";
  config.disable_compression = true;
  config.exec = std::make_shared<ExecConfig>(ExecConfig{.cluster_extension = Value::Object({{"audience", "x"}})});
  const Value want = Value::Object({{"server", "https://a.test"},
                                    {"tls-server-name", "b.test"},
                                    {"insecure-skip-tls-verify", true},
                                    {"certificate-authority-data", "cGVt"},
                                    {"proxy-url", "http://proxy.test"},
                                    {"disable-compression", true},
                                    {"config", Value::Object({{"audience", "x"}})}});
  EXPECT_EQ(ExecClusterInfo(config, "pem"), want);
}

}  // namespace
}  // namespace kube::internal
