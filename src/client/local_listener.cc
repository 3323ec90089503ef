#include "client/local_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

namespace kube::internal {
namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string text;
};

Result<Address> ParseAddress(const std::string& text) {
  Address address;
  address.text = text;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    address.size = sizeof(sockaddr_in);
    return address;
  }
  address.storage = {};
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    address.size = sizeof(sockaddr_in6);
    return address;
  }
  return Error::Invalid(fmt::format("\"{}\" is not an IP address; names other than localhost are not looked up", text));
}

Error SystemError(const std::string& what) { return Error(ErrorKind::kTransport, what + ": " + strerror(errno)); }

in_port_t& PortOf(sockaddr_storage& storage) {
  return storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&storage)->sin_port
                                      : reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port;
}

// Sets `port` if it was 0.
Result<Descriptor> Bind(Address address, std::uint16_t& port) {
  const std::string what = fmt::format("listen on port {} of {}", port, address.text);
  Descriptor fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return SystemError(what);
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.storage.ss_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
  PortOf(address.storage) = htons(port);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) return SystemError(what);
  if (listen(fd.get(), SOMAXCONN) != 0) return SystemError(what);
  socklen_t size = sizeof(address.storage);
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &size) != 0) return SystemError(what);
  port = ntohs(PortOf(address.storage));
  return fd;
}

}  // namespace

Result<std::uint16_t> ListenOn(const std::vector<std::string>& addresses, std::uint16_t port, std::vector<Descriptor>& listeners) {
  if (addresses.empty()) return Error::Invalid("there is no address to listen on");
  for (const std::string& name : addresses) {
    const bool local = name == "localhost";
    std::size_t bound = 0;
    Result<void> failed;
    for (const std::string& text : local ? std::vector<std::string>{"127.0.0.1", "::1"} : std::vector<std::string>{name}) {
      Result<Address> address = ParseAddress(text);
      if (!address) return address.error();
      Result<Descriptor> fd = Bind(*std::move(address), port);
      if (!fd) {
        failed = fd.error();
        continue;
      }
      listeners.push_back(*std::move(fd));
      ++bound;
    }
    if (bound == 0) return failed.error();
  }
  return port;
}

Result<void> Acceptor::Start(std::vector<Listener> listeners, Handler handler, std::function<void()> woken) {
  if (!wake_.valid()) return Error(ErrorKind::kTransport, "cannot create an eventfd: too many open files?");
  listeners_ = std::move(listeners);
  handler_ = std::move(handler);
  woken_ = std::move(woken);
  thread_ = Thread("kube-pf-accept", [this] { Run(); });
  return {};
}

void Acceptor::RequestStop() {
  stopping_ = true;
  wake_.Set();
}

void Acceptor::Stop() {
  RequestStop();
  thread_.Join();
}

void Acceptor::Run() {
  std::vector<pollfd> polled;
  polled.push_back({wake_.fd(), POLLIN, 0});
  for (const Listener& listener : listeners_) polled.push_back({listener.fd.get(), POLLIN, 0});
  while (true) {
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) {
      wake_.Clear();
      if (stopping_) {
        listeners_.clear();
        return;
      }
      woken_();
    }
    for (std::size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      Descriptor connection(accept4(polled[i].fd, nullptr, nullptr, SOCK_CLOEXEC));
      if (connection.get() >= 0) {
        handler_(std::move(connection), listeners_[i - 1].port);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        // Nothing can be done but to let others finish; the connection stays in the queue.
        pollfd only_wake{wake_.fd(), POLLIN, 0};
        (void)poll(&only_wake, 1, 100);
      }
    }
  }
}

}  // namespace kube::internal
