// Webhooks whose functions throw, hang, or answer too late, and large objects: what the API server's client gets, and that the next call is
// answered as if nothing had happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/wait_test_util.h"
#include "client/server_test_util.h"
#include "kube/api/admission/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/codec/json.h"
#include "kube/serve/certificate.h"
#include "kube/testing/webhooks.h"
#include "kube/transport/http_transport.h"
#include "kube/webhook/webhook.h"
#include "kube/webhook/webhook_server.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using std::chrono::seconds;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class WebhookFaultsTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    static int count = 0;
    ns_ = "faults-" + std::string(GetParam()) + "-" + std::to_string(++count);
    admin_ = std::make_unique<Client>(NewClient());
    core::v1::Namespace ns;
    ns.metadata.name = ns_;
    ns.metadata.labels["faults"] = ns_;
    ASSERT_TRUE(admin_->Create(Patient(), ns));
  }
  // For ConfigMaps of the test's namespace.
  WebhookBuilder<ConfigMap> Maps(const std::string& name = "maps") const {
    return WebhookFor<ConfigMap>(name + "." + ns_ + ".example.com")
        .NamespaceSelector({.match_labels = {{"faults", String(ns_)}}})
        .ExcludeOwnNamespace(false)
        .Timeout(seconds(30));
  }
  std::unique_ptr<testing::InstalledWebhooks> Install(const std::vector<WebhookSpec>& specs) const {
    auto installed = testing::InstallWebhooks(Patient(), *admin_, specs, {.name = ns_});
    EXPECT_TRUE(installed) << installed.error().ToString();
    return installed ? *std::move(installed) : nullptr;
  }
  Result<ConfigMap> CreateMap(const std::string& name, const std::string& does = "") const {
    ConfigMap map;
    map.metadata.name = name;
    map.metadata.namespace_ = ns_;
    map.data["does"] = does;
    return admin_->Create(Patient(), map, {.dry_run = true});
  }
  static bool Does(const ConfigMap& map, std::string_view what) { return map.data.Get("does") == what; }

  std::string ns_;
  std::unique_ptr<Client> admin_;
};

TEST_P(WebhookFaultsTest, AFunctionThatThrowsDenies) {
  const auto act = [](const ConfigMap& map) {
    if (Does(map, "throws")) throw std::runtime_error("no such table");
    if (Does(map, "throws-int")) throw 7;
  };
  // Allowing is not what a failure policy is for: the webhook has answered.
  const auto installed = Install({Maps()
                                      .Default([act](ConfigMap& map) {
                                        act(map);
                                        map.data["defaulted"] = "yes";
                                      })
                                      .FailurePolicy(WebhookFailurePolicy::kIgnore)
                                      .Build(),
                                  Maps("more")
                                      .Validate([act](const ConfigMap*, const ConfigMap* map) {
                                        if (Does(*map, "throws-later")) act({.data = {{"does", "throws"}}});
                                      })
                                      .Build()});
  ASSERT_NE(installed, nullptr);
  for (const char* does : {"throws", "throws-int", "throws-later"}) {
    const Result<ConfigMap> denied = CreateMap("a", does);
    ASSERT_FALSE(denied) << does;
    EXPECT_EQ(denied.error().http_code(), 500);
    EXPECT_THAT(denied.error().ToString(), AnyOf(HasSubstr("the function of the webhook threw: no such table"),
                                                 HasSubstr("the function of the webhook threw: something that is not a std::exception")));
    const Result<ConfigMap> next = CreateMap("a");
    ASSERT_TRUE(next) << next.error().ToString();
    EXPECT_EQ(next->data.Get("defaulted"), "yes");
  }
}

