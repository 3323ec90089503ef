#include "kube/webhook/webhook_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"
#include "webhook/call_timeout.h"

namespace kube {
namespace {

using serve::HttpExchange;

// API servers wait for 30 s at most. With calls of conversion webhooks they do not say so.
constexpr std::chrono::seconds kLongestTimeout(30);

Logger Log() { return Logger("webhook"); }

std::string_view MediaType(const serve::HttpRequest& request) {
  std::string_view type = request.headers.Get("content-type");
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

}  // namespace

class WebhookServer::Impl {
 public:
  explicit Impl(WebhookServerOptions options) : options_(std::move(options)) {
    auto [ctx, cancel] = Context::Background().WithCancel();
    running_ = ctx;
    stop_.emplace(std::move(cancel));
  }

  ~Impl() {
    BeginDrain();
    std::deque<Call> unanswered;
    {
      MutexLock lock(mu_);
      stopping_ = true;
      unanswered.swap(ready_);
      for (auto& [path, endpoint] : endpoints_) {
        std::move(endpoint.waiting.begin(), endpoint.waiting.end(), std::back_inserter(unanswered));
        endpoint.waiting.clear();
      }
      work_.NotifyAll();
    }
    stop_->Cancel();
    for (Call& call : unanswered) Finish(call, {.code = 503, .body = "the webhook server is shutting down\n"});
    workers_.clear();
    server_.reset();
  }

  Result<void> Start(const std::vector<WebhookEndpoint>& endpoints, const serve::HttpTlsOptions& certificate) {
    for (const WebhookEndpoint& endpoint : endpoints) {
      const auto [at, added] = endpoints_.try_emplace(endpoint.path);
      if (!added) return Error::Invalid(fmt::format("two webhooks have the path {}", endpoint.path));
      at->second.spec = endpoint;
      if (options_.metrics == nullptr) continue;
      for (const char* code : {"200", "500"})
        options_.metrics->Add("controller_runtime_webhook_requests_total", {{"code", code}, {"webhook", endpoint.path}}, 0);
      options_.metrics->Add(PanicsOf(endpoint), {}, 0);
      options_.metrics->Set("controller_runtime_webhook_requests_in_flight", {{"webhook", endpoint.path}}, 0);
    }
    serve::HttpServerOptions http;
    http.address = options_.bind_address;
    if (options_.port < 0 || options_.port > 65535) return Error::Invalid(fmt::format("{} is no port", options_.port));
    http.port = static_cast<std::uint16_t>(options_.port);
    http.tls = certificate;
    http.tls_policy = options_.tls;
    http.limits = options_.limits;
    Result<std::unique_ptr<serve::HttpServer>> started =
        serve::HttpServer::Start(std::move(http), [this](const std::shared_ptr<HttpExchange>& exchange) { Receive(exchange); });
    if (!started) return started.error();
    server_ = *std::move(started);
    return {};
  }

  void BeginDrain() {
    MutexLock lock(open_->mu);
    open_->draining = true;
  }

  Result<void> Drain(const Context& ctx) {
    BeginDrain();
    MutexLock lock(open_->mu);
    return WaitUntil(ctx, open_->mu, open_->changed, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return open_->calls == 0; });
  }

  serve::HttpServer& server() { return *server_; }

 private:
  struct Endpoint;

  // Calls that are not answered completely. Exchanges report their end here, which may be after the server's.
  struct Open {
    Mutex mu;
    CondVar changed;
    std::size_t calls KUBE_GUARDED_BY(mu) = 0;
    bool draining KUBE_GUARDED_BY(mu) = false;
  };

  struct Call {
    std::shared_ptr<HttpExchange> exchange;
    Endpoint* endpoint;
    std::chrono::steady_clock::time_point arrived;
    std::chrono::nanoseconds timeout;
    Context ctx;
  };

  // Each webhook has calls of its own to make at a time: a function may call the API server, which may call another webhook of this
  // program for that, such as the conversion of the object that is read. A function that hangs delays no other webhook either.
  struct Endpoint {
    WebhookEndpoint spec{};
    // Guarded by mu_.
    int in_flight = 0;
    std::size_t running = 0;  // calls that a worker has, or will have as soon as its thread runs
    std::deque<Call> waiting{};
  };

