#include "cache/handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kube/api/core/v1.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using Kind = Notification::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ObjectRef MakePod(const std::string& name, const std::string& version = "1", const std::string& app = "") {
  auto pod = std::make_shared<Pod>();
  pod->metadata.namespace_ = "default";
  pod->metadata.name = name;
  pod->metadata.resource_version = version;
  if (!app.empty()) pod->metadata.labels["app"] = app;
  return pod;
}
std::string Describe(const ObjectRef& object) {
  const auto& pod = *static_cast<const Pod*>(object.get());
  return pod.metadata.name.str() + "@" + pod.metadata.resource_version.str();
}

class Log {
 public:
  void Say(std::string text) {
    MutexLock lock(mu_);
    said_.push_back(std::move(text));
  }
  std::vector<std::string> said() const {
    MutexLock lock(mu_);
    return said_;
  }
  Handler Recorder() {
    return {.on_add = [this](const ObjectRef& o, bool initial) { Say("add " + Describe(o) + (initial ? " initial" : "")); },
            .on_update = [this](const ObjectRef& b, const ObjectRef& a) { Say("update " + Describe(b) + " " + Describe(a)); },
            .on_delete = [this](const ObjectKey& key, const ObjectRef& o,
                                bool unknown) { Say("delete " + key.ToString() + " " + Describe(o) + (unknown ? " unknown" : "")); }};
  }

 private:
  mutable Mutex mu_;
  std::vector<std::string> said_ KUBE_GUARDED_BY(mu_);
};

std::shared_ptr<HandlerThread> Start(Handler handler, bool quick = false) {
  return HandlerThread::Start(std::move(handler), "test", quick, ObjectForm::Of<Pod>(), "pods");
}
Context Soon() { return Context::Background().WithTimeout(std::chrono::seconds(60)); }
// Returns when all notifications that were pushed before have been delivered.
void Drain(HandlerThread& handler) {
  const Notification synced{.kind = Kind::kSynced};
  (void)handler.Push({&synced, 1}, false);
  const Result<void> done = handler.WaitForSync(Soon());
  ASSERT_TRUE(done) << done.error().ToString();
}

TEST(HandlerThreadTest, TellsInOrder) {
  Log log;
  const std::shared_ptr<HandlerThread> handler = Start(log.Recorder());
  const std::vector<Notification> notifications{{.kind = Kind::kAdd, .flag = true, .after = MakePod("a")},
                                                {.kind = Kind::kAdd, .after = MakePod("b")},
                                                {.kind = Kind::kUpdate, .before = MakePod("a"), .after = MakePod("a", "2")},
                                                {.kind = Kind::kDelete, .before = MakePod("b")},
                                                {.kind = Kind::kDelete, .flag = true, .before = MakePod("a", "2")}};
  (void)handler->Push(notifications, false);
  Drain(*handler);
  EXPECT_THAT(log.said(),
              ElementsAre("add a@1 initial", "add b@1", "update a@1 a@2", "delete default/b b@1", "delete default/a a@2 unknown"));
  const HandlerStatus status = handler->status();
  EXPECT_EQ(status.handled, 5U);
  EXPECT_EQ(status.failures, 0U);
  EXPECT_EQ(status.pending, 0U);
  EXPECT_EQ(status.name, "test");
  handler->RemoveAndWait();
}

TEST(HandlerThreadTest, EmptyHandlersAreFine) {
  const std::shared_ptr<HandlerThread> handler = Start({});
  const std::vector<Notification> notifications{{.kind = Kind::kAdd, .after = MakePod("a")},
                                                {.kind = Kind::kUpdate, .before = MakePod("a"), .after = MakePod("a", "2")},
                                                {.kind = Kind::kDelete, .before = MakePod("a", "2")}};
  (void)handler->Push(notifications, false);
  Drain(*handler);
  EXPECT_EQ(handler->status().handled, 3U);
  handler->RemoveAndWait();
}

TEST(HandlerThreadTest, SyncedComesBehindWhatWasBefore) {
  std::latch entered(1);
  std::latch go(1);
  const std::shared_ptr<HandlerThread> handler = Start({.on_add = [&](const ObjectRef&, bool) {
    entered.count_down();
    go.wait();
  }});
  const std::vector<Notification> notifications{{.kind = Kind::kAdd, .flag = true, .after = MakePod("a")}, {.kind = Kind::kSynced}};
  (void)handler->Push(notifications, false);
  entered.wait();
  EXPECT_FALSE(handler->HasSynced());
  EXPECT_EQ(handler->status().pending, 2U);
  go.count_down();
  EXPECT_TRUE(handler->WaitForSync(Soon()));
  EXPECT_TRUE(handler->HasSynced());
  handler->RemoveAndWait();
}

