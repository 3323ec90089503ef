#include "hooks.h"

#include <fmt/core.h>

#include <charconv>

#include "gadget.h"
#include "kube/api/core/v1.h"
#include "kube/webhook/conversion.h"
#include "kube/webhook/webhook.h"

namespace kube::bench {
namespace {

Admission Validate(const AdmissionRequest&, const core::v1::Pod*, const core::v1::Pod* pod) {
  Admission answer;
  for (std::size_t i = 0; i < pod->spec.containers.size(); ++i) {
    const core::v1::Container& container = pod->spec.containers[i];
    if (container.image.view().find(':') == std::string_view::npos)
      answer.Invalid(fmt::format("spec.containers[{}].image", i), container.image, "needs a tag");
    if (container.name == "forbidden") answer.Forbidden(fmt::format("spec.containers[{}].name", i), "is reserved");
  }
  return answer;
}

void Default(const AdmissionRequest&, core::v1::Pod& pod) {
  pod.metadata.labels.Set("example.com/checked", "true");
  pod.metadata.annotations.Set("example.com/defaulted-by", "bench");
  for (core::v1::Container& container : pod.spec.containers) container.termination_message_policy = "FallbackToLogsOnError";
}

Result<void> ToHub(const v1::Gadget& from, v2::Gadget& to) {
  const std::string_view address = from.spec.address.view();
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return Error::Invalid(fmt::format("spec.address: expected HOST:PORT, got \"{}\"", address));
  to.spec.host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  if (std::from_chars(port.data(), port.data() + port.size(), to.spec.port).ec != std::errc())
    return Error::Invalid(fmt::format("spec.address: the port of \"{}\" is no number", address));
  return {};
}
void FromHub(const v2::Gadget& from, v1::Gadget& to) { to.spec.address = fmt::format("{}:{}", from.spec.host.view(), from.spec.port); }

}  // namespace

Result<std::vector<WebhookEndpoint>> BenchEndpoints(bool keep_lost) {
  const WebhookSpec spec = WebhookFor<core::v1::Pod>("pods.bench.example.com").Default(Default).Validate(Validate);
  Result<std::vector<WebhookEndpoint>> out =
      ConversionEndpoints({Conversion<v2::Gadget>().Spoke<v1::Gadget>(ToHub, FromHub).KeepLost(keep_lost)});
  if (out) out->insert(out->end(), spec.endpoints.begin(), spec.endpoints.end());
  return out;
}

}  // namespace kube::bench
