#include "generate/webhooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kube/api/admissionregistration/v1.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/meta/validation.h"

namespace kube::generate {
namespace {

using admissionregistration::v1::MutatingWebhook;
using admissionregistration::v1::ValidatingWebhook;

constexpr std::string_view kWebhookMarker = "kubebuilder:webhook";
constexpr std::string_view kConfigurationMarker = "kubebuilder:webhookconfiguration";

bool EqualWithoutCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// A webhook of one marker. The first complaint stays, and nothing is made of it.
template <typename Webhook>
class WebhookMaker {
 public:
  explicit WebhookMaker(const Marker& marker) : arguments_(marker.arguments) {}

  std::optional<Value> Make(Problems& problems, const Position& at) {
    Value webhook = Value::Object({{"name", Text("name")},
                                   {"admissionReviewVersions", arguments_["admissionReviewVersions"]},
                                   {"clientConfig", ClientConfig()},
                                   {"failurePolicy", OneOf("failurePolicy", {"Fail", "Ignore"})},
                                   {"sideEffects", OneOf("sideEffects", {"None", "NoneOnDryRun"})},
                                   {"rules", Value::Array({Rule()})}});
    if (Has("matchPolicy")) webhook["matchPolicy"] = OneOf("matchPolicy", {"Exact", "Equivalent"});
    if (Has("timeoutSeconds")) webhook["timeoutSeconds"] = Integer("timeoutSeconds", 1, 30);
    if (Has("reinvocationPolicy")) {
      if (!IsMutating()) Complain("reinvocationPolicy is for mutating webhooks");
      webhook["reinvocationPolicy"] = OneOf("reinvocationPolicy", {"Never", "IfNeeded"});
    }
    for (const Value& version : arguments_["webhookVersions"].list()) {
      if (version.string_value() != "v1") Complain(fmt::format("webhookVersions: only v1 is known, not {}", version.string_value().view()));
    }
    if (wrong_.empty() && Has("patch")) Patch(webhook);
    if (wrong_.empty()) CheckNames(webhook);
    if (wrong_.empty()) return webhook;
    problems.Error(at, fmt::format("marker +{}: {}", kWebhookMarker, wrong_));
    return std::nullopt;
  }

 private:
  static constexpr bool IsMutating() { return std::is_same_v<Webhook, MutatingWebhook>; }

  void Complain(std::string wrong) {
    if (wrong_.empty()) wrong_ = std::move(wrong);
  }
  bool Has(const char* name) const { return arguments_.Find(name) != nullptr; }
  std::string Text(const char* name) const { return arguments_[name].string_value().str(); }

  // As the API spells it, however the marker does.
  Value OneOf(const char* name, std::initializer_list<std::string_view> known) {
    const std::string text = Text(name);
    for (std::string_view value : known) {
      if (EqualWithoutCase(value, text)) return Value(value);
    }
    Complain(Has(name) ? fmt::format("{}: expected {}, got \"{}\"", name, fmt::join(known, " or "), text)
                       : fmt::format("argument {} is missing; write {}={}", name, name, *known.begin()));
    return {};
  }

  Value Integer(const char* name, std::int64_t least, std::int64_t most) {
    const std::int64_t number = arguments_[name].int_value();
    if (number < least || number > most) Complain(fmt::format("{}: expected {} to {}, got {}", name, least, most, number));
    return number;
  }

  Value ClientConfig() {
    const std::string path = Text("path"), url = Text("url");
    if (path.empty() == url.empty()) {
      Complain("pass either path, for the program's Service, or url");
      return {};
    }
    if (!url.empty()) return Value::Object({{"url", url}});
    if (!path.starts_with('/')) Complain(fmt::format("path: expected a path that begins with /, got \"{}\"", path));
    const std::string name = Text("serviceName"), ns = Text("serviceNamespace");
    Value service =
        Value::Object({{"name", name.empty() ? "webhook-service" : name}, {"namespace", ns.empty() ? "system" : ns}, {"path", path}});
    if (Has("servicePort")) service["port"] = Integer("servicePort", 1, 65535);
    return Value::Object({{"service", std::move(service)}});
  }

  Value Rule() {
    static constexpr auto kOperations = std::to_array<std::string_view>({"CREATE", "UPDATE", "DELETE", "CONNECT", "*"});
    List<Value> groups, operations;
    for (const Value& group : arguments_["groups"].list()) groups.push_back(group.string_value() == "core" ? Value("") : group);
    for (const Value& verb : arguments_["verbs"].list()) {
      const std::string_view text = verb.string_value().view();
      const auto known =
          std::find_if(kOperations.begin(), kOperations.end(), [&](std::string_view o) { return EqualWithoutCase(o, text); });
      if (known == kOperations.end()) {
        Complain(fmt::format("verbs: expected create, update, delete, connect or *, got \"{}\"", text));
      } else {
        operations.push_back(Value(*known));
      }
    }
    for (const char* name : {"groups", "versions", "resources", "verbs", "admissionReviewVersions"}) {
      if (arguments_[name].list().empty()) Complain(fmt::format("{} is empty", name));
    }
    return Value::Object({{"apiGroups", std::move(groups)},
                          {"apiVersions", arguments_["versions"]},
                          {"operations", std::move(operations)},
                          {"resources", arguments_["resources"]}});
  }

