// AdmissionHooks: calls the webhooks that the stored MutatingWebhookConfigurations and ValidatingWebhookConfigurations name.
//
//   hooks.Mutate(ctx, attributes, in_tree, warnings)   before the object is checked: one after the other, some of them twice
//   hooks.Validate(ctx, attributes, warnings)          once it is as it will be stored: all at once
//
// Which ones, in what order and with what effect is the real server's: configurations by name, then their entries; rules and match policy,
// selectors, failure policy, timeouts, dry run. Match conditions are CEL, which this server does not have: configurations with any are
// refused (builtin/validation_webhook.cc).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/request.h"
#include "apiserver/resources.h"
#include "apiserver/store.h"
#include "apiserver/webhook_caller.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/meta/selector.h"
#include "kube/value/value.h"

namespace kube::apiserver {

struct HookRule {
  std::vector<std::string> operations, groups, versions, resources;
  std::string scope;
};

// One entry of a configuration.
struct Hook {
  std::string name, uid;
  WebhookTarget target;
  std::vector<HookRule> rules;
  std::vector<std::string> review_versions;
  Selector namespaces, objects;
  std::string side_effects;
  std::chrono::seconds timeout{10};
  bool mutating = false, equivalent = true, ignores_failure = false, reinvocable = false;
};
struct Hooks {
  std::vector<Hook> mutating, validating;
};
// The entries of one configuration, in order.
std::vector<Hook> HooksOf(const Value& configuration, bool mutating);

// A request as admission sees it.
struct AdmissionAttributes {
  std::string operation;  // CREATE, UPDATE, DELETE, CONNECT
  std::shared_ptr<const Resources> resources;
  ResourcePtr resource;
  std::string subresource, ns, name;
  Gvk kind;                           // of the objects; of some subresources it is not the resource's
  Value object, old_object, options;  // null: none
  bool dry_run = false;
  User user;
};

// Whether a rule is for such a request, by the names of `resource`.
bool Matches(const HookRule& rule, const AdmissionAttributes& attributes, const ServedResource& resource);

class AdmissionHooks {
 public:
  // An object of `from` in the version of `to`.
  using Convert = std::function<Result<Value>(const Context& ctx, const ServedResource& from, const ServedResource& to, Value object)>;
  // What the server itself changes in a new or updated object before webhooks see it.
  using InTree = std::function<Result<Value>(Value object)>;
  AdmissionHooks(Store& store, WebhookCaller& caller, Convert convert);

  // Whether there is any webhook that requests of this resource might need.
  bool Any(const ServedResource& resource) const;

  // Reads the configurations again; done by itself when one of them changes.
  void Reload();

  // Errors: the denial of a webhook, or 500 for one that failed. A patch changes attributes.object.
  Result<void> Mutate(const Context& ctx, AdmissionAttributes& attributes, const InTree& in_tree, std::vector<std::string>& warnings) const;
  Result<void> Validate(const Context& ctx, const AdmissionAttributes& attributes, std::vector<std::string>& warnings) const;

 private:
  struct Versioned;
  std::shared_ptr<const Hooks> Current() const;
  // The resource whose version the webhook wants; null if it is not for this request. Errors: 404 for a namespace that is not there.
  Result<ResourcePtr> Match(const Hook& hook, const AdmissionAttributes& attributes, const Value& object) const;
  Result<void> Bring(const Context& ctx, const AdmissionAttributes& attributes, const ResourcePtr& to, Versioned& objects) const;
  Result<void> MutateOnce(const Context& ctx, AdmissionAttributes& attributes, const Hooks& hooks, struct Reinvocation& again,
                          std::vector<std::string>& warnings) const;

  Store& store_;
  WebhookCaller& caller_;
  const Convert convert_;
  mutable Mutex mu_;
  std::shared_ptr<const Hooks> hooks_ KUBE_GUARDED_BY(mu_) = std::make_shared<Hooks>();
};

}  // namespace kube::apiserver
