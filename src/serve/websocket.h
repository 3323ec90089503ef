// The server's side of a WebSocket handshake, and of what follows it: the frames and the connection are those of transport/websocket.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/serve/http_server.h"
#include "kube/transport/http.h"
#include "transport/websocket/websocket.h"

namespace kube::serve {

using internal::WebSocket;

// Whether the client wants a WebSocket, and the sub-protocols that it offers.
bool IsWebSocketRequest(const HttpRequest& request);
std::vector<std::string> CommaSeparated(const HttpRequest& request, std::string_view header);
bool HeaderHasToken(const HttpRequest& request, std::string_view header, std::string_view token);

// Takes the handshake with `protocol`, one that the client offers. Errors: kInvalid for a bad handshake, not answered yet.
Result<std::unique_ptr<WebSocket>> AcceptWebSocket(HttpExchange& exchange, const std::string& protocol);

// The same bytes under the name that protocols of both ends know.
std::unique_ptr<UpgradedConnection> AsConnection(std::unique_ptr<UpgradedStream> stream);

}  // namespace kube::serve
