// auto-expose when Services, Ingresses and routes of the server cannot be decoded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "exposer_test_util.h"

namespace auto_expose {
namespace {

using ::testing::HasSubstr;

// Objects with the label spoil=yes arrive with metadata of the wrong shape.
class SpoilsObjects : public kube::TransportDecorator {
 public:
  using TransportDecorator::TransportDecorator;

  Result<kube::HttpResponse> RoundTrip(const Context& ctx, kube::HttpRequest request) override {
    if (request.method == "GET") request.headers.Set("Accept", "application/json");
    Result<kube::HttpResponse> response = next().RoundTrip(ctx, std::move(request));
    if (!response || response->stream != nullptr) return response;
    const std::string good = R"("spoil":"yes")", bad = R"("spoil":["yes"])";
    for (std::size_t at = 0; (at = response->body.find(good, at)) != std::string::npos; at += bad.size()) {
      response->body.replace(at, good.size(), bad);
    }
    return response;
  }
};

class AutoExposeUndecodableTest : public AutoExposeServerTest {
 protected:
  // Restarts auto-expose, with the labelled objects undecodable.
  void StartSpoiled() {
    End();
    wrap_ = [](std::shared_ptr<kube::Transport> next) { return std::make_shared<SpoilsObjects>(std::move(next)); };
    Start();
  }
  static std::string Spoil() { return R"({"metadata":{"labels":{"spoil":"yes"}}})"; }
  // The latest pass over this workload has failed.
  bool Fails(const std::string& name) {
    return Eventually([&] {
      for (const kube::KeyReport& report : manager_->controller("auto-expose-deployments")->status(1000).recent) {
        if (report.key == Key(name) && report.last_result.starts_with("error")) return true;
      }
      return false;
    });
  }
};

TEST_P(AutoExposeUndecodableTest, AServiceThatCannotBeDecodedClosesNoIngress) {
  Start();
  Create(MakeDeployment("web"));
  Create(MakeDeployment("malformed"));
  for (const char* name : {"web", "malformed"}) {
    ASSERT_TRUE(Appears<Ingress>(name));
    Patch<Service>(name, Spoil());
  }
  End();
  Patch<Deployment>("malformed", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/port":"nonsense"}}})");
  const String web = Get<Ingress>("web")->metadata.uid, malformed = Get<Ingress>("malformed")->metadata.uid;
  StartSpoiled();
  EXPECT_TRUE(Fails("web"));
  EXPECT_TRUE(Fails("malformed"));
  ASSERT_TRUE(Get<Ingress>("web"));
  EXPECT_EQ(Get<Ingress>("web")->metadata.uid, web);
  ASSERT_TRUE(Get<Ingress>("malformed"));
  EXPECT_EQ(Get<Ingress>("malformed")->metadata.uid, malformed);
}

TEST_P(AutoExposeUndecodableTest, AnIngressThatCannotBeDecodedKeepsItsHost) {
  const std::string host = "shop." + ns_ + ".example.com";
  const Result<Ingress> by_hand =
      kube::FromYaml<Ingress>("metadata: {name: by-hand, namespace: " + ns_ + ", labels: {spoil: \"yes\"}}\nspec: {rules: [{host: " + host +
                              ", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: any, port: {number: 80}}}}]}}]}\n");
  ASSERT_TRUE(by_hand) << by_hand.error().ToString();
  const Result<Ingress> made = client_->Create(Patient(), *by_hand);
  ASSERT_TRUE(made) << made.error().ToString();
  StartSpoiled();
  Create(MakeDeployment("web", "{auto-expose.kubexx.dev/host: " + host + "}"));
  EXPECT_TRUE(Told("web", "Warning HostConflict", "Ingress " + ns_ + "/by-hand"));
  ASSERT_TRUE(Reconciled("web"));
  EXPECT_FALSE(Get<Ingress>("web"));
  // Other hosts are not affected.
  Create(MakeDeployment("other"));
  EXPECT_TRUE(Appears<Ingress>("other"));
}

// After a restart a workload holds the host of its child, whether that can be decoded or not.
TEST_P(AutoExposeUndecodableTest, AChildThatCannotBeDecodedIsItsWorkloadsClaim) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  const String uid = Get<Ingress>("web")->metadata.uid;
  Patch<Ingress>("web", Spoil());
  Patch<Deployment>("web", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/port":"nonsense"}}})");
  StartSpoiled();
  EXPECT_TRUE(Fails("web"));
  Create(MakeDeployment("thief", "{auto-expose.kubexx.dev/host: web." + ns_ + ".example.com}"));
  EXPECT_TRUE(Told("thief", "Warning HostConflict", "Deployment " + ns_ + "/web"));
  EXPECT_FALSE(Get<Ingress>("thief"));
  ASSERT_TRUE(Get<Ingress>("web"));
  EXPECT_EQ(Get<Ingress>("web")->metadata.uid, uid);
}

// A user that can create one such object must not keep the operator from showing what a change of flags would do.
TEST_P(AutoExposeUndecodableTest, ADryRunGoesOnWithoutWhatCannotBeDecoded) {
  Start();
  Create(MakeDeployment("spoilt"));
  ASSERT_TRUE(Appears<Ingress>("spoilt"));
  End();
  Patch<Deployment>("spoilt", Spoil());
  Patch<Ingress>("spoilt", Spoil());
  Create(MakeDeployment("web"));
  const Client client =
      NewClient({.wrap_transport = [](std::shared_ptr<kube::Transport> next) { return std::make_shared<SpoilsObjects>(std::move(next)); }});
  std::ostringstream out;
  const Result<int> count = DryRun(Patient(), client, settings_, out);
  ASSERT_TRUE(count) << count.error().ToString();
  EXPECT_EQ(*count, 1) << out.str();
  EXPECT_THAT(out.str(), HasSubstr("Deployment " + ns_ + "/web  http://web." + ns_ + ".example.com/"));
  EXPECT_THAT(out.str(), HasSubstr("Deployment " + ns_ + "/spoilt\n  left out here, because it cannot be decoded: metadata.labels"));
  EXPECT_THAT(out.str(), HasSubstr("Ingress " + ns_ + "/spoilt\n  left out here"));
}

INSTANTIATE_SERVERS(AutoExposeUndecodableTest);

}  // namespace
}  // namespace auto_expose
