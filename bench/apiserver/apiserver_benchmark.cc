// bench_apiserver: the embedded API server beside a real kube-apiserver with etcd, on the same work in the same run.
//
//   bench_apiserver [--pods=100000] [--objects=5000] [--watchers=2000] [--events=50] [--only=embedded|real]
//
// Start-up is in process. For everything else the embedded server runs as a process of its own (this program again), so that memory and
// CPU are its alone. The load comes from one thread over one HTTP/2 connection, 32 requests at a time.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/apiserver/api_server.h"
#include "kube/base/context.h"
#include "kube/codec/json.h"
#include "kube/testing/control_plane.h"
#include "load.h"

namespace kube::bench {
namespace {

struct Options {
  std::size_t pods = 100'000, objects = 5'000, watchers = 2'000, events = 50;
  std::string only;
};

double Seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Resident memory of a process, in MB.
double ResidentMb(int pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

std::string PodJson(std::size_t i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{0}","labels":{{"app":"app-{1}","pod-template-hash":"{1:x}"}}}},)"
      R"("spec":{{"containers":[{{"name":"main","image":"example.com/app:{1}","ports":[{{"containerPort":8080}}],)"
      R"("env":[{{"name":"A","value":"1"}},{{"name":"B","value":"two"}}],"resources":{{"requests":{{"cpu":"100m","memory":"64Mi"}}}}}}]}}}})",
      i, i / 50);
}

std::string ConfigMapJson(std::string_view prefix, std::size_t i) {
  return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}-{}"}},"data":{{"key":"value"}}}})", prefix, i);
}

using Figures = std::map<std::string, double>;

// Everything but start-up, on a server that runs already.
void Measure(const Target& target, const Options& options, const std::function<double()>& memory, Figures& out) {
  auto created = [](long status, const std::string&) { return status == 201; };
  auto ok = [](long status, const std::string&) { return status == 200; };
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  std::fprintf(stderr, "  create, get, list ...\n");
  double n = static_cast<double>(options.objects);
  out["create /s"] = n / RunLoad(
                             target, options.objects, 32,
                             [&](std::size_t i) {
                               return Request{"POST", maps, ConfigMapJson("bench", i)};
                             },
                             created);
  out["get /s"] = n / RunLoad(
                          target, options.objects, 32,
                          [&](std::size_t i) {
                            return Request{"GET", fmt::format("{}/bench-{}", maps, i)};
                          },
                          ok);
  out["list of all /s"] = 20 / RunLoad(
                                   target, 20, 2,
                                   [&](std::size_t) {
                                     return Request{"GET", maps};
                                   },
                                   ok);
  std::fprintf(stderr, "  %zu watchers, %zu events each ...\n", options.watchers, options.events);
  double seconds = RunWatches(
      target, options.watchers,
      maps + "?watch=1&resourceVersion=" +
          [&] {
            std::string version;
            RunLoad(
                target, 1, 1,
                [&](std::size_t) {
                  return Request{"GET", maps + "?limit=1"};
                },
                [&](long status, const std::string& body) {
                  if (Result<Value> value = ParseJson(body))
                    version = std::as_const(*value)["metadata"]["resourceVersion"].string_value().str();
                  return status == 200;
                });
            return version;
          }(),
      options.events,
      [&] {
        RunLoad(
            target, options.events, 4,
            [&](std::size_t i) {
              return Request{"POST", maps, ConfigMapJson("event", i)};
            },
            created);
      });
  out["watch events /s"] = static_cast<double>(options.watchers * options.events) / seconds;
  double before = memory();
  std::fprintf(stderr, "  %zu pods ...\n", options.pods);
  double took = RunLoad(
      target, options.pods, 32,
      [&](std::size_t i) {
        return Request{"POST", "/api/v1/namespaces/default/pods", PodJson(i)};
      },
      created);
  out["pods created /s"] = static_cast<double>(options.pods) / took;
  out["memory before pods, MB"] = before;
  out["memory with pods, MB"] = memory();
}

// The embedded server in a child: prints where it is, then serves until it is killed.
int Serve() {
  Result<std::unique_ptr<apiserver::ApiServer>> server = apiserver::ApiServer::Start();
  if (!server) {
    std::cerr << server.error().ToString() << '\n';
    return 1;
  }
  std::cout << (*server)->url() << '\n' << (*server)->admin_token() << '\n' << (*server)->ca_pem() << std::endl;
  SignalContext().WaitUntilStopped();
  return 0;
}

