#include "apiserver/pipeline.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "apiserver/builtin/catalogue.h"
#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/defaults.h"
#include "apiserver/builtin/selectable_fields.h"
#include "apiserver/builtin/server_form.h"
#include "apiserver/builtin/strategy.h"
#include "apiserver/builtin/validation.h"
#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "apiserver/structural_schema.h"
#include "codec/json_bytes.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/v1.h"
#include "kube/value/any_object.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kStrictPrefix = "strict decoding error: ";

Error CannotHandle(const ServedResource& r, std::string_view why) {
  return BadRequest(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", r.kind, r.version, why));
}

// "strict decoding error: a, b" -> {a, b}. Problems contain no ", " of their own but inside quotes.
std::vector<std::string> SplitProblems(std::string_view text) {
  std::vector<std::string> out;
  std::string current;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (!quoted && text.substr(i, 2) == ", ") {
      out.push_back(std::move(current));
      current.clear();
      ++i;
      continue;
    }
    current += text[i];
  }
  if (!current.empty()) out.push_back(std::move(current));
  return out;
}

// `duplicate field "data[k]"`: our paths put the keys of maps into brackets, the server's messages do not.
std::string InServerForm(std::string problem) {
  std::string out;
  for (std::size_t i = 0; i < problem.size(); ++i) {
    std::size_t end = problem[i] == '[' ? problem.find(']', i) : std::string::npos;
    bool index = end != std::string::npos && problem.find_first_not_of("0123456789", i + 1) == end;
    if (end == std::string::npos || index) {
      out += problem[i];
      continue;
    }
    out += '.';
    out.append(problem, i + 1, end - i - 1);
    i = end;
  }
  return out;
}

// Alpha fields of the release whose behaviour the server has, which the next one replaced: its tables do not have them. Known, and
// dropped as the real server drops them while their feature is off.
bool IsReplacedField(const ServedResource& r, std::string problem) {
  for (std::size_t at = problem.find('['); at != std::string::npos; at = problem.find('[', at + 1)) {
    std::size_t end = problem.find(']', at);
    if (end != std::string::npos) problem.erase(at + 1, end - at - 1);
  }
  if (r.kind == "Pod") return problem == "unknown field \"status.nodeAllocatableResourceClaimStatuses[].resources\"";
  if (r.kind != "ResourceSlice") return false;
  return problem == "unknown field \"spec.devices[].nodeAllocatableResourceMappings\"" ||
         problem == "unknown field \"spec.devices[].basic.nodeAllocatableResourceMappings\"";
}

// Strict problems leave a decoded object behind; everything else is an error.
bool TakeProblems(const ServedResource& r, const Result<void>& result, std::vector<std::string>& problems) {
  if (result.ok()) return true;
  std::string_view message = result.error().message();
  if (!message.starts_with(kStrictPrefix)) return false;
  for (std::string& problem : SplitProblems(message.substr(kStrictPrefix.size()))) {
    if (!IsReplacedField(r, problem)) problems.push_back(InServerForm(std::move(problem)));
  }
  return true;
}

