// Watches, and lists that come as watches.
#include <algorithm>
#include <utility>

#include "cache/reflector_impl.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";
constexpr std::chrono::seconds kShortWatch{1};
constexpr std::chrono::seconds kBookmarkWarning{10};
// Servers send a bookmark each minute. A watch that is silent for longer may be from a version that the server does not have.
constexpr std::chrono::minutes kSilence{2};
constexpr std::chrono::seconds kVersionCheck{30};  // longer than a client repeats a request that is answered with 504
// How much later than it was asked to a server may end a watch before this side does.
constexpr std::chrono::seconds kOverdue{60};
constexpr std::uint64_t kFlushAfter = 1000;
// A stream that ends early is opened again at once, but not indefinitely if each of them ends at once.
constexpr int kEarlyEndsWithoutWait = 10;

}  // namespace

std::int64_t Reflector::Impl::WatchSeconds() const {
  // Between the minimum and twice the minimum: watches that started together must not end together.
  const std::chrono::nanoseconds timeout = Jitter(options_.min_watch_timeout, 1, options_.random);
  return std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
}

Result<std::unique_ptr<Reflector::Impl::OpenWatch>> Reflector::Impl::Open(const Context& ctx, WatchOptions request) {
  request.ns = options_.ns;
  request.label_selector = options_.label_selector;
  request.field_selector = options_.field_selector;
  request.decode = decode_;
  request.bookmarks = true;
  request.timeout_seconds = WatchSeconds();
  Flush();
  // The time counts from here: some proxies hold the headers back until the first event.
  const Clock::TimePoint start = Now();
  const Clock::TimePoint overdue = clock_->Later(std::chrono::seconds(*request.timeout_seconds) + kOverdue);
  const Context patience = ctx.WithDeadline(overdue);
  Result<std::unique_ptr<WatchStream>> stream = source_->Watch(patience, request);
  if (!stream) {
    if (!patience.stopped() || ctx.stopped()) return stream.error();
    return Error::Timeout("the server did not answer a watch in " + std::to_string(*request.timeout_seconds) + " seconds");
  }
  Count("reflector_watches_total");
  heard_ = Now();
  {
    MutexLock lock(mu_);
    ++status_.watches;
  }
  auto watch = std::make_unique<OpenWatch>();
  watch->stream = *std::move(stream);
  watch->start = start;
  watch->overdue = overdue;
  watch->from = request.resource_version == "0" ? "" : request.resource_version;
  watch->checked = watch->from.empty();
  watch->ordered = !request.resource_version.empty() && request.resource_version != "0";
  return watch;
}

void Reflector::Impl::Close(std::unique_ptr<OpenWatch>& watch) {
  const std::chrono::nanoseconds lasted = Now() - watch->start;
  if (lasted < kShortWatch) Count("reflector_short_watches_total");
  Observe("reflector_watch_duration_seconds", std::chrono::duration<double>(lasted).count());
  Observe("reflector_items_per_watch", static_cast<double>(watch->events));
  options_.log.V(4).Info("Watch over", {{"events", watch->events}, {"lasted", lasted}});
  watch.reset();
}

bool Reflector::Impl::VeryShort(const OpenWatch& watch) const { return watch.events == 0 && Now() - watch.start < kShortWatch; }

// ---- A list as a stream ----

Reflector::Impl::Streamed Reflector::Impl::StreamList(const Context& ctx, std::unique_ptr<OpenWatch>& watch, std::optional<Error>& error) {
  int early_ends = 0;
  for (;;) {
    if (ctx.stopped()) return Streamed::kStopped;
    WatchOptions request;
    request.resource_version = version_unavailable_ ? "" : version_;
    request.resource_version_match = "NotOlderThan";
    request.send_initial_events = true;
    Become(ReflectorState::kStreaming, "a list is due");
    Count("reflector_lists_total");
    Result<std::unique_ptr<OpenWatch>> opened = Open(ctx, request);
    if (!opened) {
      error = opened.error();
    } else {
      watch = *std::move(opened);
      Worked(Phase::kOpen);
      // Existing objects come first, whatever the version.
      watch->ordered = false;
      InitialList initial(form_);
      initial.next_warning = watch->start + kBookmarkWarning;
      Ending ending = Read(ctx, *watch, &initial);
      if (ending.kind == Ending::Kind::kSynced) {
        TakeInitialList(std::move(initial), watch->start);
        return Streamed::kSynced;
      }
      const bool short_watch = VeryShort(*watch);
      const bool early = Now() - watch->start < kShortWatch;
      Close(watch);
      if (ending.kind == Ending::Kind::kStopped) return Streamed::kStopped;
      error = ending.error;
      if (!error && short_watch) {
        error = TransportError(transport_reason::kUnexpectedEof, "the watch ended within a second without an event");
      }
      if (!error) {
        options_.log.V(4).Info("The stream of a list ended early: retrying");
        early_ends = early ? early_ends + 1 : 0;
        if (early_ends > kEarlyEndsWithoutWait) (void)Wait(ctx, "the stream of a list ends early each time", false);
        continue;
      }
    }
    if (ctx.stopped()) return Streamed::kStopped;
    if (TryStreamAgain(ctx, *error, request.resource_version)) continue;
    options_.log.V(4).Info("The server does not stream this list now: listing", {{"err", *error}});
    return Streamed::kFallBack;
  }
}

