// Webhooks of the embedded server, as far as the contract suite does not have them: hostile ones, those that call back, and the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "apiserver/api_server_test_util.h"
#include "codec/base64.h"
#include "kube/base/fake_clock.h"
#include "kube/base/mutex.h"
#include "kube/serve/certificate.h"
#include "kube/serve/http_server.h"

namespace kube::apiserver {
namespace {

using Exchange = std::shared_ptr<serve::HttpExchange>;

std::string Allowed(const serve::HttpExchange& exchange, const std::string& more = "") {
  const Value review = JsonOf(exchange.request().body);
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":")" +
         review["request"]["uid"].string_value().str() + "\"" + more + "}}";
}

void ReplyJson(const Exchange& exchange, std::string body) {
  exchange->Reply({.status = 200, .headers = {{"content-type", "application/json"}}, .body = std::move(body)});
}

// Webhooks with one handler for all paths.
class Hooks {
 public:
  explicit Hooks(std::function<void(const Exchange&)> handler, std::vector<std::string> names = {"hook.default.svc"})
      : handler_(std::move(handler)) {
    serve::CertificateAuthority ca = serve::CertificateAuthority::Create("webhooks").value();
    serve::KeyPair pair =
        ca.Issue({.common_name = "hook", .dns_names = std::move(names), .addresses = {"127.0.0.1"}, .server = true}).value();
    kube::internal::AppendBase64(ca.certificate_pem(), ca_bundle_);
    server_ = serve::HttpServer::Start(
                  {.tls = serve::HttpTlsOptions{pair.certificate_pem, pair.key_pem, ""}, .limits = serve::HttpLimits::ForApi()},
                  [this](const Exchange& exchange) {
                    ++calls;
                    handler_(exchange);
                  })
                  .value();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  std::string UrlConfig() const { return R"({"url":"https://)" + address() + R"(/x","caBundle":")" + ca_bundle_ + "\"}"; }
  std::string ServiceConfig() const {
    return R"({"service":{"name":"hook","namespace":"default","path":"/x"},"caBundle":")" + ca_bundle_ + "\"}";
  }
  // For the creation of configmaps.
  std::string Configuration(const std::string& client_config, bool mutating = false, const std::string& more = "") const {
    return R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")" + std::string(mutating ? "Mutating" : "Validating") +
           R"(WebhookConfiguration","metadata":{"name":"hooks"},"webhooks":[{"name":"a.example.com","sideEffects":"None",)" +
           R"("admissionReviewVersions":["v1"],"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],)" +
           R"("resources":["configmaps"]}],"clientConfig":)" + client_config + more + "}]}";
  }

  std::atomic<int> calls{0};

