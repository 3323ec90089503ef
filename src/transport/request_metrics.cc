// WithMetrics: counts requests and their answers.
#include <string>
#include <utility>

#include "kube/transport/decorators.h"

namespace kube {
namespace {

class MetricsTransport : public Transport {
 public:
  MetricsTransport(std::shared_ptr<Transport> next, std::shared_ptr<MetricsSink> sink, std::string host)
      : next_(std::move(next)), sink_(std::move(sink)), host_(std::move(host)) {}

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    const std::string method = request.method;
    const bool streaming = request.streaming;
    if (!streaming) {
      sink_->Observe("rest_client_request_size_bytes", {{"verb", method}, {"host", host_}}, static_cast<double>(request.body.size()));
    }
    Result<HttpResponse> response = next_->RoundTrip(ctx, std::move(request));
    Count(method, response ? response->code : 0);
    if (response && !streaming) {
      sink_->Observe("rest_client_response_size_bytes", {{"verb", method}, {"host", host_}}, static_cast<double>(response->body.size()));
    }
    return response;
  }
  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override {
    const std::string method = request.method;
    Result<UpgradeResponse> response = next_->Upgrade(ctx, std::move(request));
    Count(method, response ? response->code : 0);
    return response;
  }

 private:
  void Count(std::string_view method, int code) const {
    const std::string text = code == 0 ? "<error>" : std::to_string(code);
    sink_->Add("rest_client_requests_total", {{"code", text}, {"method", method}, {"host", host_}});
  }

  const std::shared_ptr<Transport> next_;
  const std::shared_ptr<MetricsSink> sink_;
  const std::string host_;
};

}  // namespace

std::shared_ptr<Transport> WithMetrics(std::shared_ptr<Transport> next, std::shared_ptr<MetricsSink> sink, std::string host) {
  if (sink == nullptr) return next;
  return std::make_shared<MetricsTransport>(std::move(next), std::move(sink), std::move(host));
}

}  // namespace kube
