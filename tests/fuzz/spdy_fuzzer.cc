// Frames of SPDY, in pieces: what is read does not depend on how the bytes are cut, and what was read can be written and read again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "transport/spdy/spdy_frames.h"

namespace {

using kube::internal::SpdyFrame;

std::vector<SpdyFrame> Read(std::string_view input, std::size_t piece) {
  kube::internal::SpdyParser parser;
  std::vector<SpdyFrame> frames;
  while (true) {
    auto next = parser.Next();
    if (!next.ok()) return frames;
    if (*next) {
      frames.push_back(**std::move(next));
      continue;
    }
    if (input.empty()) return frames;
    const std::size_t size = std::min(piece, input.size());
    parser.Feed(input.substr(0, size));
    input.remove_prefix(size);
  }
}

void RequireSame(const std::vector<SpdyFrame>& a, const std::vector<SpdyFrame>& b) {
  if (a.size() != b.size()) std::abort();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].type != b[i].type || a[i].stream != b[i].stream || a[i].data != b[i].data) std::abort();
    for (const auto& [name, value] : a[i].headers) {
      if (a[i].headers.All(name) != b[i].headers.All(name)) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::vector<SpdyFrame> frames = Read(input, 3);
  RequireSame(frames, Read(input, 10000));
  kube::internal::SpdyDeflater deflater;
  std::string written;
  for (const SpdyFrame& frame : frames) written += EncodeSpdyFrame(frame, deflater);
  RequireSame(frames, Read(written, 100));
  return 0;
}
