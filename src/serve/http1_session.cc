// HTTP/1.0 and HTTP/1.1. Boost.Beast parses; requests of one connection are answered one after the other, so pipelined ones wait.
#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "serve/raw_session.h"
#include "serve/session.h"

namespace kube::serve {

namespace {

namespace http = boost::beast::http;

// Bounds what is read ahead of the request that is being answered (reading goes on meanwhile, because that is how a client that left
// shows), and a line of a chunk's size with its extensions, or the trailers.
constexpr std::size_t kMaxAhead = std::size_t{64} << 10;
// What a header line costs beside its text: 32 bytes towards the limit, as HTTP/2 counts, and an allocation of the parser.
constexpr std::size_t kLineBytes = 32;
constexpr std::size_t kLineHeldBytes = 96;
// Capacity that an empty input buffer keeps; the rest is released.
constexpr std::size_t kKeptInput = std::size_t{4} << 10;

char LowerChar(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), LowerChar);
  return lower;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return LowerChar(x) == LowerChar(y); });
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Added or decided here, whatever the handler says.
bool IsOurHeader(std::string_view name) {
  return name == "content-length" || name == "transfer-encoding" || name == "connection" || name == "date";
}

class Http1Session final : public Session {
 public:
  explicit Http1Session(SessionContext context) : context_(std::move(context)), limits_(context_.options->limits) {
    SetDeadline(limits_.header_timeout);
  }

  void Receive(std::string_view bytes) override {
    if (state_ == State::kEnded) return;
    input_.append(bytes);
    Parse();
  }
  void ReceiveEnd() override;
  void Wake(ExchangeState&) override {}  // Produce looks at the one exchange that there is
  void Produce(std::string& out) override;
  bool WantsInput() const override { return state_ != State::kAnswer || input_.size() < MaxAhead(); }
  std::size_t held_bytes() const override {
    return sizeof(*this) + input_.capacity() + notice_.capacity() +
           (parser_ == nullptr ? 0 : sizeof(Parser) + 2 * head_bytes_ + kLineHeldBytes * head_lines_ + parser_->get().body().size());
  }
  Ending ending() const override { return ending_; }
  std::optional<TimePoint> deadline() const override { return deadline_; }
  void OnDeadline(TimePoint now) override {
    if (!deadline_ || now < *deadline_) return;
    const bool idle = state_ == State::kIdle && answered_;
    if (!idle && context_.account != nullptr) context_.account->Count(ClosedFor::kDeadline);
    End(state_ == State::kAnswer ? Ending::kNow : Ending::kClean);
  }
  void Close() override {
    if (exchange_ != nullptr) exchange_->Close();
    exchange_ = nullptr;
  }
  std::unique_ptr<Session> TakeSuccessor() override { return std::move(successor_); }

 private:
  using Parser = http::request_parser<http::string_body>;
  enum class State { kIdle, kHead, kBody, kAnswer, kEnded };
  enum class Framing { kLength, kChunked, kUntilClose, kNone };

  std::size_t MaxAhead() const { return std::min(kMaxAhead, limits_.max_header_bytes); }
  void SetDeadline(std::chrono::milliseconds timeout) { deadline_ = std::chrono::steady_clock::now() + timeout; }
  void End(Ending ending);
  void Parse();
  bool ParseSome();
  bool CountHead();
  void HeadDone();
  void Deliver(bool too_large);
  void Refuse(int status, std::string_view why = {});
  void WriteHead(const ExchangeState::Head& head, std::string& out);
  bool ProduceBody(std::string& out);
  void AnswerDone();

