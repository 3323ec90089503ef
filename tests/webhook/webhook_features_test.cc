// What a function of WebhookFor<T> can say and see, as it reaches clients through API servers: field errors and warnings, old objects,
// subresources, calls such as exec, dry run, selectors, match conditions, and handlers without a type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/server_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/mutex.h"
#include "kube/client/scale.h"
#include "kube/testing/webhooks.h"
#include "kube/transport/decorators.h"
#include "kube/transport/transport.h"
#include "kube/webhook/webhook.h"

namespace kube::internal {
namespace {

using apps::v1::Deployment;
using core::v1::ConfigMap;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr AdmissionOperation kAll = AdmissionOperation::kCreate | AdmissionOperation::kUpdate | AdmissionOperation::kDelete;
const Gvr kDeployments{"apps", "v1", "deployments"};

class WebhookFeaturesTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    static int count = 0;
    ns_ = "features-" + std::string(GetParam()) + "-" + std::to_string(++count);
    admin_ = std::make_unique<Client>(NewClient({.warning_handler = [this](const ApiWarning& warning) {
      MutexLock lock(mu_);
      warnings_.push_back(warning.text);
    }}));
    core::v1::Namespace ns;
    ns.metadata.name = ns_;
    ns.metadata.labels["features"] = ns_;
    ASSERT_TRUE(admin_->Create(Patient(), ns));
  }

  // For objects of the test's namespace.
  template <typename T>
  WebhookBuilder<T> In(const std::string& name) const {
    return WebhookFor<T>(name + "." + ns_ + ".example.com")
        .NamespaceSelector({.match_labels = {{"features", String(ns_)}}})
        .ExcludeOwnNamespace(false)
        .Timeout(std::chrono::seconds(30));
  }
  std::unique_ptr<testing::InstalledWebhooks> Install(const std::vector<WebhookSpec>& specs) const {
    auto installed = testing::InstallWebhooks(Patient(), *admin_, specs, {.name = ns_});
    EXPECT_TRUE(installed) << installed.error().ToString();
    return installed ? *std::move(installed) : nullptr;
  }

  ConfigMap Map(const std::string& name) const {
    ConfigMap map;
    map.metadata.name = name;
    map.metadata.namespace_ = ns_;
    return map;
  }
  Deployment Web() const {
    Deployment web;
    web.metadata.name = "web";
    web.metadata.namespace_ = ns_;
    web.spec.replicas = 1;
    web.spec.selector.Mutable().match_labels["app"] = "web";
    web.spec.template_.metadata.labels["app"] = "web";
    web.spec.template_.spec.containers.push_back({.name = "web", .image = "web:1"});
    return web;
  }
  ObjectKey Key(const std::string& name) const { return {String(ns_), String(name)}; }

  void Note(std::string what) {
    MutexLock lock(mu_);
    seen_.push_back(std::move(what));
  }
  std::vector<std::string> Seen() {
    MutexLock lock(mu_);
    return std::exchange(seen_, {});
  }
  std::vector<std::string> Warnings() {
    MutexLock lock(mu_);
    return std::exchange(warnings_, {});
  }

  std::string ns_;
  std::unique_ptr<Client> admin_;
  Mutex mu_;
  std::vector<std::string> seen_ KUBE_GUARDED_BY(mu_), warnings_ KUBE_GUARDED_BY(mu_);
};

TEST_P(WebhookFeaturesTest, FieldErrorsAreCausesAndWarningsAreShown) {
  const auto installed = Install({In<ConfigMap>("maps").Validate([](const ConfigMap*, const ConfigMap* map) {
    Admission answer;
    answer.Warn("maps are no databases").Audit("size", std::to_string(map->data.size()));
    if (map->data.Get("owner").empty()) answer.Required("data[owner]", "somebody has to answer for it");
    if (const String& tier = map->data.Get("tier"); tier == "gold") answer.NotSupported("data[tier]", Value(tier), {"iron", "wood"});
    return answer;
  })});
  ASSERT_NE(installed, nullptr);
  ConfigMap map = Map("a");
  map.data["tier"] = "gold";
  const Result<ConfigMap> refused = admin_->Create(Patient(), map);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().http_code(), 422);
  EXPECT_TRUE(IsInvalid(refused.error()));
  ASSERT_EQ(refused.error().causes().size(), 2U) << refused.error().ToString();
  EXPECT_EQ(refused.error().causes()[0].field, "data[owner]");
  EXPECT_THAT(refused.error().causes()[0].message, HasSubstr("somebody has to answer for it"));
  EXPECT_EQ(refused.error().causes()[1].field, "data[tier]");
  EXPECT_THAT(refused.error().causes()[1].message, HasSubstr(R"("gold": supported values: "iron", "wood")"));
  EXPECT_THAT(refused.error().ToString(), HasSubstr("admission webhook \"maps." + ns_ + ".example.com\" denied the request"));
  EXPECT_THAT(Warnings(), ElementsAre("maps are no databases"));
  map.data = {{"owner", "ann"}};
  EXPECT_TRUE(admin_->Create(Patient(), map));
  EXPECT_THAT(Warnings(), ElementsAre("maps are no databases"));
}

