#include "program.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "children.h"
#include "claims.h"
#include "exposer.h"
#include "kube/base/log.h"
#include "kube/base/printable.h"
#include "kube/codec/yaml.h"
#include "kube/control/manager_flags.h"
#include "kube/version.h"
#include "plan.h"
#include "settings_flags.h"

namespace auto_expose {
namespace {

using kube::Error;
using kube::ErrorKind;
using kube::Result;

constexpr const char* kUsage =
    R"(auto-expose makes applications reachable: each Deployment gets a Service and an Ingress, which are kept, repaired and removed with it.

usage: auto-expose [flags]                 run, until Ctrl-C or SIGTERM
       auto-expose --dry-run [flags]       print what would be done, and end
       auto-expose plan -f FILE [flags]    print the children for a manifest, without a cluster ("-": standard input)
       auto-expose version

examples:
  auto-expose --domain example.com --ingress-class nginx
  auto-expose --opt-in --leader-elect --namespaces shop,blog
  kubectl create deployment web --image nginx --port 80 --dry-run=client -o yaml | auto-expose plan -f - --domain example.com

A workload's annotations, all with the prefix auto-expose.kubexx.dev/, say what is special about it:
  expose ("true", "false"), port ("80:http"), service-type, session-affinity, ingress ("none"), ingress-class, host, path, path-type,
  tls-secret, cluster-issuer, issuer, ingress-annotations (a YAML map)

Hosts lie below {namespace}.{domain}, paths have plain characters, and anything else that an annotation chooses is refused unless a flag
--allow-... allows it. Lists have commas between their names, in which * stands for any text, and may come several times.

)";

int Fail(const Streams& io, const std::string& message, int code) {
  io.err << "auto-expose: " << message << "\n";
  return code;
}

// The workloads of all files, and the other objects that affect them.
struct Manifests {
  std::vector<Workload> workloads{};
  std::map<kube::String, NamespacePolicy> namespaces{};
  std::vector<ClaimBoard::Holder> holders{};
};

void PrintPlan(const Workload& workload, const Plan& plan, const Streams& io, int& problems) {
  // No API server has validated the names in a manifest.
  const std::string name = kube::Printable(Claimant::Of(workload).ToString());
  for (const Problem& problem : plan.problems) {
    io.err << name << ": " << problem.reason << ": " << kube::Printable(problem.message) << "\n";
    ++problems;
  }
  if (!plan.why.empty() && plan.problems.empty()) io.err << name << ": not exposed: " << plan.why << "\n";
  const auto print = [&](const Result<std::string>& yaml) {
    if (yaml) io.out << "---\n" << *yaml;
  };
  if (plan.service) print(kube::ToYaml(*plan.service));
  if (plan.ingress) print(kube::ToYaml(*plan.ingress));
  if (plan.route) print(kube::ToYaml(*plan.route));
  if (!plan.url.empty()) io.err << name << ": " << kube::Printable(plan.url) << "\n";
}

// Plans as if the files were all of a cluster's objects.
int PrintPlans(const Manifests& manifests, const Settings& settings, const Streams& io) {
  std::vector<Plan> plans;
  std::vector<ClaimBoard::Rival> rivals;
  for (const Workload& workload : manifests.workloads) {
    const auto policy = manifests.namespaces.find(workload.metadata.namespace_);
    plans.push_back(PlanFor(workload, settings, policy == manifests.namespaces.end() ? NamespacePolicy{} : policy->second));
    if (plans.back().claim) rivals.push_back({Claimant::Of(workload), *plans.back().claim});
  }
  const ClaimBoard::Sources sources{
      .holders = [&](const Claim&, const auto& visit) { (void)std::any_of(manifests.holders.begin(), manifests.holders.end(), visit); },
      .rivals = [&](const Claim&, const Claimant&, const auto& visit) { (void)std::any_of(rivals.begin(), rivals.end(), visit); }};
  ClaimBoard board(SharedHost(settings));
  int problems = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].claim) {
      const ClaimBoard::Answer answer = board.Take(Claimant::Of(manifests.workloads[i]), *plans[i].claim, sources);
      if (answer.blocker) Yield(plans[i], *answer.blocker, answer.blocker->ns);
    }
    PrintPlan(manifests.workloads[i], plans[i], io, problems);
  }
  return problems;
}

Result<std::string> ReadFile(const std::string& file, std::istream& standard_input) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(standard_input), {});
  std::ifstream in(file);
  if (!in) return Error(ErrorKind::kInvalid, file + ": cannot be read");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Errors name the file and the document.
