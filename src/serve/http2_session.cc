// HTTP/2 by nghttp2: it keeps frames, header compression, flow control and the state of streams; this file makes exchanges of them.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "serve/frame_budget.h"
#include "serve/session.h"

namespace kube::serve {

namespace {

constexpr std::size_t kMaxWindow = std::size_t{1} << 30;
constexpr std::size_t kConnectionWindow = std::size_t{16} << 20;
constexpr std::size_t kFrameHead = 9;
// How much a client may still send of an unwanted body after the answer, before the stream is reset. Resetting it at once is allowed, but
// clients then tend to lose the answer (libcurl does).
constexpr std::size_t kMaxUnwanted = std::size_t{32} << 20;
// A header block that is too large is decoded up to this many times the limit, so that the client gets an answer; then it is cut off.
constexpr std::size_t kTooLargeFactor = 4;
// What nghttp2 holds, about: a session with both tables of header compression; a stream with the headers of its answer; a queued frame.
constexpr std::size_t kSessionBytes = std::size_t{32} << 10;
constexpr std::size_t kStreamBytes = 1536;
constexpr std::size_t kFrameBytes = 160;
// Frames of data that are smaller are paid for like others.
constexpr std::size_t kSmallData = 1024;
// For the same reason: how long the bytes before an intended cut may take to get to the client.
constexpr std::chrono::milliseconds kCutDelay{50};

std::string_view View(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

nghttp2_nv Pair(std::string_view name, std::string_view value) {
  // nghttp2 copies both before it returns; the interface is only not const.
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())), reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
          name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Headers that belong to the connection do not exist in HTTP/2.
bool IsConnectionHeader(std::string_view name) {
  return name == "connection" || name == "keep-alive" || name == "transfer-encoding" || name == "upgrade" || name == "proxy-connection";
}

class Http2Session final : public Session {
 public:
  explicit Http2Session(SessionContext context);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  ~Http2Session() override { nghttp2_session_del(session_); }

  void Receive(std::string_view bytes) override;
  void ReceiveEnd() override { ending_ = Ending::kClean; }
  void Wake(ExchangeState& exchange) override;
  void Produce(std::string& out) override;
  bool WantsInput() const override { return ending_ == Ending::kNone; }
  std::size_t held_bytes() const override;
  Ending ending() const override { return ending_; }
  std::optional<TimePoint> deadline() const override;
  void OnDeadline(TimePoint now) override;
  void Close() override;

 private:
  struct Stream {
    HttpRequest request;
    std::size_t header_bytes = 0;
    bool headers_too_large = false;
    bool delivered = false;    // the handler has it, or it was refused
    bool answered = false;     // its head is with nghttp2
    bool sent = false;         // its answer has been sent
    bool client_done = false;  // the client has sent everything
    bool cut = false;          // to be reset soon
    bool timed = false;        // has a deadline for its answer
    std::size_t unwanted = 0;  // bytes that came after it was delivered
    std::optional<std::uint64_t> length;
    std::shared_ptr<ExchangeState> exchange;
  };
  struct Timeout {
    TimePoint when;
    std::int32_t stream;
  };

  static Http2Session& Self(void* user_data) { return *static_cast<Http2Session*>(user_data); }
  static const nghttp2_session_callbacks* Callbacks();

  Stream* Find(std::int32_t id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second.get();
  }
  void Reset(std::int32_t id, std::uint32_t code) { nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, code); }
  int OnBeginFrame(const nghttp2_frame_hd& head);
  // Called for each block, also for trailers: one byte on the wire may be 4 KB to decode.
  int CountHeader(std::size_t size);
  int OnBeginHeaders(const nghttp2_frame* frame);
  int OnHeader(const nghttp2_frame* frame, std::string_view name, std::string_view value);
  int OnFrame(const nghttp2_frame* frame);
  int OnData(std::int32_t id, std::string_view data);
  int OnFrameSent(const nghttp2_frame* frame);
  int OnStreamClose(std::int32_t id);
  ssize_t OfferData(std::int32_t id, std::size_t length, std::uint32_t* flags);
  int SendData(const nghttp2_frame* frame, const std::uint8_t* head, std::size_t length);

