// Parses the head of an HTTP/1.1 response and its body, for connections that libcurl only opened.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/transport/http.h"

namespace kube::internal {

struct HttpHead {
  int code = 0;
  HttpHeaders headers;
  std::size_t size = 0;  // in bytes, with the empty line after it
};

// Nothing if more bytes are needed. Lines may end with LF alone. Errors: kTransport (kProtocol) if it is not HTTP.
Result<std::optional<HttpHead>> ParseHttpHead(std::string_view text);

// Decodes chunks. `complete` is set by the last chunk, and by an invalid one.
std::string DecodeChunks(std::string_view text, bool& complete);

}  // namespace kube::internal
