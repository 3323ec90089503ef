#include "transport/spdy/spdy_connection.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <utility>

#include "kube/base/wait_until.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {

namespace {

// What one stream may hold before its connection is not read any more.
constexpr std::size_t kMaxInput = std::size_t{4} << 20;
// Streams at a time; two are needed for each connection that is forwarded.
constexpr std::size_t kMaxStreams = 10000;
constexpr std::uint32_t kRefused = 3;
constexpr std::uint32_t kCancel = 5;
// For last words to a peer that may not read.
constexpr std::chrono::seconds kGoodbye{1};

Error Broken(std::string_view reason, std::string message) {
  return Error({.kind = ErrorKind::kTransport, .reason = std::string(reason), .message = std::move(message)});
}

}  // namespace

// What streams need of their connection, which they may outlive.
struct SpdyStream::Shared {
  Shared(std::unique_ptr<UpgradedConnection> c, SpdyConnection::Role r, std::shared_ptr<Clock> clock)
      : connection(std::move(c)), role(r), writer(*connection), stop(Context::Background(std::move(clock)).WithCancel()) {}

  std::shared_ptr<SpdyStream> Find(std::uint32_t id) {
    MutexLock lock(mu);
    const auto found = streams.find(id);
    return found == streams.end() ? nullptr : found->second;
  }
  // A frame that was cut off leaves nothing that the peer could understand.
  Result<void> Sent(Result<void> written) {
    if (!written && writer.broken()) {
      stop.second.Cancel(Broken(transport_reason::kConnectionLost, "a frame could not be sent as a whole: " + written.error().message()));
      connection->Close();
    }
    return written;
  }
  // Nothing more arrives for it, or it is no longer read; its holder can still write.
  void Forget(std::uint32_t id) {
    MutexLock lock(mu);
    streams.erase(id);
  }

  const std::unique_ptr<UpgradedConnection> connection;
  const SpdyConnection::Role role;
  SharedWriter writer;
  std::pair<Context, CancelSource> stop;  // of the connection
  // Used by the call that has the writer's turn.
  SpdyDeflater deflater;
  std::uint32_t next_id = 1;
  std::uint32_t next_ping = 1;
  Mutex mu;
  std::map<std::uint32_t, std::shared_ptr<SpdyStream>> streams KUBE_GUARDED_BY(mu);
};

SpdyStream::SpdyStream(std::uint32_t id, HttpHeaders headers, std::shared_ptr<Shared> shared, Sink sink)
    : id_(id), headers_(std::move(headers)), shared_(std::move(shared)), sink_(std::move(sink)), input_(kMaxInput) {}

Result<void> SpdyStream::Write(const Context& ctx, std::string_view bytes) {
  {
    MutexLock lock(mu_);
    if (finished_) return Error(ErrorKind::kClosed, "the stream is finished");
    if (gone_) return *gone_;
  }
  if (bytes.empty()) return {};
  return shared_->Sent(shared_->writer.Write(ctx, EncodeSpdyData(id_, bytes, false)));
}

Result<void> SpdyStream::Finish(const Context& ctx) {
  {
    MutexLock lock(mu_);
    if (finished_) return {};
    finished_ = true;
    if (gone_) return *gone_;
  }
  return shared_->Sent(shared_->writer.Write(ctx, EncodeSpdyData(id_, {}, true)));
}

void SpdyStream::Close() {
  (void)Finish(shared_->stop.first.WithTimeout(kGoodbye));
  input_.Close();
}

void SpdyStream::Reset() {
  bool gone = false;
  {
    MutexLock lock(mu_);
    finished_ = true;
    gone = gone_.has_value();
  }
  input_.Close();
  shared_->Forget(id_);
  if (gone) return;
  (void)shared_->Sent(shared_->writer.WriteMade(shared_->stop.first.WithTimeout(kGoodbye), [this] {
    return EncodeSpdyFrame({.type = SpdyType::kReset, .stream = id_, .status = kCancel}, shared_->deflater);
  }));
}

