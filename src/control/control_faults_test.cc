// Controllers and managers under failure: reconcilers that hang, servers that are stopped or answer with errors, leases that are lost in
// the middle of work, replicas that are cut off from the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "base/wait_test_util.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/manager.h"
#include "kube/testing/api_server.h"
#include "kube/transport/http_transport.h"
#include "kube/transport/write_permit.h"

namespace kube {
namespace {

using coordination::v1::Lease;
using core::v1::ConfigMap;
using core::v1::Secret;
using internal::Eventually;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Context Patient() { return Context::Background().WithTimeout(seconds(120)); }

class ControlFaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = testing::ApiServer::Start({.http = true}).value();
    client_ = std::make_unique<Client>(NewClient({}));
  }
  Client NewClient(ClientOptions options) const {
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server_->Kubeconfig()).value()).value();
    config.qps = -1;
    return Client::FromConfig(config, std::move(options)).value();
  }
  void Create(const std::string& name) {
    ConfigMap map;
    map.metadata.namespace_ = "default";
    map.metadata.name = name;
    ASSERT_TRUE(client_->Create(Patient(), map));
  }
  void CreateMany(int count) {
    for (int i = 0; i < count; ++i) Create("m" + std::to_string(i));
  }
  // Long terms: a machine that is busy for seconds does not lose the lease. Replicas release it on shutdown, so no test waits for its end.
  static LeaderElectionOptions Quick(const std::string& identity) {
    return {.name = "faults",
            .ns = "default",
            .identity = identity,
            .lease_duration = seconds(60),
            .renew_deadline = seconds(40),
            .retry_period = milliseconds(50)};
  }

  std::unique_ptr<testing::ApiServer> server_;
  std::unique_ptr<Client> client_;
};

// A controller without a manager.
class RunningController {
 public:
  RunningController(const Client& client, ControllerSpec spec, std::shared_ptr<Clock> clock = Clock::Real())
      : informers_(client, {.ns = "default"}),
        controller_(Controller::Create(std::move(spec), {.informers = &informers_, .clock = std::move(clock)}).value()),
        run_(Context::Background().WithCancel()) {
    EXPECT_TRUE(controller_->Start());
    informers_.Start(Context::Background());
    thread_ = Thread("runner", [this] { EXPECT_TRUE(controller_->Run(run_.first)); });
  }
  ~RunningController() { Halt(); }
  void Halt() {
    run_.second.Cancel();
    thread_.Join();
  }
  Controller* operator->() { return controller_.get(); }

 private:
  InformerFactory informers_;
  std::unique_ptr<Controller> controller_;
  std::pair<Context, CancelSource> run_;
  Thread thread_;
};

// ---- Reconcilers ----

TEST_F(ControlFaultsTest, AReconcilerThatHangsHoldsUpNoOtherKey) {
  CreateMany(20);
  std::atomic<int> others = 0;
  std::atomic<bool> hangs = false;
  RunningController controller(
      *client_, ControllerFor<ConfigMap>("maps").Workers(2).Reconcile([&](const Context& ctx, const Request& request) -> Result<Action> {
        if (request.key.name != "m0") {
          ++others;
          return Action::Done();
        }
        hangs = true;
        ctx.WaitUntilStopped();
        return *ctx.Err();
      }));
  EXPECT_TRUE(Eventually([&] { return hangs && others == 19; }));
  // Changes of a key whose reconciler hangs are remembered, and wake no worker.
  controller->Enqueue({"default", "m0"});
  controller->Enqueue({"default", "m1"});
  // A key is done with a moment after its reconciler has returned.
  ControllerStatus status;
  EXPECT_TRUE(Eventually([&] {
    status = controller->status();
    return others == 20 && status.active == 1 && status.queue.processing == 1;
  }));
  ASSERT_FALSE(status.queue.entries.empty());
  EXPECT_EQ(status.queue.entries[0].key.name, "m0");
  controller.Halt();
}

