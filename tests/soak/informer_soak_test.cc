// Minutes of churn under informers, with handlers that come and go and a server that restarts and forgets. At the end caches and handlers
// show what the server has, and memory, threads and descriptors are where they were after a quarter of the time.
//
// KUBEXX_SOAK_SECONDS: how long (300).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"
#include "kube/transport/decorators.h"

#if defined(__has_feature)
#define KUBEXX_HAS_FEATURE(x) __has_feature(x)
#else
#define KUBEXX_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || KUBEXX_HAS_FEATURE(address_sanitizer) || \
    KUBEXX_HAS_FEATURE(thread_sanitizer)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT: the sanitizers' own name
#define KUBEXX_SANITIZED 1
#endif

namespace kube {
namespace {

using core::v1::ConfigMap;
using testing::ApiServer;
using testing::FaultKind;
using Content = std::map<std::string, std::string>;  // key -> version

std::chrono::seconds SoakTime() {
  const char* text = std::getenv("KUBEXX_SOAK_SECONDS");
  return std::chrono::seconds(text == nullptr ? 300 : std::atoi(text));
}

std::size_t Entries(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

// Live memory of the program, server included. Resident memory means little under the sanitizers, which keep what was freed.
std::size_t LiveBytes() {
#if defined(KUBEXX_SANITIZED)
  return __sanitizer_get_current_allocated_bytes();
#else
  return mallinfo2().uordblks;
#endif
}

struct Measure {
  std::size_t bytes = LiveBytes();
  std::size_t threads = Entries("/proc/self/task");
  std::size_t descriptors = Entries("/proc/self/fd");
};

// What would be in the cache if only its calls were known.
class View {
 public:
  EventHandler<ConfigMap> Handler() {
    return {.on_add = [this](const Ptr<ConfigMap>& map, bool) { Put(*map, ""); },
            .on_update = [this](const Ptr<ConfigMap>& before,
                                const Ptr<ConfigMap>& after) { Put(*after, before->metadata.resource_version.str()); },
            .on_delete =
                [this](const Deleted<ConfigMap>& gone) {
                  MutexLock lock(mu_);
                  if (content_.erase(gone.key.ToString()) == 0) ++contradictions_;
                }};
  }
  Content content() const {
    MutexLock lock(mu_);
    return content_;
  }
  int contradictions() const {
    MutexLock lock(mu_);
    return contradictions_;
  }

 private:
  void Put(const ConfigMap& map, const std::string& before) {
    MutexLock lock(mu_);
    std::string& version = content_[KeyOf(map).ToString()];
    if (version != before) ++contradictions_;
    version = map.metadata.resource_version.str();
  }
  mutable Mutex mu_;
  Content content_ KUBE_GUARDED_BY(mu_);
  int contradictions_ KUBE_GUARDED_BY(mu_) = 0;
};

class InformerSoak {
 public:
  InformerSoak() {
    LogBackend::Default()->SetSettings(LogSettings::Parse("error").value());
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server_->Kubeconfig()).value()).value();
    config.qps = -1;
    client_.emplace(Client::FromConfig(config, {.warning_handler = [](const ApiWarning&) {}}).value());
  }

  Content OnServer() const {
    Content out;
    const Result<ObjectList<ConfigMap>> list = client_->List<ConfigMap>(Context::Background().WithTimeout(std::chrono::seconds(60)));
    EXPECT_TRUE(list) << (list ? "" : list.error().ToString());
    if (!list) return out;
    for (const ConfigMap& map : *list) out[KeyOf(map).ToString()] = map.metadata.resource_version.str();
    return out;
  }
  template <typename T>
  static Content InCache(const SharedInformer<T>& informer) {
    Content out;
    for (const Ptr<T>& object : informer.indexer().List()) {
      const internal::ObjectForm& form = internal::ObjectForm::Of<T>();
      out[form.Key(object.get()).ToString()] = form.ResourceVersion(object.get()).str();
    }
    return out;
  }

  void Churn(const Context& ctx, unsigned seed) {
    std::minstd_rand random(seed);
    while (!ctx.stopped()) {
      if (paused_) {
        (void)ctx.SleepFor(std::chrono::milliseconds(5));
        continue;
      }
      const ObjectKey key{"default", String("m" + std::to_string(random() % 300))};
      const Context call = ctx.WithTimeout(std::chrono::seconds(10));
      switch (random() % 4) {
        case 0:
          (void)client_->Create(call, ConfigMap{.metadata = {.name = key.name, .namespace_ = key.ns, .labels = {{"app", "soak"}}},
                                                .data = {{"n", "0"}, {"text", String(std::string(500, 'x'))}}});
          break;
        case 1:
          (void)client_->Delete<ConfigMap>(call, key);
          break;
        default:
          (void)client_->Patch<ConfigMap>(call, key, Patch::Merge(R"({"data":{"n":")" + std::to_string(random()) + "\"}}"));
          break;
      }
      ++writes_;
      (void)ctx.SleepFor(std::chrono::milliseconds(2));
    }
  }

