#include "cache/informer_core.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iterator>
#include <thread>
#include <utility>

#include "kube/base/metrics.h"
#include "kube/base/wait_until.h"

namespace kube::internal {
namespace {

constexpr std::chrono::nanoseconds kMinResync = std::chrono::seconds(1);
// For lists of at least this size, freed pages are returned to the system.
constexpr std::size_t kTrimObjects = 1000;
// So many objects that cannot be decoded are named in the status.
constexpr std::size_t kMostNamed = 10;
// So many notifications are kept until the next ones come.
constexpr std::size_t kMostKept = 8;

std::string ResyncText(std::chrono::nanoseconds period) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(period).count()) + "ms";
}

}  // namespace

std::optional<std::uint64_t> VersionNumber(std::string_view resource_version) {
  std::uint64_t number = 0;
  const char* const end = resource_version.data() + resource_version.size();
  const auto [stop, error] = std::from_chars(resource_version.data(), end, number);
  if (resource_version.empty() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::uint64_t NextStamp() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

FieldSelection FieldsOf(const InformerOptions& options) {
  return options.strip_managed_fields ? options.fields.And(FieldSelection::WithoutManagedFields()) : options.fields;
}

InformerCore::InformerCore(std::shared_ptr<ObjectSource> source, const ObjectForm& form, Gvr gvr, InformerOptions options,
                           std::shared_ptr<MetricsSink> metrics, Gvk gvk)
    : source_(std::move(source)),
      form_(form),
      gvr_(std::move(gvr)),
      gvk_(std::move(gvk)),
      what_(gvr_.group_resource().ToString()),
      options_(std::move(options)),
      fields_(FieldsOf(options_)),
      metrics_(std::move(metrics)),
      log_(Logger("cache.informer").With({{"informer", what_}})),
      store_(std::make_shared<Store>(form)),
      buffer_(*this),
      resync_period_(options_.resync.count()) {}

InformerCore::~InformerCore() {
  // The thread holds a reference, so it has ended, or this is its end.
  MutexLock lock(join_mu_);
  if (thread_.joinable() && thread_.id() == std::this_thread::get_id()) Bury(std::move(thread_));
}

// ---- Start and stop ----

ReflectorOptions InformerCore::MakeReflectorOptions() {
  // What a transform did to a version says nothing about the bytes that it came of.
  if (options_.share && !transform_ && PartMemory::Helps(form_.type())) parts_ = std::make_unique<PartMemory>(*store_);
  ReflectorOptions options{.form = &form_,
                           .what = what_,
                           .gvk = gvk_,
                           .ns = options_.ns,
                           .label_selector = options_.label_selector,
                           .field_selector = options_.field_selector,
                           .decode = {.fields = fields_.everything() ? nullptr : &fields_, .predecessors = parts_.get()},
                           .share = options_.share,
                           .watch_list = options_.watch_list,
                           .resync_period = [this] { return std::chrono::nanoseconds(resync_period_.load()); },
                           .transform = transform_,
                           .on_error =
                               [this, told = on_error_](const Error& error) {
                                 Failed(error);
                                 if (told) told(error);
                               },
                           .metrics = metrics_.get()};
  return options;
}

void InformerCore::Start(const Context& ctx) {
  MutexLock join(join_mu_);
  MutexLock lock(mu_);
  if (stopped_) return;
  if (started_) {
    log_.V(2).Info("The informer is already running");
    return;
  }
  started_ = true;
  auto [child, cancel] = ctx.WithCancel();
  cancel_.emplace(std::move(cancel));
  clock_ = ctx.clock();
  // Objects that the program added itself say nothing about the server's version.
  store_->SetResourceVersion({});
  for (const std::shared_ptr<HandlerThread>& handler : handlers_) handler->next_resync = clock_->Later(handler->resync_period);
  reflector_ = std::make_unique<Reflector>(source_, buffer_, MakeReflectorOptions());
  if (metrics_ != nullptr) metrics_->Add("kubexx_cache_undecodable_total", {{"resource", what_}, {"namespace", options_.ns}}, 0);
  const Context own = child;
  thread_ = Thread("kube-refl-" + gvr_.resource.str(), [self = shared_from_this(), own] { self->Run(own); });
}

bool InformerCore::started() const {
  MutexLock lock(mu_);
  return started_;
}

void InformerCore::Run(const Context& ctx) {
  thread_id_ = std::this_thread::get_id();
  Reflector* reflector = nullptr;
  {
    MutexLock lock(mu_);
    reflector = reflector_.get();
  }
  reflector->Run(ctx);
  told_.clear();
  // The context has stopped: no handler is called any more.
  {
    MutexLock lock(mu_);
    stopped_ = true;
    for (const std::shared_ptr<HandlerThread>& handler : handlers_) handler->Remove();
  }
  Over();
}

void InformerCore::Stop() {
  bool wait = thread_id_.load() != std::this_thread::get_id();
  std::vector<std::shared_ptr<HandlerThread>> handlers;
  std::optional<CancelSource> cancel;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    cancel.swap(cancel_);
    handlers.swap(handlers_);
  }
  Over();
  if (cancel) cancel->Cancel();
  for (const std::shared_ptr<HandlerThread>& handler : handlers) {
    handler->Remove();
    if (handler->OnThread()) wait = false;
  }
  // One of its own threads waits for none of the others: two of them might do so at once. They end by themselves.
  if (!wait) return;
  {
    MutexLock lock(join_mu_);
    if (thread_.joinable()) thread_.Join();
  }
  for (const std::shared_ptr<HandlerThread>& handler : handlers) handler->RemoveAndWait();
}

// ---- Handlers ----

Result<std::shared_ptr<HandlerThread>> InformerCore::AddHandler(Handler handler, const HandlerOptions& options) {
  MutexLock lock(mu_);
  if (stopped_) return Error(ErrorKind::kClosed, what_ + ": the informer has stopped; no handler can be added");
  std::string name = options.name.empty() ? std::to_string(next_handler_) : options.name;
  ++next_handler_;

  std::chrono::nanoseconds period = std::max(options.resync.value_or(options_.resync), std::chrono::nanoseconds(0));
  const std::chrono::nanoseconds check(resync_period_.load());
  if (period.count() > 0 && check.count() == 0) {
    log_.Warn("The informer has no resyncs, so its handlers get none", {{"handler", name}, {"wanted", ResyncText(period)}});
    period = {};
  } else if (period.count() > 0) {
    period = std::max(period, kMinResync);
    if (period < check && started_) {
      log_.Warn("The informer is already running and checks for resyncs less often than the handler needs",
                {{"handler", name}, {"wanted", ResyncText(period)}, {"given", ResyncText(check)}});
      period = check;
    } else if (period < check) {
      resync_period_ = period.count();
    }
  }

  std::shared_ptr<HandlerThread> thread = HandlerThread::Start(std::move(handler), std::move(name), options.quick, form_, what_);
  thread->resync_period = period;
  if (clock_ != nullptr) thread->next_resync = clock_->Later(period);
  handlers_.push_back(thread);
  // Existing objects first, then changes: both under this lock, so nothing falls between.
  TellAll(*thread, true);
  return thread;
}

void InformerCore::RemoveHandler(const std::shared_ptr<HandlerThread>& handler, bool wait) {
  {
    MutexLock lock(mu_);
    std::erase(handlers_, handler);
  }
  if (wait) {
    handler->RemoveAndWait();
  } else {
    handler->Remove();
  }
}

Result<void> InformerCore::SetTransform(std::function<Result<void>(void*)> transform) {
  MutexLock lock(mu_);
  if (started_ || stopped_) return Error::Invalid(what_ + ": the informer has started; set the transform before");
  transform_ = std::move(transform);
  return {};
}

Result<void> InformerCore::SetOnError(std::function<void(const Error&)> on_error) {
  MutexLock lock(mu_);
  if (started_ || stopped_) return Error::Invalid(what_ + ": the informer has started; set the error handler before");
  on_error_ = std::move(on_error);
  return {};
}

void InformerCore::TellAll(HandlerThread& handler, bool initial) {
  std::vector<Notification> all;
  std::vector<ObjectRef> objects = store_->List();
  all.reserve(objects.size() + 1);
  for (ObjectRef& object : objects) {
    if (initial) {
      all.push_back({.kind = Notification::Kind::kAdd, .flag = true, .after = std::move(object)});
    } else {
      all.push_back({.kind = Notification::Kind::kUpdate, .flag = true, .before = object, .after = object});
    }
  }
  if (initial && buffer_.HasSynced()) all.push_back({.kind = Notification::Kind::kSynced});
  notifications_ += all.size();
  (void)handler.Push(all, false);
}

void InformerCore::Tell(std::span<const Notification> notifications, bool assist) {
  notifications_ += notifications.size();
  for (const std::shared_ptr<HandlerThread>& handler : handlers_) {
    if (handler->Push(notifications, assist)) assist_.push_back(handler);
  }
}

// ---- What the reflector saw ----

// An event that comes late, after a newer one of the same object, is dropped: no server sends such a thing, proxies and bugs do.
void InformerCore::Apply(const Delta& delta, bool initial, std::vector<Notification>& out) {
  const void* const object = delta.object.get();
  const std::optional<std::uint64_t> version = VersionNumber(form_.ResourceVersion(object).view());
  const ObjectRef current = store_->Get(form_.Namespace(object).view(), form_.Name(object).view());
  if (store_->undecodable() > 0 && OlderThanUndecodable(form_.Key(object), version)) {
    log_.V(4).Info("An event arrived late", {{"key", form_.Key(object).ToString()}, {"version", version.value_or(0)}});
    return;
  }
  if (current != nullptr && version) {
    const std::optional<std::uint64_t> held = VersionNumber(form_.ResourceVersion(current.get()).view());
    if (held && (*version < *held || (*version == *held && delta.type != DeltaType::kDeleted))) {
      log_.V(4).Info("An event arrived late or twice", {{"key", form_.Key(object).ToString()}, {"version", *version}, {"held", *held}});
      return;
    }
  }
  if (current == nullptr && version && *version < newest_ && delta.type != DeltaType::kDeleted &&
      DeletedSince(form_.Key(object), *version)) {
    log_.V(4).Info("An event arrived after the deletion of its object", {{"key", form_.Key(object).ToString()}, {"version", *version}});
    return;
  }
  if (version) newest_ = std::max(newest_, *version);

  if (delta.type == DeltaType::kDeleted) {
    if (version) RememberDeleted(form_.Key(object), *version);
    Store::Write write{.key = form_.Key(object)};
    // No handler was called for it, so none is called for its deletion.
    if (current == nullptr && store_->undecodable() == 0 && !store_->undecodable_incomplete()) return;
    store_->Apply({&write, 1}, form_.ResourceVersion(object).view());
    if (current == nullptr) return;
    out.push_back({.kind = Notification::Kind::kDelete, .before = delta.object, .after = current});
    return;
  }
  if (store_->undecodable() > 0 && store_->FindUndecodable(form_.Key(object))) {
    log_.Info("An object can be decoded again", {{"key", form_.Key(object).ToString()}});
  }
  Store::Write write{.object = delta.object};
  store_->Apply({&write, 1}, form_.ResourceVersion(object).view());
  if (current == nullptr) {
    out.push_back({.kind = Notification::Kind::kAdd, .flag = initial, .after = delta.object});
  } else {
    out.push_back({.kind = Notification::Kind::kUpdate, .before = current, .after = delta.object});
  }
}

bool InformerCore::DeletedSince(const ObjectKey& key, std::uint64_t version) const {
  return std::any_of(gone_.begin(), gone_.end(), [&](const Gone& gone) { return gone.version > version && gone.key == key; });
}

void InformerCore::RememberDeleted(const ObjectKey& key, std::uint64_t version) {
  gone_[next_gone_] = {key, version};
  next_gone_ = (next_gone_ + 1) % gone_.size();
}

void InformerCore::Changed(std::span<const Delta> deltas, bool initial) {
  told_.clear();
  told_.reserve(deltas.size());
  {
    MutexLock lock(mu_);
    for (const Delta& delta : deltas) Apply(delta, initial, told_);
    Tell(told_, !initial);
  }
  if (told_.size() > kMostKept) told_ = std::vector<Notification>();
  Seen(newest_, false);
  for (const std::shared_ptr<HandlerThread>& handler : assist_) handler->Assist();
  assist_.clear();
}

void InformerCore::Replaced(std::vector<ObjectRef> objects, const std::string& resource_version, bool initial,
                            std::vector<UndecodableObject> undecodable) {
  {
    // What is let go of is freed after the lock.
    Store::Replaced replaced;
    std::vector<Notification> notifications;
    MutexLock lock(mu_);
    if (!undecodable.empty()) KeepUndecodable(objects, undecodable);
    replaced = store_->Replace(objects, resource_version, std::move(undecodable));
    gone_ = {};
    newest_ = VersionNumber(resource_version).value_or(0);
    // If a list names an object twice, the last one counts.
    const bool twice = store_->size() != objects.size();
    notifications.reserve(replaced.removed.size() + objects.size());
    for (const ObjectRef& gone : replaced.removed) {
      notifications.push_back({.kind = Notification::Kind::kDelete, .flag = true, .before = gone});
    }
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const void* const object = objects[i].get();
      const ObjectRef& before = replaced.before[i];
      if (twice && store_->Get(form_.Namespace(object).view(), form_.Name(object).view()) != objects[i]) continue;
      if (before == nullptr) {
        notifications.push_back({.kind = Notification::Kind::kAdd, .flag = initial, .after = objects[i]});
      } else if (form_.ResourceVersion(before.get()) != form_.ResourceVersion(object)) {
        notifications.push_back({.kind = Notification::Kind::kUpdate, .before = before, .after = objects[i]});
      }
    }
    Tell(notifications, false);
  }
  const std::size_t count = objects.size();
  objects = {};
#if defined(__GLIBC__)
  if (count >= kTrimObjects) malloc_trim(0);
#endif
  Seen(VersionNumber(resource_version), true);
}

