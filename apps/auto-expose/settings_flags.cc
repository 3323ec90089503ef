#include "settings_flags.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

#include "kube/meta/validation.h"
#include "kube/value/time.h"
#include "policy.h"

namespace auto_expose {
namespace {

using kube::Error;
using kube::ErrorKind;
using kube::Result;

using Setter = std::function<Result<void>(ProgramFlags& flags, const std::string& value)>;

struct Flag {
  std::string_view group;
  std::string_view name;
  std::string_view value;  // empty: a switch
  std::string_view help;
  Setter set;
};

Error Invalid(std::string text) { return Error(ErrorKind::kInvalid, std::move(text)); }

Setter Text(std::string Settings::*member) {
  return [member](ProgramFlags& flags, const std::string& value) -> Result<void> {
    flags.settings.*member = value;
    return {};
  };
}

// A template becomes a name when its places are filled: "a" stands for what comes there.
Setter NameTemplate(std::string Settings::*member, Result<void> (*validate)(std::string_view)) {
  return [member, validate](ProgramFlags& flags, const std::string& value) -> Result<void> {
    std::string filled = value;
    for (const std::string_view place : {"{name}", "{namespace}", "{domain}"}) {
      for (std::size_t at = 0; (at = filled.find(place)) != std::string::npos;) filled.replace(at, place.size(), "a");
    }
    if (filled.find_first_of("{}") != std::string::npos) return Invalid("it may have {name}, {namespace} and {domain}");
    if (Result<void> valid = validate(filled); !value.empty() && !valid) return valid.error();
    flags.settings.*member = value;
    return {};
  };
}

Setter OneOf(std::string Settings::*member, std::vector<std::string> allowed) {
  return [member, allowed = std::move(allowed)](ProgramFlags& flags, const std::string& value) -> Result<void> {
    std::string text;
    for (const std::string& one : allowed) {
      if (one == value) {
        flags.settings.*member = value;
        return {};
      }
      text += (text.empty() ? "" : ", ") + one;
    }
    return Invalid("allowed are " + text);
  };
}

Setter Switch(bool ProgramFlags::*member) {
  return [member](ProgramFlags& flags, const std::string& value) -> Result<void> {
    if (value != "true" && value != "false") return Invalid("allowed are true, false");
    flags.*member = value == "true";
    return {};
  };
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    if (end > start) parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

Result<void> SetNamespaces(std::vector<std::string>& to, const std::string& value) {
  for (std::string& ns : Split(value)) {
    if (Result<void> valid = kube::ValidateDnsLabel(ns); !valid) return valid.error();
    to.push_back(std::move(ns));
  }
  return {};
}

Result<void> SetKinds(ProgramFlags& flags, const std::string& value) {
  Settings& s = flags.settings;
  s.deployments = s.stateful_sets = s.daemon_sets = false;
  for (const std::string& kind : Split(value)) {
    if (kind == "deployments") {
      s.deployments = true;
    } else if (kind == "statefulsets") {
      s.stateful_sets = true;
    } else if (kind == "daemonsets") {
      s.daemon_sets = true;
    } else {
      return Invalid("\"" + kind + "\" is none of deployments, statefulsets, daemonsets");
    }
  }
  if (!s.deployments && !s.stateful_sets && !s.daemon_sets) return Invalid("at least one of deployments, statefulsets, daemonsets");
  return {};
}

Result<void> SetExposure(ProgramFlags& flags, const std::string& value) {
  if (value == "none") {
    flags.settings.exposure = Exposure::kNone;
  } else if (value == "ingress") {
    flags.settings.exposure = Exposure::kIngress;
  } else if (value == "gateway") {
    flags.settings.exposure = Exposure::kGateway;
  } else {
    return Invalid("allowed are none, ingress, gateway");
  }
  return {};
}

Result<void> SetGateway(ProgramFlags& flags, const std::string& value) {
  const std::size_t slash = value.find('/');
  flags.settings.gateway_namespace = slash == std::string::npos ? "" : value.substr(0, slash);
  flags.settings.gateway = slash == std::string::npos ? value : value.substr(slash + 1);
  if (slash != std::string::npos) {
    if (Result<void> valid = kube::ValidateDnsLabel(flags.settings.gateway_namespace); !valid) return valid.error();
  }
  return kube::ValidateDnsSubdomain(flags.settings.gateway);
}

Result<void> AddIngressAnnotation(ProgramFlags& flags, const std::string& value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string::npos) return Invalid("has to be KEY=VALUE");
  const std::string key = value.substr(0, equals);
  if (Result<void> valid = kube::ValidateLabelKey(key); !valid) return valid.error();
  flags.settings.ingress_annotations.Set(key, value.substr(equals + 1));
  return {};
}

Result<void> SetSelector(ProgramFlags& flags, const std::string& value) {
  Result<kube::Selector> selector = kube::Selector::Parse(value);
  if (!selector) return selector.error();
  flags.settings.selector = std::move(*selector);
  return {};
}

Setter Names(std::vector<std::string> Allowed::*member, std::vector<std::string> known = {}) {
  return [member, known = std::move(known)](ProgramFlags& flags, const std::string& value) -> Result<void> {
    for (std::string& name : Split(value)) {
      const auto usual = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-._/*{}").find(c) != std::string_view::npos;
      };
      if (!std::all_of(name.begin(), name.end(), usual)) return Invalid("\"" + name + "\" is no name; '*' stands for any text");
      if (!known.empty() && std::find(known.begin(), known.end(), name) == known.end())
        return Invalid("allowed are NodePort, LoadBalancer");
      (flags.settings.allowed.*member).push_back(std::move(name));
    }
    return {};
  };
}

Result<void> AllowHosts(ProgramFlags& flags, const std::string& value) {
  for (std::string& pattern : Split(value)) {
    std::string filled = pattern;
    for (const std::string_view place : {"{namespace}", "{domain}"}) {
      for (std::size_t at = 0; (at = filled.find(place)) != std::string::npos;) filled.replace(at, place.size(), "a");
    }
    if (Result<HostPattern> parsed = HostPattern::Parse(filled); !parsed) return parsed.error();
    flags.settings.allowed.hosts.push_back(std::move(pattern));
  }
  return {};
}

Result<void> SetDomain(ProgramFlags& flags, const std::string& value) {
  if (Result<void> valid = kube::ValidateDnsSubdomain(value); !value.empty() && !valid) return valid;
  flags.settings.domain = value;
  return {};
}

Result<void> SetWorkers(ProgramFlags& flags, const std::string& value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), flags.workers);
  if (error != std::errc() || end != value.data() + value.size() || flags.workers < 1 || flags.workers > 1000) {
    return Invalid("has to be a number from 1 to 1000");
  }
  return {};
}

Result<void> SetResync(ProgramFlags& flags, const std::string& value) {
  Result<kube::Duration> duration = kube::Duration::Parse(value);
  if (!duration) return duration.error();
  if (duration->nanoseconds() < 0) return Invalid("cannot be negative");
  flags.resync = std::chrono::nanoseconds(duration->nanoseconds());
  return {};
}

Result<void> ValidPath(std::string_view path) {
  if (!path.empty() && path.front() != '/') return Invalid("has to start with '/'");
  return {};
}

constexpr std::string_view kWhich = "which workloads", kHow = "how they are exposed",
                           kAllow = "what annotations of workloads may ask for (nothing of this, unless allowed here)",
                           kRest = "the program";

const std::vector<Flag>& AllFlags() {
  static const std::vector<Flag>& flags = *new std::vector<Flag>{
      {kWhich, "kinds", "LIST", "what is exposed: deployments, statefulsets, daemonsets (default deployments)", SetKinds},
      {kWhich, "opt-in", "", "expose only what has the annotation auto-expose.kubexx.dev/expose: \"true\"",
       [](ProgramFlags& f, const std::string& value) -> Result<void> {
         if (value != "true" && value != "false") return Invalid("allowed are true, false");
         f.settings.opt_in = value == "true";
         return {};
       }},
      {kWhich, "namespaces", "LIST", "only workloads of these namespaces (default: all)",
       [](ProgramFlags& f, const std::string& value) { return SetNamespaces(f.settings.namespaces, value); }},
      {kWhich, "exclude-namespaces", "LIST", "leave these out as well; kube-system and the program's own always are",
       [](ProgramFlags& f, const std::string& value) { return SetNamespaces(f.settings.excluded_namespaces, value); }},
      {kWhich, "selector", "LABELS", "only workloads with such labels: tier=web,team!=infra", SetSelector},
      {kHow, "service-type", "TYPE", "ClusterIP, NodePort or LoadBalancer (default ClusterIP)",
       OneOf(&Settings::service_type, {"ClusterIP", "NodePort", "LoadBalancer"})},
      {kHow, "ingress", "HOW", "none, ingress, or gateway for an HTTPRoute (default ingress)", SetExposure},
      {kHow, "ingress-class", "NAME", "of the Ingresses (default: the cluster's)",
       NameTemplate(&Settings::ingress_class, kube::ValidateDnsSubdomain)},
      {kHow, "domain", "NAME", "of the hosts; without it there are paths /NAMESPACE/NAME instead", SetDomain},
      {kHow, "host", "TEMPLATE", "of the hosts (default {name}.{namespace}.{domain})",
       NameTemplate(&Settings::host, kube::ValidateDnsSubdomain)},
      {kHow, "path", "TEMPLATE", "of the paths (default /; without a host of its own /{namespace}/{name})",
       NameTemplate(&Settings::path, ValidPath)},
      {kHow, "path-type", "TYPE", "Prefix, Exact or ImplementationSpecific (default Prefix)",
       OneOf(&Settings::path_type, {"Prefix", "Exact", "ImplementationSpecific"})},
      {kHow, "tls-secret", "TEMPLATE", "name of the certificate's secret, in each workload's namespace",
       NameTemplate(&Settings::tls_secret, kube::ValidateDnsSubdomain)},
      {kHow, "cluster-issuer", "NAME", "ask cert-manager for certificates, from this ClusterIssuer", Text(&Settings::cluster_issuer)},
      {kHow, "issuer", "NAME", "likewise, from this Issuer in the workload's namespace", Text(&Settings::issuer)},
      {kHow, "ingress-annotation", "KEY=VALUE", "of every Ingress; may come several times", AddIngressAnnotation},
      {kHow, "gateway", "[NAMESPACE/]NAME", "that HTTPRoutes belong to, with --ingress=gateway", SetGateway},
      {kAllow, "allow-hosts", "LIST",
       "hosts beside those below {namespace}.{domain}: shop.example.com, *.example.com, **.example.com (with wildcard hosts)", AllowHosts},
      {kAllow, "allow-namespace-hosts", "",
       "let the annotation auto-expose.kubexx.dev/allow-hosts of a Namespace add hosts for it (default true)",
       [](ProgramFlags& f, const std::string& value) -> Result<void> {
         if (value != "true" && value != "false") return Invalid("allowed are true, false");
         f.settings.allowed.hosts_of_namespaces = value == "true";
         return {};
       }},
      {kAllow, "allow-ingress-annotations", "LIST", "keys of ingress-annotations; their values are not checked",
       Names(&Allowed::ingress_annotations)},
      {kAllow, "allow-ingress-classes", "LIST", "names of ingress-class", Names(&Allowed::ingress_classes)},
      {kAllow, "allow-service-types", "LIST", "NodePort, LoadBalancer", Names(&Allowed::service_types, {"NodePort", "LoadBalancer"})},
      {kAllow, "allow-issuers", "LIST", "names of issuer", Names(&Allowed::issuers)},
      {kAllow, "allow-cluster-issuers", "LIST", "names of cluster-issuer", Names(&Allowed::cluster_issuers)},
      {kAllow, "allow-tls-secrets", "LIST", "names of tls-secret; may have {name} and {namespace}", Names(&Allowed::tls_secrets)},
      {kRest, "workers", "N", "workloads that are worked on at once (default 4)", SetWorkers},
      {kRest, "resync", "TIME", "look at every workload again after this time; 0 for never (default 10h)", SetResync},
      {kRest, "dry-run", "", "change nothing; print what would be done", Switch(&ProgramFlags::dry_run)},
      {kRest, "config", "FILE", "YAML with flags, for example \"domain: example.com\"",
       [](ProgramFlags&, const std::string&) -> Result<void> { return {}; }},
  };
  return flags;
}

}  // namespace

Result<std::vector<std::string>> ParseFlags(const std::vector<std::string>& arguments, ProgramFlags& flags) {
  ProgramFlags parsed = flags;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.starts_with("--") ? argument.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
    const Flag* known = nullptr;
    for (const Flag& flag : AllFlags()) {
      if (flag.name == name) known = &flag;
    }
    if (known == nullptr) {
      rest.push_back(argument);
      continue;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (known->value.empty()) {
      value = "true";
    } else if (++i < arguments.size()) {
      value = arguments[i];
    } else {
      return Invalid("--" + name + " needs a value: " + std::string(known->help));
    }
    if (Result<void> set = known->set(parsed, value); !set) return Invalid("--" + name + " \"" + value + "\": " + set.error().message());
  }
  if (parsed.settings.exposure == Exposure::kGateway && parsed.settings.gateway.empty()) {
    return Invalid("--ingress=gateway needs --gateway: the Gateway that routes belong to");
  }
  if (!parsed.settings.issuer.empty() && !parsed.settings.cluster_issuer.empty())
    return Invalid("--issuer and --cluster-issuer: one of them");
  flags = std::move(parsed);
  return rest;
}

std::string FlagsHelp() {
  std::string text;
  std::string_view group;
  for (const Flag& flag : AllFlags()) {
    if (flag.group != group) {
      group = flag.group;
      text.append(text.empty() ? "" : "\n").append(group).append(":\n");
    }
    std::string line = "  --" + std::string(flag.name);
    if (!flag.value.empty()) line.append(" ").append(flag.value);
    line.resize(std::max<std::size_t>(line.size() + 2, 36), ' ');
    text.append(line).append(flag.help).append("\n");
  }
  return text.append("\nall controllers:\n");
}

}  // namespace auto_expose
