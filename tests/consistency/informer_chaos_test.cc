// Informers against a real control plane whose parts are killed (-9), paused and compacted while objects change. At the end the cache is
// equal to the server, and the handler's view, replayed from its calls, to the cache.
//
// KUBEXX_CHAOS_SECONDS: how long (40).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/base/log.h"
#include "kube/base/thread.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/config/load.h"
#include "kube/testing/control_plane.h"
#include "kube/transport/decorators.h"
#include "recorder.h"

namespace kube::consistency {
namespace {

using testing::ControlPlane;
using Part = testing::ControlPlane::Part;

std::chrono::seconds ChaosTime() {
  const char* text = std::getenv("KUBEXX_CHAOS_SECONDS");
  return std::chrono::seconds(text == nullptr ? 40 : std::atoi(text));
}

TEST(InformerChaosTest, KilledServersLeaveTheCacheRight) {
  Result<std::unique_ptr<ControlPlane>> started = ControlPlane::Start(Context::Background());
  if (!started && started.error().kind() == ErrorKind::kConfig) GTEST_SKIP() << started.error().ToString();
  ASSERT_TRUE(started) << started.error().ToString();
  ControlPlane& plane = **started;
  if (plane.existing()) GTEST_SKIP() << "a cluster that was there before is not killed";
  LogBackend::Default()->SetSettings(LogSettings::Parse("error").value());
  ClientConfig config = ToClientConfig(Kubeconfig::Parse(plane.AdminKubeconfig()).value()).value();
  config.qps = -1;
  const Client client = Client::FromConfig(config, {.warning_handler = [](const ApiWarning&) {}}).value();
  InformerFactory informers(client, {.ns = "default"});
  const SharedInformer<ConfigMap> maps = informers.For<ConfigMap>();
  const auto recorder = std::make_shared<Recorder>(RecorderOptions{.name = "chaos"});
  const Result<HandlerRegistration> registration = maps.AddEventHandler(recorder->Handler());
  informers.Start(Context::Background());
  ASSERT_TRUE(informers.WaitForSync(Context::Background().WithTimeout(std::chrono::minutes(2))));

  const unsigned seed = std::getenv("KUBEXX_SEED") != nullptr ? static_cast<unsigned>(std::atoi(std::getenv("KUBEXX_SEED"))) : 1;
  std::printf("seed %u (KUBEXX_SEED)\n", seed);
  std::atomic<int> writes = 0;
  int kills = 0;
  {
    auto [churn, stop] = Context::Background().WithCancel();
    const Context ctx = churn;
    const Thread writer("writer", [&, ctx] {
      std::minstd_rand random(seed);
      while (!ctx.stopped()) {
        const ObjectKey key{"default", String("m" + std::to_string(random() % 100))};
        const Context call = ctx.WithTimeout(std::chrono::seconds(5));
        bool good = false;
        switch (random() % 4) {
          case 0:
            good = client.Create(call, ConfigMap{.metadata = {.name = key.name, .namespace_ = key.ns}, .data = {{"n", "0"}}}).ok();
            break;
          case 1:
            good = client.Delete<ConfigMap>(call, key).ok();
            break;
          default:
            good = client.Patch<ConfigMap>(call, key, Patch::Merge(R"({"data":{"n":")" + std::to_string(random()) + "\"}}")).ok();
            break;
        }
        if (good) ++writes;
        (void)ctx.SleepFor(std::chrono::milliseconds(5));
      }
    });
    std::minstd_rand random(seed + 1);
    const auto until = std::chrono::steady_clock::now() + ChaosTime();
    while (std::chrono::steady_clock::now() < until) {
      const Context patient = Context::Background().WithTimeout(std::chrono::minutes(5));
      (void)patient.SleepFor(std::chrono::milliseconds(1000 + random() % 2000));
      switch (random() % 5) {
        case 0:
        case 1:
          ASSERT_TRUE(plane.Kill(Part::kApiServer));
          ++kills;
          break;
        case 2:
          ASSERT_TRUE(plane.Kill(Part::kEtcd));
          ++kills;
          break;
        case 3:
          ASSERT_TRUE(plane.Pause(Part::kApiServer));
          (void)patient.SleepFor(std::chrono::milliseconds(random() % 3000));
          ASSERT_TRUE(plane.Resume(Part::kApiServer));
          break;
        default:
          (void)plane.CompactStorage(patient.WithTimeout(std::chrono::seconds(10)));
          ASSERT_TRUE(plane.Kill(Part::kApiServer));
          ++kills;
          break;
      }
      for (const Part part : {Part::kEtcd, Part::kApiServer}) {
        if (plane.running(part)) continue;
        const Result<void> again = plane.Restart(patient, part);
        ASSERT_TRUE(again) << again.error().ToString();
      }
    }
    ASSERT_TRUE(plane.WaitReady(Context::Background().WithTimeout(std::chrono::minutes(5))));
    stop.Cancel();
  }

  // All that was written is seen in the end: the informer may still be waiting to try again.
  const auto read = [&] {
    View out;
    const Result<ObjectList<ConfigMap>> list =
        client.List<ConfigMap>(Context::Background().WithTimeout(std::chrono::minutes(1)), {.ns = "default"});
    EXPECT_TRUE(list) << (list ? "" : list.error().ToString());
    if (list) {
      for (const ConfigMap& map : *list) out[KeyOf(map)] = std::make_shared<ConfigMap>(map);
    }
    return out;
  };
  const auto cached = [&] {
    View out;
    for (const Ptr<ConfigMap>& map : maps.indexer().List()) out[KeyOf(*map)] = map;
    return out;
  };
  View wanted = read();
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(3);
  while (!Difference(cached(), wanted).empty() && std::chrono::steady_clock::now() < until) {
    (void)Context::Background().SleepFor(std::chrono::milliseconds(100));
    wanted = read();
  }
  EXPECT_EQ(Difference(cached(), wanted), "") << maps.status().ToString();
  EXPECT_TRUE(recorder->WaitFor(wanted, std::chrono::minutes(1))) << Difference(recorder->view(), wanted) << recorder->History();
  EXPECT_THAT(recorder->mistakes(), ::testing::IsEmpty());
  EXPECT_GT(writes, 20);
  EXPECT_GT(kills, 0);
  std::printf("%d writes, %d kills; %s\n", writes.load(), kills, maps.status().ToString().c_str());
}

}  // namespace
}  // namespace kube::consistency
