// Rules for CustomResourceDefinitions that both their validation and their conditions follow.
#pragma once

#include <string>
#include <string_view>

namespace kube::apiserver::builtin {

// Groups of the Kubernetes community, whose APIs need an approval.
bool IsProtectedGroup(std::string_view group);

// What the annotation api-approved.kubernetes.io says.
struct Approval {
  bool approved = false;
  std::string reason;   // of the condition: MissingAnnotation, InvalidAnnotation, UnapprovedAnnotation, ApprovedAnnotation
  std::string message;  // of the condition and of the validation
};
Approval ApprovalOf(std::string_view annotation);

// Describes the problem with the PEM text of a CA bundle; empty if it holds a certificate.
std::string BundleProblem(const std::string& pem);

}  // namespace kube::apiserver::builtin