TEST_F(ControlFaultsTest, ReconcilersThatThrowAtRandomForgetNoKey) {
  CreateMany(50);
  Mutex mu;
  std::map<std::string, int> runs;
  std::set<std::string> done;
  RunningController controller(*client_, ControllerFor<ConfigMap>("maps")
                                             .Workers(4)
                                             .RateLimited(ExponentialLimiter(milliseconds(1), milliseconds(4)))
                                             .Reconcile([&](const Context&, const Request& request) -> Result<Action> {
                                               MutexLock lock(mu);
                                               const std::string name = request.key.name.str();
                                               const int run = ++runs[name];
                                               if (run < 4 && run % 3 == 1) throw std::runtime_error("oops");
                                               if (run < 4 && run % 3 == 2) throw 42;
                                               if (run < 4) return Error::Internal("not yet");
                                               done.insert(name);
                                               return Action::Done();
                                             }));
  EXPECT_TRUE(Eventually([&] {
    MutexLock lock(mu);
    return done.size() == 50;
  }));
  EXPECT_TRUE(Eventually([&] { return controller->status().failing.empty(); }));
  MutexLock lock(mu);
  for (const auto& [name, times] : runs) EXPECT_EQ(times, 4) << name;
}

// ---- The server ----

// Twenty minutes in which nothing can be written: each key is tried now and then, and done when the server is there again.
TEST_F(ControlFaultsTest, AServerThatIsGoneForMinutesCostsFewTriesAndForgetsNoKey) {
  constexpr int kKeys = 30;
  CreateMany(kKeys);
  std::atomic<bool> gone = true;
  std::atomic<int> tries = 0, done = 0;
  const auto clock = std::make_shared<FakeClock>();
  RunningController controller(*client_,
                               ControllerFor<ConfigMap>("maps").Workers(3).Reconcile([&](const Context&, const Request&) -> Result<Action> {
                                 ++tries;
                                 if (gone) return Error(ErrorKind::kTransport, "connection refused");
                                 ++done;
                                 return Action::Done();
                               }),
                               clock);
  const Clock::TimePoint begin = clock->Now();
  int rounds = 0;
  const auto all_wait = [&] {
    const ControllerStatus status = controller->status(0);
    return status.queue.waiting == kKeys && status.active == 0 && status.queue.queued == 0;
  };
  while (clock->Now() - begin < minutes(20)) {
    ASSERT_TRUE(Eventually(all_wait)) << "round " << rounds;
    ASSERT_EQ(tries, kKeys * ++rounds);
    ASSERT_LT(rounds, 25);
    ASSERT_TRUE(clock->AdvanceToNextTimer());
  }
  ASSERT_TRUE(Eventually(all_wait));
  // 5 ms, 10 ms, ... and no delay is longer than 1000 s.
  EXPECT_LE(rounds, 19);
  gone = false;
  const Clock::TimePoint back = clock->Now();
  ASSERT_TRUE(clock->AdvanceToNextTimer());
  EXPECT_LE(clock->Now() - back, seconds(1000));
  EXPECT_TRUE(Eventually([&] {
    const ControllerStatus status = controller->status();
    return done == kKeys && status.failing.empty() && status.queue.waiting + status.queue.queued + status.queue.processing == 0;
  }));
  EXPECT_EQ(done, kKeys);
}

struct Storm {
  const char* name;
  testing::Fault fault;
};

class ControlStormTest : public ControlFaultsTest, public ::testing::WithParamInterface<Storm> {};

