// create, update, patch and apply.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "apiserver/core.h"
#include "apiserver/crd.h"
#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/codec/yaml.h"

namespace kube::apiserver {
namespace {

// Number of attempts of a write. The real server stops retrying a conflicting patch after five; it never stops retrying updates.
constexpr int kMaxTries = 100;

std::string Joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

// "Pod in version "v1" cannot be handled as a Pod: why" -> why
std::string AfterColon(const std::string& message) {
  constexpr std::string_view kHead = " cannot be handled as a ";
  std::size_t head = message.find(kHead);
  std::size_t colon = head == std::string::npos ? std::string::npos : message.find(": ", head);
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

// As Go's %+v prints what it read from JSON.
std::string GoText(const Value& value) {
  std::string out;
  if (value.is_object()) {
    for (const auto& [key, member] : value.object()) out += (out.empty() ? "" : " ") + key.str() + ":" + GoText(member);
    return "map[" + out + "]";
  }
  if (value.is_list()) {
    for (const Value& item : value.list()) out += (out.empty() ? "" : " ") + GoText(item);
    return "[" + out + "]";
  }
  if (value.is_string()) return value.string_value().str();
  return value.is_null() ? "<nil>" : ToJson(value);
}

std::string MediaTypeOf(std::string_view content_type) {
  std::vector<MediaRange> ranges = ParseAccept(content_type);
  return ranges.empty() ? std::string() : ranges.front().type;
}

bool IsStoredInOldVersion(const ServedResource& r, const StoredObject& stored) {
  if (!r.custom) return false;
  const Value object = stored.Parse();
  return object["apiVersion"].string_value() != r.storage_api_version;
}

const std::vector<std::string> kPatchTypes = {"application/json-patch+json", "application/merge-patch+json",
                                              "application/strategic-merge-patch+json", "application/apply-patch+yaml"};

Result<Value> PatchValue(const ServedResource& r, const std::string& type, Value live, std::string_view body) {
  // These patches work on JSON text, where bytes that are not UTF-8 are replaced.
  if (type != "application/strategic-merge-patch+json") {
    if (Result<Value> wire = ParseJson(ToJson(live))) live = *std::move(wire);
  }
  if (type == "application/json-patch+json") {
    Result<Value> patch = ParseJson(body);
    if (!patch) return BadRequest("error decoding patch: " + patch.error().message());
    if (!patch->is_list())
      return BadRequest("error decoding patch: json: cannot unmarshal " + std::string(patch->kind_name()) +
                        " into Go value of type jsonpatch.Patch");
    Result<Value> patched = ApplyJsonPatch(live, *patch);
    if (patched) return patched;
    return PatchDoesNotApply();
  }
  Result<Value> patch = ParseJson(body);
  if (!patch) return BadRequest("error decoding patch: " + patch.error().message());
  if (!patch->is_object()) return BadRequest("error decoding patch: the patch is no object");
  if (type == "application/merge-patch+json") return ApplyMergePatch(live, *patch);
  Result<Value> patched = ApplyStrategicMergePatch(*r.type, live, *patch);
  if (!patched) return UnforeseenError(patched.error().message());
  return patched;
}

}  // namespace

Result<bool> ParseDryRun(const Query& query, std::string_view options_kind) {
  std::vector<std::string> values = query.All("dryRun");
  if (values.empty()) return false;
  std::vector<FieldError> errors;
  for (const std::string& value : values) {
    if (value != "All") {
      // The list prints as a whole, as Go prints it.
      Value list = Value::Array();
      for (const std::string& v : values) list.MutableList().push_back(v);
      errors.push_back(NotSupported("dryRun", list, {"All"}));
      break;
    }
  }
  if (!errors.empty()) return Invalid("meta.k8s.io", options_kind, "", errors);
  return true;
}

Result<std::string> ParseFieldManager(const Call& call, std::string_view options_kind) {
  std::string_view given = call.query.Get("fieldManager");
  if (!given.empty()) {
    if (given.size() > 128) return Invalid("meta.k8s.io", options_kind, "", {TooLong("fieldManager", 128)});
    for (std::size_t i = 0; i < given.size(); ++i) {
      auto c = static_cast<unsigned char>(given[i]);
      if (c >= 0x20 && c != 0x7f) continue;
      return Invalid("meta.k8s.io", options_kind, "",
                     {InvalidValue("fieldManager", Value(given), fmt::format("invalid character U+{:04X} (at position {})", c, i))});
    }
    return std::string(given);
  }
  std::string_view agent = call.user_agent;
  return std::string(agent.substr(0, agent.find('/')).substr(0, 128));
}

Result<void> ReportProblems(Call& call, const std::vector<std::string>& problems, FieldValidation validation) {
  if (problems.empty() || validation == FieldValidation::kIgnore) return {};
  if (validation == FieldValidation::kWarn) {
    call.warnings.insert(call.warnings.end(), problems.begin(), problems.end());
    return {};
  }
  std::string all;
  for (const std::string& p : problems) all += (all.empty() ? "" : ", ") + p;
  const ServedResource& r = *call.resource;
  return BadRequest(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: strict decoding error: {2}", r.kind, r.version, all));
}

Result<std::uint64_t> ParseVersion(std::string_view text) {
  std::uint64_t out = 0;
  if (text.empty()) return out;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size()) return out;
  return Error::Invalid(fmt::format("resourceVersion: Invalid value: \"{0}\": strconv.ParseUint: parsing \"{0}\": invalid syntax", text));
}

FieldManagerTarget ApiCore::TargetFor(const Call& call, const Value& object, std::optional<Error>* failed) {
  const ServedResource& r = *call.resource;
  FieldManagerTarget target{.schema = r.schema, .api_version = r.api_version(), .kind = r.kind};
  if (r.builtin != nullptr) {
    target.reset_fields = ResetFieldsOf(r.group, r.resource, call.subresource);
  } else if (r.custom->has_status) {
    if (call.subresource == "status") {
      // Everything but the status.
      FieldSet all;
      for (const auto& [key, value] : object.object()) {
        if (key != "status") all.Insert({PathElement::Field(key)});
      }
      target.reset_fields = ResetFields(std::move(all));
    } else {
      target.reset_fields = ResetFields({"status"});
    }
  }
  std::shared_ptr<const Resources> resources = call.resources;
  ResourcePtr self = call.resource;
  target.convert = [this, ctx = call.ctx, failed, resources, self](const Value& value,
                                                                   std::string_view api_version) -> std::optional<VersionedObject> {
    const auto find = [&](std::string_view version) -> ResourcePtr {
      if (version == self->api_version()) return self;
      Result<GroupVersion> gv = GroupVersion::Parse(version);
      ResourcePtr found = gv ? resources->FindKind(gv->group, gv->version, self->kind) : nullptr;
      return found && found->storage == self->storage ? found : nullptr;
    };
    // The value may have been converted to another version.
    const std::string_view given = value["apiVersion"].string_value();
    ResourcePtr from = given.empty() ? self : find(given), other = find(api_version);
    if (!from || !other) return std::nullopt;
    if (from == other) return VersionedObject{other->schema, value};
    Result<Value> converted = Convert(ctx, *from, *other, value);
    if (!converted) {
      if (failed != nullptr && !*failed) *failed = converted.error();
      return std::nullopt;
    }
    return VersionedObject{other->schema, *std::move(converted)};
  };
  return target;
}

Result<void> ApiCore::CheckPlace(const Call& call, std::string_view name) const {
  const ServedResource& r = *call.resource;
  if (r.custom) {
    ObjectPtr definition = store_.Get(std::string(kCrdStorage), "", r.custom->crd_name);
    if (!definition || definition->uid != r.custom->crd_uid) return ResourceNotFound();
    if (definition->deleting) {
      return Forbidden(r.group, r.resource, name, "create not allowed while custom resource definition is terminating");
    }
  }
  if (!r.namespaced) return {};
  ObjectPtr ns = store_.Get("/namespaces", "", call.ns);
  if (!ns) return NotFound("", "namespaces", call.ns);
  if (!ns->deleting) return {};
  Error::Payload payload = Forbidden(r.group, r.resource, name,
                                     fmt::format("unable to create new content in namespace {} because it is being terminated", call.ns))
                               .payload();
  payload.causes.push_back({"NamespaceTerminating", fmt::format("namespace {} is being terminated", call.ns), "metadata.namespace"});
  return Error(std::move(payload));
}

Result<Value> ApiCore::RunChecks(const ServedResource& r, Value object, const Value* old) const {
  std::vector<FieldError> errors;
  for (const auto& [resource, check] : checks_) {
    if (resource != r.storage) continue;
    for (FieldError& e : check(object, old)) errors.push_back(std::move(e));
  }
  if (!errors.empty()) return Invalid(r.group, r.kind, NameOf(object), errors);
  return object;
}

Result<Answer> ApiCore::StoreNew(Call& call, Value object, ServiceAllocation& services, bool dry_run) {
  const ServedResource& r = *call.resource;
  std::string name(NameOf(object));
  if (dry_run) {
    if (store_.Get(r.storage, NamespaceOf(object), name)) return AlreadyExists(r.group, r.resource, name);
    Result<Value> back = ThereAndBack(call, std::move(object));
    if (!back) return back.error();
    return Answer{.status = 201, .object = *std::move(back)};
  }
  Result<Value> form_of_store = ForStore(call.ctx, r, std::move(object));
  if (!form_of_store) return form_of_store.error();
  const Value stored = *std::move(form_of_store);
  Map<String> fields = SelectableValues(r, stored);
  std::string ns(NamespaceOf(stored));
  std::shared_ptr<const void> form = FormOf(r, stored);
  // Once the deletion of its namespace or definition is decided, no object may follow: nothing would delete it.
  std::vector<Prerequisite> prerequisites;
  if (r.namespaced) prerequisites.push_back({.resource = "/namespaces", .name = ns});
  if (r.custom) prerequisites.push_back({.resource = std::string(kCrdStorage), .name = r.custom->crd_name, .uid = r.custom->crd_uid});
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    if (ObjectPtr put = store_.Put(r.storage, stored, fields, nullptr, form, prerequisites)) {
      services.Commit();
      return Answer{.status = 201, .stored = std::move(put)};
    }
    if (auto ok = CheckPlace(call, name); !ok) return ok.error();
    if (ObjectPtr there = store_.Get(r.storage, ns, name)) {
      return there->deleting ? BeingDeleted(r.group, r.resource, name) : AlreadyExists(r.group, r.resource, name);
    }
  }
  return AlreadyExists(r.group, r.resource, name);
}

Result<Answer> ApiCore::CreateFrom(Call& call, Decoded decoded, FieldValidation validation, std::string_view manager, bool dry_run) {
  const ServedResource& r = *call.resource;
  if (auto ok = ReportProblems(call, decoded.problems, validation); !ok) return ok.error();
  Value object = std::move(decoded.object);
  if (auto ok = SetNamespace(object, r, call.ns); !ok) return ok.error();
  // The store refuses it, so all else comes first, and a dry run answers it as it is.
  std::string version = MetaOf(object)["resourceVersion"].string_value().str();
  bool generated = NameOf(object).empty() && !MetaOf(object)["generateName"].string_value().empty();
  if (auto ok = CheckPlace(call, NameOf(object)); !ok) return ok.error();
  WipeMetaForCreate(object);
  object = UpdateManagedFields(TargetFor(call, object), Value(), std::move(object), {.manager = std::string(manager), .now = Now()});
  AdmissionAttributes attributes = AttributesOf(call, "CREATE", std::move(object), Value(), dry_run);
  Result<Value> admitted = Mutate(call, attributes);
  if (!admitted) return admitted.error();
  object = *std::move(admitted);
  // A generated name that is taken is drawn again, as the real server does.
  for (int attempt = 0;; ++attempt) {
    Value draft = object;
    FillMetaForCreate(draft, Now());
    ServiceAllocation services(services_);
    WriteContext context{
        .resource = r, .now = Now(), .services = &services, .user = &call.user, .admission = &admission_, .warnings = &call.warnings};
    Result<Value> ready = PrepareCreate(std::move(draft), context);
    if (!ready) return ready.error();
    ready = RunChecks(r, *std::move(ready), nullptr);
    if (!ready) return ready.error();
    if (auto ok = Validate(call, attributes, *ready); !ok) return ok.error();
    if (Result<std::uint64_t> number = ParseVersion(version); !dry_run && number && *number != 0) {
      return UnforeseenError("resourceVersion should not be set on objects to be created");
    }
    Result<Answer> answer = StoreNew(call, *std::move(ready), services, dry_run);
    if (answer && dry_run && !version.empty()) answer->object["metadata"]["resourceVersion"] = version;
    if (answer || !generated || attempt >= 7 || !IsAlreadyExists(answer.error())) return answer;
  }
}

Result<Answer> ApiCore::Create(Call& call) {
  const ServedResource& r = *call.resource;
  Result<bool> dry_run = ParseDryRun(call.query, "CreateOptions");
  if (!dry_run) return dry_run.error();
  Result<FieldValidation> validation = ParseFieldValidation(call.query.Get("fieldValidation"), "CreateOptions");
  if (!validation) return validation.error();
  Result<std::string> manager = ParseFieldManager(call, "CreateOptions");
  if (!manager) return manager.error();
  Result<Encoding> encoding = BodyEncoding(call.content_type, r.custom != nullptr);
  if (!encoding) return encoding.error();
  Result<Decoded> decoded = DecodeObject(r, call.body, *encoding);
  if (!decoded) return decoded.error();
  return CreateFrom(call, *std::move(decoded), *validation, *manager, *dry_run);
}

Result<ObjectPtr> ApiCore::Find(const ServedResource& r, std::string_view ns, std::string_view name) const {
  ObjectPtr found = store_.Get(r.storage, r.namespaced ? ns : std::string_view(), name);
  if (!found) return NotFound(r.group, r.resource, name);
  return found;
}

ObjectPtr ApiCore::Commit(const ServedResource& r, Value stored, const ObjectPtr& current) {
  const Value& meta = MetaOf(stored);
  // A change that takes the last finalizer of an object that waits for its end is its end.
  bool gone = IsDeleting(stored) && meta["finalizers"].list().empty() && meta["deletionGracePeriodSeconds"].int_value() == 0;
  if (gone && r.storage == "/namespaces") gone = stored["spec"]["finalizers"].list().empty();
  // Watchers see it as it was before that change.
  if (gone) return Erase(r, current, current->Parse());
  Map<String> fields = SelectableValues(r, stored);
  std::shared_ptr<const void> form = FormOf(r, stored);
  return store_.Put(r.storage, std::move(stored), std::move(fields), current, std::move(form));
}

Result<ObjectPtr> ApiCore::Rewrite(const ServedResource& r, std::string_view ns, std::string_view name, const Change& change) {
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    Result<ObjectPtr> current = Find(r, ns, name);
    if (!current) return current;
    // The server's own writes are about metadata, which is the same in all versions: no webhook is needed for those.
    const bool as_stored = r.custom && r.custom->conversion;
    Value live = as_stored ? (*current)->Parse() : FromStorage(r, (*current)->Parse());
    Result<Value> wanted = change(live);
    if (!wanted) return wanted.error();
    if (*wanted == live) return current;
    Value stored = as_stored ? *std::move(wanted) : ToStorage(r, *std::move(wanted));
    if (ObjectPtr put = Commit(r, std::move(stored), *current)) return put;
  }
  return ModifiedConflict(r.group, r.resource, name);
}

