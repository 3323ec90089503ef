// A Transport that answers from a script and records its requests.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/transport/transport.h"

namespace kube::internal {

// Thread safety: all functions may be called from many threads at once.
class ScriptedTransport : public Transport {
 public:
  using Handler = std::function<Result<HttpResponse>(const HttpRequest&)>;

  // Adds the next response. Without responses left, the code is 500.
  void Answer(Handler handler) {
    MutexLock lock(mu_);
    script_.push_back(std::move(handler));
  }
  void Answer(int code, std::string body, std::string content_type = "application/json", HttpHeaders headers = {}) {
    Answer([=](const HttpRequest& request) -> Result<HttpResponse> {
      HttpResponse response;
      response.code = code;
      response.headers = headers;
      response.headers.Add("Content-Type", content_type);
      if (request.streaming) {
        response.stream = MakeBodyStream(body);
      } else {
        response.body = body;
      }
      return response;
    });
  }
  void Fail(Error error) {
    Answer([error](const HttpRequest&) -> Result<HttpResponse> { return error; });
  }
  // Used for requests that the script does not cover.
  void SetDefault(Handler handler) {
    MutexLock lock(mu_);
    default_ = std::move(handler);
  }

  std::vector<HttpRequest> requests() const {
    MutexLock lock(mu_);
    return requests_;
  }
  HttpRequest last() const {
    MutexLock lock(mu_);
    return requests_.empty() ? HttpRequest() : requests_.back();
  }

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (Result<void> go = ctx.Check(); !go) return go.error();
    Handler handler;
    {
      MutexLock lock(mu_);
      requests_.push_back(request);
      if (!script_.empty()) {
        handler = std::move(script_.front());
        script_.pop_front();
      } else {
        handler = default_;
      }
    }
    if (!handler) return Error::Internal("the script has no answer for " + request.method + " " + request.target);
    return handler(request);
  }

 private:
  mutable Mutex mu_;
  std::deque<Handler> script_ KUBE_GUARDED_BY(mu_);
  Handler default_ KUBE_GUARDED_BY(mu_);
  std::vector<HttpRequest> requests_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
