// Replicas that share a CA, simulated on a fake clock: each read and write is a step of its own, steps of replicas interleave at random,
// and a replica may end before or after any of them. What must hold at every moment: API servers, which see configurations with a delay,
// trust every replica that is ready.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "control/certificates/ca_keeper.h"
#include "control/certificates/ca_state.h"
#include "kube/base/fake_clock.h"

namespace kube::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using WallTime = Clock::WallTime;

// A CA every three minutes, so that an hour has twenty rotations.
constexpr WebhookCertificateTimes kTimes{.ca_lifetime = seconds(270),
                                         .leaf_lifetime = seconds(60),
                                         .injection_wait = seconds(20),
                                         .ready_wait = seconds(20),
                                         .clock_skew = seconds(20),
                                         .repair_delay = seconds(5)};
constexpr seconds kServerDelay(20);  // at most, until an API server sees a configuration

struct Scenario {
  std::uint32_t seed = 0;
  int replicas = 3;
  bool election = true;
  double crash = 0;        // of each step
  double lost_answer = 0;  // of each write: it happened, but the replica does not learn of it
  double tamper = 0;       // per step: another client deletes or edits the Secret or the configuration
  bool survivor = false;   // replica 0 does not crash: one replica has to know what was deleted
  seconds skew{0};         // of replicas' clocks, either way
};

class World {
 public:
  explicit World(Scenario scenario) : scenario_(scenario), random_(scenario.seed) {
    const int skew = static_cast<int>(scenario.skew.count());
    for (int i = 0; i < scenario.replicas; ++i) replicas_.push_back(std::make_unique<Replica>(seconds(Pick(2 * skew + 1) - skew)));
  }

  void Run(seconds time) {
    const WallTime end = clock_.WallNow() + time;
    while (clock_.WallNow() < end && !::testing::Test::HasFailure()) {
      clock_.Advance(milliseconds(Pick(400)));
      const auto turn = static_cast<std::size_t>(Pick(scenario_.replicas));
      if (leader_ >= replicas_.size() || Chance(0.0005)) leader_ = turn;
      if (Chance(scenario_.tamper)) Tamper();
      if (Chance(scenario_.crash) && !(scenario_.survivor && turn == 0)) {
        ++crashes;
        replicas_[turn] = std::make_unique<Replica>(replicas_[turn]->skew);
        if (leader_ == turn) leader_ = replicas_.size();
        continue;
      }
      OneStep(*replicas_[turn], turn == leader_ || !scenario_.election);
      Check();
    }
  }

  int crashes = 0, promotions = 0, writes = 0, conflicts = 0;
  double ready_share() const { return static_cast<double>(ready_) / static_cast<double>(checked_); }
  std::size_t bundle_size() const { return serve::SplitCertificates(config_.bundle).size(); }

 private:
  struct Config {
    std::string bundle{};
    int version = 1;
  };
  struct Replica {
    explicit Replica(seconds with_skew) : skew(with_skew) {}
    const seconds skew;
    CaKeeper keeper{"sim", kTimes};
    int at = 0;  // the next step of a pass
    Config seen{};
    TrustLog trust{};
    std::optional<WebhookLeaf> leaf{};
    bool serves_ready = false;
  };

  int Pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

  void SetBundle(std::string bundle) {
    config_.bundle = std::move(bundle);
    ++config_.version;
    history_.push_back({clock_.WallNow(), config_.bundle});
  }

  // The order of a pass is that of WebhookCertificates: configurations, then the Secret, so that what is injected is never older than what
  // stands in the configuration.
  void OneStep(Replica& r, bool leads) {
    const WallTime now = clock_.WallNow() + r.skew;
    switch (r.at++) {
      case 0:
        r.seen = config_;
        if (r.seen.version != split_.first) split_ = {r.seen.version, serve::SplitCertificates(r.seen.bundle)};
        r.trust.Saw(split_.second, now);
        return;
      case 1:
        r.keeper.Saw(secret_, now);
        return;
      case 2: {  // inject
        if (!r.keeper.may_inject()) return;
        const std::string bundle = r.keeper.held()->Bundle();
        if (r.seen.bundle != bundle && r.seen.version == config_.version) SetBundle(bundle);
        return;
      }
      case 3: {  // write the Secret
        const CaKeeper::Situation situation{
            .leads = leads,
            .injected_since = r.keeper.held() ? r.trust.SinceAll(r.keeper.held()->Certificates()) : std::nullopt,
            .trusted = r.seen.bundle};
        const Result<CaKeeper::Decision> decision = r.keeper.Next(situation, now);
        ASSERT_TRUE(decision) << decision.error().ToString();
        if (!decision->write) return;
        const CaKeeper::Write& write = *decision->write;
        ++writes;
        if (write.replaces ? !secret_ || secret_->resource_version != *write.replaces : secret_.has_value()) {
          ++conflicts;
          r.at = 0;
          return;
        }
        if (write.what == "promoted the next CA") ++promotions;
        secret_ = StoredCa{write.json, std::to_string(++version_)};
        if (!Chance(scenario_.lost_answer)) r.keeper.Saw(secret_, now);
        return;
      }
      default:
        r.at = 0;
        if (!r.keeper.held()) return;
        if (NeedsLeaf(r.leaf, *r.keeper.held(), now)) r.leaf = IssueLeaf(*r.keeper.held(), {"w.ns.svc"}, now, kTimes).value();
        UpdateReady(r, now);
        return;
    }
  }

