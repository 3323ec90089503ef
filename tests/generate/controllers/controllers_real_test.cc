// Generated kinds on the embedded server and on real ones: a controller of such a kind, with its struct and without, which owns another
// one, and the informer of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/server_test_util.h"
#include "control/manager/manager_test_util.h"
#include "controllers/types.h"
#include "generate/generate.h"
#include "kube/api/core/v1.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/scale.h"
#include "kube/control/crds.h"
#include "kube/control/desired_state.h"
#include "kube/control/finalizers.h"
#include "kube/control/manager.h"
#include "kube/control/status.h"
#include "kube/meta/v1.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using custom::v1::Bucket;
using custom::v1::BucketStatus;
using custom::v1::Grant;

const Gvr kBuckets{"custom.example.com", "v1", "buckets"};
const Gvr kGrants{"custom.example.com", "v1", "grants"};
constexpr char kFinalizer[] = "custom.example.com/empty";

std::vector<CrdSource> Crds() {
  generate::Problems problems;
  const generate::Output output =
      generate::Generate({.headers = {"tests/generate/controllers/types.h"}, .manifests = "unwritten"}, problems);
  EXPECT_EQ(problems.ToString(), "");
  std::vector<CrdSource> out;
  for (const generate::OutputFile& file : output.files) {
    const std::vector<CrdSource> parsed = ParseCrds(file.text, file.path).value();
    out.insert(out.end(), parsed.begin(), parsed.end());
  }
  return out;
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

class GeneratedKindTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient());
    const Context ctx = Patience();
    const std::vector<CrdSource> crds = Crds();
    ASSERT_EQ(crds.size(), 2U);
    const auto installed = InstallCrds(ctx, *client_, crds);
    ASSERT_TRUE(installed) << installed.error().ToString();
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

TEST_P(GeneratedKindTest, AControllerOfATypedKindOwnsTypedAndUntypedChildren) {
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

TEST_P(GeneratedKindTest, AControllerOfAnUntypedKindOwnsTypedAndUntypedChildren) {
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

TEST_P(GeneratedKindTest, ATypedControllerOwnsAnotherGeneratedKind) {
  const CachedClient& cached = manager_->cached();
  ASSERT_TRUE(
      manager_->Add(ControllerFor<Bucket>("buckets").Owns<ConfigMap>().Owns<Grant>().MayWriteStatus().MayWriteFinalizers().Reconcile(
          [&](const Context& ctx, const Bucket& bucket) {
            return ReconcileBucket(ctx, cached, cached.Resource<Bucket>(), bucket, emptied_);
          })));
  RunningManager running(*manager_);
  LifeOfABucket();
  EXPECT_TRUE(running.Stop());
}

// An informer decodes equal parts of objects once, of generated kinds, too: grants of one set of rules share them.
TEST_P(GeneratedKindTest, AnInformerSharesEqualPartsOfGeneratedKinds) {
  constexpr int kGrantCount = 20;
  Map<String> rules;
  for (int i = 0; i < 40; ++i) rules["example.com/rule-" + std::to_string(i)] = "the same text in every grant of the test";
  for (int i = 0; i < kGrantCount; ++i) {
    Grant grant;
    grant.metadata = {.name = "g-" + std::to_string(i), .namespace_ = ns_};
    grant.spec = {.size = 1, .rules = rules};
    const auto made = client_->Create(Patience(), grant);
    ASSERT_TRUE(made) << made.error().ToString();
  }
  InformerFactory informers(*client_, {.ns = ns_});
  const SharedInformer<Grant> grants = informers.For<Grant>();
  informers.Start(Patience());
  ASSERT_TRUE(informers.WaitForSync(Patience()));
  const std::vector<Ptr<Grant>> found = grants.lister().List();
  ASSERT_EQ(found.size(), kGrantCount);
  // A part is shared from its second or third sighting on.
  std::set<const void*> blocks;
  for (const Ptr<Grant>& grant : found) {
    ASSERT_EQ(grant->spec.rules.size(), 40U);
    blocks.insert(&*grant->spec.rules.begin());
  }
  EXPECT_LE(blocks.size(), 5U);
}

INSTANTIATE_SERVERS(GeneratedKindTest);

}  // namespace
}  // namespace kube::internal
