// Interner: lets decoders share equal parts of many objects.
//
// Pods of one ReplicaSet differ in a few hundred bytes out of ten thousand. A decoder with an Interner looks up the raw bytes of each
// nested message, list, map and long string before decoding it; where an equal one was decoded before, the finished part is shared
// instead: less CPU, and a fraction of the memory. A part enters the table when it is seen for the second time, so data that never
// repeats costs next to nothing.
//
// Safety: a part is found by a 128-bit hash of its bytes and nothing else; keeping the bytes to compare them would cost most of the memory
// that sharing saves. The hash is a universal one under a secret of the process (src/base/keyed_hash.h): two different parts, whoever chose
// them, are taken for one with a probability below 2^-120, which is proven and does not rest on attacks being unknown.
// Thread safety: none; one Interner belongs to one decoding thread. The objects that come out are as safe as any other.
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

class KUBE_EXPORT Interner {
 public:
  struct Stats {
    std::uint64_t lookups = 0;
    std::uint64_t hits = 0;       // parts that were shared instead of decoded
    std::uint64_t hit_bytes = 0;  // input bytes that were not decoded
    std::size_t entries = 0;      // parts held now
    std::size_t table_bytes = 0;  // memory of the tables themselves
    // What the lookups cost: input bytes that were hashed, and JSON tokens that were passed to find the end of a part. At most a small
    // multiple of the input, however deeply it nests.
    std::uint64_t hashed_bytes = 0;
    std::uint64_t scanned_tokens = 0;
  };

  Interner();
  ~Interner();
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;

  // Forgets the parts that no object uses any more. Happens by itself whenever the table has doubled.
  void Sweep();
  Stats stats() const;

 private:
  friend struct internal::InternAccess;
  std::unique_ptr<internal::InternTable> table_;
};

}  // namespace kube
