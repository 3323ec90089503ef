#include "kube/meta/field_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kube/codec/json.h"

namespace kube {
namespace {

struct Words {
  std::string_view reason;
  std::string_view text;
  bool shows_value;
};

const Words& WordsOf(FieldErrorType type) {
  static constexpr Words kWords[] = {
      {"FieldValueNotFound", "Not found", true},
      {"FieldValueRequired", "Required value", false},
      {"FieldValueDuplicate", "Duplicate value", true},
      {"FieldValueInvalid", "Invalid value", true},
      {"FieldValueNotSupported", "Unsupported value", true},
      {"FieldValueForbidden", "Forbidden", false},
      {"FieldValueTooLong", "Too long", false},
      {"FieldValueTooShort", "Too short", false},
      {"FieldValueTooMany", "Too many", true},
      {"FieldValueTooFew", "Too few", true},
      {"InternalError", "Internal error", false},
      {"FieldValueTypeInvalid", "Invalid value", true},
  };
  return kWords[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view ReasonOf(FieldErrorType type) { return WordsOf(type).reason; }

FieldError FieldError::Invalid(std::string field, const Value& value, std::string detail) {
  return {FieldErrorType::kInvalid, std::move(field), PrintFieldValue(value), std::move(detail)};
}
FieldError FieldError::Required(std::string field, std::string detail) {
  return {FieldErrorType::kRequired, std::move(field), {}, std::move(detail)};
}
FieldError FieldError::Forbidden(std::string field, std::string detail) {
  return {FieldErrorType::kForbidden, std::move(field), {}, std::move(detail)};
}
FieldError FieldError::Duplicate(std::string field, const Value& value) {
  return {FieldErrorType::kDuplicate, std::move(field), PrintFieldValue(value), {}};
}
FieldError FieldError::NotFound(std::string field, const Value& value) {
  return {FieldErrorType::kNotFound, std::move(field), PrintFieldValue(value), {}};
}
FieldError FieldError::NotSupported(std::string field, const Value& value, const std::vector<std::string>& supported) {
  std::string detail;
  for (const std::string& s : supported) detail += fmt::format("{}\"{}\"", detail.empty() ? "supported values: " : ", ", s);
  return {FieldErrorType::kNotSupported, std::move(field), PrintFieldValue(value), std::move(detail)};
}
FieldError FieldError::TooLong(std::string field, std::size_t max_bytes) {
  return {
      FieldErrorType::kTooLong, std::move(field), {}, fmt::format("may not be more than {} byte{}", max_bytes, max_bytes == 1 ? "" : "s")};
}
FieldError FieldError::TooMany(std::string field, std::size_t actual, std::size_t max_items) {
  return {FieldErrorType::kTooMany, std::move(field), std::to_string(actual),
          fmt::format("must have at most {} item{}", max_items, max_items == 1 ? "" : "s")};
}

std::string FieldError::Body() const {
  const Words& words = WordsOf(type);
  std::string out(words.text);
  if (words.shows_value && !value.empty()) out += ": " + value;
  if (!detail.empty()) out += ": " + detail;
  return out;
}

std::string FieldError::ToString() const { return field + ": " + Body(); }

std::string PrintFieldValue(const Value& value) {
  if (!value.is_string()) return ToJson(value);
  // As Go's %q: printable text as it is, some control characters by a letter.
  std::string out = "\"";
  for (char c : value.string_value().view()) {
    constexpr std::string_view kControls = "\a\b\t\n\v\f\r", kLetters = "abtnvfr";
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t i = kControls.find(c); i != std::string_view::npos) {
      out += '\\';
      out += kLetters[i];
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

Error InvalidObject(const GroupKind& kind, std::string_view name, std::span<const FieldError> errors) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = 422;
  payload.reason = "Invalid";
  payload.resource_group = kind.group.str();
  payload.resource_kind = kind.kind.str();
  payload.name = name;
  // As Go's aggregates print: each message once, in brackets if there are several.
  std::vector<std::string> messages;
  for (const FieldError& e : errors) {
    payload.causes.push_back({std::string(ReasonOf(e.type)), e.Body(), e.field});
    std::string text = e.ToString();
    if (std::find(messages.begin(), messages.end(), text) == messages.end()) messages.push_back(std::move(text));
  }
  payload.message = fmt::format("{} \"{}\" is invalid", kind.ToString(), name);
  if (messages.size() == 1) payload.message += ": " + messages[0];
  if (messages.size() > 1) payload.message += fmt::format(": [{}]", fmt::join(messages, ", "));
  return Error(std::move(payload));
}

}  // namespace kube
