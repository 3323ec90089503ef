#include "apiserver/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/error.h"
#include "kube/base/thread.h"

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kMaps = "/configmaps";
const std::string kPods = "/pods";

Value Object(std::string_view ns, std::string_view name, std::string_view text = "") {
  Value object = Value::Object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
  object["metadata"] = Value::Object({{"name", name}, {"uid", "uid-" + std::string(name)}});
  if (!ns.empty()) object["metadata"]["namespace"] = ns;
  object["data"] = Value::Object({{"text", text}});
  return object;
}

ObjectPtr Put(Store& store, std::string_view ns, std::string_view name, std::string_view text = "", const ObjectPtr& expected = nullptr) {
  return store.Put(kMaps, Object(ns, name, text), {}, expected);
}

std::string TextOf(const StoredObject& object) {
  const Value value = object.Parse();
  return value["data"]["text"].string_value().str();
}

std::vector<std::string> Names(const Snapshot& list) {
  std::vector<std::string> out;
  for (const ObjectPtr& object : list.objects) out.push_back(StoreKey(object->ns, object->name) + "=" + TextOf(*object));
  return out;
}

// Remembers what it gets. Delivery is serial, so only the end of a test reads from another thread.
class Recorder : public Watcher {
 public:
  void OnEvent(const StoreEvent& event) override {
    constexpr const char* kTypes[] = {"+", "~", "-"};
    events.push_back(kTypes[static_cast<int>(event.type)] + event.object->name);
    versions.push_back(event.version);
  }
  void OnProgress(std::uint64_t version) override { progress.push_back(version); }
  bool closed() const override { return is_closed; }

  std::vector<std::string> events;
  std::vector<std::uint64_t> versions, progress;
  std::atomic<bool> is_closed{false};
};

TEST(StoreTest, EveryChangeHasTheNextVersion) {
  Store store;
  EXPECT_EQ(store.version(), 1U);
  ObjectPtr a = Put(store, "x", "a", "1");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->version, 2U);
  ObjectPtr pod = store.Put(kPods, Object("x", "p"), {}, nullptr);
  EXPECT_EQ(pod->version, 3U);
  ObjectPtr next = Put(store, "x", "a", "2", a);
  EXPECT_EQ(next->version, 4U);
  const Value last = next->Parse();
  EXPECT_EQ(last["metadata"]["resourceVersion"].string_value(), "4");
  ObjectPtr gone = store.Remove(kMaps, next, last);
  ASSERT_NE(gone, nullptr);
  EXPECT_EQ(gone->version, 5U);
  EXPECT_EQ(store.version(), 5U);
  EXPECT_EQ(store.Get(kMaps, "x", "a"), nullptr);
  EXPECT_EQ(store.size(), 1U);
}

TEST(StoreTest, TextOfAnObjectStartsWithItsKind) {
  Store store;
  ObjectPtr a = Put(store, "x", "a");
  EXPECT_TRUE(a->json->starts_with(R"({"kind":"ConfigMap","apiVersion":"v1",)")) << *a->json;
}

