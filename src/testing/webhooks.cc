#include "kube/testing/webhooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "kube/api/admissionregistration/v1.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/meta/dynamic_object.h"
#include "kube/serve/certificate.h"
#include "kube/transport/http.h"
#include "kube/webhook/configurations.h"
#include "kube/webhook/conversion.h"
#include "kube/webhook/webhook.h"
#include "kube/webhook/webhook_server.h"

namespace kube::testing {
namespace {

using admissionregistration::v1::MutatingWebhookConfiguration;
using admissionregistration::v1::ValidatingWebhookConfiguration;
using apiextensions::v1::CustomResourceDefinition;
using core::v1::ConfigMap;

constexpr std::chrono::milliseconds kBetweenProbes(10);

// ConfigMaps with this label are for the probes of one installation.
constexpr std::string_view kProbeLabel = "testing.kubexx.dev/probe";
constexpr const char* kProbeColumn = "Kubexx-Testing-Probe";

// A webhook of the same configuration that denies what only InstallWebhooks sends: when it answers, the server has read the configuration.
WebhookSpec Probe(bool mutating, const std::string& name) {
  const std::string way = mutating ? "mutating" : "validating";
  return RawWebhook(
      {.mutating = mutating,
       .name = way + ".probe.testing.kubexx.dev",
       .path = "/testing-probe-" + way,
       .rules = {{.operations = AdmissionOperation::kCreate, .groups = {""}, .versions = {"v1"}, .resources = {"configmaps"}}},
       .failure_policy = WebhookFailurePolicy::kFail,
       .object_selector = {.match_labels = {{String(kProbeLabel), String(name + "-" + way)}}},
       .exclude_own_namespace = false},
      [way](const Context&, const AdmissionRequest&) { return Admission::Deny("probed: " + way); });
}

// The same webhooks, except that they allow probes: a function that denies them would hide the expected answer.
void PassProbes(std::vector<WebhookSpec>& specs, const std::string& name) {
  const WebhookSpec allows =
      RawWebhook({.name = "allow.probe.testing.kubexx.dev", .rules = {{.groups = {""}, .versions = {"v1"}, .resources = {"configmaps"}}}},
                 [](const Context&, const AdmissionRequest&) { return Admission::Allow(); });
  const std::string mark = fmt::format("\"{}\":\"{}-", kProbeLabel, name);
  for (WebhookSpec& spec : specs) {
    for (WebhookEndpoint& endpoint : spec.endpoints) {
      endpoint.serve = [mark, serve = endpoint.serve, allow = allows.endpoints.at(0).serve](const Context& ctx, std::string_view body) {
        return body.find(mark) == std::string_view::npos ? serve(ctx, body) : allow(ctx, body);
      };
    }
  }
}

class Installed final : public InstalledWebhooks {
 public:
  Installed(Client client, std::string name) : client_(std::move(client)), name_(std::move(name)) {}
  ~Installed() override {
    const Context ctx = Context::Background().WithTimeout(std::chrono::seconds(10));
    if (has_mutating_) (void)client_.Delete<MutatingWebhookConfiguration>(ctx, {"", String(name_)});
    if (has_validating_) (void)client_.Delete<ValidatingWebhookConfiguration>(ctx, {"", String(name_)});
    for (const auto& [crd, conversion] : replaced_) (void)Change(ctx, crd, {{"/spec/conversion", conversion}});
  }

  std::uint16_t port() const override { return server_->port(); }
  std::string url() const override { return fmt::format("https://127.0.0.1:{}", port()); }
  const std::string& ca_pem() const override { return ca_pem_; }

  Result<void> Start(const Context& ctx, std::vector<WebhookSpec> specs, const std::vector<ConversionSpec>& conversions) {
    const Result<serve::CertificateAuthority> ca = serve::CertificateAuthority::Create(name_.substr(0, 64));
    if (!ca) return ca.error();
    const Result<serve::KeyPair> leaf = ca->Issue({.common_name = "webhook", .addresses = {"127.0.0.1"}, .server = true});
    if (!leaf) return leaf.error();
    ca_pem_ = ca->certificate_pem();
    bool mutates = false, validates = false;
    for (const WebhookSpec& spec : specs) {
      if (spec.problem) return spec.problem->WithContext("webhook " + spec.name);
      for (const WebhookEntry& entry : spec.entries) (entry.mutating ? mutates : validates) = true;
    }
    PassProbes(specs, name_);
    if (mutates) specs.push_back(Probe(true, name_));
    if (validates) specs.push_back(Probe(false, name_));
    std::vector<WebhookEndpoint> endpoints;
    for (const WebhookSpec& spec : specs) endpoints.insert(endpoints.end(), spec.endpoints.begin(), spec.endpoints.end());
    Result<std::vector<WebhookEndpoint>> converting = ConversionEndpoints(conversions);
    if (!converting) return converting.error();
    endpoints.insert(endpoints.end(), converting->begin(), converting->end());
    Result<std::unique_ptr<WebhookServer>> server = WebhookServer::Start(
        endpoints, {.certificate_pem = leaf->certificate_pem, .key_pem = leaf->key_pem}, {.bind_address = "127.0.0.1", .port = 0});
    if (!server) return server.error();
    server_ = *std::move(server);
    const Result<WebhookConfigurations> made = MakeWebhookConfigurations(specs, {.name = name_, .url = url(), .ca_bundle = ca_pem_});
    if (!made) return made.error();
    if (made->mutating) {
      if (auto created = client_.Create(ctx, *made->mutating); !created) return created.error();
      has_mutating_ = true;
    }
    if (made->validating) {
      if (auto created = client_.Create(ctx, *made->validating); !created) return created.error();
      has_validating_ = true;
    }
    if (mutates) {
      if (Result<void> called = AwaitCalls(ctx, "mutating"); !called) return called;
    }
    if (validates) {
      if (Result<void> called = AwaitCalls(ctx, "validating"); !called) return called;
    }
    for (const ConversionSpec& conversion : conversions) {
      if (Result<void> converted = Convert(ctx, conversion); !converted) return converted;
    }
    return {};
  }

