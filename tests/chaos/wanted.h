// What the controller under test wants: a ConfigMap for each Deployment, in the same namespace, that says which version of it it is for.
// The replicas make it, the test compares.
#pragma once

#include <map>
#include <string>

#include "kube/api/apps/v1.h"

namespace kube::chaos {

// Exit codes of a replica beside 0.
inline constexpr int kExitFailed = 1;
inline constexpr int kExitLostLease = 3;

inline constexpr int kWorkers = 4;
// The line behind a debug report.
inline constexpr const char* kEndOfReport = "---- end of the report ----";

inline std::string ChildName(const std::string& deployment) { return "of-" + deployment; }

inline std::map<std::string, std::string> WantedData(const apps::v1::Deployment& deployment) {
  std::string labels, notes;
  for (const auto& [key, text] : deployment.metadata.labels) labels += key.str() + "=" + text.str() + ";";
  for (const auto& [key, text] : deployment.metadata.annotations) notes += key.str() + "=" + text.str() + ";";
  return {{"uid", deployment.metadata.uid.str()},
          {"resourceVersion", deployment.metadata.resource_version.str()},
          {"generation", std::to_string(deployment.metadata.generation)},
          {"replicas", deployment.spec.replicas ? std::to_string(*deployment.spec.replicas) : ""},
          {"labels", labels},
          {"annotations", notes}};
}

}  // namespace kube::chaos
