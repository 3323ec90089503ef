#include "apiserver/subresources.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <utility>

#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "kube/api/authentication/v1.h"
#include "kube/api/authorization/v1.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/policy/v1.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/selector.h"

namespace kube::apiserver {
namespace {

// A body of a kind that is not the resource's own.
template <typename T>
Result<T> DecodeBody(const Call& call) {
  Result<Encoding> encoding = BodyEncoding(call.content_type, false);
  if (!encoding) return encoding.error();
  const KindInfo& kind = *T::kType.kind;
  Result<T> out = *encoding == Encoding::kProtobuf ? FromProtobuf<T>(call.body)
                  : *encoding == Encoding::kYaml   ? FromYaml<T>(call.body)
                                                   : FromJson<T>(call.body);
  if (!out) {
    return BadRequest(
        fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", kind.kind, kind.version, out.error().message()));
  }
  return out;
}

// An object that is not stored, as admission leaves it.
template <typename T>
Result<void> AdmitCreated(ApiCore& core, Call& call, T& object) {
  if (!call.admit || !core.hooks().Any(*call.resource)) return {};
  Result<Value> value = ToValue(object);
  if (!value) return InternalError(value.error().ToString());
  Value& meta = (*value)["metadata"];
  if (!std::as_const(meta).is_object()) meta = Value::Object();
  if (call.resource->namespaced) meta["namespace"] = call.ns;
  const KindInfo& kind = *T::kType.kind;
  Result<Value> admitted = core.AdmitOther(call, "CREATE", Gvk{kind.group, kind.version, kind.kind}, *std::move(value), Value(),
                                           call.query.Get("dryRun") == "All");
  if (!admitted) return admitted.error();
  Result<T> changed = FromValue<T>(*admitted);
  if (!changed) return InternalError(changed.error().message());
  object = *std::move(changed);
  return {};
}

template <typename T>
Result<Answer> Reply(const T& object, int status) {
  Result<Value> value = ToValue(object);
  if (!value) return InternalError(value.error().ToString());
  if (value->Find("metadata") == nullptr) (*value)["metadata"] = Value::Object();
  return Answer{.status = status, .object = *std::move(value), .is_resource = false};
}

const Value* AtPath(const Value& object, std::string_view path) {
  const Value* at = &object;
  while (at != nullptr && !path.empty()) {
    std::size_t dot = path.find('.');
    at = at->Find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

void SetPath(Value& object, std::string_view path, Value value) {
  std::size_t dot = path.find('.');
  if (dot == std::string_view::npos) {
    object[path] = std::move(value);
  } else {
    SetPath(object[path.substr(0, dot)], path.substr(dot + 1), std::move(value));
  }
}

std::string ReplicasPath(const ServedResource& r) { return r.custom ? r.custom->spec_replicas : "spec.replicas"; }

Result<Value> ScaleOf(const ServedResource& r, const Value& object) {
  Value meta = Value::Object();
  for (const char* member : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* found = MetaOf(object).Find(member)) meta[member] = *found;
  }
  Value spec = Value::Object(), status = Value::Object();
  const Value* replicas = AtPath(object, ReplicasPath(r));
  if (r.custom && replicas == nullptr) {
    return InternalError(fmt::format("the spec replicas field \".{}\" does not exist", r.custom->spec_replicas));
  }
  if (replicas != nullptr && replicas->int_value() != 0) spec["replicas"] = *replicas;
  const Value* now = AtPath(object, r.custom ? r.custom->status_replicas : "status.replicas");
  status["replicas"] = now != nullptr ? now->int_value() : 0;
  if (r.custom) {
    if (const Value* selector = AtPath(object, r.custom->label_selector); !r.custom->label_selector.empty() && selector != nullptr) {
      status["selector"] = *selector;
    }
  } else if (const Value* selector = AtPath(object, "spec.selector")) {
    Result<Selector> parsed = Error::Invalid("");
    if (r.storage == "/replicationcontrollers") {
      Map<String> labels;
      for (const auto& [key, value] : selector->object()) labels.Append(key, value.string_value());
      parsed = Selector::FromLabels(labels);
    } else if (Result<meta::v1::LabelSelector> typed = FromValue<meta::v1::LabelSelector>(*selector)) {
      parsed = Selector::FromLabelSelector(*typed);
    }
    if (parsed) status["selector"] = parsed->ToString();
  }
  return Value::Object({{"kind", "Scale"}, {"apiVersion", "autoscaling/v1"}, {"metadata", meta}, {"spec", spec}, {"status", status}});
}

}  // namespace

Result<Answer> GetScale(ApiCore& core, Call& call) {
  Result<ObjectPtr> found = core.Find(*call.resource, call.ns, call.name);
  if (!found) return found.error();
  Result<Value> object = core.Read(call.ctx, *call.resource, **found);
  if (!object) return object.error();
  Result<Value> scale = ScaleOf(*call.resource, *object);
  if (!scale) return scale.error();
  return Answer{.object = *std::move(scale), .is_resource = false};
}

Result<Answer> WriteScale(ApiCore& core, Call& call, bool patch) {
  const ServedResource& r = *call.resource;
  std::string_view options = patch ? "PatchOptions" : "UpdateOptions";
  Result<bool> dry_run = ParseDryRun(call.query, options);
  if (!dry_run) return dry_run.error();
  Result<std::string> manager = ParseFieldManager(call, options);
  if (!manager) return manager.error();
  std::string type = ParseAccept(call.content_type).empty() ? "" : ParseAccept(call.content_type).front().type;
  if (patch && r.custom && type == "application/strategic-merge-patch+json") {
    return UnsupportedMediaType({"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"});
  }
  ApiCore::UpdateRequest request{.subresource = "scale", .manager = *manager, .dry_run = *dry_run};
  // The object itself is changed: as an ordinary update of one field.
  Result<Answer> answer = core.ChangeObject(call, request, [&](const Value& live) -> Result<Value> {
    Result<Value> current = ScaleOf(r, live);
    if (!current) return current;
    Value wanted;
    if (patch) {
      Result<Value> body = ParseJson(call.body);
      if (!body) return BadRequest("error decoding patch: " + body.error().message());
      if (type == "application/json-patch+json") {
        Result<Value> patched = ApplyJsonPatch(*current, *body);
        if (!patched) return StatusError(422, "Invalid", "the server rejected our request due to an error in our request");
        wanted = *std::move(patched);
      } else {
        wanted = ApplyMergePatch(*current, *body);
      }
    } else {
      Result<autoscaling::v1::Scale> scale = DecodeBody<autoscaling::v1::Scale>(call);
      if (!scale) return scale.error();
      if (!scale->metadata.name.empty() && scale->metadata.name != call.name) {
        return BadRequest(
            fmt::format("the name of the object ({}) does not match the name on the URL ({})", scale->metadata.name.view(), call.name));
      }
      Result<Value> value = ToValue(*scale);
      if (!value) return value.error();
      wanted = *std::move(value);
    }
    Result<Value> admitted = core.AdmitOther(call, "UPDATE", Gvk{"autoscaling", "v1", "Scale"}, std::move(wanted), *current, *dry_run);
    if (!admitted) return admitted;
    wanted = *std::move(admitted);
    const Value& read = wanted;
    const Value& replicas = read["spec"]["replicas"];
    if (!replicas.is_null() && !replicas.is_int()) return BadRequest("spec.replicas: expected an integer");
    if (replicas.int_value() < 0 && !r.custom) {
      return Invalid("autoscaling", "Scale", call.name, {InvalidValue("spec.replicas", replicas, "must be greater than or equal to 0")});
    }
    std::string_view version = MetaOf(wanted)["resourceVersion"].string_value();
    Value next = live;
    if (!version.empty()) next["metadata"]["resourceVersion"] = version;
    SetPath(next, ReplicasPath(r), replicas.int_value());
    return next;
  });
  if (!answer) return answer;
  Result<Value> object = answer->stored ? core.Read(call.ctx, r, *answer->stored) : Result<Value>(std::move(answer->object));
  if (!object) return object.error();
  Result<Value> scale = ScaleOf(r, *object);
  if (!scale) return scale.error();
  return Answer{.object = *std::move(scale), .is_resource = false};
}

Result<Answer> CreateEviction(ApiCore& core, Call& call) {
  Result<policy::v1::Eviction> eviction = DecodeBody<policy::v1::Eviction>(call);
  if (!eviction) return eviction.error();
  if (!eviction->metadata.name.empty() && eviction->metadata.name != call.name) {
    return BadRequest("name in URL does not match name in Eviction object");
  }
  if (auto ok = AdmitCreated(core, call, *eviction); !ok) return ok.error();
  Result<ObjectPtr> pod = core.Find(*call.resource, call.ns, call.name);
  if (!pod) return pod.error();
  // A disruption budget that is used up says no.
  for (const ObjectPtr& object : core.store().List("policy/poddisruptionbudgets", call.ns).objects) {
    Value budget = object->Parse();
    Result<meta::v1::LabelSelector> selector = FromValue<meta::v1::LabelSelector>(std::as_const(budget)["spec"]["selector"]);
    if (!selector) continue;
    Result<Selector> matcher = Selector::FromLabelSelector(*selector);
    if (!matcher || !matcher->Matches((*pod)->labels)) continue;
    const Value& status = std::as_const(budget)["status"];
    if (status["disruptionsAllowed"].int_value() > 0) continue;
    Error::Payload payload = TooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0).payload();
    payload.causes.push_back({"DisruptionBudget",
                              fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", object->name,
                                          status["desiredHealthy"].int_value(), status["currentHealthy"].int_value()),
                              ""});
    return Error(std::move(payload));
  }
  DeleteOptions options;
  if (eviction->delete_options) {
    options.grace_seconds = eviction->delete_options->grace_period_seconds;
    if (eviction->delete_options->preconditions) {
      options.uid = eviction->delete_options->preconditions->uid.value_or(String()).str();
      options.resource_version = eviction->delete_options->preconditions->resource_version.value_or(String()).str();
    }
    options.dry_run = !eviction->delete_options->dry_run.empty();
  }
  Result<Answer> deleted = core.DeleteObject(*call.resource, call.ns, call.name, options);
  if (!deleted) return deleted;
  return Answer{.status = 201,
                .object = Value::Object(
                    {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Value::Object()}, {"status", "Success"}, {"code", 201}}),
                .is_resource = false};
}