std::string ApiCore::UpdateRequest::DescribePatch(const Value& patched) const {
  return strategic_patch.is_null() ? ToJson(patched) : GoText(strategic_patch);
}

namespace {

Result<Decoded> DecodeChanged(const ServedResource& r, const ApiCore::UpdateRequest& request, const Value& wanted) {
  Result<Decoded> decoded = DecodeObject(r, wanted, request.is_apply);
  if (!decoded) {
    if (!request.is_patch) return decoded.error();
    return Invalid("", "", "", {InvalidValue("patch", request.DescribePatch(wanted), AfterColon(decoded.error().message()))});
  }
  if (request.is_patch && request.validation == FieldValidation::kStrict && !decoded->problems.empty()) {
    return Invalid("", "", "",
                   {InvalidValue("patch", request.DescribePatch(wanted), "strict decoding error: " + Joined(decoded->problems))});
  }
  return decoded;
}

// Checks that the object's name is that of the URL. If `may_lack_it`, sets a missing name.
Result<void> CheckName(Value& object, const std::string& wanted, bool may_lack_it) {
  std::string_view name = NameOf(object);
  if (name.empty()) {
    if (!may_lack_it) {
      return BadRequest(fmt::format("the name of the object ({} based on URL) was undeterminable: name must be provided", wanted));
    }
    object["metadata"]["name"] = wanted;
  } else if (name != wanted) {
    return BadRequest(fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, wanted));
  }
  return {};
}

