// Where a transport sends to: the base URL in its parts, and the proxy on the way. Plain data; no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/result.h"

namespace kube::internal {

struct Endpoint {
  bool tls = false;
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string path;  // before every target; without a slash at its end, so mostly empty

  // "host:port" with brackets where IPv6 needs them; as Host and :authority have it, the default port left out.
  std::string Authority() const;
  // "host:port", always with the port: for messages and for connecting.
  std::string HostPort() const;
};

// Errors: kConfig.
Result<Endpoint> ParseBaseUrl(std::string_view url);

struct Proxy {
  enum class Kind { kHttp, kHttps, kSocks5 };
  Kind kind = Kind::kHttp;
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string user, password;

  // What libcurl takes; the credentials are not in it.
  std::string Url() const;
  // For messages: never the password.
  std::string Describe() const;
};

// "http://user:password@host:port"; without a scheme it is http. Errors: kConfig; the message has no password.
Result<Proxy> ParseProxyUrl(std::string_view url);

using GetEnv = std::function<std::optional<std::string>(const std::string&)>;

// The proxy that HTTPS_PROXY or HTTP_PROXY name for this endpoint, in upper or lower case, unless NO_PROXY excepts it. As Go has it: this
// machine is never behind a proxy, NO_PROXY has names ("example.com" and what is below it, ".example.com" only what is below), addresses
// and CIDRs, each with a port where wanted, or "*".
// Errors: kConfig for a proxy that cannot be understood.
Result<std::optional<Proxy>> EnvironmentProxy(const Endpoint& endpoint, const GetEnv& get_env);
bool MatchesNoProxy(std::string_view no_proxy, std::string_view host, std::uint16_t port);

}  // namespace kube::internal