// The server refuses two hundred writes; then each owner has its child, and no more was asked than that.
TEST_P(ControlStormTest, EndsWithEveryChildInItsPlace) {
  constexpr int kKeys = 20, kFaults = 200;
  CreateMany(kKeys);
  testing::Fault fault = GetParam().fault;
  fault.resource = "secrets";
  fault.verb = "create";
  fault.times = kFaults;
  server_->AddFault(fault);
  RunningController controller(*client_,
                               ControllerFor<ConfigMap>("maps")
                                   .Workers(4)
                                   .RateLimited(ExponentialLimiter(milliseconds(1), milliseconds(20)))
                                   .Reconcile([&](const Context& ctx, const Request& request) -> Result<Action> {
                                     const Result<ConfigMap> owner = client_->Get<ConfigMap>(ctx, request.key);
                                     if (!owner) return owner.error();
                                     Secret child;
                                     child.metadata.name = "of-" + request.key.name.str();
                                     child.data["for"] = request.key.name;
                                     const Result<Changes> changes =
                                         DesiredState(*client_, *owner, {.field_manager = "storm", .name = "storm"}).Want(child).Apply(ctx);
                                     if (!changes) return changes.error();
                                     if (Result<void> good = changes->ToResult(); !good) return good.error();
                                     return Action::Done();
                                   }));
  EXPECT_TRUE(Eventually([&] {
    const Result<ObjectList<Secret>> children = client_->List<Secret>(Patient(), {.ns = "default"});
    return children && children->items.size() == kKeys;
  }));
  EXPECT_TRUE(Eventually([&] {
    const ControllerStatus status = controller->status();
    return status.failing.empty() && status.active == 0 && status.queue.queued + status.queue.waiting + status.queue.processing == 0;
  }));
  EXPECT_LE(controller->status().errors, static_cast<std::uint64_t>(kFaults));
  // With Retry-After the transport tries again, and the reconciler need not know.
  if (fault.retry_after_seconds < 0) {
    EXPECT_GE(controller->status().errors, static_cast<std::uint64_t>(kKeys));
  }
  EXPECT_LE(controller->status().runs, static_cast<std::uint64_t>(kFaults + kKeys));
}

INSTANTIATE_TEST_SUITE_P(Answers, ControlStormTest,
                         ::testing::Values(Storm{"Conflicts", {.status = 409}}, Storm{"TooManyRequests", {.status = 429}},
                                           Storm{"TooManyRequestsAgainAtOnce", {.status = 429, .retry_after_seconds = 0}},
                                           Storm{"InternalErrors", {.status = 500}}, Storm{"Unavailable", {.status = 503}},
                                           Storm{"LostConnections", {.kind = testing::FaultKind::kDrop}},
                                           Storm{"LostAnswers", {.kind = testing::FaultKind::kCut, .bytes = 10}}),
                         [](const auto& param) { return std::string(param.param.name); });

// ---- Leadership ----

// Another client takes the lease while a reconciler runs: its context stops, the manager says why it ended, and the restarted program does
// the work that was cut off.
TEST_F(ControlFaultsTest, ALeaseThatIsLostWhileReconcilingStopsTheReconciler) {
  Create("m");
  std::atomic<bool> working = false, told = false;
  std::atomic<int> runs = 0;
  Manager manager(*client_, {.leader_election = Quick("a")});
  ASSERT_TRUE(
      manager.Add(ControllerFor<ConfigMap>("maps").Workers(2).Reconcile([&](const Context& ctx, const Request& request) -> Result<Action> {
        if (request.key.name != "m") return Action::Done();
        ++runs;
        working = true;
        ctx.WaitUntilStopped();
        told = true;
        return *ctx.Err();
      })));
  std::optional<Result<void>> ended;
  auto [run, stop_run] = Patient().WithCancel();
  Thread runner("runner", [&, ctx = run] { ended = manager.Run(ctx); });
  EXPECT_TRUE(Eventually([&] { return working.load(); }));
  // Without a resourceVersion: the holder writes it all the time.
  const Result<Lease> taken =
      client_->Patch<Lease>(Patient(), {"default", "faults"}, Patch::Merge(R"({"spec": {"holderIdentity": "thief"}})"));
  EXPECT_TRUE(taken) << taken.error().ToString();
  if (!taken) stop_run.Cancel();
  runner.Join();
  EXPECT_TRUE(told);
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(manager.is_leader());
  ASSERT_TRUE(ended && !*ended);
  EXPECT_TRUE(IsLeadershipLost(ended->error())) << ended->error().ToString();
  EXPECT_EQ(manager.controller("maps")->status().errors, 0U) << "a run that is ended from outside did not fail";
  // The thief's is left alone.
  EXPECT_EQ(client_->Get<Lease>(Patient(), {"default", "faults"}).value().spec.holder_identity.value_or(""), "thief");

  ASSERT_TRUE(client_->Patch<Lease>(Patient(), {"default", "faults"}, Patch::Merge(R"({"spec": {"holderIdentity": ""}})")));
  std::atomic<int> again = 0;
  Manager next(*client_, {.leader_election = Quick("a2")});
  ASSERT_TRUE(next.Add(ControllerFor<ConfigMap>("maps").Reconcile([&](const Context&, const Request& request) -> Result<Action> {
    if (request.key.name == "m") ++again;
    return Action::Done();
  })));
  auto [ctx, cancel] = Patient().WithCancel();
  Thread second("second", [&, ctx = ctx] { EXPECT_TRUE(next.Run(ctx)); });
  EXPECT_TRUE(Eventually([&] { return again == 1; }));
  cancel.Cancel();
  second.Join();
}