// The object as the client sent it, but with the managed fields of `object`: the form that webhooks receive.
Value WithManagedFieldsOf(const Value& sent, const Value& object) {
  Value shown = sent;
  if (const Value* managed = MetaOf(object).Find("managedFields")) {
    shown["metadata"]["managedFields"] = *managed;
  } else {
    shown["metadata"].MutableObject().Erase("managedFields");
  }
  return shown;
}

Error UidConflict(const ServedResource& r, const std::string& name, std::string_view uid, const StoredObject& current) {
  std::string key = (r.custom ? r.group + "/" : std::string()) + r.resource + "/" + StoreKey(current.ns, current.name);
  return Conflict(r.group, r.resource, name,
                  fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}, ResourceVersion: 0, AdditionalErrorMsg: "
                              "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                              key, uid, current.uid));
}

}  // namespace

Result<std::optional<Answer>> ApiCore::CreateByApply(Call& call, Value object, bool dry_run) {
  const ServedResource& r = *call.resource;
  if (auto ok = CheckPlace(call, call.name); !ok) return ok.error();
  WipeMetaForCreate(object);
  AdmissionAttributes attributes = AttributesOf(call, "CREATE", std::move(object), Value(), dry_run);
  Result<Value> admitted = Mutate(call, attributes);
  if (!admitted) return admitted.error();
  object = *std::move(admitted);
  FillMetaForCreate(object, Now());
  ServiceAllocation services(services_);
  WriteContext context{
      .resource = r, .now = Now(), .services = &services, .user = &call.user, .admission = &admission_, .warnings = &call.warnings};
  Result<Value> ready = PrepareCreate(std::move(object), context);
  if (!ready) return ready.error();
  ready = RunChecks(r, *std::move(ready), nullptr);
  if (!ready) return ready.error();
  if (auto ok = Validate(call, attributes, *ready); !ok) return ok.error();
  Result<Answer> answer = StoreNew(call, *std::move(ready), services, dry_run);
  if (answer) return std::optional(*std::move(answer));
  if (IsAlreadyExists(answer.error())) return std::optional<Answer>();
  return answer.error();
}

