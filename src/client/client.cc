#include "kube/client/client.h"

#include <utility>

#include "client/client_core.h"
#include "kube/base/log.h"
#include "kube/client/status_error.h"
#include "kube/config/credentials.h"
#include "kube/config/load.h"
#include "kube/transport/decorators.h"
#include "kube/transport/http_transport.h"
#include "kube/transport/rate_limiter.h"

namespace kube {
namespace {

constexpr double kDefaultQps = 5;
constexpr int kDefaultBurst = 10;
constexpr int kDiscoveryBurst = 300;  // old servers are asked for each group-version

// "https://10.0.0.1:6443/prefix" -> "10.0.0.1:6443": the label of metrics.
std::string HostOf(const std::string& url) {
  const std::size_t begin = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  return url.substr(begin, url.find('/', begin) - begin);
}

// A token issuer of OIDC: another server than the client's, asked rarely, so a connection of its own each time.
Result<OidcResponse> AskIssuer(const Context& ctx, const OidcRequest& asked) {
  ClientConfig config;
  config.tls.ca_data = asked.ca_pem;
  const std::size_t path = asked.url.find('/', asked.url.find("://") + 3);
  HttpTransportOptions options{.base_url = asked.url.substr(0, path)};
  Result<std::shared_ptr<TlsSource>> tls = MakeTlsSource(config, nullptr);
  if (!tls) return tls.error();
  options.tls = *std::move(tls);
  const Result<std::shared_ptr<HttpTransport>> transport = MakeHttpTransport(std::move(options));
  if (!transport) return transport.error();
  HttpRequest request;
  request.target = path == std::string::npos ? "/" : asked.url.substr(path);
  request.headers.Add("Accept", "application/json");
  if (!asked.authorization.empty()) request.headers.Add("Authorization", asked.authorization.reveal());
  if (!asked.form.empty()) {
    request.method = "POST";
    request.headers.Add("Content-Type", "application/x-www-form-urlencoded");
    request.body = asked.form.reveal();
  }
  Result<HttpResponse> response = (*transport)->RoundTrip(ctx, std::move(request));
  if (!response) return response.error();
  return OidcResponse{.code = response->code, .body = std::move(response->body)};
}

Result<std::shared_ptr<RateLimiter>> LimiterFor(const ClientConfig& config, const ClientOptions& options,
                                                const std::shared_ptr<Clock>& clock) {
  if (options.rate_limiter != nullptr) return options.rate_limiter;
  if (config.qps < 0) return std::shared_ptr<RateLimiter>();
  const double qps = config.qps == 0 ? kDefaultQps : config.qps;
  const int burst = config.burst == 0 && config.qps == 0 ? kDefaultBurst : config.burst;
  if (burst <= 0) return Error(ErrorKind::kConfig, "a client with qps > 0 needs a burst > 0: set ClientConfig::burst");
  return MakeTokenBucket(qps, burst, clock);
}

}  // namespace

Client::~Client() = default;

Result<Client> Client::FromEnvironment(ClientOptions options) {
  Result<ClientConfig> config = LoadConfig();
  if (!config) return config.error();
  return FromConfig(*config, std::move(options));
}

Result<Client> Client::FromConfig(const ClientConfig& config, ClientOptions options) {
  if (Result<void> valid = config.Validate(); !valid) return valid.error();
  auto core = std::make_shared<ClientCore>();
  core->config = config;
  core->ns = config.ns.empty() ? "default" : config.ns;
  core->clock = options.clock != nullptr ? options.clock : Clock::Real();
  const Result<std::string> base_url = config.BaseUrl();
  if (!base_url) return base_url.error();
  const std::string& url = *base_url;
  const std::string host = HostOf(url);

  std::shared_ptr<Transport> transport = options.transport;
  Result<std::shared_ptr<CredentialSource>> credentials =
      MakeCredentials(config, core->clock, {.metrics = options.metrics, .oidc_http = AskIssuer});
  if (!credentials) return credentials.error();
  if (transport == nullptr) {
    HttpTransportOptions http{.base_url = url, .proxy_url = config.proxy_url};
    http.disable_http2 = config.disable_http2;
    http.disable_compression = !config.compression || config.disable_compression;
    if (url.starts_with("https://")) {
      Result<std::shared_ptr<TlsSource>> tls = MakeTlsSource(config, *credentials, core->clock, options.metrics);
      if (!tls) return tls.error();
      http.tls = *std::move(tls);
    }
    Result<std::shared_ptr<HttpTransport>> connection = MakeHttpTransport(std::move(http));
    if (!connection) return connection.error();
    core->connection = *connection;
    transport = *std::move(connection);
  }
  if (options.wrap_transport) transport = options.wrap_transport(std::move(transport));
  if (transport == nullptr) return Error(ErrorKind::kConfig, "ClientOptions::wrap_transport gave no transport");

  static const Logger logger("client");
  transport = WithWritePermits(std::move(transport));
  transport = WithLogging(std::move(transport), logger);
  transport = WithAuth(std::move(transport), *std::move(credentials));
  transport = WithUserAgent(std::move(transport), config.user_agent.empty() ? DefaultUserAgent() : config.user_agent);
  if (!config.impersonate.empty()) transport = WithImpersonation(std::move(transport), config.impersonate);
  transport = WithWarnings(std::move(transport), options.warning_handler ? WarningHandler(options.warning_handler) : LogWarnings());
  if (options.metrics != nullptr) transport = WithMetrics(std::move(transport), options.metrics, host);
  Result<std::shared_ptr<RateLimiter>> limiter = LimiterFor(config, options, core->clock);
  if (!limiter) return limiter.error();
  if (options.rate_limiter == nullptr && config.qps >= 0 && config.burst == 0) {
    core->discovery_limiter = MakeTokenBucket(config.qps == 0 ? kDefaultQps : config.qps, kDiscoveryBurst, core->clock);
  }
  RetryOptions retry;
  retry.max_retries = options.max_retries;
  retry.url_backoff = UrlBackoffFromEnvironment();
  retry.limiter = *std::move(limiter);
  retry.metrics = options.metrics;
  retry.host = host;
  core->transport = WithRetry(std::move(transport), std::move(retry));
  return Client(std::move(core));
}

const ClientConfig& Client::config() const { return core_->config; }
const std::string& Client::default_namespace() const { return core_->ns; }
const std::shared_ptr<Transport>& Client::transport() const { return core_->transport; }

TransportStats Client::transport_stats() const { return core_->connection == nullptr ? TransportStats() : core_->connection->stats(); }

Result<HttpResponse> Client::Raw(const Context& ctx, HttpRequest request) const {
  const std::string what = request.method + " " + request.target.substr(0, request.target.find('?'));
  return core_->Send(ctx, std::move(request), what);
}

Result<HttpResponse> ClientCore::Send(const Context& ctx, HttpRequest request, const std::string& what) const {
  if (!request.streaming) request.timeout = config.timeout;
  // What the answer is judged by; the body is not needed for that.
  const HttpRequest asked{.method = request.method, .target = request.target, .verb = request.verb};
  Result<HttpResponse> response = transport->RoundTrip(ctx, std::move(request));
  if (!response) return response.error().WithContext(what);
  if (response->code >= 200 && response->code <= 206) return response;
  if (response->stream != nullptr) {
    constexpr std::size_t kErrorBody = std::size_t{1} << 20;
    if (Result<std::string> body = ReadAll(ctx, *response->stream, kErrorBody)) response->body = *std::move(body);
    response->stream.reset();
  }
  return ErrorFromResponse(*response, asked).WithContext(what);
}

}  // namespace kube
