// Between what a server says (meta::v1::Status) and kube::Error.
//
//   Error e = StatusToError(status);             // IsNotFound(e), e.message(), e.causes() ...
//   meta::v1::Status s = ErrorToStatus(e);       // for servers and webhooks
//
// Thread safety: functions of their arguments alone; they neither block nor fail.
#pragma once

#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/meta/v1.h"

namespace kube {

struct HttpRequest;
struct HttpResponse;

// An Error of kind kApi.
KUBE_EXPORT Error StatusToError(const meta::v1::Status& status);
// The other way; an error that did not come from a server becomes code 500, reason InternalError.
KUBE_EXPORT meta::v1::Status ErrorToStatus(const Error& error);
// What an answer that is no success means: the Status in its body (JSON or protobuf), or one made from its code. Of the request, method
// and target count.
KUBE_EXPORT Error ErrorFromResponse(const HttpResponse& response, const HttpRequest& request);

}  // namespace kube
