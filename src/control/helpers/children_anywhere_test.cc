// Children outside of their owner's namespace: the finalizer, the proof, pruning everywhere, and tenants that forge marks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "control/helpers/desired_test_util.h"
#include "control/manager/manager_test_util.h"
#include "kube/api/rbac/v1.h"
#include "kube/codec/json.h"
#include "kube/control/child_marks.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/finalizers.h"
#include "kube/control/manager.h"
#include "kube/meta/owner_reference.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using core::v1::Namespace;
using core::v1::Secret;
using rbac::v1::ClusterRole;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kFinalizer = "children.kubexx.dev/set";

// "PATCH /api/v1/namespaces/default/configmaps/owner", without discovery and watches.
class RequestLog : public TransportDecorator {
 public:
  struct Lines {
    Mutex mu;
    std::vector<std::string> lines KUBE_GUARDED_BY(mu);
  };
  RequestLog(std::shared_ptr<Transport> next, std::shared_ptr<Lines> log) : TransportDecorator(std::move(next)), log_(std::move(log)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (path != "/api" && path != "/apis") {
      MutexLock lock(log_->mu);
      log_->lines.push_back(request.method + " " + path);
    }
    return next().RoundTrip(ctx, std::move(request));
  }

 private:
  std::shared_ptr<Lines> log_;
};

class ChildrenAnywhereTest : public HelperTest {
 protected:
  void SetUp() override {
    HelperTest::SetUp();
    client_.emplace(
        server_
            ->NewClient({.wrap_transport =
                             [log = log_](std::shared_ptr<Transport> next) { return std::make_shared<RequestLog>(std::move(next), log); }})
            .value());
    tenant_.emplace(server_->NewClient().value());
    for (const char* name : {"a", "b", "c"}) {
      Namespace ns;
      ns.metadata.name = name;
      ASSERT_TRUE(tenant_->Create(Soon(), ns));
    }
    owner_ = tenant_->Create(Soon(), MakeMap("owner")).value();
  }
  ConfigMap In(const std::string& ns, const std::string& value = "1", const std::string& name = "copy") const {
    ConfigMap map;
    map.metadata.namespace_ = ns;
    map.metadata.name = name;
    map.data["value"] = value;
    return map;
  }
  static ClusterRole Role(const std::string& name = "role") {
    ClusterRole role;
    role.metadata.name = name;
    role.rules.push_back({.verbs = {"get"}, .api_groups = {""}, .resources = {"pods"}});
    return role;
  }
  DesiredState<ConfigMap> State(DesiredStateOptions options = {}) const {
    options.field_manager = "tester";
    options.name = "set";
    DesiredState<ConfigMap> state(*client_, owner_, options);
    state.Anywhere();
    return state;
  }
  // As a reconciler does: with the owner as it is now.
  Changes Run(DesiredState<ConfigMap> state) {
    TakeRequests();
    Result<Changes> changes = state.TryApply(Soon());
    EXPECT_TRUE(changes) << changes.error().ToString();
    Refresh();
    return changes ? *changes : Changes();
  }
  template <typename... Children>
  Changes RunWith(const Children&... children) {
    auto state = State();
    state.template Manage<ConfigMap>();
    (state.Want(children), ...);
    return Run(std::move(state));
  }
  void Refresh() {
    Result<ConfigMap> now = tenant_->Get<ConfigMap>(Soon(), {"default", "owner"});
    if (now) owner_ = *now;
  }
  void DeleteOwner() {
    ASSERT_TRUE(tenant_->Delete<ConfigMap>(Soon(), {"default", "owner"}));
    Refresh();
  }
  bool OwnerExists() const { return tenant_->Get<ConfigMap>(Soon(), {"default", "owner"}).ok(); }
  ConfigMap Get(const std::string& ns, const std::string& name = "copy") const {
    return tenant_->Get<ConfigMap>(Soon(), {String(ns), String(name)}).value();
  }
  bool IsThere(const std::string& ns, const std::string& name = "copy") const {
    return tenant_->Get<ConfigMap>(Soon(), {String(ns), String(name)}).ok();
  }
  std::vector<std::string> TakeRequests() {
    MutexLock lock(log_->mu);
    return std::exchange(log_->lines, {});
  }
  void PatchMap(const std::string& ns, const std::string& merge, const std::string& name = "copy", const std::string& manager = "tenant") {
    const Result<ConfigMap> patched =
        tenant_->Patch<ConfigMap>(Soon(), {String(ns), String(name)}, Patch::Merge(merge), {.field_manager = manager});
    ASSERT_TRUE(patched) << patched.error().ToString();
  }
  // All that a tenant can see of a child in its namespace.
  static void CopyMarks(const meta::v1::ObjectMeta& from, meta::v1::ObjectMeta& to) {
    to.labels = from.labels;
    to.annotations = from.annotations;
  }

  const std::shared_ptr<RequestLog::Lines> log_ = std::make_shared<RequestLog::Lines>();
  std::optional<Client> tenant_;  // anyone else; its requests are not logged
  ConfigMap owner_;
};

// ---- What is made ----

