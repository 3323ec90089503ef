// The bytes of a watch to events. No I/O but the BodyStream.
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

// Cuts a stream of bytes into frames: JSON values one after another, or messages behind four bytes of length.
class FrameSplitter {
 public:
  enum class Framing { kJson, kLengthPrefixed };
  FrameSplitter(Framing framing, std::size_t max_frame) : framing_(framing), max_frame_(max_frame) {}

  // Room for `size` bytes more; Commit says how many of them were filled.
  char* Reserve(std::size_t size);
  void Commit(std::size_t size) { end_ += size; }
  // The next whole frame; valid until the next Reserve. Nothing where more bytes are needed.
  // Errors: kDecode, where a frame is too large or the bytes are no JSON.
  Result<std::optional<std::string_view>> Next();
  // Whether Next has something to give, be it an error. What was found is remembered, so that no byte is looked at twice.
  bool Ready();
  // Bytes of a frame that is not whole.
  bool HasPartialFrame() const;

 private:
  using Found = Result<std::optional<std::string_view>>;
  Result<std::optional<std::string_view>> Find();
  Result<std::optional<std::string_view>> NextJson();
  // The frame as a line, where the server writes one event to a line.
  std::optional<std::string_view> NextLine();
  Result<std::optional<std::string_view>> NextMessage();
  Error TooLarge() const;

  const Framing framing_;
  const std::size_t max_frame_;
  // No std::string: it would fill its room with zeros each time, and move the part that is not used.
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  // of the frame that is being collected
  std::size_t end_ = 0;    // of what was filled
  // How far NextJson has looked, and what it knows there.
  std::size_t scanned_ = 0;
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool at_end_ = false;           // of a frame: the next byte tells whether lines come
  bool lines_ = false;            // a newline was right behind the frame before
  std::size_t line_scanned_ = 0;  // how far NextLine has looked
  std::optional<Found> found_{};  // by Ready, for Next
};

// What a frame holds.
struct RawEvent {
  std::string_view type;    // "ADDED"
  std::string_view object;  // JSON, or protobuf with its envelope
  std::string storage;      // what the two may point into
};
// Takes the frame apart as servers write it; ParseAnyJsonEvent reads every JSON that is an event, and is slower.
Result<void> ParseJsonEvent(std::string_view frame, RawEvent& out);
Result<void> ParseAnyJsonEvent(std::string_view frame, RawEvent& out);
Result<void> ParseProtobufEvent(std::string_view frame, RawEvent& out);

Result<std::unique_ptr<WatchStream>> MakeWatchStream(const ResourceTarget& target, const WatchOptions& options, std::string what,
                                                     HttpResponse response);

}  // namespace kube::internal
