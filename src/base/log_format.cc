// The two line formats of log.h.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include "base/unsafe_text.h"
#include "kube/base/log.h"

namespace kube {
namespace {

using internal::DecodeUtf8;
using internal::IsUnsafe;
using Buffer = fmt::memory_buffer;

void Append(Buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

enum class Style { kText, kJson };

void AppendQuoted(Buffer& out, std::string_view text, Style style) {
  out.push_back('"');
  while (!text.empty()) {
    char32_t c = 0;
    const std::size_t length = DecodeUtf8(text, c);
    if (length == 0) {
      if (style == Style::kJson) {
        Append(out, "\\ufffd");
      } else {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
      }
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(static_cast<char>(c));
    } else if (c == '\n') {
      Append(out, "\\n");
    } else if (c == '\t') {
      Append(out, "\\t");
    } else if (c == '\r') {
      Append(out, "\\r");
    } else if (IsUnsafe(c)) {
      if (style == Style::kText && c < 0x80) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned>(c));
      } else {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
      }
    } else {
      Append(out, text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  out.push_back('"');
}

// Seconds, as short as possible and exact: "0.8s", "120s".
std::string FormatDuration(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  const std::uint64_t magnitude = count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  std::string text = fmt::format("{}{}.{:09}", count < 0 ? "-" : "", magnitude / 1'000'000'000, magnitude % 1'000'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "s";
}

class ValueAppender {
 public:
  ValueAppender(Buffer& out, Style style) : out_(out), style_(style) {}

  void operator()(bool value) const { Append(out_, value ? "true" : "false"); }
  void operator()(std::int64_t value) const { fmt::format_to(std::back_inserter(out_), "{}", value); }
  void operator()(std::uint64_t value) const { fmt::format_to(std::back_inserter(out_), "{}", value); }
  void operator()(double value) const {
    // JSON has no infinities.
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(out_), "{}", value);
    } else {
      AppendQuoted(out_, fmt::format("{}", value), style_);
    }
  }
  void operator()(std::string_view value) const { AppendQuoted(out_, value, style_); }
  void operator()(const std::string& value) const { AppendQuoted(out_, value, style_); }
  void operator()(std::chrono::nanoseconds value) const { AppendQuoted(out_, FormatDuration(value), style_); }
  void operator()(const Error& value) const { AppendQuoted(out_, value.ToString(), style_); }
  void operator()(const LogValue::Strings& value) const {
    out_.push_back('[');
    for (const std::string& item : value) {
      if (&item != &value.front()) out_.push_back(',');
      AppendQuoted(out_, item, style_);
    }
    out_.push_back(']');
  }
  void operator()(LogValue::Redacted) const { AppendQuoted(out_, SecretString::kRedacted, style_); }

 private:
  Buffer& out_;
  Style style_;
};

std::string_view BaseName(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

bool IsPlainKey(std::string_view key) {
  if (key.empty()) return false;
  for (const char c : key) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
    if (!plain) return false;
  }
  return true;
}

// Keys that FormatJson writes itself.
bool IsReservedKey(std::string_view key) {
  static constexpr std::array<std::string_view, 8> kReserved = {"ts", "level", "v", "logger", "thread", "caller", "msg", "err"};
  for (const std::string_view reserved : kReserved) {
    if (key == reserved) return true;
  }
  return false;
}

struct SplitTime {
  std::tm utc;
  std::int64_t micros;
};

SplitTime Split(Clock::WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds);
  return {fmt::gmtime(seconds.time_since_epoch().count()), micros.count()};
}

}  // namespace

std::string FormatKlog(const LogRecord& record) {
  Buffer out;
  constexpr std::string_view kLetters = "EWI";
  const SplitTime time = Split(record.time);
  fmt::format_to(std::back_inserter(out), "{}{:%m%d %H:%M:%S}.{:06} {:7} {}:{}] ", kLetters[static_cast<std::size_t>(record.level)],
                 time.utc, time.micros, record.thread_id, BaseName(record.location.file), record.location.line);
  AppendQuoted(out, record.message, Style::kText);
  const ValueAppender value(out, Style::kText);
  const auto pair = [&](std::string_view key) {
    out.push_back(' ');
    if (IsPlainKey(key)) {
      Append(out, key);
    } else {
      AppendQuoted(out, key, Style::kText);
    }
    out.push_back('=');
  };
  if (!record.component.empty()) {
    pair("logger");
    value(record.component);
  }
  if (record.error != nullptr) {
    pair("err");
    value(*record.error);
  }
  for (const LogField& field : record.fields) {
    pair(field.key);
    std::visit(value, field.value.variant());
  }
  return fmt::to_string(out);
}

std::string FormatJson(const LogRecord& record) {
  Buffer out;
  const SplitTime time = Split(record.time);
  fmt::format_to(std::back_inserter(out), R"({{"ts":"{:%Y-%m-%dT%H:%M:%S}.{:06}Z","level":"{}","v":{})", time.utc, time.micros,
                 ToString(record.level), record.verbosity);
  const ValueAppender value(out, Style::kJson);
  if (!record.component.empty()) {
    Append(out, R"(,"logger":)");
    value(record.component);
  }
  fmt::format_to(std::back_inserter(out), R"(,"thread":{},"caller":)", record.thread_id);
  value(fmt::format("{}:{}", BaseName(record.location.file), record.location.line));
  Append(out, R"(,"msg":)");
  value(record.message);
  if (record.error != nullptr) {
    Append(out, R"(,"err":)");
    value(*record.error);
  }
  for (const LogField& field : record.fields) {
    out.push_back(',');
    // A line with one key twice would lose one of the two in most readers.
    AppendQuoted(out, IsReservedKey(field.key) ? std::string(field.key) + "_" : std::string(field.key), Style::kJson);
    out.push_back(':');
    std::visit(value, field.value.variant());
  }
  out.push_back('}');
  return fmt::to_string(out);
}

}  // namespace kube
