// The target of a transport: the parts of the base URL, and the proxy. Plain data; no I/O.
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
  std::string path;  // prepended to every target; without a trailing slash, so mostly empty

  // "host:port", with brackets if IPv6 needs them and without a default port, for Host and :authority.
  std::string Authority() const;
  // "host:port", always with the port, for messages and connecting.
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

  // The URL for libcurl, without credentials.
  std::string Url() const;
  // For messages: never the password.
  std::string Describe() const;
};

// "http://user:password@host:port"; without a scheme it is http. Errors: kConfig; the message has no password.
Result<Proxy> ParseProxyUrl(std::string_view url);

using GetEnv = std::function<std::optional<std::string>(const std::string&)>;

// The proxy for this endpoint from HTTPS_PROXY or HTTP_PROXY, in upper or lower case, unless NO_PROXY excludes it. As in Go: the local
// machine is never proxied, and NO_PROXY has names ("example.com" includes subdomains, ".example.com" has only subdomains), addresses and
// CIDRs, each with an optional port, or "*".
// Errors: kConfig for an invalid proxy.
Result<std::optional<Proxy>> EnvironmentProxy(const Endpoint& endpoint, const GetEnv& get_env);
bool MatchesNoProxy(std::string_view no_proxy, std::string_view host, std::uint16_t port);

}  // namespace kube::internal
