#include "apiserver/lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apiserver/crd.h"
#include "apiserver/object_meta.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"

namespace kube::apiserver {
namespace {

constexpr std::chrono::seconds kPatience{60};

class LifecycleTest : public ::testing::Test {
 protected:
  LifecycleTest() : core_(Clock::Real(), false), crds_(core_), lifecycle_(core_) {
    Create("{apiVersion: v1, kind: Namespace, metadata: {name: x}}");
    Create("{apiVersion: v1, kind: Namespace, metadata: {name: z}}");
    lifecycle_.Start();
  }
  ~LifecycleTest() override { lifecycle_.Stop(); }

  Call CallFor(const Value& object) {
    std::shared_ptr<const Resources> resources = core_.registry().current();
    Gvk gvk = *Gvk::Parse(object["apiVersion"].string_value(), object["kind"].string_value());
    ResourcePtr resource = resources->FindKind(gvk.group, gvk.version, gvk.kind);
    EXPECT_NE(resource, nullptr) << ToJson(object);
    Call call{.resources = resources, .resource = resource, .query = {}, .user = {.name = "t", .uid = "", .groups = {}}};
    if (resource->namespaced) call.ns = NamespaceOf(object).empty() ? "x" : std::string(NamespaceOf(object));
    return call;
  }

  // Returns the UID of the new object.
  std::string Create(const std::string& yaml) {
    Value object = ParseYaml(yaml)->at(0);
    std::string body = ToJson(object);
    Call call = CallFor(object);
    call.body = body;
    Result<Answer> answer = core_.Create(call);
    EXPECT_TRUE(answer.ok()) << answer.error().ToString();
    return answer && answer->stored ? answer->stored->uid : "";
  }
  // A ConfigMap with owners, each "name:uid".
  std::string Map(const std::string& name, const std::vector<std::pair<std::string, std::string>>& owners = {}, bool block = false,
                  const std::string& ns = "x") {
    std::string references;
    for (const auto& [owner, uid] : owners) {
      references += (references.empty() ? "" : ", ") + ("{apiVersion: v1, kind: ConfigMap, name: " + owner) + ", uid: " + uid +
                    (block ? ", blockOwnerDeletion: true}" : "}");
    }
    return Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: " + ns + ", ownerReferences: [" +
                  references + "]}}");
  }

  void DefineCarts() {
    Create(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: carts, singular: cart, kind: Cart, listKind: CartList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)");
  }
  void DeleteCarts() {
    ResourcePtr definitions = core_.registry().current()->Find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    EXPECT_TRUE(core_.DeleteObject(*definitions, "", "carts.example.com", {}).ok());
  }
  static Value JsonOf(const std::string& text) { return ParseJson(text).value(); }

  const ServedResource& Maps() { return *maps_; }
  void Delete(const std::string& name, const std::string& propagation) {
    Result<Answer> answer = core_.DeleteObject(Maps(), "x", name, {.propagation = propagation});
    EXPECT_TRUE(answer.ok()) << answer.error().ToString();
  }
  bool Has(const std::string& name, const std::string& ns = "x") { return core_.store().Get("/configmaps", ns, name) != nullptr; }
  Value Get(const std::string& name) { return core_.store().Get("/configmaps", "x", name)->Parse(); }
  std::size_t Owners(const std::string& name) {
    const Value object = Get(name);
    return object["metadata"]["ownerReferences"].list().size();
  }
  bool Settle() { return lifecycle_.WaitIdle(kPatience); }
  void Finalize(const ServedResource& resource, const std::string& ns, const std::string& name) {
    Result<ObjectPtr> done = core_.Rewrite(resource, ns, name, [](const Value& live) -> Result<Value> {
      Value next = live;
      RemoveFinalizer(next, "example.com/hold");
      return next;
    });
    EXPECT_TRUE(done.ok());
  }

  ApiCore core_;
  CrdController crds_;
  Lifecycle lifecycle_;

