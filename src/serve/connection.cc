#include "serve/connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <utility>

namespace kube::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// How much of one connection is handled before others get their turn.
constexpr int kReadsAtOnce = 4;
constexpr int kTurnsAtOnce = 8;
// A client that still sends gets this long to read the answer, before closing resets the connection.
constexpr std::chrono::milliseconds kDrainTime{500};
// What is left to send when the session has ended.
constexpr std::chrono::milliseconds kLastSendTime{10000};
// What a connection costs beside its buffers, about. During a handshake OpenSSL makes room for a message of the size that the client
// announces.
constexpr std::size_t kConnectionBytes = std::size_t{2} << 10;
constexpr std::size_t kHandshakeBytes = std::size_t{160} << 10;
constexpr std::size_t kTlsBytes = std::size_t{20} << 10;

}  // namespace

// The way from other threads to a connection. Collects the exchanges that have something new, and posts one job for all of them.
class Connection::Link final : public Waker {
 public:
  void Attach(asio::io_context& io, std::weak_ptr<Connection> connection) {
    MutexLock lock(mu_);
    io_ = &io;
    connection_ = std::move(connection);
  }
  void Detach() {
    std::vector<std::shared_ptr<ExchangeState>> changed;
    MutexLock lock(mu_);
    io_ = nullptr;
    changed.swap(changed_);
  }
  void Wake(std::shared_ptr<ExchangeState> exchange) override {
    MutexLock lock(mu_);
    if (io_ == nullptr) return;
    changed_.push_back(std::move(exchange));
    if (pumping_) return;
    pumping_ = true;
    asio::post(*io_, [connection = connection_] {
      if (const std::shared_ptr<Connection> alive = connection.lock()) alive->Pump();
    });
  }
  // What happens on the I/O thread from here on is seen by Take: nothing needs to be posted for it.
  void BeginPump() {
    MutexLock lock(mu_);
    pumping_ = true;
  }
  // False, and the end of pumping, if there is nothing.
  bool Take(std::vector<std::shared_ptr<ExchangeState>>& changed) {
    MutexLock lock(mu_);
    changed.clear();
    changed.swap(changed_);
    if (changed.empty()) pumping_ = false;
    return !changed.empty();
  }

 private:
  Mutex mu_;
  asio::io_context* io_ KUBE_GUARDED_BY(mu_) = nullptr;
  std::weak_ptr<Connection> connection_ KUBE_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<ExchangeState>> changed_ KUBE_GUARDED_BY(mu_);
  bool pumping_ KUBE_GUARDED_BY(mu_) = false;
};

Connection::Connection(asio::io_context& io, tcp::socket socket, IoBuffers& buffers, Settings settings)
    : io_(io), socket_(std::move(socket)), timer_(io), buffers_(buffers), settings_(std::move(settings)), link_(std::make_shared<Link>()) {}

// A connection that was never started: the ledger lists it until it is removed.
Connection::~Connection() {
  charge_ = nullptr;
  if (account_ != nullptr) settings_.ledger->Close(account_);
}

void Connection::Open() {
  account_ = settings_.ledger->Open(settings_.peer, [&io = io_, connection = weak_from_this()](std::function<void()> then) {
    asio::post(io, [connection, then = std::move(then)] {
      if (const std::shared_ptr<Connection> alive = connection.lock()) alive->Close(true);
      if (then) then();
    });
  });
  charge_ = std::make_unique<Charge>(account_);
}