Result<Answer> ApiCore::ChangeObject(Call& call, UpdateRequest& request, const Change& change) {
  const ServedResource& r = *call.resource;
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    ObjectPtr current = store_.Get(r.storage, r.namespaced ? call.ns : std::string(), call.name);
    if (!current && !request.may_create) return NotFound(r.group, r.resource, call.name);
    Value live;
    if (current) {
      Result<Value> read = Read(call.ctx, r, *current);
      if (!read) return read.error();
      live = *std::move(read);
    }
    Result<Value> wanted = change(live);
    if (!wanted) return wanted.error();
    call.warnings.clear();  // of the last attempt only
    Result<Decoded> decoded = DecodeChanged(r, request, *wanted);
    if (!decoded) return decoded.error();
    if (auto ok = ReportProblems(call, decoded->problems, request.validation); !ok) return ok.error();
    Value object = std::move(decoded->object);
    if (auto ok = SetNamespace(object, r, call.ns); !ok) return ok.error();
    if (auto ok = CheckName(object, call.name, request.is_apply || request.is_patch); !ok) return ok.error();
    std::string_view uid = MetaOf(object)["uid"].string_value();
    if (!current) {
      if (!uid.empty() && request.is_apply) {
        return Conflict(r.group, r.resource, call.name,
                        fmt::format("uid mismatch: the provided object specified uid {}, and no existing object was found", uid));
      }
      request.created = true;
      if (!request.is_apply) return CreateFrom(call, Decoded{std::move(object), {}}, request.validation, request.manager, request.dry_run);
      Result<std::optional<Answer>> made = CreateByApply(call, std::move(object), request.dry_run);
      if (!made) return made.error();
      if (!*made) continue;
      return **std::move(made);
    }
    std::string version = MetaOf(object)["resourceVersion"].string_value().str();
    std::string_view live_version = MetaOf(live)["resourceVersion"].string_value();
    if (!uid.empty() && uid != MetaOf(live)["uid"].string_value() && !request.is_patch) {
      return UidConflict(r, call.name, uid, *current);
    }
    // A Scale goes through admission by itself (subresources.cc).
    const bool admit = call.admit && request.subresource != "scale" && hooks_.Any(r);
    const auto check_version = [&]() -> Result<void> {
      if (version.empty() && !r.unconditional_update) {
        return Invalid(r.group, r.kind, call.name,
                       {InvalidValue("metadata.resourceVersion", r.custom ? Value(0) : Value(""), "must be specified for an update")});
      }
      if (!version.empty() && version != live_version) return ModifiedConflict(r.group, r.resource, call.name);
      return {};
    };
    // Webhooks see the object as the client sent it, and before its version is compared.
    const Value sent = admit ? object : Value();
    if (!admit) {
      if (auto ok = check_version(); !ok) return ok.error();
    }
    PrepareMetaForUpdate(object, live);
    object["metadata"]["resourceVersion"] = live_version;
    if (!request.is_apply) {
      object = UpdateManagedFields(TargetFor(call, object), live, std::move(object),
                                   {.manager = request.manager, .subresource = request.subresource, .now = Now()});
      // The real server drops the time when it converts the entries of a Scale back.
      if (r.custom && request.subresource == "scale") {
        for (Value& entry : object["metadata"]["managedFields"].MutableList()) {
          if (std::as_const(entry)["subresource"].string_value() == "scale") entry.MutableObject().Erase("time");
        }
      }
    }
    AdmissionAttributes attributes;
    if (admit) {
      attributes = AttributesOf(call, "UPDATE", WithManagedFieldsOf(sent, object), live, request.dry_run);
      Result<Value> admitted = Mutate(call, attributes);
      if (!admitted) return admitted.error();
      object = *std::move(admitted);
      version = MetaOf(object)["resourceVersion"].string_value().str();
      if (auto ok = check_version(); !ok) return ok.error();
      PrepareMetaForUpdate(object, live);
      object["metadata"]["resourceVersion"] = live_version;
    }
    ServiceAllocation services(services_);
    WriteContext context{
        .resource = r, .now = Now(), .services = &services, .user = &call.user, .admission = &admission_, .warnings = &call.warnings};
    // A scale is an update of the object as a whole.
    std::string_view part = request.subresource == "scale" ? std::string_view() : std::string_view(request.subresource);
    Result<Value> ready = PrepareUpdate(std::move(object), live, part, context);
    if (!ready) return ready.error();
    if (part.empty()) ready = RunChecks(r, *std::move(ready), &live);
    if (!ready) return ready.error();
    if (admit) {
      if (auto ok = Validate(call, attributes, *ready); !ok) return ok.error();
    }
    Value next = KeepTimestampsIfUnchanged(live, *std::move(ready));
    // Nothing to write, so the version stays, unless the object is stored in a version that is not the storage version any more.
    if (next == live && !IsStoredInOldVersion(r, *current)) return Answer{.stored = std::move(current)};
    if (request.dry_run) {
      Result<Value> back = ThereAndBack(call, std::move(next));
      if (!back) return back.error();
      return Answer{.object = *std::move(back)};
    }
    Result<Value> stored = ForStore(call.ctx, r, next);
    if (!stored) return stored.error();
    if (ObjectPtr put = Commit(r, *std::move(stored), current)) {
      services.Commit();
      // What is answered is the object as it was written, also if that was its end.
      bool gone = !store_.Get(r.storage, put->ns, put->name) && IsDeleting(next);
      if (gone) return Answer{.object = std::move(next)};
      return Answer{.stored = std::move(put)};
    }
    // The version of a patched object is the live one's, unless the patch names another: then the next attempt says so.
    if (!version.empty() && !request.is_apply && !request.is_patch) return ModifiedConflict(r.group, r.resource, call.name);
  }
  return ModifiedConflict(r.group, r.resource, call.name);
}