 private:
  ResourcePtr maps_ = core_.registry().current()->Find("", "v1", "configmaps");
};

TEST_F(LifecycleTest, DependentsFollowTheirOwner) {
  std::string a = Map("a");
  std::string b = Map("b", {{"a", a}});
  Map("c", {{"b", b}});
  Map("other");
  ASSERT_TRUE(Settle());
  EXPECT_TRUE(Has("b") && Has("c"));
  Delete("a", "Background");
  EXPECT_FALSE(Has("a"));
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("b"));
  EXPECT_FALSE(Has("c"));
  EXPECT_TRUE(Has("other"));
}

TEST_F(LifecycleTest, ForegroundDeletionWaitsForThoseThatBlock) {
  std::string a = Map("a");
  Create(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, finalizers: [example.com/hold], ownerReferences: [{apiVersion: v1, kind: "
      "ConfigMap, name: a, uid: " +
      a + ", blockOwnerDeletion: true}]}}");
  Delete("a", "Foreground");
  ASSERT_TRUE(Settle());
  ASSERT_TRUE(Has("a")) << "b is still there";
  EXPECT_TRUE(HasFinalizer(Get("a"), "foregroundDeletion"));
  ASSERT_TRUE(Has("b"));
  EXPECT_TRUE(IsDeleting(Get("b")));
  Finalize(Maps(), "x", "b");
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("b"));
  EXPECT_FALSE(Has("a"));
}

TEST_F(LifecycleTest, ForegroundDeletionDoesNotWaitForOthers) {
  std::string a = Map("a");
  Create(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, finalizers: [example.com/hold], ownerReferences: [{apiVersion: v1, kind: "
      "ConfigMap, name: a, uid: " +
      a + "}]}}");
  Delete("a", "Foreground");
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("a"));
  ASSERT_TRUE(Has("b"));
  EXPECT_TRUE(IsDeleting(Get("b")));
  Finalize(Maps(), "x", "b");
  EXPECT_FALSE(Has("b"));
}

TEST_F(LifecycleTest, ForegroundDeletionGoesDownTheWholeTree) {
  std::string a = Map("a");
  std::string b = Map("b", {{"a", a}}, true);
  Map("c", {{"b", b}}, true);
  Delete("a", "Foreground");
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("a") || Has("b") || Has("c"));
}

TEST_F(LifecycleTest, OwnerGoesOnWhenADependentLetsGo) {
  std::string a = Map("a");
  Create(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, finalizers: [example.com/hold], ownerReferences: [{apiVersion: v1, kind: "
      "ConfigMap, name: a, uid: " +
      a + ", blockOwnerDeletion: true}]}}");
  Delete("a", "Foreground");
  ASSERT_TRUE(Settle());
  ASSERT_TRUE(Has("a"));
  ASSERT_TRUE(core_
                  .Rewrite(Maps(), "x", "b",
                           [](const Value& live) -> Result<Value> {
                             Value next = live;
                             next["metadata"].MutableObject().Erase("ownerReferences");
                             return next;
                           })
                  .ok());
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("a"));
}

TEST_F(LifecycleTest, OrphansStay) {
  std::string a = Map("a");
  Map("b", {{"a", a}});
  Delete("a", "Orphan");
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("a"));
  ASSERT_TRUE(Has("b"));
  EXPECT_EQ(Owners("b"), 0U);
}

TEST_F(LifecycleTest, OneOfSeveralOwnersIsEnough) {
  std::string a = Map("a"), b = Map("b");
  Map("c", {{"a", a}, {"b", b}});
  Delete("a", "Background");
  ASSERT_TRUE(Settle());
  ASSERT_TRUE(Has("c"));
  EXPECT_EQ(Owners("c"), 1U) << "the one that is gone is taken out";
  Delete("b", "Foreground");
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("c"));
}

TEST_F(LifecycleTest, ForegroundDeletionSparesWhatHasAnotherOwner) {
  std::string a = Map("a"), b = Map("b");
  Map("c", {{"a", a}, {"b", b}}, true);
  Delete("a", "Foreground");
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("a"));
  ASSERT_TRUE(Has("c"));
  EXPECT_EQ(Owners("c"), 1U);
}

TEST_F(LifecycleTest, ChildOfAnOwnerThatIsGoneGoes) {
  std::string a = Map("a");
  Delete("a", "Background");
  Map("late", {{"a", a}});
  Map("never", {{"a", "no-such-uid"}});
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("late"));
  EXPECT_FALSE(Has("never"));
}

TEST_F(LifecycleTest, OwnersOfOtherNamespacesAndNamesDoNotCount) {
  std::string a = Map("a");
  Map("there", {{"a", a}}, false, "z");
  Map("wrong-name", {{"b", a}});
  Map("right", {{"a", a}});
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("there", "z"));
  EXPECT_FALSE(Has("wrong-name"));
  EXPECT_TRUE(Has("right"));
}

