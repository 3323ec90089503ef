#include "transport/byte_queue.h"

#include <algorithm>
#include <utility>

#include "kube/base/wait_until.h"

namespace kube::internal {

void ByteQueue::Put(std::string_view bytes) {
  MutexLock lock(mu_);
  while (!bytes.empty()) {
    while (bytes_.size() - taken_ >= limit_ && !ended_ && !closed_) changed_.Wait(mu_);
    if (ended_ || closed_) return;
    bytes_.erase(0, taken_);
    taken_ = 0;
    const std::size_t part = std::min(bytes.size(), limit_ - bytes_.size());
    bytes_.append(bytes.substr(0, part));
    bytes.remove_prefix(part);
    changed_.NotifyAll();
  }
}

void ByteQueue::End() {
  MutexLock lock(mu_);
  ended_ = true;
  changed_.NotifyAll();
}

void ByteQueue::Fail(Error error) {
  MutexLock lock(mu_);
  if (!ended_) error_ = std::move(error);
  ended_ = true;
  changed_.NotifyAll();
}

void ByteQueue::Close() {
  MutexLock lock(mu_);
  closed_ = true;
  changed_.NotifyAll();
}

Result<std::size_t> ByteQueue::Read(const Context& ctx, char* buffer, std::size_t size) {
  MutexLock lock(mu_);
  const auto ready = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return bytes_.size() > taken_ || ended_ || closed_; };
  if (Result<void> waited = WaitUntil(ctx, mu_, changed_, ready); !waited) return waited.error();
  if (closed_) return Error(ErrorKind::kClosed, "the stream was closed");
  const std::size_t got = std::min(size, bytes_.size() - taken_);
  if (got == 0 && size > 0 && error_) return *error_;
  std::copy_n(bytes_.data() + taken_, got, buffer);
  taken_ += got;
  if (taken_ == bytes_.size()) {
    bytes_.clear();
    taken_ = 0;
  }
  changed_.NotifyAll();
  return got;
}

Result<void> SharedWriter::Begin(const Context& ctx) {
  MutexLock lock(mu_);
  const auto ready = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !busy_; };
  if (Result<void> waited = WaitUntil(ctx, mu_, changed_, ready); !waited) return waited;
  if (broken_) return Error(ErrorKind::kTransport, "an earlier write was not completed");
  busy_ = true;
  return {};
}

Result<void> SharedWriter::Finish(Result<void> written) {
  MutexLock lock(mu_);
  busy_ = false;
  if (!written) broken_ = true;
  changed_.NotifyAll();
  return written;
}

Result<void> SharedWriter::Write(const Context& ctx, std::string_view bytes) {
  if (Result<void> turn = Begin(ctx); !turn) return turn;
  return Finish(connection_.Write(ctx, bytes));
}

Result<void> SharedWriter::WriteMade(const Context& ctx, const std::function<std::string()>& make) {
  if (Result<void> turn = Begin(ctx); !turn) return turn;
  return Finish(connection_.Write(ctx, make()));
}

bool SharedWriter::broken() const {
  MutexLock lock(mu_);
  return broken_;
}

}  // namespace kube::internal
