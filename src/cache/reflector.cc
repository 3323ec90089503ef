#include "cache/reflector.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

#include "cache/reflector_impl.h"
#include "client/raw_object.h"
#include "kube/base/metrics.h"

namespace kube::internal {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kLeastWatchTimeout = std::chrono::minutes(5);

ReflectorOptions Checked(ReflectorOptions options) {
  if (options.what.empty()) options.what = "objects";
  options.min_watch_timeout = std::max(options.min_watch_timeout, kLeastWatchTimeout);
  options.log = options.log.With({{"reflector", options.what}});
  return options;
}

}  // namespace

Reflector::Impl::Impl(std::shared_ptr<ObjectSource> source, DeltaSink& sink, ReflectorOptions options)
    : source_(std::move(source)),
      sink_(sink),
      options_(Checked(std::move(options))),
      form_(*options_.form),
      streaming_(options_.watch_list && WatchListClientEnabled()),
      interner_(options_.share ? std::make_unique<Interner>() : nullptr),
      decode_(options_.decode) {
  if (interner_ != nullptr) decode_.interner = interner_.get();
  const KindInfo* const kind = form_.type() == nullptr ? nullptr : form_.type()->kind;
  if (kind != nullptr && !kind->resource.empty()) namespaced_ = kind->namespaced;
}

void Reflector::Impl::Run(const Context& ctx) {
  UseClock(ctx);
  Become(ReflectorState::kStarting, "run");
  while (!ctx.stopped()) {
    if (const std::optional<Error> error = ListAndWatch(ctx)) CallOnError(*error);
    if (ctx.stopped() || !Wait(ctx, "the round is over", false)) break;
  }
  Flush();
  Become(ReflectorState::kStopped, "the context stopped");
}

std::optional<Error> Reflector::Impl::ListAndWatch(const Context& ctx) {
  if (ctx.stopped()) return std::nullopt;
  UseClock(ctx);
  std::optional<Error> error = Round(ctx);
  Flush();
  if (ctx.stopped()) return std::nullopt;
  return error;
}

std::optional<Error> Reflector::Impl::Round(const Context& ctx) {
  std::unique_ptr<OpenWatch> watch;
  bool list = !streaming_;
  if (streaming_) {
    std::optional<Error> error;
    switch (StreamList(ctx, watch, error)) {
      case Streamed::kSynced:
        break;
      case Streamed::kStopped:
        return std::nullopt;
      case Streamed::kFallBack:
        list = true;
        break;
    }
  }
  if (list) {
    if (std::optional<Error> error = List(ctx)) {
      if (!ctx.stopped()) FailRound(Phase::kList, *error);
      return error;
    }
    if (ctx.stopped()) return std::nullopt;
  }
  options_.log.V(2).Info("The cache is filled", {{"version", version_}});
  return Watch(ctx, std::move(watch));
}

void Reflector::Impl::UseClock(const Context& ctx) {
  if (clock_ == ctx.clock()) return;
  clock_ = ctx.clock();
  backoff_ = std::make_unique<BackoffManager>(options_.backoff, options_.backoff_reset, clock_, options_.random);
}

void Reflector::Impl::Become(ReflectorState to, std::string_view why) {
  const ReflectorState from = std::exchange(state_, to);
  if (from == to) return;
  {
    MutexLock lock(mu_);
    status_.state = to;
  }
  options_.log.V(4).Info("State", {{"from", ToString(from)}, {"to", ToString(to)}, {"why", why}});
}

void Reflector::Impl::Report(Phase phase, const Error& error) {
  {
    MutexLock lock(mu_);
    status_.error = error;
  }
  const std::string text = TroubleText(options_.what, error);
  if (IsExpired(error) || !troubles_.insert({phase, TroubleKind(error)}).second) {
    options_.log.V(4).Info(text, {{"err", error}});
  } else {
    options_.log.Warn(text);
  }
}