void InformerCore::Resynced() {
  MutexLock lock(mu_);
  const Clock::TimePoint now = clock_->Now();
  for (const std::shared_ptr<HandlerThread>& handler : handlers_) {
    if (handler->resync_period.count() == 0 || now < handler->next_resync) continue;
    handler->next_resync = now + handler->resync_period;
    TellAll(*handler, false);
  }
}

void InformerCore::Bookmarked(const std::string& resource_version) {
  if (!resource_version.empty()) store_->SetResourceVersion(resource_version);
  const std::optional<std::uint64_t> version = VersionNumber(resource_version);
  if (version) newest_ = std::max(newest_, *version);
  Seen(version, false);
}

void InformerCore::Synced() {
  {
    MutexLock lock(mu_);
    const Notification synced{.kind = Notification::Kind::kSynced};
    for (const std::shared_ptr<HandlerThread>& handler : handlers_) (void)handler->Push({&synced, 1}, false);
  }
  {
    MutexLock lock(seen_mu_);
    synced_ = true;
    refused_ = false;
    seen_changed_.NotifyAll();
  }
  Seen(std::nullopt, false);
}

// ---- Waiting ----

void InformerCore::Seen(std::optional<std::uint64_t> version, bool replaced) {
  std::vector<SeenWatch> due;
  {
    MutexLock lock(seen_mu_);
    // Only a new list may go back: a server that was restored from a backup.
    if (version && replaced && *version < seen_) went_back_ = NextStamp();
    if (version) seen_ = replaced ? *version : std::max(seen_, *version);
    if (waiting_ > 0) seen_changed_.NotifyAll();
    if (seen_watches_.empty()) return;
    const auto waits = [&](const SeenWatch& watch) {
      seen_mu_.AssertHeld();
      return !HasSeenLocked(watch.awaited);
    };
    const auto first_due = std::stable_partition(seen_watches_.begin(), seen_watches_.end(), waits);
    due.assign(std::make_move_iterator(first_due), std::make_move_iterator(seen_watches_.end()));
    seen_watches_.erase(first_due, seen_watches_.end());
  }
  for (const SeenWatch& watch : due) watch.callback();
}

