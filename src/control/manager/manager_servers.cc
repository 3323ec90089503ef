#include "control/manager/manager_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "control/observability/log_level_endpoint.h"
#include "kube/base/log.h"

namespace kube::internal {
namespace {

using serve::HttpExchange;
using serve::HttpServer;

Logger Log() { return Logger("control.manager"); }

serve::HttpResponse NotFound() {
  return {.status = 404, .headers = {{"content-type", "text/plain; charset=utf-8"}}, .body = "not found\n"};
}

// What /debug/log-level takes; no other page has a body.
constexpr std::size_t kLogLevelBody = std::size_t{4} << 10;

bool Under(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

}  // namespace

Result<std::optional<serve::HttpServerOptions>> BindAddress(std::string_view what, const std::string& text) {
  if (text.empty() || text == "0") return std::optional<serve::HttpServerOptions>();
  const auto wrong = [&] {
    return Error::Invalid(fmt::format("{}: \"{}\" is not an address: expected \":8080\" or \"127.0.0.1:8080\"", what, text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong();
  serve::HttpServerOptions options;
  options.address = text.substr(0, colon);
  if (options.address == "localhost") options.address = "127.0.0.1";
  if (options.address.size() > 1 && options.address.front() == '[' && options.address.back() == ']')
    options.address = options.address.substr(1, options.address.size() - 2);
  const char* const end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data() + colon + 1, end, options.port);
  if (problem != std::errc() || stopped != end) return wrong();
  options.io_threads = 1;
  return std::optional(std::move(options));
}

ManagerServers::ManagerServers(Parts parts) : parts_(std::move(parts)) {}
ManagerServers::~ManagerServers() { Stop(); }

Result<void> ManagerServers::Start() {
  const ManagerOptions& options = *parts_.options;
  Result<std::optional<serve::HttpServerOptions>> metrics = BindAddress("metrics_bind_address", options.metrics_bind_address);
  if (!metrics) return metrics.error();
  Result<std::optional<serve::HttpServerOptions>> health = BindAddress("health_probe_bind_address", options.health_probe_bind_address);
  if (!health) return health.error();
  for (std::optional<serve::HttpServerOptions>* const server : {&*metrics, &*health}) {
    if (!*server) continue;
    (*server)->limits = options.server_limits;
    (*server)->tls_policy = options.tls;
  }
  if (*metrics) {
    if (options.debug_endpoint && options.log_level_endpoint)
      (*metrics)->limits.max_body_bytes = std::max((*metrics)->limits.max_body_bytes, kLogLevelBody);
    if (options.metrics_secure) {
      Result<serve::HttpTlsOptions> tls = Certificate();
      if (!tls) return tls.error().WithContext("metrics_cert_path");
      (*metrics)->tls = *std::move(tls);
    }
    HttpServer::Handler answer = [this](const std::shared_ptr<HttpExchange>& exchange) { AnswerMetrics(*exchange); };
    if (options.metrics_authorization) {
      guard_ = std::make_unique<RequestGuard>(*parts_.client, RequestGuardOptions{.limits = options.metrics_reviews});
      answer = [this, answer](const std::shared_ptr<HttpExchange>& exchange) { guard_->Serve(exchange, answer); };
    }
    if (Result<void> started = StartServer("metrics_bind_address", **metrics, metrics_server_, metrics_port_, std::move(answer)); !started)
      return started;
    if (files_) {
      auto [ctx, cancel] = Context::Background().WithCancel();
      stop_watching_ = std::move(cancel);
      watcher_ = Thread("kube-certs", [this, ctx = ctx] { WatchCertificate(ctx); });
    }
  }
  if (*health) {
    if (Result<void> started = StartServer("health_probe_bind_address", **health, health_server_, health_port_,
                                           [this](const std::shared_ptr<HttpExchange>& exchange) { AnswerHealth(*exchange); });
        !started)
      return started;
  }
  collector_ = parts_.metrics->AddCollector([this](MetricsSink& sink) { CollectUsage(sink); });
  return {};
}

void ManagerServers::CollectUsage(MetricsSink& sink) const {
  const auto collect = [&sink](std::string_view server, const HttpServer* of) {
    if (of == nullptr) return;
    const serve::HttpUsage usage = of->usage();
    sink.Set("kubexx_http_server_connections", {{"server", server}}, static_cast<double>(usage.connections));
    sink.Set("kubexx_http_server_bytes_held", {{"server", server}}, static_cast<double>(usage.bytes_held));
    const auto closed = [&](std::string_view reason, std::uint64_t count) {
      sink.Add("kubexx_http_server_closed_total", {{"reason", reason}, {"server", server}}, static_cast<double>(count));
    };
    closed("connections", usage.closed_for_connections);
    closed("bytes", usage.closed_for_bytes);
    closed("deadline", usage.closed_for_deadline);
    closed("flood", usage.closed_for_flood);
  };
  collect("metrics", metrics_server_.get());
  collect("health", health_server_.get());
}

void ManagerServers::Stop() {
  if (stop_watching_) stop_watching_->Cancel();
  watcher_.Join();
  collector_ = {};
  health_server_.reset();
  // A review in progress still answers its request; afterwards the guard is not called any more.
  metrics_server_.reset();
  guard_.reset();
}

Result<void> ManagerServers::StartServer(std::string_view what, serve::HttpServerOptions options, std::unique_ptr<HttpServer>& server,
                                         std::atomic<std::uint16_t>& port, HttpServer::Handler handler) {
  const bool tls = options.tls.has_value();
  Result<std::unique_ptr<HttpServer>> started = HttpServer::Start(std::move(options), std::move(handler));
  if (!started) {
    const bool taken = started.error().kind() == ErrorKind::kTransport;
    return started.error().WithContext(std::string(what) + (taken ? " (another address, or \"0\" for none)" : ""));
  }
  server = *std::move(started);
  port = server->port();
  Log().Info("Serving", {{"what", what}, {"port", server->port()}, {"tls", tls}});
  return {};
}

Result<serve::HttpTlsOptions> ManagerServers::Certificate() {
  const ManagerOptions& options = *parts_.options;
  if (options.metrics_cert_path.empty()) return SelfSignedCertificate();
  files_.emplace(options.metrics_cert_path + "/" + options.metrics_cert_name, options.metrics_cert_path + "/" + options.metrics_cert_key,
                 parts_.metrics);
  Result<std::optional<serve::HttpTlsOptions>> read = files_->ReadIfChanged();
  if (!read) return read.error();
  return **std::move(read);  // the first time it is another one than before
}

void ManagerServers::WatchCertificate(const Context& ctx) {
  std::string last_problem;
  while (ctx.SleepFor(parts_.options->metrics_cert_poll)) {
    const Result<std::optional<serve::HttpTlsOptions>> read = files_->ReadIfChanged();
    Result<void> taken;
    if (!read) {
      taken = read.error();
    } else if (*read) {
      taken = metrics_server_->SetTls(**read);
      if (taken) Log().Info("The certificate of the metrics server was replaced");
      if (!taken) files_->Refused();
    }
    // Said once: files are often replaced one after the other, and do not fit for a moment.
    const std::string problem = taken ? "" : taken.error().ToString();
    if (!taken && problem != last_problem)
      Log().Error(taken.error(), "The new certificate of the metrics server is not usable; the old one stays");
    last_problem = problem;
  }
}

void ManagerServers::AnswerMetrics(HttpExchange& exchange) const {
  const serve::HttpRequest& request = exchange.request();
  if (request.path == "/metrics") {
    return exchange.Reply({.headers = {{"content-type", MetricsRegistry::kContentType}}, .body = parts_.metrics->Render()});
  }
  if (parts_.options->debug_endpoint) {
    if (request.path == kLogLevelPath && parts_.options->log_level_endpoint)
      return exchange.Reply(AnswerLogLevel(request, *LogBackend::Default()));
    if (std::optional<serve::HttpResponse> debug = parts_.debug(request)) return exchange.Reply(*std::move(debug));
  }
  exchange.Reply(NotFound());
}

void ManagerServers::AnswerHealth(HttpExchange& exchange) const {
  const serve::HttpRequest& request = exchange.request();
  if (Under(request.path, "/healthz")) return exchange.Reply(parts_.healthz->Answer(request.path, request.query));
  if (Under(request.path, "/readyz")) return exchange.Reply(parts_.readyz->Answer(request.path, request.query));
  exchange.Reply(NotFound());
}

}  // namespace kube::internal
