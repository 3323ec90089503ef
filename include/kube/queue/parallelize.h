// ParallelizeUntil: the same work for each of N pieces, by a few threads.
//
//   Result<void> done = ParallelizeUntil(ctx, 8, pods.size(), [&](std::size_t i) { Check(pods[i]); });
#pragma once

#include <cstddef>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"

namespace kube {

struct ParallelizeOptions {
  // How many pieces a thread takes at a time. More than one pays off where a piece is less than a few microseconds.
  std::size_t chunk_size = 1;
};

// Calls work(0) ... work(pieces - 1), each exactly once, by up to `workers` threads; the calling thread is one of them.
//
// Blocking and cancellation: returns when all that was begun has ended. Once the context stops, no further piece is begun.
// Errors: the context's, where pieces were left out because of it; kUserCode where `work` threw: then no further piece is begun, and the
// first exception is told.
KUBE_EXPORT Result<void> ParallelizeUntil(const Context& ctx, int workers, std::size_t pieces,
                                          const std::function<void(std::size_t piece)>& work, ParallelizeOptions options = {});

}  // namespace kube
