#include "kube/apiserver/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/api_server_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/codec/yaml.h"

namespace kube::apiserver {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kWatchMaps = "/api/v1/namespaces/default/configmaps?watch=1";

constexpr const char* kCarts = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: carts, singular: cart, kind: Cart, listKind: CartList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: example.com/v1
kind: Cart
metadata: {name: a}
)";

// The user that the server sees: "name group group".
std::string WhoAmI(Client& client) {
  CurlAnswer answer = client.Do("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})");
  if (answer.status != 201) return std::to_string(answer.status);
  const Value review = JsonOf(answer.body);
  std::string out = review["status"]["userInfo"]["username"].string_value().str();
  for (const Value& group : review["status"]["userInfo"]["groups"].list()) out += " " + group.string_value().str();
  return out;
}

TEST(ApiServerTest, StartsAndStopsManyTimes) {
  for (int i = 0; i < 30; ++i) {
    auto server = StartApiServer({.http = i % 5 != 0});
    Client client(*server);
    EXPECT_EQ(client.Get("/readyz").body, "ok");
    EXPECT_EQ(client.CreateMap("a").status, 201);
    if (i % 2 == 0) continue;
    Stream stream(*server, kWatchMaps);
    if (i % 5 != 0) {
      EXPECT_EQ(stream.Event(), "ADDED a") << "and stops in the middle of a watch";
    }
  }
}

TEST(ApiServerTest, ServersDoNotShareAnything) {
  auto one = StartApiServer(), other = StartApiServer();
  EXPECT_NE(one->port(), other->port());
  EXPECT_NE(one->admin_token(), other->admin_token());
  Client client(*one), wrong(*other, one->admin_token()), right(*other);
  EXPECT_EQ(client.CreateMap("a").status, 201);
  EXPECT_EQ(wrong.Get(kMaps).status, 401);
  EXPECT_EQ(right.Get(std::string(kMaps) + "/a").status, 404);
}

TEST(ApiServerTest, PortThatIsTakenIsAnError) {
  auto server = StartApiServer();
  Result<std::unique_ptr<ApiServer>> second = ApiServer::Start({.port = server->port(), .http = true});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind(), ErrorKind::kTransport);
}

TEST(ApiServerTest, SpeaksTls) {
  auto server = StartApiServer({});
  EXPECT_THAT(server->url(), StartsWith("https://127.0.0.1:"));
  Client client(*server);
  EXPECT_EQ(client.Get("/version").status, 200);
  CurlAnswer http2 = serve::Fetch({.url = server->url() + "/readyz", .http2 = true, .ca_pem = server->ca_pem()});
  EXPECT_EQ(http2.body, "ok");
  EXPECT_EQ(http2.http_version, 2);
  CurlAnswer stranger = serve::Fetch({.url = server->url() + "/readyz", .ca_pem = serve::Pki().ca_pem});
  EXPECT_NE(stranger.curl_code, 0) << "of another CA";
}

TEST(ApiServerTest, KubeconfigSaysHowToReachIt) {
  auto server = StartApiServer({.admin_token = "secret"});
  const Value config = ParseYaml(server->Kubeconfig())->at(0);
  EXPECT_EQ(config["kind"].string_value(), "Config");
  const Value& cluster = config["clusters"].list()[0]["cluster"];
  EXPECT_EQ(cluster["server"].string_value(), server->url());
  EXPECT_FALSE(cluster["certificate-authority-data"].string_value().empty());
  EXPECT_EQ(config["users"].list()[0]["user"]["token"].string_value(), "secret");
  EXPECT_EQ(config["contexts"].list()[0]["name"], config["current-context"]);
  auto plain = StartApiServer();
  EXPECT_THAT(plain->Kubeconfig(), ::testing::Not(HasSubstr("certificate-authority-data")));
}

TEST(ApiServerTest, KnowsItsUsers) {
  auto server = StartApiServer({});
  Client admin(*server), nobody(*server, ""), wrong(*server, "wrong");
  Client jane(*server, server->AddUser("jane", {"dev"}));
  EXPECT_EQ(WhoAmI(admin), "kubernetes-admin system:masters system:authenticated");
  EXPECT_EQ(WhoAmI(jane), "jane dev system:authenticated");
  EXPECT_EQ(WhoAmI(wrong), "401");
  EXPECT_EQ(WhoAmI(nobody), "403");
  EXPECT_EQ(nobody.Get("/readyz").status, 200);
  EXPECT_EQ(nobody.Get("/api").status, 403);
  EXPECT_EQ(nobody.Get(kMaps).status, 403);
}