TEST_F(ChildrenAnywhereTest, WithoutAnywhereTheErrorNamesIt) {
  DesiredState<ConfigMap> state(*client_, owner_, "set");
  state.Want(In("a")).Want(Role());
  const Changes changes = state.TryApply(Soon()).value();
  EXPECT_EQ(changes.Summary(), "2 failed");
  for (const ChildChange& child : changes.children) EXPECT_THAT(child.ToString(), HasSubstr("DesiredState::Anywhere()"));
  EXPECT_THAT(TakeRequests(), Not(Contains(HasSubstr("POST"))));
}

TEST_F(ChildrenAnywhereTest, TheFinalizerIsThereBeforeTheFirstChild) {
  const Changes changes = RunWith(In("a"), In("b"));
  EXPECT_EQ(changes.Summary(), "2 created") << changes.ToString();
  EXPECT_EQ(changes.writes, 3);
  EXPECT_TRUE(HasFinalizer(owner_, kFinalizer));
  EXPECT_EQ(owner_.metadata.annotations.Get(kFinalizer), "v1/ConfigMap");
  const ConfigMap child = Get("a");
  EXPECT_TRUE(child.metadata.owner_references.empty()) << "the garbage collector would delete it";
  EXPECT_EQ(child.metadata.labels.Get("kubexx.dev/set"), "set");
  EXPECT_EQ(child.metadata.labels.Get("kubexx.dev/owner-hash"), OwnerHash(owner_.metadata.uid.view()));
  EXPECT_EQ(child.metadata.annotations.Get("kubexx.dev/owner"), "ConfigMap default/owner");
  EXPECT_NE(child.metadata.annotations.Get("kubexx.dev/proof"), Get("b").metadata.annotations.Get("kubexx.dev/proof"));
  const Changes again = RunWith(In("a"), In("b"));
  EXPECT_EQ(again.Summary(), "2 unchanged") << again.ToString();
  EXPECT_EQ(again.writes, 0);
}

TEST_F(ChildrenAnywhereTest, RequestsAreInAnOrderThatACrashCannotHurt) {
  auto state = State();
  state.Want(In("a"));
  ASSERT_TRUE(state.Apply(Soon()));
  std::vector<std::string> requests = TakeRequests();
  std::erase_if(requests, [](const std::string& line) { return line.rfind("GET", 0) == 0; });
  EXPECT_THAT(requests, ElementsAre("PATCH /api/v1/namespaces/default/configmaps/owner", "POST /api/v1/namespaces/a/configmaps"));
  Refresh();
  DeleteOwner();
  ASSERT_TRUE(State().Apply(Soon()));
  requests = TakeRequests();
  std::erase_if(requests, [](const std::string& line) { return line.rfind("GET", 0) == 0; });
  EXPECT_THAT(requests, ElementsAre("DELETE /api/v1/namespaces/a/configmaps/copy", "PATCH /api/v1/namespaces/default/configmaps/owner"));
}

TEST_F(ChildrenAnywhereTest, ChildrenHereAndElsewhereAreOneSet) {
  EXPECT_EQ(RunWith(In("default"), In("a"), Role()).Summary(), "3 created");
  EXPECT_TRUE(IsControlledBy(Get("default"), owner_));
  EXPECT_EQ(owner_.metadata.annotations.Get(kFinalizer), "v1/ConfigMap,rbac.authorization.k8s.io/v1/ClusterRole");
  EXPECT_EQ(RunWith(In("default"), In("a"), Role()).writes, 0);
  // The ClusterRole is pruned although this pass neither wants nor manages its kind.
  const Changes changes = RunWith(In("a"));
  EXPECT_EQ(changes.Summary(), "2 pruned, 1 unchanged") << changes.ToString();
  EXPECT_FALSE(IsThere("default"));
  EXPECT_TRUE(IsNotFound(tenant_->Get<ClusterRole>(Soon(), {"", "role"}).error()));
}

TEST_F(ChildrenAnywhereTest, AClusterScopedOwnerNeedsNoFinalizer) {
  Namespace owner = tenant_->Get<Namespace>(Soon(), {"", "c"}).value();
  DesiredState state(*client_, owner, "set");
  EXPECT_EQ(state.Anywhere().Want(In("a")).Apply(Soon())->Summary(), "1 created");
  EXPECT_TRUE(IsControlledBy(Get("a"), owner));
  EXPECT_THAT(TakeRequests(), Not(Contains(HasSubstr("PATCH"))));
}

TEST_F(ChildrenAnywhereTest, AnOwnerWithoutAStructWorksToo) {
  const DynamicObject owner = client_->Resource(Gvr{"", "v1", "configmaps"}).Get(Soon(), {"default", "owner"}).value();
  DesiredState state(*client_, owner, DesiredStateOptions{.field_manager = "tester", .name = "set"});
  EXPECT_EQ(state.Anywhere().Want(*ToDynamic(In("a"))).Apply(Soon())->Summary(), "1 created");
  Refresh();
  EXPECT_TRUE(HasFinalizer(owner_, kFinalizer));
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 unchanged");
}

TEST_F(ChildrenAnywhereTest, EditsAreRepairedAndForeignFieldsStay) {
  RunWith(In("a"));
  PatchMap("a", R"({"data":{"value":"theirs","more":"x"},"metadata":{"labels":{"kubexx.dev/set":null}}})");
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 updated");
  EXPECT_EQ(Get("a").data.Get("value"), "1");
  EXPECT_EQ(Get("a").data.Get("more"), "x");
  EXPECT_EQ(Get("a").metadata.labels.Get("kubexx.dev/set"), "set");
}

