#include "kube/control/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <utility>
#include <vector>

#include "control/debug_report.h"
#include "control/health.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/serve/http_server.h"

namespace kube {
namespace {

using serve::HttpExchange;
using serve::HttpServer;

Logger Log() { return Logger("control.manager"); }

// Of "host:port", ":port", "[::1]:port". Nothing for "" and "0": no server is wanted.
Result<std::optional<serve::HttpServerOptions>> BindAddress(std::string_view what, const std::string& text) {
  if (text.empty() || text == "0") return std::optional<serve::HttpServerOptions>();
  const auto wrong = [&] {
    return Error::Invalid(fmt::format("{}: \"{}\" is no address: \":8080\" and \"127.0.0.1:8080\" are", what, text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong();
  serve::HttpServerOptions options;
  options.address = text.substr(0, colon);
  if (options.address.empty()) options.address = "0.0.0.0";
  if (options.address == "localhost") options.address = "127.0.0.1";
  if (options.address.size() > 1 && options.address.front() == '[' && options.address.back() == ']')
    options.address = options.address.substr(1, options.address.size() - 2);
  const char* const end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data() + colon + 1, end, options.port);
  if (problem != std::errc() || stopped != end) return wrong();
  options.io_threads = 1;
  return std::optional(std::move(options));
}

serve::HttpResponse NotFound() {
  return {.status = 404, .headers = {{"content-type", "text/plain; charset=utf-8"}}, .body = "not found\n"};
}

bool Under(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

}  // namespace

class Manager::Impl {
 public:
  Impl(Client client, ManagerOptions options)
      : client_(std::move(client)),
        options_(std::move(options)),
        metrics_(options_.metrics ? options_.metrics : std::make_shared<serve::MetricsRegistry>()),
        informers_(client_, WithMetrics(options_.informers)) {
    healthz_.Add("ping", [] { return Result<void>(); });
    collector_ = metrics_->AddCollector([this](MetricsSink& sink) {
      for (const InformerStatus& informer : informers_.status()) {
        sink.Set("kubexx_cache_objects", {{"resource", informer.what}, {"namespace", informer.ns}}, static_cast<double>(informer.objects));
        sink.Set("kubexx_cache_synced", {{"resource", informer.what}, {"namespace", informer.ns}}, informer.synced ? 1 : 0);
      }
    });
  }

  ~Impl() {
    stop_.Cancel();
    for (Thread& thread : threads_) thread.Join();
    health_server_.reset();
    metrics_server_.reset();
    controllers_.clear();
    informers_.Shutdown();
  }

  Result<void> Add(ControllerSpec spec) {
    for (const auto& known : controllers_) {
      if (known->name() == spec.name)
        return Error::Invalid(fmt::format("there is a controller {} already: names are unique in a program", spec.name));
    }
    if (started_) return Error::Invalid(fmt::format("controller {} comes too late: the manager runs already", spec.name));
    Result<std::unique_ptr<Controller>> made = Controller::Create(std::move(spec), {.informers = &informers_, .metrics = metrics_});
    if (!made) return made.error();
    controllers_.push_back(*std::move(made));
    Controller* const controller = controllers_.back().get();
    readyz_.Add(controller->name(), [this, controller] { return ControllerReady(*controller); });
    return {};
  }

  Result<void> Add(Runnable runnable) {
    if (!runnable.run) return Error::Invalid(fmt::format("runnable \"{}\" has no function", runnable.name));
    if (started_) return Error::Invalid(fmt::format("runnable {} comes too late: the manager runs already", runnable.name));
    runnables_.push_back(std::move(runnable));
    return {};
  }

  Result<void> Run(const Context& ctx) {
    if (started_.exchange(true)) return Error::Invalid("a manager runs once");
    // Everything below stops with the caller's context, or when something failed.
    const Context::Registration stops = ctx.OnDone([this] { stop_.Cancel(); });
    Result<void> result = RunParts();
    stop_.Cancel();
    Result<void> ended = WaitForThreads();
    informers_.Shutdown();
    health_server_.reset();
    metrics_server_.reset();
    return result ? ended : result;
  }

  Result<void> StartServers() {
    if (Result<void> started = StartServer("metrics_bind_address", options_.metrics_bind_address, metrics_server_, metrics_port_,
                                           [this](const std::shared_ptr<HttpExchange>& exchange) { AnswerMetrics(*exchange); });
        !started)
      return started;
    return StartServer("health_probe_bind_address", options_.health_probe_bind_address, health_server_, health_port_,
                       [this](const std::shared_ptr<HttpExchange>& exchange) { AnswerHealth(*exchange); });
  }

  std::string DebugJson() const {
    std::vector<ControllerStatus> controllers;
    for (const auto& controller : controllers_) controllers.push_back(controller->status());
    return internal::DebugReport(controllers, informers_.status(), is_leader());
  }

  bool is_leader() const { return leading_; }

  const Client client_;
  const ManagerOptions options_;
  const std::shared_ptr<serve::MetricsRegistry> metrics_;
  InformerFactory informers_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::vector<Runnable> runnables_;
  internal::HealthChecks healthz_{"/healthz"}, readyz_{"/readyz"};
  std::unique_ptr<HttpServer> metrics_server_, health_server_;
  std::atomic<std::uint16_t> metrics_port_ = 0, health_port_ = 0;

 private:
  InformerFactoryOptions WithMetrics(InformerFactoryOptions options) const {
    if (!options.metrics) options.metrics = metrics_;
    return options;
  }

  Result<void> StartServer(std::string_view what, const std::string& address, std::unique_ptr<HttpServer>& server,
                           std::atomic<std::uint16_t>& port, HttpServer::Handler handler) {
    Result<std::optional<serve::HttpServerOptions>> options = BindAddress(what, address);
    if (!options) return options.error();
    if (!*options) return {};
    Result<std::unique_ptr<HttpServer>> started = HttpServer::Start(**std::move(options), std::move(handler));
    if (!started) return started.error().WithContext(std::string(what));
    server = *std::move(started);
    port = server->port();
    Log().Info("Serving", {{"what", what}, {"port", server->port()}});
    return {};
  }

  void AnswerMetrics(HttpExchange& exchange) const {
    const std::string& path = exchange.request().path;
    if (path == "/metrics") {
      exchange.Reply({.headers = {{"content-type", serve::MetricsRegistry::kContentType}}, .body = metrics_->Render()});
    } else if (path == "/debug/controllers") {
      exchange.Reply({.headers = {{"content-type", "application/json"}}, .body = DebugJson()});
    } else {
      exchange.Reply(NotFound());
    }
  }

  void AnswerHealth(HttpExchange& exchange) const {
    const serve::HttpRequest& request = exchange.request();
    if (Under(request.path, "/healthz")) return exchange.Reply(healthz_.Answer(request.path, request.query));
    if (Under(request.path, "/readyz")) return exchange.Reply(readyz_.Answer(request.path, request.query));
    exchange.Reply(NotFound());
  }

  // Which watch has no complete cache, and why.
  Result<void> ControllerReady(const Controller& controller) const {
    if (controller.HasSynced()) return {};
    std::string missing;
    const std::vector<InformerStatus> informers = informers_.status();
    for (const internal::WatchSpec& watch : controller.watches()) {
      const std::string resource = watch.gvr.group_resource().ToString();
      for (const InformerStatus& informer : informers) {
        if (informer.synced || informer.what != resource) continue;
        missing +=
            fmt::format("{}{}: {}", missing.empty() ? "" : "; ", resource,
                        informer.reflector.error ? informer.reflector.error->ToString() : std::string(ToString(informer.reflector.state)));
      }
    }
    return Error::Internal(fmt::format("caches are not complete: {}", missing.empty() ? "handlers are still being told" : missing));
  }

  Result<void> RunParts() {
    if (Result<void> serving = StartServers(); !serving) return serving;
    const Context ctx = stopping_;
    for (const auto& controller : controllers_) {
      if (Result<void> started = controller->Start(); !started) return started;
    }
    informers_.Start(ctx);
    for (const Runnable& runnable : runnables_) {
      if (!runnable.needs_leader) Launch(runnable.name, ctx, runnable.run);
    }
    for (const auto& controller : controllers_) {
      if (!controller->needs_leader()) Launch(controller->name(), ctx, [c = controller.get()](const Context& run) { return c->Run(run); });
    }
    if (!options_.leader_election) {
      leading_ = true;
      Lead(ctx);
      leading_ = false;
      return Failure();
    }
    LeaderElectionOptions election = *options_.leader_election;
    if (!election.metrics) election.metrics = metrics_;
    election.drain_timeout = options_.graceful_shutdown_timeout;
    Result<LeaderElector> made = LeaderElector::Create(client_, std::move(election),
                                                       {.on_started_leading =
                                                            [this](const Context& lead) {
                                                              leading_ = true;
                                                              Lead(lead);
                                                              leading_ = false;
                                                            },
                                                        .on_stopped_leading = [this] { leading_ = false; },
                                                        .on_new_leader =
                                                            [](const std::string& identity) {
                                                              Log().Info("New leader", {{"identity", identity}});
                                                            }});
    if (!made) return made.error();
    // Shared: a check may still be running when this returns.
    const auto elector = std::make_shared<LeaderElector>(*std::move(made));
    healthz_.Add("leader-election", [elector] { return elector->Check(std::chrono::seconds(20)); });
    const Result<void> ran = elector->Run(ctx);
    healthz_.Add("leader-election", [] { return Result<void>(); });
    return ran ? Failure() : ran;
  }

  // Everything that needs leadership, until `ctx` stops or something fails.
  void Lead(const Context& ctx) {
    std::deque<Thread> threads;
    for (const Runnable& runnable : runnables_) {
      if (runnable.needs_leader) threads.push_back(Start(runnable.name, ctx, runnable.run));
    }
    for (const auto& controller : controllers_) {
      if (controller->needs_leader())
        threads.push_back(Start(controller->name(), ctx, [c = controller.get()](const Context& run) { return c->Run(run); }));
    }
    ctx.WaitUntilStopped();
    for (Thread& thread : threads) thread.Join();
  }

  Thread Start(const std::string& name, const Context& ctx, const std::function<Result<void>(const Context&)>& run) {
    return Thread("kube-" + name.substr(0, 10), [this, name, ctx, run] {
      Result<void> result;
      try {
        result = run(ctx);
      } catch (const std::exception& e) {
        result = Error::Internal(fmt::format("it threw an exception: {}", e.what()));
      } catch (...) {
        result = Error::Internal("it threw something that is no std::exception");
      }
      if (result || ctx.stopped()) return;
      {
        MutexLock lock(mu_);
        if (!failure_) failure_ = result.error().WithContext(name);
      }
      stop_.Cancel();
    });
  }
  void Launch(const std::string& name, const Context& ctx, const std::function<Result<void>(const Context&)>& run) {
    threads_.push_back(Start(name, ctx, run));
  }

  Result<void> Failure() const {
    MutexLock lock(mu_);
    if (failure_) return *failure_;
    return {};
  }

  Result<void> WaitForThreads() {
    for (Thread& thread : threads_) thread.Join();
    threads_.clear();
    return {};
  }

  Context stopping_ = Context::Background();
  CancelSource stop_ = [this] {
    auto [ctx, cancel] = Context::Background().WithCancel();
    stopping_ = ctx;
    return std::move(cancel);
  }();
  std::atomic<bool> started_ = false;
  std::atomic<bool> leading_ = false;
  mutable Mutex mu_;
  std::optional<Error> failure_ KUBE_GUARDED_BY(mu_);
  std::deque<Thread> threads_;
  serve::MetricsRegistry::Collector collector_;
};

Manager::Manager(Client client, ManagerOptions options) : impl_(std::make_unique<Impl>(std::move(client), std::move(options))) {}
Manager::~Manager() = default;
Result<void> Manager::Add(ControllerSpec controller) { return impl_->Add(std::move(controller)); }
Result<void> Manager::Add(Runnable runnable) { return impl_->Add(std::move(runnable)); }
void Manager::AddHealthCheck(std::string name, HealthCheck check) { impl_->healthz_.Add(std::move(name), std::move(check)); }
void Manager::AddReadyCheck(std::string name, HealthCheck check) { impl_->readyz_.Add(std::move(name), std::move(check)); }
Result<void> Manager::Run(const Context& ctx) { return impl_->Run(ctx); }
const Client& Manager::client() const { return impl_->client_; }
InformerFactory& Manager::informers() { return impl_->informers_; }
const std::shared_ptr<serve::MetricsRegistry>& Manager::metrics() const { return impl_->metrics_; }
Controller* Manager::controller(std::string_view name) {
  for (const auto& controller : impl_->controllers_) {
    if (controller->name() == name) return controller.get();
  }
  return nullptr;
}
bool Manager::is_leader() const { return impl_->is_leader(); }
std::uint16_t Manager::metrics_port() const { return impl_->metrics_port_; }
std::uint16_t Manager::health_port() const { return impl_->health_port_; }
std::string Manager::DebugJson() const { return impl_->DebugJson(); }

}  // namespace kube
