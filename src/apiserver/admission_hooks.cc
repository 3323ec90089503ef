#include "apiserver/admission_hooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "apiserver/errors.h"
#include "apiserver/json_patch_words.h"
#include "apiserver/object_meta.h"
#include "apiserver/pipeline.h"
#include "apiserver/webhook_answer.h"
#include "codec/json_bytes.h"
#include "kube/base/thread.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::string_view kMutating = "admissionregistration.k8s.io/mutatingwebhookconfigurations";
constexpr std::string_view kValidating = "admissionregistration.k8s.io/validatingwebhookconfigurations";

std::vector<std::string> Texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.list()) out.push_back(item.string_value().str());
  return out;
}

Selector SelectorOf(const Value& value) {
  if (!value.is_object()) return {};
  Result<meta::v1::LabelSelector> typed = FromValue<meta::v1::LabelSelector>(value);
  Result<Selector> selector = typed ? Selector::FromLabelSelector(*typed) : Result<Selector>(typed.error());
  return selector ? *std::move(selector) : Selector();
}

bool Has(const std::vector<std::string>& items, std::string_view wanted) {
  return std::any_of(items.begin(), items.end(), [&](const std::string& item) { return item == "*" || item == wanted; });
}

Map<String> LabelsOf(const Value& object) {
  Map<String> out;
  for (const auto& [key, value] : MetaOf(object)["labels"].object()) out.Append(key, value.string_value());
  return out;
}

bool Selects(const Selector& selector, const Value& object) { return MetaOf(object).is_object() && selector.Matches(LabelsOf(object)); }

bool IsNamespace(const ServedResource& r) { return r.group.empty() && r.version == "v1" && r.resource == "namespaces"; }