Result<void> ReadManifests(const std::string& file, std::istream& standard_input, Manifests& manifests) {
  const Result<std::string> text = ReadFile(file, standard_input);
  if (!text) return text.error();
  const Result<std::vector<kube::Value>> documents = kube::ParseYaml(*text);
  if (!documents) return documents.error().WithContext(file);
  std::vector<kube::Value> objects;
  for (const kube::Value& document : *documents) {
    const Result<kube::DynamicObject> object = kube::DynamicObject::FromValue(document);
    if (!object) return object.error().WithContext(file);
    if (object->gvk().kind == "List" && document["items"].is_list()) {
      for (const kube::Value& item : document["items"].list()) objects.push_back(item);
    } else {
      objects.push_back(document);
    }
  }
  for (const kube::Value& value : objects) {
    const Result<kube::DynamicObject> object = kube::DynamicObject::FromValue(value);
    if (!object) return object.error().WithContext(file);
    const auto read = [&]<typename T>(const T*, const auto& use) -> Result<void> {
      Result<T> typed = kube::FromDynamic<T>(*object);
      if (!typed) return typed.error().WithContext(file);
      if (typed->metadata.namespace_.empty()) typed->metadata.namespace_ = "default";
      use(*typed);
      return {};
    };
    const auto workload = [&](const auto& typed) { manifests.workloads.push_back(WorkloadOf(typed)); };
    const auto hold = [&](const char* kind, kube::ObjectKey key, const std::vector<Claim>& claims) {
      if (key.ns.empty()) key.ns = "default";
      for (const Claim& claim : claims) manifests.holders.push_back({.kind = kind, .key = key, .claim = claim});
    };
    Result<void> done;
    if (object->gvk() == kube::GvkOf<kube::apps::v1::Deployment>()) {
      done = read(static_cast<kube::apps::v1::Deployment*>(nullptr), workload);
    } else if (object->gvk() == kube::GvkOf<kube::apps::v1::StatefulSet>()) {
      done = read(static_cast<kube::apps::v1::StatefulSet*>(nullptr), workload);
    } else if (object->gvk() == kube::GvkOf<kube::apps::v1::DaemonSet>()) {
      done = read(static_cast<kube::apps::v1::DaemonSet*>(nullptr), workload);
    } else if (object->gvk() == kube::GvkOf<kube::networking::v1::Ingress>()) {
      done = read(static_cast<kube::networking::v1::Ingress*>(nullptr),
                  [&](const auto& ingress) { hold("Ingress", kube::KeyOf(ingress), ClaimsOf(ingress)); });
    } else if (object->gvk() == kHttpRoute) {
      hold("HTTPRoute", object->key(), ClaimsOf(*object));
    } else if (object->gvk() == kube::GvkOf<kube::core::v1::Namespace>()) {
      done = read(static_cast<kube::core::v1::Namespace*>(nullptr), [&](const auto& ns) {
        manifests.namespaces.insert_or_assign(ns.metadata.name, NamespacePolicy::Of(ns.metadata.annotations));
      });
    }
    if (!done) return done;
  }
  return {};
}

int RunPlan(const std::vector<std::string>& files, const Settings& settings, const Streams& io) {
  Manifests manifests;
  for (const std::string& file : files) {
    if (Result<void> read = ReadManifests(file, io.in, manifests); !read) return Fail(io, read.error().ToString(), 1);
  }
  if (manifests.workloads.empty()) return Fail(io, "plan: no Deployment, StatefulSet or DaemonSet in the files", 1);
  return PrintPlans(manifests, settings, io) == 0 ? 0 : 1;
}

// The namespace that this program runs in, if it runs in a pod.
std::optional<std::string> OwnNamespace() {
  std::ifstream in("/var/run/secrets/kubernetes.io/serviceaccount/namespace");
  std::string ns;
  if (!in || !std::getline(in, ns) || ns.empty()) return std::nullopt;
  return ns;
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, const std::optional<std::vector<std::string>>& environment, Streams io) {
  kube::ManagerFlags manager_flags("auto-expose");
  manager_flags.Usage(kUsage);
  manager_flags.Version(KUBE_VERSION_STRING);
  if (environment) manager_flags.SetEnvironment(*environment);
  ProgramFlags flags;
  // `auto-expose help` and `auto-expose version` are --help and --version.
  std::vector<std::string> all = arguments;
  if (!all.empty() && (all[0] == "help" || all[0] == "version")) all = {"--" + all[0]};
  if (const Result<void> parsed = ParseFlags(manager_flags, all, flags); !parsed) {
    if (!kube::IsHelpRequested(parsed.error())) return Fail(io, parsed.error().ToString() + "\nTry 'auto-expose --help'.", 2);
    io.out << parsed.error().message();
    return 0;
  }
  if (!flags.command.empty()) return RunPlan(flags.files, flags.settings, io);

  const Result<kube::Client> client = manager_flags.NewClient();
  if (!client) return manager_flags.Fail(client.error());
  if (const std::optional<std::string> own = OwnNamespace()) flags.settings.excluded_namespaces.push_back(*own);
  // Roles are printed outside of the cluster, except by a program that runs under its account.
  const kube::ManagerOptions& options = manager_flags.options;
  if (const auto& rbac = options.print_manifests ? options.print_manifests : options.print_rbac)
    flags.settings.excluded_namespaces.push_back(rbac->service_account_namespace);
  if (flags.dry_run) {
    const kube::Context ctx = kube::SignalContext();
    const Result<int> count = DryRun(ctx, *client, flags.settings, io.out);
    if (!count) return manager_flags.Fail(count.error());
    if (*count == 0) io.out << "nothing to do\n";
    return 0;
  }
  manager_flags.options.informers.resync = flags.resync;
  if (!flags.settings.namespaces.empty() && manager_flags.options.informers.ns.empty()) {
    // It watches more than these, since hosts have to be free in the whole cluster, but writes nowhere else.
    std::vector<std::string>& written = manager_flags.options.write_namespaces.emplace();
    for (const std::string& ns : flags.settings.namespaces) {
      if (CoversNamespace(flags.settings, ns)) written.push_back(ns);
    }
  }
  kube::Manager manager(*client, manager_flags.options);
  if (Result<void> added = AddExposer(manager, {.settings = flags.settings, .workers = flags.workers}); !added) {
    return manager_flags.Fail(added.error());
  }
  return manager_flags.Run(manager);
}

}  // namespace auto_expose