Result<Answer> CreateBinding(ApiCore& core, Call& call) {
  Result<core::v1::Binding> binding = DecodeBody<core::v1::Binding>(call);
  if (!binding) return binding.error();
  if (auto ok = AdmitCreated(core, call, *binding); !ok) return ok.error();
  ResourcePtr pods = call.resources->Find("", "v1", "pods");
  std::string name = call.subresource.empty() ? binding->metadata.name.str() : call.name;
  std::string node = binding->target.name.str();
  if (node.empty()) return Invalid("", "Binding", name, {Required("target.name")});
  std::string now = core.Now().ToString();
  Result<ObjectPtr> bound = core.Rewrite(*pods, call.ns, name, [&](const Value& live) -> Result<Value> {
    if (IsDeleting(live))
      return Conflict("", "pods/binding", name, fmt::format("pod {} is being deleted, cannot be assigned to a host", name));
    std::string_view assigned = live["spec"]["nodeName"].string_value();
    if (!assigned.empty())
      return Conflict("", "pods/binding", name, fmt::format("pod {} is already assigned to node \"{}\"", name, assigned));
    Value next = live;
    next["spec"]["nodeName"] = node;
    Value condition =
        Value::Object({{"type", "PodScheduled"}, {"status", "True"}, {"lastProbeTime", Value()}, {"lastTransitionTime", now}});
    List<Value>& conditions = next["status"]["conditions"].MutableList();
    conditions.erase_if([](const Value& c) { return c["type"].string_value() == "PodScheduled"; });
    conditions.push_back(std::move(condition));
    return next;
  });
  if (!bound) return bound.error();
  return Answer{.status = 201,
                .object = Value::Object(
                    {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Value::Object()}, {"status", "Success"}, {"code", 201}}),
                .is_resource = false};
}

