// WebhookSpec: what a program serves to the API server's webhook calls, and what their configurations have to say. Plain data.
//
// WebhookFor<T> (webhook.h) makes admission webhooks. Manager::Add takes specs.
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

// ---- What a configuration says about a webhook; the names and defaults are those of admissionregistration.k8s.io/v1 ----

enum class WebhookFailurePolicy : std::uint8_t { kFail, kIgnore };     // if the webhook cannot be reached or does not answer in time
enum class WebhookMatchPolicy : std::uint8_t { kEquivalent, kExact };  // other versions of the resource are converted, or not sent
enum class WebhookReinvocation : std::uint8_t { kNever, kIfNeeded };   // again if a later webhook changed the object
enum class WebhookSideEffects : std::uint8_t { kNone, kNoneOnDryRun };

struct WebhookRule {
  AdmissionOperation operations = AdmissionOperation::kCreate | AdmissionOperation::kUpdate;
  std::vector<std::string> groups{};
  std::vector<std::string> versions{};
  std::vector<std::string> resources{};  // "pods", "pods/status", "pods/*", "*"
  std::string scope = "*";               // "Namespaced", "Cluster"

  bool operator==(const WebhookRule&) const = default;
};

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
  WebhookReinvocation reinvocation = WebhookReinvocation::kNever;  // of mutating ones
  WebhookSideEffects side_effects = WebhookSideEffects::kNone;
  meta::v1::LabelSelector namespace_selector{};
  meta::v1::LabelSelector object_selector{};
  std::vector<WebhookMatchCondition> match_conditions{};
  std::chrono::seconds timeout{10};  // 1 to 30 s
  // Whether the configuration excludes the program's own namespace, so that the program can start again after all of its replicas ended.
  // Unset: if a rule is for built-in kinds, which are those of groups without a dot or in k8s.io, and of the group "*".
  std::optional<bool> exclude_own_namespace{};
};

// ---- What is served ----

struct WebhookAnswer {
  int code = 200;  // of HTTP. Anything else means that the call failed: the failure policy decides
  std::string body{};
  bool threw = false;  // a function of the program threw; counted
};

// A path, and the function from the body of a call to its answer. Called on several threads at once. The context stops when the API server
// no longer waits.
struct WebhookEndpoint {
  std::string path{};
  std::function<WebhookAnswer(const Context& ctx, std::string_view body)> serve{};
  bool conversion = false;  // which metric counts functions that throw
};

// What Manager::Add takes: endpoints, and what the configurations have to say about them.
struct WebhookSpec {
  std::string name{};  // for messages
  std::vector<WebhookEndpoint> endpoints{};
  std::vector<WebhookEntry> entries{};
  std::optional<Error> problem{};  // why it cannot work; Manager::Add returns it
};

// The paths that controller-runtime has: "/mutate-apps-v1-deployment", "/validate--v1-pod".
KUBE_EXPORT std::string MutatePath(const Gvk& kind);
KUBE_EXPORT std::string ValidatePath(const Gvk& kind);

}  // namespace kube
