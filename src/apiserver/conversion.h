// Conversion webhooks: custom resources whose definition says `conversion.strategy: Webhook`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/resources.h"
#include "apiserver/store.h"
#include "apiserver/webhook_caller.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/value/value.h"

namespace kube::apiserver {

class StructuralSchema;

// What a definition says about conversion; shared by all its versions.
struct CustomConversion {
  std::string kind;
  WebhookTarget target;
  std::vector<std::string> review_versions;
  std::map<std::string, std::shared_ptr<const StructuralSchema>, std::less<>> schemas;  // of all versions, by apiVersion

  // Null if the definition names no webhook.
  static std::shared_ptr<const CustomConversion> Of(const Value& crd);
};

// Whether a conversion webhook has to make what clients of `resource` get.
bool NeedsConversion(const ServedResource& resource, const StoredObject& stored);

// Thread safety: all functions may be called from any thread.
// Blocking: until the webhook answers, its 30 seconds are over or the context stops.
// Errors: kApi, 500, as the real server words them.
class Converter {
 public:
  explicit Converter(WebhookCaller& caller) : caller_(caller) {}

  // The objects in `api_version`, by one call for all that are in another one.
  Result<std::vector<Value>> Convert(const Context& ctx, const CustomConversion& conversion, std::vector<Value> objects,
                                     std::string_view api_version);
  // The same for objects as the store has them, in the version of `resource`. What was converted once is kept, for lists and watches, as
  // long as the object and the definition stay what they are.
  Result<std::vector<ObjectPtr>> ConvertStored(const Context& ctx, const ServedResource& resource, std::vector<ObjectPtr> objects);
  // Without what is kept.
  Result<Value> Read(const Context& ctx, const ServedResource& resource, const StoredObject& stored);

 private:
  struct Kept {
    std::weak_ptr<const StoredObject> from;
    std::shared_ptr<const CustomResource> version;
    ObjectPtr made;
  };
  ObjectPtr Find(const ObjectPtr& from, const ServedResource& resource) const;
  void Keep(const ObjectPtr& from, const ServedResource& resource, ObjectPtr made);

  WebhookCaller& caller_;
  mutable Mutex mu_;
  std::unordered_multimap<const StoredObject*, Kept> kept_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::apiserver
