// The common settings of all connections of a transport.
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
  std::string authority;  // the value of Host and :authority

  // Whether TLS is used to the server or to a proxy.
  bool uses_tls() const { return endpoint.tls || (proxy && proxy->kind == Proxy::Kind::kHttps); }
  // libcurl needs an absolute target only for a plain HTTP proxy that forwards requests itself.
  bool absolute_target() const { return !endpoint.tls && proxy && proxy->kind != Proxy::Kind::kSocks5; }
};

Result<std::shared_ptr<const Settings>> MakeSettings(HttpTransportOptions options);

// The problem of a request, if any: characters that would break out of a header, a target that is not a path.
std::optional<Error> CheckRequest(const HttpRequest& request);

}  // namespace kube::internal
