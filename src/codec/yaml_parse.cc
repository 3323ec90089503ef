// YAML text to Values. libyaml finds the events (its Go port is what Kubernetes itself reads YAML with); what they mean is decided here.
//
// Nothing is expanded in memory: an alias shares the Value that its anchor finished. Its size still counts against a budget, because
// writing the Value as JSON or decoding it would expand it.
#include <yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "codec/base64.h"
#include "codec/selection_node.h"
#include "codec/utf8.h"
#include "codec/yaml_lines.h"
#include "codec/yaml_scalar.h"
#include "kube/codec/yaml.h"

namespace kube {
namespace internal {
namespace {

// What all aliases of one text may add up to: bytes of text, and kNodeCost for each node.
constexpr std::size_t kAliasBudget = std::size_t{8} << 20;
constexpr std::size_t kNodeCost = 16;
constexpr std::size_t kMostDuplicates = 100;
constexpr std::size_t kMostPathSegments = 64;
constexpr std::size_t kMostShownBytes = 80;
constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";
constexpr std::string_view kStrictPrefix = "strict decoding error: ";

struct Position {
  std::size_t line = 0;    // from 0
  std::size_t column = 0;  // from 0, in characters
};

std::string Describe(Position p) { return "line " + std::to_string(p.line + 1) + ", column " + std::to_string(p.column + 1); }

// A piece of the user's text for a message.
std::string Quoted(std::string_view text) {
  if (text.size() <= kMostShownBytes) return '"' + std::string(text) + '"';
  std::size_t cut = kMostShownBytes;
  while ((static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  return '"' + std::string(text.substr(0, cut)) + "...\"";
}

// Owns a libyaml parser and its current event.
class Events {
 public:
  explicit Events(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    Drop();
    yaml_parser_delete(&parser_);
  }

  // False if the text is malformed.
  bool Next() {
    Drop();
    if (yaml_parser_parse(&parser_, &event_) != 0) {
      live_ = true;
      return true;
    }
    if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    return false;
  }
  const yaml_event_t& event() const { return event_; }
  Position position() const { return {event_.start_mark.line, event_.start_mark.column}; }

  std::string Problem(std::string_view text) const {
    std::string what = parser_.problem != nullptr ? parser_.problem : "malformed";
    if (parser_.error == YAML_READER_ERROR) {
      // Bytes that are no text: libyaml has not counted lines yet.
      std::string_view before = text.substr(0, parser_.problem_offset);
      Position p;
      p.line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
      std::string_view line = before.substr(before.rfind('\n') + 1);
      p.column = static_cast<std::size_t>(
          std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
      return Describe(p) + ": " + what;
    }
    std::string out = Describe({parser_.problem_mark.line, parser_.problem_mark.column}) + ": " + what;
    if (parser_.context != nullptr) {
      out += std::string(" (") + parser_.context;
      if (parser_.error == YAML_PARSER_ERROR || parser_.context_mark.line != parser_.problem_mark.line) {
        out += " from " + Describe({parser_.context_mark.line, parser_.context_mark.column});
      }
      out += ')';
    }
    return out;
  }

 private:
  yaml_parser_t parser_;
  yaml_event_t event_;
  bool live_ = false;

  void Drop() {
    if (live_) yaml_event_delete(&event_);
    live_ = false;
  }
};

std::string_view Text(const yaml_char_t* text) { return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text); }

// A node that is complete.
struct Node {
  Value value;
  std::size_t cost = kNodeCost;
  int height = 0;             // levels below it; 0 for a scalar
  std::optional<double> key;  // what a float was in the text: as a member name it is spelled differently
  bool too_large_for_key = false;
};

class YamlReader {
 public:
  // `lines`: where the members of each document's top-level object are.
  explicit YamlReader(std::string_view text, std::vector<YamlMemberLine>* lines = nullptr) : text_(text), events_(text), lines_(lines) {}

  Result<std::vector<YamlDocument>> Run() {
    for (;;) {
      if (!events_.Next()) return Error::Decode(events_.Problem(text_));
      if (events_.event().type == YAML_STREAM_END_EVENT) return std::move(documents_);
      if (!Handle()) return Error::Decode(std::move(error_));
    }
  }

 private:
  struct Member {
    String key;
    Value value;
    Position position;
  };
  struct Anchor {
    Node node;
    bool complete = false;
  };
  // A list or an object that is being read.
  struct Frame {
    bool is_object = false;
    bool has_key = false;
    bool merging = false;  // the key is `<<`
    String key;
    Position key_position;
    List<Value> items;
    std::vector<Member> members;
    std::size_t cost = kNodeCost;
    int height = 0;
    std::optional<std::size_t> anchor;
  };

  const std::string_view text_;
  Events events_;
  std::vector<YamlMemberLine>* const lines_;
  std::vector<YamlDocument> documents_;
  YamlDocument document_;
  std::vector<Frame> frames_;
  std::vector<Anchor> anchors_;
  std::unordered_map<std::string, std::size_t, KeyedHash> anchor_names_;
  std::size_t alias_cost_ = 0;
  bool empty_document_ = false;
  std::string error_;

  bool Fail(std::string message) { return FailAt(events_.position(), std::move(message)); }
  bool FailAt(Position p, std::string message) {
    error_ = Describe(p) + ": " + std::move(message);
    return false;
  }

  bool Handle() {
    const yaml_event_t& e = events_.event();
    switch (e.type) {
      case YAML_DOCUMENT_START_EVENT:
        document_ = YamlDocument{.line = static_cast<int>(events_.position().line) + 1};
        anchors_.clear();
        anchor_names_.clear();
        empty_document_ = false;
        return true;
      case YAML_DOCUMENT_END_EVENT:
        if (!empty_document_) documents_.push_back(std::move(document_));
        return true;
      case YAML_ALIAS_EVENT:
        return Alias(Text(e.data.alias.anchor));
      case YAML_SCALAR_EVENT:
        return Scalar();
      case YAML_SEQUENCE_START_EVENT:
        return Begin(false, Text(e.data.sequence_start.anchor));
      case YAML_MAPPING_START_EVENT:
        return Begin(true, Text(e.data.mapping_start.anchor));
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return End();
      default:
        return true;
    }
  }

  // ---- Anchors ----

  std::size_t NewAnchor(std::string_view name) {
    anchors_.emplace_back();
    anchor_names_[std::string(name)] = anchors_.size() - 1;  // a later anchor of the same name replaces it
    return anchors_.size() - 1;
  }
  bool Alias(std::string_view name) {
    auto found = anchor_names_.find(std::string(name));
    if (found == anchor_names_.end()) return Fail("unknown anchor " + Quoted(name));
    const Anchor& anchor = anchors_[found->second];
    if (!anchor.complete) return Fail("the value of anchor " + Quoted(name) + " contains itself");
    alias_cost_ += anchor.node.cost;
    if (alias_cost_ > kAliasBudget) return Fail("the aliases of this text expand to too much data");
    if (static_cast<int>(frames_.size()) + anchor.node.height >= kMaxDecodeDepth) return Fail("nested too deep");
    return Deliver(Node(anchor.node), true);
  }

  // ---- Scalars ----

  bool Scalar() {
    const auto& s = events_.event().data.scalar;
    std::string_view text(reinterpret_cast<const char*>(s.value), s.length);
    std::string_view tag = Text(s.tag);
    bool plain = s.plain_implicit != 0;
    if (static_cast<int>(frames_.size()) >= kMaxDecodeDepth) return Fail("nested too deep");
    if (frames_.empty()) {
      empty_document_ = s.length == 0 && s.style == YAML_PLAIN_SCALAR_STYLE && tag.empty() && s.anchor == nullptr;
    }
    if (text == "<<" && (plain || tag == "tag:yaml.org,2002:merge") && !frames_.empty() && frames_.back().is_object &&
        !frames_.back().has_key) {
      frames_.back().has_key = true;
      frames_.back().merging = true;
      frames_.back().key_position = events_.position();
      return true;
    }
    Node node;
    if (!Resolve(text, tag, plain, node)) return false;
    if (s.anchor != nullptr) {
      Anchor& anchor = anchors_[NewAnchor(Text(s.anchor))];
      anchor.node = node;
      anchor.complete = true;
    }
    return Deliver(std::move(node), false);
  }

  bool Resolve(std::string_view text, std::string_view tag, bool plain, Node& out) {
    if (tag.empty() ? !plain : !StartsWith(tag, kTagPrefix)) return SetString(text, out);  // quoted, or a tag of the user's own
    std::string_view type = tag.empty() ? tag : tag.substr(kTagPrefix.size());
    if (type == "binary") return Binary(text, out);
    bool typed = type == "int" || type == "float" || type == "bool" || type == "null";
    if (!tag.empty() && !typed) return SetString(text, out);  // !!str, !!timestamp, and tags that mean nothing here

    YamlScalar s = ResolveYamlScalar(text);
    using Type = YamlScalar::Type;
    std::string_view is;
    switch (s.type) {
      case Type::kString:
        is = "str";
        SetString(text, out);
        break;
      case Type::kNull:
        is = "null";
        break;
      case Type::kBool:
        is = "bool";
        out.value = Value(s.boolean);
        break;
      case Type::kInt:
        is = type == "float" ? type : "int";
        out.value = type == "float" ? Number(static_cast<double>(s.integer)) : Value(s.integer);
        if (type == "float") out.key = static_cast<double>(s.integer);
        break;
      case Type::kUnsigned:
        is = "int";
        out.value = Value(static_cast<double>(s.natural));
        out.too_large_for_key = true;
        break;
      case Type::kFloat:
        is = "float";
        out.key = s.number;
        out.value = Number(s.number);
        break;
    }
    if (typed && is != type) return Fail("cannot read " + Quoted(text) + " as !!" + std::string(type));
    return true;
  }

  static bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

  bool SetString(std::string_view text, Node& out) {
    out.value = Value(text);
    out.cost += text.size();
    return true;
  }

  // Whole numbers are integers if they fit, as they are once Go has written them as JSON: in the fewest digits, filled up with zeros.
  static Value Number(double d) {
    if (d != std::floor(d) || std::abs(d) >= 0x1p63) return Value(d);
    std::array<char, 32> buffer{};
    auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d, std::chars_format::scientific).ptr;
    std::string text(buffer.data(), end);
    std::size_t e = text.find('e');
    std::size_t zeros = std::stoul(text.substr(e + 2));
    text.resize(e);
    if (std::size_t point = text.find('.'); point != std::string::npos) {
      zeros -= text.size() - point - 1;
      text.erase(point, 1);
    }
    text.append(zeros, '0');
    std::int64_t n = 0;
    auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    return ec == std::errc() ? Value(n) : Value(d);
  }

  bool Binary(std::string_view text, Node& out) {
    std::string bytes;
    if (!DecodeBase64(text, bytes)) return Fail("a !!binary value that is not base64");
    if (!ValidUtf8(bytes)) return Fail("a !!binary value that is not text: write the base64 text as a plain string instead");
    return SetString(bytes, out);
  }

  // The JSON reader checks it anyway, and fast.

  // ---- Lists and objects ----

  bool Begin(bool is_object, std::string_view anchor) {
    if (static_cast<int>(frames_.size()) >= kMaxDecodeDepth) return Fail("nested too deep");
    Frame frame;
    frame.is_object = is_object;
    if (!anchor.empty()) frame.anchor = NewAnchor(anchor);
    frames_.push_back(std::move(frame));
    return true;
  }

  bool End() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    Node node;
    node.cost = frame.cost;
    node.height = frame.height;
    node.value = frame.is_object ? Value(Collect(frame)) : Value(std::move(frame.items));
    if (frame.anchor) {
      anchors_[*frame.anchor].node = node;
      anchors_[*frame.anchor].complete = true;
    }
    return Deliver(std::move(node), false);
  }

  // If several members have the same name, the last one stays.
  Map<Value> Collect(Frame& frame) {
    auto& members = frame.members;
    auto less = [](const Member& a, const Member& b) { return a.key < b.key; };
    if (!std::is_sorted(members.begin(), members.end(), less)) std::stable_sort(members.begin(), members.end(), less);
    Map<Value> map;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i + 1 < members.size() && members[i].key == members[i + 1].key) {
        if (document_.duplicates.size() < kMostDuplicates) {
          document_.duplicates.push_back('"' + PathTo(members[i].key.view()) + "\" (" + Describe(members[i + 1].position) + ')');
        }
        continue;
      }
      if (lines_ != nullptr && frames_.empty()) lines_->push_back({members[i].key.str(), static_cast<int>(members[i].position.line) + 1});
      map.Append(std::move(members[i].key), std::move(members[i].value));
    }
    return map;
  }