 private:
  // A value to set, or null to remove it, by its JSON pointer.
  using Changes = std::vector<std::pair<std::string, Value>>;
  Result<void> Change(const Context& ctx, const String& crd, const Changes& changes) const {
    Value patch = Value::Array();
    for (const auto& [path, value] : changes) {
      Value operation = Value::Object({{"op", value.is_null() ? "remove" : "add"}, {"path", Value(path)}});
      if (!value.is_null()) operation["value"] = value;
      patch.MutableList().push_back(std::move(operation));
    }
    const Result<DynamicObject> changed = client_.Resource(GvrOf<CustomResourceDefinition>()).Patch(ctx, {"", crd}, Patch::Json(patch));
    return changed ? Result<void>() : changed.error();
  }

  // When a server uses a conversion cannot be read from it, and a call needs an object that is valid. A printer column, which is there in
  // the same moment, can be read: it shows in tables.
  Result<void> Convert(const Context& ctx, const ConversionSpec& spec) {
    const KindInfo& kind = *spec.hub->kind;
    const String name(fmt::format("{}.{}", kind.resource, kind.group));
    const Result<DynamicObject> live = client_.Resource(GvrOf<CustomResourceDefinition>()).Get(ctx, {"", name});
    if (!live) return live.error();
    Result<CustomResourceDefinition> crd = FromDynamic<CustomResourceDefinition>(*live);
    if (!crd) return crd.error();
    if (Result<void> set = SetConversion(spec, {.name = name_, .url = url(), .ca_bundle = ca_pem_}, *crd); !set) return set;
    const Result<Value> conversion = ToValue(*crd->spec.conversion);
    if (!conversion) return conversion.error();
    const List<Value>& versions = live->value()["spec"]["versions"].list();
    const auto stored =
        std::find_if(versions.begin(), versions.end(), [](const Value& version) { return version["storage"].bool_value(); });
    if (stored == versions.end()) return Error::Invalid(fmt::format("{}: no version is stored", name));
    const std::string path = fmt::format("/spec/versions/{}/additionalPrinterColumns", stored - versions.begin());
    const Value& columns = (*stored)["additionalPrinterColumns"];
    List<Value> probed = columns.list();
    probed.push_back(Value::Object({{"name", kProbeColumn}, {"type", "string"}, {"jsonPath", ".metadata.name"}}));
    if (Result<void> changed = Change(ctx, name, {{"/spec/conversion", *conversion}, {path, Value(probed)}}); !changed) return changed;
    const Value& before = live->value()["spec"]["conversion"];
    replaced_.emplace_back(name, before.is_null() ? Value::Object({{"strategy", "None"}}) : before);
    const Result<void> seen = AwaitColumn(ctx, kind, (*stored)["name"].string_value());
    const Result<void> restored = Change(ctx, name, {{path, columns}});
    return seen ? restored : seen;
  }

  Result<void> AwaitColumn(const Context& ctx, const KindInfo& kind, const String& version) const {
    for (;;) {
      HttpRequest request;
      // A list without objects needs no conversion.
      request.target = fmt::format("/apis/{}/{}/{}?fieldSelector=metadata.name%3D{}", kind.group, version, kind.resource, "none");
      request.url_template = "/apis/{group}/{version}/{resource}";
      request.verb = "list";
      request.headers.Add("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
      const Result<HttpResponse> table = client_.Raw(ctx, std::move(request));
      if (table && table->body.find(kProbeColumn) != std::string::npos) return {};
      if (Result<void> slept = ctx.SleepFor(kBetweenProbes); !slept)
        return slept.error().WithContext(fmt::format("the API server does not use the conversion of {}.{} ({})", kind.resource, kind.group,
                                                     table ? "its printer columns are the old ones" : table.error().ToString()));
    }
  }

  Result<void> AwaitCalls(const Context& ctx, const std::string& way) const {
    ConfigMap probe;
    probe.metadata.namespace_ = "default";
    probe.metadata.name = name_ + "-probe";
    probe.metadata.labels[kProbeLabel] = String(name_ + "-" + way);
    for (std::string last = "it allows what the webhook denies";;) {
      const Result<ConfigMap> created = client_.Create(ctx, probe, {.dry_run = true});
      if (!created && created.error().ToString().find("probed: " + way) != std::string::npos) return {};
      if (!created) last = created.error().ToString();
      if (Result<void> slept = ctx.SleepFor(kBetweenProbes); !slept)
        return slept.error().WithContext(fmt::format("the API server does not call {} webhooks at {} ({})", way, url(), last));
    }
  }

  const Client client_;
  const std::string name_;
  std::string ca_pem_;
  std::unique_ptr<WebhookServer> server_;
  bool has_mutating_ = false, has_validating_ = false;
  std::vector<std::pair<String, Value>> replaced_;  // spec.conversion of definitions
};

}  // namespace

InstalledWebhooks::~InstalledWebhooks() = default;

Result<std::unique_ptr<InstalledWebhooks>> InstallWebhooks(const Context& ctx, const Client& client, const std::vector<WebhookSpec>& specs,
                                                           InstallWebhooksOptions options) {
  auto installed = std::make_unique<Installed>(client, std::move(options.name));
  if (Result<void> started = installed->Start(ctx, specs, options.conversions); !started) return started.error();
  return std::unique_ptr<InstalledWebhooks>(std::move(installed));
}

}  // namespace kube::testing
