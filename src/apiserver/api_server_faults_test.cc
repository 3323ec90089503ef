// ApiServer's faults, by its functions and by its admin endpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "apiserver/api_server_test_util.h"
#include "kube/base/fake_clock.h"

namespace kube::apiserver {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kWatchMaps = "/api/v1/namespaces/default/configmaps?watch=1";

class ApiServerFaultsTest : public ::testing::Test {
 protected:
  std::unique_ptr<ApiServer> server_ = StartApiServer();
  Client client_{*server_};
};

TEST_F(ApiServerFaultsTest, Status) {
  server_->AddFault({.verb = "list", .resource = "configmaps", .status = 429, .retry_after_seconds = 7});
  EXPECT_EQ(client_.Get("/api/v1/namespaces").status, 200) << "another resource";
  CurlAnswer hit = client_.Get(kMaps);
  EXPECT_EQ(hit.status, 429);
  EXPECT_EQ(hit.headers["retry-after"], "7");
  const Value status = JsonOf(hit.body);
  EXPECT_EQ(status["kind"].string_value(), "Status");
  EXPECT_EQ(status["reason"].string_value(), "TooManyRequests");
  EXPECT_EQ(status["details"]["retryAfterSeconds"].int_value(), 7);
  EXPECT_EQ(client_.Get(kMaps).status, 200) << "once";
}

TEST_F(ApiServerFaultsTest, EveryStatusHasItsReason) {
  const std::pair<int, const char*> cases[] = {{401, "Unauthorized"},       {403, "Forbidden"}, {404, "NotFound"},
                                               {409, "Conflict"},           {410, "Expired"},   {500, "InternalError"},
                                               {503, "ServiceUnavailable"}, {504, "Timeout"}};
  for (const auto& [code, reason] : cases) {
    server_->AddFault({.status = code});
    CurlAnswer answer = client_.Get(kMaps);
    EXPECT_EQ(answer.status, code);
    EXPECT_EQ(answer.headers.count("retry-after"), 0U);
    const Value status = JsonOf(answer.body);
    EXPECT_EQ(status["reason"].string_value(), reason);
    EXPECT_EQ(status["code"].int_value(), code);
  }
  server_->AddFault({.status = 500, .reason = "Odd", .message = "as told"});
  const Value status = JsonOf(client_.Get(kMaps).body);
  EXPECT_EQ(status["reason"].string_value(), "Odd");
  EXPECT_EQ(status["message"].string_value(), "as told");
}

TEST_F(ApiServerFaultsTest, FaultsFitByVerbNamespaceAndName) {
  server_->AddFault({.verb = "create", .times = -1});
  server_->AddFault({.ns = "default", .name = "a", .status = 503, .times = -1});
  EXPECT_EQ(client_.CreateMap("b").status, 500);
  EXPECT_EQ(client_.Get(std::string(kMaps) + "/a").status, 503);
  EXPECT_EQ(client_.Get(std::string(kMaps) + "/b").status, 404);
  EXPECT_EQ(client_.Get("/api/v1/namespaces/other/configmaps/a").status, 404);
  EXPECT_EQ(client_.Do("DELETE", std::string(kMaps) + "/a").status, 503);
  server_->ClearFaults();
  EXPECT_EQ(client_.CreateMap("b").status, 201);
}

TEST_F(ApiServerFaultsTest, Drop) {
  int id = server_->AddFault({.kind = FaultKind::kDrop, .times = -1});
  EXPECT_THAT(client_.Get(kMaps).curl_code, AnyOf(52, 56)) << "an empty answer or a reset";
  EXPECT_EQ(client_.CreateMap("a").status, 0);
  EXPECT_TRUE(server_->RemoveFault(id));
  EXPECT_FALSE(server_->RemoveFault(id));
  EXPECT_EQ(client_.Get(std::string(kMaps) + "/a").status, 404) << "the request had no effect";
}

TEST_F(ApiServerFaultsTest, Cut) {
  server_->AddFault({.verb = "list", .kind = FaultKind::kCut, .bytes = 10});
  CurlAnswer answer = client_.Get(kMaps);
  EXPECT_NE(answer.curl_code, 0);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), 10U);
  server_->AddFault({.verb = "watch", .kind = FaultKind::kCut, .bytes = 20});
  client_.CreateMap("a");
  Stream stream(*server_, kWatchMaps);
  EXPECT_EQ(stream.Line().size(), 20U);
  EXPECT_FALSE(stream.EndsWell());
}

