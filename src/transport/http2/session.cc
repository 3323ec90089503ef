#include "transport/http2/session.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "kube/transport/transport_errors.h"
#include "transport/request/body.h"

namespace kube::internal {
namespace {

namespace reason = transport_reason;

// The connection's window never blocks a stream: each stream has its own, and received bytes count as taken at once.
constexpr std::int32_t kConnectionWindow = 1 << 30;
// The window of an answer that is read whole, once it proves to be large.
constexpr std::int32_t kWideWindow = 32 << 20;
// Bodies wait in their calls while so much waits to be sent.
constexpr std::size_t kMostOutput = std::size_t{256} << 10;
constexpr std::size_t kMostStreams = 10'000;
constexpr int kMostAttempts = 5;
constexpr std::size_t kFrameHead = 9;

std::string_view View(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

bool SameName(std::string_view a, std::string_view b) { return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0; }

// Headers that belong to the connection, or that are written here.
bool OwnHeader(std::string_view name) {
  switch (name.size()) {
    case 4:
      return SameName(name, "Host");
    case 7:
      return SameName(name, "Upgrade");
    case 10:
      return SameName(name, "Connection") || SameName(name, "Keep-Alive");
    case 14:
      return SameName(name, "Content-Length");
    case 16:
      return SameName(name, "Proxy-Connection");
    case 17:
      return SameName(name, "Transfer-Encoding");
    default:
      return false;
  }
}

nghttp2_nv Pair(std::string_view name, std::string_view value) {
  // Nothing is copied: it stays until the frame is written, which is before Start returns.
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())), reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
          name.size(), value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool WithBody(const HttpRequest& request) {
  return !request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
}

}  // namespace

const nghttp2_session_callbacks* Http2Session::Callbacks() {
  static const nghttp2_session_callbacks* const callbacks = [] {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0) return made;
    nghttp2_session_callbacks_set_send_callback(
        made, [](nghttp2_session*, const std::uint8_t* data, std::size_t size, int, void* self) -> ssize_t {
          Self(self).out_.append(View(data, size));
          return static_cast<ssize_t>(size);
        });
    nghttp2_session_callbacks_set_send_data_callback(
        made,
        [](nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t length, nghttp2_data_source* source,
           void* self) -> int { return Self(self).SendBody(*frame, head, length, *static_cast<Call*>(source->ptr)); });
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, [](nghttp2_session*, const nghttp2_frame* frame, void* self) -> int {
      Self(self).OnBeginHeaders(*frame);
      return 0;
    });
    nghttp2_session_callbacks_set_on_header_callback(
        made,
        [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
           std::size_t value_size, std::uint8_t,
           void* self) -> int { return Self(self).OnHeader(*frame, View(name, name_size), View(value, value_size)); });
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, [](nghttp2_session*, const nghttp2_frame* frame, void* self) -> int {
      Self(self).OnFrame(*frame);
      return 0;
    });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        made, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size, void* self) -> int {
          return Self(self).OnData(id, View(data, size));
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(made,
                                                           [](nghttp2_session*, std::int32_t id, std::uint32_t code, void* self) -> int {
                                                             Self(self).OnStreamClose(id, code);
                                                             return 0;
                                                           });
    return made;
  }();
  return callbacks;
}

Http2Session::Http2Session(const Settings& settings, CallOwner& owner) : settings_(settings), owner_(owner) {
  nghttp2_option* option = nullptr;
  if (nghttp2_option_new(&option) == 0) {
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_max_send_header_block_length(option, std::size_t{1} << 20);
    nghttp2_session_client_new2(&session_, Callbacks(), this, option);
    nghttp2_option_del(option);
  }
  if (session_ == nullptr) {
    over_ = true;
    return;
  }
  // A streaming answer may be so far ahead of its reader.
  window_ = std::clamp(settings.options.stream_buffer, std::size_t{16} << 10, std::size_t{1} << 30);
  const std::array<nghttp2_settings_entry, 3> entries = {
      nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(window_)},
      nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
                             static_cast<std::uint32_t>(std::min(settings.options.max_header_bytes, std::size_t{1} << 30))}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, entries.data(), entries.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  TakeOutput();
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

// ---- What may be started ----

std::size_t Http2Session::limit() const {
  // One request does not have to wait for the server's SETTINGS.
  if (!settled_) return 1;
  return std::min<std::size_t>(nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS), kMostStreams);
}

std::size_t Http2Session::free_streams() const {
  if (retired_ || over_) return 0;
  const std::size_t most = limit();
  return most > active_.size() ? most - active_.size() : 0;
}

