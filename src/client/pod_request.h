// Requests for pod subresources that are not objects: log, exec, attach, portforward.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/request.h"
#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/meta/object_key.h"
#include "kube/transport/http.h"
#include "kube/transport/transport.h"
#include "transport/websocket/websocket.h"

namespace kube::internal {

// "pods/log default/web", for error messages.
std::string DescribePod(const ObjectKey& pod, std::string_view subresource);

// A GET of the subresource. Errors: kInvalid if name or namespace are missing or invalid in a path.
Result<HttpRequest> PodRequest(const ObjectKey& pod, std::string_view subresource, const Query& query);

// Limits for the silence of a session and for sending one message.
WebSocket::Limits SessionLimits();

// Opens a WebSocket to the subresource. Errors: as DialWebSocket; kApi with the server's message if it refused.
Result<WebSocketDial> DialPod(Transport& transport, const Context& ctx, HttpRequest request,
                              const std::vector<std::string_view>& protocols);

}  // namespace kube::internal
