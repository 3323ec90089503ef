#include "apiserver/builtin/pod_helpers.h"

#include <utility>

namespace kube::apiserver::builtin {
namespace {

using namespace core::v1;

bool CountsForQos(std::string_view resource) { return resource == "cpu" || resource == "memory"; }

void Add(Map<Quantity>& sum, const Map<Quantity>& amounts) {
  for (const auto& [name, amount] : amounts) {
    if (CountsForQos(name) && amount.Sign() > 0) sum[name] += amount;
  }
}

bool LimitsBoth(const Map<Quantity>& limits) { return limits.Get("cpu").Sign() > 0 && limits.Get("memory").Sign() > 0; }

using meta::v1::LabelSelector;

void RequireOwnLabels(LabelSelector& selector, const List<String>& keys, const char* op, const Map<String>& labels) {
  for (const String& key : keys) {
    const String* value = labels.Find(key);
    if (value == nullptr) continue;
    meta::v1::LabelSelectorRequirement r;
    r.key = key;
    r.operator_ = op;
    r.values = {*value};
    selector.match_expressions.push_back(r);
  }
}

void ApplyToTerm(PodAffinityTerm& term, const Map<String>& labels) {
  if (!term.label_selector.has_value() || (term.match_label_keys.empty() && term.mismatch_label_keys.empty())) return;
  RequireOwnLabels(term.label_selector.Mutable(), term.match_label_keys, "In", labels);
  RequireOwnLabels(term.label_selector.Mutable(), term.mismatch_label_keys, "NotIn", labels);
}

template <typename A>
void ApplyToAffinity(Box<A>& box, const Map<String>& labels) {
  if (!box.has_value()) return;
  A& affinity = box.Mutable();
  for (WeightedPodAffinityTerm& t : affinity.preferred_during_scheduling_ignored_during_execution) ApplyToTerm(t.pod_affinity_term, labels);
  for (PodAffinityTerm& t : affinity.required_during_scheduling_ignored_during_execution) ApplyToTerm(t, labels);
}

// False if the lists do not name the same containers.
bool WithNewResources(List<Container>& merged, const List<Container>& wanted) {
  if (merged.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (!(std::as_const(merged)[i].name == wanted[i].name)) return false;
  }
  for (std::size_t i = 0; i < merged.size(); ++i) {
    merged[i].resources = wanted[i].resources;
    merged[i].resize_policy = wanted[i].resize_policy;
  }
  return true;
}

}  // namespace

String QosClassOf(const Pod& pod) {
  Map<Quantity> requests, limits;
  bool guaranteed = true;
  if (pod.spec.resources.has_value()) {
    Add(requests, pod.spec.resources->requests);
    Add(limits, pod.spec.resources->limits);
    if (!pod.spec.resources->limits.empty() && !LimitsBoth(pod.spec.resources->limits)) guaranteed = false;
  } else {
    for (const List<Container>* containers : {&pod.spec.containers, &pod.spec.init_containers}) {
      for (const Container& c : *containers) {
        Add(requests, c.resources.requests);
        Add(limits, c.resources.limits);
        if (!LimitsBoth(c.resources.limits)) guaranteed = false;
      }
    }
  }
  if (requests.empty() && limits.empty()) return "BestEffort";
  return guaranteed && requests == limits ? "Guaranteed" : "Burstable";
}

void ApplyLabelKeys(Pod& pod) {
  const Map<String> labels = pod.metadata.labels;
  for (TopologySpreadConstraint& c : pod.spec.topology_spread_constraints) {
    if (!c.match_label_keys.empty() && c.label_selector.has_value()) {
      RequireOwnLabels(c.label_selector.Mutable(), c.match_label_keys, "In", labels);
    }
  }
  if (!pod.spec.affinity.has_value()) return;
  Affinity& affinity = pod.spec.affinity.Mutable();
  ApplyToAffinity(affinity.pod_affinity, labels);
  ApplyToAffinity(affinity.pod_anti_affinity, labels);
}

void KeepAllButResources(Pod& pod, const Pod& old) {
  List<Container> containers = old.spec.containers, init_containers = old.spec.init_containers;
  if (!WithNewResources(containers, pod.spec.containers) || !WithNewResources(init_containers, pod.spec.init_containers)) return;
  Box<ResourceRequirements> pod_resources = pod.spec.resources;
  pod.spec = old.spec;
  pod.status = old.status;
  pod.spec.resources = pod_resources;
  pod.spec.containers = containers;
  pod.spec.init_containers = init_containers;
}

}  // namespace kube::apiserver::builtin
