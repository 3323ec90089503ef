// Informers with a scripted server: their life, their status, waiting, transforms, events that come late or twice.
#include <atomic>
#include <latch>
#include <stdexcept>

#include "cache/informer_test_util.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Error Forbidden() {
  return Error(Error::Payload{
      .kind = ErrorKind::kApi, .http_code = 403, .reason = "Forbidden", .message = "pods is forbidden: User \"x\" cannot list resource"});
}

class InformerTest : public InformerFixture {};

TEST_F(InformerTest, TellsWhatHappens) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  watch->Added(PodAt("b", "11"));
  watch->Modified(PodAt("a", "12"));
  watch->Deleted(PodAt("b", "13"));
  ASSERT_TRUE(witness.WaitForCalls(4));
  EXPECT_THAT(witness.said(), ElementsAre("add default/a@1 initial", "add default/b@11", "update default/a@1->12", "delete default/b@13"));
  EXPECT_EQ(pods.indexer().resource_version(), "13");
}

TEST_F(InformerTest, ManyHandlersOneWatch) {
  SharedInformer<Pod> pods = Make();
  std::vector<Witness<>> witnesses(10);
  std::vector<HandlerRegistration> registrations;
  for (Witness<>& witness : witnesses) registrations.push_back(*pods.AddEventHandler(witness.Handler()));
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  watch->Deleted(PodAt("a", "11"));
  for (Witness<>& witness : witnesses) {
    ASSERT_TRUE(witness.WaitForCalls(2));
    EXPECT_THAT(witness.said(), ElementsAre("add default/a@1 initial", "delete default/a@11"));
  }
  EXPECT_EQ(source_->requests().size(), 1U);
  EXPECT_EQ(pods.status().handlers.size(), 10U);
}

