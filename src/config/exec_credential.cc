#include "config/exec_credential.h"

#include <utility>

#include "codec/base64.h"
#include "config/text.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/value/time.h"

namespace kube::internal {
namespace {

Error Bad(std::string message) { return Error(ErrorKind::kAuth, std::move(message)); }

// A member that is a string or absent. The caller's message never repeats what the plugin wrote.
Result<std::string> Text(const Value& object, std::string_view name) {
  const Value& member = object[name];
  if (member.is_null()) return std::string();
  if (!member.is_string())
    return Bad("status." + std::string(name) + " of its output has to be a string, not " + std::string(member.kind_name()));
  return member.string_value().str();
}

Result<Value> Read(std::string_view text) {
  if (text.size() > kMaxExecOutput) return Bad("it printed more than " + std::to_string(kMaxExecOutput) + " bytes");
  const std::string_view content = Trimmed(text);
  if (content.empty()) return Bad("it printed nothing; it has to print an ExecCredential");
  if (content.front() == '{') {
    Result<Value> json = ParseJson(content);
    if (json) return json;
  } else if (Result<std::vector<Value>> yaml = ParseYaml(content); yaml && yaml->size() == 1 && yaml->front().is_object()) {
    return yaml->front();
  }
  return Bad("the " + std::to_string(text.size()) +
             " bytes that it printed are not an ExecCredential in JSON; messages belong on standard error");
}

}  // namespace

bool IsExecApiVersion(std::string_view api_version) {
  return api_version == "client.authentication.k8s.io/v1" || api_version == "client.authentication.k8s.io/v1beta1";
}

bool IsHeaderToken(std::string_view token) {
  for (const char c : token) {
    if (c <= ' ' || c > '~') return false;
  }
  return !token.empty();
}

Result<ExecCredential> ParseExecCredential(std::string_view text, std::string_view api_version) {
  const Result<Value> root = Read(text);
  if (!root) return root.error();
  const Value& object = *root;
  if (object["kind"].string_value() != "ExecCredential") return Bad("its output has to be of the kind ExecCredential");
  const std::string_view version = object["apiVersion"].string_value();
  if (version != api_version) {
    // The message repeats the plugin's apiVersion only if it is a known one.
    const std::string got = version.empty() ? "none" : IsExecApiVersion(version) ? std::string(version) : "another";
    return Bad("it is configured for apiVersion " + std::string(api_version) + ", but its output has " + got +
               "; change apiVersion of the exec entry in the kubeconfig, or the plugin");
  }
  const Value& status = object["status"];
  if (status.is_null()) return Bad("its output has no status");
  if (!status.is_object()) return Bad("status of its output has to be an object");

  ExecCredential out;
  Result<std::string> token = Text(status, "token");
  if (!token) return token.error();
  Result<std::string> certificate = Text(status, "clientCertificateData");
  if (!certificate) return certificate.error();
  Result<std::string> key = Text(status, "clientKeyData");
  if (!key) return key.error();
  Result<std::string> expires = Text(status, "expirationTimestamp");
  if (!expires) return expires.error();

  if (token->empty() && certificate->empty() && key->empty()) {
    return Bad("its output has neither status.token nor status.clientCertificateData and status.clientKeyData");
  }
  if (certificate->empty() != key->empty()) {
    return Bad(std::string("its output has ") + (key->empty() ? "status.clientCertificateData but no status.clientKeyData"
                                                              : "status.clientKeyData but no status.clientCertificateData"));
  }
  if (!token->empty() && !IsHeaderToken(*token)) return Bad("status.token of its output has characters that a header cannot have");
  out.token = SecretString(*std::move(token));
  out.certificate_pem = *std::move(certificate);
  out.key_pem = SecretString(*std::move(key));
  if (!expires->empty()) {
    const Result<Time> time = Time::Parse(*expires);
    if (!time) return Bad("status.expirationTimestamp of its output is not a time such as 2006-01-02T15:04:05Z");
    // Go's zero time means: none. What the clock cannot hold never comes, or is long over.
    constexpr std::int64_t kLimit = 9'000'000'000;
    if (const std::int64_t seconds = time->unix_seconds(); *time != Time() && seconds < kLimit) {
      out.expires = std::chrono::system_clock::time_point(std::chrono::seconds(seconds < -kLimit ? -kLimit : seconds));
    }
  }
  return out;
}

Value ExecClusterInfo(const ClientConfig& config, std::string_view ca_pem) {
  Value cluster = Value::Object({{"server", config.host}});
  if (!config.tls.server_name.empty()) cluster["tls-server-name"] = config.tls.server_name;
  if (config.tls.insecure) cluster["insecure-skip-tls-verify"] = true;
  if (!ca_pem.empty()) {
    std::string encoded;
    AppendBase64(ca_pem, encoded);
    cluster["certificate-authority-data"] = encoded;
  }
  if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
  if (config.disable_compression) cluster["disable-compression"] = true;
  cluster["config"] = config.exec != nullptr ? config.exec->cluster_extension : Value();
  return cluster;
}

std::string ExecInfo(std::string_view api_version, bool interactive, const Value& cluster) {
  Value spec = Value::Object({{"interactive", interactive}});
  if (!cluster.is_null()) spec["cluster"] = cluster;
  return ToJson(Value::Object({{"kind", "ExecCredential"}, {"apiVersion", api_version}, {"spec", spec}}));
}

}  // namespace kube::internal