// What stands in front of a body in a message: its beginning, in hexadecimal digits if it does not look like JSON.
std::string Summary(std::string_view body) {
  constexpr std::size_t kMost = 30;
  if (body.empty()) return "<empty>";
  std::string out;
  if (body[0] == '{') {
    out = body.substr(0, kMost);
  } else {
    for (char c : body.substr(0, kMost)) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  if (body.size() > kMost) out += " ...";
  return out;
}

Error Unrecognized(const ServedResource& r, std::string_view why, std::string_view body) {
  return BadRequest(fmt::format("the object provided is unrecognized (must be of type {}): {} ({})", r.kind, why, Summary(body)));
}

std::string_view VersionPart(std::string_view api_version) {
  std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
}

// A body may leave its apiVersion and kind out (built-in kinds), but may not be something else.
Result<void> CheckTypeMeta(const ServedResource& r, const Value& value, std::string_view body) {
  std::string_view api_version = value["apiVersion"].string_value();
  std::string_view kind = value["kind"].string_value();
  if (r.custom) {
    if (kind.empty())
      return Unrecognized(r, fmt::format("Object 'Kind' is missing in '{}'", body.empty() ? ToJson(value) : std::string(body)), body);
    if (kind != r.kind) {
      return Invalid(r.group, kind, NameOf(value), {InvalidValue("kind", Value(kind), fmt::format("must be {}", r.kind))});
    }
  }
  bool other_kind = !kind.empty() && kind != r.kind;
  bool other_version = !api_version.empty() && api_version != r.api_version();
  if (!other_kind && !other_version) return {};
  std::string_view given_version = api_version.empty() ? std::string_view(r.version) : VersionPart(api_version);
  std::string full_version = api_version.empty() ? r.api_version() : std::string(api_version);
  std::string_view given_kind = kind.empty() ? std::string_view(r.kind) : kind;
  Result<GroupVersion> gv = GroupVersion::Parse(full_version);
  bool known = gv && FindBuiltinKind(gv->group, gv->version, given_kind) != nullptr;
  if (r.builtin != nullptr && !known) {
    return BadRequest(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: no kind \"{}\" is registered for version \"{}\" in scheme "
                    "\"kubexx\"",
                    given_kind, given_version, r.kind, given_kind, full_version));
  }
  if (r.builtin != nullptr && other_kind) {
    return BadRequest(fmt::format("{} in version \"{}\" cannot be handled as a {}: converting ({}.{}) to ({}.{}): unknown conversion",
                                  given_kind, given_version, r.kind, given_version, given_kind,
                                  r.group.empty() ? "core" : r.group.substr(0, r.group.find('.')), r.kind));
  }
  return BadRequest(
      fmt::format("the API version in the data ({}) does not match the expected API version ({})", full_version, r.api_version()));
}

struct Typed {
  AnyObject object;
  std::vector<std::string> problems;
};

Result<Typed> ToTyped(const ServedResource& r, const Value& value) {
  Typed out{AnyObject(*r.type), {}};
  Result<void> decoded = DecodeValue(*r.type, out.object.mutable_data(), value, {.strict = true, .keep_unknown = false});
  if (!TakeProblems(r, decoded, out.problems)) return CannotHandle(r, decoded.error().message());
  return out;
}

Result<Value> FromTyped(const ServedResource& r, const AnyObject& object) {
  Result<Value> value = ToServerValue(*r.type, object.data());
  if (!value) return InternalError(value.error().ToString());
  (*value)["apiVersion"] = r.api_version();
  (*value)["kind"] = r.kind;
  return value;
}

Result<Decoded> DecodeCustom(const ServedResource& r, Value value, std::vector<std::string> problems, std::string_view body) {
  if (!value.is_object()) return Unrecognized(r, "json: the body is no object", body);
  if (auto ok = CheckTypeMeta(r, value, body); !ok) return ok.error();
  Result<std::vector<std::string>> dropped = r.custom->schema->Normalize(value);
  if (!dropped) return CannotHandle(r, dropped.error().message());
  for (const std::string& path : *dropped) problems.push_back(fmt::format("unknown field \"{}\"", path));
  return Decoded{std::move(value), std::move(problems)};
}

// Brings a stored custom resource into the form that its definition gives it by now.
void ReadForm(const ServedResource& r, Value& stored) {
  r.custom->storage_schema->Prune(stored);
  r.custom->storage_schema->PruneNulls(stored);
  r.custom->storage_schema->ApplyDefaults(stored);
}

