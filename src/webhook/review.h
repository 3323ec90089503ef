// AdmissionReview: from the bytes of a call to the functions of a webhook, and back.
#pragma once

#include <string_view>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/webhook/webhook.h"
#include "kube/webhook/webhook_spec.h"

namespace kube::internal {

enum class AdmissionRole : unsigned char { kMutate, kValidate, kRaw };

// Never throws for anything in `body`, nor for what a function throws. A body that is no AdmissionReview (v1 or v1beta1) is code 400. An
// object that cannot be decoded, or a function that throws, is a denial, as in controller-runtime: with status code 400, or 500. Operations
// outside of `on` are allowed: a configuration may have rules that the functions are not written for.
KUBE_EXPORT WebhookAnswer ServeAdmission(const AdmissionFunctions& functions, AdmissionRole role, AdmissionOperation on, const Context& ctx,
                                         std::string_view body);

}  // namespace kube::internal
