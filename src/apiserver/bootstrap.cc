#include "apiserver/bootstrap.h"

#include <algorithm>
#include <map>
#include <utility>

#include "apiserver/builtin/bootstrap_policy.h"
#include "apiserver/builtin/catalogue.h"
#include "apiserver/crd.h"
#include "apiserver/object_meta.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kServices = "apiregistration.k8s.io/apiservices";
constexpr const char* kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr const char* kAutoManaged = "kube-aggregator.kubernetes.io/automanaged";
constexpr std::string_view kAggregateTo = "rbac.authorization.k8s.io/aggregate-to-";
// Priorities of the APIServices of custom resources.
constexpr int kCustomGroupPriority = 1000, kCustomVersionPriority = 100;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Value Words(std::string_view text) {
  Value out = Value::Array();
  for (std::string_view word : Split(text, ',')) out.MutableList().push_back(Value(word == "-" ? std::string_view() : word));
  return out;
}

// "get,list apps deployments,replicasets", with names of objects at the end where only those count; "get / /healthz,/livez".
Value RuleOf(const std::vector<std::string_view>& words) {
  Value rule = Value::Object({{"verbs", Words(words[0])}});
  if (words[1] == "/") {
    rule["nonResourceURLs"] = Words(words[2]);
    return rule;
  }
  rule["apiGroups"] = Words(words[1]);
  rule["resources"] = Words(words[2]);
  if (words.size() > 3) rule["resourceNames"] = Words(words[3]);
  return rule;
}

// "Group:system:masters", "ServiceAccount:kube-system/node-controller"
Value SubjectOf(std::string_view text) {
  const std::size_t colon = text.find(':');
  std::string_view kind = text.substr(0, colon), name = text.substr(colon + 1);
  if (kind != "ServiceAccount") return Value::Object({{"kind", kind}, {"apiGroup", kRbac}, {"name", name}});
  const std::size_t slash = name.find('/');
  return Value::Object({{"kind", kind}, {"name", name.substr(slash + 1)}, {"namespace", name.substr(0, slash)}});
}

Value NewObject(std::string_view kind, std::string_view place) {
  Value object = Value::Object({{"apiVersion", std::string(kRbac) + "/v1"}, {"kind", kind}});
  Value& meta = object["metadata"];
  const std::size_t slash = place.find('/');
  meta["name"] = slash == std::string_view::npos ? place : place.substr(slash + 1);
  if (slash != std::string_view::npos) meta["namespace"] = place.substr(0, slash);
  meta["labels"] = Value::Object({{"kubernetes.io/bootstrapping", "rbac-defaults"}});
  meta["annotations"] = Value::Object({{kAutoUpdate, "true"}});
  return object;
}

bool Contains(const Value& rules, const Value& rule) {
  const List<Value>& list = rules.list();
  return std::find(list.begin(), list.end(), rule) != list.end();
}

// As the controller of aggregated roles fills them: the rules of all roles with the label, by name, each once.
void Aggregate(std::vector<Value>& objects) {
  std::map<std::string, Value> by_name;
  for (const Value& object : objects) {
    if (object["kind"].string_value() == "ClusterRole") by_name.emplace(NameOf(object), object);
  }
  for (Value& object : objects) {
    const Value& read = object;
    for (const Value& selector : read["aggregationRule"]["clusterRoleSelectors"].list()) {
      const Value labels = selector["matchLabels"];
      Value rules = Value::Array();
      for (const auto& [name, role] : by_name) {
        bool matches = true;
        for (const auto& [label, value] : labels.object()) matches = matches && MetaOf(role)["labels"][label.view()] == value;
        if (!matches) continue;
        for (const Value& rule : role["rules"].list()) {
          if (!Contains(rules, rule)) rules.MutableList().push_back(rule);
        }
      }
      object["rules"] = std::move(rules);
    }
  }
}

}  // namespace

std::vector<Value> BootstrapPolicy() {
  std::vector<Value> out;
  for (std::string_view line : Split(builtin::kBootstrapPolicy, '\n')) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (line.starts_with(' ')) {
      out.back()["rules"].MutableList().push_back(RuleOf(words));
      continue;
    }
    Value object = NewObject(words[0], words[1]);
    if (words[0].ends_with("Binding")) {
      object["roleRef"] = Value::Object({{"apiGroup", kRbac}, {"kind", words[2]}, {"name", words[3]}});
      for (std::string_view subject : Split(words.size() > 4 ? words[4] : "", ',')) {
        object["subjects"].MutableList().push_back(SubjectOf(subject));
      }
    } else {
      object["rules"] = Value::Array();
      for (std::string_view word : std::vector<std::string_view>(words.begin() + 2, words.end())) {
        const std::string label = std::string(kAggregateTo) + std::string(word.substr(1));
        if (word.starts_with('>')) {
          object["metadata"]["labels"][label] = "true";
        } else {
          object["aggregationRule"]["clusterRoleSelectors"].MutableList().push_back(
              Value::Object({{"matchLabels", Value::Object({{label, "true"}})}}));
        }
      }
    }
    out.push_back(std::move(object));
  }
  // View is a part of edit, and edit of admin.
  for (int round = 0; round < 3; ++round) Aggregate(out);
  return out;
}

