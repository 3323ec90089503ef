// get and list.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "apiserver/core.h"
#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "apiserver/tokens.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kTooOldPage =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue "
    "parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token "
    "results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and "
    "now may show up in the list.";

// The token of a paged list: where the next page starts, and at which version. Opaque to clients; base64 of JSON as the real one is.
struct PageToken {
  std::int64_t version = 0;  // -1: whatever is there
  std::string start;
};

std::string EncodeToken(const PageToken& token) {
  return Base64UrlEncode(ToJson(Value::Object({{"v", "meta.k8s.io/v1"}, {"rv", token.version}, {"start", token.start}})));
}

Result<PageToken> DecodeToken(std::string_view text) {
  std::optional<std::string> json = Base64UrlDecode(text);
  Result<Value> value = json ? ParseJson(*json) : Result<Value>(Error::Decode("not base64"));
  if (json && !value) {
    return BadRequest("invalid continue token: continue key is not valid: invalid character: " + value.error().message());
  }
  if (!value || (*value)["v"].string_value() != "meta.k8s.io/v1" || (*value)["start"].string_value().empty()) {
    return BadRequest("invalid continue token: continue key is not valid");
  }
  std::string start = (*value)["start"].string_value().str();
  if (start.find("..") != std::string::npos) return BadRequest("invalid continue token: continue key is not valid: " + start);
  return PageToken{(*value)["rv"].int_value(), std::move(start)};
}

// A number of the query; 0 if there is none. Errors: 400.
Result<std::int64_t> CheckNumber(std::string_view text) {
  std::int64_t out = 0;
  if (text.empty()) return out;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc() && end == text.data() + text.size()) return out;
  return BadRequest(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text));
}

}  // namespace

Error TooLargeVersion(std::uint64_t wanted, std::uint64_t current) {
  Error::Payload payload =
      StatusError(504, "Timeout", fmt::format("Timeout: Too large resource version: {}, current: {}", wanted, current)).payload();
  payload.retry_after_seconds = 1;
  payload.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  return Error(std::move(payload));
}

