#include "src/at_controller.h"

#include <kube/api/core/v1.h>
#include <kube/base/fake_clock.h>
#include <kube/client/wait.h>
#include <kube/meta/conditions.h>
#include <kube/meta/owner_reference.h>
#include <kube/value/chrono.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/v1alpha1/at_types.h"
#include "tests/cluster.h"

using cnat::v1alpha1::At;
using kube::core::v1::Event;
using kube::core::v1::Pod;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

class AtControllerTest : public ClusterTest {
 protected:
  At Create(std::string_view name, std::string_view schedule, std::string_view command = "") const {
    At at;
    at.metadata = {.name = name, .namespace_ = "default"};
    at.spec = {.schedule = schedule, .command = command};
    return client().Create(ctx(), at).value();
  }
  void Reschedule(At at, std::string_view schedule) const {
    at.spec.schedule = schedule;
    client().Update(ctx(), at).value();
  }
  At WaitForAt(std::string_view name, const std::function<bool(const At&)>& holds) const {
    return kube::WaitFor<At>(client().Resource<At>(), ctx(), {"default", name}, holds).value();
  }
  At WaitForPhase(std::string_view name, std::string_view phase) const {
    return WaitForAt(name, [&](const At& at) { return at.status.phase == phase; });
  }
  At WaitForReason(std::string_view name, std::string_view reason) const {
    return WaitForAt(name, [&](const At& at) { return Ready(at).reason == reason; });
  }
  static kube::meta::v1::Condition Ready(const At& at) {
    const auto* ready = kube::FindStatusCondition(at.status.conditions, "Ready");
    return ready == nullptr ? kube::meta::v1::Condition() : *ready;
  }
  kube::Result<Pod> GetPod(std::string_view at) const { return client().Get<Pod>(ctx(), {"default", std::string(at) + "-pod"}); }
  bool HasPod(std::string_view at) const {
    const kube::Result<Pod> pod = GetPod(at);
    EXPECT_TRUE(pod || kube::IsNotFound(pod.error())) << pod.error().ToString();
    return pod.ok();
  }
  // As a kubelet.
  void EndPod(std::string_view at, std::string_view phase, int exit_code) const {
    Pod pod = GetPod(at).value();
    pod.status.phase = phase;
    kube::core::v1::ContainerStatus status{.name = "command"};
    status.state.terminated.Mutable().exit_code = exit_code;
    status.image = "busybox:latest";
    pod.status.container_statuses.push_back(status);
    client().UpdateStatus(ctx(), pod).value();
  }
  bool HasEvent(std::string_view name, std::string_view type, std::string_view reason) const {
    const auto events = client().List<Event>(ctx(), {.ns = "default"}).value();
    return std::any_of(events.begin(), events.end(), [&](const Event& event) {
      return event.involved_object.name == name && event.reason == reason && event.type == type;
    });
  }
  // Waits until no reconciler runs and nothing is queued, and says in how long the next key is due; nothing if none is.
  std::optional<kube::Clock::Duration> NextRun() const {
    std::optional<kube::Clock::Duration> next;
    EXPECT_TRUE(Eventually([&] {
      const kube::ControllerStatus status = manager().controller("at")->status();
      if (status.active != 0 || !status.held.empty() || status.queue.queued != 0 || status.queue.processing != 0) return false;
      next = status.queue.entries.empty() ? std::nullopt : status.queue.entries[0].due_in;
      return true;
    }));
    return next;
  }
  // A server that has just been given a kind may still refuse to list it (429): the retry is due by the clock of the manager.
  void RunOn(const std::shared_ptr<kube::FakeClock>& clock) {
    const kube::Clock::WallTime start = clock->WallNow();
    Run(SetupAtController, {.clock = clock});
    EXPECT_TRUE(Eventually([&] {
      if (manager().controller("at")->status(0).running) return true;
      clock->Advance(std::chrono::milliseconds(100));
      return false;
    }));
    clock->SetWallNow(start);
  }
  static bool IsReal() {
    const char* const cluster = std::getenv("CLUSTER");
    return cluster != nullptr && std::string_view(cluster) == "real";
  }
};

