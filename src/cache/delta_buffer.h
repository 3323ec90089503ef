// DeltaBuffer: the changes seen by a reflector, in order, until they are processed.
//
//   DeltaBuffer buffer(consumer);
//   buffer.Replace(objects, "42");         // nothing has happened yet
//   buffer.Update(pod);
//   buffer.Flush();                        // consumer.Replaced(...), then consumer.Changed({pod})
//
// Every change is one entry, and entries are never merged: the consumer sees each state that the server sent. A replacement of all objects
// is one entry and is processed as a whole, so that no reader sees half of it. Which objects it removes is decided when it is processed,
// not when it was queued.
//
// Thread safety: one thread fills and flushes; HasSynced may be called from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/reflector.h"
#include "kube/base/result.h"
#include "kube/cache/object.h"

namespace kube::internal {

enum class DeltaType : std::uint8_t { kAdded, kUpdated, kDeleted, kReplaced, kSync, kBookmark, kUndecodable, kUndecodableDeleted };
std::string_view ToString(DeltaType type);

struct Delta {
  DeltaType type = DeltaType::kAdded;
  ObjectRef object{};              // kAdded, kUpdated, kDeleted
  std::vector<ObjectRef> all{};    // kReplaced
  std::string resource_version{};  // kReplaced, kBookmark
  // kReplaced: the undecodable objects of the list, null if there are none; kUndecodable, kUndecodableDeleted: one object.
  std::shared_ptr<std::vector<UndecodableObject>> undecodable{};
};

// The consumer of the deltas. `initial`: they belong to the initial list.
class DeltaConsumer {
 public:
  virtual ~DeltaConsumer() = default;
  // kAdded, kUpdated and kDeleted; at most DeltaBuffer::kBatch of them.
  virtual void Changed(std::span<const Delta> deltas, bool initial) = 0;
  virtual void Replaced(std::vector<ObjectRef> objects, const std::string& resource_version, bool initial,
                        std::vector<UndecodableObject> undecodable) = 0;
  virtual void Undecodable(UndecodableObject object, bool deleted) = 0;
  // See DeltaSink.
  virtual bool WantsList() { return false; }
  virtual void Resynced() = 0;
  virtual void Bookmarked(const std::string& resource_version) = 0;
  // The initial list has been processed, or there was none.
  virtual void Synced() = 0;
};

class DeltaBuffer : public DeltaSink {
 public:
  static constexpr std::size_t kBatch = 1000;

  explicit DeltaBuffer(DeltaConsumer& consumer) : consumer_(consumer) {}

  void Add(ObjectRef object) override { Push({.type = DeltaType::kAdded, .object = std::move(object)}); }
  void Update(ObjectRef object) override { Push({.type = DeltaType::kUpdated, .object = std::move(object)}); }
  void Delete(ObjectRef object) override { Push({.type = DeltaType::kDeleted, .object = std::move(object)}); }
  void Replace(std::vector<ObjectRef> objects, const std::string& resource_version,
               std::vector<UndecodableObject> undecodable = {}) override {
    Push({.type = DeltaType::kReplaced,
          .all = std::move(objects),
          .resource_version = resource_version,
          .undecodable = undecodable.empty() ? nullptr : Share(std::move(undecodable))});
  }
  void Undecodable(UndecodableObject object, bool deleted) override {
    Push({.type = deleted ? DeltaType::kUndecodableDeleted : DeltaType::kUndecodable, .undecodable = Share({std::move(object)})});
  }
  void Bookmark(const std::string& resource_version) override {
    Push({.type = DeltaType::kBookmark, .resource_version = resource_version});
  }
  bool WantsList() override { return consumer_.WantsList(); }
  Result<void> Resync() override {
    Push({.type = DeltaType::kSync});
    return {};
  }
  // Processes everything that is queued.
  void Flush() override;

  // Whether the initial list has been processed. If a change comes before any list, there is no initial list to wait for.
  bool HasSynced() const { return synced_.load(std::memory_order_acquire); }
  std::size_t size() const { return deltas_.size(); }

 private:
  static std::shared_ptr<std::vector<UndecodableObject>> Share(std::vector<UndecodableObject> objects) {
    return std::make_shared<std::vector<UndecodableObject>>(std::move(objects));
  }
  void Push(Delta delta) { deltas_.push_back(std::move(delta)); }
  void MarkSynced();

  DeltaConsumer& consumer_;
  std::vector<Delta> deltas_;
  std::atomic<bool> synced_ = false;
};

}  // namespace kube::internal