  void HeadersDone(std::int32_t id, Stream& stream, bool end);
  void Deliver(std::int32_t id, Stream& stream, bool too_large);
  void Answer(Stream& stream, const ExchangeState::Head& head);
  void RefuseHeaders(std::int32_t id);
  void CheckEnd();
  // Bytes of a request that is not complete yet: its headers and body.
  static std::size_t Incoming(const Stream& stream) { return stream.header_bytes + stream.request.body.size(); }
  // Deadlines at the front that do not count any more.
  void Prune();
  // Nothing more is wanted from this client.
  int Cut(ClosedFor reason);

  const SessionContext context_;
  const HttpLimits& limits_;
  FrameBudget budget_;
  std::size_t incoming_ = 0;       // bytes of requests that are not complete
  std::size_t continuations_ = 0;  // frames of the block of headers that is coming in
  std::size_t block_bytes_ = 0;    // of that block, decoded
  nghttp2_session* session_ = nullptr;
  std::unordered_map<std::int32_t, std::unique_ptr<Stream>> streams_;
  std::string* out_ = nullptr;  // while producing
  Ending ending_ = Ending::kNone;
  std::optional<Timeout> head_timeout_;  // of the one stream whose headers are coming in
  // Bodies that are being received, in the order of their deadlines. Those of complete requests are skipped.
  std::deque<Timeout> body_timeouts_;
  std::deque<Timeout> answer_timeouts_;  // complete answers that the client has not taken yet, in the same order
  std::deque<Timeout> cuts_;
  std::optional<TimePoint> idle_deadline_;  // while there are no streams
  bool greeted_ = false;                    // the client's first SETTINGS are here
};

const nghttp2_session_callbacks* Http2Session::Callbacks() {
  static const nghttp2_session_callbacks* const callbacks = [] {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0) return made;
    nghttp2_session_callbacks_set_send_callback(
        made, [](nghttp2_session*, const std::uint8_t* data, std::size_t size, int, void* self) -> ssize_t {
          std::string& out = *Self(self).out_;
          if (out.size() >= kOutputBytes) return NGHTTP2_ERR_WOULDBLOCK;
          out.append(View(data, size));
          return static_cast<ssize_t>(size);
        });
    nghttp2_session_callbacks_set_send_data_callback(
        made,
        [](nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t length, nghttp2_data_source*, void* self) -> int {
          return Self(self).SendData(frame, head, length);
        });
    nghttp2_session_callbacks_set_data_source_read_length_callback(
        made,
        [](nghttp2_session*, std::uint8_t, std::int32_t, std::int32_t connection_window, std::int32_t stream_window,
           std::uint32_t max_frame, void*) -> ssize_t {
          // A client may allow frames of 16 MB; the output buffer is not made for them.
          return std::min<ssize_t>({connection_window, stream_window, static_cast<ssize_t>(max_frame), static_cast<ssize_t>(kOutputBytes)});
        });
    nghttp2_session_callbacks_set_on_begin_frame_callback(
        made, [](nghttp2_session*, const nghttp2_frame_hd* head, void* self) -> int { return Self(self).OnBeginFrame(*head); });
    nghttp2_session_callbacks_set_on_begin_headers_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame, void* self) -> int { return Self(self).OnBeginHeaders(frame); });
    nghttp2_session_callbacks_set_on_header_callback(
        made,
        [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
           std::size_t value_size, std::uint8_t,
           void* self) -> int { return Self(self).OnHeader(frame, View(name, name_size), View(value, value_size)); });
    // Headers that are no HTTP are dropped, but cost the same.
    nghttp2_session_callbacks_set_on_invalid_header_callback(
        made,
        [](nghttp2_session*, const nghttp2_frame*, const std::uint8_t*, std::size_t name_size, const std::uint8_t*, std::size_t value_size,
           std::uint8_t, void* self) -> int { return Self(self).CountHeader(name_size + value_size); });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame, void* self) -> int { return Self(self).OnFrame(frame); });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        made, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size, void* self) -> int {
          return Self(self).OnData(id, View(data, size));
        });
    nghttp2_session_callbacks_set_on_frame_send_callback(
        made, [](nghttp2_session*, const nghttp2_frame* frame, void* self) -> int { return Self(self).OnFrameSent(frame); });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        made, [](nghttp2_session*, std::int32_t id, std::uint32_t, void* self) -> int { return Self(self).OnStreamClose(id); });
    return made;
  }();
  return callbacks;
}