 private:
  std::function<void(const Exchange&)> handler_;
  std::string ca_bundle_;
  std::unique_ptr<serve::HttpServer> server_;
};

std::string MessageOf(const CurlAnswer& answer) { return JsonOf(answer.body)["message"].string_value().str(); }

TEST(ApiServerWebhooksTest, ServicesAreWhereTheTestSays) {
  Hooks hooks([](const Exchange& exchange) {
    const bool as_service = exchange->request().headers.Get("host") == "hook.default.svc:443" && exchange->request().path == "/x";
    ReplyJson(exchange, Allowed(*exchange, as_service ? R"(,"warnings":["as a service"])" : ""));
  });
  auto server = StartApiServer();
  ASSERT_TRUE(server->Load(hooks.Configuration(hooks.ServiceConfig())).ok());
  Client client(*server);
  EXPECT_THAT(MessageOf(client.CreateMap("a")), ::testing::HasSubstr("service \"hook\" not found"));
  server->MapService("hook.default.svc", hooks.address());
  CurlAnswer made = client.CreateMap("a");
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_THAT(made.headers["warning"], ::testing::HasSubstr("as a service"));
}

TEST(ApiServerWebhooksTest, CertificateHasToBeForTheService) {
  Hooks hooks([](const Exchange& exchange) { ReplyJson(exchange, Allowed(*exchange)); }, {"other.default.svc"});
  auto server = StartApiServer({.http = true, .webhook_services = {{"hook.default.svc:443", hooks.address()}}});
  ASSERT_TRUE(server->Load(hooks.Configuration(hooks.ServiceConfig())).ok());
  EXPECT_THAT(MessageOf(Client(*server).CreateMap("a")), ::testing::HasSubstr("tls: failed to verify certificate: x509: "));
  EXPECT_EQ(hooks.calls, 0);
}

TEST(ApiServerWebhooksTest, HostileAnswersHarmOnlyTheirRequest) {
  enum { kHuge, kRedirect, kDrop, kDeep, kBadPatch, kEnd };
  std::atomic<int> mode{kHuge};
  Hooks hooks([&](const Exchange& exchange) {
    switch (mode) {
      case kHuge:
        return ReplyJson(exchange, std::string(std::size_t{100} << 20, ' '));
      case kRedirect:
        return exchange->Reply({.status = 307, .headers = {{"location", "https://127.0.0.1:1/elsewhere"}}, .body = ""});
      case kDrop:
        return exchange->Abort();
      case kDeep:
        return ReplyJson(exchange, std::string(1'000'000, '['));
      default:
        // A document that doubles with each operation.
        std::string patch = R"([{"op":"add","path":"/data","value":{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}})";
        for (int i = 0; i < 60; ++i) patch += R"(,{"op":"copy","from":"/data","path":"/data/)" + std::to_string(i) + "\"}";
        std::string text;
        kube::internal::AppendBase64(patch + "]", text);
        ReplyJson(exchange, Allowed(*exchange, R"(,"patchType":"JSONPatch","patch":")" + text + "\""));
    }
  });
  auto server = StartApiServer();
  ASSERT_TRUE(server->Load(hooks.Configuration(hooks.UrlConfig(), true)).ok());
  Client client(*server);
  for (int i = 0; i < kEnd; ++i) {
    mode = i;
    CurlAnswer answer = client.CreateMap("a");
    EXPECT_EQ(answer.status, 500) << i << ": " << answer.body;
    EXPECT_EQ(client.Get("/api/v1/namespaces/default/configmaps/a").status, 404) << i;
  }
}

TEST(ApiServerWebhooksTest, WebhooksMayCallBack) {
  // More requests at a time than the server has I/O threads, each of which waits for another request to the same server.
  std::unique_ptr<ApiServer> server = StartApiServer();
  Mutex mu;
  std::vector<std::thread> threads;
  Hooks hooks([&](const Exchange& exchange) {
    const Value review = JsonOf(exchange->request().body);
    const std::string name = review["request"]["name"].string_value().str();
    MutexLock lock(mu);
    threads.emplace_back([&server, exchange, name] {
      Client client(*server);
      bool ok = client.Get("/api/v1/namespaces/default").status == 200;
      // A write that asks this webhook again, as far down as the name says.
      if (!name.empty() && name.back() > '0') {
        std::string next = name;
        --next.back();
        ok = client.CreateMap(next).status == 201 && ok;
      }
      ReplyJson(exchange, Allowed(*exchange, ok ? "" : R"(,"warnings":["the server did not answer"])"));
    });
  });
  ASSERT_TRUE(server->Load(hooks.Configuration(hooks.UrlConfig())).ok());
  std::vector<std::thread> clients;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      CurlAnswer answer = Client(*server).CreateMap("m" + std::to_string(i) + "-3");
      if (answer.status == 201 && !answer.headers.contains("warning")) ++good;
    });
  }
  for (std::thread& t : clients) t.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(hooks.calls, 32);
  MutexLock lock(mu);
  for (std::thread& t : threads) t.join();
}

TEST(ApiServerWebhooksTest, ReadsGoOnWhileWebhooksHang) {
  Mutex mu;
  std::vector<Exchange> hanging;
  std::latch arrived(20);
  Hooks hooks([&](const Exchange& exchange) {
    MutexLock lock(mu);
    hanging.push_back(exchange);
    arrived.count_down();
  });
  auto server = StartApiServer();
  ASSERT_TRUE(server->Load(hooks.Configuration(hooks.UrlConfig())).ok());
  std::vector<std::thread> clients;
  for (int i = 0; i < 20; ++i) {
    clients.emplace_back([&, i] { EXPECT_EQ(Client(*server).CreateMap("m" + std::to_string(i)).status, 201); });
  }
  arrived.wait();
  EXPECT_EQ(Client(*server).Get("/api/v1/namespaces").status, 200);
  {
    MutexLock lock(mu);
    for (const Exchange& exchange : hanging) ReplyJson(exchange, Allowed(*exchange));
  }
  for (std::thread& t : clients) t.join();
}