bool Reflector::Impl::TryStreamAgain(const Context& ctx, const Error& error, const std::string& sent_version) {
  if (IsWorthWaiting(error)) {
    Report(Phase::kOpen, error);
    (void)Wait(ctx, error.message(), false);
    return true;
  }
  if ((IsExpired(error) || IsTooLargeResourceVersion(error)) && !sent_version.empty()) {
    version_unavailable_ = true;
    return true;
  }
  return false;
}

void Reflector::Impl::TakeInitialList(InitialList initial, Clock::TimePoint start) {
  version_unavailable_ = false;
  version_ = initial.resource_version;
  std::vector<ObjectRef> objects = std::move(initial.objects).Take();
  std::vector<UndecodableObject> undecodable = std::move(initial.unnamed);
  for (auto& [key, object] : initial.undecodable) undecodable.push_back(Placed(std::move(object)));
  const std::size_t count = objects.size();
  ++unflushed_;
  sink_.Replace(std::move(objects), version_, std::move(undecodable));
  {
    MutexLock lock(mu_);
    ++status_.lists;
  }
  Flush();
  Observe("reflector_list_duration_seconds", std::chrono::duration<double>(Now() - start).count());
  Observe("reflector_items_per_list", static_cast<double>(count));
}

std::optional<Reflector::Impl::Ending> Reflector::Impl::OnInitialEvent(WatchEventType type, NewObject object, OpenWatch& watch,
                                                                       InitialList& initial) {
  const String version = form_.ResourceVersion(object.get());
  if (type != WatchEventType::kAdded) watch.ordered = true;
  if (watch.ordered && !version.empty()) initial.resource_version = version.str();
  if (type == WatchEventType::kBookmark) {
    if (form_.Annotation(object.get(), kInitialEventsEnd) != String("true")) return std::nullopt;
    return Ending{Ending::Kind::kSynced, std::nullopt};
  }
  if (!initial.undecodable.empty()) initial.undecodable.erase(form_.Key(object.get()));
  if (type == WatchEventType::kDeleted) {
    initial.objects.Erase(object.get());
    return std::nullopt;
  }
  if (std::optional<UndecodableObject> refused = Refused(object.get())) {
    initial.Mark(*std::move(refused));
    return std::nullopt;
  }
  initial.objects.Set(std::move(object));
  return std::nullopt;
}

// ---- Watches ----

std::optional<Error> Reflector::Impl::Watch(const Context& ctx, std::unique_ptr<OpenWatch> watch) {
  RetryWindow retry(options_.internal_error_retry);
  resync_base_ = Now();
  bool was_away = false;  // the server refused connections: another one may answer now
  for (;;) {
    if (ctx.stopped()) return std::nullopt;
    if (watch == nullptr) {
      WatchOptions request;
      request.resource_version = version_;
      Result<std::unique_ptr<OpenWatch>> opened = Open(ctx, request);
      if (!opened) {
        if (ctx.stopped()) return std::nullopt;
        const Error& error = opened.error();
        if (!IsWorthWaiting(error)) {
          FailRound(Phase::kOpen, error);
          return error;
        }
        Report(Phase::kOpen, error);
        was_away = was_away || IsConnectionRefused(error);
        if (Result<void> waited = Wait(ctx, error.message(), true); !waited) {
          if (!ctx.stopped()) FailRound(Phase::kWatch, waited.error());
          return std::nullopt;
        }
        continue;
      }
      watch = *std::move(opened);
      Worked(Phase::kOpen);
    }
    Become(ReflectorState::kWatching, "the watch is open");
    std::optional<Ending> gone_back;
    if (std::exchange(was_away, false)) gone_back = CheckVersion(ctx, *watch);
    Ending ending = gone_back ? *std::move(gone_back) : Read(ctx, *watch, nullptr);
    if (ending.kind == Ending::Kind::kEnded) {
      if (VeryShort(*watch)) {
        ending = Failed(TransportError(transport_reason::kUnexpectedEof, "the watch ended within a second without an event"));
      } else if (!troubles_.empty()) {
        Worked(Phase::kWatch);
      }
    }
    Close(watch);
    Flush();
    if (!GoOnAfter(ctx, ending, retry)) return std::nullopt;
    if (sink_.WantsList()) {
      options_.log.V(2).Info("There are objects that could not be identified: listing again");
      return std::nullopt;
    }
  }
}