// Webhooks are not asked about what decides whether webhooks are asked.
bool IsExempt(const ServedResource& r) {
  if (r.group != kGroup) return false;
  for (const char* kind : {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
                           "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}) {
    if (r.kind == kind) return true;
  }
  return false;
}

bool RulesMatch(const Hook& hook, const AdmissionAttributes& a, const ServedResource& r) {
  return std::any_of(hook.rules.begin(), hook.rules.end(), [&](const HookRule& rule) { return Matches(rule, a, r); });
}

// The other versions and groups that this resource is served in.
std::vector<ResourcePtr> EquivalentsOf(const AdmissionAttributes& a) {
  std::vector<ResourcePtr> out;
  for (const ServedGroup& group : a.resources->groups()) {
    for (const ServedVersion& version : group.versions) {
      for (const auto& [name, other] : version.resources) {
        if (other == a.resource || other->storage != a.resource->storage) continue;
        if (!a.subresource.empty() && other->Subresource(a.subresource) == nullptr) continue;
        out.push_back(other);
      }
    }
  }
  return out;
}

Value KindValue(const Gvk& kind) { return Value::Object({{"group", kind.group}, {"version", kind.version}, {"kind", kind.kind}}); }
Value ResourceValue(const ServedResource& r) {
  return Value::Object({{"group", r.group}, {"version", r.version}, {"resource", r.resource}});
}

std::string ReviewOf(const AdmissionAttributes& a, const ServedResource& as, const Gvk& kind, std::string_view version,
                     const std::string& uid, const Value& object, const Value& old_object) {
  Value user = Value::Object();
  if (!a.user.name.empty()) user["username"] = a.user.name;
  if (!a.user.uid.empty()) user["uid"] = a.user.uid;
  for (const std::string& group : a.user.groups) user["groups"].MutableList().push_back(group);
  Value request = Value::Object({{"uid", uid}, {"kind", KindValue(kind)}, {"resource", ResourceValue(as)}});
  if (!a.subresource.empty()) request["subResource"] = a.subresource;
  request["requestKind"] = KindValue(a.kind);
  request["requestResource"] = ResourceValue(*a.resource);
  if (!a.subresource.empty()) request["requestSubResource"] = a.subresource;
  if (!a.name.empty()) request["name"] = a.name;
  if (!a.ns.empty()) request["namespace"] = a.ns;
  request["operation"] = a.operation;
  request["userInfo"] = std::move(user);
  request["object"] = object;
  request["oldObject"] = old_object;
  request["dryRun"] = a.dry_run;
  request["options"] = a.options;
  const Value review = Value::Object(
      {{"kind", "AdmissionReview"}, {"apiVersion", fmt::format("admission.k8s.io/{}", version)}, {"request", std::move(request)}});
  return kube::internal::ToWireJson(kube::internal::ToJsonBytes(review));
}

// What became of one call.
struct Outcome {
  std::optional<Error> refusal;  // the webhook said no, or what it said cannot be carried out
  std::string failure;           // why it could not be asked; empty: it was
  AdmissionAnswer answer;
};

Outcome Ask(WebhookCaller& caller, const Context& ctx, const Hook& hook, const AdmissionAttributes& a, const ServedResource& as,
            const Gvk& kind, const Value& object, const Value& old_object) {
  Outcome out;
  if (a.dry_run && hook.side_effects != "None" && hook.side_effects != "NoneOnDryRun") {
    out.refusal = BadRequest(fmt::format("admission webhook \"{}\" does not support dry run", hook.name));
    return out;
  }
  const std::string_view version = ReviewVersion(hook.review_versions);
  if (version.empty()) {
    out.failure = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
    return out;
  }
  const std::string uid = NewUid();
  Result<std::string> body = caller.Post(
      ctx, hook.target,
      {.body = ReviewOf(a, as, kind, version, uid, object, old_object), .user_agent = "kube-apiserver-admission", .timeout = hook.timeout});
  if (!body) {
    const bool unusable = body.error().kind() == ErrorKind::kConfig;
    out.failure = (unusable ? "could not get REST client: " : "failed to call webhook: ") + body.error().message();
    return out;
  }
  Result<AdmissionAnswer> answer = ReadAdmissionAnswer(*body, version, uid, hook.mutating);
  if (!answer) {
    const bool unreadable = answer.error().kind() == ErrorKind::kDecode;
    out.failure = (unreadable ? "failed to call webhook: " : "received invalid webhook response: ") + answer.error().message();
    return out;
  }
  out.answer = *std::move(answer);
  if (!out.answer.allowed) out.refusal = DenialOf(hook.name, out.answer.status);
  return out;
}

Error CallFailed(const Hook& hook, const std::string& why) {
  return InternalError(fmt::format("failed calling webhook \"{}\": {}", hook.name, why));
}

Error OutOfTime() { return StatusError(504, "Timeout", "Timeout: request did not complete within requested timeout"); }

std::string WithoutHead(const std::string& message) {
  constexpr std::string_view kHead = " cannot be handled as a ";
  const std::size_t head = message.find(kHead), colon = head == std::string::npos ? head : message.find(": ", head);
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

// The object as the patch leaves it, with its defaults. Errors: 500; nothing if there is nothing to change. A failure to be handled by
// the failure policy goes to `failure`.
Result<std::optional<Value>> Patched(const Hook& hook, const AdmissionAnswer& answer, const ServedResource& as, bool whole,
                                     const Value& object, std::string& failure) {
  if (answer.patch.empty()) return std::optional<Value>();
  Result<Value> patch = ParseJson(answer.patch);
  if (!patch) {
    const char first = answer.patch[0];
    failure = fmt::format("received undecodable patch in webhook response: {}",
                          std::string_view("{[\"0123456789-tfn").find(first) == std::string_view::npos
                              ? fmt::format("invalid character '{}' looking for beginning of value", first)
                              : patch.error().message());
    return std::optional<Value>();
  }
  if (!patch->is_list()) {
    failure = fmt::format("received undecodable patch in webhook response: json: cannot unmarshal {} into Go value of type jsonpatch.Patch",
                          patch->kind_name());
    return std::optional<Value>();
  }
  if (patch->list().empty()) return std::optional<Value>();
  if (object.is_null()) {
    return InternalError(
        fmt::format("admission webhook \"{}\" attempted to modify the object, which is not supported for this operation", hook.name));
  }
  if (answer.patch_type != "JSONPatch") {
    failure = fmt::format("unsupported patch type \"{}\"", answer.patch_type);
    return std::optional<Value>();
  }
  Result<Value> patched = ApplyServerPatch(object, *patch);
  if (!patched) return InternalError(patched.error().message());
  const Value& read = *patched;
  if (!read.is_object()) return InternalError("the patch leaves no object");
  const std::string_view version = read["apiVersion"].string_value(), kind = read["kind"].string_value();
  if (version != object["apiVersion"].string_value() || kind != object["kind"].string_value()) {
    return InternalError(fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme \"kubexx\"", kind, version));
  }
  if (!whole) return std::optional<Value>(*std::move(patched));
  Result<Value> decoded = DecodePatched(as, read);
  if (!decoded) return InternalError(WithoutHead(decoded.error().message()));
  return std::optional<Value>(*std::move(decoded));
}

}  // namespace