TEST_F(AtControllerTest, RunsTheAtOfTheDocument) {
  Run(SetupAtController);
  const At at = Create("example-at", "2019-07-03T02:00:00Z");
  WaitForPhase("example-at", "RUNNING");
  const Pod pod = GetPod("example-at").value();
  EXPECT_TRUE(kube::IsControlledBy(pod, at));
  EXPECT_EQ(pod.spec.restart_policy, "Never");
  ASSERT_EQ(pod.spec.containers.size(), 1U);
  EXPECT_EQ(pod.spec.containers[0].command, (kube::List<kube::String>{"/bin/sh", "-c", "echo It is time"}));
  EndPod("example-at", "Succeeded", 0);
  EXPECT_EQ(Ready(WaitForPhase("example-at", "DONE")).status, "True");
  EXPECT_TRUE(
      Eventually([&] { return HasEvent("example-at", "Normal", "PodCreated") && HasEvent("example-at", "Normal", "PodSucceeded"); }));

  // It does not run again, whatever happens to its pod and its schedule.
  client().Delete<Pod>(ctx(), kube::KeyOf(pod)).value();
  Reschedule(client().Get<At>(ctx(), kube::KeyOf(at)).value(), "2019-07-04T02:00:00Z");
  Create("second", "2019-07-03T02:00:00Z");
  WaitForPhase("second", "RUNNING");
  EXPECT_EQ(NextRun(), std::nullopt);
  EXPECT_FALSE(HasPod("example-at"));
}

TEST_F(AtControllerTest, ReportsACommandThatFails) {
  Run(SetupAtController);
  Create("failing", "2019-07-03T02:00:00Z", "exit 3");
  WaitForPhase("failing", "RUNNING");
  EXPECT_EQ(GetPod("failing").value().spec.containers[0].command, (kube::List<kube::String>{"/bin/sh", "-c", "exit 3"}));
  EndPod("failing", "Failed", 3);
  const At at = WaitForPhase("failing", "DONE");
  EXPECT_EQ(Ready(at).status, "False");
  EXPECT_EQ(Ready(at).message, "Pod failing-pod has failed: exit code 3");
  EXPECT_TRUE(Eventually([&] { return HasEvent("failing", "Warning", "PodFailed"); }));
}

TEST_F(AtControllerTest, ReportsAScheduleThatCannotBeReadAndWaitsForAnother) {
  Run(SetupAtController);
  Create("vague", "tomorrow");
  Create("empty", "");
  const At at = WaitForReason("vague", "InvalidSchedule");
  EXPECT_EQ(at.status.phase, "PENDING");
  EXPECT_EQ(Ready(at).status, "False");
  EXPECT_EQ(Ready(at).message, "spec.schedule: expected a time such as 2019-07-03T02:00:00Z, got \"tomorrow\"");
  WaitForReason("empty", "InvalidSchedule");
  EXPECT_TRUE(Eventually([&] { return HasEvent("vague", "Warning", "InvalidSchedule"); }));
  EXPECT_EQ(NextRun(), std::nullopt);
  EXPECT_EQ(manager().controller("at")->status().errors, 0U);
  Reschedule(at, "2019-07-03T04:00:00+02:00");
  WaitForPhase("vague", "RUNNING");
}

TEST_F(AtControllerTest, LeavesAPodOfThatNameAlone) {
  const auto clock = std::make_shared<kube::FakeClock>();
  Pod pod;
  pod.metadata = {.name = "foreign-pod", .namespace_ = "default"};
  pod.spec.containers.push_back({.name = "web", .image = "example.com/web:1.0.0"});
  pod = client().Create(ctx(), pod).value();
  RunOn(clock);
  const At at = Create("foreign", "2019-07-03T02:00:00Z");
  EXPECT_EQ(Ready(WaitForReason("foreign", "PodExists")).message, "Pod foreign-pod does not belong to this At and is left alone");
  EXPECT_EQ(client().Get<At>(ctx(), kube::KeyOf(at)).value().status.phase, "PENDING");
  EXPECT_TRUE(Eventually([&] { return HasEvent("foreign", "Warning", "PodExists"); }));
  EXPECT_EQ(GetPod("foreign").value().metadata.resource_version, pod.metadata.resource_version);
  EXPECT_EQ(NextRun(), minutes(1));

  client().Delete<Pod>(ctx(), kube::KeyOf(pod)).value();
  ASSERT_TRUE(kube::WaitForDeletion(client().Resource<Pod>(), ctx(), kube::KeyOf(pod)));
  clock->Advance(minutes(1));
  WaitForPhase("foreign", "RUNNING");
  EXPECT_TRUE(kube::IsControlledBy(GetPod("foreign").value(), at));
}

TEST_F(AtControllerTest, RecreatesAPodThatIsDeletedBeforeItHasEnded) {
  Run(SetupAtController);
  Create("example-at", "2019-07-03T02:00:00Z");
  WaitForPhase("example-at", "RUNNING");
  const Pod pod = GetPod("example-at").value();
  client().Delete<Pod>(ctx(), kube::KeyOf(pod)).value();
  EXPECT_EQ(WaitForReason("example-at", "PodRecreated").status.phase, "RUNNING");
  EXPECT_NE(GetPod("example-at").value().metadata.uid, pod.metadata.uid);
  EndPod("example-at", "Succeeded", 0);
  WaitForPhase("example-at", "DONE");
}

