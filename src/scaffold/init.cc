#include <algorithm>

#include "scaffold/files.h"
#include "scaffold/names.h"
#include "scaffold/scaffold.h"

namespace kube::scaffold {

Result<Scaffold> Init(const InitOptions& options) {
  if (Result<void> good = CheckDomain(options.domain); !good) return good.error();
  if (Result<void> good = CheckProjectName(options.name); !good) return good.error();
  FileSet files({.name = options.name, .domain = options.domain});
  files.variables()["kubexx_version"] = options.kubexx_version;
  files.variables()["namespaced"] = options.namespaced ? "yes" : "";
  files.variables()["namespace_argument"] = options.namespaced ? " --namespace=" + options.name + "-system" : "";
  files.Add("CMakeLists.txt", "CMakeLists.txt");
  files.Add("CMakePresets.json", "CMakePresets.json");
  files.Add("Containerfile", "Containerfile");
  files.Add("Makefile", "Makefile");
  files.Add("README.md", "README.md");
  files.Add("clang-format", ".clang-format");
  files.Add("cluster.h", "tests/cluster.h");
  files.Add("cert_manager_component.yaml", "config/components/cert-manager/kustomization.yaml");
  files.Add("certificate.yaml", "config/components/cert-manager/certificate.yaml");
  files.Add("network_policy_component.yaml", "config/components/network-policy/kustomization.yaml");
  files.Add("network_policy.yaml", "config/components/network-policy/network_policy.yaml");
  files.Add("prometheus_component.yaml", "config/components/prometheus/kustomization.yaml");
  files.Add("monitor.yaml", "config/components/prometheus/monitor.yaml");
  files.Add("containerignore", ".containerignore");
  files.Add("deployment.yaml", "config/manager/deployment.yaml");
  files.Add("gitignore", ".gitignore");
  files.Add("kustomization.yaml", "deploy/kustomization.yaml");
  files.Add("main.cc", "src/main.cc");
  files.Add("make-root", "deploy/make-root");
  files.Add("namespace.yaml", "config/manager/namespace.yaml");
  files.Add("role_binding.yaml", "config/rbac/role_binding.yaml");
  files.Add("test.yml", ".github/workflows/test.yml");
  Result<Scaffold> made = files.Finish();
  // Files of another project, PROJECT above all, are not for this command to replace.
  if (made) std::for_each(made->files.begin(), made->files.end(), [](ScaffoldFile& file) { file.generated = false; });
  return made;
}

}  // namespace kube::scaffold
