// Upgrades: separate connections that libcurl opens (with the same TLS and proxies as requests) and that then leave HTTP.
#pragma once

#include <memory>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/config/credentials.h"
#include "kube/transport/http.h"
#include "transport/request/settings.h"

namespace kube::internal {

Result<UpgradeResponse> UpgradeConnection(const Context& ctx, std::shared_ptr<const Settings> settings,
                                          std::shared_ptr<const TlsMaterial> material, const HttpRequest& request);

}  // namespace kube::internal
