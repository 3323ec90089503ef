#include "apiserver/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<Fault> From(std::string_view json) { return Fault::FromValue(*ParseJson(json)); }
std::string ErrorOf(std::string_view json) {
  Result<Fault> fault = From(json);
  return fault ? "none" : fault.error().message();
}

StoreEvent Event(std::string_view name, std::string_view ns = "x") {
  auto object = std::make_shared<StoredObject>();
  object->name = name;
  object->ns = ns;
  return {.type = EventType::kAdded, .version = 1, .object = std::move(object), .previous = nullptr};
}

// What one watcher of pods gets for these events.
struct Stream {
  Faults& faults;
  std::optional<StoreEvent> held = {};
  std::vector<std::string> got = {};
  void Send(std::string_view name, std::string_view ns = "x") {
    for (const StoreEvent& event : faults.FilterEvent("pods", held, Event(name, ns))) got.push_back(event.object->name);
  }
};

TEST(FaultTest, ReadsAllMembers) {
  Result<Fault> fault = From(R"({"verb":"list","resource":"pods","namespace":"x","name":"p","kind":"status","status":429,"reason":"R",
      "message":"m","retryAfterSeconds":3,"delayMilliseconds":40,"bytes":50,"times":-1})");
  ASSERT_TRUE(fault.ok()) << fault.error().ToString();
  EXPECT_EQ(fault->verb, "list");
  EXPECT_EQ(fault->resource, "pods");
  EXPECT_EQ(fault->ns, "x");
  EXPECT_EQ(fault->name, "p");
  EXPECT_EQ(fault->kind, FaultKind::kStatus);
  EXPECT_EQ(fault->status, 429);
  EXPECT_EQ(fault->reason, "R");
  EXPECT_EQ(fault->message, "m");
  EXPECT_EQ(fault->retry_after_seconds, 3);
  EXPECT_EQ(fault->delay, std::chrono::milliseconds(40));
  EXPECT_EQ(fault->bytes, 50U);
  EXPECT_EQ(fault->times, -1);
}

TEST(FaultTest, EveryKindHasAName) {
  for (const char* name : {"status", "delay", "drop", "cut", "stall", "gone", "dropEvent", "duplicateEvent", "reorderEvents"}) {
    Result<Fault> fault = Fault::FromValue(Value::Object({{"kind", name}}));
    ASSERT_TRUE(fault.ok()) << name;
    EXPECT_EQ(ToString(fault->kind), name);
  }
}

TEST(FaultTest, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(ErrorOf("[]"), "fault: expected an object");
  EXPECT_EQ(ErrorOf("{}"), "fault: kind: is missing");
  EXPECT_EQ(ErrorOf(R"({"kind":1})"), "fault: kind: expected a string");
  EXPECT_EQ(ErrorOf(R"({"kind":"Drop"})"),
            "fault: kind: expected one of status, delay, drop, cut, stall, gone, dropEvent, duplicateEvent, reorderEvents");
  EXPECT_EQ(ErrorOf(R"({"kind":"drop","verbs":"list"})"), "fault: verbs: unknown member");
  EXPECT_EQ(ErrorOf(R"({"kind":"drop","verbs":1})"), "fault: verbs: unknown member");
  EXPECT_EQ(ErrorOf(R"({"kind":"drop","verb":["list"]})"), "fault: verb: expected a string");
  EXPECT_EQ(ErrorOf(R"({"kind":"status","status":"500"})"), "fault: status: expected an integer");
  EXPECT_EQ(ErrorOf(R"({"kind":"status","status":200})"), "fault: status: expected 400 to 599");
  EXPECT_EQ(ErrorOf(R"({"kind":"status","status":600})"), "fault: status: expected 400 to 599");
  EXPECT_EQ(ErrorOf(R"({"kind":"drop","times":0})"), "fault: times: expected a positive number, or -1");
  EXPECT_EQ(ErrorOf(R"({"kind":"drop","times":-2})"), "fault: times: out of range");
  EXPECT_EQ(ErrorOf(R"({"kind":"drop","times":1.5})"), "fault: times: expected an integer");
  EXPECT_EQ(ErrorOf(R"({"kind":"delay","delayMilliseconds":-1})"), "fault: delayMilliseconds: out of range");
  EXPECT_EQ(ErrorOf(R"({"kind":"cut","bytes":-1})"), "fault: bytes: out of range");
  EXPECT_EQ(ErrorOf(R"({"kind":"cut","bytes":99999999999})"), "fault: bytes: out of range");
}

TEST(FaultsTest, FitOnlyTheRequestsTheyName) {
  Faults faults;
  faults.Add({.verb = "get", .resource = "pods", .ns = "x", .name = "p", .times = -1});
  EXPECT_FALSE(faults.Take("list", "pods", "x", "p"));
  EXPECT_FALSE(faults.Take("get", "nodes", "x", "p"));
  EXPECT_FALSE(faults.Take("get", "pods", "y", "p"));
  EXPECT_FALSE(faults.Take("get", "pods", "x", "q"));
  EXPECT_TRUE(faults.Take("get", "pods", "x", "p"));
  faults.Clear();
  EXPECT_FALSE(faults.Take("get", "pods", "x", "p"));
  faults.Add({});
  EXPECT_TRUE(faults.Take("watch", "anything", "", ""));
}