Result<Answer> CreateToken(ApiCore& core, Call& call, Tokens& tokens) {
  Result<authentication::v1::TokenRequest> request = DecodeBody<authentication::v1::TokenRequest>(call);
  if (!request) return request.error();
  if (auto ok = AdmitCreated(core, call, *request); !ok) return ok.error();
  Result<ObjectPtr> account = core.Find(*call.resource, call.ns, call.name);
  if (!account) return account.error();
  std::int64_t lifetime = request->spec.expiration_seconds.value_or(3600);
  if (lifetime < 600) {
    return Invalid("authentication.k8s.io", "TokenRequest", "",
                   {InvalidValue("spec.expirationSeconds", lifetime, "may not specify a duration less than 10 minutes")});
  }
  if (request->spec.audiences.empty()) request->spec.audiences.push_back(Tokens::kServer);
  std::vector<std::string> audiences;
  for (const String& audience : std::as_const(request->spec.audiences)) audiences.push_back(audience.str());
  Time now = core.Now();
  request->metadata.name = call.name;
  request->metadata.namespace_ = call.ns;
  request->metadata.creation_timestamp = now;
  request->spec.expiration_seconds = lifetime;
  request->status.token = tokens.IssueServiceAccount(call.ns, call.name, (*account)->uid, audiences, now, lifetime);
  request->status.expiration_timestamp = now + Duration::FromNanoseconds(lifetime * 1'000'000'000);
  return Reply(*request, 201);
}

namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// The options of a connection and the query that says the same.
template <typename T>
Result<void> AdmitOptions(ApiCore& core, Call& call, const T& options, const std::function<std::string(const T&)>& query_of) {
  const Value before = ToValue(options).value_or(Value());
  Result<Value> after =
      core.AdmitOther(call, "CONNECT", Gvk{T::kType.kind->group, T::kType.kind->version, T::kType.kind->kind}, before, Value(), false);
  if (!after) return after.error();
  if (*after == before) return {};
  Result<T> changed = FromValue<T>(*after);
  if (!changed) return InternalError(changed.error().message());
  call.query = Query::Parse(query_of(*changed));
  return {};
}

template <typename T>
void TakeStreams(const Query& query, T& options) {
  options.stdin_ = query.Flag("stdin");
  options.stdout_ = query.Flag("stdout");
  options.stderr_ = query.Flag("stderr");
  options.tty = query.Flag("tty");
  options.container = query.Get("container");
}

}  // namespace

