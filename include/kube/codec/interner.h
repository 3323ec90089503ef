// Interner: lets decoders share equal parts of many objects.
//
// Pods of one ReplicaSet differ in a few hundred bytes out of ten thousand. A decoder with an Interner looks up the raw bytes of each
// nested message, list, map and long string before it decodes them. If equal bytes were decoded before, the finished part is shared, which
// saves CPU time and most of the memory. A part enters the table when it is seen for the second time, so data that never repeats costs next
// to nothing.
//
// Safety: a part is identified only by a 128-bit hash of its bytes; keeping the bytes for comparison would cost most of the memory that
// sharing saves. The hash is a universal one, keyed with a secret of the process (src/base/keyed_hash.h). Two different parts, even if
// chosen by an attacker, collide with a probability below 2^-120; this is proven and does not depend on attacks being unknown.
// Thread safety: none; one Interner belongs to one decoding thread. The decoded objects are as thread-safe as any others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kube/base/export.h"
#include "kube/base/std_memory.h"

namespace kube {

namespace internal {
struct InternAccess;
class InternTable;
}  // namespace internal

// A table of shared parts.
class KUBE_EXPORT Interner {
 public:
  // Counters, for metrics and tests.
  struct Stats {
    // Parts that were looked up.
    std::uint64_t lookups = 0;
    std::uint64_t hits = 0;       // parts that were shared instead of decoded
    std::uint64_t hit_bytes = 0;  // input bytes that were not decoded
    std::size_t entries = 0;      // parts in the table
    std::size_t table_bytes = 0;  // memory of the tables
    // The cost of the lookups: input bytes that were hashed, and JSON tokens that were scanned to find the end of a part. At most a small
    // multiple of the input, however deeply it nests.
    std::uint64_t hashed_bytes = 0;
    std::uint64_t scanned_tokens = 0;
  };

  Interner();
  ~Interner();
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;

  // Drops the parts that no object uses any more. Runs automatically when the table has doubled in size.
  void Sweep();
  Stats stats() const;

 private:
  friend struct internal::InternAccess;
  std::unique_ptr<internal::InternTable> table_;
};

}  // namespace kube
