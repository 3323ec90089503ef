// InformerCore: the informer behind its handles. A reflector fills the delta buffer, which drives this class, which updates the store and
// notifies the handlers; all on the reflector's thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cache/delta_buffer.h"
#include "cache/handler.h"
#include "cache/part_memory.h"
#include "cache/reflector.h"
#include "cache/source.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/cache/indexer.h"
#include "kube/cache/informer.h"
#include "kube/codec/field_selection.h"

namespace kube::internal {

// The number in a resource version; nullopt if it is not a number.
std::optional<std::uint64_t> VersionNumber(std::string_view resource_version);

// The fields that an informer with these options decodes.
FieldSelection FieldsOf(const InformerOptions& options);

// A state of an object that a caller waits for.
struct Awaited {
  ObjectKey key{};
  std::uint64_t version = 0;  // this version, a newer one, or any later event
  // The informer does not select the object any more: it was removed from the cache, or has a newer version. Its version may never appear.
  bool unselected = false;
  enum class Deletion : std::uint8_t { kNone, kAskedFor, kDone };
  Deletion deletion = Deletion::kNone;  // of the object with this UID; of any if that is empty
  String uid{};
  // NextStamp() when the wait began. A later list with older versions ends the wait: the version may never appear.
  std::uint64_t stamp = 0;
};

// Increases with each call, across all informers of the process.
std::uint64_t NextStamp();

// Thread safety: all public functions may be called from any thread.
class InformerCore : public std::enable_shared_from_this<InformerCore>, private DeltaConsumer {
 public:
  // `gvk` is for DynamicObjects, as far as known: objects of other groups, versions and kinds are skipped.
  InformerCore(std::shared_ptr<ObjectSource> source, const ObjectForm& form, Gvr gvr, InformerOptions options,
               std::shared_ptr<MetricsSink> metrics, Gvk gvk = {});
  ~InformerCore() override;

  void Start(const Context& ctx);
  // Waits for all threads, except the calling one.
  void Stop();

  Result<std::shared_ptr<HandlerThread>> AddHandler(Handler handler, const HandlerOptions& options);
  // With `wait`, waits for a running call.
  void RemoveHandler(const std::shared_ptr<HandlerThread>& handler, bool wait);
  Result<void> SetTransform(std::function<Result<void>(void*)> transform);
  Result<void> SetOnError(std::function<void(const Error&)> on_error);

  bool started() const;
  bool HasSynced() const { return buffer_.HasSynced(); }
  // Whether the cache differs from the server by a transform.
  bool has_transform() const {
    const MutexLock lock(mu_);
    return transform_ != nullptr;
  }
  Result<void> WaitForSync(const Context& ctx);
  // Also returns if the server lacks the kind or forbids reading it. True: the cache has synced.
  Result<bool> WaitForSyncOrRefusal(const Context& ctx);
  // Whether that was the server's last answer, and the cache has never synced.
  bool refused() const;
  Result<void> WaitUntilSeen(const Context& ctx, const ObjectKey& key, std::string_view resource_version);
  Result<void> WaitUntilSeen(const Context& ctx, const Awaited& awaited);
  bool HasSeen(const Awaited& awaited) const;
  // Calls `callback` once, when the state was seen or the informer stops: on the reflector's thread, or that of Stop. It must not block.
  // Returns nullopt, without a call, if that is already so.
  std::optional<std::uint64_t> NotifyWhenSeen(Awaited awaited, std::function<void()> callback);
  // The callback is not called any more, but may still be running.
  void CancelNotify(std::uint64_t id);
  InformerStatus status() const;
  const std::shared_ptr<Store>& store() const { return store_; }
  const Gvr& gvr() const { return gvr_; }
  const ObjectForm& form() const { return form_; }
  const InformerOptions& options() const { return options_; }
  bool stopped() const;

 private:
  // ---- DeltaConsumer: on the reflector's thread ----
  void Changed(std::span<const Delta> deltas, bool initial) override;
  void Replaced(std::vector<ObjectRef> objects, const std::string& resource_version, bool initial,
                std::vector<UndecodableObject> undecodable) override;
  void Undecodable(UndecodableObject object, bool deleted) override;
  // An entry without a name stands for all objects that could not be identified.
  bool WantsList() override { return store_->FindUndecodable({}).has_value(); }
  void Resynced() override;
  void Bookmarked(const std::string& resource_version) override;
  void Synced() override;

  void Apply(const Delta& delta, bool initial, std::vector<Notification>& out) KUBE_REQUIRES(mu_);
  // ---- informer_undecodable.cc ----
  // Handles objects that a list lacks because they cannot be decoded: adds their cached versions to `objects`, and marks others that may
  // exist.
  void KeepUndecodable(std::vector<ObjectRef>& objects, std::vector<UndecodableObject>& undecodable) KUBE_REQUIRES(mu_);
  void ApplyUndecodable(UndecodableObject object, bool deleted, std::vector<Notification>& out) KUBE_REQUIRES(mu_);
  // Whether this is an older event than the undecodable version of the object.
  bool OlderThanUndecodable(const ObjectKey& key, std::optional<std::uint64_t> version) const;
  bool IsAnother(const ObjectRef& object, const String& uid) const;
  void SayUndecodable(const UndecodableObject& object) KUBE_REQUIRES(mu_);

