#include "client/watch_stream.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

#include "client/object_codec.h"
#include "client/raw_object.h"
#include "kube/base/log.h"
#include "kube/client/status_error.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/meta/v1.h"
#include "kube/transport/transport_errors.h"

namespace kube {

std::string_view ToString(WatchEventType type) {
  switch (type) {
    case WatchEventType::kAdded:
      return "ADDED";
    case WatchEventType::kModified:
      return "MODIFIED";
    case WatchEventType::kDeleted:
      return "DELETED";
    case WatchEventType::kBookmark:
      return "BOOKMARK";
    case WatchEventType::kError:
      return "ERROR";
  }
  return {};
}

namespace internal {
namespace {

constexpr std::size_t kReadBytes = 32 * 1024;

const Logger& Log() {
  static const Logger logger("client.watch");
  return logger;
}

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::optional<WatchEventType> TypeOf(std::string_view name) {
  if (name == "ADDED") return WatchEventType::kAdded;
  if (name == "MODIFIED") return WatchEventType::kModified;
  if (name == "DELETED") return WatchEventType::kDeleted;
  if (name == "BOOKMARK") return WatchEventType::kBookmark;
  if (name == "ERROR") return WatchEventType::kError;
  return std::nullopt;
}

// A field of a protobuf message: its number and bytes. Only what WatchEvent and RawExtension are made of.
struct ProtobufField {
  std::uint32_t number = 0;
  std::string_view bytes;
};

bool ReadVarint(std::string_view& in, std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

// False at the end, or (with `broken`) if the bytes are no message.
bool NextField(std::string_view& in, ProtobufField& field, bool& broken) {
  if (in.empty()) return false;
  broken = true;
  std::uint64_t tag = 0;
  if (!ReadVarint(in, tag)) return false;
  field.number = static_cast<std::uint32_t>(tag >> 3U);
  field.bytes = {};
  std::uint64_t size = 0;
  switch (tag & 7U) {
    case 0:
      if (!ReadVarint(in, size)) return false;
      break;
    case 1:
    case 5: {
      const std::size_t fixed = (tag & 7U) == 1 ? 8 : 4;
      if (in.size() < fixed) return false;
      in.remove_prefix(fixed);
      break;
    }
    case 2:
      if (!ReadVarint(in, size) || size > in.size()) return false;
      field.bytes = in.substr(0, size);
      in.remove_prefix(size);
      break;
    default:
      return false;
  }
  broken = false;
  return true;
}

// An event that could not be read, as client-go has it: the last one of the watch.
Error DecodingFailed(const Error& why) {
  return Error(Error::Payload{.kind = ErrorKind::kDecode,
                              .http_code = 500,
                              .reason = "ClientWatchDecoding",
                              .message = "unable to decode an event from the watch stream: " + why.message(),
                              .context = why.context()});
}

class HttpWatchStream : public WatchStream {
 public:
  HttpWatchStream(const ResourceTarget& target, const WatchOptions& options, std::string what, FrameSplitter::Framing framing,
                  std::string content_type, std::unique_ptr<BodyStream> body)
      : type_(target.type),
        metadata_only_(target.metadata_only),
        decode_(options.decode),
        skip_undecodable_(options.skip_undecodable),
        what_(std::move(what)),
        protobuf_(framing == FrameSplitter::Framing::kLengthPrefixed),
        content_type_(std::move(content_type)),
        splitter_(framing, options.max_frame_bytes),
        body_(std::move(body)) {}

  Result<bool> Next(const Context& ctx, WatchEventType& type, void* object, std::optional<Error>& error) override {
    if (over_ || stopped_) return false;
    Result<std::optional<std::string_view>> frame = NextFrame(ctx);
    if (!frame) {
      if (frame.error().kind() != ErrorKind::kDecode) return frame.error().WithContext(what_);
      return Failed(frame.error(), type, error);
    }
    if (!*frame) return false;
    RawEvent event;
    Result<void> parsed = protobuf_ ? ParseProtobufEvent(**frame, event) : ParseJsonEvent(**frame, event);
    if (!parsed) return Failed(parsed.error(), type, error);
    const std::optional<WatchEventType> known = TypeOf(event.type);
    if (!known) return Failed(Error::Decode("got invalid watch event type \"" + std::string(event.type.substr(0, 64)) + "\""), type, error);
    type = *known;
    if (type == WatchEventType::kError) {
      meta::v1::Status status;
      Result<void> read = protobuf_ ? DecodeProtobuf(meta::v1::Status::kType, &status, event.object)
                                    : DecodeJson(meta::v1::Status::kType, &status, event.object);
      if (!read) return Failed(read.error(), type, error);
      error = StatusToError(status).WithContext(what_);
      over_ = true;
      body_->Close();
      return true;
    }
    // A bookmark is about the watch: its annotations are for the reader of the watch, whatever fields are selected.
    DecodeOptions decode = decode_;
    if (type == WatchEventType::kBookmark) {
      decode.fields = nullptr;
      decode.predecessors = nullptr;
    }
    Result<void> read = DecodeObject(type_, metadata_only_, content_type_, event.object, decode, object);
    if (!read && !protobuf_ && ParseAnyJsonEvent(**frame, event)) {
      if (type_ != nullptr) ResetObject(*type_, object);
      read = DecodeObject(type_, metadata_only_, content_type_, event.object, decode, object);
    }
    if (read) return true;
    if (!skip_undecodable_ || type == WatchEventType::kBookmark || read.error().kind() != ErrorKind::kDecode) {
      return Failed(read.error().WithContext(std::string(event.type)), type, error);
    }
    undecodable_ = protobuf_ ? IdentifyProtobuf(event.object, read.error()) : IdentifyJson(event.object, read.error());
    error = UndecodableError(undecodable_).WithContext(what_);
    return true;
  }

  UndecodableObject TakeUndecodable() override { return std::exchange(undecodable_, {}); }

  void Stop() override {
    stopped_ = true;
    body_->Close();
  }

  bool Ready() const override {
    while (!over_ && !stopped_ && !splitter_.Ready()) {
      if (!body_->Ready()) return false;
      const Result<std::size_t> got = body_->Read(Context::Background(), splitter_.Reserve(kReadBytes), kReadBytes);
      if (!got || *got == 0) return true;  // it was closed just now: the next Read says so again
      splitter_.Commit(*got);
    }
    return true;
  }

 private:
  // Nothing at the end of the watch.
  Result<std::optional<std::string_view>> NextFrame(const Context& ctx) {
    for (;;) {
      Result<std::optional<std::string_view>> frame = splitter_.Next();
      if (!frame || *frame) return frame;
      const Result<std::size_t> got = body_->Read(ctx, splitter_.Reserve(kReadBytes), kReadBytes);
      if (!got) {
        if (stopped_ || got.error().kind() == ErrorKind::kClosed) return std::optional<std::string_view>();
        if (got.error().kind() != ErrorKind::kTransport) return got.error();
        // How watches end when a proxy, a load balancer or the server closes the connection: callers watch again, however the watch ended.
        Log().V(3).Info("Watch ended by its connection", {{"watch", what_}, {"err", got.error()}});
        over_ = true;
        return std::optional<std::string_view>();
      }
      if (*got == 0) {
        if (splitter_.HasPartialFrame()) Log().V(3).Info("Watch ended in the middle of an event", {{"watch", what_}});
        over_ = true;
        return std::optional<std::string_view>();
      }
      splitter_.Commit(*got);
    }
  }

  Result<bool> Failed(const Error& why, WatchEventType& type, std::optional<Error>& error) {
    type = WatchEventType::kError;
    error = DecodingFailed(why).WithContext(what_);
    over_ = true;
    body_->Close();
    return true;
  }

  const TypeInfo* const type_;
  const bool metadata_only_;
  const DecodeOptions decode_;
  const bool skip_undecodable_;
  const std::string what_;
  const bool protobuf_;
  const std::string content_type_;
  mutable FrameSplitter splitter_;  // Ready looks ahead
  const std::unique_ptr<BodyStream> body_;
  UndecodableObject undecodable_{};
  bool over_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

WatchStream::~WatchStream() = default;

char* FrameSplitter::Reserve(std::size_t size) {
  const std::size_t kept = end_ - begin_;
  if (begin_ > 0) {
    if (kept > 0) std::memmove(buffer_.get(), buffer_.get() + begin_, kept);
    end_ = kept;
    scanned_ -= std::min(scanned_, begin_);
    line_scanned_ -= std::min(line_scanned_, begin_);
    begin_ = 0;
  }
  if (capacity_ < end_ + size) {
    capacity_ = std::max(end_ + size, std::min(capacity_ * 2, max_frame_ + size));
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
    if (kept > 0) std::memcpy(larger.get(), buffer_.get(), kept);
    buffer_ = std::move(larger);
  }
  return buffer_.get() + end_;
}

Error FrameSplitter::TooLarge() const {
  return Error::Decode("an event of the watch is larger than the limit of " + std::to_string(max_frame_) + " bytes");
}

bool FrameSplitter::HasPartialFrame() const {
  return std::any_of(buffer_.get() + begin_, buffer_.get() + end_, [](char c) { return !IsBlank(c); });
}

Result<std::optional<std::string_view>> FrameSplitter::Next() {
  if (!found_) return Find();
  Found found = *std::move(found_);
  found_.reset();
  return found;
}

bool FrameSplitter::Ready() {
  if (found_) return true;
  Found found = Find();
  if (found && !*found) return false;
  found_ = std::move(found);
  return true;
}

Result<std::optional<std::string_view>> FrameSplitter::Find() { return framing_ == Framing::kJson ? NextJson() : NextMessage(); }

Result<std::optional<std::string_view>> FrameSplitter::NextMessage() {
  if (end_ - begin_ < 4) return std::optional<std::string_view>();
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = size << 8U | static_cast<unsigned char>(buffer_[begin_ + i]);
  if (size > max_frame_) return TooLarge();
  if (end_ - begin_ - 4 < size) return std::optional<std::string_view>();
  const std::string_view frame(buffer_.get() + begin_ + 4, size);
  begin_ += 4 + std::size_t{size};
  return std::optional<std::string_view>(frame);
}

// Go servers write each event without any blanks, and a newline behind it. JSON has no raw newline in a string, so where events come like
// that, the next newline ends the event. Several times faster than to look at every byte.
std::optional<std::string_view> FrameSplitter::NextLine() {
  constexpr std::string_view kCompact = "{\"type\":\"";
  const char* const data = buffer_.get();
  if (!lines_ || !std::string_view(data + begin_, end_ - begin_).starts_with(kCompact)) return std::nullopt;
  line_scanned_ = std::max(line_scanned_, begin_);
  const char* const newline = static_cast<const char*>(std::memchr(data + line_scanned_, '\n', end_ - line_scanned_));
  if (newline == nullptr) {
    line_scanned_ = end_;
    return std::nullopt;
  }
  if (newline[-1] != '}') return std::nullopt;  // there are blanks between the tokens
  const std::string_view frame(data + begin_, static_cast<std::size_t>(newline - data) - begin_);
  begin_ += frame.size() + 1;
  return frame;
}

Result<std::optional<std::string_view>> FrameSplitter::NextJson() {
  const char* const data = buffer_.get();
  if (depth_ == 0) {
    if (begin_ < end_ && at_end_) {
      lines_ = data[begin_] == '\n';
      at_end_ = false;
    }
    while (begin_ < end_ && IsBlank(data[begin_])) ++begin_;
    scanned_ = std::max(scanned_, begin_);
    if (begin_ == end_) return std::optional<std::string_view>();
    if (data[begin_] != '{') return Error::Decode("the watch stream is not a sequence of JSON objects");
    if (const std::optional<std::string_view> line = NextLine()) {
      if (line->size() > max_frame_) return TooLarge();
      return line;
    }
    // Half of a line. What ends as an object does may be an event without the end of its line: that has to be looked at byte by byte.
    if (lines_ && line_scanned_ == end_ && data[end_ - 1] != '}') {
      if (end_ - begin_ > max_frame_) return TooLarge();
      return std::optional<std::string_view>();
    }
  }
  while (scanned_ < end_) {
    const char c = data[scanned_++];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
        continue;
      }
      if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      } else {
        // Most of a stream is text inside of strings: on to the next byte that can end it.
        const char* const quote = static_cast<const char*>(std::memchr(data + scanned_, '"', end_ - scanned_));
        const std::size_t stop = quote == nullptr ? end_ : static_cast<std::size_t>(quote - data);
        const void* const escape = std::memchr(data + scanned_, '\\', stop - scanned_);
        scanned_ = escape == nullptr ? stop : static_cast<std::size_t>(static_cast<const char*>(escape) - data);
      }
      continue;
    }
    if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      const std::string_view frame(data + begin_, scanned_ - begin_);
      begin_ = scanned_;
      at_end_ = true;
      if (frame.size() > max_frame_) return TooLarge();
      return std::optional<std::string_view>(frame);
    }
  }
  if (end_ - begin_ > max_frame_) return TooLarge();
  return std::optional<std::string_view>();
}

Result<void> ParseJsonEvent(std::string_view frame, RawEvent& out) {
  // What every Go server sends: {"type":"ADDED","object":{...}}
  constexpr std::string_view kType = "{\"type\":\"";
  constexpr std::string_view kObject = "\",\"object\":{";
  if (frame.starts_with(kType)) {
    const std::size_t end = frame.find('"', kType.size());
    if (end != std::string_view::npos && frame.substr(end, kObject.size()) == kObject && frame.ends_with("}}")) {
      out.type = frame.substr(kType.size(), end - kType.size());
      // One brace of the two at the end is the event's. An event with more members gives something that is no JSON; see Next.
      const std::size_t begin = end + kObject.size() - 1;
      out.object = frame.substr(begin, frame.size() - 1 - begin);
      return {};
    }
  }
  return ParseAnyJsonEvent(frame, out);
}

Result<void> ParseAnyJsonEvent(std::string_view frame, RawEvent& out) {
  const Result<Value> value = ParseJson(frame);
  if (!value) return value.error();
  const Value* const type = value->Find("type");
  const Value* const object = value->Find("object");
  if (type == nullptr || !type->is_string()) return Error::Decode("a watch event has no type");
  if (object == nullptr || !object->is_object()) return Error::Decode("a watch event has no object");
  const std::string text = ToJson(*object);
  out.storage = type->string_value().str() + text;
  out.type = std::string_view(out.storage).substr(0, out.storage.size() - text.size());
  out.object = std::string_view(out.storage).substr(out.type.size());
  return {};
}

Result<void> ParseProtobufEvent(std::string_view frame, RawEvent& out) {
  bool broken = false;
  ProtobufField field;
  std::string_view extension;
  while (NextField(frame, field, broken)) {
    if (field.number == 1) out.type = field.bytes;
    if (field.number == 2) extension = field.bytes;
  }
  if (!broken) {
    while (NextField(extension, field, broken)) {
      if (field.number == 1) out.object = field.bytes;
    }
  }
  if (broken) return Error::Decode("a watch event is not a protobuf message");
  if (out.object.empty()) return Error::Decode("a watch event has no object");
  if (!HasProtobufEnvelope(out.object)) return Error::Decode("the object of a watch event does not begin with the bytes \"k8s\\0\"");
  return {};
}

Result<std::unique_ptr<WatchStream>> MakeWatchStream(const ResourceTarget& target, const WatchOptions& options, std::string what,
                                                     HttpResponse response) {
  const std::string content_type(response.headers.Get("content-type"));
  const BodyFormat format = FormatOf(content_type);
  if (format == BodyFormat::kUnknown || (format == BodyFormat::kProtobuf && target.type == nullptr)) {
    return Error::Decode("the server answered a watch with content type \"" + content_type + "\", which cannot be read here")
        .WithContext(std::move(what));
  }
  const auto framing = format == BodyFormat::kJson ? FrameSplitter::Framing::kJson : FrameSplitter::Framing::kLengthPrefixed;
  return std::unique_ptr<WatchStream>(
      std::make_unique<HttpWatchStream>(target, options, std::move(what), framing, content_type, std::move(response.stream)));
}

}  // namespace internal
}  // namespace kube