Result<void> AdmitConnect(ApiCore& core, Call& call) {
  if (!call.admit || !core.hooks().Any(*call.resource)) return {};
  if (call.subresource == "exec") {
    core::v1::PodExecOptions options;
    TakeStreams(call.query, options);
    for (const std::string& part : call.query.All("command")) options.command.push_back(part);
    return AdmitOptions<core::v1::PodExecOptions>(core, call, options, [](const core::v1::PodExecOptions& o) {
      std::string out = "container=" + Escaped(o.container);
      for (const String& part : o.command) out += "&command=" + Escaped(part);
      return out;
    });
  }
  if (call.subresource == "attach") {
    core::v1::PodAttachOptions options;
    TakeStreams(call.query, options);
    return AdmitOptions<core::v1::PodAttachOptions>(
        core, call, options, [](const core::v1::PodAttachOptions& o) { return "container=" + Escaped(o.container); });
  }
  core::v1::PodPortForwardOptions options;
  for (const std::string& port : call.query.All("ports")) {
    std::int32_t number = 0;
    if (std::from_chars(port.data(), port.data() + port.size(), number).ec == std::errc()) options.ports.push_back(number);
  }
  return AdmitOptions<core::v1::PodPortForwardOptions>(core, call, options,
                                                       [](const core::v1::PodPortForwardOptions&) { return std::string(); });
}

bool AccountExists(const ApiCore& core, const User& user) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (!user.name.starts_with(kPrefix)) return true;
  std::string_view rest = std::string_view(user.name).substr(kPrefix.size());
  ObjectPtr account = core.store().Get("/serviceaccounts", rest.substr(0, rest.find(':')), rest.substr(rest.find(':') + 1));
  return account && account->uid == user.uid;
}

bool IsReview(const ServedResource& r) {
  return r.resource.ends_with("reviews") && (r.group == "authentication.k8s.io" || r.group == "authorization.k8s.io");
}

