// A reconciler that creates a child and lists its children from the cache never sees it missing, however late the cache's events are.
// KUBEXX_RUNS says how many runs; KUBEXX_SEED what the dice of the delays begin with.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "control/controller/late_watch_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/base/thread.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/control/manager.h"
#include "kube/testing/api_server.h"

namespace kube {
namespace {

using core::v1::ConfigMap;
using core::v1::Secret;

constexpr int kParents = 16;
constexpr std::size_t kChildren = 3;  // of each parent: the oldest is deleted when there is one more

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

struct Outcome {
  int runs = 0;
  int missing = 0;  // a child that was created, and is not in the cache
  int surplus = 0;  // one that was deleted, and is
  int stale = 0;    // the parent is not of the version that was written last
  int errors = 0;   // anything else
  double waits = 0, timeouts = 0;
};

// What each parent should have: the reconciler's own memory, which a real one has not.
class Family {
 public:
  Family(const CachedClient& client, int count) : client_(client), left_(count) {}

  Result<Action> Reconcile(const Context& ctx, const Request& request) {
    ++active_;
    const bool work = left_.fetch_sub(1) > 0;
    if (work) Look(ctx, request);
    --active_;
    return work ? Action::RequeueAfter({}) : Action::Done();
  }

  bool finished() const { return left_ <= 0 && active_ == 0; }
  std::atomic<int> runs = 0, missing = 0, surplus = 0, stale = 0, errors = 0;

  void AddParent(const std::string& name, const std::string& version) { known_[name].version = version; }

 private:
  struct Less {  // by number
    bool operator()(const std::string& a, const std::string& b) const { return a.size() != b.size() ? a.size() < b.size() : a < b; }
  };
  struct Known {
    std::set<std::string, Less> children{};
    int next = 0;
    std::string version{};
  };

  void Look(const Context& ctx, const Request& request) {
    ++runs;
    const std::string parent = request.key.name.str();
    Known& known = known_.at(parent);  // a key is with one worker at a time
    Compare(ctx, parent, known);

    Secret child;
    child.metadata.namespace_ = "default";
    child.metadata.name = parent + "-" + std::to_string(known.next++);
    child.metadata.labels["parent"] = parent;
    if (!client_.Create(ctx, child)) ++errors;
    known.children.insert(child.metadata.name.str());
    if (known.children.size() > kChildren) {
      const std::string oldest = *known.children.begin();
      if (!client_.Delete<Secret>(ctx, {"default", String(oldest)})) ++errors;
      known.children.erase(known.children.begin());
    }
    // In the same run, when the cache has had no time at all; or in the next one.
    if (known.next % 2 == 0) Compare(ctx, parent, known);
    if (known.next % 3 == 0) Touch(ctx, request.key, known);
  }

  void Compare(const Context& ctx, const std::string& parent, const Known& known) {
    const Result<std::vector<Ptr<Secret>>> listed = client_.List<Secret>(ctx, {.ns = "default", .label_selector = "parent=" + parent});
    const Result<Ptr<ConfigMap>> own = client_.Get<ConfigMap>(ctx, {"default", String(parent)});
    if (!listed || !own) {
      ++errors;
      return;
    }
    std::set<std::string, Less> there;
    for (const Ptr<Secret>& child : *listed) there.insert(child->metadata.name.str());
    for (const std::string& child : known.children) missing += there.count(child) == 0 ? 1 : 0;
    for (const std::string& child : there) surplus += known.children.count(child) == 0 ? 1 : 0;
    stale += (*own)->metadata.resource_version == known.version ? 0 : 1;
  }

  void Touch(const Context& ctx, const ObjectKey& key, Known& known) {
    const Result<Ptr<ConfigMap>> own = client_.Get<ConfigMap>(ctx, key);
    if (!own) {
      ++errors;
      return;
    }
    ConfigMap changed = **own;
    changed.data["children"] = String(std::to_string(known.next));
    const Result<ConfigMap> updated = client_.Update(ctx, changed);  // a conflict if the cache is behind
    if (updated) {
      known.version = updated->metadata.resource_version.str();
    } else {
      ++(IsConflict(updated.error()) ? stale : errors);
    }
  }

