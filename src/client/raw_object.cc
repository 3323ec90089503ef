#include "client/raw_object.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "client/object_codec.h"
#include "codec/utf8.h"
#include "codec/wire.h"
#include "kube/codec/json.h"
#include "kube/codec/options.h"
#include "kube/codec/protobuf.h"

namespace kube::internal {
namespace {

constexpr std::size_t kMostErrorBytes = 512;
// Longer ones are no names: the server's limits are 253 and 63.
constexpr std::size_t kMostNameBytes = 512;
constexpr std::size_t kMostUidBytes = 128;
constexpr std::size_t kMostVersionBytes = 64;

// JSON text by its quotes and brackets alone.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : p_(text.data()), end_(text.data() + text.size()) {}

  char Peek() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
    return p_ == end_ ? '\0' : *p_;
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++p_;
    return true;
  }
  // Over a value of any kind. False if it does not end.
  bool Value(std::string_view& span) {
    const char first = Peek();
    const char* const begin = p_;
    if (first == '"') {
      if (!Text()) return false;
    } else if (first == '{' || first == '[') {
      std::size_t depth = 0;
      do {
        if (p_ == end_) return false;
        const char c = *p_;
        if (c == '"') {
          if (!Text()) return false;
          continue;
        }
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        ++p_;
      } while (depth > 0);
    } else {
      constexpr std::string_view kEnds = ",:]}[{\" \n\r\t";
      while (p_ != end_ && kEnds.find(*p_) == std::string_view::npos) ++p_;
      if (p_ == begin) return false;
    }
    span = {begin, static_cast<std::size_t>(p_ - begin)};
    return true;
  }
  // The members of the object here, as f(name, value): both as they stand in the text. False if the object does not end; what came
  // before was given to f.
  template <typename F>
  bool Members(F f) {
    if (!Take('{')) return false;
    if (Take('}')) return true;
    for (;;) {
      std::string_view name, value;
      if (Peek() != '"' || !Value(name) || !Take(':') || !Value(value)) return false;
      f(name, value);
      if (Take('}')) return true;
      if (!Take(',')) return false;
    }
  }
  // The same for a list.
  template <typename F>
  bool Elements(F f) {
    if (!Take('[')) return false;
    if (Take(']')) return true;
    for (;;) {
      std::string_view value;
      if (!Value(value)) return false;
      f(value);
      if (Take(']')) return true;
      if (!Take(',')) return false;
    }
  }

 private:
  const char* p_;
  const char* const end_;

  // From quote to quote.
  bool Text() {
    for (++p_; p_ != end_; ++p_) {
      if (*p_ == '"') {
        ++p_;
        return true;
      }
      if (*p_ == '\\' && ++p_ == end_) return false;
    }
    return false;
  }
};

// The text of a JSON string; null is none. False for anything else.
bool ReadText(std::string_view token, std::size_t most, String& out) {
  out = {};
  if (token == "null") return true;
  if (token.size() > 6 * most + 2 || !token.starts_with('"')) return false;
  const Result<Value> text = ParseJson(token);
  if (text) out = text->string_value();
  return text.ok();
}

bool IsName(std::string_view text, std::size_t most) {
  return text.size() <= most && ValidUtf8(text) &&
         std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '/'; });
}

// Only what can be true is kept. `whole`: all of the metadata was read. What is left of half of them may be another object's key.
UndecodableObject Checked(UndecodableObject object, bool whole, const Error& why) {
  if (!whole || !IsName(object.key.ns.view(), kMostNameBytes)) object.key = {};
  if (!IsName(object.key.name.view(), kMostNameBytes)) object.key.name = {};
  if (!whole || !IsName(object.uid.view(), kMostUidBytes)) object.uid = {};
  if (!whole || !IsName(object.resource_version.view(), kMostVersionBytes)) object.resource_version = {};
  object.error = OneLine(why);
  return object;
}

// Of ObjectMeta. False if it ends early, or has a namespace that is none.
bool ReadMetadata(std::string_view metadata, UndecodableObject& out) {
  for (WireReader r(metadata); !r.AtEnd();) {
    std::uint32_t number = 0;
    Wire wire{};
    std::string_view text;
    if (!r.Tag(number, wire)) return false;
    if (wire != Wire::kBytes) {
      if (number == 1 || number == 3 || !r.Skip(number, wire, kMaxDecodeDepth)) return false;
      continue;
    }
    if (!r.Bytes(text)) return false;
    if (number == 1) out.key.name = String(text.substr(0, kMostNameBytes + 1));
    if (number == 3) out.key.ns = String(text.substr(0, kMostNameBytes + 1));
    if (number == 5) out.uid = String(text.substr(0, kMostUidBytes + 1));
    if (number == 6) out.resource_version = String(text.substr(0, kMostVersionBytes + 1));
  }
  return true;
}

}  // namespace