Result<Answer> ApiCore::Update(Call& call) {
  const ServedResource& r = *call.resource;
  UpdateRequest request{.subresource = call.subresource, .may_create = r.create_on_update && call.subresource.empty()};
  Result<bool> dry_run = ParseDryRun(call.query, "UpdateOptions");
  if (!dry_run) return dry_run.error();
  request.dry_run = *dry_run;
  Result<FieldValidation> validation = ParseFieldValidation(call.query.Get("fieldValidation"), "UpdateOptions");
  if (!validation) return validation.error();
  Result<std::string> manager = ParseFieldManager(call, "UpdateOptions");
  if (!manager) return manager.error();
  request.manager = *manager;
  Result<Encoding> encoding = BodyEncoding(call.content_type, r.custom != nullptr);
  if (!encoding) return encoding.error();
  Result<Decoded> decoded = DecodeObject(r, call.body, *encoding);
  if (!decoded) return decoded.error();
  if (auto ok = ReportProblems(call, decoded->problems, *validation); !ok) return ok.error();
  std::vector<std::string> warnings = call.warnings;
  Result<Answer> answer = ChangeObject(call, request, [&](const Value&) -> Result<Value> { return decoded->object; });
  call.warnings.insert(call.warnings.begin(), warnings.begin(), warnings.end());
  return answer;
}

