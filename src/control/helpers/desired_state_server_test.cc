// The desired-state engine and the other helpers for reconcilers against the embedded server and the real ones of `make control-plane`:
// what only a server can say about server-side apply, defaults, ownership of fields and deletion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/server_test_util.h"
#include "control/helpers/child_object.h"
#include "control/helpers/desired_test_util.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/cache/informer_factory.h"
#include "kube/codec/yaml.h"
#include "kube/control/create_or_update.h"
#include "kube/control/desired_state.h"
#include "kube/control/finalizers.h"
#include "kube/control/status.h"
#include "kube/meta/owner_reference.h"

namespace kube {
namespace {

using apps::v1::Deployment;
using core::v1::ConfigMap;
using core::v1::Namespace;
using core::v1::Secret;
using core::v1::Service;
using networking::v1::Ingress;
using Outcome = ChildChange::Outcome;
using ::testing::HasSubstr;

class DesiredStateServerTest : public internal::ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient(internal::Counted(requests_)));
    Namespace ns;
    ns.metadata.generate_name = "desired-";
    const Result<Namespace> made = client_->Create(Patient(), ns);
    ASSERT_TRUE(made) << made.error().ToString();
    ns_ = made->metadata.name.str();
    owner_ = client_->Create(Patient(), internal::MakeDeployment(ns_, "web")).value();
  }
  void TearDown() override {
    if (client_ && !ns_.empty()) (void)client_->Delete<Namespace>(Patient(), {"", String(ns_)});
  }

  DesiredState<Deployment> State(DesiredStateOptions options = {}) const {
    options.field_manager = "auto-expose";
    options.name = "expose";
    return {*client_, owner_, options};
  }
  Changes Run(const DesiredState<Deployment>& state) {
    requests_->Take();
    Result<Changes> changes = state.TryApply(Patient());
    EXPECT_TRUE(changes) << changes.error().ToString();
    if (!changes) return {};
    EXPECT_EQ(requests_->TakeWrites(), changes->writes);
    return *changes;
  }
  Changes Expose() {
    auto state = State();
    state.Want(internal::MakeService(ns_, "web")).Want(internal::MakeIngress(ns_, "web"));
    return Run(state);
  }
  // Applies it as another client.
  template <typename T>
  void Meddle(const std::string& name, const std::string& merge_patch) {
    const Result<T> patched =
        client_->Patch<T>(Patient(), {String(ns_), String(name)}, Patch::Merge(merge_patch), {.field_manager = "meddler"});
    ASSERT_TRUE(patched) << patched.error().ToString();
  }
  template <typename T>
  T Get(const std::string& name) const {
    return client_->Get<T>(Patient(), {String(ns_), String(name)}).value();
  }

  std::shared_ptr<internal::RequestCount> requests_ = std::make_shared<internal::RequestCount>();
  std::optional<Client> client_;
  std::string ns_;
  Deployment owner_;
};

TEST_P(DesiredStateServerTest, ServiceAndIngressAreMadeOnceAndNotWrittenAgain) {
  const Changes first = Expose();
  EXPECT_EQ(first.Summary(), "2 created") << first.ToString();
  EXPECT_TRUE(first.complete());
  for (int i = 0; i < 3; ++i) {
    internal::ForgetAcceptedDrift();
    const Changes again = Expose();
    EXPECT_EQ(again.Summary(), "2 unchanged") << again.ToString();
    EXPECT_EQ(again.writes, 0);
  }
  const Service service = Get<Service>("web");
  EXPECT_TRUE(IsControlledBy(service, owner_));
  EXPECT_EQ(service.metadata.labels.Get("kubexx.dev/set"), "expose");
  EXPECT_EQ(service.metadata.labels.Get("kubexx.dev/owner-uid"), owner_.metadata.uid);
}

