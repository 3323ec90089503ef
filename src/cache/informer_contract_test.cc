// Contracts 9 to 15 of the list that re-implementations get wrong, on informers with a scripted server.
#include <latch>

#include "cache/informer_test_util.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Said = std::vector<std::string>;

// ---- 9: an object that is missing from a list is reported as deleted ----

class Contract09_MissingFromARelist : public InformerFixture {};

TEST_F(Contract09_MissingFromARelist, IsADeletionWithTheKeyAndTheLastStateThatWasSeen) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({PodAt("a", "1"), PodAt("b", "2")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(watch->WaitDrained());
  const auto next = Relist(*watch, {PodAt("b", "2")}, "20");
  ASSERT_TRUE(witness.WaitForCalls(3));
  EXPECT_EQ(witness.said()[2], "delete default/a@1 unknown");
  EXPECT_EQ(pods.indexer().Get({"default", "a"}), nullptr);
  EXPECT_THAT(witness.contradictions(), IsEmpty());
}

TEST_F(Contract09_MissingFromARelist, HandlersGetTheTombstoneEvenIfNobodyHoldsTheObject) {
  SharedInformer<Pod> pods = Make();
  std::latch told(1);
  Deleted<Pod> seen;
  const Result<HandlerRegistration> registration = pods.AddEventHandler({.on_delete = [&](const Deleted<Pod>& gone) {
    seen = gone;
    told.count_down();
  }});
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(watch->WaitDrained());
  const auto next = Relist(*watch, {}, "20");
  told.wait();
  EXPECT_EQ(seen.key, (ObjectKey{"default", "a"}));
  EXPECT_TRUE(seen.final_state_unknown);
  ASSERT_NE(seen.object, nullptr);
  EXPECT_EQ(seen.object->metadata.resource_version, "1");
}

TEST_F(Contract09_MissingFromARelist, ADeletionThatWasSeenIsNotATombstone) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  watch->Deleted(PodAt("a", "11"));
  ASSERT_TRUE(witness.WaitForCalls(2));
  EXPECT_THAT(witness.said(), ElementsAre("add default/a@1 initial", "delete default/a@11"));
}

// ---- 10: the store first, and deletions before the rest ----

class Contract10_ReplaceOrder : public InformerFixture {};

TEST_F(Contract10_ReplaceOrder, TheStoreIsCompleteBeforeTheFirstCallAndDeletesComeFirst) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  std::map<std::string, std::vector<std::string>> seen;  // at each call after the first list: what the cache has
  Mutex mu;
  EventHandler<Pod> handler = witness.Handler();
  const auto note = [&](const std::string& call) {
    std::vector<std::string> names;
    for (const Ptr<Pod>& pod : pods.indexer().List()) names.push_back(pod->metadata.name.str());
    MutexLock lock(mu);
    seen[call] = names;
  };
  EventHandler<Pod> recorder{.on_add =
                                 [&, add = handler.on_add](const Ptr<Pod>& p, bool initial) {
                                   note("add " + p->metadata.name.str());
                                   add(p, initial);
                                 },
                             .on_update =
                                 [&, update = handler.on_update](const Ptr<Pod>& b, const Ptr<Pod>& p) {
                                   note("update " + p->metadata.name.str());
                                   update(b, p);
                                 },
                             .on_delete =
                                 [&, gone = handler.on_delete](const Deleted<Pod>& d) {
                                   note("delete " + d.key.name.str());
                                   gone(d);
                                 }};
  Result<HandlerRegistration> registration = pods.AddEventHandler(recorder);
  const auto watch = FirstList({PodAt("a", "1"), PodAt("b", "2"), PodAt("c", "3")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(witness.WaitForCalls(3));
  const auto next = Relist(*watch, {PodAt("c", "12"), PodAt("d", "13"), PodAt("e", "14")}, "20");
  ASSERT_TRUE(witness.WaitForCalls(8));
  const Said said = witness.said();
  EXPECT_THAT(Said(said.begin() + 3, said.begin() + 5), UnorderedElementsAre("delete default/a@1 unknown", "delete default/b@2 unknown"));
  EXPECT_THAT(Said(said.begin() + 5, said.end()), UnorderedElementsAre("update default/c@3->12", "add default/d@13", "add default/e@14"));
  MutexLock lock(mu);
  for (const std::string call : {"delete a", "delete b", "update c", "add d", "add e"}) {
    EXPECT_THAT(seen[call], UnorderedElementsAre("c", "d", "e")) << call;
  }
}

// ---- 11: a deletion that is queued before a list that has the object ----

class Contract11_DeleteThenReplace : public InformerFixture {};

TEST_F(Contract11_DeleteThenReplace, TheNewObjectIsTold) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(watch->WaitDrained());
  watch->Deleted(PodAt("a", "11"));
  const auto next = Relist(*watch, {PodAt("a", "15")}, "20");
  ASSERT_TRUE(witness.WaitForCalls(3));
  EXPECT_THAT(witness.said(), ElementsAre("add default/a@1 initial", "delete default/a@11", "add default/a@15"));
  EXPECT_THAT(witness.contradictions(), IsEmpty());
}

