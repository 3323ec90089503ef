#include "kube/config/kubeconfig.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "codec/base64.h"
#include "config/files.h"
#include "config/kubeconfig_values.h"
#include "config/text.h"

namespace kube {
namespace internal {
namespace {

// The absolute folder of the file that an entry came from.
Result<std::filesystem::path> FolderOf(const std::string& location) {
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::absolute(std::filesystem::path(location), failed).parent_path();
  if (failed) return Error(ErrorKind::kConfig, CleanText(location) + ": cannot determine its folder: " + failed.message());
  return folder;
}

void Resolve(std::string& path, const std::filesystem::path& folder) {
  if (!path.empty() && path.front() != '/') path = (folder / path).lexically_normal().string();
}

}  // namespace

Result<void> ResolvePaths(Kubeconfig& kubeconfig) {
  for (auto& [name, cluster] : kubeconfig.clusters) {
    if (cluster.location.empty()) continue;
    Result<std::filesystem::path> folder = FolderOf(cluster.location);
    if (!folder) return folder.error();
    Resolve(cluster.certificate_authority, *folder);
  }
  for (auto& [name, user] : kubeconfig.users) {
    if (user.location.empty()) continue;
    Result<std::filesystem::path> folder = FolderOf(user.location);
    if (!folder) return folder.error();
    Resolve(user.client_certificate, *folder);
    Resolve(user.client_key, *folder);
    Resolve(user.token_file, *folder);
    // A command without a slash is looked for in $PATH.
    if (user.exec && user.exec->command.find('/') != std::string::npos) Resolve(user.exec->command, *folder);
  }
  return {};
}

std::vector<std::string> ContextNames(const Kubeconfig& kubeconfig) {
  std::vector<std::string> names;
  for (const auto& [name, context] : kubeconfig.contexts) names.push_back(name);
  return names;
}

}  // namespace internal

namespace {

using internal::CleanText;
using internal::Quoted;

// Members of `from` that `into` has not.
void AddMembers(Value& into, const Value& from) {
  for (const auto& entry : from.object()) {
    if (std::as_const(into).Find(entry.key) == nullptr) into[entry.key.view()] = entry.value;
  }
}

Error Unreadable(const std::string& path, const internal::FileText& file) {
  std::string hint;
  if (file.missing() && path.substr(0, 2) == "~/") hint = "; the shell leaves ~ alone within a word: write $HOME";
  return Error(ErrorKind::kConfig, CleanText(path) + ": cannot read the kubeconfig: " + file.problem() + hint);
}

// Reads a file into the place of its name.
template <typename Bytes>
Result<void> Inline(const std::string& what, const std::string& location, std::string& path, Bytes& data) {
  if (path.empty()) return {};
  if (!data.empty()) return Error(ErrorKind::kConfig, what + " and " + what.substr(what.rfind(' ') + 1) + "-data are both set; keep one");
  std::string absolute = path;
  if (!location.empty()) {
    Result<std::filesystem::path> folder = internal::FolderOf(location);
    if (!folder) return folder.error();
    internal::Resolve(absolute, *folder);
  }
  internal::FileText file = internal::ReadFile(absolute);
  if (!file.ok()) return Error(ErrorKind::kConfig, what + ": cannot read " + CleanText(absolute) + ": " + file.problem());
  data = Bytes(std::move(file.text));
  path.clear();
  return {};
}

// Bytes that are "DATA+OMITTED" once they are written as base64.
std::string OmittedData() {
  std::string bytes;
  internal::DecodeBase64("DATA+OMITTED", bytes);
  return bytes;
}

}  // namespace

Result<Kubeconfig> Kubeconfig::Load(const std::string& path) {
  internal::FileText file = internal::ReadFile(path);
  if (!file.ok()) return Unreadable(path, file);
  Result<Kubeconfig> kubeconfig = Parse(file.text, path);
  if (!kubeconfig) return kubeconfig;
  if (Result<void> resolved = internal::ResolvePaths(*kubeconfig); !resolved) return resolved.error();
  return kubeconfig;
}

Result<Kubeconfig> Kubeconfig::LoadMerged(const std::vector<std::string>& paths) {
  Kubeconfig merged;
  std::vector<std::string> problems;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    internal::FileText file = internal::ReadFile(path);
    if (file.missing()) continue;
    Result<Kubeconfig> one = file.ok() ? Parse(file.text, path) : Unreadable(path, file);
    if (one) {
      merged.MergeFrom(*one);
    } else {
      problems.push_back(one.error().message());
    }
  }
  if (!problems.empty()) return Error(ErrorKind::kConfig, internal::Joined(problems, "; "));
  if (Result<void> resolved = internal::ResolvePaths(merged); !resolved) return resolved.error();
  return merged;
}