TEST(ApiServerTest, WithoutTlsAClientNeedsNoCredentials) {
  auto server = StartApiServer();
  Client anybody(*server, ""), wrong(*server, "wrong"), jane(*server, server->AddUser("jane"));
  EXPECT_EQ(WhoAmI(anybody), "kubernetes-admin system:masters system:authenticated") << "kubectl sends none over plain HTTP";
  EXPECT_EQ(WhoAmI(wrong), "401");
  EXPECT_EQ(WhoAmI(jane), "jane system:authenticated");
}

TEST(ApiServerTest, KnowsClientCertificates) {
  auto server = StartApiServer({});
  Client client(*server, "");
  client.UseCertificate(server->IssueClientCertificate("joe", {"ops"}).value());
  EXPECT_EQ(WhoAmI(client), "joe ops system:authenticated");
  auto plain = StartApiServer();
  EXPECT_FALSE(plain->IssueClientCertificate("joe").ok());
}

TEST(ApiServerTest, LoadsManifests) {
  auto server = StartApiServer({.http = true, .manifests = {"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"}});
  std::size_t before = server->object_count();
  std::uint64_t version = server->resource_version();
  Result<void> loaded = server->Load(std::string(kCarts) + R"(
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: shop}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
---
)");
  ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
  EXPECT_EQ(server->object_count(), before + 4);
  EXPECT_GT(server->resource_version(), version);
  ASSERT_TRUE(server->Load(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"three"}})").ok()) << "JSON";
  Client client(*server);
  EXPECT_EQ(client.Get("/api/v1/namespaces/shop/configmaps/one").status, 200);
  EXPECT_EQ(client.Get(std::string(kMaps) + "/two").status, 200) << "without a namespace: in default";
  EXPECT_EQ(client.Get("/apis/example.com/v1/namespaces/default/carts/a").status, 200);
}

TEST(ApiServerTest, BadManifestsSayWhatIsWrong) {
  auto server = StartApiServer();
  const std::string good = "{apiVersion: v1, kind: ConfigMap, metadata: {name: ok}}\n---\n";
  auto error = [&](const std::string& manifest) {
    Result<void> loaded = server->Load(manifest);
    return loaded ? std::string("none") : loaded.error().ToString();
  };
  EXPECT_THAT(error("{apiVersion: v1, kind: Cat, metadata: {name: a}}"), HasSubstr("no matches for kind \"Cat\" in version \"v1\""));
  EXPECT_THAT(error("{kind: Pod"), HasSubstr("line 1"));
  EXPECT_NE(error("just text"), "none");
  EXPECT_NE(error("[1, 2]"), "none");
  EXPECT_THAT(error("{apiVersion: v1, kind: Pod, metadata: {name: a}}"), HasSubstr("spec.containers"));
  EXPECT_THAT(error("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: nowhere}}"), HasSubstr("\"nowhere\" not found"));
  EXPECT_THAT(error(good + "\n{apiVersion: v1, kind: ConfigMap, metadata: {name: A}}"), HasSubstr("line 2: ConfigMap A: "));
  EXPECT_THAT(error(good), HasSubstr("already exists")) << "what stands before the bad one is there";
  Result<std::unique_ptr<ApiServer>> start = ApiServer::Start({.http = true, .manifests = {"{apiVersion: v1, kind: Cat}"}});
  EXPECT_FALSE(start.ok());
}

TEST(ApiServerTest, LifecycleCanBeLeftOut) {
  auto server = StartApiServer({.http = true, .lifecycle = false});
  ASSERT_TRUE(server->Load("{apiVersion: v1, kind: Namespace, metadata: {name: x}}").ok());
  Client client(*server);
  EXPECT_EQ(client.Do("DELETE", "/api/v1/namespaces/x").status, 200);
  EXPECT_TRUE(server->WaitIdle(std::chrono::milliseconds(0))) << "nothing is left to do for nobody";
  EXPECT_EQ(client.Get("/api/v1/namespaces/x").status, 200) << "it waits for its finalizer";
}

TEST(ApiServerTest, RefusesAndAcceptsConnections) {
  auto server = StartApiServer();
  Client open(*server);
  EXPECT_EQ(open.Get("/readyz").status, 200);
  server->Refuse();
  server->Refuse();
  EXPECT_EQ(open.Get("/readyz").status, 200) << "connections that there are go on";
  Client refused(*server);
  EXPECT_EQ(refused.Get("/readyz").curl_code, 7) << "CURLE_COULDNT_CONNECT";
  ASSERT_TRUE(server->Accept().ok());
  ASSERT_TRUE(server->Accept().ok());
  EXPECT_EQ(refused.Get("/readyz").status, 200);
}