TEST_P(WebhookFaultsTest, AFunctionThatHangsIsDecidedByTheFailurePolicy) {
  std::atomic<int> stopped = 0;
  // Their contexts stop when the API server's own deadline passes. A function that returned then could still be in time.
  const auto [all_answered, answer] = Context::Background().WithCancel();
  const auto act = [&stopped, all_answered = all_answered](const Context& ctx, const AdmissionRequest&, const ConfigMap&) {
    ctx.WaitUntilStopped();
    ++stopped;
    all_answered.WaitUntilStopped();
  };
  const auto hangs = [&](const std::string& name, WebhookFailurePolicy policy) {
    return Maps(name)
        .Default([act, name](const Context& ctx, const AdmissionRequest& request, ConfigMap& map) {
          if (Does(map, name)) act(ctx, request, map);
        })
        .DefaultAt("/" + name)
        .FailurePolicy(policy)
        .Timeout(seconds(10))
        .Build();
  };
  const auto installed = Install({hangs("closed", WebhookFailurePolicy::kFail), hangs("open", WebhookFailurePolicy::kIgnore)});
  ASSERT_NE(installed, nullptr);
  // Calls beside those that hang are answered.
  std::deque<Thread> callers;
  std::atomic<int> failed = 0, passed = 0;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back("caller", [&, i] {
      const bool closed = i % 2 == 0;
      const Result<ConfigMap> made = CreateMap("m-" + std::to_string(i), closed ? "closed" : "open");
      if (closed && !made) {
        EXPECT_EQ(made.error().http_code(), 500);
        EXPECT_THAT(made.error().ToString(), HasSubstr("failed calling webhook \"closed." + ns_ + ".example.com\""));
        ++failed;
      }
      if (!closed && made) ++passed;
    });
  }
  const Result<ConfigMap> beside = CreateMap("prompt");
  EXPECT_TRUE(beside) << beside.error().ToString();
  callers.clear();
  answer.Cancel();
  EXPECT_EQ(failed, 4);
  EXPECT_EQ(passed, 4);
  // The functions are not left to hang: their contexts stop.
  EXPECT_TRUE(Eventually([&] { return stopped == 8; }));
}

TEST_P(WebhookFaultsTest, AnAnswerAfterTheTimeoutIsTooLate) {
  Mutex mu;
  CondVar changed;
  bool open = false;
  std::vector<std::string> lines;
  const auto installed = Install({Maps()
                                      .Default([&](ConfigMap& map) {  // does not look at its context
                                        if (!Does(map, "late")) return;
                                        MutexLock lock(mu);
                                        while (!open) changed.Wait(mu);
                                        map.data["defaulted"] = "late";
                                      })
                                      .Timeout(seconds(10))
                                      .Build()});
  ASSERT_NE(installed, nullptr);
  LogBackend::Default()->SetSink(MakeTextSink([&](std::string_view line) {
    MutexLock lock(mu);
    lines.emplace_back(line);
  }));
  const Result<ConfigMap> late = CreateMap("a", "late");
  {
    MutexLock lock(mu);
    open = true;
    changed.NotifyAll();
  }
  EXPECT_TRUE(!late && late.error().ToString().find("failed calling webhook") != std::string::npos);
  EXPECT_TRUE(Eventually([&] {
    MutexLock lock(mu);
    return ::testing::Value(lines, Contains(HasSubstr("A webhook answered after the API server had stopped waiting")));
  }));
  LogBackend::Default()->SetSink(MakeTextSink());
  const Result<ConfigMap> next = CreateMap("a", "late");
  ASSERT_TRUE(next) << next.error().ToString();
  EXPECT_EQ(next->data.Get("defaulted"), "late");
}

// What InstallWebhooks sends to see when the server calls the webhooks does not reach their functions.
TEST_P(WebhookFaultsTest, FunctionsThatDenyEverythingAreInstalled) {
  std::atomic<int> calls = 0;
  const auto deny = [&calls] {
    ++calls;
    return Admission::Deny("nothing is allowed");
  };
  const auto installed = Install({WebhookFor<ConfigMap>("every." + ns_ + ".example.com")
                                      .Default([deny](ConfigMap&) { return deny(); })
                                      .Validate([deny](const ConfigMap*, const ConfigMap*) { return deny(); })
                                      .Timeout(seconds(30))
                                      .Build()});
  ASSERT_NE(installed, nullptr);
  EXPECT_EQ(calls, 0);
  const Result<ConfigMap> denied = CreateMap("a");
  ASSERT_FALSE(denied);
  EXPECT_THAT(denied.error().ToString(), HasSubstr("nothing is allowed"));
}

