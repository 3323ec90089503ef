// SpdyConnection: streams over one connection, for both ends.
//
// The protocol as Kubernetes speaks it has no flow control: a stream that nobody reads stops the others once it holds 4 MiB.
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

// Thread safety: from any thread; one reader at a time. Outlives its connection, and fails from then on.
class KUBE_EXPORT SpdyStream {
 public:
  // Takes data in the place of Read, on the thread that reads the connection: quick. `fin` with the last piece; not called after that.
  using Sink = std::function<void(std::string_view data, bool fin)>;

  std::uint32_t id() const { return id_; }
  const HttpHeaders& headers() const { return headers_; }

  // 0 when the peer sends no more. A stream that the peer reset, or whose connection broke, ends as well at a server, and is an error at
  // a client.
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) { return input_.Read(ctx, buffer, size); }
  Result<void> Write(const Context& ctx, std::string_view bytes);
  // Nothing more will be written. The second time does nothing.
  Result<void> Finish(const Context& ctx);
  // Both directions are over: what the peer still sends is dropped.
  void Close();
  // The same, and the peer is told to stop.
  void Reset();

 private:
  friend class SpdyConnection;
  struct Shared;
  SpdyStream(std::uint32_t id, HttpHeaders headers, std::shared_ptr<Shared> shared, Sink sink);
  void Deliver(std::string_view data, bool fin);
  // Writing makes no sense any more.
  void Abandon(const Error& why);
  // The peer is done with it: by a reset, or because the connection is over. On the thread that reads the connection.
  void End(const Error& why);

  const std::uint32_t id_;
  const HttpHeaders headers_;
  const std::shared_ptr<Shared> shared_;
  const Sink sink_;
  ByteQueue input_;
  Mutex mu_;
  CondVar changed_;
  bool finished_ KUBE_GUARDED_BY(mu_) = false;  // by this side
  bool replied_ KUBE_GUARDED_BY(mu_) = false;   // the peer has taken it
  std::optional<Error> gone_ KUBE_GUARDED_BY(mu_);
};

// Has a thread of its own that reads: pings are answered whatever the streams wait for.
//
// Thread safety: from any thread.
class KUBE_EXPORT SpdyConnection {
 public:
  enum class Role { kClient, kServer };
  SpdyConnection(std::unique_ptr<UpgradedConnection> connection, Role role, std::shared_ptr<Clock> clock = Clock::Real());
  SpdyConnection(const SpdyConnection&) = delete;
  SpdyConnection& operator=(const SpdyConnection&) = delete;
  ~SpdyConnection();

  // Stops when the connection is over; its Err() says why.
  const Context& alive() const;
  // The next stream that the peer opened; it is accepted already. Null when the peer is gone. For servers.
  Result<std::shared_ptr<SpdyStream>> Accept(const Context& ctx);
  // A new stream, once the peer has taken it. `fin`: this side will write nothing. For clients.
  Result<std::shared_ptr<SpdyStream>> Open(const Context& ctx, HttpHeaders headers, bool fin = false, SpdyStream::Sink sink = nullptr);
  // Does not wait for the answer.
  Result<void> Ping(const Context& ctx);
  // Ends everything that waits, and the connection; streams of a client fail with `why`.
  void Close(Error why = Error(ErrorKind::kClosed, "the connection was closed"));

 private:
  void Run();
  // False where the connection is over.
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
