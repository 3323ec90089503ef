// Kubeconfig: reads, merges, checks and writes the files of kubectl.
//
//   Result<Kubeconfig> file = Kubeconfig::Load("config.yaml");
//   Result<Kubeconfig> all = Kubeconfig::LoadMerged({"a.yaml", "b.yaml"});     // entry by entry, the first file wins
//   std::vector<std::string> problems = all->Problems("staging");
//   Result<void> written = ModifyKubeconfig(ctx, {"a.yaml", "b.yaml"}, [](Kubeconfig& k) { k.current_context = "staging"; });
//
// Fields that this build does not know are kept and written back; comments are lost when a file is written. To get a ClientConfig from a
// kubeconfig, see load.h.
//
// Thread safety: plain structs. Only ModifyKubeconfig locks files. It replaces them atomically, so readers never see a partial file.
// Blocking: Load, LoadMerged, Flatten and Problems read small files; only ModifyKubeconfig waits.
// Errors: kConfig. They name the file and the entry and never contain values that may be secret; control characters appear as "U+001B".
// Cost: files are read and parsed on each call. Meant for program start, not for each request.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/config/client_config.h"
#include "kube/value/value.h"

namespace kube {

// An entry of `clusters`.
struct KubeconfigCluster {
  std::string server{};
  std::string tls_server_name{};
  bool insecure_skip_tls_verify = false;
  std::string certificate_authority{};       // a file name
  std::string certificate_authority_data{};  // decoded: PEM
  std::string proxy_url{};
  bool disable_compression = false;
  std::map<std::string, Value> extensions{};
  Value unknown{};         // fields that this build does not know
  Value entry_unknown{};   // unknown fields next to `name` and `cluster`
  std::string location{};  // the file of this entry; never written
};

// An entry of `users`. The last three members are as in KubeconfigCluster.
struct KubeconfigUser {
  std::string client_certificate{};       // a file name
  std::string client_certificate_data{};  // decoded: PEM
  std::string client_key{};
  SecretString client_key_data{};
  SecretString token{};
  std::string token_file{};
  ImpersonationConfig impersonate{};
  std::string username{};
  SecretString password{};
  std::optional<ExecConfig> exec{};
  std::optional<AuthProviderConfig> auth_provider{};
  std::map<std::string, Value> extensions{};
  Value unknown{};
  Value entry_unknown{};
  std::string location{};
};

// An entry of `contexts`. The last three members are as in KubeconfigCluster.
struct KubeconfigContext {
  std::string cluster{};
  std::string user{};
  std::string ns{};
  std::map<std::string, Value> extensions{};
  Value unknown{};
  Value entry_unknown{};
  std::string location{};
};

// The contents of one or several kubeconfig files.
struct KUBE_EXPORT Kubeconfig {
  std::map<std::string, KubeconfigCluster> clusters{};
  std::map<std::string, KubeconfigUser> users{};
  std::map<std::string, KubeconfigContext> contexts{};
  std::string current_context{};
  Value preferences{};
  std::map<std::string, Value> extensions{};
  Value unknown{};

  // Parses YAML or JSON. Empty text is an empty kubeconfig; duplicate names are an error. `location` is stored in the entries and appears
  // in errors. Paths are not changed.
  static Result<Kubeconfig> Parse(std::string_view text, const std::string& location = {});
  // Loads one file, which must exist. Relative paths (and exec commands with a slash) are resolved against its folder.
  static Result<Kubeconfig> Load(const std::string& path);
  // Loads and merges several files; missing files are skipped. For each name and each scalar, the first file that has it wins; entries with
  // the same name are not merged. Errors name every invalid file.
  static Result<Kubeconfig> LoadMerged(const std::vector<std::string>& paths);

  // Adds the entries and values that are missing here.
  void MergeFrom(const Kubeconfig& later);
  // YAML sorted by name, byte for byte as kubectl writes it. Contains secrets in clear text: write it with mode 0600.
  Result<std::string> ToYaml() const;

  // Lists the problems of a context (the current one if `context` is empty): missing entries, both token and password, a certificate
  // without its key, unreadable files. One sentence each; empty if the context is usable.
  std::vector<std::string> Problems(const std::string& context = {}) const;

  // Returns only the entries that one context needs.
  Result<Kubeconfig> Minify(const std::string& context = {}) const;
  // Replaces file names by the contents of the files. Token files stay, because they change.
  Result<Kubeconfig> Flatten() const;
  // Replaces secrets and certificates by "REDACTED" and "DATA+OMITTED", as kubectl config view does. Also hides plugins' variables and more
  // of providers' tokens than kubectl.
  Kubeconfig Redacted() const;

  bool empty() const { return clusters.empty() && users.empty() && contexts.empty() && current_context.empty(); }
};

// Reads the files, calls `change`, and writes modified entries back: each entry to its own file, new entries and the current context to the
// first file that exists (or the first of all). `change` sees paths as written, including relative ones. Removing an entry may expose one
// of the same name in a later file.
// Each file is locked with `<file>.lock`, in sorted order, as kubectl does. A new file gets mode 0600, an existing one keeps its mode.
// Blocking: waits for locks until the context stops, at most ten seconds.
// Errors: kConfig, also for a stale lock; kTimeout, kCancelled; kUserCode if `change` throws. Files are written one after the other: if the
// second one fails, the first one stays changed.
KUBE_EXPORT Result<void> ModifyKubeconfig(const Context& ctx, const std::vector<std::string>& paths,
                                          const std::function<void(Kubeconfig&)>& change);

}  // namespace kube
