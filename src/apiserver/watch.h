// A watch: a stream of events to one client. Costs memory, no thread.
#pragma once

#include <memory>

#include "apiserver/core.h"
#include "apiserver/encoder.h"
#include "apiserver/faults.h"
#include "kube/serve/http_server.h"

namespace kube::apiserver {

// Starts the answer to a watch request. An error that is known before the first byte is returned and to be answered as usual; later
// ones (410) are events of type ERROR. The stream lives in the store's list of watchers until the client leaves or time is up.
Result<void> StartWatch(ApiCore& core, Call& call, const EncodeContext& encode, const std::shared_ptr<serve::HttpExchange>& exchange,
                        serve::HttpHeaders headers, Faults& faults);

}  // namespace kube::apiserver