bool Reflector::Impl::GoOnAfter(const Context& ctx, const Ending& ending, RetryWindow& retry) {
  if (ending.kind == Ending::Kind::kStopped || ctx.stopped()) return false;
  if (!ending.error) return true;
  const Error& error = *ending.error;
  if (IsExpired(error)) {
    // The version is kept: a list at it means "at least as new".
    options_.log.V(4).Info("The version of the watch has expired: listing again", {{"version", version_}, {"err", error}});
    return false;
  }
  if (IsTooLargeResourceVersion(error)) {
    options_.log.Warn(options_.what + ": the server's versions went backwards: listing again", {{"version", version_}, {"err", error}});
    version_unavailable_ = true;
    return false;
  }
  if (IsTooManyRequests(error)) {
    Report(Phase::kWatch, error);
    const Result<void> waited = Wait(ctx, error.message(), true);
    if (!waited && !ctx.stopped()) FailRound(Phase::kWatch, waited.error());
    return waited.ok();
  }
  if (error.kind() == ErrorKind::kApi && IsInternalError(error) && retry.Retry(Now())) {
    options_.log.V(2).Info("The server had an internal error: watching again", {{"err", error}});
    return true;
  }
  FailRound(Phase::kWatch, error);
  return false;
}

Reflector::Impl::Ending Reflector::Impl::Read(const Context& ctx, OpenWatch& watch, InitialList* initial) {
  NewObject object;
  // One for each period, not for each event: it ends when a timer is due.
  std::optional<Context> period;
  std::optional<Clock::TimePoint> period_end;
  for (;;) {
    const bool ready = watch.stream->Ready();
    if (!ready || unflushed_ >= kFlushAfter) Flush();
    if (!ready || !period) {
      Clock::TimePoint wake = watch.overdue;
      if (initial != nullptr) {
        wake = std::min(wake, initial->next_warning);
      } else if (!watch.checked && watch.events == 0) {
        wake = std::min(wake, watch.start + kSilence);
      }
      const std::optional<Clock::TimePoint> resync = initial == nullptr ? ResyncDue() : std::nullopt;
      if (resync) wake = std::min(wake, *resync);
      if (wake != period_end) {
        period_end = wake;
        period.emplace(ctx.WithDeadline(wake));
      }
    }
    if (ctx.stopped()) return {Ending::Kind::kStopped, std::nullopt};
    if (period->stopped()) {
      if (std::optional<Ending> over = OnTimer(ctx, watch, initial)) return *std::move(over);
      period.reset();
      period_end.reset();
      continue;
    }

    if (object == nullptr) object = form_.Make();
    WatchEventType type{};
    std::optional<Error> error;
    const Result<bool> more = watch.stream->Next(*period, type, object.get(), error);
    if (!more) {
      if (ctx.stopped() || period->stopped()) continue;
      return Failed(more.error());
    }
    if (!*more) return {Ending::Kind::kEnded, std::nullopt};
    heard_ = Now();
    if (type == WatchEventType::kError) return Failed(error.value_or(Error::Internal("the watch failed without a reason")));
    ++events_;
    ++watch.events;
    if (!troubles_.empty()) Worked(Phase::kWatch);
    if (error) {
      object = nullptr;  // half of it may be there
      if (std::optional<Ending> over = OnUndecodable(type, Placed(watch.stream->TakeUndecodable()), *error, watch, initial)) {
        return *std::move(over);
      }
      continue;
    }
    if (!Acceptable(type, object.get())) {
      if (initial != nullptr && type == WatchEventType::kAdded) initial->Mark(Unusable(object.get()));
      object = nullptr;
      continue;
    }
    if (Nameless(type, object.get())) {
      UndecodableObject unusable = Unusable(object.get());
      object = nullptr;
      const Error reason = UndecodableError(unusable);
      if (std::optional<Ending> over = OnUndecodable(type, std::move(unusable), reason, watch, initial)) return *std::move(over);
      continue;
    }
    if (type != WatchEventType::kBookmark) LearnScope(object.get());
    if (initial == nullptr) {
      OnEvent(type, std::exchange(object, nullptr), watch);
    } else if (std::optional<Ending> over = OnInitialEvent(type, std::exchange(object, nullptr), watch, *initial)) {
      return *std::move(over);
    }
  }
}