TEST(StoreTest, KeepsWhatSelectorsAndCollectorsAskFor) {
  Store store;
  Value object = Object("x", "a");
  object["metadata"]["labels"] = Value::Object({{"app", "web"}});
  object["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z";
  object["metadata"]["ownerReferences"] = Value::Array({Value::Object({{"uid", "u1"}}), Value::Object({{"uid", "u2"}})});
  Map<String> fields;
  fields.Append("spec.color", "red");
  ObjectPtr stored = store.Put(kMaps, object, fields, nullptr);
  EXPECT_EQ(stored->uid, "uid-a");
  EXPECT_EQ(stored->labels, (Map<String>{{"app", "web"}}));
  EXPECT_EQ(stored->fields, fields);
  EXPECT_THAT(stored->owners, ElementsAre("u1", "u2"));
  EXPECT_TRUE(stored->deleting);
}

TEST(StoreTest, WritesThatComeTooLateAreRefused) {
  Store store;
  ObjectPtr first = Put(store, "x", "a", "1");
  EXPECT_EQ(Put(store, "x", "a", "2"), nullptr) << "it is there already";
  ObjectPtr second = Put(store, "x", "a", "2", first);
  ASSERT_NE(second, nullptr);
  std::uint64_t version = store.version();
  EXPECT_EQ(Put(store, "x", "a", "3", first), nullptr) << "of an older one";
  EXPECT_EQ(store.Remove(kMaps, first, first->Parse()), nullptr);
  ASSERT_NE(store.Remove(kMaps, second, second->Parse()), nullptr);
  EXPECT_EQ(store.Remove(kMaps, second, second->Parse()), nullptr) << "twice";
  EXPECT_EQ(Put(store, "x", "a", "3", second), nullptr) << "of one that is gone";
  EXPECT_EQ(store.version(), version + 1) << "what is refused takes no version";
}

TEST(StoreTest, WritesOnlyBesideItsPrerequisites) {
  Store store;
  const std::vector<Prerequisite> any = {{.resource = "/namespaces", .name = "x", .uid = ""}};
  const std::vector<Prerequisite> one = {{.resource = "/namespaces", .name = "x", .uid = "uid-x"}};
  const std::vector<Prerequisite> other = {{.resource = "/namespaces", .name = "x", .uid = "another"}};
  auto put = [&](std::string_view name, const std::vector<Prerequisite>& needs) {
    return store.Put(kMaps, Object("x", name), {}, nullptr, nullptr, needs) != nullptr;
  };
  EXPECT_FALSE(put("a", any));
  ObjectPtr ns = store.Put("/namespaces", Object("", "x"), {}, nullptr);
  const std::uint64_t before = store.version();
  EXPECT_FALSE(put("a", other));
  EXPECT_EQ(store.version(), before);
  EXPECT_TRUE(put("a", any));
  EXPECT_TRUE(put("b", one));
  Value deleting = ns->Parse();
  deleting["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  ns = store.Put("/namespaces", deleting, {}, ns);
  EXPECT_FALSE(put("c", any));
  store.Remove("/namespaces", ns, deleting);
  EXPECT_FALSE(put("c", any));
}

TEST(StoreTest, OneOfManyWritersWins) {
  Store store;
  ObjectPtr start = Put(store, "x", "a", "0");
  std::atomic<int> won{0};
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back("writer", [&] {
        for (int n = 0; n < 200;) {
          ObjectPtr current = store.Get(kMaps, "x", "a");
          if (!Put(store, "x", "a", std::to_string(std::stoi(TextOf(*current)) + 1), current)) continue;
          won.fetch_add(1);
          ++n;
        }
      });
    }
  }
  EXPECT_EQ(won.load(), 800);
  EXPECT_EQ(TextOf(*store.Get(kMaps, "x", "a")), "800") << "no write is lost";
  EXPECT_EQ(store.version(), start->version + 800);
}

TEST(StoreTest, ListsAreInTheOrderOfKeysAndOfOneNamespaceOnly) {
  Store store;
  for (const char* ns : {"b", "a", "a-b", "a0"}) {
    Put(store, ns, "2");
    Put(store, ns, "1");
  }
  EXPECT_THAT(Names(store.List(kMaps, "a")), ElementsAre("a/1=", "a/2="));
  EXPECT_THAT(Names(store.List(kMaps, "")), ElementsAre("a-b/1=", "a-b/2=", "a/1=", "a/2=", "a0/1=", "a0/2=", "b/1=", "b/2="));
  EXPECT_THAT(store.List(kMaps, "c").objects, IsEmpty());
  EXPECT_THAT(store.List(kPods, "").objects, IsEmpty());
  EXPECT_EQ(store.List(kPods, "").version, store.version());
}

TEST(StoreTest, ListAtUndoesWhatCameLater) {
  Store store;
  ObjectPtr a = Put(store, "x", "a", "1");
  ObjectPtr b = Put(store, "y", "b", "1");
  std::uint64_t then = store.version();
  ObjectPtr a2 = Put(store, "x", "a", "2", a);
  store.Remove(kMaps, b, b->Parse());
  Put(store, "x", "c", "1");
  ObjectPtr b2 = Put(store, "y", "b", "again");
  store.Remove(kMaps, a2, a2->Parse());
  EXPECT_THAT(Names(*store.ListAt(kMaps, "", 1)), IsEmpty());
  EXPECT_THAT(Names(*store.ListAt(kMaps, "", then)), ElementsAre("x/a=1", "y/b=1"));
  EXPECT_EQ(store.ListAt(kMaps, "", then)->version, then);
  EXPECT_THAT(Names(*store.ListAt(kMaps, "x", then)), ElementsAre("x/a=1"));
  EXPECT_THAT(Names(*store.ListAt(kMaps, "", then + 1)), ElementsAre("x/a=2", "y/b=1"));
  EXPECT_THAT(Names(*store.ListAt(kMaps, "", then + 2)), ElementsAre("x/a=2"));
  EXPECT_THAT(Names(*store.ListAt(kMaps, "", b2->version)), ElementsAre("x/a=2", "x/c=1", "y/b=again"));
  EXPECT_THAT(Names(*store.ListAt(kMaps, "", store.version())), ElementsAre("x/c=1", "y/b=again"));
  EXPECT_FALSE(store.ListAt(kMaps, "", store.version() + 1)) << "not there yet";
  store.Compact();
  EXPECT_FALSE(store.ListAt(kMaps, "", store.version() - 1));
  EXPECT_TRUE(store.ListAt(kMaps, "", store.version()));
}