// The objects of a request in the version that a webhook wants.
struct AdmissionHooks::Versioned {
  ResourcePtr as;
  Value object, old_object;
  Gvk kind;
};

// Which webhooks a second pass calls.
struct Reinvocation {
  bool second = false;
  bool needed = false;
  std::set<std::string> invoked, again;
  void Require() {
    again.merge(invoked);
    invoked.clear();
  }
};

bool Matches(const HookRule& rule, const AdmissionAttributes& a, const ServedResource& r) {
  const bool cluster = IsNamespace(r) || a.ns.empty();
  if ((rule.scope == "Namespaced" && cluster) || (rule.scope == "Cluster" && !cluster)) return false;
  if (!Has(rule.operations, a.operation) || !Has(rule.groups, r.group) || !Has(rule.versions, r.version)) return false;
  return std::any_of(rule.resources.begin(), rule.resources.end(), [&](std::string_view wanted) {
    const std::size_t slash = wanted.find('/');
    const std::string_view name = wanted.substr(0, slash);
    const std::string_view sub = slash == std::string_view::npos ? std::string_view() : wanted.substr(slash + 1);
    return (name == "*" || name == r.resource) && (sub == "*" || sub == a.subresource);
  });
}

std::vector<Hook> HooksOf(const Value& configuration, bool mutating) {
  std::vector<Hook> out;
  for (const Value& w : configuration["webhooks"].list()) {
    Hook hook;
    hook.mutating = mutating;
    hook.name = w["name"].string_value().str();
    hook.target = WebhookTarget::From(w["clientConfig"]);
    hook.uid = fmt::format("{}/{}/{}", NameOf(configuration), hook.name, out.size());
    for (const Value& r : w["rules"].list()) {
      hook.rules.push_back({.operations = Texts(r["operations"]),
                            .groups = Texts(r["apiGroups"]),
                            .versions = Texts(r["apiVersions"]),
                            .resources = Texts(r["resources"]),
                            .scope = r["scope"].string_value().str()});
    }
    hook.review_versions = Texts(w["admissionReviewVersions"]);
    hook.namespaces = SelectorOf(w["namespaceSelector"]);
    hook.objects = SelectorOf(w["objectSelector"]);
    hook.side_effects = w["sideEffects"].string_value().str();
    if (w["timeoutSeconds"].is_int()) hook.timeout = std::chrono::seconds(w["timeoutSeconds"].int_value());
    hook.equivalent = w["matchPolicy"].string_value() != "Exact";
    hook.ignores_failure = w["failurePolicy"].string_value() == "Ignore";
    hook.reinvocable = w["reinvocationPolicy"].string_value() == "IfNeeded";
    out.push_back(std::move(hook));
  }
  return out;
}

AdmissionHooks::AdmissionHooks(Store& store, WebhookCaller& caller, Convert convert)
    : store_(store), caller_(caller), convert_(std::move(convert)) {
  store_.OnChange([this](const std::string& resource, const StoreEvent& /*event*/) {
    if (resource == kMutating || resource == kValidating) Reload();
  });
}