TEST_P(WebhookFeaturesTest, UpdatesAndDeletionsSeeTheOldObject) {
  const auto installed = Install({In<ConfigMap>("maps").Validate(
      [](const AdmissionRequest& request, const ConfigMap* old, const ConfigMap* map) {
        if (request.operation == AdmissionOperation::kDelete)
          return old->data.Get("locked").empty() ? Admission::Allow() : Admission::Deny("it is locked");
        Admission answer;
        if (old != nullptr && old->data.Get("fixed") != map->data.Get("fixed")) answer.Forbidden("data[fixed]", "does not change");
        return answer;
      },
      kAll)});
  ASSERT_NE(installed, nullptr);
  ConfigMap map = Map("a");
  map.data = {{"fixed", "1"}, {"locked", "yes"}};
  map = admin_->Create(Patient(), map).value();
  const Result<ConfigMap> changed = admin_->Patch<ConfigMap>(Patient(), Key("a"), Patch::Merge(R"({"data":{"fixed":"2"}})"));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().http_code(), 422);
  const Result<void> kept = admin_->Delete<ConfigMap>(Patient(), Key("a"));
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().http_code(), 403);
  EXPECT_THAT(kept.error().ToString(), HasSubstr("it is locked"));
  ASSERT_TRUE(admin_->Patch<ConfigMap>(Patient(), Key("a"), Patch::Merge(R"({"data":{"locked":null}})")));
  EXPECT_TRUE(admin_->Delete<ConfigMap>(Patient(), Key("a")));
  EXPECT_TRUE(IsNotFound(admin_->Get<ConfigMap>(Patient(), Key("a")).error()));
}

TEST_P(WebhookFeaturesTest, ACallIsDeniedByItsOptions) {
  using core::v1::PodExecOptions;
  const auto installed = Install({In<PodExecOptions>("exec")
                                      .For({"", "v1", "pods"}, "exec")
                                      .Validate(
                                          [this](const AdmissionRequest& request, const PodExecOptions* old, const PodExecOptions* exec) {
                                            Note(request.key.name.str() + " " + request.subresource.str() + (old ? " old" : ""));
                                            return exec->command.size() == 1 && exec->command[0] == "ls"
                                                       ? Admission::Allow()
                                                       : Admission::Deny("only ls, not " + exec->command[0].str());
                                          },
                                          AdmissionOperation::kConnect)});
  ASSERT_NE(installed, nullptr);
  const auto exec = [&](const std::string& command) {
    HttpRequest request;
    request.method = "POST";
    request.target = "/api/v1/namespaces/" + ns_ + "/pods/none/exec?container=web&command=" + command;
    const Result<HttpResponse> answer = admin_->Raw(Patient(), std::move(request));
    return answer ? std::to_string(answer->code) + answer->body : std::to_string(answer.error().http_code()) + answer.error().ToString();
  };
  EXPECT_THAT(exec("rm"), ::testing::AllOf(::testing::StartsWith("403"), HasSubstr("only ls, not rm")));
  EXPECT_THAT(exec("ls"), ::testing::StartsWith("404")) << "there is no such pod";
  EXPECT_THAT(Seen(), ElementsAre("none exec", "none exec"));
}

TEST_P(WebhookFeaturesTest, SubresourcesAreAskedForByName) {
  using autoscaling::v1::Scale;
  const auto installed =
      Install({In<Deployment>("whole").AndSubresource("status").Default([this](const AdmissionRequest& request, Deployment& web) {
                 Note("default " + request.subresource.str());
                 if (request.subresource == "status") web.status.replicas = 7;
               }),
               In<Scale>("scale")
                   .For(kDeployments, "scale")
                   .Validate([this](const AdmissionRequest& request, const Scale* old, const Scale* scale) {
                     Note("scale " + std::to_string(old->spec.replicas) + " to " + std::to_string(scale->spec.replicas) + " " +
                          request.resource.ToString());
                     return scale->spec.replicas > 5 ? Admission::Deny("too many") : Admission::Allow();
                   })});
  ASSERT_NE(installed, nullptr);
  const Deployment made = admin_->Create(Patient(), Web()).value();
  EXPECT_THAT(Seen(), ElementsAre("default "));
  Result<Scale> scaled = PatchScale(Patient(), *admin_, kDeployments, Key("web"), Patch::Merge(R"({"spec":{"replicas":9}})"));
  ASSERT_FALSE(scaled);
  EXPECT_THAT(scaled.error().ToString(), HasSubstr("too many"));
  EXPECT_TRUE(PatchScale(Patient(), *admin_, kDeployments, Key("web"), Patch::Merge(R"({"spec":{"replicas":3}})")));
  EXPECT_THAT(Seen(), ElementsAre("scale 1 to 9 " + kDeployments.ToString(), "scale 1 to 3 " + kDeployments.ToString()));
  Deployment now = admin_->Get<Deployment>(Patient(), Key("web")).value();
  now.status.observed_generation = 1;
  const Result<Deployment> reported = admin_->UpdateStatus(Patient(), now);
  ASSERT_TRUE(reported) << reported.error().ToString();
  EXPECT_EQ(reported->status.replicas, 7);
  EXPECT_EQ(reported->spec.replicas, 3);
  EXPECT_THAT(Seen(), ElementsAre("default status"));
}

