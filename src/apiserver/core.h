// ApiCore: the verbs. Everything between a parsed request and the store; independent of HTTP connections.
//
//   writes.cc   create, update, patch, apply      deletes.cc   delete, deletecollection
//   reads.cc    get, list                         watch.h      watch
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission_hooks.h"
#include "apiserver/builtin/service_allocator.h"
#include "apiserver/conversion.h"
#include "apiserver/errors.h"
#include "apiserver/managed_fields.h"
#include "apiserver/pipeline.h"
#include "apiserver/request.h"
#include "apiserver/resources.h"
#include "apiserver/store.h"
#include "apiserver/webhook_caller.h"
#include "apiserver/workers.h"
#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/gate.h"
#include "kube/base/result.h"
#include "kube/meta/field_selector.h"
#include "kube/meta/selector.h"

namespace kube::apiserver {

// One request about a resource.
struct Call {
  std::shared_ptr<const Resources> resources;
  ResourcePtr resource;
  std::string ns, name, subresource;
  Query query;
  User user;
  std::string user_agent, content_type;
  std::string_view body;
  std::vector<std::string> warnings;  // for Warning headers
  // The context for webhooks; admission webhooks are called only for requests of clients.
  Context ctx = Context::Background();
  bool admit = false;
};

// The answer: an object of the resource, a list of them, or some other object.
struct Answer {
  int status = 200;
  Value object;             // used if `stored` is null
  ObjectPtr stored;         // an object as the store has it
  bool is_resource = true;  // `object` is of the resource's kind: Table and PartialObjectMetadata apply
  bool is_list = false;     // `items` with the metadata below
  std::vector<ObjectPtr> items;
  std::string list_version, continue_token;
  std::int64_t remaining = -1;  // -1: omitted
};

// The options of a delete, from the body or the query.
struct DeleteOptions {
  std::optional<std::int64_t> grace_seconds;
  std::string uid, resource_version;  // preconditions; empty: none
  std::string propagation;            // "", Background, Foreground, Orphan
  bool dry_run = false;
  std::optional<bool> orphan_dependents;  // as in the request; `propagation` includes it already
};

struct ListSelection {
  Selector labels;
  FieldSelector fields;
  bool Matches(const StoredObject& object) const;
  bool empty() const { return labels.empty() && fields.empty(); }
};

// Thread safety: all functions may be called from any thread.
class ApiCore {
 public:
  ApiCore(std::shared_ptr<Clock> clock, bool all_versions, std::size_t max_watch_backlog = SIZE_MAX,
          WebhookCaller::Services webhook_services = {});

  Store& store() { return store_; }
  const Store& store() const { return store_; }
  ResourceRegistry& registry() { return registry_; }
  ServiceAllocator& services() { return services_; }
  const std::shared_ptr<Clock>& clock() const { return clock_; }
  std::size_t max_watch_backlog() const { return max_watch_backlog_; }  // bytes
  // The time that objects get: that of the clock, shifted by SetSkew.
  Time Now() const;
  MicroTime NowMicro() const;
  void SetSkew(std::chrono::seconds skew) { skew_seconds_ = skew.count(); }
  // For callbacks that may run during destruction: while inside the gate, this object exists.
  const std::shared_ptr<Gate>& gate() const { return gate_; }

  // ---- Verbs. All errors are API errors. ----
  Result<Answer> Get(Call& call);
  Result<Answer> List(Call& call);
  Result<Answer> Create(Call& call);
  Result<Answer> Update(Call& call);
  Result<Answer> Patch(Call& call);
  Result<Answer> Delete(Call& call);
  Result<Answer> DeleteCollection(Call& call);

  // ---- Webhooks ----
  AdmissionHooks& hooks() { return hooks_; }
  const AdmissionHooks& hooks() const { return hooks_; }
  // The threads for requests that may call a webhook.
  Workers& workers() { return workers_; }
  Converter& converter() { return converter_; }
  WebhookCaller& webhooks() { return caller_; }
  // Convert an object, even one that is not stored yet: from storage to the resource's version, between versions, and back. Errors: 500, of
  // a conversion webhook.
  Result<Value> Read(const Context& ctx, const ServedResource& resource, const StoredObject& stored);
  Result<Value> FromForm(const Context& ctx, const ServedResource& resource, Value stored);
  Result<Value> Convert(const Context& ctx, const ServedResource& from, const ServedResource& to, Value object);
  Result<Value> ForStore(const Context& ctx, const ServedResource& resource, Value object);
  // Converts the stored objects of an answer to the version of the request.
  Result<void> InVersion(const Call& call, Answer& answer);
  // Admission of an object that is not stored itself: a Scale, an Eviction, the options of an exec. Returns the object after the webhooks.
  // `old` is null except for updates.
  Result<Value> AdmitOther(Call& call, std::string operation, const Gvk& kind, Value object, const Value& old, bool dry_run);

