// Frames of a WebSocket's client, in pieces: the messages do not depend on how the bytes are cut, and stay within the limit.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transport/websocket/websocket_frames.h"

namespace {

constexpr std::size_t kLimit = 1000;

// All items as one text, ending with what went wrong.
std::string Read(std::string_view input, std::size_t piece) {
  kube::internal::WebSocketParser parser(kLimit, true);
  std::string all;
  while (true) {
    auto next = parser.Next();
    if (!next.ok()) return all + "error " + std::to_string(parser.close_code());
    if (*next) {
      if ((*next)->payload.size() > kLimit) std::abort();
      all += std::to_string(static_cast<int>((*next)->opcode)) + ":" + (*next)->payload + ";";
      continue;
    }
    if (input.empty()) return all;
    const std::size_t size = std::min(piece, input.size());
    parser.Feed(input.substr(0, size));
    input.remove_prefix(size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (Read(input, 1) != Read(input, 1000)) std::abort();
  return 0;
}
