// auto-expose in a test, on a server.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/server_test_util.h"
#include "control/controller/late_watch_test_util.h"
#include "control/helpers/desired_test_util.h"
#include "exposer.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/events/v1.h"
#include "kube/base/thread.h"
#include "kube/codec/yaml.h"
#include "kube/control/manager.h"
#include "kube/meta/owner_reference.h"
#include "plan.h"

namespace auto_expose {

using kube::Client;
using kube::Context;
using kube::ObjectKey;
using kube::Result;
using kube::String;
using kube::apps::v1::Deployment;
using kube::core::v1::Namespace;
using kube::core::v1::Service;
using kube::networking::v1::Ingress;

inline std::int32_t Port(const Service& service) { return service.spec.ports.empty() ? 0 : service.spec.ports[0].port; }
inline std::string Host(const Ingress& ingress) { return ingress.spec.rules.empty() ? "" : ingress.spec.rules[0].host.str(); }
// The Service and the port that the first rule leads to.
inline std::pair<std::string, std::int32_t> Backend(const Ingress& ingress) {
  if (ingress.spec.rules.empty() || !ingress.spec.rules[0].http || ingress.spec.rules[0].http->paths.empty()) return {};
  const auto& service = ingress.spec.rules[0].http->paths[0].backend.service;
  return service ? std::pair(service->name.str(), service->port.number) : std::pair<std::string, std::int32_t>();
}

// Answers 403 to requests of one path.
class ForbiddingTransport : public kube::TransportDecorator {
 public:
  ForbiddingTransport(std::shared_ptr<kube::Transport> next, std::string path)
      : TransportDecorator(std::move(next)), path_(std::move(path)) {}
  Result<kube::HttpResponse> RoundTrip(const Context& ctx, kube::HttpRequest request) override {
    if (request.target != path_ && !request.target.starts_with(path_ + "?")) return next().RoundTrip(ctx, std::move(request));
    return kube::Error({.kind = kube::ErrorKind::kApi, .http_code = 403, .reason = "Forbidden", .message = path_ + " is forbidden"});
  }