void Reflector::Impl::FailRound(Phase phase, const Error& error) {
  {
    MutexLock lock(mu_);
    ++status_.failures;
  }
  Report(phase, error);
}

void Reflector::Impl::Worked(Phase phase) {
  heard_ = Now();
  {
    MutexLock lock(mu_);
    status_.error.reset();
    status_.last_message = heard_;
  }
  if (troubles_.empty()) return;
  // A reflector that receives events has also opened the watch, and has a list.
  const std::size_t gone =
      std::erase_if(troubles_, [phase](const Trouble& trouble) { return phase == Phase::kWatch || trouble.phase == phase; });
  if (gone > 0 && troubles_.empty()) options_.log.Info(options_.what + ": works again");
}

void Reflector::Impl::CallOnError(const Error& error) {
  if (!options_.on_error) return;
  try {
    options_.on_error(error);
  } catch (const std::exception& e) {
    options_.log.Error("The error callback threw", {{"what", e.what()}});
  } catch (...) {
    options_.log.Error("The error callback threw");
  }
}

Result<void> Reflector::Impl::Wait(const Context& ctx, std::string_view why, bool watching) {
  Flush();
  const nanoseconds delay = backoff_->Next();
  const Clock::TimePoint until = clock_->Later(delay);
  Become(ReflectorState::kWaiting, why);
  options_.log.V(4).Info("Waiting", {{"delay", delay}});
  for (;;) {
    const std::optional<Clock::TimePoint> resync = watching ? ResyncDue() : std::nullopt;
    const bool resync_first = resync && *resync < until;
    if (Result<void> slept = ctx.SleepUntil(resync_first ? *resync : until); !slept) return slept;
    if (!resync_first) return {};
    if (Result<void> resynced = Resync(); !resynced) return resynced;
    Flush();
  }
}

void Reflector::Impl::Flush() {
  Publish();
  if (unflushed_ == 0) return;
  unflushed_ = 0;
  sink_.Flush();
}

void Reflector::Impl::Publish() {
  bool moved = false;
  {
    MutexLock lock(mu_);
    moved = status_.resource_version != version_;
    if (moved) status_.resource_version = version_;
    status_.events = events_;
    status_.last_message = heard_;
    if (interner_ != nullptr) sharing_ = interner_->stats();
  }
  if (!moved || options_.metrics == nullptr) return;
  std::uint64_t number = 0;
  if (std::from_chars(version_.data(), version_.data() + version_.size(), number).ec == std::errc()) {
    options_.metrics->Set("reflector_last_resource_version", {{"name", options_.what}}, static_cast<double>(number));
  }
}

void Reflector::Impl::SetResourceVersion(const std::string& version) {
  if (!version.empty()) version_ = version;
}

bool Reflector::Impl::Acceptable(WatchEventType type, const void* object) const {
  if (form_.type() == nullptr) {
    const DynamicObject& dynamic = *static_cast<const DynamicObject*>(object);
    const bool table = dynamic.kind() == "Table" && dynamic.api_version().view().starts_with("meta.k8s.io/");
    const Gvk& own = options_.gvk;
    const bool other = !own.empty() && !dynamic.kind().empty() &&
                       (dynamic.gvk().group_version() != own.group_version() || (!own.kind.empty() && dynamic.kind() != own.kind));
    if (table || other) {
      options_.log.Error("Skipped an object of another kind",
                         {{"apiVersion", dynamic.api_version().view()}, {"kind", dynamic.kind().view()}, {"type", ToString(type)}});
      return false;
    }
  }
  if (type == WatchEventType::kBookmark) return true;
  // A cluster-scoped kind has no namespace, also in an informer of one namespace.
  const std::string_view ns = form_.Namespace(object).view();
  if (!options_.ns.empty() && ns != options_.ns && namespaced_.value_or(true)) {
    options_.log.Error("Skipped an object of another namespace", {{"type", ToString(type)}});
    return false;
  }
  return true;
}

