// Two replicas of a controller that keeps one ConfigMap for each Deployment, on a real control plane. Deployments come, change and go while
// the leader, kube-apiserver and etcd are killed (-9), and leaders frozen and ended. At the end:
//   - each Deployment has its ConfigMap, made for its last version: no key was forgotten;
//   - no ConfigMap belongs to a Deployment that does not exist any more;
//   - at no time two replicas wrote (audit_log.h says what that means, and what cannot be promised);
//   - no replica crashed, hung at its end, grew without bound or kept a processor busy with nothing to do.
//
// All kinds of faults happen once, in a random order, and then again until the time is over. KUBEXX_CHAOS_SECONDS: how long at least (60).
// KUBEXX_CHAOS_DEPLOYMENTS: how many (500). KUBEXX_SEED: another sequence of faults and changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "audit_log.h"
#include "churn.h"
#include "kube/api/apps/v1.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/log.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/testing/control_plane.h"
#include "kube/transport/decorators.h"
#include "replicas.h"
#include "testing/temporary_directory.h"
#include "wanted.h"

namespace kube::chaos {
namespace {

using apps::v1::Deployment;
using coordination::v1::Lease;
using core::v1::ConfigMap;
using core::v1::Namespace;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::ControlPlane;
using Part = testing::ControlPlane::Part;
using ::testing::IsEmpty;

constexpr const char* kNamespace = "chaos";
constexpr milliseconds kLeaseDuration{6000}, kRenewDeadline{3000}, kRetryPeriod{500};
constexpr seconds kPatience{120}, kMostPatience{300};

// A sanitizer makes programs slower and bigger.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlow = 5;
#else
constexpr double kSlow = 1;
#endif
constexpr double kMostResidentMib = 200 * kSlow;
constexpr double kMostIdleCpu = 0.1 * kSlow;  // processors
constexpr int kMostThreads = 40;

int Setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// The first ones of many.
std::string Lines(const std::vector<std::string>& lines) {
  std::string out;
  for (std::size_t i = 0; i < lines.size() && i < 20; ++i) out += lines[i] + "\n";
  if (lines.size() > 20) out += "and " + std::to_string(lines.size() - 20) + " more\n";
  return out;
}

void WriteTo(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

class ControllerChaosTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LogBackend::Default()->SetSettings(LogSettings::Parse("error").value());
    scratch_ = testing::internal::TemporaryDirectory::Create("kubexx-chaos").value();
    WriteTo(Path("policy.json"), AuditPolicy(kNamespace));
    Result<std::unique_ptr<ControlPlane>> started = ControlPlane::Start(
        Context::Background(),
        {.controller_manager = true,
         .service_account_admission = false,
         .apiserver_flags = {"--audit-policy-file=" + Path("policy.json"), "--audit-log-path=" + Path("audit.log"),
                             "--audit-log-maxsize=2000"},
         // Nothing creates pods here; children of a deleted owner must be deleted.
         .controller_manager_flags = {"--controllers=garbage-collector-controller", "--kube-api-qps=300", "--kube-api-burst=500"}});
    if (!started && started.error().kind() == ErrorKind::kConfig) GTEST_SKIP() << started.error().ToString();
    ASSERT_TRUE(started) << started.error().ToString();
    plane_ = *std::move(started);
    if (plane_->existing()) GTEST_SKIP() << "a cluster that was there before is not killed";
    WriteTo(Path("kubeconfig"), plane_->AdminKubeconfig());
    std::filesystem::permissions(Path("kubeconfig"), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(plane_->AdminKubeconfig()).value()).value();
    config.qps = -1;
    client_ = std::make_unique<Client>(Client::FromConfig(config, {.warning_handler = [](const ApiWarning&) {}}).value());
    Namespace ns;
    ns.metadata.name = kNamespace;
    ASSERT_TRUE(client_->Create(Patient(), ns));
    const ReplicaOptions options{
        .program = std::filesystem::read_symlink("/proc/self/exe").replace_filename("chaos_replica").string(),
        .directory = scratch_->path(),
        .kubeconfig = Path("kubeconfig"),
        .ns = kNamespace,
        .lease_duration = kLeaseDuration,
        .renew_deadline = kRenewDeadline,
        .retry_period = kRetryPeriod,
    };
    for (const char* name : {"a", "b"}) replicas_.push_back(std::make_unique<Replica>(name, options, &timeline_));
  }

