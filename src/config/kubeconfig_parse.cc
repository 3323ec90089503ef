#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/base64.h"
#include "config/text.h"
#include "kube/codec/yaml.h"
#include "kube/config/kubeconfig.h"

namespace kube {
namespace {

using internal::Quoted;

// Where the first thing that is wrong goes. Nothing that may be secret is ever repeated in it.
struct Problem {
  std::string text;
  void Add(const std::string& where, std::string_view what) {
    if (text.empty()) text = where.empty() ? std::string(what) : where + ": " + std::string(what);
  }
};

// Takes the members out of an object one by one; what is left is unknown. Null is as good as absent.
class Members {
 public:
  Members(const Value& object, std::string where, Problem& problem) : where_(std::move(where)), problem_(problem) {
    if (object.is_null()) return;
    if (!object.is_object()) {
      problem_.Add(where_, fmt::format("expected an object, found {}", object.kind_name()));
      return;
    }
    rest_ = object;
  }

  Value Take(std::string_view name) {
    const Value* found = std::as_const(rest_).Find(name);
    if (found == nullptr) return {};
    Value value = *found;
    rest_.MutableObject().Erase(name);
    return value;
  }

  void Text(std::string_view name, std::string& out) {
    const Value value = Take(name);
    if (value.is_string()) {
      out = value.string_value().str();
    } else if (!value.is_null()) {
      Wrong(name, "a string", value);
    }
  }
  void Text(std::string_view name, SecretString& out) {
    std::string text;
    Text(name, text);
    out = SecretString(std::move(text));
  }
  void Base64(std::string_view name, std::string& out) {
    std::string text;
    Text(name, text);
    out.clear();
    if (!internal::DecodeBase64(text, out)) problem_.Add(At(name), "not base64");
  }
  void Base64(std::string_view name, SecretString& out) {
    std::string text;
    Base64(name, text);
    out = SecretString(std::move(text));
  }
  void Bool(std::string_view name, bool& out) {
    const Value value = Take(name);
    if (value.is_bool()) {
      out = value.bool_value();
    } else if (!value.is_null()) {
      Wrong(name, "true or false", value);
    }
  }
  void Texts(std::string_view name, std::vector<std::string>& out) { ReadTexts(At(name), Take(name), out); }
  void TextMap(std::string_view name, std::map<std::string, std::string>& out) {
    const Value value = Take(name);
    if (!value.is_null() && !value.is_object()) Wrong(name, "an object", value);
    for (const auto& entry : value.object()) {
      if (!entry.value.is_string() && !entry.value.is_null()) {
        problem_.Add(At(name) + "." + internal::CleanText(entry.key), Expected("a string", entry.value));
      }
      out[entry.key.str()] = entry.value.string_value().str();
    }
  }
  void TextsMap(std::string_view name, std::map<std::string, std::vector<std::string>>& out) {
    const Value value = Take(name);
    if (!value.is_null() && !value.is_object()) Wrong(name, "an object", value);
    for (const auto& entry : value.object()) ReadTexts(At(name) + "." + internal::CleanText(entry.key), entry.value, out[entry.key.str()]);
  }
  // A list of objects that have names, or null.
  List<Value> Objects(std::string_view name) {
    const Value value = Take(name);
    if (!value.is_null() && !value.is_list()) Wrong(name, "a list", value);
    return value.list();
  }
  void Extensions(std::map<std::string, Value>& out) {
    std::size_t at = 0;
    for (const Value& item : Objects("extensions")) {
      Members members(item, fmt::format("{}[{}]", At("extensions"), at++), problem_);
      std::string name;
      members.Text("name", name);
      if (!out.emplace(name, members.Take("extension")).second)
        problem_.Add(where_, "two extensions are named " + Quoted(name) + "; remove one");
    }
  }

