// Bytes from the thread that reads a connection to the one that wants them, and the turn of those who write.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/transport/http.h"

namespace kube::internal {

// Bounded: who puts waits for who reads.
//
// Thread safety: from any thread.
class KUBE_EXPORT ByteQueue {
 public:
  explicit ByteQueue(std::size_t limit) : limit_(limit) {}
  // Waits for room. Drops the bytes once it is ended or closed.
  void Put(std::string_view bytes);
  // No more comes: readers get what is there, then 0. The first one of End and Fail counts.
  void End();
  // The same, but readers get the error in the place of 0.
  void Fail(Error error);
  // Nobody reads any more: readers and writers that wait go on, readers with kClosed.
  void Close();
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size);

 private:
  const std::size_t limit_;
  Mutex mu_;
  CondVar changed_;
  std::string bytes_ KUBE_GUARDED_BY(mu_);
  std::size_t taken_ KUBE_GUARDED_BY(mu_) = 0;
  bool ended_ KUBE_GUARDED_BY(mu_) = false;
  std::optional<Error> error_ KUBE_GUARDED_BY(mu_);
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
};

// Gives the one writer's place of a connection to several threads, one after the other.
//
// Thread safety: from any thread.
class KUBE_EXPORT SharedWriter {
 public:
  explicit SharedWriter(UpgradedConnection& connection) : connection_(connection) {}
  // A context that stops while others write loses nothing but this call; one that stops in the middle of the bytes breaks the connection.
  Result<void> Write(const Context& ctx, std::string_view bytes);
  // The same, for bytes that depend on what was written before: `make` is called when it is this call's turn.
  Result<void> WriteMade(const Context& ctx, const std::function<std::string()>& make);
  // A write ended in the middle: nothing that follows can be understood.
  bool broken() const;

 private:
  Result<void> Begin(const Context& ctx);
  Result<void> Finish(Result<void> written);

  UpgradedConnection& connection_;
  mutable Mutex mu_;
  CondVar changed_;
  bool busy_ KUBE_GUARDED_BY(mu_) = false;
  bool broken_ KUBE_GUARDED_BY(mu_) = false;
};

}  // namespace kube::internal