Result<void> CheckListOptions(const Query& q, bool watch) {
  std::string_view version = q.Get("resourceVersion"), match = q.Get("resourceVersionMatch"), token = q.Get("continue");
  std::vector<FieldError> errors;
  if (q.Has("sendInitialEvents") && watch) {
    if (match.empty() || match != "NotOlderThan") {
      errors.push_back(ForbiddenField("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    }
    if (!match.empty() && match != "NotOlderThan") {
      errors.push_back(NotSupported("resourceVersionMatch", Value(match), {"NotOlderThan"}));
    }
  } else if (q.Has("sendInitialEvents")) {
    errors.push_back(ForbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  } else if (watch && !match.empty()) {
    errors.push_back(
        ForbiddenField("resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (!watch && !match.empty()) {
    if (version.empty())
      errors.push_back(ForbiddenField("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    if (!token.empty())
      errors.push_back(ForbiddenField("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
    if (match != "Exact" && match != "NotOlderThan") {
      errors.push_back(NotSupported("resourceVersionMatch", Value(match), {"Exact", "NotOlderThan", ""}));
    }
    if (match == "Exact" && version == "0") {
      errors.push_back(ForbiddenField("resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    }
  }
  if (!errors.empty()) return Invalid("meta.k8s.io", "ListOptions", "", errors);
  return {};
}

bool ListSelection::Matches(const StoredObject& object) const {
  if (!labels.Matches(object.labels)) return false;
  return fields.Matches([&](std::string_view field) -> std::string_view {
    if (field == "metadata.name") return object.name;
    if (field == "metadata.namespace") return object.ns;
    return object.fields.Get(field).view();
  });
}

Result<ListSelection> ApiCore::ParseSelection(const Call& call) const {
  ListSelection out;
  Result<Selector> labels = Selector::Parse(call.query.Get("labelSelector"));
  if (!labels) return BadRequest("unable to parse requirement: " + labels.error().message());
  out.labels = *std::move(labels);
  Result<FieldSelector> fields = FieldSelector::Parse(call.query.Get("fieldSelector"));
  if (!fields) {
    // Names the first term that is none.
    std::string_view text = call.query.Get("fieldSelector"), rest = text, term;
    while (!rest.empty()) {
      term = rest.substr(0, rest.find(','));
      if (term.find('=') == std::string_view::npos) break;
      rest.remove_prefix(std::min(rest.size(), term.size() + 1));
    }
    return BadRequest(fmt::format("invalid selector: '{}'; can't understand '{}'", text, term));
  }
  for (const FieldRequirement& requirement : fields->requirements()) {
    if (auto ok = CheckFieldLabel(*call.resource, requirement.field); !ok) return ok.error();
  }
  out.fields = *std::move(fields);
  return out;
}

Result<Answer> ApiCore::Get(Call& call) {
  const ServedResource& r = *call.resource;
  if (Problems problems = NameProblems(r, call.name, false); r.builtin != nullptr && call.name.find('/') != std::string::npos) {
    return BadRequest(fmt::format("Name parameter invalid: \"{}\": {}", call.name, problems.front()));
  }
  std::string_view version = call.query.Get("resourceVersion");
  if (!version.empty()) {
    Result<std::uint64_t> wanted = ParseVersion(version);
    if (!wanted) return BadRequest("invalid resource version: " + wanted.error().message());
    if (std::uint64_t current = store_.version(); *wanted > current) return TooLargeVersion(*wanted, current);
  }
  Result<ObjectPtr> found = Find(r, call.ns, call.name);
  if (!found) return found.error();
  return Answer{.stored = *std::move(found)};
}

Result<Answer> ApiCore::List(Call& call) {
  const ServedResource& r = *call.resource;
  if (auto ok = CheckListOptions(call.query, false); !ok) return ok.error();
  Result<ListSelection> selection = ParseSelection(call);
  if (!selection) return selection.error();
  std::string_view limit_text = call.query.Get("limit"), version_text = call.query.Get("resourceVersion");
  std::string_view token_text = call.query.Get("continue"), match = call.query.Get("resourceVersionMatch");
  Result<std::int64_t> limit_number = CheckNumber(limit_text);
  if (!limit_number) return limit_number.error();
  std::int64_t limit = *limit_number;
  if (auto ok = CheckNumber(call.query.Get("timeoutSeconds")); !ok) return ok.error();
  Result<std::uint64_t> version = ParseVersion(version_text);
  if (!version) return BadRequest("invalid resource version: " + version.error().message());

  Snapshot snapshot;
  std::string start;
  if (!token_text.empty()) {
    if (!version_text.empty() && version_text != "0") {
      return BadRequest("specifying resource version is not allowed when using continue");
    }
    Result<PageToken> token = DecodeToken(token_text);
    if (!token) return token.error();
    start = token->start;
    if (token->version < 0) {
      snapshot = store_.List(r.storage, call.ns);
    } else {
      std::optional<Snapshot> then = store_.ListAt(r.storage, call.ns, static_cast<std::uint64_t>(token->version));
      if (!then) {
        Error expired = Expired(std::string(kTooOldPage));
        Value status = ToStatus(expired);
        status["metadata"]["continue"] = EncodeToken({-1, start});
        return Answer{.status = 410, .object = std::move(status), .is_resource = false};
      }
      snapshot = *std::move(then);
    }
  } else if (match == "Exact" || (!version_text.empty() && *version > 0 && limit > 0 && match.empty())) {
    std::uint64_t current = store_.version();
    if (*version > current) return TooLargeVersion(*version, current);
    std::optional<Snapshot> then = store_.ListAt(r.storage, call.ns, *version);
    if (!then) return Expired(fmt::format("The resourceVersion for the provided list is too old."));
    snapshot = *std::move(then);
  } else {
    snapshot = store_.List(r.storage, call.ns);
    if (*version > snapshot.version) return TooLargeVersion(*version, snapshot.version);
  }

  Answer answer{.is_list = true, .list_version = std::to_string(snapshot.version)};
  auto it = snapshot.objects.begin();
  if (!start.empty()) {
    it = std::lower_bound(snapshot.objects.begin(), snapshot.objects.end(), start,
                          [](const ObjectPtr& o, const std::string& key) { return StoreKey(o->ns, o->name) < key; });
  }
  bool paged = limit > 0 && !(version_text == "0");
  for (; it != snapshot.objects.end(); ++it) {
    if (!selection->Matches(**it)) continue;
    if (paged && answer.items.size() == static_cast<std::size_t>(limit)) {
      answer.continue_token = EncodeToken({static_cast<std::int64_t>(snapshot.version), StoreKey((*it)->ns, (*it)->name)});
      if (selection->empty()) answer.remaining = snapshot.objects.end() - it;
      break;
    }
    answer.items.push_back(*it);
  }
  return answer;
}

}  // namespace kube::apiserver