  const CachedClient& client_;
  std::atomic<int> left_;
  std::atomic<int> active_ = 0;
  std::map<std::string, Known> known_;
};

Outcome RunMany(int runs, bool read_your_writes, std::chrono::microseconds delay) {
  const std::unique_ptr<testing::ApiServer> server = testing::ApiServer::Start({.http = true}).value();
  ClientConfig config = ToClientConfig(Kubeconfig::Parse(server->Kubeconfig()).value()).value();
  config.qps = -1;
  const auto gate = std::make_shared<WatchGate>();
  const Client client = Client::FromConfig(config, {.wrap_transport = [&](std::shared_ptr<Transport> inner) -> std::shared_ptr<Transport> {
                                             return std::make_shared<LateWatches>(std::move(inner), gate);
                                           }})
                            .value();
  const auto metrics = std::make_shared<RecordedMetrics>();
  Manager manager(client, {.cached = {.read_your_writes = read_your_writes, .wait_timeout = std::chrono::seconds(60), .metrics = metrics}});
  Family family(manager.cached(), runs);
  for (int i = 0; i < kParents; ++i) {
    ConfigMap parent;
    parent.metadata.namespace_ = "default";
    parent.metadata.name = "p" + std::to_string(i);
    const ConfigMap made = client.Create(Context::Background(), parent).value();
    family.AddParent(made.metadata.name.str(), made.metadata.resource_version.str());
  }
  const auto ours = [](const ConfigMap& map) { return map.metadata.name.view().starts_with("p"); };
  ControllerSpec spec = ControllerFor<ConfigMap>("family")
                            .For({.when = [ours](const Change<ConfigMap>& change) { return ours(*change.object); },
                                  .informer = InformerOptions{.ns = "default"}})
                            .Owns<Secret>()
                            .Workers(4)
                            .Reconcile([&](const Context& ctx, const Request& request) { return family.Reconcile(ctx, request); });
  EXPECT_TRUE(manager.Add(std::move(spec)));
  gate->Delay(delay, static_cast<std::uint32_t>(FromEnvironment("KUBEXX_SEED", 1)));
  const auto [ctx, cancel] = Context::Background().WithTimeout(std::chrono::minutes(30)).WithCancel();
  Thread runner("runner", [&, ctx = ctx] { EXPECT_TRUE(manager.Run(ctx)); });
  while (!family.finished() && ctx.SleepFor(std::chrono::milliseconds(5))) {
  }
  EXPECT_TRUE(family.finished());
  cancel.Cancel();
  runner.Join();
  Outcome outcome{
      .runs = family.runs, .missing = family.missing, .surplus = family.surplus, .stale = family.stale, .errors = family.errors};
  for (const char* resource : {"secrets", "configmaps"}) {
    outcome.waits += metrics->Value("kubexx_read_your_writes_waits_total", {{"controller", "family"}, {"resource", resource}});
    outcome.timeouts += metrics->Value("kubexx_read_your_writes_timeouts_total", {{"controller", "family"}, {"resource", resource}});
  }
  return outcome;
}

TEST(ReadYourWritesTest, AChildThatWasCreatedIsNeverMissing) {
  const int runs = FromEnvironment("KUBEXX_RUNS", 1000);
  const Outcome outcome = RunMany(runs, true, std::chrono::milliseconds(2));
  EXPECT_EQ(outcome.runs, runs);
  EXPECT_EQ(outcome.missing, 0);
  EXPECT_EQ(outcome.surplus, 0);
  EXPECT_EQ(outcome.stale, 0);
  EXPECT_EQ(outcome.errors, 0);
  EXPECT_EQ(outcome.timeouts, 0);
  EXPECT_GT(outcome.waits, 0);
}

// The proof that the test above can fail. Nothing waits for the watches here: they can be so late that it shows on any machine.
TEST(ReadYourWritesTest, WithoutItChildrenAreMissing) {
  const Outcome outcome = RunMany(500, false, std::chrono::milliseconds(100));
  EXPECT_EQ(outcome.runs, 500);
  EXPECT_GT(outcome.missing, 0);
  EXPECT_GT(outcome.surplus, 0);
  EXPECT_GT(outcome.stale, 0);
  EXPECT_EQ(outcome.errors, 0);
  EXPECT_EQ(outcome.waits, 0);
}

}  // namespace
}  // namespace kube
