// WebhookFor<T>: an admission webhook for objects of T that sets defaults (mutating), validates, or both.
//
//   WebhookSpec spec = WebhookFor<Network>("networks.samplecrd.k8s.io")
//                          .Default([](const AdmissionRequest&, Network& network) { if (!network.spec.mtu) network.spec.mtu = 1500; })
//                          .Validate([](const AdmissionRequest&, const Network* old, const Network* network) -> Admission { ... });
//   manager.Add(std::move(spec));       // serves it; configurations.h registers it with the API server
//
//   WebhookFor<core::v1::Pod>("pods.example.com")                                   // built-in kinds
//   WebhookFor("carts.example.com", {.gvr = {"shop.example.com", "v1", "carts"}, .kind = "Cart"})       // as DynamicObject
//   RawWebhook({.name = "any.example.com", .rules = {...}}, handler)                 // the request's JSON, without objects
//
// A mutating webhook sends only the changes that its function made: fields that this program does not declare stay, and a function that
// changes nothing sends no patch. try_webhook.h runs a webhook in a test without a server.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/meta/dynamic_kind.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/resource.h"
#include "kube/value/type_info.h"
#include "kube/webhook/admission.h"
#include "kube/webhook/webhook_spec.h"

namespace kube {

// A raw handler: decides by the request's JSON, and may respond with a patch (Admission::Patch).
using AdmissionHandler = std::function<Admission(const Context& ctx, const AdmissionRequest& request)>;

namespace internal {

// The functions behind one path. Objects are structs of `type`, or DynamicObjects if that is null.
struct AdmissionFunctions {
  const TypeInfo* type = nullptr;
  std::function<Admission(const Context&, const AdmissionRequest&, void* object)> mutate{};
  std::function<Admission(const Context&, const AdmissionRequest&, const void* old, const void* object)> validate{};
  AdmissionHandler raw{};
};

// What a WebhookBuilder collects.
struct WebhookPlan {
  Gvk kind{};             // for the paths
  WebhookEntry common{};  // for both webhooks, except paths and operations
  WebhookRule rule{};
  AdmissionFunctions functions{};
  AdmissionOperation mutate_on = AdmissionOperation::kNone, validate_on = AdmissionOperation::kNone;
  std::string mutate_path{}, validate_path{};
};
KUBE_EXPORT WebhookSpec MakeWebhookSpec(const WebhookPlan& plan);
KUBE_EXPORT WebhookPlan NewWebhookPlan(std::string name, const Gvr& gvr, const Gvk& kind, bool built_in, const TypeInfo* type);
struct WebhookAccess;

// Calls `f` without the leading arguments that it does not accept.
template <typename F, typename... Objects>
Admission CallAdmission(const F& f, const Context& ctx, const AdmissionRequest& request, Objects&&... objects) {
  const auto answer = [](auto&& call) -> Admission {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return {};
    } else {
      return call();
    }
  };
  if constexpr (std::is_invocable_v<const F&, const Context&, const AdmissionRequest&, Objects...>) {
    return answer([&] { return f(ctx, request, std::forward<Objects>(objects)...); });
  } else if constexpr (std::is_invocable_v<const F&, const AdmissionRequest&, Objects...>) {
    return answer([&] { return f(request, std::forward<Objects>(objects)...); });
  } else {
    static_assert(
        std::is_invocable_v<const F&, Objects...>,
        "a webhook's function takes (const Context&, const AdmissionRequest&, objects...), or without the first or both; Default has a "
        "T& for an object, Validate a const T* old and a const T* object");
    return answer([&] { return f(std::forward<Objects>(objects)...); });
  }
}

}  // namespace internal

// Builds a WebhookSpec. Functions are called on several threads at once. They return Admission, Result<void> or void. An exception is
// logged, counted, and denies the request with code 500. A function may take a Context first and then the AdmissionRequest; both are
// optional.
//
// Thread safety: one thread at a time.
template <typename T>
class WebhookBuilder {
 public:
  // Sets a function that changes the object before it is validated and stored: f(const AdmissionRequest&, T& object). Not called for
  // DELETE.
  template <typename F>
  WebhookBuilder& Default(F f, AdmissionOperation on = AdmissionOperation::kCreate | AdmissionOperation::kUpdate) {
    plan_.mutate_on = on;
    plan_.functions.mutate = [f = std::move(f)](const Context& ctx, const AdmissionRequest& request, void* object) {
      return internal::CallAdmission(f, ctx, request, *static_cast<T*>(object));
    };
    return *this;
  }
  // Sets a function that allows or denies: f(const AdmissionRequest&, const T* old, const T* object). `old` is null for CREATE and CONNECT,
  // `object` for DELETE.
  template <typename F>
  WebhookBuilder& Validate(F f, AdmissionOperation on = AdmissionOperation::kCreate | AdmissionOperation::kUpdate) {
    plan_.validate_on = on;
    plan_.functions.validate = [f = std::move(f)](const Context& ctx, const AdmissionRequest& request, const void* old,
                                                  const void* object) {
      return internal::CallAdmission(f, ctx, request, static_cast<const T*>(old), static_cast<const T*>(object));
    };
    return *this;
  }