void AdmissionHooks::Reload() {
  // Under the lock, so that the last one to come sees all changes.
  MutexLock lock(mu_);
  auto hooks = std::make_shared<Hooks>();
  for (const bool mutating : {true, false}) {
    std::vector<Hook>& to = mutating ? hooks->mutating : hooks->validating;
    // In the order of their names, as the store has them.
    for (const ObjectPtr& object : store_.List(std::string(mutating ? kMutating : kValidating), "").objects) {
      for (Hook& hook : HooksOf(object->Parse(), mutating)) to.push_back(std::move(hook));
    }
  }
  hooks_ = std::move(hooks);
}

std::shared_ptr<const Hooks> AdmissionHooks::Current() const {
  MutexLock lock(mu_);
  return hooks_;
}

bool AdmissionHooks::Any(const ServedResource& resource) const {
  const std::shared_ptr<const Hooks> hooks = Current();
  return !IsExempt(resource) && !(hooks->mutating.empty() && hooks->validating.empty());
}

Result<ResourcePtr> AdmissionHooks::Match(const Hook& hook, const AdmissionAttributes& a, const Value& object) const {
  if (!hook.objects.empty() && !Selects(hook.objects, object) && !Selects(hook.objects, a.old_object)) return ResourcePtr();
  std::optional<Error> missing;
  const bool of_namespace = a.resource->group.empty() && a.resource->resource == "namespaces";
  if (!hook.namespaces.empty() && (!a.ns.empty() || of_namespace)) {
    if (of_namespace && a.subresource.empty() && (a.operation == "CREATE" || a.operation == "UPDATE")) {
      if (!Selects(hook.namespaces, object)) return ResourcePtr();
    } else if (ObjectPtr ns = store_.Get("/namespaces", "", a.ns)) {
      if (!hook.namespaces.Matches(ns->labels)) return ResourcePtr();
    } else {
      missing = NotFound("", "namespaces", a.ns);
    }
  }
  ResourcePtr found;
  if (RulesMatch(hook, a, *a.resource)) {
    found = a.resource;
  } else if (hook.equivalent) {
    const std::vector<ResourcePtr> others = EquivalentsOf(a);
    for (const HookRule& rule : hook.rules) {
      auto other = std::find_if(others.begin(), others.end(), [&](const ResourcePtr& r) { return Matches(rule, a, *r); });
      if (other == others.end()) continue;
      found = *other;
      break;
    }
  }
  if (found && missing) return *missing;
  return found;
}

Result<void> AdmissionHooks::Bring(const Context& ctx, const AdmissionAttributes& a, const ResourcePtr& to, Versioned& v) const {
  if (v.as == to) return {};
  // Objects of a kind of their own are the same in all versions of their resource.
  if (a.kind == a.resource->gvk()) {
    for (Value* object : {&v.object, &v.old_object}) {
      if (object->is_null()) continue;
      Result<Value> converted = convert_(ctx, *v.as, *to, std::move(*object));
      if (!converted) return InternalError(converted.error().message());
      *object = *std::move(converted);
    }
    v.kind = to->gvk();
  }
  v.as = to;
  return {};
}

