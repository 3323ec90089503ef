#include "transport/http_transport_test_util.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace kube::curl_test {

Context Patient() { return Context::Background().WithTimeout(kPatience); }

const TestPki& Pki() {
  static const TestPki pki = [] {
    serve::CertificateAuthority ca = serve::CertificateAuthority::Create("test CA").value();
    serve::CertificateAuthority other = serve::CertificateAuthority::Create("another CA").value();
    const auto day = std::chrono::hours(24);
    TestPki made{.ca = ca, .other_ca = other};
    made.server =
        ca.Issue({.common_name = "server", .dns_names = {"localhost", "kubernetes.test"}, .addresses = {"127.0.0.1"}, .server = true})
            .value();
    made.elsewhere = ca.Issue({.common_name = "elsewhere", .dns_names = {"elsewhere.test"}, .server = true}).value();
    made.expired = ca.Issue({.common_name = "old",
                             .addresses = {"127.0.0.1"},
                             .server = true,
                             .not_before = std::chrono::system_clock::now() - 3 * day,
                             .lifetime = day})
                       .value();
    made.client = ca.Issue({.common_name = "one", .client = true}).value();
    made.second_client = ca.Issue({.common_name = "two", .client = true}).value();
    made.wrong_client = other.Issue({.common_name = "one", .client = true}).value();
    return made;
  }();
  return pki;
}

TlsMaterial TrustingPki() {
  TlsMaterial material;
  material.ca_pem = Pki().ca.certificate_pem();
  return material;
}

std::shared_ptr<const ClientCertificate> AsClient(const serve::KeyPair& pair) {
  auto made = std::make_shared<ClientCertificate>();
  made->certificate_pem = pair.certificate_pem;
  made->key_pem = SecretString(pair.key_pem);
  return made;
}

std::unique_ptr<serve::HttpServer> StartServer(serve::HttpServer::Handler handler, bool tls, serve::HttpServerOptions options) {
  if (tls && !options.tls)
    options.tls = serve::HttpTlsOptions{.certificate_pem = Pki().server.certificate_pem, .key_pem = Pki().server.key_pem};
  if (options.limits == serve::HttpLimits{}) options.limits = serve::HttpLimits::ForApi();
  return serve::HttpServer::Start(std::move(options), std::move(handler)).value();
}

std::shared_ptr<HttpTransport> TransportTo(std::uint16_t port, bool tls, HttpTransportOptions options) {
  if (options.base_url.empty()) options.base_url = fmt::format("{}://127.0.0.1:{}", tls ? "https" : "http", port);
  if (tls && options.tls == nullptr) options.tls = std::make_shared<FixedTls>(TrustingPki());
  return MakeHttpTransport(std::move(options)).value();
}

HttpRequest Get(std::string target) {
  HttpRequest request;
  request.target = std::move(target);
  return request;
}

HttpRequest Streaming(std::string target) {
  HttpRequest request = Get(std::move(target));
  request.streaming = true;
  return request;
}

// ---- RawPeer ----

struct RawPeer::Tls {
  SSL_CTX* context = nullptr;
  SSL* session = nullptr;
  std::string alpn;
  ~Tls() {
    if (session != nullptr) SSL_free(session);
    if (context != nullptr) SSL_CTX_free(context);
  }
};

