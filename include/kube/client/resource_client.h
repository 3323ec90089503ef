// ResourceClient<T>: all verbs for one kind.
//
//   ResourceClient<Pod> pods = client.Resource<Pod>();                                         // typed
//   ResourceClient<DynamicObject> ats = client.Resource(Gvr{"cnat.example.com", "v1alpha1", "ats"});   // any kind
//   ResourceClient<meta::v1::PartialObjectMetadata> light = client.Metadata(gvr);              // only metadata is transferred
//
//   Result<Pod> pod = pods.Get(ctx, {"default", "web"});
//   Result<ObjectList<Pod>> list = pods.List(ctx, {.ns = "default"});
//
// Client has the same verbs with the kind as a template argument: client.Get<Pod>(ctx, key).
//
// Thread safety: as Client; copies are cheap.
// Lifetime: as a copy of its Client: it keeps the connection open.
// Blocking and cancellation: each call waits for its response, and returns within 100 ms after the context stops.
// Errors: kApi with the server's message (IsNotFound(e) and so on), kTransport, kTimeout, kCancelled, kAuth, kDecode; kInvalid if the call
//   is invalid (no name, a namespace that is missing or contradicts the object), in which case nothing is sent.
// Cost: one request; encoding and decoding run on the calling thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/client/options.h"
#include "kube/client/watch.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"
#include "kube/meta/object_traits.h"
#include "kube/meta/resource.h"
#include "kube/value/list.h"

namespace kube {

// The result of List, for every kind.
template <ObjectType T>
struct ObjectList {
  using value_type = T;
  meta::v1::ListMeta metadata{};
  kube::List<T> items{};
  UnknownFields unknown_fields{};

  auto begin() const { return items.begin(); }
  auto end() const { return items.end(); }
  std::size_t size() const { return items.size(); }
  bool empty() const { return items.empty(); }
};
// The result of List for kinds without a struct.
template <>
struct ObjectList<DynamicObject> {
  using value_type = DynamicObject;
  meta::v1::ListMeta metadata{};
  std::vector<DynamicObject> items{};

  auto begin() const { return items.begin(); }
  auto end() const { return items.end(); }
  std::size_t size() const { return items.size(); }
  bool empty() const { return items.empty(); }
};

class Client;
// The state that all copies of a Client share. Opaque; its address identifies the client.
class ClientCore;

// A resource of a server and the C++ type of its objects.
struct ResourceTarget {
  Gvr gvr{};
  Gvk gvk{};                       // empty: unknown
  const TypeInfo* type = nullptr;  // null: DynamicObject
  bool metadata_only = false;
  // Known for typed kinds. For other kinds the namespace is used if the caller gives one.
  std::optional<bool> namespaced{};
};

namespace internal {

// `gvr` is for types that do not imply a resource: DynamicObject and PartialObjectMetadata.
template <ObjectType T>
ResourceTarget TargetOf(const Gvr& gvr) {
  using Traits = ObjectTraits<T>;
  return {.gvr = Traits::ResourceOfType(gvr),
          .gvk = Traits::KindOfType(),
          .type = Traits::kType,
          .metadata_only = Traits::kMetadataOnly,
          .namespaced = Traits::Namespaced()};
}

// The verbs without templates. `object` is a T or a DynamicObject, depending on `target.type`; `list` is an ObjectList of it.
KUBE_EXPORT Result<void> GetObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ObjectKey& key,
                                   std::string_view subresource, const GetOptions& options, void* object);
KUBE_EXPORT Result<void> ListObjects(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ListOptions& options,
                                     void* list);
KUBE_EXPORT Result<std::unique_ptr<WatchStream>> WatchObjects(const ClientCore& core, const Context& ctx, const ResourceTarget& target,
                                                              const WatchOptions& options);
KUBE_EXPORT Result<void> CreateObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const void* object,
                                      const CreateOptions& options, void* answer);
KUBE_EXPORT Result<void> UpdateObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target,
                                      std::string_view subresource, const void* object, const UpdateOptions& options, void* answer);
KUBE_EXPORT Result<void> PatchObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ObjectKey& key,
                                     std::string_view subresource, const Patch& patch, const PatchOptions& options, void* answer);
KUBE_EXPORT Result<void> ApplyObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, std::string_view subresource,
                                     const void* object, const ApplyOptions& options, void* answer);
KUBE_EXPORT Result<void> DeleteObject(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ObjectKey& key,
                                      const DeleteOptions& options);
KUBE_EXPORT Result<void> DeleteObjects(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ListOptions& which,
                                       const DeleteOptions& options);
// A subresource whose body and response have their own kinds: Eviction, Binding, TokenRequest, Scale. A null `body` means GET. `method` is
// "GET", "POST" or "PUT".
KUBE_EXPORT Result<void> CallSubresource(const ClientCore& core, const Context& ctx, const ResourceTarget& target, const ObjectKey& key,
                                         std::string_view subresource, std::string_view method, const TypeInfo* body_type, const void* body,
                                         const WriteOptions& options, const TypeInfo* answer_type, void* answer);

}  // namespace internal

// The verbs for objects of type T. The top of this file states thread safety, errors and cost.
template <ObjectType T>
class ResourceClient {
 public:
  ResourceClient(std::shared_ptr<const ClientCore> core, ResourceTarget target) : core_(std::move(core)), target_(std::move(target)) {}

  // The resource.
  const Gvr& gvr() const { return target_.gvr; }
  // For helpers that handle objects of unknown type with the functions above.
  const ClientCore& core() const { return *core_; }
  const ResourceTarget& target() const { return target_; }

