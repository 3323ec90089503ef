// The store as informers use it: batches, Replace, what was there before; a model of it; readers and writers at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "cache/store_test_util.h"
#include "kube/base/thread.h"
#include "kube/cache/indexer.h"

namespace kube::internal {
namespace {

using cache_test::Labels;
using cache_test::MakePod;
using cache_test::Pod;
using cache_test::PodShape;
using cache_test::Texts;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNull;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const ObjectForm& PodForm() { return ObjectForm::Of<Pod>(); }
const Pod& AsPod(const ObjectRef& ref) { return *static_cast<const Pod*>(ref.get()); }

TEST(StoreApplyTest, SaysWhatWasThereBefore) {
  Store store(PodForm());
  const ObjectRef first = MakePod({.name = "a", .version = "1"});
  const ObjectRef second = MakePod({.name = "a", .version = "2"});
  Store::Write writes[] = {{.object = first}, {.object = second}, {.key = {"default", "a"}}, {.key = {"default", "a"}}};
  store.Apply(writes, "3");
  EXPECT_THAT(writes[0].before, IsNull());
  EXPECT_EQ(writes[1].before, first);
  EXPECT_EQ(writes[2].before, second);
  EXPECT_THAT(writes[3].before, IsNull());
  EXPECT_EQ(store.size(), 0u);
  EXPECT_EQ(store.resource_version(), "3");
}

TEST(StoreApplyTest, WhatTheCallerLeftInBeforeIsForgotten) {
  Store store(PodForm());
  Store::Write write{.object = MakePod({.name = "a"}), .before = MakePod({.name = "x"})};
  store.Apply({&write, 1}, "");
  EXPECT_THAT(write.before, IsNull());
}

TEST(StoreApplyTest, EmptyBatchMayCarryAVersion) {
  Store store(PodForm());
  store.Apply({}, "5");
  EXPECT_EQ(store.resource_version(), "5");
  store.Apply({}, "");
  EXPECT_EQ(store.resource_version(), "5");
}

TEST(StoreApplyTest, KeepsOneReferenceToEachObject) {
  Store store(PodForm());
  auto pod = std::make_shared<const Pod>(*MakePod({.name = "a", .labels = {{"app", "web"}}, .node = "n1"}));
  {
    Store::Write write{.object = pod};
    store.Apply({&write, 1}, "");
  }
  EXPECT_EQ(pod.use_count(), 2);
  {
    Store::Write write{.key = {"default", "a"}};
    store.Apply({&write, 1}, "");
  }
  EXPECT_EQ(pod.use_count(), 1);
}

TEST(StoreVersionTest, BookmarksMoveIt) {
  Store store(PodForm());
  store.SetResourceVersion("8");
  EXPECT_EQ(store.resource_version(), "8");
  store.SetResourceVersion("7");
  EXPECT_EQ(store.resource_version(), "7");
  store.SetResourceVersion("");
  EXPECT_EQ(store.resource_version(), "") << "unknown again";
}

TEST(StoreReplaceTest, BeforeIsParallelToTheObjects) {
  Store store(PodForm());
  const ObjectRef a1 = MakePod({.name = "a", .version = "1"});
  const ObjectRef b1 = MakePod({.name = "b", .version = "1"});
  const ObjectRef c1 = MakePod({.name = "c", .version = "1"});
  store.Replace({a1, b1, c1}, "1");
  const Store::Replaced replaced = store.Replace({MakePod({.name = "d"}), MakePod({.name = "c", .version = "2"}), a1}, "2");
  EXPECT_THAT(replaced.before, ElementsAre(nullptr, c1, a1));
  EXPECT_THAT(replaced.removed, ElementsAre(b1));
  EXPECT_EQ(store.size(), 3u);
  EXPECT_EQ(store.resource_version(), "2");
}

TEST(StoreReplaceTest, OfSeveralWithOneKeyTheLastCounts) {
  Store store(PodForm());
  const ObjectRef old = MakePod({.name = "a", .version = "1", .node = "n0"});
  ASSERT_TRUE(store.AddIndex("node", [](const void* pod) { return cache_test::NodeOf(*static_cast<const Pod*>(pod)); }));
  store.Replace({old}, "1");
  const ObjectRef last = MakePod({.name = "a", .version = "3", .node = "n3"});
  const Store::Replaced replaced = store.Replace({MakePod({.name = "a", .version = "2", .node = "n2"}), MakePod({.name = "b"}), last}, "3");
  EXPECT_THAT(replaced.before, ElementsAre(nullptr, nullptr, old));
  EXPECT_THAT(replaced.removed, IsEmpty());
  EXPECT_EQ(store.size(), 2u);
  EXPECT_EQ(store.Get("default", "a"), last);
  EXPECT_THAT(Texts(*store.IndexValues("node")), ElementsAre("n3"));
}

TEST(StoreReplaceTest, NothingRemovesEverything) {
  Store store(PodForm());
  store.Replace({MakePod({.name = "a"}), MakePod({.name = "b"})}, "1");
  const Store::Replaced replaced = store.Replace({}, "2");
  EXPECT_THAT(replaced.removed, SizeIs(2));
  EXPECT_EQ(store.size(), 0u);
  EXPECT_THAT(*store.IndexValues(kNamespaceIndex), IsEmpty());
}

TEST(StoreReplaceTest, IndexesAreThoseOfTheNewObjects) {
  Store store(PodForm());
  ASSERT_TRUE(store.AddIndex("node", [](const void* pod) { return cache_test::NodeOf(*static_cast<const Pod*>(pod)); }));
  store.Replace({MakePod({.ns = "x", .name = "a", .node = "n1"}), MakePod({.ns = "y", .name = "b", .node = "n2"})}, "1");
  store.Replace({MakePod({.ns = "y", .name = "b", .node = "n3"}), MakePod({.ns = "z", .name = "c", .node = "n3"})}, "2");
  EXPECT_THAT(Texts(*store.IndexValues("node")), ElementsAre("n3"));
  EXPECT_THAT(Texts(*store.IndexValues(kNamespaceIndex)), ElementsAre("y", "z"));
  EXPECT_THAT(*store.KeysByIndex("node", "n3"), ElementsAre(ObjectKey{"y", "b"}, ObjectKey{"z", "c"}));
  Store::Write write{.object = MakePod({.ns = "y", .name = "b", .node = "n4"})};
  store.Apply({&write, 1}, "");
  EXPECT_THAT(Texts(*store.IndexValues("node")), ElementsAre("n3", "n4"));
}

TEST(StoreTest, GrowsAndShrinks) {
  Store store(PodForm());
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3000; ++i) {
      Store::Write write{.object = MakePod({.ns = "ns" + std::to_string(i % 7), .name = "p" + std::to_string(i)})};
      store.Apply({&write, 1}, "");
    }
    ASSERT_EQ(store.size(), 3000u);
    for (int i = 0; i < 3000; ++i) ASSERT_NE(store.Get("ns" + std::to_string(i % 7), "p" + std::to_string(i)), nullptr) << i;
    for (int i = 0; i < 3000; ++i) {
      Store::Write write{.key = ObjectKey{String("ns" + std::to_string(i % 7)), String("p" + std::to_string(i))}};
      store.Apply({&write, 1}, "");
      ASSERT_NE(write.before, nullptr) << i;
    }
    ASSERT_EQ(store.size(), 0u);
    ASSERT_THAT(store.List(), IsEmpty());
  }
}