  Value Rest() const { return std::as_const(rest_).object().empty() ? Value() : rest_; }
  std::string At(std::string_view name) const { return where_.empty() ? std::string(name) : where_ + ": " + std::string(name); }
  void Wrong(std::string_view name, std::string_view expected, const Value& found) { problem_.Add(At(name), Expected(expected, found)); }
  Problem& problem() { return problem_; }

 private:
  static std::string Expected(std::string_view what, const Value& found) {
    const bool unquoted = what == "a string" && (found.is_number() || found.is_bool());
    return fmt::format("expected {}, found {}{}", what, found.kind_name(), unquoted ? "; put it in quotes" : "");
  }
  void ReadTexts(const std::string& where, const Value& value, std::vector<std::string>& out) {
    if (!value.is_null() && !value.is_list()) problem_.Add(where, Expected("a list", value));
    for (const Value& item : value.list()) {
      if (!item.is_string()) problem_.Add(fmt::format("{}[{}]", where, out.size()), Expected("a string", item));
      out.push_back(item.string_value().str());
    }
  }

  Value rest_;
  std::string where_;
  Problem& problem_;
};

void Read(Members& from, KubeconfigCluster& out) {
  from.Text("server", out.server);
  from.Text("tls-server-name", out.tls_server_name);
  from.Bool("insecure-skip-tls-verify", out.insecure_skip_tls_verify);
  from.Text("certificate-authority", out.certificate_authority);
  from.Base64("certificate-authority-data", out.certificate_authority_data);
  from.Text("proxy-url", out.proxy_url);
  from.Bool("disable-compression", out.disable_compression);
  from.Extensions(out.extensions);
}

void Read(Members& from, ExecConfig& out) {
  from.Text("command", out.command);
  from.Texts("args", out.args);
  std::size_t at = 0;
  for (const Value& item : from.Objects("env")) {
    Members pair(item, fmt::format("{}[{}]", from.At("env"), at++), from.problem());
    std::string name, value;
    pair.Text("name", name);
    pair.Text("value", value);
    out.env.emplace_back(std::move(name), std::move(value));
  }
  from.Text("apiVersion", out.api_version);
  from.Text("installHint", out.install_hint);
  from.Bool("provideClusterInfo", out.provide_cluster_info);
  std::string mode;
  from.Text("interactiveMode", mode);
  using Mode = ExecConfig::InteractiveMode;
  out.interactive_mode = mode == "Never"         ? Mode::kNever
                         : mode == "IfAvailable" ? Mode::kIfAvailable
                         : mode == "Always"      ? Mode::kAlways
                                                 : Mode::kUnset;
  // The versions before v1 had no such member.
  if (mode.empty() &&
      (out.api_version == "client.authentication.k8s.io/v1beta1" || out.api_version == "client.authentication.k8s.io/v1alpha1"))
    out.interactive_mode = Mode::kIfAvailable;
  out.unknown = from.Rest();
  // One that is unknown is kept for writing and for Problems.
  if (!mode.empty() && out.interactive_mode == Mode::kUnset) out.unknown["interactiveMode"] = mode;
}

void Read(Members& from, KubeconfigUser& out) {
  from.Text("client-certificate", out.client_certificate);
  from.Base64("client-certificate-data", out.client_certificate_data);
  from.Text("client-key", out.client_key);
  from.Base64("client-key-data", out.client_key_data);
  from.Text("token", out.token);
  from.Text("tokenFile", out.token_file);
  from.Text("as", out.impersonate.user);
  from.Text("as-uid", out.impersonate.uid);
  from.Texts("as-groups", out.impersonate.groups);
  from.TextsMap("as-user-extra", out.impersonate.extra);
  from.Text("username", out.username);
  from.Text("password", out.password);
  if (const Value exec = from.Take("exec"); !exec.is_null()) {
    Members members(exec, from.At("exec"), from.problem());
    Read(members, out.exec.emplace());
  }
  if (const Value provider = from.Take("auth-provider"); !provider.is_null()) {
    Members members(provider, from.At("auth-provider"), from.problem());
    AuthProviderConfig& config = out.auth_provider.emplace();
    members.Text("name", config.name);
    members.TextMap("config", config.config);
    config.unknown = members.Rest();
  }
  from.Extensions(out.extensions);
}

void Read(Members& from, KubeconfigContext& out) {
  from.Text("cluster", out.cluster);
  from.Text("user", out.user);
  from.Text("namespace", out.ns);
  from.Extensions(out.extensions);
}

// The list `plural` of entries `{name: ..., <singular>: {...}}`.
template <typename Entry>
void ReadEntries(Members& root, const char* plural, const char* singular, const std::string& location, std::map<std::string, Entry>& out) {
  std::size_t at = 0;
  for (const Value& item : root.Objects(plural)) {
    const std::string where = fmt::format("{}[{}]", plural, at++);
    Members named(item, where, root.problem());
    if (item.is_null()) root.problem().Add(where, "expected an object, found null");
    std::string name;
    named.Text("name", name);
    Entry entry;
    Members members(named.Take(singular), std::string(singular) + " " + Quoted(name), root.problem());
    Read(members, entry);
    entry.unknown = members.Rest();
    entry.entry_unknown = named.Rest();
    entry.location = location;
    if (!out.emplace(name, std::move(entry)).second)
      root.problem().Add("", fmt::format("two {} are named {}; rename or remove one", plural, Quoted(name)));
  }
}

// The parser's messages quote what they stumble over, and that may be a secret.
std::string WithoutQuotedText(std::string_view message) {
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if (inside && c == '\\' && i + 1 < message.size()) {
      ++i;
    } else if (c == '"') {
      out += inside ? "...\"" : "\"";
      inside = !inside;
    } else if (!inside) {
      out += c;
    }
  }
  return internal::CleanText(out);
}

}  // namespace

