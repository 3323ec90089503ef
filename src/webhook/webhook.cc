#include "kube/webhook/webhook.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "kube/meta/validation.h"
#include "webhook/review.h"
#include "webhook/webhook_path.h"

namespace kube {
namespace internal {
namespace {

bool IsName(std::string_view name) {
  int dots = 0;
  for (const char c : name) dots += c == '.' ? 1 : 0;
  return dots >= 2 && ValidateDnsSubdomain(name).ok();
}

std::optional<Error> ProblemOf(const WebhookEntry& entry) {
  const auto wrong = [&](const std::string& what) { return Error::Invalid(fmt::format("webhook {}: {}", entry.name, what)); };
  if (!IsName(entry.name)) return wrong("a webhook's name is a domain of at least three parts, such as pods.example.com");
  if (!IsWebhookPath(entry.path)) return wrong(fmt::format("\"{}\" is no path for a webhook: \"/validate-pods\" is", entry.path));
  if (entry.timeout < std::chrono::seconds(1) || entry.timeout > std::chrono::seconds(30))
    return wrong("its timeout is not between 1 and 30 s");
  if (entry.rules.empty()) return wrong("it has no rules");
  for (const WebhookRule& rule : entry.rules) {
    if (rule.operations == AdmissionOperation::kNone) return wrong("a rule has no operations");
    if (rule.groups.empty() || rule.versions.empty() || rule.resources.empty() || rule.resources[0].empty() || rule.resources[0][0] == '/')
      return wrong("a rule names no resource: For() says which requests carry objects of this type");
  }
  return std::nullopt;
}

void AddWebhook(WebhookSpec& spec, WebhookEntry entry, AdmissionFunctions functions, AdmissionRole role, AdmissionOperation on) {
  if (!spec.problem) spec.problem = ProblemOf(entry);
  spec.endpoints.push_back(
      {.path = entry.path,
       .serve = [functions = std::make_shared<const AdmissionFunctions>(std::move(functions)), role, on](
                    const Context& ctx, std::string_view body) { return ServeAdmission(*functions, role, on, ctx, body); }});
  spec.entries.push_back(std::move(entry));
}

}  // namespace

WebhookPlan NewWebhookPlan(std::string name, const Gvr& gvr, const Gvk& kind, bool built_in, const TypeInfo* type) {
  WebhookPlan plan;
  plan.kind = kind;
  plan.common.name = std::move(name);
  if (type != nullptr) plan.common.exclude_own_namespace = built_in;
  plan.rule.groups = {gvr.group.str()};
  plan.rule.versions = {gvr.version.str()};
  plan.rule.resources = {gvr.resource.str()};
  plan.functions.type = type;
  return plan;
}

WebhookSpec MakeWebhookSpec(const WebhookPlan& plan) {
  WebhookSpec spec{.name = plan.common.name};
  const auto add = [&](bool mutating, const std::string& path, std::string usual_path, AdmissionOperation on) {
    if (on == AdmissionOperation::kNone) return;
    WebhookEntry entry = plan.common;
    entry.mutating = mutating;
    entry.path = path.empty() ? std::move(usual_path) : path;
    entry.rules = {plan.rule};
    entry.rules[0].operations = on;
    AddWebhook(spec, std::move(entry), plan.functions, mutating ? AdmissionRole::kMutate : AdmissionRole::kValidate, on);
  };
  add(true, plan.mutate_path, MutatePath(plan.kind), plan.mutate_on);
  add(false, plan.validate_path, ValidatePath(plan.kind), plan.validate_on);
  if (spec.entries.empty()) spec.problem = Error::Invalid(fmt::format("webhook {} has neither Default nor Validate", spec.name));
  return spec;
}

}  // namespace internal

WebhookSpec RawWebhook(WebhookEntry entry, AdmissionHandler handler) {
  WebhookSpec spec{.name = entry.name};
  if (!handler) spec.problem = Error::Invalid(fmt::format("webhook {} has no handler", spec.name));
  if (entry.path.empty()) entry.path = "/" + entry.name;
  // What the configuration asks for is what the handler is for.
  constexpr AdmissionOperation kAll =
      AdmissionOperation::kCreate | AdmissionOperation::kUpdate | AdmissionOperation::kDelete | AdmissionOperation::kConnect;
  internal::AddWebhook(spec, std::move(entry), {.raw = std::move(handler)}, internal::AdmissionRole::kRaw, kAll);
  return spec;
}

}  // namespace kube
