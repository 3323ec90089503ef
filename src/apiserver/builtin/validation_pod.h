// Pods and the templates of pods in workloads. Private to builtin/validation*.cc.
#pragma once

#include <set>
#include <string>

#include "apiserver/builtin/validation_util.h"
#include "kube/api/core/v1.h"

namespace kube::apiserver::builtin {

struct PodSpecOptions {
  bool is_pod = false;  // else a template
};

void CheckPodSpec(Errors& errors, const std::string& path, const core::v1::PodSpec& spec, const PodSpecOptions& options);
// A template at `path` ("spec.template").
void CheckPodTemplate(Errors& errors, const std::string& path, const core::v1::PodTemplateSpec& spec);
// Where selector and labels of a template do not fit: "`selector` does not match template `labels`".
void CheckSelectorMatchesTemplate(Errors& errors, const std::string& path, const meta::v1::LabelSelector& selector,
                                  const Map<String>& labels);

// Parts of CheckPodSpec. `volumes` are the names of the pod's volumes.
void CheckContainers(Errors& errors, const std::string& path, const core::v1::PodSpec& spec, const std::set<std::string>& volumes);
void CheckTolerations(Errors& errors, const std::string& path, const List<core::v1::Toleration>& tolerations);
void CheckTaintEffect(Errors& errors, const std::string& path, const String& effect);
void CheckResources(Errors& errors, const std::string& path, const Map<Quantity>& limits, const Map<Quantity>& requests);
// Volumes; gives the names of those that are fine.
std::set<std::string> CheckVolumes(Errors& errors, const std::string& path, const List<core::v1::Volume>& volumes);

// A reference to something that the object does not have.
FieldError NotFoundValue(const std::string& path, const Value& value);

}  // namespace kube::apiserver::builtin