void SpdyStream::Deliver(std::string_view data, bool fin) {
  if (sink_) {
    sink_(data, fin);
    return;
  }
  input_.Put(data);
  if (fin) input_.End();
}

void SpdyStream::Abandon(const Error& why) {
  MutexLock lock(mu_);
  if (!gone_) gone_ = why;
  changed_.NotifyAll();
}

void SpdyStream::End(const Error& why) {
  Abandon(why);
  if (sink_) {
    sink_({}, true);
  } else if (shared_->role == SpdyConnection::Role::kClient) {
    input_.Fail(why);
  } else {
    input_.End();
  }
}

SpdyConnection::SpdyConnection(std::unique_ptr<UpgradedConnection> connection, Role role, std::shared_ptr<Clock> clock)
    : shared_(std::make_shared<SpdyStream::Shared>(std::move(connection), role, std::move(clock))),
      reader_("kube-spdy", [this] { Run(); }) {}

SpdyConnection::~SpdyConnection() {
  Close();
  reader_.Join();
}

const Context& SpdyConnection::alive() const { return shared_->stop.first; }

void SpdyConnection::Close(Error why) {
  shared_->stop.second.Cancel(std::move(why));
  shared_->connection->Close();
  {
    MutexLock lock(mu_);
    over_ = true;
    changed_.NotifyAll();
  }
  std::map<std::uint32_t, std::shared_ptr<SpdyStream>> streams;
  {
    MutexLock lock(shared_->mu);
    streams = shared_->streams;
  }
  // The reading thread may wait for room in one of them.
  for (const auto& [id, stream] : streams) {
    if (shared_->role == Role::kServer) {
      stream->input_.Close();
    } else {
      stream->input_.Fail(*shared_->stop.first.Err());
    }
  }
}

Result<std::shared_ptr<SpdyStream>> SpdyConnection::Accept(const Context& ctx) {
  MutexLock lock(mu_);
  const auto ready = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !opened_.empty() || over_; };
  if (Result<void> waited = WaitUntil(ctx, mu_, changed_, ready); !waited) return waited.error();
  if (opened_.empty()) return std::shared_ptr<SpdyStream>();
  std::shared_ptr<SpdyStream> stream = std::move(opened_.front());
  opened_.pop_front();
  return stream;
}

Result<std::shared_ptr<SpdyStream>> SpdyConnection::Open(const Context& ctx, HttpHeaders headers, bool fin, SpdyStream::Sink sink) {
  std::shared_ptr<SpdyStream> stream;
  // Numbers have to go up on the wire.
  Result<void> sent = shared_->Sent(shared_->writer.WriteMade(ctx, [&] {
    const std::uint32_t id = shared_->next_id;
    shared_->next_id += 2;
    // A class with a private constructor: make_shared cannot.
    stream.reset(new SpdyStream(id, headers, shared_, std::move(sink)));
    {
      MutexLock lock(shared_->mu);
      shared_->streams.emplace(id, stream);
    }
    return EncodeSpdyFrame({.type = SpdyType::kSynStream, .stream = id, .fin = fin, .headers = headers}, shared_->deflater);
  }));
  if (sent) {
    // The connection may have ended before the stream was in the map.
    const Context::Registration end = shared_->stop.first.OnDone([this, &stream] { stream->Abandon(*shared_->stop.first.Err()); });
    MutexLock lock(stream->mu_);
    stream->finished_ = fin;
    const auto ready = [&stream]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return stream->replied_ || stream->gone_; };
    sent = WaitUntil(ctx, stream->mu_, stream->changed_, ready);
    if (sent && !stream->replied_) sent = *stream->gone_;
  }
  if (!sent) {
    if (stream != nullptr) stream->Reset();
    return sent.error();
  }
  return stream;
}

Result<void> SpdyConnection::Ping(const Context& ctx) {
  return shared_->Sent(shared_->writer.WriteMade(ctx, [this] {
    const std::uint32_t number = shared_->next_ping;
    shared_->next_ping += 2;
    return EncodeSpdyFrame({.type = SpdyType::kPing, .stream = number}, shared_->deflater);
  }));
}

