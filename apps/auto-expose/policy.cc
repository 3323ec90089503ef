#include "policy.h"

#include <algorithm>
#include <utility>

#include "kube/meta/validation.h"

namespace auto_expose {
namespace {

using kube::Error;
using kube::ErrorKind;
using kube::Result;

constexpr std::size_t kMaxPath = 1024;

std::string Replaced(std::string text, std::string_view place, std::string_view value) {
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += value.size()) text.replace(at, place.size(), value);
  return text;
}

bool IsBelow(std::string_view host, std::string_view domain) {
  return host.size() > domain.size() + 1 && host.ends_with(domain) && host[host.size() - domain.size() - 1] == '.';
}

bool AnyMatches(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(), [text](const std::string& glob) { return GlobMatches(glob, text); });
}

// What stands to the right of the label {namespace} in the template; empty if there are no zones.
std::string ZonesOf(const Settings& settings) {
  if (settings.domain.empty()) return "";
  const std::string text = Replaced(settings.host, "{domain}", settings.domain);
  const std::size_t at = text.rfind("{namespace}");
  constexpr std::size_t kLength = std::string_view("{namespace}").size();
  if (at == std::string::npos || (at > 0 && text[at - 1] != '.')) return "";
  const std::string right = text.substr(at + kLength);
  if (right.size() < 2 || right.front() != '.' || right.find('{') != std::string::npos) return "";
  return right.substr(1);
}

}  // namespace

bool IsHost(std::string_view host) {
  if (host.starts_with("*.")) host.remove_prefix(2);
  if (!kube::ValidateDnsSubdomain(host)) return false;
  for (std::size_t start = 0; start <= host.size();) {
    const std::size_t end = std::min(host.find('.', start), host.size());
    if (end - start > kube::kMaxDnsLabelLength) return false;
    start = end + 1;
  }
  return true;
}

std::string NormalHost(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string out(host);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool HostsOverlap(std::string_view a, std::string_view b) {
  if (a == b) return true;
  if (a.empty() || b.empty()) return false;
  const auto covers = [](std::string_view wildcard, std::string_view host) {
    return wildcard.starts_with("*.") && IsBelow(host, wildcard.substr(2));
  };
  return covers(a, b) || covers(b, a);
}

bool GlobMatches(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      from = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g, ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

bool IsSafePath(std::string_view path) {
  if (!path.starts_with('/') || path.size() > kMaxPath) return false;
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view segment = path.substr(start, end - start);
    if (segment == "." || segment == ".." || (segment.empty() && end != path.size())) return false;
    for (const char c : segment) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!plain && c != '-' && c != '.' && c != '_' && c != '~') return false;
    }
    start = end + 1;
  }
  return true;
}

Result<HostPattern> HostPattern::Parse(std::string_view text) {
  HostPattern pattern;
  std::string_view domain = text;
  for (const auto& [mark, kind] : {std::pair<std::string_view, Kind>{"**", Kind::kBelowOrWildcard}, {"*", Kind::kBelow}}) {
    if (text != mark && !text.starts_with(std::string(mark) + ".")) continue;
    pattern.kind_ = kind;
    domain = text.substr(std::min(mark.size() + 1, text.size()));
    break;
  }
  const bool any = text == "*" || text == "**";
  if (!any && (domain.starts_with("*.") || !IsHost(domain))) {
    return Error(ErrorKind::kInvalid, "\"" + std::string(text.substr(0, 300)) +
                                          "\" is not a host pattern: expected shop.example.com, *.example.com or **.example.com");
  }
  pattern.domain_ = std::string(domain);
  return pattern;
}

bool HostPattern::Matches(std::string_view host) const {
  if (host.empty()) return false;
  if (kind_ == Kind::kExact) return host == domain_;
  if (kind_ == Kind::kBelow && host.starts_with("*.")) return false;
  return domain_.empty() || IsBelow(host, domain_);
}

NamespacePolicy NamespacePolicy::Of(const kube::Map<kube::String>& annotations) {
  NamespacePolicy policy;
  const kube::String* found = annotations.Find(kAllowHostsAnnotation);
  if (found == nullptr) return policy;
  const std::string_view text = found->view();
  constexpr std::string_view kBetween = ", \t\r\n";
  for (std::size_t start = text.find_first_not_of(kBetween); start != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, start), text.size());
    Result<HostPattern> pattern = HostPattern::Parse(text.substr(start, end - start));
    if (pattern) {
      policy.hosts.push_back(*std::move(pattern));
    } else {
      policy.bad.push_back(pattern.error().message());
    }
    start = text.find_first_not_of(kBetween, end);
  }
  return policy;
}

