#include "deployment_policy.h"

#include <string>

#include "kube/api/apps/v1.h"
#include "kube/webhook/webhook.h"

using kube::Admission;
using kube::AdmissionOperation;
using kube::AdmissionRequest;
using kube::apps::v1::Deployment;

namespace {

constexpr const char* kCreatedBy = "example.kubexx.dev/created-by";

void SetCreator(const AdmissionRequest& request, Deployment& deployment) {
  deployment.metadata.annotations[kCreatedBy] = request.user.username;
}

Admission Check(const Deployment* old, const Deployment* deployment) {
  Admission answer;
  if (old != nullptr && old->metadata.annotations.Get(kCreatedBy) != deployment->metadata.annotations.Get(kCreatedBy))
    answer.Forbidden("metadata.annotations[example.kubexx.dev/created-by]", "does not change");
  const auto& containers = deployment->spec.template_.spec.containers;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string image = containers[i].image.str();
    const std::string field = "spec.template.spec.containers[" + std::to_string(i) + "].image";
    if (image.find(':', image.rfind('/') + 1) == std::string::npos) answer.Invalid(field, kube::Value(image), "needs a tag");
    if (image.ends_with(":latest")) answer.Warn(field + ": latest is a different image tomorrow");
  }
  return answer;
}

}  // namespace

kube::WebhookSpec DeploymentPolicy() {
  return kube::WebhookFor<Deployment>("deployments.example.kubexx.dev").Default(SetCreator, AdmissionOperation::kCreate).Validate(Check);
}