Result<Value> Validated(const ServedResource& r, Value object, const Value* old, std::vector<FieldError> errors) {
  std::vector<FieldError> all = ValidateMeta(r, object);
  if (old != nullptr) {
    // Twice: the real server asks once for all kinds and once more for each kind, and reports both.
    for (int i = 0; i < 2; ++i) {
      for (FieldError& e : ValidateMetaUpdate(object, *old)) all.push_back(std::move(e));
    }
  }
  for (FieldError& e : errors) all.push_back(std::move(e));
  // The real server has one kind of event, that of the core group.
  std::string_view group = r.storage == "/events" ? std::string_view() : std::string_view(r.group);
  if (!all.empty()) return Invalid(group, r.kind, NameOf(object), all);
  return object;
}

bool SpecChanged(const Value& object, const Value& old) {
  // Everything but metadata and status counts.
  auto relevant = [](const Value& v) {
    Value copy = v;
    copy.MutableObject().Erase("metadata");
    copy.MutableObject().Erase("status");
    return copy;
  };
  return !(relevant(object) == relevant(old));
}

// The replicas of a resource with the scale subresource are numbers, whatever its schema says.
void CheckScale(const CustomResource& custom, const Value& object, bool status, std::vector<FieldError>& errors) {
  if (!custom.has_scale) return;
  for (const std::string& path : {custom.spec_replicas, custom.status_replicas}) {
    const Value* at = &object;
    std::string_view rest = path;
    while (at != nullptr && !rest.empty()) {
      std::size_t dot = rest.find('.');
      at = at->Find(rest.substr(0, dot));
      rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
    if (at == nullptr || at->is_null() || (!status && path == custom.status_replicas)) continue;
    std::string field = "." + path;
    if (!at->is_int()) {
      std::string text = at->is_string() ? at->string_value().str() : ToJson(*at);
      std::string_view type = at->is_string()   ? "string"
                              : at->is_bool()   ? "bool"
                              : at->is_double() ? "float64"
                              : at->is_list()   ? "[]interface {}"
                                                : "map[string]interface {}";
      errors.push_back(InvalidValue(field, 0, fmt::format("{} accessor error: {} is of the type {}, expected int64", field, text, type)));
    } else if (at->int_value() < 0) {
      errors.push_back(InvalidValue(field, *at, "should be a non-negative integer"));
    }
  }
}

// Adds the warnings about an object that is valid.
Result<Value> Warned(Result<Value> object, const Value* old, const WriteContext& c) {
  if (!object || c.warnings == nullptr) return object;
  for (std::string& warning : FinalizerWarnings(*object, old)) c.warnings->push_back(std::move(warning));
  return object;
}

Result<Value> PrepareCustomCreate(Value object, const WriteContext& c) {
  const ServedResource& r = c.resource;
  if (r.custom->has_status) object.MutableObject().Erase("status");
  object["metadata"]["generation"] = 1;
  if (r.custom->has_cel_rules && c.warnings != nullptr) {
    c.warnings->push_back(fmt::format("{}: x-kubernetes-validations (CEL) are not evaluated by this server", r.custom->crd_name));
  }
  std::vector<FieldError> errors = r.custom->schema->Validate(object, nullptr);
  CheckScale(*r.custom, object, false, errors);
  return Warned(Validated(r, std::move(object), nullptr, std::move(errors)), nullptr, c);
}

Result<Value> PrepareCustomUpdate(Value object, const Value& old, std::string_view subresource, const WriteContext& c) {
  const ServedResource& r = c.resource;
  if (r.custom->has_status) {
    if (subresource == "status") {
      // Only the status changes; of metadata only managedFields.
      Value next = old;
      if (const Value* status = object.Find("status")) {
        next["status"] = *status;
      } else {
        next.MutableObject().Erase("status");
      }
      if (const Value* managed = MetaOf(object).Find("managedFields")) next["metadata"]["managedFields"] = *managed;
      next["apiVersion"] = r.api_version();
      object = std::move(next);
    } else if (const Value* status = old.Find("status")) {
      object["status"] = *status;
    } else {
      object.MutableObject().Erase("status");
    }
  }
  bool counts = r.custom->has_status ? subresource != "status" && SpecChanged(object, old) : !(object == old) && SpecChanged(object, old);
  if (!r.custom->has_status && !counts) counts = !(std::as_const(object)["status"] == old["status"]);
  if (counts) object["metadata"]["generation"] = MetaOf(old)["generation"].int_value() + 1;
  std::vector<FieldError> errors =
      subresource == "status" ? r.custom->schema->ValidateStatus(object, &old) : r.custom->schema->Validate(object, &old);
  CheckScale(*r.custom, object, subresource == "status", errors);
  return Warned(Validated(r, std::move(object), &old, std::move(errors)), &old, c);
}

}  // namespace

