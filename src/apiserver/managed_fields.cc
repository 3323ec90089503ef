#include "apiserver/managed_fields.h"

#include <algorithm>
#include <map>
#include <utility>

#include "apiserver/errors.h"
#include "apiserver/typed_value.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kApply = "Apply";
constexpr std::string_view kUpdate = "Update";
constexpr std::string_view kSelf = "current-operation";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr std::size_t kMaxUpdateManagers = 10;
constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;

// ---- Entries ----

// The fields of one manager in one version.
struct Owned {
  FieldSet set;
  std::string api_version;
  bool applied = false;
};

// By identifier: the JSON of the fields that identify a manager. Conflicts and old managers are sorted by it.
struct Managed {
  std::map<std::string, Owned, std::less<>> fields;
  std::map<std::string, std::optional<Time>, std::less<>> times;
};

struct ManagerKey {
  std::string manager, operation, api_version, subresource;
};

std::string Identify(const ManagerKey& key) {
  std::string out = "{";
  auto add = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    if (out.size() > 1) out += ',';
    out += QuoteJson(name, false) + ":" + QuoteJson(value, true);
  };
  add("manager", key.manager);
  add("operation", key.operation);
  // An applier is the same one in every version.
  if (key.operation != kApply) add("apiVersion", key.api_version);
  add("subresource", key.subresource);
  return out + "}";
}

ManagerKey ReadIdentifier(std::string_view id) {
  ManagerKey key;
  if (Result<Value> parsed = ParseJson(id)) {
    const Value& v = *parsed;
    key = {v["manager"].string_value().str(), v["operation"].string_value().str(), v["apiVersion"].string_value().str(),
           v["subresource"].string_value().str()};
  }
  return key;
}

Result<Managed> DecodeEntries(const Value& entries) {
  Managed out;
  if (!entries.is_null() && !entries.is_list()) return Error::Invalid("managedFields is no list");
  for (std::size_t i = 0; i < entries.list().size(); ++i) {
    const Value& entry = entries.list()[i];
    ManagerKey key{entry["manager"].string_value().str(), entry["operation"].string_value().str(), entry["apiVersion"].string_value().str(),
                   entry["subresource"].string_value().str()};
    if (key.operation != kApply && key.operation != kUpdate) return Error::Invalid("operation must be `Apply` or `Update`");
    if (key.api_version.empty()) return Error::Invalid("apiVersion must not be empty");
    std::string fields_type = entry["fieldsType"].string_value().str();
    if (fields_type.empty()) return Error::Invalid("missing fieldsType in managed fields entry " + std::to_string(i));
    if (fields_type != "FieldsV1") {
      return Error::Invalid("invalid fieldsType " + QuoteGo(fields_type) + " in managed fields entry " + std::to_string(i));
    }
    Result<FieldSet> set = FieldSet::FromFieldsV1(entry["fieldsV1"]);
    if (!set) return Error::Invalid("error decoding versioned set: error decoding set: " + set.error().message());
    std::string id = Identify(key);
    std::optional<Time> time;
    if (const Value* text = entry.Find("time"); text != nullptr && text->is_string()) {
      if (Result<Time> parsed = Time::Parse(text->string_value())) time = *parsed;
    }
    out.fields[id] = Owned{*std::move(set), key.api_version, key.operation == kApply};
    out.times[id] = time;
  }
  return out;
}

Managed DecodeOrNothing(const Value& entries) {
  Result<Managed> managed = DecodeEntries(entries);
  return managed ? *std::move(managed) : Managed();
}

