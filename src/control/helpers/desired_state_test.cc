// The desired-state engine where the server does not matter much: options, caches, races, errors, reports. What servers decide is in
// desired_state_server_test.cc.
#include "kube/control/desired_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "control/helpers/child_object.h"
#include "control/helpers/desired_test_util.h"
#include "kube/cache/informer_factory.h"
#include "kube/meta/owner_reference.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using core::v1::Namespace;
using core::v1::Service;
using Outcome = ChildChange::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DesiredStateTest : public HelperTest {
 protected:
  void SetUp() override {
    HelperTest::SetUp();
    owner_ = Created(MakeMap("owner"));
  }
  DesiredState<ConfigMap> State(DesiredStateOptions options = {}) const {
    if (options.field_manager.empty()) options.field_manager = "tester";
    if (options.name.empty()) options.name = "set";
    return {*client_, owner_, options};
  }
  Changes Run(const DesiredState<ConfigMap>& state) {
    requests_->Take();
    Result<Changes> changes = state.TryApply(Soon());
    EXPECT_TRUE(changes) << changes.error().ToString();
    return changes ? *changes : Changes();
  }
  Changes RunWith(const ConfigMap& child, DesiredStateOptions options = {}) {
    auto state = State(std::move(options));
    state.Want(child);
    return Run(state);
  }
  ConfigMap Get(const std::string& name) const { return client_->Get<ConfigMap>(Soon(), {"default", String(name)}).value(); }
  bool IsThere(const std::string& name) const { return client_->Get<ConfigMap>(Soon(), {"default", String(name)}).ok(); }

  ConfigMap owner_;
};

// ---- What is refused ----

