// What the seeds of contested hosts are worth, read from a server that answers from a table.
#include "seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kube/base/mutex.h"
#include "kube/codec/options.h"
#include "kube/config/client_config.h"
#include "kube/transport/transport.h"
#include "kube/transport/transport_errors.h"

namespace auto_expose {
namespace {

using kube::Result;

constexpr const char* kByAutoExpose = R"([{"manager":"auto-expose","operation":"Apply","fieldsV1":{"f:spec":{"f:rules":{}}}}])";
constexpr const char* kByHand = R"([{"manager":"kubectl-edit","operation":"Update","fieldsV1":{"f:spec":{"f:rules":{}}}}])";

// Lists the children of a namespace, or the one that a field selector names, by their managedFields.
class TableTransport : public kube::Transport {
 public:
  Result<kube::HttpResponse> RoundTrip(const kube::Context&, kube::HttpRequest request) override {
    kube::MutexLock lock(mu_);
    ++requests;
    changed_.NotifyAll();
    // Bounded: with fewer at a time the test fails instead of hanging.
    for (const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60); requests < at_once;) {
      if (!changed_.WaitUntil(mu_, limit)) break;
    }
    together = together || requests >= at_once;
    if (broken) return kube::TransportError(kube::transport_reason::kConnectionRefused, "no server");
    std::string items;
    for (const auto& [key, managed_fields] : children) {
      if (request.target.find("/namespaces/" + key.first + "/") == std::string::npos) continue;
      if (request.target.find("fieldSelector") != std::string::npos && !request.target.ends_with("%3D" + key.second)) continue;
      items += (items.empty() ? "" : ",") + (R"({"metadata":{"name":")" + key.second) + R"(","managedFields":)" + managed_fields + "}}";
    }
    kube::HttpResponse response{.code = 200, .headers = {{"Content-Type", "application/json"}}};
    std::string body = R"({"items":[)" + items + "]}";
    if (request.streaming) {
      response.stream = kube::MakeBodyStream(std::move(body));
    } else {
      response.body = std::move(body);
    }
    return response;
  }

  std::map<std::pair<std::string, std::string>, std::string> children;  // by namespace and name
  bool broken = false;
  int requests = 0;
  int at_once = 0;  // none is answered before so many were sent
  bool together = false;

 private:
  kube::Mutex mu_;
  kube::CondVar changed_;
};

class AutoExposeSeeds : public ::testing::Test {
 protected:
  // A child with this host and managedFields, and the seed of its workload.
  void Child(const char* ns, const char* name, const char* host, std::string managed_fields) {
    const ChildOwner owner{"Deployment", {ns, name}, kube::String(std::string("uid-") + ns + "-" + name)};
    seeds_.push_back({owner, {host, "/"}, kube::GvrOf<kube::networking::v1::Ingress>(), {ns, name}});
    holders_.push_back({.kind = "Ingress", .key = {ns, name}, .owner = owner, .controller = owner.uid, .claim = {host, "/"}});
    transport_->children[{ns, name}] = std::move(managed_fields);
  }
  Result<void> Put(const kube::Context& ctx = kube::Context::Background()) {
    const auto holders = [this](const Claim&, std::string_view, const auto& visit) {
      ++visits_;
      (void)std::any_of(holders_.begin(), holders_.end(), visit);
    };
    return PutSeeds(ctx, client_, seeds_, holders, board_);
  }
  // Empty if the workload gets the host, otherwise what blocks it.
  std::string Take(const char* ns, const char* name, const char* host) {
    const Claimant who{kube::Time::FromUnix(100), "Deployment", {ns, name}, kube::String(std::string("uid-") + ns + "-" + name)};
    const ClaimBoard::Answer answer =
        board_.Take(who, {host, "/"},
                    {.holders = [this](const Claim&, const auto& visit) { (void)std::any_of(holders_.begin(), holders_.end(), visit); },
                     .rivals = [](const Claim&, const Claimant&, const auto&) {}});
    return answer.blocker ? answer.blocker->what : "";
  }

