// CompareCrds: finds breaking changes between two versions of a CustomResourceDefinition.
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

// Whom a change of a definition breaks.
enum class CrdSeverity : std::uint8_t {
  // Harmless for clients and for stored objects.
  kHarmless,
  kBreaksClients,  // requests that worked fail or change their meaning
  kBreaksStored,   // stored objects lose data, cannot be read, or are rejected on their next update
};
KUBE_EXPORT std::string_view ToString(CrdSeverity severity);  // "harmless", "breaks clients", "breaks stored objects"

// One change of a definition, and what it breaks.
struct CrdFinding {
  CrdSeverity severity = CrdSeverity::kHarmless;
  std::string version{};  // an API version of the kind; empty for the whole definition
  // A path in objects of that version, with [*] for list items and map values: ".spec.ports[*].name"; "." for the whole object. If
  // `version` is empty, a path in the definition: "spec.scope".
  std::string path{};
  // The change in words.
  std::string text{};

  bool breaks() const { return severity != CrdSeverity::kHarmless; }
  KUBE_EXPORT std::string ToString() const;
  friend bool operator==(const CrdFinding&, const CrdFinding&) = default;
};

// Returns the findings, worst first. `old` should include its status: a removed version is fatal if status.storedVersions names it. Without
// a status, the storage version counts as the only stored one.
//
// Both must be apiextensions.k8s.io/v1 definitions that an API server accepts. Changes of descriptions are not reported. Tighter validation
// counts as breaking stored objects. Values that became invalid stay readable, and API servers since Kubernetes 1.30 accept updates that
// leave them unchanged (ratcheting), but older ones reject every update of such an object. Any change of anyOf, oneOf, allOf or not counts
// as tighter.
KUBE_EXPORT std::vector<CrdFinding> CompareCrds(const DynamicObject& old, const DynamicObject& next);

}  // namespace kube