TEST(ApiServerWebhooksTest, ClientThatGoesAwayEndsTheCall) {
  std::latch arrived(1), ended(1);
  Mutex mu;
  Exchange held;
  Hooks hooks([&](const Exchange& exchange) {
    exchange->OnClose([&] { ended.count_down(); });
    MutexLock lock(mu);
    held = exchange;
    arrived.count_down();
  });
  auto server = StartApiServer();
  ASSERT_TRUE(server->Load(hooks.Configuration(hooks.UrlConfig())).ok());
  {
    RawClient client(server->port());
    const std::string body = R"({"metadata":{"name":"a"}})";
    client.Send("POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    arrived.wait();
  }
  ended.wait();  // long before the ten seconds that the webhook has
  EXPECT_EQ(Client(*server).Get("/api/v1/namespaces/default/configmaps/a").status, 404);
}

TEST(ApiServerWebhooksTest, ServerEndsWhileWebhooksHang) {
  std::latch arrived(3);
  Mutex mu;
  std::vector<Exchange> held;
  Hooks hooks([&](const Exchange& exchange) {
    MutexLock lock(mu);
    held.push_back(exchange);
    arrived.count_down();
  });
  auto server = StartApiServer();
  ASSERT_TRUE(server->Load(hooks.Configuration(hooks.UrlConfig(), false, R"(,"timeoutSeconds":30)")).ok());
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([url = server->url(), i] {
      CurlClient curl;
      (void)curl.Fetch({.url = url + "/api/v1/namespaces/default/configmaps",
                        .method = "POST",
                        .body = R"({"metadata":{"name":"m)" + std::to_string(i) + R"("}})",
                        .headers = {"content-type: application/json"}});
    });
  }
  arrived.wait();
  const auto before = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  for (std::thread& t : clients) t.join();
}

TEST(ApiServerWebhooksTest, RestartForgetsWebhooks) {
  Hooks hooks([](const Exchange& exchange) { exchange->Abort(); });
  auto server = StartApiServer();
  ASSERT_TRUE(server->Load(hooks.Configuration(hooks.UrlConfig())).ok());
  EXPECT_EQ(Client(*server).CreateMap("a").status, 500);
  ASSERT_TRUE(server->Restart(true).ok());
  EXPECT_EQ(Client(*server).CreateMap("a").status, 500);
  ASSERT_TRUE(server->Restart(false).ok());
  EXPECT_EQ(Client(*server).CreateMap("a").status, 201);
}

TEST(ApiServerWebhooksTest, ServersOwnObjectsNeedNoWebhook) {
  Hooks hooks([](const Exchange& exchange) { exchange->Abort(); });
  auto server = StartApiServer();
  std::string all = hooks.Configuration(hooks.UrlConfig());
  all.replace(all.find("configmaps"), 10, "services");
  ASSERT_TRUE(server->Load(all).ok());
  Client client(*server);
  EXPECT_EQ(client.Do("DELETE", "/api/v1/namespaces/default/services/kubernetes").status, 200);
  EXPECT_EQ(client.Get("/api/v1/namespaces/default/services/kubernetes").status, 200) << "the server makes it again";
}

constexpr const char* kCrd = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"hosts.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
"names":{"plural":"hosts","singular":"host","kind":"Host","listKind":"HostList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}],
"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":CLIENT}}}})";

std::string ConvertedAll(const serve::HttpExchange& exchange) {
  const Value review = JsonOf(exchange.request().body);
  Value objects = Value::Array();
  for (Value object : review["request"]["objects"].list()) {
    object["apiVersion"] = review["request"]["desiredAPIVersion"];
    objects.MutableList().push_back(std::move(object));
  }
  return ToJson(Value::Object({{"apiVersion", "apiextensions.k8s.io/v1"},
                               {"kind", "ConversionReview"},
                               {"response", Value::Object({{"uid", review["request"]["uid"]},
                                                           {"result", Value::Object({{"status", "Success"}})},
                                                           {"convertedObjects", std::move(objects)}})}}));
}