// ---- Requests ----

void Http2Session::BuildHeaders(const HttpRequest& request, bool with_body) {
  const Endpoint& endpoint = settings_.endpoint;
  fields_.clear();
  names_.clear();
  std::size_t size = 0;
  for (const auto& [name, value] : request.headers) size += name.size();
  names_.reserve(size);  // so that it stays in its place
  const std::string* host = request.headers.Find("Host");
  std::string_view path = request.target;
  if (!endpoint.path.empty()) {
    path_.assign(endpoint.path).append(request.target);
    path = path_;
  }
  fields_.push_back(Pair(":method", request.method));
  fields_.push_back(Pair(":path", path));
  fields_.push_back(Pair(":scheme", "https"));
  fields_.push_back(Pair(":authority", host == nullptr ? settings_.authority : *host));
  // A caller that sets an encoding gets the body as it is, as in Go.
  if (AsksForGzip(settings_, request)) fields_.push_back(Pair("accept-encoding", "gzip"));
  for (const auto& [name, value] : request.headers) {
    if (OwnHeader(name)) continue;
    const std::size_t begin = names_.size();
    for (const char c : name) names_.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c));
    fields_.push_back(Pair(std::string_view(names_).substr(begin), Trim(value)));
  }
  if (with_body) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, request.body.size());
    (void)error;
    length_.assign(digits, end);
    fields_.push_back(Pair("content-length", length_));
  }
}

void Http2Session::Start(std::shared_ptr<Call> call) {
  const HttpRequest& request = call->request;
  Http2Stream& stream = call->stream;
  stream = Http2Stream();
  ++call->attempts;
  const bool with_body = WithBody(request);
  BuildHeaders(request, with_body);
  nghttp2_data_provider body{};
  body.source.ptr = call.get();
  body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t*, std::size_t length, std::uint32_t* flags,
                          nghttp2_data_source* source,
                          void* self) -> ssize_t { return Self(self).OfferBody(*static_cast<Call*>(source->ptr), length, flags); };
  const std::int32_t id =
      nghttp2_submit_request(session_, nullptr, fields_.data(), fields_.size(), request.body.empty() ? nullptr : &body, call.get());
  if (id < 0) {
    // Numbers of streams are used up after 2^30 requests: another connection has new ones.
    retired_ = true;
    if (id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE && call->attempts < kMostAttempts) return owner_.SendAgain(std::move(call));
    return owner_.Done(*call, Error::Internal("nghttp2 takes no request: memory may be short"));
  }
  stream.session = this;
  stream.id = id;
  stream.first = !std::exchange(used_, true);
  stream.slot = active_.size();
  streaming_ += request.streaming ? 1 : 0;
  active_.push_back(std::move(call));
  TakeOutput();
}

ssize_t Http2Session::OfferBody(Call& call, std::size_t length, std::uint32_t* flags) {
  Http2Stream& stream = call.stream;
  if (out_.size() - out_sent_ >= kMostOutput) {
    stream.deferred = deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  const std::size_t left = call.request.body.size() - stream.sent;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (left <= length) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(std::min(left, length));
}

int Http2Session::SendBody(const nghttp2_frame& frame, const std::uint8_t* head, std::size_t length, Call& call) {
  if (frame.data.padlen != 0) return NGHTTP2_ERR_CALLBACK_FAILURE;  // padding was not requested
  out_.append(View(head, kFrameHead));
  out_.append(call.request.body, call.stream.sent, length);
  call.stream.sent += length;
  return 0;
}

void Http2Session::Cancel(Call& call) {
  // The call may go when this returns: nghttp2 has nothing of it then.
  const std::shared_ptr<Call> kept = Remove(call);
  Reset(*kept, NGHTTP2_CANCEL);
  TakeOutput();
}

void Http2Session::Reset(Call& call, std::uint32_t code) { nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream.id, code); }

void Http2Session::Ping() {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  TakeOutput();
}

// ---- Output ----

void Http2Session::TakeOutput() {
  if (over_) return;
  if (out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
  }
  // Mostly there is nothing: that is seen at once.
  if (nghttp2_session_want_write(session_) != 0 && nghttp2_session_send(session_) != 0) over_ = true;
  if (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0) over_ = true;
}

