// Deployments that are created, changed and deleted, and other clients that meddle with their children.
#pragma once

#include <atomic>
#include <string>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"

namespace kube::chaos {

class Churn {
 public:
  // `count` names. The same seed makes the same sequence of attempts; which of them succeed depends on what the server does meanwhile.
  Churn(Client client, std::string ns, int count, unsigned seed);

  // Makes all Deployments.
  Result<void> Fill(const Context& ctx);
  // Until `ctx` stops.
  void Run(const Context& ctx);

  int successes() const { return successes_; }
  int failures() const { return failures_; }

 private:
  const Client client_;
  const std::string ns_;
  const int count_;
  const unsigned seed_;
  std::atomic<int> successes_ = 0, failures_ = 0;
};

}  // namespace kube::chaos
