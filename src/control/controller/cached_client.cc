#include "kube/control/cached_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "cache/informer_core.h"
#include "control/controller/write_tracker.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/meta/selector.h"

namespace kube {
namespace internal {
namespace {

using Handle = std::shared_ptr<InformerHandle>;

Logger Log() { return Logger("control"); }

bool Restricted(const InformerOptions& options) {
  return !options.label_selector.empty() || !options.field_selector.empty() || !options.fields.everything();
}

std::string Where(std::string_view ns) { return ns.empty() ? "all namespaces" : fmt::format("namespace {}", ns); }

// "all namespaces with app=web"
std::string Describe(const InformerOptions& options) {
  std::string text = Where(options.ns);
  for (const std::string& selector : {options.label_selector, options.field_selector}) {
    if (!selector.empty()) text += " with " + selector;
  }
  if (!options.fields.everything()) text += " (" + options.fields.ToString() + ")";
  return text;
}

std::string_view FormName(const ResourceTarget& target) {
  if (target.metadata_only) return "metadata of ";
  return target.type == nullptr ? "dynamic " : "";
}

// What to write to get an informer.
std::string HowToAdd(const ResourceTarget& target) {
  const std::string gvr =
      fmt::format("Gvr{{\"{}\", \"{}\", \"{}\"}}", target.gvr.group.view(), target.gvr.version.view(), target.gvr.resource.view());
  if (target.metadata_only) return fmt::format(".WatchesMetadata({0}, ...) to a controller, or informers.ForMetadata({0})", gvr);
  if (target.type == nullptr) return fmt::format(".Watches({0}, ...) to a controller, or informers.For({0})", gvr);
  return fmt::format(".Owns<{0}>() or .Watches<{0}>(...) to a controller, or informers.For<{0}>()", target.gvk.kind.view());
}

Result<DynamicObject> AsDynamic(const ObjectForm& form, const ObjectRef& object) {
  return form.type() == nullptr ? *static_cast<const DynamicObject*>(object.get()) : ToDynamic(*form.type(), object.get());
}

}  // namespace

class CachedClientCore::Impl {
 public:
  Impl(Client client, InformerFactory& informers, CachedClientOptions options)
      : client_(std::move(client)),
        informers_(informers.View()),
        options_(std::move(options)),
        clock_(options_.clock != nullptr ? options_.clock : Clock::Real()),
        mapper_(client_),
        writes_(std::make_shared<WriteTracker>(client_, informers_,
                                               WriteTracker::Options{.enabled = options_.read_your_writes,
                                                                     .timeout = options_.wait_timeout,
                                                                     .most = options_.most_writes,
                                                                     .metrics = options_.metrics})) {}

  // The informer to read `ns` from; empty: everything.
  Result<Handle> Choose(const Context& ctx, const ObjectForm& form, const ResourceTarget& target, const Handle& from, std::string_view ns) {
    Result<Handle> chosen = from != nullptr ? from : Find(ctx, form, target, ns);
    if (!chosen) return chosen.error();
    InformerCore& core = (*chosen)->core();
    if (core.HasSynced()) return chosen;
    const std::string what = target.gvr.group_resource().ToString();
    if (!core.started() && !core.stopped()) {
      return Error::Invalid(fmt::format("the informer of {} has not been started: call informers.Start(ctx) after it was made", what));
    }
    if (Result<void> synced = core.WaitForSync(ctx.WithTimeout(options_.sync_timeout)); !synced) {
      if (Result<void> going = ctx.Check(); !going) return going.error();
      return synced.error();
    }
    return chosen;
  }