TEST_F(ChildrenAnywhereTest, TheRecordOfTheOwnerIsNotCopiedToChildren) {
  RunWith(In("a"));
  ConfigMap copy = In("a", "2");
  copy.metadata.annotations = owner_.metadata.annotations;
  EXPECT_EQ(RunWith(copy).Summary(), "1 updated");
  EXPECT_FALSE(Get("a").metadata.annotations.contains(kFinalizer));
}

// As a careless program makes a copy: all of the owner but its namespace.
TEST_F(ChildrenAnywhereTest, MetadataThatWasCopiedFromTheOwnerIsNoTrap) {
  PatchMap("default", R"({"metadata":{"labels":{"kubexx.dev/owner-uid":"u","mine":"yes"},"annotations":{"kubexx.dev/proof":"p"}}})",
           "owner");
  RunWith(In("a"));
  ConfigMap here = owner_, there = owner_;
  here.metadata.name = there.metadata.name = "copy";
  there.metadata.namespace_ = "b";
  EXPECT_EQ(RunWith(In("a"), here, there).Summary(), "2 created, 1 unchanged");
  EXPECT_THAT(Get("b").metadata.finalizers, IsEmpty()) << "it could never be deleted";
  EXPECT_THAT(Get("default").metadata.finalizers, IsEmpty());
  EXPECT_FALSE(Get("b").metadata.labels.contains("kubexx.dev/owner-uid"));
  EXPECT_FALSE(Get("default").metadata.annotations.contains("kubexx.dev/proof"));
  EXPECT_EQ(Get("b").metadata.labels.Get("mine"), "yes");
  EXPECT_EQ(RunWith().Summary(), "3 pruned");
}

TEST_F(ChildrenAnywhereTest, ADryRunWritesNothing) {
  auto state = State({.dry_run = true});
  state.Want(In("a"));
  EXPECT_EQ(Run(std::move(state)).Summary(), "1 created (dry run)");
  EXPECT_FALSE(IsThere("a"));
  EXPECT_FALSE(HasFinalizer(owner_, kFinalizer));
  RunWith(In("a"));
  DeleteOwner();
  EXPECT_EQ(Run(State({.dry_run = true})).Summary(), "the owner is being deleted: 1 pruned (dry run)");
  EXPECT_TRUE(IsThere("a"));
  EXPECT_TRUE(OwnerExists());
}

// ---- Pruning and clean-up ----

TEST_F(ChildrenAnywhereTest, ANamespaceThatIsNoLongerSelectedLosesItsChild) {
  RunWith(In("a"), In("b"));
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 pruned, 1 unchanged");
  EXPECT_FALSE(IsThere("b"));
  EXPECT_TRUE(HasFinalizer(owner_, kFinalizer));
}

TEST_F(ChildrenAnywhereTest, WithoutChildrenElsewhereTheFinalizerIsTakenOff) {
  RunWith(In("a"), In("b"));
  EXPECT_EQ(RunWith(In("default")).Summary(), "1 created, 2 pruned");
  EXPECT_FALSE(HasFinalizer(owner_, kFinalizer));
  EXPECT_FALSE(owner_.metadata.annotations.contains(kFinalizer));
  EXPECT_EQ(RunWith(In("default")).writes, 0);
}

TEST_F(ChildrenAnywhereTest, AKindWithoutChildrenLeavesTheRecord) {
  RunWith(In("a"), Role());
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 pruned, 1 unchanged");
  EXPECT_EQ(owner_.metadata.annotations.Get(kFinalizer), "v1/ConfigMap");
  EXPECT_EQ(RunWith(In("a")).writes, 0);
  EXPECT_THAT(TakeRequests(), Not(Contains(HasSubstr("clusterroles")))) << "nor is it looked for in every pass";
}

TEST_F(ChildrenAnywhereTest, AKindStaysInTheRecordWhileItCannotBePruned) {
  RunWith(In("a"), Role());
  server_->AddFault({.verb = "list", .resource = "clusterroles", .status = 403});
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 unchanged, 1 failed");
  EXPECT_THAT(owner_.metadata.annotations.Get(kFinalizer).str(), HasSubstr("ClusterRole"));
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 pruned, 1 unchanged");
}

TEST_F(ChildrenAnywhereTest, TheFinalizerStaysWhileAChildCannotBePruned) {
  RunWith(In("a"), In("b"));
  server_->AddFault({.verb = "delete", .resource = "configmaps", .ns = "b", .status = 403});
  EXPECT_EQ(RunWith().Summary(), "1 pruned, 1 failed");
  EXPECT_TRUE(HasFinalizer(owner_, kFinalizer));
  EXPECT_EQ(RunWith().Summary(), "1 pruned");
  EXPECT_FALSE(HasFinalizer(owner_, kFinalizer));
}

TEST_F(ChildrenAnywhereTest, DeletingTheOwnerCleansUpAllNamespaces) {
  RunWith(In("default"), In("a"), In("b"), Role());
  DeleteOwner();
  ASSERT_TRUE(OwnerExists());
  // The reconciler calls what it always calls; nothing of it is applied.
  const Changes changes = RunWith(In("default"), In("a"), In("c"));
  EXPECT_TRUE(changes.owner_deleted);
  EXPECT_EQ(changes.Summary(), "the owner is being deleted: 3 pruned") << changes.ToString();
  EXPECT_FALSE(IsThere("a") || IsThere("b") || IsThere("c"));
  EXPECT_TRUE(IsNotFound(tenant_->Get<ClusterRole>(Soon(), {"", "role"}).error()));
  EXPECT_FALSE(OwnerExists());
}