void Http2Session::Sent(std::size_t bytes) {
  out_sent_ += bytes;
  if (out_sent_ == out_.size()) {
    // A connection that once sent much does not keep the room for it.
    if (out_.capacity() > 2 * kMostOutput) std::string().swap(out_);
    out_.clear();
    out_sent_ = 0;
  } else if (out_sent_ >= kMostOutput) {
    out_.erase(0, out_sent_);
    out_sent_ = 0;
  }
  if (!deferred_ || out_.size() - out_sent_ >= kMostOutput / 2) return;
  deferred_ = false;
  for (const std::shared_ptr<Call>& call : active_) {
    if (std::exchange(call->stream.deferred, false)) (void)nghttp2_session_resume_data(session_, call->stream.id);
  }
  TakeOutput();
}

// ---- Answers ----

bool Http2Session::Receive(std::string_view bytes) {
  if (over_) return false;
  const ssize_t used = nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  // Errors of the protocol are answered by nghttp2 itself, with GOAWAY; what comes here cannot be answered.
  if (used < 0) {
    over_ = true;
    return false;
  }
  TakeOutput();
  return !over_;
}

void Http2Session::OnBeginHeaders(const nghttp2_frame& frame) {
  Call* call = frame.hd.type == NGHTTP2_HEADERS ? Find(frame.hd.stream_id) : nullptr;
  if (call == nullptr || call->stream.head_done) return;
  call->response.headers = HttpHeaders();  // there may have been an informational answer
  call->response.code = 0;
  call->response.http_major = 2;
}

int Http2Session::OnHeader(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  Call* call = Find(frame.hd.stream_id);
  if (call == nullptr || call->stream.head_done) return 0;  // not needed any more, or a trailer
  call->stream.header_bytes += name.size() + value.size() + 4;
  if (call->stream.header_bytes > settings_.options.max_header_bytes) {
    call->stream.cause = TransportError(reason::kTooLarge, fmt::format("the header of the answer of {} is larger than {} bytes",
                                                                       settings_.endpoint.HostPort(), settings_.options.max_header_bytes));
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  if (!name.empty() && name.front() == ':') {
    if (name == ":status") (void)std::from_chars(value.data(), value.data() + value.size(), call->response.code);
    return 0;
  }
  call->response.headers.Add(std::string(name), std::string(value));
  return 0;
}

void Http2Session::OnHeadEnd(Call& call) {
  if (call.response.code / 100 == 1) return;  // the real answer follows
  call.stream.head_done = true;
  PrepareBody(settings_, call);
  if (call.request.streaming) owner_.HeadCame(call);
}

void Http2Session::OnFrame(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_SETTINGS:
      if ((frame.hd.flags & NGHTTP2_FLAG_ACK) == 0) settled_ = true;
      return;
    case NGHTTP2_GOAWAY:
      // nghttp2 closes the streams that the server did not take, as refused.
      retired_ = true;
      goaway_ = frame.goaway.error_code;
      return;
    case NGHTTP2_RST_STREAM:
      if (Call* call = Find(frame.hd.stream_id)) call->stream.reset = true;
      return;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
      break;
    default:
      return;
  }
  Call* call = Find(frame.hd.stream_id);
  if (call == nullptr) return;
  if (frame.hd.type == NGHTTP2_HEADERS && !call->stream.head_done) OnHeadEnd(*call);
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  call->stream.answered = true;
  // A server may answer before it has the whole body, as with 401. It does not want the rest.
  if (call->stream.sent < call->request.body.size()) Reset(*call, NGHTTP2_CANCEL);
}

int Http2Session::OnData(std::int32_t id, std::string_view bytes) {
  (void)nghttp2_session_consume_connection(session_, bytes.size());
  Call* call = Find(id);
  if (call == nullptr || call->stream.cause) return 0;
  Http2Stream& stream = call->stream;
  stream.uncredited += bytes.size();
  if (call->request.streaming) {
    call->Deliver(bytes);
    // What it read and did not report is less than half of the window: the rest waits for it.
    if (!stream.paused && stream.uncredited > window_ / 4 * 3) SetPaused(*call, true);
    return 0;
  }
  if (!AppendBody(settings_, *call, bytes)) {
    stream.cause = TooLargeError(settings_);
    Reset(*call, NGHTTP2_CANCEL);
    return 0;
  }
  if (stream.uncredited < window_ / 4) return 0;
  if (!std::exchange(stream.wide, true) && static_cast<std::size_t>(kWideWindow) > window_) {
    (void)nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, id, kWideWindow);
  }
  (void)nghttp2_session_consume_stream(session_, id, std::exchange(stream.uncredited, 0));
  return 0;
}

