#include "apiserver/webhook_answer.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "codec/base64.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kTypeMeta =
    R"(struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" })";

std::string_view GoKind(const Value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_list()) return "array";
  if (value.is_object()) return "object";
  return "number";
}

// As Go's %T has it for what comes from JSON.
std::string_view GoType(const Value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_list()) return "[]interface {}";
  if (value.is_object()) return "map[string]interface {}";
  if (value.is_int()) return "int64";
  return value.is_null() ? "<nil>" : "float64";
}

Error WrongType(const Value& value, std::string_view field, std::string_view type) {
  return Error::Decode(fmt::format("json: cannot unmarshal {} into Go struct field {} of type {}", GoKind(value), field, type));
}

// A member that may be absent or null. Errors: kDecode if it is something else than `is` says.
Result<const Value*> Member(const Value& object, std::string_view name, bool (Value::*is)() const, std::string_view field,
                            std::string_view type) {
  const Value* found = object.Find(name);
  if (found == nullptr || found->is_null()) return static_cast<const Value*>(nullptr);
  if (!(found->*is)()) return WrongType(*found, std::string(field) + "." + std::string(name), type);
  return found;
}

std::string PartBefore(std::string_view api_version, std::string_view otherwise) {
  const std::size_t slash = api_version.find('/');
  return std::string(slash == std::string_view::npos ? otherwise : api_version.substr(slash + 1));
}

// The review, which is an object of that kind or of none.
Result<Value> ReadReview(std::string_view body, std::string_view group, std::string_view version, std::string_view kind) {
  Result<Value> review = ParseJson(body);
  if (!review) {
    // The real server takes what is no JSON for YAML, and a word for a string.
    const bool word = body.find_first_of("{}[]:\"\n") == std::string_view::npos;
    return Error::Decode(word ? fmt::format("couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of "
                                            "type {}",
                                            kTypeMeta)
                              : "couldn't get version/kind; json parse error: " + review.error().message());
  }
  if (!review->is_object()) {
    return Error::Decode(fmt::format("couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type {}",
                                     GoKind(*review), kTypeMeta));
  }
  const Value& read = *review;
  const std::string_view got_version = read["apiVersion"].string_value(), got_kind = read["kind"].string_value();
  const std::string wanted = fmt::format("{}/{}", group, version);
  // What is absent counts as right here; a review of v1 is looked at again.
  if ((got_version.empty() || got_version == wanted) && (got_kind.empty() || got_kind == kind)) return review;
  const bool known =
      (got_kind == kind && (got_version == fmt::format("{}/v1", group) || got_version == fmt::format("{}/v1beta1", group))) ||
      (got_kind == "Status" && got_version == "v1");
  if (!known)
    return Error::Decode(fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme \"kubexx\"", got_kind, got_version));
  return Error::Decode(
      fmt::format("converting ({}.{}) to ({}.{}): unknown conversion", PartBefore(got_version, got_version), got_kind, version, kind));
}

// "admission.k8s.io/v1, Kind=AdmissionReview"
std::string ShownKind(std::string_view api_version, std::string_view kind) {
  return fmt::format("{}, Kind={}", api_version.empty() ? std::string_view("/") : api_version, kind);
}

Error UidMismatch(std::string_view wanted, std::string_view got) {
  return Error::Invalid(fmt::format("expected response.uid=\"{}\", got \"{}\"", wanted, got));
}

Result<void> TakePatch(const Value& response, bool mutating, bool strict, AdmissionAnswer& out) {
  constexpr std::string_view kField = "AdmissionResponse.response";
  Result<const Value*> patch = Member(response, "patch", &Value::is_string, kField, "[]uint8");
  if (!patch) return patch.error();
  Result<const Value*> type = Member(response, "patchType", &Value::is_string, kField, "v1.PatchType");
  if (!type) return type.error();
  if (*patch != nullptr && !kube::internal::DecodeBase64((*patch)->string_value(), out.patch)) {
    return Error::Decode("illegal base64 data at input byte 0");
  }
  if (*type != nullptr) out.patch_type = (*type)->string_value().str();
  if (!strict) {
    if (!mutating) out.patch.clear();
    out.patch_type = out.patch.empty() ? "" : "JSONPatch";
    return {};
  }
  if (!mutating) {
    if (!out.patch.empty()) return Error::Invalid("validating webhook may not return response.patch");
    if (*type != nullptr) return Error::Invalid("validating webhook may not return response.patchType");
    return {};
  }
  if (!out.patch.empty() && *type == nullptr) return Error::Invalid("webhook returned response.patch but not response.patchType");
  if (out.patch.empty() && *type != nullptr) return Error::Invalid("webhook returned response.patchType but not response.patch");
  if (*type != nullptr && out.patch_type.empty()) return Error::Invalid("webhook returned invalid response.patchType of \"\"");
  return {};
}

}  // namespace