void InformerCore::Over() {
  std::vector<SeenWatch> due;
  {
    MutexLock lock(seen_mu_);
    over_ = true;
    seen_changed_.NotifyAll();
    due.swap(seen_watches_);
  }
  for (const SeenWatch& watch : due) watch.callback();
}

std::string InformerCore::Describe() const {
  std::string text = what_;
  if (!options_.ns.empty()) text += " in namespace " + options_.ns;
  MutexLock lock(mu_);
  if (reflector_ == nullptr) return text + " (the informer has not been started)";
  const ReflectorStatus status = reflector_->status();
  text += " (" + std::string(ToString(status.state));
  if (status.error) text += ", last error: " + status.error->ToString();
  return text + ")";
}

Result<void> InformerCore::WaitForSync(const Context& ctx) {
  {
    MutexLock lock(seen_mu_);
    const auto done = [&] {
      seen_mu_.AssertHeld();
      return synced_ || over_;
    };
    Result<void> waited = WaitUntil(ctx, seen_mu_, seen_changed_, done);
    if (waited && synced_) return {};
    if (waited) waited = ctx.Check();  // the context often stops the informer too: the caller sees the cause
    if (waited) return Error(ErrorKind::kClosed, what_ + ": the informer has stopped before its cache was complete");
    lock.Unlock();
    return waited.error().WithContext("the cache of " + Describe() + " is not complete yet");
  }
}