// As large as servers store: the review of an update has it twice.
TEST_P(WebhookFaultsTest, AnObjectOfAMebibyteIsUpdated) {
  const std::size_t size = (std::size_t{1} << 20) - 2000;
  const auto installed =
      Install({Maps()
                   .Default([](ConfigMap& map) { map.metadata.annotations["size"] = String(std::to_string(map.data.Get("k").size())); })
                   .Validate([](const ConfigMap* old, const ConfigMap* map) {
                     return old == nullptr || old->data.Get("k").size() == map->data.Get("k").size() ? Admission::Allow()
                                                                                                     : Admission::Deny("another size");
                   })
                   .Build()});
  ASSERT_NE(installed, nullptr);
  ConfigMap map;
  map.metadata.name = "large";
  map.metadata.namespace_ = ns_;
  map.data["k"] = String(std::string(size, 'x'));
  Result<ConfigMap> made = admin_->Create(Patient(), map);
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_EQ(made->metadata.annotations.Get("size"), std::to_string(size));
  made->data["k"] = String(std::string(size, '"'));
  made = admin_->Update(Patient(), *made);
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_EQ(made->metadata.annotations.Get("size"), std::to_string(size));
}

INSTANTIATE_SERVERS(WebhookFaultsTest);

// Larger than kube-apiserver takes by default; an extension API server, or one with another limit, may send it.
TEST(WebhookSizeTest, TwoObjectsOfSevenMebibytesAreReadAndPatched) {
  const std::size_t size = (std::size_t{7} << 20) - 500;
  const WebhookSpec spec = WebhookFor<ConfigMap>("maps.example.com")
                               .Default([](ConfigMap& map) { map.data["defaulted"] = "yes"; })
                               .Validate([&](const ConfigMap* old, const ConfigMap* map) {
                                 return old->data.Get("k").size() == size && map->data.Get("k").size() == size
                                            ? Admission::Allow().Warn("both are large")
                                            : Admission::Deny("not what was sent");
                               });
  const auto ca = serve::CertificateAuthority::Create("size").value();
  const serve::KeyPair pair = ca.Issue({.common_name = "w", .addresses = {"127.0.0.1"}, .server = true}).value();
  const auto server = WebhookServer::Start(spec.endpoints, {.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem},
                                           {.bind_address = "127.0.0.1", .port = 0})
                          .value();
  ClientConfig config;
  config.host = "https://127.0.0.1:" + std::to_string(server->port());
  config.tls.ca_data = ca.certificate_pem();
  const std::shared_ptr<Transport> transport = Client::FromConfig(config, {.max_retries = 0}).value().transport();
  const std::string object =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":")" + std::string(size, 'x') + R"("}})";
  const auto call = [&](const std::string& path, const std::string& old) {
    HttpRequest request;
    request.method = "POST";
    request.target = path + "?timeout=30s";
    request.headers.Add("Content-Type", "application/json");
    request.body = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"UPDATE","object":)" +
                   object + R"(,"oldObject":)" + old + "}}";
    return transport->RoundTrip(Context::Background().WithTimeout(std::chrono::minutes(2)), std::move(request)).value();
  };
  const HttpResponse mutated = call("/mutate--v1-configmap", object);
  ASSERT_EQ(mutated.code, 200) << mutated.body.substr(0, 500);
  const auto patched = FromJson<admission::v1::AdmissionReview>(mutated.body).value();
  EXPECT_EQ(patched.response->patch.view(), R"([{"op":"add","path":"/data/defaulted","value":"yes"}])");
  const HttpResponse validated = call("/validate--v1-configmap", object);
  ASSERT_EQ(validated.code, 200) << validated.body.substr(0, 500);
  const auto allowed = FromJson<admission::v1::AdmissionReview>(validated.body).value();
  EXPECT_TRUE(allowed.response->allowed);
  EXPECT_EQ(allowed.response->warnings, (List<String>{"both are large"}));
  // Beyond the limit there is an answer, too, and the server serves on.
  EXPECT_EQ(call("/validate--v1-configmap", R"({"data":{"k":")" + std::string(std::size_t{10} << 20, 'x') + R"("}})").code, 413);
  EXPECT_EQ(call("/mutate--v1-configmap", "null").code, 200);
}

}  // namespace
}  // namespace kube::internal