TEST_F(LifecycleTest, NamespaceWaitsForTheFinalizersOfItsContent) {
  Map("a");
  Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}");
  Create("{apiVersion: v1, kind: Secret, metadata: {name: s}}");
  Map("elsewhere", {}, false, "z");
  ResourcePtr namespaces = core_.registry().current()->Find("", "v1", "namespaces");
  ASSERT_TRUE(core_.DeleteObject(*namespaces, "", "x", {}).ok());
  ASSERT_TRUE(Settle());
  ObjectPtr ns = core_.store().Get("/namespaces", "", "x");
  ASSERT_NE(ns, nullptr);
  const Value terminating = ns->Parse();
  EXPECT_EQ(terminating["status"]["phase"].string_value(), "Terminating");
  EXPECT_FALSE(Has("a"));
  EXPECT_EQ(core_.store().Get("/secrets", "x", "s"), nullptr);
  ASSERT_TRUE(Has("held"));
  std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}})";
  Call call = CallFor(*ParseJson(body));
  call.body = body;
  EXPECT_EQ(core_.Create(call).error().http_code(), 403) << "nothing new comes in";
  Finalize(Maps(), "x", "held");
  ASSERT_TRUE(Settle());
  EXPECT_EQ(core_.store().Get("/namespaces", "", "x"), nullptr);
  EXPECT_TRUE(Has("elsewhere", "z"));
}

TEST_F(LifecycleTest, CustomResourceDefinitionWaitsForItsObjects) {
  DefineCarts();
  Create("{apiVersion: example.com/v1, kind: Cart, metadata: {name: a}}");
  Create("{apiVersion: example.com/v1, kind: Cart, metadata: {name: held, namespace: z, finalizers: [example.com/hold]}}");
  ResourcePtr carts = core_.registry().current()->Find("example.com", "v1", "carts");
  DeleteCarts();
  ASSERT_TRUE(Settle());
  EXPECT_EQ(core_.store().Get("example.com/carts", "x", "a"), nullptr);
  ASSERT_NE(core_.store().Get(std::string(kCrdStorage), "", "carts.example.com"), nullptr);
  ASSERT_NE(core_.store().Get("example.com/carts", "z", "held"), nullptr);
  Finalize(*carts, "z", "held");
  ASSERT_TRUE(Settle());
  EXPECT_EQ(core_.store().Get(std::string(kCrdStorage), "", "carts.example.com"), nullptr);
  EXPECT_EQ(core_.registry().current()->Find("example.com", "v1", "carts"), nullptr) << "and is served no longer";
}

// A create that is under way when the deletion of its definition is decided: refused, or deleted with the definition.
TEST_F(LifecycleTest, ACreateThatStartedBeforeItsDefinitionWasDeletedLeavesNoOrphan) {
  DefineCarts();
  const std::string body = R"({"apiVersion":"example.com/v1","kind":"Cart","metadata":{"name":"late"}})";
  Call call = CallFor(JsonOf(body));
  call.body = body;
  DeleteCarts();
  ASSERT_TRUE(Settle());
  ASSERT_EQ(core_.store().Get(std::string(kCrdStorage), "", "carts.example.com"), nullptr);
  Result<Answer> late = core_.Create(call);
  ASSERT_FALSE(late.ok());
  EXPECT_TRUE(IsNotFound(late.error())) << late.error().ToString();
  EXPECT_EQ(core_.store().Get("example.com/carts", "x", "late"), nullptr);

  DefineCarts();
  late = core_.Create(call);
  ASSERT_FALSE(late.ok()) << "another definition of the same name";
  EXPECT_TRUE(IsNotFound(late.error())) << late.error().ToString();
  Create(body);
  EXPECT_NE(core_.store().Get("example.com/carts", "x", "late"), nullptr);
}

TEST_F(LifecycleTest, ACreateIsRefusedIfItsDefinitionIsDeletedBetweenCheckAndWrite) {
  bool wait = false;
  bool armed = false;
  core_.AddCheck("example.com/carts", [&](const Value&, const Value*) -> std::vector<FieldError> {
    if (!std::exchange(armed, false)) return {};
    DeleteCarts();
    if (wait) {
      EXPECT_TRUE(Settle());
    }
    return {};
  });
  const std::string body = R"({"apiVersion":"example.com/v1","kind":"Cart","metadata":{"name":"late"}})";
  for (const bool until_it_is_gone : {false, true}) {
    for (const bool apply : {false, true}) {
      SCOPED_TRACE(apply);
      DefineCarts();
      wait = until_it_is_gone;
      armed = true;
      Call call = CallFor(JsonOf(body));
      call.body = body;
      if (apply) {
        call.name = "late";
        call.content_type = "application/apply-patch+yaml";
        call.query = Query::Parse("fieldManager=test");
      }
      if (!until_it_is_gone) lifecycle_.Stop();
      const Result<Answer> late = apply ? core_.Patch(call) : core_.Create(call);
      if (!until_it_is_gone) lifecycle_.Start();
      ASSERT_FALSE(late.ok());
      EXPECT_EQ(late.error().http_code(), until_it_is_gone ? 404 : 403) << late.error().ToString();
      ASSERT_TRUE(Settle());
      EXPECT_EQ(core_.store().Get("example.com/carts", "x", "late"), nullptr);
      EXPECT_EQ(core_.store().Get(std::string(kCrdStorage), "", "carts.example.com"), nullptr);
    }
  }
}