  const std::shared_ptr<TableTransport> transport_ = std::make_shared<TableTransport>();
  kube::Client client_ = kube::Client::FromConfig({.qps = -1}, {.transport = transport_}).value();
  ClaimBoard board_{std::nullopt};
  std::vector<Seed> seeds_;
  std::vector<ClaimBoard::Holder> holders_;
  int visits_ = 0;
};

std::string TooDeep() { return std::string(kube::kMaxDecodeDepth, '[') + std::string(kube::kMaxDecodeDepth, ']'); }
std::string TooLarge() { return R"([{"manager":"auto-expose","padding":")" + std::string(std::size_t{5} << 20, 'x') + R"("}])"; }

// The tenant's seed loses, and the seeds of all others are put on the board.
TEST_F(AutoExposeSeeds, AChildThatCannotBeReadCountsAsEdited) {
  for (const std::string& bad : {TooDeep(), TooLarge()}) {
    seeds_.clear(), holders_.clear();
    board_.Release("Deployment", {"evil", "old"});
    board_.Release("Deployment", {"shop", "web"});
    Child("evil", "old", "a.org", bad);
    Child("shop", "web", "a.org", kByAutoExpose);
    Child("other", "app", "b.org", kByAutoExpose);
    const Result<void> put = Put();
    ASSERT_TRUE(put) << put.error().ToString();
    EXPECT_TRUE(board_.Held("Deployment", {"other", "app"}));
    EXPECT_EQ(Take("evil", "old", "a.org"), "Deployment shop/web");
    EXPECT_EQ(Take("shop", "web", "a.org"), "");
  }
}

// An object beside the contested child that cannot be parsed has no effect on it.
TEST_F(AutoExposeSeeds, OnlyContestedChildrenAreRead) {
  Child("shop", "web", "a.org", kByAutoExpose);
  Child("shop", "deep", "c.org", TooDeep());
  Child("evil", "old", "a.org", kByHand);
  const Result<void> put = Put();
  ASSERT_TRUE(put) << put.error().ToString();
  EXPECT_EQ(transport_->requests, 2);
  EXPECT_EQ(Take("evil", "old", "a.org"), "Deployment shop/web");
  EXPECT_EQ(Take("shop", "web", "a.org"), "");
}

// One wildcard contests everything, and all workloads wait for the answers.
TEST_F(AutoExposeSeeds, SeveralChildrenAreReadAtATime) {
  for (int i = 0; i < 20; ++i) Child("shop", ("web" + std::to_string(i)).c_str(), "a.org", i % 2 == 0 ? kByAutoExpose : kByHand);
  Child("evil", "old", "*.org", kByHand);
  transport_->at_once = 8;
  ASSERT_TRUE(Put());
  EXPECT_TRUE(transport_->together);
  EXPECT_EQ(transport_->requests, 21);
  EXPECT_EQ(Take("evil", "old", "*.org"), "Deployment shop/web0");
}

TEST_F(AutoExposeSeeds, WhatThePolicyRefusesIsNone) {
  Settings settings;
  settings.domain = "example.com";
  const auto may = [&](const char* host, const char* path = "/", const NamespacePolicy& policy = {}) {
    const ChildOwner owner{"Deployment", {"shop", "web"}, "uid"};
    return MayHave({owner, {host, path}, kube::GvrOf<kube::networking::v1::Ingress>(), {"shop", "web"}}, settings, policy);
  };
  EXPECT_TRUE(may("web.shop.example.com"));
  EXPECT_TRUE(may("other.shop.example.com"));
  EXPECT_FALSE(may("web.bank.example.com"));
  EXPECT_FALSE(may("a.org"));
  EXPECT_TRUE(may("a.org", "/", NamespacePolicy::Of({{kube::String(kAllowHostsAnnotation), "a.org"}})));
  settings.allowed.hosts = {"*"};
  EXPECT_TRUE(may("a.org"));
  settings.host = "apps.{domain}";
  EXPECT_TRUE(may("apps.example.com", "/shop/web"));
  EXPECT_FALSE(may("apps.example.com", "/bank/web"));
}

TEST_F(AutoExposeSeeds, AServerThatCannotBeReachedIsAnError) {
  Child("shop", "web", "a.org", kByAutoExpose);
  Child("evil", "old", "a.org", kByHand);
  transport_->broken = true;
  EXPECT_FALSE(Put());
  EXPECT_FALSE(board_.Held("Deployment", {"shop", "web"}));
}

TEST_F(AutoExposeSeeds, HoldersOfOneHostAreVisitedOnceForEachNamespace) {
  for (const char* name : {"a", "b", "c"}) Child("shop", name, "a.org", kByAutoExpose);
  ASSERT_TRUE(Put());
  EXPECT_EQ(visits_, 1);
  EXPECT_EQ(transport_->requests, 0);
}

TEST_F(AutoExposeSeeds, StopsWithItsContext) {
  Child("shop", "web", "a.org", kByAutoExpose);
  auto [ctx, cancel] = kube::Context::Background().WithCancel();
  cancel.Cancel();
  EXPECT_FALSE(Put(ctx));
  EXPECT_EQ(visits_, 0);
}

}  // namespace
}  // namespace auto_expose
