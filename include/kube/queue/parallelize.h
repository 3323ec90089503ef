// ParallelizeUntil: runs a function for each of N pieces on a few threads.
//
//   Result<void> done = ParallelizeUntil(ctx, 8, pods.size(), [&](std::size_t i) { Check(pods[i]); });
#pragma once

#include <cstddef>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"

namespace kube {

// Options of ParallelizeUntil.
struct ParallelizeOptions {
  // Pieces that a thread takes at a time. More than one pays off if a piece takes less than a few microseconds.
  std::size_t chunk_size = 1;
};

// Calls work(0) ... work(pieces - 1), each exactly once, on up to `workers` threads, including the calling one.
//
// Blocking and cancellation: returns when all started pieces have finished. No further piece starts once the context has stopped.
// Errors: the context's, if it prevented pieces; kUserCode, with the first exception, if `work` threw. No further piece starts after an
//   exception.
KUBE_EXPORT Result<void> ParallelizeUntil(const Context& ctx, int workers, std::size_t pieces,
                                          const std::function<void(std::size_t piece)>& work, ParallelizeOptions options = {});

}  // namespace kube
