// Decoding into shared structure, on real kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"

namespace kube::contract {
namespace {

using core::v1::Container;
using core::v1::Pod;
using core::v1::PodList;

Pod PodOf(int deployment, int i) {
  Pod pod;
  pod.metadata.name = "pod-with-a-long-name-" + std::to_string(i);
  pod.metadata.labels = {{"app.kubernetes.io/name", String("application-" + std::to_string(deployment))}};
  Container c;
  c.name = "main";
  c.image = "registry.example.com/application:" + std::to_string(deployment);
  c.liveness_probe.Mutable().http_get.Mutable().path = "/a/path/that/is/long/enough";
  pod.spec.containers = {c};
  return pod;
}

enum class Format { kJson, kProtobuf };

class InternerTest : public ::testing::TestWithParam<Format> {
 protected:
  Pod Decode(const Pod& pod, Interner* interner) {
    auto r = GetParam() == Format::kJson ? FromJson<Pod>(ToJson(pod).value(), {.interner = interner})
                                         : FromProtobuf<Pod>(ToProtobuf(pod).value(), {.interner = interner});
    EXPECT_TRUE(r.ok()) << r.error().ToString();
    EXPECT_TRUE(*r == pod);
    return *r;
  }
};

// How many of them are not held together with one before.
template <typename Shares>
std::size_t Copies(const std::vector<Pod>& pods, std::size_t step, Shares shares) {
  std::vector<const Pod*> distinct;
  for (std::size_t i = 0; i < pods.size(); i += step) {
    if (!std::any_of(distinct.begin(), distinct.end(), [&](const Pod* other) { return shares(*other, pods[i]); })) {
      distinct.push_back(&pods[i]);
    }
  }
  return distinct.size();
}

// Managed fields name the pod's address: texts of 600 bytes that differ in ten. Each is kept as what differs.
TEST_P(InternerTest, NearlyEqualRawJsonIsKeptAsADifference) {
  Interner interner;
  std::vector<Pod> pods;
  const auto text_of = [](int i) {
    std::string conditions;
    for (const char* type : {"ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready"}) {
      conditions += "\"k:{\\\"type\\\":\\\"" + std::string(type) + "\\\"}\":{\"f:status\":{},\"f:type\":{}},";
    }
    return "{\"f:status\":{\"f:conditions\":{" + conditions + "\".\":{}},\"f:podIPs\":{\"k:{\\\"ip\\\":\\\"10.1." +
           std::to_string(i / 200) + "." + std::to_string(i % 200) + "\\\"}\":{\".\":{},\"f:ip\":{}}},\"f:startTime\":{}}}";
  };
  for (int pass = 0; pass < 2; ++pass) {  // the second time as updates come
    for (int i = 0; i < 400; ++i) {
      Pod pod = PodOf(0, i);
      meta::v1::ManagedFieldsEntry entry;
      entry.manager = "kubelet";
      entry.fields_v1 = String(text_of(i));
      pod.metadata.managed_fields = {entry};
      Pod decoded = Decode(pod, &interner);
      if (pass == 0) {
        pods.push_back(std::move(decoded));
      } else {
        pods[static_cast<std::size_t>(i)] = std::move(decoded);
      }
    }
    std::size_t whole = 0, bytes = 0;
    for (int i = 0; i < 400; ++i) {
      const RawJson& raw = pods[static_cast<std::size_t>(i)].metadata.managed_fields[0].fields_v1;
      EXPECT_EQ(raw.text(), text_of(i));
      if (raw.base() == nullptr) ++whole;
      bytes += raw.heap_bytes();
    }
    EXPECT_LE(whole, 4U);
    EXPECT_LT(bytes, 400U * 100);
  }
  // Unused entries are deleted, also those that others differed from.
  pods.clear();
  interner.Sweep();
  EXPECT_EQ(interner.stats().entries, 0U);
}

TEST_P(InternerTest, EqualPartsAreHeldOnce) {
  Interner interner;
  std::vector<Pod> pods;
  for (int i = 0; i < 100; ++i) pods.push_back(Decode(PodOf(i % 2, i), &interner));
  const auto containers = [](const Pod& a, const Pod& b) { return a.spec.containers.SharesWith(b.spec.containers); };
  const auto labels = [](const Pod& a, const Pod& b) { return a.metadata.labels.SharesWith(b.metadata.labels); };
  const auto probe = [](const Pod& a, const Pod& b) {
    return a.spec.containers[0].liveness_probe.SharesWith(b.spec.containers[0].liveness_probe);
  };
  // A part is held for a while, and from its second sighting on for good; which of the two a lookup meets depends on the secret. So there
  // may be a few copies, but not one for each object.
  EXPECT_LE(Copies(pods, 2, containers), 4U);
  EXPECT_LE(Copies(pods, 2, labels), 4U);
  // What differs only further out is shared further in.
  EXPECT_FALSE(containers(pods[98], pods[97]));
  EXPECT_LE(Copies(pods, 1, probe), 6U);
  EXPECT_GT(interner.stats().hits, 0U);
}

TEST_P(InternerTest, WritingToOneObjectLeavesTheOthersAlone) {
  Interner interner;
  std::vector<Pod> pods;
  for (int i = 0; i < 4; ++i) pods.push_back(Decode(PodOf(1, i), &interner));
  pods[3].spec.containers[0].image = "changed";
  pods[3].spec.containers[0].liveness_probe.Mutable().period_seconds = 77;
  pods[3].metadata.labels["new"] = "label";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pods[static_cast<std::size_t>(i)] == PodOf(1, i));
  EXPECT_TRUE(Decode(PodOf(1, 9), &interner) == PodOf(1, 9));
}

TEST_P(InternerTest, SweepForgetsWhatNobodyUses) {
  Interner interner;
  {
    std::vector<Pod> pods;
    for (int i = 0; i < 600; ++i) pods.push_back(Decode(PodOf(i % 300, i), &interner));
    interner.Sweep();
    EXPECT_GT(interner.stats().entries, 300U);
  }
  interner.Sweep();
  EXPECT_EQ(interner.stats().entries, 0U);
  Decode(PodOf(1, 1), &interner);
}

TEST_P(InternerTest, ObjectsOutliveTheInterner) {
  std::vector<Pod> pods;
  {
    Interner interner;
    for (int i = 0; i < 5; ++i) pods.push_back(Decode(PodOf(1, i), &interner));
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(pods[static_cast<std::size_t>(i)] == PodOf(1, i));
}

TEST_P(InternerTest, ManyPartsMakeTheTableGrow) {
  Interner interner;
  std::vector<Pod> pods;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3000; ++i) pods.push_back(Decode(PodOf(i, i), &interner));
  }
  EXPECT_GT(interner.stats().entries, 3000U);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(pods[static_cast<std::size_t>(i)] == pods[static_cast<std::size_t>(i + 3000)]);
}