  // Where a member of the object that has just left frames_ is.
  std::string PathTo(std::string_view name) const {
    std::string path;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      if (frames_.size() > kMostPathSegments && i == kMostPathSegments / 2) {
        path += "...";
        i = frames_.size() - kMostPathSegments / 2;
      }
      const Frame& f = frames_[i];
      if (f.is_object) {
        if (!path.empty()) path += '.';
        path += f.merging ? "<<" : f.key.view().substr(0, kMostShownBytes);
      } else {
        path += '[' + std::to_string(f.items.size()) + ']';
      }
    }
    if (!path.empty()) path += '.';
    return path + std::string(name.substr(0, kMostShownBytes));
  }

  // Puts a complete node where it belongs.
  bool Deliver(Node node, bool by_alias) {
    bool is_name = !frames_.empty() && frames_.back().is_object && !frames_.back().has_key;
    if (node.key && !std::isfinite(*node.key) && !is_name) return Fail("JSON has no number for infinity or not-a-number");
    if (frames_.empty()) {
      document_.value = std::move(node.value);
      return true;
    }
    Frame& frame = frames_.back();
    frame.cost += node.cost;
    frame.height = std::max(frame.height, node.height + 1);
    if (!frame.is_object) {
      frame.items.push_back(std::move(node.value));
      return true;
    }
    if (is_name) {
      frame.has_key = true;
      frame.key_position = events_.position();
      return MemberName(node, frame.key);
    }
    frame.has_key = false;
    if (std::exchange(frame.merging, false)) return Merge(frame, node.value, by_alias);
    frame.members.push_back({std::move(frame.key), std::move(node.value), frame.key_position});
    return true;
  }

