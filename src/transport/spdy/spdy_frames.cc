#include "transport/spdy/spdy_frames.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace kube::internal {

namespace {

constexpr std::uint16_t kVersion = 3;
constexpr std::size_t kFrameHead = 8;
constexpr std::size_t kMaxFrame = (std::size_t{1} << 24) - 1;
// Blocks of headers of a few hundred bytes are usual here.
constexpr std::size_t kMaxControlFrame = std::size_t{1} << 20;
constexpr std::size_t kMaxHeaderBlock = std::size_t{1} << 20;
constexpr std::size_t kMaxHeaders = 1000;

std::uint32_t ReadUint32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

void AppendUint32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

Error Bad(std::string_view what) { return Error::Decode("SPDY: " + std::string(what)); }

Bytef* ZlibBytes(std::string_view bytes) {
  // zlib does not write to its input; only its interface is not const.
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

std::string MakeDictionary() {
  // The names come with their lengths, as they stand in a block of headers; the rest is plain text.
  static constexpr std::array<std::string_view, 65> kNames = {"options",
                                                              "head",
                                                              "post",
                                                              "put",
                                                              "delete",
                                                              "trace",
                                                              "accept",
                                                              "accept-charset",
                                                              "accept-encoding",
                                                              "accept-language",
                                                              "accept-ranges",
                                                              "age",
                                                              "allow",
                                                              "authorization",
                                                              "cache-control",
                                                              "connection",
                                                              "content-base",
                                                              "content-encoding",
                                                              "content-language",
                                                              "content-length",
                                                              "content-location",
                                                              "content-md5",
                                                              "content-range",
                                                              "content-type",
                                                              "date",
                                                              "etag",
                                                              "expect",
                                                              "expires",
                                                              "from",
                                                              "host",
                                                              "if-match",
                                                              "if-modified-since",
                                                              "if-none-match",
                                                              "if-range",
                                                              "if-unmodified-since",
                                                              "last-modified",
                                                              "location",
                                                              "max-forwards",
                                                              "pragma",
                                                              "proxy-authenticate",
                                                              "proxy-authorization",
                                                              "range",
                                                              "referer",
                                                              "retry-after",
                                                              "server",
                                                              "te",
                                                              "trailer",
                                                              "transfer-encoding",
                                                              "upgrade",
                                                              "user-agent",
                                                              "vary",
                                                              "via",
                                                              "warning",
                                                              "www-authenticate",
                                                              "method",
                                                              "get",
                                                              "status",
                                                              "200 OK",
                                                              "version",
                                                              "HTTP/1.1",
                                                              "url",
                                                              "public",
                                                              "set-cookie",
                                                              "keep-alive",
                                                              "origin"};
  std::string dictionary;
  for (const std::string_view name : kNames) {
    AppendUint32(dictionary, static_cast<std::uint32_t>(name.size()));
    dictionary += name;
  }
  dictionary +=
      "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
      "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found"
      "500 Internal Server Error501 Not Implemented503 Service Unavailable"
      "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
      "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,public"
      "privatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
  return dictionary;
}

}  // namespace

std::string_view SpdyDictionary() {
  static const std::string dictionary = MakeDictionary();
  return dictionary;
}

struct SpdyDeflater::Impl {
  z_stream stream{};
};

SpdyDeflater::SpdyDeflater() : impl_(std::make_unique<Impl>()) {
  deflateInit(&impl_->stream, Z_DEFAULT_COMPRESSION);
  deflateSetDictionary(&impl_->stream, ZlibBytes(SpdyDictionary()), static_cast<uInt>(SpdyDictionary().size()));
}

SpdyDeflater::~SpdyDeflater() { deflateEnd(&impl_->stream); }

std::string SpdyDeflater::Compress(const HttpHeaders& headers) {
  // Several values of one name are one entry, with zero bytes between them.
  std::vector<HttpHeaders::Field> merged;
  for (const HttpHeaders::Field& field : headers) {
    const auto same =
        std::find_if(merged.begin(), merged.end(), [&field](const HttpHeaders::Field& other) { return other.first == field.first; });
    if (same == merged.end()) {
      merged.push_back(field);
    } else {
      same->second.append(1, '\0').append(field.second);
    }
  }
  std::string block;
  AppendUint32(block, static_cast<std::uint32_t>(merged.size()));
  for (const auto& [name, value] : merged) {
    AppendUint32(block, static_cast<std::uint32_t>(name.size()));
    block += name;
    AppendUint32(block, static_cast<std::uint32_t>(value.size()));
    block += value;
  }
  z_stream& stream = impl_->stream;
  stream.next_in = ZlibBytes(block);
  stream.avail_in = static_cast<uInt>(block.size());
  std::string out;
  std::array<char, 4096> part{};
  do {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    deflate(&stream, Z_SYNC_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  } while (stream.avail_out == 0);
  return out;
}

struct SpdyParser::Inflater {
  z_stream stream{};
};

SpdyParser::SpdyParser() : inflater_(std::make_unique<Inflater>()) { inflateInit(&inflater_->stream); }
SpdyParser::~SpdyParser() { inflateEnd(&inflater_->stream); }

Result<HttpHeaders> SpdyParser::ReadHeaders(std::string_view compressed) {
  z_stream& stream = inflater_->stream;
  stream.next_in = ZlibBytes(compressed);
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string block;
  std::array<char, 4096> part{};
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    const int result = inflate(&stream, Z_SYNC_FLUSH);
    block.append(part.data(), part.size() - stream.avail_out);
    if (block.size() > kMaxHeaderBlock) return Bad("the headers are too long");
    if (result == Z_NEED_DICT) {
      if (inflateSetDictionary(&stream, ZlibBytes(SpdyDictionary()), static_cast<uInt>(SpdyDictionary().size())) != Z_OK) {
        return Bad("the headers are compressed with another dictionary");
      }
      continue;
    }
    if (result == Z_BUF_ERROR) break;  // all input is used
    if (result != Z_OK) return Bad("the headers cannot be decompressed");
    if (stream.avail_in == 0 && stream.avail_out > 0) break;
  }
  std::string_view rest = block;
  const auto number = [&rest]() -> std::optional<std::uint32_t> {
    if (rest.size() < 4) return std::nullopt;
    const std::uint32_t value = ReadUint32(rest);
    rest.remove_prefix(4);
    return value;
  };
  const auto text = [&rest, &number]() -> std::optional<std::string_view> {
    const std::optional<std::uint32_t> size = number();
    if (!size || *size > rest.size()) return std::nullopt;
    const std::string_view value = rest.substr(0, *size);
    rest.remove_prefix(*size);
    return value;
  };
  const std::optional<std::uint32_t> count = number();
  if (!count || *count > kMaxHeaders) return Bad("the headers are cut off, or too many");
  HttpHeaders headers;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::optional<std::string_view> name = text();
    const std::optional<std::string_view> value = name ? text() : std::nullopt;
    if (!value) return Bad("the headers are cut off");
    std::string lower(*name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    std::string_view values = *value;
    while (true) {
      const std::size_t zero = values.find('\0');
      headers.Add(lower, std::string(values.substr(0, zero)));
      if (zero == std::string_view::npos) break;
      values.remove_prefix(zero + 1);
    }
  }
  return headers;
}

Result<std::optional<SpdyFrame>> SpdyParser::Next() {
  while (true) {
    const std::string_view input = std::string_view(input_).substr(used_);
    const std::uint32_t first = input.size() < kFrameHead ? 0 : ReadUint32(input);
    const std::uint32_t second = input.size() < kFrameHead ? 0 : ReadUint32(input.substr(4));
    const std::size_t size = second & 0xffffff;
    const bool control = (first & 0x80000000U) != 0;
    if (input.size() >= kFrameHead && control) {
      if ((first >> 16 & 0x7fff) != kVersion) return Bad("a frame of another version");
      if (size > kMaxControlFrame) return Bad("a control frame is too long");
    }
    if (input.size() < kFrameHead || input.size() < kFrameHead + size) {
      input_.erase(0, used_);
      used_ = 0;
      return std::optional<SpdyFrame>();
    }
    const std::string_view payload = input.substr(kFrameHead, size);
    used_ += kFrameHead + size;
    SpdyFrame frame;
    frame.fin = (second >> 24 & 1) != 0;
    if (!control) {
      frame.stream = first;
      if (frame.stream == 0) return Bad("data of no stream");
      frame.data = std::string(payload);
      return std::optional<SpdyFrame>(std::move(frame));
    }
    frame.type = static_cast<SpdyType>(first & 0xffff);
    std::size_t fixed = 0;  // bytes before the headers, or all
    switch (frame.type) {
      case SpdyType::kSynStream:
        fixed = 10;
        break;
      case SpdyType::kSynReply:
      case SpdyType::kHeaders:
      case SpdyType::kPing:
        fixed = 4;
        break;
      case SpdyType::kReset:
      case SpdyType::kGoAway:
      case SpdyType::kWindowUpdate:
        fixed = 8;
        break;
      case SpdyType::kSettings:
        break;
      default:
        continue;  // the protocol says: ignore what is unknown
    }
    if (payload.size() < fixed) return Bad("a control frame is too short");
    if (fixed >= 4) frame.stream = ReadUint32(payload) & 0x7fffffffU;
    if (frame.type == SpdyType::kPing) frame.stream = ReadUint32(payload);
    if (fixed == 8) frame.status = ReadUint32(payload.substr(4));
    if (frame.type == SpdyType::kSynStream || frame.type == SpdyType::kSynReply || frame.type == SpdyType::kHeaders) {
      if (frame.stream == 0) return Bad("headers of no stream");
      Result<HttpHeaders> headers = ReadHeaders(payload.substr(fixed));
      if (!headers) return headers.error();
      frame.headers = *std::move(headers);
    }
    return std::optional<SpdyFrame>(std::move(frame));
  }
}

std::string EncodeSpdyFrame(const SpdyFrame& frame, SpdyDeflater& deflater) {
  if (frame.type == SpdyType::kData) return EncodeSpdyData(frame.stream, frame.data, frame.fin);
  std::string payload;
  if (frame.type != SpdyType::kSettings) AppendUint32(payload, frame.stream);
  switch (frame.type) {
    case SpdyType::kSynStream:
      AppendUint32(payload, 0);  // belongs to no other stream
      payload.append(2, '\0');   // priority and slot
      payload += deflater.Compress(frame.headers);
      break;
    case SpdyType::kSynReply:
    case SpdyType::kHeaders:
      payload += deflater.Compress(frame.headers);
      break;
    case SpdyType::kReset:
    case SpdyType::kGoAway:
    case SpdyType::kWindowUpdate:
      AppendUint32(payload, frame.status);
      break;
    case SpdyType::kSettings:
      AppendUint32(payload, 0);
      break;
    default:
      break;
  }
  std::string out;
  AppendUint32(out, 0x80000000U | static_cast<std::uint32_t>(kVersion) << 16 | static_cast<std::uint32_t>(frame.type));
  AppendUint32(out, (frame.fin ? 0x01000000U : 0U) | static_cast<std::uint32_t>(payload.size()));
  return out += payload;
}

std::string EncodeSpdyData(std::uint32_t stream, std::string_view data, bool fin) {
  std::string out;
  out.reserve(data.size() + kFrameHead);
  do {
    const std::size_t part = std::min(data.size(), kMaxFrame);
    AppendUint32(out, stream);
    AppendUint32(out, (fin && part == data.size() ? 0x01000000U : 0U) | static_cast<std::uint32_t>(part));
    out += data.substr(0, part);
    data.remove_prefix(part);
  } while (!data.empty());
  return out;
}

}  // namespace kube::internal