  void TearDown() override {
    if (!HasFailure() || replicas_.empty()) return;
    std::printf("seed %u (KUBEXX_SEED)\n%s", seed_, timeline_.ToString().c_str());
    for (const auto& replica : replicas_) std::printf("%s", replica->LastLines(60).c_str());
    std::printf("%s\n", plane_->Logs(15).c_str());
  }

  static Context Patient() { return Context::Background().WithTimeout(kPatience); }
  std::string Path(const std::string& file) const { return scratch_->path() + "/" + file; }

  // ---- Faults ----

  // The leader according to the lease; any replica if the lease cannot be read.
  Replica& Leader(std::minstd_rand& random) const {
    const Result<Lease> lease = client_->Get<Lease>(Context::Background().WithTimeout(seconds(2)), {kNamespace, "chaos"});
    const std::string holder = lease && lease->spec.holder_identity ? lease->spec.holder_identity->str() : "";
    for (const auto& replica : replicas_) {
      if (replica->identity() == holder) return *replica;
    }
    return *replicas_[random() % replicas_.size()];
  }

  void KillPart(Part part) {
    timeline_.Note("kill -9 " + std::string(ToString(part)));
    const Result<void> killed = plane_->Kill(part);
    EXPECT_TRUE(killed) << killed.error().ToString();
  }
  void RestartParts() {
    for (const Part part : {Part::kEtcd, Part::kApiServer, Part::kControllerManager}) {
      if (plane_->running(part)) continue;
      const Result<void> again = plane_->Restart(Patient(), part);
      EXPECT_TRUE(again) << again.error().ToString();
      timeline_.Note(std::string(ToString(part)) + " is there again");
    }
  }

  static constexpr int kFaultKinds = 12;
  void OneFault(int kind, std::minstd_rand& random) {
    const auto upto = [&](unsigned ms) { return milliseconds(random() % ms); };
    const Context ctx = Context::Background();
    ++faults_;
    switch (kind) {
      case 0:
      case 1:
        KillPart(Part::kApiServer);
        (void)ctx.SleepFor(upto(3000));
        break;
      case 2:
      case 3:
        KillPart(Part::kEtcd);
        (void)ctx.SleepFor(upto(3000));
        break;
      case 4:  // longer than a lease
        KillPart(random() % 2 == 0 ? Part::kApiServer : Part::kEtcd);
        (void)ctx.SleepFor(kLeaseDuration + upto(3000));
        break;
      case 5:
      case 6:
        Leader(random).Kill(upto(3000));
        break;
      case 7:
        Leader(random).Terminate(upto(2000));
        break;
      case 8:
      case 9: {  // the other one acquires the lease meanwhile
        Replica& leader = Leader(random);
        leader.Freeze();
        (void)ctx.SleepFor(kLeaseDuration + kRetryPeriod * 2 + upto(3000));
        leader.Resume();
        break;
      }
      case 10: {  // back before the lease is over, if only just
        Replica& leader = Leader(random);
        leader.Freeze();
        (void)ctx.SleepFor(upto(static_cast<unsigned>(kLeaseDuration.count())));
        leader.Resume();
        break;
      }
      default:
        for (const auto& replica : replicas_) replica->Kill(upto(2000));
        KillPart(Part::kApiServer);
        break;
    }
    RestartParts();
  }

  // ---- The live state ----

