// The head of an HTTP/1.1 answer and what its body is, for connections that libcurl only opened.
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
  std::size_t size = 0;  // in bytes, with the empty line behind it
};

// Nothing where more bytes are needed. Lines may end with LF alone. Errors: kTransport (kProtocol) for what is no HTTP.
Result<std::optional<HttpHead>> ParseHttpHead(std::string_view text);

// Takes the chunks apart. `complete` is set with the last one; what is broken ends it too.
std::string DecodeChunks(std::string_view text, bool& complete);

}  // namespace kube::internal