Http2Session::Http2Session(SessionContext context)
    : context_(std::move(context)),
      limits_(context_.options->limits),
      budget_(limits_.max_control_frames, std::chrono::steady_clock::now()) {
  nghttp2_option* option = nullptr;
  if (nghttp2_option_new(&option) == 0) {
    // Closed streams are not kept for the sake of the old priorities.
    nghttp2_option_set_no_closed_streams(option, 1);
    // Acknowledgements that wait because the client does not read.
    nghttp2_option_set_max_outbound_ack(option, std::clamp<std::size_t>(limits_.max_control_frames, 10, 1000));
    nghttp2_session_server_new2(&session_, Callbacks(), this, option);
    nghttp2_option_del(option);
  }
  if (session_ == nullptr) {
    ending_ = Ending::kCut;
    return;
  }
  // A whole body fits into the window of its stream: a request is never held up by a round trip.
  const std::size_t window = std::min(limits_.max_body_bytes + (std::size_t{64} << 10), kMaxWindow);
  const std::array<nghttp2_settings_entry, 3> settings = {
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.max_streams},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(window)},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                             static_cast<std::uint32_t>(std::min(limits_.max_header_bytes, kMaxWindow))}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(std::max(window, limits_.max_body_bytes == 0 ? 0 : kConnectionWindow)));
  idle_deadline_ = std::chrono::steady_clock::now() + limits_.header_timeout;
}

void Http2Session::Receive(std::string_view bytes) {
  if (ending_ != Ending::kNone) return;
  const ssize_t used = nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  // Errors of the protocol are answered by nghttp2 itself, with GOAWAY; what comes here cannot be answered (a wrong preface, a flood).
  if (used < 0) {
    if (used == NGHTTP2_ERR_FLOODED) Cut(ClosedFor::kFlood);
    if (ending_ == Ending::kNone) ending_ = Ending::kCut;
    return;
  }
  // Answers to what the client sends and never reads: resets, settings, window updates.
  const std::size_t most_queued = std::size_t{4} * limits_.max_streams + limits_.max_control_frames;
  if (nghttp2_session_get_outbound_queue_size(session_) > most_queued) Cut(ClosedFor::kFlood);
  CheckEnd();
}

