#include "apiserver/errors.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/field_set.h"
#include "apiserver/json_schema.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

Error About(int code, std::string_view reason, std::string message, std::string_view group, std::string_view kind, std::string_view name) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = code;
  payload.reason = reason;
  payload.message = std::move(message);
  payload.resource_group = group;
  payload.resource_kind = kind;
  payload.name = name;
  return Error(std::move(payload));
}

// Marks the answers that a real server makes from an HTTP code alone: they carry empty details.
constexpr std::string_view kGeneric = "generic";

Error Generic(int code, std::string_view reason, std::string message) {
  Error::Payload payload = About(code, reason, std::move(message), "", "", "").payload();
  payload.context.emplace_back(kGeneric);
  return Error(std::move(payload));
}

std::string_view TextOf(FieldErrorType type) {
  switch (type) {
    case FieldErrorType::kNotFound:
      return "Not found";
    case FieldErrorType::kRequired:
      return "Required value";
    case FieldErrorType::kDuplicate:
      return "Duplicate value";
    case FieldErrorType::kInvalid:
    case FieldErrorType::kTypeInvalid:
      return "Invalid value";
    case FieldErrorType::kNotSupported:
      return "Unsupported value";
    case FieldErrorType::kForbidden:
      return "Forbidden";
    case FieldErrorType::kTooLong:
      return "Too long";
    case FieldErrorType::kTooShort:
      return "Too short";
    case FieldErrorType::kTooMany:
      return "Too many";
    case FieldErrorType::kTooFew:
      return "Too few";
    case FieldErrorType::kInternal:
      return "Internal error";
  }
  return "Invalid value";
}

bool ShowsValue(FieldErrorType type) {
  return type != FieldErrorType::kRequired && type != FieldErrorType::kForbidden && type != FieldErrorType::kTooLong &&
         type != FieldErrorType::kTooShort && type != FieldErrorType::kInternal;
}

}  // namespace

std::string FieldError::Body() const {
  std::string out(TextOf(type));
  if (ShowsValue(type) && !value.empty()) out += ": " + value;
  if (!detail.empty()) out += ": " + detail;
  return out;
}

std::string_view ReasonOf(FieldErrorType type) {
  switch (type) {
    case FieldErrorType::kNotFound:
      return "FieldValueNotFound";
    case FieldErrorType::kRequired:
      return "FieldValueRequired";
    case FieldErrorType::kDuplicate:
      return "FieldValueDuplicate";
    case FieldErrorType::kInvalid:
      return "FieldValueInvalid";
    case FieldErrorType::kTypeInvalid:
      return "FieldValueTypeInvalid";
    case FieldErrorType::kNotSupported:
      return "FieldValueNotSupported";
    case FieldErrorType::kForbidden:
      return "FieldValueForbidden";
    case FieldErrorType::kTooLong:
      return "FieldValueTooLong";
    case FieldErrorType::kTooShort:
      return "FieldValueTooShort";
    case FieldErrorType::kTooMany:
      return "FieldValueTooMany";
    case FieldErrorType::kTooFew:
      return "FieldValueTooFew";
    case FieldErrorType::kInternal:
      return "InternalError";
  }
  return "FieldValueInvalid";
}

