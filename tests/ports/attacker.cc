// A client as no server wants it. Attacks a port of this machine until it is killed.
//
//   ports_attacker PORT MODE [--tls] [--from=ADDRESS] [--peers=N] [--connections=N]
//
// With several peers, connections take turns to come from ADDRESS and the addresses after it.
//
// Prints one line, beginning with "ready", when the attack has been carried out once, and then keeps it up: except for "idle", what the
// server closes is opened again.
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http2_frames_test_util.h"

namespace {

namespace http2 = kube::serve::http2;

struct Settings {
  std::uint16_t port = 0;
  std::string mode;
  bool tls = false;
  std::string from = "127.0.0.2";
  std::uint32_t peers = 1;
  std::size_t connections = 0;
};

// A connection; sending fails if the server has closed it, or does not read for two seconds.
class Wire {
 public:
  Wire(const Settings& settings, std::size_t index, SSL_CTX* tls) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    inet_pton(AF_INET, settings.from.c_str(), &at.sin_addr);
    at.sin_addr.s_addr = htonl(ntohl(at.sin_addr.s_addr) + static_cast<std::uint32_t>(index % settings.peers));
    // The port is chosen when the connection is made, so that it need only differ for the same server.
    const int on = 1;
    setsockopt(fd_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    const timeval patience{2, 0};
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    open_ = fd_ >= 0 && bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0;
    inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
    at.sin_port = htons(settings.port);
    open_ = open_ && connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0;
    if (!open_ || tls == nullptr) return;
    ssl_.reset(SSL_new(tls));
    SSL_set_fd(ssl_.get(), fd_);
    open_ = SSL_connect(ssl_.get()) == 1;
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() {
    ssl_ = nullptr;
    if (fd_ >= 0) close(fd_);
  }

  bool Send(std::string_view bytes) {
    if (!open_) return false;
    if (ssl_ != nullptr) {
      open_ = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size());
    } else {
      open_ = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
    }
    return open_;
  }
  // Something of the answer.
  void Read() {
    char buffer[4096];
    if (ssl_ != nullptr) {
      (void)SSL_read(ssl_.get(), buffer, sizeof(buffer));
    } else {
      (void)recv(fd_, buffer, sizeof(buffer), 0);
    }
  }
  // False if the server has closed it; what it sent is not read.
  bool open() {
    pollfd state{fd_, POLLRDHUP, 0};
    if (open_ && poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) open_ = false;
    return open_;
  }

 private:
  const int fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
  bool open_ = false;
};

// Each connection is opened with `begin`, and goes on with `more` (`turn` counts) until the server closes it.
struct Attack {
  std::size_t connections = 0;
  bool handshake = true;  // of TLS
  std::function<std::string()> begin;
  std::function<std::string(std::uint32_t turn)> more;  // null: it is silent
  bool reads = false;                                   // an answer in each turn
  bool again = true;                                    // what the server closes is opened again
};

std::string ZeroWindow() {
  // 4 KB in the table of the connection; each request refers to them three times, with three bytes.
  std::string out =
      http2::Preface({{http2::kInitialWindow, 0}}) + http2::Get(1, "/metrics", http2::Remembered("x", std::string(4000, 'x')));
  for (std::uint32_t stream = 3; stream < 65; stream += 2) out += http2::Get(stream, "/healthz", std::string(3, http2::kLast[0]));
  return out;
}

std::string HeadOfReview(std::size_t body) {
  return "POST /mutate--v1-configmap?timeout=10s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body) + "\r\n\r\n";
}
std::string Review() {
  const std::string body = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"CREATE",)"
                           R"("object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}}})";
  return HeadOfReview(body.size()) + body;
}

