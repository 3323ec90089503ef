// SpdyConnection: streams over one connection, for both ends.
//
// Kubernetes' variant of the protocol has no flow control: a stream that is not read blocks the others once it buffers 4 MiB.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/base/thread.h"
#include "kube/transport/http.h"
#include "transport/byte_queue.h"
#include "transport/spdy/spdy_frames.h"

namespace kube::internal {

class SpdyConnection;

// Thread safety: all functions may be called from any thread; one reader at a time. Lifetime: may outlive its connection, and fails
//   afterwards.
class KUBE_EXPORT SpdyStream {
 public:
  // Receives data instead of Read, on the thread that reads the connection. Must be non-blocking. `fin` marks the last piece.
  using Sink = std::function<void(std::string_view data, bool fin)>;

  std::uint32_t id() const { return id_; }
  const HttpHeaders& headers() const { return headers_; }

  // Returns 0 when the peer sends no more. After a reset or a broken connection, Read ends normally on a server and returns an error on a
  // client.
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) { return input_.Read(ctx, buffer, size); }
  Result<void> Write(const Context& ctx, std::string_view bytes);
  // Closes the sending direction. Repeated calls do nothing.
  Result<void> Finish(const Context& ctx);
  // Closes both directions; later data of the peer is dropped.
  void Close();
  // The same, and notifies the peer to stop.
  void Reset();

 private:
  friend class SpdyConnection;
  struct Shared;
  SpdyStream(std::uint32_t id, HttpHeaders headers, std::shared_ptr<Shared> shared, Sink sink);
  void Deliver(std::string_view data, bool fin);
  // Fails later writes.
  void Abandon(const Error& why);
  // The peer has ended the stream, by a reset or because the connection is over. Called on the thread that reads the connection.
  void End(const Error& why);

  const std::uint32_t id_;
  const HttpHeaders headers_;
  const std::shared_ptr<Shared> shared_;
  const Sink sink_;
  ByteQueue input_;
  Mutex mu_;
  CondVar changed_;
  bool finished_ KUBE_GUARDED_BY(mu_) = false;  // by this side
  bool replied_ KUBE_GUARDED_BY(mu_) = false;   // the peer has accepted it
  std::optional<Error> gone_ KUBE_GUARDED_BY(mu_);
};

// Reads on its own thread, so pings are answered even if streams are blocked.
//
// Thread safety: all functions may be called from any thread.
class KUBE_EXPORT SpdyConnection {
 public:
  enum class Role { kClient, kServer };
  SpdyConnection(std::unique_ptr<UpgradedConnection> connection, Role role, std::shared_ptr<Clock> clock = Clock::Real());
  SpdyConnection(const SpdyConnection&) = delete;
  SpdyConnection& operator=(const SpdyConnection&) = delete;
  ~SpdyConnection();

  // Stops when the connection is over; its Err() says why.
  const Context& alive() const;
  // For servers: the next stream that the peer opened, already accepted. Null if the peer has disconnected.
  Result<std::shared_ptr<SpdyStream>> Accept(const Context& ctx);
  // For clients: opens a stream and returns when the peer has accepted it. `fin`: this side will not write.
  Result<std::shared_ptr<SpdyStream>> Open(const Context& ctx, HttpHeaders headers, bool fin = false, SpdyStream::Sink sink = nullptr);
  // Sends a ping and does not wait for the reply.
  Result<void> Ping(const Context& ctx);
  // Closes the connection and fails all waiting calls; streams of a client fail with `why`.
  void Close(Error why = Error(ErrorKind::kClosed, "the connection was closed"));

 private:
  void Run();
  // Returns false if the connection is over.
  bool Handle(SpdyFrame frame);
  bool HandleOpen(SpdyFrame frame);
  bool Send(const SpdyFrame& frame);

  const std::shared_ptr<SpdyStream::Shared> shared_;
  Mutex mu_;
  CondVar changed_;
  std::deque<std::shared_ptr<SpdyStream>> opened_ KUBE_GUARDED_BY(mu_);
  bool over_ KUBE_GUARDED_BY(mu_) = false;
  Thread reader_;
};

}  // namespace kube::internal
