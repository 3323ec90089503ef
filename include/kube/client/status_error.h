// Conversions between the server's meta::v1::Status and kube::Error.
//
//   Error e = StatusToError(status);             // IsNotFound(e), e.message(), e.causes() ...
//   meta::v1::Status s = ErrorToStatus(e);       // for servers and webhooks
//
// Thread safety: pure functions; they neither block nor fail.
#pragma once

#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/meta/v1.h"

namespace kube {

struct HttpRequest;
struct HttpResponse;

// Returns an Error of kind kApi.
KUBE_EXPORT Error StatusToError(const meta::v1::Status& status);
// The reverse. An error that did not come from a server becomes code 500, reason InternalError.
KUBE_EXPORT meta::v1::Status ErrorToStatus(const Error& error);
// The error of an unsuccessful response: the Status in its body (JSON or protobuf), or one derived from its code. Only method and target of
// the request are used.
KUBE_EXPORT Error ErrorFromResponse(const HttpResponse& response, const HttpRequest& request);

}  // namespace kube
