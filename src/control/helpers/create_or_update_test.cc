#include "kube/control/create_or_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/handwritten_kind_test_util.h"
#include "control/helpers/desired_test_util.h"
#include "kube/meta/owner_reference.h"

namespace kube::internal {
namespace {

using apps::v1::Deployment;
using core::v1::ConfigMap;
using core::v1::Service;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CreateOrUpdateTest : public HelperTest {};

TEST_F(CreateOrUpdateTest, CreatesWhatIsMissing) {
  ConfigMap map = MakeMap("settings");
  const Result<OperationResult> r = CreateOrUpdate(Soon(), *client_, map, [](ConfigMap& m) { m.data["level"] = "info"; });
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_EQ(*r, OperationResult::kCreated);
  EXPECT_FALSE(map.metadata.uid.empty());
  EXPECT_EQ(map.data.Get("level"), "info");
  EXPECT_EQ(map.data.Get("value"), "1");
  EXPECT_THAT(requests_->Take(), ElementsAre("GET", "POST"));
}

TEST_F(CreateOrUpdateTest, UpdatesWhatTheFunctionChanged) {
  Created(MakeMap("settings"));
  ConfigMap map = MakeMap("settings", "ignored: the function did not set it");
  EXPECT_EQ(*CreateOrUpdate(Soon(), *client_, map, [](ConfigMap& m) { m.data["level"] = "info"; }), OperationResult::kUpdated);
  EXPECT_EQ(map.data.Get("value"), "1");
  EXPECT_EQ(map.data.Get("level"), "info");
}

TEST_F(CreateOrUpdateTest, WritesNothingWhereTheFunctionChangesNothing) {
  Created(MakeMap("settings"));
  ConfigMap map = MakeMap("settings");
  EXPECT_EQ(*CreateOrUpdate(Soon(), *client_, map, [](ConfigMap& m) { m.data["value"] = "1"; }), OperationResult::kUnchanged);
  EXPECT_THAT(requests_->Take(), ElementsAre("GET"));
  EXPECT_FALSE(map.metadata.resource_version.empty());
}

TEST_F(CreateOrUpdateTest, DefaultsOfTheServerAreNoChange) {
  const auto pass = [&] {
    Deployment deployment = MakeDeployment(ns_, "web");
    return *CreateOrUpdate(Soon(), *client_, deployment, [](Deployment& d) { d.metadata.labels["a"] = "b"; });
  };
  EXPECT_EQ(pass(), OperationResult::kCreated);
  EXPECT_EQ(pass(), OperationResult::kUnchanged);
}

// kubernetes-sigs/controller-runtime#2733: assigning the whole spec removes the defaults in each pass.
TEST_F(CreateOrUpdateTest, AWholeSpecThatIsAssignedIsSentOnceMoreAndThenNeverAgain) {
  const auto pass = [&] {
    Deployment deployment = MakeDeployment(ns_, "web");
    const Deployment wanted = deployment;
    return *CreateOrUpdate(Soon(), *client_, deployment, [&](Deployment& d) { d.spec = wanted.spec; });
  };
  EXPECT_EQ(pass(), OperationResult::kCreated);
  requests_->Take();
  EXPECT_EQ(pass(), OperationResult::kUnchanged);
  EXPECT_THAT(requests_->Take(), ElementsAre("GET", "PUT"));
  EXPECT_EQ(pass(), OperationResult::kUnchanged);
  EXPECT_EQ(pass(), OperationResult::kUnchanged);
  EXPECT_THAT(requests_->Take(), ElementsAre("GET", "GET"));
  // Real drift is still repaired.
  ASSERT_TRUE(client_->Patch<Deployment>(Soon(), {String(ns_), "web"}, Patch::Merge(R"({"spec":{"replicas":7}})")));
  EXPECT_EQ(pass(), OperationResult::kUpdated);
  EXPECT_EQ(client_->Get<Deployment>(Soon(), {String(ns_), "web"})->spec.replicas, 1);
}

TEST_F(CreateOrUpdateTest, AConflictIsTriedAgainOnFreshData) {
  Created(MakeMap("settings"));
  server_->AddFault({.verb = "update", .resource = "configmaps", .status = 409, .reason = "Conflict", .times = 2});
  ConfigMap map = MakeMap("settings");
  int calls = 0;
  const Result<OperationResult> r = CreateOrUpdate(Soon(), *client_, map, [&](ConfigMap& m) {
    ++calls;
    m.data["n"] = std::to_string(calls);
  });
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_EQ(*r, OperationResult::kUpdated);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(map.data.Get("n"), "3");
}

TEST_F(CreateOrUpdateTest, AConflictIsTheErrorWhereTriesAreNotWanted) {
  Created(MakeMap("settings"));
  server_->AddFault({.verb = "update", .resource = "configmaps", .status = 409, .reason = "Conflict"});
  ConfigMap map = MakeMap("settings");
  const Result<OperationResult> r =
      CreateOrUpdate(Soon(), *client_, map, [](ConfigMap& m) { m.data["n"] = "1"; }, {.retry_on_conflict = false});
  ASSERT_FALSE(r);
  EXPECT_TRUE(IsConflict(r.error()));
  EXPECT_EQ(map, MakeMap("settings"));
}

TEST_F(CreateOrUpdateTest, SomebodyElseWhoCreatesItFirstIsNoError) {
  ConfigMap map = MakeMap("settings");
  int calls = 0;
  const Result<OperationResult> r = CreateOrUpdate(Soon(), *client_, map,
                                                   [&](ConfigMap& m) {
                                                     if (++calls == 1) {
                                                       ASSERT_TRUE(client_->Create(Soon(), MakeMap("settings", "theirs")));
                                                     }
                                                     m.data["mine"] = "1";
                                                   },
                                                   {.retry_on_conflict = false});
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_EQ(*r, OperationResult::kUpdated);
  EXPECT_EQ(map.data.Get("value"), "theirs");
  EXPECT_EQ(map.data.Get("mine"), "1");
}

TEST_F(CreateOrUpdateTest, TheFunctionMayFailAndNothingIsWritten) {
  ConfigMap map = MakeMap("settings");
  const auto refuse = [](ConfigMap&) -> Result<void> { return Error::Invalid("no"); };
  EXPECT_EQ(CreateOrUpdate(Soon(), *client_, map, refuse).error().message(), "no");
  EXPECT_THAT(requests_->Take(), ElementsAre("GET"));
}

TEST_F(CreateOrUpdateTest, TheFunctionMustNotRename) {
  ConfigMap map = MakeMap("settings");
  const Result<OperationResult> r = CreateOrUpdate(Soon(), *client_, map, [](ConfigMap& m) { m.metadata.name = "other"; });
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message(), HasSubstr("default/other of default/settings"));
}

TEST_F(CreateOrUpdateTest, AnErrorOfTheServerIsPassedOn) {
  server_->AddFault({.verb = "get", .resource = "configmaps", .status = 403});
  ConfigMap map = MakeMap("settings");
  EXPECT_TRUE(IsForbidden(CreateOrUpdate(Soon(), *client_, map, [](ConfigMap&) {}).error()));
}

TEST_F(CreateOrUpdateTest, ADryRunChangesNothing) {
  ConfigMap map = MakeMap("settings");
  EXPECT_EQ(*CreateOrUpdate(Soon(), *client_, map, [](ConfigMap&) {}, {.dry_run = true}), OperationResult::kCreated);
  EXPECT_TRUE(IsNotFound(client_->Get<ConfigMap>(Soon(), {"default", "settings"}).error()));
}

TEST_F(CreateOrUpdateTest, WorksOnDynamicObjects) {
  const ResourceClient<DynamicObject> maps = client_->Resource(Gvr{"", "v1", "configmaps"});
  const auto pass = [&] {
    DynamicObject map(Gvk{"", "v1", "ConfigMap"}, {"default", "settings"});
    return *CreateOrUpdate(Soon(), maps, map, [](DynamicObject& m) { m["data"]["level"] = "info"; });
  };
  EXPECT_EQ(pass(), OperationResult::kCreated);
  EXPECT_EQ(pass(), OperationResult::kUnchanged);
}

// ---- CreateOrPatch ----

TEST_F(CreateOrUpdateTest, PatchSendsOnlyWhatChanged) {
  Created(MakeMap("settings"));
  ConfigMap map = MakeMap("settings");
  EXPECT_EQ(*CreateOrPatch(Soon(), *client_, map, [](ConfigMap& m) { m.data["level"] = "info"; }), OperationResult::kUpdated);
  EXPECT_THAT(requests_->Take(), ElementsAre("GET", "PATCH"));
  EXPECT_EQ(map.data.Get("level"), "info");
  EXPECT_EQ(*CreateOrPatch(Soon(), *client_, map, [](ConfigMap& m) { m.data["level"] = "info"; }), OperationResult::kUnchanged);
  EXPECT_THAT(requests_->Take(), ElementsAre("GET"));
}

TEST_F(CreateOrUpdateTest, PatchSendsTheStatusToItsSubresource) {
  Created(MakeService(ns_, "web"));
  Service service = MakeService(ns_, "web");
  const auto condition = [](Service& s) {
    s.status.conditions = {{.type = "Ready", .status = "True", .last_transition_time = Time::FromUnix(1000), .reason = "Ok"}};
  };
  EXPECT_EQ(*CreateOrPatch(Soon(), *client_, service, condition), OperationResult::kUpdatedStatusOnly);
  EXPECT_EQ(service.status.conditions.size(), 1U);
  EXPECT_EQ(*CreateOrPatch(Soon(), *client_, service, condition), OperationResult::kUnchanged);
  EXPECT_EQ(*CreateOrPatch(Soon(), *client_, service,
                           [&](Service& s) {
                             s.metadata.labels["a"] = "b";
                             s.status.conditions.clear();
                           }),
            OperationResult::kUpdatedStatus);
  EXPECT_TRUE(service.status.conditions.empty());
  EXPECT_EQ(service.metadata.labels.Get("a"), "b");
}

TEST_F(CreateOrUpdateTest, PatchCreatesWithItsStatus) {
  Service service = MakeService(ns_, "web");
  EXPECT_EQ(*CreateOrPatch(Soon(), *client_, service,
                           [](Service& s) {
                             s.status.conditions = {
                                 {.type = "Ready", .status = "True", .last_transition_time = Time::FromUnix(1000), .reason = "Ok"}};
                           }),
            OperationResult::kCreated);
  EXPECT_EQ(client_->Get<Service>(Soon(), {String(ns_), "web"})->status.conditions.size(), 1U);
}

// Two writers that each add to one list: a merge patch without a version would lose the first one's addition.
TEST_F(CreateOrUpdateTest, PatchOfAListDoesNotLoseWhatSomebodyElseAdded) {
  Created(MakeMap("settings"));
  ConfigMap map = MakeMap("settings");
  int calls = 0;
  const Result<OperationResult> r = CreateOrPatch(Soon(), *client_, map, [&](ConfigMap& m) {
    if (++calls == 1) {
      ASSERT_TRUE(client_->Patch<ConfigMap>(Soon(), {"default", "settings"},
                                            Patch::Merge(R"({"metadata":{"finalizers":["example.com/theirs"]}})")));
    }
    m.metadata.finalizers.push_back("example.com/mine");
  });
  ASSERT_TRUE(r) << r.error().ToString();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(map.metadata.finalizers.size(), 2U);
}

TEST_F(CreateOrUpdateTest, PatchOfFieldsDoesNotMindOtherWriters) {
  Created(MakeMap("settings"));
  ConfigMap map = MakeMap("settings");
  int calls = 0;
  ASSERT_TRUE(CreateOrPatch(Soon(), *client_, map, [&](ConfigMap& m) {
    if (++calls == 1) {
      ASSERT_TRUE(client_->Patch<ConfigMap>(Soon(), {"default", "settings"}, Patch::Merge(R"({"data":{"theirs":"1"}})")));
    }
    m.data["mine"] = "1";
  }));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(map.data.Get("theirs"), "1");
  EXPECT_EQ(map.data.Get("mine"), "1");
}

// Equality comes from the table.
TEST_F(CreateOrUpdateTest, AHandWrittenKindNeedsNoEquality) {
  ASSERT_TRUE(server_->Load(kBackupCrd));
  const auto pass = [&](const std::string& database) {
    Backup backup;
    backup.metadata = {.name = "nightly", .namespace_ = "default"};
    return CreateOrUpdate(Soon(), *client_, backup, [&](Backup& b) { b.spec.database = String(database); });
  };
  EXPECT_EQ(pass("orders").value(), OperationResult::kCreated);
  EXPECT_EQ(pass("orders").value(), OperationResult::kUnchanged);
  EXPECT_EQ(pass("carts").value(), OperationResult::kUpdated);
}

TEST(OperationResultTest, HasTheNamesThatGoUsersKnow) {
  EXPECT_EQ(ToString(OperationResult::kUnchanged), "unchanged");
  EXPECT_EQ(ToString(OperationResult::kCreated), "created");
  EXPECT_EQ(ToString(OperationResult::kUpdated), "updated");
  EXPECT_EQ(ToString(OperationResult::kUpdatedStatus), "updatedStatus");
  EXPECT_EQ(ToString(OperationResult::kUpdatedStatusOnly), "updatedStatusOnly");
}

}  // namespace
}  // namespace kube::internal