void InformerCore::Failed(const Error& error) {
  MutexLock lock(seen_mu_);
  if (synced_) return;
  const bool refused = IsNotFound(error) || IsForbidden(error);
  if (refused == refused_) return;
  refused_ = refused;
  seen_changed_.NotifyAll();
}

bool InformerCore::refused() const {
  MutexLock lock(seen_mu_);
  return refused_;
}

Result<bool> InformerCore::WaitForSyncOrRefusal(const Context& ctx) {
  {
    MutexLock lock(seen_mu_);
    const auto done = [&] {
      seen_mu_.AssertHeld();
      return synced_ || over_ || refused_;
    };
    const Result<void> waited = WaitUntil(ctx, seen_mu_, seen_changed_, done);
    if (waited && refused_) return false;
  }
  if (Result<void> synced = WaitForSync(ctx); !synced) return synced.error();
  return true;
}

bool InformerCore::HasSeenLocked(const Awaited& awaited) const {
  if (awaited.stamp != 0 && awaited.stamp < went_back_) return true;
  const bool deletion = awaited.deletion != Awaited::Deletion::kNone;
  const bool passed = synced_ && seen_ >= awaited.version;
  if (passed && !deletion) return true;
  const ObjectRef object = store_->Get(awaited.key.ns.view(), awaited.key.name.view());
  if (!passed) {
    const bool newer = object != nullptr && VersionNumber(form_.ResourceVersion(object.get()).view()).value_or(0) >= awaited.version;
    if (!newer && !(synced_ && awaited.unselected && object == nullptr)) return false;
  }
  if (!deletion) return true;
  if (object == nullptr) return synced_;
  // Whether it is being deleted is unknown: reading it fails and reports that.
  if (passed && store_->undecodable() > 0 && store_->FindUndecodable(awaited.key)) return true;
  if (!awaited.uid.empty() && form_.Uid(object.get()) != awaited.uid) return true;
  return awaited.deletion == Awaited::Deletion::kAskedFor && form_.IsDeleting(object.get());
}

