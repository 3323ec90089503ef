// A TCP proxy on loopback in the place of a Service: connections go to the next replica that accepts one.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube::internal {

class TcpProxy {
 public:
  // One replica, and what became of its connections.
  struct Backend {
    explicit Backend(std::uint16_t at) : port(at) {}
    const std::uint16_t port;
    std::atomic<int> connections = 0;
    // Connections that the replica ended while it owed an answer: to a handshake or to a request of more than 512 bytes, which every
    // AdmissionReview has.
    std::atomic<int> cut = 0;
    // Those with fewer bytes since the last answer: the end of a handshake, or a small request.
    std::atomic<int> perhaps_cut = 0;
  };
  using Backends = std::vector<std::shared_ptr<Backend>>;

  TcpProxy() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 128) != 0) return;
    if (::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0) port_ = ntohs(address.sin_port);
    acceptor_ = Thread("proxy", [this] { Accept(); });
  }
  ~TcpProxy() {
    {
      MutexLock lock(mu_);
      stopping_ = true;
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.Join();
    connections_.clear();
    ::close(listener_);
  }
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  // 0: it does not work.
  std::uint16_t port() const { return port_; }
  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  // Where connections go from now on; those that are open stay.
  void UseBackends(Backends backends) {
    MutexLock lock(mu_);
    backends_ = std::move(backends);
  }
  void SetBackends(const std::vector<std::uint16_t>& ports) {
    Backends backends;
    for (const std::uint16_t port : ports) backends.push_back(std::make_shared<Backend>(port));
    UseBackends(std::move(backends));
  }
  int connections() const { return count_; }

 private:
  static constexpr std::size_t kSmall = 512;
  // What a client sends when it closes a connection of TLS, at most.
  static constexpr std::size_t kGoodbye = 64;

  struct Connection {
    std::atomic<bool> over = false;
    Thread thread;
  };

  static sockaddr_in Loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }

  void Accept() {
    for (;;) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      connections_.remove_if([](const Connection& connection) { return connection.over.load(); });
      std::shared_ptr<Backend> backend;
      const int server = Connect(backend);
      MutexLock lock(mu_);
      if (server < 0 || stopping_) {
        ::close(client);
        if (server >= 0) ::close(server);
        if (stopping_) return;
        continue;
      }
      ++count_;
      ++backend->connections;
      open_.insert({client, server});
      Connection& connection = connections_.emplace_back();
      connection.thread = Thread("proxied", [this, client, server, backend, &connection] {
        Pump(client, server, *backend);
        connection.over = true;
      });
    }
  }

  int Connect(std::shared_ptr<Backend>& to) {
    Backends backends;
    {
      MutexLock lock(mu_);
      backends = backends_;
    }
    for (std::size_t i = 0; i < backends.size(); ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      to = backends[next_++ % backends.size()];
      const sockaddr_in address = Loopback(to->port);
      if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
      ::close(fd);
    }
    return -1;
  }

  // Moves what `from` has. 0: its end; nothing: the other side does not take it.
  static std::optional<std::size_t> Move(int from, int to) {
    std::array<char, 16384> buffer;
    const ssize_t got = ::recv(from, buffer.data(), buffer.size(), 0);
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t now = ::send(to, buffer.data() + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
      if (now <= 0) return std::nullopt;
      sent += now;
    }
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }

  void Pump(int client, int server, Backend& backend) {
    std::size_t asked = 0;  // bytes since the last answer
    bool answered = false, server_ended = false;
    std::array<pollfd, 2> fds = {pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    while (::poll(fds.data(), fds.size(), -1) >= 0) {
      if (fds[1].revents != 0) {
        const std::optional<std::size_t> moved = Move(server, client);
        server_ended = moved == std::size_t{0};
        if (!moved || *moved == 0) break;
        asked = 0;
        answered = true;
      }
      if (fds[0].revents != 0) {
        const std::optional<std::size_t> moved = Move(client, server);
        server_ended = !moved;
        asked += moved.value_or(kSmall + 1);
        if (!moved || *moved == 0) break;
      }
    }
    if (server_ended) {
      // A request that is on its way when the replica ends is cut, too.
      ::shutdown(client, SHUT_WR);
      std::array<char, 4096> buffer;
      constexpr int kPatience = 10'000;
      while (::poll(fds.data(), 1, kPatience) > 0) {
        const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
        if (got <= 0) break;
        asked += static_cast<std::size_t>(got);
      }
      if (asked > kSmall || (!answered && asked > 0)) {
        ++backend.cut;
      } else if (asked > kGoodbye) {
        ++backend.perhaps_cut;
      }
    }
    MutexLock lock(mu_);
    open_.erase(client);
    open_.erase(server);
    ::close(client);
    ::close(server);
  }

  const int listener_;
  std::uint16_t port_ = 0;
  std::size_t next_ = 0;  // of the acceptor
  std::atomic<int> count_ = 0;
  Mutex mu_;
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;
  Backends backends_ KUBE_GUARDED_BY(mu_);
  std::set<int> open_ KUBE_GUARDED_BY(mu_);
  std::list<Connection> connections_;  // of the acceptor, then of the destructor
  Thread acceptor_;
};

}  // namespace kube::internal
