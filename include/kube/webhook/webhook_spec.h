// WebhookSpec: the webhooks that a program serves, and their entries in webhook configurations. Plain data.
//
// WebhookFor<T> (webhook.h) builds the specs of admission webhooks. Manager::Add takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/meta/gvk.h"
#include "kube/meta/v1.h"
#include "kube/webhook/admission.h"

namespace kube {

// ---- An entry of a webhook configuration. Names and defaults are those of admissionregistration.k8s.io/v1. ----

// If the webhook cannot be reached or does not answer in time: fail the request, or ignore the webhook.
enum class WebhookFailurePolicy : std::uint8_t { kFail, kIgnore };
// Requests for other versions of the resource: converted and sent, or not sent.
enum class WebhookMatchPolicy : std::uint8_t { kEquivalent, kExact };
// Whether to call the webhook again if a later webhook changed the object.
enum class WebhookReinvocation : std::uint8_t { kNever, kIfNeeded };
// Whether the webhook has side effects: never, or only if the request is not a dry run.
enum class WebhookSideEffects : std::uint8_t { kNone, kNoneOnDryRun };

// The requests that a webhook is called for.
struct WebhookRule {
  AdmissionOperation operations = AdmissionOperation::kCreate | AdmissionOperation::kUpdate;
  std::vector<std::string> groups{};
  std::vector<std::string> versions{};
  std::vector<std::string> resources{};  // "pods", "pods/status", "pods/*", "*"
  std::string scope = "*";               // "Namespaced", "Cluster"

  bool operator==(const WebhookRule&) const = default;
};

// A condition that a request must meet.
struct WebhookMatchCondition {
  std::string name{};
  std::string expression{};  // CEL

  bool operator==(const WebhookMatchCondition&) const = default;
};

// One webhook of a MutatingWebhookConfiguration or ValidatingWebhookConfiguration.
struct WebhookEntry {
  bool mutating = false;
  std::string name{};  // a domain of at least three parts
  std::string path{};
  std::vector<WebhookRule> rules{};
  WebhookFailurePolicy failure_policy = WebhookFailurePolicy::kFail;
  WebhookMatchPolicy match_policy = WebhookMatchPolicy::kEquivalent;
  WebhookReinvocation reinvocation = WebhookReinvocation::kNever;  // for mutating webhooks
  WebhookSideEffects side_effects = WebhookSideEffects::kNone;
  meta::v1::LabelSelector namespace_selector{};
  meta::v1::LabelSelector object_selector{};
  std::vector<WebhookMatchCondition> match_conditions{};
  std::chrono::seconds timeout{10};  // 1 to 30 s
  // Excludes the program's own namespace, so that the program can restart after all of its replicas have ended. Unset: excluded if a rule
  // covers built-in kinds (a group without a dot or in k8s.io, or the group "*").
  std::optional<bool> exclude_own_namespace{};
};

// ---- What the program serves ----

// The HTTP response to a call.
struct WebhookAnswer {
  // The HTTP status. Anything but 200 is a failed call, which the failure policy handles.
  int code = 200;
  std::string body{};
  bool threw = false;  // a function of the program threw; counted
};

// A path, and the function that turns the body of a call into a response. It is called on several threads at once. Its context stops when
// the API server stops waiting.
struct WebhookEndpoint {
  std::string path{};
  std::function<WebhookAnswer(const Context& ctx, std::string_view body)> serve{};
  bool conversion = false;  // which metric counts exceptions
};

// The webhooks of a program for Manager::Add: endpoints, and their entries in the configurations.
struct WebhookSpec {
  std::string name{};  // for messages
  std::vector<WebhookEndpoint> endpoints{};
  std::vector<WebhookEntry> entries{};
  std::optional<Error> problem{};  // a configuration error; Manager::Add returns it
};

// The paths that controller-runtime uses: "/mutate-apps-v1-deployment", "/validate--v1-pod".
KUBE_EXPORT std::string MutatePath(const Gvk& kind);
KUBE_EXPORT std::string ValidatePath(const Gvk& kind);

}  // namespace kube
