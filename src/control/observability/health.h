// The answers of /healthz and /readyz.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kube/base/mutex.h"
#include "kube/control/manager.h"
#include "kube/serve/http_server.h"

namespace kube::internal {

// Thread safety: all functions from any thread. Checks run on the thread that asks.
class HealthChecks {
 public:
  explicit HealthChecks(std::string root) : root_(std::move(root)) {}

  // `note` says what else is worth knowing; it stands behind the check in a verbose answer, and changes nothing about it.
  using Note = std::function<std::string()>;
  void Add(std::string name, HealthCheck check, Note note = {});
  // `path` is the root, or the root and the name of one check. The query may have `verbose` and `exclude=name`, any number of times.
  serve::HttpResponse Answer(std::string_view path, std::string_view query) const;

 private:
  const std::string root_;  // "/readyz"
  mutable Mutex mu_;
  struct Named {
    HealthCheck check{};
    Note note{};
  };
  std::map<std::string, Named, std::less<>> checks_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