// A program that stopped between the creation of the pod and the status.
TEST_F(AtControllerTest, FindsItsPodAfterARestart) {
  Run(SetupAtController);
  At at = Create("example-at", "2019-07-03T02:00:00Z");
  at = WaitForPhase("example-at", "RUNNING");
  const kube::String uid = GetPod("example-at").value().metadata.uid;
  at.status = {};
  client().UpdateStatus(ctx(), at).value();
  WaitForReason("example-at", "PodCreated");
  EXPECT_EQ(GetPod("example-at").value().metadata.uid, uid);
}

TEST_F(AtControllerTest, ReportsAPodThatTheServerRefuses) {
  Run(SetupAtController);
  const std::string name(250, 'a');  // with -pod too long for a name
  Create(name, "2019-07-03T02:00:00Z");
  const At at = WaitForReason(name, "PodRefused");
  EXPECT_EQ(at.status.phase, "PENDING");
  EXPECT_NE(Ready(at).message.str().find("metadata.name"), std::string::npos) << Ready(at).message;
  EXPECT_EQ(NextRun(), std::nullopt);
}

TEST_F(AtControllerTest, IsDeletedWithItsPod) {
  Run(SetupAtController);
  const At at = Create("example-at", "2019-07-03T02:00:00Z");
  WaitForPhase("example-at", "RUNNING");
  client().Delete<At>(ctx(), kube::KeyOf(at)).value();
  // A real control plane without kube-controller-manager collects no garbage.
  if (IsReal()) {
    EXPECT_TRUE(kube::IsControlledBy(GetPod("example-at").value(), at));
  } else {
    EXPECT_TRUE(kube::WaitForDeletion(client().Resource<Pod>(), ctx(), {"default", "example-at-pod"}));
  }
  EXPECT_EQ(NextRun(), std::nullopt);
}

// The clock shows 2020-01-01T00:00:00Z when the controller has started, and stands still until the test moves it.
class AtScheduleTest : public AtControllerTest {
 protected:
  void SetUp() override {
    AtControllerTest::SetUp();
    RunOn(clock_);
  }
  void WaitForMessage(std::string_view name, std::string_view message) const {
    WaitForAt(name, [&](const At& at) { return Ready(at).message == message; });
  }
  const std::shared_ptr<kube::FakeClock> clock_ = std::make_shared<kube::FakeClock>();
};

TEST_F(AtScheduleTest, RunsTheCommandAtItsTime) {
  Create("later", "2020-01-01T00:30:00Z", "echo YAY");
  WaitForMessage("later", "waits until 2020-01-01T00:30:00Z");
  EXPECT_EQ(NextRun(), minutes(30));
  clock_->Advance(minutes(30) - seconds(1));
  EXPECT_EQ(NextRun(), seconds(1));
  EXPECT_FALSE(HasPod("later"));
  clock_->Advance(seconds(1));
  WaitForPhase("later", "RUNNING");
  EXPECT_EQ(GetPod("later").value().spec.containers[0].command, (kube::List<kube::String>{"/bin/sh", "-c", "echo YAY"}));
}

TEST_F(AtScheduleTest, ReadsTheTimeOfDayEachHour) {
  Create("later", "2099-01-01T00:00:00Z");
  WaitForMessage("later", "waits until 2099-01-01T00:00:00Z");
  // The second run is that of its own status.
  EXPECT_TRUE(Eventually([&] { return manager().controller("at")->status().runs >= 2; }));
  EXPECT_EQ(NextRun(), hours(1));
  clock_->SetWallNow(kube::ToChrono(kube::Time::Parse("2099-01-01T00:00:00Z").value()));  // an administrator sets it
  EXPECT_EQ(NextRun(), hours(1));
  clock_->Advance(hours(1));
  WaitForPhase("later", "RUNNING");
}

TEST_F(AtScheduleTest, FollowsAChangedSchedule) {
  const At at = Create("later", "2020-01-01T00:10:00Z");
  WaitForMessage("later", "waits until 2020-01-01T00:10:00Z");
  EXPECT_EQ(NextRun(), minutes(10));
  Reschedule(client().Get<At>(ctx(), kube::KeyOf(at)).value(), "2020-01-01T00:20:00Z");
  WaitForMessage("later", "waits until 2020-01-01T00:20:00Z");
  clock_->Advance(minutes(10));
  EXPECT_EQ(NextRun(), minutes(10));
  EXPECT_FALSE(HasPod("later"));
  Reschedule(client().Get<At>(ctx(), kube::KeyOf(at)).value(), "2020-01-01T00:09:00Z");
  WaitForPhase("later", "RUNNING");

  // From here on it runs.
  Reschedule(client().Get<At>(ctx(), kube::KeyOf(at)).value(), "2099-01-01T00:00:00Z");
  EndPod("later", "Succeeded", 0);
  WaitForPhase("later", "DONE");
}

}  // namespace