  static void UpdateReady(Replica& r, WallTime now) {
    const std::optional<WallTime> since = r.leaf ? r.trust.Since(r.leaf->issuer) : std::nullopt;
    r.serves_ready = since && now - *since >= kTimes.ready_wait && r.leaf->ValidAt(now);
  }

  void Tamper() {
    switch (Pick(4)) {
      case 0:
        secret_.reset();
        return;
      case 1:
        if (secret_) secret_ = StoredCa{secret_->json.substr(0, secret_->json.size() / 2), std::to_string(++version_)};
        return;
      case 2:  // what it was some time ago
        if (kept_) secret_ = StoredCa{kept_->json, std::to_string(++version_)};
        kept_ = secret_;
        return;
      default:
        if (secret_) secret_ = StoredCa{"{\"current\": {}}", std::to_string(++version_)};
        return;
    }
  }

  // Each API server sees the configuration as it was at some moment within the delay.
  void Check() {
    const WallTime now = clock_.WallNow();
    while (history_.size() > 1 && history_[1].first <= now - kServerDelay) history_.pop_front();
    for (const auto& replica : replicas_) {
      const Replica& r = *replica;
      ++checked_;
      if (!r.serves_ready) continue;
      ++ready_;
      EXPECT_TRUE(r.leaf->ValidAt(now)) << "seed " << scenario_.seed;
      for (const auto& [when, bundle] : history_) {
        EXPECT_NE(bundle.find(r.leaf->issuer), std::string::npos)
            << "seed " << scenario_.seed << ": an API server does not trust a replica, " << (now - when).count() << " ns behind";
      }
    }
  }

  const Scenario scenario_;
  std::mt19937 random_;
  FakeClock clock_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::size_t leader_ = 99;
  int version_ = 1;
  std::optional<StoredCa> secret_, kept_;
  Config config_;
  std::pair<int, std::vector<std::string>> split_;  // the certificates of a version of it
  std::deque<std::pair<WallTime, std::string>> history_ = {{clock_.WallNow(), ""}};
  std::size_t ready_ = 0, checked_ = 0;
};

TEST(CaSimulationTest, ReplicasThatStartAtOnceShareOneCa) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    World world({.seed = seed, .replicas = 5, .election = false});
    world.Run(seconds(120));
    EXPECT_EQ(world.bundle_size(), 1U);
    EXPECT_EQ(world.writes - world.conflicts, 1);
    EXPECT_GT(world.ready_share(), 0.5);
  }
}

TEST(CaSimulationTest, RotatesWithoutAMomentOfDistrust) {
  for (const bool election : {true, false}) {
    World world({.seed = 3, .election = election});
    world.Run(seconds(1000));
    EXPECT_GE(world.promotions, 4);
    EXPECT_GT(world.ready_share(), 0.95);
  }
}

TEST(CaSimulationTest, ContinuesAfterACrashAtAnyStep) {
  int crashes = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    World world({.seed = seed, .election = seed % 2 == 0, .crash = 0.005, .lost_answer = 0.3});
    world.Run(seconds(500));
    EXPECT_GE(world.promotions, 1) << "seed " << seed;
    EXPECT_GT(world.ready_share(), 0.4) << "seed " << seed;
    crashes += world.crashes;
  }
  EXPECT_GT(crashes, 30);
}

TEST(CaSimulationTest, SurvivesDeletedAndEditedSecrets) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    World world({.seed = seed, .election = seed % 2 == 0, .crash = 0.003, .lost_answer = 0.2, .tamper = 0.01, .survivor = true});
    world.Run(seconds(500));
    EXPECT_GT(world.ready_share(), 0.5) << "seed " << seed;
  }
}

TEST(CaSimulationTest, ToleratesClocksThatDiffer) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    World world({.seed = seed, .election = seed % 2 == 0, .crash = 0.002, .skew = seconds(9)});
    world.Run(seconds(500));
    EXPECT_GE(world.promotions, 1) << "seed " << seed;
    EXPECT_GT(world.ready_share(), 0.6) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kube::internal