std::optional<Reflector::Impl::Ending> Reflector::Impl::CheckVersion(const Context& ctx, OpenWatch& watch) {
  if (std::exchange(watch.checked, true)) return std::nullopt;
  ListOptions request = ListRequest();
  request.resource_version = watch.from;
  // Events wait meanwhile, so a server that does not answer is not waited for.
  const Result<void> reached = source_->CheckVersion(ctx.WithTimeout(kVersionCheck), request);
  if (reached || !IsTooLargeResourceVersion(reached.error())) return std::nullopt;
  return Failed(reached.error());
}

std::optional<Reflector::Impl::Ending> Reflector::Impl::OnTimer(const Context& ctx, OpenWatch& watch, InitialList* initial) {
  const Clock::TimePoint now = Now();
  if (now >= watch.overdue) {
    options_.log.V(3).Info("The server did not end the watch in time");
    return Ending{Ending::Kind::kEnded, std::nullopt};
  }
  if (initial != nullptr) {
    if (now < initial->next_warning) return std::nullopt;
    initial->next_warning = now + kBookmarkWarning;
    const std::chrono::nanoseconds silence = now - (watch.events == 0 ? watch.start : heard_.value_or(watch.start));
    if (watch.events == 0) {
      options_.log.Warn("No event of a streamed list has arrived yet", {{"since", silence}});
    } else if (silence >= kBookmarkWarning) {
      options_.log.Warn("The bookmark that ends a streamed list has not arrived", {{"events", watch.events}, {"since", silence}});
    }
    return CheckVersion(ctx, watch);
  }
  if (!watch.checked && watch.events == 0 && now >= watch.start + kSilence) {
    if (std::optional<Ending> gone_back = CheckVersion(ctx, watch)) return gone_back;
  }
  const std::optional<Clock::TimePoint> resync = ResyncDue();
  if (!resync || now < *resync) return std::nullopt;
  if (Result<void> resynced = Resync(); !resynced) return Failed(resynced.error());
  return std::nullopt;
}

std::optional<Reflector::Impl::Ending> Reflector::Impl::OnUndecodable(WatchEventType type, UndecodableObject object, const Error& error,
                                                                      OpenWatch& watch, InitialList* initial) {
  const bool deleted = type == WatchEventType::kDeleted;
  if (type != WatchEventType::kAdded) watch.ordered = true;
  if (!object.named()) {
    // What a list has may be left out of it. What changes later is known to a new list alone.
    if (initial == nullptr || type != WatchEventType::kAdded) return Failed(error);
    initial->Mark(std::move(object));
    return std::nullopt;
  }
  const std::string version = object.resource_version.str();
  if (initial == nullptr) {
    sink_.Undecodable(std::move(object), deleted);
    ++unflushed_;
    if (watch.ordered) SetResourceVersion(version);
    return std::nullopt;
  }
  if (watch.ordered && !version.empty()) initial->resource_version = version;
  // A version that came before stays beside the mark: it is the last good one.
  if (deleted) {
    initial->objects.Erase(object.key);
    initial->undecodable.erase(object.key);
  } else {
    initial->Mark(std::move(object));
  }
  return std::nullopt;
}

void Reflector::Impl::OnEvent(WatchEventType type, NewObject object, OpenWatch& watch) {
  const String version = form_.ResourceVersion(object.get());
  if (type == WatchEventType::kBookmark) {
    if (!version.empty()) sink_.Bookmark(version.str());
  } else {
    std::optional<UndecodableObject> refused = Refused(object.get());
    if (refused) {
      options_.log.V(4).Info("The transform failed for an event",
                             {{"key", refused->key.ToString()}, {"type", ToString(type)}, {"err", refused->error}});
    }
    if (type == WatchEventType::kDeleted) {
      sink_.Delete(std::move(object));
    } else if (refused) {
      sink_.Undecodable(*std::move(refused), false);
    } else if (type == WatchEventType::kAdded) {
      sink_.Add(std::move(object));
    } else {
      sink_.Update(std::move(object));
    }
  }
  ++unflushed_;
  if (type != WatchEventType::kAdded) watch.ordered = true;
  if (watch.ordered) SetResourceVersion(version.str());
}

}  // namespace kube::internal
