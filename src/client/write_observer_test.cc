// What observers of a context are called with, for each verb and each form of an answer.
#include "kube/client/write_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/scripted_transport_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/client/client.h"
#include "kube/client/scale.h"
#include "kube/client/subresources.h"
#include "kube/codec/protobuf.h"
#include "kube/config/client_config.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kProtobuf[] = "application/vnd.kubernetes.protobuf";
constexpr char kPodJson[] =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"default","uid":"u1","resourceVersion":"7","labels":{"a":"b"}}})";
constexpr char kDeletedJson[] =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"web","kind":"pods","uid":"u1"}})";

// "stored pods default/web u1 7 a=b"
class Notes : public WriteObserver {
 public:
  void Wrote(const ObservedWrite& write) override {
    static constexpr const char* kEffects[] = {"stored", "deleting", "gone"};
    std::string line = std::string(kEffects[static_cast<int>(write.effect)]) + " " + write.gvr.resource.str() + " " + write.key.ToString() +
                       " " + write.uid.str() + " " + write.resource_version.str();
    if (write.labels) {
      for (const auto& [key, value] : *write.labels) line += " " + key.str() + "=" + value.str();
    } else {
      line += " ?";
    }
    lines.push_back(std::move(line));
    requests.push_back(std::string(write.verb) + " " + std::string(write.kind) + " " + std::string(write.subresource));
  }
  std::vector<std::string> lines;
  std::vector<std::string> requests;  // "patch Pod status"
};

class WriteObserverTest : public ::testing::Test {
 protected:
  Pod Web() const {
    Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = "web";
    return pod;
  }
  std::vector<std::string> Told() { return std::exchange(notes_->lines, {}); }

  const std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
  const Client client_ = [this] {
    ClientConfig config;
    config.qps = -1;
    return Client::FromConfig(config, {.transport = transport_}).value();
  }();
  const std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
  const Context ctx_ = ObserveWrites(Context::Background(), notes_);
  const ObjectKey key_{"default", "web"};
};

TEST_F(WriteObserverTest, IsToldWhatTheServerStored) {
  const std::string stored = "stored pods default/web u1 7 a=b";
  const auto pods = client_.Resource<Pod>();
  const auto expect = [&](const auto& call) {
    transport_->Answer(200, kPodJson);
    ASSERT_TRUE(call());
    EXPECT_THAT(Told(), ElementsAre(stored));
  };
  expect([&] { return pods.Create(ctx_, Web()).ok(); });
  expect([&] { return pods.Update(ctx_, Web()).ok(); });
  expect([&] { return pods.UpdateStatus(ctx_, Web()).ok(); });
  expect([&] { return pods.Patch(ctx_, key_, Patch::Merge("{}")).ok(); });
  expect([&] { return pods.Apply(ctx_, Web(), {.field_manager = "m"}).ok(); });
  expect([&] { return client_.Metadata<Pod>().Patch(ctx_, key_, Patch::Merge("{}")).ok(); });
  expect([&] { return client_.Resource(GvrOf<Pod>()).Patch(ctx_, key_, Patch::Merge("{}")).ok(); });
}

TEST_F(WriteObserverTest, IsToldWhatWasAskedFor) {
  const auto pods = client_.Resource<Pod>();
  const auto answer = [&](const char* body = kPodJson) { transport_->Answer(200, body); };
  answer(), (void)pods.Create(ctx_, Web());
  answer(), (void)pods.UpdateStatus(ctx_, Web());
  answer(), (void)pods.Apply(ctx_, Web(), {.field_manager = "m"}, "status");
  answer(), (void)client_.Resource(GvrOf<Pod>()).Patch(ctx_, key_, Patch::Merge("{}"));
  answer(kDeletedJson), (void)pods.Delete(ctx_, key_);
  EXPECT_THAT(notes_->requests, ElementsAre("create Pod ", "update Pod status", "patch Pod status", "patch  ", "delete Pod "));
}

TEST_F(WriteObserverTest, IsNotToldOfReadsDryRunsAndFailures) {
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Get<Pod>(ctx_, key_));
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Create(ctx_, Web(), {.dry_run = true}));
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Apply(ctx_, Web(), {.field_manager = "m", .dry_run = true}));
  transport_->Answer(200, kDeletedJson);
  ASSERT_TRUE(client_.Delete<Pod>(ctx_, key_, {.dry_run = true}));
  transport_->Answer(409, R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409})");
  ASSERT_FALSE(client_.Update(ctx_, Web()));
  EXPECT_THAT(Told(), IsEmpty());
  // Nor of what others do.
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Create(Context::Background(), Web()));
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(WriteObserverTest, ADeletionThatIsDone) {
  transport_->Answer(200, kDeletedJson);
  ASSERT_TRUE(client_.Delete<Pod>(ctx_, key_));
  EXPECT_THAT(Told(), ElementsAre("gone pods default/web u1  ?"));
  // In protobuf, and with preconditions, which say which version it was.
  meta::v1::Status status;
  status.status = "Success";
  status.details.Mutable().uid = "u1";
  transport_->Answer(200, ToProtobuf(status).value(), kProtobuf);
  ASSERT_TRUE(client_.Delete<Pod>(ctx_, key_, {.uid = "u1", .resource_version = "5"}));
  EXPECT_THAT(Told(), ElementsAre("gone pods default/web u1 5 ?"));
}

