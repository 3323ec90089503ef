// Random operations on a queue, and the same on a model that is as simple as it is slow.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/queue/work_queue.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using Duration = Clock::Duration;

// One step's worth of text, for the message of a failure.
class Model {
 public:
  explicit Model(Duration ageing) : ageing_(ageing) {}

  void Add(int key, int priority) {
    if (shut_down) return;
    if (processing.count(key) != 0) {
      const auto [found, fresh] = dirty.emplace(key, priority);
      if (!fresh) found->second = std::max(found->second, priority);
      return;
    }
    for (Queued& q : queued) {
      if (q.key != key) continue;
      if (priority <= q.priority) return;
      q.priority = priority;
      if (Score(now, priority) <= Score(q.since, q.order_priority)) {
        q.since = now;
        q.order_priority = priority;
        q.sequence = ++sequence_;
      }
      return;
    }
    queued.push_back({key, priority, priority, now, ++sequence_});
  }

  void AddAfter(int key, int priority, Duration delay) {
    if (shut_down) return;
    if (delay <= Duration::zero()) return Add(key, priority);
    const auto [found, fresh] = waiting.emplace(key, Waiting{now + delay, priority});
    if (fresh) return;
    found->second.due = std::min(found->second.due, now + delay);
    found->second.priority = std::max(found->second.priority, priority);
  }

  void AddRateLimited(int key) {
    if (shut_down) return;
    AddAfter(key, 0, 1ms * (1 << std::min(failures[key]++, 10)));
  }

  // What is due at the same moment may come in any order: the queue says in which, and the model checks that it may.
  void Advance(Duration by) {
    const Duration end = now + by;
    for (;;) {
      auto first = waiting.end();
      for (auto i = waiting.begin(); i != waiting.end(); ++i) {
        if (first == waiting.end() || i->second.due < first->second.due) first = i;
      }
      if (first == waiting.end() || first->second.due > end) break;
      now = first->second.due;
      const int key = first->first;
      const int priority = first->second.priority;
      waiting.erase(first);
      Add(key, priority);
    }
    now = end;
  }

  // All keys that may be taken next.
  std::set<int> Next() const {
    std::set<int> out;
    const Queued* best = nullptr;
    for (const Queued& q : queued) {
      if (best == nullptr || Before(q, *best)) best = &q;
    }
    for (const Queued& q : queued) {
      if (!Before(*best, q) && !Before(q, *best)) out.insert(q.key);
    }
    return out;
  }

  void Take(int key) {
    queued.erase(std::find_if(queued.begin(), queued.end(), [key](const Queued& q) { return q.key == key; }));
    processing.insert(key);
  }
  void Done(int key) {
    if (processing.erase(key) == 0) return;
    const auto again = dirty.find(key);
    if (again == dirty.end()) return;
    queued.push_back({key, again->second, again->second, now, ++sequence_});
    dirty.erase(again);
  }
  void ShutDown() {
    shut_down = true;
    waiting.clear();
  }

  struct Queued {
    int key;
    int priority;
    int order_priority;
    Duration since;
    int sequence;
  };
  struct Waiting {
    Duration due;
    int priority;
  };
  Duration now{};
  std::vector<Queued> queued;
  std::map<int, Waiting> waiting;
  std::set<int> processing;
  std::map<int, int> dirty;
  std::map<int, int> failures;
  bool shut_down = false;

 private:
  Duration Score(Duration since, int priority) const { return since - priority * ageing_; }
  bool Before(const Queued& a, const Queued& b) const {
    const Duration one = Score(a.since, a.order_priority);
    const Duration other = Score(b.since, b.order_priority);
    if (one != other) return one < other;
    if (a.order_priority != b.order_priority) return a.order_priority > b.order_priority;
    if (a.since != b.since) return a.since < b.since;
    return tie_by_sequence && a.sequence < b.sequence;
  }

