// The inside of a Reflector; see reflector.h for what it does. Everything but the published copies belongs to the thread of Run.
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
  // A watch that the server has accepted. It is stopped when this goes, whatever the way.
  struct OpenWatch {
    ~OpenWatch() { stream->Stop(); }
    std::unique_ptr<WatchStream> stream;
    Clock::TimePoint start;
    Clock::TimePoint overdue;  // the server should have ended it long ago
    std::string from{};        // the version that was sent
    std::uint64_t events = 0;
    bool checked = false;  // the server has `from`, or was asked
    // The versions of events are in order: not before the first one that is no ADDED, where the watch started with what was there.
    bool ordered = false;
  };
  // What came of a list that is a stream so far.
  struct InitialList {
    explicit InitialList(const ObjectForm& form) : objects(form) {}
    InitialObjects objects;
    std::map<ObjectKey, UndecodableObject> undecodable{};
    std::vector<UndecodableObject> unnamed{};
    std::string resource_version{};
    Clock::TimePoint next_warning{};
    std::size_t reasons = 0;

    // Drops the reasons beyond the limit: a list must not take more memory because more of it is broken.
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

    // As InitialList::Mark.
    void Mark(UndecodableObject object) {
      if (undecodable.size() >= UndecodableSet::kMost) DropReason(object);
      undecodable.push_back(std::move(object));
    }
  };
  // Why the reading of a watch was over.
  struct Ending {
    enum class Kind : std::uint8_t { kStopped, kSynced, kEnded, kFailed };
    Kind kind = Kind::kEnded;
    std::optional<Error> error{};  // of kFailed
  };
  enum class Streamed : std::uint8_t { kSynced, kStopped, kFallBack };
  // What an error was about: a list that works again says nothing about watches.
  enum class Phase : std::uint8_t { kList, kOpen, kWatch };
  struct Trouble {
    Phase phase;
    std::string kind;
    auto operator<=>(const Trouble&) const = default;
  };

  // ---- reflector.cc: state, words, waits ----
  std::optional<Error> Round(const Context& ctx);
  // The one place where the state changes.
  void Become(ReflectorState to, std::string_view why);
  void Report(Phase phase, const Error& error);
  void FailRound(Phase phase, const Error& error);
  void Worked(Phase phase);
  void CallOnError(const Error& error);
  void UseClock(const Context& ctx);
  Clock::TimePoint Now() const { return clock_->Now(); }
  // Waits as the backoff says. While watching, resyncs go on meanwhile; one that fails is the error. A stopped context is none.
  Result<void> Wait(const Context& ctx, std::string_view why, bool watching);
  // All that others may see, and what the sink has not worked on.
  void Flush();
  void Publish();
  void SetResourceVersion(const std::string& version);
  // Whether the cache wants it. Logs where it does not.
  bool Acceptable(WatchEventType type, const void* object) const;
  // It has no key, so the cached object is unknown.
  bool Nameless(WatchEventType type, const void* object) const;
  // An object of a list that is not acceptable: it is there, but cannot be used.
  UndecodableObject Unusable(const void* object) const;
  // Without a key that no object of this collection can have.
  UndecodableObject Placed(UndecodableObject object) const;
  void LearnScope(const void* object);
  // Transforms it. What the transform refuses is there, but cannot be used: this is what it was then.
  std::optional<UndecodableObject> Refused(void* object) const;
  Result<void> Transform(void* object) const;
  // Null: none.
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
  // Whether to try again; what that needs is done.
  bool TryStreamAgain(const Context& ctx, const Error& error, const std::string& sent_version);
  void TakeInitialList(InitialList initial, Clock::TimePoint start);
  std::optional<Error> Watch(const Context& ctx, std::unique_ptr<OpenWatch> watch);
  // What to do about the end of a watch: nothing (watch again), or the round is over, with an error where `error` has one.
  bool GoOnAfter(const Context& ctx, const Ending& ending, RetryWindow& retry);
  Result<std::unique_ptr<OpenWatch>> Open(const Context& ctx, WatchOptions request);
  void Close(std::unique_ptr<OpenWatch>& watch);
  // With `initial`: until the list is complete.
  Ending Read(const Context& ctx, OpenWatch& watch, InitialList* initial);
  Ending Failed(Error error) const { return {Ending::Kind::kFailed, std::move(error)}; }
  bool VeryShort(const OpenWatch& watch) const;
  // The timers that are due. Nothing: read on.
  std::optional<Ending> OnTimer(const Context& ctx, OpenWatch& watch, InitialList* initial);
  // A server whose versions have gone back, restored from a backup, answers a watch from a version that it does not have with silence, and
  // never completes a list that is a stream from there. Asks once for each watch; an ending: the version is too large for the server.
  std::optional<Ending> CheckVersion(const Context& ctx, OpenWatch& watch);
  std::optional<Ending> OnInitialEvent(WatchEventType type, NewObject object, OpenWatch& watch, InitialList& initial);
  void OnEvent(WatchEventType type, NewObject object, OpenWatch& watch);
  // An event whose object cannot be decoded. An ending: nobody knows which object it was, so that only a list can help.
  std::optional<Ending> OnUndecodable(WatchEventType type, UndecodableObject object, const Error& error, OpenWatch& watch,
                                      InitialList* initial);
  std::int64_t WatchSeconds() const;

  const std::shared_ptr<ObjectSource> source_;
  DeltaSink& sink_;
  const ReflectorOptions options_;
  const ObjectForm& form_;
  const bool streaming_;
  const std::unique_ptr<Interner> interner_;  // null where nothing is shared
  DecodeOptions decode_;

  std::shared_ptr<Clock> clock_;
  std::unique_ptr<BackoffManager> backoff_;
  ReflectorState state_ = ReflectorState::kIdle;
  std::string version_{};             // of the last list or event
  bool version_unavailable_ = false;  // the server does not have `version_`
  bool paginated_ = false;            // the first list came in pages: the server has no cache to protect
  std::optional<bool> namespaced_{};  // whether objects of the kind are; empty: not known yet
  std::set<Trouble> troubles_{};      // that were said
  std::uint64_t events_ = 0;          // all
  std::uint64_t unflushed_ = 0;       // calls of the sink since its last Flush
  std::optional<Clock::TimePoint> heard_{};
  Clock::TimePoint resync_base_{};  // the last resync, or the begin of watching

  mutable Mutex mu_;
  ReflectorStatus status_ KUBE_GUARDED_BY(mu_);
  Interner::Stats sharing_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
