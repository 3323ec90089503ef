// Turns the bytes of a watch into events. The only I/O is the BodyStream.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/client/watch.h"
#include "kube/transport/http.h"

namespace kube::internal {

// Splits a byte stream into frames: consecutive JSON values, or messages with a four-byte length prefix.
class FrameSplitter {
 public:
  enum class Framing { kJson, kLengthPrefixed };
  FrameSplitter(Framing framing, std::size_t max_frame) : framing_(framing), max_frame_(max_frame) {}

  // Returns room for `size` more bytes; Commit states how many were filled.
  char* Reserve(std::size_t size);
  void Commit(std::size_t size) { end_ += size; }
  // The next complete frame, valid until the next Reserve; nothing if more bytes are needed. Errors: kDecode if a frame is too large or not
  // JSON.
  Result<std::optional<std::string_view>> Next();
  // Whether Next returns a frame or an error. The result is kept for Next, so no byte is scanned twice.
  bool Ready();
  // Whether an incomplete frame is buffered.
  bool HasPartialFrame() const;

 private:
  using Found = Result<std::optional<std::string_view>>;
  Result<std::optional<std::string_view>> Find();
  Result<std::optional<std::string_view>> NextJson();
  // The frame as a line, if the server writes one event per line.
  std::optional<std::string_view> NextLine();
  Result<std::optional<std::string_view>> NextMessage();
  Error TooLarge() const;

  const Framing framing_;
  const std::size_t max_frame_;
  // Not a std::string, which would zero its capacity each time and move the unused part.
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // start of the current frame
  std::size_t end_ = 0;    // end of the filled part
  // How far NextJson has scanned, and its state there.
  std::size_t scanned_ = 0;
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool at_end_ = false;           // at the end of a frame: the next byte decides whether lines follow
  bool lines_ = false;            // a newline followed the previous frame
  std::size_t line_scanned_ = 0;  // how far NextLine has scanned
  std::optional<Found> found_{};  // result of Ready, for Next
};

// The contents of a frame.
struct RawEvent {
  std::string_view type;    // "ADDED"
  std::string_view object;  // JSON, or protobuf with its envelope
  std::string storage;      // owns what the two views may refer to
};
// Parses the frames that servers write. ParseAnyJsonEvent accepts every JSON event, but is slower.
Result<void> ParseJsonEvent(std::string_view frame, RawEvent& out);
Result<void> ParseAnyJsonEvent(std::string_view frame, RawEvent& out);
Result<void> ParseProtobufEvent(std::string_view frame, RawEvent& out);

Result<std::unique_ptr<WatchStream>> MakeWatchStream(const ResourceTarget& target, const WatchOptions& options, std::string what,
                                                     HttpResponse response);

}  // namespace kube::internal