// Deployments get two dozen defaults, and the quantities are spelled in another way than they are stored.
TEST_P(DesiredStateServerTest, DefaultsAndSpellingsOfADeploymentAreNoDrift) {
  const auto pass = [&] {
    auto state = State();
    state.Want(internal::MakeDeployment(ns_, "child"));
    return Run(state);
  };
  EXPECT_EQ(pass().Summary(), "1 created");
  internal::ForgetAcceptedDrift();
  const Changes again = pass();
  EXPECT_EQ(again.writes, 0) << again.ToString();
}

TEST_P(DesiredStateServerTest, DriftOfAScalarIsRepairedAndShown) {
  Expose();
  Meddle<Service>("web", R"({"spec":{"ports":[{"name":"http","port":80,"targetPort":9999}]}})");
  const Changes repaired = Expose();
  EXPECT_EQ(repaired.Summary(), "1 updated, 1 unchanged") << repaired.ToString();
  EXPECT_THAT(repaired.ToString(), HasSubstr("9999 -> 8080"));
  EXPECT_EQ(Get<Service>("web").spec.ports[0].target_port, IntOrString(8080));
  EXPECT_EQ(Expose().writes, 0);
}

TEST_P(DesiredStateServerTest, FieldsOfOthersStay) {
  Expose();
  Meddle<Service>("web", R"({"metadata":{"labels":{"team":"red"},"annotations":{"note":"x"}},"spec":{"sessionAffinity":"ClientIP"}})");
  EXPECT_EQ(Expose().writes, 0);
  auto state = State();
  Service service = internal::MakeService(ns_, "web");
  service.metadata.labels["mine"] = "1";
  state.Want(service).Want(internal::MakeIngress(ns_, "web"));
  EXPECT_EQ(Run(state).Summary(), "1 updated, 1 unchanged");
  const Service now = Get<Service>("web");
  EXPECT_EQ(now.metadata.labels.Get("team"), "red");
  EXPECT_EQ(now.metadata.labels.Get("mine"), "1");
  EXPECT_EQ(now.spec.session_affinity, "ClientIP");
}

TEST_P(DesiredStateServerTest, AFieldThatIsNoLongerWantedGoes) {
  Service service = internal::MakeService(ns_, "web");
  service.metadata.labels["old"] = "1";
  auto first = State();
  first.Want(service);
  Run(first);
  EXPECT_EQ(Get<Service>("web").metadata.labels.Get("old"), "1");
  auto second = State();
  second.Want(internal::MakeService(ns_, "web"));
  const Changes changes = Run(second);
  EXPECT_EQ(changes.Summary(), "1 updated");
  EXPECT_THAT(changes.ToString(), HasSubstr("- metadata.labels"));
  EXPECT_FALSE(Get<Service>("web").metadata.labels.contains("old"));
  EXPECT_EQ(Run(second).writes, 0);
}

// The list of rules is replaced as a whole. A host is a plain value, as defaults are: only managedFields show that it is drift.
TEST_P(DesiredStateServerTest, AnAdditionInsideOfAnAtomicListIsDrift) {
  Expose();
  Ingress changed = Get<Ingress>("web");
  changed.spec.rules[0].host = "evil.example.com";
  ASSERT_TRUE(client_->Update(Patient(), changed, {.field_manager = "meddler"}));
  const Changes repaired = Expose();
  EXPECT_EQ(repaired.Summary(), "1 updated, 1 unchanged");
  EXPECT_THAT(repaired.ToString(), HasSubstr("evil.example.com"));
  EXPECT_TRUE(Get<Ingress>("web").spec.rules[0].host.empty());
  EXPECT_EQ(Expose().writes, 0);
}

