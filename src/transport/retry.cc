// WithRetry: retries requests if that is safe, and observes the rate limit.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "kube/transport/decorators.h"
#include "kube/transport/transport_errors.h"
#include "transport/request_budget.h"
#include "transport/text.h"
#include "transport/throttled_log.h"
#include "transport/url_backoff.h"

namespace kube {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

enum class Mode { kWhole, kWatch, kStream };

Mode ModeOf(const HttpRequest& request) {
  if (!request.streaming) return Mode::kWhole;
  return request.verb == "watch" ? Mode::kWatch : Mode::kStream;
}

// Whether the same request may well succeed in a moment, and doing it twice does no harm.
bool IsRetryable(const Error& error, Mode mode, std::string_view method) {
  switch (mode) {
    case Mode::kWhole:
      return method == "GET" && IsProbableEof(error);
    case Mode::kWatch:
      return IsProbableEof(error) || error.kind() == ErrorKind::kTimeout;
    case Mode::kStream:
      return false;
  }
  return false;
}

// What the server asked for; nothing if it did not ask, or asked with a date.
std::optional<Nanoseconds> RetryAfter(const HttpResponse& response) {
  if (response.code != 429 && response.code < 500) return std::nullopt;
  const std::optional<std::int64_t> seconds = internal::ParseWhole(response.headers.Get("Retry-After"));
  if (!seconds) return std::nullopt;
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600;  // more would overflow
  return std::chrono::seconds(std::clamp<std::int64_t>(*seconds, 0, kYear));
}

// Discards an answer. Reading the rest of a short one lets its connection be reused; a long one is cheaper to end.
// `pause`: how much time there is for that.
void Discard(const Context& ctx, Nanoseconds pause, HttpResponse& response) {
  if (response.stream == nullptr) return;
  constexpr std::int64_t kMost = 2048;
  const std::optional<std::int64_t> length = internal::ParseWhole(response.headers.Get("Content-Length"));
  if (length.value_or(0) <= kMost) {
    // A server that asks to be left alone and then does not finish its answer must not hold us up.
    const Context soon = ctx.WithTimeout(pause > Nanoseconds::zero() ? pause : std::chrono::seconds(1));
    (void)ReadAll(soon, *response.stream, kMost);
  }
  response.stream->Close();
}

class RetryTransport : public Transport {
 public:
  RetryTransport(std::shared_ptr<Transport> next, RetryOptions options)
      : next_(std::move(next)), options_(std::move(options)), backoff_(options_.url_backoff) {}

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    const Mode mode = ModeOf(request);
    if (mode != Mode::kWhole || options_.metrics == nullptr) return Attempts(ctx, mode, std::move(request));
    const std::string method = request.method;
    const Clock::TimePoint start = ctx.clock()->Now();
    Result<HttpResponse> response = Attempts(ctx, mode, std::move(request));
    options_.metrics->Observe("rest_client_request_duration_seconds", {{"verb", method}, {"host", options_.host}},
                              std::chrono::duration<double>(ctx.clock()->Now() - start).count());
    return response;
  }

  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override { return next_->Upgrade(ctx, std::move(request)); }

 private:
  // Why and when the next attempt is made.
  struct Next {
    Nanoseconds wait{};
    std::string why;
  };

  Result<HttpResponse> Attempts(const Context& outer, Mode mode, HttpRequest request) {
    // A list that waits for its turn must not keep a watch from being opened again, but a watch that fails over and over must wait, too.
    if (mode != Mode::kWatch) {
      if (Result<void> go = Throttle(outer, request, "the client's own rate limit, not the server's"); !go) return go.error();
    }
    const bool limited = mode == Mode::kWhole && request.timeout > Nanoseconds::zero();
    const Context ctx = limited ? outer.WithTimeout(request.timeout) : outer;
    if (Result<void> slept = Sleep(ctx, backoff_.Delay()); !slept) return slept.error();

    const std::string method = request.method;
    std::optional<Error> previous;
    for (int attempt = 1;; ++attempt) {
      // The request is kept for the next attempt; the last one possible can have it.
      Result<HttpResponse> response = next_->RoundTrip(ctx, attempt > options_.max_retries ? std::move(request) : request);
      Count(ctx, method, attempt, response);
      const std::optional<Next> next = NextAttempt(ctx, mode, method, attempt, response);
      if (!next) return response ? std::move(response) : WithPrevious(response.error(), previous);

      previous = response ? Error(Error::Payload{.kind = ErrorKind::kApi,
                                                 .http_code = response->code,
                                                 .message = fmt::format("the server answered {} and asked to wait", response->code)})
                          : response.error();
      const Nanoseconds pause = std::max(next->wait, backoff_.Delay());
      const Clock::TimePoint resume = ctx.clock()->Later(pause);
      if (response) Discard(ctx, pause, *response);
      options_.logger.V(4).Info("Trying again", {{"method", method}, {"target", request.target}, {"reason", next->why}});
      if (Result<void> slept = Sleep(ctx, resume - ctx.clock()->Now()); !slept) return WithPrevious(slept.error(), previous);
      if (Result<void> go = Throttle(ctx, request, next->why); !go) return WithPrevious(go.error(), previous);
    }
  }