int Http2Session::Cut(ClosedFor reason) {
  if (ending_ != Ending::kNow && context_.account != nullptr) context_.account->Count(reason);
  ending_ = Ending::kNow;
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

std::size_t Http2Session::held_bytes() const {
  if (session_ == nullptr) return sizeof(*this);
  return kSessionBytes + streams_.size() * kStreamBytes + incoming_ + nghttp2_session_get_outbound_queue_size(session_) * kFrameBytes +
         (body_timeouts_.size() + answer_timeouts_.size()) * sizeof(Timeout);
}

int Http2Session::OnBeginFrame(const nghttp2_frame_hd& head) {
  if (head.type == NGHTTP2_HEADERS) {
    continuations_ = 0;
    block_bytes_ = 0;
  }
  if (head.type == NGHTTP2_CONTINUATION && ++continuations_ > 8 + kTooLargeFactor * limits_.max_header_bytes / (std::size_t{16} << 10))
    return Cut(ClosedFor::kFlood);
  if (head.type == NGHTTP2_DATA && head.length >= kSmallData) return 0;
  return budget_.Spend([] { return std::chrono::steady_clock::now(); }) ? 0 : Cut(ClosedFor::kFlood);
}

void Http2Session::CheckEnd() {
  if (ending_ == Ending::kNow) return;
  if (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0) ending_ = Ending::kClean;
}

void Http2Session::Wake(ExchangeState& exchange) {
  Stream* stream = Find(exchange.stream());
  if (stream == nullptr || stream->exchange.get() != &exchange) return;
  const ExchangeState::Progress progress = exchange.Look();
  if (progress.aborted) {
    Reset(exchange.stream(), NGHTTP2_INTERNAL_ERROR);
    return;
  }
  if (progress.head != nullptr) {
    Answer(*stream, *progress.head);
  } else if (stream->answered) {
    // An error only says that it is not deferred at all.
    (void)nghttp2_session_resume_data(session_, exchange.stream());
  }
  if (!stream->timed && exchange.Complete()) {
    stream->timed = true;
    answer_timeouts_.push_back({std::chrono::steady_clock::now() + limits_.answer_timeout, exchange.stream()});
  }
}

void Http2Session::Produce(std::string& out) {
  if (session_ == nullptr || ending_ == Ending::kCut || ending_ == Ending::kNow) return;
  out_ = &out;
  const int result = nghttp2_session_send(session_);
  out_ = nullptr;
  if (result != 0) {
    if (ending_ == Ending::kNone) ending_ = Ending::kCut;
    return;
  }
  CheckEnd();
}

std::optional<Session::TimePoint> Http2Session::deadline() const {
  std::optional<TimePoint> first = idle_deadline_;
  const auto consider = [&first](TimePoint when) {
    if (!first || when < *first) first = when;
  };
  if (head_timeout_) consider(head_timeout_->when);
  if (!body_timeouts_.empty()) consider(body_timeouts_.front().when);
  if (!answer_timeouts_.empty()) consider(answer_timeouts_.front().when);
  if (!cuts_.empty()) consider(cuts_.front().when);
  return first;
}

void Http2Session::OnDeadline(TimePoint now) {
  if (ending_ != Ending::kNone) return;
  if (head_timeout_ && head_timeout_->when <= now) {
    // Nothing else may come in between the frames of a block of headers: the whole connection waits for it.
    Cut(ClosedFor::kDeadline);
    return;
  }
  if (idle_deadline_ && *idle_deadline_ <= now) {
    idle_deadline_.reset();
    nghttp2_session_terminate_session(session_, NGHTTP2_NO_ERROR);
    return;
  }
  while (!body_timeouts_.empty() && body_timeouts_.front().when <= now) {
    const std::int32_t id = body_timeouts_.front().stream;
    body_timeouts_.pop_front();
    const Stream* stream = Find(id);
    if (stream == nullptr || stream->client_done) continue;
    // After an answer, only the rest of an unwanted body is left.
    const bool answered = stream->sent;
    if (!stream->delivered || answered) Reset(id, answered ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
  }
  while (!answer_timeouts_.empty() && answer_timeouts_.front().when <= now) {
    const std::int32_t id = answer_timeouts_.front().stream;
    answer_timeouts_.pop_front();
    const Stream* stream = Find(id);
    if (stream == nullptr || stream->sent) continue;
    if (context_.account != nullptr) context_.account->Count(ClosedFor::kDeadline);
    Reset(id, NGHTTP2_CANCEL);
  }
  while (!cuts_.empty() && cuts_.front().when <= now) {
    Reset(cuts_.front().stream, NGHTTP2_INTERNAL_ERROR);
    cuts_.pop_front();
  }
}

void Http2Session::Close() {
  // The callbacks of OnClose may do much: the map is out of their way.
  std::unordered_map<std::int32_t, std::unique_ptr<Stream>> streams;
  streams.swap(streams_);
  for (const auto& [id, stream] : streams) {
    if (stream->exchange != nullptr) stream->exchange->Close();
  }
}

int Http2Session::OnBeginHeaders(const nghttp2_frame* frame) {
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  streams_[frame->hd.stream_id] = std::make_unique<Stream>();
  idle_deadline_.reset();
  head_timeout_ = Timeout{std::chrono::steady_clock::now() + limits_.header_timeout, frame->hd.stream_id};
  return 0;
}

int Http2Session::CountHeader(std::size_t size) {
  block_bytes_ += size + 32;
  return block_bytes_ / kTooLargeFactor > limits_.max_header_bytes ? Cut(ClosedFor::kFlood) : 0;
}

int Http2Session::OnHeader(const nghttp2_frame* frame, std::string_view name, std::string_view value) {
  if (const int cut = CountHeader(name.size() + value.size()); cut != 0) return cut;
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;  // trailers are not used
  Stream* stream = Find(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  const std::size_t size = name.size() + value.size() + 32;  // decoded, as HTTP/2 counts
  HttpRequest& request = stream->request;
  if (stream->headers_too_large || stream->header_bytes + size > limits_.max_header_bytes) {
    // Releases what has been received; only the size matters.
    if (!stream->headers_too_large) {
      incoming_ -= stream->header_bytes;
      request = {};
    }
    stream->headers_too_large = true;
    stream->header_bytes += size;
    return 0;
  }
  stream->header_bytes += size;
  incoming_ += size;
  if (name == ":method") {
    request.method = std::string(value);
  } else if (name == ":path") {
    const std::size_t mark = value.find('?');
    request.path = std::string(value.substr(0, mark));
    if (mark != std::string_view::npos) request.query = std::string(value.substr(mark + 1));
  } else if (name == ":authority") {
    request.headers.Add("host", std::string(value));
  } else if (!name.empty() && name[0] != ':') {
    if (name == "host" && !request.headers.Get("host").empty()) return 0;
    if (name == "content-length") {
      std::uint64_t length = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), length).ec == std::errc()) stream->length = length;
    }
    request.headers.Add(std::string(name), std::string(value));
  }
  return 0;
}