TEST_P(DesiredStateServerTest, ARemovedAnnotationLabelOrOwnerIsPutBack) {
  Expose();
  Meddle<Service>("web", R"({"metadata":{"labels":{"kubexx.dev/set":null}}})");
  EXPECT_EQ(Expose().Count(Outcome::kUpdated), 1U);
  Meddle<Service>("web", R"({"metadata":{"annotations":{"kubexx.dev/applied":null}}})");
  EXPECT_EQ(Expose().Count(Outcome::kUpdated), 1U);
  Meddle<Service>("web", R"({"metadata":{"ownerReferences":null}})");
  EXPECT_EQ(Expose().Count(Outcome::kUpdated), 1U);
  EXPECT_TRUE(IsControlledBy(Get<Service>("web"), owner_));
  EXPECT_EQ(Expose().writes, 0);
}

TEST_P(DesiredStateServerTest, ADeletedChildIsMadeAnew) {
  Expose();
  ASSERT_TRUE(client_->Delete<Ingress>(Patient(), {String(ns_), "web"}));
  EXPECT_EQ(Expose().Summary(), "1 created, 1 unchanged");
}

TEST_P(DesiredStateServerTest, ChildrenThatAreNotWantedAnyMoreArePruned) {
  Expose();
  auto other = DesiredState(*client_, owner_, {.field_manager = "auto-expose", .name = "other"});
  ConfigMap kept;
  kept.metadata.name = "of-another-set";
  other.Want(kept);
  EXPECT_EQ(Run(other).Summary(), "1 created");
  auto state = State();
  state.Want(internal::MakeService(ns_, "web")).Manage<Ingress, ConfigMap>();
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 pruned, 1 unchanged") << changes.ToString();
  EXPECT_TRUE(IsNotFound(client_->Get<Ingress>(Patient(), {String(ns_), "web"}).error()));
  EXPECT_TRUE(client_->Get<ConfigMap>(Patient(), {String(ns_), "of-another-set"}));
  EXPECT_EQ(Run(state).writes, 0);
}

TEST_P(DesiredStateServerTest, WhatBelongsToOthersIsLeftAlone) {
  ASSERT_TRUE(client_->Create(Patient(), internal::MakeService(ns_, "web")));
  const String version = Get<Service>("web").metadata.resource_version;
  const Changes changes = Expose();
  EXPECT_EQ(changes.Summary(), "1 created, 1 conflict");
  EXPECT_EQ(Get<Service>("web").metadata.resource_version, version);
  EXPECT_THAT(changes.ToResult().error().ToString(), HasSubstr("has no controller"));
}

TEST_P(DesiredStateServerTest, AnObjectThatTookThePlaceOfAChildInBetweenIsRefusedByTheServer) {
  Expose();
  Service theirs = internal::MakeService(ns_, "web");
  theirs.metadata.labels["team"] = "red";
  Service wanted = internal::MakeService(ns_, "web");
  wanted.spec.ports[0].port = 82;
  auto applied = State();
  applied.Want(wanted).Want(internal::MakeIngress(ns_, "web"));
  EXPECT_EQ(Run(applied).Summary(), "1 updated, 1 unchanged");
  wanted.spec.ports[0].port = 81;
  auto state = State();
  state.Want(wanted).Want(internal::MakeIngress(ns_, "web"));
  requests_->Take();
  requests_->Before("PATCH", [&] {
    ASSERT_TRUE(client_->Delete<Service>(Patient(), {String(ns_), "web"}));
    ASSERT_TRUE(client_->Create(Patient(), theirs));
  });
  const Changes changes = state.TryApply(Patient()).value();
  EXPECT_EQ(changes.Summary(), "1 unchanged, 1 failed") << changes.ToString();
  // Real servers say that a UID is immutable.
  ASSERT_TRUE(changes.children[0].error) << changes.ToString();
  EXPECT_TRUE(IsConflict(*changes.children[0].error) || IsInvalid(*changes.children[0].error)) << changes.ToString();
  EXPECT_EQ(Get<Service>("web").metadata.labels.Get("team"), "red");
  EXPECT_FALSE(HasControllerReference(Get<Service>("web")));
}