  void Disturb(std::minstd_rand& random) {
    switch (random() % 8) {
      case 0:
        EXPECT_TRUE(server_->Restart(true));
        break;
      case 1:
        server_->CloseConnections();
        break;
      case 2:
        server_->AddFault({.verb = "watch", .kind = FaultKind::kGone});
        server_->CloseConnections();
        break;
      case 3:
        server_->AddFault({.verb = "watch", .kind = FaultKind::kCut, .bytes = 2000, .times = 2});
        server_->CloseConnections();
        break;
      case 4:
        server_->AddFault({.verb = "watch", .kind = FaultKind::kStatus, .status = 429, .retry_after_seconds = 0, .times = 2});
        server_->CloseConnections();
        break;
      case 5:
        server_->Compact();
        break;
      case 6:
        server_->AddFault({.verb = "watch", .kind = FaultKind::kDuplicateEvent, .times = 5});
        break;
      default:
        break;
    }
  }

  // Waits until nothing is written and all handlers have caught up.
  void Settle(const SharedInformer<ConfigMap>& typed, const SharedInformer<DynamicObject>& dynamic, const View& view) {
    paused_ = true;
    server_->ClearFaults();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    Content wanted;
    for (;;) {
      wanted = OnServer();
      if (InCache(typed) == wanted && InCache(dynamic) == wanted && view.content() == wanted && OnServer() == wanted) break;
      if (std::chrono::steady_clock::now() > until) break;
      (void)Context::Background().SleepFor(std::chrono::milliseconds(50));
    }
    EXPECT_EQ(InCache(typed), wanted);
    EXPECT_EQ(InCache(dynamic), wanted);
    EXPECT_EQ(view.content(), wanted);
    EXPECT_EQ(view.contradictions(), 0);
    server_->Compact();
    paused_ = false;
  }

  const std::unique_ptr<ApiServer> server_ = ApiServer::Start().value();
  std::optional<Client> client_;
  std::atomic<bool> paused_ = false;
  std::atomic<int> writes_ = 0;
};

TEST(InformerSoakTest, NothingGrowsAndNothingIsLost) {
  InformerSoak soak;
  const Context whole = Context::Background().WithTimeout(SoakTime());
  InformerFactory informers(*soak.client_);
  const SharedInformer<ConfigMap> typed = informers.For<ConfigMap>();
  const SharedInformer<DynamicObject> dynamic = informers.For(Gvr{"", "v1", "configmaps"});
  View view;
  const Result<HandlerRegistration> registration = typed.AddEventHandler(view.Handler());
  informers.Start(Context::Background());
  ASSERT_TRUE(informers.WaitForSync(Context::Background().WithTimeout(std::chrono::minutes(1))));

  std::optional<Measure> early;
  {
    std::vector<Thread> threads;
    auto [churn, stop] = Context::Background().WithCancel();
    const Context churning = churn;
    for (unsigned i = 0; i < 3; ++i) threads.emplace_back("churn", [&soak, churning, i] { soak.Churn(churning, i + 1); });
    std::minstd_rand random(7);
    const auto start = std::chrono::steady_clock::now();
    while (!whole.stopped()) {
      soak.Disturb(random);
      {
        // Handlers, and informers of their own, that come and go.
        View passing;
        const Result<HandlerRegistration> guest = typed.AddEventHandler(passing.Handler());
        const SharedInformer<ConfigMap> brief = informers.For<ConfigMap>({.ns = "default", .label_selector = "app=soak"});
        informers.Start(Context::Background());
        (void)whole.SleepFor(std::chrono::milliseconds(500));
        EXPECT_EQ(passing.contradictions(), 0);
      }
      if (!early && std::chrono::steady_clock::now() - start > SoakTime() / 4) {
        soak.Settle(typed, dynamic, view);
        early.emplace();
      }
    }
    soak.Settle(typed, dynamic, view);
    soak.paused_ = true;
    const Measure late;
    stop.Cancel();
    threads.clear();
    ASSERT_TRUE(early);
    std::printf(
        "%d writes; after a quarter of the time: %zu KB, %zu threads, %zu descriptors; at the end: %zu KB, %zu threads, %zu descriptors\n",
        soak.writes_.load(), early->bytes / 1024, early->threads, early->descriptors, late.bytes / 1024, late.threads, late.descriptors);
    EXPECT_LT(late.bytes, early->bytes + early->bytes / 5 + (std::size_t{2} << 20));
    EXPECT_LE(late.threads, early->threads + 2);
    EXPECT_LE(late.descriptors, early->descriptors + 8);
  }
  EXPECT_GT(soak.writes_, 100);
}

}  // namespace
}  // namespace kube