 public:
  bool tie_by_sequence = false;

 private:
  const Duration ageing_;
  int sequence_ = 0;
};

void RunModel(unsigned seed, bool delays, Duration ageing) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  const Context never = ctx.WithTimeout(0s);
  WorkQueue<int> queue({.clock = clock, .rate_limiter = ExponentialLimiter(1ms, 1024ms), .ageing = ageing});
  Model model(ageing);
  model.tie_by_sequence = !delays;  // without delays, nothing is added by several at the same moment: the order is exact

  const int keys = 1 + below(20);
  for (int step = 0; step < 3000; ++step) {
    const int key = below(keys);
    const int priority = below(3) == 0 ? below(7) - 3 : 0;
    switch (below(delays ? 12 : 8)) {
      case 0:
      case 1:
        queue.Add(key, {.priority = priority});
        model.Add(key, priority);
        break;
      case 2:
      case 3:
      case 4: {
        if (model.queued.empty()) {
          ASSERT_EQ(queue.Len(), 0u) << step;
          ASSERT_FALSE(queue.Get(never)) << step;
          break;
        }
        const Result<int> got = queue.Get(ctx);
        ASSERT_TRUE(got) << step;
        ASSERT_EQ(model.Next().count(*got), 1u) << step << ": took " << *got;
        model.Take(*got);
        break;
      }
      case 5:
      case 6: {
        int done = key;  // often one that no worker holds
        if (!model.processing.empty() && below(4) != 0) {
          done = *std::next(model.processing.begin(), below(static_cast<int>(model.processing.size())));
        }
        queue.Done(done);
        model.Done(done);
        break;
      }
      case 7: {
        const Duration by = std::chrono::milliseconds(below(20));
        clock->Advance(by);
        model.Advance(by);
        break;
      }
      case 8:
      case 9: {
        const Duration delay = std::chrono::milliseconds(below(60) - 5);
        queue.Add(key, {.priority = priority, .after = delay});
        model.AddAfter(key, priority, delay);
        break;
      }
      case 10:
        queue.AddRateLimited(key);
        model.AddRateLimited(key);
        break;
      case 11:
        queue.Forget(key);
        model.failures.erase(key);
        break;
      default:
        break;
    }
    if (step == 2900) {
      queue.ShutDown();
      model.ShutDown();
    }
    ASSERT_EQ(queue.Len(), model.queued.size()) << step;
    const WorkQueueSnapshot<int> snapshot = queue.Snapshot();
    ASSERT_EQ(snapshot.waiting, model.waiting.size()) << step;
    ASSERT_EQ(snapshot.processing, model.processing.size()) << step;
    ASSERT_EQ(clock->waiters(), model.waiting.empty() ? 0u : 1u) << step;
    for (const WorkQueueEntry<int>& entry : snapshot.entries) {
      ASSERT_EQ(entry.again, model.dirty.count(entry.key) == 1) << step;
      const auto waits = model.waiting.find(entry.key);
      ASSERT_EQ(entry.due_in, waits == model.waiting.end() ? std::nullopt : std::optional(waits->second.due - model.now)) << step;
    }
    const auto failures = model.failures.find(key);
    ASSERT_EQ(queue.NumRequeues(key), failures == model.failures.end() ? 0 : failures->second) << step;
  }
}

TEST(WorkQueueModelTest, BehavesAsTheModel) {
  for (unsigned seed = 1; seed <= 15; ++seed) RunModel(seed, true, 10ms);
}

TEST(WorkQueueModelTest, KeepsTheExactOrderOfAdding) {
  for (unsigned seed = 100; seed <= 115; ++seed) RunModel(seed, false, 10ms);
}

TEST(WorkQueueModelTest, BehavesAsTheModelWithoutAgeing) {
  for (unsigned seed = 200; seed <= 205; ++seed) RunModel(seed, true, Duration::zero());
}

}  // namespace
}  // namespace kube
