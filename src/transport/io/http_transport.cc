#include "kube/transport/http_transport.h"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <utility>

#include "kube/base/stop_token.h"
#include "kube/transport/transport_errors.h"
#include "transport/io/io_loop.h"
#include "transport/request/body.h"
#include "transport/request/call.h"
#include "transport/request/settings.h"
#include "transport/upgrade/upgrade.h"

namespace kube {
namespace internal {

void Call::Deliver(std::string_view bytes) {
  bool wake = false;
  {
    MutexLock lock(mu);
    if (closed) return;
    if (direct_room > 0 && used == buffer.size()) {
      const std::size_t count = std::min(direct_room, bytes.size());
      std::copy_n(bytes.data(), count, direct);
      direct += count;
      direct_room -= count;
      taken += count;
      bytes.remove_prefix(count);
      if (bytes.empty()) return;  // the reader is here
    }
    if (used > 0 && used >= buffer.size() - used) {
      buffer.erase(0, used);
      used = 0;
    }
    buffer.append(bytes);
    wake = std::exchange(reader_waits, false);
  }
  if (wake) changed.Unpark();
}

void Call::ForgetRoom() {
  constexpr std::size_t kWorthKeeping = 16 * 1024;
  if (used == buffer.size() && buffer.capacity() > kWorthKeeping) {
    std::string().swap(buffer);
    used = 0;
  }
}

namespace {

class CallStream : public BodyStream {
 public:
  CallStream(std::shared_ptr<IoLoop> loop, std::shared_ptr<const Settings> settings, std::shared_ptr<Call> call)
      : loop_(std::move(loop)), settings_(std::move(settings)), call_(std::move(call)), buffer_size_(settings_->options.stream_buffer) {
    if (call_->gzip) gunzip_ = std::make_unique<Gunzip>();
  }
  ~CallStream() override { CallStream::Close(); }

  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    if (gunzip_ == nullptr || size == 0) return ReadBytes(ctx, buffer, size);
    for (;;) {
      const Result<std::size_t> made = gunzip_->Take(buffer, size);
      if (!made) return NotCompressedError(*settings_);
      if (*made > 0) return *made;
      const Result<std::size_t> got = ReadBytes(ctx, compressed_, sizeof compressed_);
      if (!got) return got;
      if (*got == 0) return gunzip_->complete() ? got : NotCompressedError(*settings_);
      gunzip_->Feed({compressed_, *got});
    }
  }

  bool Ready() const override {
    if (gunzip_ != nullptr) return false;
    MutexLock lock(call_->mu);
    return call_->buffer.size() > call_->used;
  }

  void Close() override {
    bool cancel = false;
    {
      MutexLock lock(call_->mu);
      if (std::exchange(call_->closed, true)) return;
      cancel = !call_->ended;
      std::string().swap(call_->buffer);
      call_->used = 0;
    }
    call_->changed.Unpark();
    if (cancel) loop_->Cancel(call_);
  }

 private:
  // As they came.
  Result<std::size_t> ReadBytes(const Context& ctx, char* buffer, std::size_t size) {
    Call& call = *call_;
    bool resume = false;
    std::size_t count = 0;
    {
      MutexLock lock(call.mu);
      const auto there = [&call]() KUBE_REQUIRES(call.mu) { return call.closed || call.buffer.size() > call.used || call.ended; };
      while (http2_ && !there()) {
        if (receiving_) call.ForgetRoom();
        lock.Unlock();
        if (const std::optional<Error> stopped = ctx.Err()) return *stopped;
        if (!call.at_socket.valid()) StopWaking();  // no stop sets it while it is created
        const bool can_wait = call.at_socket.Prepare();
        WakeWith(ctx);
        const std::optional<std::size_t> received =
            can_wait ? loop_->Receive(call_, receiving_, buffer, size) : std::optional<std::size_t>();
        receiving_ = received.has_value();
        if (receiving_ && *received > 0) return *received;
        lock.Lock();
        if (!receiving_) {
          resume = Room(call);
          if (resume) call.resuming = true;
          break;
        }
      }
      if (std::exchange(resume, false)) {
        lock.Unlock();
        loop_->Resume(call_);
        lock.Lock();
      }
      while (!there()) {
        call.ForgetRoom();
        call.reader_waits = true;
        lock.Unlock();
        WakeWith(ctx);
        std::optional<Error> stopped = ctx.Err();
        if (!stopped) call.changed.Park();
        lock.Lock();
        call.reader_waits = false;
        if (stopped && !there()) return *std::move(stopped);
      }
      if (call.closed) return Error(ErrorKind::kClosed, "the body was closed");
      count = std::min(size, call.buffer.size() - call.used);
      if (count == 0) {
        if (size != 0 && call.error) return *call.error;
        return std::size_t{0};
      }
      std::copy_n(call.buffer.data() + call.used, count, buffer);
      call.used += count;
      if (call.used == call.buffer.size()) {
        call.used = 0;
        call.buffer.clear();
      }
      call.taken += count;
      // A reader that receives itself does that before it waits.
      if (!receiving_ && Room(call)) resume = call.resuming = true;
    }
    if (resume) loop_->Resume(call_);
    return count;
  }

