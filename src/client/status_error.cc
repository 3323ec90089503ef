#include "kube/client/status_error.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/transport/http.h"

namespace kube {
namespace {

using meta::v1::Status;
using meta::v1::StatusCause;
using meta::v1::StatusDetails;

constexpr std::string_view kUnexpectedServerResponse = "UnexpectedServerResponse";
constexpr std::size_t kMostText = 2048;  // of a body that is quoted

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// The first bytes, not cut through a character.
std::string_view Cut(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t cut = limit;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.substr(0, cut);
}

// As Go's %q has it for what servers send: quotes, backslashes and control characters escaped, other text as it is.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16).ptr == &text[i + 1] + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// What a request was about, as far as its path says so.
struct Subject {
  std::string group;
  std::string resource;
  std::string name;

  // "deployments.apps"
  std::string GroupResource() const { return group.empty() ? resource : resource + "." + group; }
};

Subject SubjectOf(std::string_view target) {
  target = target.substr(0, target.find('?'));
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < target.size();) {
    const std::size_t end = std::min(target.find('/', at), target.size());
    if (end > at) parts.push_back(Unescape(target.substr(at, end - at)));
    at = end + 1;
  }
  Subject subject;
  std::size_t next = 0;
  if (parts.size() > 2 && parts[0] == "api") {
    next = 2;
  } else if (parts.size() > 3 && parts[0] == "apis") {
    subject.group = parts[1];
    next = 3;
  } else {
    return {};
  }
  // The namespace itself is the subject of namespaces/x, and of its subresources.
  if (parts[next] == "namespaces" && parts.size() > next + 2 && parts[next + 2] != "status" && parts[next + 2] != "finalize") next += 2;
  subject.resource = parts[next];
  if (parts.size() > next + 1) subject.name = parts[next + 1];
  return subject;
}

// "text/html; charset=utf-8" -> "text/html"
std::string MediaType(const HttpResponse& response) {
  const std::string_view type = response.headers.Get("Content-Type");
  return Lower(Trim(type.substr(0, type.find(';'))));
}

std::optional<int> RetryAfter(const HttpResponse& response) {
  std::string_view text = response.headers.Get("Retry-After");
  if (StartsWith(text, "+")) text.remove_prefix(1);
  int seconds = 0;
  const std::from_chars_result parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return seconds;
}

// The Status that a body holds, whatever its Content-Type says: proxies change that more easily than the body.
std::optional<Status> StatusIn(std::string_view body) {
  if (HasProtobufEnvelope(body)) {
    const Result<ProtobufEnvelope> envelope = ParseProtobufEnvelope(body);
    if (!envelope || envelope->kind != "Status") return std::nullopt;
    Result<Status> status = FromProtobuf<Status>(envelope->raw);
    return status ? std::optional(*std::move(status)) : std::nullopt;
  }
  if (!StartsWith(Trim(body.substr(0, 64)), "{")) return std::nullopt;
  Result<Value> value = ParseJson(body);
  // A Status of any version, also of none, as old servers sent it; but one that says that it is one.
  if (!value || !value->is_object() || (*value)["kind"].string_value() != "Status") return std::nullopt;
  (*value)["apiVersion"] = "v1";
  Result<Status> status = FromValue<Status>(*value);
  return status ? std::optional(*std::move(status)) : std::nullopt;
}

struct Words {
  std::string_view reason;
  std::string message;
};

// Users know these messages and search for them, so they are client-go's.
Words WordsFor(int code, std::string_view method, const std::string& text) {
  switch (code) {
    case 400:
      return {"BadRequest", "the server rejected our request for an unknown reason"};
    case 401:
      return {"Unauthorized", "the server has asked for the client to provide credentials"};
    case 403:
      return {"Forbidden", text};  // names the user and the verb
    case 404:
      return {"NotFound", "the server could not find the requested resource"};
    case 405:
      return {"MethodNotAllowed", "the server does not allow this method on the requested resource"};
    case 406:
      if (text.empty() || text == "unknown") {
        return {"NotAcceptable", "the server was unable to respond with a content type that the client supports"};
      }
      return {"NotAcceptable", text};  // says what it can give
    case 409:
      return {method == "POST" ? "AlreadyExists" : "Conflict", "the server reported a conflict"};
    case 415:
      return {"UnsupportedMediaType", text};  // says what it takes
    case 422:
      return {"Invalid", "the server rejected our request due to an error in our request"};
    case 429:
      return {"TooManyRequests", "the server has received too many requests and has asked us to try again later"};
    case 503:
      return {"ServiceUnavailable", "the server is currently unable to handle the request"};
    case 504:
      return {"Timeout", "the server was unable to return a response in the time allotted, but may still be processing the request"};
    default:
      if (code >= 500)
        return {"InternalError", fmt::format("an error on the server ({}) has prevented the request from succeeding", Quoted(text))};
      return {"", fmt::format("the server responded with the status code {} but did not return more information", code)};
  }
}

}  // namespace

