// A controller whose own kind is a custom resource, with a struct and without, on the embedded server and on real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "client/server_test_util.h"
#include "control/manager_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/client/scale.h"
#include "kube/control/desired_state.h"
#include "kube/control/finalizers.h"
#include "kube/control/manager.h"
#include "kube/control/status.h"
#include "kube/meta/v1.h"
#include "kube/value/table.h"

namespace kube::internal {

struct BucketSpec {
  std::int32_t size = 0;
  KUBE_TABLE(BucketSpec);
};
struct BucketStatus {
  std::int32_t size = 0;
  List<meta::v1::Condition> conditions{};
  KUBE_TABLE(BucketStatus);
};
struct Bucket {
  meta::v1::ObjectMeta metadata{};
  BucketSpec spec{};
  BucketStatus status{};
  KUBE_TABLE(Bucket);
};
KUBE_DEFINE_TABLE(BucketSpec, "custom.v1.BucketSpec", KUBE_FIELD(BucketSpec, size));
KUBE_DEFINE_TABLE(BucketStatus, "custom.v1.BucketStatus", KUBE_FIELD(BucketStatus, size), KUBE_FIELD(BucketStatus, conditions));
KUBE_DEFINE_KIND(Bucket, (.group = "custom.example.com", .version = "v1", .kind = "Bucket", .resource = "buckets", .namespaced = true),
                 KUBE_FIELD(Bucket, metadata), KUBE_FIELD(Bucket, spec), KUBE_FIELD(Bucket, status));

namespace {

using core::v1::ConfigMap;

const Gvr kBuckets{"custom.example.com", "v1", "buckets"};
const Gvr kGrants{"custom.example.com", "v1", "grants"};
constexpr char kFinalizer[] = "custom.example.com/empty";

std::string Crd(const std::string& kind, const std::string& plural) {
  return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + R"(.custom.example.com}
spec:
  group: custom.example.com
  scope: Namespaced
  names: {kind: )" +
         kind + ", listKind: " + kind + "List, plural: " + plural + R"(}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {size: {type: integer}}}
)";
}

// What differs between the two forms of a bucket.
std::int64_t SizeOf(const Bucket& bucket) { return bucket.spec.size; }
std::int64_t SizeOf(const DynamicObject& bucket) { return bucket["spec"]["size"].int_value(); }
void SetSize(BucketStatus& status, std::int64_t size) { status.size = static_cast<std::int32_t>(size); }
void SetSize(Value& status, std::int64_t size) { status["size"] = size; }

// A bucket has a ConfigMap and a Grant of its size, a finalizer, and a status.
template <ObjectType T>
Result<Action> ReconcileBucket(const Context& ctx, const CachedClient& cached, const CachedResource<T>& buckets, const T& found,
                               std::atomic<int>& emptied) {
  T bucket = found;
  const Finalizers<T> finalizers = Finalizers<T>().Add(kFinalizer, [&](const Context&, const T&) {
    ++emptied;
    return Result<void>();
  });
  const Result<FinalizerResult> finalized = finalizers.Run(ctx, buckets, bucket);
  if (!finalized) return finalized.error();
  if (!finalized->proceed) return Action::Done();

  const ObjectKey key = KeyOf(bucket);
  ConfigMap map;
  map.metadata.name = key.name;
  map.data["size"] = String(std::to_string(SizeOf(bucket)));
  DynamicObject grant({"custom.example.com", "v1", "Grant"}, {"", key.name});
  grant["spec"]["size"] = SizeOf(bucket);
  const Result<Changes> changes = DesiredState(cached, bucket, "buckets").Want(map).Want(grant).Apply(ctx);
  if (!changes) return changes.error();
  if (Result<void> good = changes->ToResult(); !good) return good.error();

  StatusWriter<T> status(buckets, bucket);
  SetSize(status.status(), SizeOf(bucket));
  status.SetCondition({.type = "Ready", .status = "True", .reason = "Made"});
  if (Result<bool> written = status.Write(ctx); !written) return written.error();
  return Action::Done();
}

class CustomKindRealTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient());
    const Context ctx = Patience();
    for (const auto& [kind, gvr] : {std::pair{"Bucket", kBuckets}, {"Grant", kGrants}}) {
      const auto crd = *DynamicObject::FromYaml(Crd(kind, gvr.resource.str()));
      const auto made = client_->Resource(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}).Create(ctx, crd);
      ASSERT_TRUE(made || IsAlreadyExists(made.error())) << made.error().ToString();
      while (!client_->Resource(gvr).List(ctx)) ASSERT_TRUE(ctx.SleepFor(std::chrono::milliseconds(20)));  // served a moment later
    }
    static int count = 0;
    ns_ = "buckets-" + std::to_string(++count);
    core::v1::Namespace ns;
    ns.metadata.name = ns_;
    ASSERT_TRUE(client_->Create(ctx, ns));
    key_ = {String(ns_), "photos"};
    manager_.emplace(*client_, ManagerOptions{.informers = {.ns = ns_}, .preflight = Preflight::kSkip});
  }

  void MakeBucket(std::int64_t size) {
    DynamicObject bucket({"custom.example.com", "v1", "Bucket"}, key_);
    bucket["spec"]["size"] = size;
    const auto made = client_->Resource(kBuckets).Create(Patience(), bucket);
    ASSERT_TRUE(made) << made.error().ToString();
  }
  // Everything is as it should be for this size.
  bool Settled(std::int64_t size) const {
    const Result<DynamicObject> bucket = client_->Resource(kBuckets).Get(Patience(), key_);
    const Result<ConfigMap> map = client_->Get<ConfigMap>(Patience(), key_);
    const Result<DynamicObject> grant = client_->Resource(kGrants).Get(Patience(), key_);
    return bucket && map && grant && bucket->value()["status"]["size"].int_value() == size &&
           bucket->value()["status"]["conditions"].list().size() == 1 && HasFinalizer(*bucket, kFinalizer) &&
           map->data.Get("size") == std::to_string(size) && IsControlledBy(*map, *bucket) &&
           grant->value()["spec"]["size"].int_value() == size && IsControlledBy(*grant, *bucket);
  }
  // From the first bucket to its end, with a controller that runs.
  void LifeOfABucket() {
    MakeBucket(3);
    ASSERT_TRUE(Eventually([&] { return Settled(3); }));
    const Gvk gvk{"custom.example.com", "v1", "Bucket"};
    EXPECT_EQ(client_->Resource(kBuckets).Get(Patience(), key_)->gvk(), gvk);

    // Both owned kinds are watched.
    ASSERT_TRUE(client_->Delete<ConfigMap>(Patience(), key_));
    ASSERT_TRUE(Eventually([&] { return Settled(3); }));
    ASSERT_TRUE(client_->Resource(kGrants).Patch(Patience(), key_, Patch::Merge(R"({"spec":{"size":9}})")));
    ASSERT_TRUE(Eventually([&] { return Settled(3); }));
    ASSERT_TRUE(client_->Resource(kGrants).Delete(Patience(), key_));
    ASSERT_TRUE(Eventually([&] { return Settled(3); }));

    // Its scale, with a version that is known and with the one that discovery prefers.
    Result<autoscaling::v1::Scale> scale = GetScale(Patience(), *client_, kBuckets, key_);
    ASSERT_TRUE(scale) << scale.error().ToString();
    EXPECT_EQ(scale->spec.replicas, 3);
    EXPECT_EQ(scale->status.replicas, 3);
    scale->spec.replicas = 5;
    scale = UpdateScale(Patience(), *client_, kBuckets, *scale);
    ASSERT_TRUE(scale) << scale.error().ToString();
    EXPECT_EQ(scale->spec.replicas, 5);
    ASSERT_TRUE(Eventually([&] { return Settled(5); }));
    const RestMapper mapper(*client_);
    scale = GetScale(Patience(), mapper, kBuckets.group_resource(), key_);
    ASSERT_TRUE(scale) << scale.error().ToString();
    scale->spec.replicas = 7;
    scale = UpdateScale(Patience(), mapper, kBuckets.group_resource(), *scale);
    ASSERT_TRUE(scale) << scale.error().ToString();
    ASSERT_TRUE(Eventually([&] { return Settled(7); }));

    EXPECT_EQ(emptied_, 0);
    ASSERT_TRUE(client_->Resource(kBuckets).Delete(Patience(), key_));
    ASSERT_TRUE(Eventually([&] {
      const auto gone = client_->Resource(kBuckets).Get(Patience(), key_);
      return !gone && IsNotFound(gone.error());
    }));
    EXPECT_GE(emptied_, 1);
  }

  std::string ns_;
  ObjectKey key_;
  std::optional<Client> client_;
  std::optional<Manager> manager_;
  std::atomic<int> emptied_ = 0;
};

