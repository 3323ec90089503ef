#include "churn.h"

#include <chrono>
#include <random>
#include <utility>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "wanted.h"

namespace kube::chaos {
namespace {

using apps::v1::Deployment;
using core::v1::ConfigMap;

std::string Name(unsigned i) { return "d" + std::to_string(i); }

Deployment Make(const std::string& ns, const std::string& name, int replicas) {
  Deployment deployment;
  deployment.metadata.namespace_ = ns;
  deployment.metadata.name = name;
  deployment.metadata.labels["app"] = name;
  deployment.spec.replicas = replicas;
  meta::v1::LabelSelector selector;
  selector.match_labels["app"] = name;
  deployment.spec.selector = selector;
  deployment.spec.template_.metadata.labels["app"] = name;
  core::v1::Container container;
  container.name = "main";
  container.image = "example.com/none:1";
  deployment.spec.template_.spec.containers.push_back(container);
  return deployment;
}

}  // namespace

Churn::Churn(Client client, std::string ns, int count, unsigned seed)
    : client_(std::move(client)), ns_(std::move(ns)), count_(count), seed_(seed) {}

Result<void> Churn::Fill(const Context& ctx) {
  for (int i = 0; i < count_; ++i) {
    const Result<Deployment> made = client_.Create(ctx, Make(ns_, Name(static_cast<unsigned>(i)), 1));
    if (!made) return made.error();
  }
  return {};
}

void Churn::Run(const Context& ctx) {
  std::minstd_rand random(seed_);
  while (!ctx.stopped()) {
    const std::string name = Name(static_cast<unsigned>(random() % static_cast<unsigned>(count_)));
    const ObjectKey key{ns_, name}, child{ns_, ChildName(name)};
    const int what = static_cast<int>(random() % 100), number = static_cast<int>(random() % 1000);
    const std::string text = std::to_string(number);
    const Context call = ctx.WithTimeout(std::chrono::seconds(5));
    const auto change = [&](const std::string& patch) { return client_.Patch<Deployment>(call, key, Patch::Merge(patch)).ok(); };
    bool good = false;
    if (what < 30) {
      good = client_.Create(call, Make(ns_, name, number % 10)).ok();
    } else if (what < 37) {
      good = client_.Delete<Deployment>(call, key).ok();
    } else if (what < 40) {
      // At once again: another Deployment of the same name, whose child is still the old one's.
      good = client_.Delete<Deployment>(call, key).ok() && client_.Create(call, Make(ns_, name, number % 10)).ok();
    } else if (what < 60) {
      good = change(R"({"spec":{"replicas":)" + std::to_string(number % 10) + "}}");
    } else if (what < 72) {
      good = change(R"({"metadata":{"labels":{"round":")" + text + "\"}}}");
    } else if (what < 82) {
      good = change(number % 4 == 0 ? std::string(R"({"metadata":{"annotations":{"note":null}}})")
                                    : R"({"metadata":{"annotations":{"note":")" + text + "\"}}}");
    } else if (what < 88) {
      good = client_.Patch<ConfigMap>(call, child, Patch::Merge(R"({"data":{"replicas":"stranger )" + text + "\"}}")).ok();
    } else if (what < 92) {
      good = client_.Patch<ConfigMap>(call, child, Patch::Merge(R"({"metadata":{"labels":null,"annotations":null}})")).ok();
    } else {
      good = client_.Delete<ConfigMap>(call, child).ok();
    }
    ++(good ? successes_ : failures_);
    (void)ctx.SleepFor(std::chrono::milliseconds(5));
  }
}

}  // namespace kube::chaos