  // The informer that has all of a kind in `ns`, with all that DesiredState compares.
  Handle FindWhole(const Gvr& gvr, std::string_view ns) const {
    if (informers_->shut_down()) return nullptr;
    for (const Handle& handle : informers_->Existing(gvr.group_resource())) {
      const InformerCore& core = handle->core();
      const std::string& own = core.options().ns;
      if (core.gvr() != gvr || core.stopped() || !core.HasSynced() || Restricted(core.options()) || core.has_transform()) continue;
      if (core.form().type() == &meta::v1::PartialObjectMetadata::kType || !(own.empty() || own == ns)) continue;
      return handle;
    }
    return nullptr;
  }

  const Client client_;
  const std::shared_ptr<InformerFactory> informers_;
  const CachedClientOptions options_;
  const std::shared_ptr<Clock> clock_;
  const RestMapper mapper_;
  const std::shared_ptr<WriteTracker> writes_;

 private:
  Result<Handle> Find(const Context& ctx, const ObjectForm& form, const ResourceTarget& target, std::string_view ns) {
    if (informers_->shut_down()) {
      return Error(ErrorKind::kClosed, "the manager or InformerFactory of this CachedClient has been shut down: read with Live()");
    }
    std::vector<Handle> all = informers_->Existing(target.gvr.group_resource(), &form);
    std::erase_if(all, [&](const Handle& handle) { return handle->core().gvr() != target.gvr || handle->core().stopped(); });
    const auto covers = [&](const Handle& handle) {
      const std::string& own = handle->core().options().ns;
      return own.empty() || own == ns || target.namespaced == false;
    };
    std::vector<Handle> fitting;
    std::copy_if(all.begin(), all.end(), std::back_inserter(fitting), covers);
    for (const Handle& handle : fitting) {
      if (!Restricted(handle->core().options())) return handle;
    }
    if (fitting.size() == 1) return fitting.front();
    std::string have;
    for (const Handle& handle : all) have += (have.empty() ? "" : "; ") + Describe(handle->core().options());
    const std::string what = std::string(FormName(target)) + target.gvr.group_resource().ToString();
    if (fitting.size() > 1) {
      return Error::Invalid(
          fmt::format("there are several informers of {} with selectors ({}): select one with "
                      "CachedClient::From(informer)",
                      what, have));
    }
    if (options_.start_missing) return Start(ctx, form, target, what);
    const std::string others = have.empty() ? "" : fmt::format(" (there are: {})", have);
    return Error::Invalid(fmt::format("no informer has {} of {}{}: add {}, read with Live(), or set CachedClientOptions::start_missing",
                                      what, Where(ns), others, HowToAdd(target)));
  }

  Result<Handle> Start(const Context& ctx, const ObjectForm& form, const ResourceTarget& target, const std::string& what) {
    InformerOptions options = informers_->defaults();
    if (target.namespaced == false) options.ns.clear();
    const std::string where = Where(options.ns);
    MutexLock lock(mu_);
    Handle made = informers_->Find(form, target, std::move(options));
    if (std::find(started_.begin(), started_.end(), made) != started_.end()) return made;
    Log().Info("Starting an informer for a read of a kind without one", {{"resource", what}, {"scope", where}});
    made->core().Start(Context::Background(ctx.clock()));
    started_.push_back(made);
    return made;
  }

