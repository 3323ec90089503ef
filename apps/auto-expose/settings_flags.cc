#include "settings_flags.h"

#include <algorithm>
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

Error Invalid(std::string text) { return Error(ErrorKind::kInvalid, std::move(text)); }

std::string Not(const std::string& value) { return ", not \"" + value + "\""; }

using Check = std::function<Result<void>(const std::string& value)>;

// Fills the placeholders of a template to check it as a name: "a" stands for any value.
Check NameTemplate(Result<void> (*validate)(std::string_view)) {
  return [validate](const std::string& value) -> Result<void> {
    std::string filled = value;
    for (const std::string_view place : {"{name}", "{namespace}", "{domain}"}) {
      for (std::size_t at = 0; (at = filled.find(place)) != std::string::npos;) filled.replace(at, place.size(), "a");
    }
    if (filled.find_first_of("{}") != std::string::npos)
      return Invalid("expected no braces except {name}, {namespace} and {domain}" + Not(value));
    if (Result<void> valid = validate(filled); !value.empty() && !valid) return valid;
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

Result<void> SetKinds(Settings& s, const std::string& value) {
  s.deployments = s.stateful_sets = s.daemon_sets = false;
  for (const std::string& kind : Split(value)) {
    if (kind == "deployments") {
      s.deployments = true;
    } else if (kind == "statefulsets") {
      s.stateful_sets = true;
    } else if (kind == "daemonsets") {
      s.daemon_sets = true;
    } else {
      return Invalid("\"" + kind + "\" is not one of deployments, statefulsets, daemonsets");
    }
  }
  if (!s.deployments && !s.stateful_sets && !s.daemon_sets) return Invalid("at least one of deployments, statefulsets, daemonsets");
  return {};
}

Result<Exposure> ReadExposure(const std::string& value) {
  if (value == "none") return Exposure::kNone;
  if (value == "ingress") return Exposure::kIngress;
  if (value == "gateway") return Exposure::kGateway;
  return Invalid("allowed are none, ingress, gateway" + Not(value));
}

Result<void> SetGateway(Settings& settings, const std::string& value) {
  const std::size_t slash = value.find('/');
  settings.gateway_namespace = slash == std::string::npos ? "" : value.substr(0, slash);
  settings.gateway = slash == std::string::npos ? value : value.substr(slash + 1);
  const auto expected = [&](const Error& error) { return Invalid("expected [NAMESPACE/]NAME" + Not(value) + ": " + error.message()); };
  if (slash != std::string::npos) {
    if (Result<void> valid = kube::ValidateDnsLabel(settings.gateway_namespace); !valid) return expected(valid.error());
  }
  if (Result<void> valid = kube::ValidateDnsSubdomain(settings.gateway); !valid) return expected(valid.error());
  return {};
}

Result<void> AddIngressAnnotation(Settings& settings, const std::string& value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string::npos) return Invalid("expected KEY=VALUE" + Not(value));
  const std::string key = value.substr(0, equals);
  if (Result<void> valid = kube::ValidateLabelKey(key); !valid) return valid.error();
  settings.ingress_annotations.Set(key, value.substr(equals + 1));
  return {};
}

Check NamesTo(std::vector<std::string>& to, std::vector<std::string> known = {}) {
  return [&to, known = std::move(known)](const std::string& value) -> Result<void> {
    for (std::string& name : Split(value)) {
      const auto usual = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-._/*{}").find(c) != std::string_view::npos;
      };
      if (!std::all_of(name.begin(), name.end(), usual)) return Invalid("\"" + name + "\" is not a name; '*' matches any text");
      if (!known.empty() && std::find(known.begin(), known.end(), name) == known.end())
        return Invalid("allowed are NodePort, LoadBalancer" + Not(name));
      to.push_back(std::move(name));
    }
    return {};
  };
}

Result<void> AllowHosts(Settings& settings, const std::string& value) {
  for (std::string& pattern : Split(value)) {
    std::string filled = pattern;
    for (const std::string_view place : {"{namespace}", "{domain}"}) {
      for (std::size_t at = 0; (at = filled.find(place)) != std::string::npos;) filled.replace(at, place.size(), "a");
    }
    if (Result<HostPattern> parsed = HostPattern::Parse(filled); !parsed) return parsed.error();
    settings.allowed.hosts.push_back(std::move(pattern));
  }
  return {};
}

Result<void> ValidDomain(const std::string& value) { return value.empty() ? Result<void>() : kube::ValidateDnsSubdomain(value); }

Result<void> ValidResync(const std::string& value) {
  const Result<kube::Duration> duration = kube::Duration::Parse(value);
  if (duration && duration->nanoseconds() < 0) return Invalid("cannot be negative" + Not(value));
  return {};
}

Result<void> ValidPath(std::string_view path) {
  if (!path.empty() && path.front() != '/') return Invalid("must start with '/'");
  return {};
}

}  // namespace

void AddFlags(kube::ManagerFlags& flags, ProgramFlags& to) {
  Settings& settings = to.settings;
  const auto call = [&](std::string_view name, auto set, std::string_view value, std::string_view help) {
    flags
        .Call(
            name, [&settings, set](const std::string& text) { return set(settings, text); }, help)
        .Value(value);
  };

  flags.Group("which workloads");
  call("kinds", &SetKinds, "LIST", "workloads to expose: deployments, statefulsets, daemonsets (default deployments)");
  flags.Add("opt-in", &settings.opt_in, "expose only what has the annotation auto-expose.kubexx.dev/expose: \"true\"");
  flags
      .Call(
          "namespaces", [&](const std::string& value) { return SetNamespaces(settings.namespaces, value); },
          "only workloads in these namespaces (default: all)")
      .Value("LIST");
  flags
      .Call(
          "exclude-namespaces", [&](const std::string& value) { return SetNamespaces(settings.excluded_namespaces, value); },
          "also exclude these; kube-system and the program's own are always excluded")
      .Value("LIST");
  flags
      .Add(
          "selector", &settings.selector, [](const std::string& value) { return kube::Selector::Parse(value); },
          "only workloads with these labels: tier=web,team!=infra")
      .Value("LABELS");

  flags.Group("how they are exposed");
  flags.Add("service-type", &settings.service_type, "ClusterIP, NodePort or LoadBalancer")
      .OneOf({"ClusterIP", "NodePort", "LoadBalancer"})
      .Value("TYPE");
  flags.Add("ingress", &settings.exposure, &ReadExposure, "none, ingress, or gateway for an HTTPRoute").Value("HOW").Default("ingress");
  flags.Add("ingress-class", &settings.ingress_class, "class of the Ingresses (default: the cluster's)")
      .Value("NAME")
      .Check(NameTemplate(kube::ValidateDnsSubdomain));
  flags.Add("domain", &settings.domain, "domain of the hosts; if empty, workloads get paths /NAMESPACE/NAME instead")
      .Value("NAME")
      .Check(ValidDomain);
  flags.Add("host", &settings.host, "host of each workload").Value("TEMPLATE").Check(NameTemplate(kube::ValidateDnsSubdomain));
  flags.Add("path", &settings.path, "path of each workload (default /, or /{namespace}/{name} without a host of its own)")
      .Value("TEMPLATE")
      .Check(NameTemplate(ValidPath));
  flags.Add("path-type", &settings.path_type, "Prefix, Exact or ImplementationSpecific")
      .OneOf({"Prefix", "Exact", "ImplementationSpecific"})
      .Value("TYPE");
  flags.Add("tls-secret", &settings.tls_secret, "name of the certificate's secret, in each workload's namespace")
      .Value("TEMPLATE")
      .Check(NameTemplate(kube::ValidateDnsSubdomain));
  flags.Add("cluster-issuer", &settings.cluster_issuer, "request certificates from cert-manager, with this ClusterIssuer").Value("NAME");
  flags.Add("issuer", &settings.issuer, "request certificates with this Issuer in the workload's namespace").Value("NAME");
  call("ingress-annotation", &AddIngressAnnotation, "KEY=VALUE", "annotation of every Ingress; may be repeated");
  call("gateway", &SetGateway, "[NAMESPACE/]NAME", "Gateway of the HTTPRoutes, with --ingress=gateway");

  flags.Group("what annotations of workloads may request (by default nothing of this)");
  Allowed& allowed = settings.allowed;
  call("allow-hosts", &AllowHosts, "LIST",
       "hosts in addition to those below {namespace}.{domain}: shop.example.com, *.example.com, **.example.com (with wildcard hosts)");
  flags.Add("allow-namespace-hosts", &allowed.hosts_of_namespaces,
            "let the annotation auto-expose.kubexx.dev/allow-hosts of a Namespace add hosts for it");
  flags.Call("allow-ingress-annotations", NamesTo(allowed.ingress_annotations), "keys of ingress-annotations; their values are not checked")
      .Value("LIST");
  flags.Call("allow-ingress-classes", NamesTo(allowed.ingress_classes), "names of ingress-class").Value("LIST");
  flags.Call("allow-service-types", NamesTo(allowed.service_types, {"NodePort", "LoadBalancer"}), "NodePort, LoadBalancer").Value("LIST");
  flags.Call("allow-issuers", NamesTo(allowed.issuers), "names of issuer").Value("LIST");
  flags.Call("allow-cluster-issuers", NamesTo(allowed.cluster_issuers), "names of cluster-issuer").Value("LIST");
  flags.Call("allow-tls-secrets", NamesTo(allowed.tls_secrets), "names of tls-secret; may have {name} and {namespace}").Value("LIST");

  flags.Group("the program");
  flags.Add("workers", &to.workers, "workloads reconciled concurrently").Range(1, 1000);
  flags.Add("resync", &to.resync, "reconcile every workload again after this time; 0 means never").Default("10h").Check(ValidResync);
  flags.Add("dry-run", &to.dry_run, "change nothing; print what would be done");
  flags.Add("filename", &to.files, "a manifest for plan; may be repeated").Letter('f').Value("FILE").Whole();
  flags.Arguments("[plan]", &to.command);
  flags.Interspersed();
}

Result<void> ParseFlags(kube::ManagerFlags& manager, const std::vector<std::string>& arguments, ProgramFlags& flags) {
  ProgramFlags parsed = flags;
  kube::ManagerFlags all = manager;
  AddFlags(all, parsed);
  if (Result<void> done = all.Parse(arguments); !done) return done;
  if (parsed.settings.exposure == Exposure::kGateway && parsed.settings.gateway.empty())
    return kube::UsageError("--ingress=gateway needs --gateway: the Gateway that routes belong to");
  if (!parsed.settings.issuer.empty() && !parsed.settings.cluster_issuer.empty())
    return kube::UsageError("--issuer and --cluster-issuer: set only one of them");
  const bool plan = !parsed.command.empty();
  if (plan && parsed.command.front() != "plan") return kube::UsageError("unknown command \"" + parsed.command.front() + "\"");
  if (plan && parsed.files.empty()) return kube::UsageError("plan: -f FILE is missing");
  if (!plan && !parsed.files.empty()) return kube::UsageError("--filename: only plan reads files");
  flags = std::move(parsed);
  // Not `all` itself, whose flags set `parsed`.
  manager.config = std::move(all.config);
  manager.options = std::move(all.options);
  manager.election = std::move(all.election);
  manager.leader_elect = all.leader_elect;
  manager.kube_api_qps = all.kube_api_qps;
  manager.kube_api_burst = all.kube_api_burst;
  return {};
}

}  // namespace auto_expose