Result<Kubeconfig> Kubeconfig::Parse(std::string_view text, const std::string& location) {
  const auto wrong = [&](const std::string& what) {
    return Error(ErrorKind::kConfig, (location.empty() ? "kubeconfig" : internal::CleanText(location)) + ": " + what);
  };
  Kubeconfig kubeconfig;
  Result<std::vector<YamlDocument>> documents = ReadYaml(text);
  if (!documents) return wrong(WithoutQuotedText(documents.error().message()));
  if (documents->empty()) return kubeconfig;
  if (documents->size() > 1) return wrong(fmt::format("{} YAML documents; a kubeconfig is one", documents->size()));
  const Value& value = documents->front().value;
  if (!value.is_object() && !value.is_null())
    return wrong(fmt::format("not a kubeconfig: expected an object, found {}", value.kind_name()));

  Problem problem;
  Members root(value, "", problem);
  std::string api_version, kind;
  root.Text("apiVersion", api_version);
  root.Text("kind", kind);
  if (!api_version.empty() && api_version != "v1") problem.Add("", "apiVersion " + Quoted(api_version) + " is not known; expected v1");
  if (!kind.empty() && kind != "Config") problem.Add("", "not a kubeconfig: kind " + Quoted(kind) + ", expected Config");
  ReadEntries(root, "clusters", "cluster", location, kubeconfig.clusters);
  ReadEntries(root, "users", "user", location, kubeconfig.users);
  ReadEntries(root, "contexts", "context", location, kubeconfig.contexts);
  root.Text("current-context", kubeconfig.current_context);
  kubeconfig.preferences = root.Take("preferences");
  if (!kubeconfig.preferences.is_null() && !kubeconfig.preferences.is_object())
    root.Wrong("preferences", "an object", kubeconfig.preferences);
  if (std::as_const(kubeconfig.preferences).object().empty()) kubeconfig.preferences = Value();
  root.Extensions(kubeconfig.extensions);
  kubeconfig.unknown = root.Rest();
  if (!problem.text.empty()) return wrong(problem.text);
  return kubeconfig;
}

}  // namespace kube
