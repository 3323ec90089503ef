// delete and deletecollection.
#include <fmt/format.h>

#include <utility>

#include "apiserver/builtin/strategy.h"
#include "apiserver/core.h"
#include "apiserver/crd.h"
#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/v1.h"
#include "kube/value/any_object.h"

namespace kube::apiserver {
namespace {

Result<meta::v1::DeleteOptions> DecodeOptions(const Call& call) {
  Result<Encoding> encoding = BodyEncoding(call.content_type, false);
  if (!encoding) return encoding.error();
  Result<meta::v1::DeleteOptions> options = [&]() -> Result<meta::v1::DeleteOptions> {
    switch (*encoding) {
      case Encoding::kProtobuf:
        return FromProtobuf<meta::v1::DeleteOptions>(call.body);
      case Encoding::kYaml: {
        Result<std::vector<Value>> documents = ParseYaml(call.body);
        if (!documents) return documents.error();
        if (documents->size() != 1) return Error::Decode("expected one YAML document");
        documents->front().MutableObject().Erase("apiVersion");
        return FromValue<meta::v1::DeleteOptions>(documents->front());
      }
      case Encoding::kJson:
        break;
    }
    // The options are accepted under the apiVersion of every group.
    Result<Value> value = ParseJson(call.body);
    if (!value) return value.error();
    if (value->is_object()) value->MutableObject().Erase("apiVersion");
    return FromValue<meta::v1::DeleteOptions>(*value);
  }();
  if (options) return options;
  if (Result<Value> value = ParseJson(call.body); value && value->is_object()) {
    std::string_view kind = std::as_const(*value)["kind"].string_value(), version = std::as_const(*value)["apiVersion"].string_value();
    if (!kind.empty() && kind != "DeleteOptions") {
      return BadRequest(fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme \"kubexx\"", kind, version));
    }
  }
  return BadRequest("json: " + options.error().message());
}

Result<DeleteOptions> ParseDeleteOptions(const Call& call) {
  DeleteOptions out;
  std::optional<bool> orphan;
  std::vector<FieldError> errors;
  if (!call.body.empty()) {
    Result<meta::v1::DeleteOptions> options = DecodeOptions(call);
    if (!options) return options.error();
    out.grace_seconds = options->grace_period_seconds;
    if (options->preconditions) {
      out.uid = options->preconditions->uid.value_or(String()).str();
      out.resource_version = options->preconditions->resource_version.value_or(String()).str();
    }
    out.propagation = options->propagation_policy.value_or(String()).str();
    orphan = options->orphan_dependents;
    for (const String& value : std::as_const(options->dry_run)) {
      out.dry_run = true;
      if (value != "All") errors.push_back(NotSupported("dryRun", Value::Array({value}), {"All"}));
    }
  } else {
    if (std::string_view grace = call.query.Get("gracePeriodSeconds"); !grace.empty()) {
      Result<Value> n = ParseJson(grace);
      if (!n || !n->is_int()) return BadRequest(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", grace));
      out.grace_seconds = n->int_value();
    }
    out.propagation = call.query.Get("propagationPolicy");
    if (call.query.Has("orphanDependents")) orphan = call.query.Flag("orphanDependents");
    Result<bool> dry_run = ParseDryRun(call.query, "DeleteOptions");
    if (!dry_run) return dry_run.error();
    out.dry_run = *dry_run;
  }
  if (orphan && !out.propagation.empty()) {
    errors.push_back(InvalidValue("propagationPolicy", out.propagation, "orphanDependents and deletionPropagation cannot be both set"));
  } else if (orphan) {
    out.orphan_dependents = orphan;
    out.propagation = *orphan ? "Orphan" : "Background";
  }
  if (!out.propagation.empty() && out.propagation != "Background" && out.propagation != "Foreground" && out.propagation != "Orphan") {
    errors.push_back(NotSupported("propagationPolicy", out.propagation, {"Foreground", "Background", "Orphan", "nil"}));
  }
  if (!errors.empty()) return Invalid("meta.k8s.io", "DeleteOptions", "", errors);
  return out;
}

// The options as webhooks see them.
Value ShownOptions(const DeleteOptions& options) {
  Value out = Value::Object({{"kind", "DeleteOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
  if (options.grace_seconds) out["gracePeriodSeconds"] = *options.grace_seconds;
  if (!options.uid.empty()) out["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) out["preconditions"]["resourceVersion"] = options.resource_version;
  if (options.orphan_dependents) {
    out["orphanDependents"] = *options.orphan_dependents;
  } else if (!options.propagation.empty()) {
    out["propagationPolicy"] = options.propagation;
  }
  if (options.dry_run) out["dryRun"] = Value::Array({"All"});
  return out;
}

// Seconds that an object gets to end by itself. Only pods on a node get any.
std::int64_t GraceOf(const ServedResource& r, const Value& live, const DeleteOptions& options) {
  if (r.storage != "/pods") return 0;
  std::int64_t grace = options.grace_seconds.value_or(live["spec"]["terminationGracePeriodSeconds"].int_value());
  std::string_view phase = live["status"]["phase"].string_value();
  if (live["spec"]["nodeName"].string_value().empty() || phase == "Failed" || phase == "Succeeded") return 0;
  return grace < 0 ? 1 : grace;
}

Value SuccessStatus(const ServedResource& r, const StoredObject& object) {
  Value details = Value::Object({{"name", object.name}, {"kind", r.resource}, {"uid", object.uid}});
  if (!r.group.empty()) details["group"] = r.group;
  return Value::Object(
      {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Value::Object()}, {"status", "Success"}, {"details", std::move(details)}});
}

}  // namespace

ObjectPtr ApiCore::Erase(const ServedResource& r, const ObjectPtr& current, Value last) {
  ObjectPtr removed = store_.Remove(r.storage, current, std::move(last));
  if (removed && r.storage == "/services") {
    AnyObject typed(*r.type);
    if (DecodeJson(*r.type, typed.mutable_data(), *current->json)) ReleaseAllocations(*r.type, typed.data(), services_);
  }
  if (removed && removed_) removed_(r, *removed);
  return removed;
}

namespace {

Result<void> CheckPreconditions(const ServedResource& r, const StoredObject& current, const DeleteOptions& options) {
  if (!options.uid.empty() && options.uid != current.uid) {
    return Conflict(
        r.group, r.kind, current.name,
        fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The object might have been deleted "
                    "and then recreated",
                    options.uid, current.uid));
  }
  if (!options.resource_version.empty() && options.resource_version != std::to_string(current.version)) {
    return Conflict(r.group, r.kind, current.name,
                    fmt::format("the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record ({}). The "
                                "object might have been modified",
                                options.resource_version, current.version));
  }
  return {};
}

// Sets the finalizers for foreground deletion or orphaning of dependents.
void SetPropagation(Value& next, std::string_view propagation) {
  bool foreground = propagation == "Foreground", orphan = propagation == "Orphan";
  if (!propagation.empty()) {
    if (!foreground) RemoveFinalizer(next, "foregroundDeletion");
    if (!orphan) RemoveFinalizer(next, "orphan");
  }
  if (foreground) AddFinalizer(next, "foregroundDeletion");
  if (orphan) AddFinalizer(next, "orphan");
}

void MarkCrdDeleting(Value& next, Time now) {
  // Its objects are deleted first (lifecycle.cc). Dependents are left to the garbage collector, whatever the options say.
  AddFinalizer(next, kCrdCleanup);
  next["metadata"]["deletionTimestamp"] = now.ToString();
  SetCrdCondition(next, "Terminating", true, "InstanceDeletionPending",
                  "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon", now);
}

// Marks an object that stays until its finalizers are removed or its grace period ends.
void MarkDeleting(Value& next, const Value& live, std::int64_t grace, bool is_namespace, Time now) {
  Value& meta = next["metadata"];
  bool first = !IsDeleting(live);
  std::int64_t old_grace = MetaOf(live)["deletionGracePeriodSeconds"].int_value();
  if (first || (grace < old_grace && !is_namespace)) {
    meta["deletionTimestamp"] = (now + Duration::FromNanoseconds(grace * 1'000'000'000)).ToString();
    if (!is_namespace) meta["deletionGracePeriodSeconds"] = grace;
    if (first && MetaOf(live)["generation"].int_value() > 0) meta["generation"] = MetaOf(live)["generation"].int_value() + 1;
  }
  if (is_namespace) next["status"]["phase"] = "Terminating";
}

}  // namespace

Result<void> ApiCore::AdmitDelete(Call& call, const ServedResource& r, const StoredObject& current, const Value& live,
                                  const DeleteOptions& options) {
  Result<Value> shown = Read(call.ctx, r, current);
  if (!shown) return shown.error();
  AdmissionAttributes attributes = AttributesOf(call, "DELETE", Value(), *std::move(shown), options.dry_run);
  if (r.storage == "/namespaces") attributes.ns = current.name;
  DeleteOptions given = options;
  if (r.storage == "/pods") given.grace_seconds = GraceOf(r, live, options);
  if (r.storage == "/namespaces" && given.uid.empty()) given.uid = current.uid;
  attributes.options = ShownOptions(given);
  if (Result<Value> ok = Mutate(call, attributes); !ok) return ok.error();
  Value none;
  return Validate(call, attributes, none);
}

Result<Answer> ApiCore::DeleteObject(const ServedResource& r, std::string_view ns, std::string_view name, const DeleteOptions& options,
                                     Call* call) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    Result<ObjectPtr> found = Find(r, ns, name);
    if (!found) return found.error();
    const ObjectPtr& current = *found;
    if (auto ok = CheckPreconditions(r, *current, options); !ok) return ok.error();
    Value live = current->Parse();
    const Context ctx = call != nullptr ? call->ctx : Context::Background();
    if (call != nullptr && call->admit && hooks_.Any(r)) {
      if (auto ok = AdmitDelete(*call, r, *current, live, options); !ok) return ok.error();
    } else if (call != nullptr && NeedsConversion(r, *current)) {
      // What cannot be read cannot be deleted.
      if (Result<Value> read = Read(ctx, r, *current); !read) return read.error();
    }
    const auto shown = [&](Value object) -> Result<Answer> {
      Result<Value> converted = FromForm(ctx, r, std::move(object));
      if (!converted) return converted.error();
      return Answer{.object = *std::move(converted)};
    };
    Value next = live;
    if (r.storage == kCrdStorage && !IsDeleting(live)) {
      MarkCrdDeleting(next, Now());
      if (options.dry_run) return Answer{.object = std::move(next)};
      ObjectPtr put = store_.Put(r.storage, std::move(next), {}, current);
      if (put) return Answer{.stored = std::move(put)};
      continue;
    }
    bool is_namespace = r.storage == "/namespaces";
    SetPropagation(next, options.propagation);
    std::int64_t grace = GraceOf(r, live, options);
    bool stays = !MetaOf(next)["finalizers"].list().empty() || grace > 0 ||
                 (is_namespace && !std::as_const(next)["spec"]["finalizers"].list().empty());
    if (stays) {
      MarkDeleting(next, live, grace, is_namespace, Now());
      Answer answer;
      if (next == live) {
        answer.stored = current;
        return answer;
      }
      if (options.dry_run) {
        return shown(std::move(next));
      }
      Map<String> fields = SelectableValues(r, next);
      std::shared_ptr<const void> form = FormOf(r, next);
      answer.stored = store_.Put(r.storage, std::move(next), std::move(fields), current, std::move(form));
      if (answer.stored) return answer;
      continue;
    }
    if (options.dry_run) {
      if (r.returns_deleted) return shown(std::move(next));
      return Answer{.object = SuccessStatus(r, *current), .is_resource = false};
    }
    ObjectPtr removed = Erase(r, current, std::move(next));
    if (!removed) continue;
    if (r.returns_deleted) return Answer{.stored = std::move(removed)};
    return Answer{.object = SuccessStatus(r, *removed), .is_resource = false};
  }
  return ModifiedConflict(r.group, r.resource, name);
}

Result<Answer> ApiCore::Delete(Call& call) {
  Result<DeleteOptions> options = ParseDeleteOptions(call);
  if (!options) return options.error();
  const ServedResource& r = *call.resource;
  if (r.storage == "/namespaces" && (call.name == "default" || call.name == "kube-system" || call.name == "kube-public")) {
    if (auto found = Find(r, "", call.name); !found) return found.error();
    return Forbidden("", "namespaces", call.name, "this namespace may not be deleted");
  }
  return DeleteObject(r, call.ns, call.name, *options, &call);
}

Result<Answer> ApiCore::DeleteCollection(Call& call) {
  Result<DeleteOptions> options = ParseDeleteOptions(call);
  if (!options) return options.error();
  Result<ListSelection> selection = ParseSelection(call);
  if (!selection) return selection.error();
  Snapshot all = store_.List(call.resource->storage, call.ns);
  Answer answer{.is_list = true, .list_version = std::to_string(all.version)};
  for (const ObjectPtr& object : all.objects) {
    if (!selection->Matches(*object)) continue;
    Result<Answer> deleted = DeleteObject(*call.resource, object->ns, object->name, *options, &call);
    if (!deleted && !IsNotFound(deleted.error())) return deleted.error();
    answer.items.push_back(deleted && deleted->stored ? deleted->stored : object);
  }
  return answer;
}

}  // namespace kube::apiserver