TEST(StoreTest, IndexFunctionMayReadTheStore) {
  Store store(PodForm());
  std::size_t seen = 99;
  ASSERT_TRUE(store.AddIndex("peek", [&](const void*) {
    seen = store.size();
    return std::vector<String>{};
  }));
  Store::Write write{.object = MakePod({.name = "a"})};
  store.Apply({&write, 1}, "");
  EXPECT_EQ(seen, 0u);  // it is not there yet
}

// ---- A model ----

// Random changes; after each few of them every question is answered as a std::map would.
class StoreModel {
 public:
  explicit StoreModel(unsigned seed) : random_(seed), store_(PodForm()) {}

  void Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      Step();
      if (step % 20 == 0) Check();
      if (testing::Test::HasFailure()) {
        ADD_FAILURE() << "at step " << step;
        return;
      }
    }
    Check();
  }

 private:
  using Key = std::pair<std::string, std::string>;

  unsigned Draw(unsigned below) { return static_cast<unsigned>(random_() % below); }
  Key DrawKey() { return {Draw(20) == 0 ? "" : "ns" + std::to_string(Draw(3)), "pod-" + std::to_string(Draw(60))}; }
  ObjectRef DrawPod() {
    const Key key = DrawKey();
    PodShape shape{.ns = key.first, .name = key.second, .version = std::to_string(++version_)};
    if (Draw(4) != 0) shape.labels.Set("app", "app" + std::to_string(Draw(4)));
    if (Draw(2) != 0) shape.labels.Set("tier", Draw(3) == 0 ? "" : "tier" + std::to_string(Draw(2)));
    shape.node = std::to_string(Draw(1000));
    return MakePod(shape);
  }
  static Key KeyOf(const ObjectRef& pod) { return {AsPod(pod).metadata.namespace_.str(), AsPod(pod).metadata.name.str()}; }
  // Digits of the node's name: none to three values, often repeated.
  static std::vector<String> Digits(const void* pod) {
    std::vector<String> out;
    for (const char digit : static_cast<const Pod*>(pod)->spec.node_name.view()) {
      if (digit != '0') out.emplace_back(std::string(1, digit));
    }
    return out;
  }
  ObjectRef Known(const Key& key) const {
    const auto found = model_.find(key);
    return found == model_.end() ? nullptr : found->second;
  }

  void Step() {
    const unsigned what = Draw(100);
    if (what < 90) {
      std::vector<Store::Write> writes(Draw(5));
      std::vector<ObjectRef> expected;
      std::string version = Draw(3) == 0 ? "" : std::to_string(version_);
      for (Store::Write& write : writes) {
        if (Draw(3) == 0) {
          const Key key = DrawKey();
          write.key = {String(key.first), String(key.second)};
          expected.push_back(Known(key));
          model_.erase(key);
        } else {
          write.object = DrawPod();
          expected.push_back(Known(KeyOf(write.object)));
          model_[KeyOf(write.object)] = write.object;
        }
      }
      store_.Apply(writes, version);
      for (std::size_t i = 0; i < writes.size(); ++i) EXPECT_EQ(writes[i].before, expected[i]);
      if (!version.empty()) last_version_ = version;
    } else if (what < 97) {
      std::vector<ObjectRef> objects(Draw(80));
      for (ObjectRef& object : objects) object = Draw(2) == 0 && !model_.empty() ? model_.begin()->second : DrawPod();
      const std::map<Key, ObjectRef> old = std::exchange(model_, {});
      std::map<Key, std::size_t> last;
      for (std::size_t i = 0; i < objects.size(); ++i) {
        model_[KeyOf(objects[i])] = objects[i];
        last[KeyOf(objects[i])] = i;
      }
      last_version_ = std::to_string(version_);
      const Store::Replaced replaced = store_.Replace(objects, last_version_);
      for (std::size_t i = 0; i < objects.size(); ++i) {
        const auto before = old.find(KeyOf(objects[i]));
        EXPECT_EQ(replaced.before[i], last[KeyOf(objects[i])] == i && before != old.end() ? before->second : nullptr);
      }
      std::set<ObjectRef> removed;
      for (const auto& [key, object] : old) {
        if (model_.find(key) == model_.end()) removed.insert(object);
      }
      EXPECT_EQ(std::set<ObjectRef>(replaced.removed.begin(), replaced.removed.end()), removed);
      EXPECT_EQ(replaced.removed.size(), removed.size());
    } else if (digits_ < 2) {
      EXPECT_TRUE(store_.AddIndex("digits" + std::to_string(digits_++), Digits));
    }
  }

  template <typename Wanted>
  std::multiset<ObjectRef> Filter(const Wanted& wanted) const {
    std::multiset<ObjectRef> out;
    for (const auto& [key, object] : model_) {
      if (wanted(AsPod(object))) out.insert(object);
    }
    return out;
  }
  static std::multiset<ObjectRef> AsSet(const std::vector<ObjectRef>& objects) { return {objects.begin(), objects.end()}; }

  void Check() {
    ASSERT_EQ(store_.size(), model_.size());
    ASSERT_EQ(store_.resource_version(), last_version_);
    ASSERT_EQ(AsSet(store_.List()), Filter([](const Pod&) { return true; }));
    ASSERT_EQ(store_.Keys().size(), model_.size());
    for (unsigned i = 0; i < 20; ++i) {
      const Key key = DrawKey();
      ASSERT_EQ(store_.Get(key.first, key.second), Known(key));
    }
    for (const char* text : {"app=app1", "app in (app0,app3),tier", "tier=", "app=app2,tier=tier1", "!app", "app!=app0", "app=none", ""}) {
      const Selector selector = Labels(text);
      ASSERT_EQ(AsSet(store_.Select(std::nullopt, selector)), Filter([&](const Pod& pod) { return selector.Matches(pod.metadata.labels); }))
          << text;
      for (const char* ns : {"", "ns0", "ns2", "nowhere"}) {
        ASSERT_EQ(AsSet(store_.Select(ns, selector)),
                  Filter([&](const Pod& pod) { return pod.metadata.namespace_ == ns && selector.Matches(pod.metadata.labels); }))
            << ns << " " << text;
      }
    }
    std::map<std::string, std::multiset<ObjectRef>> spaces, digits;
    for (const auto& [key, object] : model_) {
      spaces[key.first].insert(object);
      std::set<std::string> own;
      for (const String& digit : Digits(object.get())) own.insert(digit.str());
      for (const std::string& digit : own) digits[digit].insert(object);
    }
    CheckIndex("namespace", spaces);
    for (int i = 0; i < digits_; ++i) CheckIndex("digits" + std::to_string(i), digits);
  }
  void CheckIndex(const std::string& name, const std::map<std::string, std::multiset<ObjectRef>>& buckets) {
    std::vector<std::string> values;
    for (const auto& [value, objects] : buckets) {
      values.push_back(value);
      ASSERT_EQ(AsSet(*store_.ByIndex(name, value)), objects) << name << " " << value;
      ASSERT_EQ(store_.KeysByIndex(name, value)->size(), objects.size());
    }
    ASSERT_EQ(Texts(*store_.IndexValues(name)), values) << name;
  }

  std::mt19937 random_;
  Store store_;
  std::map<Key, ObjectRef> model_;
  std::string last_version_;
  int version_ = 0;
  int digits_ = 0;
};

