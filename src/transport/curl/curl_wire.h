// CurlWire: a connection that libcurl opened through a proxy, possibly with TLS inside TLS.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <string_view>

#include "transport/tls/wire.h"

namespace kube::internal {

class CurlWire final : public Wire {
 public:
  // `easy` is libcurl's handle of the connection. It stays in its multi handle while this object lives.
  CurlWire(const Settings& settings, CURL* easy) : Wire(settings), easy_(easy) {}

  bool pending() const override { return true; }  // libcurl does not report it

 private:
  Outcome DoRead(char* buffer, std::size_t size) override;
  Outcome DoWrite(std::string_view bytes) override;
  Outcome Failed(CURLcode code);

  CURL* const easy_;
};

}  // namespace kube::internal