std::string_view ReviewVersion(const std::vector<std::string>& versions) {
  for (const std::string& version : versions) {
    if (version == "v1" || version == "v1beta1") return version;
  }
  return {};
}

Result<AdmissionAnswer> ReadAdmissionAnswer(std::string_view body, std::string_view version, std::string_view uid, bool mutating) {
  constexpr std::string_view kField = "AdmissionResponse.response";
  Result<Value> review = ReadReview(body, "admission.k8s.io", version, "AdmissionReview");
  if (!review) return review.error();
  const Value& read = *review;
  Result<const Value*> response = Member(read, "response", &Value::is_object, "AdmissionReview", "v1.AdmissionResponse");
  if (!response) return response.error();
  if (*response == nullptr) return Error::Invalid("webhook response was absent");
  const Value& r = **response;
  AdmissionAnswer out;
  Result<const Value*> got_uid = Member(r, "uid", &Value::is_string, kField, "types.UID");
  if (!got_uid) return got_uid.error();
  Result<const Value*> allowed = Member(r, "allowed", &Value::is_bool, kField, "bool");
  if (!allowed) return allowed.error();
  Result<const Value*> status = Member(r, "status", &Value::is_object, kField, "v1.Status");
  if (!status) return status.error();
  Result<const Value*> notes = Member(r, "auditAnnotations", &Value::is_object, kField, "map[string]string");
  if (!notes) return notes.error();
  Result<const Value*> warnings = Member(r, "warnings", &Value::is_list, kField, "[]string");
  if (!warnings) return warnings.error();
  if (*notes != nullptr) {
    for (const auto& [key, note] : (*notes)->object()) {
      if (!note.is_string()) return WrongType(note, "AdmissionResponse.response.auditAnnotations", "string");
    }
  }
  if (*warnings != nullptr) {
    for (const Value& warning : (*warnings)->list()) {
      if (!warning.is_string()) return WrongType(warning, "AdmissionResponse.response.warnings", "string");
      out.warnings.push_back(warning.string_value().str());
    }
  }
  if (*status != nullptr) {
    if (Result<meta::v1::Status> typed = FromValue<meta::v1::Status>(**status); !typed) return Error::Decode(typed.error().message());
    out.status = **status;
  }
  const bool strict = version == "v1";
  AdmissionAnswer patched;
  const Result<void> taken = TakePatch(r, mutating, strict, patched);
  if (!taken && taken.error().kind() == ErrorKind::kDecode) return taken.error();
  if (strict) {
    const std::string_view got = *got_uid == nullptr ? std::string_view() : (*got_uid)->string_value().view();
    if (got != uid) return UidMismatch(uid, got);
    if (read["kind"].string_value().empty() || read["apiVersion"].string_value().empty()) {
      return Error::Invalid(fmt::format("expected webhook response of {}, got {}", ShownKind("admission.k8s.io/v1", "AdmissionReview"),
                                        ShownKind(read["apiVersion"].string_value(), read["kind"].string_value())));
    }
  }
  if (!taken) return taken.error();
  out.patch = std::move(patched.patch);
  out.patch_type = std::move(patched.patch_type);
  out.allowed = *allowed != nullptr && (*allowed)->bool_value();
  return out;
}

Result<std::vector<Value>> ReadConversionAnswer(std::string_view body, std::string_view version, std::string_view uid) {
  Result<Value> review = ReadReview(body, "apiextensions.k8s.io", version, "ConversionReview");
  if (!review) return review.error();
  const Value& read = *review;
  Result<const Value*> response = Member(read, "response", &Value::is_object, "ConversionReview", "v1.ConversionResponse");
  if (!response) return response.error();
  if (version == "v1" && (read["kind"].string_value().empty() || read["apiVersion"].string_value().empty())) {
    return Error::Invalid(fmt::format("expected webhook response of {}, got {}", ShownKind("apiextensions.k8s.io/v1", "ConversionReview"),
                                      ShownKind(read["apiVersion"].string_value(), read["kind"].string_value())));
  }
  if (*response == nullptr) return Error::Invalid("no response provided");
  const Value& r = **response;
  constexpr std::string_view kField = "ConversionResponse.response";
  Result<const Value*> got_uid = Member(r, "uid", &Value::is_string, kField, "types.UID");
  if (!got_uid) return got_uid.error();
  Result<const Value*> objects = Member(r, "convertedObjects", &Value::is_list, kField, "[]runtime.RawExtension");
  if (!objects) return objects.error();
  Result<const Value*> result = Member(r, "result", &Value::is_object, kField, "v1.Status");
  if (!result) return result.error();
  if (version == "v1") {
    const std::string_view got = *got_uid == nullptr ? std::string_view() : (*got_uid)->string_value().view();
    if (got != uid) return UidMismatch(uid, got);
  }
  const Value none = Value::Object();
  const Value& said = *result == nullptr ? none : **result;
  if (said["status"].string_value() != "Success") {
    if (std::string message = said["message"].string_value().str(); !message.empty()) return Error::Invalid(std::move(message));
    return Error::Invalid(fmt::format("response.result.status was '{}', not 'Success'", said["status"].string_value().view()));
  }
  std::vector<Value> out;
  if (*objects != nullptr) {
    for (const Value& object : (*objects)->list()) out.push_back(object);
  }
  return out;
}