TEST_F(ChildrenAnywhereTest, ACleanUpThatFailsIsDoneLater) {
  RunWith(In("a"), In("b"));
  DeleteOwner();
  server_->AddFault({.verb = "delete", .resource = "configmaps", .ns = "b", .status = 403});
  EXPECT_TRUE(IsForbidden(State().Apply(Soon()).error())) << "so that the reconciler is called again";
  EXPECT_FALSE(IsThere("a"));
  EXPECT_TRUE(IsThere("b"));
  EXPECT_TRUE(OwnerExists());
  EXPECT_EQ(State().Apply(Soon())->Summary(), "the owner is being deleted: 1 pruned");
  EXPECT_FALSE(IsThere("b") || OwnerExists());
}

TEST_F(ChildrenAnywhereTest, ACrashBeforeTheFinalizerIsTakenOffIsMadeUpFor) {
  RunWith(In("a"));
  DeleteOwner();
  server_->AddFault({.verb = "patch", .resource = "configmaps", .status = 403});
  EXPECT_THAT(State().Apply(Soon()).error().ToString(), HasSubstr("remove the finalizer"));
  EXPECT_FALSE(IsThere("a"));
  EXPECT_EQ(State().Apply(Soon())->Summary(), "the owner is being deleted");
  EXPECT_FALSE(OwnerExists());
}

TEST_F(ChildrenAnywhereTest, WithoutTheFinalizerNoChildIsCreated) {
  server_->AddFault({.verb = "patch", .resource = "configmaps", .name = "owner", .status = 403});
  const Changes changes = RunWith(In("a"), In("default"), Role());
  EXPECT_EQ(changes.Summary(), "1 created, 2 failed");
  EXPECT_THAT(changes.ToResult().error().ToString(), HasSubstr("add the finalizer children.kubexx.dev/set to ConfigMap default/owner"));
  EXPECT_FALSE(IsThere("a"));
}

TEST_F(ChildrenAnywhereTest, AStaleOwnerGetsItsFinalizer) {
  PatchMap("default", R"({"metadata":{"finalizers":["example.com/other"]},"data":{"x":"y"}})", "owner");
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 created");
  EXPECT_TRUE(HasFinalizer(owner_, kFinalizer) && HasFinalizer(owner_, "example.com/other"));
}

TEST_F(ChildrenAnywhereTest, AnOwnerThatWasDeletedMeanwhileGetsNoChildren) {
  ASSERT_TRUE(tenant_->Delete<ConfigMap>(Soon(), {"default", "owner"}));
  EXPECT_EQ(RunWith(In("a")).Summary(), "the owner is being deleted");
  EXPECT_FALSE(IsThere("a"));
  // Nor does one that another finalizer holds, or an object that took its name.
  owner_ = tenant_->Create(Soon(), MakeMap("owner")).value();
  PatchMap("default", R"({"metadata":{"finalizers":["example.com/other"]}})", "owner");
  ASSERT_TRUE(tenant_->Delete<ConfigMap>(Soon(), {"default", "owner"}));
  EXPECT_EQ(RunWith(In("a")).Summary(), "the owner is being deleted");
  EXPECT_FALSE(IsThere("a"));
}

// A cache is behind, as after a change of the leader: its owner still has the finalizer, and the server has no such owner any more.
TEST_F(ChildrenAnywhereTest, AStaleOwnerThatIsGoneGetsNoFurtherChildren) {
  RunWith(In("a"));
  const ConfigMap stale = owner_;
  PatchMap("default", R"({"metadata":{"finalizers":null}})", "owner");
  ASSERT_TRUE(tenant_->Delete<ConfigMap>(Soon(), {"default", "owner"}));
  owner_ = stale;
  EXPECT_TRUE(RunWith(In("b")).owner_deleted);
  EXPECT_FALSE(IsThere("b")) << "nobody would delete it";
  ASSERT_TRUE(tenant_->Create(Soon(), MakeMap("owner")));
  owner_ = stale;
  EXPECT_TRUE(RunWith(In("b")).owner_deleted) << "another object has its name";
  EXPECT_FALSE(IsThere("b"));
}

TEST_F(ChildrenAnywhereTest, AStaleOwnerThatLostItsFinalizerGetsItBeforeTheNextChild) {
  RunWith(In("a"));
  const ConfigMap stale = owner_;
  PatchMap("default", R"({"metadata":{"finalizers":null,"annotations":null}})", "owner");
  owner_ = stale;
  EXPECT_EQ(RunWith(In("a"), In("b")).Summary(), "1 created, 1 unchanged");
  EXPECT_TRUE(HasFinalizer(owner_, kFinalizer));
  owner_ = stale;
  server_->AddFault({.verb = "get", .resource = "configmaps", .name = "owner", .status = 403});
  EXPECT_EQ(RunWith(In("a"), In("b"), In("c")).Summary(), "2 unchanged, 1 failed");
  EXPECT_FALSE(IsThere("c"));
}