TEST_P(DesiredStateServerTest, AnObjectThatTookThePlaceOfANewChildInBetweenIsLeftAlone) {
  Expose();
  Service theirs = internal::MakeService(ns_, "web");
  theirs.metadata.labels["team"] = "red";
  Service wanted = internal::MakeService(ns_, "web");
  wanted.spec.ports[0].port = 81;
  auto state = State();
  state.Want(wanted).Want(internal::MakeIngress(ns_, "web"));
  requests_->Before("PATCH", [&] {
    ASSERT_TRUE(client_->Delete<Service>(Patient(), {String(ns_), "web"}));
    ASSERT_TRUE(client_->Create(Patient(), theirs));
  });
  const Changes changes = state.TryApply(Patient()).value();
  EXPECT_EQ(changes.Summary(), "1 unchanged, 1 conflict") << changes.ToString();
  EXPECT_EQ(Get<Service>("web").metadata.labels.Get("team"), "red");
  EXPECT_FALSE(HasControllerReference(Get<Service>("web")));
}

// Ports are identified by their number: an apply alone would make the edited one a second port of the same name.
TEST_P(DesiredStateServerTest, AnEditedPortIsRepaired) {
  Expose();
  const std::int32_t port = Get<Service>("web").spec.ports[0].port;
  const Patch edit = Patch::Json(R"([{"op": "replace", "path": "/spec/ports/0/port", "value": 9999}])");
  ASSERT_TRUE(client_->Patch<Service>(Patient(), {String(ns_), "web"}, edit, {.field_manager = "somebody"}));
  EXPECT_EQ(Expose().Summary(), "1 updated, 1 unchanged");
  ASSERT_EQ(Get<Service>("web").spec.ports.size(), 1U);
  EXPECT_EQ(Get<Service>("web").spec.ports[0].port, port);
  EXPECT_EQ(Expose().writes, 0);
}

// What was created by us is applied by us later, and what is no longer desired is deleted.
TEST_P(DesiredStateServerTest, AFieldThatIsDroppedAfterTheCreationGoes) {
  ConfigMap map;
  map.metadata.name = "map";
  map.data["kept"] = "1";
  map.data["dropped"] = "1";
  auto first = State();
  first.Want(map);
  EXPECT_EQ(Run(first).Summary(), "1 created");
  map.data.Erase("dropped");
  auto second = State();
  second.Want(map);
  EXPECT_EQ(Run(second).Summary(), "1 updated");
  EXPECT_EQ(Get<ConfigMap>("map").data, (Map<String>{{"kept", "1"}}));
  EXPECT_EQ(Run(second).writes, 0);
}

TEST_P(DesiredStateServerTest, ASecondControllerThatAppearsInBetweenIsRefusedByTheServer) {
  Service theirs = internal::MakeService(ns_, "web");
  const Deployment rival = client_->Create(Patient(), internal::MakeDeployment(ns_, "rival")).value();
  ASSERT_TRUE(SetControllerReference(rival, theirs));
  auto state = State();
  state.Want(internal::MakeService(ns_, "web"));
  requests_->Before("POST", [&] { ASSERT_TRUE(client_->Create(Patient(), theirs)); });
  const Changes changes = state.TryApply(Patient()).value();
  EXPECT_EQ(changes.Summary(), "1 conflict") << changes.ToString();
  EXPECT_TRUE(IsControlledBy(Get<Service>("web"), rival));
  EXPECT_EQ(Expose().Count(Outcome::kConflict), 1U);
}

TEST_P(DesiredStateServerTest, AnObjectWithoutControllerIsAdoptedWhereThatIsAllowed) {
  ASSERT_TRUE(client_->Create(Patient(), internal::MakeService(ns_, "web")));
  auto state = State({.adopt = true});
  state.Want(internal::MakeService(ns_, "web"));
  EXPECT_EQ(Run(state).Summary(), "1 updated");
  EXPECT_TRUE(IsControlledBy(Get<Service>("web"), owner_));
  EXPECT_EQ(Run(state).writes, 0);
}

