#include "transport/request/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

namespace kube::internal {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::string Bracketed(const std::string& host) { return host.find(':') == std::string::npos ? host : "[" + host + "]"; }

struct UrlParts {
  std::string scheme, user_info, host, path;
  std::optional<std::uint16_t> port;
};

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(value);
}

bool HostCharacters(std::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%' || c >= 0x80;
  });
}

// What is wrong with it, or nothing.
std::optional<std::string> Split(std::string_view url, UrlParts& parts) {
  const std::size_t colon = url.find("://");
  if (colon == std::string_view::npos) return "it has no scheme";
  parts.scheme = Lower(url.substr(0, colon));
  url.remove_prefix(colon + 3);
  const std::size_t end = std::min(url.find_first_of("/?#"), url.size());
  std::string_view authority = url.substr(0, end);
  std::string_view path = url.substr(end);
  parts.path = path.substr(0, std::min(path.find_first_of("?#"), path.size()));
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    parts.user_info = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  std::string_view port;
  if (!authority.empty() && authority.front() == '[') {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return "the bracket of its address does not end";
    parts.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
    if (!port.empty() && port.front() != ':') return "there is rubbish behind its address";
    if (!port.empty()) port.remove_prefix(1);
  } else {
    const std::size_t at = authority.rfind(':');
    parts.host = authority.substr(0, std::min(at, authority.size()));
    if (at != std::string_view::npos) port = authority.substr(at + 1);
    if (parts.host.find(':') != std::string::npos) return "an IPv6 address has to be in brackets";
  }
  if (!HostCharacters(parts.host)) return "it has no proper host";
  if (!port.empty()) {
    parts.port = ParsePort(port);
    if (!parts.port) return "its port is no number from 1 to 65535";
  }
  return std::nullopt;
}

std::string Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      out.push_back(static_cast<char>(value));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

struct Address {
  std::array<unsigned char, 16> bytes{};
  std::size_t size = 0;  // 4 or 16
};

std::optional<Address> ParseAddress(std::string_view text) {
  const std::string z(text);
  Address address;
  if (inet_pton(AF_INET, z.c_str(), address.bytes.data()) == 1) {
    address.size = 4;
    return address;
  }
  if (inet_pton(AF_INET6, z.c_str(), address.bytes.data()) == 1) {
    address.size = 16;
    return address;
  }
  return std::nullopt;
}

bool InPrefix(const Address& address, const Address& network, unsigned bits) {
  if (address.size != network.size || bits > network.size * 8) return false;
  const std::size_t whole = bits / 8;
  if (std::memcmp(address.bytes.data(), network.bytes.data(), whole) != 0) return false;
  if (bits % 8 == 0) return true;
  const unsigned mask = 0xFFU << (8 - bits % 8);
  return ((address.bytes[whole] ^ network.bytes[whole]) & mask & 0xFFU) == 0;
}

bool IsLoopback(const Address& address) {
  if (address.size == 4) return address.bytes[0] == 127;
  Address one;
  one.size = 16;
  one.bytes[15] = 1;
  return address.bytes == one.bytes;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Whether one entry of NO_PROXY, which is in lower case, names this host.
bool MatchesEntry(std::string_view entry, std::string_view host, const std::optional<Address>& address, std::uint16_t port) {
  if (entry == "*") return true;
  if (const std::size_t slash = entry.find('/'); slash != std::string_view::npos) {
    const std::optional<Address> network = ParseAddress(entry.substr(0, slash));
    unsigned bits = 0;
    const std::string_view length = entry.substr(slash + 1);
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bits);
    return network && address && error == std::errc() && end == length.data() + length.size() && InPrefix(*address, *network, bits);
  }
  std::string_view name = entry;
  std::string_view wanted_port;
  if (!entry.empty() && entry.front() == '[') {
    const std::size_t close = entry.find(']');
    if (close == std::string_view::npos) return false;
    name = entry.substr(1, close - 1);
    if (close + 1 < entry.size() && entry[close + 1] == ':') wanted_port = entry.substr(close + 2);
  } else if (const std::size_t colon = entry.find(':');
             colon != std::string_view::npos && entry.find(':', colon + 1) == std::string_view::npos) {
    name = entry.substr(0, colon);
    wanted_port = entry.substr(colon + 1);
  }
  if (!wanted_port.empty() && ParsePort(wanted_port) != port) return false;
  if (name.empty()) return false;
  if (const std::optional<Address> one = ParseAddress(name))
    return address && InPrefix(*address, *one, static_cast<unsigned>(one->size * 8));
  if (name.substr(0, 2) == "*.") name.remove_prefix(1);
  if (name.front() == '.') return EndsWith(host, name);
  return host == name || EndsWith(host, "." + std::string(name));
}

}  // namespace

std::string Endpoint::Authority() const {
  const bool usual = port == (tls ? 443 : 80);
  return usual ? Bracketed(host) : HostPort();
}

std::string Endpoint::HostPort() const { return fmt::format("{}:{}", Bracketed(host), port); }

