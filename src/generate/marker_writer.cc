#include "generate/marker_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generate/marker_values.h"
#include "generate/markers.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

bool IsWordLike(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
}

// Whether the scanner takes `text` for this value, up to its end.
bool ReadsAs(const std::string& text, ArgumentType type, const Value& value) {
  MarkerScanner scanner(text);
  const Value read = scanner.Read(type);
  return scanner.error().empty() && scanner.AtEnd() && read.kind() == value.kind() && read == value;
}

bool HasInvisible(std::string_view text) {
  bool out = false;
  ForEachCodePoint(text, [&](std::uint32_t code, std::string_view) { out = out || code < 0x20 || IsInvisible(code); });
  return out;
}

std::string Escaped(std::string_view text) {
  std::string out = "\"";
  ForEachCodePoint(text, [&](std::uint32_t code, std::string_view bytes) {
    if (code == '"' || code == '\\') {
      out += '\\';
      out += bytes;
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (code < 0x20 || IsInvisible(code)) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += bytes;
    }
  });
  return out + '"';
}

std::string Quoted(std::string_view text) {
  const bool plain = text.find_first_of("\"\\") == std::string_view::npos;
  if (plain || text.find('`') != std::string_view::npos || HasInvisible(text)) return Escaped(text);
  return '`' + std::string(text) + '`';
}

// JSON without what must not stand in a comment: outside of strings JSON is ASCII, and in strings it has escapes.
std::string JsonLine(const Value& value) {
  std::string out;
  ForEachCodePoint(ToJson(value), [&](std::uint32_t code, std::string_view bytes) {
    if (IsInvisible(code)) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += bytes;
    }
  });
  return out;
}

std::string Text(std::string_view text, ArgumentType type) {
  const bool bare = !text.empty() && std::all_of(text.begin(), text.end(), IsWordLike);
  if (bare && ReadsAs(std::string(text), type, Value(text))) return std::string(text);
  return Quoted(text);
}

// One value, and as an item of a list a value that ends before a separator.
std::string Write(const Value& value, ArgumentType type) {
  switch (type) {
    case ArgumentType::kNone:
      return "";
    case ArgumentType::kString:
      return Text(value.string_value(), type);
    case ArgumentType::kStrings:
    case ArgumentType::kAnyList: {
      if (value.list().empty()) return "{}";
      std::string out;
      for (const Value& item : value.list()) {
        if (!out.empty()) out += ';';
        out += item.is_string() ? Text(item.string_value(), type == ArgumentType::kStrings ? ArgumentType::kString : ArgumentType::kAny)
                                : Write(item, ArgumentType::kJson);
      }
      return out;
    }
    case ArgumentType::kAny:
      if (value.is_string()) return Text(value.string_value(), type);
      return JsonLine(value);
    case ArgumentType::kInt:
    case ArgumentType::kNumber:
    case ArgumentType::kBool:
    case ArgumentType::kJson:
      return JsonLine(value);
  }
  return "";
}

}  // namespace

bool IsInvisible(std::uint32_t code) {
  return (code >= 0x7f && code < 0xa0) || code == 0xad || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

std::optional<std::string> WriteMarker(const Marker& marker) {
  const MarkerDefinition* definition = FindMarker(marker.name);
  if (definition == nullptr || definition->name.ends_with('*') || (marker.items && !definition->items)) return std::nullopt;
  std::string name = '+' + marker.name;
  if (marker.items) name.insert(name.rfind(':'), ":items");
  switch (definition->form) {
    case MarkerForm::kEmpty:
    case MarkerForm::kIgnored:
      return name;
    case MarkerForm::kValue: {
      const std::string text = Write(marker.value, definition->type);
      // Declarative validation takes # for the beginning of a remark.
      const bool remark = marker.name.starts_with("k8s:") && text.find('#') != std::string::npos;
      if (remark || !ReadsAs(text, definition->type, marker.value)) return std::nullopt;
      return name + '=' + text;
    }
    case MarkerForm::kNamed:
      break;
  }
  std::string arguments;
  std::size_t written = 0;
  for (const ArgumentDefinition& argument : definition->arguments) {
    const Value* value = marker.arguments.Find(argument.name);
    if (value == nullptr && argument.required) return std::nullopt;
    if (value == nullptr) continue;
    const std::string text = Write(*value, argument.type);
    if (!ReadsAs(text, argument.type, *value)) return std::nullopt;
    arguments += fmt::format("{}{}={}", written++ == 0 ? ":" : ",", argument.name, text);
  }
  if (written != marker.arguments.object().size()) return std::nullopt;
  return name + arguments;
}

}  // namespace kube::generate
