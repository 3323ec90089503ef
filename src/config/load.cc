#include "kube/config/load.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/files.h"
#include "config/kubeconfig_values.h"
#include "config/load_internal.h"
#include "config/text.h"
#include "kube/base/log.h"

namespace kube {
namespace {

using internal::ConfigError;
using internal::Quoted;

const Logger& Log() {
  static const Logger log("config");
  return log;
}

void Override(std::string& value, const std::string& by) {
  if (!by.empty()) value = by;
}

void OverrideCluster(KubeconfigCluster& cluster, const LoadOptions& options) {
  Override(cluster.server, options.master);
  Override(cluster.proxy_url, options.proxy_url);
  if (options.disable_compression) cluster.disable_compression = *options.disable_compression;
  // Trust is replaced as a whole: the kubeconfig's CA next to "insecure", or its data next to another file, would win or clash.
  if (options.insecure.value_or(false) || !options.ca_file.empty()) {
    cluster.insecure_skip_tls_verify = options.insecure.value_or(false);
    cluster.certificate_authority = options.ca_file;
    cluster.certificate_authority_data.clear();
  } else if (options.insecure) {
    cluster.insecure_skip_tls_verify = false;
  }
  // The name belongs to the server that the kubeconfig has.
  if (!options.tls_server_name.empty() || !options.master.empty()) cluster.tls_server_name = options.tls_server_name;
}

void OverrideUser(KubeconfigUser& user, const LoadOptions& options) {
  // A file goes before a token, so that one would win against the option.
  if (!options.token.empty() || !options.token_file.empty()) {
    user.token = SecretString(options.token);
    user.token_file = options.token_file;
  }
  if (!options.certificate_file.empty()) {
    user.client_certificate = options.certificate_file;
    user.client_certificate_data.clear();
  }
  if (!options.key_file.empty()) {
    user.client_key = options.key_file;
    user.client_key_data = SecretString();
  }
  Override(user.username, options.username);
  if (!options.password.empty()) user.password = SecretString(options.password);
  Override(user.impersonate.user, options.impersonate.user);
  Override(user.impersonate.uid, options.impersonate.uid);
  if (!options.impersonate.groups.empty()) user.impersonate.groups = options.impersonate.groups;
  for (const auto& [key, values] : options.impersonate.extra) user.impersonate.extra[key] = values;
}

// Everything of the user but whom to impersonate.
Result<void> AddCredentials(const std::string& name, const KubeconfigUser& user, const KubeconfigCluster& cluster, ClientConfig& config) {
  config.token = user.token;
  config.token_file = user.token_file;
  if (user.token.empty() && !user.token_file.empty()) {
    const std::string where = "user " + Quoted(name) + ": tokenFile: ";
    const internal::FileText file = internal::ReadFile(user.token_file);
    if (!file.ok()) return ConfigError(where + "cannot read " + internal::CleanText(user.token_file) + ": " + file.problem());
    config.token = SecretString(std::string(internal::Trimmed(file.text)));
    if (config.token.empty()) return ConfigError(where + internal::CleanText(user.token_file) + " is empty");
  }
  if (!user.client_certificate.empty() || !user.client_certificate_data.empty()) {
    config.tls.certificate_file = user.client_certificate;
    config.tls.certificate_data = user.client_certificate_data;
    config.tls.key_file = user.client_key;
    config.tls.key_data = user.client_key_data;
  }
  config.username = user.username;
  config.password = user.password;
  if (user.exec) {
    ExecConfig exec = *user.exec;
    exec.install_hint = internal::CleanText(exec.install_hint, true);
    if (const auto found = cluster.extensions.find(internal::kExecExtension); found != cluster.extensions.end())
      exec.cluster_extension = found->second;
    config.exec = std::make_shared<const ExecConfig>(std::move(exec));
  }
  if (user.auth_provider) {
    AuthProviderConfig provider = *user.auth_provider;
    if (!provider.persist && !user.location.empty()) {
      provider.persist = [name, file = user.location](const std::map<std::string, std::string>& settings) {
        return ModifyKubeconfig(Context::Background(), {file}, [&](Kubeconfig& kubeconfig) {
          const auto found = kubeconfig.users.find(name);
          if (found != kubeconfig.users.end() && found->second.auth_provider) found->second.auth_provider->config = settings;
        });
      };
    }
    config.auth_provider = std::make_shared<const AuthProviderConfig>(std::move(provider));
  }
  config.tls.ca_file = cluster.certificate_authority;
  config.tls.ca_data = cluster.certificate_authority_data;
  config.tls.insecure = cluster.insecure_skip_tls_verify;
  config.tls.server_name = cluster.tls_server_name;
  return {};
}

bool HasCredentials(const KubeconfigUser& user) {
  return !user.token.empty() || !user.token_file.empty() || !user.username.empty() || !user.password.empty() || user.exec ||
         user.auth_provider || !user.client_certificate.empty() || !user.client_certificate_data.empty();
}

std::string NothingChosen(const Kubeconfig& kubeconfig, const std::string& context) {
  if (!context.empty()) return "context " + Quoted(context) + " names no cluster, or one without a server";
  if (kubeconfig.contexts.empty()) return "no configuration: there is no context, and no server is named";
  return "no current-context is set; choose one of " + internal::QuotedList(internal::ContextNames(kubeconfig)) + " with --context";
}

// `default_server` is used if no server is named; `is_default` is set if nothing else is configured.
Result<ClientConfig> Build(const Kubeconfig& kubeconfig, const LoadOptions& options, const std::string& default_server, bool& is_default) {
  is_default = false;
  const std::string& context_name = options.context.empty() ? kubeconfig.current_context : options.context;
  KubeconfigContext context;
  if (const auto found = kubeconfig.contexts.find(context_name); found != kubeconfig.contexts.end()) {
    context = found->second;
  } else if (!context_name.empty()) {
    return ConfigError((options.context.empty() ? "current-context is " + Quoted(context_name) + ", but there is no such context; "
                                                : "there is no context " + Quoted(context_name) + "; ") +
                           (kubeconfig.contexts.empty() ? std::string("there is none at all")
                                                        : "there are " + internal::QuotedList(internal::ContextNames(kubeconfig))),
                       internal::kContextNotFound);
  }
  const std::string where = "context " + Quoted(context_name);

  const std::string cluster_name = options.cluster.empty() ? context.cluster : options.cluster;
  KubeconfigCluster cluster;
  if (const auto found = kubeconfig.clusters.find(cluster_name); found != kubeconfig.clusters.end()) {
    cluster = found->second;
  } else if (!options.cluster.empty()) {
    return ConfigError("there is no cluster " + Quoted(cluster_name));
  } else if (!cluster_name.empty() && options.master.empty()) {
    return ConfigError(where + " names the cluster " + Quoted(cluster_name) + ", which does not exist");
  }
  const std::string user_name = options.user.empty() ? context.user : options.user;
  KubeconfigUser user;
  if (const auto found = kubeconfig.users.find(user_name); found != kubeconfig.users.end()) {
    user = found->second;
  } else if (!options.user.empty()) {
    return ConfigError("there is no user " + Quoted(user_name));
  } else if (!user_name.empty()) {
    return ConfigError(where + " names the user " + Quoted(user_name) + ", which does not exist");
  }

  OverrideCluster(cluster, options);
  OverrideUser(user, options);
  if (cluster.server.empty() && !default_server.empty()) {
    is_default = internal::IsEmptyCluster(cluster) && !HasCredentials(user) && user.impersonate.empty();
    cluster.server = default_server;
  }
  std::vector<std::string> problems = internal::UserProblems(user_name, user);
  if (internal::IsEmptyCluster(cluster) && problems.empty())
    return ConfigError(NothingChosen(kubeconfig, context_name), internal::kEmptyConfig);
  for (std::string& problem : internal::ClusterProblems(cluster_name, cluster)) problems.push_back(std::move(problem));
  const std::string ns = options.ns.empty() ? context.ns : options.ns;
  if (!ns.empty()) {
    if (std::string problem = internal::NamespaceProblem(ns); !problem.empty()) problems.push_back(std::move(problem));
  }
  if (!problems.empty()) return ConfigError(internal::Joined(problems, "; "));

  ClientConfig config;
  config.host = cluster.server.substr(0, cluster.server.find_first_of("?#"));
  config.ns = ns;
  config.proxy_url = cluster.proxy_url;
  config.disable_compression = cluster.disable_compression;
  config.timeout = options.timeout;
  config.impersonate = user.impersonate;
  // Nothing secret goes over an open line.
  Result<std::string> url = config.BaseUrl();
  if (!url) return url.error();
  if (url->substr(0, 8) == "https://") {
    if (Result<void> added = AddCredentials(user_name, user, cluster, config); !added) return added.error();
  } else if (HasCredentials(user)) {
    Log().V(1).Info("The server is not an https one, so the user's credentials are not used", {{"user", internal::CleanText(user_name)}});
  }
  return config;
}

std::string Printable(const std::vector<std::string>& files) {
  std::vector<std::string> clean;
  for (const std::string& file : files) clean.push_back(internal::CleanText(file));
  return internal::Joined(clean, ", ");
}

}  // namespace

std::vector<std::string> KubeconfigFiles(const LoadOptions& options) {
  if (!options.kubeconfig.empty()) return {options.kubeconfig};
  if (const std::string list = internal::EnvironmentOf(options, "KUBECONFIG"); !list.empty()) {
    std::vector<std::string> files;
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t end = std::min(list.find(':', at), list.size());
      std::string file = list.substr(at, end - at);
      if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(std::move(file));
      at = end + 1;
    }
    return files;
  }
  const std::string home = internal::EnvironmentOf(options, "HOME");
  if (home.empty()) return {};
  return {home + (home.back() == '/' ? "" : "/") + ".kube/config"};
}