Bootstrap::Bootstrap(ApiCore& core) : core_(core) {
  core_.OnUse([this](const ServedResource& resource) { BeforeUse(resource); });
  core_.store().OnChange([this](const std::string& resource, const StoreEvent&) {
    if (resource != kCrdStorage) return;
    MutexLock lock(mu_);
    if (services_made_) SyncApiServices(false);
  });
}

void Bootstrap::BeforeUse(const ServedResource& resource) {
  if (resource.group == kRbac) {
    MutexLock lock(mu_);
    if (!std::exchange(policy_made_, true)) MakePolicy();
  } else if (resource.storage == kServices) {
    MutexLock lock(mu_);
    if (!std::exchange(services_made_, true)) SyncApiServices(true);
  }
}

void Bootstrap::Reconcile() {
  MutexLock lock(mu_);
  policy_made_ = services_made_ = false;
}

void Bootstrap::Put(const std::string& storage, Value object, const ObjectPtr& current) {
  if (!current) PrepareMetaForCreate(object, core_.Now());
  // Another write came first: that one counts.
  (void)core_.store().Put(storage, std::move(object), {}, current);
}

void Bootstrap::MakePolicy() {
  for (Value& object : BootstrapPolicy()) {
    const Value& read = object;
    std::string storage = std::string(kRbac) + "/";
    for (const char c : read["kind"].string_value().view()) storage += static_cast<char>(c | 0x20);
    storage += 's';
    const ObjectPtr current = core_.store().Get(storage, NamespaceOf(object), NameOf(object));
    if (!current) {
      Put(storage, std::move(object), nullptr);
      continue;
    }
    Value live = current->Parse();
    if (MetaOf(live)["annotations"][kAutoUpdate].string_value() != "true") continue;
    const Value before = live;
    const char* const member = read["kind"].string_value().view().ends_with("Binding") ? "subjects" : "rules";
    for (const Value& item : read[member].list()) {
      if (!Contains(std::as_const(live)[member], item)) live[member].MutableList().push_back(item);
    }
    if (!(live == before)) Put(storage, std::move(live), current);
  }
}

void Bootstrap::SyncApiServices(bool start) {
  const std::string storage(kServices);
  std::map<std::string, Value> wanted;
  // Held for the loop: another thread may change what is served.
  const std::shared_ptr<const Resources> resources = core_.registry().current();
  for (const ServedGroup& group : resources->groups()) {
    if (group.name == "apiregistration.k8s.io") continue;  // served by the aggregator itself
    for (const ServedVersion& version : group.versions) {
      int group_priority = kCustomGroupPriority, version_priority = kCustomVersionPriority;
      bool builtin = false;
      for (const BuiltinGroup& known : BuiltinGroups()) {
        if (known.group != group.name) continue;
        builtin = true;
        group_priority = known.priority;
        for (const BuiltinGroup::Version& v : known.versions) {
          if (v.version == version.version) version_priority = v.priority;
        }
      }
      std::string name = version.version + "." + group.name;
      Value spec =
          Value::Object({{"groupPriorityMinimum", group_priority}, {"version", version.version}, {"versionPriority", version_priority}});
      if (!group.name.empty()) spec["group"] = group.name;
      Value object = Value::Object({{"apiVersion", "apiregistration.k8s.io/v1"}, {"kind", "APIService"}, {"spec", std::move(spec)}});
      object["metadata"] = Value::Object({{"name", name}, {"labels", Value::Object({{kAutoManaged, builtin ? "onstart" : "true"}})}});
      object["status"]["conditions"].MutableList().push_back(Value::Object({{"lastTransitionTime", core_.Now().ToString()},
                                                                            {"message", "Local APIServices are always available"},
                                                                            {"reason", "Local"},
                                                                            {"status", "True"},
                                                                            {"type", "Available"}}));
      wanted.emplace(std::move(name), std::move(object));
    }
  }
  for (const ObjectPtr& current : core_.store().List(storage, "").objects) {
    if (wanted.erase(current->name) == 0 && current->labels.contains(kAutoManaged)) {
      (void)core_.store().Remove(storage, current, current->Parse());
    }
  }
  for (auto& [name, object] : wanted) {
    if (start || MetaOf(object)["labels"][kAutoManaged].string_value() == "true") Put(storage, std::move(object), nullptr);
  }
}

}  // namespace kube::apiserver