TEST_F(ChildrenAnywhereTest, AStaleOwnerThatIsBeingDeletedIsCleanedUpAtOnce) {
  RunWith(In("a"));
  ASSERT_TRUE(tenant_->Delete<ConfigMap>(Soon(), {"default", "owner"}));
  EXPECT_EQ(RunWith(In("b")).Summary(), "the owner is being deleted: 1 pruned");
  EXPECT_FALSE(IsThere("a") || IsThere("b") || OwnerExists());
}

TEST_F(ChildrenAnywhereTest, ARecordThatWasDroppedIsWrittenAgain) {
  RunWith(In("a"), In("b"));
  PatchMap("default", R"({"metadata":{"finalizers":null,"annotations":null}})", "owner");  // as kubectl replace does
  Refresh();
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 pruned, 1 unchanged");
  EXPECT_TRUE(HasFinalizer(owner_, kFinalizer));
  PatchMap("default", R"({"metadata":{"finalizers":null,"annotations":null}})", "owner");
  Refresh();
  EXPECT_EQ(RunWith().Summary(), "1 pruned") << "also if nothing is wanted any more";
  EXPECT_FALSE(IsThere("a"));
}

TEST_F(ChildrenAnywhereTest, AProgramThatForgetsAnywhereIsTold) {
  RunWith(In("a"));
  DesiredState<ConfigMap> state(*client_, owner_, "set");
  EXPECT_THAT(state.Apply(Soon()).error().ToString(), HasSubstr("call DesiredState::Anywhere()"));
  DeleteOwner();
  EXPECT_THAT((DesiredState<ConfigMap>(*client_, owner_, "set").Apply(Soon()).error().ToString()), HasSubstr("DesiredState::Anywhere()"));
  EXPECT_TRUE(OwnerExists());
}

TEST_F(ChildrenAnywhereTest, AnotherSetOfTheOwnerIsLeftAlone) {
  RunWith(In("a"));
  DesiredState<ConfigMap> other(*client_, owner_, "other");
  const Changes clash = other.Anywhere().Want(In("a")).Want(In("b")).TryApply(Soon()).value();
  EXPECT_EQ(clash.Summary(), "1 created, 1 conflict") << clash.ToString();
  EXPECT_THAT(clash.ToString(), HasSubstr("set \"set\""));
  Refresh();
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 unchanged");
  EXPECT_TRUE(IsThere("b"));
}

// ---- Namespaces that are deleted, or about to be ----

TEST_F(ChildrenAnywhereTest, AMissingNamespaceFailsAlone) {
  const Changes changes = RunWith(In("missing"), In("a"));
  EXPECT_EQ(changes.Summary(), "1 created, 1 failed");
  EXPECT_THAT(changes.ToResult().error().ToString(), HasSubstr("namespaces \"missing\" not found"));
}

TEST_F(ChildrenAnywhereTest, ATerminatingNamespaceIsNoError) {
  ConfigMap held = In("b", "1", "held");
  held.metadata.finalizers = {"example.com/wait"};
  ASSERT_TRUE(tenant_->Create(Soon(), held));
  ASSERT_TRUE(tenant_->Delete<Namespace>(Soon(), {"", "b"}));
  const Changes changes = RunWith(In("b"), In("a"));
  EXPECT_EQ(changes.Summary(), "1 created, 1 deleting") << changes.ToString();
  EXPECT_THAT(changes.ToString(), HasSubstr("its namespace is being deleted"));
}

// ---- Tenants ----

TEST_F(ChildrenAnywhereTest, ANameThatIsTakenIsAConflict) {
  ASSERT_TRUE(tenant_->Create(Soon(), In("a", "theirs")));
  const Changes changes = RunWith(In("a"), In("b"));
  EXPECT_EQ(changes.Summary(), "1 created, 1 conflict");
  EXPECT_EQ(Get("a").data.Get("value"), "theirs");
  RunWith();
  EXPECT_TRUE(IsThere("a"));
  auto adopting = State({.adopt = true});
  adopting.Want(In("a"));
  EXPECT_EQ(Run(std::move(adopting)).Summary(), "1 updated");
  EXPECT_EQ(Get("a").data.Get("value"), "1");
  EXPECT_EQ(RunWith().Summary(), "1 pruned");
}

// Case c: an object of the desired name exists before the child, with the marks of another child of this owner.
TEST_F(ChildrenAnywhereTest, MarksThatWereCopiedToAWantedNameAreAConflict) {
  RunWith(In("a"));
  ConfigMap forged = In("b", "theirs");
  CopyMarks(Get("a").metadata, forged.metadata);
  forged.metadata.finalizers = {"example.com/hold"};
  ASSERT_TRUE(tenant_->Create(Soon(), forged, {.field_manager = "tester"}));  // any client may claim any field manager
  const Changes changes = RunWith(In("a"), In("b"));
  EXPECT_EQ(changes.Summary(), "1 unchanged, 1 conflict") << changes.ToString();
  EXPECT_THAT(changes.ToString(), HasSubstr("not their proof"));
  EXPECT_EQ(Get("b").data.Get("value"), "theirs");
  EXPECT_TRUE(Get("b").metadata.managed_fields.size() == 1U);
}

