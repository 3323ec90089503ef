// pods/log, exec, attach and portforward: from the HTTP request to the handlers that a test registered.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "apiserver/core.h"
#include "kube/apiserver/pod_handlers.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/serve/http_server.h"

namespace kube::apiserver {

// Each session has a thread, which ends with it. Destroying this ends all sessions.
class PodEndpoints {
 public:
  explicit PodEndpoints(ApiCore& core);
  ~PodEndpoints();

  void SetHandlers(PodHandlers handlers);
  bool Handles(std::string_view subresource) const;
  void Handle(const std::shared_ptr<serve::HttpExchange>& exchange, const Call& call);
  // Ends all sessions and waits for their threads.
  void Stop();

 private:
  using Exchange = std::shared_ptr<serve::HttpExchange>;
  struct Session {
    Thread thread;
    bool done = false;
  };

  PodEndpoints(ApiCore& core, std::pair<Context, CancelSource> context);
  void Log(const Exchange& exchange, const Call& call, const std::string& container);
  void Command(const Exchange& exchange, const Call& call, const std::string& container);
  void PortForward(const Exchange& exchange, const Call& call);
  void Spawn(std::string name, std::function<void(const Context&)> body);
  PodHandlers handlers() const;

  ApiCore& core_;
  Context context_;
  CancelSource cancel_;
  mutable Mutex mu_;
  PodHandlers handlers_ KUBE_GUARDED_BY(mu_);
  std::list<std::shared_ptr<Session>> sessions_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::apiserver