  bool MemberName(const Node& node, String& out) {
    if (node.too_large_for_key) return Fail("a member name that is a very large integer must be quoted");
    if (node.key) {
      out = String(FormatYamlFloatKey(*node.key));
      return true;
    }
    switch (node.value.kind()) {
      case Value::Kind::kString:
        out = node.value.string_value();
        return true;
      case Value::Kind::kBool:
        out = node.value.bool_value() ? "true" : "false";
        return true;
      case Value::Kind::kInt:
        out = String(std::to_string(node.value.int_value()));
        return true;
      default:
        return Fail("a member name must be a string, not " + std::string(node.value.is_null() ? "null" : node.value.kind_name()));
    }
  }

  // Members of merged objects count as if they stood in the place of `<<`; of several objects the first wins.
  bool Merge(Frame& frame, const Value& value, bool by_alias) {
    constexpr const char* kWrong = "<< needs an object or a list of objects";
    auto add = [&](const Value& from) {
      for (const auto& [key, member] : from.object()) frame.members.push_back({key, member, frame.key_position});
    };
    if (value.is_object()) {
      add(value);
      return true;
    }
    if (!value.is_list() || by_alias) return FailAt(frame.key_position, kWrong);
    const List<Value>& list = value.list();
    for (std::size_t i = list.size(); i-- > 0;) {
      if (!list[i].is_object()) return FailAt(frame.key_position, kWrong);
      add(list[i]);
    }
    return true;
  }
};

