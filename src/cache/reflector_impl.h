// The implementation of Reflector. Everything except the published copies belongs to the thread of Run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cache/initial_objects.h"
#include "cache/reflector.h"
#include "cache/reflector_rules.h"
#include "cache/undecodable_set.h"

namespace kube::internal {

class Reflector::Impl {
 public:
  Impl(std::shared_ptr<ObjectSource> source, DeltaSink& sink, ReflectorOptions options);

  void Run(const Context& ctx);
  std::optional<Error> ListAndWatch(const Context& ctx);
  ReflectorStatus status() const;
  std::string last_resource_version() const;
  Interner::Stats sharing() const;

 private:
  // A watch that the server has accepted. The destructor stops it.
  struct OpenWatch {
    ~OpenWatch() { stream->Stop(); }
    std::unique_ptr<WatchStream> stream;
    Clock::TimePoint start;
    Clock::TimePoint overdue;  // when the server should have ended it
    std::string from{};        // the version that was sent
    std::uint64_t events = 0;
    bool checked = false;  // the server has `from`, or was asked
    // Whether versions of events are in order: not before the first event other than ADDED, if the watch began with the initial list.
    bool ordered = false;
  };
  // A streamed list so far.
  struct InitialList {
    explicit InitialList(const ObjectForm& form) : objects(form) {}
    InitialObjects objects;
    std::map<ObjectKey, UndecodableObject> undecodable{};
    std::vector<UndecodableObject> unnamed{};
    std::string resource_version{};
    Clock::TimePoint next_warning{};
    std::size_t reasons = 0;

    // Drops reasons beyond the limit, so that a list with more broken objects does not take more memory.
    void Mark(UndecodableObject object) {
      if (++reasons > UndecodableSet::kMost) DropReason(object);
      if (object.named()) {
        undecodable.insert_or_assign(object.key, std::move(object));
      } else {
        unnamed.push_back(std::move(object));
      }
    }
  };
  struct Listed {
    std::vector<NewObject> objects{};
    std::vector<UndecodableObject> undecodable{};
    std::string resource_version{};
    bool paginated = false;

    // See InitialList::Mark.
    void Mark(UndecodableObject object) {
      if (undecodable.size() >= UndecodableSet::kMost) DropReason(object);
      undecodable.push_back(std::move(object));
    }
  };
  // Why reading a watch ended.
  struct Ending {
    enum class Kind : std::uint8_t { kStopped, kSynced, kEnded, kFailed };
    Kind kind = Kind::kEnded;
    std::optional<Error> error{};  // for kFailed
  };
  enum class Streamed : std::uint8_t { kSynced, kStopped, kFallBack };
  // What an error was about: a successful list does not clear errors of watches.
  enum class Phase : std::uint8_t { kList, kOpen, kWatch };
  struct Trouble {
    Phase phase;
    std::string kind;
    auto operator<=>(const Trouble&) const = default;
  };

  // ---- reflector.cc: state, words, waits ----
  std::optional<Error> Round(const Context& ctx);
  // The only place that changes the state.
  void Become(ReflectorState to, std::string_view why);
  void Report(Phase phase, const Error& error);
  void FailRound(Phase phase, const Error& error);
  void Worked(Phase phase);
  void CallOnError(const Error& error);
  void UseClock(const Context& ctx);
  Clock::TimePoint Now() const { return clock_->Now(); }
  // Waits as the backoff requires. Resyncs continue if `watching`; a failed one is returned. A stopped context is not an error.
  Result<void> Wait(const Context& ctx, std::string_view why, bool watching);
  // Publishes the status and flushes the sink.
  void Flush();
  void Publish();
  void SetResourceVersion(const std::string& version);
  // Whether the cache accepts the object. Logs if not.
  bool Acceptable(WatchEventType type, const void* object) const;
  // Whether it has no key, so that the cached object is unknown.
  bool Nameless(WatchEventType type, const void* object) const;
  // A listed object that is not acceptable: it exists but cannot be used.
  UndecodableObject Unusable(const void* object) const;
  // Removes a key that no object of this collection can have.
  UndecodableObject Placed(UndecodableObject object) const;
  void LearnScope(const void* object);
  // Transforms the object. If the transform rejects it, returns it as undecodable.
  std::optional<UndecodableObject> Refused(void* object) const;
  Result<void> Transform(void* object) const;
  // Null if there is none.
  std::optional<Clock::TimePoint> ResyncDue();
  Result<void> Resync();
  void Count(std::string_view metric, double by = 1) const;
  void Observe(std::string_view metric, double value) const;

