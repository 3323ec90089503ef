// What tests of decorators share: a transport that follows a script, and logs that can be read.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/transport/transport.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {

inline HttpResponse Answer(int code, HttpHeaders headers = {}, std::string body = "") {
  HttpResponse response;
  response.code = code;
  response.http_major = 2;
  response.headers = std::move(headers);
  response.body = std::move(body);
  return response;
}

// Answers the first request with the first step and so on; the last step repeats. Records its requests.
//
// Thread safety: all functions may be called from many threads at once.
class ScriptedTransport : public Transport {
 public:
  using Step = std::function<Result<HttpResponse>(const Context&, const HttpRequest&)>;

  explicit ScriptedTransport(std::vector<Step> steps) : steps_(std::move(steps)) {}
  static std::shared_ptr<ScriptedTransport> Always(int code, HttpHeaders headers = {}, std::string body = "") {
    return std::make_shared<ScriptedTransport>(std::vector<Step>{Gives(code, std::move(headers), std::move(body))});
  }

  static Step Gives(int code, HttpHeaders headers = {}, std::string body = "") {
    return
        [code, headers = std::move(headers), body = std::move(body)](const Context&, const HttpRequest& request) -> Result<HttpResponse> {
          HttpResponse response = Answer(code, headers, body);
          if (request.streaming) response.stream = MakeBodyStream(std::exchange(response.body, {}));
          return response;
        };
  }
  static Step Fails(Error error) {
    return [error](const Context&, const HttpRequest&) -> Result<HttpResponse> { return error; };
  }
  static Step Fails(std::string_view reason) { return Fails(TransportError(reason, std::string(reason))); }

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    Step step;
    {
      MutexLock lock(mu_);
      step = steps_[std::min(sent_.size(), steps_.size() - 1)];
      sent_.push_back(request);
      times_.push_back(ctx.clock()->Now());
    }
    return step(ctx, request);
  }
  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override {
    Result<HttpResponse> response = RoundTrip(ctx, std::move(request));
    if (!response) return response.error();
    UpgradeResponse upgrade;
    upgrade.code = response->code;
    upgrade.headers = response->headers;
    upgrade.body = response->body;
    return upgrade;
  }

  std::size_t count() const {
    MutexLock lock(mu_);
    return sent_.size();
  }
  HttpRequest sent(std::size_t i = 0) const {
    MutexLock lock(mu_);
    return sent_.at(i);
  }
  // The time of each attempt, in seconds after the first one.
  std::vector<double> times() const {
    MutexLock lock(mu_);
    std::vector<double> seconds;
    for (const Clock::TimePoint t : times_) seconds.push_back(std::chrono::duration<double>(t - times_.front()).count());
    return seconds;
  }

 private:
  const std::vector<Step> steps_;
  mutable Mutex mu_;
  std::vector<HttpRequest> sent_ KUBE_GUARDED_BY(mu_);
  std::vector<Clock::TimePoint> times_ KUBE_GUARDED_BY(mu_);
};

// Captures log lines.
class CapturedLog {
 public:
  explicit CapturedLog(int verbosity) : lines_(std::make_shared<Lines>()) {
    backend_ = std::make_shared<LogBackend>(MakeTextSink([lines = lines_](std::string_view line) {
                                              MutexLock lock(lines->mu);
                                              lines->all.emplace_back(line);
                                            }),
                                            LogSettings{.everything = {.verbosity = verbosity}});
  }
  Logger logger() const { return Logger("test", backend_); }
  std::vector<std::string> lines() const {
    MutexLock lock(lines_->mu);
    return lines_->all;
  }
  std::string text() const {
    std::string all;
    for (const std::string& line : lines()) all += line;
    return all;
  }

 private:
  struct Lines {
    Mutex mu;
    std::vector<std::string> all KUBE_GUARDED_BY(mu);
  };
  std::shared_ptr<Lines> lines_;
  std::shared_ptr<LogBackend> backend_;
};

// Calls `call` and advances the clock to the next timer whenever the call waits. `others`: the number of timers that always exist, such as
// the deadline of a context.
template <typename T>
T RunThroughTime(FakeClock& clock, std::function<T()> call, std::size_t others = 0) {
  std::optional<T> result;
  std::atomic<bool> done = false;
  Thread thread("call", [&] {
    result.emplace(call());
    done = true;
  });
  while (!done) {
    if (clock.WaitForWaiters(others + 1, std::chrono::milliseconds(2))) clock.AdvanceToNextTimer();
  }
  thread.Join();
  return *std::move(result);
}

}  // namespace kube::internal
