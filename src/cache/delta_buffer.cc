#include "cache/delta_buffer.h"

#include <algorithm>
#include <utility>

namespace kube::internal {

std::string_view ToString(DeltaType type) {
  switch (type) {
    case DeltaType::kAdded:
      return "Added";
    case DeltaType::kUpdated:
      return "Updated";
    case DeltaType::kDeleted:
      return "Deleted";
    case DeltaType::kReplaced:
      return "Replaced";
    case DeltaType::kSync:
      return "Sync";
    case DeltaType::kBookmark:
      return "Bookmark";
    case DeltaType::kUndecodable:
      return "Undecodable";
    case DeltaType::kUndecodableDeleted:
      return "UndecodableDeleted";
  }
  return "unknown";
}

void DeltaBuffer::MarkSynced() {
  if (HasSynced()) return;
  synced_.store(true, std::memory_order_release);
  consumer_.Synced();
}

void DeltaBuffer::Flush() {
  std::vector<Delta> work = std::exchange(deltas_, {});
  for (std::size_t i = 0; i < work.size();) {
    Delta& delta = work[i];
    switch (delta.type) {
      case DeltaType::kAdded:
      case DeltaType::kUpdated:
      case DeltaType::kDeleted: {
        MarkSynced();
        std::size_t end = i;
        while (end < work.size() && end - i < kBatch && work[end].object != nullptr) ++end;
        consumer_.Changed({work.data() + i, end - i}, false);
        i = std::max(end, i + 1);
        continue;
      }
      case DeltaType::kReplaced:
        consumer_.Replaced(std::move(delta.all), delta.resource_version, !HasSynced(),
                           delta.undecodable == nullptr ? std::vector<UndecodableObject>() : std::move(*delta.undecodable));
        MarkSynced();
        break;
      case DeltaType::kUndecodable:
      case DeltaType::kUndecodableDeleted:
        MarkSynced();
        consumer_.Undecodable(std::move(delta.undecodable->front()), delta.type == DeltaType::kUndecodableDeleted);
        break;
      case DeltaType::kSync:
        consumer_.Resynced();
        break;
      case DeltaType::kBookmark:
        consumer_.Bookmarked(delta.resource_version);
        break;
    }
    ++i;
  }
  // The usual batch is one event: its block serves again.
  work.clear();
  if (deltas_.empty() && work.capacity() <= kBatch) deltas_ = std::move(work);
}

}  // namespace kube::internal