TEST(ApiServerTest, CutsConnections) {
  auto server = StartApiServer();
  Client client(*server);
  client.CreateMap("a");
  Stream stream(*server, kWatchMaps);
  EXPECT_EQ(stream.Event(), "ADDED a");
  EXPECT_GE(server->connections(), 1U);
  server->CloseConnections();
  EXPECT_FALSE(stream.EndsWell());
  EXPECT_TRUE(Eventually([&] { return server->connections() == 0; }));
  Client again(*server);
  EXPECT_EQ(again.Get(std::string(kMaps) + "/a").status, 200);
}

TEST(ApiServerTest, RestartKeepsItsStateAndForgetsHistory) {
  auto server = StartApiServer();
  std::uint16_t port = server->port();
  std::string token = server->AddUser("jane");
  Client client(*server);
  client.CreateMap("a");
  std::string old = std::to_string(server->resource_version());
  client.CreateMap("b");
  Stream stream(*server, kWatchMaps);
  EXPECT_EQ(stream.Event(), "ADDED a");
  ASSERT_TRUE(server->Restart(true).ok());
  EXPECT_EQ(server->port(), port);
  EXPECT_EQ(stream.Event(), "ADDED b");
  EXPECT_FALSE(stream.EndsWell());
  Client after(*server, token);
  EXPECT_EQ(after.Get(std::string(kMaps) + "/a").status, 200);
  Stream late(*server, kWatchMaps + ("&resourceVersion=" + old));
  EXPECT_EQ(late.Event(), "ERROR 410");
}

TEST(ApiServerTest, RestartWithoutStateStartsAnew) {
  auto server = StartApiServer();
  std::size_t at_first = server->object_count();
  ASSERT_TRUE(server->Load(kCarts).ok());
  std::uint64_t version = server->resource_version();
  ASSERT_TRUE(server->Restart(false).ok());
  EXPECT_EQ(server->object_count(), at_first);
  EXPECT_GT(server->resource_version(), version);
  Client client(*server);
  EXPECT_EQ(client.Get("/api/v1/namespaces/default").status, 200);
  EXPECT_EQ(client.Get("/apis/example.com/v1/namespaces/default/carts/a").status, 404);
  EXPECT_EQ(client.Get("/apis/example.com").status, 404) << "nor is its kind";
  ASSERT_TRUE(server->Load(kCarts).ok()) << "again";
  EXPECT_EQ(client.Get("/apis/example.com/v1/namespaces/default/carts/a").status, 200);
}

TEST(ApiServerTest, RestartsFromSeveralThreadsComeOneAfterTheOther) {
  auto server = StartApiServer();
  std::atomic<int> good{0};
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back("restart", [&, i] {
        for (int n = 0; n < 5; ++n) good += server->Restart((i + n) % 2 == 0).ok() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(good.load(), 15);
  Client client(*server);
  EXPECT_EQ(client.Get("/api/v1/namespaces/default").status, 200);
}

TEST(ApiServerTest, CompactionMakesOldVersionsExpire) {
  auto server = StartApiServer();
  Client client(*server);
  client.CreateMap("a");
  std::string old = std::to_string(server->resource_version());
  client.CreateMap("b");
  const Value page = JsonOf(client.Get(std::string(kMaps) + "?limit=1").body);
  client.CreateMap("c");
  Stream before(*server, kWatchMaps + ("&resourceVersion=" + old));
  EXPECT_EQ(before.Event(), "ADDED b");
  EXPECT_EQ(before.Event(), "ADDED c");
  server->Compact();
  Stream after(*server, kWatchMaps + ("&resourceVersion=" + old));
  EXPECT_EQ(after.Event(), "ERROR 410");
  EXPECT_TRUE(after.EndsWell());
  EXPECT_EQ(client.Get(std::string(kMaps) + "?resourceVersionMatch=Exact&resourceVersion=" + old).status, 410);
  client.CreateMap("d");
  EXPECT_EQ(before.Event(), "ADDED d") << "those that watch already go on";
  EXPECT_EQ(client.Get(std::string(kMaps) + "?limit=1&continue=" + page["metadata"]["continue"].string_value().str()).status, 410);
}

TEST(ApiServerTest, ClockSkewMovesTheTimeOfObjects) {
  auto clock = std::make_shared<FakeClock>();
  auto server = StartApiServer({.http = true, .clock = clock});
  Client client(*server);
  server->SetClockSkew(std::chrono::hours(24));
  const Value object = JsonOf(client.CreateMap("a").body);
  EXPECT_EQ(object["metadata"]["creationTimestamp"].string_value(), "2020-01-02T00:00:00Z");
  server->SetClockSkew(std::chrono::seconds(-1));
  const Value other = JsonOf(client.CreateMap("b").body);
  EXPECT_EQ(other["metadata"]["creationTimestamp"].string_value(), "2019-12-31T23:59:59Z");
}

// A patch that names no version is applied to the current object, however many other clients write at the same moment. A patch that names
// an old version is refused: of several that name the same one, exactly one succeeds.
TEST(ApiServerTest, PatchesBesideEachOtherAreNoConflicts) {
  auto server = StartApiServer();
  Client client(*server);
  const std::string path = std::string(kMaps) + "/a";
  const std::vector<std::string> merge = {"content-type: application/merge-patch+json"};
  ASSERT_EQ(client.CreateMap("a").status, 201);
  constexpr int kThreads = 4, kPatches = 50;
  std::atomic<int> refused = 0;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("patcher", [&, t] {
        Client own(*server);
        for (int i = 0; i < kPatches; ++i) {
          const std::string patch = R"({"data": {"k)" + std::to_string(t) + "-" + std::to_string(i) + R"(": "v"}})";
          if (own.Do("PATCH", path, patch, merge).status != 200) ++refused;
        }
      });
    }
  }
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(JsonOf(client.Get(path).body)["data"].object().size(), std::size_t{kThreads * kPatches});

  const std::string version = JsonOf(client.Get(path).body)["metadata"]["resourceVersion"].string_value().str();
  std::atomic<int> won = 0;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("patcher", [&, t] {
        Client own(*server);
        const std::string patch =
            R"({"metadata": {"resourceVersion": ")" + version + R"("}, "data": {"winner": ")" + std::to_string(t) + R"("}})";
        const auto status = own.Do("PATCH", path, patch, merge).status;
        if (status == 200) ++won;
        EXPECT_TRUE(status == 200 || status == 409) << status;
      });
    }
  }
  EXPECT_EQ(won, 1);
}

