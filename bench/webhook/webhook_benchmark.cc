// bench_webhook: CPU and latency of a WebhookServer beside controller-runtime's, for the same reviews and the same handlers.
//
//   bench_webhook [--reviews=N] [--objects=N] [--lists=N] [--rounds=N] [--connections=N] [--only=kubexx|controller-runtime] [--json=FILE]
//
// Both sides run as processes of their own, in turns, and answer over TLS and HTTP/1.1. CPU is what the kernel counted for the process
// while it answered, so the client that asks and checks is not in it. The peer comes from scripts/build-peers.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "../codec/pods.h"
#include "gadget.h"
#include "hooks.h"
#include "kube/base/context.h"
#include "kube/base/thread.h"
#include "kube/codec/json.h"
#include "kube/config/credentials.h"
#include "kube/serve/certificate.h"
#include "kube/transport/http_transport.h"
#include "kube/webhook/webhook_server.h"

namespace kube::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int reviews = 10000;
  int objects = 5000;
  int lists = 5;
  int rounds = 3;
  int connections = 4;
  std::string only;
  std::string json;  // where the figures of each round go, for bench/peers/run.py
  // Settings of our side.
  std::string dir;
  int port = 0;
  bool serve = false;
  bool keep_lost = true;
};

[[noreturn]] void Fail(const std::string& message) {
  fmt::print(stderr, "bench_webhook: {}\n", message);
  std::exit(1);
}
template <typename T>
T Must(Result<T> result) {
  if (!result) Fail(result.error().ToString());
  return *std::move(result);
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int RunSide(const Options& options) {
  WebhookServerOptions server_options{.bind_address = "127.0.0.1", .port = options.port};
  server_options.limits.max_body_bytes = std::size_t{64} << 20;
  server_options.limits.max_bytes = server_options.limits.max_bytes_per_peer = std::size_t{1} << 30;
  const auto server = Must(WebhookServer::Start(
      Must(BenchEndpoints(options.keep_lost)),
      {.certificate_pem = Read(options.dir + "/tls.crt"), .key_pem = Read(options.dir + "/tls.key")}, std::move(server_options)));
  while (std::cin.get() != EOF) {
  }
  return 0;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    Fail("no free port");
  close(fd);
  return ntohs(address.sin_port);
}

// A side that runs, until it is destroyed.
class Side {
 public:
  Side(std::vector<std::string> argv, const std::string& dir, const std::string& ca_pem) : port_(FreePort()) {
    argv.push_back("--dir=" + dir);
    argv.push_back("--port=" + std::to_string(port_));
    int ends[2];
    if (pipe(ends) != 0) Fail("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[0], 0);
      close(ends[0]);
      close(ends[1]);
      std::vector<char*> args;
      for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
      args.push_back(nullptr);
      execv(args[0], args.data());
      _exit(127);
    }
    close(ends[0]);
    stdin_ = ends[1];
    transport_ = Must(MakeHttpTransport(
        {.base_url = "https://127.0.0.1:" + std::to_string(port_), .tls = Must(MakeTlsSource({.tls = {.ca_data = ca_pem}}, nullptr))}));
    const auto deadline = Clock::now() + std::chrono::seconds(30);
    while (!Post("/none", "{}").ok()) {
      if (Clock::now() > deadline) Fail(argv[0] + " does not answer");
      usleep(20000);
    }
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() {
    transport_.reset();
    close(stdin_);
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }

  Result<HttpResponse> Post(const std::string& target, const std::string& body) const {
    HttpRequest request;
    request.method = "POST";
    request.target = target;
    request.headers.Add("Content-Type", "application/json");
    request.body = body;
    return transport_->RoundTrip(Context::Background().WithTimeout(std::chrono::minutes(2)), std::move(request));
  }
  // CPU time of the process, all threads.
  double CpuSeconds() const {
    const std::string stat = Read(fmt::format("/proc/{}/stat", pid_));
    std::istringstream rest(stat.substr(stat.rfind(')') + 2));
    std::string skip;
    for (int i = 0; i < 11; ++i) rest >> skip;
    double user = 0, system = 0;
    rest >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  double PeakMegabytes() const {
    std::istringstream status(Read(fmt::format("/proc/{}/status", pid_)));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1000;
    }
    return 0;
  }

 private:
  const int port_;
  pid_t pid_ = 0;
  int stdin_ = -1;
  std::shared_ptr<Transport> transport_;
};

struct Work {
  std::string name;
  std::string key;  // in the JSON
  std::string path;
  std::vector<std::string> bodies;
  int calls = 0;
  int connections = 1;
  std::string expect;  // in each answer
  double per = 1;      // objects in a call
};

struct Figures {
  double cpu = 0;  // seconds for a call
  double p50 = 0, p99 = 0;
};

Figures Measure(const Side& side, const Work& work, int calls) {
  std::atomic<int> next = 0;
  std::vector<std::vector<double>> times(static_cast<std::size_t>(work.connections));
  const double before = side.CpuSeconds();
  {
    std::vector<Thread> threads;
    for (auto& mine : times) {
      threads.emplace_back("client", [&] {
        for (int i = next++; i < calls; i = next++) {
          const auto start = Clock::now();
          const Result<HttpResponse> answer =
              side.Post(work.path + "?timeout=30s", work.bodies[static_cast<std::size_t>(i) % work.bodies.size()]);
          mine.push_back(std::chrono::duration<double>(Clock::now() - start).count());
          if (!answer) Fail(answer.error().ToString());
          if (answer->code != 200 || answer->body.find(work.expect) == std::string::npos)
            Fail(fmt::format("{}: code {}: {}", work.path, answer->code, answer->body.substr(0, 500)));
        }
      });
    }
  }
  Figures out{.cpu = (side.CpuSeconds() - before) / calls};
  std::vector<double> all;
  for (const auto& mine : times) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  out.p50 = all[all.size() / 2];
  out.p99 = all[all.size() * 99 / 100];
  return out;
}

std::vector<std::string> PodReviews() {
  std::vector<std::string> out;
  const core::v1::PodList pods = MakePods(200, true);
  for (const core::v1::Pod& pod : pods.items) {
    out.push_back(fmt::format(
        R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"705ab4f5-6393-11e8-b7cc-42010a80{:04}",)"
        R"("kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1","resource":"pods"}},)"
        R"("requestKind":{{"group":"","version":"v1","kind":"Pod"}},"requestResource":{{"group":"","version":"v1","resource":"pods"}},)"
        R"("name":"{}","namespace":"{}","operation":"CREATE","userInfo":{{"username":"system:serviceaccount:kube-system:replicaset-controller",)"
        R"("groups":["system:serviceaccounts","system:authenticated"]}},"object":{},"oldObject":null,"dryRun":false,)"
        R"("options":{{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}}}})",
        out.size(), pod.metadata.name.view(), pod.metadata.namespace_.view(), Must(ToJson(pod))));
  }
  return out;
}

// As kube-apiserver writes it: objects with their members sorted.
std::string ConversionOf(int objects, int first) {
  std::string out =
      R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002",)"
      R"("desiredAPIVersion":"bench.example.com/v2","objects":[)";
  for (int i = 0; i < objects; ++i) {
    if (i != 0) out += ',';
    out += ToJson(Must(ToValue(MakeGadget(first + i))));
  }
  return out + "]}}";
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Run(const Options& options, const std::string& self) {
  const std::string dir = std::filesystem::temp_directory_path() / fmt::format("bench-webhook-{}", getpid());
  std::filesystem::create_directory(dir);
  const serve::CertificateAuthority ca = Must(serve::CertificateAuthority::Create("bench"));
  const serve::KeyPair pair = Must(ca.Issue({.common_name = "webhook", .addresses = {"127.0.0.1"}, .server = true}));
  std::ofstream(dir + "/tls.crt") << pair.certificate_pem;
  std::ofstream(dir + "/tls.key") << pair.key_pem;

  const char* cache = std::getenv("KUBEXX_CACHE");
  const char* home = std::getenv("HOME");
  const std::string peer =
      (cache != nullptr ? std::string(cache) : std::string(home == nullptr ? "" : home) + "/.cache/kubexx") + "/peers/webhook-go";
  std::map<std::string, std::vector<std::string>> sides;
  if (options.only.empty() || options.only == "kubexx") {
    sides["kubexx"] = {self, "--serve"};
    sides["kubexx, KeepLost(false)"] = {self, "--serve", "--no-keep"};
  }
  if (options.only.empty() || options.only == "controller-runtime") {
    if (std::filesystem::exists(peer)) {
      sides["controller-runtime"] = {peer};
    } else {
      fmt::print("no {}: scripts/build-peers makes it\n", peer);
    }
  }

  std::vector<Work> works;
  const std::vector<std::string> pods = PodReviews();
  std::vector<std::string> singles;
  for (int i = 0; i < 200; ++i) singles.push_back(ConversionOf(1, i));
  works.push_back({.name = "validate a pod",
                   .key = "validate",
                   .path = "/validate--v1-pod",
                   .bodies = pods,
                   .calls = options.reviews,
                   .connections = options.connections,
                   .expect = R"("allowed":true)"});
  works.push_back({.name = "mutate a pod",
                   .key = "mutate",
                   .path = "/mutate--v1-pod",
                   .bodies = pods,
                   .calls = options.reviews,
                   .connections = options.connections,
                   .expect = R"("patch":")"});
  works.push_back({.name = "convert an object",
                   .key = "convert",
                   .path = "/convert",
                   .bodies = singles,
                   .calls = options.reviews,
                   .connections = options.connections,
                   .expect = R"("status":"Success")"});
  works.push_back({.name = fmt::format("convert {} objects", options.objects),
                   .key = "convert-list",
                   .path = "/convert",
                   .bodies = {ConversionOf(options.objects, 0)},
                   .calls = options.lists,
                   .expect = R"("status":"Success")"});
  for (const Work& work : works) fmt::print("{}: {} bytes a call\n", work.name, work.bodies[0].size());

  std::map<std::pair<std::string, std::string>, std::vector<Figures>> all;
  std::map<std::string, double> peaks;
  for (int round = 0; round < options.rounds; ++round) {
    for (const auto& [name, argv] : sides) {
      const Side side(argv, dir, ca.certificate_pem());
      for (const Work& work : works) {
        Measure(side, work, std::max(1, work.calls / 20));  // warm
        all[{work.name, name}].push_back(Measure(side, work, work.calls));
      }
      peaks[name] = std::max(peaks[name], side.PeakMegabytes());
    }
  }
  std::filesystem::remove_all(dir);

  fmt::print("\n{:<24} {:<26} {:>14} {:>10} {:>10} {:>8}\n", "", "", "CPU a call", "p50", "p99", "CPU of peer");
  for (const Work& work : works) {
    const auto median = [&](const std::string& name, double Figures::*what) {
      std::vector<double> values;
      for (const Figures& figures : all[{work.name, name}]) values.push_back(figures.*what);
      return values.empty() ? 0.0 : Median(values);
    };
    const double other = median("controller-runtime", &Figures::cpu);
    for (const auto& [name, argv] : sides) {
      const double cpu = median(name, &Figures::cpu);
      fmt::print("{:<24} {:<26} {:>11.1f} us {:>7.2f} ms {:>7.2f} ms {:>8}\n", work.name, name, cpu * 1e6,
                 median(name, &Figures::p50) * 1e3, median(name, &Figures::p99) * 1e3, other > 0 ? fmt::format("{:.2f}", cpu / other) : "");
    }
  }
  if (!options.json.empty()) {
    Value runs = Value::Array();
    for (const Work& work : works) {
      for (const auto& [name, argv] : sides) {
        for (const Figures& figures : all[{work.name, name}])
          runs.MutableList().push_back(Value::Object({{"work", Value(work.key)},
                                                      {"side", Value(name)},
                                                      {"cpu", Value(figures.cpu)},
                                                      {"p50", Value(figures.p50)},
                                                      {"p99", Value(figures.p99)}}));
      }
    }
    std::ofstream(options.json) << ToJson(runs) << '\n';
  }
  for (const auto& [name, peak] : peaks) fmt::print("peak memory of {}: {:.0f} MB\n", name, peak);
  return 0;
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) {
  kube::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const auto value = [&](std::string_view name) -> const char* {
      return arg.starts_with(name) && arg.size() > name.size() && arg[name.size()] == '=' ? argv[i] + name.size() + 1 : nullptr;
    };
    if (const char* v = value("--reviews"))
      options.reviews = std::atoi(v);
    else if (const char* n = value("--objects"))
      options.objects = std::atoi(n);
    else if (const char* l = value("--lists"))
      options.lists = std::atoi(l);
    else if (const char* r = value("--rounds"))
      options.rounds = std::atoi(r);
    else if (const char* c = value("--connections"))
      options.connections = std::atoi(c);
    else if (const char* o = value("--only"))
      options.only = o;
    else if (const char* j = value("--json"))
      options.json = j;
    else if (const char* d = value("--dir"))
      options.dir = d;
    else if (const char* p = value("--port"))
      options.port = std::atoi(p);
    else if (arg == "--serve")
      options.serve = true;
    else if (arg == "--no-keep")
      options.keep_lost = false;
    else
      kube::bench::Fail("unknown argument " + std::string(arg));
  }
  signal(SIGPIPE, SIG_IGN);
  return options.serve ? kube::bench::RunSide(options) : kube::bench::Run(options, std::filesystem::read_symlink("/proc/self/exe"));
}
