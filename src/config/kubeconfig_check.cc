#include <fmt/format.h>

#include <string>
#include <vector>

#include "config/files.h"
#include "config/kubeconfig_values.h"
#include "config/text.h"
#include "kube/config/kubeconfig.h"
#include "kube/meta/validation.h"

namespace kube {
namespace internal {
namespace {

void CheckReadable(const std::string& where, const char* field, const std::string& path, std::vector<std::string>& out) {
  if (path.empty()) return;
  if (std::string what = ReadProblem(path); !what.empty())
    out.push_back(fmt::format("{}: {}: cannot read {}: {}", where, field, CleanText(path), what));
}

void CheckExec(const std::string& where, const ExecConfig& exec, std::vector<std::string>& out) {
  static constexpr const char* kV1 = "client.authentication.k8s.io/v1";
  static constexpr const char* kV1Beta1 = "client.authentication.k8s.io/v1beta1";
  if (exec.command.empty()) out.push_back(where + ": exec: command is missing");
  if (exec.api_version.empty()) {
    out.push_back(fmt::format("{}: exec: apiVersion is missing; write {}", where, kV1));
  } else if (exec.api_version != kV1 && exec.api_version != kV1Beta1) {
    out.push_back(fmt::format("{}: exec: apiVersion {} is not known; use {} or {}", where, Quoted(exec.api_version), kV1, kV1Beta1));
  }
  for (const auto& [name, value] : exec.env) {
    if (name.empty()) out.push_back(where + ": exec: env has an entry without a name");
  }
  if (exec.interactive_mode == ExecConfig::InteractiveMode::kUnset) {
    const String& raw = exec.unknown["interactiveMode"].string_value();
    out.push_back(where + ": exec: interactiveMode " + (raw.empty() ? std::string("is missing") : Quoted(raw) + " is not known") +
                  "; use Never, IfAvailable or Always");
  }
}

}  // namespace

bool IsEmptyCluster(const KubeconfigCluster& c) {
  return c.server.empty() && c.tls_server_name.empty() && !c.insecure_skip_tls_verify && c.certificate_authority.empty() &&
         c.certificate_authority_data.empty() && c.proxy_url.empty() && !c.disable_compression && c.extensions.empty();
}

std::vector<std::string> ClusterProblems(const std::string& name, const KubeconfigCluster& cluster) {
  std::vector<std::string> out;
  const std::string where = "cluster " + Quoted(name);
  if (cluster.server.empty()) {
    out.push_back(where + ": server is missing");
  } else {
    ClientConfig config;
    config.host = cluster.server;
    // BaseUrl says: host "...": what is wrong.
    if (Result<std::string> url = config.BaseUrl(); !url) out.push_back(where + ": server" + url.error().message().substr(4));
  }
  if (!cluster.proxy_url.empty()) {
    if (std::string what = ProxyUrlProblem(cluster.proxy_url); !what.empty())
      out.push_back(where + ": proxy-url " + Quoted(WithoutUserInfo(cluster.proxy_url)) + ": " + what);
  }
  if (!cluster.certificate_authority.empty() && !cluster.certificate_authority_data.empty())
    out.push_back(where + ": certificate-authority and certificate-authority-data are both set; keep one");
  if (cluster.insecure_skip_tls_verify && (!cluster.certificate_authority.empty() || !cluster.certificate_authority_data.empty()))
    out.push_back(where + ": insecure-skip-tls-verify together with a certificate authority; keep one");
  CheckReadable(where, "certificate-authority", cluster.certificate_authority, out);
  return out;
}

std::vector<std::string> UserProblems(const std::string& name, const KubeconfigUser& user) {
  std::vector<std::string> out;
  const std::string where = "user " + Quoted(name);
  const bool has_certificate = !user.client_certificate.empty() || !user.client_certificate_data.empty();
  const bool has_key = !user.client_key.empty() || !user.client_key_data.empty();
  if (!user.client_certificate.empty() && !user.client_certificate_data.empty())
    out.push_back(where + ": client-certificate and client-certificate-data are both set; keep one");
  if (!user.client_key.empty() && !user.client_key_data.empty())
    out.push_back(where + ": client-key and client-key-data are both set; keep one");
  if (has_certificate && !has_key) out.push_back(where + ": a client certificate without its key; set client-key or client-key-data");
  if (has_certificate) {
    CheckReadable(where, "client-certificate", user.client_certificate, out);
    CheckReadable(where, "client-key", user.client_key, out);
  }
  if ((!user.token.empty() || !user.token_file.empty()) && (!user.username.empty() || !user.password.empty()))
    out.push_back(where + ": both a token and a username or password; keep one");
  // With a token in the kubeconfig the file is only a better one.
  if (user.token.empty()) CheckReadable(where, "tokenFile", user.token_file, out);
  if (user.exec && user.auth_provider) out.push_back(where + ": both exec and auth-provider; keep one");
  if (user.exec) CheckExec(where, *user.exec, out);
  if (user.impersonate.user.empty() && !user.impersonate.empty())
    out.push_back(where + ": as-uid, as-groups or as-user-extra without as; name the user to impersonate");
  return out;
}

std::string NamespaceProblem(const std::string& ns) {
  if (Result<void> valid = ValidateDnsLabel(ns); !valid)
    return "namespace " + Quoted(ns) + " is not the name of one: " + valid.error().message();
  return {};
}

}  // namespace internal

std::vector<std::string> Kubeconfig::Problems(const std::string& context_name) const {
  using internal::Quoted;
  if (empty()) return {"the kubeconfig is empty"};
  const std::string& name = context_name.empty() ? current_context : context_name;
  const std::string have = contexts.empty() ? "there is none" : "there are " + internal::QuotedList(internal::ContextNames(*this));
  if (name.empty()) return {"no current-context is set, and no context is named; " + have};
  const auto found = contexts.find(name);
  if (found == contexts.end()) return {"there is no context " + Quoted(name) + "; " + have};
  const KubeconfigContext& context = found->second;
  const std::string where = "context " + Quoted(name);
  std::vector<std::string> out;
  if (context.user.empty()) {
    out.push_back(where + " names no user");
  } else if (const auto user = users.find(context.user); user == users.end()) {
    out.push_back(where + " names the user " + Quoted(context.user) + ", which does not exist");
  } else {
    for (std::string& problem : internal::UserProblems(user->first, user->second)) out.push_back(std::move(problem));
  }
  if (context.cluster.empty()) {
    out.push_back(where + " names no cluster");
  } else if (const auto cluster = clusters.find(context.cluster); cluster == clusters.end()) {
    out.push_back(where + " names the cluster " + Quoted(context.cluster) + ", which does not exist");
  } else {
    for (std::string& problem : internal::ClusterProblems(cluster->first, cluster->second)) out.push_back(std::move(problem));
  }
  if (!context.ns.empty()) {
    if (std::string problem = internal::NamespaceProblem(context.ns); !problem.empty()) out.push_back(where + ": " + problem);
  }
  return out;
}

}  // namespace kube
