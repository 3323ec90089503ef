// bench_client: CPU and throughput of kube::Client beside client-go, against one embedded server.
//
//   bench_client [--pods=N] [--calls=N] [--only=kubexx|client-go] [--filter=get]
//   bench_client --serve [--pods=N]        only the server, until Ctrl-C: to look at one side with a profiler
//
// Both sides run as processes of their own, one after the other, doing the same calls; the server is in this process. The peer comes from
// scripts/build-peers; without it only our own figures are printed. What counts is CPU of the client process for a call: wall times are
// those of a machine where client and server share two cores.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "../codec/pods.h"
#include "kube/api/core/v1.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/codec/json.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"

namespace kube::bench {
namespace {

using core::v1::Namespace;
using core::v1::Pod;

struct Options {
  int pods = 20000;
  int calls = 20000;
  std::string only;
  std::string filter;
  bool serve = false;
  // Access to the server of one side.
  std::string kubeconfig;
  std::string mode;
  int concurrency = 1;
  int count = 1000;
  bool json = false;
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

[[noreturn]] void Fail(const Error& error) {
  fmt::print(stderr, "bench_client: {}\n", error.ToString());
  std::exit(1);
}

Client MakeClient(const std::string& kubeconfig, bool json) {
  Result<ClientConfig> config = LoadConfig({.kubeconfig = kubeconfig});
  if (!config) Fail(config.error());
  config->qps = -1;
  if (json) config->content_type = "application/json";
  Result<Client> client = Client::FromConfig(*config);
  if (!client) Fail(client.error());
  return *client;
}

// Our side: the same calls as bench/peers/client-go makes.
int RunSide(const Options& options) {
  const Client client = MakeClient(options.kubeconfig, options.json);
  const Context ctx = Context::Background();
  Result<Pod> pod = client.Get<Pod>(ctx, {"bench", "template"});
  if (!pod) Fail(pod.error());
  Pod fresh;
  fresh.spec = pod->spec;
  fresh.metadata.namespace_ = "bench";
  fresh.metadata.labels = pod->metadata.labels;
  fresh.metadata.annotations = pod->metadata.annotations;

  std::atomic<int> next = 0;
  std::atomic<std::int64_t> items = 0;
  const auto work = [&] {
    for (int i = next++; i < options.count; i = next++) {
      if (options.mode == "get") {
        const Result<Pod> got = client.Get<Pod>(ctx, {"bench", "template"});
        if (!got) Fail(got.error());
        ++items;
      } else if (options.mode == "create") {
        Pod made = fresh;
        made.metadata.name = fmt::format("kubexx-{}-{}-{}", options.concurrency, getpid(), i);
        const Result<Pod> created = client.Create(ctx, made);
        if (!created) Fail(created.error());
        ++items;
      } else {
        const Result<ObjectList<Pod>> list = client.List<Pod>(ctx, {.resource_version = "0"});
        if (!list) Fail(list.error());
        items += static_cast<std::int64_t>(list->size());
      }
    }
  };
  const double cpu = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<Thread> threads;
    for (int i = 0; i < options.concurrency; ++i) threads.emplace_back("worker", work);
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{{\"calls\":{},\"items\":{},\"wall\":{:.6f},\"cpu\":{:.6f}}}\n", options.count, items.load(), wall, CpuSeconds() - cpu);
  return 0;
}

struct Figures {
  double calls = 0;
  double items = 0;
  double wall = 0;
  double cpu = 0;
};

// Runs one side and reads its line.
std::optional<Figures> Run(const std::vector<std::string>& argv) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], 1);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    std::vector<char*> args;
    for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
    args.push_back(nullptr);
    execv(args[0], args.data());
    _exit(127);
  }
  close(pipe_ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const Result<Value> line = ParseJson(text);
  if (status != 0 || !line) return std::nullopt;
  return Figures{.calls = (*line)["calls"].double_value(),
                 .items = (*line)["items"].double_value(),
                 .wall = (*line)["wall"].double_value(),
                 .cpu = (*line)["cpu"].double_value()};
}

std::string PeerPath() {
  const char* cache = std::getenv("KUBEXX_CACHE");
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder =
      cache != nullptr ? cache : (xdg != nullptr ? std::string(xdg) : std::string(home != nullptr ? home : "") + "/.cache") + "/kubexx";
  return folder + "/peers/client-go";
}

struct Case {
  std::string name;
  std::string mode;
  int concurrency;
  int count;
  bool json;
  bool peer_without_gzip;  // client-go asks for compressed answers unless told not to, kubexx only if told to
  double target;           // the ratio that we want to stay below
};

int Drive(const Options& options, const char* self) {
  Result<std::unique_ptr<testing::ApiServer>> server = testing::ApiServer::Start({.lifecycle = false});  // the pods' owners do not exist
  if (!server) Fail(server.error());
  const std::string kubeconfig = (std::filesystem::temp_directory_path() / fmt::format("bench_client.{}.yaml", getpid())).string();
  std::ofstream(kubeconfig) << (*server)->Kubeconfig();
  const Client client = MakeClient(kubeconfig, false);
  const Context ctx = Context::Background();

  fmt::print("loading {} pods ...\n", options.pods);
  std::fflush(stdout);
  const core::v1::PodList pods = MakePods(options.pods, false);
  std::vector<std::string> namespaces{"bench"};
  for (const Pod& pod : pods.items) {
    if (namespaces.back() != pod.metadata.namespace_.str()) namespaces.push_back(pod.metadata.namespace_.str());
  }
  for (const std::string& name : namespaces) {
    const Result<Namespace> made = client.Create(ctx, Namespace{.metadata = {.name = String(name)}});
    if (!made && !IsAlreadyExists(made.error())) Fail(made.error());
  }
  std::atomic<std::size_t> next = 0;
  {
    std::vector<Thread> loaders;
    for (int i = 0; i < 16; ++i) {
      loaders.emplace_back("loader", [&] {
        for (std::size_t at = next++; at < pods.items.size(); at = next++) {
          Pod pod = std::as_const(pods.items)[at];
          pod.metadata.resource_version = {};
          pod.metadata.uid = {};
          Result<Pod> made = client.Create(ctx, pod);
          if (!made) Fail(made.error());
          made->status = pod.status;
          if (Result<Pod> updated = client.UpdateStatus(ctx, *made); !updated) Fail(updated.error());
        }
      });
    }
  }
  Pod copy = std::as_const(pods.items)[0];
  copy.metadata.name = "template";
  copy.metadata.namespace_ = "bench";
  copy.metadata.resource_version = {};
  copy.metadata.uid = {};
  if (Result<Pod> made = client.Create(ctx, copy); !made) Fail(made.error());

  if (options.serve) {
    fmt::print("bench_client --side --kubeconfig={} --mode=get|create|list --concurrency=N --count=N [--json]\n", kubeconfig);
    std::fflush(stdout);
    SignalContext().WaitUntilStopped();
    unlink(kubeconfig.c_str());
    return 0;
  }
  const int n = options.calls;
  const Case cases[] = {
      {"get, 1 at a time", "get", 1, n / 4, false, false, 0.5},         {"get, 16 at a time", "get", 16, n, false, false, 0.5},
      {"get, 128 at a time", "get", 128, n, false, false, 0.5},         {"list, protobuf", "list", 1, 5, false, false, 0.35},
      {"list, protobuf, no gzip", "list", 1, 5, false, true, 0.35},     {"list, JSON", "list", 1, 3, true, false, 0.15},
      {"list, JSON, no gzip", "list", 1, 3, true, true, 0.15},          {"create, 1 at a time", "create", 1, n / 8, false, false, 0.5},
      {"create, 16 at a time", "create", 16, n / 2, false, false, 0.5}, {"create, 128 at a time", "create", 128, n / 2, false, false, 0.5},
  };
  const std::string peer = PeerPath();
  const bool has_peer = access(peer.c_str(), X_OK) == 0;
  if (!has_peer) fmt::print("no client-go peer: run scripts/build-peers\n");
  fmt::print("{:<24}{:>14}{:>14}{:>16}{:>16}{:>9}{:>9}\n", "", "kubexx /s", "client-go /s", "kubexx us CPU", "client-go us CPU", "ratio",
             "wanted");
  for (const Case& c : cases) {
    if (c.name.find(options.filter) == std::string::npos) continue;
    std::optional<Figures> ours;
    std::optional<Figures> theirs;
    if (options.only != "client-go") {
      ours = Run({self, "--side", "--kubeconfig=" + kubeconfig, "--mode=" + c.mode, fmt::format("--concurrency={}", c.concurrency),
                  fmt::format("--count={}", c.count), c.json ? "--json" : "--protobuf"});
      if (!ours) fmt::print("{}: our side failed\n", c.name);
    }
    if (has_peer && options.only != "kubexx") {
      std::vector<std::string> argv{peer,
                                    "-kubeconfig",
                                    kubeconfig,
                                    "-mode",
                                    c.mode,
                                    "-concurrency",
                                    std::to_string(c.concurrency),
                                    "-count",
                                    std::to_string(c.count),
                                    "-prefix",
                                    fmt::format("go-{}", c.concurrency)};
      if (c.json) argv.emplace_back("-json");
      if (c.peer_without_gzip) argv.emplace_back("-no-gzip");
      theirs = Run(argv);
      if (!theirs) fmt::print("{}: client-go's side failed\n", c.name);
    }
    const auto rate = [](const std::optional<Figures>& f) { return f ? fmt::format("{:.0f}", f->calls / f->wall) : "-"; };
    const auto cost = [](const std::optional<Figures>& f) { return f ? fmt::format("{:.1f}", f->cpu / f->calls * 1e6) : "-"; };
    const bool both = ours && theirs;
    if (both && ours->items / ours->calls > 1.5 && std::abs(ours->items / ours->calls - theirs->items / theirs->calls) > 0.5) {
      fmt::print("{}: the sides saw different lists\n", c.name);
    }
    const double ratio = both ? (ours->cpu / ours->calls) / (theirs->cpu / theirs->calls) : 0;
    fmt::print("{:<24}{:>14}{:>14}{:>16}{:>16}{:>9}{:>9}\n", c.name, rate(ours), rate(theirs), cost(ours), cost(theirs),
               both ? fmt::format("{:.3f}", ratio) : "-", fmt::format("{:.2f}", c.target));
    std::fflush(stdout);
  }
  unlink(kubeconfig.c_str());
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  bool side = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = arg.substr(arg.find('=') == std::string::npos ? arg.size() : arg.find('=') + 1);
    if (arg == "--side") {
      side = true;
    } else if (arg == "--serve") {
      options.serve = true;
    } else if (arg == "--json") {
      options.json = true;
    } else if (arg == "--protobuf") {
      options.json = false;
    } else if (arg.starts_with("--pods=")) {
      options.pods = std::atoi(value.c_str());
    } else if (arg.starts_with("--calls=")) {
      options.calls = std::atoi(value.c_str());
    } else if (arg.starts_with("--only=")) {
      options.only = value;
    } else if (arg.starts_with("--filter=")) {
      options.filter = value;
    } else if (arg.starts_with("--kubeconfig=")) {
      options.kubeconfig = value;
    } else if (arg.starts_with("--mode=")) {
      options.mode = value;
    } else if (arg.starts_with("--concurrency=")) {
      options.concurrency = std::atoi(value.c_str());
    } else if (arg.starts_with("--count=")) {
      options.count = std::atoi(value.c_str());
    } else {
      fmt::print(stderr, "usage: bench_client [--pods=N] [--calls=N] [--only=kubexx|client-go] [--filter=PART OF A NAME]\n");
      return 2;
    }
  }
  return side ? RunSide(options) : Drive(options, argv[0]);
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
