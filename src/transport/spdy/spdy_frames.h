// SPDY/3.1 frames for both ends, as far as Kubernetes uses them: no priorities, flow control or pushed streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/transport/http.h"

namespace kube::internal {

enum class SpdyType : std::uint16_t {
  kData = 0,  // not on the wire: data frames have no type
  kSynStream = 1,
  kSynReply = 2,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kHeaders = 8,
  kWindowUpdate = 9,
};

struct SpdyFrame {
  SpdyType type = SpdyType::kData;
  std::uint32_t stream = 0;  // of a ping: its number
  bool fin = false;
  std::uint32_t status = 0;  // of a reset or goodbye
  HttpHeaders headers;       // of SYN_STREAM, SYN_REPLY and HEADERS; names in lower case
  std::string data;
};

// The dictionary that header blocks are compressed with; a constant of the protocol.
KUBE_EXPORT std::string_view SpdyDictionary();

// Compresses the header blocks that one side sends, in the order in which they are sent.
class KUBE_EXPORT SpdyDeflater {
 public:
  SpdyDeflater();
  ~SpdyDeflater();
  SpdyDeflater(const SpdyDeflater&) = delete;
  SpdyDeflater& operator=(const SpdyDeflater&) = delete;
  std::string Compress(const HttpHeaders& headers);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Parses frames from bytes. No I/O.
class KUBE_EXPORT SpdyParser {
 public:
  SpdyParser();
  ~SpdyParser();
  SpdyParser(const SpdyParser&) = delete;
  SpdyParser& operator=(const SpdyParser&) = delete;

  void Feed(std::string_view bytes) { input_.append(bytes); }
  // Nothing if more bytes are needed. Errors: kDecode; the parser is then unusable.
  Result<std::optional<SpdyFrame>> Next();

 private:
  struct Inflater;
  Result<HttpHeaders> ReadHeaders(std::string_view compressed);

  std::string input_;
  std::size_t used_ = 0;  // of input_
  std::unique_ptr<Inflater> inflater_;
};

// Encodes a frame. Frames with headers need the sender's deflater.
KUBE_EXPORT std::string EncodeSpdyFrame(const SpdyFrame& frame, SpdyDeflater& deflater);
// Encodes data, split if it is too long for one frame.
KUBE_EXPORT std::string EncodeSpdyData(std::uint32_t stream, std::string_view data, bool fin);

}  // namespace kube::internal