TEST(StoreTest, WatchFromAVersionGetsWhatWasAndWhatComes) {
  Store store;
  ObjectPtr a = Put(store, "x", "a");
  std::uint64_t from = store.version();
  ObjectPtr a2 = Put(store, "x", "a", "2", a);
  store.Put(kPods, Object("x", "p"), {}, nullptr);
  auto watcher = std::make_shared<Recorder>();
  ASSERT_TRUE(store.Watch(kMaps, from, watcher).ok());
  EXPECT_THAT(watcher->events, ElementsAre("~a"));
  store.Remove(kMaps, a2, a2->Parse());
  Put(store, "x", "b");
  EXPECT_THAT(watcher->events, ElementsAre("~a", "-a", "+b"));
  auto now = std::make_shared<Recorder>();
  ASSERT_TRUE(store.Watch(kMaps, store.version(), now).ok());
  auto future = std::make_shared<Recorder>();
  ASSERT_TRUE(store.Watch(kMaps, store.version() + 100, future).ok());
  EXPECT_THAT(now->events, IsEmpty());
  Put(store, "x", "c");
  EXPECT_THAT(now->events, ElementsAre("+c"));
}

TEST(StoreTest, EventsCarryTheStateBefore) {
  Store store;
  class Check : public Recorder {
   public:
    void OnEvent(const StoreEvent& event) override {
      Recorder::OnEvent(event);
      texts.push_back((event.previous ? TextOf(*event.previous) : "none") + ">" + TextOf(*event.object));
    }
    std::vector<std::string> texts;
  };
  auto watcher = std::make_shared<Check>();
  ASSERT_TRUE(store.Watch(kMaps, 1, watcher).ok());
  ObjectPtr a = Put(store, "x", "a", "1");
  ObjectPtr b = Put(store, "x", "a", "2", a);
  store.Remove(kMaps, b, b->Parse());
  EXPECT_THAT(watcher->texts, ElementsAre("none>1", "1>2", "2>2"));
  EXPECT_THAT(watcher->versions, ElementsAre(2U, 3U, 4U));
}

TEST(StoreTest, CompactionMakesOldVersionsExpire) {
  Store store;
  ObjectPtr a = Put(store, "x", "a");
  store.Put(kPods, Object("x", "p"), {}, nullptr);
  store.Compact();
  auto watcher = std::make_shared<Recorder>();
  Result<void> old = store.Watch(kMaps, a->version, watcher);
  ASSERT_FALSE(old.ok());
  EXPECT_TRUE(IsResourceExpired(old.error()));
  EXPECT_EQ(old.error().http_code(), 410);
  EXPECT_EQ(old.error().message(), "too old resource version: 2 (3)");
  ASSERT_TRUE(store.Watch(kMaps, store.version(), watcher).ok());
  Put(store, "x", "b");
  EXPECT_THAT(watcher->events, ElementsAre("+b")) << "those that watch already go on";
}

TEST(StoreTest, ProgressComesBehindTheEventsItTellsOf) {
  Store store;
  auto maps = std::make_shared<Recorder>(), pods = std::make_shared<Recorder>();
  ASSERT_TRUE(store.Watch(kMaps, 1, maps).ok());
  ASSERT_TRUE(store.Watch(kPods, 1, pods).ok());
  Put(store, "x", "a");
  store.SendProgress();
  EXPECT_THAT(maps->progress, ElementsAre(2U));
  EXPECT_THAT(pods->progress, ElementsAre(2U)) << "also where nothing of its own has changed";
  store.SendProgress(kPods, *pods);
  EXPECT_THAT(pods->progress, ElementsAre(2U, 2U));
  EXPECT_THAT(maps->progress, ElementsAre(2U));
}

