#include "kube/cache/informer_factory.h"

#include <map>
#include <tuple>
#include <utility>

#include "cache/informer_core.h"
#include "kube/base/mutex.h"

namespace kube {

using internal::InformerHandle;

class InformerFactory::Impl {
 public:
  // What makes two requests the same informer.
  using Key = std::tuple<const internal::ObjectForm*, Gvr, std::string, std::string, std::string, std::string>;

  Impl(Client c, InformerFactoryOptions o) : client(std::move(c)), options(std::move(o)) {}

  std::vector<std::shared_ptr<InformerHandle>> Living() const {
    MutexLock lock(mu);
    std::vector<std::shared_ptr<InformerHandle>> out;
    for (const auto& [key, weak] : informers) {
      if (std::shared_ptr<InformerHandle> handle = weak.lock()) out.push_back(std::move(handle));
    }
    return out;
  }

  const Client client;
  const InformerFactoryOptions options;
  mutable Mutex mu;
  std::map<Key, std::weak_ptr<InformerHandle>> informers KUBE_GUARDED_BY(mu);
  std::vector<std::shared_ptr<InformerHandle>> kept KUBE_GUARDED_BY(mu);  // see InformerFactoryOptions::keep
  bool started KUBE_GUARDED_BY(mu) = false;
  bool shut_down KUBE_GUARDED_BY(mu) = false;
};

InformerFactory::InformerFactory(Client client, InformerFactoryOptions options)
    : impl_(std::make_shared<Impl>(std::move(client), std::move(options))) {}
InformerFactory::InformerFactory(std::shared_ptr<Impl> impl) : impl_(std::move(impl)), view_(true) {}

InformerFactory::~InformerFactory() {
  if (!view_) Shutdown();
}

std::shared_ptr<InformerFactory> InformerFactory::View() { return std::shared_ptr<InformerFactory>(new InformerFactory(impl_)); }

bool InformerFactory::shut_down() const {
  MutexLock lock(impl_->mu);
  return impl_->shut_down;
}

InformerOptions InformerFactory::defaults() const {
  return {.ns = impl_->options.ns,
          .resync = impl_->options.resync,
          .strip_managed_fields = impl_->options.strip_managed_fields,
          .fields = impl_->options.fields,
          .share = impl_->options.share,
          .watch_list = impl_->options.watch_list};
}

std::shared_ptr<InformerHandle> InformerFactory::Find(const internal::ObjectForm& form, ResourceTarget target, InformerOptions options) {
  const Impl::Key key(&form, target.gvr, options.ns, options.label_selector, options.field_selector,
                      internal::FieldsOf(options).ToString());
  MutexLock lock(impl_->mu);
  std::weak_ptr<InformerHandle>& known = impl_->informers[key];
  if (std::shared_ptr<InformerHandle> handle = known.lock()) return handle;
  std::shared_ptr<InformerHandle> handle = internal::MakeInformer({.client = impl_->client.shared_core(),
                                                                   .target = std::move(target),
                                                                   .form = &form,
                                                                   .options = std::move(options),
                                                                   .metrics = impl_->options.metrics});
  if (impl_->shut_down) handle->core().Stop();
  if (impl_->options.keep && !impl_->started && !impl_->shut_down) impl_->kept.push_back(handle);
  known = handle;
  return handle;
}

void InformerFactory::Start(const Context& ctx) {
  {
    MutexLock lock(impl_->mu);
    impl_->started = true;
  }
  for (const std::shared_ptr<InformerHandle>& handle : impl_->Living()) {
    MutexLock lock(impl_->mu);
    if (!impl_->shut_down) handle->core().Start(ctx);
  }
}

Result<void> InformerFactory::WaitForSync(const Context& ctx) const {
  for (const std::shared_ptr<InformerHandle>& handle : impl_->Living()) {
    if (!handle->core().started()) continue;
    if (Result<void> synced = handle->core().WaitForSync(ctx); !synced) return synced;
  }
  return {};
}

void InformerFactory::Shutdown() {
  {
    MutexLock lock(impl_->mu);
    impl_->shut_down = true;
  }
  for (const std::shared_ptr<InformerHandle>& handle : impl_->Living()) handle->core().Stop();
  std::vector<std::shared_ptr<InformerHandle>> kept;  // let go without the lock
  MutexLock lock(impl_->mu);
  kept.swap(impl_->kept);
}

std::vector<InformerStatus> InformerFactory::status() const {
  std::vector<InformerStatus> out;
  for (const std::shared_ptr<InformerHandle>& handle : impl_->Living()) out.push_back(handle->core().status());
  return out;
}

std::vector<std::shared_ptr<InformerHandle>> InformerFactory::Existing(const GroupResource& resource,
                                                                       const internal::ObjectForm* form) const {
  std::vector<std::shared_ptr<InformerHandle>> out;
  MutexLock lock(impl_->mu);
  for (const auto& [key, weak] : impl_->informers) {
    const Gvr& gvr = std::get<Gvr>(key);
    if (gvr.resource != resource.resource || gvr.group != resource.group || (form != nullptr && std::get<0>(key) != form)) continue;
    if (std::shared_ptr<InformerHandle> handle = weak.lock()) out.push_back(std::move(handle));
  }
  return out;
}

std::vector<InformerMemory> InformerFactory::memory() const {
  std::vector<InformerMemory> out;
  for (const std::shared_ptr<InformerHandle>& handle : impl_->Living()) {
    const InformerStatus status = handle->core().status();
    out.push_back({status.what, status.ns, handle->core().store()->Stats()});
  }
  return out;
}

}  // namespace kube