  const SessionContext context_;
  const HttpLimits& limits_;
  State state_ = State::kIdle;
  Ending ending_ = Ending::kNone;
  std::optional<TimePoint> deadline_;
  std::string input_;   // not parsed yet
  std::string notice_;  // what this session itself says: 100 Continue, 400
  std::unique_ptr<Parser> parser_;
  // The head of the request that is parsed: what was counted of it, and of `input_`.
  std::size_t head_bytes_ = 0;
  std::size_t head_lines_ = 0;
  std::size_t counted_ = 0;
  bool at_line_start_ = false;
  bool head_counted_ = false;  // up to the empty line
  bool answered_ = false;      // something
  std::shared_ptr<ExchangeState> exchange_;
  bool head_written_ = false;
  bool head_request_ = false;
  bool keep_alive_ = true;
  bool client_ended_ = false;
  int minor_version_ = 1;
  Framing framing_ = Framing::kChunked;
  std::unique_ptr<Session> successor_;
};

void Http1Session::End(Ending ending) {
  state_ = State::kEnded;
  ending_ = ending;
  deadline_.reset();
  parser_ = nullptr;
  input_.clear();
  Close();
}

void Http1Session::ReceiveEnd() {
  client_ended_ = true;
  if (state_ == State::kEnded) return;
  // A client may stop sending and still read the answer, but that looks the same as one that left: only an answer that is all here
  // already goes on.
  if (state_ == State::kAnswer && exchange_->Complete()) {
    keep_alive_ = false;
    return;
  }
  End(Ending::kClean);
}

void Http1Session::Parse() {
  while (state_ == State::kIdle || state_ == State::kHead || state_ == State::kBody) {
    if (!ParseSome()) return;
  }
}

// Counts the head in what came in, before the parser sees it: the parser allocates memory for each line, however short, and its own limit
// counts bytes only. False if the head is too large.
bool Http1Session::CountHead() {
  while (!head_counted_ && counted_ < input_.size()) {
    const std::size_t end = input_.find('\n', counted_);
    const bool whole = end != std::string::npos;
    const std::string_view part = std::string_view(input_).substr(counted_, whole ? end - counted_ : end);
    head_counted_ = whole && at_line_start_ && (part.empty() || part == "\r");
    // A line whose first byte is the last that came stays at its start, so that the end of "\r", "\n" is seen.
    if (!whole && at_line_start_ && part == "\r") break;
    if (at_line_start_ && !head_counted_) ++head_lines_;
    at_line_start_ = whole;
    head_bytes_ += part.size() + (whole ? 1 : 0);
    counted_ += part.size() + (whole ? 1 : 0);
    if (head_bytes_ + kLineBytes * head_lines_ > limits_.max_header_bytes) return false;
  }
  return true;
}

// False if more input is needed, or nothing more is to be done.
bool Http1Session::ParseSome() {
  if (state_ == State::kIdle) {
    // Empty lines between requests are harmless, and some clients send them.
    std::size_t skip = 0;
    while (skip < input_.size() && (input_[skip] == '\r' || input_[skip] == '\n')) ++skip;
    input_.erase(0, skip);
    if (input_.empty()) {
      if (input_.capacity() > kKeptInput) input_ = {};
      return false;
    }
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(limits_.max_header_bytes, UINT32_MAX)));
    parser_->body_limit(std::uint64_t{limits_.max_body_bytes});
    head_bytes_ = head_lines_ = counted_ = 0;
    at_line_start_ = true;
    head_counted_ = false;
    state_ = State::kHead;
    // The first request has to be here in time from the start of the connection.
    if (answered_) SetDeadline(limits_.header_timeout);
  }
  if (state_ == State::kHead && !CountHead()) {
    Refuse(431);
    return false;
  }
  boost::beast::error_code ec;
  const std::size_t used = parser_->put(boost::asio::const_buffer(input_.data(), input_.size()), ec);
  input_.erase(0, used);
  counted_ -= std::min(counted_, used);
  if (ec == http::error::body_limit) {
    // Beast says so at the end of the head for a length that is too large, and within the body for chunks.
    if (state_ == State::kHead && parser_->get().find(http::field::host) == parser_->get().end() && parser_->get().version() >= 11) {
      Refuse(400, ": missing required Host header");
      return false;
    }
    Deliver(true);
    return false;
  }
  if (ec && ec != http::error::need_more) {
    if (ec == http::error::header_limit) {
      Refuse(431);
    } else if (ec == http::error::bad_version) {
      Refuse(505, ": unsupported protocol version");
    } else if (ec == http::error::bad_transfer_encoding) {
      Refuse(501, ": unsupported transfer encoding");
    } else {
      Refuse(400);
    }
    return false;
  }
  if (state_ == State::kHead && parser_->is_header_done()) {
    HeadDone();
    return state_ == State::kBody;
  }
  if (state_ == State::kBody && parser_->is_done()) {
    Deliver(false);
    return false;
  }
  if (ec == http::error::need_more) {
    if (state_ == State::kBody && input_.size() > kMaxAhead) Refuse(400);
    return false;
  }
  return !input_.empty();
}

