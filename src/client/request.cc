#include "client/request.h"

#include "kube/codec/json.h"
#include "kube/meta/v1.h"

namespace kube::internal {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

void AppendEscaped(std::string& out, std::string_view text, std::string_view also_plain, bool plus_for_space) {
  for (const char c : text) {
    if (IsUnreserved(c) || also_plain.find(c) != std::string_view::npos) {
      out += c;
    } else if (c == ' ' && plus_for_space) {
      out += '+';
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
}

void AddText(Query& query, std::string_view name, const std::string& value) {
  if (!value.empty()) query.emplace(name, value);
}

}  // namespace

std::string EscapePathSegment(std::string_view text) {
  std::string out;
  AppendEscaped(out, text, "$&+=:@", false);
  return out;
}

std::string EncodeQuery(const Query& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    AppendEscaped(out, name, {}, true);
    out += '=';
    AppendEscaped(out, value, {}, true);
  }
  return out;
}

Result<void> CheckPathSegment(std::string_view what, std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return Error::Invalid("invalid " + std::string(what) + " \"" + std::string(text) + "\": " + std::string(why));
  };
  if (text == "." || text == "..") return fail("it may not be '" + std::string(text) + "'");
  if (text.find('/') != std::string_view::npos) return fail("it may not contain '/'");
  if (text.find('%') != std::string_view::npos) return fail("it may not contain '%'");
  return {};
}

Result<std::string> ResourcePath::ToTarget() const {
  if (gvr->version.empty() || gvr->resource.empty()) return Error::Invalid("a resource needs a version and a name, got " + gvr->ToString());
  const std::pair<std::string_view, std::string_view> checked[] = {{"group", gvr->group.view()},
                                                                   {"version", gvr->version.view()},
                                                                   {"resource", gvr->resource.view()},
                                                                   {"namespace", ns},
                                                                   {"resource name", name}};
  for (const auto& [what, text] : checked) {
    if (Result<void> ok = CheckPathSegment(what, text); !ok) return ok.error();
  }
  std::string target = gvr->group.empty() ? "/api/" : "/apis/" + EscapePathSegment(gvr->group.view()) + "/";
  target += EscapePathSegment(gvr->version.view());
  if (!ns.empty()) target += "/namespaces/" + EscapePathSegment(ns);
  target += '/';
  for (const char c : gvr->resource.view()) target += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (!name.empty()) target += "/" + EscapePathSegment(name);
  for (std::string_view rest = subresource; !rest.empty();) {
    const std::size_t slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (Result<void> ok = CheckPathSegment("subresource", segment); !ok) return ok.error();
    target += "/" + EscapePathSegment(segment);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  return target;
}

std::string ResourcePath::ToTemplate() const {
  std::string out = gvr->group.empty() ? "/api/" : "/apis/" + gvr->group.str() + "/";
  out += gvr->version.str();
  if (!ns.empty()) out += "/namespaces/{namespace}";
  out += "/" + gvr->resource.str();
  if (!name.empty()) out += "/{name}";
  if (!subresource.empty()) out.append("/").append(subresource);
  return out;
}

std::string ResourcePath::Describe() const {
  std::string out = gvr->group_resource().ToString();
  if (!subresource.empty()) out.append("/").append(subresource);
  if (!name.empty()) {
    out += ' ';
    if (!ns.empty()) out.append(ns).append("/");
    out.append(name);
  } else if (!ns.empty()) {
    out.append(" in namespace ").append(ns);
  }
  return out;
}

Query ToQuery(const ListOptions& options) {
  Query query;
  AddText(query, "labelSelector", options.label_selector);
  AddText(query, "fieldSelector", options.field_selector);
  AddText(query, "resourceVersion", options.resource_version);
  AddText(query, "resourceVersionMatch", options.resource_version_match);
  if (options.limit != 0) query.emplace("limit", std::to_string(options.limit));
  AddText(query, "continue", options.continue_token);
  if (options.timeout_seconds) query.emplace("timeoutSeconds", std::to_string(*options.timeout_seconds));
  return query;
}

Query ToQuery(const WatchOptions& options) {
  Query query;
  query.emplace("watch", "true");
  AddText(query, "labelSelector", options.label_selector);
  AddText(query, "fieldSelector", options.field_selector);
  AddText(query, "resourceVersion", options.resource_version);
  AddText(query, "resourceVersionMatch", options.resource_version_match);
  if (options.bookmarks) query.emplace("allowWatchBookmarks", "true");
  if (options.send_initial_events) query.emplace("sendInitialEvents", *options.send_initial_events ? "true" : "false");
  if (options.timeout_seconds) query.emplace("timeoutSeconds", std::to_string(*options.timeout_seconds));
  return query;
}

Query ToQuery(const WriteOptions& options) {
  Query query;
  if (options.dry_run) query.emplace("dryRun", "All");
  AddText(query, "fieldManager", options.field_manager);
  AddText(query, "fieldValidation", options.field_validation);
  return query;
}

Query ToQuery(const ApplyOptions& options) {
  Query query;
  if (options.dry_run) query.emplace("dryRun", "All");
  AddText(query, "fieldManager", options.field_manager);
  AddText(query, "fieldValidation", options.field_validation);
  query.emplace("force", options.force ? "true" : "false");
  return query;
}

std::string ToBody(const DeleteOptions& options) {
  Value body = Value::Object();
  if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  if (!options.propagation.empty()) body["propagationPolicy"] = String(options.propagation);
  if (!options.uid.empty()) body["preconditions"]["uid"] = String(options.uid);
  if (!options.resource_version.empty()) body["preconditions"]["resourceVersion"] = String(options.resource_version);
  if (options.dry_run) body["dryRun"] = Value::Array({"All"});
  if (body.object().empty()) return {};
  body["kind"] = "DeleteOptions";
  body["apiVersion"] = "v1";
  return ToJson(body);
}

}  // namespace kube::internal
