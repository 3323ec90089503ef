// CompareCrds: what a new version of a CustomResourceDefinition breaks.
//
//   for (const CrdFinding& finding : CompareCrds(live, next)) {
//     if (finding.breaks()) std::cerr << finding.ToString() << '\n';   // "v1 .spec.size: maximum lowered from 10 to 5 [breaks stored ...]"
//   }
//
// InstallCrds (crds.h) refuses such changes; `kubexx crd compat OLD NEW` prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/meta/dynamic_object.h"

namespace kube {

enum class CrdSeverity : std::uint8_t {
  kHarmless,
  kBreaksClients,  // requests that worked fail, or mean something else
  kBreaksStored,   // stored objects lose data, cannot be read, or are refused when they are written again
};
KUBE_EXPORT std::string_view ToString(CrdSeverity severity);  // "harmless", "breaks clients", "breaks stored objects"

struct CrdFinding {
  CrdSeverity severity = CrdSeverity::kHarmless;
  std::string version{};  // of the kind; empty if the finding is about the whole definition
  // A path in objects of that version, with [*] for the items of lists and the values of maps: ".spec.ports[*].name", "." for the whole
  // object. A path in the definition if there is no version: "spec.scope".
  std::string path{};
  std::string text{};

  bool breaks() const { return severity != CrdSeverity::kHarmless; }
  KUBE_EXPORT std::string ToString() const;
  friend bool operator==(const CrdFinding&, const CrdFinding&) = default;
};

// The worst findings first. `old` should have its status: a removed version is fatal if status.storedVersions names it. Without a status,
// the storage version counts as the only stored one.
//
// Both are apiextensions.k8s.io/v1 definitions that a server accepts. Changed descriptions are not reported. Tightened validation counts as
// breaking stored objects: values that became invalid stay readable, and servers from Kubernetes 1.30 on let an update keep them unchanged
// (ratcheting), but older servers refuse every update of such an object. Changed anyOf, oneOf, allOf and not count as tightened.
KUBE_EXPORT std::vector<CrdFinding> CompareCrds(const DynamicObject& old, const DynamicObject& next);

}  // namespace kube