TEST_F(ApiServerFaultsTest, Stall) {
  int id = server_->AddFault({.verb = "get", .kind = FaultKind::kStall});
  client_.CreateMap("a");
  Stream stalled(*server_, std::string(kMaps) + "/a", "connection: close\r\n");
  // It is in the server's hands once the fault is used up.
  Client other(*server_);
  ASSERT_TRUE(Eventually([&] { return JsonOf(other.Get("/kubexx/faults").body) == Value::Array(); }));
  EXPECT_EQ(other.Get(std::string(kMaps) + "/a").status, 200) << "others go on";
  EXPECT_TRUE(server_->RemoveFault(id));
  EXPECT_THAT(stalled.Head(), HasSubstr("200 OK"));
  server_->AddFault({.verb = "get", .kind = FaultKind::kStall});
  Stream next(*server_, std::string(kMaps) + "/a");
  ASSERT_TRUE(Eventually([&] { return JsonOf(other.Get("/kubexx/faults").body) == Value::Array(); }));
  server_->CloseConnections();
  EXPECT_THAT(next.Head(), IsEmpty()) << "not even the head came";
}

TEST_F(ApiServerFaultsTest, Gone) {
  client_.CreateMap("a");
  server_->AddFault({.verb = "watch", .ns = "default", .kind = FaultKind::kGone});
  Stream elsewhere(*server_, "/api/v1/namespaces/kube-system/configmaps?watch=1&timeoutSeconds=1");
  EXPECT_THAT(elsewhere.Head(), HasSubstr("200 OK"));
  Stream stream(*server_, kWatchMaps);
  EXPECT_EQ(stream.Event(), "ERROR 410");
  EXPECT_TRUE(stream.EndsWell());
  Stream again(*server_, kWatchMaps);
  EXPECT_EQ(again.Event(), "ADDED a");
  server_->AddFault({.verb = "list", .kind = FaultKind::kGone});
  EXPECT_EQ(client_.Get(kMaps).status, 410);
  EXPECT_EQ(client_.Get(kMaps).status, 200);
}

TEST_F(ApiServerFaultsTest, Events) {
  Stream stream(*server_, kWatchMaps), other(*server_, "/api/v1/namespaces/kube-system/configmaps?watch=1");
  EXPECT_THAT(stream.Head(), HasSubstr("200 OK"));
  EXPECT_THAT(other.Head(), HasSubstr("200 OK"));
  // A watch that would not see the event does not use the fault up.
  server_->AddFault({.kind = FaultKind::kDropEvent});
  client_.CreateMap("a");
  server_->AddFault({.kind = FaultKind::kDuplicateEvent});
  client_.CreateMap("b");
  server_->AddFault({.kind = FaultKind::kReorderEvents});
  client_.CreateMap("c");
  client_.CreateMap("d");
  client_.CreateMap("e");
  client_.CreateMap("z", "kube-system");
  for (const char* expected : {"ADDED b", "ADDED b", "ADDED d", "ADDED c", "ADDED e"}) EXPECT_EQ(stream.Event(), expected);
  EXPECT_EQ(other.Event(), "ADDED z");
}

TEST_F(ApiServerFaultsTest, DelayFollowsTheClock) {
  auto clock = std::make_shared<FakeClock>();
  auto server = StartApiServer({.http = true, .clock = clock});
  std::size_t before = clock->waiters();
  server->AddFault({.kind = FaultKind::kDelay, .delay = std::chrono::seconds(30)});
  Stream stream(*server, kMaps);
  ASSERT_TRUE(clock->WaitForWaiters(before + 1));
  clock->Advance(std::chrono::seconds(29));
  EXPECT_EQ(clock->waiters(), before + 1);
  clock->Advance(std::chrono::seconds(1));
  EXPECT_THAT(stream.Head(), HasSubstr("200 OK"));
  server->AddFault({.kind = FaultKind::kDelay, .delay = std::chrono::seconds(30)});
  Stream never(*server, kMaps);
  ASSERT_TRUE(clock->WaitForWaiters(before + 1));
  server.reset();
  EXPECT_THAT(never.Head(), IsEmpty());
  EXPECT_EQ(clock->waiters(), 0U) << "a server leaves no timers behind";
}

TEST_F(ApiServerFaultsTest, AdminEndpointIsForAdministratorsOnly) {
  auto secure = StartApiServer({});
  Client jane(*server_, server_->AddUser("jane", {"dev"})), nobody(*secure, "");
  for (const char* path : {"/kubexx/faults", "/kubexx/compact", "/kubexx/clock?skewSeconds=1", "/kubexx/restart?state=drop"}) {
    EXPECT_EQ(jane.Do("POST", path, "{}").status, 403) << path;
    EXPECT_EQ(nobody.Do("POST", path, "{}").status, 403) << path;
  }
  EXPECT_EQ(client_.Get("/kubexx").status, 404);
  EXPECT_EQ(client_.Get("/kubexx/nothing").status, 404);
  EXPECT_EQ(client_.Get("/kubexx/compact").status, 404) << "GET";
}