// ---- 12: HasSynced ----

class Contract12_InformerHasSynced : public InformerFixture {};

TEST_F(Contract12_InformerHasSynced, NotBeforeTheListIsComplete) {
  SharedInformer<Pod> pods = Make();
  const auto watch = source_->AddWatch();
  pods.Start(ctx_);
  watch->Added(PodAt("a", "1"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_FALSE(pods.HasSynced());
  EXPECT_EQ(pods.indexer().size(), 0U);
  watch->Synced("10");
  EXPECT_TRUE(pods.WaitForSync(Soon()));
  EXPECT_TRUE(pods.HasSynced());
  EXPECT_EQ(pods.indexer().size(), 1U);
}

TEST_F(Contract12_InformerHasSynced, AHandlerHasSyncedWhenItWasToldTheLastInitialObject) {
  SharedInformer<Pod> pods = Make();
  std::latch second(1);
  std::latch go(1);
  int calls = 0;
  const Result<HandlerRegistration> registration = pods.AddEventHandler({.on_add = [&](const Ptr<Pod>&, bool) {
    if (++calls == 2) {
      second.count_down();
      go.wait();
    }
  }});
  const auto watch = FirstList({PodAt("a", "1"), PodAt("b", "2")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  second.wait();
  EXPECT_TRUE(pods.HasSynced());
  EXPECT_FALSE(registration->HasSynced());
  go.count_down();
  EXPECT_TRUE(registration->WaitForSync(Soon()));
  EXPECT_TRUE(registration->HasSynced());
}

TEST_F(Contract12_InformerHasSynced, StaysTrueOverARelist) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  const auto next = Relist(*watch, {}, "20");
  EXPECT_TRUE(pods.HasSynced());
}

// ---- 13: handlers that come late ----

class Contract13_LateHandler : public InformerFixture {};

TEST_F(Contract13_LateHandler, SeesEveryCachedObjectOnceAsInitial) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({PodAt("a", "1"), PodAt("b", "2")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  ASSERT_TRUE(registration->WaitForSync(Soon()));
  watch->Modified(PodAt("a", "11"));
  ASSERT_TRUE(witness.WaitForCalls(3));
  const Said said = witness.said();
  EXPECT_THAT(Said(said.begin(), said.begin() + 2), UnorderedElementsAre("add default/a@1 initial", "add default/b@2 initial"));
  EXPECT_EQ(said[2], "update default/a@1->11");
}

TEST_F(Contract13_LateHandler, NothingIsLostOrRepeatedWhileEventsCome) {
  SharedInformer<Pod> pods = Make();
  const auto watch = FirstList({}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(pods.WaitForSync(Soon()));
  std::vector<std::unique_ptr<Witness<>>> witnesses;
  std::vector<HandlerRegistration> registrations;
  constexpr int kObjects = 200;
  int version = 11;
  for (int i = 0; i < kObjects; ++i) {
    watch->Added(PodAt("p" + std::to_string(i), std::to_string(version++)));
    if (i % 3 == 0 && i > 0) watch->Modified(PodAt("p" + std::to_string(i - 1), std::to_string(version++)));
    if (i % 10 == 0) {
      witnesses.push_back(std::make_unique<Witness<>>());
      Result<HandlerRegistration> registration = pods.AddEventHandler(witnesses.back()->Handler());
      ASSERT_TRUE(registration);
      registrations.push_back(*std::move(registration));
    }
    if (i % 20 == 19) registrations.erase(registrations.begin());
  }
  watch->Added(PodAt("last", std::to_string(version)));
  const std::size_t removed = witnesses.size() - registrations.size();
  for (std::size_t i = 0; i < witnesses.size(); ++i) {
    if (i >= removed) {
      const std::string last = "default/last@" + std::to_string(version);
      ASSERT_TRUE(witnesses[i]->WaitForEither("add " + last, "add " + last + " initial"));
      EXPECT_EQ(witnesses[i]->view().size(), static_cast<std::size_t>(kObjects) + 1);
    }
    EXPECT_THAT(witnesses[i]->contradictions(), IsEmpty());
  }
}

TEST_F(Contract13_LateHandler, OnAStoppedInformerIsAnError) {
  SharedInformer<Pod> pods = Make();
  pods.Start(ctx_);
  pods.Stop();
  const Result<HandlerRegistration> registration = pods.AddEventHandler({});
  ASSERT_FALSE(registration);
  EXPECT_EQ(registration.error().kind(), ErrorKind::kClosed);
}

// ---- 14: resyncs ----

class Contract14_Resync : public InformerFixture {};

TEST_F(Contract14_Resync, OnlyHandlersThatAreDueGetUpdatesWithoutAChange) {
  SharedInformer<Pod> pods = Make({.resync = std::chrono::seconds(2)});
  Witness<> often;
  Witness<> seldom;
  Witness<> never;
  const Result<HandlerRegistration> a = pods.AddEventHandler(often.Handler());
  const Result<HandlerRegistration> b = pods.AddEventHandler(seldom.Handler(), {.resync = std::chrono::seconds(6)});
  const Result<HandlerRegistration> c = pods.AddEventHandler(never.Handler(), {.resync = std::chrono::seconds(0)});
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(watch->WaitDrained());
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(clock_->WaitForWaiters(1));
    clock_->Advance(std::chrono::seconds(2));
    ASSERT_TRUE(often.WaitForCalls(static_cast<std::size_t>(1 + i)));
    ASSERT_TRUE(watch->WaitDrained());
  }
  ASSERT_TRUE(seldom.WaitForCalls(2));
  ASSERT_TRUE(never.WaitForCalls(1));
  EXPECT_EQ(often.said()[1], "update default/a@1->1");
  EXPECT_THAT(seldom.said(), ElementsAre("add default/a@1 initial", "update default/a@1->1"));
  EXPECT_THAT(never.said(), ElementsAre("add default/a@1 initial"));
  EXPECT_THAT(source_->requests(), ElementsAre("watch"));  // never from the server
}

TEST_F(Contract14_Resync, ARelistTellsOnlyWhatChanged) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler());
  const auto watch = FirstList({PodAt("a", "1"), PodAt("b", "2")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(watch->WaitDrained());
  const auto next = Relist(*watch, {PodAt("a", "1"), PodAt("b", "15")}, "20");
  ASSERT_TRUE(witness.WaitFor("update default/b@2->15"));
  EXPECT_EQ(witness.said().size(), 3U);
}

TEST_F(Contract14_Resync, WithoutAPeriodOfItsOwnNoHandlerGetsAny) {
  SharedInformer<Pod> pods = Make();
  Witness<> witness;
  const Result<HandlerRegistration> registration = pods.AddEventHandler(witness.Handler(), {.resync = std::chrono::seconds(1)});
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::seconds(5));
  watch->Modified(PodAt("a", "11"));
  ASSERT_TRUE(witness.WaitForCalls(2));
  EXPECT_THAT(witness.said(), ElementsAre("add default/a@1 initial", "update default/a@1->11"));
}

TEST_F(Contract14_Resync, TheSmallestWishBeforeTheStartCountsAndLaterOnesAreRaised) {
  SharedInformer<Pod> pods = Make({.resync = std::chrono::seconds(60)});
  Witness<> early;
  Witness<> late;
  const Result<HandlerRegistration> a = pods.AddEventHandler(early.Handler(), {.resync = std::chrono::seconds(4)});
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(watch->WaitDrained());
  const Result<HandlerRegistration> b = pods.AddEventHandler(late.Handler(), {.resync = std::chrono::seconds(1)});
  ASSERT_TRUE(b->WaitForSync(Soon()));
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(std::chrono::seconds(4));
  ASSERT_TRUE(early.WaitForCalls(2));
  ASSERT_TRUE(late.WaitForCalls(2));
  EXPECT_EQ(late.said().size(), 2U);
}

// ---- 15: removing a handler ----

class Contract15_Removal : public InformerFixture {};

TEST_F(Contract15_Removal, RemoveReturnsBeforeTheRunningCallEndsAndDropsTheRest) {
  SharedInformer<Pod> pods = Make();
  std::latch entered(1);
  std::latch go(1);
  std::atomic<int> calls = 0;
  Result<HandlerRegistration> registration = pods.AddEventHandler({.on_add = [&](const Ptr<Pod>&, bool) {
    ++calls;
    entered.count_down();
    go.wait();
  }});
  const auto watch = FirstList({PodAt("a", "1"), PodAt("b", "2")}, "10");
  pods.Start(ctx_);
  entered.wait();
  registration->Remove();  // returns: the call is still running
  go.count_down();
  *registration = HandlerRegistration();  // waits for it
  EXPECT_EQ(calls, 1);
  watch->Added(PodAt("c", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(pods.status().handlers, IsEmpty());
}

TEST_F(Contract15_Removal, OthersGoOn) {
  SharedInformer<Pod> pods = Make();
  Witness<> stays;
  Witness<> goes;
  const Result<HandlerRegistration> a = pods.AddEventHandler(stays.Handler());
  Result<HandlerRegistration> b = pods.AddEventHandler(goes.Handler());
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  ASSERT_TRUE(goes.WaitForCalls(1));
  *b = HandlerRegistration();
  watch->Added(PodAt("b", "11"));
  ASSERT_TRUE(stays.WaitForCalls(2));
  EXPECT_EQ(goes.said().size(), 1U);
}

TEST_F(Contract15_Removal, InTheHandlerItselfDoesNotWaitForItself) {
  SharedInformer<Pod> pods = Make();
  std::latch done(1);
  std::latch ready(1);
  HandlerRegistration registration;
  Result<HandlerRegistration> made = pods.AddEventHandler({.on_add = [&](const Ptr<Pod>&, bool) {
    ready.wait();
    { const HandlerRegistration mine = std::move(registration); }
    done.count_down();
  }});
  registration = *std::move(made);
  ready.count_down();
  const auto watch = FirstList({PodAt("a", "1")}, "10");
  pods.Start(ctx_);
  done.wait();
  ASSERT_TRUE(watch->WaitDrained());
  pods.Stop();
}

}  // namespace
}  // namespace kube::internal