  // Differences between the desired and the live state: empty if nothing does.
  std::string Differences() const {
    const Result<ObjectList<Deployment>> deployments = client_->List<Deployment>(Patient(), {.ns = kNamespace});
    if (!deployments) return deployments.error().ToString();
    const Result<ObjectList<ConfigMap>> maps = client_->List<ConfigMap>(Patient(), {.ns = kNamespace});
    if (!maps) return maps.error().ToString();
    std::vector<std::string> found;
    std::map<std::string, const ConfigMap*> children;
    std::set<std::string> owners;
    for (const ConfigMap& map : *maps) children[map.metadata.name.str()] = &map;
    for (const Deployment& deployment : *deployments) {
      const std::string name = ChildName(deployment.metadata.name.str());
      owners.insert(deployment.metadata.uid.str());
      const auto child = children.find(name);
      if (child == children.end()) {
        found.push_back(name + " is missing");
        continue;
      }
      std::map<std::string, std::string> data;
      for (const auto& [key, text] : child->second->data) data[key.str()] = text.str();
      if (data != WantedData(deployment)) found.push_back(name + " is for another version of its Deployment: " + Compare(data, deployment));
    }
    for (const auto& [name, map] : children) {
      const auto& references = map->metadata.owner_references;
      if (references.size() != 1 || owners.count(references[0].uid.str()) == 0) found.push_back(name + " belongs to nobody who is there");
    }
    return Lines(found);
  }
  static std::string Compare(const std::map<std::string, std::string>& data, const Deployment& deployment) {
    std::string out;
    for (const auto& [key, text] : WantedData(deployment)) {
      const auto is = data.find(key);
      if (is == data.end()) {
        out += key + " is missing; ";
      } else if (is->second != text) {
        out += key + " is \"" + is->second + "\", not \"" + text + "\"; ";
      }
    }
    return out;
  }
  // Until nothing differs. A busy machine is slow, but what differs becomes less: if nothing happens for kPatience, something is lost.
  void ExpectSettled() const {
    std::string before;
    for (auto since = steady_clock::now(), begin = since;;) {
      const std::string differences = Differences();
      if (differences.empty()) return;
      const auto now = steady_clock::now();
      if (differences != std::exchange(before, differences)) since = now;
      if (now - since > kPatience || now - begin > kMostPatience) break;
      (void)Context::Background().SleepFor(milliseconds(200));
    }
    std::string reports;
    for (const auto& replica : replicas_) reports += "---- " + replica->identity() + " ----\n" + replica->Report();
    ADD_FAILURE() << before << reports;
  }

  AuditLog ReadAudit() const {
    std::ifstream file(Path("audit.log"));
    std::stringstream text;
    text << file.rdbuf();
    return ParseAuditLog(text.str());
  }

  // Nothing changes: replicas have nothing to do, and do nothing.
  void CheckQuiet() {
    const seconds time{5};
    std::vector<Usage> before;
    for (const auto& replica : replicas_) before.push_back(replica->usage().value_or(Usage{}));
    const std::size_t writes = ReadAudit().writes.size();
    (void)Context::Background().SleepFor(time);
    EXPECT_EQ(ReadAudit().writes.size(), writes) << "children are written though nothing changed";
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      const std::optional<Usage> after = replicas_[i]->usage();
      ASSERT_TRUE(after) << replicas_[i]->name() << " does not run";
      const double cpu = (after->cpu_seconds - before[i].cpu_seconds) / static_cast<double>(time.count());
      std::printf("%s: %.3f processors, %.0f MiB, %d threads\n", replicas_[i]->identity().c_str(), cpu, after->resident_mib,
                  after->threads);
      EXPECT_LT(cpu, kMostIdleCpu) << replicas_[i]->name();
      EXPECT_LT(after->resident_mib, kMostResidentMib) << replicas_[i]->name();
      EXPECT_LE(after->threads, kMostThreads) << replicas_[i]->name();
    }
  }

  const unsigned seed_ = static_cast<unsigned>(Setting("KUBEXX_SEED", 1));
  std::unique_ptr<testing::internal::TemporaryDirectory> scratch_;
  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<Client> client_;
  Timeline timeline_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  int faults_ = 0;
};

