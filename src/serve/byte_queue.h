// Bytes from the thread that reads a connection to the one that wants them, and the lock of those who write.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/serve/http_server.h"

namespace kube::serve {

// Bounded: who puts waits for who reads.
//
// Thread safety: from any thread.
class ByteQueue {
 public:
  explicit ByteQueue(std::size_t limit) : limit_(limit) {}
  // Waits for room. Drops the bytes once it is ended or closed.
  void Put(std::string_view bytes);
  // No more comes: readers get what is there, then 0.
  void End();
  // Nobody reads any more: readers and writers that wait go on, readers with an error.
  void Close();
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size);

 private:
  const std::size_t limit_;
  Mutex mu_;
  CondVar changed_;
  std::string bytes_ KUBE_GUARDED_BY(mu_);
  std::size_t taken_ KUBE_GUARDED_BY(mu_) = 0;
  bool ended_ KUBE_GUARDED_BY(mu_) = false;
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
};

// Gives the one writer's place of an UpgradedStream to several threads, one after the other.
//
// Thread safety: from any thread.
class SharedWriter {
 public:
  explicit SharedWriter(UpgradedStream& stream) : stream_(stream) {}
  Result<void> Write(const Context& ctx, std::string_view bytes);

 private:
  UpgradedStream& stream_;
  Mutex mu_;
  CondVar changed_;
  bool busy_ KUBE_GUARDED_BY(mu_) = false;
  bool broken_ KUBE_GUARDED_BY(mu_) = false;  // a write ended in the middle: nothing that follows can be understood
};

}  // namespace kube::serve