RawPeer::RawPeer(int fd, const serve::KeyPair* certificate, std::string_view alpn, bool tls12) : fd_(fd) {
  const int yes = 1;
  (void)setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const timeval patience{kPatience.count(), 0};
  (void)setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (certificate == nullptr) return;
  tls_ = std::make_unique<Tls>();
  tls_->alpn = std::string(1, static_cast<char>(alpn.size())) + std::string(alpn);
  tls_->context = SSL_CTX_new(TLS_server_method());
  if (tls12) SSL_CTX_set_max_proto_version(tls_->context, TLS1_2_VERSION);
  BIO* bio = BIO_new_mem_buf(certificate->certificate_pem.data(), static_cast<int>(certificate->certificate_pem.size()));
  X509* x509 = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  bio = BIO_new_mem_buf(certificate->key_pem.data(), static_cast<int>(certificate->key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  SSL_CTX_use_certificate(tls_->context, x509);
  SSL_CTX_use_PrivateKey(tls_->context, key);
  X509_free(x509);
  EVP_PKEY_free(key);
  SSL_CTX_set_alpn_select_cb(
      tls_->context,
      [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char*, unsigned int, void* tls) {
        const std::string& chosen = static_cast<Tls*>(tls)->alpn;
        if (chosen.size() < 2) return SSL_TLSEXT_ERR_NOACK;
        *out = reinterpret_cast<const unsigned char*>(chosen.data()) + 1;
        *size = static_cast<unsigned char>(chosen[0]);
        return SSL_TLSEXT_ERR_OK;
      },
      tls_.get());
  tls_->session = SSL_new(tls_->context);
  SSL_set_fd(tls_->session, fd_);
  ok_ = SSL_accept(tls_->session) == 1;
  if (!ok_) ERR_clear_error();
}

RawPeer::~RawPeer() {
  if (tls_ != nullptr && ok_ && tls_->session != nullptr) (void)SSL_shutdown(tls_->session);
  tls_.reset();
  (void)shutdown(fd_, SHUT_RDWR);
}

bool RawPeer::Send(std::string_view bytes) {
  while (!bytes.empty() && ok_) {
    const ssize_t sent = tls_ != nullptr ? SSL_write(tls_->session, bytes.data(), static_cast<int>(bytes.size()))
                                         : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      ok_ = false;
      ERR_clear_error();
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return ok_;
}

std::string RawPeer::ReadSome() {
  if (!buffer_.empty()) return std::exchange(buffer_, {});
  std::string chunk(65536, '\0');
  const ssize_t got =
      tls_ != nullptr ? SSL_read(tls_->session, chunk.data(), static_cast<int>(chunk.size())) : recv(fd_, chunk.data(), chunk.size(), 0);
  if (got <= 0) {
    ok_ = false;
    ERR_clear_error();
    return {};
  }
  chunk.resize(static_cast<std::size_t>(got));
  return chunk;
}

std::string RawPeer::ReadUntil(std::string_view end) {
  std::string text;
  for (;;) {
    const std::string more = ReadSome();
    if (more.empty()) return text;
    text += more;
    if (const std::size_t found = text.find(end); found != std::string::npos) {
      buffer_ = text.substr(found + end.size());
      text.resize(found + end.size());
      return text;
    }
  }
}

std::string RawPeer::ReadExactly(std::size_t size) {
  std::string text;
  while (text.size() < size) {
    const std::string more = ReadSome();
    if (more.empty()) return text;
    text += more;
  }
  buffer_ = text.substr(size);
  text.resize(size);
  return text;
}

void RawPeer::ReadToEnd() {
  while (!ReadSome().empty()) {
  }
}

bool RawPeer::RenegotiationIsRefused() {
  ERR_clear_error();
  if (SSL_renegotiate(tls_->session) != 1 || SSL_do_handshake(tls_->session) != 1) return false;
  // What the client had sent before comes first. A client that agrees begins its handshake here, and then waits for its answer.
  char bytes[4096];
  while (SSL_read(tls_->session, bytes, sizeof bytes) > 0) {
  }
  const bool refused = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_NO_RENEGOTIATION;
  ok_ = false;
  ERR_clear_error();
  return refused;
}

void RawPeer::Reset() {
  const linger hard{1, 0};
  (void)setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  // A second descriptor would keep it open; connecting to nowhere resets it at once.
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  (void)connect(fd_, &nowhere, sizeof nowhere);
  ok_ = false;
}

// ---- RawServer ----

RawServer::RawServer(Script serve, const serve::KeyPair* certificate, std::string alpn, bool tls12)
    : serve_(std::move(serve)), certificate_(certificate), tls12_(tls12), alpn_(std::move(alpn)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  (void)listen(listener_, 64);
  socklen_t size = sizeof address;
  (void)getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = Thread("raw-server", [this] { Accept(); });
}

void RawServer::Accept() {
  for (;;) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int number = accepted_++;
    std::string alpn;
    {
      MutexLock lock(mu_);
      sockets_.push_back(fd);
      if (stopping_) (void)shutdown(fd, SHUT_RDWR);
      alpn = alpn_;
    }
    threads_.push_back(std::make_unique<Thread>("raw-peer", [this, fd, number, alpn] {
      RawPeer peer(fd, certificate_, alpn, tls12_);
      if (peer.ok()) serve_(peer, number);
    }));
  }
}

RawServer::~RawServer() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
    for (const int fd : sockets_) (void)shutdown(fd, SHUT_RDWR);
  }
  (void)shutdown(listener_, SHUT_RDWR);
  acceptor_.Join();
  threads_.clear();
  close(listener_);
  MutexLock lock(mu_);
  for (const int fd : sockets_) close(fd);
}