  // ---- Used by verbs of subresources and by the garbage collector ----
  // Errors: 404.
  Result<ObjectPtr> Find(const ServedResource& resource, std::string_view ns, std::string_view name) const;
  // Reads, changes and writes until there is no conflict. `change` gets the live object in the resource's version and returns the desired
  // one, or an error that ends the call. No validation: for the server's own writes.
  using Change = std::function<Result<Value>(const Value& live)>;
  Result<ObjectPtr> Rewrite(const ServedResource& resource, std::string_view ns, std::string_view name, const Change& change);
  // The same with everything that applies to a client's update.
  struct UpdateRequest {
    std::string subresource;
    std::string manager;
    bool dry_run = false;
    FieldValidation validation = FieldValidation::kWarn;
    // If the live object may be absent: `change` gets null then, and the result is created.
    bool may_create = false;
    bool is_apply = false;
    // A JSON, merge or strategic merge patch, whose result may not be a valid object.
    bool is_patch = false;
    Value strategic_patch;
    std::string DescribePatch(const Value& patched) const;
    bool created = false;  // out: the object did not exist before
  };
  Result<Answer> ChangeObject(Call& call, UpdateRequest& request, const Change& change);
  // Deletes like a client. With `call`, its webhooks are called.
  Result<Answer> DeleteObject(const ServedResource& resource, std::string_view ns, std::string_view name, const DeleteOptions& options,
                              Call* call = nullptr);

  Result<ListSelection> ParseSelection(const Call& call) const;
  // A namespaced object may only be created in a namespace that exists and is not being deleted, and a custom one only while the same holds
  // for its definition. Fails early; StoreNew enforces it.
  Result<void> CheckPlace(const Call& call, std::string_view name) const;

  // Adds a check of a resource beyond its strategy; for CustomResourceDefinitions.
  using Check = std::function<std::vector<FieldError>(const Value& object, const Value* old)>;
  void AddCheck(std::string resource, Check check) { checks_.emplace_back(std::move(resource), std::move(check)); }

  // Called after an object was removed and its allocations were released.
  using Removed = std::function<void(const ServedResource& resource, const StoredObject& object)>;
  void OnRemoved(Removed removed) { removed_ = std::move(removed); }

  // Called before a request for a resource runs, and before a manifest creates an object of it.
  using BeforeUse = std::function<void(const ServedResource& resource)>;
  void OnUse(BeforeUse before_use) { before_use_ = std::move(before_use); }
  void Use(const ServedResource& resource) {
    if (before_use_) before_use_(resource);
  }

  // `failed` becomes the error of a conversion webhook.
  FieldManagerTarget TargetFor(const Call& call, const Value& object, std::optional<Error>* failed = nullptr);

 private:
  Result<Answer> CreateFrom(Call& call, Decoded decoded, FieldValidation validation, std::string_view manager, bool dry_run);
  Result<Value> RunChecks(const ServedResource& resource, Value object, const Value* old) const;
  Result<Answer> Apply(Call& call, UpdateRequest& request);
  Result<Answer> StoreNew(Call& call, Value object, ServiceAllocation& services, bool dry_run);
  // Writes `stored` (in storage form) in place of `current`, or removes it if that completes its deletion. Returns null if another write
  // came first.
  ObjectPtr Commit(const ServedResource& resource, Value stored, const ObjectPtr& current);
  // The answer of a dry run: the object as the store would return it.
  Result<Value> ThereAndBack(const Call& call, Value object);
  AdmissionAttributes AttributesOf(const Call& call, std::string operation, Value object, Value old, bool dry_run) const;
  // Runs the mutating webhooks, after the server's own admission. Returns the resulting object.
  Result<Value> Mutate(Call& call, AdmissionAttributes& attributes);
  Result<void> Validate(Call& call, AdmissionAttributes& attributes, Value& object);
  // Creates the object of an apply request. Returns nullopt if the object exists by now.
  Result<std::optional<Answer>> CreateByApply(Call& call, Value object, bool dry_run);
  Result<void> AdmitDelete(Call& call, const ServedResource& r, const StoredObject& current, const Value& live,
                           const DeleteOptions& options);
  // Removes an object; `last` is its final state in storage form.
  ObjectPtr Erase(const ServedResource& resource, const ObjectPtr& current, Value last);

  std::shared_ptr<Clock> clock_;
  const std::size_t max_watch_backlog_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::atomic<std::int64_t> skew_seconds_{0};
  Store store_;
  ResourceRegistry registry_;
  ServiceAllocator services_;
  AdmissionContext admission_;
  Removed removed_;                                    // set before the server starts
  BeforeUse before_use_;                               // the same
  std::vector<std::pair<std::string, Check>> checks_;  // filled before the server starts
  WebhookCaller caller_;
  Converter converter_;
  AdmissionHooks hooks_;
  Workers workers_;  // last: its tasks use all of the above
};

// "All" or empty. Errors: 422.
Result<bool> ParseDryRun(const Query& query, std::string_view options_kind);
// The field manager of a request: the parameter, or the first part of the user agent. Errors: 422.
Result<std::string> ParseFieldManager(const Call& call, std::string_view options_kind);
// Turns problems of decoding into warnings, or into the 400 of strict validation.
Result<void> ReportProblems(Call& call, const std::vector<std::string>& problems, FieldValidation validation);
// Returns 0 for an empty text. Errors: kInvalid; the resulting answer depends on the verb.
Result<std::uint64_t> ParseVersion(std::string_view text);
// 504: the client has seen a newer version than the server has.
Error TooLargeVersion(std::uint64_t wanted, std::uint64_t current);
// The rules for resourceVersion, resourceVersionMatch, continue and sendInitialEvents. Errors: 422.
Result<void> CheckListOptions(const Query& query, bool watch);

}  // namespace kube::apiserver