TEST_F(InformerTest, TheSameHandlerTwiceIsTwoRegistrations) {
  SharedInformer<Pod> pods = Make();
  std::atomic<int> calls = 0;
  const EventHandler<Pod> handler{.on_add = [&](const Ptr<Pod>&, bool) { ++calls; }};
  Result<HandlerRegistration> first = pods.AddEventHandler(handler);
  Result<HandlerRegistration> second = pods.AddEventHandler(handler);
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(first->WaitForSync(Soon()));
  ASSERT_TRUE(second->WaitForSync(Soon()));
  EXPECT_EQ(calls, 2);
  *first = HandlerRegistration();
  watch->Added(PodAt("b", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  *second = HandlerRegistration();
  EXPECT_LE(calls, 3);
}

TEST_F(InformerTest, ASlowHandlerDelaysOnlyItself) {
  SharedInformer<Pod> pods = Make();
  std::latch go(1);
  std::atomic<int> calls = 0;
  Witness<> quick;
  const Result<HandlerRegistration> slow = pods.AddEventHandler({.on_add =
                                                                     [&](const Ptr<Pod>&, bool) {
                                                                       ++calls;
                                                                       go.wait();
                                                                     }},
                                                                {.name = "slow"});
  const Result<HandlerRegistration> other = pods.AddEventHandler(quick.Handler());
  const auto watch = FirstList({PodAt("a", "1"), PodAt("b", "2")}, "10");
  pods.Start(ctx_);
  for (int i = 0; i < 100; ++i) watch->Added(PodAt("p" + std::to_string(i), std::to_string(11 + i)));
  ASSERT_TRUE(quick.WaitForCalls(102));
  EXPECT_FALSE(slow->HasSynced());
  EXPECT_EQ(slow->status().name, "slow");
  EXPECT_GT(slow->status().pending, 50U);
  go.count_down();
  ASSERT_TRUE(slow->WaitForSync(Soon()));
}

TEST_F(InformerTest, AHandlerThatThrowsIsToldTheRest) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  EventHandler<Pod> handler = witness.Handler();
  handler.on_add = [add = handler.on_add](const Ptr<Pod>& pod, bool initial) {
    add(pod, initial);
    throw std::runtime_error("broken");
  };
  const Result<HandlerRegistration> registration = pods.AddEventHandler(handler);
  const auto watch = FirstList({PodAt("a", "1"), PodAt("b", "2")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  watch->Modified(PodAt("a", "11"));
  ASSERT_TRUE(witness.WaitForCalls(3));
  EXPECT_EQ(registration->status().failures, 2U);
}

TEST_F(InformerTest, FiltersSeeTheirOwnWorld) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  EventHandler<Pod> handler = witness.Handler();
  handler.filter = [](const Pod& pod) { return pod.metadata.labels.Get("app") == "web"; };
  const Result<HandlerRegistration> registration = pods.AddEventHandler(handler);
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  Pod web = PodAt("a", "11");
  web.metadata.labels["app"] = "web";
  watch->Modified(web);
  watch->Modified(PodAt("a", "12"));
  ASSERT_TRUE(witness.WaitForCalls(2));
  EXPECT_THAT(witness.said(), ElementsAre("add default/a@11", "delete default/a@11"));
}

// ---- Events that no server should send ----

TEST_F(InformerTest, EventsThatComeTwiceAreToldOnce) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({}, "10");
  pods.Start(ctx_);
  watch->Added(PodAt("a", "11"));
  watch->Added(PodAt("a", "11"));
  watch->Modified(PodAt("a", "12"));
  watch->Modified(PodAt("a", "12"));
  watch->Deleted(PodAt("a", "13"));
  watch->Deleted(PodAt("a", "13"));
  watch->Added(PodAt("z", "14"));
  ASSERT_TRUE(witness.WaitFor("add default/z@14"));
  EXPECT_THAT(witness.said(), ElementsAre("add default/a@11", "update default/a@11->12", "delete default/a@13", "add default/z@14"));
}

TEST_F(InformerTest, OldEventsDoNotUndoNewOnes) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  watch->Modified(PodAt("a", "12"));
  watch->Modified(PodAt("a", "11"));  // late
  watch->Deleted(PodAt("a", "14"));
  watch->Modified(PodAt("a", "13"));  // late: it is already deleted
  watch->Added(PodAt("a", "15"));
  watch->Deleted(PodAt("a", "14"));  // late: that was another one
  watch->Added(PodAt("z", "16"));
  ASSERT_TRUE(witness.WaitFor("add default/z@16"));
  EXPECT_THAT(witness.said(), ElementsAre("add default/a@1 initial", "update default/a@1->12", "delete default/a@14", "add default/a@15",
                                          "add default/z@16"));
  EXPECT_THAT(witness.contradictions(), IsEmpty());
}

TEST_F(InformerTest, LateEventsOfOtherObjectsCount) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({}, "10");
  pods.Start(ctx_);
  watch->Added(PodAt("b", "12"));
  watch->Added(PodAt("a", "11"));  // after a newer one, but of another object
  ASSERT_TRUE(witness.WaitForCalls(2));
  EXPECT_THAT(witness.said(), ElementsAre("add default/b@12", "add default/a@11"));
}

TEST_F(InformerTest, ADeletionOfTheUnknownIsNotTold) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({}, "10");
  pods.Start(ctx_);
  watch->Deleted(PodAt("a", "11"));
  watch->Added(PodAt("z", "12"));
  ASSERT_TRUE(witness.WaitForCalls(1));
  EXPECT_THAT(witness.said(), ElementsAre("add default/z@12"));
}

TEST_F(InformerTest, AListThatNamesAnObjectTwiceTellsItOnce) {
  SharedInformer<Pod> pods = Make({.watch_list = false});
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  source_->AddList(PageOf<Pod>({PodAt("a", "1"), PodAt("b", "2"), PodAt("a", "3")}, "10"));
  const auto watch = source_->AddWatch();
  pods.Start(ctx_);
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  EXPECT_THAT(witness.said(), UnorderedElementsAre("add default/b@2 initial", "add default/a@3 initial"));
}

