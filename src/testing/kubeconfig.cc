#include "kube/testing/kubeconfig.h"

#include "codec/base64.h"
#include "kube/codec/yaml.h"
#include "kube/value/value.h"

namespace kube::testing {
namespace {

std::string Base64(const std::string& text) {
  std::string out;
  kube::internal::AppendBase64(text, out);
  return out;
}

}  // namespace

std::string MakeKubeconfig(const KubeconfigParts& parts) {
  Value cluster = Value::Object({{"server", parts.server}});
  if (!parts.ca_pem.empty()) cluster["certificate-authority-data"] = Base64(parts.ca_pem);
  Value user = Value::Object();
  if (!parts.certificate_pem.empty()) user["client-certificate-data"] = Base64(parts.certificate_pem);
  if (!parts.key_pem.empty()) user["client-key-data"] = Base64(parts.key_pem);
  if (!parts.token.empty()) user["token"] = parts.token;
  Value context = Value::Object({{"cluster", parts.name}, {"user", parts.name}});
  if (!parts.namespace_.empty()) context["namespace"] = parts.namespace_;
  return ToYaml(Value::Object({
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters", Value::Array({Value::Object({{"name", parts.name}, {"cluster", cluster}})})},
      {"users", Value::Array({Value::Object({{"name", parts.name}, {"user", user}})})},
      {"contexts", Value::Array({Value::Object({{"name", parts.name}, {"context", context}})})},
      {"current-context", parts.name},
  }));
}

}  // namespace kube::testing
