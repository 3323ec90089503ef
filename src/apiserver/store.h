// Store: the objects of the embedded server, their history, and their watchers. It stands for etcd and the watch cache.
//
// Objects are kept as JSON text: small, immutable, and shared with every answer and watch event that carries them. One counter assigns each
// change its version, across all resources, like etcd's revisions. The history of each resource serves watches from an older version, lists
// at an exact version, and the pages of a list. Versions before the compaction get 410.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/value/map.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// One version of one object. Immutable.
struct StoredObject {
  std::string ns, name, uid;
  std::uint64_t version = 0;
  std::shared_ptr<const std::string> json;
  Map<String> labels;
  Map<String> fields;               // selectable fields besides name and namespace
  std::vector<std::string> owners;  // UIDs of its owner references
  bool deleting = false;            // has a deletionTimestamp
  // The schema that `json` conforms to exactly: pruned, with all defaults. Null if not known.
  std::shared_ptr<const void> form;

  // Parses the object; again in each call.
  Value Parse() const;
};
using ObjectPtr = std::shared_ptr<const StoredObject>;

// "ns/name", or "name" for a cluster-scoped object. Lists are in the order of these keys.
std::string StoreKey(std::string_view ns, std::string_view name);

enum class EventType { kAdded, kModified, kDeleted };

struct StoreEvent {
  EventType type = EventType::kAdded;
  std::uint64_t version = 0;
  ObjectPtr object;    // after the change; for kDeleted its last state, with the version of the deletion
  ObjectPtr previous;  // before the change; null for kAdded
};

// Gets events in order. Delivery is serial per resource; it must not call back into the Store.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void OnEvent(const StoreEvent& event) = 0;
  // Everything up to this version has been delivered.
  virtual void OnProgress(std::uint64_t version) = 0;
  // The resource has changed or is no longer served: no event follows.
  virtual void OnEnd() {}
  // A closed watcher gets no more events and is removed later.
  virtual bool closed() const = 0;
};

// A cluster-scoped object that a new object depends on: its namespace, its CustomResourceDefinition.
struct Prerequisite {
  std::string resource, name;
  std::string uid;  // empty for any
};

// A list at one version.
struct Snapshot {
  std::uint64_t version = 0;
  std::vector<ObjectPtr> objects;  // in the order of their keys
};

// Thread safety: all functions may be called from any thread.
class Store {
 public:
  Store();

  // The version of the last change, 1 at the start.
  std::uint64_t version() const;

  // A resource is named by group and plural: "apps/deployments".
  ObjectPtr Get(const std::string& resource, std::string_view ns, std::string_view name) const;
  // All objects, or those of one namespace.
  Snapshot List(const std::string& resource, std::string_view ns) const;
  // The list as of `version`. nullopt if that is compacted or in the future.
  std::optional<Snapshot> ListAt(const std::string& resource, std::string_view ns, std::uint64_t version) const;
  std::size_t size() const;

  // Writes `object` in place of `expected` (null: it must not exist). The store sets metadata.resourceVersion. `fields` are its selectable
  // fields. Returns null if another write came first: read again and decide again. Also returns null unless each of `prerequisites` exists
  // and is not being deleted; check and write are atomic.
  ObjectPtr Put(const std::string& resource, Value object, Map<String> fields, const ObjectPtr& expected,
                std::shared_ptr<const void> form = nullptr, std::span<const Prerequisite> prerequisites = {});
  // Removes `expected`. Watchers see `last`. Returns null as above.
  ObjectPtr Remove(const std::string& resource, const ObjectPtr& expected, Value last);

  // Calls `watcher` for every change after `version`, past and future. Errors: 410 Expired if `version` is compacted.
  // compacted.
  Result<void> Watch(const std::string& resource, std::uint64_t version, const std::shared_ptr<Watcher>& watcher);
  // The same from now on: `initial` gets the current objects, at the version from which events follow.
  void WatchFromNow(const std::string& resource, const std::shared_ptr<Watcher>& watcher,
                    const std::function<void(const Snapshot&)>& initial);
  // Ends all watches of a resource.
  void EndWatches(const std::string& resource);
  // Reports the current version to every watcher, or to one.
  void SendProgress();
  void SendProgress(const std::string& resource, Watcher& watcher);

  // Versions continue at least from here, and older ones are compacted. Call it before the first write.
  void StartAt(std::uint64_t version);
  // Discards the history: watches and pages from older versions get 410.
  void Compact();
  // Drops everything, as if the disk were lost; versions continue. Watchers are removed without an event.
  void Clear();
  // Every object of every resource, for the garbage collector.
  std::vector<std::pair<std::string, ObjectPtr>> All() const;
  // Adds a callback for each change, called without locks on the thread of the change. Two changes of one object by two threads may be
  // reported in either order: rely on what the store has by then.
  void OnChange(std::function<void(const std::string& resource, const StoreEvent& event)> callback);

 private:
  struct Table {
    std::map<std::string, ObjectPtr, std::less<>> objects;
    std::deque<StoreEvent> history;  // in order of version
    std::uint64_t delivered = 0;     // last version delivered to watchers
    // Serialises delivery. Taken before mu_.
    Mutex delivery;
    std::vector<std::shared_ptr<Watcher>> watchers KUBE_GUARDED_BY(delivery);
  };

  Table& TableOf(const std::string& resource) const;
  ObjectPtr Commit(const std::string& resource, Value object, Map<String> fields, const ObjectPtr& expected, bool remove,
                   std::shared_ptr<const void> form, std::span<const Prerequisite> prerequisites);
  bool MeetsLocked(std::span<const Prerequisite> prerequisites) const KUBE_REQUIRES(mu_);
  void Deliver(Table& table);
  // With `list`, also sets it to all objects as of the delivered events.
  void DeliverLocked(Table& table, Snapshot* list = nullptr) KUBE_REQUIRES(table.delivery);
  static std::vector<ObjectPtr> Select(const Table& table, std::string_view ns);

  const std::string placeholder_;  // stands for the version in a text until it is known
  mutable Mutex mu_;
  std::uint64_t version_ KUBE_GUARDED_BY(mu_) = 1;
  std::uint64_t compacted_ KUBE_GUARDED_BY(mu_) = 0;
  // Tables are never removed, so references stay valid. mu_ guards their maps and histories.
  mutable std::unordered_map<std::string, std::unique_ptr<Table>> tables_ KUBE_GUARDED_BY(mu_);
  std::vector<std::function<void(const std::string&, const StoreEvent&)>> on_change_;  // set before the server starts
};

}  // namespace kube::apiserver
