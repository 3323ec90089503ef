// The JSON of /debug/controllers: what is in it, how it is filtered, and that it stays small.
#include "control/observability/debug_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/codec/json.h"
#include "kube/value/value.h"

namespace kube::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Clock::WallTime kNow = Clock::WallTime(seconds(1'700'000'000));

Value Parsed(const std::string& text) {
  const Result<Value> value = ParseJson(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}
Value Report(const std::vector<ControllerStatus>& controllers, const DebugQuery& query = {}) {
  return Parsed(DebugReport(controllers, {}, true, kNow, query));
}
std::string Str(const Value& value) { return std::string(std::string_view(value.string_value())); }
std::vector<std::string> Keys(const Value& report, std::size_t controller = 0) {
  std::vector<std::string> keys;
  for (const Value& object : report["controllers"].list()[controller]["objects"].list()) keys.push_back(Str(object["key"]));
  return keys;
}
Value ObjectIn(const Value& report, std::string_view key) {
  for (const Value& controller : report["controllers"].list()) {
    for (const Value& object : controller["objects"].list()) {
      if (Str(object["key"]) == key) return object;
    }
  }
  ADD_FAILURE() << key << " is not there";
  return {};
}
std::vector<std::string> Texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& text : list.list()) out.push_back(Str(text));
  return out;
}

ObjectKey Key(const std::string& name) { return {"default", String(name)}; }
Cause Updated(const std::string& name) { return {.source = "services", .object = Key(name), .change = ChangeKind::kUpdated}; }

void AddQueued(ControllerStatus& status, const std::string& name, KeyState state, Clock::Duration age = {},
               std::optional<Clock::Duration> due_in = {}, std::vector<Cause> causes = {}) {
  status.queue.entries.push_back({.key = Key(name), .state = state, .priority = 3, .requeues = 2, .age = age, .due_in = due_in});
  status.causes.push_back({.causes = std::move(causes)});
  ++(state == KeyState::kQueued ? status.queue.queued : state == KeyState::kWaiting ? status.queue.waiting : status.queue.processing);
}
KeyReport Ran(const std::string& name, const std::string& result, int failures = 0, seconds ago = seconds(10)) {
  return {.key = Key(name), .failures = failures, .last_result = result, .last_run = kNow - ago, .last_duration = milliseconds(250)};
}

TEST(DebugReportTest, HasAllThatIsKnownOfAnObjectInOnePlace) {
  ControllerStatus status{.name = "web", .workers = 4, .active = 1, .running = true, .runs = 7, .errors = 2};
  status.watches = {"services: synced"};
  status.queue.oldest = seconds(5);
  AddQueued(status, "a", KeyState::kWaiting, {}, seconds(30), {Updated("child"), {.change = ChangeKind::kRetry}});
  status.causes[0].more = 9;
  KeyReport failed = Ran("a", "error: no disk", 3);
  failed.last_causes = {Updated("a")};
  failed.more_causes = 1;
  status.failing = {failed};
  status.recent = {failed};
  const Value report = Report({status});
  EXPECT_EQ(report["time"].double_value(), 1'700'000'000.0);
  EXPECT_TRUE(report["leader"].bool_value());
  const Value& controller = report["controllers"].list()[0];
  EXPECT_EQ(Str(controller["name"]), "web");
  EXPECT_EQ(controller["workers"].int_value(), 4);
  EXPECT_EQ(controller["active"].int_value(), 1);
  EXPECT_TRUE(controller["running"].bool_value());
  EXPECT_EQ(controller["runs"].int_value(), 7);
  EXPECT_EQ(controller["errors"].int_value(), 2);
  EXPECT_EQ(controller["failing"].int_value(), 1);
  EXPECT_THAT(Texts(controller["watches"]), ElementsAre("services: synced"));
  EXPECT_EQ(controller["queue"]["waiting"].int_value(), 1);
  EXPECT_EQ(controller["queue"]["oldestSeconds"].double_value(), 5);
  EXPECT_EQ(controller["objectsLeftOut"].int_value(), 0);
  EXPECT_THAT(Keys(report), ElementsAre("default/a"));
  const Value object = ObjectIn(report, "default/a");
  EXPECT_EQ(Str(object["state"]), "waiting");
  EXPECT_EQ(object["failures"].int_value(), 3);
  EXPECT_EQ(object["requeues"].int_value(), 2);
  EXPECT_EQ(object["priority"].int_value(), 3);
  EXPECT_EQ(object["nextRunInSeconds"].double_value(), 30);
  EXPECT_EQ(object.Find("ageSeconds"), nullptr);
  EXPECT_THAT(Texts(object["causes"]), ElementsAre("services default/child updated", "retry"));
  EXPECT_EQ(object["moreCauses"].int_value(), 9);
  EXPECT_EQ(Str(object["lastResult"]), "error: no disk");
  EXPECT_EQ(object["lastRun"].double_value(), 1'700'000'000.0 - 10);
  EXPECT_EQ(object["lastSeconds"].double_value(), 0.25);
  EXPECT_THAT(Texts(object["lastCauses"]), ElementsAre("services default/a updated"));
  EXPECT_EQ(object["moreLastCauses"].int_value(), 1);
}

TEST(DebugReportTest, OrderIsInFlightFailingQueuedWaitingIdle) {
  ControllerStatus status{.name = "web"};
  AddQueued(status, "flying", KeyState::kProcessing, seconds(2));
  AddQueued(status, "young", KeyState::kQueued, seconds(1));
  AddQueued(status, "old", KeyState::kQueued, seconds(9));
  AddQueued(status, "soon", KeyState::kWaiting, {}, seconds(1));
  AddQueued(status, "late", KeyState::kWaiting, {}, seconds(99));
  AddQueued(status, "bad", KeyState::kWaiting, {}, seconds(50));
  status.failing = {Ran("worse", "terminal error: no", 9), Ran("bad", "error: x", 2)};
  status.recent = {Ran("done", "success")};
  const Value report = Report({status});
  EXPECT_THAT(Keys(report), ElementsAre("default/flying", "default/worse", "default/bad", "default/old", "default/young", "default/soon",
                                        "default/late", "default/done"));
  EXPECT_EQ(Str(ObjectIn(report, "default/worse")["state"]), "idle");
  EXPECT_EQ(ObjectIn(report, "default/worse").Find("nextRunInSeconds"), nullptr);
  EXPECT_EQ(ObjectIn(report, "default/old")["nextRunInSeconds"].double_value(), 0);
  EXPECT_EQ(ObjectIn(report, "default/old")["ageSeconds"].double_value(), 9);
  EXPECT_EQ(ObjectIn(report, "default/flying").Find("nextRunInSeconds"), nullptr);
}

TEST(DebugReportTest, KeysThatWaitForCachesAreToldAsHeld) {
  ControllerStatus status{.name = "web"};
  AddQueued(status, "queued-since", KeyState::kQueued);
  status.held = {Key("a"), Key("queued-since")};
  status.recent = {Ran("a", "success"), Ran("b", "success")};
  const Value report = Report({status});
  EXPECT_EQ(report["controllers"].list()[0]["held"].int_value(), 2);
  EXPECT_THAT(Keys(report), ElementsAre("default/queued-since", "default/a", "default/b"));
  EXPECT_EQ(Str(ObjectIn(report, "default/a")["state"]), "held");
  EXPECT_EQ(Str(ObjectIn(report, "default/queued-since")["state"]), "queued");
}

TEST(DebugReportTest, TheNewestRunOfAKeyCounts) {
  ControllerStatus status{.name = "web"};
  status.recent = {Ran("a", "success", 0, seconds(1)), Ran("a", "requeue", 0, seconds(2)), Ran("a", "error: old", 1, seconds(3))};
  const Value report = Report({status});
  EXPECT_THAT(Keys(report), ElementsAre("default/a"));
  EXPECT_EQ(Str(ObjectIn(report, "default/a")["lastResult"]), "success");
}

TEST(DebugReportTest, AKeyThatIsAddedWhileInFlightRunsAgain) {
  ControllerStatus status{.name = "web"};
  AddQueued(status, "a", KeyState::kProcessing, seconds(2));
  status.queue.entries[0].again = true;
  const Value object = ObjectIn(Report({status}), "default/a");
  EXPECT_TRUE(object["again"].bool_value());
  EXPECT_EQ(object["nextRunInSeconds"].double_value(), 0);
}

TEST(DebugReportTest, WhatHasNoPlaceIsCounted) {
  ControllerStatus status{.name = "web"};
  for (int i = 0; i < 1000; ++i) AddQueued(status, "k" + std::to_string(i), KeyState::kQueued, seconds(2000 - i));
  status.queue.queued = 50'000;  // of which a snapshot has the first thousand
  status.failing = {Ran("bad", "error: x", 1)};
  Value report = Report({status});
  EXPECT_EQ(Keys(report).size(), 100U);
  EXPECT_EQ(Keys(report)[0], "default/bad");
  EXPECT_EQ(Keys(report)[1], "default/k0");
  EXPECT_EQ(report["controllers"].list()[0]["objectsLeftOut"].int_value(), 50'000 + 1 - 100);
  report = Report({status}, {.limit = 0});
  EXPECT_EQ(Keys(report).size(), 0U);
  EXPECT_EQ(report["controllers"].list()[0]["objectsLeftOut"].int_value(), 50'001);
  EXPECT_EQ(report["controllers"].list()[0]["queue"]["queued"].int_value(), 50'000);
}

TEST(DebugReportTest, FiltersByKeyAndByAnyText) {
  ControllerStatus web{.name = "web"}, mail{.name = "mail"};
  AddQueued(web, "Alpha", KeyState::kQueued, seconds(1), {}, {Updated("child-of-alpha")});
  AddQueued(web, "beta", KeyState::kProcessing, seconds(1));
  web.recent = {Ran("gamma", "error: No Disk", 1)};
  AddQueued(mail, "alphabet", KeyState::kWaiting, {}, seconds(1));
  const std::vector<ControllerStatus> both = {web, mail};
  const Value by_key = Report(both, {.key = "alpha"});
  EXPECT_THAT(Keys(by_key, 0), ElementsAre("default/Alpha"));
  EXPECT_THAT(Keys(by_key, 1), ElementsAre("default/alphabet"));
  EXPECT_THAT(Keys(Report(both, {.filter = "child-of"})), ElementsAre("default/Alpha"));
  EXPECT_THAT(Keys(Report(both, {.filter = "no disk"})), ElementsAre("default/gamma"));
  EXPECT_THAT(Keys(Report(both, {.filter = "processing"})), ElementsAre("default/beta"));
  EXPECT_EQ(Keys(Report(both, {.filter = "WEB"})).size(), 3U);
  EXPECT_THAT(Keys(Report(both, {.key = "beta", .filter = "no disk"})), ElementsAre());
  const Value one = Report(both, {.controller = "mail"});
  ASSERT_EQ(one["controllers"].list().size(), 1U);
  EXPECT_EQ(Str(one["controllers"].list()[0]["name"]), "mail");
}

TEST(DebugReportTest, SaysHowMuchWasNotSearched) {
  const DebugQuery query{.key = "k1"};
  ControllerStatus status{.name = "web"};
  for (std::size_t i = 0; i < query.most(); ++i) AddQueued(status, "k" + std::to_string(i), KeyState::kQueued);
  status.queue.queued += 5;
  const Value report = Report({status}, query);
  EXPECT_EQ(report["controllers"].list()[0]["objectsNotSearched"].int_value(), 5);
  EXPECT_EQ(report["controllers"].list()[0]["objectsLeftOut"].int_value(), 1111 - 100);  // k1, k10..., k1999
}

TEST(DebugReportTest, LongErrorsAreCutBetweenCharacters) {
  ControllerStatus status{.name = "web"};
  std::string text = "error: ";
  while (text.size() < 5000) text += "\xC3\xA9";
  status.recent = {Ran("a", text, 1)};
  const std::string json = DebugReport({status}, {}, true, kNow);
  EXPECT_LT(json.size(), 3000U);
  const std::string result = Str(ObjectIn(Parsed(json), "default/a")["lastResult"]);
  EXPECT_THAT(result, HasSubstr("\xC3\xA9... (3"));
  EXPECT_THAT(result, HasSubstr(" more bytes)"));
}

TEST(DebugReportTest, HostileTextStaysOneJsonString) {
  ControllerStatus status{.name = "<script>alert(1)</script>"};
  AddQueued(status, "</script><script>\"\\\n\x01", KeyState::kQueued, {}, {}, {Updated("\"},{\"x\":\"<img src=x onerror=alert(2)>")});
  status.recent = {Ran("broken", "error: \xFF\xFE half \xC3", 1)};
  const Value report = Report({status});
  EXPECT_EQ(Str(report["controllers"].list()[0]["name"]), "<script>alert(1)</script>");
  const Value object = ObjectIn(report, "default/</script><script>\"\\\n\x01");
  EXPECT_THAT(Texts(object["causes"]), ElementsAre("services default/\"},{\"x\":\"<img src=x onerror=alert(2)> updated"));
  EXPECT_EQ(Str(ObjectIn(report, "default/broken")["lastResult"]), "error: \xEF\xBF\xBD\xEF\xBF\xBD half \xEF\xBF\xBD");
}

TEST(DebugReportTest, WhatIsNoTextIsReplacedByteByByte) {
  const struct {
    const char* text;
    const char* wanted;
  } cases[] = {{"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
               {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},                                  // longer than it has to be
               {"\xED\xA0\x80x", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDx"},                // half of a pair
               {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},  // beyond Unicode
               {"a\xE2\x82", "a\xEF\xBF\xBD\xEF\xBF\xBD"}};
  for (const auto& one : cases) {
    ControllerStatus status{.name = "web"};
    status.recent = {Ran("a", one.text)};
    EXPECT_EQ(Str(ObjectIn(Report({status}), "default/a")["lastResult"]), one.wanted);
  }
}

TEST(DebugReportTest, CachesAreToldWithTheirErrors) {
  InformerStatus informer{.what = "pods", .ns = "team", .label_selector = "app=web"};
  informer.objects = 12;
  informer.reflector.state = ReflectorState::kWaiting;
  informer.reflector.error = Error::Internal("forbidden");
  informer.reflector.failures = 4;
  informer.reflector.resource_version = "77";
  informer.handlers = {{.name = "web", .pending = 3}, {.name = "mail", .pending = 4}};
  const Value report = Parsed(DebugReport({}, {informer}, false, kNow));
  EXPECT_FALSE(report["leader"].bool_value());
  const Value& cache = report["caches"].list()[0];
  EXPECT_EQ(Str(cache["resource"]), "pods");
  EXPECT_EQ(Str(cache["namespace"]), "team");
  EXPECT_EQ(Str(cache["labelSelector"]), "app=web");
  EXPECT_FALSE(cache["synced"].bool_value());
  EXPECT_EQ(cache["objects"].int_value(), 12);
  EXPECT_EQ(Str(cache["state"]), "waiting");
  EXPECT_EQ(cache["failures"].int_value(), 4);
  EXPECT_EQ(cache["pending"].int_value(), 7);
  EXPECT_EQ(Str(cache["resourceVersion"]), "77");
  EXPECT_THAT(Str(cache["error"]), HasSubstr("forbidden"));
  EXPECT_EQ(cache.Find("silenceSeconds"), nullptr);  // no response yet
}

TEST(DebugQueryTest, ParsesItsParameters) {
  const DebugQuery query = DebugQuery::Parse("controller=web&key=default%2Fa+b&filter=no%20disk&limit=7&").value();
  EXPECT_EQ(query.controller, "web");
  EXPECT_EQ(query.key, "default/a b");
  EXPECT_EQ(query.filter, "no disk");
  EXPECT_EQ(query.limit, 7U);
  EXPECT_EQ(DebugQuery::Parse("").value().limit, 100U);
  EXPECT_FALSE(DebugQuery::Parse("key=")->filters());
  EXPECT_EQ(DebugQuery::Parse("key=100%&filter=%zz").value().key, "100%");
}

TEST(DebugQueryTest, RefusesWhatItDoesNotKnow) {
  for (const char* query : {"limit=1001", "limit=-1", "limit=", "limit=7x", "limit"})
    EXPECT_THAT(DebugQuery::Parse(query).error().ToString(), HasSubstr("from 0 to 1000")) << query;
  EXPECT_THAT(DebugQuery::Parse("contoller=web").error().ToString(), HasSubstr("unknown parameter \"contoller\""));
}

}  // namespace
}  // namespace kube::internal