  Mutex mu_;
  std::vector<Handle> started_ KUBE_GUARDED_BY(mu_);
};

CachedClientCore::CachedClientCore(Client client, InformerFactory& informers, CachedClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(client), informers, std::move(options))) {}
CachedClientCore::~CachedClientCore() = default;

const Client& CachedClientCore::client() const { return impl_->client_; }
const std::shared_ptr<WriteTracker>& CachedClientCore::writes() const { return impl_->writes_; }
Context CachedClientCore::Writing(const Context& ctx) const { return impl_->writes_->Observed(ctx); }
const std::shared_ptr<Clock>& CachedClientCore::clock() const { return impl_->clock_; }
const RestMapper& CachedClientCore::mapper() const { return impl_->mapper_; }

std::optional<CachedClientCore::Known> CachedClientCore::LookUp(const Context& ctx, const Gvr& gvr, const ObjectKey& key) const {
  const Handle informer = impl_->FindWhole(gvr, key.ns.view());
  if (informer == nullptr || !impl_->writes_->BeforeGet(ctx, informer->core(), key)) return std::nullopt;
  const Result<ObjectRef> found = informer->core().store()->Read(key.ns.view(), key.name.view());
  if (!found) return std::nullopt;
  if (*found == nullptr) return Known{};
  Result<DynamicObject> object = AsDynamic(informer->core().form(), *found);
  if (!object) return std::nullopt;
  return Known{*std::move(object)};
}

std::optional<std::vector<DynamicObject>> CachedClientCore::Select(const Context& ctx, const Gvr& gvr, std::string_view ns,
                                                                   const Selector& selector) const {
  const Handle informer = impl_->FindWhole(gvr, ns);
  if (informer == nullptr || !impl_->writes_->BeforeList(ctx, informer->core(), ns)) return std::nullopt;
  std::vector<DynamicObject> out;
  for (const ObjectRef& found : informer->core().store()->Select(ns.empty() ? std::nullopt : std::optional(ns), selector)) {
    Result<DynamicObject> object = AsDynamic(informer->core().form(), found);
    if (!object) return std::nullopt;
    out.push_back(*std::move(object));
  }
  return out;
}

Result<ObjectRef> CachedClientCore::Get(const Context& ctx, const ObjectForm& form, const ResourceTarget& target, const Handle& from,
                                        const ObjectKey& key) const {
  const auto failed = [&](const Error& error) {
    return error.WithContext(fmt::format("get {} {} from the cache", target.gvr.group_resource().ToString(), key.ToString()));
  };
  const Result<Handle> informer = impl_->Choose(ctx, form, target, from, key.ns.view());
  if (!informer) return failed(informer.error());
  if (Result<void> seen = impl_->writes_->BeforeGet(ctx, (*informer)->core(), key); !seen) return failed(seen.error());
  Result<ObjectRef> found = (*informer)->core().store()->Read(key.ns.view(), key.name.view());
  if (!found) return failed(found.error());
  if (*found == nullptr) return NotInCache(target.gvr.group_resource(), key);
  return found;
}

Result<std::vector<ObjectRef>> CachedClientCore::List(const Context& ctx, const ObjectForm& form, const ResourceTarget& target,
                                                      const Handle& from, const CachedListOptions& options) const {
  const auto failed = [&](const Error& error) {
    return error.WithContext(fmt::format("list {} from the cache", target.gvr.group_resource().ToString()));
  };
  const Result<Selector> selector = Selector::Parse(options.label_selector);
  if (!selector) return failed(selector.error().WithContext("label_selector"));
  if (options.index.empty() && !options.index_value.empty()) return failed(Error::Invalid("index_value without index: name the index too"));
  // A program that is limited to one namespace means that one.
  const std::string ns =
      options.ns.empty() && target.namespaced != false && from == nullptr ? impl_->informers_->defaults().ns : options.ns;
  const Result<Handle> informer = impl_->Choose(ctx, form, target, from, ns);
  if (!informer) return failed(informer.error());
  InformerCore& core = (*informer)->core();
  if (Result<void> seen = impl_->writes_->BeforeList(ctx, core, ns); !seen) return failed(seen.error());
  if (options.index.empty()) return core.store()->Select(ns.empty() ? std::nullopt : std::optional<std::string_view>(ns), *selector);
  Result<std::vector<ObjectRef>> found = core.store()->ByIndex(options.index, options.index_value);
  if (!found) return failed(found.error());
  std::erase_if(*found, [&](const ObjectRef& object) {
    return (!ns.empty() && form.Namespace(object.get()) != ns) || !selector->Matches(form.Labels(object.get()));
  });
  return found;
}

}  // namespace internal

std::size_t CachedClient::unseen_writes() const { return core_->writes()->records(); }

}  // namespace kube
