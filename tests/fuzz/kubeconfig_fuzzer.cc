// Whatever bytes come in as a kubeconfig: what is read can be written, read back and checked, and secrets stay out of messages.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "require.h"

using kube::fuzz::Require;

namespace {

// No part of it may depend on which files this machine has, or open any.
void DropPaths(kube::Kubeconfig& kubeconfig) {
  for (auto& [name, cluster] : kubeconfig.clusters) cluster.certificate_authority.clear();
  for (auto& [name, user] : kubeconfig.users) {
    user.client_certificate.clear();
    user.client_key.clear();
    user.token_file.clear();
  }
}

bool Printable(const std::string& text) {
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kube::Result<kube::Kubeconfig> kubeconfig = kube::Kubeconfig::Parse(text, "file");
  if (!kubeconfig) {
    Require(kubeconfig.error().kind() == kube::ErrorKind::kConfig, "every error is a kConfig one");
    Require(kubeconfig.error().message().rfind("file: ", 0) == 0, "every error names the file");
    Require(Printable(kubeconfig.error().message()), "messages have no control characters");
    return 0;
  }
  kube::Result<std::string> yaml = kubeconfig->ToYaml();
  Require(yaml.ok(), "what was read can be written");
  if (yaml->size() > (std::size_t{1} << 20)) return 0;  // aliases are written out: not worth the time
  kube::Result<kube::Kubeconfig> again = kube::Kubeconfig::Parse(*yaml, "file");
  Require(again.ok(), "what was written can be read");
  Require(again->ToYaml().value() == *yaml, "reading and writing changes nothing");

  kube::Kubeconfig twice = *kubeconfig;
  twice.MergeFrom(*kubeconfig);
  Require(twice.ToYaml().value() == *yaml, "merging with itself changes nothing");
  Require(kubeconfig->Redacted().ToYaml().ok(), "what is redacted can be written");

  DropPaths(*kubeconfig);
  kube::LoadOptions options;
  options.getenv = [](const std::string&) { return std::optional<std::string>(); };
  kubeconfig->contexts.emplace("added", kube::KubeconfigContext{});
  for (const auto& [name, context] : kubeconfig->contexts) {
    const std::vector<std::string> problems = kubeconfig->Problems(name);
    for (const std::string& problem : problems) Require(Printable(problem), "problems have no control characters");
    options.context = name;
    kube::Result<kube::ClientConfig> config = kube::ToClientConfig(*kubeconfig, options);
    Require(!problems.empty() || config.ok() || name.empty(), "a context without problems can be used");
    if (config) {
      Require(config->Validate().ok(), "a config that was made is valid");
      Require(Printable(config->ToString()), "its text has no control characters");
    } else {
      Require(Printable(config.error().ToString()), "errors have no control characters");
    }
  }
  return 0;
}