TEST(HandlerThreadTest, WaitForSyncEndsWithTheContext) {
  const std::shared_ptr<HandlerThread> handler = Start({});
  const auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  const Result<void> waited = handler->WaitForSync(ctx);
  ASSERT_FALSE(waited);
  EXPECT_TRUE(IsCancelled(waited.error()));
  EXPECT_THAT(waited.error().ToString(), ::testing::HasSubstr("handler test"));
  handler->RemoveAndWait();
}

TEST(HandlerThreadTest, WaitForSyncEndsWithRemoval) {
  const std::shared_ptr<HandlerThread> handler = Start({});
  handler->Remove();
  const Result<void> waited = handler->WaitForSync(Soon());
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind(), ErrorKind::kClosed);
  handler->RemoveAndWait();  // or its thread may outlive main()
}

TEST(HandlerThreadTest, AStoppedContextIsTheCauseEvenIfTheHandlerWasRemovedFirst) {
  const std::shared_ptr<HandlerThread> handler = Start({});
  const auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  handler->Remove();
  const Result<void> waited = handler->WaitForSync(ctx);
  ASSERT_FALSE(waited);
  EXPECT_TRUE(IsCancelled(waited.error())) << waited.error().ToString();
  handler->RemoveAndWait();
}

TEST(HandlerThreadTest, AHandlerThatThrowsIsCountedAndGoesOn) {
  Log log;
  Handler handler = log.Recorder();
  handler.on_add = [&](const ObjectRef& object, bool) {
    log.Say("add " + Describe(object));
    if (Describe(object) == "a@1") throw std::runtime_error("broken");
    if (Describe(object) == "b@1") throw 7;
  };
  const std::shared_ptr<HandlerThread> thread = Start(std::move(handler));
  const std::vector<Notification> notifications{{.kind = Kind::kAdd, .after = MakePod("a")},
                                                {.kind = Kind::kAdd, .after = MakePod("b")},
                                                {.kind = Kind::kAdd, .after = MakePod("c")}};
  (void)thread->Push(notifications, false);
  Drain(*thread);
  EXPECT_THAT(log.said(), ElementsAre("add a@1", "add b@1", "add c@1"));
  EXPECT_EQ(thread->status().failures, 2U);
  EXPECT_EQ(thread->status().handled, 3U);
  thread->RemoveAndWait();
}

TEST(HandlerThreadTest, AFilterThatThrowsIsCounted) {
  Log log;
  Handler handler = log.Recorder();
  handler.filter = [](const void*) -> bool { throw std::runtime_error("broken"); };
  const std::shared_ptr<HandlerThread> thread = Start(std::move(handler));
  const Notification add{.kind = Kind::kAdd, .after = MakePod("a")};
  (void)thread->Push({&add, 1}, false);
  Drain(*thread);
  EXPECT_THAT(log.said(), IsEmpty());
  EXPECT_EQ(thread->status().failures, 1U);
  thread->RemoveAndWait();
}

TEST(FilteringHandlerTest, CrossingTheFilterIsAnAddOrADelete) {
  Log log;
  Handler handler = log.Recorder();
  handler.filter = [](const void* object) { return static_cast<const Pod*>(object)->metadata.labels.Get("app") == "web"; };
  const std::shared_ptr<HandlerThread> thread = Start(std::move(handler));
  const ObjectRef other1 = MakePod("a", "1");
  const ObjectRef web2 = MakePod("a", "2", "web");
  const ObjectRef web3 = MakePod("a", "3", "web");
  const ObjectRef other4 = MakePod("a", "4");
  const ObjectRef other5 = MakePod("a", "5");
  const std::vector<Notification> notifications{
      {.kind = Kind::kAdd, .flag = true, .after = other1},        {.kind = Kind::kUpdate, .before = other1, .after = web2},
      {.kind = Kind::kUpdate, .before = web2, .after = web3},     {.kind = Kind::kUpdate, .before = web3, .after = other4},
      {.kind = Kind::kUpdate, .before = other4, .after = other5}, {.kind = Kind::kDelete, .before = other5},
      {.kind = Kind::kAdd, .flag = true, .after = web2},          {.kind = Kind::kDelete, .flag = true, .before = web3}};
  (void)thread->Push(notifications, false);
  Drain(*thread);
  EXPECT_THAT(log.said(),
              ElementsAre("add a@2", "update a@2 a@3", "delete default/a a@3", "add a@2 initial", "delete default/a a@3 unknown"));
  thread->RemoveAndWait();
}