Result<FieldValidation> ParseFieldValidation(std::string_view text, std::string_view options_kind) {
  if (text.empty() || text == "Warn") return FieldValidation::kWarn;
  if (text == "Ignore") return FieldValidation::kIgnore;
  if (text == "Strict") return FieldValidation::kStrict;
  return Invalid("meta.k8s.io", options_kind, "", {NotSupported("fieldValidation", Value(text), {"", "Ignore", "Strict", "Warn"})});
}

Result<Decoded> DecodeObject(const ServedResource& r, std::string_view body, Encoding encoding) {
  if (encoding == Encoding::kJson && body == "null" && r.builtin != nullptr) body = "{}";  // Go reads null as an empty struct
  if (encoding == Encoding::kProtobuf && r.type != nullptr) {
    if (!HasProtobufEnvelope(body)) {
      return Unrecognized(r, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]", body);
    }
    AnyObject object(*r.type);
    Result<void> decoded = DecodeProtobuf(*r.type, object.mutable_data(), body, {.keep_unknown = false});
    if (!decoded) return CannotHandle(r, decoded.error().message());
    ApplyDefaults(*r.type, object.mutable_data());
    Result<Value> value = FromTyped(r, object);
    if (!value) return value.error();
    return Decoded{*std::move(value), {}};
  }
  if (encoding == Encoding::kYaml) {
    Result<std::vector<YamlDocument>> documents = ReadYaml(body);
    if (!documents) return Unrecognized(r, "yaml: " + documents.error().message(), body);
    if (documents->size() != 1) return Unrecognized(r, "yaml: expected one document", body);
    std::vector<std::string> problems;
    for (const std::string& d : documents->front().duplicates) problems.push_back("duplicate field " + d.substr(0, d.find(" (")));
    if (r.custom) return DecodeCustom(r, documents->front().value, std::move(problems), body);
    Result<Decoded> decoded = DecodeObject(r, documents->front().value);
    if (decoded) decoded->problems.insert(decoded->problems.begin(), problems.begin(), problems.end());
    return decoded;
  }
  if (r.custom) {
    std::vector<std::string> problems;
    Result<Value> value = ParseJson(body, {.strict = true});
    if (!value && value.error().message().starts_with(kStrictPrefix)) {
      problems = SplitProblems(std::string_view(value.error().message()).substr(kStrictPrefix.size()));
      value = ParseJson(body);
    }
    if (!value) return Unrecognized(r, "couldn't get version/kind; json parse error: " + value.error().message(), body);
    return DecodeCustom(r, *std::move(value), std::move(problems), body);
  }
  AnyObject object(*r.type);
  std::vector<std::string> problems;
  Result<void> decoded = DecodeJson(*r.type, object.mutable_data(), body, {.strict = true, .keep_unknown = false});
  if (!TakeProblems(r, decoded, problems)) {
    Result<Value> value = ParseJson(body);
    if (!value) return Unrecognized(r, "couldn't get version/kind; json parse error: " + value.error().message(), body);
    if (!value->is_object()) {
      return Unrecognized(r, fmt::format("couldn't get version/kind; json parse error: the body is a {}", value->kind_name()), body);
    }
    // A body for another kind or version gets the message that says so.
    if (auto ok = CheckTypeMeta(r, *value, body); !ok) return ok.error();
    return CannotHandle(r, decoded.error().message());
  }
  ApplyDefaults(*r.type, object.mutable_data());
  Result<Value> value = FromTyped(r, object);
  if (!value) return value.error();
  return Decoded{*std::move(value), std::move(problems)};
}