TEST(StoreModelTest, AgreesWithAMapInEveryAnswer) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StoreModel(seed).Run(400);
    if (testing::Test::HasFailure()) return;
  }
}

// ---- Many threads ----

std::vector<ObjectRef> Generation(int generation, int count) {
  std::vector<ObjectRef> out;
  out.reserve(static_cast<std::size_t>(count));
  const std::string number = std::to_string(generation);
  for (int i = 0; i < count; ++i) {
    out.push_back(MakePod({.ns = "ns" + std::to_string(i % 3),
                           .name = "p" + std::to_string(i),
                           .version = number,
                           .labels = {{"generation", number}, {"app", "a" + std::to_string(i % 2)}},
                           .node = number}));
  }
  return out;
}

// All objects of a batch change together: a reader never sees a part.
TEST(StoreThreadsTest, ReadersSeeAllOfAWriteOrNothing) {
  constexpr int kObjects = 60, kRounds = 300;
  Store store(PodForm());
  ASSERT_TRUE(store.AddIndex("node", [](const void* pod) { return cache_test::NodeOf(*static_cast<const Pod*>(pod)); }));
  store.Replace(Generation(0, kObjects), "0");
  std::atomic<bool> done = false;
  const auto one_generation = [](const std::vector<ObjectRef>& seen, std::size_t count) {
    ASSERT_EQ(seen.size(), count);
    for (const ObjectRef& object : seen) ASSERT_EQ(AsPod(object).spec.node_name, AsPod(seen.front()).spec.node_name);
  };
  std::vector<Thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back("reader", [&] {
      while (!done) {
        one_generation(store.List(), kObjects);
        one_generation(store.Select(std::nullopt, {}), kObjects);
        one_generation(store.Select("ns1", {}), kObjects / 3);
        one_generation(store.Select(std::nullopt, Labels("app=a1")), kObjects / 2);
        one_generation(store.Select("ns1", Labels("app in (a0,a1)")), kObjects / 3);
        one_generation(*store.ByIndex(kNamespaceIndex, "ns2"), kObjects / 3);
        // The values of an index change together too: there is one at any time.
        const std::vector<String> values = *store.IndexValues("node");
        ASSERT_EQ(values.size(), 1u);
        const std::size_t there = store.ByIndex("node", values.front().view())->size();
        ASSERT_TRUE(there == 0 || there == kObjects);
        ASSERT_NE(store.Get("ns0", "p0"), nullptr);
        (void)store.Stats();
        (void)store.resource_version();
      }
    });
  }
  std::vector<Thread> writers;
  for (int t = 0; t < 2; ++t) {
    writers.emplace_back("writer", [&store, t] {
      for (int round = 1; round <= kRounds; ++round) {
        std::vector<ObjectRef> objects = Generation(round * 2 + t, kObjects);
        if (round % 3 == 0) {
          store.Replace(objects, std::to_string(round));
          continue;
        }
        std::vector<Store::Write> writes;
        for (ObjectRef& object : objects) {
          if (round % 3 == 1) writes.push_back({.key = PodForm().Key(object.get())});
          writes.push_back({.object = std::move(object)});
        }
        store.Apply(writes, std::to_string(round));
      }
    });
  }
  writers.clear();
  done = true;
  threads.clear();
  one_generation(store.List(), kObjects);
}

