// /debug/log-level: what is logged, to be read and changed while the program runs.
//
//   curl http://127.0.0.1:8080/debug/log-level                                    info,cache=4
//   curl -X PUT -d 'info,control=5' http://127.0.0.1:8080/debug/log-level          replaces all of it
//   curl -X PUT -d '5' 'http://127.0.0.1:8080/debug/log-level?component=control'   one component; an empty text takes its entry out
#pragma once

#include <string>

#include "kube/base/log.h"
#include "kube/serve/http_server.h"

namespace kube::internal {

inline constexpr const char* kLogLevelPath = "/debug/log-level";

// What LogSettings::Parse reads: "info,cache=4,queue=error".
std::string ToText(const LogSettings& settings);

// GET and PUT; 405 otherwise, 400 for a text that is no setting, which changes nothing.
serve::HttpResponse AnswerLogLevel(const serve::HttpRequest& request, LogBackend& backend);

}  // namespace kube::internal