TEST_F(InformerTest, AServerThatWasRestoredFromABackupMayGoBack) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({PodAt("a", "90"), PodAt("b", "91")}, "100");
  pods.Start(ctx_);
  ASSERT_TRUE(watch->WaitDrained());
  const auto next = Relist(*watch, {PodAt("a", "5")}, "20");
  next->Added(PodAt("b", "21"));
  next->Modified(PodAt("a", "22"));
  ASSERT_TRUE(witness.WaitFor("update default/a@5->22"));
  EXPECT_THAT(witness.view(), (std::map<std::string, std::string>{{"default/a", "22"}, {"default/b", "21"}}));
  EXPECT_THAT(witness.contradictions(), IsEmpty());
}

TEST_F(InformerTest, AHundredThousandObjectsReplacedAtOnce) {
  constexpr int kObjects = 100'000;
  SharedInformer<Pod> pods = Make({.watch_list = false});
  std::atomic<int> adds = 0;
  std::atomic<int> updates = 0;
  std::atomic<int> deletes = 0;
  const Result<HandlerRegistration> registration = pods.AddEventHandler({.on_add = [&](const Ptr<Pod>&, bool) { ++adds; },
                                                                         .on_update = [&](const Ptr<Pod>&, const Ptr<Pod>&) { ++updates; },
                                                                         .on_delete = [&](const Deleted<Pod>&) { ++deletes; }});
  const auto list = [&](int from, const std::string& version) {
    std::vector<Pod> objects;
    objects.reserve(kObjects);
    for (int i = from; i < from + kObjects; ++i) objects.push_back(PodAt("pod-" + std::to_string(i), version));
    source_->AddList(PageOf<Pod>(std::move(objects), version));
  };
  list(0, "1000000");
  const auto watch = source_->AddWatch();
  pods.Start(ctx_);
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  EXPECT_EQ(adds, kObjects);
  list(kObjects / 2, "2000000");  // half of them stay, changed
  const auto next = source_->AddWatch();
  watch->Fail(Error(Error::Payload{.kind = ErrorKind::kApi, .http_code = 410, .reason = "Expired", .message = "too old"}));
  PassWaits(*watch, *next, 2);
  EXPECT_EQ(pods.indexer().size(), static_cast<std::size_t>(kObjects));
  EXPECT_EQ(pods.indexer().Get({"default", "pod-0"}), nullptr);
  EXPECT_NE(pods.indexer().Get({"default", "pod-149999"}), nullptr);
  Witness<> late;
  const Result<HandlerRegistration> witness = pods.AddEventHandler(late.Handler());
  ASSERT_TRUE(witness->WaitForSync(Soon()));
  EXPECT_EQ(late.view().size(), static_cast<std::size_t>(kObjects));
  while (registration->status().pending > 0) (void)Context::Background().SleepFor(std::chrono::milliseconds(1));
  EXPECT_EQ(adds, kObjects + kObjects / 2);
  EXPECT_EQ(updates, kObjects / 2);
  EXPECT_EQ(deletes, kObjects / 2);
}

// ---- Objects that are known before the start ----

