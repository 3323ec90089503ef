// A tenant edits the Ingress of his workload so that auto-expose takes it for the holder of the victim's host after a restart. On the
// embedded server and on real ones. docs/auto-expose.md, "Multi-tenant clusters", has what these cases hold it to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "attack_test_util.h"
#include "children.h"

namespace auto_expose {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AutoExposeRestartTest : public AutoExposeAttackTest {
 protected:
  // The tenant writes a host into the Ingress of his workload, by this field manager.
  void EditHost(const std::string& name, const std::string& host, const std::string& manager) {
    const std::string rule = R"({"host":")" + host + "." + domain_ +
                             R"(","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":")" + name +
                             R"(","port":{"number":8080}}}}]}})";
    const Result<Ingress> edited = client_->Patch<Ingress>(Patient(), Key(name), kube::Patch::Merge(R"({"spec":{"rules":[)" + rule + "]}}"),
                                                           {.field_manager = manager});
    ASSERT_TRUE(edited) << edited.error().ToString();
  }
  // The older workload of the tenant shows the victim's host since it had a malformed annotation, and asks for it after a restart. Gives
  // the UID of the victim's Ingress.
  String EditedAndRestarted(const std::string& manager) {
    OpenPolicy();
    Sleeper("old");
    Start();
    Wake("old", "mine." + domain_);
    EXPECT_TRUE(Evil([&] { return Appears<Ingress>("old"); }));
    String uid = Victim("v");
    Evil([&] {
      Patch<Deployment>("old", Annotation("port", "nonsense"));  // so that auto-expose does not repair it meanwhile
      EXPECT_TRUE(Told("old", "Warning InvalidAnnotation"));
      EditHost("old", "v", manager);
    });
    End();
    Evil([&] {
      Patch<Deployment>("old", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/port":null,"auto-expose.kubexx.dev/host":"v.)" +
                                   domain_ + R"("}}})");
    });
    Start();
    return uid;
  }
  // A pass has seen this path, and says that the host is disputed.
  bool Seen(const std::string& name, const std::string& path) { return Told(name, "Warning HostDisputed", domain_ + path); }
};

// Before the annotation asks for the host: what auto-expose finds in the cluster is all that it knows.
TEST_P(AutoExposeRestartTest, AnEditedIngressIsNoClaimAfterARestart) {
  const String uid = EditedAndRestarted("somebody");
  Evil([&] {
    EXPECT_TRUE(Told("old", "Warning HostConflict"));
    EXPECT_TRUE(Goes<Ingress>("old"));
  });
  EXPECT_TRUE(Reconciled("web"));
  EXPECT_TRUE(Stands(uid));
}

// The tenant writes with auto-expose's field manager: nothing in the cluster distinguishes that Ingress from the victim's. Neither gains.
TEST_P(AutoExposeRestartTest, AForgedFieldManagerGainsNothing) {
  const String uid = EditedAndRestarted(kFieldManager);
  EXPECT_TRUE(Told("web", "Warning HostDisputed"));
  EXPECT_TRUE(Evil([&] { return Told("old", "Warning HostDisputed"); }));
  EXPECT_THAT(manager_->metrics()->Render(), HasSubstr("auto_expose_refusals_total{reason=\"HostDisputed\"}"));
  Evil([&] {
    for (const std::string& event : Events("old")) EXPECT_THAT(event, Not(HasSubstr(victim_ + "/")));
  });
  EXPECT_TRUE(Stands(uid));
  // Nothing is written for either: the path of neither follows the annotation.
  Patch<Deployment>("web", Annotation("path", "/new"));
  Evil([&] { Patch<Deployment>("old", Annotation("path", "/new")); });
  ASSERT_TRUE(Seen("web", "/new"));
  ASSERT_TRUE(Evil([&] { return Seen("old", "/new"); }));
  EXPECT_EQ(Get<Ingress>("web")->spec.rules[0].http->paths[0].path, "/");
  EXPECT_EQ(Evil([&] { return Get<Ingress>("old"); })->spec.rules[0].http->paths[0].path, "/");
  // A third one gets it as little.
  Evil([&] {
    Create(MakeDeployment("third", HostYaml("v")));
    EXPECT_TRUE(Told("third", "Warning HostConflict"));
  });
  // When one of them asks for another host, the dispute is over.
  Evil([&] { Patch<Deployment>("old", Annotation("host", "mine." + domain_)); });
  EXPECT_TRUE(Evil([&] { return Appears<Ingress>("old", [&](const Ingress& i) { return Host(i) == "mine." + domain_; }); }));
  manager_->controller("auto-expose-deployments")->Enqueue(Key("web"));
  EXPECT_TRUE(Appears<Ingress>("web", [](const Ingress& i) { return i.spec.rules[0].http->paths[0].path == "/new"; }));
  EXPECT_TRUE(Stands(uid));
}