std::optional<std::string> SharedHost(const Settings& settings) {
  if (settings.domain.empty()) return "";
  if (settings.host.find("{name}") != std::string::npos || settings.host.find("{namespace}") != std::string::npos) return std::nullopt;
  return Replaced(settings.host, "{domain}", settings.domain);
}

Policy::Policy(const Settings& settings, std::string_view ns, NamespacePolicy of_namespace)
    : settings_(settings), ns_(ns), of_namespace_(std::move(of_namespace)), zones_(ZonesOf(settings)), shared_(SharedHost(settings)) {
  if (!settings.allowed.hosts_of_namespaces) of_namespace_ = {};
  if (!zones_.empty()) zone_ = ns_ + "." + zones_;
  for (const std::string& text : settings.allowed.hosts) {
    Result<HostPattern> pattern = HostPattern::Parse(Replaced(Replaced(text, "{namespace}", ns_), "{domain}", settings.domain));
    if (pattern) hosts_.push_back(*std::move(pattern));
  }
}

bool Policy::AllowsHost(std::string_view host, std::string_view own) const {
  if (host == own) return true;
  if (host.empty()) return shared_ && shared_->empty();
  const auto matches = [host](const HostPattern& pattern) { return pattern.Matches(host); };
  if (std::any_of(of_namespace_.hosts.begin(), of_namespace_.hosts.end(), matches)) return true;
  if (!IsShared(host) && InZone(host, "")) return true;
  // "a.b.example.com" below "example.com": "b" is the namespace whose zone it is in.
  bool of_another = false;
  if (!zones_.empty() && IsBelow(host, zones_)) {
    of_another = host.substr(0, host.size() - zones_.size() - 1).find('.') != std::string_view::npos;
  }
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [&](const HostPattern& pattern) { return pattern.Matches(host) && (!of_another || pattern.exact()); });
}

bool Policy::AllowsPath(std::string_view host, std::string_view path, std::string_view type, std::string_view own) const {
  const bool loose = type == kImplementationSpecific;
  if (path == own && (!loose || type == settings_.path_type)) return true;
  if (!IsSafePath(path)) return false;
  return !IsShared(host) || (InZone(host, path) && !(loose && path == "/" + ns_));
}

bool Policy::InZone(std::string_view host, std::string_view path) const {
  if (!IsShared(host)) return !zone_.empty() && (host == zone_ || IsBelow(host, zone_));
  const std::string zone = "/" + ns_;
  return path == zone || path.starts_with(zone + "/");
}

Given Policy::GivenTo(std::string_view host, std::string_view path) const {
  if (InZone(host, path)) return Given::kByName;
  Given given = Given::kNo;
  for (const HostPattern& pattern : of_namespace_.hosts) {
    if (pattern.Matches(host)) given = std::max(given, pattern.exact() ? Given::kByName : Given::kByPattern);
  }
  return given;
}

bool Policy::IsShared(std::string_view host) const { return host.empty() || (shared_ && host == *shared_); }

bool Policy::AllowsClass(std::string_view name) const {
  return name == settings_.ingress_class || AnyMatches(settings_.allowed.ingress_classes, name);
}

bool Policy::AllowsServiceType(std::string_view type) const {
  return type == "ClusterIP" || type == settings_.service_type || AnyMatches(settings_.allowed.service_types, type);
}

bool Policy::AllowsIssuer(std::string_view name, bool cluster) const {
  if (name == (cluster ? settings_.cluster_issuer : settings_.issuer)) return true;
  return AnyMatches(cluster ? settings_.allowed.cluster_issuers : settings_.allowed.issuers, name);
}

bool Policy::AllowsTlsSecret(std::string_view name, std::string_view workload, const std::vector<std::string>& own) const {
  if (std::find(own.begin(), own.end(), name) != own.end()) return true;
  return std::any_of(settings_.allowed.tls_secrets.begin(), settings_.allowed.tls_secrets.end(), [&](const std::string& glob) {
    return GlobMatches(Replaced(Replaced(glob, "{name}", workload), "{namespace}", ns_), name);
  });
}

bool Policy::AllowsAnnotation(std::string_view key, std::string_view value) const {
  const kube::String* set = settings_.ingress_annotations.Find(key);
  return (set != nullptr && *set == value) || AnyMatches(settings_.allowed.ingress_annotations, key);
}

std::string Policy::DescribeHosts() const {
  std::string text = zone_.empty() ? "the host derived from the workload's name" : zone_ + " and hosts below it";
  if (!hosts_.empty() || !of_namespace_.hosts.empty()) text += ", and what the operator's patterns allow";
  for (const std::string& bad : of_namespace_.bad)
    text += "; annotation " + std::string(kAllowHostsAnnotation) + " of the namespace: " + bad;
  return text;
}

}  // namespace auto_expose
