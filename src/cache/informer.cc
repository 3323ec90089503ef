#include "kube/cache/informer.h"

#include <fmt/format.h>

#include <utility>

#include "cache/handler.h"
#include "cache/informer_core.h"
#include "cache/source.h"

namespace kube {

HandlerRegistration& HandlerRegistration::operator=(HandlerRegistration&& other) noexcept {
  if (this != &other) {
    HandlerRegistration old(std::move(*this));
    informer_ = std::move(other.informer_);
    thread_ = std::move(other.thread_);
  }
  return *this;
}

HandlerRegistration::~HandlerRegistration() {
  if (thread_ != nullptr) informer_->core().RemoveHandler(thread_, true);
}

bool HandlerRegistration::HasSynced() const { return thread_ != nullptr && thread_->HasSynced(); }

Result<void> HandlerRegistration::WaitForSync(const Context& ctx) const {
  if (thread_ == nullptr) return Error(ErrorKind::kClosed, "this registration has no handler");
  return thread_->WaitForSync(ctx);
}

Result<bool> HandlerRegistration::WaitForSyncOrRefusal(const Context& ctx) const {
  if (thread_ == nullptr) return Error(ErrorKind::kClosed, "this registration has no handler");
  Result<bool> synced = informer_->core().WaitForSyncOrRefusal(ctx);
  if (!synced || !*synced) return synced;
  if (Result<void> told = thread_->WaitForSync(ctx); !told) return told.error();
  return true;
}

bool HandlerRegistration::refused() const { return thread_ != nullptr && informer_->core().refused(); }

void HandlerRegistration::Remove() {
  if (thread_ != nullptr) informer_->core().RemoveHandler(thread_, false);
}

HandlerStatus HandlerRegistration::status() const { return thread_ != nullptr ? thread_->status() : HandlerStatus(); }

bool InformerBase::HasSynced() const { return handle_->core().HasSynced(); }
Result<void> InformerBase::WaitForSync(const Context& ctx) const { return handle_->core().WaitForSync(ctx); }
Result<void> InformerBase::WaitUntilSeen(const Context& ctx, const ObjectKey& key, std::string_view resource_version) const {
  return handle_->core().WaitUntilSeen(ctx, key, resource_version);
}
InformerStatus InformerBase::status() const { return handle_->core().status(); }
CacheStats InformerBase::Stats() const { return handle_->core().store()->Stats(); }
const Gvr& InformerBase::gvr() const { return handle_->core().gvr(); }
void InformerBase::Start(const Context& ctx) const { handle_->core().Start(ctx); }
void InformerBase::Stop() const { handle_->core().Stop(); }
Result<void> InformerBase::OnError(std::function<void(const Error&)> callback) const& {
  return handle_->core().SetOnError(std::move(callback));
}
Result<void> InformerBase::OnError(std::function<void(const Error&)> callback) && {
  if (Result<void> held = CheckHeld("error callback"); !held) return held;
  return handle_->core().SetOnError(std::move(callback));
}
Result<void> InformerBase::CheckHeld(std::string_view what) const {
  if (handle_.use_count() > 1) return {};
  return Error::Invalid(
      fmt::format("the informer of {} ends with this expression, and its {} with it: keep the SharedInformer, or a lister of it, first",
                  gvr().group_resource().ToString(), what));
}
Result<void> InformerBase::SetTransform(std::function<Result<void>(void*)> transform) const {
  return handle_->core().SetTransform(std::move(transform));
}
const std::shared_ptr<internal::Store>& InformerBase::store() const { return handle_->core().store(); }

Result<HandlerRegistration> InformerBase::Add(internal::Handler handler, HandlerOptions options) const {
  Result<std::shared_ptr<internal::HandlerThread>> thread = handle_->core().AddHandler(std::move(handler), options);
  if (!thread) return thread.error();
  return HandlerRegistration(handle_, *std::move(thread));
}

namespace internal {

InformerHandle::~InformerHandle() { core_->Stop(); }

std::shared_ptr<InformerHandle> MakeInformer(InformerSetup setup) {
  const Gvr& gvr = setup.target.gvr;
  // A resource alone does not identify the kind, only group and version.
  Gvk gvk = setup.target.gvk.empty() ? Gvk{gvr.group, gvr.version, {}} : setup.target.gvk;
  std::shared_ptr<ObjectSource> source = MakeClientSource(setup.client, setup.target, *setup.form);
  return std::make_shared<InformerHandle>(std::make_shared<InformerCore>(std::move(source), *setup.form, gvr, std::move(setup.options),
                                                                         std::move(setup.metrics), std::move(gvk)));
}

}  // namespace internal
}  // namespace kube