  // Selects the requests; by default those for the resource of T, without subresources. Names another resource or subresource whose
  // requests carry a T: ({"", "v1", "pods"}, "exec") for PodExecOptions, (..., "scale") for Scale.
  WebhookBuilder& For(const Gvr& gvr, std::string_view subresource = {}) {
    plan_.rule.groups = {gvr.group.str()};
    plan_.rule.versions = {gvr.version.str()};
    plan_.rule.resources = {gvr.resource.str()};
    if (!subresource.empty()) plan_.rule.resources[0].append("/").append(subresource);
    return *this;
  }
  // Adds requests for a subresource whose objects are complete objects of T, such as "status" and "ephemeralcontainers".
  WebhookBuilder& AndSubresource(std::string_view subresource) {
    if (!plan_.rule.resources.empty()) plan_.rule.resources.push_back(plan_.rule.resources[0] + "/" + std::string(subresource));
    return *this;
  }
  // "Namespaced" or "Cluster"; both by default ("*").
  WebhookBuilder& Scope(std::string scope) {
    plan_.rule.scope = std::move(scope);
    return *this;
  }
  // NamespaceSelector, ObjectSelector and MatchPolicy are the fields of the same names in admissionregistration.k8s.io/v1.
  WebhookBuilder& NamespaceSelector(meta::v1::LabelSelector selector) {
    plan_.common.namespace_selector = std::move(selector);
    return *this;
  }
  WebhookBuilder& ObjectSelector(meta::v1::LabelSelector selector) {
    plan_.common.object_selector = std::move(selector);
    return *this;
  }
  // Adds a CEL expression over object, oldObject, request and authorizer. All expressions must be true. Kubernetes 1.30 (beta in 1.28).
  WebhookBuilder& MatchCondition(std::string name, std::string expression) {
    plan_.common.match_conditions.push_back({std::move(name), std::move(expression)});
    return *this;
  }
  WebhookBuilder& MatchPolicy(WebhookMatchPolicy policy) {
    plan_.common.match_policy = policy;
    return *this;
  }
  // Whether the configuration excludes the program's own namespace: see WebhookEntry. By default it does for built-in kinds.
  WebhookBuilder& ExcludeOwnNamespace(bool exclude) {
    plan_.common.exclude_own_namespace = exclude;
    return *this;
  }
  // FailurePolicy, ReinvocationPolicy and SideEffects are the fields of the same names in admissionregistration.k8s.io/v1.
  WebhookBuilder& FailurePolicy(WebhookFailurePolicy policy) {
    plan_.common.failure_policy = policy;
    return *this;
  }
  WebhookBuilder& ReinvocationPolicy(WebhookReinvocation policy) {
    plan_.common.reinvocation = policy;
    return *this;
  }
  WebhookBuilder& SideEffects(WebhookSideEffects effects) {
    plan_.common.side_effects = effects;
    return *this;
  }
  // How long the API server waits for the response: 1 to 30 s. The function's context stops after that.
  WebhookBuilder& Timeout(std::chrono::seconds timeout) {
    plan_.common.timeout = timeout;
    return *this;
  }
  // The paths, instead of controller-runtime's (MutatePath and ValidatePath).
  WebhookBuilder& DefaultAt(std::string path) {
    plan_.mutate_path = std::move(path);
    return *this;
  }
  WebhookBuilder& ValidateAt(std::string path) {
    plan_.validate_path = std::move(path);
    return *this;
  }

  WebhookSpec Build() const { return internal::MakeWebhookSpec(plan_); }  // a copy of the spec so far
  operator WebhookSpec() const { return Build(); }                        // NOLINT(google-explicit-constructor)

 private:
  friend struct internal::WebhookAccess;
  explicit WebhookBuilder(internal::WebhookPlan plan) : plan_(std::move(plan)) {}
  internal::WebhookPlan plan_;
};

namespace internal {
struct WebhookAccess {
  template <typename T>
  static WebhookBuilder<T> Make(WebhookPlan plan) {
    return WebhookBuilder<T>(std::move(plan));
  }
};
}  // namespace internal

// Starts the definition of a webhook. `name` is its name in the configurations, a domain of at least three parts. Every denial shows it.
template <Described T>
WebhookBuilder<T> WebhookFor(std::string name) {
  return internal::WebhookAccess::Make<T>(
      internal::NewWebhookPlan(std::move(name), GvrOf<T>(), GvkOf<T>(), KindOf<T>().built_in, &T::kType));
}
// The same for a kind without a C++ type.
inline WebhookBuilder<DynamicObject> WebhookFor(std::string name, const DynamicKind& kind) {
  return internal::WebhookAccess::Make<DynamicObject>(
      internal::NewWebhookPlan(std::move(name), kind.gvr, {kind.gvr.group, kind.gvr.version, kind.kind}, false, nullptr));
}

// `entry` selects the requests: its name and rules are required. An empty path becomes "/" and the name.
KUBE_EXPORT WebhookSpec RawWebhook(WebhookEntry entry, AdmissionHandler handler);

}  // namespace kube