Error DenialOf(std::string_view webhook, const Value& status) {
  const std::string_view message = status["message"].string_value(), reason = status["reason"].string_value();
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = status["code"].is_int() && status["code"].int_value() >= 400 && status["code"].int_value() <= 599
                          ? static_cast<int>(status["code"].int_value())
                          : 400;
  payload.reason = reason;
  payload.message = fmt::format("admission webhook \"{}\" denied the request", webhook);
  if (!message.empty() || !reason.empty()) {
    payload.message += fmt::format(": {}", message.empty() ? reason : message);
  } else {
    payload.message += " without explanation";
  }
  const Value& details = status["details"];
  payload.name = details["name"].string_value();
  payload.resource_group = details["group"].string_value();
  payload.resource_kind = details["kind"].string_value();
  for (const Value& cause : details["causes"].list()) {
    payload.causes.push_back(
        {cause["reason"].string_value().str(), cause["message"].string_value().str(), cause["field"].string_value().str()});
  }
  if (std::int64_t seconds = details["retryAfterSeconds"].int_value(); seconds > 0 && seconds < 1'000'000'000) {
    payload.retry_after_seconds = static_cast<int>(seconds);
  }
  return Error(std::move(payload));
}

namespace {

Result<void> TakeTexts(const Value& from, Value& metadata, std::string_view name) {
  const Value* given = from.Find(name);
  if (given == nullptr || given->is_null()) {
    metadata.MutableObject().Erase(name);
    return {};
  }
  if (!given->is_object()) {
    return Error::Invalid(
        fmt::format("returned invalid metadata: invalid metadata.{} of type {} in converted object", name, GoType(*given)));
  }
  for (const auto& [key, text] : given->object()) {
    if (!text.is_string()) {
      return Error::Invalid(fmt::format("returned invalid metadata: metadata.{}[{}] must be a string, but is {} in converted object", name,
                                        key.view(), GoType(text)));
    }
  }
  metadata[name] = *given;
  DropEmpty(metadata, name);
  return {};
}

}  // namespace

Result<Value> AcceptConverted(const Value& original, Value converted, std::string_view api_version) {
  const Value& read = converted;
  if (!read.is_object()) return Error::Invalid("returned invalid object at index 0: it is no object");
  if (std::string_view got = read["apiVersion"].string_value(); got != api_version) {
    return Error::Invalid(
        fmt::format("returned invalid object at index 0: invalid groupVersion (expected {}, received {})", api_version, got));
  }
  if (std::string_view wanted = original["kind"].string_value(), got = read["kind"].string_value(); got != wanted) {
    return Error::Invalid(fmt::format("returned invalid object at index 0: invalid kind (expected {}, received {})", wanted, got));
  }
  const auto same = [&](const char* member, const char* shown) -> Result<void> {
    const std::string_view wanted = MetaOf(original)[member].string_value(), got = MetaOf(read)[member].string_value();
    if (wanted == got) return {};
    return Error::Invalid(fmt::format("returned invalid object: must have the same {}: {} != {}", shown, wanted, got));
  };
  for (const auto& [member, shown] : {std::pair{"name", "name"}, std::pair{"namespace", "namespace"}, std::pair{"uid", "UID"}}) {
    if (Result<void> ok = same(member, shown); !ok) return ok.error();
  }
  const Value given = MetaOf(read);
  if (read.Find("metadata") == nullptr) return Error::Invalid("returned invalid metadata: missing metadata in converted object");
  if (!given.is_object()) {
    return Error::Invalid(fmt::format("returned invalid metadata: invalid metadata of type {} in converted object", GoType(given)));
  }
  Value metadata = MetaOf(original).is_object() ? MetaOf(original) : Value::Object();
  for (const char* name : {"labels", "annotations"}) {
    if (Result<void> ok = TakeTexts(given, metadata, name); !ok) return ok.error();
  }
  converted["metadata"] = std::move(metadata);
  return converted;
}

}  // namespace kube::apiserver