void Kubeconfig::MergeFrom(const Kubeconfig& later) {
  clusters.insert(later.clusters.begin(), later.clusters.end());
  users.insert(later.users.begin(), later.users.end());
  contexts.insert(later.contexts.begin(), later.contexts.end());
  extensions.insert(later.extensions.begin(), later.extensions.end());
  if (current_context.empty()) current_context = later.current_context;
  AddMembers(preferences, later.preferences);
  AddMembers(unknown, later.unknown);
}

Result<Kubeconfig> Kubeconfig::Minify(const std::string& context) const {
  const auto wrong = [](std::string what) { return Error(ErrorKind::kConfig, "kubeconfig: " + std::move(what)); };
  Kubeconfig small = *this;
  if (!context.empty()) small.current_context = context;
  if (small.current_context.empty()) return wrong("no current-context is set, so there is nothing to keep; name a context");
  const auto found = contexts.find(small.current_context);
  if (found == contexts.end()) return wrong("there is no context " + Quoted(small.current_context));
  small.contexts = {*found};
  small.clusters.clear();
  small.users.clear();
  if (const std::string& name = found->second.cluster; !name.empty()) {
    const auto cluster = clusters.find(name);
    if (cluster == clusters.end()) return wrong("there is no cluster " + Quoted(name));
    small.clusters.insert(*cluster);
  }
  if (const std::string& name = found->second.user; !name.empty()) {
    const auto user = users.find(name);
    if (user == users.end()) return wrong("there is no user " + Quoted(name));
    small.users.insert(*user);
  }
  return small;
}

Result<Kubeconfig> Kubeconfig::Flatten() const {
  Kubeconfig flat = *this;
  for (auto& [name, cluster] : flat.clusters) {
    const std::string what = "cluster " + Quoted(name) + ": certificate-authority";
    if (Result<void> r = Inline(what, cluster.location, cluster.certificate_authority, cluster.certificate_authority_data); !r)
      return r.error();
  }
  for (auto& [name, user] : flat.users) {
    const std::string who = "user " + Quoted(name) + ": ";
    if (Result<void> r = Inline(who + "client-certificate", user.location, user.client_certificate, user.client_certificate_data); !r)
      return r.error();
    if (Result<void> r = Inline(who + "client-key", user.location, user.client_key, user.client_key_data); !r) return r.error();
  }
  return flat;
}

Kubeconfig Kubeconfig::Redacted() const {
  static constexpr const char* kMark = "REDACTED";
  Kubeconfig shown = *this;
  const auto hide = [](SecretString& secret) {
    if (!secret.empty()) secret = SecretString(kMark);
  };
  for (auto& [name, cluster] : shown.clusters) {
    cluster.server = internal::WithoutUserInfo(cluster.server);
    cluster.proxy_url = internal::WithoutUserInfo(cluster.proxy_url);
    if (!cluster.certificate_authority_data.empty()) cluster.certificate_authority_data = OmittedData();
  }
  for (auto& [name, user] : shown.users) {
    if (!user.client_certificate_data.empty()) user.client_certificate_data = OmittedData();
    if (!user.client_key_data.empty()) user.client_key_data = SecretString(OmittedData());
    hide(user.token);
    hide(user.password);
    // kubectl shows these two in clear.
    if (user.exec) {
      for (auto& [variable, value] : user.exec->env) value = kMark;
    }
    if (user.auth_provider) {
      for (auto& [key, value] : user.auth_provider->config) {
        if (key.find("token") != std::string::npos || key.find("secret") != std::string::npos || key.find("password") != std::string::npos)
          value = kMark;
      }
    }
  }
  return shown;
}

}  // namespace kube