TEST_F(ControllerChaosTest, KilledLeadersAndServersLeaveEverythingRight) {
  std::printf("seed %u (KUBEXX_SEED)\n", seed_);
  const seconds time(Setting("KUBEXX_CHAOS_SECONDS", 60));
  Churn churn(*client_, kNamespace, Setting("KUBEXX_CHAOS_DEPLOYMENTS", 500), seed_);
  const Result<void> filled = churn.Fill(Patient());
  ASSERT_TRUE(filled) << filled.error().ToString();

  auto [keeping, stop_keeping] = Context::Background().WithCancel();
  Thread keeper("keeper", [this, ctx = keeping] {
    do {
      for (const auto& replica : replicas_) replica->Tend();
    } while (ctx.SleepFor(milliseconds(20)));
  });
  ExpectSettled();
  ASSERT_FALSE(HasFailure()) << "before the first fault";
  timeline_.Note("settled; now the faults");
  {
    auto [changing, stop] = Context::Background().WithCancel();
    const Thread writer("churn", [&, ctx = changing] { churn.Run(ctx); });
    std::minstd_rand random(seed_ + 1);
    const auto until = steady_clock::now() + time;
    std::vector<int> kinds(kFaultKinds);
    std::iota(kinds.begin(), kinds.end(), 0);
    for (std::size_t i = 0; (i < kinds.size() || steady_clock::now() < until) && !HasFailure(); ++i) {
      if (i % kinds.size() == 0) std::shuffle(kinds.begin(), kinds.end(), random);
      (void)Context::Background().SleepFor(milliseconds(1000 + random() % 3000));
      OneFault(kinds[i % kinds.size()], random);
    }
    ASSERT_TRUE(plane_->WaitReady(Patient()));
    stop.Cancel();
  }
  // A Deployment that is deleted and made again while its watch is cut is an update to the garbage collector, which goes on believing in
  // the old one and leaves its children alone. A new one sees the present state.
  KillPart(Part::kControllerManager);
  RestartParts();
  timeline_.Note("no more faults, no more changes");
  const auto end = steady_clock::now();
  ExpectSettled();
  const double settled = std::chrono::duration<double>(steady_clock::now() - end).count();
  timeline_.Note("settled");
  // The garbage collector's deletions are events for the replicas; then there is nothing left.
  (void)Context::Background().SleepFor(seconds(2));
  CheckQuiet();
  stop_keeping.Cancel();
  keeper.Join();

  std::vector<Freeze> freezes;
  int losses = 0;
  for (const auto& replica : replicas_) {
    replica->Finish(seconds(30));
    EXPECT_THAT(replica->mistakes(), IsEmpty());
    for (Freeze& freeze : replica->freezes()) freezes.push_back(std::move(freeze));
    losses += replica->losses();
  }
  // A replica that shuts down gracefully releases the lease.
  const Result<Lease> lease = client_->Get<Lease>(Patient(), {kNamespace, "chaos"});
  ASSERT_TRUE(lease) << lease.error().ToString();
  EXPECT_EQ(lease->spec.holder_identity.value_or(""), "");

  const AuditLog log = ReadAudit();
  const WriterReport writers =
      CheckWriters(log, freezes, std::chrono::duration_cast<std::chrono::microseconds>(kLeaseDuration).count(), kWorkers);
  EXPECT_EQ(Lines(writers.problems), "");
  EXPECT_LE(log.broken_lines, faults_);
  EXPECT_GT(writers.writes, 50);
  EXPECT_GT(churn.successes(), 50);
  EXPECT_EQ(Differences(), "") << "after the end of the replicas";
  std::printf("%d changes (%d failed), %d faults, %d times leadership lost, settled %.1f s after the last; %s\n", churn.successes(),
              churn.failures(), faults_, losses, settled, writers.ToString().c_str());
}

}  // namespace
}  // namespace kube::chaos