Result<Answer> ApiCore::Patch(Call& call) {
  const ServedResource& r = *call.resource;
  std::string type = MediaTypeOf(call.content_type);
  bool known = std::find(kPatchTypes.begin(), kPatchTypes.end(), type) != kPatchTypes.end();
  if (!known) return UnknownPatchType();
  if (type == "application/strategic-merge-patch+json" && r.custom) {
    return UnsupportedMediaType({kPatchTypes[0], kPatchTypes[1], kPatchTypes[3]});
  }
  UpdateRequest request{.subresource = call.subresource};
  Result<bool> dry_run = ParseDryRun(call.query, "PatchOptions");
  if (!dry_run) return dry_run.error();
  request.dry_run = *dry_run;
  Result<FieldValidation> validation = ParseFieldValidation(call.query.Get("fieldValidation"), "PatchOptions");
  if (!validation) return validation.error();
  request.validation = *validation;
  Result<std::string> manager = ParseFieldManager(call, "PatchOptions");
  if (!manager) return manager.error();
  request.manager = *manager;
  if (type == "application/apply-patch+yaml") return Apply(call, request);
  if (call.query.Has("force")) {
    return Invalid("meta.k8s.io", "PatchOptions", "", {ForbiddenField("force", "may not be specified for non-apply patch")});
  }
  request.is_patch = true;
  if (type == "application/strategic-merge-patch+json") {
    if (Result<Value> patch = ParseJson(call.body)) request.strategic_patch = *patch;
  }
  return ChangeObject(call, request, [&](const Value& live) { return PatchValue(r, type, live, call.body); });
}

