// Router: from an HTTP request to a verb, and from its result to an HTTP answer.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apiserver/core.h"
#include "apiserver/encoder.h"
#include "apiserver/faults.h"
#include "apiserver/pod_endpoints.h"
#include "apiserver/subresources.h"
#include "apiserver/tokens.h"
#include "kube/base/metrics_registry.h"
#include "kube/serve/http_server.h"

namespace kube::apiserver {

// What the admin endpoint may do to the server itself.
struct AdminActions {
  std::function<void()> compact;
  std::function<void(bool keep_state)> restart;
  std::function<void(std::chrono::seconds)> set_skew;
  std::function<bool()> wait_idle;
};

// Thread safety: Handle may be called from any thread.
class Router {
 public:
  // `insecure`: a client without credentials is the administrator.
  Router(ApiCore& core, Tokens& tokens, Faults& faults, PodEndpoints& pods, AdminActions admin, bool insecure = false);
  ~Router();

  void Handle(const std::shared_ptr<serve::HttpExchange>& exchange);
  // Drops requests that wait for a delay.
  void CancelDelayed();

 private:
  using Exchange = std::shared_ptr<serve::HttpExchange>;

  Result<User> Authenticate(const serve::HttpRequest& request) const;
  // Returns true if the fault answers or drops the request.
  bool Inject(const Exchange& exchange, const Fault& fault, int fault_id, std::chrono::milliseconds& delay);
  void HandleAdmitted(const Exchange& exchange, const RequestPath& path, const User& user);
  void HandleResource(const Exchange& exchange, const RequestPath& path, Query query, const User& user);
  void Dispatch(const Exchange& exchange, Call call, const std::string& verb);
  // Whether a webhook may have to be called: not on a thread that does I/O.
  bool MayWait(const Call& call, const std::string& verb) const;
  void DispatchLater(const Exchange& exchange, Call call, const std::string& verb);
  void Serve(const Exchange& exchange, Call call, const std::string& verb);
  Result<Answer> Run(Call& call, const std::string& verb);
  Result<Answer> RunSubresource(Call& call, const std::string& verb);
  void HandleOther(const Exchange& exchange, const RequestPath& path, const Query& query);
  // Returns false if nothing is served at this path.
  bool HandleOpenApi(const Exchange& exchange, const std::vector<std::string>& p, const std::shared_ptr<const Resources>& resources);
  bool HandleFaults(const Exchange& exchange, const RequestPath& path);
  void HandleAdmin(const Exchange& exchange, const RequestPath& path, const Query& query, const User& user);
  void Later(std::chrono::milliseconds delay, std::function<void()> then);

  // Documents that depend on the set of resources only: made once per set.
  std::shared_ptr<const std::string> Document(const std::shared_ptr<const Resources>& resources, const std::string& key,
                                              const std::function<std::string()>& make);

  // One request of a resource, for /metrics.
  void Count(const Call& call, const std::string& verb, int code);

  MetricsRegistry metrics_;
  ApiCore& core_;
  Tokens& tokens_;
  Faults& faults_;
  PodEndpoints& pods_;
  AdminActions admin_;
  const bool insecure_;
  Mutex mu_;
  std::list<Timer> delayed_ KUBE_GUARDED_BY(mu_);
  std::shared_ptr<const Resources> documented_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<const std::string>> documents_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::apiserver
