// WithLogging: logs requests and answers, to find faults.
#include <chrono>
#include <limits>
#include <utility>

#include "kube/transport/decorators.h"
#include "transport/redaction.h"

namespace kube {
namespace {

// The most talkative level that is wanted, as far as it matters here; 0 if it is none of ours.
int LevelOf(const Logger& logger) {
  for (int level = 10; level >= 6; --level) {
    if (logger.V(level)) return level;
  }
  return 0;
}

std::size_t BodyLimit(int level) {
  if (level >= 10) return std::numeric_limits<std::size_t>::max();
  return level == 9 ? 10 * 1024 : 1024;
}

class LoggingTransport : public Transport {
 public:
  LoggingTransport(std::shared_ptr<Transport> next, Logger logger) : next_(std::move(next)), logger_(std::move(logger)) {}

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (!logger_.V(6)) return next_->RoundTrip(ctx, std::move(request));
    const Exchange exchange = Begin(ctx, request);
    Result<HttpResponse> response = next_->RoundTrip(ctx, std::move(request));
    if (!response) {
      Failed(ctx, exchange, response.error());
      return response;
    }
    Answered(ctx, exchange, response->code, response->headers, response->stream == nullptr ? &response->body : nullptr);
    return response;
  }

  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override {
    if (!logger_.V(6)) return next_->Upgrade(ctx, std::move(request));
    const Exchange exchange = Begin(ctx, request);
    Result<UpgradeResponse> response = next_->Upgrade(ctx, std::move(request));
    if (!response) {
      Failed(ctx, exchange, response.error());
      return response;
    }
    Answered(ctx, exchange, response->code, response->headers, response->connection == nullptr ? &response->body : nullptr);
    return response;
  }

 private:
  struct Exchange {
    int level = 0;
    std::string method;
    std::string target;
    bool secret = false;
    Clock::TimePoint start;
  };

  Exchange Begin(const Context& ctx, const HttpRequest& request) const {
    Exchange exchange{LevelOf(logger_), request.method, internal::MaskTarget(request.target), internal::IsSecretTarget(request.target),
                      ctx.clock()->Now()};
    if (exchange.level >= 7) {
      logger_.V(7).Info("Request",
                        {{"method", exchange.method}, {"url", exchange.target}, {"headers", internal::MaskHeaders(request.headers)}});
    }
    if (exchange.level >= 8 && !request.body.empty()) {
      logger_.V(8).Info("Request body", {{"body", internal::ShowBody(request.body, exchange.secret, BodyLimit(exchange.level))}});
    }
    return exchange;
  }

  void Failed(const Context& ctx, const Exchange& exchange, const Error& error) const {
    logger_.V(6).Info(
        "No response",
        {{"method", exchange.method}, {"url", exchange.target}, {"err", error}, {"duration", ctx.clock()->Now() - exchange.start}});
  }

  void Answered(const Context& ctx, const Exchange& exchange, int code, const HttpHeaders& headers, const std::string* body) const {
    logger_.V(6).Info(
        "Response",
        {{"method", exchange.method}, {"url", exchange.target}, {"status", code}, {"duration", ctx.clock()->Now() - exchange.start}});
    if (exchange.level < 8) return;
    logger_.V(8).Info("Response headers", {{"headers", internal::MaskHeaders(headers)}});
    if (body != nullptr && !body->empty()) {
      logger_.V(8).Info("Response body", {{"body", internal::ShowBody(*body, exchange.secret, BodyLimit(exchange.level))}});
    }
  }

  const std::shared_ptr<Transport> next_;
  const Logger logger_;
};

}  // namespace

std::shared_ptr<Transport> WithLogging(std::shared_ptr<Transport> next, Logger logger) {
  return std::make_shared<LoggingTransport>(std::move(next), std::move(logger));
}

}  // namespace kube
