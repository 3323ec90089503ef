// A minute of everything at once on one client: calls, watches, cancellations, faults, server restarts. Built for the sanitizers; what it
// asserts is that nothing hangs, nothing but expected errors comes out, and nothing is left behind.
//
// KUBEXX_SOAK_SECONDS: how long (60).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/client/pager.h"
#include "kube/client/wait.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"
#include "kube/transport/http_transport.h"

namespace kube {
namespace {

using core::v1::ConfigMap;
using testing::ApiServer;
using testing::FaultKind;

std::chrono::seconds SoakTime() {
  const char* text = std::getenv("KUBEXX_SOAK_SECONDS");
  return std::chrono::seconds(text == nullptr ? 60 : std::atoi(text));
}

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// What happened, by name.
class Tally {
 public:
  void Count(const std::string& what) {
    MutexLock lock(mu_);
    ++counts_[what];
  }
  void Count(const std::string& what, const Error& error) {
    Count(what + ": " + (error.kind() == ErrorKind::kApi ? error.reason() : std::string(ToString(error.kind())) + " " + error.reason()));
  }
  std::map<std::string, int> counts() const {
    MutexLock lock(mu_);
    return counts_;
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, int> counts_ KUBE_GUARDED_BY(mu_);
};

// Errors that a server which restarts, stalls and refuses may cause.
bool Expected(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::kTransport:
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled:
      return true;
    case ErrorKind::kApi:
      return error.http_code() == 429 || error.http_code() >= 500 || IsConflict(error) || IsNotFound(error) || IsAlreadyExists(error) ||
             IsResourceExpired(error) || IsGone(error);
    default:
      return false;
  }
}

class Soak {
 public:
  Soak(Client client, Context ctx) : client_(std::move(client)), ctx_(std::move(ctx)) {}

  void Calls(unsigned seed) {
    std::minstd_rand random(seed);
    while (!ctx_.stopped()) {
      const std::string name = "m" + std::to_string(random() % 20);
      const ObjectKey key{"default", String(name)};
      // A tenth of the calls has next to no time.
      const Context ctx =
          ctx_.WithTimeout(random() % 10 == 0 ? std::chrono::microseconds(random() % 3000) : std::chrono::microseconds(5'000'000));
      switch (random() % 7) {
        case 0:
          Note("create", client_.Create(ctx, ConfigMap{.metadata = {.name = String(name), .namespace_ = "default"}, .data = {{"n", "0"}}}));
          break;
        case 1:
          Note("get", client_.Get<ConfigMap>(ctx, key));
          break;
        case 2:
          Note("list", client_.List<ConfigMap>(ctx, {.ns = "default"}));
          break;
        case 3:
          Note("patch", client_.Patch<ConfigMap>(ctx, key, Patch::Merge(R"({"data":{"n":")" + std::to_string(random()) + "\"}}")));
          break;
        case 4:
          Note("delete", client_.Delete<ConfigMap>(ctx, key));
          break;
        case 5:
          Note("pages", ListAllPages(client_.Resource<ConfigMap>(), ctx, {.ns = "default", .limit = 3}));
          break;
        default:
          Note("dynamic get", client_.Resource(Gvr{"", "v1", "configmaps"}).Get(ctx, key));
          break;
      }
    }
  }

  void Watches(unsigned seed) {
    std::minstd_rand random(seed);
    while (!ctx_.stopped()) {
      Result<Watcher<ConfigMap>> watcher = client_.Watch<ConfigMap>(ctx_.WithTimeout(std::chrono::seconds(5)), {.ns = "default"});
      Note("watch", watcher);
      if (!watcher) {
        (void)ctx_.SleepFor(std::chrono::milliseconds(20));
        continue;
      }
      const std::size_t events = random() % 200;
      for (std::size_t i = 0; i < events && !ctx_.stopped(); ++i) {
        // Impatient readers come and go on the same watch.
        const Context ctx = ctx_.WithTimeout(std::chrono::milliseconds(1 + random() % 100));
        const Result<std::optional<WatchEvent<ConfigMap>>> event = watcher->Next(ctx);
        if (!event) {
          if (!IsDeadlineExceeded(event.error()) && !IsCancelled(event.error())) Note("event", event);
          continue;
        }
        if (!*event || (*event)->type == WatchEventType::kError) break;
        tally_.Count("event");
      }
    }
  }

  const Tally& tally() const { return tally_; }

 private:
  template <typename T>
  void Note(const std::string& what, const Result<T>& result) {
    if (result) {
      tally_.Count(what);
      return;
    }
    tally_.Count(what, result.error());
    EXPECT_TRUE(Expected(result.error())) << what << ": " << result.error().ToString();
  }

  const Client client_;
  const Context ctx_;
  Tally tally_;
};

TEST(ClientSoakTest, SurvivesEverythingAtOnce) {
  std::unique_ptr<ApiServer> server = ApiServer::Start().value();
  ClientConfig config = ToClientConfig(Kubeconfig::Parse(server->Kubeconfig()).value()).value();
  config.qps = -1;
  const Context whole = Context::Background().WithTimeout(SoakTime());
  std::size_t descriptors = 0;
  std::map<std::string, int> counts;
  {
    const Client client = Client::FromConfig(config, {.warning_handler = [](const ApiWarning&) {}}).value();
    ASSERT_TRUE(client.List<ConfigMap>(Context::Background(), {.ns = "default"}));
    descriptors = OpenDescriptors();
    Soak soak(client, whole);
    {
      std::vector<Thread> threads;
      for (unsigned i = 0; i < 6; ++i) threads.emplace_back("calls", [&soak, i] { soak.Calls(i + 1); });
      for (unsigned i = 0; i < 4; ++i) threads.emplace_back("watches", [&soak, i] { soak.Watches(i + 100); });
      std::minstd_rand random(7);
      while (!whole.stopped()) {
        (void)whole.SleepFor(std::chrono::milliseconds(300));
        switch (random() % 7) {
          case 0:
            EXPECT_TRUE(server->Restart(true));
            break;
          case 1:
            server->CloseConnections();
            break;
          case 2:
            server->AddFault({.kind = FaultKind::kStatus, .status = 429, .retry_after_seconds = 0, .times = 5});
            break;
          case 3:
            server->AddFault({.verb = "watch", .kind = FaultKind::kCut, .bytes = 300, .times = 2});
            break;
          case 4:
            server->AddFault({.kind = FaultKind::kDrop, .times = 2});
            break;
          case 5:
            server->Compact();
            break;
          default:
            server->AddFault({.kind = FaultKind::kDelay, .delay = std::chrono::milliseconds(100), .times = 10});
            break;
        }
      }
      server->ClearFaults();
    }
    counts = soak.tally().counts();
    // The client is as good as new afterwards.
    const Result<ObjectList<ConfigMap>> after = client.List<ConfigMap>(Context::Background().WithTimeout(std::chrono::seconds(30)));
    EXPECT_TRUE(after) << (after ? "" : after.error().ToString());
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (client.transport_stats().in_flight > 0 && std::chrono::steady_clock::now() < until) {
      (void)Context::Background().SleepFor(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(client.transport_stats().in_flight, 0U);
    EXPECT_LT(OpenDescriptors(), descriptors + 20);
  }
  for (const char* what : {"create", "get", "list", "patch", "delete", "pages", "dynamic get", "watch", "event"}) {
    EXPECT_GT(counts[what], 0) << what << " never worked";
  }
  for (const auto& [what, count] : counts) std::printf("%8d %s\n", count, what.c_str());
}

}  // namespace
}  // namespace kube
