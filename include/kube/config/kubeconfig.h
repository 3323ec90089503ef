// Kubeconfig: the file that kubectl and every other client reads. Read, merge, check, write.
//
//   Result<Kubeconfig> file = Kubeconfig::Load("config.yaml");
//   Result<Kubeconfig> all = Kubeconfig::LoadMerged({"a.yaml", "b.yaml"});     // the first file wins, entry by entry
//   std::vector<std::string> problems = all->Problems("staging");
//   Result<void> written = ModifyKubeconfig(ctx, {"a.yaml", "b.yaml"}, [](Kubeconfig& k) { k.current_context = "staging"; });
//
// Members that this build does not know are kept and written back; comments are lost when a file is written. To get a ClientConfig out of
// one see load.h.
//
// Thread safety: plain structs. Files are locked by ModifyKubeconfig alone; it replaces them, so readers never see half of one.
// Blocking: Load, LoadMerged, Flatten and Problems read small files; only ModifyKubeconfig waits.
// Errors: kConfig. They name the file and the entry, and never repeat what may be secret; control characters come out as "U+001B".
// Cost: files are read and parsed each time. For the start of a program, not for each request.
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

struct KubeconfigCluster {
  std::string server{};
  std::string tls_server_name{};
  bool insecure_skip_tls_verify = false;
  std::string certificate_authority{};       // a file
  std::string certificate_authority_data{};  // decoded: PEM
  std::string proxy_url{};
  bool disable_compression = false;
  std::map<std::string, Value> extensions{};
  Value unknown{};         // members that this build does not know
  Value entry_unknown{};   // the same beside `name` and `cluster`
  std::string location{};  // the file that it came from; never written
};

struct KubeconfigUser {
  std::string client_certificate{};       // a file
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

struct KubeconfigContext {
  std::string cluster{};
  std::string user{};
  std::string ns{};
  std::map<std::string, Value> extensions{};
  Value unknown{};
  Value entry_unknown{};
  std::string location{};
};

struct KUBE_EXPORT Kubeconfig {
  std::map<std::string, KubeconfigCluster> clusters{};
  std::map<std::string, KubeconfigUser> users{};
  std::map<std::string, KubeconfigContext> contexts{};
  std::string current_context{};
  Value preferences{};
  std::map<std::string, Value> extensions{};
  Value unknown{};

  // YAML or JSON. Empty text is an empty kubeconfig; two entries of one name are an error. `location` goes into the entries, and into
  // errors. Paths stay as they are.
  static Result<Kubeconfig> Parse(std::string_view text, const std::string& location = {});
  // One file, with its relative paths (and exec commands that have a slash) resolved against its folder. It must exist.
  static Result<Kubeconfig> Load(const std::string& path);
  // Several; those that do not exist are passed over. For each name, and for each scalar, the first file that has it wins; entries of one
  // name are not mixed. Errors name every file that is wrong.
  static Result<Kubeconfig> LoadMerged(const std::vector<std::string>& paths);

  // Adds what is not there yet.
  void MergeFrom(const Kubeconfig& later);
  // YAML, sorted by name; the bytes that kubectl writes. Holds secrets in clear: write it with mode 0600.
  Result<std::string> ToYaml() const;

  // What is wrong with a context (the current one where the name is empty): missing entries, both token and password, a certificate
  // without its key, files that cannot be read. One sentence each; empty where it can be used.
  std::vector<std::string> Problems(const std::string& context = {}) const;

  // Only what one context needs.
  Result<Kubeconfig> Minify(const std::string& context = {}) const;
  // With the contents of files in the place of their names; token files stay, since they change.
  Result<Kubeconfig> Flatten() const;
  // With "REDACTED" and "DATA+OMITTED" in the place of secrets and certificates, as kubectl config view shows it; of plugins' variables and
  // providers' tokens it hides more than kubectl does.
  Kubeconfig Redacted() const;

  bool empty() const { return clusters.empty() && users.empty() && contexts.empty() && current_context.empty(); }
};

// Reads the files, calls `change`, and writes what changed back: each entry into the file that it came from, new ones and the current
// context into the first file that exists (or the first of all). `change` sees paths as they are written, relative ones too. An entry that
// is removed may uncover one of the same name in a later file.
// Each file is locked by `<file>.lock` meanwhile, in sorted order, as kubectl does; a new file gets mode 0600, an old one keeps its own.
// Blocking: waits for locks until the context stops, ten seconds at most.
// Errors: kConfig, also for a lock that somebody left behind; kTimeout, kCancelled; kUserCode where `change` throws. Files are written
// one after the other: an error on the second leaves the first one changed.
KUBE_EXPORT Result<void> ModifyKubeconfig(const Context& ctx, const std::vector<std::string>& paths,
                                          const std::function<void(Kubeconfig&)>& change);

}  // namespace kube