// Where an update was missed, the last state of an object may say something else than what the handler knows of it.
TEST(FilteringHandlerTest, DeletionIsToldToThoseWhoKnewTheObject) {
  Log log;
  Handler handler = log.Recorder();
  handler.filter = [](const void* object) { return static_cast<const Pod*>(object)->metadata.labels.Get("app") == "web"; };
  const std::shared_ptr<HandlerThread> thread = Start(std::move(handler));
  const ObjectRef web1 = MakePod("a", "1", "web");
  const ObjectRef other1 = MakePod("b", "1");
  const std::vector<Notification> notifications{{.kind = Kind::kAdd, .after = web1},
                                                {.kind = Kind::kAdd, .after = other1},
                                                {.kind = Kind::kDelete, .before = MakePod("a", "3"), .after = web1},
                                                {.kind = Kind::kDelete, .before = MakePod("b", "3", "web"), .after = other1}};
  (void)thread->Push(notifications, false);
  Drain(*thread);
  EXPECT_THAT(log.said(), ElementsAre("add a@1", "delete default/a a@3"));
  thread->RemoveAndWait();
}

TEST(Contract15_RemovingAHandler, ReturnsBeforeTheRunningCallEndsAndDropsTheRest) {
  Log log;
  std::latch entered(1);
  std::latch go(1);
  const std::shared_ptr<HandlerThread> handler = Start({.on_add = [&](const ObjectRef& object, bool) {
    log.Say(Describe(object));
    entered.count_down();
    go.wait();
  }});
  const std::vector<Notification> notifications{{.kind = Kind::kAdd, .after = MakePod("a")}, {.kind = Kind::kAdd, .after = MakePod("b")}};
  (void)handler->Push(notifications, false);
  entered.wait();
  handler->Remove();  // returns although the call is running
  (void)handler->Push(notifications, false);
  go.count_down();
  handler->RemoveAndWait();
  EXPECT_THAT(log.said(), ElementsAre("a@1"));
}

TEST(Contract15_RemovingAHandler, IsIdempotent) {
  const std::shared_ptr<HandlerThread> handler = Start({});
  handler->Remove();
  handler->Remove();
  handler->RemoveAndWait();
  handler->RemoveAndWait();
  EXPECT_TRUE(handler->removed());
}

TEST(Contract15_RemovingAHandler, InTheHandlerItselfDoesNotWait) {
  std::latch done(1);
  std::shared_ptr<HandlerThread> handler;
  std::latch ready(1);
  handler = Start({.on_add = [&](const ObjectRef&, bool) {
    ready.wait();
    handler->RemoveAndWait();
    done.count_down();
  }});
  const Notification add{.kind = Kind::kAdd, .after = MakePod("a")};
  (void)handler->Push({&add, 1}, false);
  ready.count_down();
  done.wait();
  handler->RemoveAndWait();
}

TEST(HandlerThreadTest, TheLastReferenceMayGoInTheHandlerItself) {
  auto done = std::make_shared<std::latch>(1);
  auto holder = std::make_shared<std::shared_ptr<HandlerThread>>();
  std::latch ready(1);
  *holder = Start({.on_add = [&ready, done, weak = std::weak_ptr(holder)](const ObjectRef&, bool) {
    ready.wait();
    if (const auto strong = weak.lock()) {
      (*strong)->Remove();
      strong->reset();
    }
    done->count_down();
  }});
  const Notification add{.kind = Kind::kAdd, .after = MakePod("a")};
  (void)(*holder)->Push({&add, 1}, false);
  ready.count_down();
  done->wait();
  // The handler goes after its thread was handed over to those that are joined at exit.
  for (const Context patience = Soon(); done.use_count() > 1 && patience.SleepFor(std::chrono::milliseconds(1));) continue;
  EXPECT_EQ(done.use_count(), 1);
}

TEST(HandlerThreadTest, ObjectsThatWereToldAreLetGo) {
  std::latch entered(1);
  std::latch go(1);
  int calls = 0;
  const std::shared_ptr<HandlerThread> handler = Start({.on_add = [&](const ObjectRef&, bool) {
    if (++calls == 2) {
      entered.count_down();
      go.wait();
    }
  }});
  std::vector<Notification> notifications{{.kind = Kind::kAdd, .after = MakePod("a")}, {.kind = Kind::kAdd, .after = MakePod("b")}};
  const std::weak_ptr<const void> first = notifications[0].after;
  (void)handler->Push(notifications, false);
  notifications.clear();
  entered.wait();
  EXPECT_TRUE(first.expired());
  go.count_down();
  handler->RemoveAndWait();
}

// ---- Quick ones ----

// Until its own thread sleeps: it falls asleep while all pushing threads offer to deliver.
std::shared_ptr<HandlerThread> StartQuick(Handler handler) {
  std::shared_ptr<HandlerThread> thread = Start(std::move(handler), true);
  const Notification synced{.kind = Kind::kSynced};
  for (const Context patience = Soon(); !thread->Push({&synced, 1}, true);) {
    if (!patience.SleepFor(std::chrono::milliseconds(1))) ADD_FAILURE() << "its thread does not sleep";
  }
  thread->Assist();
  return thread;
}
void PushAndAssist(HandlerThread& handler, const Notification& notification) {
  ASSERT_TRUE(handler.Push({&notification, 1}, true));
  handler.Assist();
}

