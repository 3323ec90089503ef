#include "kube/control/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/handwritten_kind_test_util.h"
#include "control/helpers/desired_test_util.h"

namespace kube::internal {
namespace {

using apps::v1::Deployment;
using core::v1::Service;
using meta::v1::Condition;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Time kEarly = Time::FromUnix(1'000'000);
const Time kLate = Time::FromUnix(2'000'000);

class StatusWriterTest : public HelperTest {
 protected:
  void SetUp() override {
    HelperTest::SetUp();
    service_ = Created(MakeService(ns_, "web"));
  }
  // With one condition that is there since kEarly.
  Service WithCondition(const std::string& status) {
    StatusWriter<Service> writer(*client_, service_);
    writer.SetCondition({.type = "Ready", .status = status, .reason = "Made"}, kEarly);
    EXPECT_TRUE(writer.Write(Soon()).value());
    requests_->Take();
    return writer.object();
  }
  const Condition& Ready(const Service& service) { return *FindStatusCondition(service.status.conditions, "Ready"); }

  Service service_;
};

TEST_F(StatusWriterTest, WritesAllChangesAtOnce) {
  StatusWriter<Service> writer(*client_, service_);
  EXPECT_TRUE(writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"}));
  EXPECT_TRUE(writer.SetCondition({.type = "Synced", .status = "False", .reason = "Waiting", .message = "for goods"}));
  writer->load_balancer.ingress.push_back({.ip = "10.0.0.1"});
  EXPECT_TRUE(writer.changed());
  const Result<bool> written = writer.Write(Soon());
  ASSERT_TRUE(written) << written.error().ToString();
  EXPECT_TRUE(*written);
  EXPECT_THAT(requests_->Take(), ElementsAre("PATCH"));
  const Service now = client_->Get<Service>(Soon(), KeyOf(service_)).value();
  EXPECT_EQ(now.status.conditions.size(), 2U);
  EXPECT_EQ(now.status.load_balancer.ingress.size(), 1U);
  EXPECT_EQ(now, writer.object());
}

TEST_F(StatusWriterTest, WritesNothingWhereNothingChanged) {
  const Service service = WithCondition("True");
  StatusWriter<Service> writer(*client_, service);
  EXPECT_FALSE(writer.SetCondition({.type = "Ready", .status = "True", .reason = "Made"}, kLate));
  EXPECT_FALSE(writer.changed());
  EXPECT_FALSE(writer.Write(Soon()).value());
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(StatusWriterTest, ASecondWriteOfTheSamePassIsNotSent) {
  StatusWriter<Service> writer(*client_, service_);
  writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"});
  EXPECT_TRUE(writer.Write(Soon()).value());
  EXPECT_FALSE(writer.Write(Soon()).value());
}

TEST_F(StatusWriterTest, ConditionsGetTheGenerationOfTheObject) {
  service_.metadata.generation = 7;
  StatusWriter<Service> writer(*client_, service_);
  writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"});
  EXPECT_EQ(Ready(writer.object()).observed_generation, 7);
  writer.SetCondition({.type = "Ready", .status = "True", .observed_generation = 5, .reason = "Ok"});
  EXPECT_EQ(Ready(writer.object()).observed_generation, 5);
}

TEST_F(StatusWriterTest, TheTransitionTimeIsThatOfTheStatus) {
  StatusWriter<Service> same(*client_, WithCondition("True"));
  EXPECT_TRUE(same.SetCondition({.type = "Ready", .status = "True", .reason = "Other"}, kLate));
  EXPECT_EQ(Ready(same.object()).last_transition_time, kEarly);
  StatusWriter<Service> other(*client_, same.object());
  EXPECT_TRUE(other.SetCondition({.type = "Ready", .status = "False", .reason = "Other"}, kLate));
  EXPECT_EQ(Ready(other.object()).last_transition_time, kLate);
}

TEST_F(StatusWriterTest, AStatusThatComesBackWithinThePassHasNotChanged) {
  StatusWriter<Service> writer(*client_, WithCondition("True"));
  writer.SetCondition({.type = "Ready", .status = "Unknown", .reason = "Looking"}, kLate);
  writer.SetCondition({.type = "Ready", .status = "True", .reason = "Made"}, kLate);
  EXPECT_EQ(Ready(writer.object()).last_transition_time, kEarly);
  EXPECT_FALSE(writer.Write(Soon()).value());
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

TEST_F(StatusWriterTest, AConditionIsRemoved) {
  StatusWriter<Service> writer(*client_, WithCondition("True"));
  EXPECT_TRUE(writer.RemoveCondition("Ready"));
  EXPECT_FALSE(writer.RemoveCondition("Ready"));
  EXPECT_TRUE(writer.Write(Soon()).value());
  EXPECT_TRUE(client_->Get<Service>(Soon(), KeyOf(service_))->status.conditions.empty());
}

TEST_F(StatusWriterTest, AChangeOfTheSpecInBetweenDoesNotMatter) {
  ASSERT_TRUE(client_->Patch<Service>(Soon(), KeyOf(service_), Patch::Merge(R"({"metadata":{"labels":{"a":"b"}}})")));
  requests_->Take();
  StatusWriter<Service> writer(*client_, service_);
  writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"});
  const Result<bool> written = writer.Write(Soon());
  ASSERT_TRUE(written) << written.error().ToString();
  EXPECT_EQ(writer.object().metadata.labels.Get("a"), "b");
  EXPECT_THAT(requests_->Take(), ElementsAre("PATCH", "GET", "PATCH"));
}

TEST_F(StatusWriterTest, AStatusThatSomebodyElseWroteInBetweenIsAConflict) {
  StatusWriter<Service> theirs(*client_, service_), ours(*client_, service_);
  theirs.SetCondition({.type = "Theirs", .status = "True", .reason = "Ok"});
  ASSERT_TRUE(theirs.Write(Soon()));
  ours.SetCondition({.type = "Ours", .status = "True", .reason = "Ok"});
  const Result<bool> written = ours.Write(Soon());
  ASSERT_FALSE(written);
  EXPECT_TRUE(IsConflict(written.error()));
  EXPECT_EQ(client_->Get<Service>(Soon(), KeyOf(service_))->status, theirs.object().status);
}

TEST_F(StatusWriterTest, PlainFieldsNeedNoVersion) {
  Deployment deployment = Created(MakeDeployment(ns_, "web"));
  ASSERT_TRUE(client_->Patch<Deployment>(Soon(), KeyOf(deployment), Patch::Merge(R"({"metadata":{"labels":{"a":"b"}}})")));
  requests_->Take();
  StatusWriter<Deployment> writer(*client_, deployment);
  writer->observed_generation = 1;
  ASSERT_TRUE(writer.Write(Soon()).value());
  EXPECT_THAT(requests_->Take(), ElementsAre("PATCH"));
  EXPECT_EQ(client_->Get<Deployment>(Soon(), KeyOf(deployment))->status.observed_generation, 1);
}

TEST_F(StatusWriterTest, AnObjectThatIsGoneIsAnError) {
  ASSERT_TRUE(client_->Delete<Service>(Soon(), KeyOf(service_)));
  StatusWriter<Service> writer(*client_, service_);
  writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"});
  EXPECT_TRUE(IsNotFound(writer.Write(Soon()).error()));
}

TEST_F(StatusWriterTest, ADryRunIsNotStored) {
  StatusWriter<Service> writer(*client_, service_, {.dry_run = true});
  writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"});
  EXPECT_TRUE(writer.Write(Soon()).value());
  EXPECT_TRUE(client_->Get<Service>(Soon(), KeyOf(service_))->status.conditions.empty());
}

TEST_F(StatusWriterTest, WorksOnDynamicObjects) {
  const ResourceClient<DynamicObject> services = client_->Resource(Gvr{"", "v1", "services"});
  StatusWriter<DynamicObject> writer(services, services.Get(Soon(), KeyOf(service_)).value());
  EXPECT_TRUE(writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"}, kEarly));
  ASSERT_TRUE(writer.Write(Soon()).value());
  StatusWriter<DynamicObject> again(services, writer.object());
  EXPECT_FALSE(again.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"}, kLate));
  EXPECT_FALSE(again.Write(Soon()).value());
  EXPECT_EQ(client_->Get<Service>(Soon(), KeyOf(service_))->status.conditions.size(), 1U);
  EXPECT_TRUE(again.RemoveCondition("Ready"));
  EXPECT_TRUE(again.Write(Soon()).value());
  EXPECT_TRUE(client_->Get<Service>(Soon(), KeyOf(service_))->status.conditions.empty());
}

// Equality comes from the table.
TEST_F(StatusWriterTest, AHandWrittenKindNeedsNoEquality) {
  ASSERT_TRUE(server_->Load(kBackupCrd));
  Backup backup;
  backup.metadata = {.name = "nightly", .namespace_ = "default"};
  backup = Created(backup);
  StatusWriter<Backup> writer(*client_, backup);
  EXPECT_FALSE(writer.changed());
  writer->copies = 2;
  writer.SetCondition({.type = "Ready", .status = "True", .reason = "Ok"}, kEarly);
  const Result<bool> written = writer.Write(Soon());
  ASSERT_TRUE(written) << written.error().ToString();
  EXPECT_TRUE(*written);
  EXPECT_FALSE(writer.changed());
  EXPECT_EQ(client_->Get<Backup>(Soon(), KeyOf(backup))->status.copies, 2);
  requests_->Take();
  EXPECT_FALSE(writer.Write(Soon()).value());
  EXPECT_THAT(requests_->Take(), IsEmpty());
}

}  // namespace
}  // namespace kube::internal