// Null if there is nothing.
Value EncodeEntries(const Managed& managed) {
  if (managed.fields.empty()) return {};
  struct Sortable {
    ManagerKey key;
    std::int64_t seconds;
    Value entry;
  };
  std::vector<Sortable> entries;
  for (const auto& [id, owned] : managed.fields) {
    ManagerKey key = ReadIdentifier(id);
    key.api_version = owned.api_version;
    if (owned.applied) key.operation = kApply;
    std::optional<Time> time;
    if (auto it = managed.times.find(id); it != managed.times.end()) time = it->second;
    Value entry = Value::Object({{"apiVersion", key.api_version}, {"fieldsType", "FieldsV1"}, {"fieldsV1", owned.set.ToFieldsV1()}});
    if (!key.manager.empty()) entry["manager"] = key.manager;
    if (!key.operation.empty()) entry["operation"] = key.operation;
    if (!key.subresource.empty()) entry["subresource"] = key.subresource;
    if (time) entry["time"] = time->ToString();
    entries.push_back({std::move(key), time ? time->unix_seconds() : 0, std::move(entry)});
  }
  std::sort(entries.begin(), entries.end(), [](const Sortable& a, const Sortable& b) {
    return std::tie(a.key.operation, a.seconds, a.key.manager, a.key.api_version, a.key.subresource) <
           std::tie(b.key.operation, b.seconds, b.key.manager, b.key.api_version, b.key.subresource);
  });
  List<Value> out;
  for (Sortable& s : entries) out.push_back(std::move(s.entry));
  return out;
}

void SetManagedFields(Value& object, Value entries) {
  if (!entries.is_null()) {
    object["metadata"]["managedFields"] = std::move(entries);
    return;
  }
  if (std::as_const(object)["metadata"].Find("managedFields") != nullptr) object["metadata"].MutableObject().Erase("managedFields");
}

Value WithoutManagedFields(Value object) {
  SetManagedFields(object, {});
  return object;
}

// ---- Objects in versions ----

struct Typed {
  SchemaRef schema;
  Value value;
  std::string version;
};

class Versions {
 public:
  explicit Versions(const FieldManagerTarget& target) : target_(target) {}

  // Nothing if the version does not exist any more.
  std::optional<Typed> Convert(const Typed& from, std::string_view version) const {
    if (from.version == version) return from;
    if (version == target_.api_version && from.version != version && !target_.convert) return {};
    if (!target_.convert) return {};
    std::optional<VersionedObject> out = target_.convert(Compact(*from.schema, from.value), version);
    if (!out || out->schema == nullptr) return {};
    Value completed = Complete(*out->schema, out->object);
    return Typed{std::move(out->schema), std::move(completed), std::string(version)};
  }

 private:
  const FieldManagerTarget& target_;
};

struct Conflict1 {
  std::string manager;  // identifier
  FieldPath path;
};

// ---- The algorithm: the owners of each field after a change ----

class Updater {
 public:
  explicit Updater(const FieldManagerTarget& target) : target_(target), versions_(target) {}

  // Takes what changed from `before` to `after` from all managers but `workflow`. False, with conflicts(), if that is not allowed.
  bool Take(const Typed& before, const Typed& after, Managed& managed, std::string_view workflow, bool force, Comparison* changes) {
    std::map<std::string, Comparison, std::less<>> by_version;
    *changes = Compare(before, after);
    by_version[before.version] = *changes;
    std::map<std::string, FieldSet> lost, removed;
    for (auto it = managed.fields.begin(); it != managed.fields.end();) {
      const auto& [id, owned] = *it;
      if (id == workflow) {
        ++it;
        continue;
      }
      auto comparison = by_version.find(owned.api_version);
      if (comparison == by_version.end()) {
        std::optional<Typed> old_object = versions_.Convert(before, owned.api_version);
        std::optional<Typed> new_object = versions_.Convert(after, owned.api_version);
        if (!old_object || !new_object) {
          it = managed.fields.erase(it);
          continue;
        }
        comparison = by_version.emplace(owned.api_version, Compare(*old_object, *new_object)).first;
      }
      FieldSet conflict = owned.set.Intersection(comparison->second.modified.Union(comparison->second.added));
      if (!conflict.Empty()) lost[id] = std::move(conflict);
      if (!comparison->second.removed.Empty()) removed[id] = comparison->second.removed;
      ++it;
    }
    if (!force && !lost.empty()) {
      for (const auto& [id, set] : lost) {
        set.ForEach([&, &manager = id](const FieldPath& path) { conflicts_.push_back({manager, path}); });
      }
      return false;
    }
    for (const auto& [id, set] : lost) managed.fields[id].set = managed.fields[id].set.Difference(set);
    for (const auto& [id, set] : removed) managed.fields[id].set = managed.fields[id].set.Difference(set);
    for (auto it = managed.fields.begin(); it != managed.fields.end();) {
      it = it->second.set.Empty() ? managed.fields.erase(it) : std::next(it);
    }
    return true;
  }