TEST_F(ApiServerFaultsTest, AdminEndpointAddsListsAndRemovesFaults) {
  CurlAnswer added = client_.Do("POST", "/kubexx/faults", R"({"kind":"status","status":503,"verb":"list","times":-1})");
  EXPECT_EQ(added.status, 201);
  const Value id = JsonOf(added.body)["id"];
  EXPECT_EQ(client_.Get(kMaps).status, 503);
  const Value all = JsonOf(client_.Get("/kubexx/faults").body);
  ASSERT_EQ(all.list().size(), 1U);
  EXPECT_EQ(all.list()[0]["id"], id);
  EXPECT_EQ(all.list()[0]["kind"].string_value(), "status");
  // The same 32 bits, and others that are none.
  for (std::int64_t wrong : {id.int_value() + (std::int64_t{1} << 32), std::int64_t{999}, std::int64_t{-1}}) {
    EXPECT_EQ(client_.Do("DELETE", "/kubexx/faults/" + std::to_string(wrong)).status, 404);
  }
  EXPECT_EQ(client_.Do("DELETE", "/kubexx/faults/x").status, 404);
  EXPECT_EQ(client_.Do("DELETE", "/kubexx/faults/" + std::to_string(id.int_value())).status, 200);
  EXPECT_EQ(client_.Get(kMaps).status, 200);
  client_.Do("POST", "/kubexx/faults", R"({"kind":"drop"})");
  EXPECT_EQ(client_.Do("DELETE", "/kubexx/faults").status, 200);
  EXPECT_EQ(client_.Get(kMaps).status, 200);
}

TEST_F(ApiServerFaultsTest, AdminEndpointRefusesWhatItDoesNotUnderstand) {
  for (const char* body : {"{", "[]", "{}", R"({"kind":"no"})", R"({"kind":"drop","times":0})", "1", R"({"kind":"drop","x":{}})"}) {
    CurlAnswer answer = client_.Do("POST", "/kubexx/faults", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(JsonOf(answer.body)["kind"].string_value(), "Status");
  }
  for (const char* query :
       {"", "?skewSeconds=", "?skewSeconds=x", "?skewSeconds=1.5", "?skewSeconds=9223372036854775807", "?skewSeconds=-9999999999999"}) {
    EXPECT_EQ(client_.Do("POST", std::string("/kubexx/clock") + query, "{}").status, 400) << query;
  }
  for (const char* query : {"", "?state=", "?state=maybe"}) {
    EXPECT_EQ(client_.Do("POST", std::string("/kubexx/restart") + query, "{}").status, 400) << query;
  }
}

TEST_F(ApiServerFaultsTest, AdminEndpointCompactsAndMovesTheClock) {
  client_.CreateMap("a");
  std::string old = std::to_string(server_->resource_version());
  client_.CreateMap("b");
  CurlAnswer compacted = client_.Do("POST", "/kubexx/compact", "{}");
  EXPECT_EQ(compacted.status, 200);
  EXPECT_EQ(JsonOf(compacted.body)["resourceVersion"].string_value(), std::to_string(server_->resource_version()));
  Stream stream(*server_, kWatchMaps + ("&resourceVersion=" + old));
  EXPECT_EQ(stream.Event(), "ERROR 410");
  EXPECT_EQ(client_.Do("POST", "/kubexx/clock?skewSeconds=3000000000", "{}").status, 200);
  const Value object = JsonOf(client_.CreateMap("c").body);
  EXPECT_GT(object["metadata"]["creationTimestamp"].string_value().view(), std::string_view("2100"));
}

TEST_F(ApiServerFaultsTest, AdminEndpointRestarts) {
  client_.CreateMap("a");
  for (const char* state : {"keep", "drop"}) {
    Stream watch(*server_, kWatchMaps);
    EXPECT_EQ(watch.Event(), "ADDED a");
    CurlAnswer answer = client_.Do("POST", std::string("/kubexx/restart?state=") + state, "{}");
    EXPECT_THAT(answer.status, AnyOf(202, 0)) << "its own connection is among those that are cut";
    EXPECT_FALSE(watch.EndsWell());
    // It refuses connections for a moment.
    Client after(*server_);
    long expected = std::string(state) == "keep" ? 200 : 404;
    EXPECT_TRUE(Eventually([&] { return after.Get(std::string(kMaps) + "/a").status == expected; })) << state;
  }
}

TEST_F(ApiServerFaultsTest, StopsInTheMiddleOfARestart) {
  for (int i = 0; i < 10; ++i) {
    auto server = StartApiServer();
    Client client(*server);
    client.Do("POST", "/kubexx/restart?state=drop", "{}");
    client.Do("POST", "/kubexx/restart?state=keep", "{}");
  }
}

}  // namespace
}  // namespace kube::apiserver