// Cases a, b, g: marks on an object of any other name, in any namespace.
TEST_F(ChildrenAnywhereTest, MarksThatWereCopiedAreNotPruned) {
  RunWith(In("a"), In("b"));
  for (const char* ns : {"a", "b", "c", "default"}) {
    ConfigMap forged = In(ns, "theirs", "forged");
    CopyMarks(Get("a").metadata, forged.metadata);
    ASSERT_TRUE(tenant_->Create(Soon(), forged, {.field_manager = "tester"}));
  }
  ConfigMap renamed = In("c", "theirs");  // the child's name, in another namespace
  CopyMarks(Get("a").metadata, renamed.metadata);
  ASSERT_TRUE(tenant_->Create(Soon(), renamed));
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 pruned, 1 unchanged");
  DeleteOwner();
  EXPECT_EQ(RunWith().Summary(), "the owner is being deleted: 1 pruned");
  EXPECT_FALSE(OwnerExists()) << "and they do not hold up its deletion";
  for (const char* ns : {"a", "b", "c", "default"}) EXPECT_TRUE(IsThere(ns, "forged")) << ns;
  EXPECT_TRUE(IsThere("c"));
}

// Case e: a user that may label a ClusterRole, but not delete it.
TEST_F(ChildrenAnywhereTest, LabelsOnAClusterRoleDoNotMakeItAChild) {
  RunWith(In("a"), Role());
  ClusterRole theirs = Role("theirs");
  CopyMarks(tenant_->Get<ClusterRole>(Soon(), {"", "role"})->metadata, theirs.metadata);
  ASSERT_TRUE(tenant_->Create(Soon(), theirs));
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 pruned, 1 unchanged");
  DeleteOwner();
  RunWith();
  EXPECT_TRUE(tenant_->Get<ClusterRole>(Soon(), {"", "theirs"}));
}

// Case f: another owner of the same kind. Its own proof is not the first one's.
TEST_F(ChildrenAnywhereTest, MarksOfOneOwnerMeanNothingToAnother) {
  RunWith(In("a"));
  const ConfigMap rival = tenant_->Create(Soon(), MakeMap("rival")).value();
  DesiredState<ConfigMap> state(*client_, rival, "set");
  const Changes changes = state.Anywhere().Want(In("a")).TryApply(Soon()).value();
  EXPECT_EQ(changes.Summary(), "1 conflict");
  EXPECT_THAT(changes.ToString(), HasSubstr("a child of ConfigMap default/owner"));
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 unchanged");
}

TEST_F(ChildrenAnywhereTest, ChildrenOfAnEarlierOwnerOfTheNameAreNotTakenOver) {
  RunWith(In("a"));
  PatchMap("default", R"({"metadata":{"finalizers":null}})", "owner");
  ASSERT_TRUE(tenant_->Delete<ConfigMap>(Soon(), {"default", "owner"}));
  owner_ = tenant_->Create(Soon(), MakeMap("owner")).value();
  const Changes changes = RunWith(In("a", "2"));
  EXPECT_EQ(changes.Summary(), "1 conflict");
  EXPECT_THAT(changes.ToString(), HasSubstr("earlier owner"));
  EXPECT_EQ(Get("a").data.Get("value"), "1");
}

// The UID is what the proof is made with, so no child may show it to its namespace.
TEST_F(ChildrenAnywhereTest, ChildrenElsewhereDoNotShowTheOwnersUid) {
  RunWith(In("a"), In("default"));
  EXPECT_THAT(ToJson(ToDynamic(Get("a"))->value()), Not(HasSubstr(owner_.metadata.uid.str())));
}

TEST_F(ChildrenAnywhereTest, WithAProofKeyTheUidIsNotEnough) {
  const auto with_key = [&](std::string key) { return State({.proof_key = std::move(key)}); };
  EXPECT_EQ(Run(with_key("secret").Want(In("a"))).Summary(), "1 created");
  ConfigMap forged = In("b", "theirs");
  CopyMarks(Get("a").metadata, forged.metadata);
  forged.metadata.annotations["kubexx.dev/proof"] =
      ChildProof(owner_.metadata.uid.view(), "", "set", GvkOf<ConfigMap>().group_kind(), {"b", "copy"});
  ASSERT_TRUE(tenant_->Create(Soon(), forged));
  EXPECT_EQ(Run(with_key("secret").Want(In("a")).Want(In("b"))).Summary(), "1 unchanged, 1 conflict");
  EXPECT_EQ(Run(with_key("secret").Manage<ConfigMap>()).Summary(), "1 pruned");
  EXPECT_TRUE(IsThere("b"));
}

// A tenant may hold up the deletion of its own copy, not that of the owner.
TEST_F(ChildrenAnywhereTest, AFinalizerOnAChildDoesNotHoldTheOwner) {
  RunWith(In("a"));
  PatchMap("a", R"({"metadata":{"finalizers":["example.com/hold"]}})");
  DeleteOwner();
  EXPECT_EQ(RunWith().Summary(), "the owner is being deleted: 1 pruned");
  EXPECT_FALSE(OwnerExists());
  EXPECT_FALSE(Get("a").metadata.deletion_timestamp.IsZero());
}