  void Update(const Typed& live, const Typed& updated, Managed& managed) {
    Reconcile(live, managed);
    Comparison changes;
    Take(live, updated, managed, kSelf, true, &changes);
    FieldSet set = target_.reset_fields.Filter(changes.modified.Union(changes.added));
    if (!set.Empty()) managed.fields[std::string(kSelf)] = Owned{std::move(set), target_.api_version, false};
  }

  // The new object. Nothing if the config changes nothing, or if there are conflicts().
  Result<std::optional<Value>> Apply(const Typed& live, const Value& config, Managed& managed, const std::string& id, bool force) {
    Reconcile(live, managed);
    Result<Value> merged = MergeTyped(*live.schema, live.value, config);
    if (!merged) return Error::Invalid("failed to merge config: " + merged.error().message());
    std::optional<Owned> last;
    if (auto it = managed.fields.find(id); it != managed.fields.end()) last = it->second;
    managed.fields[id] = Owned{target_.reset_fields.Filter(ToFieldSet(*live.schema, config)), target_.api_version, true};
    Typed result{live.schema, *std::move(merged), live.version};
    if (last && !last->set.Empty()) result = Prune(result, managed, *last);
    Comparison changes;
    if (!Take(live, result, managed, id, force, &changes)) return std::optional<Value>();
    if (live.value == result.value) return std::optional<Value>();
    return std::optional<Value>(std::move(result.value));
  }

  const std::vector<Conflict1>& conflicts() const { return conflicts_; }

 private:
  const FieldManagerTarget& target_;
  Versions versions_;
  std::vector<Conflict1> conflicts_;

  Comparison Compare(const Typed& before, const Typed& after) const {
    Comparison c = CompareTyped(*before.schema, before.value, after.value);
    const ResetFields& reset = target_.reset_fields;
    return {reset.Filter(c.removed), reset.Filter(c.modified), reset.Filter(c.added)};
  }

  // Drops entries of versions that no longer exist; rewrites those that name parts of what is atomic now.
  void Reconcile(const Typed& live, Managed& managed) const {
    for (auto it = managed.fields.begin(); it != managed.fields.end();) {
      std::optional<Typed> object = versions_.Convert(live, it->second.api_version);
      if (!object) {
        it = managed.fields.erase(it);
        continue;
      }
      if (std::optional<FieldSet> set = ReconcileFieldSet(*object->schema, it->second.set)) it->second.set = *std::move(set);
      ++it;
    }
  }