  // Returns the object. Errors: IsNotFound if it does not exist.
  Result<T> Get(const Context& ctx, const ObjectKey& key, const GetOptions& options = {}) const {
    return Answer([&](void* t) { return internal::GetObject(*core_, ctx, target_, key, {}, options, t); });
  }
  // Lists the objects of one namespace or of all namespaces.
  Result<ObjectList<T>> List(const Context& ctx, const ListOptions& options = {}) const {
    ObjectList<T> list;
    if (Result<void> r = internal::ListObjects(*core_, ctx, target_, options, &list); !r) return r.error();
    return list;
  }
  // Opens a watch; see watch.h.
  Result<Watcher<T>> Watch(const Context& ctx, const WatchOptions& options = {}) const {
    Result<std::unique_ptr<internal::WatchStream>> stream = internal::WatchObjects(*core_, ctx, target_, options);
    if (!stream) return stream.error();
    return internal::WatcherAccess::Make<T>(*std::move(stream));
  }
  // Creates the object in its own namespace. Returns the object as stored.
  Result<T> Create(const Context& ctx, const T& object, const CreateOptions& options = {}) const {
    return Answer([&](void* t) { return internal::CreateObject(*core_, ctx, target_, &object, options, t); });
  }
  // Replaces the object. Fails with IsConflict if its resourceVersion is not the newest: read it again, change it and retry
  // (RetryOnConflict).
  Result<T> Update(const Context& ctx, const T& object, const UpdateOptions& options = {}) const {
    return Answer([&](void* t) { return internal::UpdateObject(*core_, ctx, target_, {}, &object, options, t); });
  }
  // Replaces only the status, which Update ignores.
  Result<T> UpdateStatus(const Context& ctx, const T& object, const UpdateOptions& options = {}) const {
    return Answer([&](void* t) { return internal::UpdateObject(*core_, ctx, target_, "status", &object, options, t); });
  }
  // Patches the object, or `subresource` of it. Returns the object as stored.
  Result<T> Patch(const Context& ctx, const ObjectKey& key, const kube::Patch& patch, const PatchOptions& options = {},
                  std::string_view subresource = {}) const {
    return Answer([&](void* t) { return internal::PatchObject(*core_, ctx, target_, key, subresource, patch, options, t); });
  }
  // Server-side apply: `field_manager` owns exactly the fields that are set in `object`. Creates the object if it does not exist.
  Result<T> Apply(const Context& ctx, const T& object, const ApplyOptions& options, std::string_view subresource = {}) const {
    return Answer([&](void* t) { return internal::ApplyObject(*core_, ctx, target_, subresource, &object, options, t); });
  }
  // Ok means that the server accepted the deletion. An object with finalizers or a grace period still exists for a while.
  Result<void> Delete(const Context& ctx, const ObjectKey& key, const DeleteOptions& options = {}) const {
    return internal::DeleteObject(*core_, ctx, target_, key, options);
  }
  // Deletes all objects that `which` selects.
  Result<void> DeleteCollection(const Context& ctx, const ListOptions& which, const DeleteOptions& options = {}) const {
    return internal::DeleteObjects(*core_, ctx, target_, which, options);
  }

  // ---- Subresources whose objects are T: "status", "ephemeralcontainers", "resize" ----
  Result<T> GetSubresource(const Context& ctx, const ObjectKey& key, std::string_view subresource, const GetOptions& options = {}) const {
    return Answer([&](void* t) { return internal::GetObject(*core_, ctx, target_, key, subresource, options, t); });
  }
  Result<T> UpdateSubresource(const Context& ctx, std::string_view subresource, const T& object, const UpdateOptions& options = {}) const {
    return Answer([&](void* t) { return internal::UpdateObject(*core_, ctx, target_, subresource, &object, options, t); });
  }
  // ---- Subresources with their own kind; see subresources.h for the common ones ----
  template <Described Out, Described In>
  Result<Out> PostSubresource(const Context& ctx, const ObjectKey& key, std::string_view subresource, const In& body,
                              const CreateOptions& options = {}) const {
    return OtherAnswer<Out>([&](void* out) {
      return internal::CallSubresource(*core_, ctx, target_, key, subresource, "POST", &In::kType, &body, options, &Out::kType, out);
    });
  }
  template <Described Out, Described In>
  Result<Out> PutSubresource(const Context& ctx, const ObjectKey& key, std::string_view subresource, const In& body,
                             const UpdateOptions& options = {}) const {
    return OtherAnswer<Out>([&](void* out) {
      return internal::CallSubresource(*core_, ctx, target_, key, subresource, "PUT", &In::kType, &body, options, &Out::kType, out);
    });
  }
  template <Described Out>
  Result<Out> ReadSubresource(const Context& ctx, const ObjectKey& key, std::string_view subresource) const {
    return OtherAnswer<Out>([&](void* out) {
      return internal::CallSubresource(*core_, ctx, target_, key, subresource, "GET", nullptr, nullptr, {}, &Out::kType, out);
    });
  }

 private:
  template <typename Call>
  Result<T> Answer(const Call& call) const {
    T object{};
    if (Result<void> r = call(&object); !r) return r.error();
    return object;
  }
  template <typename Out, typename Call>
  Result<Out> OtherAnswer(const Call& call) const {
    Out object{};
    if (Result<void> r = call(&object); !r) return r.error();
    return object;
  }

  std::shared_ptr<const ClientCore> core_;
  ResourceTarget target_;
};

}  // namespace kube
