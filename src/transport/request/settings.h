// What all connections of a transport have in common.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kube/base/error.h"
#include "kube/base/result.h"
#include "kube/transport/http_transport.h"
#include "transport/request/endpoint.h"

namespace kube::internal {

struct Settings {
  HttpTransportOptions options;
  Endpoint endpoint;
  std::optional<Proxy> proxy;
  std::string authority;  // as Host and :authority have it

  // To the server, or to a proxy.
  bool uses_tls() const { return endpoint.tls || (proxy && proxy->kind == Proxy::Kind::kHttps); }
  // libcurl needs an absolute target only where a plain HTTP proxy passes the request on by itself.
  bool absolute_target() const { return !endpoint.tls && proxy && proxy->kind != Proxy::Kind::kSocks5; }
};

Result<std::shared_ptr<const Settings>> MakeSettings(HttpTransportOptions options);

// Nothing, or what is wrong with the request: characters that would break out of a header, a target that is no path.
std::optional<Error> CheckRequest(const HttpRequest& request);

}  // namespace kube::internal