TEST_P(DesiredStateServerTest, ADryRunSaysWhatWouldHappen) {
  Expose();
  Service service = internal::MakeService(ns_, "web");
  service.spec.ports[0].port = 8081;
  ConfigMap map;
  map.metadata.name = "new";
  auto state = State({.dry_run = true});
  state.Want(service).Want(map).Manage<Ingress>();
  const String version = Get<Service>("web").metadata.resource_version;
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 created, 1 updated, 1 pruned (dry run)") << changes.ToString();
  EXPECT_THAT(changes.ToString(), HasSubstr("8081"));
  EXPECT_EQ(Get<Service>("web").metadata.resource_version, version);
  EXPECT_TRUE(IsNotFound(client_->Get<ConfigMap>(Patient(), {String(ns_), "new"}).error()));
  EXPECT_TRUE(client_->Get<Ingress>(Patient(), {String(ns_), "web"}));
}

TEST_P(DesiredStateServerTest, StringDataOfASecretIsComparedWithItsData) {
  Secret secret;
  secret.metadata.name = "login";
  secret.string_data["password"] = "hunter2";
  auto state = State();
  state.Want(secret);
  EXPECT_EQ(Run(state).Summary(), "1 created");
  EXPECT_EQ(Run(state).writes, 0);
  Meddle<Secret>("login", R"({"data":{"password":"b3RoZXI="}})");
  const Changes repaired = Run(state);
  EXPECT_EQ(repaired.Summary(), "1 updated");
  EXPECT_EQ(repaired.ToString().find("b3RoZXI"), std::string::npos);
  for (const std::string& reason : repaired.children[0].reasons) EXPECT_EQ(reason.find("b3RoZXI"), std::string::npos) << reason;
  EXPECT_EQ(Get<Secret>("login").data.Get("password"), Bytes("hunter2"));
}

// No table, so managedFields alone say how lists are merged; "1000m" becomes "1" on the server.
TEST_P(DesiredStateServerTest, DynamicChildrenSettleToo) {
  const DynamicObject child = *DynamicObject::FromYaml(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: dynamic}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      hostNetwork: false
      containers:
      - name: web
        image: web:1
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 1000m}}
)");
  auto state = State();
  state.Want(child);
  EXPECT_EQ(Run(state).Summary(), "1 created");
  const Changes again = Run(state);
  EXPECT_EQ(again.writes, 0) << again.ToString();
  // Another client's sidecar in a list that is merged by key.
  Deployment injected = Get<Deployment>("dynamic");
  core::v1::Container sidecar;
  sidecar.name = "sidecar";
  sidecar.image = "proxy:1";
  injected.spec.template_.spec.containers.push_back(sidecar);
  ASSERT_TRUE(client_->Update(Patient(), injected, {.field_manager = "meddler"}));
  const Changes after = Run(state);
  EXPECT_EQ(after.writes, 0) << after.ToString();
  Meddle<Deployment>("dynamic", R"({"spec":{"paused":true}})");
  EXPECT_EQ(Run(state).writes, 0);
  injected = Get<Deployment>("dynamic");
  injected.spec.template_.spec.containers[0].image = "web:evil";
  ASSERT_TRUE(client_->Update(Patient(), injected, {.field_manager = "meddler"}));
  EXPECT_EQ(Run(state).Summary(), "1 updated");
  injected = Get<Deployment>("dynamic");
  EXPECT_EQ(injected.spec.template_.spec.containers[0].image, "web:1");
  EXPECT_EQ(injected.spec.template_.spec.containers.size(), 2U);
}