TEST(StoreThreadsTest, IndexesMayComeWhileOthersWriteAndRead) {
  Store store(PodForm());
  store.Replace(Generation(0, 100), "");
  std::atomic<bool> done = false;
  Thread writer("writer", [&] {
    for (int round = 0; !done; ++round) {
      std::vector<ObjectRef> objects = Generation(round, 100);
      if (round % 2 == 0) {
        store.Replace(objects, "");
      } else {
        std::vector<Store::Write> writes;
        for (ObjectRef& object : objects) writes.push_back({.object = std::move(object)});
        store.Apply(writes, "");
      }
    }
  });
  Thread selector("selector", [&] {
    for (int i = 0; !done; ++i) {
      for (const ObjectRef& object : store.Select(std::nullopt, Labels("app=a" + std::to_string(i % 2)))) {
        ASSERT_EQ(AsPod(object).metadata.labels["app"], "a" + std::to_string(i % 2));
      }
    }
  });
  for (int i = 0; i < 50; ++i) {
    const std::string name = "i" + std::to_string(i);
    ASSERT_TRUE(store.AddIndex(name, [](const void* pod) { return cache_test::NodeOf(*static_cast<const Pod*>(pod)); }));
    ASSERT_EQ(store.IndexValues(name)->size(), 1u);
  }
  done = true;
  writer.Join();
  selector.Join();
  ASSERT_THAT(*store.IndexValues("i49"), SizeIs(1));
  EXPECT_EQ(store.KeysByIndex("i49", (*store.IndexValues("i49"))[0].view())->size(), 100u);
}

