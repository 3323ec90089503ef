// The allow-hosts annotation of a Namespace and a host, a path that a tenant asks for. Whatever the text: an allowed host is a host, it is
// in the namespace's zone or a pattern matches it, and a safe path has no character but those that are listed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../../apps/auto-expose/policy.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::fuzz::Require;
  namespace ae = auto_expose;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t first = std::min(text.find('\n'), text.size()), second = std::min(text.find('\n', first + 1), text.size());
  const std::string_view patterns = text.substr(0, first),
                         host = text.substr(std::min(first + 1, text.size()), second - std::min(first + 1, second));
  const std::string_view path = text.substr(std::min(second + 1, text.size()));

  ae::Settings settings;
  settings.domain = "example.com";
  const ae::NamespacePolicy of_namespace = ae::NamespacePolicy::Of({{kube::String(ae::kAllowHostsAnnotation), kube::String(patterns)}});
  const ae::Policy policy(settings, "shop", of_namespace);
  if (ae::IsHost(host) && policy.AllowsHost(host, "web.shop.example.com")) {
    bool matched = false;
    for (const ae::HostPattern& pattern : of_namespace.hosts) matched = matched || pattern.Matches(host);
    const bool in_zone = host == "shop.example.com" || host.ends_with(".shop.example.com");
    Require(matched || in_zone, "an allowed host is in the zone, or a pattern matches it");
  }
  if (of_namespace.hosts.empty()) Require(!policy.AllowsHost("web.bank.example.com", "web.shop.example.com"), "no pattern allows nothing");
  Require(ae::NormalHost(ae::NormalHost(host)).size() <= host.size(), "a normal host is not longer");
  Require(ae::HostsOverlap(host, path) == ae::HostsOverlap(path, host), "overlapping is mutual");
  if (ae::IsSafePath(path)) {
    Require(path.front() == '/' && path.find("/../") == std::string_view::npos, "a safe path starts with a slash, and leads nowhere up");
    for (const char c : path)
      Require(c > ' ' && std::string_view("\"'\\;{}()$|*?+^#%&<>`[]").find(c) == std::string_view::npos && c < 127, "plain");
  }
  (void)ae::GlobMatches(patterns.substr(0, 200), host.substr(0, 200));
  return 0;
}
