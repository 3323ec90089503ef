// Our side of bench_webhook: the handlers that bench/peers/webhook-go has, too.
#pragma once

#include <vector>

#include "kube/base/result.h"
#include "kube/webhook/webhook_spec.h"

namespace kube::bench {

// /validate--v1-pod, /mutate--v1-pod and /convert; with `keep_lost` as Conversion<>::KeepLost.
Result<std::vector<WebhookEndpoint>> BenchEndpoints(bool keep_lost);

}  // namespace kube::bench
