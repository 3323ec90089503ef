#include "control/manager/manager_webhooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "config/text.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/log.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/meta/validation.h"
#include "kube/value/time.h"

namespace kube::internal {
namespace {

using apiextensions::v1::CustomResourceDefinition;

// Stands for a namespace that is not known when manifests are printed; kubebuilder's and kustomize's placeholder.
constexpr std::string_view kNamespacePlaceholder = "system";
// Calls under way when the port closes.
constexpr std::chrono::seconds kDrain(30);

Logger Log() { return Logger("control.webhooks"); }

// "https://[::1]:9443/x" -> "::1"
std::string HostOf(std::string_view url) {
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  if (url.starts_with('[')) return std::string(url.substr(1, url.find(']') - 1));
  return std::string(url.substr(0, url.find(':')));
}

// Paths are appended to it. API servers refuse what is refused here.
Result<void> CheckUrl(const std::string& url) {
  if (url.empty()) return {};
  const auto wrong = [&](std::string_view why) {
    return Error::Invalid(fmt::format("webhooks: url is {}: {}", Quoted(WithoutUserInfo(url)), why));
  };
  if (!url.starts_with("https://") || url.ends_with('/')) return wrong("expected one that begins with https:// and does not end with /");
  if (const Result<UrlParts> parts = ParseUrl(url); !parts) return wrong(parts.error().message());
  if (url.find_first_of("@?#") != std::string::npos) return wrong("expected one without a user, a query and a fragment");
  return {};
}

// "networks.example.com"
std::string CrdNameOf(const ConversionSpec& spec) { return fmt::format("{}.{}", spec.hub->kind->resource, spec.hub->kind->group); }

Result<void> SetConversionOf(const ConversionSpec& spec, const WebhookConfigurationOptions& options, DynamicObject& crd) {
  Result<CustomResourceDefinition> typed = FromDynamic<CustomResourceDefinition>(crd);
  if (!typed) return typed.error();
  if (Result<void> set = kube::SetConversion(spec, options, *typed); !set) return set;
  Result<Value> stanza = ToValue(*typed->spec.conversion);
  if (!stanza) return stanza.error();
  crd["spec"]["conversion"] = *std::move(stanza);
  return {};
}

}  // namespace

ManagerWebhooks::ManagerWebhooks(Parts parts) : parts_(std::move(parts)) {}
ManagerWebhooks::~ManagerWebhooks() { Stop(); }

std::string ManagerWebhooks::Name() const { return options().name.empty() ? "manager" : options().name; }
std::string ManagerWebhooks::Namespace() const { return options().ns.empty() ? parts_.client->default_namespace() : options().ns; }

const ConversionSpec* ManagerWebhooks::ConversionOf(std::string_view crd) const {
  const auto found = std::find_if(conversions_.begin(), conversions_.end(), [&](const auto& spec) { return CrdNameOf(spec) == crd; });
  return found == conversions_.end() ? nullptr : &*found;
}

bool ManagerWebhooks::ConvertsAnyOf(const ManagerCrds& crds) const {
  return std::any_of(conversions_.begin(), conversions_.end(), [&](const auto& spec) { return crds.Find(CrdNameOf(spec)) != nullptr; });
}

Result<void> ManagerWebhooks::SetConversion(DynamicObject& crd, const std::string& ca_pem) const {
  const ConversionSpec* const spec = ConversionOf(crd.name().view());
  if (spec == nullptr) return {};
  WebhookConfigurationOptions placed = Placed(Namespace());
  if (!IsInjectedByOthers(crd)) placed.ca_bundle = ca_pem;
  return SetConversionOf(*spec, placed, crd);
}

WebhookConfigurationOptions ManagerWebhooks::Placed(std::string ns) const {
  return {.name = Name(),
          .ns = std::move(ns),
          .service = options().service,
          .service_port = options().service_port,
          .target_port = options().port == 0 ? 9443 : options().port,
          .selector = options().selector,
          .url = options().url};
}

Result<void> ManagerWebhooks::Add(WebhookSpec spec) {
  if (spec.problem) return spec.problem->WithContext("webhook " + spec.name);
  for (const WebhookSpec& known : specs_) {
    for (const WebhookEndpoint& endpoint : spec.endpoints) {
      const auto same = [&](const WebhookEndpoint& other) { return other.path == endpoint.path; };
      if (std::any_of(known.endpoints.begin(), known.endpoints.end(), same))
        return Error::Invalid(
            fmt::format("webhook {}: {} has the path {} already: choose another one", spec.name, known.name, endpoint.path));
    }
  }
  specs_.push_back(std::move(spec));
  // Names that are taken.
  if (const Result<WebhookConfigurations> made = MakeWebhookConfigurations(specs_, Placed(std::string(kNamespacePlaceholder))); !made) {
    const std::string name = specs_.back().name;
    specs_.pop_back();
    return made.error().WithContext("webhook " + name);
  }
  return {};
}

Result<void> ManagerWebhooks::Add(ConversionSpec spec) {
  const std::string name = fmt::format("the conversion of {}.{}", spec.kind(), spec.group());
  conversions_.push_back(std::move(spec));
  Result<std::vector<WebhookEndpoint>> made = Endpoints();
  if (made) return {};
  conversions_.pop_back();
  return made.error().WithContext(name);
}

Result<std::vector<WebhookEndpoint>> ManagerWebhooks::Endpoints() const {
  std::vector<WebhookEndpoint> out;
  for (const WebhookSpec& spec : specs_) out.insert(out.end(), spec.endpoints.begin(), spec.endpoints.end());
  Result<std::vector<WebhookEndpoint>> converting = ConversionEndpoints(conversions_);
  if (!converting) return converting.error();
  for (WebhookEndpoint& endpoint : *converting) {
    const auto same = [&](const WebhookEndpoint& other) { return other.path == endpoint.path; };
    if (std::any_of(out.begin(), out.end(), same))
      return Error::Invalid(fmt::format("an admission webhook has the path {} already: choose another one", endpoint.path));
    out.push_back(std::move(endpoint));
  }
  return out;
}

Result<std::vector<InjectionTarget>> ManagerWebhooks::Targets(const std::string& ns) const {
  const WebhookConfigurationOptions placed = Placed(ns);
  const Result<WebhookConfigurations> made = MakeWebhookConfigurations(specs_, placed);
  if (!made) return made.error();
  std::vector<InjectionTarget> targets;
  const auto add = [&](const auto& configuration) -> Result<void> {
    if (!configuration) return {};
    Result<DynamicObject> object = ToDynamic(*configuration);
    if (!object) return object.error();
    targets.push_back(WebhookTarget(object->value()));
    return {};
  };
  // First, so that the configurations name an existing Service.
  if (options().install && placed.url.empty()) {
    Result<Value> service = ToValue(MakeWebhookService(placed));
    if (!service) return service.error();
    targets.push_back(ServiceTarget(*service));
  }
  if (Result<void> added = add(made->mutating); !added) return added.error();
  if (Result<void> added = add(made->validating); !added) return added.error();
  for (const ConversionSpec& conversion : conversions_) {
    const auto stanza = MakeConversionStanza(conversion, placed);
    if (!stanza) return stanza.error();
    Result<Value> value = ToValue(*stanza);
    if (!value) return value.error();
    targets.push_back(ConversionTarget(CrdNameOf(conversion), *std::move(value), [&conversion](const DynamicObject& crd) {
      const Result<CustomResourceDefinition> typed = FromDynamic<CustomResourceDefinition>(crd);
      return typed ? CheckVersions(conversion, *typed) : Result<void>(typed.error());
    }));
  }
  for (InjectionTarget& target : targets) target.hosts = Hosts(ns);
  return targets;
}

std::vector<AccessNeed> ManagerWebhooks::needs() const {
  std::vector<AccessNeed> out;
  if (empty() || !options().cert_path.empty()) return out;
  const std::string own = options().ns.empty() ? std::string(kOwnNamespace) : options().ns;
  const std::string why = "the CA of its webhooks";
  const auto secret = [&](std::vector<std::string> verbs) {
    out.push_back(
        {.resource = "secrets", .verbs = std::move(verbs), .ns = own, .name = Name() + "-webhook-ca", .selects_name = true, .why = why});
  };
  secret({"create", "get", "list", "watch", "patch"});
  out.push_back({.group = "events.k8s.io", .resource = "events", .verbs = {"create", "patch"}, .ns = own, .why = why});
  if (!options().inject) return out;
  const Result<std::vector<InjectionTarget>> targets = Targets(std::string(kNamespacePlaceholder));
  if (!targets) return out;
  for (const InjectionTarget& target : *targets) {
    std::vector<std::string> verbs = {"get", "list", "watch", "patch"};
    if (options().install && !target.object.is_null()) verbs.emplace_back("create");
    out.push_back({.group = target.resource.group.str(),
                   .resource = target.resource.resource.str(),
                   .verbs = std::move(verbs),
                   .ns = target.ns.empty() ? "" : own,
                   .name = target.name,
                   .selects_name = true,
                   .why = target.is_service() ? "the Service of its webhooks" : why});
  }
  return out;
}

std::string ManagerWebhooks::Manifests(const RbacOptions& names, const ManagerCrds& crds) const {
  if (empty()) return {};
  std::string ns = names.service_account_namespace;
  if (ns.empty()) ns = options().ns.empty() ? std::string(kNamespacePlaceholder) : options().ns;
  const WebhookConfigurationOptions placed = Placed(ns);
  std::string out;
  const auto add = [&out](const Result<std::string>& yaml) {
    if (yaml && !yaml->empty()) out += "---\n" + *yaml;
  };
  const Result<WebhookConfigurations> made = MakeWebhookConfigurations(specs_, placed);
  if (made && (made->mutating || made->validating)) add(ToYaml(*made));
  if (placed.url.empty()) add(ToYaml(MakeWebhookService(placed)));
  for (const ConversionSpec& conversion : conversions_) {
    if (const DynamicObject* const managed = crds.Find(CrdNameOf(conversion))) {
      DynamicObject crd = *managed;
      if (SetConversionOf(conversion, placed, crd)) add(ToYaml(crd.value()));
      continue;
    }
    const auto stanza = MakeConversionStanza(conversion, placed);
    Result<Value> value = stanza ? ToValue(*stanza) : Result<Value>(stanza.error());
    if (!value) continue;
    DynamicObject crd(Gvk{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"}, {"", String(CrdNameOf(conversion))});
    crd["spec"]["conversion"] = *std::move(value);
    add(ToYaml(crd.value()));
  }
  return out;
}

std::vector<std::string> ManagerWebhooks::Hosts(const std::string& ns) const {
  const std::string service = WebhookServiceName(Placed(ns)) + "." + ns + ".svc";
  std::vector<std::string> hosts = {service, service + ".cluster.local"};
  hosts.insert(hosts.end(), options().hosts.begin(), options().hosts.end());
  if (!options().url.empty()) hosts.push_back(HostOf(options().url));
  std::set<std::string> seen;
  std::erase_if(hosts, [&](const std::string& host) { return !seen.insert(host).second; });
  return hosts;
}

Result<void> ManagerWebhooks::Check() const {
  if (empty()) return {};
  if (Result<void> good = CheckUrl(options().url); !good) return good;
  if (Result<void> good = ValidateDnsSubdomain(Name()); !good)
    return Error::Invalid(fmt::format("webhooks: name is {}, which the configurations and the Secret cannot have: {}", Quoted(Name()),
                                      good.error().message()));
  if (const std::string service = WebhookServiceName(Placed(Namespace())); options().url.empty()) {
    if (Result<void> good = ValidateDnsLabel(service); !good)
      return Error::Invalid(fmt::format("webhooks: the Service would be {}, which is not a valid name (--webhook-service sets it): {}",
                                        Quoted(service), good.error().message()));
  }
  if (!options().cert_path.empty()) return {};
  if (options().install && !options().inject)
    return Error::Invalid("webhooks: install needs inject, because the created configurations need the CA");
  const WebhookCertificateTimes& times = options().times;
  const auto seconds = [](std::chrono::nanoseconds time) { return Duration(time).ToString(); };
  if (times.leaf_lifetime < std::chrono::seconds(2))
    return Error::Invalid("webhooks: leaf_lifetime is " + seconds(times.leaf_lifetime) + ": certificates need two seconds at least");
  if (times.ca_lifetime < times.leaf_lifetime)
    return Error::Invalid(
        fmt::format("webhooks: ca_lifetime is {}, less than leaf_lifetime, {}", seconds(times.ca_lifetime), seconds(times.leaf_lifetime)));
  if (times.ca_lifetime / 3 <= times.injection_wait)
    return Error::Invalid(fmt::format("webhooks: injection_wait is {}: a CA has to be replaced within a third of ca_lifetime, {}",
                                      seconds(times.injection_wait), seconds(times.ca_lifetime)));
  return {};
}

Result<std::string> ManagerWebhooks::Await(const Context& ctx) const {
  const WebhookCertificates* const keeps = certificates();
  if (keeps == nullptr) return std::string();
  Result<std::string> ca = keeps->Await(ctx);
  if (ca && !options().inject) ca->clear();
  return ca;
}

Result<void> ManagerWebhooks::Start(const Context& ctx, const std::function<bool(std::string_view crd)>& managed) {
  if (empty()) return {};
  auto [running, stop] = ctx.WithCancel();
  stop_ = std::move(stop);
  collector_ = parts_.metrics->AddCollector([this](MetricsSink& sink) { Collect(sink); });
  if (!options().cert_path.empty()) {
    files_.emplace(options().cert_path + "/" + options().cert_name, options().cert_path + "/" + options().cert_key, parts_.metrics);
    const Result<std::optional<serve::HttpTlsOptions>> read = files_->ReadIfChanged();
    if (!read) return read.error().WithContext("webhook certificate");
    if (Result<void> used = Use(**read); !used) return used.error().WithContext("webhooks");
    thread_ = Thread("kube-webhooks", [this, ctx = running] { WatchFiles(ctx); });
    return {};
  }
  const std::string ns = Namespace();
  Result<std::vector<InjectionTarget>> targets = Targets(ns);
  if (!targets) return targets.error();
  for (InjectionTarget& target : *targets) target.managed = target.is_crd() && managed(target.name);
  events_ = EventRecorder(*parts_.client, {.controller = Name(), .metrics = parts_.metrics, .clock = parts_.clock});
  auto certificates = std::make_unique<WebhookCertificates>(
      WebhookCertificates::Parts{.client = *parts_.client,
                                 .name = Name(),
                                 .ns = ns,
                                 .secret = Name() + "-webhook-ca",
                                 .hosts = Hosts(ns),
                                 .times = options().times,
                                 .inject = options().inject,
                                 .install = options().install,
                                 .targets = *std::move(targets),
                                 .metrics = parts_.metrics,
                                 .clock = parts_.clock,
                                 .leads = parts_.leads,
                                 .use = [this](const serve::HttpTlsOptions& certificate) { return Use(certificate); },
                                 .events = events_});
  WebhookCertificates* const keeps = certificates.get();
  {
    MutexLock lock(mu_);
    certificates_ = std::move(certificates);
  }
  thread_ = Thread("kube-webhooks", [this, keeps, ctx = running] {
    if (const Result<void> ran = keeps->Run(ctx); !ran && !ctx.stopped()) parts_.failed(ran.error().WithContext("webhooks"));
  });
  return {};
}

Result<void> ManagerWebhooks::Use(const serve::HttpTlsOptions& certificate) {
  Result<serve::CertificateInfo> info = serve::ReadCertificate(certificate.certificate_pem);
  if (!info) return info.error();
  MutexLock lock(mu_);
  if (server_) {
    if (Result<void> set = server_->SetCertificate(certificate); !set) return set;
  } else {
    const Result<std::vector<WebhookEndpoint>> endpoints = Endpoints();
    if (!endpoints) return endpoints.error();
    WebhookServerOptions server{.bind_address = options().bind_address,
                                .port = options().port,
                                .limits = options().limits,
                                .tls = parts_.options->tls,
                                .workers = options().workers,
                                .max_queued = options().max_queued,
                                .metrics = parts_.metrics};
    server.limits.http2 = server.limits.http2 || parts_.options->server_limits.http2;
    Result<std::unique_ptr<WebhookServer>> started = WebhookServer::Start(*endpoints, certificate, std::move(server));
    if (!started) return started.error();
    server_ = *std::move(started);
    if (answers_until_) server_->BeginDrain();
    port_ = server_->port();
    Log().Info("Serving webhooks", {{"port", server_->port()}, {"paths", endpoints->size()}});
  }
  from_files_ = *std::move(info);
  return {};
}

void ManagerWebhooks::WatchFiles(const Context& ctx) {
  std::string last_problem;
  while (ctx.SleepFor(options().cert_poll)) {
    const Result<std::optional<serve::HttpTlsOptions>> read = files_->ReadIfChanged();
    Result<void> taken;
    if (!read) {
      taken = read.error();
    } else if (*read) {
      taken = Use(**read);
      if (taken) Log().Info("The certificate of the webhooks was replaced");
      if (!taken) files_->Refused();
    }
    const std::string problem = taken ? "" : taken.error().ToString();
    if (!taken && problem != last_problem)
      Log().Error(taken.error(), "The new certificate of the webhooks is not usable; the old one stays");
    last_problem = problem;
  }
}

void ManagerWebhooks::Wake() {
  if (WebhookCertificates* const keeps = certificates()) keeps->Wake();
}

void ManagerWebhooks::BeginShutdown() {
  MutexLock lock(mu_);
  if (!answers_until_) answers_until_ = parts_.clock->Later(std::max(options().shutdown_delay, std::chrono::nanoseconds(0)));
  if (server_) server_->BeginDrain();
}

void ManagerWebhooks::Stop() {
  BeginShutdown();
  WebhookServer* server = nullptr;
  Clock::TimePoint until;
  {
    MutexLock lock(mu_);
    server = server_.get();
    until = *answers_until_;
  }
  if (server != nullptr) {
    const Context patience = Context::Background(parts_.clock);
    (void)patience.SleepUntil(until);
    (void)server->Drain(patience.WithTimeout(kDrain));
  }
  if (stop_) stop_->Cancel();
  thread_.Join();
  collector_ = {};
  port_ = 0;
  std::unique_ptr<WebhookServer> ended;
  {
    MutexLock lock(mu_);
    ended = std::move(server_);
  }
  events_ = EventRecorder();
}

Result<void> ManagerWebhooks::Ready() const {
  {
    MutexLock lock(mu_);
    if (answers_until_) return Error::Internal("the manager is stopping");
    if (certificates_ == nullptr) {
      if (!from_files_) return Error::Internal("there is no certificate yet");
      const Clock::WallTime now = parts_.clock->WallNow();
      if (now < from_files_->not_before || now >= from_files_->not_after)
        return Error::Internal("the certificate in " + options().cert_path + " is not valid at this time");
      return {};
    }
  }
  return certificates()->Ready();
}

std::string ManagerWebhooks::Note() const {
  const WebhookCertificates* const keeps = certificates();
  return keeps == nullptr ? "" : keeps->Note();
}

Value ManagerWebhooks::Report() const {
  if (empty()) return {};
  const WebhookCertificates* const keeps = certificates();
  Value out = keeps != nullptr ? keeps->Report() : Value::Object();
  out["port"] = Value(static_cast<std::int64_t>(port_.load()));
  const Result<void> ready = Ready();
  out["ready"] = Value(ready.ok());
  if (!ready) out["notReady"] = Value(ready.error().ToString());
  for (const WebhookSpec& spec : specs_) {
    Value paths = Value::Array();
    for (const WebhookEndpoint& endpoint : spec.endpoints) paths.MutableList().push_back(Value(endpoint.path));
    out["webhooks"].MutableList().push_back(Value::Object({{"name", Value(spec.name)}, {"paths", std::move(paths)}}));
  }
  for (const ConversionSpec& spec : conversions_) {
    const std::string name = fmt::format("conversion of {}.{}", spec.kind(), spec.group());
    out["webhooks"].MutableList().push_back(Value::Object({{"name", Value(name)}, {"paths", Value::Array({Value(spec.path)})}}));
  }
  return out;
}

void ManagerWebhooks::Collect(MetricsSink& sink) const {
  if (const WebhookCertificates* const keeps = certificates()) keeps->Collect(sink);
  MutexLock lock(mu_);
  if (from_files_ && certificates_ == nullptr) {
    sink.Set("kubexx_webhook_certificate_expiry_seconds", {{"certificate", "serving"}},
             std::chrono::duration<double>(from_files_->not_after - parts_.clock->WallNow()).count());
  }
  if (!server_) return;
  const serve::HttpUsage usage = server_->usage();
  sink.Set("kubexx_http_server_connections", {{"server", "webhook"}}, static_cast<double>(usage.connections));
  sink.Set("kubexx_http_server_bytes_held", {{"server", "webhook"}}, static_cast<double>(usage.bytes_held));
  const auto closed = [&](std::string_view reason, std::uint64_t count) {
    sink.Add("kubexx_http_server_closed_total", {{"reason", reason}, {"server", "webhook"}}, static_cast<double>(count));
  };
  closed("connections", usage.closed_for_connections);
  closed("bytes", usage.closed_for_bytes);
  closed("deadline", usage.closed_for_deadline);
  closed("flood", usage.closed_for_flood);
}

}  // namespace kube::internal
