// Decides what annotations of a workload may request. A user who may edit a Deployment gets Services and Ingresses through auto-expose
// without permission for these, so every value that an annotation chooses is refused unless the operator allows it.
//
//   Policy policy(settings, "shop", NamespacePolicy::Of(ns->metadata.annotations));
//   policy.AllowsHost("web.shop.example.com", template_host)
//
// A host is allowed if one of these holds:
//   - it is the host that the template --host gives to the workload itself;
//   - it lies in the zone of the workload's namespace: with {name}.{namespace}.{domain} that is {namespace}.{domain} and every host below
//     it. A template has zones only if {namespace} is a whole label and nothing to the right of it depends on a workload:
//     {name}-{namespace}.{domain} has none, because namespace "b-c" and name "a" give the same host as "c" and "a-b";
//   - a pattern of --allow-hosts matches it, and it does not lie below the zone of another namespace, or is named in full;
//   - a pattern of the annotation auto-expose.kubexx.dev/allow-hosts of the Namespace matches it.
//
// Thread safety: immutable after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/value/map.h"
#include "kube/value/string.h"
#include "settings.h"

namespace auto_expose {

// Annotation of a Namespace.
inline constexpr std::string_view kAllowHostsAnnotation = "auto-expose.kubexx.dev/allow-hosts";

// The path type that each ingress controller matches in its own way.
inline constexpr std::string_view kImplementationSpecific = "ImplementationSpecific";

// Dot-separated labels of at most 63 bytes in lower case, optionally after "*.". No port, no trailing dot, no Unicode.
bool IsHost(std::string_view host);
// The form in which claims compare hosts: lower case, without a trailing dot.
std::string NormalHost(std::string_view host);
// Whether a request could match both: they are equal, or one is a wildcard that covers the other. A wildcard covers any number of labels,
// as in the Gateway API and nginx. The empty host (any) overlaps only with itself: rules with a host take precedence.
bool HostsOverlap(std::string_view a, std::string_view b);
// "*" matches any text.
bool GlobMatches(std::string_view glob, std::string_view text);
// Letters, digits and -._~ between slashes, no segment "." or "..", at most 1024 bytes: nothing that an ingress controller could treat as
// an expression, an escape or a part of its configuration.
bool IsSafePath(std::string_view path);

// "shop.example.com"   this host
// "*.example.com"      every host below it, at any depth, but no wildcard host
// "**.example.com"     the same, and wildcard hosts
// "*", "**"            every host without and with wildcard hosts
class HostPattern {
 public:
  // Errors: kInvalid, naming the pattern.
  static kube::Result<HostPattern> Parse(std::string_view text);
  bool Matches(std::string_view host) const;
  bool exact() const { return kind_ == Kind::kExact; }

 private:
  enum class Kind : std::uint8_t { kExact, kBelow, kBelowOrWildcard };
  Kind kind_ = Kind::kExact;
  std::string domain_{};  // empty for any; unused for kExact
};

// What a Namespace object allows its workloads.
struct NamespacePolicy {
  std::vector<HostPattern> hosts{};
  std::vector<std::string> bad{};  // invalid patterns, with the reason
  static NamespacePolicy Of(const kube::Map<kube::String>& annotations);
};

// The one host that all workloads share, if the template has neither {name} nor {namespace}; empty without a domain.
std::optional<std::string> SharedHost(const Settings& settings);

// Whether the operator gave a host to this namespace alone.
enum class Given : std::uint8_t {
  kNo,
  // By a pattern of the Namespace's annotation: objects of other namespaces with exactly this host still hold it, wildcards do not.
  kByPattern,
  // It is in the zone, or the annotation names it in full: no object of another namespace holds it.
  kByName,
};

class Policy {
 public:
  Policy(const Settings& settings, std::string_view ns, NamespacePolicy of_namespace = {});

  // `own`: the host that the template gives to the workload.
  bool AllowsHost(std::string_view host, std::string_view own) const;
  // `own`: the path that the template gives to the workload. On a host that namespaces share, other paths must be below "/{namespace}/".
  // For ingress controllers that compare strings, "/{namespace}" of type ImplementationSpecific would also be a prefix of
  // "/{namespace}-b/x".
  bool AllowsPath(std::string_view host, std::string_view path, std::string_view type, std::string_view own) const;
  // Whether host and path are in what the operator gave to this namespace alone: its zone, or "/{namespace}/" on a shared host.
  bool InZone(std::string_view host, std::string_view path) const;
  Given GivenTo(std::string_view host, std::string_view path) const;
  bool AllowsClass(std::string_view name) const;
  bool AllowsServiceType(std::string_view type) const;
  bool AllowsIssuer(std::string_view name, bool cluster) const;
  // `own`: the secrets that follow from the settings.
  bool AllowsTlsSecret(std::string_view name, std::string_view workload, const std::vector<std::string>& own) const;
  bool AllowsAnnotation(std::string_view key, std::string_view value) const;

  // For messages: "shop.example.com and hosts below it".
  std::string DescribeHosts() const;

 private:
  // Whether all namespaces share it.
  bool IsShared(std::string_view host) const;

  const Settings& settings_;
  std::string ns_;
  NamespacePolicy of_namespace_;
  std::vector<HostPattern> hosts_{};
  std::string zones_{};  // parent of all zones: "example.com"; empty if there are none
  std::string zone_{};   // of this namespace
  std::optional<std::string> shared_{};
};

}  // namespace auto_expose