bool SplitJsonList(std::string_view text, RawList& out) {
  JsonScanner scanner(text);
  std::optional<std::string_view> items;
  bool twice = false;
  const bool whole = scanner.Members([&](std::string_view name, std::string_view value) {
    if (name != "\"items\"") return;
    twice = twice || items;
    items = value;
  });
  if (!whole || twice || !items || scanner.Peek() != '\0') return false;
  if (!JsonScanner(*items).Elements([&](std::string_view item) { out.items.push_back(item); })) return false;
  const auto before = static_cast<std::size_t>(items->data() - text.data());
  out.head = std::string(text.substr(0, before)) + "[]" + std::string(text.substr(before + items->size()));
  return true;
}

bool SplitProtobufList(std::string_view message, RawList& out) {
  for (WireReader r(message); !r.AtEnd();) {
    const char* const start = r.at;
    std::uint32_t number = 0;
    Wire wire{};
    std::string_view part;
    if (!r.Tag(number, wire)) return false;
    if (number == 2 && wire == Wire::kBytes) {
      if (!r.Bytes(part)) return false;
      out.items.push_back(part);
    } else {
      if (!r.Skip(number, wire, kMaxDecodeDepth)) return false;
      out.head.append(start, r.at);
    }
  }
  return true;
}

UndecodableObject IdentifyJson(std::string_view object, const Error& why) {
  std::string_view metadata;
  (void)JsonScanner(object).Members([&](std::string_view name, std::string_view value) {
    if (name == "\"metadata\"") metadata = value;
  });
  UndecodableObject out;
  bool readable = true;
  const bool whole = JsonScanner(metadata).Members([&](std::string_view name, std::string_view value) {
    // No server writes its field names with escapes: a name that has one may hide one of these.
    if (name.find('\\') != std::string_view::npos) readable = false;
    if (name == "\"name\"") (void)ReadText(value, kMostNameBytes, out.key.name);
    if (name == "\"namespace\"") readable = ReadText(value, kMostNameBytes, out.key.ns) && readable;
    if (name == "\"uid\"") (void)ReadText(value, kMostUidBytes, out.uid);
    if (name == "\"resourceVersion\"") (void)ReadText(value, kMostVersionBytes, out.resource_version);
  });
  return Checked(std::move(out), whole && readable, why);
}

UndecodableObject IdentifyProtobuf(std::string_view object, const Error& why) {
  if (HasProtobufEnvelope(object)) {
    const Result<ProtobufEnvelope> envelope = ParseProtobufEnvelope(object);
    if (!envelope) return Checked({}, false, why);
    if (envelope->content_type == kJsonType) return IdentifyJson(envelope->raw, why);
    object = envelope->raw;
  }
  UndecodableObject out;
  bool whole = true;
  std::uint32_t number = 0;
  Wire wire{};
  for (WireReader r(object); !r.AtEnd() && r.Tag(number, wire);) {
    if (number != 1 || wire != Wire::kBytes) {
      if (!r.Skip(number, wire, kMaxDecodeDepth)) break;
      continue;
    }
    std::string_view metadata;
    whole = whole && r.Bytes(metadata) && ReadMetadata(metadata, out);
    if (!whole) break;
  }
  return Checked(std::move(out), whole, why);
}

std::string OneLine(const Error& why) {
  std::string text = why.message();
  if (text.size() > kMostErrorBytes) {
    std::size_t end = kMostErrorBytes - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // no half character
    text.resize(end);
    text += "...";
  }
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

Error UndecodableError(const UndecodableObject& object) {
  const std::string what = object.named() ? object.key.ToString() : "an object without a name that could be read";
  return Error(Error::Payload{.kind = ErrorKind::kDecode,
                              .reason = std::string(kUndecodableReason),
                              .message = what + " cannot be decoded: " + object.error,
                              .name = object.key.name.str()});
}

}  // namespace kube::internal