TEST(StoreTest, ClosedWatchersAreForgotten) {
  Store store;
  auto watcher = std::make_shared<Recorder>();
  ASSERT_TRUE(store.Watch(kMaps, 1, watcher).ok());
  EXPECT_EQ(watcher.use_count(), 2);
  watcher->is_closed = true;
  Put(store, "x", "a");
  EXPECT_EQ(watcher.use_count(), 1);
  EXPECT_THAT(watcher->events, IsEmpty());
  auto idle = std::make_shared<Recorder>();
  store.WatchFromNow(kMaps, idle, [](const Snapshot&) {});
  idle->is_closed = true;
  store.SendProgress();
  EXPECT_EQ(idle.use_count(), 1);
  EXPECT_THAT(idle->progress, IsEmpty());
}

TEST(StoreTest, ClearDropsEverythingButTheVersion) {
  Store store;
  auto watcher = std::make_shared<Recorder>();
  Put(store, "x", "a");
  ASSERT_TRUE(store.Watch(kMaps, 1, watcher).ok());
  std::uint64_t before = store.version();
  store.Clear();
  EXPECT_GT(store.version(), before);
  EXPECT_EQ(store.size(), 0U);
  EXPECT_EQ(watcher.use_count(), 1) << "watchers are forgotten";
  EXPECT_THAT(watcher->events, ElementsAre("+a")) << "without an event";
  EXPECT_FALSE(store.Watch(kMaps, before, watcher).ok());
  EXPECT_FALSE(store.ListAt(kMaps, "", before));
  ASSERT_TRUE(store.Watch(kMaps, store.version(), watcher).ok());
  ASSERT_NE(Put(store, "x", "a"), nullptr);
  EXPECT_THAT(watcher->events, ElementsAre("+a", "+a"));
}

TEST(StoreTest, AllAndOnChangeSeeEveryResource) {
  Store store;
  std::vector<std::string> changes;
  store.OnChange([&](const std::string& resource, const StoreEvent& event) {
    changes.push_back(resource + " " + event.object->name);
    EXPECT_EQ(store.version(), event.version) << "callbacks may use the store";
  });
  Put(store, "x", "a");
  store.Put(kPods, Object("x", "p"), {}, nullptr);
  EXPECT_THAT(changes, ElementsAre("/configmaps a", "/pods p"));
  EXPECT_EQ(store.All().size(), 2U);
}

// Writers write, watchers join and history is compacted, all at the same time: every watcher sees every change exactly once, in order, in
// the list or as an event.
TEST(StoreTest, WatchersMissNothingAndSeeNothingTwice) {
  struct Late : Recorder {
    std::uint64_t start = 0;
    std::size_t listed = 0;
  };
  Store store;
  constexpr int kWriters = 3, kWrites = 400, kWatchers = 60;
  std::vector<std::shared_ptr<Late>> watchers;
  std::atomic<bool> done{false};
  {
    std::vector<Thread> threads;
    for (int w = 0; w < kWriters; ++w) {
      threads.emplace_back("writer", [&store, w] {
        for (int i = 0; i < kWrites; ++i) Put(store, "x", std::to_string(w) + "-" + std::to_string(i));
      });
    }
    Thread compactor("compactor", [&] {
      while (!done.load()) {
        store.Compact();
        store.SendProgress();
      }
    });
    for (int i = 0; i < kWatchers; ++i) {
      auto watcher = std::make_shared<Late>();
      if (i % 2 == 0) {
        store.WatchFromNow(kMaps, watcher, [&](const Snapshot& list) {
          watcher->start = list.version;
          watcher->listed = list.objects.size();
        });
      } else {
        Snapshot list = store.List(kMaps, "");
        watcher->start = list.version;
        watcher->listed = list.objects.size();
        if (!store.Watch(kMaps, list.version, watcher).ok()) continue;  // compacted meanwhile
      }
      watchers.push_back(std::move(watcher));
    }
    threads.clear();
    done = true;
  }
  const std::uint64_t last = store.version();
  ASSERT_EQ(last, 1U + kWriters * kWrites);
  for (const auto& watcher : watchers) {
    // Only this resource changes: versions have no gaps.
    ASSERT_EQ(watcher->listed, watcher->start - 1);
    ASSERT_EQ(watcher->versions.size(), last - watcher->start);
    for (std::size_t i = 0; i < watcher->versions.size(); ++i) ASSERT_EQ(watcher->versions[i], watcher->start + 1 + i);
    for (std::size_t i = 1; i < watcher->progress.size(); ++i) ASSERT_LE(watcher->progress[i - 1], watcher->progress[i]);
  }
}

}  // namespace
}  // namespace kube::apiserver