Result<void> AdmissionHooks::MutateOnce(const Context& ctx, AdmissionAttributes& a, const Hooks& hooks, Reinvocation& again,
                                        std::vector<std::string>& warnings) const {
  Versioned v{.as = a.resource, .object = a.object, .old_object = a.old_object, .kind = a.kind};
  bool dirty = false;
  for (const Hook& hook : hooks.mutating) {
    Result<ResourcePtr> match = Match(hook, a, v.object);
    if (!match) return match.error();
    if (*match == nullptr || (again.second && !again.again.contains(hook.uid))) continue;
    if (Result<void> ok = Bring(ctx, a, *match, v); !ok) return ok;
    Outcome outcome = Ask(caller_, ctx, hook, a, *v.as, v.kind, v.object, v.old_object);
    warnings.insert(warnings.end(), outcome.answer.warnings.begin(), outcome.answer.warnings.end());
    bool changed = false;
    if (!outcome.refusal && outcome.failure.empty()) {
      const bool whole = v.kind == v.as->gvk();
      Result<std::optional<Value>> patched = Patched(hook, outcome.answer, *v.as, whole, v.object, outcome.failure);
      if (!patched) return patched.error();
      if (*patched) {
        changed = !(**patched == v.object);
        dirty = true;
        v.object = **std::move(patched);
      }
    }
    if (changed) {
      again.Require();
      again.needed = true;
    }
    if (hook.reinvocable) again.invoked.insert(hook.uid);
    if (outcome.refusal) return *outcome.refusal;
    if (outcome.failure.empty()) continue;
    if (!hook.ignores_failure) return CallFailed(hook, outcome.failure);
    if (ctx.stopped()) return OutOfTime();
  }
  if (!dirty) return {};
  v.old_object = Value();
  if (Result<void> ok = Bring(ctx, a, a.resource, v); !ok) return ok;
  a.object = std::move(v.object);
  return {};
}

Result<void> AdmissionHooks::Mutate(const Context& ctx, AdmissionAttributes& a, const InTree& in_tree,
                                    std::vector<std::string>& warnings) const {
  const std::shared_ptr<const Hooks> hooks = Current();
  if (hooks->mutating.empty() || IsExempt(*a.resource)) return {};
  Reinvocation again;
  Value last;
  for (int pass = 0; pass < 2; ++pass) {
    if (in_tree && !a.object.is_null()) {
      Result<Value> admitted = in_tree(std::move(a.object));
      if (!admitted) return admitted.error();
      a.object = *std::move(admitted);
    }
    again.second = pass > 0;
    if (again.second && !(a.object == last)) again.Require();
    if (Result<void> ok = MutateOnce(ctx, a, *hooks, again, warnings); !ok) return ok;
    if (!again.needed) break;
    last = a.object;
  }
  return {};
}

Result<void> AdmissionHooks::Validate(const Context& ctx, const AdmissionAttributes& a, std::vector<std::string>& warnings) const {
  const std::shared_ptr<const Hooks> hooks = Current();
  if (hooks->validating.empty() || IsExempt(*a.resource)) return {};
  struct Asked {
    const Hook* hook;
    Versioned objects;
    Outcome outcome;
  };
  std::list<Asked> asked;
  for (const Hook& hook : hooks->validating) {
    Result<ResourcePtr> match = Match(hook, a, a.object);
    if (!match) return match.error();
    if (*match == nullptr) continue;
    Versioned v{.as = a.resource, .object = a.object, .old_object = a.old_object, .kind = a.kind};
    if (Result<void> ok = Bring(ctx, a, *match, v); !ok) return ok;
    asked.push_back({.hook = &hook, .objects = std::move(v), .outcome = {}});
  }
  if (asked.empty()) return {};
  if (ctx.stopped()) return OutOfTime();
  {
    const auto ask = [&](Asked& one) {
      one.outcome = Ask(caller_, ctx, *one.hook, a, *one.objects.as, one.objects.kind, one.objects.object, one.objects.old_object);
    };
    std::list<Thread> others;  // joined at the end of the block
    for (auto it = std::next(asked.begin()); it != asked.end(); ++it) others.emplace_back("kube-api-hook", [&ask, it] { ask(*it); });
    ask(asked.front());
  }
  std::optional<Error> first;
  for (const Asked& one : asked) {
    warnings.insert(warnings.end(), one.outcome.answer.warnings.begin(), one.outcome.answer.warnings.end());
    if (first) continue;
    if (one.outcome.refusal) {
      first = one.outcome.refusal;
    } else if (!one.outcome.failure.empty() && !one.hook->ignores_failure) {
      first = CallFailed(*one.hook, one.outcome.failure);
    }
  }
  if (first) return *first;
  return {};
}

}  // namespace kube::apiserver