void SpdyConnection::Run() {
  SpdyParser parser;
  std::string buffer(std::size_t{32} << 10, '\0');
  Error why = Broken(transport_reason::kUnexpectedEof, "the peer closed the connection");
  while (true) {
    Result<std::optional<SpdyFrame>> frame = parser.Next();
    if (!frame) {
      why = Broken(transport_reason::kProtocol, frame.error().message());
      break;
    }
    if (*frame) {
      if (!Handle(**std::move(frame))) break;
      continue;
    }
    const Result<std::size_t> got = shared_->connection->Read(shared_->stop.first, buffer.data(), buffer.size());
    if (!got) why = got.error();
    if (!got || *got == 0) break;
    parser.Feed({buffer.data(), *got});
  }
  shared_->stop.second.Cancel(std::move(why));  // nothing, if Close was first
  std::map<std::uint32_t, std::shared_ptr<SpdyStream>> streams;
  {
    MutexLock lock(shared_->mu);
    streams.swap(shared_->streams);
  }
  {
    MutexLock lock(mu_);
    over_ = true;
    changed_.NotifyAll();
  }
  const Error error = *shared_->stop.first.Err();
  for (const auto& [id, stream] : streams) stream->End(error);
}

bool SpdyConnection::Send(const SpdyFrame& frame) {
  return shared_->Sent(shared_->writer.WriteMade(shared_->stop.first, [&] { return EncodeSpdyFrame(frame, shared_->deflater); })).ok();
}

bool SpdyConnection::HandleOpen(SpdyFrame frame) {
  const bool server = shared_->role == Role::kServer;
  const std::shared_ptr<SpdyStream> stream(new SpdyStream(frame.stream, std::move(frame.headers), shared_, nullptr));
  bool refused = !server || frame.stream % 2 == 0;
  if (!refused) {
    MutexLock lock(shared_->mu);
    refused = shared_->streams.size() >= kMaxStreams || !shared_->streams.emplace(frame.stream, stream).second;
  }
  if (refused) return Send({.type = SpdyType::kReset, .stream = frame.stream, .status = kRefused});
  if (frame.fin) stream->input_.End();
  if (!Send({.type = SpdyType::kSynReply, .stream = frame.stream})) return false;
  MutexLock lock(mu_);
  if (over_) return false;
  opened_.push_back(stream);
  changed_.NotifyAll();
  return true;
}

bool SpdyConnection::Handle(SpdyFrame frame) {
  switch (frame.type) {
    case SpdyType::kSynStream:
      return HandleOpen(std::move(frame));
    case SpdyType::kSynReply: {
      const std::shared_ptr<SpdyStream> stream = shared_->Find(frame.stream);
      if (stream == nullptr) return true;
      {
        MutexLock lock(stream->mu_);
        stream->replied_ = true;
        stream->changed_.NotifyAll();
      }
      if (frame.fin) {
        stream->Deliver({}, true);
        shared_->Forget(frame.stream);
      }
      return true;
    }
    case SpdyType::kData: {
      const std::shared_ptr<SpdyStream> stream = shared_->Find(frame.stream);
      if (stream == nullptr) return true;  // gone: its last frames were under way
      stream->Deliver(frame.data, frame.fin);
      if (frame.fin) shared_->Forget(frame.stream);
      return true;
    }
    case SpdyType::kReset: {
      const std::shared_ptr<SpdyStream> stream = shared_->Find(frame.stream);
      if (stream == nullptr) return true;
      stream->End(Broken(transport_reason::kConnectionReset, fmt::format("the peer reset the stream (status {})", frame.status)));
      shared_->Forget(frame.stream);
      return true;
    }
    // A client's pings have odd numbers, a server's even ones: what has the other side's parity is to be answered.
    case SpdyType::kPing: {
      const std::uint32_t own = shared_->role == Role::kClient ? 1 : 0;
      return frame.stream % 2 == own || Send({.type = SpdyType::kPing, .stream = frame.stream});
    }
    // The peer opens no more streams; it closes the connection when those that there are have ended.
    default:
      return true;
  }
}

}  // namespace kube::internal
