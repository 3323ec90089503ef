// WriteTracker: writes of reconcilers that caches have not shown yet, and the reads and keys that wait for them.
// kube/control/cached_client.h defines the guarantees.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cache/informer_core.h"
#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/metrics.h"
#include "kube/base/mutex.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/client/write_observer.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"

namespace kube::internal {

// The writer: a key of a controller. Without a controller: all writes outside of reconcilers.
struct Writer {
  String controller{};
  ObjectKey key{};
  friend bool operator==(const Writer&, const Writer&) = default;
};

}  // namespace kube::internal

namespace kube {

// Thread safety: all functions from any thread; HoldBack for one writer on one thread at a time.
// Lifetime: shared by clients, controllers and the contexts of reconcilers; may outlive the factory.
class WriteTracker : public std::enable_shared_from_this<WriteTracker> {
 public:
  using Writer = internal::Writer;
  struct Options {
    bool enabled = true;
    Clock::Duration timeout = std::chrono::seconds(5);
    std::size_t most = 10'000;
    std::shared_ptr<MetricsSink> metrics{};
  };
  WriteTracker(const Client& client, std::shared_ptr<InformerFactory> informers, Options options);
  ~WriteTracker();

  // A child of `ctx` whose writes belong to this writer, and whose cached reads see them.
  Context Scope(const Context& ctx, const String& controller, const ObjectKey& key);
  // The context itself if its writes are recorded already; otherwise one that records them without a writer.
  Context Observed(const Context& ctx);

  // Whether caches have yet to see the writer's writes. If so, `resume` is called once, on any thread, when they have or the wait has timed
  // out. Call HoldBack again then.
  bool HoldBack(const String& controller, const ObjectKey& key, const std::shared_ptr<Clock>& clock, std::function<void()> resume);
  // Ends callbacks for this controller and drops its writes. A callback may still be running.
  void Forget(const String& controller);

  // Waits before a read from that informer. Errors: the context's.
  Result<void> BeforeGet(const Context& ctx, internal::InformerCore& informer, const ObjectKey& key);
  Result<void> BeforeList(const Context& ctx, internal::InformerCore& informer, std::string_view ns);

  std::size_t records() const;
  std::size_t holds() const;

 private:
  class ScopeObserver;
  struct Object {
    GroupResource resource{};
    ObjectKey key{};
    friend bool operator==(const Object&, const Object&) = default;
  };
  struct Hash {
    std::size_t operator()(const Writer& writer) const;
    std::size_t operator()(const Object& object) const;
  };
  struct Record {
    std::uint64_t id = 0;  // increases with each change of the record
    Writer writer{};
    Object object{};
    internal::Awaited awaited{};
    std::optional<Map<String>> labels{};
  };
  using Records = std::vector<Record>;
  struct Hold;

  void Wrote(const Writer& writer, const ObservedWrite& write);
  bool SameServer(const ClientCore& other) const;
  internal::Awaited For(const Record& record, const internal::InformerCore& informer) const;
  // The informers that have, or should have, such an object.
  std::vector<std::shared_ptr<internal::InformerHandle>> Covering(const Object& object) const;
  enum class Sight { kUnseen, kSeen, kUnknown };  // kUnknown: all synced informers have seen it, but one has not synced
  Sight Look(const Record& record) const;
  void Insert(Record record);
  void Erase(const Records& records);
  void EraseLocked(std::uint64_t id) KUBE_REQUIRES(mu_);
  void DropSeen(Records records);
  void Shrink();
  Result<void> Await(const Context& ctx, internal::InformerCore& informer, Records records);
  void GiveUp(const Records& records, Clock::Duration waited);
  // Registers the hold with each cache that has yet to see one of the records.
  void NotifyWhenSeen(const std::shared_ptr<Hold>& hold, const Records& records) const;
  void Release(const Writer& writer, const std::shared_ptr<Hold>& hold);
  void Count(std::string_view counter, const Record& record) const;
  void Observe(const Record& record, Clock::Duration waited) const;

  const std::shared_ptr<const ClientCore> client_;
  const std::shared_ptr<InformerFactory> informers_;  // a view
  const Options options_;

  mutable Mutex mu_;
  std::map<std::uint64_t, Record> records_ KUBE_GUARDED_BY(mu_);  // by id: oldest first
  std::unordered_map<Writer, std::set<std::uint64_t>, Hash> by_writer_ KUBE_GUARDED_BY(mu_);
  std::unordered_map<Object, std::set<std::uint64_t>, Hash> by_object_ KUBE_GUARDED_BY(mu_);
  std::unordered_map<Writer, std::shared_ptr<Hold>, Hash> holds_ KUBE_GUARDED_BY(mu_);
  std::uint64_t next_id_ KUBE_GUARDED_BY(mu_) = 1;
};

}  // namespace kube