TEST(FaultsTest, AreUsedUpInTheOrderInWhichTheyWereAdded) {
  Faults faults;
  int first = faults.Add({.status = 501, .times = 2});
  int second = faults.Add({.resource = "pods", .status = 502});
  int third = faults.Add({.status = 503, .times = -1});
  EXPECT_EQ(faults.All().size(), 3U);
  std::vector<int> got;
  for (int i = 0; i < 5; ++i) got.push_back(faults.Take("get", "pods", "", "")->status);
  EXPECT_THAT(got, ElementsAre(501, 501, 502, 503, 503));
  EXPECT_FALSE(faults.Remove(first));
  EXPECT_FALSE(faults.Remove(second));
  EXPECT_TRUE(faults.Remove(third));
  EXPECT_FALSE(faults.Remove(third));
  EXPECT_THAT(faults.All(), IsEmpty());
}

TEST(FaultsTest, RemovalIsToldAlsoOfOneThatIsUsedUp) {
  Faults faults;
  int told = 0;
  faults.Add({.kind = FaultKind::kStall});
  int id = 0;
  ASSERT_TRUE(faults.Take("get", "pods", "", "", &id));
  faults.OnRemove(id, [&] { ++told; });
  EXPECT_FALSE(faults.Remove(id + 1));
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(faults.Remove(id));
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(faults.Remove(id));
  faults.OnRemove(id, [&] { ++told; });  // a request that had found it just before
  EXPECT_EQ(told, 2) << "too late: at once";
  faults.Clear();
  EXPECT_EQ(told, 2);
  faults.OnRemove(id, [&] { ++told; });
  EXPECT_EQ(told, 3) << "too late: at once";
}

TEST(FaultsTest, AStallThatARequestHasJustTakenIsThereToBeRemoved) {
  Faults faults;
  int told = 0;
  faults.Add({.kind = FaultKind::kStall});
  int id = 0;
  ASSERT_TRUE(faults.Take("get", "pods", "", "", &id));
  EXPECT_TRUE(faults.Remove(id));
  EXPECT_FALSE(faults.Remove(id));
  faults.OnRemove(id, [&] { ++told; });
  EXPECT_EQ(told, 1) << "at once";
}

TEST(FaultsTest, GoneIsForWatchesAndListsOnly) {
  Faults faults;
  faults.Add({.verb = "watch", .resource = "pods", .ns = "x", .kind = FaultKind::kGone});
  EXPECT_FALSE(faults.Take("watch", "pods", "x", ""));
  EXPECT_FALSE(faults.TakeGone("watch", "nodes", "x", ""));
  EXPECT_FALSE(faults.TakeGone("watch", "pods", "y", "")) << "another namespace";
  EXPECT_FALSE(faults.TakeGone("list", "pods", "x", ""));
  EXPECT_FALSE(faults.any_watch_faults());
  EXPECT_TRUE(faults.TakeGone("watch", "pods", "x", ""));
  EXPECT_FALSE(faults.TakeGone("watch", "pods", "x", ""));
}

TEST(FaultsTest, EventFaultsDoNotTouchRequests) {
  Faults faults;
  faults.Add({.kind = FaultKind::kDropEvent});
  EXPECT_TRUE(faults.any_watch_faults());
  EXPECT_FALSE(faults.Take("watch", "pods", "", ""));
}

TEST(FaultsTest, DropsAndDuplicatesEvents) {
  Faults faults;
  faults.Add({.kind = FaultKind::kDropEvent, .times = 2});
  faults.Add({.ns = "x", .name = "d", .kind = FaultKind::kDuplicateEvent});
  Stream stream{faults};
  for (const char* name : {"a", "b", "c", "d", "e"}) stream.Send(name);
  EXPECT_THAT(stream.got, ElementsAre("c", "d", "d", "e"));
  EXPECT_FALSE(faults.any_watch_faults());
}

TEST(FaultsTest, ReordersTwoEventsOfOneStream) {
  Faults faults;
  faults.Add({.resource = "pods", .kind = FaultKind::kReorderEvents});
  Stream one{faults}, other{faults};
  one.Send("a");
  EXPECT_THAT(one.got, IsEmpty());
  other.Send("a");
  EXPECT_THAT(other.got, ElementsAre("a")) << "its one time is used up";
  faults.Clear();
  one.Send("b");
  one.Send("c");
  EXPECT_THAT(one.got, ElementsAre("b", "a", "c")) << "what was held back is not lost with the fault";
}

TEST(FaultsTest, EventFaultsFitByResourceAndName) {
  Faults faults;
  faults.Add({.verb = "list", .kind = FaultKind::kDropEvent});
  faults.Add({.resource = "nodes", .kind = FaultKind::kDropEvent});
  faults.Add({.ns = "y", .kind = FaultKind::kDropEvent});
  faults.Add({.name = "b", .kind = FaultKind::kDropEvent});
  Stream stream{faults};
  for (const char* name : {"a", "b", "b"}) stream.Send(name);
  EXPECT_THAT(stream.got, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace kube::apiserver
