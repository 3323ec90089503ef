// InformerFactory: one informer for each kind, namespace and selector, however many parts of a program ask for it.
//
//   InformerFactory informers(client, {.resync = std::chrono::minutes(10)});
//   SharedInformer<Pod> pods = informers.For<Pod>();
//   SharedInformer<Pod> web = informers.For<Pod>({.ns = "default", .label_selector = "app=web"});     // another watch
//   SharedInformer<DynamicObject> networks = informers.For(Gvr{"samplecrd.k8s.io", "v1", "networks"});
//   SharedInformer<meta::v1::PartialObjectMetadata> nodes = informers.ForMetadata<Node>();            // nothing but metadata travels
//   informers.Start(ctx);
//   informers.WaitForSync(ctx);
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: an informer lives as long as a handle, a registration or a lister of it. With InformerFactoryOptions::keep, which a manager's
//   factory has, the factory itself holds what was asked for before the first Start. Its destructor shuts down.
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

struct InformerFactoryOptions {
  std::chrono::nanoseconds resync{};
  std::string ns{};  // of informers that name none; empty: all namespaces
  bool strip_managed_fields = false;
  FieldSelection fields{};  // for all kinds; see FieldSelection
  bool share = true;
  bool watch_list = true;
  std::shared_ptr<MetricsSink> metrics{};
  // The factory holds the informers that are asked for before its first Start, so that `informers.For<T>().AddIndex(...)` is not lost.
  bool keep = false;
};

namespace internal {
class CachedClientCore;
}

// The objects of one informer.
struct InformerMemory {
  std::string what{}, ns{};  // as in InformerStatus
  CacheStats stats{};
};

class KUBE_EXPORT InformerFactory {
 public:
  explicit InformerFactory(Client client, InformerFactoryOptions options = {});
  ~InformerFactory();
  InformerFactory(const InformerFactory&) = delete;
  InformerFactory& operator=(const InformerFactory&) = delete;

  // What an informer of this factory has where nobody says otherwise.
  InformerOptions defaults() const;

  template <Resource T>
  SharedInformer<T> For() {
    return For<T>(defaults());
  }
  // One informer for each kind, namespace, selectors and choice of fields; other options are those of whoever asked first.
  // A kind that has no namespaces is not looked for in one.
  template <Resource T>
  SharedInformer<T> For(InformerOptions options) {
    if (!IsNamespaced<T>()) options.ns.clear();
    return SharedInformer<T>(Find(internal::ObjectForm::Of<T>(),
                                  {.gvr = GvrOf<T>(), .gvk = GvkOf<T>(), .type = &T::kType, .namespaced = IsNamespaced<T>()},
                                  std::move(options)));
  }
  SharedInformer<DynamicObject> For(Gvr gvr) { return For(std::move(gvr), defaults()); }
  SharedInformer<DynamicObject> For(Gvr gvr, InformerOptions options) {
    return SharedInformer<DynamicObject>(Find(internal::ObjectForm::Of<DynamicObject>(), {.gvr = std::move(gvr)}, std::move(options)));
  }
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

  // Starts those that were asked for and do not run yet; may be called again. They stop with the context.
  void Start(const Context& ctx);
  // Waits for all that were started and are still there. Errors: as SharedInformer::WaitForSync, of the first that fails.
  Result<void> WaitForSync(const Context& ctx) const;
  // Stops all of them and waits. Nothing starts any more.
  void Shutdown();
  // Of all informers that are there.
  std::vector<InformerStatus> status() const;
  // The same, how much memory their objects hold. Walks all objects: for a look now and then.
  std::vector<InformerMemory> memory() const;

  // For kube/control: a handle to the same informers that may outlive this object; destroying it shuts nothing down.
  std::shared_ptr<InformerFactory> View();
  bool shut_down() const;

 private:
  friend class internal::CachedClientCore;
  friend class WriteTracker;
  class Impl;
  // The informers of a resource that are there, in any version; of one form, or of all of them.
  std::vector<std::shared_ptr<internal::InformerHandle>> Existing(const GroupResource& resource,
                                                                  const internal::ObjectForm* form = nullptr) const;
  std::shared_ptr<internal::InformerHandle> Find(const internal::ObjectForm& form, ResourceTarget target, InformerOptions options);
  explicit InformerFactory(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
  const bool view_ = false;
};

}  // namespace kube