bool Reflector::Impl::Nameless(WatchEventType type, const void* object) const {
  if (type == WatchEventType::kBookmark || !form_.Name(object).empty()) return false;
  options_.log.Error("Received an object without a name", {{"type", ToString(type)}});
  return true;
}

UndecodableObject Reflector::Impl::Unusable(const void* object) const {
  return {.key = form_.Name(object).empty() ? ObjectKey() : form_.Key(object),
          .uid = form_.Uid(object),
          .resource_version = form_.ResourceVersion(object),
          .error = form_.Name(object).empty() ? "the object has no name" : "the object is of another kind or namespace"};
}

UndecodableObject Reflector::Impl::Placed(UndecodableObject object) const {
  const bool elsewhere = options_.ns.empty() || !namespaced_.value_or(true) ? namespaced_ && *namespaced_ == object.key.ns.empty()
                                                                            : object.key.ns.view() != options_.ns;
  if (elsewhere) object.key = {};
  return object;
}

void Reflector::Impl::LearnScope(const void* object) {
  // What objects say counts more than the struct, which may declare another scope.
  if (!namespaced_ || !*namespaced_) namespaced_ = !form_.Namespace(object).empty();
}

std::optional<UndecodableObject> Reflector::Impl::Refused(void* object) const {
  if (!options_.transform) return std::nullopt;
  // Before the transform, which may also change these.
  UndecodableObject out{.key = form_.Key(object), .uid = form_.Uid(object), .resource_version = form_.ResourceVersion(object)};
  const Result<void> transformed = Transform(object);
  if (transformed) return std::nullopt;
  out.error = OneLine(Error::Decode("transform: " + transformed.error().message()));
  return out;
}

Result<void> Reflector::Impl::Transform(void* object) const {
  if (!options_.transform) return {};
  try {
    return options_.transform(object);
  } catch (const std::exception& e) {
    return Error(ErrorKind::kUserCode, std::string("the transform threw: ") + e.what());
  } catch (...) {
    return Error(ErrorKind::kUserCode, "the transform threw something that is not a std::exception");
  }
}

std::optional<Clock::TimePoint> Reflector::Impl::ResyncDue() {
  if (!options_.resync_period) return std::nullopt;
  const nanoseconds period = options_.resync_period();
  if (period <= nanoseconds::zero()) return std::nullopt;
  return Clock::TimePoint::max() - resync_base_ < period ? Clock::TimePoint::max() : resync_base_ + period;
}

Result<void> Reflector::Impl::Resync() {
  resync_base_ = Now();
  options_.log.V(4).Info("Resync");
  ++unflushed_;
  return sink_.Resync();
}

void Reflector::Impl::Count(std::string_view metric, double by) const {
  if (options_.metrics != nullptr) options_.metrics->Add(metric, {{"name", options_.what}}, by);
}

void Reflector::Impl::Observe(std::string_view metric, double value) const {
  if (options_.metrics != nullptr) options_.metrics->Observe(metric, {{"name", options_.what}}, value);
}

ReflectorStatus Reflector::Impl::status() const {
  MutexLock lock(mu_);
  return status_;
}

std::string Reflector::Impl::last_resource_version() const {
  MutexLock lock(mu_);
  return status_.resource_version;
}

Interner::Stats Reflector::Impl::sharing() const {
  MutexLock lock(mu_);
  return sharing_;
}

Reflector::Reflector(std::shared_ptr<ObjectSource> source, DeltaSink& sink, ReflectorOptions options)
    : impl_(std::make_unique<Impl>(std::move(source), sink, std::move(options))) {}
Reflector::~Reflector() = default;
void Reflector::Run(const Context& ctx) { impl_->Run(ctx); }
std::optional<Error> Reflector::ListAndWatch(const Context& ctx) { return impl_->ListAndWatch(ctx); }
ReflectorStatus Reflector::status() const { return impl_->status(); }
std::string Reflector::last_resource_version() const { return impl_->last_resource_version(); }
Interner::Stats Reflector::sharing() const { return impl_->sharing(); }

}  // namespace kube::internal