Result<ClientConfig> ToClientConfig(const Kubeconfig& kubeconfig, const LoadOptions& options) {
  bool is_default = false;
  Result<ClientConfig> config = Build(kubeconfig, options, "", is_default);
  if (config && config->ns.empty()) config->ns = "default";
  return config;
}

Result<ClientConfig> LoadConfig(const LoadOptions& options) {
  const std::vector<std::string> files = KubeconfigFiles(options);
  const bool is_explicit = !options.kubeconfig.empty();
  Result<Kubeconfig> kubeconfig = is_explicit ? Kubeconfig::Load(options.kubeconfig) : Kubeconfig::LoadMerged(files);
  if (!kubeconfig) return kubeconfig.error();
  const bool none_there = !is_explicit && kubeconfig->empty() && std::none_of(files.begin(), files.end(), [](const std::string& file) {
    return internal::ReadProblem(file).empty();
  });
  if (none_there && !internal::EnvironmentOf(options, "KUBECONFIG").empty())
    Log().Warn("None of the files of KUBECONFIG exists", {{"files", files}});

  const bool in_cluster = options.allow_in_cluster && internal::InClusterPossible(options);
  bool is_default = false;
  Result<ClientConfig> config = Build(*kubeconfig, options, internal::EnvironmentOf(options, "KUBERNETES_MASTER"), is_default);
  if (in_cluster && ((config && is_default) || (!config && IsEmptyConfig(config.error())))) {
    Log().V(4).Info("Using the service account of this pod");
    return InClusterConfig(options);
  }
  if (config) {
    if (config->ns.empty()) config->ns = in_cluster ? internal::InClusterNamespace(options) : "default";
    return config;
  }
  if (none_there && (IsEmptyConfig(config.error()) || IsContextNotFound(config.error()))) {
    const std::string looked = files.empty() ? "there is no KUBECONFIG and no HOME to look in"
                                             : Printable(files) + (files.size() == 1 ? " does" : " do") + " not exist";
    return ConfigError("no configuration: " + looked + (options.allow_in_cluster ? ", and this is not a pod with a service account" : "") +
                           "; set KUBECONFIG, or pass --kubeconfig or --master",
                       internal::kEmptyConfig);
  }
  return config.error().WithContext(files.empty() ? "config" : "kubeconfig " + Printable(files));
}

bool IsEmptyConfig(const Error& e) { return e.kind() == ErrorKind::kConfig && e.reason() == internal::kEmptyConfig; }
bool IsContextNotFound(const Error& e) { return e.kind() == ErrorKind::kConfig && e.reason() == internal::kContextNotFound; }

}  // namespace kube
