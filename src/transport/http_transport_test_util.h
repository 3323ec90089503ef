// For the tests of the network transport: servers that behave, servers of bare sockets that do not, proxies, certificates.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wait_test_util.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/config/credentials.h"
#include "kube/serve/certificate.h"
#include "kube/serve/http_server.h"
#include "kube/transport/http_transport.h"

namespace kube::curl_test {

using kube::internal::Eventually;
using kube::internal::Handover;

constexpr std::chrono::seconds kPatience{60};

// A context with a deadline of kPatience, for events that must happen.
Context Patient();

// ---- Certificates ----

struct TestPki {
  serve::CertificateAuthority ca;
  serve::CertificateAuthority other_ca;
  serve::KeyPair server;         // for localhost, 127.0.0.1 and kubernetes.test
  serve::KeyPair elsewhere;      // of the same CA, only for elsewhere.test
  serve::KeyPair expired;        // of the same CA, for 127.0.0.1
  serve::KeyPair client;         // "one"
  serve::KeyPair second_client;  // "two"
  serve::KeyPair wrong_client;   // of the other CA
};
const TestPki& Pki();

// TLS material that the test sets.
class FixedTls : public TlsSource {
 public:
  explicit FixedTls(TlsMaterial material) : material_(std::make_shared<TlsMaterial>(std::move(material))) {}
  std::shared_ptr<const TlsMaterial> Current() override {
    MutexLock lock(mu_);
    return material_;
  }
  void Set(TlsMaterial material) {
    MutexLock lock(mu_);
    material_ = std::make_shared<TlsMaterial>(std::move(material));
  }

 private:
  Mutex mu_;
  std::shared_ptr<const TlsMaterial> material_ KUBE_GUARDED_BY(mu_);
};

TlsMaterial TrustingPki();
std::shared_ptr<const ClientCertificate> AsClient(const serve::KeyPair& pair);

// ---- Servers ----

// A working server, with TLS by default.
std::unique_ptr<serve::HttpServer> StartServer(serve::HttpServer::Handler handler, bool tls = true, serve::HttpServerOptions options = {});
// A transport to it. Proxy variables have no effect, because loopback is never proxied.
std::shared_ptr<HttpTransport> TransportTo(std::uint16_t port, bool tls = true, HttpTransportOptions options = {});
HttpRequest Get(std::string target);
HttpRequest Streaming(std::string target);

// One end of a connection of a RawServer or a client. Blocking functions return after kPatience.
class RawPeer {
 public:
  RawPeer(int fd, const serve::KeyPair* certificate, std::string_view alpn, bool tls12 = false);
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;
  ~RawPeer();
  bool ok() const { return ok_; }
  bool Send(std::string_view bytes);
  // Everything up to and including `end`; less if the other side closes before.
  std::string ReadUntil(std::string_view end);
  std::string ReadExactly(std::size_t size);
  // At least one byte; empty at the end.
  std::string ReadSome();
  // Puts bytes back, to be read next.
  void Unread(std::string bytes) { buffer_ = std::move(bytes) + buffer_; }
  // Waits until the other side closes; drops the data.
  void ReadToEnd();
  // Ends the connection with a RST.
  void Reset();
  // Requests a renegotiation, as in TLS 1.2. Returns whether the client refused it.
  bool RenegotiationIsRefused();
  int fd() const { return fd_; }

 private:
  struct Tls;
  int fd_;
  std::atomic<bool> ok_ = true;
  std::unique_ptr<Tls> tls_;
  std::string buffer_;
};

// A server with plain sockets: calls `serve` on a separate thread for each connection, with its number from 0.
class RawServer {
 public:
  using Script = std::function<void(RawPeer&, int)>;
  explicit RawServer(Script serve) : RawServer(std::move(serve), nullptr, "") {}
  // With TLS, and a protocol for ALPN ("h2", "http/1.1").
  RawServer(Script serve, const serve::KeyPair* certificate, std::string alpn, bool tls12 = false);
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer();
  std::uint16_t port() const { return port_; }
  int accepted() const { return accepted_; }
  // Applies to new connections.
  void SetAlpn(std::string alpn) {
    MutexLock lock(mu_);
    alpn_ = std::move(alpn);
  }

 private:
  void Accept();
  const Script serve_;
  const serve::KeyPair* const certificate_;
  const bool tls12_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_ = 0;
  Mutex mu_;
  std::vector<int> sockets_ KUBE_GUARDED_BY(mu_);
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;
  std::string alpn_ KUBE_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread acceptor_;
};

// A loopback port without a listener.
std::uint16_t UnusedPort();
// Connects; returns -1 on failure.
int ConnectTo(std::uint16_t port);
// Copies bytes both ways until one side ends.
void Splice(RawPeer& a, int b);

// ---- HTTP/2 frames, as far as the fault tests need them ----

std::string H2Frame(int type, int flags, std::uint32_t stream, std::string_view payload);
std::string H2Settings();
std::string H2Headers(std::uint32_t stream, bool end);  // 200, nothing else
std::string H2GoAway(std::uint32_t last_stream, std::uint32_t error);
std::string H2Reset(std::uint32_t stream, std::uint32_t error);
std::string H2WindowUpdate(std::uint32_t stream, std::uint32_t more);
std::string H2Setting(int name, std::uint32_t value);  // a whole frame
std::uint32_t H2Number(std::string_view four_bytes);

// Reads the client's frames. Answers its SETTINGS and PINGs.
class H2Peer {
 public:
  explicit H2Peer(RawPeer& peer) : peer_(peer) {}
  // Takes the preface.
  bool Start(const std::string& settings);
  // The stream of the next request; 0 at the end of the connection.
  std::uint32_t NextRequest();
  // The next frame of this type; false at the end of the connection.
  bool NextFrame(int wanted, std::uint32_t& stream);
  // The payload of that frame.
  const std::string& payload() const { return payload_; }
  std::uint32_t flags() const { return flags_; }
  bool Send(const std::string& frames) { return peer_.Send(frames); }

 private:
  RawPeer& peer_;
  std::string payload_;
  std::uint32_t flags_ = 0;
};

// An HTTP/2 server that follows its script.
class Http2Server : public RawServer {
 public:
  explicit Http2Server(std::function<void(H2Peer&, RawPeer&, int)> script, const std::string& settings = H2Settings())
      : RawServer(
            [script = std::move(script), settings](RawPeer& peer, int number) {
              H2Peer http(peer);
              if (http.Start(settings)) script(http, peer, number);
            },
            &Pki().server, "h2") {}
};

}  // namespace kube::curl_test