  // Removes what the manager applied last time, does not apply now, and no other manager owns.
  Typed Prune(const Typed& merged, const Managed& managed, const Owned& last) const {
    std::optional<Typed> start = versions_.Convert(merged, last.api_version);
    if (!start) return merged;
    Typed all = *start, pruned = *start;
    pruned.value = RemoveItems(*all.schema, all.value, WithNamedFields(last.set, all.schema.get()));

    // Restores what other managers or the new config own, starting with the version of the last apply.
    std::map<std::string, FieldSet> owned_in;
    for (const auto& [id, owned] : managed.fields) owned_in[owned.api_version] = owned_in[owned.api_version].Union(owned.set);
    std::vector<std::string> order;
    if (owned_in.count(last.api_version) != 0) order.push_back(last.api_version);
    for (const auto& [version, set] : owned_in) {
      if (version != last.api_version) order.push_back(version);
    }
    for (const std::string& version : order) {
      std::optional<Typed> all_then = versions_.Convert(all, version), pruned_then = versions_.Convert(pruned, version);
      if (!all_then || !pruned_then) continue;
      all = *std::move(all_then);
      const Schema* schema = all.schema.get();
      FieldSet keep = WithNamedFields(ToFieldSet(*schema, pruned_then->value), schema).Union(WithNamedFields(owned_in[version], schema));
      FieldSet drop = WithNamedFields(ToFieldSet(*schema, all.value), schema).Difference(keep);
      pruned = Typed{all.schema, RemoveItems(*schema, all.value, drop), version};
    }

    // And what the manager did not own itself.
    std::optional<Typed> end = versions_.Convert(pruned, last.api_version);
    if (!end) return merged;
    const Schema* schema = start->schema.get();
    FieldSet gone =
        WithNamedFields(ToFieldSet(*schema, start->value), schema).Difference(WithNamedFields(ToFieldSet(*schema, end->value), schema));
    Typed out{start->schema, RemoveItems(*schema, start->value, gone.Intersection(WithNamedFields(last.set, schema))), start->version};
    std::optional<Typed> converted = versions_.Convert(out, target_.api_version);
    return converted ? *std::move(converted) : merged;
  }
};

// ---- Around the algorithm ----

const FieldSet& NeverTracked() {
  static const FieldSet& set = *new FieldSet([] {
    FieldSet s;
    for (const char* name : {"apiVersion", "kind", "metadata"}) s.Insert({PathElement::Field(name)});
    for (const char* name :
         {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion"}) {
      s.Insert({PathElement::Field("metadata"), PathElement::Field(name)});
    }
    return s;
  }());
  return set;
}

void Strip(Managed& managed, std::string_view id) {
  auto it = managed.fields.find(id);
  if (it == managed.fields.end()) return;
  it->second.set = it->second.set.Difference(NeverTracked());
  if (it->second.set.Empty()) managed.fields.erase(it);
}

// Joins the oldest of too many updaters.
void CapUpdaters(Managed& managed) {
  std::vector<std::pair<std::int64_t, std::string>> updaters;
  for (const auto& [id, owned] : managed.fields) {
    if (owned.applied) continue;
    auto time = managed.times.find(id);
    updaters.emplace_back(time != managed.times.end() && time->second ? time->second->unix_seconds() : 0, id);
  }
  std::size_t left = updaters.size();
  if (left <= kMaxUpdateManagers) return;
  std::sort(updaters.begin(), updaters.end());
  std::map<std::string, std::string> first_of;  // by version
  for (const auto& [seconds, id] : updaters) {
    if (left <= kMaxUpdateManagers) break;
    Owned owned = managed.fields[id];
    std::string bucket = Identify({"ancient-changes", std::string(kUpdate), owned.api_version, ""});
    auto [first, is_first] = first_of.emplace(owned.api_version, id);
    if (is_first) continue;
    if (managed.fields.count(bucket) == 0) {
      managed.fields[bucket] = managed.fields[first->second];
      managed.fields.erase(first->second);
    }
    Owned& joined = managed.fields[bucket];
    joined = Owned{owned.set.Union(joined.set), owned.api_version, owned.applied};
    managed.fields.erase(id);
    --left;
    managed.times[bucket] = managed.times[id];
  }
}

void TrackUpdate(const FieldManagerTarget& target, const Typed& live, const Typed& updated, Managed& managed, const std::string& manager,
                 const ManagerInfo& who) {
  std::string id = Identify({manager.empty() ? "unknown" : manager, std::string(kUpdate), target.api_version, who.subresource});
  Updater(target).Update(live, updated, managed);
  Strip(managed, kSelf);
  if (auto self = managed.fields.find(kSelf); self != managed.fields.end()) {
    Owned owned = std::move(self->second);
    managed.fields.erase(self);
    if (auto previous = managed.fields.find(id); previous != managed.fields.end()) owned.set = owned.set.Union(previous->second.set);
    managed.fields[id] = std::move(owned);
    managed.times[id] = who.now;
  }
  CapUpdaters(managed);
}

// `deployments`' "default/web; apps/v1, Kind=Deployment"
std::string Describe(const Value& object, const FieldManagerTarget& target) {
  const Value& meta = object["metadata"];
  std::string_view version = target.api_version;
  std::string gv = version.find('/') == std::string_view::npos ? "/" + target.api_version : target.api_version;
  return meta["namespace"].string_value().str() + "/" + meta["name"].string_value().str() + "; " + gv + ", Kind=" + target.kind;
}

std::string PrintManager(const std::string& id) {
  ManagerKey key = ReadIdentifier(id);
  std::string out = QuoteGo(key.manager);
  if (!key.subresource.empty()) out += " with subresource " + QuoteGo(key.subresource);
  if (key.operation == kUpdate) out += " using " + key.api_version;
  return out;
}

Error ConflictError(const std::vector<Conflict1>& conflicts) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = 409;
  payload.reason = "Conflict";
  for (const Conflict1& c : conflicts) {
    payload.causes.push_back({"FieldManagerConflict", "conflict with " + PrintManager(c.manager), PathToString(c.path)});
  }
  if (conflicts.size() == 1) {
    payload.message =
        "Apply failed with 1 conflict: conflict with " + PrintManager(conflicts[0].manager) + ": " + PathToString(conflicts[0].path);
    return Error(std::move(payload));
  }
  std::string lines;
  const std::string* last = nullptr;  // conflicts come sorted by manager
  for (const Conflict1& c : conflicts) {
    if (last == nullptr || *last != c.manager) {
      lines += (lines.empty() ? "" : "\n") + ("conflicts with " + PrintManager(c.manager) + ":");
      last = &c.manager;
    }
    lines += "\n- " + PathToString(c.path);
  }
  payload.message = "Apply failed with " + std::to_string(conflicts.size()) + " conflicts: " + lines;
  return Error(std::move(payload));
}

