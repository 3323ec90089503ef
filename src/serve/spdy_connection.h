// SpdyConnection: streams that a client opens over one connection.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/base/thread.h"
#include "kube/serve/http_server.h"
#include "serve/byte_queue.h"
#include "serve/spdy.h"

namespace kube::serve {

class SpdyConnection;

// Thread safety: from any thread; one reader at a time. Outlives its connection, and fails from then on.
class SpdyStream {
 public:
  std::uint32_t id() const { return id_; }
  const HttpHeaders& headers() const { return headers_; }

  // 0 when the client sends no more, or has reset the stream.
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) { return input_.Read(ctx, buffer, size); }
  Result<void> Write(const Context& ctx, std::string_view bytes);
  // Nothing more will be written. The second time does nothing.
  Result<void> Finish(const Context& ctx);
  // Both directions are over: what the client still sends is dropped.
  void Close();

 private:
  friend class SpdyConnection;
  struct Shared;
  SpdyStream(std::uint32_t id, HttpHeaders headers, std::shared_ptr<Shared> shared);

  const std::uint32_t id_;
  const HttpHeaders headers_;
  const std::shared_ptr<Shared> shared_;
  ByteQueue input_;
  Mutex mu_;
  bool finished_ KUBE_GUARDED_BY(mu_) = false;  // by this side
};

// Has a thread of its own that reads: a client's pings are answered whatever the streams wait for.
//
// Thread safety: from any thread.
class SpdyConnection {
 public:
  explicit SpdyConnection(std::unique_ptr<UpgradedStream> stream);
  SpdyConnection(const SpdyConnection&) = delete;
  SpdyConnection& operator=(const SpdyConnection&) = delete;
  ~SpdyConnection();

  // The next stream that the client opened; it is accepted already. Null when the client is gone.
  Result<std::shared_ptr<SpdyStream>> Accept(const Context& ctx);
  // Ends everything that waits, and the connection.
  void Close();

 private:
  void Run();
  // False where the connection is over.
  bool Handle(SpdyFrame frame);
  std::shared_ptr<SpdyStream> Find(std::uint32_t id);

  const std::shared_ptr<SpdyStream::Shared> shared_;
  Mutex mu_;
  CondVar changed_;
  std::map<std::uint32_t, std::shared_ptr<SpdyStream>> streams_ KUBE_GUARDED_BY(mu_);
  std::deque<std::shared_ptr<SpdyStream>> opened_ KUBE_GUARDED_BY(mu_);
  bool over_ KUBE_GUARDED_BY(mu_) = false;
  Thread reader_;
};

}  // namespace kube::serve