// The operator's word ends a dispute: the annotation of the victim's Namespace names the host.
TEST_P(AutoExposeRestartTest, TheOperatorDecidesADispute) {
  const Result<Namespace> patched = client_->Patch<Namespace>(
      Patient(), {"", String(victim_)},
      kube::Patch::Merge(R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/allow-hosts":"v.)" + domain_ + R"("}}})"));
  ASSERT_TRUE(patched) << patched.error().ToString();
  const String uid = EditedAndRestarted(kFieldManager);
  ASSERT_TRUE(Reconciled("web"));
  Patch<Deployment>("web", Annotation("path", "/new"));
  EXPECT_TRUE(Appears<Ingress>("web", [](const Ingress& i) { return i.spec.rules[0].http->paths[0].path == "/new"; }));
  Evil([&] {
    manager_->controller("auto-expose-deployments")->Enqueue(Key("old"));
    EXPECT_TRUE(Told("old", "Warning HostConflict"));
    EXPECT_TRUE(Goes<Ingress>("old"));
  });
  EXPECT_TRUE(Stands(uid));
}

// An Ingress with the label and the owner of a child, made by hand while auto-expose does not run. Its name gives it away.
TEST_P(AutoExposeRestartTest, AForgedChildIsNoClaimAfterARestart) {
  OpenPolicy();
  Sleeper("old");
  Start();
  Wake("old", "mine." + domain_);
  ASSERT_TRUE(Evil([&] { return Appears<Ingress>("old"); }));
  const String uid = Victim("v");
  End();
  Ingress forged = *Evil([&] { return Get<Ingress>("old"); });
  forged.metadata.name = "aaa";
  forged.metadata.uid = forged.metadata.resource_version = "";
  forged.metadata.creation_timestamp = {};
  forged.metadata.managed_fields = {};
  forged.spec.rules[0].host = "v." + domain_;
  ASSERT_TRUE(client_->Create(Patient(), forged, {.field_manager = kFieldManager}));
  Evil([&] { Patch<Deployment>("old", Annotation("host", "v." + domain_)); });
  Start();
  Evil([&] {
    EXPECT_TRUE(Told("old", "Warning HostConflict"));
    EXPECT_TRUE(Goes<Ingress>("old"));
  });
  EXPECT_TRUE(Reconciled("web"));
  EXPECT_TRUE(Stands(uid));
}

// What speaks for a hand-made Ingress is no more than what speaks for an edited one: neither takes the host from the other.
TEST_P(AutoExposeRestartTest, AnEditedIngressBesideAHandMadeOneGainsNothing) {
  OpenPolicy();
  Sleeper("old");
  Start();
  Wake("old", "mine." + domain_);
  ASSERT_TRUE(Evil([&] { return Appears<Ingress>("old"); }));
  End();
  ASSERT_TRUE(client_->Create(Patient(), MakeIngress(victim_, "by-hand", "v." + domain_)));
  Evil([&] {
    EditHost("old", "v", "somebody");
    Patch<Deployment>("old", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/path":"/new","auto-expose.kubexx.dev/host":"v.)" +
                                 domain_ + R"("}}})");
  });
  Start();
  Evil([&] {
    EXPECT_TRUE(Told("old", "Warning HostDisputed"));
    EXPECT_EQ(Get<Ingress>("old")->spec.rules[0].http->paths[0].path, "/");
  });
}

// Counts the requests for the evidence of seeds. No workload is exposed before all of them are answered.
class CountingEvidence : public kube::TransportDecorator {
 public:
  CountingEvidence(std::shared_ptr<kube::Transport> next, std::shared_ptr<std::atomic<int>> count)
      : TransportDecorator(std::move(next)), count_(std::move(count)) {}
  Result<kube::HttpResponse> RoundTrip(const Context& ctx, kube::HttpRequest request) override {
    const std::string* accept = request.headers.Find("Accept");
    const bool metadata = accept != nullptr && accept->find("as=PartialObjectMetadataList") != std::string::npos;
    if (metadata && request.target.find("/ingresses?fieldSelector=") != std::string::npos) ++*count_;
    return next().RoundTrip(ctx, std::move(request));
  }

 private:
  const std::shared_ptr<std::atomic<int>> count_;
};

// The tenant writes the victim's host into all of his Ingresses while auto-expose does not run, to make it ask about each of them. Only the
// victim's own is worth a request.
TEST_P(AutoExposeRestartTest, AHostThatThePolicyRefusesCostsNoRequest) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  const String uid = Get<Ingress>("web")->metadata.uid;
  const std::string names[] = {"a", "b", "c"};
  Evil([&] {
    for (const std::string& name : names) Create(MakeDeployment(name));
    for (const std::string& name : names) ASSERT_TRUE(Appears<Ingress>(name));
  });
  End();
  const auto reads = std::make_shared<std::atomic<int>>(0);
  wrap_ = [reads](std::shared_ptr<kube::Transport> next) { return std::make_shared<CountingEvidence>(std::move(next), reads); };
  Evil([&] {
    for (const std::string& name : names) EditHost(name, "web." + victim_, kFieldManager);
  });
  Start();
  Evil([&] {
    for (const std::string& name : names) {
      const std::string own = name + "." + evil_ + "." + domain_;
      EXPECT_TRUE(Appears<Ingress>(name, [&](const Ingress& i) { return Host(i) == own; })) << name;
    }
  });
  EXPECT_TRUE(Reconciled("web"));
  EXPECT_TRUE(Stands(uid));
  EXPECT_EQ(*reads, 1);
}

INSTANTIATE_SERVERS(AutoExposeRestartTest);

}  // namespace
}  // namespace auto_expose