// A reader that runs throughout sees all old objects or all new ones.
TEST(StoreThreadsTest, ReplacingAHundredThousandIsOneStepForReaders) {
  constexpr int kObjects = 100000;
  Store store(PodForm());
  std::atomic<bool> done = false;
  std::atomic<int> answers = 0;
  store.Replace(Generation(1, 10), "1");
  Thread reader("reader", [&] {
    while (!done) {
      const std::size_t size = store.size();
      ASSERT_TRUE(size == 10 || size == kObjects) << size;
      const ObjectRef first = store.Get("ns0", "p0");
      ASSERT_NE(first, nullptr);
      const std::size_t in_namespace = store.ByIndex(kNamespaceIndex, "ns1")->size();
      ASSERT_TRUE(in_namespace == 3 || in_namespace == kObjects / 3) << in_namespace;
      ++answers;
    }
  });
  std::vector<ObjectRef> big = Generation(2, kObjects);
  const Store::Replaced grown = store.Replace(big, "2");
  big.clear();
  EXPECT_EQ(store.size(), static_cast<std::size_t>(kObjects));
  const Store::Replaced shrunk = store.Replace(Generation(3, 10), "3");
  EXPECT_EQ(store.size(), 10u);
  while (answers == 0) std::this_thread::yield();
  done = true;
  reader.Join();
  EXPECT_THAT(grown.removed, IsEmpty());
  EXPECT_THAT(shrunk.removed, SizeIs(kObjects - 10));
}

}  // namespace
}  // namespace kube::internal