TEST_P(DesiredStateServerTest, AFieldOfAnotherApplierIsAConflictWithoutForce) {
  Expose();
  DynamicObject other(Gvk{"", "v1", "Service"}, {String(ns_), "web"});
  other.set_label("color", "red");
  const auto services = client_->Resource(Gvr{"", "v1", "services"});
  ASSERT_TRUE(services.Apply(Patient(), other, {.field_manager = "rival"}));
  Service service = internal::MakeService(ns_, "web");
  service.metadata.labels["color"] = "blue";
  auto gentle = State({.prune = false, .force = false});
  gentle.Want(service);
  const Changes changes = Run(gentle);
  EXPECT_EQ(changes.Summary(), "1 conflict") << changes.ToString();
  EXPECT_THAT(changes.children[0].message, HasSubstr("rival"));
  auto state = State({.prune = false});
  state.Want(service);
  EXPECT_EQ(Run(state).Summary(), "1 updated");
}

TEST_P(DesiredStateServerTest, AChildThatIsRefusedDoesNotStopTheOthers) {
  Service bad = internal::MakeService(ns_, "bad");
  bad.spec.ports[0].port = 700000;
  auto state = State();
  state.Want(bad).Want(internal::MakeIngress(ns_, "web"));
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 created, 1 failed");
  ASSERT_TRUE(changes.children[0].error);
  EXPECT_TRUE(IsInvalid(*changes.children[0].error)) << changes.children[0].error->ToString();
}