Error Failure(std::string message) { return StatusError(500, "", std::move(message)); }

const Value* LastApplied(const Value& object) {
  const Value* text = object["metadata"]["annotations"].Find(kLastApplied);
  return text != nullptr && text->is_string() && !text->string_value().empty() ? text : nullptr;
}

// What `kubectl apply` without --server-side set, and is still so: conflicts there are with kubectl's own past.
std::optional<FieldSet> AllowedConflicts(const FieldManagerTarget& target, const Typed& live) {
  const Value* text = LastApplied(live.value);
  if (text == nullptr || !ValidateTyped(*live.schema, live.value, false)) return {};
  Result<Value> applied = ParseJson(text->string_value());
  if (!applied || (*applied)["apiVersion"].string_value() != target.api_version) return {};
  if (!ValidateTyped(*live.schema, *applied, false)) return {};
  Comparison changes = CompareTyped(*live.schema, *applied, live.value);
  return ToFieldSet(*live.schema, *applied).Difference(changes.modified).Difference(changes.added).Difference(changes.removed);
}

std::string BuildLastApplied(Value config) {
  if (std::as_const(config)["metadata"]["annotations"].Find(kLastApplied) != nullptr) {
    config["metadata"]["annotations"].MutableObject().Erase(kLastApplied);
  }
  // A value's element form is Go's JSON with HTML escapes behind "v:".
  return PathElement::OfValue(config).Serialize().substr(2) + "\n";
}

bool IsReset(const Value* entries) {
  if (entries == nullptr || !entries->is_list()) return false;
  if (entries->list().empty()) return true;
  if (entries->list().size() > 1) return false;
  const Value& only = entries->list()[0];
  if (!only.is_object()) return false;
  return std::all_of(only.object().begin(), only.object().end(),
                     [](const MapEntry<Value>& m) { return m.value.is_null() || (m.value.is_string() && m.value.string_value().empty()); });
}

Value EmptyObject(const FieldManagerTarget& target) { return Value::Object({{"apiVersion", target.api_version}, {"kind", target.kind}}); }

