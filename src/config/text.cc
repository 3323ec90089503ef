#include "config/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>

namespace kube::internal {
namespace {

constexpr std::size_t kMaxQuoted = 200;
constexpr std::size_t kMaxListed = 20;
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The code point at `at`, and past it; false if the bytes are no UTF-8.
bool NextCodePoint(std::string_view text, std::size_t& at, char32_t& out) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) {
    out = first;
    ++at;
    return true;
  }
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  static constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xc2 || first > 0xf4 || text.size() - at < size) return false;
  char32_t code = first & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return false;
    code = code << 6 | (byte(at + i) & 0x3fu);
  }
  if (code < kSmallest[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
  out = code;
  at += size;
  return true;
}

struct Range {
  char32_t low, high;
};

// Controls, format characters and private ones: Unicode's "Other", as far as assigned.
constexpr Range kNotPrintable[] = {
    {0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},
    {0x200b, 0x200f},   {0x202a, 0x202e},   {0x2060, 0x2064},   {0x2066, 0x206f},   {0xe000, 0xf8ff},
    {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0001, 0xe0001}, {0xe0020, 0xe007f}, {0xf0000, 0x10ffff},
};

bool Printable(char32_t code) {
  return std::none_of(std::begin(kNotPrintable), std::end(kNotPrintable), [&](Range r) { return r.low <= code && code <= r.high; });
}

}  // namespace

std::string CleanText(std::string_view text, bool keep_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    char32_t code = 0;
    if (!NextCodePoint(text, at, code)) {
      out += kReplacement;
      ++at;
    } else if (Printable(code) || (keep_space && code >= 0x9 && code <= 0xd)) {
      out += text.substr(start, at - start);
    } else {
      out += fmt::format("U+{:04X}", static_cast<std::uint32_t>(code));
    }
  }
  return out;
}

std::string Quoted(std::string_view text) {
  if (text.size() <= kMaxQuoted) return "\"" + CleanText(text) + "\"";
  std::size_t end = kMaxQuoted;  // not within a character
  while (end > kMaxQuoted - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return "\"" + CleanText(text.substr(0, end)) + "...\"";
}

std::string QuotedList(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMaxListed; ++i) {
    if (i != 0) out += ", ";
    out += Quoted(names[i]);
  }
  if (names.size() > kMaxListed) out += fmt::format(" and {} more", names.size() - kMaxListed);
  return out;
}

bool IsUtf8(std::string_view text) {
  char32_t code = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!NextCodePoint(text, at, code)) return false;
  }
  return true;
}

std::string WithoutUserInfo(std::string_view url) {
  const std::size_t mark = url.find("://");
  const std::size_t start = mark == std::string_view::npos ? 0 : mark + 3;
  const std::string_view authority = url.substr(start, url.find_first_of("/?#", start) - start);
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return std::string(url);
  return std::string(url.substr(0, start)) + "[redacted]" + std::string(url.substr(start + at));
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string Joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += separator;
    out += parts[i];
  }
  return out;
}

Result<UrlParts> ParseUrl(std::string_view url) {
  const auto wrong = [](std::string what) { return Error(ErrorKind::kConfig, std::move(what)); };
  for (char c : url) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '"' || c == '<' || c == '>' || c == '\\' || c == '^' || c == '`' || c == '{' || c == '|' ||
        c == '}') {
      return wrong("a space or another character that a URL cannot have");
    }
  }
  const std::size_t mark = url.find("://");
  if (mark == std::string_view::npos || mark == 0) return wrong("a URL without a scheme such as https://");
  UrlParts parts;
  for (char c : url.substr(0, mark)) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '+' && c != '-' && c != '.')
      return wrong("a URL without a scheme such as https://");
    parts.scheme += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  url = url.substr(mark + 3);
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t slash = url.find('/');
  parts.authority = url.substr(0, slash);
  if (slash != std::string_view::npos) parts.path = url.substr(slash);
  std::string_view rest = parts.authority;
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) rest = rest.substr(at + 1);
  bool has_port = false;
  if (!rest.empty() && rest.front() == '[') {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return wrong("an IPv6 address without its ']'");
    parts.host = rest.substr(1, end - 1);
    rest = rest.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return wrong("something behind the ']' of an IPv6 address that is no port");
    has_port = !rest.empty();
    if (has_port) rest = rest.substr(1);
  } else {
    const std::size_t colon = rest.find(':');
    parts.host = rest.substr(0, colon);
    has_port = colon != std::string_view::npos;
    if (has_port) rest = rest.substr(colon + 1);
    if (has_port && rest.find(':') != std::string_view::npos) return wrong("an IPv6 address needs brackets: https://[fd00::1]:6443");
  }
  if (parts.host.empty()) return wrong("a URL without a host");
  if (has_port && !rest.empty()) {
    int port = 0;
    for (char c : rest) port = c >= '0' && c <= '9' && port <= 0xffff ? port * 10 + (c - '0') : 0x10000;
    if (port < 1 || port > 0xffff) return wrong("a port that is not a number from 1 to 65535");
    parts.port = rest;
  }
  return parts;
}

std::string ProxyUrlProblem(std::string_view url) {
  Result<UrlParts> parts = ParseUrl(url);
  if (!parts) return parts.error().message();
  if (parts->scheme != "http" && parts->scheme != "https" && parts->scheme != "socks5")
    return "a scheme that is not known; use http, https or socks5";
  return {};
}

}  // namespace kube::internal
