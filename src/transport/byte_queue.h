// Passes bytes from the thread that reads a connection to their reader, and serializes writers.
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

// A bounded queue: producers wait for readers.
//
// Thread safety: all functions may be called from any thread.
class KUBE_EXPORT ByteQueue {
 public:
  explicit ByteQueue(std::size_t limit) : limit_(limit) {}
  // Waits for room. Drops the bytes after End, Fail or Close.
  void Put(std::string_view bytes);
  // Ends the input: readers get the buffered bytes, then 0. The first call of End or Fail decides.
  void End();
  // The same, but readers get the error instead of 0.
  void Fail(Error error);
  // Stops reading: waiting readers get kClosed, and waiting writers continue.
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

// Shares a connection with room for one writer between several threads, one after the other.
//
// Thread safety: all functions may be called from any thread.
class KUBE_EXPORT SharedWriter {
 public:
  explicit SharedWriter(UpgradedConnection& connection) : connection_(connection) {}
  // Cancelling while other writes are in progress fails only this call. Cancelling in the middle of the bytes breaks the connection.
  Result<void> Write(const Context& ctx, std::string_view bytes);
  // The same for bytes that depend on earlier writes: `make` is called when it is this call's turn.
  Result<void> WriteMade(const Context& ctx, const std::function<std::string()>& make);
  // Whether a write ended in the middle, so that the peer cannot parse what follows.
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