std::string CrdFor(const Hooks& hooks) {
  std::string crd = kCrd;
  crd.replace(crd.find("CLIENT"), 6, hooks.UrlConfig());
  return crd;
}

TEST(ApiServerWebhooksTest, ListIsConvertedByOneCallAndThenKept) {
  Mutex mu;
  std::vector<std::size_t> sizes;
  Hooks hooks([&](const Exchange& exchange) {
    {
      MutexLock lock(mu);
      sizes.push_back(JsonOf(exchange->request().body)["request"]["objects"].list().size());
    }
    ReplyJson(exchange, ConvertedAll(*exchange));
  });
  auto server = StartApiServer();
  ASSERT_TRUE(server->Load(CrdFor(hooks)).ok());
  Client client(*server);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(client
                  .Do("POST", "/apis/example.com/v1/namespaces/default/hosts",
                      R"({"apiVersion":"example.com/v1","kind":"Host","metadata":{"name":"h)" + std::to_string(i) + "\"}}")
                  .status,
              201);
  }
  EXPECT_EQ(hooks.calls, 0);
  for (int i = 0; i < 2; ++i) {
    const Value list = JsonOf(client.Get("/apis/example.com/v2/hosts").body);
    ASSERT_EQ(list["items"].list().size(), 50u);
    for (const Value& item : list["items"].list()) EXPECT_EQ(item["apiVersion"], Value("example.com/v2"));
  }
  MutexLock lock(mu);
  EXPECT_THAT(sizes, ::testing::ElementsAre(50u));
}

TEST(ApiServerWebhooksTest, WatchGoesOnWhenTheWebhookIsBack) {
  auto clock = std::make_shared<FakeClock>();
  std::atomic<bool> down{true};
  Hooks hooks([&](const Exchange& exchange) {
    if (!down) return ReplyJson(exchange, ConvertedAll(*exchange));
    exchange->Reply({.status = 503, .headers = {}, .body = ""});
  });
  auto server = StartApiServer({.http = true, .clock = clock});
  ASSERT_TRUE(server->Load(CrdFor(hooks)).ok());
  Stream watch(*server, "/apis/example.com/v2/hosts?watch=true");
  EXPECT_NE(watch.Head(), "");
  // The bookmarks' and the watch's own.
  ASSERT_TRUE(clock->WaitForWaiters(2));
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(Client(*server)
                  .Do("POST", "/apis/example.com/v1/namespaces/default/hosts",
                      std::string(R"({"apiVersion":"example.com/v1","kind":"Host","metadata":{"name":")") + name + "\"}}")
                  .status,
              201);
  }
  ASSERT_TRUE(clock->WaitForWaiters(3));
  down = false;
  clock->Advance(std::chrono::seconds(1));
  EXPECT_EQ(watch.Event(), "ADDED a");
  EXPECT_EQ(watch.Event(), "ADDED b");
}

TEST(ApiServerWebhooksTest, ConversionWebhookMayReadItsOwnKind) {
  auto server = StartApiServer();
  Mutex mu;
  std::vector<std::thread> threads;
  Hooks hooks([&](const Exchange& exchange) {
    MutexLock lock(mu);
    threads.emplace_back([&server, exchange] {
      EXPECT_EQ(Client(*server).Get("/apis/example.com/v1/hosts").status, 200);
      ReplyJson(exchange, ConvertedAll(*exchange));
    });
  });
  ASSERT_TRUE(server->Load(CrdFor(hooks)).ok());
  Client client(*server);
  EXPECT_EQ(client
                .Do("POST", "/apis/example.com/v2/namespaces/default/hosts",
                    R"({"apiVersion":"example.com/v2","kind":"Host","metadata":{"name":"a"}})")
                .status,
            201);
  EXPECT_EQ(client.Get("/apis/example.com/v2/hosts").status, 200);
  MutexLock lock(mu);
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace kube::apiserver
