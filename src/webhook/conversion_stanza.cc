// What a CustomResourceDefinition says about its conversion webhook.
#include <fmt/format.h>

#include <algorithm>

#include "kube/api/apiextensions/v1.h"
#include "kube/webhook/conversion.h"

namespace kube {

using apiextensions::v1::CustomResourceConversion;
using apiextensions::v1::CustomResourceDefinition;

Result<CustomResourceConversion> MakeConversionStanza(const ConversionSpec& spec, const WebhookConfigurationOptions& options) {
  if (Result<Converter> usable = Converter::Make(spec); !usable) return usable.error();
  if (options.url.empty() && options.ns.empty())
    return Error::Invalid(
        fmt::format("the conversion of {}.{} needs the namespace that the program runs in, or a URL", spec.kind(), spec.group()));
  CustomResourceConversion out{.strategy = apiextensions::v1::kWebhookConverter};
  auto& webhook = out.webhook.Mutable();
  webhook.conversion_review_versions = {"v1"};
  auto& client = webhook.client_config.Mutable();
  client.ca_bundle = options.ca_bundle;
  if (!options.url.empty()) {
    client.url = String(options.url + spec.path);
    return out;
  }
  auto& service = client.service.Mutable();
  service.namespace_ = options.ns;
  service.name = WebhookServiceName(options);
  service.path = String(spec.path);
  service.port = options.service_port;
  return out;
}

Result<void> CheckVersions(const ConversionSpec& spec, const CustomResourceDefinition& crd) {
  const auto wrong = [&](const std::string& what) {
    return Error::Invalid(fmt::format("CustomResourceDefinition {}: {}", crd.metadata.name, what));
  };
  if (crd.spec.group != spec.group() || crd.spec.names.kind != spec.kind())
    return wrong(
        fmt::format("it is of {}.{}, and the conversion of {}.{}", crd.spec.names.kind, crd.spec.group, spec.kind(), spec.group()));
  const std::vector<std::string> versions = spec.versions();
  for (const auto& version : crd.spec.versions) {
    if (std::find(versions.begin(), versions.end(), version.name.view()) == versions.end())
      return wrong(fmt::format("the program does not convert version {}: add a Spoke for it to Conversion<>", version.name));
  }
  // Removed versions of which objects may be left.
  for (const String& stored : crd.status.stored_versions) {
    if (std::find(versions.begin(), versions.end(), stored.view()) == versions.end())
      return wrong(
          fmt::format("objects may be stored as {}, which the program does not convert: keep its Spoke until `kubexx migrate storage` "
                      "has rewritten them",
                      stored));
  }
  return {};
}

Result<void> SetConversion(const ConversionSpec& spec, const WebhookConfigurationOptions& options, CustomResourceDefinition& crd) {
  if (Result<void> checked = CheckVersions(spec, crd); !checked) return checked;
  const std::string stored = spec.stored_version.empty() ? spec.versions()[0] : spec.stored_version;
  for (const auto& version : crd.spec.versions) {
    if (version.storage && version.name != stored)
      return Error::Invalid(
          fmt::format("CustomResourceDefinition {}: {} is stored, and the conversion expects {}: add StoredAs to Conversion<>",
                      crd.metadata.name, version.name, stored));
  }
  Result<CustomResourceConversion> stanza = MakeConversionStanza(spec, options);
  if (!stanza) return stanza.error();
  if (options.ca_bundle.empty())
    stanza->webhook.Mutable().client_config.Mutable().ca_bundle = crd.spec.conversion->webhook->client_config->ca_bundle;
  crd.spec.conversion = *std::move(stanza);
  return {};
}

}  // namespace kube
