// A manager with a debug page, for debug_page_test.py. Reads commands as lines from stdin; answers each with "ok", or with the requested
// value. Ends when stdin does.
//
//   start PORT [hooks]     runs the manager; 0: a free port; hooks: with a webhook. Answers "port N"
//   stop                   ends it
//   create NAME            a ConfigMap NAME in namespace default
//   queue NAME SOURCE      the key default/NAME, from outside
//   fill N                 N keys that no worker takes
//   let-go                 reconcilers that block go on
//   refuse-secrets         no Secret can be read any more, and the one of the webhooks' CA is deleted; the server's message tries to be
//   HTML allow-secrets          they can
//
// Two controllers: "maps" blocks for a key that begins with "block", fails for one that begins with "bad" with a text that tries to be
// HTML, and else succeeds. "idle <b>" waits for a kind that is not there: its keys stay queued.
#include <fmt/core.h>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "kube/api/core/v1.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/control/manager.h"
#include "kube/testing/api_server.h"
#include "kube/webhook/webhook.h"

namespace kube {
namespace {

using core::v1::ConfigMap;

constexpr char kHostile[] = "<img src=x onerror=\"window.hostile=1\"><script>window.hostile=2</script>";

[[noreturn]] void Fail(const Error& error) {
  fmt::print(stderr, "debug_page_server: {}\n", error.ToString());
  std::_Exit(1);
}

class Server {
 public:
  Server() : server_(testing::ApiServer::Start({.http = true}).value()), client_(NewClient()) {}
  ~Server() { Stop(); }

  std::uint16_t Start(const std::string& port, bool hooks) {
    stopped_ = false;
    auto [ctx, cancel] = Context::Background().WithCancel();
    cancel_ = std::make_unique<CancelSource>(std::move(cancel));
    manager_ = std::make_unique<Manager>(
        client_,
        ManagerOptions{
            .metrics_bind_address = "127.0.0.1:" + port,
            .webhooks = {
                .name = "hooks", .bind_address = "127.0.0.1", .port = 0, .shutdown_delay = std::chrono::seconds(0), .install = true}});
    if (hooks) Check(manager_->Add(WebhookFor<core::v1::Pod>("pods.example.com").Default([](core::v1::Pod&) {})));
    const InformerOptions here{.ns = "default"};
    Check(manager_->Add(
        ControllerFor<ConfigMap>("maps").For({.informer = here}).Workers(2).Reconcile([this](const Context& run, const Request& request) {
          return Reconcile(run, request);
        })));
    // A watch that never becomes complete: its workers do not start.
    Check(manager_->Add(ControllerFor<ConfigMap>("idle <b>")
                            .For({.when = [](const Change<ConfigMap>&) { return false; }, .informer = here})
                            .Watches(Gvr{"example.com", "v1", "nothings"}, [](const DynamicObject&) { return std::vector<ObjectKey>(); })
                            .Reconcile([](const Context&, const Request&) -> Result<Action> { return Action::Done(); })));
    runner_ = std::make_unique<Thread>("runner", [this, run = ctx] {
      if (Result<void> ran = manager_->Run(run); !ran) Fail(ran.error());
    });
    const Context patient = Context::Background().WithTimeout(std::chrono::seconds(60));
    while (manager_->metrics_port() == 0) {
      if (Result<void> slept = patient.SleepFor(std::chrono::milliseconds(1)); !slept) Fail(Error::Internal("the manager does not start"));
    }
    return manager_->metrics_port();
  }

  void Stop() {
    stopped_ = true;
    if (cancel_) cancel_->Cancel();
    if (runner_) runner_->Join();
    runner_.reset();
    manager_.reset();
  }

  void Create(const std::string& name) {
    ConfigMap map;
    map.metadata.namespace_ = "default";
    map.metadata.name = name;
    if (Result<ConfigMap> made = client_.Create(Context::Background(), map); !made) Fail(made.error());
  }
  void Queue(const std::string& name, const std::string& source) {
    manager_->controller("idle <b>")->Enqueue({"default", String(name)}, source);
  }
  void LetGo() { blocked_ = false; }
  void RefuseSecrets() {
    server_->AddFault({.verb = "get", .resource = "secrets", .status = 403, .message = kHostile, .times = -1});
    // The manager reads them again.
    Check(client_.Delete<core::v1::Secret>(Context::Background(), {"default", "hooks-webhook-ca"}));
  }
  void AllowSecrets() { server_->ClearFaults(); }

 private:
  static void Check(const Result<void>& result) {
    if (!result) Fail(result.error());
  }
  Client NewClient() const {
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server_->Kubeconfig()).value()).value();
    config.qps = -1;
    return Client::FromConfig(config).value();
  }
  Result<Action> Reconcile(const Context& ctx, const Request& request) const {
    const std::string name = request.key.name.str();
    while (name.starts_with("block") && blocked_ && !stopped_) {
      if (!ctx.SleepFor(std::chrono::milliseconds(1))) break;
    }
    if (name.starts_with("bad")) return Error::Internal(kHostile);
    return Action::Done();
  }

  const std::unique_ptr<testing::ApiServer> server_;
  const Client client_;
  std::atomic<bool> blocked_ = true, stopped_ = false;
  std::unique_ptr<Manager> manager_;
  std::unique_ptr<CancelSource> cancel_;
  std::unique_ptr<Thread> runner_;
};

int Main() {
  Server server;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, first, second;
    words >> command >> first;
    std::getline(words >> std::ws, second);
    if (command == "start") {
      std::cout << "port " << server.Start(first, second == "hooks") << std::endl;
      continue;
    }
    if (command == "stop") {
      server.Stop();
    } else if (command == "create") {
      server.Create(first);
    } else if (command == "queue") {
      server.Queue(first, second);
    } else if (command == "fill") {
      for (int i = 0; i < std::stoi(first); ++i) server.Queue(fmt::format("many-{:05}", i), "fill");
    } else if (command == "let-go") {
      server.LetGo();
    } else if (command == "refuse-secrets") {
      server.RefuseSecrets();
    } else if (command == "allow-secrets") {
      server.AllowSecrets();
    } else {
      Fail(Error::Invalid("what is \"" + line + "\"?"));
    }
    std::cout << "ok" << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace kube

int main() { return kube::Main(); }
