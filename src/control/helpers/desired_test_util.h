// What the tests of reconcile helpers share: objects to play with, and a client that counts what it is used for.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/base/mutex.h"
#include "kube/client/client.h"
#include "kube/testing/api_server.h"
#include "kube/transport/transport.h"

namespace kube::internal {

// Methods of the requests that were sent, without those for discovery.
class RequestCount {
 public:
  void Add(std::string method) {
    std::function<void()> act;
    {
      MutexLock lock(mu_);
      if (method == act_before_) act = std::exchange(act_, nullptr);
      methods_.push_back(std::move(method));
    }
    if (act) act();
  }
  // Simulates another client that acts just before the next request of that method.
  void Before(std::string method, std::function<void()> act) {
    MutexLock lock(mu_);
    act_before_ = std::move(method);
    act_ = std::move(act);
  }
  // All since the last call.
  std::vector<std::string> Take() {
    MutexLock lock(mu_);
    return std::exchange(methods_, {});
  }
  // Those that may have changed something.
  int TakeWrites() {
    int writes = 0;
    for (const std::string& method : Take()) writes += method == "GET" ? 0 : 1;
    return writes;
  }

 private:
  Mutex mu_;
  std::vector<std::string> methods_ KUBE_GUARDED_BY(mu_);
  std::string act_before_ KUBE_GUARDED_BY(mu_);
  std::function<void()> act_ KUBE_GUARDED_BY(mu_);
};

class CountingTransport : public TransportDecorator {
 public:
  CountingTransport(std::shared_ptr<Transport> next, std::shared_ptr<RequestCount> count)
      : TransportDecorator(std::move(next)), count_(std::move(count)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (request.target.find("/namespaces/") != std::string::npos) count_->Add(request.method);
    return next().RoundTrip(ctx, std::move(request));
  }

 private:
  std::shared_ptr<RequestCount> count_;
};

inline ClientOptions Counted(const std::shared_ptr<RequestCount>& count) {
  return {
      .wrap_transport = [count](std::shared_ptr<Transport> next) { return std::make_shared<CountingTransport>(std::move(next), count); }};
}

inline Context Soon() { return Context::Background().WithTimeout(std::chrono::seconds(60)); }

// An embedded server of its own for each case.
class HelperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<testing::ApiServer>> server = testing::ApiServer::Start({.http = true});
    ASSERT_TRUE(server) << server.error().ToString();
    server_ = *std::move(server);
    client_.emplace(server_->NewClient(Counted(requests_)).value());
  }
  template <typename T>
  T Created(const T& object) {
    Result<T> made = client_->Create(Soon(), object);
    EXPECT_TRUE(made) << made.error().ToString();
    requests_->Take();
    return made ? *made : T();
  }
  core::v1::ConfigMap MakeMap(const std::string& name, const std::string& value = "1") const {
    core::v1::ConfigMap map;
    map.metadata.namespace_ = ns_;
    map.metadata.name = name;
    map.data["value"] = value;
    return map;
  }

  std::string ns_ = "default";
  std::shared_ptr<RequestCount> requests_ = std::make_shared<RequestCount>();
  std::unique_ptr<testing::ApiServer> server_;
  std::optional<Client> client_;
};

// ---- What auto-expose has: a Deployment, its Service and its Ingress ----
inline apps::v1::Deployment MakeDeployment(const std::string& ns, const std::string& name) {
  apps::v1::Deployment deployment;
  deployment.metadata.namespace_ = ns;
  deployment.metadata.name = name;
  meta::v1::LabelSelector selector;
  selector.match_labels["app"] = name;
  deployment.spec.selector = selector;
  deployment.spec.template_.metadata.labels["app"] = name;
  core::v1::Container container;
  container.name = "web";
  container.image = "web:1";
  container.ports.push_back({.container_port = 8080});
  container.resources.limits["cpu"] = *Quantity::Parse("1000m");
  container.resources.limits["memory"] = *Quantity::Parse("1024Mi");
  deployment.spec.template_.spec.containers.push_back(container);
  return deployment;
}
inline core::v1::Service MakeService(const std::string& ns, const std::string& name) {
  core::v1::Service service;
  service.metadata.namespace_ = ns;
  service.metadata.name = name;
  service.spec.selector["app"] = name;
  core::v1::ServicePort port;
  port.name = "http";
  port.port = 80;
  port.target_port = IntOrString(8080);
  service.spec.ports.push_back(port);
  return service;
}
inline networking::v1::Ingress MakeIngress(const std::string& ns, const std::string& name) {
  networking::v1::Ingress ingress;
  ingress.metadata.namespace_ = ns;
  ingress.metadata.name = name;
  networking::v1::IngressServiceBackend backend;
  backend.name = name;
  backend.port.name = "http";
  networking::v1::HTTPIngressPath path;
  path.path = "/" + name;
  path.path_type = "Prefix";
  path.backend.service = backend;
  networking::v1::HTTPIngressRuleValue http;
  http.paths.push_back(path);
  networking::v1::IngressRule rule;
  rule.http = http;
  ingress.spec.rules.push_back(rule);
  return ingress;
}

}  // namespace kube::internal
