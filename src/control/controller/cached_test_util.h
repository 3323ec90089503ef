// What tests of cached clients share: an embedded server whose watches can be held back, and a client that counts requests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/wait_test_util.h"
#include "control/controller/late_watch_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/base/metrics.h"
#include "kube/base/thread.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/control/cached_client.h"
#include "kube/testing/api_server.h"

namespace kube {

using internal::Eventually;

class CountedRequests : public TransportDecorator {
 public:
  CountedRequests(std::shared_ptr<Transport> next, std::shared_ptr<std::atomic<int>> count)
      : TransportDecorator(std::move(next)), count_(std::move(count)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    ++*count_;
    return next().RoundTrip(ctx, std::move(request));
  }

 private:
  const std::shared_ptr<std::atomic<int>> count_;
};

class CachedTest : public ::testing::Test {
 protected:
  using ConfigMap = core::v1::ConfigMap;
  using Secret = core::v1::Secret;

  static Context Patient() { return Context::Background().WithTimeout(std::chrono::seconds(120)); }
  template <typename T>
  static T Named(const std::string& name, const Map<String>& labels = {}, const std::string& ns = "default") {
    T object;
    object.metadata.namespace_ = String(ns);
    object.metadata.name = String(name);
    object.metadata.labels = labels;
    return object;
  }
  static std::vector<std::string> Names(const Result<std::vector<Ptr<Secret>>>& listed) {
    if (!listed) return {listed.error().ToString()};
    std::vector<std::string> out;
    for (const Ptr<Secret>& secret : *listed) out.push_back(secret->metadata.name.str());
    return out;
  }

  void SetUp() override {
    server_ = testing::ApiServer::Start({.http = true}).value();
    client_ = std::make_unique<Client>(NewClient(*server_));
  }
  Client NewClient(testing::ApiServer& server) const {
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server.Kubeconfig()).value()).value();
    config.qps = -1;
    return Client::FromConfig(config, {.wrap_transport = [this](std::shared_ptr<Transport> inner) -> std::shared_ptr<Transport> {
                                return std::make_shared<CountedRequests>(std::make_shared<LateWatches>(std::move(inner), gate_), requests_);
                              }})
        .value();
  }
  // Informers that were asked for run, and are complete.
  void Sync() {
    informers_->Start(Context::Background());
    ASSERT_TRUE(informers_->WaitForSync(Patient()));
  }
  void MakeFactory(InformerFactoryOptions options) { informers_ = std::make_unique<InformerFactory>(*client_, std::move(options)); }
  CachedClient MakeCached(CachedClientOptions options = {}) {
    options.metrics = metrics_;
    return CachedClient(*client_, *informers_, std::move(options));
  }
  double Counted(const std::string& what, const std::string& resource = "secrets", const std::string& controller = "") const {
    return metrics_->Value("kubexx_read_your_writes_" + what, {{"controller", controller}, {"resource", resource}});
  }

  const std::shared_ptr<WatchGate> gate_ = std::make_shared<WatchGate>();
  const std::shared_ptr<std::atomic<int>> requests_ = std::make_shared<std::atomic<int>>(0);
  const std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  std::unique_ptr<testing::ApiServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<InformerFactory> informers_;
};

}  // namespace kube