// JSON in the first place of a text: how its numbers, escapes and long names are read is for the JSON reader to say.
std::optional<YamlDocument> TryJson(std::string_view text) {
  std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || (text[start] != '{' && text[start] != '[')) return std::nullopt;
  Result<Value> json = ParseJson(text, {.strict = true});
  if (!json) return std::nullopt;
  std::string_view before = text.substr(0, start);
  return YamlDocument{.value = *std::move(json), .line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1};
}

// Drops a byte order mark.
Result<void> CheckText(std::string_view& text) {
  if (text.size() > kMaxYamlBytes) {
    return Error::Decode("a YAML text of " + std::to_string(text.size()) + " bytes; the limit is " + std::to_string(kMaxYamlBytes));
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  return {};
}

}  // namespace

Result<std::vector<YamlDocument>> ReadYamlWithLines(std::string_view text, std::vector<YamlMemberLine>& lines) {
  if (Result<void> good = CheckText(text); !good) return good.error();
  return YamlReader(text, &lines).Run();
}

}  // namespace internal

Result<std::vector<YamlDocument>> ReadYaml(std::string_view text) {
  if (Result<void> good = internal::CheckText(text); !good) return good.error();
  if (auto json = internal::TryJson(text)) {
    std::vector<YamlDocument> one;
    one.push_back(std::move(*json));
    return one;
  }
  return internal::YamlReader(text).Run();
}