Error StatusToError(const Status& status) {
  Error::Payload p;
  p.kind = ErrorKind::kApi;
  p.http_code = status.code;
  p.reason = status.reason.str();
  p.message = status.message.str();
  if (status.details) {
    const StatusDetails& details = *status.details;
    p.resource_group = details.group.str();
    p.resource_kind = details.kind.str();
    p.name = details.name.str();
    if (details.retry_after_seconds != 0) p.retry_after_seconds = details.retry_after_seconds;
    for (const StatusCause& cause : details.causes) p.causes.push_back({cause.reason.str(), cause.message.str(), cause.field.str()});
  }
  return Error(std::move(p));
}

Status ErrorToStatus(const Error& error) {
  const Error::Payload& p = error.payload();
  Status status;
  status.status = meta::v1::kStatusFailure;
  if (p.kind != ErrorKind::kApi) {
    const std::string text = error.ToString();
    status.code = 500;
    status.reason = "InternalError";
    status.message = "Internal error occurred: " + text;
    status.details.Mutable().causes.push_back({.message = text});
    return status;
  }
  status.code = p.http_code;
  status.reason = p.reason;
  status.message = p.message;
  const bool details =
      !p.resource_group.empty() || !p.resource_kind.empty() || !p.name.empty() || !p.causes.empty() || p.retry_after_seconds;
  if (!details) return status;
  StatusDetails& d = status.details.Mutable();
  d.group = p.resource_group;
  d.kind = p.resource_kind;
  d.name = p.name;
  d.retry_after_seconds = p.retry_after_seconds.value_or(0);
  for (const ErrorCause& cause : p.causes) d.causes.push_back({.reason = cause.reason, .message = cause.message, .field = cause.field});
  return status;
}

Error ErrorFromResponse(const HttpResponse& response, const HttpRequest& request) {
  const std::optional<int> retry_after = RetryAfter(response);
  if (const std::optional<Status> status = StatusIn(response.body); status && status->status == meta::v1::kStatusFailure) {
    const Error error = StatusToError(*status);
    Error::Payload p = error.payload();
    if (p.http_code == 0) p.http_code = response.code;
    if (!p.retry_after_seconds) p.retry_after_seconds = retry_after;
    return Error(std::move(p));
  }

  const std::string media_type = MediaType(response);
  const bool is_text = media_type.empty() || StartsWith(media_type, "text/");
  const std::string text = is_text ? std::string(Trim(Cut(response.body, kMostText))) : "unknown";
  const Subject subject = SubjectOf(request.target);
  Words words = WordsFor(response.code, request.method, text);
  if (!subject.resource.empty()) {
    words.message +=
        fmt::format(" ({} {}{}{})", Lower(request.method), subject.GroupResource(), subject.name.empty() ? "" : " ", subject.name);
  }
  return Error(Error::Payload{.kind = ErrorKind::kApi,
                              .http_code = response.code,
                              .reason = std::string(words.reason),
                              .message = std::move(words.message),
                              .retry_after_seconds = retry_after,
                              .resource_group = subject.group,
                              .resource_kind = subject.resource,
                              .name = subject.name,
                              .causes = {{std::string(kUnexpectedServerResponse), text, ""}}});
}

}  // namespace kube