  bool DeletedSince(const ObjectKey& key, std::uint64_t version) const;
  void RememberDeleted(const ObjectKey& key, std::uint64_t version);
  // With `assist`, the handlers in `assist_` then wait for the reflector's thread.
  void Tell(std::span<const Notification> notifications, bool assist) KUBE_REQUIRES(mu_);
  void TellAll(HandlerThread& handler, bool initial) KUBE_REQUIRES(mu_);
  void Seen(std::optional<std::uint64_t> version, bool replaced);
  bool HasSeenLocked(const Awaited& awaited) const KUBE_REQUIRES(seen_mu_);
  void Over() KUBE_EXCLUDES(seen_mu_);
  void Failed(const Error& error) KUBE_EXCLUDES(seen_mu_);
  std::chrono::nanoseconds ResyncPeriod() const;
  ReflectorOptions MakeReflectorOptions() KUBE_REQUIRES(mu_);
  void Run(const Context& ctx);
  std::string Describe() const;

  const std::shared_ptr<ObjectSource> source_;
  const ObjectForm& form_;
  const Gvr gvr_;
  const Gvk gvk_;
  const std::string what_;
  const InformerOptions options_;
  const FieldSelection fields_;  // those of the options, combined
  const std::shared_ptr<MetricsSink> metrics_;
  const Logger log_;
  const std::shared_ptr<Store> store_;
  DeltaBuffer buffer_;

  // Held while the store and the handlers' queues change, so that a holder sees both in step.
  mutable Mutex mu_;
  std::vector<std::shared_ptr<HandlerThread>> handlers_ KUBE_GUARDED_BY(mu_);
  int next_handler_ KUBE_GUARDED_BY(mu_) = 1;
  std::uint64_t notifications_ KUBE_GUARDED_BY(mu_) = 0;
  std::function<Result<void>(void*)> transform_ KUBE_GUARDED_BY(mu_);
  std::function<void(const Error&)> on_error_ KUBE_GUARDED_BY(mu_);
  bool started_ KUBE_GUARDED_BY(mu_) = false;
  bool stopped_ KUBE_GUARDED_BY(mu_) = false;
  std::shared_ptr<Clock> clock_ KUBE_GUARDED_BY(mu_);
  // The number of undecodable objects that the log has named since then.
  std::optional<Clock::TimePoint> named_since_ KUBE_GUARDED_BY(mu_);
  std::size_t named_ KUBE_GUARDED_BY(mu_) = 0;
  std::unique_ptr<PartMemory> parts_ KUBE_GUARDED_BY(mu_);     // used by the reflector; null if nothing is shared
  std::unique_ptr<Reflector> reflector_ KUBE_GUARDED_BY(mu_);  // created by Start, never replaced
  std::optional<CancelSource> cancel_ KUBE_GUARDED_BY(mu_);
  std::atomic<std::chrono::nanoseconds::rep> resync_period_;  // how often resyncs are checked; 0 for never

  // What was seen of the server, for waiting callers.
  mutable Mutex seen_mu_ KUBE_ACQUIRED_AFTER(mu_);
  CondVar seen_changed_;
  std::uint64_t seen_ KUBE_GUARDED_BY(seen_mu_) = 0;
  std::uint64_t went_back_ KUBE_GUARDED_BY(seen_mu_) = 0;  // the stamp of the last list that was older than `seen_`
  int waiting_ KUBE_GUARDED_BY(seen_mu_) = 0;
  bool synced_ KUBE_GUARDED_BY(seen_mu_) = false;
  bool refused_ KUBE_GUARDED_BY(seen_mu_) = false;
  bool over_ KUBE_GUARDED_BY(seen_mu_) = false;
  struct SeenWatch {
    std::uint64_t id = 0;
    Awaited awaited{};
    std::function<void()> callback{};
  };
  std::vector<SeenWatch> seen_watches_ KUBE_GUARDED_BY(seen_mu_);
  std::uint64_t next_seen_watch_ KUBE_GUARDED_BY(seen_mu_) = 1;

  // The latest deletions, to recognize an older event of the same object that arrives later. Used by the reflector's thread only.
  struct Gone {
    ObjectKey key;
    std::uint64_t version = 0;
  };
  std::array<Gone, 64> gone_;
  std::size_t next_gone_ = 0;
  std::uint64_t newest_ = 0;  // of all events
  // The last notifications. Used by the reflector's thread only. It usually has the last reference to a replaced object, which the next
  // event frees: the parts that it shares with others are cached by then, and its memory is reused.
  std::vector<Notification> told_;
  std::vector<std::shared_ptr<HandlerThread>> assist_;  // used by the reflector's thread only

  Mutex join_mu_ KUBE_ACQUIRED_BEFORE(mu_);
  Thread thread_ KUBE_GUARDED_BY(join_mu_);
  std::atomic<std::thread::id> thread_id_{};
};

}  // namespace kube::internal