TEST_F(LifecycleTest, ACreateIsRefusedIfItsNamespaceIsDeletedBetweenCheckAndWrite) {
  bool armed = true;
  core_.AddCheck("/configmaps", [&](const Value&, const Value*) -> std::vector<FieldError> {
    if (!std::exchange(armed, false)) return {};
    ResourcePtr namespaces = core_.registry().current()->Find("", "v1", "namespaces");
    EXPECT_TRUE(core_.DeleteObject(*namespaces, "", "x", {}).ok());
    EXPECT_TRUE(Settle());
    return {};
  });
  const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"}})";
  Call call = CallFor(JsonOf(body));
  call.body = body;
  const Result<Answer> late = core_.Create(call);
  ASSERT_FALSE(late.ok());
  EXPECT_TRUE(IsNotFound(late.error())) << late.error().ToString();
  EXPECT_FALSE(Has("late"));
}

TEST_F(LifecycleTest, CreatesInManyThreadsDoNotSurviveTheirDefinition) {
  for (int round = 0; round < 20; ++round) {
    DefineCarts();
    const Call call = CallFor(JsonOf(R"({"apiVersion":"example.com/v1","kind":"Cart"})"));
    std::atomic<int> created = 0;
    {
      std::vector<Thread> threads;
      for (int t = 0; t < 3; ++t) {
        threads.emplace_back("creator", [&, t] {
          for (int i = 0;; ++i) {
            const std::string name = std::to_string(t) + "-" + std::to_string(i);
            const std::string body = R"({"apiVersion":"example.com/v1","kind":"Cart","metadata":{"name":")" + name + R"("}})";
            Call mine = call;
            mine.body = body;
            if (!core_.Create(mine).ok()) return;
            ++created;
          }
        });
      }
      while (created < 5) std::this_thread::yield();
      DeleteCarts();
    }
    ASSERT_TRUE(Settle());
    EXPECT_EQ(core_.store().Get(std::string(kCrdStorage), "", "carts.example.com"), nullptr);
    EXPECT_EQ(core_.store().List("example.com/carts", "").objects.size(), 0U);
  }
}

TEST_F(LifecycleTest, WorkThatComesBeforeTheStartIsNotForgotten) {
  lifecycle_.Stop();
  std::string a = Map("a");
  Map("b", {{"a", a}});
  Delete("a", "Background");
  EXPECT_FALSE(lifecycle_.WaitIdle(std::chrono::milliseconds(1)));
  lifecycle_.Start();
  ASSERT_TRUE(Settle());
  EXPECT_FALSE(Has("b"));
}

// Several threads create and delete owners and dependents. Every dependent that is left in the end has an existing owner.
TEST_F(LifecycleTest, NothingIsLeftBehindByManyThreads) {
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back("owner", [this, t] {
        for (int i = 0; i < 30; ++i) {
          std::string name = std::to_string(t) + "-" + std::to_string(i);
          std::string uid = Map("o-" + name);
          Map("d-" + name, {{"o-" + name, uid}});
          (void)core_.DeleteObject(Maps(), "x", "o-" + name, {.propagation = i % 3 == 0 ? "Foreground" : "Background"});
        }
      });
      // Deletes what the other thread has just created, so that the two changes may be reported in any order.
      threads.emplace_back("thief", [this] {
        for (int i = 0; i < 100; ++i) {
          for (const ObjectPtr& object : core_.store().List("/configmaps", "x").objects) {
            (void)core_.DeleteObject(Maps(), "x", object->name, {.uid = object->uid, .propagation = "Background"});
          }
        }
      });
    }
  }
  ASSERT_TRUE(Settle());
  for (const ObjectPtr& object : core_.store().List("/configmaps", "x").objects) ADD_FAILURE() << *object->json;
}

}  // namespace
}  // namespace kube::apiserver