TEST_P(CustomKindRealTest, AControllerOfATypedKindOwnsTypedAndUntypedChildren) {
  const CachedClient& cached = manager_->cached();
  ASSERT_TRUE(
      manager_->Add(ControllerFor<Bucket>("buckets").Owns<ConfigMap>().Owns(kGrants).MayWriteStatus().MayWriteFinalizers().Reconcile(
          [&](const Context& ctx, const Bucket& bucket) {
            return ReconcileBucket(ctx, cached, cached.Resource<Bucket>(), bucket, emptied_);
          })));
  RunningManager running(*manager_);
  LifeOfABucket();
  EXPECT_TRUE(running.Stop());
}

TEST_P(CustomKindRealTest, AControllerOfAnUntypedKindOwnsTypedAndUntypedChildren) {
  const CachedClient& cached = manager_->cached();
  ASSERT_TRUE(manager_->Add(ControllerFor("buckets", {.gvr = kBuckets, .kind = "Bucket"})
                                .Owns<ConfigMap>()
                                .Owns(kGrants)
                                .MayWriteStatus()
                                .MayWriteFinalizers()
                                .Reconcile([&](const Context& ctx, const DynamicObject& bucket) {
                                  return ReconcileBucket(ctx, cached, cached.Resource(kBuckets), bucket, emptied_);
                                })));
  RunningManager running(*manager_);
  LifeOfABucket();
  EXPECT_TRUE(running.Stop());
}

INSTANTIATE_SERVERS(CustomKindRealTest);

}  // namespace
}  // namespace kube::internal