namespace {

// `more`: an error of the JSON engine; strict ones are joined to the duplicates.
Error StrictError(const std::vector<std::string>& duplicates, const Error* more) {
  std::string all(internal::kStrictPrefix);
  for (std::size_t i = 0; i < duplicates.size(); ++i) all += (i == 0 ? "duplicate field " : ", duplicate field ") + duplicates[i];
  if (more != nullptr) {
    std::string_view message = more->message();
    if (message.substr(0, internal::kStrictPrefix.size()) != internal::kStrictPrefix) return *more;
    all += ", ";
    all += message.substr(internal::kStrictPrefix.size());
  }
  return Error::Decode(std::move(all));
}

}  // namespace

Result<std::vector<Value>> ParseYaml(std::string_view text, const DecodeOptions& options) {
  Result<std::vector<YamlDocument>> documents = ReadYaml(text);
  if (!documents) return documents.error();
  std::vector<Value> values;
  values.reserve(documents->size());
  for (YamlDocument& document : *documents) {
    if (options.strict && !document.duplicates.empty()) return StrictError(document.duplicates, nullptr);
    if (options.fields != nullptr && !options.fields->everything())
      internal::ApplySelection(*internal::SelectionAccess::RootOf(*options.fields), document.value);
    values.push_back(std::move(document.value));
  }
  return values;
}

Result<void> DecodeYaml(const TypeInfo& type, void* object, std::string_view text, const DecodeOptions& options) {
  Result<std::vector<YamlDocument>> documents = ReadYaml(text);
  if (!documents) return documents.error();
  if (documents->size() != 1) {
    return Error::Decode(documents->empty() ? std::string("the YAML text has no document")
                                            : "the YAML text has " + std::to_string(documents->size()) + " documents, expected one");
  }
  const YamlDocument& document = documents->front();
  Result<void> decoded = DecodeValue(type, object, document.value, options);
  if (options.strict && !document.duplicates.empty()) return StrictError(document.duplicates, decoded ? nullptr : &decoded.error());
  return decoded;
}

}  // namespace kube