TEST(ApiServerTest, AnswersLogsFromTheHandler) {
  auto server = StartApiServer();
  ASSERT_TRUE(server
                  ->Load(R"({apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: two}, spec: {containers: [{name: a, image: i}, {name: b, image: i}]}})")
                  .ok());
  Client client(*server);
  const std::string log = "/api/v1/namespaces/default/pods/p/log";
  EXPECT_EQ(client.Get(log).status, 501) << "no handler";
  serve::Handover<PodLogRequest> requests;
  server->SetPodHandlers(
      {.log = [&](const Context&, const PodLogRequest& request, const std::function<bool(std::string_view)>& write) -> Result<void> {
        requests.Put(request);
        write("line of " + request.pod + "/" + request.container + "\n");
        if (request.previous) return Error::Invalid("there was none");
        // A followed log ends once its reader has stopped reading.
        while (request.follow && write("more\n")) {
        }
        return {};
      }});
  CurlAnswer answer = client.Get(log + "?tailLines=5&sinceSeconds=6&limitBytes=7&timestamps=true");
  EXPECT_EQ(answer.body, "line of p/c\n");
  EXPECT_EQ(answer.headers["content-type"], "text/plain");
  PodLogRequest request = requests.Take();
  EXPECT_EQ(request.ns, "default");
  EXPECT_EQ(request.tail_lines, 5);
  EXPECT_EQ(request.since_seconds, 6);
  EXPECT_EQ(request.limit_bytes, 7);
  EXPECT_TRUE(request.timestamps);
  EXPECT_FALSE(request.follow);
  EXPECT_THAT(client.Get(log + "?previous=1").body, HasSubstr("there was none"));
  EXPECT_EQ(client.Get("/api/v1/namespaces/default/pods/none/log").status, 404);
  EXPECT_THAT(client.Get("/api/v1/namespaces/default/pods/two/log").body, HasSubstr("choose one of: [a b]"));
  EXPECT_EQ(client.Get("/api/v1/namespaces/default/pods/two/log?container=z").status, 400);
  EXPECT_EQ(client.Get("/api/v1/namespaces/default/pods/two/log?container=b").body, "line of two/b\n");
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.Get(log).body, "line of p/c\n");
  Stream follow(*server, log + "?follow=true");
  EXPECT_EQ(follow.Line(), "line of p/c\n");
  EXPECT_EQ(follow.Line(), "more\n");
}

TEST(ApiServerTest, StopsWhileALogIsFollowed) {
  auto server = StartApiServer();
  ASSERT_TRUE(server->Load("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}").ok());
  server->SetPodHandlers(
      {.log = [](const Context& ctx, const PodLogRequest&, const std::function<bool(std::string_view)>& write) -> Result<void> {
        write("start\n");
        return ctx.SleepFor(std::chrono::hours(1));
      }});
  Stream follow(*server, "/api/v1/namespaces/default/pods/p/log?follow=true");
  EXPECT_EQ(follow.Line(), "start\n");
  server.reset();
  EXPECT_FALSE(follow.EndsWell());
}

}  // namespace
}  // namespace kube::apiserver