Result<Decoded> DecodeObject(const ServedResource& r, const Value& value, bool applied) {
  if (r.custom && applied) {
    if (auto ok = CheckTypeMeta(r, value, ""); !ok) return ok.error();
    Decoded out{value, {}};
    Result<std::vector<std::string>> unknown = r.custom->schema->CoerceMetadata(out.object);
    if (!unknown) return CannotHandle(r, unknown.error().message());
    r.custom->schema->ApplyDefaults(out.object);
    return out;
  }
  if (r.custom) return DecodeCustom(r, value, {}, "");
  if (auto ok = CheckTypeMeta(r, value, ""); !ok) return ok.error();
  Result<Typed> typed = ToTyped(r, value);
  if (!typed) return typed.error();
  ApplyDefaults(*r.type, typed->object.mutable_data());
  Result<Value> clean = FromTyped(r, typed->object);
  if (!clean) return clean.error();
  return Decoded{*std::move(clean), std::move(typed->problems)};
}

Result<Value> DecodePatched(const ServedResource& r, const Value& value) {
  if (!r.custom) {
    Result<Decoded> decoded = DecodeObject(r, value);
    if (!decoded) return decoded.error();
    return std::move(decoded->object);
  }
  Value object = value;
  Result<std::vector<std::string>> unknown = r.custom->schema->CoerceMetadata(object);
  if (!unknown) return CannotHandle(r, unknown.error().message());
  r.custom->schema->ApplyDefaults(object);
  return object;
}

void DropUnknown(const ServedResource& r, Value& object) {
  if (r.custom) r.custom->schema->Prune(object);
}

Result<Value> AdmitInTree(const ServedResource& r, Value object, const Value& old, const AdmissionContext& admission) {
  if (r.custom) return object;
  Result<Typed> typed = ToTyped(r, object);
  if (!typed) return typed.error();
  std::optional<Typed> before;
  if (!old.is_null()) {
    Result<Typed> decoded = ToTyped(r, old);
    if (!decoded) return decoded.error();
    before = *std::move(decoded);
  }
  if (auto ok = Admit(*r.type, typed->object.mutable_data(), before ? before->object.data() : nullptr, admission); !ok) return ok.error();
  return FromTyped(r, typed->object);
}

Result<Value> PrepareCreate(Value object, const WriteContext& c) {
  const ServedResource& r = c.resource;
  if (r.custom) return PrepareCustomCreate(std::move(object), c);
  Result<Typed> typed = ToTyped(r, object);
  if (!typed) return typed.error();
  void* data = typed->object.mutable_data();
  StrategyUser user;
  if (c.user != nullptr) {
    user.name = c.user->name;
    user.uid = c.user->uid;
    for (const std::string& group : c.user->groups) user.groups.push_back(group);
  }
  StrategyContext strategy{.now = c.now, .services = c.services, .user = c.user != nullptr ? &user : nullptr};
  if (c.admission != nullptr) {
    if (auto ok = Admit(*r.type, data, nullptr, *c.admission); !ok) return ok.error();
  }
  if (auto ok = PrepareForCreate(*r.type, data, strategy); !ok) return ok.error();
  std::vector<FieldError> errors = Validate(*r.type, data, nullptr);
  Result<Value> value = FromTyped(r, typed->object);
  if (!value) return value.error();
  return Validated(r, *std::move(value), nullptr, std::move(errors));
}