std::uint16_t UnusedPort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  socklen_t size = sizeof address;
  (void)getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

int ConnectTo(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

void Splice(RawPeer& a, int b) {
  Thread back("splice", [&a, b] {
    std::string chunk(65536, '\0');
    for (;;) {
      const ssize_t got = recv(b, chunk.data(), chunk.size(), 0);
      if (got <= 0 || !a.Send(std::string_view(chunk.data(), static_cast<std::size_t>(got)))) break;
    }
    (void)shutdown(a.fd(), SHUT_RDWR);
  });
  for (;;) {
    const std::string some = a.ReadSome();
    if (some.empty()) break;
    if (send(b, some.data(), some.size(), MSG_NOSIGNAL) <= 0) break;
  }
  (void)shutdown(b, SHUT_RDWR);
  back.Join();
  close(b);
}

// ---- HTTP/2 ----

std::string H2Frame(int type, int flags, std::uint32_t stream, std::string_view payload) {
  std::string frame;
  const std::size_t size = payload.size();
  for (const int shift : {16, 8, 0}) frame.push_back(static_cast<char>((size >> shift) & 0xFF));
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>((stream >> shift) & 0xFF));
  return frame + std::string(payload);
}

std::string H2Settings() { return H2Frame(4, 0, 0, ""); }

std::string H2Headers(std::uint32_t stream, bool end) { return H2Frame(1, end ? 5 : 4, stream, "\x88"); }

namespace {
std::string Number(std::uint32_t value) {
  std::string text;
  for (const int shift : {24, 16, 8, 0}) text.push_back(static_cast<char>((value >> shift) & 0xFF));
  return text;
}
}  // namespace

std::string H2GoAway(std::uint32_t last_stream, std::uint32_t error) { return H2Frame(7, 0, 0, Number(last_stream) + Number(error)); }

std::string H2Reset(std::uint32_t stream, std::uint32_t error) { return H2Frame(3, 0, stream, Number(error)); }

std::string H2WindowUpdate(std::uint32_t stream, std::uint32_t more) { return H2Frame(8, 0, stream, Number(more)); }

std::string H2Setting(int name, std::uint32_t value) {
  return H2Frame(4, 0, 0, std::string{'\0', static_cast<char>(name)} + Number(value));
}

std::uint32_t H2Number(std::string_view four_bytes) {
  std::uint32_t value = 0;
  for (const char c : four_bytes.substr(0, 4)) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

bool H2Peer::Start(const std::string& settings) {
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  return peer_.ReadExactly(kPreface.size()) == kPreface && peer_.Send(settings);
}

bool H2Peer::NextFrame(int wanted, std::uint32_t& stream) {
  for (;;) {
    const std::string head = peer_.ReadExactly(9);
    if (head.size() < 9) return false;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(head[i])); };
    const std::size_t size = byte(0) << 16U | byte(1) << 8U | byte(2);
    const std::uint32_t type = byte(3);
    flags_ = byte(4);
    stream = (byte(5) << 24U | byte(6) << 16U | byte(7) << 8U | byte(8)) & 0x7FFFFFFFU;
    payload_ = size == 0 ? "" : peer_.ReadExactly(size);
    if (payload_.size() < size) return false;
    if (type == static_cast<std::uint32_t>(wanted)) return true;
    if (type == 4 && (flags_ & 1U) == 0) (void)peer_.Send(H2Frame(4, 1, 0, ""));
    if (type == 6 && (flags_ & 1U) == 0) (void)peer_.Send(H2Frame(6, 1, 0, payload_));
  }
}

std::uint32_t H2Peer::NextRequest() {
  std::uint32_t stream = 0;
  return NextFrame(1, stream) ? stream : 0;
}

}  // namespace kube::curl_test