TEST_F(DesiredStateTest, OptionsAreChecked) {
  const auto error = [&](DesiredStateOptions options) {
    return DesiredState(*client_, owner_, std::move(options)).Apply(Soon()).error().ToString();
  };
  EXPECT_THAT(error({.name = "set"}), HasSubstr("field_manager"));
  EXPECT_THAT(error({.field_manager = "m"}), HasSubstr("DesiredStateOptions::name"));
  EXPECT_THAT(error({.field_manager = "m", .name = "not a label"}), HasSubstr("DesiredStateOptions::name"));
  EXPECT_THAT(error({.field_manager = "m", .name = "set", .mark_prefix = "not a domain"}), HasSubstr("mark_prefix"));
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(DesiredStateTest, AnOwnerThatWasNeverStoredIsRefused) {
  const DesiredState state(*client_, MakeMap("new"), {.field_manager = "m", .name = "set"});
  EXPECT_THAT(state.Apply(Soon()).error().ToString(), HasSubstr("ConfigMap default/new: the owner has no UID"));
}

TEST_F(DesiredStateTest, NothingIsDoneForAnOwnerThatIsBeingDeleted) {
  owner_.metadata.deletion_timestamp = Time::FromUnix(1);
  const Changes changes = RunWith(MakeMap("a"));
  EXPECT_TRUE(changes.owner_deleted);
  EXPECT_THAT(changes.children, IsEmpty());
  EXPECT_EQ(changes.Summary(), "the owner is being deleted");
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(DesiredStateTest, AChildNeedsAName) {
  ConfigMap child = MakeMap("");
  child.metadata.generate_name = "x-";
  EXPECT_THAT(RunWith(child).ToResult().error().ToString(), HasSubstr("has no name"));
}

TEST_F(DesiredStateTest, AChildThatIsWantedTwiceIsAnError) {
  auto state = State();
  state.Want(MakeMap("a", "1")).Want(MakeMap("a", "2"));
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 created, 1 failed");
  EXPECT_EQ(Get("a").data.Get("value"), "1");
}

TEST_F(DesiredStateTest, AChildInAnotherNamespaceIsRefused) {
  ConfigMap child = MakeMap("a");
  child.metadata.namespace_ = "kube-system";
  EXPECT_THAT(RunWith(child).ToResult().error().ToString(), HasSubstr("another namespace"));
}

TEST_F(DesiredStateTest, AClusterScopedChildOfANamespacedOwnerIsRefused) {
  Namespace child;
  child.metadata.name = "mine";
  auto state = State();
  state.Want(child);
  EXPECT_THAT(Run(state).ToResult().error().ToString(), HasSubstr("cluster-scoped"));
  EXPECT_TRUE(IsNotFound(client_->Get<Namespace>(Soon(), {"", "mine"}).error()));
}

TEST_F(DesiredStateTest, AChildWithAnotherControllerIsRefused) {
  ConfigMap child = MakeMap("a");
  ASSERT_TRUE(SetControllerReference(Created(MakeMap("rival")), child));
  const Changes changes = RunWith(child);
  ASSERT_EQ(changes.Summary(), "1 failed");
  EXPECT_TRUE(IsAlreadyOwned(*changes.children[0].error));
}

TEST_F(DesiredStateTest, AKindThatTheServerDoesNotHaveFailsAlone) {
  auto state = State();
  state.Want(DynamicObject(Gvk{"none.example.com", "v1", "Nothing"}, {"default", "n"})).Want(MakeMap("a"));
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 created, 1 failed");
  EXPECT_TRUE(IsNoMatch(*changes.children[0].error));
}

TEST_F(DesiredStateTest, AKindWithoutNameOrServerIsNotPruned) {
  auto state = State();
  state.Manage(Gvk{"none.example.com", "v1", "Nothing"});
  EXPECT_EQ(Run(state).Summary(), "nothing to do");
}

// ---- What is applied ----

TEST_F(DesiredStateTest, AChildGoesIntoTheNamespaceOfItsOwner) {
  ConfigMap child = MakeMap("a");
  child.metadata.namespace_ = {};
  const Changes changes = RunWith(child);
  EXPECT_EQ(changes.Summary(), "1 created");
  ASSERT_NE(changes.Find<ConfigMap>({"default", "a"}), nullptr);
  EXPECT_EQ(changes.Find<ConfigMap>({"default", "b"}), nullptr);
}

TEST_F(DesiredStateTest, WhatTheServerKeepsForItselfIsNotApplied) {
  ConfigMap child = Created(MakeMap("template"));
  child.metadata.name = "a";
  const Changes changes = RunWith(child);
  EXPECT_EQ(changes.Summary(), "1 created") << changes.ToString();
  EXPECT_NE(Get("a").metadata.uid, child.metadata.uid);
}

TEST_F(DesiredStateTest, MarksMayHaveAnotherDomain) {
  RunWith(MakeMap("a"), {.mark_prefix = "shop.example.com"});
  EXPECT_EQ(Get("a").metadata.labels.Get("shop.example.com/set"), "set");
  EXPECT_TRUE(Get("a").metadata.annotations.contains("shop.example.com/applied"));
}

TEST_F(DesiredStateTest, BlockingOfTheOwnersDeletionCanBeLeftOut) {
  RunWith(MakeMap("a"), {.block_owner_deletion = false});
  EXPECT_EQ(GetControllerOf(Get("a"))->block_owner_deletion, std::optional<bool>(false));
}

TEST_F(DesiredStateTest, FurtherOwnersOfTheChildStay) {
  ConfigMap child = MakeMap("a");
  ASSERT_TRUE(SetOwnerReference(Created(MakeMap("second")), child));
  EXPECT_EQ(RunWith(child).Summary(), "1 created");
  EXPECT_EQ(Get("a").metadata.owner_references.size(), 2U);
  EXPECT_EQ(RunWith(child).writes, 0);
}

TEST_F(DesiredStateTest, AnotherFieldManagerAppliesAnew) {
  RunWith(MakeMap("a"));
  EXPECT_EQ(RunWith(MakeMap("a"), {.field_manager = "renamed"}).Summary(), "1 updated");
  EXPECT_EQ(RunWith(MakeMap("a"), {.field_manager = "renamed"}).writes, 0);
}

TEST_F(DesiredStateTest, AClusterScopedOwnerHasChildrenInAllNamespaces) {
  Namespace owner;
  owner.metadata.name = "team";
  owner = Created(owner);
  ConfigMap there = MakeMap("a");
  there.metadata.namespace_ = "kube-system";
  DesiredState both(*client_, owner, {.field_manager = "m", .name = "set"});
  both.Want(MakeMap("a")).Want(there);
  EXPECT_EQ(both.Apply(Soon())->Summary(), "2 created");
  DesiredState one(*client_, owner, {.field_manager = "m", .name = "set"});
  one.Want(MakeMap("a"));
  const Changes changes = one.Apply(Soon()).value();
  EXPECT_EQ(changes.Summary(), "1 pruned, 1 unchanged");
  EXPECT_EQ(changes.children[1].key.ToString(), "kube-system/a");
}

// The server repeatedly stores something other than what was applied: this is reported once, and once more after a restart.
TEST_F(DesiredStateTest, WhatTheServerInsistsOnIsNotFoughtOver) {
  const DynamicObject child = *DynamicObject::FromYaml(R"(
apiVersion: v1
kind: ResourceQuota
metadata: {name: q}
spec: {hard: {cpu: 2000m}}
)");
  auto state = State();
  state.Want(child);
  EXPECT_EQ(Run(state).Summary(), "1 created");
  EXPECT_EQ(Run(state).writes, 0);
  ForgetAcceptedDrift();
  const Changes restarted = Run(state);
  EXPECT_EQ(restarted.Summary(), "1 unchanged") << restarted.ToString();
  EXPECT_LE(restarted.writes, 1);
  EXPECT_EQ(Run(state).writes, 0);
  // Real drift of the same field is found nevertheless.
  ASSERT_TRUE(
      client_->Resource(Gvr{"", "v1", "resourcequotas"}).Patch(Soon(), {"default", "q"}, Patch::Merge(R"({"spec":{"hard":{"cpu":"9"}}})")));
  EXPECT_EQ(Run(state).Summary(), "1 updated");
}

// ---- Whose it is ----

TEST_F(DesiredStateTest, AnObjectOfAnotherControllerIsAConflict) {
  ConfigMap theirs = MakeMap("a", "theirs");
  ASSERT_TRUE(SetControllerReference(Created(MakeMap("rival")), theirs));
  Created(theirs);
  const Changes changes = RunWith(MakeMap("a"), {.adopt = true});
  EXPECT_EQ(changes.Summary(), "1 conflict");
  EXPECT_THAT(changes.children[0].message, HasSubstr("controlled by ConfigMap rival"));
  EXPECT_EQ(changes.writes, 0);
  EXPECT_EQ(Get("a").data.Get("value"), "theirs");
}

TEST_F(DesiredStateTest, AChildOfAnEarlierOwnerOfTheNameIsAConflict) {
  RunWith(MakeMap("a"));
  owner_.metadata.uid = "another-uid";
  const Changes changes = RunWith(MakeMap("a"));
  EXPECT_EQ(changes.Summary(), "1 conflict");
  EXPECT_THAT(changes.children[0].message, HasSubstr("an earlier ConfigMap owner"));
}

TEST_F(DesiredStateTest, SetsOfOneOwnerAreKeptApart) {
  RunWith(MakeMap("a"), {.name = "one"});
  const Changes clash = RunWith(MakeMap("a"), {.name = "two"});
  EXPECT_EQ(clash.Summary(), "1 conflict");
  EXPECT_THAT(clash.children[0].message, HasSubstr("belongs to the set \"one\""));
  EXPECT_EQ(RunWith(MakeMap("b"), {.name = "two"}).Summary(), "1 created");
  EXPECT_TRUE(IsThere("a"));
}

TEST_F(DesiredStateTest, AnObjectThatTookThePlaceOfANewChildInBetweenIsNotTakenOver) {
  RunWith(MakeMap("a", "1"));
  requests_->Before("PATCH", [&] {
    ASSERT_TRUE(client_->Delete<ConfigMap>(Soon(), {"default", "a"}));
    ASSERT_TRUE(client_->Create(Soon(), MakeMap("a", "theirs")));
  });
  const Changes changes = RunWith(MakeMap("a", "2"), {.prune = false});
  EXPECT_EQ(changes.Summary(), "1 conflict") << changes.ToString();
  EXPECT_EQ(Get("a").data.Get("value"), "theirs");
}

TEST_F(DesiredStateTest, AnObjectThatTookThePlaceOfTheChildInBetweenIsNotTakenOver) {
  RunWith(MakeMap("a", "0"));
  RunWith(MakeMap("a", "1"));
  requests_->Before("PATCH", [&] {
    ASSERT_TRUE(client_->Delete<ConfigMap>(Soon(), {"default", "a"}));
    ASSERT_TRUE(client_->Create(Soon(), MakeMap("a", "theirs")));
  });
  const Changes changes = RunWith(MakeMap("a", "2"), {.prune = false});
  ASSERT_EQ(changes.Summary(), "1 failed");
  EXPECT_TRUE(IsConflict(*changes.children[0].error)) << changes.ToString();
  EXPECT_EQ(Get("a").data.Get("value"), "theirs");
}

TEST_F(DesiredStateTest, AnObjectOfAnotherControllerThatAppearsInBetweenIsNotTakenOver) {
  ConfigMap theirs = MakeMap("a", "theirs");
  ASSERT_TRUE(SetControllerReference(Created(MakeMap("rival")), theirs));
  requests_->Before("POST", [&] { ASSERT_TRUE(client_->Create(Soon(), theirs)); });
  const Changes changes = RunWith(MakeMap("a"), {.prune = false});
  EXPECT_EQ(changes.Summary(), "1 conflict");
  EXPECT_EQ(Get("a").data.Get("value"), "theirs");
}

TEST_F(DesiredStateTest, AnObjectOfNobodyThatAppearsInBetweenIsNotTakenOver) {
  requests_->Before("POST", [&] { ASSERT_TRUE(client_->Create(Soon(), MakeMap("a", "theirs"))); });
  const Changes changes = RunWith(MakeMap("a"), {.prune = false});
  EXPECT_EQ(changes.Summary(), "1 conflict");
  EXPECT_EQ(changes.writes, 0);
  EXPECT_EQ(Get("a").data.Get("value"), "theirs");
  EXPECT_TRUE(Get("a").metadata.labels.empty());
}

TEST_F(DesiredStateTest, AStrangersWriteBeforeTheFirstApplyIsNotLost) {
  RunWith(MakeMap("a", "1"));
  requests_->Before("PATCH", [&] {
    ASSERT_TRUE(
        client_->Patch<ConfigMap>(Soon(), {"default", "a"}, Patch::Merge(R"({"data":{"more":"theirs"}})"), {.field_manager = "other"}));
  });
  EXPECT_EQ(RunWith(MakeMap("a", "2")).Summary(), "1 updated");
  EXPECT_EQ(Get("a").data.Get("value"), "2");
  EXPECT_EQ(Get("a").data.Get("more"), "theirs");
  EXPECT_EQ(RunWith(MakeMap("a", "2")).writes, 0);
}

// Ports are identified by their number: an apply alone would make the edited one a second port, and two ports need names.
TEST_F(DesiredStateTest, AListThatSomebodyElseMadeInvalidIsRepaired) {
  const DynamicObject child = *DynamicObject::FromYaml(R"(
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
)");
  const Gvr services{"", "v1", "services"};
  const auto ports = [&] {
    std::vector<std::int64_t> out;
    const DynamicObject live = client_->Resource(services).Get(Soon(), {"default", "web"}).value();
    for (const Value& port : live["spec"]["ports"].list()) out.push_back(port["port"].int_value());
    return out;
  };
  auto state = State();
  state.Want(child);
  EXPECT_EQ(Run(state).Summary(), "1 created");
  for (int round = 0; round < 2; ++round) {  // made by us, then applied by us
    const Patch edit = Patch::Json(R"([{"op": "replace", "path": "/spec/ports/0/port", "value": 9999}])");
    ASSERT_TRUE(client_->Resource(services).Patch(Soon(), {"default", "web"}, edit, {.field_manager = "somebody"}));
    auto preview = State({.dry_run = true});
    preview.Want(child);
    EXPECT_EQ(Run(preview).Summary(), "1 updated (dry run)");
    EXPECT_THAT(ports(), ElementsAre(9999));
    const Changes changes = Run(state);
    EXPECT_EQ(changes.Summary(), "1 updated") << changes.ToString();
    EXPECT_THAT(ports(), ElementsAre(80));
    EXPECT_EQ(Run(state).writes, 0);
  }
  // And what is dropped afterwards is deleted.
  DynamicObject other = child;
  other["spec"]["ports"].MutableList()[0]["port"] = 81;
  auto second = State();
  second.Want(other);
  EXPECT_EQ(Run(second).Summary(), "1 updated");
  EXPECT_THAT(ports(), ElementsAre(81));
}

TEST_F(DesiredStateTest, WhatIsInvalidByItselfIsAFailure) {
  auto state = State();
  state.Want(*DynamicObject::FromYaml("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"));
  EXPECT_EQ(Run(state).Summary(), "1 created");
  auto wrong = State();
  wrong.Want(*DynamicObject::FromYaml("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}, {port: 81}]}\n"));
  const Changes changes = Run(wrong);
  EXPECT_EQ(changes.Summary(), "1 failed");
  EXPECT_THAT(changes.ToString(), HasSubstr("spec.ports[1].name"));
}

TEST_F(DesiredStateTest, WhatWasCreatedIsLaterApplied) {
  ConfigMap two = MakeMap("a", "1");
  two.data["dropped"] = "x";
  RunWith(two);
  const Changes first = RunWith(MakeMap("a", "1"), {.prune = false});
  EXPECT_THAT(requests_->Take(), ElementsAre("GET", "PATCH", "PATCH"));
  EXPECT_EQ(first.writes, 2);
  EXPECT_EQ(Get("a").data.Find("dropped"), nullptr);
  for (const auto& entry : Get("a").metadata.managed_fields) {
    if (entry.manager != "tester") continue;
    EXPECT_EQ(entry.operation, "Apply");
  }
  RunWith(MakeMap("a", "2"), {.prune = false});
  EXPECT_THAT(requests_->Take(), ElementsAre("GET", "PATCH"));
}

TEST_F(DesiredStateTest, AChildThatIsGivenAwayWhileItIsPrunedIsKept) {
  RunWith(MakeMap("a"));
  requests_->Before("DELETE", [&] {
    ASSERT_TRUE(client_->Patch<ConfigMap>(Soon(), {"default", "a"}, Patch::Merge(R"({"metadata":{"ownerReferences":null}})")));
  });
  auto state = State();
  state.Manage<ConfigMap>();
  EXPECT_EQ(Run(state).Summary(), "nothing to do");
  EXPECT_TRUE(IsThere("a"));
}

TEST_F(DesiredStateTest, TwoPassesForOneOwnerAtATimeDoNotDisturbEachOther) {
  requests_->Before("POST", [&] { EXPECT_EQ(State().Want(MakeMap("a")).Apply(Soon())->Summary(), "1 created"); });
  const Changes changes = RunWith(MakeMap("a"));
  EXPECT_TRUE(changes.complete()) << changes.ToString();
  EXPECT_EQ(RunWith(MakeMap("a")).writes, 0);
}

// ---- Pruning ----

TEST_F(DesiredStateTest, PruningLeavesAllOthersAlone) {
  RunWith(MakeMap("a"));
  Created(MakeMap("unmarked"));
  ConfigMap copy = MakeMap("copy");  // its labels were copied, but it has no controller
  copy.metadata.labels = Get("a").metadata.labels;
  Created(copy);
  ConfigMap disowned = copy;  // or another one
  disowned.metadata.name = "disowned";
  ASSERT_TRUE(SetControllerReference(Created(MakeMap("rival")), disowned));
  Created(disowned);
  auto state = State();
  state.Manage<ConfigMap>();
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 pruned");
  EXPECT_EQ(changes.children[0].key.name, "a");
  EXPECT_FALSE(IsThere("a"));
  EXPECT_TRUE(IsThere("unmarked") && IsThere("copy") && IsThere("disowned") && IsThere("owner"));
}

TEST_F(DesiredStateTest, PruningCanBeTurnedOff) {
  RunWith(MakeMap("a"));
  RunWith(MakeMap("b"), {.prune = false});
  EXPECT_TRUE(IsThere("a"));
}

TEST_F(DesiredStateTest, AKindThatIsNeitherWantedNorManagedIsNotPruned) {
  RunWith(MakeMap("a"));
  auto state = State();
  state.Want(MakeService(ns_, "web"));
  EXPECT_EQ(Run(state).Summary(), "1 created");
  EXPECT_TRUE(IsThere("a"));
}

TEST_F(DesiredStateTest, AnObjectThatChangesWhileItIsPrunedIsLookedAtAgain) {
  RunWith(MakeMap("a"));
  server_->AddFault({.verb = "delete", .resource = "configmaps", .status = 409, .reason = "Conflict"});
  auto state = State();
  state.Manage<ConfigMap>();
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 pruned") << changes.ToString();
  EXPECT_EQ(changes.writes, 2);
}

TEST_F(DesiredStateTest, WhatCannotBePrunedIsReported) {
  RunWith(MakeMap("a"));
  server_->AddFault({.verb = "delete", .resource = "configmaps", .status = 403});
  auto state = State();
  state.Manage<ConfigMap>();
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 failed");
  EXPECT_TRUE(IsForbidden(*changes.children[0].error));
  EXPECT_EQ(changes.children[0].key.name, "a");
}

TEST_F(DesiredStateTest, AListThatFailsIsReportedAndStopsNothingElse) {
  server_->AddFault({.verb = "list", .resource = "configmaps", .status = 403});
  const Changes changes = RunWith(MakeMap("a"));
  EXPECT_EQ(changes.Summary(), "1 created, 1 failed");
  EXPECT_THAT(changes.ToResult().error().ToString(), HasSubstr("no longer desired"));
}

TEST_F(DesiredStateTest, AFailedChildIsNotPrunedForIt) {
  RunWith(MakeMap("a"));
  server_->AddFault({.verb = "get", .resource = "configmaps", .name = "a", .status = 403});
  EXPECT_EQ(RunWith(MakeMap("a", "2")).Summary(), "1 failed");
  EXPECT_TRUE(IsThere("a"));
}

TEST_F(DesiredStateTest, WhereAChildHasNoNameNothingOfItsKindIsPruned) {
  RunWith(MakeMap("a"));
  auto state = State();
  state.Want(MakeMap(""));
  Run(state);
  EXPECT_TRUE(IsThere("a"));
}

TEST_F(DesiredStateTest, AChildThatIsOnItsWayOutIsNotDeletedAgain) {
  ConfigMap child = MakeMap("a");
  child.metadata.finalizers = {"example.com/wait"};
  RunWith(child);
  auto state = State();
  state.Manage<ConfigMap>();
  EXPECT_EQ(Run(state).Summary(), "1 pruned");
  EXPECT_EQ(Run(state).Summary(), "nothing to do");
}

// ---- Caches ----

TEST_F(DesiredStateTest, WithACacheASettledPassCostsNoRequest) {
  Indexer<ConfigMap> indexer;
  const Lister<ConfigMap> lister(indexer, {"", "configmaps"});
  RunWith(MakeMap("a"));
  indexer.Add(std::make_shared<ConfigMap>(Get("a")));
  auto state = State();
  state.ReadFrom(lister).Want(MakeMap("a"));
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 unchanged");
  EXPECT_EQ(changes.children[0].object->name(), "a");
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(DesiredStateTest, WithACacheANewChildCostsOneRequest) {
  Indexer<ConfigMap> indexer;
  auto state = State();
  state.ReadFrom(Lister<ConfigMap>(indexer, {"", "configmaps"})).Want(MakeMap("a"));
  EXPECT_EQ(Run(state).Summary(), "1 created");
  EXPECT_THAT(requests_->Take(), ElementsAre("POST"));
}

TEST_F(DesiredStateTest, ACacheThatIsBehindCausesNoWrite) {
  Indexer<ConfigMap> indexer;
  const Lister<ConfigMap> lister(indexer, {"", "configmaps"});
  RunWith(MakeMap("a"));
  auto state = State();
  state.ReadFrom(lister).Want(MakeMap("a"));
  EXPECT_EQ(Run(state).writes, 0);                             // not in the cache yet
  EXPECT_THAT(requests_->Take(), ElementsAre("POST", "GET"));  // refused, and looked at
  indexer.Add(std::make_shared<ConfigMap>(Get("a")));
  RunWith(MakeMap("a", "2"));
  auto second = State();
  second.ReadFrom(lister).Want(MakeMap("a", "2"));
  EXPECT_EQ(Run(second).writes, 0);  // still the old one
}

TEST_F(DesiredStateTest, PruningGoesByTheCacheAndChecksOnTheServer) {
  Indexer<ConfigMap> indexer;
  const Lister<ConfigMap> lister(indexer, {"", "configmaps"});
  RunWith(MakeMap("a"));
  RunWith(MakeMap("b"), {.prune = false});
  indexer.Add(std::make_shared<ConfigMap>(Get("a")));
  indexer.Add(std::make_shared<ConfigMap>(Get("b")));
  // Given away since the cache saw it.
  ASSERT_TRUE(client_->Patch<ConfigMap>(Soon(), {"default", "b"}, Patch::Merge(R"({"metadata":{"ownerReferences":null}})")));
  auto state = State();
  state.Manage<ConfigMap>().ReadFrom(lister);
  const Changes changes = Run(state);
  EXPECT_EQ(changes.Summary(), "1 pruned");
  EXPECT_FALSE(IsThere("a"));
  EXPECT_TRUE(IsThere("b"));
}

TEST_F(DesiredStateTest, AnInformersCacheServesAsOne) {
  auto [ctx, cancel] = Context::Background().WithCancel();
  InformerFactory informers(*client_);
  const SharedInformer<ConfigMap> informer = informers.For<ConfigMap>({.ns = "default"});
  RunWith(MakeMap("a"));
  informers.Start(ctx);
  ASSERT_TRUE(informers.WaitForSync(Soon()));
  auto state = State();
  state.ReadFrom(informer.lister()).Want(MakeMap("a"));
  EXPECT_EQ(Run(state).writes, 0);
  for (const std::string& method : requests_->Take()) EXPECT_EQ(method, "GET") << "the informer's watch at most";
  cancel.Cancel();
}

TEST_F(DesiredStateTest, AnyFunctionServesAsACache) {
  RunWith(MakeMap("a"));
  const Result<DynamicObject> seen = client_->Resource(Gvr{"", "v1", "configmaps"}).Get(Soon(), {"default", "a"});
  auto state = State({.prune = false});
  int asked = 0;
  state.Want(MakeMap("a")).ReadFrom(Gvk{"", "v1", "ConfigMap"}, [&](const ObjectKey&) {
    ++asked;
    return std::optional<DynamicObject>(*seen);
  });
  EXPECT_EQ(Run(state).Summary(), "1 unchanged");
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(DesiredStateTest, AnObjectThatTheCacheHasNotSeenIsNotTakenOver) {
  Indexer<ConfigMap> indexer;
  Created(MakeMap("a", "theirs"));
  auto state = State();
  state.ReadFrom(Lister<ConfigMap>(indexer, {"", "configmaps"})).Want(MakeMap("a"));
  EXPECT_EQ(Run(state).Summary(), "1 conflict");
  EXPECT_EQ(Get("a").data.Get("value"), "theirs");
}

// ---- Reports ----

TEST_F(DesiredStateTest, ChangesReadLikeADiff) {
  RunWith(MakeMap("a", "1"));
  const Changes changes = RunWith(MakeMap("a", "2"));
  EXPECT_EQ(changes.ToString(), "updated ConfigMap default/a\n  ~ data[value]: \"1\" -> \"2\"\n");
  EXPECT_THAT(changes.children[0].reasons, ::testing::Contains("data[value]: \"1\" instead of \"2\""));
  EXPECT_TRUE(changes.changed());
  EXPECT_TRUE(changes.complete());
  EXPECT_FALSE(RunWith(MakeMap("a", "2")).changed());
}

TEST_F(DesiredStateTest, ResultsNameTheFirstFailureAndCountTheOthers) {
  Created(MakeMap("a"));
  auto state = State();
  state.Want(MakeMap("a")).Want(MakeMap(""));
  const Changes changes = Run(state);
  EXPECT_FALSE(changes.complete());
  const Error error = changes.ToResult().error();
  EXPECT_THAT(error.ToString(), HasSubstr("(and 1 more)"));
  EXPECT_THAT(error.ToString(), HasSubstr("has no name"));
}

TEST_F(DesiredStateTest, AServerThatIsGoneIsAnErrorOfEachChild) {
  auto state = State();
  state.Want(MakeMap("a"));
  auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  const Changes changes = state.TryApply(ctx).value();
  EXPECT_TRUE(IsCancelled(changes.ToResult().error()));
  EXPECT_TRUE(IsCancelled(state.Apply(ctx).error()));
}

TEST_F(DesiredStateTest, ApplyFailsIfAChildFails) {
  auto state = State();
  state.Want(MakeMap("a")).Want(MakeMap(""));
  const Result<Changes> changes = state.Apply(Soon());
  ASSERT_FALSE(changes);
  EXPECT_THAT(changes.error().ToString(), HasSubstr("has no name"));
  EXPECT_TRUE(IsThere("a")) << "the others are applied all the same";
  EXPECT_EQ(state.TryApply(Soon())->Summary(), "1 unchanged, 1 failed");
}

TEST_F(DesiredStateTest, AConflictIsNoErrorOfApply) {
  Created(MakeMap("a"));
  const Result<Changes> changes = State().Want(MakeMap("a")).Want(MakeMap("b")).Apply(Soon());
  ASSERT_TRUE(changes) << changes.error().ToString();
  EXPECT_EQ(changes->Summary(), "1 created, 1 conflict");
}

TEST_F(DesiredStateTest, OneNameIsFieldManagerAndSet) {
  ASSERT_TRUE(DesiredState(*client_, owner_, "greeter").Want(MakeMap("a")).Apply(Soon()));
  const ConfigMap made = Get("a");
  EXPECT_EQ(made.metadata.labels.Get("kubexx.dev/set"), "greeter");
  ASSERT_EQ(made.metadata.managed_fields.size(), 1U);
  EXPECT_EQ(made.metadata.managed_fields[0].manager, "greeter");
}

TEST_F(DesiredStateTest, ItReadsWellInOneExpression) {
  const Result<Changes> changes = DesiredState(*client_, owner_, {.field_manager = "m", .name = "set"})
                                      .Manage<Service>()
                                      .Want(MakeMap("a"))
                                      .Want(DynamicObject(Gvk{"", "v1", "ConfigMap"}, {"", "b"}))
                                      .Apply(Soon());
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->Summary(), "2 created");
}

}  // namespace
}  // namespace kube::internal