  // ---- reflector_list.cc ----
  std::optional<Error> List(const Context& ctx);
  std::optional<Error> ListPages(const Context& ctx, const std::string& version, std::int64_t limit, Listed& out);
  ListOptions ListRequest() const;

  // ---- reflector_watch.cc ----
  Streamed StreamList(const Context& ctx, std::unique_ptr<OpenWatch>& watch, std::optional<Error>& error);
  // Whether to try again, after the preparations for that.
  bool TryStreamAgain(const Context& ctx, const Error& error, const std::string& sent_version);
  void TakeInitialList(InitialList initial, Clock::TimePoint start);
  std::optional<Error> Watch(const Context& ctx, std::unique_ptr<OpenWatch> watch);
  // What follows the end of a watch: true to watch again, false to end the round, with an error if `error` has one.
  bool GoOnAfter(const Context& ctx, const Ending& ending, RetryWindow& retry);
  Result<std::unique_ptr<OpenWatch>> Open(const Context& ctx, WatchOptions request);
  void Close(std::unique_ptr<OpenWatch>& watch);
  // With `initial`, reads until the list is complete.
  Ending Read(const Context& ctx, OpenWatch& watch, InitialList* initial);
  Ending Failed(Error error) const { return {Ending::Kind::kFailed, std::move(error)}; }
  bool VeryShort(const OpenWatch& watch) const;
  // Handles due timers. Returns nullopt to continue reading.
  std::optional<Ending> OnTimer(const Context& ctx, OpenWatch& watch, InitialList* initial);
  // If a server was restored from a backup, its versions are lower than before. It then answers a watch from a version that it does not
  // have with silence, and never completes a streamed list from there. Checks once per watch. Returns an ending if the version is too large
  // for the server.
  std::optional<Ending> CheckVersion(const Context& ctx, OpenWatch& watch);
  std::optional<Ending> OnInitialEvent(WatchEventType type, NewObject object, OpenWatch& watch, InitialList& initial);
  void OnEvent(WatchEventType type, NewObject object, OpenWatch& watch);
  // Handles an event whose object cannot be decoded. Returns an ending if the object is unknown, so that only a list can help.
  std::optional<Ending> OnUndecodable(WatchEventType type, UndecodableObject object, const Error& error, OpenWatch& watch,
                                      InitialList* initial);
  std::int64_t WatchSeconds() const;

  const std::shared_ptr<ObjectSource> source_;
  DeltaSink& sink_;
  const ReflectorOptions options_;
  const ObjectForm& form_;
  const bool streaming_;
  const std::unique_ptr<Interner> interner_;  // null if nothing is shared
  DecodeOptions decode_;

  std::shared_ptr<Clock> clock_;
  std::unique_ptr<BackoffManager> backoff_;
  ReflectorState state_ = ReflectorState::kIdle;
  std::string version_{};             // of the last list or event
  bool version_unavailable_ = false;  // the server does not have `version_`
  bool paginated_ = false;            // the first list was paginated: the server has no cache to protect
  std::optional<bool> namespaced_{};  // whether the kind is namespaced; unset until known
  std::set<Trouble> troubles_{};      // those already logged
  std::uint64_t events_ = 0;          // all events
  std::uint64_t unflushed_ = 0;       // calls of the sink since its last Flush
  std::optional<Clock::TimePoint> heard_{};
  Clock::TimePoint resync_base_{};  // the last resync, or the start of watching

  mutable Mutex mu_;
  ReflectorStatus status_ KUBE_GUARDED_BY(mu_);
  Interner::Stats sharing_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