namespace {

Result<Answer> ReviewToken(ApiCore& core, Call& call, Tokens& tokens) {
  Result<authentication::v1::TokenReview> review = DecodeBody<authentication::v1::TokenReview>(call);
  if (!review) return review.error();
  if (auto ok = AdmitCreated(core, call, *review); !ok) return ok.error();
  if (review->spec.token.empty()) return BadRequest("token is required for TokenReview in authentication");
  std::vector<std::string> audiences;
  for (const String& audience : std::as_const(review->spec.audiences)) audiences.push_back(audience.str());
  std::optional<Tokens::Found> found = tokens.Find(review->spec.token, core.Now(), audiences);
  // The rest of a status that the client sent stays, as on the real server.
  review->status.authenticated = found && AccountExists(core, found->user);
  if (review->status.authenticated) {
    review->status.user = {};
    review->status.user.username = found->user.name;
    review->status.user.uid = found->user.uid;
    for (const std::string& group : found->user.groups) review->status.user.groups.push_back(group);
    review->status.audiences = {};
    for (const std::string& audience : found->audiences) review->status.audiences.push_back(audience);
  } else {
    review->status.error = "invalid bearer token";
  }
  return Reply(*review, 201);
}

Result<Answer> ReviewSelf(ApiCore& core, Call& call) {
  Result<authentication::v1::SelfSubjectReview> review = DecodeBody<authentication::v1::SelfSubjectReview>(call);
  if (!review) return review.error();
  if (auto ok = AdmitCreated(core, call, *review); !ok) return ok.error();
  // Discards everything that the client sent.
  authentication::v1::SelfSubjectReview out;
  out.metadata.creation_timestamp = core.Now();
  out.status.user_info.username = call.user.name;
  out.status.user_info.uid = call.user.uid;
  for (const std::string& group : call.user.groups) out.status.user_info.groups.push_back(group);
  return Reply(out, 201);
}

Result<Answer> ReviewRules(ApiCore& core, Call& call) {
  Result<authorization::v1::SelfSubjectRulesReview> review = DecodeBody<authorization::v1::SelfSubjectRulesReview>(call);
  if (!review) return review.error();
  if (auto ok = AdmitCreated(core, call, *review); !ok) return ok.error();
  if (review->spec.namespace_.empty()) return BadRequest("no namespace on request");
  authorization::v1::SelfSubjectRulesReview out;
  out.status.resource_rules.push_back({.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}});
  out.status.non_resource_rules.push_back({.verbs = {"*"}, .non_resource_urls = {"*"}});
  return Reply(out, 201);
}

template <typename Review>
Result<Answer> ReviewAccess(ApiCore& core, Call& call) {
  Result<Review> review = DecodeBody<Review>(call);
  if (!review) return review.error();
  if (auto ok = AdmitCreated(core, call, *review); !ok) return ok.error();
  const auto& spec = std::as_const(*review).spec;
  std::vector<FieldError> errors;
  if (!spec.resource_attributes && !spec.non_resource_attributes) {
    errors.push_back(
        InvalidValue("spec.resourceAttributes", Value(), "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  }
  if constexpr (requires { spec.user; }) {
    if (spec.user.empty() && spec.groups.empty()) {
      errors.push_back(InvalidValue("spec.user", "", "at least one of user or group must be specified"));
    }
  }
  if (!errors.empty()) return Invalid(call.resource->group, "", "", errors);
  review->status = {};
  review->status.allowed = true;
  review->status.reason = "this server allows everything to authenticated users";
  return Reply(*review, 201);
}

}  // namespace

Result<Answer> CreateReview(ApiCore& core, Call& call, Tokens& tokens) {
  const std::string& kind = call.resource->kind;
  if (kind == "TokenReview") return ReviewToken(core, call, tokens);
  if (kind == "SelfSubjectReview") return ReviewSelf(core, call);
  if (kind == "SelfSubjectRulesReview") return ReviewRules(core, call);
  if (kind == "SelfSubjectAccessReview") return ReviewAccess<authorization::v1::SelfSubjectAccessReview>(core, call);
  if (kind == "LocalSubjectAccessReview") return ReviewAccess<authorization::v1::LocalSubjectAccessReview>(core, call);
  return ReviewAccess<authorization::v1::SubjectAccessReview>(core, call);
}

}  // namespace kube::apiserver
