// A victim's namespace and that of a tenant who attacks it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "exposer_test_util.h"

namespace auto_expose {

class AutoExposeAttackTest : public AutoExposeServerTest {
 protected:
  void SetUp() override {
    AutoExposeServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    victim_ = ns_;
    // So that NAME-expose in this namespace looks like NAME in the victim's.
    evil_ = victim_.substr(victim_.find('-') + 1);
    Namespace ns;
    ns.metadata.name = evil_;
    const Result<Namespace> made = client_->Create(Patient(), ns);
    ASSERT_TRUE(made) << made.error().ToString();
    watched_ = "";
    domain_ = victim_ + ".org";  // what other cases left behind does not matter
    settings_.domain = domain_;
    settings_.namespaces = {victim_, evil_};
  }
  void TearDown() override {
    AutoExposeServerTest::TearDown();
    if (client_ && !evil_.empty()) (void)client_->Delete<Namespace>(Patient(), {"", String(evil_)});
  }

  // As the base's. Auto-expose sees the whole cluster here, and what other cases left may push a key out of the latest runs: then one more
  // run of it is asked for.
  bool Reconciled(const std::string& name) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    kube::Controller* controller = manager_->controller("auto-expose-deployments");
    bool asked = false;
    return Eventually([&] {
      const kube::ControllerStatus status = controller->status(1000);
      for (const auto& entry : status.queue.entries) {
        if (entry.key == Key(name) && entry.state != kube::KeyState::kWaiting) return false;
      }
      for (const kube::KeyReport& report : status.recent) {
        if (report.key == Key(name)) return true;
      }
      if (!asked && std::chrono::steady_clock::now() > patience) {
        controller->Enqueue(Key(name));
        asked = true;
      }
      return false;
    });
  }

  // f, with another namespace as the one that all helpers mean.
  template <typename F>
  auto In(const std::string& ns, F f) {
    struct Back {
      std::string& place;
      std::string before;
      ~Back() { place = before; }
    } back{ns_, std::exchange(ns_, ns)};
    return f();
  }
  template <typename F>
  auto Evil(F f) {
    return In(evil_, std::move(f));
  }
  // Hosts outside of every zone: claims alone decide.
  void OpenPolicy() {
    settings_.host = "{name}-{namespace}.{domain}";
    settings_.allowed.hosts = {"**." + domain_};
    settings_.allowed.ingress_classes = {"*"};
  }
  static std::string Annotation(const std::string& name, const std::string& value) {
    return R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/)" + name + R"(":")" + value + R"("}}})";
  }
  std::string HostYaml(const std::string& host) const { return "{auto-expose.kubexx.dev/host: \"" + host + "." + domain_ + "\"}"; }
  // The victim is exposed at this host; gives the Ingress's UID.
  String Victim(const std::string& host) {
    Create(MakeDeployment("web", HostYaml(host)));
    EXPECT_TRUE(Appears<Ingress>("web", [&](const Ingress& i) { return Host(i) == host + "." + domain_; }));
    EXPECT_TRUE(Told("web", "Normal Exposed"));
    const std::optional<Ingress> ingress = Get<Ingress>("web");
    return ingress ? ingress->metadata.uid : String();
  }
  // Nothing happened to the victim.
  bool Stands(const String& uid) {
    const std::optional<Ingress> ingress = Get<Ingress>("web");
    return ingress && ingress->metadata.uid == uid && ingress->metadata.deletion_timestamp.IsZero();
  }
  // A workload that is older than all that comes later, and not exposed yet.
  void Sleeper(const std::string& name) {
    const Deployment made = Evil([&] { return Create(MakeDeployment(name, R"({auto-expose.kubexx.dev/expose: "false"})")); });
    ASSERT_TRUE(Eventually([&] { return kube::Time::Now() > made.metadata.creation_timestamp; }));
  }
  void Wake(const std::string& name, const std::string& host) {
    Evil([&] {
      Patch<Deployment>(
          name, R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/expose":"true","auto-expose.kubexx.dev/host":")" + host + R"("}}})");
    });
  }
  static Ingress MakeIngress(const std::string& ns, const std::string& name, const std::string& host, const std::string& path = "/") {
    return kube::FromYaml<Ingress>("metadata: {name: " + name + ", namespace: " + ns + "}\nspec: {rules: [{host: \"" + host +
                                   "\", http: {paths: [{path: " + path +
                                   ", pathType: Prefix, backend: {service: {name: any, port: {number: 80}}}}]}}]}\n")
        .value();
  }

  std::string victim_, evil_, domain_;
};

}  // namespace auto_expose