void Http1Session::HeadDone() {
  const auto& message = parser_->get();
  const auto hosts = message.count(http::field::host);
  if (message.version() != 10 && message.version() != 11) return Refuse(505, ": unsupported protocol version");
  if (hosts > 1) return Refuse(400, ": too many Host headers");
  if (hosts == 0 && message.version() == 11) return Refuse(400, ": missing required Host header");
  if (const auto encoding = message.find(http::field::transfer_encoding);
      encoding != message.end() && !EqualsIgnoreCase(View(encoding->value()), "chunked")) {
    return Refuse(501, ": unsupported transfer encoding");
  }
  if (parser_->is_done()) return Deliver(false);
  state_ = State::kBody;
  SetDeadline(limits_.body_timeout);
  // The client waits for this word before it sends the body, unless it has begun already.
  if (input_.empty() && message.version() == 11 && EqualsIgnoreCase(View(message[http::field::expect]), "100-continue")) {
    notice_ += "HTTP/1.1 100 Continue\r\n\r\n";
  }
  parser_->eager(true);
}

void Http1Session::Deliver(bool too_large) {
  auto& message = parser_->get();
  HttpRequest request;
  request.method = std::string(View(message.method_string()));
  std::string_view target = View(message.target());
  if (!target.empty() && target[0] != '/') {
    // The form that proxies get: "http://host/path".
    if (const std::size_t scheme = target.find("://"); scheme != std::string_view::npos && scheme < target.find('/')) {
      const std::size_t slash = target.find_first_of("/?", scheme + 3);
      target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    }
  }
  const std::size_t mark = target.find('?');
  request.path = std::string(target.substr(0, mark));
  if (mark != std::string_view::npos) request.query = std::string(target.substr(mark + 1));
  if (request.path.empty()) request.path = "/";
  for (const auto& field : message) request.headers.Add(Lower(View(field.name_string())), std::string(View(field.value())));
  if (!too_large) request.body = std::move(message.body());
  request.body_too_large = too_large;
  request.client_certificate = context_.client_certificate;
  request.peer = context_.peer;
  request.peer_group = context_.peer_group;

  head_request_ = message.method() == http::verb::head;
  minor_version_ = message.version() == 10 ? 0 : 1;
  keep_alive_ = message.keep_alive() && !too_large;
  head_written_ = false;
  parser_ = nullptr;
  state_ = State::kAnswer;
  deadline_.reset();
  exchange_ = std::make_shared<ExchangeState>(std::move(request), context_.waker, 0, context_.account);
  Dispatch(*context_.handler, exchange_);
}

// An answer of the session itself, to what is no request.
void Http1Session::Refuse(int status, std::string_view why) {
  const std::string text = fmt::format("{} {}", status, ReasonPhrase(status));
  notice_ += fmt::format("HTTP/1.1 {}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n{}{}", text, text, why);
  End(Ending::kClean);
}

