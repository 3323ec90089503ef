// InformerCore: the informer behind its handles. A reflector fills the delta buffer, the buffer drives this, and this writes to the store
// and tells the handlers; all on the reflector's thread.
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

// The number in a resource version, as servers write them; nothing for anything else.
std::optional<std::uint64_t> VersionNumber(std::string_view resource_version);

// What an informer with these options decodes.
FieldSelection FieldsOf(const InformerOptions& options);

// A state of an object that somebody waits for.
struct Awaited {
  ObjectKey key{};
  std::uint64_t version = 0;  // this one or a newer one, or anything that came after it
  // The object is not what the informer selects: it is there no more, or newer than that. Its version may never come by.
  bool unselected = false;
  enum class Deletion : std::uint8_t { kNone, kAskedFor, kDone };
  Deletion deletion = Deletion::kNone;  // of the object with this UID, of any where it is empty
  String uid{};
  // NextStamp() when the wait began. A list that goes back in versions after it ends the wait: the version may never come.
  std::uint64_t stamp = 0;
};

// Grows with each call, over all informers of the process.
std::uint64_t NextStamp();

// Thread safety: all public functions from any thread.
class InformerCore : public std::enable_shared_from_this<InformerCore>, private DeltaConsumer {
 public:
  // `gvk` is of DynamicObjects, as far as it is known: objects of other groups, versions and kinds are skipped.
  InformerCore(std::shared_ptr<ObjectSource> source, const ObjectForm& form, Gvr gvr, InformerOptions options,
               std::shared_ptr<MetricsSink> metrics, Gvk gvk = {});
  ~InformerCore() override;

  void Start(const Context& ctx);
  // Waits for all threads, unless one of them calls.
  void Stop();

  Result<std::shared_ptr<HandlerThread>> AddHandler(Handler handler, const HandlerOptions& options);
  // Waits for a running call where `wait`.
  void RemoveHandler(const std::shared_ptr<HandlerThread>& handler, bool wait);
  Result<void> SetTransform(std::function<Result<void>(void*)> transform);
  Result<void> SetOnError(std::function<void(const Error&)> on_error);

  bool started() const;
  bool HasSynced() const { return buffer_.HasSynced(); }
  // What the cache holds is not what the server has.
  bool has_transform() const {
    const MutexLock lock(mu_);
    return transform_ != nullptr;
  }
  Result<void> WaitForSync(const Context& ctx);
  // Or until the server has said that it does not have the kind, or does not allow it. True: the cache was complete once.
  Result<bool> WaitForSyncOrRefusal(const Context& ctx);
  // The last word of the server was that, and the cache was never complete.
  bool refused() const;
  Result<void> WaitUntilSeen(const Context& ctx, const ObjectKey& key, std::string_view resource_version);
  Result<void> WaitUntilSeen(const Context& ctx, const Awaited& awaited);
  bool HasSeen(const Awaited& awaited) const;
  // Calls `callback` once, when it has been seen or the informer stops: on the reflector's thread, or that of Stop. It must be quick.
  // Nothing: that is so already, and nobody is called.
  std::optional<std::uint64_t> NotifyWhenSeen(Awaited awaited, std::function<void()> callback);
  // The callback is not called any more, but may be running.
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
  // One without a name stands for all that could not be identified.
  bool WantsList() override { return store_->FindUndecodable({}).has_value(); }
  void Resynced() override;
  void Bookmarked(const std::string& resource_version) override;
  void Synced() override;

  void Apply(const Delta& delta, bool initial, std::vector<Notification>& out) KUBE_REQUIRES(mu_);
  // ---- informer_undecodable.cc ----
  // A list did not have them, because they could not be decoded: adds what is there of them to `objects`, and marks what else may be.
  void KeepUndecodable(std::vector<ObjectRef>& objects, std::vector<UndecodableObject>& undecodable) KUBE_REQUIRES(mu_);
  void ApplyUndecodable(UndecodableObject object, bool deleted, std::vector<Notification>& out) KUBE_REQUIRES(mu_);
  // An older event of an object than the one that could not be decoded.
  bool OlderThanUndecodable(const ObjectKey& key, std::optional<std::uint64_t> version) const;
  bool IsAnother(const ObjectRef& object, const String& uid) const;
  void SayUndecodable(const UndecodableObject& object) KUBE_REQUIRES(mu_);

  bool DeletedSince(const ObjectKey& key, std::uint64_t version) const;
  void RememberDeleted(const ObjectKey& key, std::uint64_t version);
  // `assist`: those of `assist_` are waiting for the reflector's thread then.
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
  const FieldSelection fields_;  // of the options, all in one
  const std::shared_ptr<MetricsSink> metrics_;
  const Logger log_;
  const std::shared_ptr<Store> store_;
  DeltaBuffer buffer_;

  // Held while the store changes and the handlers' queues get what changed: who holds it sees both in step.
  mutable Mutex mu_;
  std::vector<std::shared_ptr<HandlerThread>> handlers_ KUBE_GUARDED_BY(mu_);
  int next_handler_ KUBE_GUARDED_BY(mu_) = 1;
  std::uint64_t notifications_ KUBE_GUARDED_BY(mu_) = 0;
  std::function<Result<void>(void*)> transform_ KUBE_GUARDED_BY(mu_);
  std::function<void(const Error&)> on_error_ KUBE_GUARDED_BY(mu_);
  bool started_ KUBE_GUARDED_BY(mu_) = false;
  bool stopped_ KUBE_GUARDED_BY(mu_) = false;
  std::shared_ptr<Clock> clock_ KUBE_GUARDED_BY(mu_);
  // How many objects that cannot be decoded the log has named since when.
  std::optional<Clock::TimePoint> named_since_ KUBE_GUARDED_BY(mu_);
  std::size_t named_ KUBE_GUARDED_BY(mu_) = 0;
  std::unique_ptr<PartMemory> parts_ KUBE_GUARDED_BY(mu_);     // the reflector's; null where nothing is shared
  std::unique_ptr<Reflector> reflector_ KUBE_GUARDED_BY(mu_);  // made by Start, then there to the end
  std::optional<CancelSource> cancel_ KUBE_GUARDED_BY(mu_);
  std::atomic<std::chrono::nanoseconds::rep> resync_period_;  // how often handlers are looked at; 0: never

  // What has been seen of the server, for those who wait.
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

  // The last deletions, in case an older event of the same object comes behind them; the reflector's thread alone.
  struct Gone {
    ObjectKey key;
    std::uint64_t version = 0;
  };
  std::array<Gone, 64> gone_;
  std::size_t next_gone_ = 0;
  std::uint64_t newest_ = 0;  // of all events
  // What the handlers were told last; the reflector's thread alone. Mostly it has the last reference to an object that was replaced, and
  // frees it with the next event: here what the object shares with others is at hand, and the memory serves the event after that.
  std::vector<Notification> told_;
  std::vector<std::shared_ptr<HandlerThread>> assist_;  // the reflector thread's own

  Mutex join_mu_ KUBE_ACQUIRED_BEFORE(mu_);
  Thread thread_ KUBE_GUARDED_BY(join_mu_);
  std::atomic<std::thread::id> thread_id_{};
};

}  // namespace kube::internal