int Http2Session::OnFrame(const nghttp2_frame* frame) {
  if (frame->hd.type == NGHTTP2_SETTINGS && !greeted_ && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
    greeted_ = true;
    if (streams_.empty() && idle_deadline_) idle_deadline_ = std::chrono::steady_clock::now() + limits_.idle_timeout;
  }
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  Stream* stream = Find(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  stream->client_done = stream->client_done || end;
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    HeadersDone(frame->hd.stream_id, *stream, end);
  } else if (end && !stream->delivered) {
    Deliver(frame->hd.stream_id, *stream, false);
  }
  return 0;
}

void Http2Session::HeadersDone(std::int32_t id, Stream& stream, bool end) {
  head_timeout_.reset();
  if (stream.headers_too_large) {
    stream.delivered = true;
    stream.answered = true;
    return RefuseHeaders(id);
  }
  if (end) return Deliver(id, stream, false);
  if (stream.length && *stream.length > limits_.max_body_bytes) return Deliver(id, stream, true);
  if (stream.request.headers.Get("expect") == "100-continue") {
    const nghttp2_nv status = Pair(":status", "100");
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, id, nullptr, &status, 1, nullptr);
  }
  body_timeouts_.push_back({std::chrono::steady_clock::now() + limits_.body_timeout, id});
}

int Http2Session::OnData(std::int32_t id, std::string_view data) {
  Stream* stream = Find(id);
  if (stream == nullptr) return 0;
  if (stream->delivered) {
    stream->unwanted += data.size();
    if (stream->unwanted > std::min(kMaxUnwanted, (std::size_t{64} << 10) + 10 * limits_.max_body_bytes)) Reset(id, NGHTTP2_NO_ERROR);
    return 0;
  }
  std::string& body = stream->request.body;
  if (body.size() + data.size() > limits_.max_body_bytes) {
    Deliver(id, *stream, true);
    return 0;
  }
  if (body.empty() && stream->length) {
    // Memory is for bytes that came, not for those that were announced.
    body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*stream->length, std::max(data.size(), std::size_t{64} << 10))));
  }
  body.append(data);
  incoming_ += data.size();
  return 0;
}

void Http2Session::Deliver(std::int32_t id, Stream& stream, bool too_large) {
  stream.delivered = true;
  incoming_ -= Incoming(stream);
  Prune();
  HttpRequest request = std::move(stream.request);
  if (too_large) request.body = {};
  request.body_too_large = too_large;
  request.client_certificate = context_.client_certificate;
  request.peer = context_.peer;
  request.peer_group = context_.peer_group;
  request.http_major = 2;
  stream.exchange = std::make_shared<ExchangeState>(std::move(request), context_.waker, id, context_.account);
  Dispatch(*context_.handler, stream.exchange);
}