void Http2Session::Credit(Call& call) {
  std::size_t taken = 0;
  {
    MutexLock lock(call.mu);
    call.resuming = false;
    // The server is notified when half of the window is used up; smaller amounts need not be counted each time.
    if (call.taken < window_ / 8) return;
    taken = std::exchange(call.taken, 0);
  }
  Http2Stream& stream = call.stream;
  taken = std::min(taken, stream.uncredited);
  if (taken == 0) return;
  stream.uncredited -= taken;
  if (stream.paused && stream.uncredited <= window_ / 4 * 3) SetPaused(call, false);
  (void)nghttp2_session_consume_stream(session_, stream.id, taken);
  TakeOutput();
}

void Http2Session::SetPaused(Call& call, bool paused) {
  if (call.stream.paused == paused) return;
  call.stream.paused = paused;
  owner_.PausedChanged(paused ? 1 : -1);
}

// ---- The end of streams ----

std::shared_ptr<Call> Http2Session::Remove(Call& call) {
  SetPaused(call, false);
  // nghttp2 may name the stream once more, when it is closed.
  (void)nghttp2_session_set_stream_user_data(session_, call.stream.id, nullptr);
  const std::size_t slot = call.stream.slot;
  std::shared_ptr<Call> kept = std::move(active_[slot]);
  if (slot + 1 != active_.size()) {
    active_[slot] = std::move(active_.back());
    active_[slot]->stream.slot = slot;
  }
  active_.pop_back();
  streaming_ -= call.request.streaming ? 1 : 0;
  kept->stream.session = nullptr;
  return kept;
}

bool Http2Session::MaySendAgain(const Call& call, bool refused) const {
  if (call.stream.head_done || call.attempts >= kMostAttempts) return false;
  return refused || (!call.stream.first && Repeatable(call.request.method));
}

Error Http2Session::ResetError(std::uint32_t code) const {
  const std::string host = settings_.endpoint.HostPort();
  if (code == NGHTTP2_REFUSED_STREAM && goaway_) {
    return TransportError(reason::kGoAway,
                          fmt::format("{} ended the HTTP/2 connection ({})", host, nghttp2_http2_strerror(goaway_.value_or(0))));
  }
  return TransportError(reason::kConnectionReset, fmt::format("{} reset the request ({})", host, nghttp2_http2_strerror(code)));
}

void Http2Session::OnStreamClose(std::int32_t id, std::uint32_t code) {
  Call* found = Find(id);
  if (found == nullptr) return;
  const std::shared_ptr<Call> call = Remove(*found);
  Http2Stream& stream = call->stream;
  if (stream.cause) return owner_.Done(*call, std::move(stream.cause));
  if (stream.answered && stream.head_done) return owner_.Done(*call, std::nullopt);
  const bool refused = code == NGHTTP2_REFUSED_STREAM;
  if (refused) retired_ = true;
  if (refused && MaySendAgain(*call, true)) return owner_.SendAgain(call);
  if (refused || stream.reset) return owner_.Done(*call, ResetError(code));
  // nghttp2 found something wrong with the answer.
  owner_.Done(*call, TransportError(reason::kProtocol, fmt::format("the answer of {} is broken HTTP/2 ({})", settings_.endpoint.HostPort(),
                                                                   nghttp2_http2_strerror(code))));
}

void Http2Session::End(const std::optional<Error>& cause) {
  over_ = retired_ = true;
  const std::string host = settings_.endpoint.HostPort();
  std::vector<std::shared_ptr<Call>> all;
  while (!active_.empty()) all.push_back(Remove(*active_.back()));
  for (const std::shared_ptr<Call>& call : all) {
    const bool head = call->stream.head_done;
    if (!cause && goaway_ && *goaway_ != NGHTTP2_NO_ERROR) {
      owner_.Done(*call, TransportError(reason::kGoAway,
                                        fmt::format("{} ended the HTTP/2 connection ({})", host, nghttp2_http2_strerror(*goaway_))));
    } else if (!cause) {
      owner_.Done(*call, TransportError(reason::kProtocol, fmt::format("{} broke HTTP/2", host)));
    } else if (IsTransportError(*cause, reason::kUnexpectedEof) || IsTransportError(*cause, reason::kConnectionReset)) {
      if (MaySendAgain(*call, false)) {
        owner_.SendAgain(call);
      } else if (IsTransportError(*cause, reason::kConnectionReset)) {
        owner_.Done(*call, *cause);
      } else {
        owner_.Done(*call,
                    TransportError(reason::kUnexpectedEof, fmt::format("{} closed the connection {}", host,
                                                                       head ? "before the answer was complete" : "without an answer")));
      }
    } else {
      owner_.Done(*call, *cause);
    }
  }
}

}  // namespace kube::internal
