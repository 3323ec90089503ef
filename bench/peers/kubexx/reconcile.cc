// peers_reconcile: our side of the reconcile round of bench/peers. A child ConfigMap and a status for each Widget; its words are in
// ../README.md.
//
//   peers_reconcile --kubeconfig F --count N --workers N [--desired-state]
//
// --desired-state: the child by DesiredState (server-side apply, marks and pruning) instead of "read from the cache, create or update",
// which is what the other sides do.
#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <utility>

#include "kube/api/core/v1.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/client/status_error.h"
#include "kube/config/load.h"
#include "kube/control/desired_state.h"
#include "kube/control/manager.h"
#include "kube/control/status.h"
#include "kube/meta/owner_reference.h"
#include "widget.h"

namespace kube::bench {
namespace {

using core::v1::ConfigMap;
using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void Fail(const std::string& message) {
  fmt::print(stderr, "peers_reconcile: {}\n", message);
  std::_Exit(1);
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Bytes, of /proc/self/status.
std::int64_t Memory(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::atoll(line.c_str() + field.size()) * 1024;
  }
  return 0;
}

void Say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

class WidgetReconciler {
 public:
  WidgetReconciler(CachedClient client, bool desired_state, std::size_t count, CancelSource all)
      : client_(std::move(client)), desired_state_(desired_state), count_(count), all_(std::move(all)) {}

  Result<Action> Reconcile(const Context& ctx, const Request& request) {
    const Result<Ptr<Widget>> found = client_.Get<Widget>(ctx, request.key);
    if (!found) {
      if (IsNotFound(found.error())) return Action::Done();
      return found.error();
    }
    const Widget& widget = **found;
    if (Result<void> made = desired_state_ ? ApplyChild(ctx, widget) : CreateOrUpdateChild(ctx, widget); !made) return made.error();

    StatusWriter<Widget> status(client_, widget);
    status->observed_generation = widget.metadata.generation;
    status->ready = true;
    const Result<bool> written = status.Write(ctx);
    if (!written) return written.error();
    if (*written) Count(request.key);
    return Action::Done();
  }

 private:
  static ConfigMap ChildOf(const Widget& widget) {
    ConfigMap map;
    map.metadata.namespace_ = widget.metadata.namespace_;
    map.metadata.name = widget.metadata.name;
    map.data["message"] = widget.spec.message;
    map.data["size"] = String(std::to_string(widget.spec.size));
    return map;
  }

  Result<void> CreateOrUpdateChild(const Context& ctx, const Widget& widget) const {
    ConfigMap wanted = ChildOf(widget);
    const Result<Ptr<ConfigMap>> found = client_.Get<ConfigMap>(ctx, KeyOf(wanted));
    if (!found && !IsNotFound(found.error())) return found.error();
    if (found) {
      wanted.metadata = (*found)->metadata;
    }
    if (Result<void> owned = SetControllerReference(widget, wanted); !owned) return owned;
    if (!found) {
      const Result<ConfigMap> created = client_.Create(ctx, wanted);
      if (!created) return created.error();
    } else if (!(wanted == **found)) {
      const Result<ConfigMap> updated = client_.Update(ctx, wanted);
      if (!updated) return updated.error();
    }
    return {};
  }

  Result<void> ApplyChild(const Context& ctx, const Widget& widget) const {
    const Result<Changes> changes = DesiredState(client_, widget, "bench").Want(ChildOf(widget)).Apply(ctx);
    if (!changes) return changes.error();
    return changes->ToResult();
  }

  void Count(const ObjectKey& key) {
    MutexLock lock(mu_);
    ready_.insert(key.ToString());
    if (ready_.size() == count_) all_.Cancel();
  }

  const CachedClient client_;
  const bool desired_state_;
  const std::size_t count_;
  Mutex mu_;
  CancelSource all_ KUBE_GUARDED_BY(mu_);
  std::set<std::string> ready_ KUBE_GUARDED_BY(mu_);
};

int Main(int argc, char** argv) {
  const SteadyClock::time_point start = SteadyClock::now();
  std::string kubeconfig;
  int count = 1000, workers = 4;
  bool desired_state = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) Fail(arg + " needs a value");
      return argv[++i];
    };
    if (arg == "--kubeconfig") {
      kubeconfig = value();
    } else if (arg == "--count") {
      count = std::atoi(value().c_str());
    } else if (arg == "--workers") {
      workers = std::atoi(value().c_str());
    } else if (arg == "--desired-state") {
      desired_state = true;
    } else {
      Fail("usage: peers_reconcile --kubeconfig F --count N --workers N [--desired-state]");
    }
  }
  Result<ClientConfig> config = LoadConfig({.kubeconfig = kubeconfig});
  if (!config) Fail(config.error().ToString());
  config->qps = -1;
  const Result<Client> client = Client::FromConfig(*config);
  if (!client) Fail(client.error().ToString());

  Manager manager(*client);
  auto [all, cancel_all] = Context::Background().WithCancel();
  WidgetReconciler reconciler(manager.cached(), desired_state, static_cast<std::size_t>(count), std::move(cancel_all));
  const Result<void> added =
      manager.Add(ControllerFor<Widget>("widgets")
                      .For({.when = GenerationChanged()})
                      .Owns<ConfigMap>()
                      .MayWriteStatus()
                      .Workers(workers)
                      .Reconcile([&](const Context& ctx, const Request& request) { return reconciler.Reconcile(ctx, request); }));
  if (!added) Fail(added.error().ToString());
  auto [ctx, stop] = Context::Background().WithCancel();
  Thread runner("manager", [&, run = ctx] {
    if (Result<void> ran = manager.Run(run); !ran) Fail(ran.error().ToString());
  });
  all.WaitUntilStopped();
  const double wall = std::chrono::duration<double>(SteadyClock::now() - start).count();
  Say(fmt::format(R"({{"phase":"reconciled","wall":{:.6f},"cpu":{:.6f}}})", wall, CpuSeconds()));
  for (std::string line; std::getline(std::cin, line);) {
    if (line != "memory") Fail("what is \"" + line + "\"?");
    Say(fmt::format(R"({{"phase":"memory","cpu":{:.6f},"rss":{},"peak":{}}})", CpuSeconds(), Memory("VmRSS:"), Memory("VmHWM:")));
  }
  stop.Cancel();
  runner.Join();
  return 0;
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
