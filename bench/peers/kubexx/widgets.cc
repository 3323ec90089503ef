// peers_widgets: the cluster's part of the reconcile round of bench/peers.
//
//   peers_widgets reset --kubeconfig=F --crd=widgets.yaml --count=N    N new Widgets, and none of what was there before
//   peers_widgets check --kubeconfig=F --count=N                       fails unless each has its status, and a child that says the same
//   peers_widgets requests --kubeconfig=F                              how many requests for widgets and configmaps the server has seen,
//   but
//                                                                     watches: {"requests":N,"of":{"POST configmaps":N,...}}
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"
#include "kube/client/client.h"
#include "kube/client/status_error.h"
#include "kube/codec/yaml.h"
#include "kube/config/load.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/owner_reference.h"
#include "kube/transport/http.h"
#include "widget.h"

namespace kube::bench {
namespace {

using core::v1::ConfigMap;
using core::v1::Namespace;
using SteadyClock = std::chrono::steady_clock;
using Flags = std::map<std::string, std::string>;

constexpr char kNamespace[] = "widgets";

[[noreturn]] void Fail(const std::string& message) {
  fmt::print(stderr, "peers_widgets: {}\n", message);
  std::_Exit(1);
}

std::string Flag(const Flags& flags, const std::string& name) {
  const auto it = flags.find(name);
  if (it == flags.end()) Fail("--" + name + " is missing");
  return it->second;
}

Client MakeClient(const Flags& flags) {
  Result<ClientConfig> config = LoadConfig({.kubeconfig = Flag(flags, "kubeconfig")});
  if (!config) Fail(config.error().ToString());
  config->qps = -1;
  Result<Client> client = Client::FromConfig(*config);
  if (!client) Fail(client.error().ToString());
  return *client;
}

Context Minutes(int minutes) { return Context::Background().WithTimeout(std::chrono::minutes(minutes)); }

template <typename Condition>
void WaitUntil(const char* what, Condition condition) {
  const Context ctx = Minutes(3);
  while (!condition()) {
    if (!ctx.SleepFor(std::chrono::milliseconds(100))) Fail(std::string("waited in vain: ") + what);
  }
}

void MakeKind(const Client& client, const Flags& flags) {
  const Context ctx = Minutes(1);
  std::ifstream file(Flag(flags, "crd"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Result<DynamicObject> definition = FromYaml<DynamicObject>(text);
  if (!definition) Fail(definition.error().ToString());
  Result<DynamicObject> made = client.Resource(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"}).Create(ctx, *definition);
  if (!made && !IsAlreadyExists(made.error())) Fail(made.error().ToString());
  Namespace ns;
  ns.metadata.name = kNamespace;
  if (Result<Namespace> r = client.Create(ctx, ns); !r && !IsAlreadyExists(r.error())) Fail(r.error().ToString());
  WaitUntil("the server does not serve widgets", [&] { return client.List<Widget>(ctx, {.limit = 1}).ok(); });
}

int Reset(const Flags& flags) {
  const Client client = MakeClient(flags);
  MakeKind(client, flags);
  const Context ctx = Minutes(5);
  // There is no garbage collector here, so children are also deleted. Other namespaces are not touched.
  if (Result<void> r = client.DeleteCollection<Widget>(ctx, {.ns = kNamespace}); !r) Fail(r.error().ToString());
  if (Result<void> r = client.DeleteCollection<ConfigMap>(ctx, {.ns = kNamespace}); !r) Fail(r.error().ToString());
  WaitUntil("the objects of the run before do not go", [&] {
    const auto widgets = client.List<Widget>(ctx, {.ns = kNamespace, .limit = 1});
    const auto maps = client.List<ConfigMap>(ctx, {.ns = kNamespace});
    if (!widgets || !maps || !widgets->items.empty()) return false;
    for (const ConfigMap& map : maps->items) {
      if (map.metadata.name.view().starts_with("widget-")) return false;
    }
    return true;
  });
  const int count = std::atoi(Flag(flags, "count").c_str());
  std::atomic<int> next = 0;
  std::vector<Thread> workers;
  for (int t = 0; t < 16; ++t) {
    workers.emplace_back("worker", [&] {
      for (int i = next++; i < count; i = next++) {
        Widget widget;
        widget.metadata.namespace_ = kNamespace;
        widget.metadata.name = String(fmt::format("widget-{:05}", i));
        widget.metadata.labels["app"] = "bench";
        widget.spec.message = String(fmt::format("the message of widget {}", i));
        widget.spec.size = i;
        if (Result<Widget> made = client.Create(ctx, widget); !made) Fail(made.error().ToString());
      }
    });
  }
  return 0;
}

int Check(const Flags& flags) {
  const Client client = MakeClient(flags);
  const Context ctx = Minutes(1);
  const auto widgets = client.List<Widget>(ctx, {.ns = kNamespace});
  const auto maps = client.List<ConfigMap>(ctx, {.ns = kNamespace});
  if (!widgets) Fail(widgets.error().ToString());
  if (!maps) Fail(maps.error().ToString());
  std::map<std::string, const ConfigMap*> children;
  for (const ConfigMap& map : maps->items) children[map.metadata.name.str()] = &map;
  for (const Widget& widget : widgets->items) {
    const std::string name = widget.metadata.name.str();
    if (!widget.status.ready || widget.status.observed_generation != widget.metadata.generation) Fail(name + " has no status");
    const auto child = children.find(name);
    if (child == children.end()) Fail(name + " has no child");
    const meta::v1::OwnerReference* owner = FindController(child->second->metadata.owner_references);
    if (owner == nullptr || owner->uid != widget.metadata.uid) Fail("the child of " + name + " has another owner");
    if (child->second->data.Get("message") != widget.spec.message) Fail("the child of " + name + " says something else");
  }
  if (std::to_string(widgets->items.size()) != Flag(flags, "count")) Fail(fmt::format("there are {} widgets", widgets->items.size()));
  return 0;
}

// The value of label `name` in a line of Prometheus' text form.
std::string Label(const std::string& line, const std::string& name) {
  const std::size_t begin = line.find(name + "=\"");
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + name.size() + 2;
  return line.substr(from, line.find('"', from) - from);
}

int Requests(const Flags& flags) {
  const Client client = MakeClient(flags);
  HttpRequest request;
  request.method = "GET";
  request.target = "/metrics";
  request.headers.Set("accept", "text/plain");
  const Result<HttpResponse> answer = client.Raw(Minutes(1), std::move(request));
  if (!answer) Fail(answer.error().ToString());
  std::istringstream lines(answer->body);
  std::map<std::string, long long> of;
  long long all = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("apiserver_request_total{")) continue;
    const std::string resource = Label(line, "resource"), verb = Label(line, "verb"), part = Label(line, "subresource");
    if ((resource != "widgets" && resource != "configmaps") || verb == "WATCH") continue;
    const long long n = static_cast<long long>(std::strtod(line.c_str() + line.rfind(' '), nullptr));
    of[verb + " " + resource + (part.empty() ? "" : "/" + part)] += n;
    all += n;
  }
  std::string text;
  for (const auto& [what, n] : of) text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", what, n);
  fmt::print("{{\"requests\":{},\"of\":{{{}}}}}\n", all, text);
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
  if (command == "reset") return Reset(flags);
  if (command == "check") return Check(flags);
  if (command == "requests") return Requests(flags);
  Fail("usage: peers_widgets reset|check|requests --kubeconfig=F ...; see the head of bench/peers/kubexx/widgets.cc");
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
