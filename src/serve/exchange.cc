#include "serve/exchange.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <exception>
#include <utility>

#include "kube/base/log.h"
#include "serve/raw_session.h"

namespace kube::serve {

namespace {

const Logger& Log() {
  static const Logger log("serve.http");
  return log;
}

std::size_t SizeOf(const HttpRequest& request) {
  std::size_t size = request.method.size() + request.path.size() + request.query.size() + request.body.size();
  for (const HttpHeader& header : request.headers) size += sizeof(HttpHeader) + header.name.size() + header.value.size();
  return size;
}

HttpResponse InternalError() {
  return {.status = 500, .headers = {{"content-type", "text/plain; charset=utf-8"}}, .body = "internal error\n"};
}

// What the handler holds: dropping the last one without an answer is noticed.
class Exchange final : public HttpExchange {
 public:
  explicit Exchange(std::shared_ptr<ExchangeState> state) : state_(std::move(state)) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() override { state_->Drop(); }

  const HttpRequest& request() const override { return state_->request(); }
  void Reply(HttpResponse response) override { state_->Reply(std::move(response)); }
  void Start(int status, HttpHeaders headers) override { state_->Start(status, std::move(headers)); }
  bool Write(std::shared_ptr<const std::string> text) override { return state_->Write(std::move(text)); }
  void Finish() override { state_->Finish(); }
  std::size_t buffered_bytes() const override { return state_->buffered_bytes(); }
  void OnClose(std::function<void()> callback) override { state_->OnClose(std::move(callback)); }
  void Abort() override { state_->Abort(); }
  void CutAfter(std::size_t body_bytes) override { state_->CutAfter(body_bytes); }
  void Stall(bool stalled) override { state_->Stall(stalled); }
  Result<std::unique_ptr<UpgradedStream>> Upgrade(HttpHeaders headers) override { return state_->Upgrade(std::move(headers)); }