Typed MakeTyped(const FieldManagerTarget& target, const Value& object) {
  Value plain = object.is_null() ? EmptyObject(target) : WithoutManagedFields(object);
  return {target.schema, Complete(*target.schema, plain), target.api_version};
}

}  // namespace

ResetFields::ResetFields(std::initializer_list<std::string_view> dotted_paths) {
  for (std::string_view rest : dotted_paths) {
    FieldPath path;
    while (!rest.empty()) {
      std::string_view one = rest.substr(0, rest.find('.'));
      path.push_back(PathElement::Field(one));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    }
    set_.Insert(path);
  }
}

ResetFields ResetFieldsOf(std::string_view group, std::string_view resource, std::string_view subresource) {
  struct Rule {
    std::string_view group, resource;
    bool all_metadata;  // for `status`
  };
  static constexpr Rule kRules[] = {
      {"", "namespaces", false},
      {"", "nodes", false},
      {"", "persistentvolumeclaims", false},
      {"", "persistentvolumes", false},
      {"", "pods", false},
      {"", "replicationcontrollers", false},
      {"", "resourcequotas", false},
      {"", "services", false},
      {"admissionregistration.k8s.io", "validatingadmissionpolicies", true},
      {"apiextensions.k8s.io", "customresourcedefinitions", true},
      {"apiregistration.k8s.io", "apiservices", true},
      {"apps", "daemonsets", false},
      {"apps", "deployments", false},
      {"apps", "replicasets", false},
      {"apps", "statefulsets", false},
      {"autoscaling", "horizontalpodautoscalers", false},
      {"batch", "cronjobs", false},
      {"batch", "jobs", false},
      {"flowcontrol.apiserver.k8s.io", "flowschemas", true},
      {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", true},
      {"internal.apiserver.k8s.io", "storageversions", true},
      {"networking.k8s.io", "ingresses", false},
      {"networking.k8s.io", "servicecidrs", true},
      {"policy", "poddisruptionbudgets", false},
      {"resource.k8s.io", "devicetaintrules", true},
      {"resource.k8s.io", "resourceclaims", true},
      {"resource.k8s.io", "resourcepoolstatusrequests", true},
      {"scheduling.k8s.io", "podgroups", true},
      {"storage.k8s.io", "volumeattachments", true},
      {"storagemigration.k8s.io", "storageversionmigrations", true},
  };
  if (group == "certificates.k8s.io" && resource == "certificatesigningrequests") {
    if (subresource.empty()) return ResetFields({"spec", "status"});
    if (subresource == "approval") return ResetFields({"spec", "status.certificate"});
    if (subresource == "status") return ResetFields({"spec", "status.conditions"});
    return {};
  }
  if (group == "certificates.k8s.io" && resource == "podcertificaterequests") {
    return subresource == "status" ? ResetFields({"spec"}) : ResetFields();
  }
  for (const Rule& rule : kRules) {
    if (rule.group != group || rule.resource != resource) continue;
    if (subresource.empty() || subresource == "finalize") return ResetFields({"status"});
    if (subresource != "status") return {};
    if (rule.all_metadata) return ResetFields({"spec", "metadata"});
    if (resource == "deployments") return ResetFields({"spec", "metadata.labels"});
    if (resource == "pods") return ResetFields({"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"});
    return ResetFields({"spec"});
  }
  return {};
}

Value UpdateManagedFields(const FieldManagerTarget& target, const Value& live, Value updated, const ManagerInfo& who) {
  const Value& live_entries = live["metadata"]["managedFields"];
  Managed managed;
  if (!who.subresource.empty()) {
    managed = DecodeOrNothing(live_entries);
  } else {
    const Value* entries = std::as_const(updated)["metadata"].Find("managedFields");
    if (!IsReset(entries)) {
      if (entries != nullptr) managed = DecodeOrNothing(*entries);
      if (managed.fields.empty()) managed = DecodeOrNothing(live_entries);
    }
  }
  SetManagedFields(updated, {});
  // Tracking begins with the creation of an object, or with the first apply.
  if (managed.fields.empty() && !live["metadata"]["uid"].string_value().empty()) return updated;
  Typed before = MakeTyped(target, live), after = MakeTyped(target, updated);
  if (!ValidateTyped(*target.schema, after.value, true) || !ValidateTyped(*target.schema, before.value, true)) return updated;
  TrackUpdate(target, before, after, managed, who.manager, who);
  SetManagedFields(updated, EncodeEntries(managed));
  return updated;
}

Result<Value> ApplyConfiguration(const FieldManagerTarget& target, const Value& live, const Value& config, const ManagerInfo& who,
                                 bool force) {
  Result<Managed> managed = DecodeEntries(live["metadata"]["managedFields"]);
  if (!managed) return Failure("failed to decode managed fields: " + managed.error().message());
  std::string version = config["apiVersion"].string_value().str(), kind = config["kind"].string_value().str();
  if (version != target.api_version || kind != target.kind) {
    std::string slash = version.find('/') == std::string::npos ? "/" : "";
    return BadRequest("invalid object type: " + slash + version + ", Kind=" + kind);
  }
  Typed before = MakeTyped(target, live);
  if (managed->fields.empty()) {
    // Every field that the object has was there before the first apply.
    if (auto fits = ValidateTyped(*target.schema, before.value, true); !fits) {
      return Failure("failed to create manager for existing fields: failed to convert new object (" + Describe(before.value, target) +
                     ") to smd typed: " + fits.error().message());
    }
    TrackUpdate(target, MakeTyped(target, {}), before, *managed, "before-first-apply", who);
  }
  if (const Value* entries = config["metadata"].Find("managedFields"); entries != nullptr && entries->is_list()) {
    return BadRequest("metadata.managedFields must be nil");
  }
  if (auto fits = ValidateTyped(*target.schema, config, false); !fits) {
    return Failure("failed to create typed patch object (" + Describe(config, target) + "): " + fits.error().message());
  }
  if (auto fits = ValidateTyped(*target.schema, before.value, true); !fits) {
    return Failure("failed to create typed live object (" + Describe(before.value, target) + "): " + fits.error().message());
  }

  std::string manager = who.manager.empty() ? "unknown" : who.manager;
  std::string id = Identify({manager, std::string(kApply), target.api_version, who.subresource});
  auto apply = [&](bool forced, Managed& entries, std::vector<Conflict1>& conflicts) {
    Updater updater(target);
    Result<std::optional<Value>> result = updater.Apply(before, config, entries, id, forced);
    conflicts = updater.conflicts();
    return result;
  };
  Managed attempt = *managed;
  std::vector<Conflict1> conflicts;
  Result<std::optional<Value>> result = apply(force, attempt, conflicts);
  if (!result) return Failure(result.error().message());
  if (!conflicts.empty() && manager == "kubectl") {
    if (std::optional<FieldSet> allowed = AllowedConflicts(target, before)) {
      conflicts.erase(std::remove_if(conflicts.begin(), conflicts.end(), [&](const Conflict1& c) { return allowed->Has(c.path); }),
                      conflicts.end());
      if (conflicts.empty()) {
        attempt = *managed;
        result = apply(true, attempt, conflicts);
        if (!result) return Failure(result.error().message());
      }
    }
  }
  if (!conflicts.empty()) return ConflictError(conflicts);
  Strip(attempt, id);

  Value object;
  if (result->has_value()) {
    attempt.times[id] = who.now;
    object = Compact(*target.schema, **result);
  } else {
    object = Compact(*target.schema, before.value);
  }
  if (manager == "kubectl" && LastApplied(object) != nullptr) {
    object["metadata"]["annotations"][kLastApplied] = BuildLastApplied(config);
    std::size_t size = 0;
    for (const auto& [key, value] : std::as_const(object)["metadata"]["annotations"].object())
      size += key.size() + value.string_value().size();
    if (size > kMaxAnnotationBytes) object["metadata"]["annotations"].MutableObject().Erase(kLastApplied);
  }
  SetManagedFields(object, EncodeEntries(attempt));
  return object;
}

Value KeepTimestampsIfUnchanged(const Value& live, Value updated) {
  const Value& before = live["metadata"]["managedFields"];
  const Value& after = std::as_const(updated)["metadata"]["managedFields"];
  if (before.list().size() != after.list().size() || after.list().empty()) return updated;
  auto without_time = [](Value entry) {
    if (entry.Find("time") != nullptr) entry.MutableObject().Erase("time");
    return entry;
  };
  bool times_differ = false;
  for (std::size_t i = 0; i < after.list().size(); ++i) {
    if (!(before.list()[i]["time"] == after.list()[i]["time"])) times_differ = true;
    if (!(without_time(before.list()[i]) == without_time(after.list()[i]))) return updated;
  }
  if (!times_differ || !(WithoutManagedFields(live) == WithoutManagedFields(updated))) return updated;
  SetManagedFields(updated, before);
  return updated;
}

Result<void> ValidateManagedFields(const Value& managed_fields) {
  Result<Managed> managed = DecodeEntries(managed_fields);
  if (!managed) return managed.error();
  return {};
}

namespace {

const ScalePath* FindScalePath(const std::vector<ScalePath>& paths, std::string_view api_version) {
  for (const ScalePath& p : paths) {
    if (p.api_version == api_version) return &p;
  }
  return nullptr;
}

const FieldPath& ReplicasInScale() {
  static const FieldPath& path = *new FieldPath{PathElement::Field("spec"), PathElement::Field("replicas")};
  return path;
}

}  // namespace

Result<Value> ManagedFieldsToScale(const Value& parent_entries, const std::vector<ScalePath>& paths) {
  Result<Managed> parent = DecodeEntries(parent_entries);
  if (!parent) return parent.error();
  Managed out;
  for (const auto& [id, owned] : parent->fields) {
    const ScalePath* path = FindScalePath(paths, owned.api_version);
    if (path == nullptr || !owned.set.Has(path->replicas)) continue;
    out.fields[id] = Owned{FieldSet({ReplicasInScale()}), "autoscaling/v1", owned.applied};
    out.times[id] = parent->times[id];
  }
  return EncodeEntries(out);
}

Result<Value> ManagedFieldsFromScale(const Value& parent_entries, const Value& scale_entries, const std::vector<ScalePath>& paths,
                                     std::string_view api_version) {
  Result<Managed> parent = DecodeEntries(parent_entries);
  if (!parent) return parent.error();
  Result<Managed> scale = DecodeEntries(scale_entries);
  if (!scale) return scale.error();
  Managed out;
  for (const auto& [id, owned] : parent->fields) {
    const ScalePath* path = FindScalePath(paths, owned.api_version);
    if (path == nullptr) continue;
    if (path->replicas.empty() || !owned.set.Has(path->replicas)) {
      out.fields[id] = owned;
    } else if (auto in_scale = scale->fields.find(id); in_scale != scale->fields.end()) {
      out.fields[id] = owned;
      scale->fields.erase(in_scale);
    } else {
      FieldSet left = owned.set.Difference(FieldSet({path->replicas}));
      if (left.Empty()) continue;
      out.fields[id] = Owned{std::move(left), owned.api_version, owned.applied};
    }
    out.times[id] = parent->times[id];
  }
  const ScalePath* own = FindScalePath(paths, api_version);
  for (const auto& [id, owned] : scale->fields) {
    if (own == nullptr || !owned.set.Has(ReplicasInScale())) continue;
    out.fields[id] = Owned{FieldSet({own->replicas}), std::string(api_version), owned.applied};
    auto time = parent->times.find(id);
    out.times[id] = time != parent->times.end() ? time->second : std::nullopt;
  }
  return EncodeEntries(out);
}

}  // namespace kube::apiserver
