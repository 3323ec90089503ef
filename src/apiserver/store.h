// Store: the objects of the embedded server, their history, and who watches them. What etcd and the watch cache are to the real one.
//
// Objects are kept as JSON text: small, immutable, shared with every answer and watch event that carries them. One counter gives each
// change its version, over all resources, as etcd's revisions do. The history of each resource answers watches from an older version,
// lists at an exact version and the pages of a paged list; what is older than the compaction is gone (410).
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
  Map<String> fields;               // what field selectors may ask for, besides name and namespace
  std::vector<std::string> owners;  // UIDs of its owner references
  bool deleting = false;            // has a deletionTimestamp
  // The schema that `json` follows to the letter: pruned, with all defaults. Null where that is not known.
  std::shared_ptr<const void> form;

  // The object as a tree; parsed anew each time.
  Value Parse() const;
};
using ObjectPtr = std::shared_ptr<const StoredObject>;

// "ns/name", or "name" for what has no namespace. Lists are in the order of these keys.
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
  // A watcher that is closed gets no more events and is forgotten at the next occasion.
  virtual bool closed() const = 0;
};

// An object without a namespace that a new object depends on: its namespace, its CustomResourceDefinition.
struct Prerequisite {
  std::string resource, name;
  std::string uid;  // empty: any
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
  // As the list was at `version`. Nothing where that is compacted or not there yet.
  std::optional<Snapshot> ListAt(const std::string& resource, std::string_view ns, std::uint64_t version) const;
  std::size_t size() const;

  // Writes `object` in the place of `expected` (null: it must not be there). The store sets metadata.resourceVersion. `fields` are its
  // selectable fields. Null where another write came first: read again and decide again. Also null unless each of `prerequisites` exists
  // and is not being deleted; the check and the write are one step.
  ObjectPtr Put(const std::string& resource, Value object, Map<String> fields, const ObjectPtr& expected,
                std::shared_ptr<const void> form = nullptr, std::span<const Prerequisite> prerequisites = {});
  // Removes `expected`. `last` is the state that watchers see. Null as above.
  ObjectPtr Remove(const std::string& resource, const ObjectPtr& expected, Value last);

  // Calls `watcher` for every change after `version`, first those that were, then those that come. Errors: 410 Expired where `version` is
  // compacted.
  Result<void> Watch(const std::string& resource, std::uint64_t version, const std::shared_ptr<Watcher>& watcher);
  // The same from now on: `initial` gets what is there, at the version from which events follow.
  void WatchFromNow(const std::string& resource, const std::shared_ptr<Watcher>& watcher,
                    const std::function<void(const Snapshot&)>& initial);
  // Ends all watches of a resource.
  void EndWatches(const std::string& resource);
  // Tells every watcher how far it is, or one.
  void SendProgress();
  void SendProgress(const std::string& resource, Watcher& watcher);

  // Versions go on from here at least, and older ones are compacted. Before the first object.
  void StartAt(std::uint64_t version);
  // Forgets the history up to now: watches and pages from older versions get 410.
  void Compact();
  // Drops everything, as if the disk were lost; versions go on. Watchers are forgotten without an event.
  void Clear();
  // Every object of every resource, for the garbage collector.
  std::vector<std::pair<std::string, ObjectPtr>> All() const;
  // Called after each change, outside of all locks, in the thread of the change. Two changes of one object by two threads may be told in
  // either order: what counts is what the store has by then.
  void OnChange(std::function<void(const std::string& resource, const StoreEvent& event)> callback);

 private:
  struct Table {
    std::map<std::string, ObjectPtr, std::less<>> objects;
    std::deque<StoreEvent> history;  // in order of version
    std::uint64_t delivered = 0;     // version of the last event that watchers have
    // Serialises delivery. Taken before mu_.
    Mutex delivery;
    std::vector<std::shared_ptr<Watcher>> watchers KUBE_GUARDED_BY(delivery);
  };

  Table& TableOf(const std::string& resource) const;
  ObjectPtr Commit(const std::string& resource, Value object, Map<String> fields, const ObjectPtr& expected, bool remove,
                   std::shared_ptr<const void> form, std::span<const Prerequisite> prerequisites);
  bool MeetsLocked(std::span<const Prerequisite> prerequisites) const KUBE_REQUIRES(mu_);
  void Deliver(Table& table);
  // With `list`, it also becomes the list of all objects right behind the events that are delivered.
  void DeliverLocked(Table& table, Snapshot* list = nullptr) KUBE_REQUIRES(table.delivery);
  static std::vector<ObjectPtr> Select(const Table& table, std::string_view ns);

  const std::string placeholder_;  // stands for the version in a text until the version is known
  mutable Mutex mu_;
  std::uint64_t version_ KUBE_GUARDED_BY(mu_) = 1;
  std::uint64_t compacted_ KUBE_GUARDED_BY(mu_) = 0;
  // Tables are never removed, so references to them stay good; their maps and histories are guarded by mu_.
  mutable std::unordered_map<std::string, std::unique_ptr<Table>> tables_ KUBE_GUARDED_BY(mu_);
  std::vector<std::function<void(const std::string&, const StoreEvent&)>> on_change_;  // set before the server starts
};

}  // namespace kube::apiserver
