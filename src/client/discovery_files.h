// The cache files of a Discovery, laid out as kubectl's, with a folder per host.
//
//   <dir>/<host>/servergroups.json
//   <dir>/<host>/<group>/<version>/serverresources.json
//   <dir>/<host>/openapi/v3/<path>.json                    not kubectl's: a line with URL and checksum, then the document
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/client/discovery.h"

namespace kube::internal {

// Reading never fails: a file that is missing, old, empty or malformed is a cache miss. Writing never fails either: errors are logged.
//
// Thread safety: immutable. Files are replaced atomically, so readers in other processes see the old or the new one.
class DiscoveryFiles {
 public:
  // An empty `dir` disables the files.
  DiscoveryFiles(const std::string& dir, std::string_view host, std::chrono::seconds ttl);

  bool enabled() const { return !root_.empty(); }
  const std::string& root() const { return root_; }

  std::optional<std::vector<ApiGroup>> ReadGroups(Clock::WallTime now) const;
  std::optional<ApiResourceList> ReadResources(const GroupVersion& group_version, Clock::WallTime now) const;
  void WriteAll(const ServerApis& apis) const;

  // Returns the document regardless of its age, because the URL identifies its version.
  std::optional<std::string> ReadOpenApi(std::string_view path, std::string_view url) const;
  void WriteOpenApi(std::string_view path, std::string_view url, std::string_view document) const;

 private:
  const std::string root_;
  const std::chrono::seconds ttl_;
};

// "https://10.0.0.1:6443/k8s" -> "10.0.0.1_6443/k8s", the folder name that kubectl uses.
std::string HostFolder(std::string_view host);

}  // namespace kube::internal