std::string PrintValue(const Value& value) {
  if (value.is_string()) return QuoteGo(value.string_value());
  if (value.is_double()) return PrintGoFloat(value.double_value());
  // As Go's encoding/json writes it: what could end a script in HTML is escaped. It stands in strings only.
  std::string out;
  const std::string json = ToJson(value);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view separator = std::string_view(json).substr(i, 3);
    if (json[i] == '<' || json[i] == '>' || json[i] == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(json[i]));
    } else if (separator == "\xe2\x80\xa8" || separator == "\xe2\x80\xa9") {
      out += separator.back() == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

FieldError Required(std::string field, std::string detail) { return {FieldErrorType::kRequired, std::move(field), "", std::move(detail)}; }
FieldError InvalidValue(std::string field, const Value& value, std::string detail) {
  return {FieldErrorType::kInvalid, std::move(field), PrintValue(value), std::move(detail)};
}
FieldError NotSupported(std::string field, const Value& value, const std::vector<std::string>& supported) {
  std::string detail;
  for (const std::string& s : supported) detail += fmt::format("{}\"{}\"", detail.empty() ? "supported values: " : ", ", s);
  return {FieldErrorType::kNotSupported, std::move(field), PrintValue(value), std::move(detail)};
}
FieldError ForbiddenField(std::string field, std::string detail) {
  return {FieldErrorType::kForbidden, std::move(field), "", std::move(detail)};
}
FieldError DuplicateValue(std::string field, const Value& value) {
  return {FieldErrorType::kDuplicate, std::move(field), PrintValue(value), ""};
}
FieldError TooLong(std::string field, std::size_t limit) {
  return {FieldErrorType::kTooLong, std::move(field), "", fmt::format("may not be more than {} byte{}", limit, limit == 1 ? "" : "s")};
}
FieldError TooMany(std::string field, std::size_t actual, std::size_t limit) {
  return {FieldErrorType::kTooMany, std::move(field), std::to_string(actual),
          fmt::format("must have at most {} item{}", limit, limit == 1 ? "" : "s")};
}
FieldError TypeInvalid(std::string field, const Value& value, std::string detail) {
  return {FieldErrorType::kTypeInvalid, std::move(field), PrintValue(value), std::move(detail)};
}

std::string PrintGroupResource(std::string_view group, std::string_view resource) {
  return group.empty() ? std::string(resource) : fmt::format("{}.{}", resource, group);
}

Error NotFound(std::string_view group, std::string_view resource, std::string_view name) {
  return About(404, "NotFound", fmt::format("{} \"{}\" not found", PrintGroupResource(group, resource), name), group, resource, name);
}
Error AlreadyExists(std::string_view group, std::string_view resource, std::string_view name) {
  return About(409, "AlreadyExists", fmt::format("{} \"{}\" already exists", PrintGroupResource(group, resource), name), group, resource,
               name);
}
Error BeingDeleted(std::string_view group, std::string_view resource, std::string_view name) {
  return About(409, "AlreadyExists",
               fmt::format("object is being deleted: {} \"{}\" already exists", PrintGroupResource(group, resource), name), group, resource,
               name);
}
Error Conflict(std::string_view group, std::string_view resource, std::string_view name, std::string_view why) {
  return About(409, "Conflict",
               fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", PrintGroupResource(group, resource), name, why), group,
               resource, name);
}
Error ModifiedConflict(std::string_view group, std::string_view resource, std::string_view name) {
  return Conflict(group, resource, name, "the object has been modified; please apply your changes to the latest version and try again");
}
Error Invalid(std::string_view group, std::string_view kind, std::string_view name, const std::vector<FieldError>& errors) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = 422;
  payload.reason = "Invalid";
  payload.resource_group = group;
  payload.resource_kind = kind;
  payload.name = name;
  // As Go's aggregates print: each message once, in brackets if there are several.
  std::vector<std::string> messages;
  for (const FieldError& e : errors) {
    payload.causes.push_back({std::string(ReasonOf(e.type)), e.Body(), e.field});
    std::string text = e.ToString();
    bool seen = false;
    for (const std::string& m : messages) seen = seen || m == text;
    if (!seen) messages.push_back(std::move(text));
  }
  payload.message = fmt::format("{} \"{}\" is invalid", PrintGroupResource(group, kind), name);
  if (messages.size() == 1) {
    payload.message += ": " + messages[0];
  } else if (!messages.empty()) {
    payload.message += ": [" + Join(messages, ", ") + "]";
  }
  return Error(std::move(payload));
}
Error BadRequest(std::string message) { return StatusError(400, "BadRequest", std::move(message)); }
Error Unauthorized(std::string message) { return StatusError(401, "Unauthorized", std::move(message)); }
Error Forbidden(std::string_view group, std::string_view resource, std::string_view name, std::string_view why) {
  std::string what = PrintGroupResource(group, resource);
  if (!name.empty()) what += fmt::format(" \"{}\"", name);
  return About(403, "Forbidden", fmt::format("{} is forbidden: {}", what, why), group, resource, name);
}
Error MethodNotAllowed() { return Generic(405, "MethodNotAllowed", "the server does not allow this method on the requested resource"); }
Error PatchDoesNotApply() { return Generic(422, "Invalid", "the server rejected our request due to an error in our request"); }
Error UnknownPatchType() { return Generic(415, "UnsupportedMediaType", "415: Unsupported Media Type"); }
Error MethodNotSupported(std::string_view group, std::string_view resource, std::string_view verb) {
  return About(405, "MethodNotAllowed",
               fmt::format("{} is not supported on resources of kind \"{}\"", verb, PrintGroupResource(group, resource)), group, resource,
               "");
}
Error ResourceNotFound() { return Generic(404, "NotFound", "the server could not find the requested resource"); }
Error NotAcceptable(const std::vector<std::string>& offered) {
  return StatusError(406, "NotAcceptable", "only the following media types are accepted: " + Join(offered, ", "));
}
Error NoSuchRepresentation(const std::vector<std::string>& offered) {
  return Generic(406, "NotAcceptable", "406: Not Acceptable\n\nAvailable representations: " + Join(offered, ", "));
}
Error UnsupportedMediaType(const std::vector<std::string>& accepted) {
  return StatusError(415, "UnsupportedMediaType",
                     "the body of the request was in an unknown format - accepted media types include: " + Join(accepted, ", "));
}
Error TooLarge(std::string message) { return StatusError(413, "RequestEntityTooLarge", "Request entity too large: " + std::move(message)); }
Error Expired(std::string message) { return StatusError(410, "Expired", std::move(message)); }
Error TooManyRequests(std::string message, int retry_after_seconds) {
  Error::Payload payload = StatusError(429, "TooManyRequests", std::move(message)).payload();
  payload.retry_after_seconds = retry_after_seconds;
  return Error(std::move(payload));
}
Error InternalError(std::string message) {
  Error::Payload payload = StatusError(500, "InternalError", "Internal error occurred: " + message).payload();
  payload.causes.push_back({"", std::move(message), ""});
  return Error(std::move(payload));
}
Error UnforeseenError(std::string message) { return StatusError(500, "", std::move(message)); }
Error ServiceUnavailable(std::string message) { return StatusError(503, "ServiceUnavailable", std::move(message)); }
Error StatusError(int code, std::string reason, std::string message) { return About(code, reason, std::move(message), "", "", ""); }

