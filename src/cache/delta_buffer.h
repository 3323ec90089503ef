// DeltaBuffer: what a reflector saw, in order, until it is worked on.
//
//   DeltaBuffer buffer(consumer);
//   buffer.Replace(objects, "42");         // nothing has happened yet
//   buffer.Update(pod);
//   buffer.Flush();                        // consumer.Replaced(...), then consumer.Changed({pod})
//
// Every change is one entry, and entries are never merged: whoever reads them sees each state that the server sent. A replacement of
// everything is one entry and is worked on at once and as a whole, so nobody sees half of it; which objects it removes is decided
// against the store at that time, not when it was queued.
//
// Thread safety: one thread fills and flushes; HasSynced from any.
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
  // kReplaced: what the list had as well, null where that is nothing; kUndecodable, kUndecodableDeleted: one.
  std::shared_ptr<std::vector<UndecodableObject>> undecodable{};
};

// Who works on the deltas. `initial`: they belong to the first list.
class DeltaConsumer {
 public:
  virtual ~DeltaConsumer() = default;
  // kAdded, kUpdated and kDeleted, at most DeltaBuffer::kBatch of them.
  virtual void Changed(std::span<const Delta> deltas, bool initial) = 0;
  virtual void Replaced(std::vector<ObjectRef> objects, const std::string& resource_version, bool initial,
                        std::vector<UndecodableObject> undecodable) = 0;
  virtual void Undecodable(UndecodableObject object, bool deleted) = 0;
  // As DeltaSink has it.
  virtual bool WantsList() { return false; }
  virtual void Resynced() = 0;
  virtual void Bookmarked(const std::string& resource_version) = 0;
  // The first list has been worked on, or there was none.
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
  // Works on everything that is queued.
  void Flush() override;

  // The first list has been worked on to its end. Where a change comes before any list, there is no first list to wait for.
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