bool InformerCore::HasSeen(const Awaited& awaited) const {
  MutexLock lock(seen_mu_);
  return HasSeenLocked(awaited);
}

bool InformerCore::stopped() const {
  MutexLock lock(seen_mu_);
  return over_;
}

std::optional<std::uint64_t> InformerCore::NotifyWhenSeen(Awaited awaited, std::function<void()> callback) {
  MutexLock lock(seen_mu_);
  if (over_ || HasSeenLocked(awaited)) return std::nullopt;
  seen_watches_.push_back({next_seen_watch_, std::move(awaited), std::move(callback)});
  return next_seen_watch_++;
}

void InformerCore::CancelNotify(std::uint64_t id) {
  SeenWatch removed;  // freed after the lock
  MutexLock lock(seen_mu_);
  const auto found = std::find_if(seen_watches_.begin(), seen_watches_.end(), [&](const SeenWatch& watch) { return watch.id == id; });
  if (found == seen_watches_.end()) return;
  removed = std::move(*found);
  seen_watches_.erase(found);
}

Result<void> InformerCore::WaitUntilSeen(const Context& ctx, const ObjectKey& key, std::string_view resource_version) {
  const std::optional<std::uint64_t> wanted = VersionNumber(resource_version);
  if (!wanted) return Error::Invalid(what_ + ": \"" + std::string(resource_version) + "\" is not a resource version to wait for");
  return WaitUntilSeen(ctx, {.key = key, .version = *wanted, .stamp = NextStamp()});
}