  // A strategic merge patch, which reaches what has no argument: selectors, match conditions.
  void Patch(Value& webhook) {
    const Result<Value> patch = ParseJson(Text("patch"), {.strict = true});
    if (!patch || !patch->is_object()) return Complain(patch ? "patch is not a JSON object" : "patch: " + patch.error().message());
    for (const auto& [name, value] : patch->object()) {
      if (name.view().starts_with('$')) continue;
      // Also of a field that it removes, which the object does not show.
      if (const Result<Webhook> known = FromValue<Webhook>(Value::Object({{name, Value()}}), {.strict = true}); !known)
        return Complain("patch: " + known.error().message());
    }
    const Result<Value> patched = ApplyStrategicMergePatch(Webhook::kType, webhook, *patch);
    if (!patched) return Complain("patch: " + patched.error().message());
    const Result<Webhook> typed = FromValue<Webhook>(*patched, {.strict = true});
    if (!typed) return Complain("patch: " + typed.error().message());
    const Result<Value> made = ToValue(*typed);
    if (!made) return Complain("patch: " + made.error().message());
    webhook = *made;
    const std::string_view effects = webhook["sideEffects"].string_value().view();
    if (effects != "None" && effects != "NoneOnDryRun") Complain("patch: sideEffects has to be None or NoneOnDryRun");
    if (webhook["admissionReviewVersions"].list().empty()) Complain("patch: admissionReviewVersions is empty");
    const Value* const timeout = webhook.Find("timeoutSeconds");
    if (timeout != nullptr && (timeout->int_value() < 1 || timeout->int_value() > 30)) Complain("patch: timeoutSeconds: expected 1 to 30");
  }

  void CheckNames(const Value& webhook) {
    const std::string name = webhook["name"].string_value().str();
    if (!ValidateDnsSubdomain(name) || std::count(name.begin(), name.end(), '.') < 2)
      Complain(fmt::format("name: expected a name of three parts or more, such as validate.example.com, got \"{}\"", name));
  }

  const Value& arguments_;
  std::string wrong_;
};

struct ConfigurationKey {
  bool validating = false;
  std::string name;

  friend bool operator<(const ConfigurationKey& a, const ConfigurationKey& b) {
    return a.validating != b.validating ? b.validating : a.name < b.name;
  }
};

struct Configuration {
  Value object;                           // without webhooks
  std::map<std::string, Value> webhooks;  // by name
};

class ConfigurationMaker {
 public:
  explicit ConfigurationMaker(Problems& problems) : problems_(problems) {}

  void AddMarkers(const std::vector<Marker>& markers) {
    for (const Marker& marker : markers) {
      if (marker.name == kConfigurationMarker) AddName(marker);
    }
    for (const Marker& marker : markers) {
      if (marker.name != kWebhookMarker) continue;
      const bool mutating = marker.arguments["mutating"].bool_value();
      const std::optional<Value> webhook = mutating ? WebhookMaker<MutatingWebhook>(marker).Make(problems_, marker.at)
                                                    : WebhookMaker<ValidatingWebhook>(marker).Make(problems_, marker.at);
      if (!webhook) continue;
      const std::string& name = names_[mutating ? 0 : 1];
      AddWebhook({!mutating, name}, Value::Object({{"name", name}}), *webhook, marker.at);
    }
  }

  void AddRegistered(const Value& configuration) {
    const Value& metadata = configuration["metadata"];
    const ConfigurationKey key{configuration["kind"].string_value() == "ValidatingWebhookConfiguration",
                               metadata["name"].string_value().str()};
    for (const Value& webhook : configuration["webhooks"].list()) AddWebhook(key, metadata, webhook, {});
  }

  std::vector<Value> Take() {
    std::vector<Value> out;
    for (auto& [key, configuration] : configurations_) {
      List<Value> webhooks;
      for (auto& [name, webhook] : configuration.webhooks) webhooks.push_back(std::move(webhook));
      configuration.object["webhooks"] = Value(std::move(webhooks));
      out.push_back(std::move(configuration.object));
    }
    return out;
  }

 private:
  void AddName(const Marker& marker) {
    const std::string name = marker.arguments["name"].string_value().str();
    if (name.empty()) return;
    const std::size_t index = marker.arguments["mutating"].bool_value() ? 0 : 1;
    if (named_[index] && names_[index] != name) {
      return problems_.Error(marker.at, fmt::format("marker +{}: the {} configuration is called {} already; there is one for the program",
                                                    marker.name, index == 0 ? "mutating" : "validating", names_[index]));
    }
    named_[index] = true;
    names_[index] = name;
  }

  void AddWebhook(const ConfigurationKey& key, const Value& metadata, const Value& webhook, const Position& at) {
    Configuration& configuration = configurations_[key];
    if (configuration.object.is_null()) {
      configuration.object = Value::Object({{"apiVersion", "admissionregistration.k8s.io/v1"},
                                            {"kind", key.validating ? "ValidatingWebhookConfiguration" : "MutatingWebhookConfiguration"},
                                            {"metadata", metadata}});
    }
    const std::string name = webhook["name"].string_value().str();
    if (!configuration.webhooks.emplace(name, webhook).second)
      problems_.Error(at, fmt::format("webhook {} stands twice in configuration {}; give one of them another name", name, key.name));
  }

  Problems& problems_;
  std::array<std::string, 2> names_ = {"mutating-webhook-configuration", "validating-webhook-configuration"};
  std::array<bool, 2> named_ = {false, false};
  std::map<ConfigurationKey, Configuration> configurations_;
};

}  // namespace

std::vector<Value> MakeWebhookConfigurations(const std::vector<Marker>& markers, const std::vector<Value>& program, Problems& problems) {
  ConfigurationMaker maker(problems);
  maker.AddMarkers(markers);
  for (const Value& configuration : program) maker.AddRegistered(configuration);
  return maker.Take();
}

}  // namespace kube::generate