const std::map<std::string, Attack>& Attacks() {
  static std::uint32_t token = 0;
  static const std::map<std::string, Attack> attacks = {
      {"zero-window", {.connections = 64, .begin = ZeroWindow, .more = {}}},
      {"slow-loris",
       {.connections = 300,
        .begin = [] { return "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(8000, 'x'); },
        .more = [](std::uint32_t) { return "x"; }}},
      // The same with as many headers as possible, each of four bytes.
      {"many-headers",
       {.connections = 300,
        .begin =
            [] {
              std::string out = "GET /healthz HTTP/1.1\r\nHost:a\r\n";
              for (int i = 0; i < 440; ++i) out += "a:\r\n";
              return out;
            },
        .more = [](std::uint32_t turn) { return turn % 1000 == 999 ? "a" : ""; }}},
      {"rapid-reset",
       {.connections = 8,
        .begin = [] { return http2::Preface(); },
        .more =
            [](std::uint32_t turn) {
              std::string out;
              for (std::uint32_t stream = turn * 200 + 1; stream < (turn + 1) * 200; stream += 2)
                out += http2::Get(stream, "/metrics") + http2::Reset(stream);
              return out;
            }}},
      {"continuation",
       {.connections = 8,
        .begin = [] { return http2::Preface() + http2::Frame(http2::kHeaders, http2::kEndStream, 1, http2::GetBlock("/metrics")); },
        .more = [](std::uint32_t) { return http2::Frame(http2::kContinuation, 0, 1, http2::NotRemembered("x", std::string(8000, 'x'))); }}},
      {"idle", {.connections = 10000, .handshake = false, .begin = [] { return std::string(); }, .more = {}, .again = false}},
      // A ClientHello that says that it is 128 KB long.
      {"hello",
       {.connections = 300,
        .handshake = false,
        .begin = [] { return std::string("\x16\x03\x01\x40\x00\x01\x01\xff\xf0\x03\x03", 11); },
        .more = [](std::uint32_t) { return "x"; }}},
      {"unread",
       {.connections = 300, .begin = [] { return "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"; }, .more = {}}},
      {"tokens",
       {.connections = 200,
        .begin =
            [] {
              return "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer made-up-" + std::to_string(++token) +
                     "\r\n\r\n";
            },
        .more = {},
        .reads = true}},
      {"tokens-kept-alive",
       {.connections = 8,
        .begin = [] { return std::string(); },
        .more =
            [](std::uint32_t) {
              return "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer made-up-" + std::to_string(++token) + "\r\n\r\n";
            },
        .reads = true}},
      // ---- On the port of webhooks ----
      {"slow-body",
       {.connections = 600,
        .begin = [] { return HeadOfReview(1 << 20) + std::string(32 << 10, 'x'); },
        .more = [](std::uint32_t) { return "x"; }}},
      // Together more than a peer may hold.
      {"large-bodies",
       {.connections = 12,
        .begin = [] { return HeadOfReview(15 << 20) + std::string(1 << 20, 'x'); },
        .more = [](std::uint32_t) { return std::string(64 << 10, 'x'); }}},
      {"endless-bodies",
       {.connections = 12,
        .begin = [] { return HeadOfReview(std::size_t{1} << 40); },
        .more = [](std::uint32_t) { return std::string(64 << 10, 'x'); }}},
      {"endless-headers",
       {.connections = 32,
        .begin = [] { return "POST /mutate--v1-configmap HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(8000, 'x'); },
        .more = [](std::uint32_t) { return std::string(8000, 'x'); }}},
      {"calls", {.connections = 8, .begin = [] { return std::string(); }, .more = [](std::uint32_t) { return Review(); }, .reads = true}},
      {"calls-unread", {.connections = 64, .begin = [] { return Review(); }, .more = [](std::uint32_t) { return Review(); }}},
  };
  return attacks;
}

// As many files as connections, if the system allows it; fewer connections otherwise.
std::size_t Affordable(std::size_t connections) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, std::max<rlim_t>(limit.rlim_cur, connections + 100));
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::min<std::size_t>(connections, limit.rlim_cur > 200 ? limit.rlim_cur - 100 : 100);
}

int Run(const Settings& settings) {
  const auto found = Attacks().find(settings.mode);
  if (found == Attacks().end()) {
    std::fprintf(stderr, "ports_attacker: unknown attack \"%s\"\n", settings.mode.c_str());
    return 2;
  }
  const Attack& attack = found->second;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> tls(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::string both("\x02h2", 3);
  if (attack.begin().starts_with("PRI")) SSL_CTX_set_alpn_protos(tls.get(), reinterpret_cast<const unsigned char*>(both.data()), 3);
  const std::size_t wanted = settings.connections > 0 ? settings.connections : attack.connections;
  const std::size_t connections = Affordable(wanted);
  const auto open = [&](std::size_t index) {
    return std::make_unique<Wire>(settings, index, settings.tls && attack.handshake ? tls.get() : nullptr);
  };

  std::vector<std::unique_ptr<Wire>> wires(connections);
  for (std::uint32_t turn = 0;; ++turn) {
    for (std::size_t i = 0; i < wires.size(); ++i) {
      std::unique_ptr<Wire>& wire = wires[i];
      if (wire == nullptr || (attack.again && !wire->open())) {
        wire = open(i);
        const std::string begin = attack.begin();
        if (!begin.empty()) wire->Send(begin);
      }
      if (attack.more) wire->Send(attack.more(turn));
    }
    if (attack.reads) {
      for (const std::unique_ptr<Wire>& wire : wires) wire->Read();
    }
    if (turn == 1 || (turn == 0 && !attack.more)) {
      std::printf("ready: %zu connections%s\n", connections, connections < wanted ? ", because the limit of open files is low" : "");
      std::fflush(stdout);
    }
    // Silent attacks look now and then for what was closed.
    usleep(attack.more ? 5000 : 200000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  Settings settings;
  std::vector<std::string> rest;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--tls") {
      settings.tls = true;
    } else if (argument.starts_with("--from=")) {
      settings.from = argument.substr(7);
    } else if (argument.starts_with("--peers=")) {
      settings.peers = static_cast<std::uint32_t>(std::max(1UL, std::strtoul(argument.c_str() + 8, nullptr, 10)));
    } else if (argument.starts_with("--connections=")) {
      settings.connections = std::strtoul(argument.c_str() + 14, nullptr, 10);
    } else {
      rest.push_back(argument);
    }
  }
  if (rest.size() != 2) {
    std::fprintf(stderr, "usage: ports_attacker PORT MODE [--tls] [--from=ADDRESS] [--peers=N] [--connections=N]\n");
    return 2;
  }
  settings.port = static_cast<std::uint16_t>(std::strtoul(rest[0].c_str(), nullptr, 10));
  settings.mode = rest[1];
  return Run(settings);
}