TEST_F(ChildrenAnywhereTest, AForgedRecordIsBoundedAndHarmsOnlyItsOwner) {
  std::string kinds = "nonsense,/,v1/,a/b/c/d";
  for (int i = 0; i < 1000; ++i) kinds += ",example.com/v1/Kind" + std::to_string(i);
  PatchMap("default",
           R"({"metadata":{"finalizers":["children.kubexx.dev/set"],"annotations":{"children.kubexx.dev/set":")" + kinds + R"("}}})",
           "owner");
  Refresh();
  EXPECT_EQ(RunWith().Summary(), "nothing to do");
  EXPECT_LE(TakeRequests().size(), 40U);
  EXPECT_FALSE(HasFinalizer(owner_, kFinalizer));
}

// A tenant that may write the owner can name any kind there. That costs one list; its objects still need a proof.
TEST_F(ChildrenAnywhereTest, AForgedKindInTheRecordIsLookedForOnceAndDeletesNothing) {
  RunWith(In("a"));
  Secret theirs;
  theirs.metadata.name = "copy";
  theirs.metadata.namespace_ = "a";
  CopyMarks(Get("a").metadata, theirs.metadata);
  ASSERT_TRUE(tenant_->Create(Soon(), theirs));
  PatchMap("default", R"({"metadata":{"annotations":{"children.kubexx.dev/set":"v1/ConfigMap,v1/Secret"}}})", "owner");
  Refresh();
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 unchanged");
  EXPECT_THAT(TakeRequests(), Contains("GET /api/v1/secrets"));
  EXPECT_EQ(RunWith(In("a")).Summary(), "1 unchanged");
  EXPECT_THAT(TakeRequests(), Not(Contains(HasSubstr("secrets"))));
  EXPECT_TRUE(tenant_->Get<Secret>(Soon(), {"a", "copy"}));
}

TEST_F(ChildrenAnywhereTest, AForgedKindThatMayNotBeListedHoldsUpItsOwnerOnly) {
  RunWith(In("a"));
  PatchMap("default", R"({"metadata":{"annotations":{"children.kubexx.dev/set":"v1/Secret,v1/ConfigMap"}}})", "owner");
  DeleteOwner();
  server_->AddFault({.verb = "list", .resource = "secrets", .status = 403});
  EXPECT_EQ(RunWith().Summary(), "the owner is being deleted: 1 pruned, 1 failed");
  EXPECT_FALSE(IsThere("a"));
  EXPECT_TRUE(OwnerExists());
}

// As with a removed proof: the object is its tenant's from then on.
TEST_F(ChildrenAnywhereTest, AChildThatGetsAControllerIsLeftToIt) {
  RunWith(In("a"));
  const ConfigMap theirs = tenant_->Create(Soon(), In("a", "x", "theirs")).value();
  PatchMap("a", R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"theirs","controller":true,"uid":")" +
                    theirs.metadata.uid.str() + R"("}]}})");
  EXPECT_EQ(RunWith(In("a", "2")).Summary(), "1 conflict");
  DeleteOwner();
  EXPECT_EQ(RunWith().Summary(), "the owner is being deleted");
  EXPECT_FALSE(OwnerExists());
  EXPECT_EQ(Get("a").data.Get("value"), "1");
}

TEST(ChildMarksTest, MarksOfOtherKindsAndBrokenOnesNameNoOwner) {
  const auto owner = [](const char* mark, const char* hash = "h") {
    const std::optional<MarkedOwner> found =
        MarkedOwnerIn({{"kubexx.dev/owner-hash", hash}}, {{"kubexx.dev/owner", mark}}, {"apps", "Deployment"}, kMarkPrefix);
    return found ? found->key.ToString() : "none";
  };
  EXPECT_EQ(owner("Deployment.apps shop/web"), "shop/web");
  EXPECT_EQ(owner("Deployment.apps web"), "web");
  for (const char* mark :
       {"", " ", "Deployment.apps", "Deployment.apps ", "Deployment shop/web", "ConfigMap shop/web", "Deployment.apps a/b/c"}) {
    EXPECT_EQ(owner(mark), "none") << mark;
  }
  EXPECT_EQ(owner("Deployment.apps shop/web", ""), "none");
}

// ---- In a controller ----

class AnywhereControllerTest : public ChildrenAnywhereTest {
 protected:
  // Copies `owner` into the namespaces that its data names.
  void Start() {
    manager_ = std::make_unique<Manager>(*client_, ManagerOptions{.preflight = Preflight::kSkip});
    const auto copy = [this, cached = manager_->cached()](const Context& ctx, const ConfigMap& owner) -> Result<Action> {
      if (owner.metadata.namespace_ != "default") return Action::Done();
      DesiredState desired(cached, owner, "set");
      desired.Anywhere().Manage<ConfigMap>();
      for (const auto& target : owner.data) {
        if (target.value == "yes") desired.Want(In(target.key.str()));
      }
      if (Result<Changes> changes = desired.Apply(ctx); !changes) return changes.error();
      ++passes_;
      return Action::Done();
    };
    ASSERT_TRUE(manager_->Add(ControllerFor<ConfigMap>("copier").OwnsAnywhere<ConfigMap>().Reconcile(copy)));
    running_ = std::make_unique<RunningManager>(*manager_);
  }
  bool Idle() {
    return manager_->controller("copier")->status().queue.entries.empty() && manager_->controller("copier")->status().active == 0;
  }
  void TearDown() override { running_.reset(); }

