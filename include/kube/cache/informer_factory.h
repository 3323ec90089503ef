// InformerFactory: shares one informer per kind, namespace and selector among all parts of a program.
//
//   InformerFactory informers(client, {.resync = std::chrono::minutes(10)});
//   SharedInformer<Pod> pods = informers.For<Pod>();
//   SharedInformer<Pod> web = informers.For<Pod>({.ns = "default", .label_selector = "app=web"});     // another watch
//   SharedInformer<DynamicObject> networks = informers.For(Gvr{"samplecrd.k8s.io", "v1", "networks"});
//   SharedInformer<meta::v1::PartialObjectMetadata> nodes = informers.ForMetadata<Node>();            // metadata only
//   informers.Start(ctx);
//   informers.WaitForSync(ctx);
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: an informer lives as long as a handle, registration or lister refers to it. With InformerFactoryOptions::keep (on in a
//   manager's factory) the factory also holds those requested before the first Start. Its destructor shuts down.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"

namespace kube {

class MetricsSink;
class WriteTracker;

// Defaults of a factory's informers. See InformerOptions.
struct InformerFactoryOptions {
  std::chrono::nanoseconds resync{};
  std::string ns{};  // of informers that set none; empty for all namespaces
  bool strip_managed_fields = false;
  FieldSelection fields{};  // for all kinds
  bool share = true;
  bool watch_list = true;
  std::shared_ptr<MetricsSink> metrics{};
  // Holds the informers requested before the first Start, so that `informers.For<T>().AddIndex(...)` is not lost.
  bool keep = false;
};

namespace internal {
class CachedClientCore;
}

// Memory use of one informer's objects.
struct InformerMemory {
  std::string what{}, ns{};  // as in InformerStatus
  CacheStats stats{};
};

// Creates, shares, starts and stops informers; see the beginning of this file.
class KUBE_EXPORT InformerFactory {
 public:
  explicit InformerFactory(Client client, InformerFactoryOptions options = {});
  ~InformerFactory();
  InformerFactory(const InformerFactory&) = delete;
  InformerFactory& operator=(const InformerFactory&) = delete;

  // The options of an informer that sets none.
  InformerOptions defaults() const;
  // For returns the informer for all objects of a kind, with these options.
  template <Resource T>
  SharedInformer<T> For() {
    return For<T>(defaults());
  }
  // Returns the informer for this kind, namespace, selectors and field selection. The other options are those of the first request. The
  // namespace is ignored for cluster-scoped kinds.
  template <Resource T>
  SharedInformer<T> For(InformerOptions options) {
    if (!IsNamespaced<T>()) options.ns.clear();
    return SharedInformer<T>(Find(internal::ObjectForm::Of<T>(),
                                  {.gvr = GvrOf<T>(), .gvk = GvkOf<T>(), .type = &T::kType, .namespaced = IsNamespaced<T>()},
                                  std::move(options)));
  }
  // For kinds without a C++ type.
  SharedInformer<DynamicObject> For(Gvr gvr) { return For(std::move(gvr), defaults()); }
  SharedInformer<DynamicObject> For(Gvr gvr, InformerOptions options) {
    return SharedInformer<DynamicObject>(Find(internal::ObjectForm::Of<DynamicObject>(), {.gvr = std::move(gvr)}, std::move(options)));
  }
  // Informers that receive and cache metadata only.
  template <Resource T>
  SharedInformer<meta::v1::PartialObjectMetadata> ForMetadata() {
    InformerOptions options = defaults();
    if (!IsNamespaced<T>()) options.ns.clear();
    return ForMetadata(GvrOf<T>(), std::move(options));
  }
  SharedInformer<meta::v1::PartialObjectMetadata> ForMetadata(Gvr gvr) { return ForMetadata(std::move(gvr), defaults()); }
  SharedInformer<meta::v1::PartialObjectMetadata> ForMetadata(Gvr gvr, InformerOptions options) {
    return SharedInformer<meta::v1::PartialObjectMetadata>(
        Find(internal::ObjectForm::Of<meta::v1::PartialObjectMetadata>(),
             {.gvr = std::move(gvr), .type = &meta::v1::PartialObjectMetadata::kType, .metadata_only = true}, std::move(options)));
  }

  // For kube/control: any of the above.
  template <ObjectType T>
  SharedInformer<T> ForTarget(ResourceTarget target, InformerOptions options) {
    if (target.namespaced == false) options.ns.clear();
    return SharedInformer<T>(Find(internal::ObjectForm::Of<T>(), std::move(target), std::move(options)));
  }

  // Starts the requested informers that are not running yet; may be called again. They stop with the context.
  void Start(const Context& ctx);
  // Waits until all started informers that still exist have synced. Errors: as SharedInformer::WaitForSync, of the first that fails.
  Result<void> WaitForSync(const Context& ctx) const;
  // Stops all informers and waits for them. None can be started afterwards.
  void Shutdown();
  // One entry per existing informer.
  std::vector<InformerStatus> status() const;
  // The memory use of the same informers. Walks all objects: for occasional calls.
  std::vector<InformerMemory> memory() const;

  // For kube/control: a handle to the same informers that may outlive this object. Destroying it shuts nothing down.
  std::shared_ptr<InformerFactory> View();
  bool shut_down() const;

 private:
  friend class internal::CachedClientCore;
  friend class WriteTracker;
  class Impl;
  // The existing informers of a resource, in any version; of one form, or of all forms.
  std::vector<std::shared_ptr<internal::InformerHandle>> Existing(const GroupResource& resource,
                                                                  const internal::ObjectForm* form = nullptr) const;
  std::shared_ptr<internal::InformerHandle> Find(const internal::ObjectForm& form, ResourceTarget target, InformerOptions options);
  explicit InformerFactory(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
  const bool view_ = false;
};

}  // namespace kube