void Http2Session::Answer(Stream& stream, const ExchangeState::Head& head) {
  const std::int32_t id = stream.exchange->stream();
  stream.answered = true;
  std::vector<std::string> values;  // that nothing else holds
  values.reserve(4);
  std::vector<nghttp2_nv> fields;
  const bool head_request = stream.exchange->head_request();
  const bool bodiless = head_request || head.status == 204 || head.status == 304;
  values.push_back(std::to_string(head.status));
  fields.push_back(Pair(":status", values.back()));
  std::deque<HttpHeader> cleaned;
  bool last = false;
  for (const HttpHeader& header : head.headers) {
    if (header.name == "connection" && header.value == "close") last = true;
    if (IsConnectionHeader(header.name) || header.name == "date") continue;
    if (header.name == "content-length" && (head.length || !bodiless)) continue;
    HttpHeader& copy = cleaned.emplace_back(HttpHeader{header.name, CleanHeaderValue(header.value)});
    std::transform(copy.name.begin(), copy.name.end(), copy.name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    fields.push_back(Pair(copy.name, copy.value));
  }
  values.emplace_back(HttpDate());
  fields.push_back(Pair("date", values.back()));
  if (head.length && head.status != 204 && head.status != 304) {
    values.push_back(std::to_string(*head.length));
    fields.push_back(Pair("content-length", values.back()));
  }
  nghttp2_data_provider provider{};
  provider.source.ptr = nullptr;
  provider.read_callback = [](nghttp2_session*, std::int32_t stream_id, std::uint8_t*, std::size_t length, std::uint32_t* flags,
                              nghttp2_data_source*, void* self) -> ssize_t { return Self(self).OfferData(stream_id, length, flags); };
  const bool no_data = bodiless || (head.length && *head.length == 0 && stream.exchange->Next(0).last);
  nghttp2_submit_response(session_, id, fields.data(), fields.size(), no_data ? nullptr : &provider);
  if (last) {
    // Requests that came in until now are answered.
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR, nullptr, 0);
  }
}

void Http2Session::RefuseHeaders(std::int32_t id) {
  const std::array<nghttp2_nv, 2> fields = {Pair(":status", "431"), Pair("content-length", "0")};
  nghttp2_submit_response(session_, id, fields.data(), fields.size(), nullptr);
}

ssize_t Http2Session::OfferData(std::int32_t id, std::size_t length, std::uint32_t* flags) {
  Stream* stream = Find(id);
  if (stream == nullptr || stream->exchange == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
  const ExchangeState::Offer offer = stream->exchange->Next(length);
  if (offer.cut) {
    if (!stream->cut) cuts_.push_back({std::chrono::steady_clock::now() + kCutDelay, id});
    stream->cut = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  if (offer.size == 0 && !offer.last) return NGHTTP2_ERR_DEFERRED;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (offer.last) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(offer.size);
}

// Writes the frame that OfferData promised straight from the exchange's texts into the output.
int Http2Session::SendData(const nghttp2_frame* frame, const std::uint8_t* head, std::size_t length) {
  if (out_->size() >= kOutputBytes) return NGHTTP2_ERR_WOULDBLOCK;
  const Stream* stream = Find(frame->hd.stream_id);
  if (stream == nullptr || stream->exchange == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  out_->append(View(head, kFrameHead));
  stream->exchange->Take(length, *out_);
  budget_.Earn(2 + static_cast<double>(length) / 1024);  // a client may have to update two windows for it
  return 0;
}

int Http2Session::OnFrameSent(const nghttp2_frame* frame) {
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  Stream* stream = Find(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  stream->sent = true;
  budget_.Earn(4);
  if (context_.account != nullptr) context_.account->Answered();
  // It is complete for the handler, also if the client still has to send the rest of a body that was too large.
  if (stream->exchange != nullptr) stream->exchange->Close();
  if (!stream->client_done) body_timeouts_.push_back({std::chrono::steady_clock::now() + limits_.body_timeout, frame->hd.stream_id});
  return 0;
}

// Deadlines of finished streams are usually at the front: a session must not keep a long list of them.
void Http2Session::Prune() {
  const auto prune = [this](std::deque<Timeout>& timeouts, const auto& over) {
    while (!timeouts.empty()) {
      const Stream* first = Find(timeouts.front().stream);
      if (first != nullptr && !over(*first)) break;
      timeouts.pop_front();
    }
  };
  prune(body_timeouts_, [](const Stream& stream) { return stream.client_done; });
  prune(answer_timeouts_, [](const Stream& stream) { return stream.sent; });
}

int Http2Session::OnStreamClose(std::int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return 0;
  const std::unique_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  if (!stream->delivered && !stream->headers_too_large) incoming_ -= Incoming(*stream);
  Prune();
  if (head_timeout_ && head_timeout_->stream == id) head_timeout_.reset();
  if (streams_.empty()) idle_deadline_ = std::chrono::steady_clock::now() + limits_.idle_timeout;
  if (stream->exchange != nullptr) stream->exchange->Close();
  return 0;
}

}  // namespace

std::unique_ptr<Session> MakeHttp2Session(SessionContext context) { return std::make_unique<Http2Session>(std::move(context)); }

}  // namespace kube::serve
