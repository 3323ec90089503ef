#include "serve/raw_session.h"

#include <algorithm>
#include <utility>

#include "kube/base/wait_until.h"

namespace kube::serve {

namespace {

constexpr std::size_t kMaxInput = std::size_t{256} << 10;

class PipeStream final : public UpgradedStream {
 public:
  explicit PipeStream(std::shared_ptr<RawPipe> pipe) : pipe_(std::move(pipe)) {}
  PipeStream(const PipeStream&) = delete;
  PipeStream& operator=(const PipeStream&) = delete;
  ~PipeStream() override { pipe_->CloseFromStream(); }
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override { return pipe_->Read(ctx, buffer, size); }
  Result<void> Write(const Context& ctx, std::string_view bytes) override { return pipe_->Write(ctx, bytes); }
  void Close() override { pipe_->CloseFromStream(); }

 private:
  const std::shared_ptr<RawPipe> pipe_;
};

class RawSession final : public Session {
 public:
  RawSession(std::shared_ptr<RawPipe> pipe, std::shared_ptr<ExchangeState> exchange, std::string_view input)
      : pipe_(std::move(pipe)), exchange_(std::move(exchange)) {
    pipe_->Deliver(input);
  }

  void Receive(std::string_view bytes) override { pipe_->Deliver(bytes); }
  void ReceiveEnd() override { pipe_->DeliverEnd(); }
  void Wake(ExchangeState& exchange) override { (void)exchange.Look(); }
  void Produce(std::string& out) override { pipe_->Take(out, kOutputBytes); }
  bool WantsInput() const override { return pipe_->wants_input(); }
  std::size_t held_bytes() const override { return pipe_->held_bytes(); }
  Ending ending() const override { return pipe_->closed_by_stream() ? Ending::kClean : Ending::kNone; }
  std::optional<TimePoint> deadline() const override { return std::nullopt; }
  void OnDeadline(TimePoint) override {}
  void Close() override {
    pipe_->CloseFromConnection();
    exchange_->Close();
  }

 private:
  const std::shared_ptr<RawPipe> pipe_;
  const std::shared_ptr<ExchangeState> exchange_;
};

}  // namespace

UpgradedStream::~UpgradedStream() = default;

RawPipe::RawPipe(std::shared_ptr<Waker> waker, std::weak_ptr<ExchangeState> exchange)
    : waker_(std::move(waker)), exchange_(std::move(exchange)) {}

void RawPipe::Wake() {
  if (std::shared_ptr<ExchangeState> exchange = exchange_.lock()) waker_->Wake(std::move(exchange));
}

Result<std::size_t> RawPipe::Read(const Context& ctx, char* buffer, std::size_t size) {
  std::size_t got = 0;
  bool wake = false;
  {
    MutexLock lock(mu_);
    const auto ready = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return in_.size() > in_taken_ || end_ || !connected_ || !open_; };
    if (Result<void> waited = WaitUntil(ctx, mu_, changed_, ready); !waited) return waited.error();
    if (!open_) return Error::Cancelled("the stream was closed");
    got = std::min(size, in_.size() - in_taken_);
    if (got == 0 && size > 0) {
      if (end_) return std::size_t{0};
      return Error(ErrorKind::kTransport, "the connection has ended");
    }
    std::copy_n(in_.data() + in_taken_, got, buffer);
    in_taken_ += got;
    if (in_taken_ == in_.size()) {
      in_.clear();
      in_taken_ = 0;
    }
    wake = input_paused_ && in_.size() - in_taken_ < kMaxInput / 2;
    if (wake) input_paused_ = false;
  }
  if (wake) Wake();
  return got;
}

Result<void> RawPipe::Write(const Context& ctx, std::string_view bytes) {
  if (Result<void> go = ctx.Check(); !go) return go;
  std::uint64_t until = 0;
  {
    MutexLock lock(mu_);
    if (!open_) return Error::Cancelled("the stream was closed");
    if (!connected_) return Error(ErrorKind::kTransport, "the connection has ended");
    out_.append(bytes);
    written_ += bytes.size();
    until = written_;
  }
  Wake();
  MutexLock lock(mu_);
  const auto ready = [this, until]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return sent_ >= until || !connected_ || !open_; };
  if (Result<void> waited = WaitUntil(ctx, mu_, changed_, ready); !waited) return waited.error();
  if (sent_ >= until) return {};
  if (!open_) return Error::Cancelled("the stream was closed");
  return Error(ErrorKind::kTransport, "the connection has ended");
}

void RawPipe::CloseFromStream() {
  {
    MutexLock lock(mu_);
    if (!open_) return;
    open_ = false;
    out_.clear();  // of a Write that failed: one that returned has sent everything
    changed_.NotifyAll();
  }
  Wake();
}

void RawPipe::Deliver(std::string_view bytes) {
  if (bytes.empty()) return;
  MutexLock lock(mu_);
  if (!open_) return;
  if (in_taken_ > 0) {
    in_.erase(0, in_taken_);
    in_taken_ = 0;
  }
  in_.append(bytes);
  input_paused_ = in_.size() >= kMaxInput;
  changed_.NotifyAll();
}

void RawPipe::DeliverEnd() {
  MutexLock lock(mu_);
  end_ = true;
  changed_.NotifyAll();
}

void RawPipe::CloseFromConnection() {
  MutexLock lock(mu_);
  connected_ = false;
  changed_.NotifyAll();
}

bool RawPipe::wants_input() const {
  MutexLock lock(mu_);
  return !end_ && !input_paused_;
}

std::size_t RawPipe::held_bytes() const {
  MutexLock lock(mu_);
  return in_.capacity() + out_.capacity();
}

bool RawPipe::closed_by_stream() const {
  MutexLock lock(mu_);
  return !open_;
}

void RawPipe::Take(std::string& out, std::size_t limit) {
  MutexLock lock(mu_);
  if (sent_ != taken_) {
    sent_ = taken_;
    changed_.NotifyAll();
  }
  const std::size_t part = std::min(limit, out_.size());
  if (part == 0) return;
  out.append(out_, 0, part);
  out_.erase(0, part);
  taken_ += part;
}

std::unique_ptr<UpgradedStream> MakeUpgradedStream(std::shared_ptr<RawPipe> pipe) { return std::make_unique<PipeStream>(std::move(pipe)); }

std::unique_ptr<Session> MakeRawSession(std::shared_ptr<RawPipe> pipe, std::shared_ptr<ExchangeState> exchange, std::string_view input) {
  return std::make_unique<RawSession>(std::move(pipe), std::move(exchange), input);
}

}  // namespace kube::serve