TEST_P(DesiredStateServerTest, AChildOnItsWayOutIsWaitedFor) {
  ConfigMap map;
  map.metadata.name = "slow";
  map.metadata.finalizers.push_back("example.com/wait");
  auto state = State();
  state.Want(map);
  Run(state);
  ASSERT_TRUE(client_->Delete<ConfigMap>(Patient(), {String(ns_), "slow"}));
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 deleting");
  EXPECT_FALSE(changes.complete());
  EXPECT_EQ(changes.writes, 0);
  Meddle<ConfigMap>("slow", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(Run(state).Summary(), "1 created");
  Meddle<ConfigMap>("slow", R"({"metadata":{"finalizers":null}})");
}

// What auto-expose does most of the time: nothing, at no cost, until another client interferes.
TEST_P(DesiredStateServerTest, WithInformersASettledPassCostsNoRequestAndDriftIsSeen) {
  const Client watching = NewClient();
  auto [ctx, cancel] = Context::Background().WithCancel();
  InformerFactory informers(watching);
  const SharedInformer<Service> services = informers.For<Service>({.ns = ns_});
  const SharedInformer<Ingress> ingresses = informers.For<Ingress>({.ns = ns_});
  informers.Start(ctx);
  ASSERT_TRUE(informers.WaitForSync(Patient()));
  auto state = State();
  state.ReadFrom(services.lister()).ReadFrom(ingresses.lister());
  state.Want(internal::MakeService(ns_, "web")).Want(internal::MakeIngress(ns_, "web"));
  EXPECT_EQ(Run(state).Summary(), "2 created");
  const auto catch_up = [&] {
    ASSERT_TRUE(services.WaitUntilSeen(Patient(), {String(ns_), "web"}, Get<Service>("web").metadata.resource_version));
    ASSERT_TRUE(ingresses.WaitUntilSeen(Patient(), {String(ns_), "web"}, Get<Ingress>("web").metadata.resource_version));
  };
  catch_up();
  requests_->Take();
  EXPECT_EQ(state.Apply(Patient())->Summary(), "2 unchanged");
  EXPECT_THAT(requests_->Take(), ::testing::IsEmpty());

  Ingress changed = Get<Ingress>("web");
  changed.spec.rules[0].host = "evil.example.com";
  ASSERT_TRUE(client_->Update(Patient(), changed, {.field_manager = "meddler"}));
  catch_up();
  EXPECT_EQ(Run(state).Summary(), "1 updated, 1 unchanged");
  catch_up();
  requests_->Take();
  EXPECT_EQ(state.Apply(Patient())->Summary(), "2 unchanged");
  EXPECT_THAT(requests_->Take(), ::testing::IsEmpty());

  auto none = State();
  none.ReadFrom(services.lister()).ReadFrom(ingresses.lister()).Manage<Service, Ingress>();
  EXPECT_EQ(Run(none).Summary(), "2 pruned");
  cancel.Cancel();
}

// A custom resource: its schema is known to the server only.
TEST_P(DesiredStateServerTest, CustomResourcesSettleAndAreRepaired) {
  apiextensions::v1::CustomResourceDefinition crd = *FromYaml<apiextensions::v1::CustomResourceDefinition>(R"(
metadata: {name: carts.desired.example.com}
spec:
  group: desired.example.com
  scope: Namespaced
  names: {kind: Cart, listKind: CartList, plural: carts, singular: cart}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, default: 7}
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [sku]
                items: {type: object, required: [sku], properties: {sku: {type: string}, count: {type: integer, default: 1}}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              steps: {type: array, items: {type: string}}
)");
  const auto made = client_->Create(Patient(), crd);
  ASSERT_TRUE(made || IsAlreadyExists(made.error())) << made.error().ToString();
  const ResourceClient<DynamicObject> carts = client_->Resource(Gvr{"desired.example.com", "v1", "carts"});
  const Context patient = Patient();
  while (!carts.List(patient, {.ns = ns_})) ASSERT_TRUE(patient.SleepFor(std::chrono::milliseconds(20)));  // served a moment later
  const DynamicObject cart = *DynamicObject::FromYaml(R"(
apiVersion: desired.example.com/v1
kind: Cart
metadata: {name: c}
spec: {items: [{sku: bread}, {sku: milk, count: 2}], tags: [red], steps: [pack, send]}
)");
  auto state = State({.mapper = RestMapper(*client_)});
  state.Want(cart);
  EXPECT_EQ(Run(state).Summary(), "1 created");
  internal::ForgetAcceptedDrift();
  EXPECT_EQ(Run(state).writes, 0);
  const auto meddle = [&](const std::string& patch) {
    const auto patched = carts.Patch(Patient(), {String(ns_), "c"}, Patch::Json(patch), {.field_manager = "meddler"});
    ASSERT_TRUE(patched) << patched.error().ToString();
  };
  meddle(R"([{"op":"add","path":"/spec/items/0","value":{"sku":"salt"}},{"op":"add","path":"/spec/tags/-","value":"blue"}])");
  internal::ForgetAcceptedDrift();
  EXPECT_EQ(Run(state).writes, 0);  // lists that are shared
  meddle(R"([{"op":"add","path":"/spec/steps/-","value":"steal"}])");
  EXPECT_EQ(Run(state).Summary(), "1 updated");
  EXPECT_EQ(carts.Get(Patient(), {String(ns_), "c"})->value()["spec"]["steps"].list().size(), 2U);
  EXPECT_EQ(carts.Get(Patient(), {String(ns_), "c"})->value()["spec"]["items"].list().size(), 3U);
  DynamicObject less = cart;
  less["spec"].MutableObject().Erase("steps");
  auto dropped = State({.mapper = RestMapper(*client_)});
  dropped.Want(less);
  const Changes changes = Run(dropped);
  EXPECT_EQ(changes.Summary(), "1 updated") << changes.ToString();
  EXPECT_EQ(carts.Get(Patient(), {String(ns_), "c"})->value()["spec"].Find("steps"), nullptr);
  auto none = State({.mapper = RestMapper(*client_)});
  none.Manage(Gvk{"desired.example.com", "v1", "Cart"});
  EXPECT_EQ(Run(none).Summary(), "1 pruned");
  ASSERT_TRUE(client_->Delete<apiextensions::v1::CustomResourceDefinition>(Patient(), {"", "carts.desired.example.com"}));
}

// ---- The other helpers, where a real server matters ----

TEST_P(DesiredStateServerTest, AnAssignedSpecDoesNotLoopInCreateOrUpdate) {
  const auto pass = [&] {
    Deployment deployment = internal::MakeDeployment(ns_, "loop");
    const Deployment wanted = deployment;
    const Result<OperationResult> r = CreateOrUpdate(Patient(), *client_, deployment, [&](Deployment& d) { d.spec = wanted.spec; });
    return r ? *r : OperationResult::kUpdatedStatus;
  };
  EXPECT_EQ(pass(), OperationResult::kCreated);
  EXPECT_EQ(pass(), OperationResult::kUnchanged);
  requests_->Take();
  EXPECT_EQ(pass(), OperationResult::kUnchanged);
  EXPECT_EQ(requests_->TakeWrites(), 0);
}

TEST_P(DesiredStateServerTest, FinalizersRunInOrderAndLetTheObjectGo) {
  ConfigMap map;
  map.metadata.namespace_ = ns_;
  map.metadata.name = "final";
  map = client_->Create(Patient(), map).value();
  std::vector<std::string> calls;
  const auto call = [&](const char* name) {
    return [&calls, name](const Context&, const ConfigMap&) -> Result<void> {
      calls.emplace_back(name);
      return {};
    };
  };
  Finalizers<ConfigMap> finalizers;
  finalizers.Add("example.com/b", call("b")).Add("example.com/a", call("a"));
  Result<FinalizerResult> r = finalizers.Run(Patient(), *client_, map);
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_TRUE(r->proceed);
  ASSERT_TRUE(client_->Delete<ConfigMap>(Patient(), KeyOf(map)));
  map = Get<ConfigMap>("final");
  r = finalizers.Run(Patient(), *client_, map);
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_FALSE(r->proceed);
  EXPECT_THAT(calls, ::testing::ElementsAre("b", "a"));
  EXPECT_TRUE(IsNotFound(client_->Get<ConfigMap>(Patient(), KeyOf(map)).error()));
}

TEST_P(DesiredStateServerTest, AFinalizerOfAnObjectThatWasMadeAnewStays) {
  ConfigMap map;
  map.metadata.namespace_ = ns_;
  map.metadata.name = "anew";
  map.metadata.finalizers = {"example.com/a"};
  ASSERT_TRUE(client_->Create(Patient(), map));
  ASSERT_TRUE(client_->Delete<ConfigMap>(Patient(), {String(ns_), "anew"}));
  ConfigMap old = Get<ConfigMap>("anew");
  Meddle<ConfigMap>("anew", R"({"metadata":{"finalizers":null}})");
  ASSERT_TRUE(client_->Create(Patient(), map));
  Finalizers<ConfigMap> finalizers;
  finalizers.Add("example.com/a", [](const Context&, const ConfigMap&) -> Result<void> { return {}; });
  const Result<FinalizerResult> r = finalizers.Run(Patient(), *client_, old);
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_FALSE(r->proceed);
  EXPECT_TRUE(HasFinalizer(Get<ConfigMap>("anew"), "example.com/a"));
  Meddle<ConfigMap>("anew", R"({"metadata":{"finalizers":null}})");
}

TEST_P(DesiredStateServerTest, AStatusIsWrittenOnceAndSurvivesAWriteToTheSpec) {
  const Service made = client_->Create(Patient(), internal::MakeService(ns_, "status")).value();
  Meddle<Service>("status", R"({"metadata":{"labels":{"a":"b"}}})");
  StatusWriter<Service> writer(*client_, made);
  writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"});
  const Result<bool> written = writer.Write(Patient());
  ASSERT_TRUE(written) << written.error().ToString();
  EXPECT_EQ(Get<Service>("status").status.conditions.size(), 1U);
  StatusWriter<Service> again(*client_, Get<Service>("status"));
  again.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"});
  EXPECT_FALSE(again.Write(Patient()).value());
}

INSTANTIATE_SERVERS(DesiredStateServerTest);

}  // namespace
}  // namespace kube
