#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/base64.h"
#include "config/kubeconfig_values.h"
#include "config/text.h"
#include "kube/codec/yaml.h"
#include "kube/config/kubeconfig.h"

namespace kube {
namespace internal {
namespace {

Value Start(const Value& unknown) { return unknown.is_object() ? unknown : Value::Object(); }

void SetText(Value& out, std::string_view name, std::string_view text) {
  if (!text.empty()) out[name] = text;
}
void SetFlag(Value& out, std::string_view name, bool flag) {
  if (flag) out[name] = true;
}
void SetData(Value& out, std::string_view name, std::string_view bytes) {
  if (bytes.empty()) return;
  std::string text;
  AppendBase64(bytes, text);
  out[name] = text;
}

// Null if there is none: kubectl has it so.
Value Texts(const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  List<Value> list;
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

void SetExtensions(Value& out, const std::map<std::string, Value>& extensions) {
  if (extensions.empty()) return;
  List<Value> list;
  for (const auto& [name, extension] : extensions) list.push_back(Value::Object({{"name", name}, {"extension", extension}}));
  out["extensions"] = list;
}

Value ExecToValue(const ExecConfig& exec) {
  Value out = Start(exec.unknown);
  out["command"] = exec.command;
  out["args"] = Texts(exec.args);
  List<Value> env;
  for (const auto& [name, value] : exec.env) env.push_back(Value::Object({{"name", name}, {"value", value}}));
  out["env"] = exec.env.empty() ? Value() : Value(env);
  SetText(out, "apiVersion", exec.api_version);
  SetText(out, "installHint", exec.install_hint);
  out["provideClusterInfo"] = exec.provide_cluster_info;
  switch (exec.interactive_mode) {
    case ExecConfig::InteractiveMode::kNever:
      out["interactiveMode"] = "Never";
      break;
    case ExecConfig::InteractiveMode::kIfAvailable:
      out["interactiveMode"] = "IfAvailable";
      break;
    case ExecConfig::InteractiveMode::kAlways:
      out["interactiveMode"] = "Always";
      break;
    case ExecConfig::InteractiveMode::kUnset:
      break;  // the unknown members may have one
  }
  return out;
}

Value ProviderToValue(const AuthProviderConfig& provider) {
  Value out = Start(provider.unknown);
  out["name"] = provider.name;
  Value config;
  for (const auto& [key, value] : provider.config) config[key] = value;
  out["config"] = config;
  return out;
}

template <typename Entry>
Value Entries(const std::map<std::string, Entry>& entries, const char* singular, Value (*to_value)(const Entry&)) {
  if (entries.empty()) return {};
  List<Value> list;
  for (const auto& [name, entry] : entries) {
    Value item = Start(entry.entry_unknown);
    item["name"] = name;
    item[singular] = to_value(entry);
    list.push_back(std::move(item));
  }
  return list;
}

// The path of a text that is not UTF-8; empty if there is none.
std::string FindBadText(const Value& value, const std::string& path) {
  if (value.is_string()) return IsUtf8(value.string_value()) ? "" : path;
  std::size_t at = 0;
  for (const Value& item : value.list()) {
    if (std::string bad = FindBadText(item, path + "[" + std::to_string(at++) + "]"); !bad.empty()) return bad;
  }
  for (const auto& entry : value.object()) {
    const std::string here = path.empty() ? CleanText(entry.key) : path + "." + CleanText(entry.key);
    if (!IsUtf8(entry.key)) return here;
    if (std::string bad = FindBadText(entry.value, here); !bad.empty()) return bad;
  }
  return {};
}

}  // namespace

Value ClusterToValue(const KubeconfigCluster& cluster) {
  Value out = Start(cluster.unknown);
  out["server"] = cluster.server;
  SetText(out, "tls-server-name", cluster.tls_server_name);
  SetFlag(out, "insecure-skip-tls-verify", cluster.insecure_skip_tls_verify);
  SetText(out, "certificate-authority", cluster.certificate_authority);
  SetData(out, "certificate-authority-data", cluster.certificate_authority_data);
  SetText(out, "proxy-url", cluster.proxy_url);
  SetFlag(out, "disable-compression", cluster.disable_compression);
  SetExtensions(out, cluster.extensions);
  return out;
}

Value UserToValue(const KubeconfigUser& user) {
  Value out = Start(user.unknown);
  SetText(out, "client-certificate", user.client_certificate);
  SetData(out, "client-certificate-data", user.client_certificate_data);
  SetText(out, "client-key", user.client_key);
  SetData(out, "client-key-data", user.client_key_data.reveal());
  SetText(out, "token", user.token.reveal());
  SetText(out, "tokenFile", user.token_file);
  SetText(out, "as", user.impersonate.user);
  SetText(out, "as-uid", user.impersonate.uid);
  if (!user.impersonate.groups.empty()) out["as-groups"] = Texts(user.impersonate.groups);
  if (!user.impersonate.extra.empty()) {
    Value extra;
    for (const auto& [key, values] : user.impersonate.extra) extra[key] = Texts(values);
    out["as-user-extra"] = extra;
  }
  SetText(out, "username", user.username);
  SetText(out, "password", user.password.reveal());
  if (user.auth_provider) out["auth-provider"] = ProviderToValue(*user.auth_provider);
  if (user.exec) out["exec"] = ExecToValue(*user.exec);
  SetExtensions(out, user.extensions);
  return out;
}

Value ContextToValue(const KubeconfigContext& context) {
  Value out = Start(context.unknown);
  out["cluster"] = context.cluster;
  out["user"] = context.user;
  SetText(out, "namespace", context.ns);
  SetExtensions(out, context.extensions);
  return out;
}

Value KubeconfigToValue(const Kubeconfig& kubeconfig) {
  Value out = Start(kubeconfig.unknown);
  out["apiVersion"] = "v1";
  out["kind"] = "Config";
  out["clusters"] = Entries(kubeconfig.clusters, "cluster", &ClusterToValue);
  out["users"] = Entries(kubeconfig.users, "user", &UserToValue);
  out["contexts"] = Entries(kubeconfig.contexts, "context", &ContextToValue);
  out["current-context"] = kubeconfig.current_context;
  if (!kubeconfig.preferences.is_null()) out["preferences"] = kubeconfig.preferences;
  SetExtensions(out, kubeconfig.extensions);
  return out;
}

}  // namespace internal

Result<std::string> Kubeconfig::ToYaml() const {
  const Value value = internal::KubeconfigToValue(*this);
  if (std::string bad = internal::FindBadText(value, ""); !bad.empty())
    return Error(ErrorKind::kConfig, "kubeconfig: " + bad + ": not UTF-8, so it cannot be written");
  return kube::ToYaml(value);
}

}  // namespace kube
