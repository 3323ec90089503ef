// What the server changes in an object of a built-in kind before it is stored: the status on create, the parts that this request may not
// write, metadata.generation, and allocations (a service's addresses, a job's selector).
//
//   ApplyDefaults, admission (admission.h), then one of
//   PrepareForCreate(type, object, context)              POST
//   PrepareForUpdate(type, object, old, context)         PUT and PATCH of the resource
//   PrepareSubresourceUpdate(type, name, object, old)    of /status, /finalize, /approval, /ephemeralcontainers, /resize
//   then Validate (validation.h).
//
// Services: put a ServiceAllocation into the context, commit it once the object is stored, and call ReleaseService after a deletion.
#pragma once

#include <string_view>

#include "apiserver/builtin/service_allocator.h"
#include "kube/base/result.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/string.h"
#include "kube/value/time.h"
#include "kube/value/type_info.h"

namespace kube::apiserver {

// The client of the request, as far as objects record it.
struct StrategyUser {
  String name;
  String uid;
  List<String> groups;
  Map<List<String>> extra;
};

struct StrategyContext {
  Time now = {};
  ServiceAllocation* services = nullptr;  // null: services get no addresses and ports
  const StrategyUser* user = nullptr;
};

// `object` is a struct of `type` with its defaults, name, namespace and uid already set.
// Errors: kind kApi, ready to be returned, if an allocation fails.
Result<void> PrepareForCreate(const TypeInfo& type, void* object, const StrategyContext& context);

// `old` is the stored object.
Result<void> PrepareForUpdate(const TypeInfo& type, void* object, const void* old, const StrategyContext& context);

// For the subresources that read and write the whole object. Unknown names are treated like "status".
void PrepareSubresourceUpdate(const TypeInfo& type, std::string_view subresource, void* object, const void* old,
                              const StrategyContext& context);
inline void PrepareStatusUpdate(const TypeInfo& type, void* object, const void* old, const StrategyContext& context) {
  PrepareSubresourceUpdate(type, "status", object, old, context);
}

// Releases the allocations of a deleted object; only services have any. With `claim` it allocates instead, for objects that were loaded
// rather than created.
void ReleaseAllocations(const TypeInfo& type, const void* object, ServiceAllocator& services);
void ClaimAllocations(const TypeInfo& type, const void* object, ServiceAllocator& services);

}  // namespace kube::apiserver