Value ToStatus(const Error& error) {
  if (error.kind() != ErrorKind::kApi) return ToStatus(InternalError(error.ToString()));
  const Error::Payload& p = error.payload();
  Value details = Value::Object();
  if (!p.name.empty()) details["name"] = p.name;
  if (!p.resource_group.empty()) details["group"] = p.resource_group;
  if (!p.resource_kind.empty()) details["kind"] = p.resource_kind;
  if (!p.causes.empty()) {
    List<Value> causes;
    for (const ErrorCause& c : p.causes) {
      Value cause = Value::Object();
      if (!c.reason.empty()) cause["reason"] = c.reason;
      if (!c.message.empty()) cause["message"] = c.message;
      if (!c.field.empty()) cause["field"] = c.field;
      causes.push_back(std::move(cause));
    }
    details["causes"] = std::move(causes);
  }
  if (p.retry_after_seconds.value_or(0) > 0) details["retryAfterSeconds"] = *p.retry_after_seconds;
  Value status = Value::Object({{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Value::Object()}, {"status", "Failure"}});
  status["message"] = p.message;
  if (!p.reason.empty()) status["reason"] = p.reason;
  bool generic = p.context.size() == 1 && p.context[0] == kGeneric;
  if (!details.object().empty() || generic) status["details"] = std::move(details);
  status["code"] = p.http_code;
  return status;
}

}  // namespace kube::apiserver