 private:
  const std::shared_ptr<ExchangeState> state_;
};

void RunCallback(const std::function<void()>& callback) {
  try {
    callback();
  } catch (const std::exception& e) {
    Log().Error(Error(ErrorKind::kUserCode, e.what()), "A callback of OnClose threw");
  } catch (...) {
    Log().Error(Error(ErrorKind::kUserCode, "unknown exception"), "A callback of OnClose threw");
  }
}

}  // namespace

HttpExchange::~HttpExchange() = default;

ExchangeState::ExchangeState(HttpRequest request, std::shared_ptr<Waker> waker, std::int32_t stream,
                             const std::shared_ptr<Account>& account)
    : request_(std::move(request)),
      request_charge_(account),
      head_request_(request_.method == "HEAD"),
      http_major_(request_.http_major),
      waker_(std::move(waker)),
      stream_(stream),
      buffered_charge_(account) {
  request_charge_.Set(sizeof(ExchangeState) + SizeOf(request_));
}

bool ExchangeState::Signal() {
  if (closed_ || signalled_) return false;
  signalled_ = true;
  return true;
}

void ExchangeState::WakeIf(bool wake) {
  if (wake) waker_->Wake(shared_from_this());
}

bool ExchangeState::Begin(Answer answer, Head head) {
  if (closed_ || answer_ != Answer::kNone) return false;
  answer_ = answer;
  head_ = std::make_unique<Head>(std::move(head));
  return true;
}

void ExchangeState::Push(std::shared_ptr<const std::string> text) {
  if (text == nullptr || text->empty()) return;
  buffered_ += text->size();
  texts_.push_back(std::move(text));
  buffered_charge_.Set(buffered_);
}

void ExchangeState::Reply(HttpResponse response) {
  bool wake = false;
  {
    MutexLock lock(mu_);
    Head head{.status = response.status, .headers = std::move(response.headers), .length = response.body.size()};
    if (!Begin(Answer::kReply, std::move(head))) return;
    if (!response.body.empty()) Push(std::make_shared<const std::string>(std::move(response.body)));
    finished_ = true;
    wake = Signal();
  }
  WakeIf(wake);
}

void ExchangeState::Start(int status, HttpHeaders headers) {
  bool wake = false;
  {
    MutexLock lock(mu_);
    if (!Begin(Answer::kStream, {.status = status, .headers = std::move(headers), .length = std::nullopt})) return;
    wake = Signal();
  }
  WakeIf(wake);
}

bool ExchangeState::Write(std::shared_ptr<const std::string> text) {
  bool wake = false;
  {
    MutexLock lock(mu_);
    if (closed_ || aborted_ || finished_ || answer_ != Answer::kStream) return false;
    Push(std::move(text));
    wake = Signal();
  }
  WakeIf(wake);
  return true;
}

void ExchangeState::Finish() {
  bool wake = false;
  {
    MutexLock lock(mu_);
    if (closed_ || finished_ || answer_ != Answer::kStream) return;
    finished_ = true;
    wake = Signal();
  }
  WakeIf(wake);
}

std::size_t ExchangeState::buffered_bytes() const {
  MutexLock lock(mu_);
  return buffered_;
}

void ExchangeState::OnClose(std::function<void()> callback) {
  {
    MutexLock lock(mu_);
    if (!closed_) {
      on_close_.push_back(std::move(callback));
      return;
    }
  }
  RunCallback(callback);
}

void ExchangeState::Abort() {
  bool wake = false;
  {
    MutexLock lock(mu_);
    if (closed_ || aborted_) return;
    aborted_ = true;
    wake = Signal();
  }
  WakeIf(wake);
}

void ExchangeState::CutAfter(std::size_t body_bytes) {
  bool wake = false;
  {
    MutexLock lock(mu_);
    cut_at_ = body_bytes;
    wake = Signal();
  }
  WakeIf(wake);
}

void ExchangeState::Stall(bool stalled) {
  bool wake = false;
  {
    MutexLock lock(mu_);
    stalled_ = stalled;
    wake = Signal();
  }
  WakeIf(wake);
}

Result<std::unique_ptr<UpgradedStream>> ExchangeState::Upgrade(HttpHeaders headers) {
  if (http_major_ != 1) return Error::Invalid("only a connection of HTTP/1.1 can leave HTTP");
  std::shared_ptr<RawPipe> pipe;
  bool wake = false;
  {
    MutexLock lock(mu_);
    if (closed_) return Error(ErrorKind::kClosed, "the client has disconnected");
    if (!Begin(Answer::kUpgrade, {.status = 101, .headers = std::move(headers), .length = std::nullopt})) {
      return Error::Invalid("the request is answered already");
    }
    pipe_ = std::make_shared<RawPipe>(waker_, shared_from_this());
    pipe = pipe_;
    wake = Signal();
  }
  WakeIf(wake);
  return MakeUpgradedStream(std::move(pipe));
}

void ExchangeState::Drop() {
  Answer answer = Answer::kNone;
  bool finished = false;
  {
    MutexLock lock(mu_);
    answer = answer_;
    finished = finished_;
  }
  if (answer == Answer::kNone) Reply(InternalError());
  // A stream without any writer left must not look like one that only has nothing to send, nor like a complete one.
  if (answer == Answer::kStream && !finished) Abort();
  request_ = {};
  request_charge_.Set(sizeof(ExchangeState));
}

ExchangeState::Progress ExchangeState::Look() {
  MutexLock lock(mu_);
  signalled_ = false;
  Progress progress{.aborted = aborted_, .head = nullptr, .pipe = nullptr};
  if (!stalled_) {
    progress.head = std::move(head_);
    progress.pipe = std::move(pipe_);
  }
  return progress;
}

bool ExchangeState::Complete() const {
  MutexLock lock(mu_);
  return finished_ && !aborted_;
}

ExchangeState::Offer ExchangeState::Next(std::size_t max) const {
  MutexLock lock(mu_);
  if (aborted_ || (cut_at_ && *cut_at_ <= sent_)) return {.size = 0, .last = false, .cut = true};
  if (stalled_) return {};
  bool cut_next = false;
  if (cut_at_) {
    max = std::min(max, *cut_at_ - sent_);
    cut_next = max <= buffered_ && sent_ + max == *cut_at_;
  }
  const std::size_t size = std::min(max, buffered_);
  return {.size = size, .last = finished_ && size == buffered_ && !cut_next, .cut = false};
}

void ExchangeState::Take(std::size_t size, std::string& out) {
  MutexLock lock(mu_);
  while (size > 0 && !texts_.empty()) {
    const std::string& text = *texts_.front();
    const std::size_t part = std::min(size, text.size() - taken_of_first_);
    out.append(text, taken_of_first_, part);
    taken_of_first_ += part;
    size -= part;
    sent_ += part;
    buffered_ -= part;
    if (taken_of_first_ == text.size()) {
      texts_.pop_front();
      taken_of_first_ = 0;
    }
  }
  buffered_charge_.Set(buffered_);
}

void ExchangeState::Close() {
  std::vector<std::function<void()>> callbacks;
  std::deque<std::shared_ptr<const std::string>> texts;
  std::shared_ptr<RawPipe> pipe;
  {
    MutexLock lock(mu_);
    if (closed_) return;
    closed_ = true;
    callbacks.swap(on_close_);
    texts.swap(texts_);
    pipe = std::move(pipe_);
    buffered_ = 0;
    buffered_charge_.Set(0);
    taken_of_first_ = 0;
  }
  // An upgrade that was never established: notify readers that wait for bytes.
  if (pipe != nullptr) pipe->CloseFromConnection();
  for (const std::function<void()>& callback : callbacks) RunCallback(callback);
}

void Dispatch(const HttpServer::Handler& handler, const std::shared_ptr<ExchangeState>& state) {
  const std::shared_ptr<HttpExchange> exchange = std::make_shared<Exchange>(state);
  std::string what;
  try {
    handler(exchange);
    return;
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
    what = "unknown exception";
  }
  Log().Error(Error(ErrorKind::kUserCode, what), "A handler threw", {{"method", state->request().method}, {"path", state->request().path}});
  exchange->Reply(InternalError());  // does nothing if the answer had begun: dropping it then aborts
}

std::string_view HttpHeaders::Get(std::string_view name) const {
  for (const HttpHeader& header : headers_) {
    if (header.name == name) return header.value;
  }
  return {};
}

std::string HttpHeaders::GetAll(std::string_view name) const {
  std::string all;
  bool first = true;
  for (const HttpHeader& header : headers_) {
    if (header.name != name) continue;
    if (!first) all += ", ";
    all += header.value;
    first = false;
  }
  return all;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 203:
      return "Non-Authoritative Information";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 300:
      return "Multiple Choices";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Request Entity Too Large";
    case 414:
      return "Request URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Entity";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return {};
  }
}

std::string_view HttpDate() {
  thread_local std::time_t made_at = 0;
  thread_local std::array<char, 40> text{};
  thread_local std::size_t size = 0;
  const std::time_t now = std::time(nullptr);
  if (now != made_at) {
    // Not strftime: it speaks the language of the process's locale.
    static constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::tm tm{};
    gmtime_r(&now, &tm);
    const auto day = static_cast<std::size_t>(tm.tm_wday);
    const auto month = static_cast<std::size_t>(tm.tm_mon);
    size = static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT", kDays[day], tm.tm_mday,
                                                  kMonths[month], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec));
    size = std::min(size, text.size() - 1);
    made_at = now;
  }
  return {text.data(), size};
}

std::string CleanHeaderValue(std::string_view value) {
  std::string clean(value);
  for (char& c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) c = ' ';
  }
  return clean;
}

}  // namespace kube::serve
