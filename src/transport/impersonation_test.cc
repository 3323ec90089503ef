#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/transport/decorators.h"
#include "transport/transport_test_util.h"

namespace kube {
namespace {

using internal::ScriptedTransport;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

HttpHeaders Send(const ImpersonationConfig& who, HttpHeaders headers = {}) {
  const auto server = ScriptedTransport::Always(200);
  EXPECT_TRUE(WithImpersonation(server, who)->RoundTrip(Context::Background(), {.headers = std::move(headers)}));
  return server->sent().headers;
}

std::vector<HttpHeaders::Field> Fields(const HttpHeaders& headers) { return {headers.begin(), headers.end()}; }

TEST(Contract12Impersonation, AllFieldsBecomeHeaders) {
  ImpersonationConfig who;
  who.user = "jane";
  who.uid = "u-1";
  who.groups = {"developers", "admins"};
  who.extra = {{"scopes", {"view", "edit"}}, {"reason", {"test"}}};
  const HttpHeaders sent = Send(who);
  EXPECT_THAT(Fields(sent), UnorderedElementsAre(Pair("Impersonate-User", "jane"), Pair("Impersonate-Uid", "u-1"),
                                                 Pair("Impersonate-Group", "developers"), Pair("Impersonate-Group", "admins"),
                                                 Pair("Impersonate-Extra-scopes", "view"), Pair("Impersonate-Extra-scopes", "edit"),
                                                 Pair("Impersonate-Extra-reason", "test")));
  EXPECT_THAT(sent.All("Impersonate-Group"), ElementsAre("developers", "admins"));
}

TEST(Contract12Impersonation, OneThatTheRequestHasIsLeftAlone) {
  ImpersonationConfig who;
  who.user = "jane";
  who.groups = {"admins"};
  const HttpHeaders sent = Send(who, {{"impersonate-user", "joe"}});
  EXPECT_THAT(Fields(sent), ElementsAre(Pair("impersonate-user", "joe")));
}

TEST(Contract12Impersonation, KeysOfExtrasAreEscaped) {
  ImpersonationConfig who;
  who.user = "jane";
  who.extra = {{"example.com/some key", {"v"}}, {"100%", {"w"}}};
  const HttpHeaders sent = Send(who);
  EXPECT_EQ(sent.Get("Impersonate-Extra-example.com%2Fsome%20key"), "v");
  EXPECT_EQ(sent.Get("Impersonate-Extra-100%25"), "w");
}

TEST(Contract12Impersonation, EveryByteOfAKeyIsEitherKeptOrEscaped) {
  const std::string kept = "!#$&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  EXPECT_EQ(EscapeHeaderKey(kept), kept);
  for (int byte = 0; byte < 256; ++byte) {
    const std::string key(1, static_cast<char>(byte));
    if (kept.find(key) != std::string::npos) continue;
    char expected[4];
    snprintf(expected, sizeof expected, "%%%02X", static_cast<unsigned>(byte));
    EXPECT_EQ(EscapeHeaderKey(key), expected);
  }
  EXPECT_EQ(EscapeHeaderKey("\xD1\x83"), "%D1%83");
}

TEST(Contract12Impersonation, UpgradesAreImpersonatedToo) {
  const auto server = ScriptedTransport::Always(200);
  ImpersonationConfig who;
  who.user = "jane";
  ASSERT_TRUE(WithImpersonation(server, who)->Upgrade(Context::Background(), {}));
  EXPECT_EQ(server->sent().headers.Get("Impersonate-User"), "jane");
}

TEST(ImpersonationTransportTest, NobodyToBeWrapsNothing) {
  const auto server = ScriptedTransport::Always(200);
  EXPECT_EQ(WithImpersonation(server, {}), server);
}

}  // namespace
}  // namespace kube