class Child {
 public:
  explicit Child(const char* self) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(pipe_ends[1], 1);
      close(pipe_ends[0]);
      execl(self, self, "--serve", nullptr);
      _exit(127);
    }
    close(pipe_ends[1]);
    std::string text;
    char buffer[4096];
    while (text.find("END CERTIFICATE-----\n") == std::string::npos) {
      ssize_t got = read(pipe_ends[0], buffer, sizeof buffer);
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    close(pipe_ends[0]);
    std::size_t first = text.find('\n'), second = text.find('\n', first + 1);
    target.url = text.substr(0, first);
    target.token = text.substr(first + 1, second - first - 1);
    target.ca_pem = text.substr(second + 1);
  }
  ~Child() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  int pid() const { return pid_; }
  Target target;

 private:
  int pid_;
};

Figures Embedded(const Options& options, const char* self) {
  Figures out;
  // The median of several starts; the first one of a process also builds tables that later ones share.
  std::vector<double> starts;
  for (int i = 0; i < 11; ++i) {
    auto start = std::chrono::steady_clock::now();
    Result<std::unique_ptr<apiserver::ApiServer>> server = apiserver::ApiServer::Start();
    if (!server) {
      std::cerr << server.error().ToString() << '\n';
      std::exit(1);
    }
    Target target{.url = (*server)->url(), .ca_pem = (*server)->ca_pem(), .token = (*server)->admin_token()};
    RunLoad(
        target, 1, 1,
        [](std::size_t) {
          return Request{"GET", "/api/v1/namespaces/default"};
        },
        [](long status, const std::string&) { return status == 200; });
    starts.push_back(Seconds(start) * 1000);
  }
  out["first start to first answer, ms"] = starts[0];
  std::sort(starts.begin(), starts.end());
  out["start to first answer, ms"] = starts[starts.size() / 2];
  Child child(self);
  Measure(
      child.target, options, [&] { return ResidentMb(child.pid()); }, out);
  return out;
}

std::optional<Figures> Real(const Options& options) {
  Figures out;
  auto start = std::chrono::steady_clock::now();
  Result<std::unique_ptr<testing::ControlPlane>> plane = testing::ControlPlane::Start(Context::Background(), {});
  if (!plane) {
    std::cerr << "no real server beside it: " << plane.error().ToString() << '\n';
    return std::nullopt;
  }
  out["start to first answer, ms"] = Seconds(start) * 1000;
  out["first start to first answer, ms"] = out["start to first answer, ms"];
  Result<serve::KeyPair> admin = (*plane)->AdminCertificate();
  if (!admin) return std::nullopt;
  Target target{.url = (*plane)->url(), .ca_pem = (*plane)->ca_pem(), .certificate_pem = admin->certificate_pem, .key_pem = admin->key_pem};
  using Part = testing::ControlPlane::Part;
  Measure(
      target, options, [&] { return ResidentMb((*plane)->pid(Part::kApiServer)) + ResidentMb((*plane)->pid(Part::kEtcd)); }, out);
  return out;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--serve") return Serve();
    std::size_t equals = arg.find('=');
    std::string name = arg.substr(0, equals), value = equals == std::string::npos ? "" : arg.substr(equals + 1);
    std::size_t* number = name == "--pods"       ? &options.pods
                          : name == "--objects"  ? &options.objects
                          : name == "--watchers" ? &options.watchers
                          : name == "--events"   ? &options.events
                                                 : nullptr;
    if (number != nullptr && !value.empty() && value.find_first_not_of("0123456789") == std::string::npos) {
      *number = std::stoul(value);
    } else if (name == "--only" && (value == "embedded" || value == "real")) {
      options.only = value;
    } else {
      std::cerr << "usage: bench_apiserver [--pods=N] [--objects=N] [--watchers=N] [--events=N] [--only=embedded|real]\n";
      return 2;
    }
  }
  Figures ours, theirs;
  if (options.only != "real") {
    std::fprintf(stderr, "embedded:\n");
    ours = Embedded(options, "/proc/self/exe");
  }
  if (options.only != "embedded") {
    std::fprintf(stderr, "kube-apiserver and etcd:\n");
    if (std::optional<Figures> real = Real(options)) theirs = *std::move(real);
  }
  std::cout << fmt::format("{:<36} {:>14} {:>14} {:>10}\n", "", "embedded", "real", "ratio");
  for (const char* name : {"first start to first answer, ms", "start to first answer, ms", "create /s", "get /s", "list of all /s",
                           "watch events /s", "pods created /s", "memory before pods, MB", "memory with pods, MB"}) {
    std::string a = ours.contains(name) ? fmt::format("{:.1f}", ours[name]) : "-",
                b = theirs.contains(name) ? fmt::format("{:.1f}", theirs[name]) : "-";
    std::string ratio =
        ours.contains(name) && theirs.contains(name) && theirs[name] > 0 ? fmt::format("{:.3f}", ours[name] / theirs[name]) : "-";
    std::cout << fmt::format("{:<36} {:>14} {:>14} {:>10}\n", name, a, b, ratio);
  }
  return 0;
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