Result<Answer> ApiCore::Apply(Call& call, UpdateRequest& request) {
  if (call.query.Get("fieldManager").empty()) {
    return Invalid("meta.k8s.io", "PatchOptions", "", {Required("fieldManager", "is required for apply patch")});
  }
  Result<std::vector<YamlDocument>> documents = ReadYaml(call.body);
  if (!documents || documents->size() != 1 || !documents->front().value.is_object()) {
    return BadRequest("error decoding YAML: " + (documents ? std::string("expected one object") : documents.error().message()));
  }
  const Value& config = documents->front().value;
  if (request.validation == FieldValidation::kStrict && !documents->front().duplicates.empty()) {
    return BadRequest("error strict decoding YAML: duplicate field " + documents->front().duplicates.front());
  }
  std::string_view name = NameOf(config);
  if (!name.empty() && name != call.name) {
    return BadRequest(fmt::format("the name of the object ({}) does not match the name on the URL ({})", name, call.name));
  }
  request.is_apply = true;
  request.may_create = call.subresource.empty();
  bool force = call.query.Flag("force");
  ManagerInfo who{.manager = request.manager, .subresource = request.subresource, .now = Now()};
  Result<Answer> answer = ChangeObject(call, request, [&](const Value& live) -> Result<Value> {
    Value wanted = config;
    if (name.empty()) wanted["metadata"]["name"] = call.name;
    std::optional<Error> failed;
    Result<Value> applied = ApplyConfiguration(TargetFor(call, live.is_null() ? wanted : live, &failed), live, wanted, who, force);
    if (failed) return *failed;
    return applied;
  });
  return answer;
}

}  // namespace kube::apiserver
