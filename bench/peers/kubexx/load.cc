// peers_load: fills a cluster for bench/peers, and changes its objects.
//
//   peers_load fill --kubeconfig=F --crd=workloads.yaml --count=N          N pods and N workloads with a pod's payload, with their status
//                                                                         (--workloads=0: only the pods)
//   peers_load touch --kubeconfig=F --kind=pods|workloads --count=N --updates=M --rate=R --out=FILE
//
// `touch` makes M merge patches of one annotation, each of another object, R a second (0: as fast as it goes), and writes for each a line
// with the new resourceVersion and the time of CLOCK_MONOTONIC, in nanoseconds, at which the server's answer was here.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "../../codec/pods.h"
#include "kube/api/core/v1.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/client/status_error.h"
#include "kube/codec/yaml.h"
#include "kube/config/load.h"
#include "kube/meta/dynamic_object.h"
#include "kube/transport/decorators.h"
#include "workload.h"

namespace kube::bench {
namespace {

using core::v1::Namespace;
using core::v1::Pod;
using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

[[noreturn]] void Fail(const std::string& message) {
  fmt::print(stderr, "peers_load: {}\n", message);
  std::_Exit(1);
}

using Flags = std::map<std::string, std::string>;

int Number(const Flags& flags, const std::string& name, int otherwise) {
  const auto it = flags.find(name);
  return it == flags.end() ? otherwise : std::atoi(it->second.c_str());
}

std::string Text(const Flags& flags, const std::string& name) {
  const auto it = flags.find(name);
  if (it == flags.end()) Fail("--" + name + " is missing");
  return it->second;
}

Client MakeClient(const Flags& flags) {
  Result<ClientConfig> config = LoadConfig({.kubeconfig = Text(flags, "kubeconfig")});
  if (!config) Fail(config.error().ToString());
  config->qps = -1;
  // The server warns of ports that both containers have; that is how the pods are meant to be.
  Result<Client> client = Client::FromConfig(*config, {.warning_handler = [](const ApiWarning&) {}});
  if (!client) Fail(client.error().ToString());
  return *client;
}

// Calls work(0) to work(count - 1) on many threads.
template <typename Work>
void InParallel(int threads, int count, Work work) {
  std::atomic<int> next = 0;
  std::vector<Thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back("worker", [&] {
      for (int i = next++; i < count; i = next++) work(i);
    });
  }
}

template <Resource T>
void CreateWithStatus(const Client& client, const T& object) {
  const Context ctx = Context::Background();
  Result<T> created = client.Create(ctx, object);
  if (!created) {
    if (IsAlreadyExists(created.error())) return;  // of a run before that was ended early
    Fail(created.error().ToString());
  }
  created->status = object.status;
  if (Result<T> r = client.UpdateStatus(ctx, *created, {.field_manager = "kubelet"}); !r) Fail(r.error().ToString());
}

void MakeKinds(const Client& client, const Flags& flags) {
  const Context ctx = Context::Background();
  std::ifstream file(Text(flags, "crd"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<DynamicObject> definition = FromYaml<DynamicObject>(text);
  if (!definition) Fail(definition.error().ToString());
  Result<DynamicObject> made = client.Resource(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}).Create(ctx, *definition);
  if (!made && !IsAlreadyExists(made.error())) Fail(made.error().ToString());
  for (int i = 0; i < 20; ++i) {
    Namespace ns;
    ns.metadata.name = fmt::format("team-{:02}", i);
    if (Result<Namespace> r = client.Create(ctx, ns); !r && !IsAlreadyExists(r.error())) Fail(r.error().ToString());
  }
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(60);
  while (!client.List<Workload>(ctx, {.limit = 1})) {
    if (Clock::now() > deadline) Fail("the server does not serve workloads.bench.example.com");
    (void)ctx.SleepFor(std::chrono::milliseconds(100));
  }
}

int Fill(const Flags& flags) {
  const Client client = MakeClient(flags);
  MakeKinds(client, flags);
  const int count = Number(flags, "count", 20000);
  const int deployments = (count + 49) / 50;
  const Clock::time_point start = Clock::now();
  std::atomic<int> done = 0;
  // What the server sets itself, it is not sent.
  const auto make = [&](int i) {
    Pod pod = MakePod(i, deployments, false);
    pod.metadata.uid = {};
    pod.metadata.resource_version = {};
    pod.metadata.generation = 0;
    pod.metadata.creation_timestamp = {};
    return pod;
  };
  const int objects = Number(flags, "workloads", 1) == 0 ? count : 2 * count;
  InParallel(Number(flags, "parallel", 32), objects, [&](int i) {
    if (i < count) {
      CreateWithStatus(client, make(i));
    } else {
      const Pod pod = make(i - count);
      CreateWithStatus(client, Workload{.metadata = pod.metadata, .spec = pod.spec, .status = pod.status});
    }
    if (const int n = ++done; n % std::max(1, count / 4) == 0) fmt::print(stderr, "  loaded {} of {} objects\n", n, objects);
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  fmt::print("{{\"objects\":{},\"wall\":{:.3f}}}\n", objects, seconds);
  return 0;
}

int Touch(const Flags& flags) {
  const Client client = MakeClient(flags);
  const Context ctx = Context::Background();
  const bool pods = Text(flags, "kind") == "pods";
  const ResourceClient<meta::v1::PartialObjectMetadata> resource = pods ? client.Metadata<Pod>() : client.Metadata<Workload>();
  const int count = Number(flags, "count", 20000);
  const int deployments = (count + 49) / 50;
  const int updates = Number(flags, "updates", 1000);
  const int rate = Number(flags, "rate", 0);
  struct Written {
    std::string version;
    std::int64_t time = 0;
  };
  std::vector<Written> written(static_cast<std::size_t>(updates));
  const std::string stamp = std::to_string(Clock::now().time_since_epoch().count());
  const Clock::time_point start = Clock::now() + std::chrono::milliseconds(20);
  InParallel(Number(flags, "parallel", rate > 0 ? 8 : 32), updates, [&](int i) {
    const int object = static_cast<int>(static_cast<std::int64_t>(i) * 7919 % count);  // a prime: all objects in turn, in no order
    const int d = object % deployments;
    const ObjectKey key{String(fmt::format("team-{:02}", d % 20)), String(fmt::format("app-{:04}-7cddf8cbf4-{:05}", d, object))};
    if (rate > 0) std::this_thread::sleep_until(start + std::chrono::nanoseconds(std::chrono::seconds(1)) * i / rate);
    const Result<meta::v1::PartialObjectMetadata> r =
        resource.Patch(ctx, key, Patch::Merge(fmt::format(R"({{"metadata":{{"annotations":{{"touched":"{}-{}"}}}}}})", stamp, i)));
    if (!r) Fail(r.error().ToString());
    written[static_cast<std::size_t>(i)] = {r->metadata.resource_version.str(), Clock::now().time_since_epoch().count()};
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::ofstream out(Text(flags, "out"));
  for (const Written& w : written) out << w.version << ' ' << w.time << '\n';
  if (!out.flush()) Fail("cannot write " + Text(flags, "out"));
  fmt::print("{{\"updates\":{},\"wall\":{:.3f}}}\n", updates, seconds);
  return 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  for (int i = 2; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::size_t equals = arg.find('=');
    if (!arg.starts_with("--") || equals == std::string::npos) Fail("what is " + arg + "?");
    flags[arg.substr(2, equals - 2)] = arg.substr(equals + 1);
  }
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "fill") return Fill(flags);
  if (command == "touch") return Touch(flags);
  Fail("usage: peers_load fill|touch --kubeconfig=F ...; see the head of bench/peers/kubexx/load.cc");
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
