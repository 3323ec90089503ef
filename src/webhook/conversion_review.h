// ConversionReview: from the bytes of a call to the converters of a program, and back.
#pragma once

#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/webhook/conversion.h"
#include "kube/webhook/webhook_spec.h"

namespace kube::internal {

// Never throws for anything in `body`, nor for what a function throws. A body that is no ConversionReview with a request is code 400; a
// request that cannot be fulfilled, and one of another version than v1, has the result Failure with a message that names the object. When
// the context stops, the rest is not converted: code 504.
KUBE_EXPORT WebhookAnswer ServeConversion(const std::vector<Converter>& converters, const Context& ctx, std::string_view body);

}  // namespace kube::internal