  static const char* PanicsOf(const WebhookEndpoint& endpoint) {
    return endpoint.conversion ? "controller_runtime_conversion_webhook_panics_total" : "controller_runtime_webhook_panics_total";
  }

  // On an I/O thread.
  void Receive(const std::shared_ptr<HttpExchange>& exchange) {
    const serve::HttpRequest& request = exchange->request();
    const auto found = endpoints_.find(request.path);
    if (found == endpoints_.end()) return Reply(*exchange, {.code = 404, .body = "no webhook has this path\n"});
    Endpoint& endpoint = found->second;
    const std::chrono::nanoseconds timeout = std::clamp<std::chrono::nanoseconds>(
        internal::TimeoutOfQuery(request.query).value_or(endpoint.spec.conversion ? kLongestTimeout : options_.default_timeout),
        std::chrono::milliseconds(1), kLongestTimeout);
    auto [ctx, cancel] = running_.WithTimeout(timeout).WithCancel();
    Call call{.exchange = exchange, .endpoint = &endpoint, .arrived = std::chrono::steady_clock::now(), .timeout = timeout, .ctx = ctx};
    {
      MutexLock lock(open_->mu);
      ++open_->calls;
    }
    exchange->OnClose([open = open_, source = std::make_shared<CancelSource>(std::move(cancel))] {
      source->Cancel();
      MutexLock lock(open->mu);
      --open->calls;
      open->changed.NotifyAll();
    });
    std::optional<WebhookAnswer> refused;
    if (request.method != "POST") {
      refused = {.code = 405, .body = "webhooks are called by POST\n"};
    } else if (MediaType(request) != "application/json") {
      refused = {.code = 415, .body = "expected application/json\n"};
    } else if (request.body_too_large) {
      refused = {.code = 413, .body = "the review is too large\n"};
    }
    std::deque<Call> over;
    bool taken = true;
    {
      MutexLock lock(mu_);
      Count(endpoint, +1);
      if (!refused && !stopping_ && endpoint.running < static_cast<std::size_t>(std::max(options_.workers, 1)) && Run(call)) return;
      // The API server no longer waits for these. Behind a function that hangs they would hold their bodies indefinitely.
      std::deque<Call>& waiting = endpoint.waiting;
      const auto first_over = std::stable_partition(waiting.begin(), waiting.end(), [](const Call& other) { return !other.ctx.stopped(); });
      std::move(first_over, waiting.end(), std::back_inserter(over));
      waiting.erase(first_over, waiting.end());
      taken = !refused && !stopping_ && waiting.size() < options_.max_queued && endpoint.running > 0;
      if (taken) waiting.push_back(std::move(call));
    }
    for (Call& other : over) Finish(other, TooLate());
    if (!taken) Finish(call, refused ? *std::move(refused) : WebhookAnswer{.code = 503, .body = "too many calls wait already\n"});
  }

  static WebhookAnswer TooLate() { return {.code = 504, .body = "the time was over before a worker was free\n"}; }

  // Takes the call. False if the system gives no thread and there is none yet; with others, the call waits for one of them.
  bool Run(Call& call) KUBE_REQUIRES(mu_) {
    if (workers_.size() <= ready_.size() + busy_ && !AddWorker() && workers_.empty()) return false;
    ++call.endpoint->running;
    ready_.push_back(std::move(call));
    work_.NotifyOne();
    return true;
  }

  bool AddWorker() KUBE_REQUIRES(mu_) {
    try {
      workers_.emplace_back(fmt::format("kube-hook-{}", workers_.size()), [this] { Work(); });
      return true;
    } catch (const std::system_error& e) {
      Log().Warn("The system gives no thread for a call of a webhook", {{"error", e.what()}, {"workers", workers_.size()}});
      return false;
    }
  }

  void Work() {
    for (;;) {
      std::optional<Call> call;
      {
        MutexLock lock(mu_);
        while (ready_.empty() && !stopping_) work_.Wait(mu_);
        if (ready_.empty()) return;
        call.emplace(std::move(ready_.front()));
        ready_.pop_front();
        ++busy_;
      }
      Serve(*call);
      MutexLock lock(mu_);
      --busy_;
      Endpoint& endpoint = *call->endpoint;
      --endpoint.running;
      if (endpoint.waiting.empty()) continue;
      (void)Run(endpoint.waiting.front());  // this thread is there
      endpoint.waiting.pop_front();
    }
  }

