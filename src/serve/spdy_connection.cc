#include "serve/spdy_connection.h"

#include <atomic>
#include <utility>
#include <vector>

namespace kube::serve {

namespace {

// What one stream may hold before its connection is not read any more.
constexpr std::size_t kMaxInput = std::size_t{4} << 20;
// Streams at a time; kubectl opens two for each connection that it forwards.
constexpr std::size_t kMaxStreams = 10000;
constexpr std::uint32_t kRefused = 3;

}  // namespace

// The way back to the client, for streams that may outlive the connection.
struct SpdyStream::Shared {
  explicit Shared(std::unique_ptr<UpgradedStream> s) : stream(std::move(s)), writer(*stream) {}

  const std::unique_ptr<UpgradedStream> stream;
  SharedWriter writer;
  std::pair<Context, CancelSource> stop = Context::Background().WithCancel();  // of what the connection itself does
  SpdyDeflater deflater;                                                       // used by the reading thread only
};

SpdyStream::SpdyStream(std::uint32_t id, HttpHeaders headers, std::shared_ptr<Shared> shared)
    : id_(id), headers_(std::move(headers)), shared_(std::move(shared)), input_(kMaxInput) {}

Result<void> SpdyStream::Write(const Context& ctx, std::string_view bytes) {
  {
    MutexLock lock(mu_);
    if (finished_) return Error(ErrorKind::kClosed, "the stream is finished");
  }
  if (bytes.empty()) return {};
  return shared_->writer.Write(ctx, EncodeSpdyData(id_, bytes, false));
}

Result<void> SpdyStream::Finish(const Context& ctx) {
  {
    MutexLock lock(mu_);
    if (finished_) return {};
    finished_ = true;
  }
  return shared_->writer.Write(ctx, EncodeSpdyData(id_, {}, true));
}

void SpdyStream::Close() {
  // Not for long, where the client does not read.
  (void)Finish(shared_->stop.first.WithTimeout(std::chrono::seconds(1)));
  input_.Close();
}

SpdyConnection::SpdyConnection(std::unique_ptr<UpgradedStream> stream)
    : shared_(std::make_shared<SpdyStream::Shared>(std::move(stream))), reader_("kube-spdy", [this] { Run(); }) {}

SpdyConnection::~SpdyConnection() {
  Close();
  reader_.Join();
}

void SpdyConnection::Close() {
  shared_->stop.second.Cancel();
  shared_->stream->Close();
  std::map<std::uint32_t, std::shared_ptr<SpdyStream>> streams;
  {
    MutexLock lock(mu_);
    over_ = true;
    streams = streams_;
    changed_.NotifyAll();
  }
  // The reading thread may wait for room in one of them.
  for (const auto& [id, stream] : streams) stream->input_.Close();
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

std::shared_ptr<SpdyStream> SpdyConnection::Find(std::uint32_t id) {
  MutexLock lock(mu_);
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second;
}

void SpdyConnection::Run() {
  SpdyParser parser;
  std::string buffer(std::size_t{32} << 10, '\0');
  bool going = true;
  while (going) {
    Result<std::optional<SpdyFrame>> frame = parser.Next();
    if (!frame) break;
    if (*frame) {
      going = Handle(**std::move(frame));
      continue;
    }
    const Result<std::size_t> got = shared_->stream->Read(shared_->stop.first, buffer.data(), buffer.size());
    if (!got || *got == 0) break;
    parser.Feed({buffer.data(), *got});
  }
  std::map<std::uint32_t, std::shared_ptr<SpdyStream>> streams;
  {
    MutexLock lock(mu_);
    over_ = true;
    streams.swap(streams_);
    changed_.NotifyAll();
  }
  for (const auto& [id, stream] : streams) stream->input_.End();
}

bool SpdyConnection::Handle(SpdyFrame frame) {
  const auto send = [this](const SpdyFrame& answer) {
    return shared_->writer.Write(shared_->stop.first, EncodeSpdyFrame(answer, shared_->deflater)).ok();
  };
  switch (frame.type) {
    case SpdyType::kSynStream: {
      // A class with a private constructor: make_shared cannot.
      const std::shared_ptr<SpdyStream> stream(new SpdyStream(frame.stream, std::move(frame.headers), shared_));
      bool refused = false;
      {
        MutexLock lock(mu_);
        if (over_) return false;
        refused = streams_.size() >= kMaxStreams || frame.stream % 2 == 0 || !streams_.emplace(frame.stream, stream).second;
      }
      if (refused) return send({.type = SpdyType::kReset, .stream = frame.stream, .status = kRefused});
      if (frame.fin) stream->input_.End();
      if (!send({.type = SpdyType::kSynReply, .stream = frame.stream})) return false;
      MutexLock lock(mu_);
      opened_.push_back(stream);
      changed_.NotifyAll();
      return true;
    }
    case SpdyType::kData: {
      const std::shared_ptr<SpdyStream> stream = Find(frame.stream);
      if (stream == nullptr) return true;  // gone: its last frames were under way
      stream->input_.Put(frame.data);
      if (!frame.fin) return true;
      stream->input_.End();
      MutexLock lock(mu_);
      streams_.erase(frame.stream);  // nothing more comes for it; who holds it can still write
      return true;
    }
    case SpdyType::kReset: {
      if (const std::shared_ptr<SpdyStream> stream = Find(frame.stream)) {
        stream->input_.End();
        MutexLock lock(mu_);
        streams_.erase(frame.stream);
      }
      return true;
    }
    // Pings of this side would have even numbers; there are none.
    case SpdyType::kPing:
      return frame.stream % 2 == 0 || send({.type = SpdyType::kPing, .stream = frame.stream});
    // The client opens no more streams; it closes the connection when those that there are have ended.
    default:
      return true;
  }
}

}  // namespace kube::serve