// All requests hang while it is cut off.
class CuttableTransport : public TransportDecorator {
 public:
  using TransportDecorator::TransportDecorator;
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (cut) {
      ctx.WaitUntilStopped();
      return *ctx.Err();
    }
    return TransportDecorator::RoundTrip(ctx, std::move(request));
  }
  std::atomic<bool> cut = false;
};

// A leader that cannot reach the server stops before the other replica, which can, begins.
TEST_F(ControlFaultsTest, AReplicaThatIsCutOffStopsBeforeTheOtherOneBegins) {
  CreateMany(5);
  const auto wire = std::make_shared<CuttableTransport>(MakeHttpTransport({.base_url = server_->url()}).value());
  Mutex mu;
  std::vector<std::string> log;  // the replica that was working
  const auto make = [&](Client client, const std::string& who) {
    LeaderElectionOptions election = Quick(who);
    if (who == "a") {
      election.lease_duration = seconds(6);  // so long has the other one to wait
      election.renew_deadline = seconds(4);
    }
    auto manager = std::make_unique<Manager>(std::move(client), ManagerOptions{.leader_election = election});
    // Works without pause, whether the server runs or not.
    EXPECT_TRUE(manager->Add(
        ControllerFor<ConfigMap>("maps").Workers(3).Reconcile([&mu, &log, who](const Context& ctx, const Request&) -> Result<Action> {
          {
            MutexLock lock(mu);
            // As each write does. The context of a starved process stops late, and so does one that was not let run; the permit does not.
            const std::shared_ptr<WritePermit> permit = ctx.Value<WritePermit>();
            EXPECT_NE(permit, nullptr);
            if (permit->Check()) log.push_back(who);
          }
          (void)ctx.SleepFor(milliseconds(2));
          return Action::RequeueAfter(milliseconds(1));
        })));
    return manager;
  };
  const auto a = make(NewClient({.transport = wire}), "a"), b = make(*client_, "b");
  const auto seen = [&](const std::string& who) {
    MutexLock lock(mu);
    return std::count(log.begin(), log.end(), who);
  };
  auto [ctx, cancel] = Patient().WithCancel();
  std::optional<Result<void>> a_ended;
  std::atomic<bool> a_over = false;
  Thread run_a("a", [&, ctx = ctx] {
    a_ended = a->Run(ctx);
    a_over = true;
  });
  // A machine that stands still for seconds makes it lose the lease by itself, which is as good.
  EXPECT_TRUE(Eventually([&] { return seen("a") > 20 || a_over; }));
  Thread run_b("b", [&, ctx = ctx] { EXPECT_TRUE(b->Run(ctx)); });
  wire->cut = true;
  EXPECT_TRUE(Eventually([&] { return seen("b") > 20; }));
  run_a.Join();
  ASSERT_TRUE(a_ended && !*a_ended);
  EXPECT_TRUE(IsLeadershipLost(a_ended->error())) << a_ended->error().ToString();
  cancel.Cancel();
  run_b.Join();
  MutexLock lock(mu);
  EXPECT_EQ(std::count(std::find(log.begin(), log.end(), "b"), log.end(), "a"), 0);
}

}  // namespace
}  // namespace kube
