// Protects /metrics, like controller-runtime's filter: checks the bearer token of a request (TokenReview), and that its user may use the
// method on the path (SubjectAccessReview).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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
#include "kube/control/manager.h"
#include "kube/serve/http_server.h"

namespace kube::internal {

struct RequestGuardOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);  // of both reviews
  std::chrono::nanoseconds known_token = std::chrono::minutes(1);
  std::chrono::nanoseconds unknown_token = std::chrono::seconds(10);
  std::chrono::nanoseconds allowed = std::chrono::minutes(5);
  std::chrono::nanoseconds refused = std::chrono::seconds(30);
  MetricsReviewLimits limits{};
  std::shared_ptr<Clock> clock = Clock::Real();
};

// Thread safety: all functions may be called from any thread.
// Lifetime: the destructor ends running reviews; waiting requests get a 503.
// Cost: one thread, and two requests to the API server for what is not cached. They have their own rate limit, as large as the client's.
// Abuse: users and refusals are cached separately, so that made-up tokens displace no user. Peers take turns. Each may have a few waiting
// requests, and cause a few refused reviews per second. A token that was valid recently goes first. Among the requests of one peer, which
// may be many clients behind one address, those of connections that had a request allowed go first, then those with the fewest refusals: a
// client that makes up tokens waits behind all others.
class RequestGuard {
 public:
  // Serves an allowed request.
  using Handler = std::function<void(const std::shared_ptr<serve::HttpExchange>&)>;

  RequestGuard(Client client, RequestGuardOptions options = {});
  ~RequestGuard();
  RequestGuard(const RequestGuard&) = delete;
  RequestGuard& operator=(const RequestGuard&) = delete;

  // Does not block: if a review is needed, `handler` is called later, on another thread. Refusals are answered here.
  void Serve(const std::shared_ptr<serve::HttpExchange>& exchange, Handler handler);
  // Requests that wait for a review, for tests.
  std::size_t waiting();

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
    std::string peer;
    std::shared_ptr<std::atomic<bool>> gone;  // set when the client has disconnected
    std::string connection{};
    std::size_t rank = 0;  // within the peer; lower ranks go first
    bool charged = false;  // counted against the peer's allowance
  };
  // The record of a connection's requests.
  struct Record {
    bool allowed = false;  // the last reviewed request was allowed
    std::size_t refusals = 0;
  };
  // How many new reviews a peer may cause now.
  struct Allowance {
    double left = 0;
    Clock::TimePoint since{};
  };

  void Work();
  // Empty if the request may wait; otherwise the refusal.
  std::optional<serve::HttpResponse> Enqueue(Waiting request, bool was_known) KUBE_REQUIRES(mu_);
  // The peer's allowance, as of now.
  Allowance& AllowanceOf(const std::string& peer) KUBE_REQUIRES(mu_);
  // Requests of a peer without allowance stay, unless `all`.
  std::optional<Waiting> Next(bool all = false) KUBE_REQUIRES(mu_);
  // When a waiting peer has an allowance again.
  std::chrono::nanoseconds UntilNext() KUBE_REQUIRES(mu_);
  // Records the outcome of this request's review.
  void Reviewed(const Waiting& request, bool allowed);
  void Decide(const Waiting& request);
  // nullopt if a review is needed.
  std::optional<User> RememberedUser(const std::string& token);
  // The user was allowed something.
  void Promote(const std::string& token, const User& user);
  std::optional<bool> RememberedAccess(const std::string& what);
  Result<User> AskUser(const Context& ctx, const std::string& token);
  Result<bool> AskAccess(const Context& ctx, const User& user, const serve::HttpRequest& request, const std::string& what);

  const Client client_;
  const RequestGuardOptions options_;
  Context stopping_;
  CancelSource stop_;
  Mutex mu_;
  CondVar changed_;
  std::deque<Waiting> first_ KUBE_GUARDED_BY(mu_);  // with tokens that were valid recently
  std::map<std::string, std::deque<Waiting>> waiting_ KUBE_GUARDED_BY(mu_);
  std::size_t waiting_count_ KUBE_GUARDED_BY(mu_) = 0;  // in both
  std::uint64_t arrivals_ KUBE_GUARDED_BY(mu_) = 0;
  std::string last_peer_ KUBE_GUARDED_BY(mu_);  // the last peer that had a turn
  // Expired entries stay: they show that a token was valid once.
  LruMap<User> users_ KUBE_GUARDED_BY(mu_);  // users with an allowed request
  // Users without an allowed request so far. Every pod has a user's token, and tenants can create more of them.
  LruMap<User> powerless_ KUBE_GUARDED_BY(mu_);
  LruMap<User> strangers_ KUBE_GUARDED_BY(mu_);
  LruMap<Access> allowed_ KUBE_GUARDED_BY(mu_);
  LruMap<Access> refused_ KUBE_GUARDED_BY(mu_);
  LruMap<Allowance> allowances_ KUBE_GUARDED_BY(mu_);
  LruMap<Record> connections_ KUBE_GUARDED_BY(mu_);
  Thread thread_;
};

}  // namespace kube::internal