void Connection::Start() {
  if (phase_ == Phase::kClosed) return;
  link_->Attach(io_, weak_from_this());
  error_code ec;
  socket_.non_blocking(true, ec);
  socket_.set_option(tcp::no_delay(true), ec);
  const tcp::endpoint peer = socket_.remote_endpoint(ec);
  if (ec) return Close();
  const std::string address = peer.address().to_string(ec);
  peer_ = (peer.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(peer.port());
  if (settings_.tls != nullptr) {
    tls_ = std::make_unique<TlsEngine>(*settings_.tls);
    phase_ = Phase::kHandshake;
  }
  phase_deadline_ = std::chrono::steady_clock::now() + settings_.options->limits.header_timeout;
  // The first bytes are here already, as a rule.
  OnReadable();
}

void Connection::Close(bool hard) {
  if (phase_ == Phase::kClosed) return;
  const std::shared_ptr<Connection> self = shared_from_this();
  phase_ = Phase::kClosed;
  error_code ec;
  if (hard || writing_) socket_.set_option(asio::socket_base::linger(true, 0), ec);
  socket_.close(ec);
  timer_.cancel();
  link_->Detach();
  if (session_ != nullptr) session_->Close();
  session_ = nullptr;
  tls_ = nullptr;
  sniffed_ = {};
  plain_pending_ = {};
  charge_ = nullptr;
  if (account_ != nullptr) settings_.ledger->Close(account_);
  settings_.on_closed(self);
}

void Connection::OnReadable() {
  if (phase_ == Phase::kClosed) return;
  link_->BeginPump();
  for (int i = 0; i < kReadsAtOnce; ++i) {
    error_code ec;
    const std::size_t got = socket_.read_some(asio::buffer(buffers_.read), ec);
    if (ec == asio::error::would_block || ec == asio::error::try_again) break;
    if (ec == asio::error::interrupted) continue;
    if (ec == asio::error::eof) {
      read_ended_ = true;
      ConsumeEnd();
      break;
    }
    if (ec) return Close();
    Consume({buffers_.read.data(), got});
    if (phase_ == Phase::kClosed) return;
    if (got < buffers_.read.size()) break;
    if (session_ != nullptr && !session_->WantsInput()) break;
  }
  Pump();
}

void Connection::Consume(std::string_view bytes) {
  if (phase_ == Phase::kDraining) return;  // not needed any more
  if (tls_ == nullptr) return ConsumePlain(bytes);
  if (tls_failed_) return;
  tls_->Feed(bytes);
  if (phase_ == Phase::kHandshake) {
    const TlsEngine::Step step = tls_->Handshake();
    if (step == TlsEngine::Step::kMore) return;
    if (step != TlsEngine::Step::kOk) {
      tls_failed_ = true;  // the alert is still to be sent
      return;
    }
    if (tls_->speaks_http2()) {
      BeginSession(true, {});
    } else {
      BeginSession(false, {});
    }
  }
  while (true) {
    std::size_t got = 0;
    const TlsEngine::Step step = tls_->Read(buffers_.plain.data(), buffers_.plain.size(), got);
    if (got > 0) ConsumePlain({buffers_.plain.data(), got});
    if (step == TlsEngine::Step::kOk) continue;
    if (step == TlsEngine::Step::kEnd) ConsumeEnd();
    if (step == TlsEngine::Step::kFailed) tls_failed_ = true;
    return;
  }
}

void Connection::ConsumePlain(std::string_view bytes) {
  if (phase_ == Phase::kSession) return session_->Receive(bytes);
  if (phase_ != Phase::kSniff) return;
  sniffed_.append(bytes);
  const std::size_t size = std::min(sniffed_.size(), kHttp2Preface.size());
  const bool maybe_http2 = settings_.options->limits.http2 && std::string_view(sniffed_).substr(0, size) == kHttp2Preface.substr(0, size);
  if (maybe_http2 && size < kHttp2Preface.size()) return;
  const std::string input = std::move(sniffed_);
  BeginSession(maybe_http2, input);
}

void Connection::BeginSession(bool http2, std::string_view input) {
  SessionContext context{.options = settings_.options,
                         .handler = settings_.handler,
                         .waker = link_,
                         .peer = peer_,
                         .peer_group = settings_.peer,
                         .client_certificate = tls_ == nullptr ? std::nullopt : tls_->client_certificate(),
                         .account = account_};
  session_ = http2 ? MakeHttp2Session(std::move(context)) : MakeHttp1Session(std::move(context));
  phase_ = Phase::kSession;
  if (!input.empty()) session_->Receive(input);
}

void Connection::ConsumeEnd() {
  if (phase_ == Phase::kSession) {
    session_->ReceiveEnd();
  } else {
    tls_failed_ = true;  // no session was begun, or all is over: there is nothing to wait for
  }
}

void Connection::Pump() {
  if (phase_ == Phase::kClosed) return;
  const std::shared_ptr<Connection> self = shared_from_this();  // closing drops the owner's
  link_->BeginPump();
  std::vector<std::shared_ptr<ExchangeState>> changed;
  int turns = 0;
  bool more = true;
  while (more) {
    more = link_->Take(changed);
    for (const std::shared_ptr<ExchangeState>& exchange : changed) {
      if (session_ != nullptr) session_->Wake(*exchange);
    }
    while (Send() && turns < kTurnsAtOnce) ++turns;  // while the system takes nothing, changes wait in the session
    if (phase_ == Phase::kClosed) return;
    if (session_ != nullptr && session_->ending() == Session::Ending::kNow) return Close(true);
    if (++turns < kTurnsAtOnce) continue;
    // Other connections get their turn; until this one continues, no other thread needs to post.
    link_->BeginPump();
    asio::post(io_, [self] { self->Pump(); });
    return;
  }
  if (!writing_) {
    if (phase_ == Phase::kDraining) {
      if (read_ended_) return Close();
    } else if (tls_failed_) {
      return Drain(false);
    } else if (over()) {
      return Drain(session_->ending() == Session::Ending::kClean);
    }
  }
  Arm();
}

// True if something was sent, and there may be more.
bool Connection::Send() {
  if (writing_ || phase_ == Phase::kClosed) return false;
  if (tls_ != nullptr ? !tls_->pending().empty() : plain_sent_ < plain_pending_.size()) return SendPending();
  if (phase_ != Phase::kSession || tls_failed_) return false;
  std::string& output = buffers_.output;
  output.clear();
  session_->Produce(output);
  if (std::unique_ptr<Session> next = session_->TakeSuccessor()) session_ = std::move(next);
  if (output.empty()) return false;
  if (tls_ != nullptr) {
    if (!tls_->Write(output)) {
      tls_failed_ = true;
      return false;
    }
  } else {
    // The common buffer for what goes out at once; only what does not is kept by the connection.
    error_code ec;
    std::size_t sent = socket_.write_some(asio::buffer(output), ec);
    if (ec && ec != asio::error::would_block && ec != asio::error::try_again) {
      Close();
      return false;
    }
    if (ec) sent = 0;
    if (sent == output.size()) return true;
    plain_pending_.assign(output, sent);
    plain_sent_ = 0;
  }
  return SendPending();
}

bool Connection::SendPending() {
  while (true) {
    const std::string_view bytes = tls_ != nullptr ? tls_->pending() : std::string_view(plain_pending_).substr(plain_sent_);
    if (bytes.empty()) break;
    error_code ec;
    const std::size_t sent = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), ec);
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
      writing_ = true;
      if (!send_deadline_) send_deadline_ = std::chrono::steady_clock::now() + settings_.options->limits.answer_timeout;
      socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](error_code) {
        self->writing_ = false;
        self->Pump();
      });
      return false;
    }
    if (ec == asio::error::interrupted) continue;
    if (ec) {
      Close();
      return false;
    }
    if (tls_ != nullptr) {
      tls_->Sent(sent);
    } else {
      plain_sent_ += sent;
    }
  }
  plain_pending_ = {};
  plain_sent_ = 0;
  send_deadline_.reset();
  return true;
}