TEST_P(InternerTest, PartsOfOneListAreShared) {
  PodList list;
  for (int i = 0; i < 400; ++i) list.items.push_back(PodOf(i / 100, i));
  Interner interner;
  auto r = GetParam() == Format::kJson ? FromJson<PodList>(ToJson(list, {.indent = 1}).value(), {.interner = &interner})
                                       : FromProtobuf<PodList>(ToProtobuf(list).value(), {.interner = &interner});
  ASSERT_TRUE(r.ok()) << r.error().ToString();
  EXPECT_TRUE(*r == list);
  const PodList& got = *r;
  std::size_t shared = 0;
  for (std::size_t i = 301; i < 400; ++i) shared += got.items[i].spec.containers.SharesWith(got.items[i - 1].spec.containers) ? 1 : 0;
  EXPECT_GE(shared, 95U);
}

INSTANTIATE_TEST_SUITE_P(Formats, InternerTest, ::testing::Values(Format::kJson, Format::kProtobuf),
                         [](const auto& format) { return format.param == Format::kJson ? "Json" : "Protobuf"; });

TEST(InternerSafetyTest, TheSameBytesAsAnotherTypeAreAnotherPart) {
  // `{"name":"..."}` is a LocalObjectReference here and a ConfigMapVolumeSource there.
  Interner interner;
  const std::string text =
      R"({"spec":{"imagePullSecrets":[{"name":"a-name-that-is-long-enough"}],"schedulingGates":[{"name":"a-name-that-is-long-enough"}]}})";
  for (int i = 0; i < 4; ++i) {
    auto pod = FromJson<Pod>(text, {.interner = &interner});
    ASSERT_TRUE(pod.ok()) << pod.error().ToString();
    EXPECT_EQ(pod->spec.image_pull_secrets[0].name, "a-name-that-is-long-enough");
    EXPECT_EQ(pod->spec.scheduling_gates[0].name, "a-name-that-is-long-enough");
  }
}

TEST(InternerSafetyTest, AFailedDecodeLeavesNothingBroken) {
  Interner interner;
  Pod pod = PodOf(1, 1);
  std::string good = ToJson(pod).value();
  std::string bad = good.substr(0, good.size() - 1) + R"(,"status":{"phase":7}})";
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(FromJson<Pod>(bad, {.interner = &interner}).ok());
    EXPECT_TRUE(*FromJson<Pod>(good, {.interner = &interner}) == pod);
  }
}

}  // namespace
}  // namespace kube::contract