TEST_F(WriteObserverTest, ADeletionThatWaitsForFinalizers) {
  Pod pod = Web();
  pod.metadata.uid = "u1";
  pod.metadata.resource_version = "9";
  pod.metadata.finalizers = {"example.com/f"};
  pod.metadata.deletion_timestamp = Time::FromUnix(1000);
  transport_->Answer(200, ToProtobuf(pod).value(), kProtobuf);
  ASSERT_TRUE(client_.Delete<Pod>(ctx_, key_));
  EXPECT_THAT(Told(), ElementsAre("deleting pods default/web u1 9 ?"));
  // A grace period is as good.
  pod.metadata.finalizers.clear();
  pod.metadata.deletion_grace_period_seconds = 30;
  transport_->Answer(200, ToJson(pod).value());
  ASSERT_TRUE(client_.Delete<Pod>(ctx_, key_));
  EXPECT_THAT(Told(), ElementsAre("deleting pods default/web u1 9 ?"));
}

TEST_F(WriteObserverTest, TakingTheLastFinalizerOffEndsTheObject) {
  Pod pod = Web();
  pod.metadata.uid = "u1";
  pod.metadata.resource_version = "9";
  pod.metadata.deletion_timestamp = Time::FromUnix(1000);
  pod.metadata.deletion_grace_period_seconds = 0;
  transport_->Answer(200, ToJson(pod).value());
  ASSERT_TRUE(client_.Update(ctx_, Web()));
  EXPECT_THAT(Told(), ElementsAre("gone pods default/web u1 9"));
}

TEST_F(WriteObserverTest, AnAnswerThatSaysNothingIsADeletionAllTheSame) {
  transport_->Answer(200, "ok", "text/plain");
  ASSERT_TRUE(client_.Delete<Pod>(ctx_, key_, {.uid = "u1"}));
  EXPECT_THAT(Told(), ElementsAre("deleting pods default/web u1  ?"));
}

TEST_F(WriteObserverTest, TheDeletionOfACollectionNamesItsItems) {
  transport_->Answer(200, R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":[
      {"metadata":{"name":"a","namespace":"default","uid":"1","resourceVersion":"3"},"spec":{"nodeName":"n"}},
      {"metadata":{"name":"b","namespace":"default","uid":"2","resourceVersion":"4"}}]})");
  ASSERT_TRUE(client_.DeleteCollection<Pod>(ctx_, {.ns = "default"}));
  EXPECT_THAT(Told(), ElementsAre("deleting pods default/a 1  ?", "deleting pods default/b 2  ?"));
  core::v1::PodList list;
  list.items.push_back(Web());
  list.items[0].metadata.uid = "3";
  list.items[0].spec.node_name = "n";
  transport_->Answer(200, ToProtobuf(list).value(), kProtobuf);
  ASSERT_TRUE(client_.DeleteCollection<Pod>(ctx_, {.ns = "default"}));
  EXPECT_THAT(Told(), ElementsAre("deleting pods default/web 3  ?"));
  transport_->Answer(200, kDeletedJson);
  ASSERT_TRUE(client_.DeleteCollection<Pod>(ctx_, {.ns = "default"}));
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(WriteObserverTest, ScaleIsAWriteOfWhatItScales) {
  constexpr char kScale[] =
      R"({"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","namespace":"default","uid":"u1","resourceVersion":"8"}})";
  const Gvr deployments = GvrOf<apps::v1::Deployment>();
  transport_->Answer(200, kScale);
  ASSERT_TRUE(GetScale(ctx_, client_, deployments, key_));
  EXPECT_THAT(Told(), IsEmpty());
  transport_->Answer(200, kScale);
  ASSERT_TRUE(PatchScale(ctx_, client_, deployments, key_, Patch::Merge("{}")));
  EXPECT_THAT(Told(), ElementsAre("stored deployments default/web u1 8 ?"));
}

TEST_F(WriteObserverTest, AnEvictionAsksForADeletion) {
  transport_->Answer(201, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})");
  ASSERT_TRUE(EvictPod(ctx_, client_, key_));
  EXPECT_THAT(Told(), ElementsAre("deleting pods default/web   ?"));
  transport_->Answer(201, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})");
  ASSERT_TRUE(BindPod(ctx_, client_, key_, "node"));
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(WriteObserverTest, AnInnerObserverDoesNotHideTheOuterOne) {
  const auto inner = std::make_shared<Notes>();
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Create(ObserveWrites(ctx_, inner).WithTimeout(std::chrono::seconds(60)), Web()));
  EXPECT_EQ(inner->lines.size(), 1U);
  EXPECT_EQ(Told().size(), 1U);
}

}  // namespace
}  // namespace kube::internal