// All is sent and the session is over: says so to the client, and waits a little for it to close, because closing a socket with unread
// input would take the answer away from it.
void Connection::Drain(bool goodbye) {
  phase_ = Phase::kDraining;
  phase_deadline_ = std::chrono::steady_clock::now() + kDrainTime;
  if (tls_ != nullptr && goodbye) {
    tls_->Shutdown();
    (void)SendPending();
    if (phase_ == Phase::kClosed) return;
  }
  if (read_ended_ && !writing_) return Close();
  error_code ec;
  if (!writing_) socket_.shutdown(tcp::socket::shutdown_send, ec);
  // Exchanges learn now that it is over, not when the client has closed.
  link_->Detach();
  if (session_ != nullptr) session_->Close();
  Arm();
}

void Connection::CountBytes() {
  std::size_t held = kConnectionBytes + sniffed_.capacity() + plain_pending_.capacity();
  if (tls_ != nullptr) held += (phase_ == Phase::kHandshake ? kHandshakeBytes : kTlsBytes) + tls_->held_bytes();
  if (session_ != nullptr) held += session_->held_bytes();
  charge_->Set(held);
  settings_.ledger->Shed(*account_);
}

void Connection::Arm() {
  if (phase_ == Phase::kClosed) return;
  CountBytes();
  const bool wants_input = !read_ended_ && (phase_ != Phase::kSession || session_->WantsInput() || over());
  if (wants_input && !reading_) {
    reading_ = true;
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code ec) {
      self->reading_ = false;
      if (!ec) self->OnReadable();
    });
  }
  ArmTimer();
}

bool Connection::over() const { return tls_failed_ || (session_ != nullptr && session_->ending() != Session::Ending::kNone); }

std::optional<Session::TimePoint> Connection::NextDeadline() {
  if (phase_ != Phase::kSession) return phase_deadline_;
  if (!over()) {
    const std::optional<Session::TimePoint> deadline = session_->deadline();
    return send_deadline_ && (!deadline || *send_deadline_ < *deadline) ? send_deadline_ : deadline;
  }
  // It only waits for the client to take the last bytes.
  if (!last_send_deadline_) last_send_deadline_ = std::chrono::steady_clock::now() + kLastSendTime;
  return last_send_deadline_;
}

void Connection::ArmTimer() {
  const std::optional<Session::TimePoint> next = NextDeadline();
  // A timer that fires too early looks again: cheaper than moving it with every request.
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  timer_.expires_at(*next);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->OnTimer();
  });
}

std::string PeerName(const asio::ip::address& address) {
  error_code ec;
  if (address.is_v4()) return address.to_string(ec);
  const asio::ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string(ec);
  asio::ip::address_v6::bytes_type bytes = v6.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
  return asio::ip::address_v6(bytes).to_string(ec) + "/64";
}

void Connection::OnTimer() {
  if (phase_ == Phase::kClosed) return;
  armed_.reset();
  const Session::TimePoint now = std::chrono::steady_clock::now();
  if (phase_ == Phase::kSession && !over()) {
    if (send_deadline_ && now >= *send_deadline_) {
      account_->Count(ClosedFor::kDeadline);
      return Close(true);
    }
    link_->BeginPump();
    session_->OnDeadline(now);
    return Pump();
  }
  const std::optional<Session::TimePoint> deadline = NextDeadline();
  if (deadline && now >= *deadline) {
    if (phase_ == Phase::kHandshake || phase_ == Phase::kSniff) account_->Count(ClosedFor::kDeadline);
    return Close();
  }
  ArmTimer();
}

}  // namespace kube::serve