  void Serve(Call& call) {
    if (call.ctx.stopped()) return Finish(call, TooLate());
    WebhookAnswer answer;
    try {
      answer = call.endpoint->spec.serve(call.ctx, call.exchange->request().body);
    } catch (const std::exception& e) {
      answer = {.code = 500, .body = fmt::format("the webhook threw: {}\n", e.what()), .threw = true};
    } catch (...) {
      answer = {.code = 500, .body = "the webhook threw something that is not a std::exception\n", .threw = true};
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - call.arrived;
    if (took > call.timeout)
      Log().Warn("A webhook answered after the API server had stopped waiting",
                 {{"webhook", call.endpoint->spec.path}, {"seconds", took.count()}});
    if (answer.threw && options_.metrics != nullptr) options_.metrics->Add(PanicsOf(call.endpoint->spec), {});
    Finish(call, std::move(answer));
  }

  void Finish(Call& call, WebhookAnswer answer) {
    const std::string& path = call.endpoint->spec.path;
    if (options_.metrics != nullptr) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - call.arrived;
      options_.metrics->Observe("controller_runtime_webhook_latency_seconds", {{"webhook", path}}, took.count());
      options_.metrics->Add("controller_runtime_webhook_requests_total", {{"code", std::to_string(answer.code)}, {"webhook", path}});
    }
    {
      MutexLock lock(mu_);
      Count(*call.endpoint, -1);
    }
    Reply(*call.exchange, std::move(answer));
    call.exchange.reset();
  }

  void Reply(HttpExchange& exchange, WebhookAnswer answer) {
    serve::HttpResponse response{.status = answer.code, .body = std::move(answer.body)};
    response.headers.Add("content-type", answer.code == 200 ? "application/json" : "text/plain; charset=utf-8");
    {
      MutexLock lock(open_->mu);
      if (open_->draining) response.headers.Add("connection", "close");
    }
    exchange.Reply(std::move(response));
  }

  // Also reports it under the lock, so reports stay in order.
  void Count(Endpoint& endpoint, int change) KUBE_REQUIRES(mu_) {
    endpoint.in_flight += change;
    if (options_.metrics != nullptr)
      options_.metrics->Set("controller_runtime_webhook_requests_in_flight", {{"webhook", endpoint.spec.path}}, endpoint.in_flight);
  }

  const WebhookServerOptions options_;
  std::map<std::string, Endpoint, std::less<>> endpoints_;  // as Start made it
  const std::shared_ptr<Open> open_ = std::make_shared<Open>();
  Context running_ = Context::Background();
  std::optional<CancelSource> stop_;
  Mutex mu_;
  CondVar work_;
  std::deque<Call> ready_ KUBE_GUARDED_BY(mu_);  // there is a worker for each, or its thread starts
  std::size_t busy_ KUBE_GUARDED_BY(mu_) = 0;    // workers that have a call
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;
  std::deque<Thread> workers_;  // grows under mu_ until stopping_
  std::unique_ptr<serve::HttpServer> server_;
};

WebhookServer::WebhookServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebhookServer::~WebhookServer() = default;

Result<std::unique_ptr<WebhookServer>> WebhookServer::Start(const std::vector<WebhookEndpoint>& endpoints,
                                                            const serve::HttpTlsOptions& certificate, WebhookServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (Result<void> started = impl->Start(endpoints, certificate); !started) return started.error();
  return std::unique_ptr<WebhookServer>(new WebhookServer(std::move(impl)));
}

std::uint16_t WebhookServer::port() const { return impl_->server().port(); }
serve::HttpUsage WebhookServer::usage() const { return impl_->server().usage(); }
Result<void> WebhookServer::SetCertificate(const serve::HttpTlsOptions& certificate) { return impl_->server().SetTls(certificate); }
void WebhookServer::BeginDrain() { impl_->BeginDrain(); }
Result<void> WebhookServer::Drain(const Context& ctx) { return impl_->Drain(ctx); }

}  // namespace kube