  std::atomic<int> passes_{0};
  std::unique_ptr<Manager> manager_;
  std::unique_ptr<RunningManager> running_;
};

TEST_F(AnywhereControllerTest, EditsAndDeletionsOfChildrenAreRepairedAndTheOwnersEndIsTheirs) {
  PatchMap("default", R"({"data":{"a":"yes","b":"yes"}})", "owner");
  Start();
  ASSERT_TRUE(Eventually([&] { return IsThere("a") && IsThere("b"); })) << manager_->DebugJson();
  PatchMap("a", R"({"data":{"value":"theirs"}})");
  EXPECT_TRUE(Eventually([&] { return Get("a").data.Get("value") == "1"; })) << manager_->DebugJson();
  ASSERT_TRUE(tenant_->Delete<ConfigMap>(Soon(), {"b", "copy"}));
  EXPECT_TRUE(Eventually([&] { return IsThere("b"); })) << manager_->DebugJson();
  PatchMap("default", R"({"data":{"a":"no"}})", "owner");
  EXPECT_TRUE(Eventually([&] { return !IsThere("a"); })) << manager_->DebugJson();
  ASSERT_TRUE(tenant_->Delete<ConfigMap>(Soon(), {"default", "owner"}));
  EXPECT_TRUE(Eventually([&] { return !OwnerExists(); })) << manager_->DebugJson();
  EXPECT_FALSE(IsThere("b"));
  EXPECT_TRUE(running_->Stop());
}

TEST_F(AnywhereControllerTest, AnOwnerThatWasDeletedWhileNobodyRanIsCleanedUp) {
  RunWith(In("a"), In("b"));
  DeleteOwner();
  Start();
  EXPECT_TRUE(Eventually([&] { return !OwnerExists(); })) << manager_->DebugJson();
  EXPECT_FALSE(IsThere("a") || IsThere("b"));
}

TEST_F(AnywhereControllerTest, ASettledPassSendsNoRequest) {
  PatchMap("default", R"({"data":{"a":"yes","b":"yes"}})", "owner");
  Start();
  ASSERT_TRUE(Eventually([&] { return IsThere("a") && IsThere("b") && Idle(); })) << manager_->DebugJson();
  const int before = passes_;
  TakeRequests();
  manager_->controller("copier")->Enqueue({"default", "owner"});
  ASSERT_TRUE(Eventually([&] { return passes_ > before && Idle(); })) << manager_->DebugJson();
  EXPECT_THAT(TakeRequests(), IsEmpty());
}

// Case d: marks that name an owner enqueue it only with its hash, which only its own children show.
TEST_F(AnywhereControllerTest, ForgedMarksDoNotEnqueueOwners) {
  PatchMap("default", R"({"data":{"a":"yes"}})", "owner");
  Start();
  ASSERT_TRUE(Eventually([&] { return IsThere("a") && Idle(); })) << manager_->DebugJson();
  for (int i = 0; i < 10; ++i) {
    ConfigMap forged = In("c", "x", "forged-" + std::to_string(i));
    forged.metadata.labels["kubexx.dev/owner-hash"] = i % 2 == 0 ? "guess" : OwnerHash("guess");
    forged.metadata.annotations["kubexx.dev/owner"] = i < 5 ? "ConfigMap default/owner" : "ConfigMap default/nobody-" + std::to_string(i);
    ASSERT_TRUE(tenant_->Create(Soon(), forged));
  }
  // Events are delivered in order: when this edit is undone, all forged objects were seen.
  PatchMap("a", R"({"data":{"value":"theirs"}})");
  ASSERT_TRUE(Eventually([&] { return Get("a").data.Get("value") == "1" && Idle(); })) << manager_->DebugJson();
  int undone = 0;
  for (const KeyReport& run : manager_->controller("copier")->status().recent) {
    EXPECT_THAT(run.key.name.str(), Not(HasSubstr("nobody"))) << manager_->DebugJson();
    if (run.key.ns != "default") continue;  // to this controller every ConfigMap is an owner, too
    for (const Cause& cause : run.last_causes) {
      EXPECT_NE(cause.object.ns, "c") << cause.ToString();
      if (cause.object.ns == "a") ++undone;
    }
  }
  EXPECT_GT(undone, 0) << manager_->DebugJson();
}

TEST(AnywhereSpecTest, PermissionsAndWatchesCoverAllNamespaces) {
  const ControllerSpec spec = ControllerFor<ConfigMap>("copier").OwnsAnywhere<Secret>().OwnsAnywhere<ClusterRole>().Reconcile(
      [](const Context&, const ConfigMap&) -> Result<Action> { return Action::Done(); });
  const std::string rbac = RbacYaml(spec.needs);
  ASSERT_EQ(spec.watches.size(), 3U);
  EXPECT_EQ(spec.watches[0].gvr.resource, "configmaps");
  EXPECT_EQ(spec.watches[1].ns, "");
  for (const AccessNeed& need : spec.needs) {
    if (need.resource == "secrets" || need.resource == "clusterroles") {
      EXPECT_EQ(need.ns, "");
    }
  }
  EXPECT_THAT(rbac, HasSubstr("configmaps"));
  EXPECT_THAT(rbac, HasSubstr("configmaps/finalizers"));
  EXPECT_THAT(rbac, HasSubstr("clusterroles"));
}

}  // namespace
}  // namespace kube::internal