Result<void> InformerCore::WaitUntilSeen(const Context& ctx, const Awaited& awaited) {
  MutexLock lock(seen_mu_);
  const auto done = [&] {
    seen_mu_.AssertHeld();
    return over_ || HasSeenLocked(awaited);
  };
  ++waiting_;
  Result<void> waited = WaitUntil(ctx, seen_mu_, seen_changed_, done);
  --waiting_;
  if (HasSeenLocked(awaited)) return {};
  if (waited) waited = ctx.Check();  // as in WaitForSync
  if (waited) return Error(ErrorKind::kClosed, what_ + ": the informer has stopped");
  if (awaited.deletion != Awaited::Deletion::kNone) {
    return waited.error().WithContext(what_ + ": the deletion of " + awaited.key.ToString() + " has not been seen yet");
  }
  return waited.error().WithContext(what_ + ": version " + std::to_string(awaited.version) + " of " + awaited.key.ToString() +
                                    " has not been seen yet; the newest is " + std::to_string(seen_));
}

InformerStatus InformerCore::status() const {
  InformerStatus status{.what = what_,
                        .ns = options_.ns,
                        .label_selector = options_.label_selector,
                        .field_selector = options_.field_selector,
                        .synced = HasSynced(),
                        .objects = store_->size(),
                        .undecodable = store_->undecodable(),
                        .more_undecodable = store_->undecodable_incomplete(),
                        .undecodable_objects = store_->FirstUndecodable(kMostNamed)};
  MutexLock lock(mu_);
  status.notifications = notifications_;
  if (reflector_ != nullptr) {
    status.reflector = reflector_->status();
    if (status.reflector.last_message) status.silence = clock_->Now() - *status.reflector.last_message;
    const Interner::Stats sharing = reflector_->sharing();
    if (sharing.lookups > 0) status.shared_ratio = static_cast<double>(sharing.hits) / static_cast<double>(sharing.lookups);
  }
  if (stopped_) status.reflector.state = ReflectorState::kStopped;
  for (const std::shared_ptr<HandlerThread>& handler : handlers_) status.handlers.push_back(handler->status());
  return status;
}

}  // namespace kube::internal