Result<Value> PrepareUpdate(Value object, const Value& old, std::string_view subresource, const WriteContext& c) {
  const ServedResource& r = c.resource;
  if (r.custom) return PrepareCustomUpdate(std::move(object), old, subresource, c);
  Result<Typed> typed = ToTyped(r, object);
  if (!typed) return typed.error();
  Result<Typed> before = ToTyped(r, old);
  if (!before) return before.error();
  void* data = typed->object.mutable_data();
  StrategyContext strategy{.now = c.now, .services = c.services};
  if (subresource.empty()) {
    if (c.admission != nullptr) {
      if (auto ok = Admit(*r.type, data, before->object.data(), *c.admission); !ok) return ok.error();
    }
    if (auto ok = PrepareForUpdate(*r.type, data, before->object.data(), strategy); !ok) return ok.error();
  } else {
    PrepareSubresourceUpdate(*r.type, subresource, data, before->object.data(), strategy);
  }
  std::vector<FieldError> errors = subresource.empty() ? Validate(*r.type, data, before->object.data())
                                                       : ValidateSubresource(*r.type, subresource, data, before->object.data());
  Result<Value> value = FromTyped(r, typed->object);
  if (!value) return value.error();
  return Validated(r, *std::move(value), &old, std::move(errors));
}

Map<String> SelectableValues(const ServedResource& r, const Value& stored) {
  Map<String> out;
  if (r.custom) {
    for (const std::string& path : r.custom->selectable_fields) {
      const Value* at = &stored;
      std::size_t start = 0;
      while (at != nullptr && start <= path.size()) {
        std::size_t dot = std::min(path.find('.', start), path.size());
        at = at->Find(std::string_view(path).substr(start, dot - start));
        start = dot + 1;
      }
      if (at != nullptr) out.Set(path, at->is_string() ? at->string_value() : String(ToJson(*at)));
    }
    return out;
  }
  Result<Typed> typed = ToTyped(r, FromStorage(r, stored));
  if (!typed) return out;
  return SelectableFields(*r.type, typed->object.data());
}

Result<void> CheckFieldLabel(const ServedResource& r, std::string_view label) {
  if (label == "metadata.name" || (label == "metadata.namespace" && r.namespaced)) return {};
  if (r.custom) {
    for (const std::string& path : r.custom->selectable_fields) {
      if (path == label) return {};
    }
    return BadRequest(fmt::format("field label not supported: {}", label));
  }
  return CheckSelectableField(*r.type, label);
}

Value ToStorage(const ServedResource& r, Value object) {
  if (r.api_version() == r.storage_api_version) return object;
  if (r.builtin != nullptr) return ConvertForStorage(*r.builtin, std::move(object));
  object["apiVersion"] = r.storage_api_version;
  r.custom->storage_schema->Prune(object);
  return object;
}

std::shared_ptr<const void> FormOf(const ServedResource& r, const Value& stored) {
  if (!r.custom) return nullptr;
  Value read = stored;
  ReadForm(r, read);
  return read == stored && stored["apiVersion"].string_value() == r.storage_api_version ? r.custom->storage_schema : nullptr;
}

Value FromStorage(const ServedResource& r, Value stored) {
  if (r.custom && r.custom->conversion) {
    // A webhook made it what it is, or it is stored in this version.
    r.custom->schema->Prune(stored);
    r.custom->schema->PruneNulls(stored);
    r.custom->schema->ApplyDefaults(stored);
    return stored;
  }
  // A definition may have changed since the object was written.
  if (r.custom) {
    ReadForm(r, stored);
    stored["apiVersion"] = r.api_version();  // also of one that was written when another version was stored
  }
  if (r.api_version() == r.storage_api_version) return stored;
  if (r.builtin != nullptr) return ConvertFromStorage(*r.builtin, std::move(stored));
  r.custom->schema->Prune(stored);
  r.custom->schema->PruneNulls(stored);
  return stored;
}

std::shared_ptr<const std::string> TextFor(const ServedResource& r, const StoredObject& stored) {
  if (r.custom ? stored.form.get() == r.custom->schema.get() : r.api_version() == r.storage_api_version) return stored.json;
  return std::make_shared<const std::string>(internal::ToJsonBytes(FromStorage(r, stored.Parse())));
}

}  // namespace kube::apiserver