void Http1Session::WriteHead(const ExchangeState::Head& head, std::string& out) {
  const bool bodiless = head.status < 200 || head.status == 204 || head.status == 304;
  const std::string_view reason = ReasonPhrase(head.status);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", head.status, reason.empty() ? "Status" : reason);
  const auto add = [&out](std::string_view name, std::string_view value) { out.append(name).append(": ").append(value).append("\r\n"); };
  for (const HttpHeader& header : head.headers) {
    if (header.name == "connection" && EqualsIgnoreCase(header.value, "close")) keep_alive_ = false;
    if (head.status == 101 && header.name == "connection") continue;
    // The length of a body that is not sent is the handler's to know.
    const bool their_length = header.name == "content-length" && !head.length && (head_request_ || head.status == 304);
    if (!IsOurHeader(header.name) || their_length) add(CleanHeaderValue(header.name), CleanHeaderValue(header.value));
  }
  add("date", HttpDate());
  if (head.status == 101) {
    add("connection", "Upgrade");
  } else {
    if (bodiless || (head_request_ && !head.length)) {
      framing_ = Framing::kNone;
    } else if (head.length) {
      framing_ = head_request_ ? Framing::kNone : Framing::kLength;
      add("content-length", std::to_string(*head.length));
    } else if (minor_version_ == 1) {
      framing_ = Framing::kChunked;
      add("transfer-encoding", "chunked");
    } else {
      framing_ = Framing::kUntilClose;
      keep_alive_ = false;
    }
    if (!keep_alive_) {
      add("connection", "close");
    } else if (minor_version_ == 0) {
      add("connection", "keep-alive");
    }
  }
  out += "\r\n";
  head_written_ = true;
}

void Http1Session::Produce(std::string& out) {
  out += notice_;
  notice_.clear();
  while (state_ == State::kAnswer && out.size() < kOutputBytes) {
    ExchangeState::Progress progress = exchange_->Look();
    if (progress.aborted) return End(Ending::kCut);
    if (!deadline_ && exchange_->Complete()) SetDeadline(limits_.answer_timeout);
    if (!head_written_) {
      if (progress.head == nullptr) return;
      WriteHead(*progress.head, out);
      if (progress.pipe != nullptr) {
        successor_ = MakeRawSession(std::move(progress.pipe), std::move(exchange_), input_);
        if (client_ended_) successor_->ReceiveEnd();
        exchange_ = nullptr;
        state_ = State::kEnded;
        return;
      }
    }
    if (framing_ != Framing::kNone && !ProduceBody(out)) return;
    AnswerDone();
    // The next of a pipeline may have been refused.
    out += notice_;
    notice_.clear();
  }
}

// True when the body is complete.
bool Http1Session::ProduceBody(std::string& out) {
  while (out.size() < kOutputBytes) {
    const ExchangeState::Offer offer = exchange_->Next(kOutputBytes - out.size());
    if (offer.cut) {
      End(Ending::kCut);
      return false;
    }
    if (offer.size > 0) {
      if (framing_ == Framing::kChunked) fmt::format_to(std::back_inserter(out), "{:x}\r\n", offer.size);
      exchange_->Take(offer.size, out);
      if (framing_ == Framing::kChunked) out += "\r\n";
    }
    if (offer.last) {
      if (framing_ == Framing::kChunked) out += "0\r\n\r\n";
      return true;
    }
    if (offer.size == 0) return false;
  }
  return false;
}

void Http1Session::AnswerDone() {
  const std::shared_ptr<ExchangeState> exchange = std::move(exchange_);
  exchange_ = nullptr;
  exchange->Close();
  answered_ = true;
  if (context_.account != nullptr) context_.account->Answered();
  if (!keep_alive_ || client_ended_) return End(Ending::kClean);
  state_ = State::kIdle;
  SetDeadline(limits_.idle_timeout);
  Parse();
}

}  // namespace

std::unique_ptr<Session> MakeHttp1Session(SessionContext context) { return std::make_unique<Http1Session>(std::move(context)); }

}  // namespace kube::serve