Result<Endpoint> ParseBaseUrl(std::string_view url) {
  const auto bad = [&](std::string_view why) {
    // What is before an '@' may be a password.
    const std::size_t at = url.rfind('@');
    return Error(ErrorKind::kConfig, fmt::format("the server URL \"{}\" cannot be used: {}; it has to look like https://10.0.0.1:6443",
                                                 at == std::string_view::npos ? url : "..." + std::string(url.substr(at)), why));
  };
  UrlParts parts;
  if (const std::optional<std::string> why = Split(url, parts)) return bad(*why);
  if (parts.scheme != "https" && parts.scheme != "http") return bad("its scheme is neither https nor http");
  if (!parts.user_info.empty()) return bad("user and password belong into the credentials");
  Endpoint endpoint{.tls = parts.scheme == "https", .host = parts.host, .port = 0, .path = parts.path};
  endpoint.port = parts.port.value_or(static_cast<std::uint16_t>(endpoint.tls ? 443 : 80));
  while (!endpoint.path.empty() && endpoint.path.back() == '/') endpoint.path.pop_back();
  for (const char c : endpoint.path) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7F) return bad("its path has blanks or control characters");
  }
  return endpoint;
}

std::string Proxy::Url() const {
  const char* scheme = kind == Kind::kHttp ? "http" : kind == Kind::kHttps ? "https" : "socks5h";
  return fmt::format("{}://{}:{}", scheme, Bracketed(host), port);
}

std::string Proxy::Describe() const {
  const char* scheme = kind == Kind::kHttp ? "http" : kind == Kind::kHttps ? "https" : "socks5";
  return fmt::format("{}://{}{}:{}", scheme, user.empty() ? "" : user + (password.empty() ? "@" : ":***@"), Bracketed(host), port);
}

Result<Proxy> ParseProxyUrl(std::string_view url) {
  std::string text(Trim(url));
  if (text.find("://") == std::string::npos) text.insert(0, "http://");
  UrlParts parts;
  const std::optional<std::string> why = Split(text, parts);
  const auto bad = [&](std::string_view reason) {
    const std::size_t at = text.rfind('@');
    const std::string shown = at == std::string::npos ? text : "..." + text.substr(at);
    return Error(ErrorKind::kConfig,
                 fmt::format("the proxy \"{}\" cannot be used: {}; it has to look like http://proxy:3128, https://... or socks5://...",
                             shown, reason));
  };
  if (why) return bad(*why);
  Proxy proxy;
  std::uint16_t port = 0;
  if (parts.scheme == "http") {
    port = 80;
  } else if (parts.scheme == "https") {
    proxy.kind = Proxy::Kind::kHttps;
    port = 443;
  } else if (parts.scheme == "socks5" || parts.scheme == "socks5h") {
    proxy.kind = Proxy::Kind::kSocks5;
    port = 1080;
  } else {
    return bad("its scheme is none of http, https and socks5");
  }
  proxy.host = parts.host;
  proxy.port = parts.port.value_or(port);
  const std::size_t colon = parts.user_info.find(':');
  proxy.user = Unescape(std::string_view(parts.user_info).substr(0, std::min(colon, parts.user_info.size())));
  if (colon != std::string::npos) proxy.password = Unescape(std::string_view(parts.user_info).substr(colon + 1));
  return proxy;
}

bool MatchesNoProxy(std::string_view no_proxy, std::string_view host, std::uint16_t port) {
  const std::string name = Lower(host);
  const std::string list = Lower(no_proxy);
  const std::optional<Address> address = ParseAddress(name);
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (MatchesEntry(Trim(rest.substr(0, comma)), name, address, port)) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

Result<std::optional<Proxy>> EnvironmentProxy(const Endpoint& endpoint, const GetEnv& get_env) {
  const auto any = [&](const char* upper, const char* lower) {
    std::optional<std::string> value = get_env(upper);
    if (!value || value->empty()) value = get_env(lower);
    return value.value_or("");
  };
  // A CGI program's HTTP_PROXY is a header of its request.
  const bool cgi = !endpoint.tls && get_env("REQUEST_METHOD").has_value();
  const std::string url = endpoint.tls ? any("HTTPS_PROXY", "https_proxy") : cgi ? "" : any("HTTP_PROXY", "http_proxy");
  if (url.empty()) return std::optional<Proxy>();
  if (Lower(endpoint.host) == "localhost") return std::optional<Proxy>();
  if (const std::optional<Address> address = ParseAddress(endpoint.host); address && IsLoopback(*address)) return std::optional<Proxy>();
  if (MatchesNoProxy(any("NO_PROXY", "no_proxy"), endpoint.host, endpoint.port)) return std::optional<Proxy>();
  Result<Proxy> proxy = ParseProxyUrl(url);
  if (!proxy) return proxy.error().WithContext(endpoint.tls ? "HTTPS_PROXY" : "HTTP_PROXY");
  return std::optional<Proxy>(*std::move(proxy));
}

}  // namespace kube::internal
