// Who may read /metrics: the bearer token of a request is shown to the API server (TokenReview), and the user behind it has to be allowed
// the method on the path (SubjectAccessReview), as with controller-runtime's filter.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/lru_map.h"
#include "kube/api/authentication/v1.h"
#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/serve/http_server.h"

namespace kube::internal {

struct RequestGuardOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);  // of both reviews
  std::chrono::nanoseconds known_token = std::chrono::minutes(1);
  std::chrono::nanoseconds unknown_token = std::chrono::seconds(10);
  std::chrono::nanoseconds allowed = std::chrono::minutes(5);
  std::chrono::nanoseconds refused = std::chrono::seconds(30);
  std::size_t cache_size = 1000;   // answers of each sort that are remembered
  std::size_t most_waiting = 100;  // requests; more get a 503
  std::shared_ptr<Clock> clock = Clock::Real();
};

// Thread safety: all functions from any thread.
// Lifetime: the destructor ends reviews that run; requests that wait get a 503.
// Cost: one thread, and two requests to the server for what is not remembered.
class RequestGuard {
 public:
  // Answers a request that may be answered.
  using Handler = std::function<void(const std::shared_ptr<serve::HttpExchange>&)>;

  RequestGuard(Client client, RequestGuardOptions options = {});
  ~RequestGuard();
  RequestGuard(const RequestGuard&) = delete;
  RequestGuard& operator=(const RequestGuard&) = delete;

  // Does not block: where the server has to be asked, `handler` is called later, on another thread. Refusals are answered here.
  void Serve(const std::shared_ptr<serve::HttpExchange>& exchange, Handler handler);

 private:
  struct User {
    bool known = false;
    authentication::v1::UserInfo info{};
    Clock::TimePoint until{};
  };
  struct Access {
    bool allowed = false;
    Clock::TimePoint until{};
  };
  struct Waiting {
    std::shared_ptr<serve::HttpExchange> exchange;
    Handler handler;
    std::string token;
  };

  void Work();
  void Decide(const Waiting& request);
  // Nothing: the server has to be asked.
  std::optional<User> RememberedUser(const std::string& token);
  std::optional<bool> RememberedAccess(const std::string& what);
  Result<User> AskUser(const Context& ctx, const std::string& token);
  Result<bool> AskAccess(const Context& ctx, const User& user, const serve::HttpRequest& request, const std::string& what);

  const Client client_;
  const RequestGuardOptions options_;
  Context stopping_;
  CancelSource stop_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Waiting> waiting_ KUBE_GUARDED_BY(mu_);
  LruMap<User> users_ KUBE_GUARDED_BY(mu_);
  LruMap<Access> accesses_ KUBE_GUARDED_BY(mu_);
  Thread thread_;
};

}  // namespace kube::internal
