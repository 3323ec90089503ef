#include "cache/handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <string>
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

std::shared_ptr<HandlerThread> Start(Handler handler) {
  return HandlerThread::Start(std::move(handler), "test", ObjectForm::Of<Pod>(), "pods");
}
Context Soon() { return Context::Background().WithTimeout(std::chrono::seconds(60)); }
// All that was pushed before has been told when this returns.
void Drain(HandlerThread& handler) {
  const Notification synced{.kind = Kind::kSynced};
  handler.Push({&synced, 1});
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
  handler->Push(notifications);
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
  handler->Push(notifications);
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
  handler->Push(notifications);
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
  thread->Push(notifications);
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
  thread->Push({&add, 1});
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
  thread->Push(notifications);
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
  thread->Push(notifications);
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
  handler->Push(notifications);
  entered.wait();
  handler->Remove();  // returns although the call is running
  handler->Push(notifications);
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
  handler->Push({&add, 1});
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
  (*holder)->Push({&add, 1});
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
  handler->Push(notifications);
  notifications.clear();
  entered.wait();
  EXPECT_TRUE(first.expired());
  go.count_down();
  handler->RemoveAndWait();
}

}  // namespace
}  // namespace kube::internal