 private:
  const std::string path_;
};

class AutoExposeServerTest : public kube::internal::ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient());
    Namespace ns;
    ns.metadata.generate_name = "expose-";
    const Result<Namespace> made = client_->Create(Patient(), ns);
    ASSERT_TRUE(made) << made.error().ToString();
    ns_ = watched_ = made->metadata.name.str();
    settings_.namespaces = {ns_};
    settings_.domain = "example.com";
  }
  void TearDown() override {
    End();
    if (client_ && !ns_.empty()) (void)client_->Delete<Namespace>(Patient(), {"", String(ns_)});
  }

  // Starts auto-expose; its requests are counted.
  void Start() {
    End();
    kube::ManagerOptions options;
    options.informers.ns = watched_;
    options.preflight = kube::Preflight::kSkip;
    options.informers.watch_list = wrap_ == nullptr;
    const auto wrap = [requests = requests_, gate = gate_, forbidden = forbidden_,
                       inner = wrap_](std::shared_ptr<kube::Transport> next) -> std::shared_ptr<kube::Transport> {
      if (inner) next = inner(std::move(next));
      if (!forbidden.empty()) next = std::make_shared<ForbiddingTransport>(std::move(next), forbidden);
      return std::make_shared<kube::LateWatches>(std::make_shared<kube::internal::CountingTransport>(std::move(next), requests), gate);
    };
    manager_ = std::make_unique<kube::Manager>(NewClient({.wrap_transport = wrap}), options);
    const Result<void> added = AddExposer(*manager_, {.settings = settings_, .workers = 2});
    ASSERT_TRUE(added) << added.error().ToString();
    auto running = Context::Background().WithCancel();
    cancel_.emplace(std::move(running.second));
    thread_ = kube::Thread("auto-expose", [this, run = running.first] { ran_ = manager_->Run(run); });
  }
  void End() {
    if (manager_ == nullptr) return;
    cancel_->Cancel();
    thread_.Join();
    EXPECT_TRUE(ran_) << ran_.error().ToString();
    manager_.reset();
  }

  static bool Eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  // A pass over this workload has ended, and no other one waits.
  bool Reconciled(const std::string& name) {
    return Eventually([&] {
      const kube::ControllerStatus status = manager_->controller("auto-expose-deployments")->status(1000);
      for (const auto& entry : status.queue.entries) {
        if (entry.key == Key(name) && entry.state != kube::KeyState::kWaiting) return false;
      }
      for (const kube::KeyReport& report : status.recent) {
        if (report.key == Key(name)) return true;
      }
      return false;
    });
  }

  Deployment MakeDeployment(const std::string& name, const std::string& annotations = "{}",
                            const std::string& ports = "[{containerPort: 8080}]") {
    const std::string yaml = "metadata: {name: " + name + ", namespace: " + ns_ + ", annotations: " + annotations + R"(}
spec:
  replicas: 1
  selector: {matchLabels: {app: )" +
                             name + R"(}}
  template:
    metadata: {labels: {app: )" +
                             name + R"(}}
    spec:
      containers:
      - name: main
        image: web:1
        ports: )" + ports + "\n";
    Result<Deployment> made = kube::FromYaml<Deployment>(yaml);
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : Deployment();
  }
  Deployment Create(const Deployment& deployment) {
    Result<Deployment> made = client_->Create(Patient(), deployment);
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : Deployment();
  }
  template <typename T>
  void Patch(const std::string& name, const std::string& merge) {
    const Result<T> patched = client_->Patch<T>(Patient(), Key(name), kube::Patch::Merge(merge), {.field_manager = "somebody"});
    ASSERT_TRUE(patched) << patched.error().ToString();
  }
  ObjectKey Key(const std::string& name) const { return {String(ns_), String(name)}; }
  template <typename T>
  std::optional<T> Get(const std::string& name) const {
    Result<T> found = client_->Get<T>(Patient(), Key(name));
    if (found) return *found;
    EXPECT_TRUE(kube::IsNotFound(found.error())) << found.error().ToString();
    return std::nullopt;
  }
  template <typename T>
  bool Appears(
      const std::string& name, const std::function<bool(const T&)>& as = [](const T&) { return true; }) const {
    return Eventually([&] {
      const std::optional<T> found = Get<T>(name);
      return found && found->metadata.deletion_timestamp.IsZero() && as(*found);
    });
  }
  template <typename T>
  bool Goes(const std::string& name) const {
    return Eventually([&] { return !Get<T>(name); });
  }
  // "Warning NoPort ..." about the object.
  std::vector<std::string> Events(const std::string& name) const {
    std::vector<std::string> texts;
    const auto events = client_->List<kube::events::v1::Event>(Patient(), {.ns = ns_});
    EXPECT_TRUE(events) << events.error().ToString();
    for (const kube::events::v1::Event& event : events->items) {
      if (event.regarding.name == name) texts.push_back(event.type.str() + " " + event.reason.str() + " " + event.note.str());
    }
    return texts;
  }
  bool Told(const std::string& name, const std::string& beginning, const std::string& part = "") const {
    const bool told = Eventually([&] {
      for (const std::string& text : Events(name)) {
        if (text.starts_with(beginning) && text.find(part) != std::string::npos) return true;
      }
      return false;
    });
    if (!told) {
      for (const std::string& text : Events(name)) ADD_FAILURE() << "event: " << text;
    }
    return told;
  }

  Settings settings_;
  std::string ns_;
  std::string watched_;    // all that auto-expose sees; empty: everything
  std::string forbidden_;  // a path that its role does not allow, "/api/v1/namespaces"; empty: it may do all
  std::optional<Client> client_;
  std::shared_ptr<kube::internal::RequestCount> requests_ = std::make_shared<kube::internal::RequestCount>();
  // What else the requests of auto-expose go through; with it the first state comes as lists, not as streams.
  std::function<std::shared_ptr<kube::Transport>(std::shared_ptr<kube::Transport>)> wrap_;
  std::shared_ptr<kube::WatchGate> gate_ = std::make_shared<kube::WatchGate>();
  std::unique_ptr<kube::Manager> manager_;
  std::optional<kube::CancelSource> cancel_;
  kube::Thread thread_;
  Result<void> ran_;
};

}  // namespace auto_expose