TEST_F(InformerTest, TheFirstListDecidesAboutObjectsThatWereKnownBefore) {
  SharedInformer<Pod> pods = Make();
  for (const Pod& pod : {PodAt("vanished", "1"), PodAt("changed", "2"), PodAt("same", "3"), PodAt("unversioned", "")}) {
    pods.indexer().Add(std::make_shared<const Pod>(pod));
  }
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({PodAt("changed", "7"), PodAt("same", "3"), PodAt("unversioned", "5"), PodAt("new", "8")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  EXPECT_THAT(witness.said(),
              UnorderedElementsAre("add default/vanished@1 initial", "add default/changed@2 initial", "add default/same@3 initial",
                                   "add default/unversioned@ initial", "delete default/vanished@1 unknown", "update default/changed@2->7",
                                   "update default/unversioned@->5", "add default/new@8 initial"));
  EXPECT_THAT(witness.contradictions(), IsEmpty());
  EXPECT_EQ(pods.indexer().Get({"default", "vanished"}), nullptr);
  EXPECT_EQ(pods.indexer().size(), 4U);
}

TEST_F(InformerTest, AHandlerThatWasThereBeforeTheKnownObjectsHearsOfDifferencesOnly) {
  SharedInformer<Pod> pods = Make();
  std::vector<std::string> said;
  const Result<HandlerRegistration> registration = pods.AddEventHandler({
      .on_add = [&](const Ptr<Pod>& pod, bool) { said.push_back("add " + pod->metadata.name.str()); },
      .on_delete = [&](const Deleted<Pod>& gone) { said.push_back("delete " + gone.key.ToString()); },
  });
  pods.indexer().Add(std::make_shared<const Pod>(PodAt("vanished", "1")));
  pods.indexer().Add(std::make_shared<const Pod>(PodAt("same", "3")));
  const auto watch = FirstList({PodAt("same", "3")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  EXPECT_THAT(said, ElementsAre("delete default/vanished"));
}

TEST_F(InformerTest, KnownObjectsAreNoVersionOfTheServer) {
  SharedInformer<Pod> pods = Make();
  pods.indexer().Add(std::make_shared<const Pod>(PodAt("old", "99")));
  const auto watch = source_->AddWatch();
  pods.Start(ctx_);
  EXPECT_EQ(pods.indexer().resource_version(), "");
  EXPECT_FALSE(pods.HasSynced());
  SendList(*watch, {PodAt("old", "4")}, "10");
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  EXPECT_EQ(pods.indexer().resource_version(), "10");
  EXPECT_EQ(pods.indexer().Get({"default", "old"})->metadata.resource_version, "4");
}

// ---- Life ----

TEST_F(InformerTest, StopsWithItsContext) {
  SharedInformer<Pod> pods = Make();
  std::atomic<int> calls = 0;
  const Result<HandlerRegistration> registration = pods.AddEventHandler({.on_add = [&](const Ptr<Pod>&, bool) { ++calls; }});
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  cancel_.Cancel();
  ASSERT_TRUE(watch->WaitStopped());
  pods.Stop();
  EXPECT_EQ(pods.status().reflector.state, ReflectorState::kStopped);
  EXPECT_EQ(calls, 1);
}

TEST_F(InformerTest, ASecondStartDoesNothing) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  EXPECT_EQ(source_->watches().size(), 1U);
}

TEST_F(InformerTest, AStoppedOneNeverStartsAgain) {
  SharedInformer<Pod> pods = Make();
  pods.Stop();
  pods.Start(ctx_);
  const Result<void> synced = pods.WaitForSync(Soon());
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().kind(), ErrorKind::kClosed);
  EXPECT_THAT(source_->requests(), IsEmpty());
}

TEST_F(InformerTest, AStoppedContextIsTheCauseEvenIfTheInformerStoppedFirst) {
  SharedInformer<Pod> pods = Make();
  cancel_.Cancel();
  pods.Stop();
  const Result<void> synced = pods.WaitForSync(ctx_);
  ASSERT_FALSE(synced);
  EXPECT_TRUE(IsCancelled(synced.error())) << synced.error().ToString();
}

TEST_F(InformerTest, NeverStartedIsFine) {
  SharedInformer<Pod> pods = Make();
  const Result<HandlerRegistration> registration = pods.AddEventHandler({});
  EXPECT_FALSE(pods.HasSynced());
  EXPECT_EQ(pods.status().reflector.state, ReflectorState::kIdle);
  EXPECT_THAT(pods.status().ToString(), HasSubstr("pods"));
}

TEST_F(InformerTest, StopsWhenTheLastUserGoes) {
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  std::optional<Lister<Pod>> lister;
  {
    SharedInformer<Pod> pods = Make();
    pods.Start(ctx_);
    ASSERT_TRUE(pods.WaitForSync(Soon()));
    lister = pods.lister();
  }
  watch->Added(PodAt("b", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(watch->stops(), 0);  // the lister holds it
  EXPECT_TRUE(lister->Get({"default", "b"}));
  lister.reset();
  EXPECT_TRUE(watch->WaitStopped());
}

TEST_F(InformerTest, ARegistrationHoldsIt) {
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  Witness<> witness;
  std::optional<HandlerRegistration> registration;
  {
    SharedInformer<Pod> pods = Make();
    registration = *pods.AddEventHandler(witness.Handler());
    pods.Start(ctx_);
  }
  watch->Added(PodAt("b", "11"));
  ASSERT_TRUE(witness.WaitForCalls(2));
  registration.reset();
  EXPECT_TRUE(watch->WaitStopped());
}

TEST_F(InformerTest, TheLastUserMayGoInAHandler) {
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  auto pods = std::make_unique<SharedInformer<Pod>>(Make());
  std::latch ready(1);
  std::latch done(1);
  auto registration = std::make_unique<HandlerRegistration>();
  *registration = *pods->AddEventHandler({.on_add = [&](const Ptr<Pod>&, bool) {
    ready.wait();
    pods.reset();
    registration.reset();
    done.count_down();
  }});
  pods->Start(ctx_);
  ready.count_down();
  done.wait();
  EXPECT_TRUE(watch->WaitStopped());
}

TEST_F(InformerTest, StopInAHandlerDoesNotHang) {
  SharedInformer<Pod> pods = Make();
  std::latch done(2);
  std::latch both(2);
  const auto stop = [&](const Ptr<Pod>&, bool) {
    both.arrive_and_wait();
    pods.Stop();
    done.count_down();
  };
  const Result<HandlerRegistration> a = pods.AddEventHandler({.on_add = stop});
  const Result<HandlerRegistration> b = pods.AddEventHandler({.on_add = stop});
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  done.wait();
  pods.Stop();
}

TEST_F(InformerTest, StartAndStopRace) {
  for (int i = 0; i < 50; ++i) {
    SharedInformer<Pod> pods = Make();
    const auto watch = FirstList({PodAt("a", "1")}, "10");
    const Thread starter("starter", [&] { pods.Start(ctx_); });
    const Thread adder("adder", [&] { const Result<HandlerRegistration> r = pods.AddEventHandler({}); });
    pods.Stop();
  }
}

// ---- Waiting ----

TEST_F(InformerTest, WaitForSyncSaysWhatIsWrong) {
  SharedInformer<Pod> pods = Make();
  std::latch failed(1);
  ASSERT_TRUE(pods.OnError([&](const Error& error) {
    EXPECT_TRUE(IsForbidden(error));
    failed.count_down();
  }));
  source_->AddWatchError(Forbidden());
  source_->AddList(Forbidden());
  pods.Start(ctx_);
  failed.wait();
  const auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  const Result<void> synced = pods.WaitForSync(ctx);
  ASSERT_FALSE(synced);
  EXPECT_THAT(synced.error().ToString(), HasSubstr("pods is forbidden"));
  EXPECT_THAT(pods.status().ToString(), HasSubstr("pods is forbidden"));
}

TEST_F(InformerTest, WhoCanDoWithoutTheKindWaitsNoLongerThanTheServersRefusal) {
  SharedInformer<Pod> pods = Make();
  const Result<HandlerRegistration> registration = pods.AddEventHandler({});
  ASSERT_TRUE(registration);
  source_->AddWatchError(Forbidden());
  source_->AddList(Forbidden());
  EXPECT_FALSE(registration->refused());
  pods.Start(ctx_);
  const Result<bool> synced = registration->WaitForSyncOrRefusal(Soon());
  ASSERT_TRUE(synced) << synced.error().ToString();
  EXPECT_FALSE(*synced);
  EXPECT_TRUE(registration->refused());
}

TEST_F(InformerTest, WithoutARefusalItWaitsForTheHandlerToBeTold) {
  SharedInformer<Pod> pods = Make();
  std::atomic<int> told = 0;
  const Result<HandlerRegistration> registration = pods.AddEventHandler({.on_add = [&](const Ptr<Pod>&, bool) { ++told; }});
  const auto watch = FirstList({PodAt("a", "7"), PodAt("b", "8")}, "10");
  pods.Start(ctx_);
  const Result<bool> synced = registration->WaitForSyncOrRefusal(Soon());
  ASSERT_TRUE(synced) << synced.error().ToString();
  EXPECT_TRUE(*synced);
  EXPECT_EQ(told, 2);
  EXPECT_FALSE(registration->refused());
}

TEST_F(InformerTest, WaitUntilSeenReturnsAtOnceForWhatIsThere) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({PodAt("a", "7")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  EXPECT_TRUE(pods.WaitUntilSeen(Soon(), {"default", "a"}, "7"));
  EXPECT_TRUE(pods.WaitUntilSeen(Soon(), {"default", "other"}, "10"));
}

TEST_F(InformerTest, WaitUntilSeenWaitsForTheVersion) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({PodAt("a", "7")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  std::atomic<bool> seen = false;
  Thread waiter("waiter", [&] { seen = pods.WaitUntilSeen(Soon(), {"default", "a"}, "12").ok(); });
  watch->Modified(PodAt("a", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_FALSE(seen);
  watch->Modified(PodAt("a", "12"));
  waiter.Join();
  EXPECT_TRUE(seen);
}

TEST_F(InformerTest, AnythingLaterEndsTheWait) {
  for (const bool bookmark : {true, false}) {
    source_ = std::make_shared<ScriptedSource>();
    SharedInformer<Pod> pods = Make();
    const auto watch = FirstList({}, "10");
    pods.Start(ctx_);
    ASSERT_TRUE(pods.WaitForSync(Soon()));
    std::atomic<bool> seen = false;
    Thread waiter("waiter", [&] { seen = pods.WaitUntilSeen(Soon(), {"default", "a"}, "12").ok(); });
    if (bookmark) {
      watch->Bookmark("13");
    } else {
      watch->Added(PodAt("other", "13"));
    }
    waiter.Join();
    EXPECT_TRUE(seen);
  }
}

TEST_F(InformerTest, AListThatGoesBackInVersionsEndsTheWait) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({PodAt("a", "7")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  InformerCore& core = InformerAccess::HandleOf(pods)->core();
  const Awaited before{.key = {"default", "a"}, .version = 12, .stamp = NextStamp()};
  std::atomic<int> notified = 0;
  EXPECT_FALSE(core.HasSeen(before));
  ASSERT_TRUE(core.NotifyWhenSeen(before, [&] { ++notified; }));
  Relist(*watch, {PodAt("a", "2")}, "3");
  EXPECT_TRUE(core.HasSeen(before));
  EXPECT_EQ(notified, 1);
  EXPECT_EQ(pods.indexer().resource_version(), "3");
  EXPECT_FALSE(core.HasSeen({.key = {"default", "a"}, .version = 12, .stamp = NextStamp()})) << "a version of now is waited for";
}

TEST_F(InformerTest, WaitUntilSeenIsBounded) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  const Result<void> seen = pods.WaitUntilSeen(Context::Background().WithTimeout(std::chrono::milliseconds(1)), {"default", "a"}, "12");
  ASSERT_FALSE(seen);
  EXPECT_TRUE(IsDeadlineExceeded(seen.error()));
  EXPECT_THAT(seen.error().ToString(), HasSubstr("default/a"));
  EXPECT_EQ(pods.WaitUntilSeen(Soon(), {"default", "a"}, "x").error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(pods.WaitUntilSeen(Soon(), {"default", "a"}, "").error().kind(), ErrorKind::kInvalid);
}

TEST_F(InformerTest, WaitsEndWithTheInformer) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  Thread waiter("waiter", [&] {
    const Result<void> seen = pods.WaitUntilSeen(Soon(), {"default", "a"}, "12");
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().kind(), ErrorKind::kClosed);
  });
  pods.Stop();
  waiter.Join();
}

// ---- What a controller waits for: its own writes ----

TEST_F(InformerTest, ADeletionIsSeenWhenTheObjectIsGoneOrBeingDeleted) {
  SharedInformer<Pod> pods = Make();
  const auto uid = [](Pod pod, const char* id) {
    pod.metadata.uid = id;
    return pod;
  };
  const auto watch = FirstList({uid(PodAt("a", "7"), "1"), uid(PodAt("b", "8"), "2")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  InformerCore& core = InformerAccess::HandleOf(pods)->core();
  using Deletion = Awaited::Deletion;
  const Awaited asked{.key = {"default", "a"}, .deletion = Deletion::kAskedFor, .uid = "1"};
  const Awaited done{.key = {"default", "a"}, .deletion = Deletion::kDone, .uid = "1"};
  const Awaited any{.key = {"default", "b"}, .deletion = Deletion::kDone};
  EXPECT_FALSE(core.HasSeen(asked));
  EXPECT_FALSE(core.HasSeen(done));
  EXPECT_FALSE(core.HasSeen(any));
  EXPECT_TRUE(core.HasSeen({.key = {"default", "a"}, .deletion = Deletion::kDone, .uid = "other"}));
  EXPECT_TRUE(core.HasSeen({.key = {"default", "c"}, .deletion = Deletion::kDone, .uid = "1"}));
  // Not before the creation has been seen.
  EXPECT_FALSE(core.HasSeen({.key = {"default", "c"}, .version = 12, .deletion = Deletion::kDone, .uid = "1"}));

  Pod ending = uid(PodAt("a", "11"), "1");
  ending.metadata.deletion_timestamp = Time::FromUnix(1000);
  watch->Modified(ending);
  ASSERT_TRUE(core.WaitUntilSeen(Soon(), asked));
  EXPECT_FALSE(core.HasSeen(done));
  ending.metadata.resource_version = "12";
  watch->Deleted(ending);
  ASSERT_TRUE(core.WaitUntilSeen(Soon(), done));
  watch->Added(uid(PodAt("a", "13"), "3"));
  watch->Deleted(uid(PodAt("b", "14"), "2"));
  ASSERT_TRUE(core.WaitUntilSeen(Soon(), any));
  EXPECT_TRUE(core.HasSeen(done));  // it is another one
}

TEST_F(InformerTest, AnObjectThatIsNotSelectedIsSeenWhenItIsNotThere) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({PodAt("a", "7")}, "10");
  InformerCore& core = InformerAccess::HandleOf(pods)->core();
  EXPECT_FALSE(core.HasSeen({.key = {"default", "c"}, .version = 12, .unselected = true}));  // not known yet
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  EXPECT_TRUE(core.HasSeen({.key = {"default", "c"}, .version = 12, .unselected = true}));
  EXPECT_FALSE(core.HasSeen({.key = {"default", "a"}, .version = 12, .unselected = true}));
  watch->Deleted(PodAt("a", "12"));
  EXPECT_TRUE(core.WaitUntilSeen(Soon(), {.key = {"default", "a"}, .version = 12, .unselected = true}));
}

TEST_F(InformerTest, WhoWantsToKnowIsToldOnceWhenItHasBeenSeen) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({}, "10");
  InformerCore& core = InformerAccess::HandleOf(pods)->core();
  std::atomic<int> early = 0, told = 0, cancelled = 0, never = 0;
  ASSERT_TRUE(core.NotifyWhenSeen({.key = {"default", "a"}, .version = 10}, [&] { ++early; }));
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  ASSERT_TRUE(core.NotifyWhenSeen({.key = {"default", "a"}, .version = 12}, [&] { ++told; }));
  const std::optional<std::uint64_t> id = core.NotifyWhenSeen({.key = {"default", "a"}, .version = 12}, [&] { ++cancelled; });
  ASSERT_TRUE(id);
  core.CancelNotify(*id);
  core.CancelNotify(*id);
  ASSERT_TRUE(core.NotifyWhenSeen({.key = {"default", "a"}, .version = 99}, [&] { ++never; }));
  EXPECT_FALSE(core.NotifyWhenSeen({.key = {"default", "a"}, .version = 10}, [&] { ++told; }));
  watch->Added(PodAt("a", "11"));
  ASSERT_TRUE(core.WaitUntilSeen(Soon(), {.key = {"default", "a"}, .version = 11}));
  EXPECT_EQ(told, 0);
  watch->Added(PodAt("b", "12"));
  watch->Added(PodAt("c", "13"));
  ASSERT_TRUE(core.WaitUntilSeen(Soon(), {.key = {"default", "c"}, .version = 13}));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(early, 1);
  EXPECT_EQ(never, 0);
  pods.Stop();
  EXPECT_EQ(never, 1);  // a waiter must not wait indefinitely
  EXPECT_EQ(cancelled, 0);
  EXPECT_TRUE(core.stopped());
  EXPECT_FALSE(core.NotifyWhenSeen({.key = {"default", "a"}, .version = 99}, [&] { ++never; }));
}

// ---- Transforms, indexes, status ----

TEST_F(InformerTest, TransformsRunOnceBeforeAnybodySeesTheObject) {
  SharedInformer<Pod> pods = Make({.resync = std::chrono::seconds(1)});
  std::atomic<int> runs = 0;
  ASSERT_TRUE(pods.Transform([&](Pod& pod) -> Result<void> {
    ++runs;
    pod.metadata.annotations["seen"] = "yes";
    return {};
  }));
  Witness<> witness;
  EventHandler<Pod> handler = witness.Handler();
  std::atomic<int> without = 0;
  handler.filter = [&](const Pod& pod) {
    if (pod.metadata.annotations.Get("seen") != "yes") ++without;
    return true;
  };
  const Result<HandlerRegistration> registration = pods.AddEventHandler(handler);
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(std::chrono::seconds(1));
  watch->Deleted(PodAt("a", "11"));
  ASSERT_TRUE(witness.WaitFor("delete default/a@11"));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(without, 0);
  EXPECT_EQ(pods.Transform({}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(pods.OnError({}).error().kind(), ErrorKind::kInvalid);
}

TEST_F(InformerTest, IndexesMayComeLate) {
  SharedInformer<Pod> pods = Make();
  Pod a = PodAt("a", "1");
  a.spec.node_name = "n1";
  const auto watch = FirstList({a, PodAt("b", "2")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  ASSERT_TRUE(pods.AddIndex("node", [](const Pod& pod) { return std::vector<String>{pod.spec.node_name}; }));
  const Result<std::vector<Ptr<Pod>>> found = pods.indexer().ByIndex("node", "n1");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ((*found)[0]->metadata.name, "a");
}

TEST_F(InformerTest, StatusTellsWhereItStands) {
  SharedInformer<Pod> pods = Make({.ns = "default", .label_selector = "app=web"});
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler(), {.name = "witness"});
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::seconds(3));
  const InformerStatus status = pods.status();
  EXPECT_EQ(status.what, "pods");
  EXPECT_EQ(status.ns, "default");
  EXPECT_EQ(status.label_selector, "app=web");
  EXPECT_TRUE(status.synced);
  EXPECT_EQ(status.objects, 1U);
  EXPECT_EQ(status.reflector.state, ReflectorState::kWatching);
  EXPECT_EQ(status.reflector.resource_version, "10");
  EXPECT_EQ(status.silence, std::chrono::seconds(3));
  ASSERT_EQ(status.handlers.size(), 1U);
  EXPECT_EQ(status.handlers[0].name, "witness");
  EXPECT_TRUE(status.handlers[0].synced);
  EXPECT_THAT(status.ToString(), HasSubstr("watching"));
  EXPECT_EQ(source_->watches()[0].ns, "default");
  EXPECT_EQ(source_->watches()[0].label_selector, "app=web");
}

TEST_F(InformerTest, StatsTellWhatSharingSaves) {
  SharedInformer<Pod> pods = Make();
  Pod pod = PodAt("a", "1");
  pod.metadata.annotations["long"] = std::string(1000, 'x');
  Pod twin = pod;  // shares its parts
  twin.metadata.name = "b";
  const auto watch = FirstList({pod, twin}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  const CacheStats stats = pods.Stats();
  EXPECT_EQ(stats.objects, 2U);
  EXPECT_GT(stats.logical_bytes, stats.real_bytes + 900);
}

TEST(VersionNumberTest, ReadsNumbersOnly) {
  EXPECT_EQ(VersionNumber("42"), 42U);
  EXPECT_EQ(VersionNumber("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(VersionNumber(""), std::nullopt);
  EXPECT_EQ(VersionNumber("18446744073709551616"), std::nullopt);
  EXPECT_EQ(VersionNumber("4a"), std::nullopt);
  EXPECT_EQ(VersionNumber("-4"), std::nullopt);
}

}  // namespace
}  // namespace kube::internal