TEST_P(WebhookFeaturesTest, ADryRunIsVisible) {
  const auto installed = Install({In<ConfigMap>("maps").Default([this](const AdmissionRequest& request, ConfigMap& map) {
    Note(map.metadata.name.str() + (request.dry_run ? " dry" : " wet"));
    map.data["seen"] = "yes";
  })});
  ASSERT_NE(installed, nullptr);
  EXPECT_EQ(admin_->Create(Patient(), Map("a"), {.dry_run = true}).value().data.Get("seen"), "yes");
  EXPECT_TRUE(IsNotFound(admin_->Get<ConfigMap>(Patient(), Key("a")).error()));
  EXPECT_EQ(admin_->Create(Patient(), Map("a")).value().data.Get("seen"), "yes");
  EXPECT_THAT(Seen(), ElementsAre("a dry", "a wet"));
}

TEST_P(WebhookFeaturesTest, SelectorsDecideWhatIsAsked) {
  const auto installed = Install({In<ConfigMap>("maps")
                                      .ObjectSelector({.match_labels = {{"checked", "yes"}}})
                                      .Validate([this](const ConfigMap*, const ConfigMap* map) {
                                        Note(map->metadata.name.str());
                                        return Admission::Deny("it was asked");
                                      })});
  ASSERT_NE(installed, nullptr);
  EXPECT_TRUE(admin_->Create(Patient(), Map("plain")));
  EXPECT_THAT(Seen(), IsEmpty());
  ConfigMap checked = Map("checked");
  checked.metadata.labels["checked"] = "yes";
  EXPECT_FALSE(admin_->Create(Patient(), checked));
  checked.metadata.namespace_ = "default";
  EXPECT_TRUE(admin_->Create(Patient(), checked, {.dry_run = true})) << "another namespace";
  EXPECT_THAT(Seen(), ElementsAre("checked"));
}

TEST_P(WebhookFeaturesTest, MatchConditionsDecideOrAreRefusedInWords) {
  const WebhookSpec spec = In<ConfigMap>("maps")
                               .MatchCondition("named", "object.metadata.name.startsWith('m-')")
                               .Validate([](const ConfigMap*, const ConfigMap*) { return Admission::Deny("it was asked"); });
  if (std::string(GetParam()) == "oldest") GTEST_SKIP() << "it does not know them";
  if (std::string(GetParam()) == "embedded") {
    const auto refused = testing::InstallWebhooks(Patient(), *admin_, {spec}, {.name = ns_});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().ToString(), HasSubstr("match conditions are CEL expressions, which this server does not evaluate"));
    return;
  }
  // The probes of InstallWebhooks do not have such a name, and the probes' own webhooks have no conditions.
  const auto installed = Install({spec});
  ASSERT_NE(installed, nullptr);
  EXPECT_TRUE(admin_->Create(Patient(), Map("a-m")));
  const Result<ConfigMap> denied = admin_->Create(Patient(), Map("m-a"));
  ASSERT_FALSE(denied);
  EXPECT_THAT(denied.error().ToString(), HasSubstr("it was asked"));
}

TEST_P(WebhookFeaturesTest, ARawHandlerSeesEveryKindAndPatches) {
  const auto rules = [](std::vector<std::string> resources) {
    return std::vector<WebhookRule>{
        {.operations = AdmissionOperation::kCreate, .groups = {"", "apps"}, .versions = {"v1"}, .resources = std::move(resources)}};
  };
  const auto installed = Install({RawWebhook({.mutating = true,
                                              .name = "any." + ns_ + ".example.com",
                                              .rules = rules({"configmaps", "deployments"}),
                                              .namespace_selector = {.match_labels = {{"features", String(ns_)}}},
                                              .timeout = std::chrono::seconds(30),
                                              .exclude_own_namespace = false},
                                             [this](const Context&, const AdmissionRequest& request) {
                                               Note(request.kind.kind.str());
                                               return Admission::Allow().Patch(
                                                   ParseJson(R"([{"op":"add","path":"/metadata/labels","value":{"by":"raw"}}])").value());
                                             })});
  ASSERT_NE(installed, nullptr);
  EXPECT_EQ(admin_->Create(Patient(), Map("a")).value().metadata.labels.Get("by"), "raw");
  EXPECT_EQ(admin_->Create(Patient(), Web()).value().metadata.labels.Get("by"), "raw");
  EXPECT_THAT(Seen(), UnorderedElementsAre("ConfigMap", "Deployment"));
}

INSTANTIATE_SERVERS(WebhookFeaturesTest);

}  // namespace
}  // namespace kube::internal