TEST(QuickHandlerTest, IsToldByWhoPushesAndOthersAreNot) {
  const Notification add{.kind = Kind::kAdd, .after = MakePod("a")};
  std::atomic<std::thread::id> told_on{};
  Handler handler{.on_add = [&](const ObjectRef&, bool) { told_on = std::this_thread::get_id(); }};
  const std::shared_ptr<HandlerThread> quick = StartQuick(handler);
  PushAndAssist(*quick, add);
  EXPECT_EQ(told_on.load(), std::this_thread::get_id());
  // A thread that does not offer it is not used.
  EXPECT_FALSE(quick->Push({&add, 1}, false));
  for (const Context patience = Soon(); quick->status().handled < 2;) ASSERT_TRUE(patience.SleepFor(std::chrono::milliseconds(1)));
  EXPECT_NE(told_on.load(), std::this_thread::get_id());
  quick->RemoveAndWait();

  const std::shared_ptr<HandlerThread> usual = Start(handler);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(usual->Push({&add, 1}, true));
  Drain(*usual);
  EXPECT_EQ(usual->status().handled, 100U);
  EXPECT_NE(told_on.load(), std::this_thread::get_id());
  usual->RemoveAndWait();
}

TEST(QuickHandlerTest, TheOrderIsThatOfPushWhoeverTells) {
  constexpr int kEach = 5000;
  std::vector<std::string> pushed;
  std::vector<std::string> told;
  const std::shared_ptr<HandlerThread> handler =
      StartQuick({.on_add = [&](const ObjectRef& object, bool) { told.push_back(Describe(object)); }});
  Mutex order;
  const auto push = [&](const std::string& who, bool offers) {
    for (int i = 0; i < kEach; ++i) {
      const Notification add{.kind = Kind::kAdd, .after = MakePod(who, std::to_string(i))};
      bool assist = false;
      {
        MutexLock lock(order);
        pushed.push_back(Describe(add.after));
        assist = handler->Push({&add, 1}, offers);
      }
      if (assist) handler->Assist();
    }
  };
  {
    const Thread one("one", [&] { push("one", true); });
    const Thread two("two", [&] { push("two", false); });
    const Thread three("three", [&] { push("three", true); });
  }
  for (const Context patience = Soon(); handler->status().pending > 0;) ASSERT_TRUE(patience.SleepFor(std::chrono::milliseconds(1)));
  handler->RemoveAndWait();
  EXPECT_EQ(told.size(), 3U * kEach);
  EXPECT_TRUE(told == pushed);
}

TEST(QuickHandlerTest, RemovingWaitsForWhoTells) {
  for (int i = 0; i < 100; ++i) {
    std::latch entered(1);
    std::atomic<bool> over = false;
    const std::shared_ptr<HandlerThread> handler = StartQuick({.on_add = [&](const ObjectRef&, bool) {
      entered.count_down();
      for (int n = 0; n < 100; ++n) std::this_thread::yield();
      over = true;
    }});
    const Notification add{.kind = Kind::kAdd, .after = MakePod("a")};
    const Thread teller("teller", [&] { PushAndAssist(*handler, add); });
    entered.wait();
    handler->RemoveAndWait();
    EXPECT_TRUE(over);
  }
}

// The informer's thread may be in another handler, which waits for the thread that removes this one.
TEST(QuickHandlerTest, RemovingDoesNotWaitForWhoHasNotBegunToTell) {
  int calls = 0;
  const std::shared_ptr<HandlerThread> handler = StartQuick({.on_add = [&](const ObjectRef&, bool) { ++calls; }});
  const Notification add{.kind = Kind::kAdd, .after = MakePod("a")};
  ASSERT_TRUE(handler->Push({&add, 1}, true));
  handler->RemoveAndWait();
  handler->Assist();
  EXPECT_EQ(calls, 0);
}

TEST(QuickHandlerTest, MayRemoveItselfAndThrow) {
  int calls = 0;
  std::shared_ptr<HandlerThread> handler;
  handler = StartQuick({.on_add = [&](const ObjectRef&, bool) {
    if (++calls == 2) handler->RemoveAndWait();
    throw std::runtime_error("on purpose");
  }});
  const Notification add{.kind = Kind::kAdd, .after = MakePod("a")};
  PushAndAssist(*handler, add);
  EXPECT_EQ(handler->status().failures, 1U);
  PushAndAssist(*handler, add);
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(handler->Push({&add, 1}, true));
  handler->RemoveAndWait();
}

}  // namespace
}  // namespace kube::internal