  std::optional<Next> NextAttempt(const Context& ctx, Mode mode, std::string_view method, int attempt,
                                  const Result<HttpResponse>& response) const {
    if (attempt > options_.max_retries) return std::nullopt;
    if (!response) {
      // A deadline of the caller looks like one of the connection.
      if (ctx.stopped() || !IsRetryable(response.error(), mode, method)) return std::nullopt;
      return Next{options_.connection_delay, fmt::format("attempt {} failed: {}", attempt, response.error().ToString())};
    }
    const std::optional<Nanoseconds> wait = RetryAfter(*response);
    if (!wait) return std::nullopt;
    std::string why = fmt::format("attempt {} was answered {}, retry after {} s", attempt, response->code,
                                  std::chrono::duration_cast<std::chrono::seconds>(*wait).count());
    if (response->code == 429) {
      why += fmt::format(" (limited by the server, flow schema \"{}\")", response->headers.Get("X-Kubernetes-PF-FlowSchema-UID"));
    }
    return Next{*wait, std::move(why)};
  }

  static Result<void> Sleep(const Context& ctx, Nanoseconds time) {
    if (time <= Nanoseconds::zero()) return ctx.Check();
    return ctx.SleepFor(time);
  }

  Result<void> Throttle(const Context& ctx, const HttpRequest& request, std::string_view why) {
    const std::shared_ptr<internal::RequestBudget> budget = ctx.Value<internal::RequestBudget>();
    RateLimiter* const limiter = budget != nullptr            ? budget->limiter.get()
                                 : request.limiter != nullptr ? request.limiter.get()
                                                              : options_.limiter.get();
    if (limiter == nullptr) return {};
    const Clock::TimePoint start = ctx.clock()->Now();
    const Result<void> go = limiter->Wait(ctx);
    const Clock::TimePoint now = ctx.clock()->Now();
    const Nanoseconds waited = now - start;
    if (waited > std::chrono::milliseconds(50)) {
      constexpr std::string_view kMessage = "Waited before sending a request";
      const auto log = [&](int verbosity) {
        options_.logger.V(verbosity).Info(kMessage,
                                          {{"delay", waited}, {"reason", why}, {"method", request.method}, {"target", request.target}});
      };
      log(3);
      if (waited > std::chrono::seconds(1)) {
        if (const std::optional<int> verbosity = throttled_log_.Allow(options_.logger, now)) log(*verbosity);
      }
    }
    if (options_.metrics != nullptr) {
      options_.metrics->Observe("rest_client_rate_limiter_duration_seconds", {{"verb", request.method}, {"host", options_.host}},
                                std::chrono::duration<double>(waited).count());
    }
    if (!go) return go.error().WithContext("wait for the client's rate limit");
    return {};
  }

  void Count(const Context& ctx, std::string_view method, int attempt, const Result<HttpResponse>& response) {
    const int code = response ? response->code : 0;
    if (attempt > 1 && options_.metrics != nullptr) {
      const std::string text = code == 0 ? "<error>" : std::to_string(code);
      options_.metrics->Add("rest_client_request_retries_total", {{"code", text}, {"verb", method}, {"host", options_.host}});
    }
    backoff_.Update(code, ctx.clock()->Now());
  }

  // A deadline alone says little about what was wrong all the time before it.
  static Error WithPrevious(const Error& last, const std::optional<Error>& previous) {
    if (!previous || previous->ToString() == last.ToString()) return last;
    return last.WithContext(fmt::format("tried again after: {}", previous->ToString()));
  }

  const std::shared_ptr<Transport> next_;
  const RetryOptions options_;
  internal::UrlBackoffState backoff_;
  internal::ThrottledLog throttled_log_;
};

}  // namespace

std::shared_ptr<Transport> WithRetry(std::shared_ptr<Transport> next, RetryOptions options) {
  return std::make_shared<RetryTransport>(std::move(next), std::move(options));
}

}  // namespace kube
