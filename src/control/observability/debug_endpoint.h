// /debug/: the debug page and the JSON that it shows.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kube/cache/informer_factory.h"
#include "kube/control/controller.h"
#include "kube/serve/http_server.h"

namespace kube::internal {

// src/control/observability/debug_page.html, and the Content-Security-Policy that allows its own script and style and nothing else. Made by
// cmake/embed_page.cmake.
extern const std::string_view kDebugPage;
extern const std::string_view kDebugPagePolicy;

// Nothing if the path is not of this: /debug and /debug/... are.
std::optional<serve::HttpResponse> AnswerDebug(const serve::HttpRequest& request,
                                               const std::vector<std::unique_ptr<Controller>>& controllers,
                                               const InformerFactory& informers, bool leader, const Value& webhooks = {});

}  // namespace kube::internal