  // Ends a wait, at the socket or not, when the context stops. Repeated reads usually pass the same context.
  void WakeWith(const Context& ctx) {
    std::stop_token token = StopTokenOf(ctx);
    if (token == wakes_for_) return;
    wake_ = ctx.OnDone([raw = call_.get()] {
      raw->at_socket.Set();
      raw->changed.Unpark();
    });
    wakes_for_ = std::move(token);
  }
  void StopWaking() {
    wake_ = Context::Registration();
    wakes_for_ = std::stop_token();
  }

  // The sender may send more, and was not told yet.
  bool Room(const Call& call) const KUBE_REQUIRES(call.mu) {
    const bool room = http2_ ? call.taken >= buffer_size_ / 2 : call.paused && call.buffer.size() - call.used <= buffer_size_ / 2;
    return room && !call.resuming && !call.ended;
  }

  const std::shared_ptr<IoLoop> loop_;
  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<Call> call_;
  const std::size_t buffer_size_;
  const bool http2_ = call_->response.http_major == 2;
  std::unique_ptr<Gunzip> gunzip_;
  bool receiving_ = false;  // this reader waits at the socket itself
  std::stop_token wakes_for_;
  Context::Registration wake_;
  char compressed_[4096];
};

class PooledTransport : public HttpTransport {
 public:
  PooledTransport(std::shared_ptr<const Settings> settings, std::shared_ptr<IoLoop> loop)
      : settings_(std::move(settings)), loop_(std::move(loop)) {}
  ~PooledTransport() override { loop_->Stop(); }

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (std::optional<Error> wrong = CheckRequest(request)) return *std::move(wrong);
    if (Result<void> go = ctx.Check(); !go) return go.error();
    Result<std::shared_ptr<const TlsMaterial>> material = Material();
    if (!material) return material.error();
    const std::shared_ptr<IoLoop> loop = loop_;  // the transport may go while this waits
    const std::shared_ptr<const Settings> settings = settings_;
    const auto call = std::make_shared<Call>(std::move(request), *std::move(material));
    loop->Submit(call);
    bool ready = false;
    std::optional<Error> error;
    {
      const Context::Registration wake = ctx.OnDone([raw = call.get()] { raw->answered.Unpark(); });
      call->answered.Park();
      MutexLock lock(call->mu);
      ready = call->ready;
      // A stream's error is its reader's, if its head has arrived.
      if (ready && !call->head) error = call->error;
    }
    if (!ready) {
      loop->Cancel(call);
      return ctx.Err().value_or(Error::Cancelled("the request was cancelled"));
    }
    if (error) return *std::move(error);
    if (call->request.streaming) {
      call->response.stream = std::make_unique<CallStream>(loop, settings, call);
    } else if (call->gzip) {
      Result<std::string> body = GunzipAll(*settings, call->response.body);
      if (!body) return body.error();
      call->response.body = *std::move(body);
    }
    return std::move(call->response);
  }

  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override {
    if (std::optional<Error> wrong = CheckRequest(request)) return *std::move(wrong);
    if (Result<void> go = ctx.Check(); !go) return go.error();
    Result<std::shared_ptr<const TlsMaterial>> material = Material();
    if (!material) return material.error();
    return UpgradeConnection(ctx, settings_, *std::move(material), request);
  }

  TransportStats stats() const override { return loop_->stats(); }
  void CloseConnections() override { loop_->CloseConnections(); }

 private:
  Result<std::shared_ptr<const TlsMaterial>> Material() const {
    if (!settings_->endpoint.tls || settings_->options.tls == nullptr) return std::shared_ptr<const TlsMaterial>();
    std::shared_ptr<const TlsMaterial> material = settings_->options.tls->Current();
    if (material != nullptr && material->trust_nothing && !material->insecure) {
      return TransportError(transport_reason::kTls, "the CA file is empty, so no server can be trusted: put the cluster's CA into it");
    }
    return material;
  }

  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<IoLoop> loop_;
};

}  // namespace
}  // namespace internal

Result<std::shared_ptr<HttpTransport>> MakeHttpTransport(HttpTransportOptions options) {
  Result<std::shared_ptr<const internal::Settings>> settings = internal::MakeSettings(std::move(options));
  if (!settings) return settings.error();
  Result<std::shared_ptr<internal::IoLoop>> loop = internal::IoLoop::Start(*settings);
  if (!loop) return loop.error();
  return std::shared_ptr<HttpTransport>(std::make_shared<internal::PooledTransport>(*settings, *std::move(loop)));
}

}  // namespace kube
