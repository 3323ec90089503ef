// The string formats that a CRD's schema may ask for, and patterns.
#include <arpa/inet.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "apiserver/json_schema.h"
#include "kube/value/time.h"

namespace kube::apiserver {

struct Pattern::Impl {
  re2::RE2 re;
  Impl(std::string_view text, const re2::RE2::Options& options) : re(re2::StringPiece(text.data(), text.size()), options) {}
};

namespace {

// Go's words for RE2's errors.
std::string_view GoWords(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass:
      return "invalid character class";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character class range";
    case re2::RE2::ErrorMissingBracket:
      return "missing closing ]";
    case re2::RE2::ErrorMissingParen:
      return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case re2::RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case re2::RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case re2::RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "internal error";
  }
}

// Anywhere in the text.
bool Found(std::string_view text, const re2::RE2& re) { return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), re); }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool IsDate(std::string_view s) {
  if (s.size() != 10 || s[4] != '-' || s[7] != '-') return false;
  auto number = [&](std::size_t from, std::size_t n) {
    int out = 0;
    for (std::size_t i = from; i < from + n; ++i) {
      if (!IsDigit(s[i])) return -1;
      out = out * 10 + (s[i] - '0');
    }
    return out;
  };
  int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1) return false;
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[static_cast<std::size_t>(month - 1)] + (leap && month == 2 ? 1 : 0);
}

bool IsDateTime(std::string_view text) {
  static const re2::RE2 kTime("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$");
  if (text.size() < 4) return false;
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::size_t t = lower.find('t');
  if (t == std::string::npos || !IsDate(std::string_view(lower).substr(0, t))) return false;
  std::string time = lower.substr(t + 1, lower.find('t', t + 1) == std::string::npos ? std::string::npos : lower.find('t', t + 1) - t - 1);
  std::string hour, minute, second;
  if (!re2::RE2::PartialMatch(time, kTime, &hour, &minute, &second)) return false;
  return hour <= "23" && minute <= "59" && second <= "59";
}

bool IsDuration(std::string_view text) {
  if (Duration::Parse(text).ok()) return true;
  static const re2::RE2 kPart("(\\d+)\\s*([A-Za-z\xc2\xb5]+)");
  // Each row: names that must be equal, the last also as a prefix.
  static const std::vector<std::vector<std::string_view>> kUnits = {
      {"ns", "nano"}, {"us", "\xc2\xb5s", "micro"}, {"ms", "milli"}, {"s", "sec"},
      {"m", "min"},   {"h", "hr", "hour"},          {"d", "day"},    {"w", "wk", "week"}};
  re2::StringPiece rest(text.data(), text.size());
  std::string number, unit;
  bool found = false;
  while (re2::RE2::FindAndConsume(&rest, kPart, &number, &unit)) {
    std::int64_t n = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), n).ec != std::errc()) return false;
    std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    for (const auto& names : kUnits) {
      for (std::string_view name : names) {
        if (unit == name || (name == names.back() && std::string_view(unit).substr(0, name.size()) == name)) found = true;
      }
    }
  }
  return found;
}

// Leading zeros are forgiven.
bool IsIpv4Address(std::string_view s) {
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (s.empty() || s[0] != '.') return false;
      s.remove_prefix(1);
    }
    int n = 0;
    std::size_t digits = 0;
    while (digits < s.size() && IsDigit(s[digits])) {
      n = n * 10 + (s[digits++] - '0');
      if (n > 255) return false;
    }
    if (digits == 0) return false;
    s.remove_prefix(digits);
  }
  return s.empty();
}

bool IsIpv6Address(std::string_view s) {
  unsigned char out[16];
  return s.find('\0') == std::string_view::npos && inet_pton(AF_INET6, std::string(s).c_str(), out) == 1;
}

bool IsIp(std::string_view s) { return IsIpv4Address(s) || IsIpv6Address(s); }

bool IsCidr(std::string_view s) {
  std::size_t slash = s.find('/');
  if (slash == std::string_view::npos) return false;
  std::string_view address = s.substr(0, slash), bits = s.substr(slash + 1);
  if (bits.empty() || bits.size() > 6 || !std::all_of(bits.begin(), bits.end(), IsDigit)) return false;
  int n = std::stoi(std::string(bits));
  if (IsIpv4Address(address)) return n <= 32;
  return IsIpv6Address(address) && n <= 128;
}

bool IsMac(std::string_view s) {
  if (s.size() < 12) return false;
  auto group = [&](std::size_t width, char separator) {
    if ((s.size() + 1) % (width + 1) != 0) return false;
    std::size_t bytes = (s.size() + 1) / (width + 1) * width / 2;
    if (bytes != 6 && bytes != 8 && bytes != 20) return false;
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (i % (width + 1) == width ? s[i] != separator : !IsHex(s[i])) return false;
    }
    return true;
  };
  if (s[2] == ':' || s[2] == '-') return group(2, s[2]);
  if (s[4] == '.') return group(4, '.');
  return (s.size() == 12 || s.size() == 16 || s.size() == 40) && std::all_of(s.begin(), s.end(), IsHex);
}

std::string OnlyDigits(std::string_view s) {
  std::string out;
  std::copy_if(s.begin(), s.end(), std::back_inserter(out), IsDigit);
  return out;
}

bool IsIsbn(std::string_view text, std::size_t digits) {
  std::string s;
  for (char c : text) {
    if (c != '-' && c != ' ' && !(c >= '\t' && c <= '\r' && c != '\v')) s += c;
  }
  if (s.size() != digits) return false;
  int sum = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    bool last_x = digits == 10 && i == 9 && s[i] == 'X';
    if (!IsDigit(s[i]) && !last_x) return false;
    int n = last_x ? 10 : s[i] - '0';
    if (digits == 10) {
      sum += static_cast<int>(i + 1) * n;
    } else if (i < 12) {
      sum += (i % 2 == 0 ? 1 : 3) * n;
    }
  }
  return digits == 10 ? sum % 11 == 0 : s[12] - '0' == (10 - sum % 10) % 10;
}

bool IsCreditCard(std::string_view text) {
  static const re2::RE2 kCard(
      "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|"
      "(?:2131|1800|35\\d{3})\\d{11})$");
  std::string digits = OnlyDigits(text);
  if (!Found(digits, kCard)) return false;
  int sum = 0;
  bool twice = false;
  for (std::size_t i = digits.size(); i-- > 0; twice = !twice) {
    int n = (digits[i] - '0') * (twice ? 2 : 1);
    sum += n >= 10 ? n % 10 + 1 : n;
  }
  return sum % 10 == 0;
}

bool GoodEscapes(std::string_view s) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '%') continue;
    if (i + 2 >= s.size() || !IsHex(s[i + 1]) || !IsHex(s[i + 2])) return false;
    i += 2;
  }
  return true;
}

bool IsHost(std::string_view host) {
  std::string_view port;
  if (!host.empty() && host[0] == '[') {
    std::size_t end = host.rfind(']');
    if (end == std::string_view::npos) return false;
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
  } else if (std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!port.empty() && (port[0] != ':' || !std::all_of(port.begin() + 1, port.end(), IsDigit))) return false;
  static constexpr std::string_view kAllowed = "-_.~!$&'()*+,;=:[]<>\"%";
  return GoodEscapes(host) && std::all_of(host.begin(), host.end(), [](char c) {
           return IsLetter(c) || IsDigit(c) || static_cast<unsigned char>(c) >= 0x80 || kAllowed.find(c) != std::string_view::npos;
         });
}

// An absolute URI, or an absolute path.
bool IsRequestUri(std::string_view s) {
  if (s.empty()) return false;
  if (std::any_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) return false;
  if (s == "*") return true;
  std::string_view scheme;
  for (std::size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    if (IsLetter(c)) continue;
    if (IsDigit(c) || c == '+' || c == '-' || c == '.') {
      if (i == 0) break;
      continue;
    }
    if (c == ':') {
      if (i == 0) return false;
      scheme = s.substr(0, i);
      s.remove_prefix(i + 1);
    }
    break;
  }
  s = s.substr(0, s.find('?'));
  if (s.empty() || s[0] != '/') return !scheme.empty();
  if (!scheme.empty() && s.substr(0, 2) == "//") {
    s.remove_prefix(2);
    std::string_view authority = s.substr(0, s.find('/'));
    s.remove_prefix(authority.size());
    if (std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
      if (!GoodEscapes(authority.substr(0, at))) return false;
      authority.remove_prefix(at + 1);
    }
    if (!IsHost(authority)) return false;
  }
  return GoodEscapes(s);
}

std::size_t CountRunes(std::string_view s) {
  return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Lengths are counted apart: a repeated class of all letters of all scripts is too large a program for RE2.
bool IsHostname(std::string_view text) {
  static const re2::RE2 kOnly("^[a-zA-Z0-9\\p{S}\\p{L}]-?[a-zA-Z0-9\\p{S}\\p{L}]*$");
  static const re2::RE2 kInner("^[a-zA-Z0-9\\p{S}\\p{L}](?:[a-zA-Z0-9\\p{S}\\p{L}-]*[a-zA-Z0-9\\p{S}\\p{L}])?$");
  static const re2::RE2 kLast("^[a-zA-Z\\p{L}]+$");
  if (text.empty() || text.size() > 255) return false;
  std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) {
    std::size_t most = 63 + (text.find('-') != std::string_view::npos ? 1 : 0);
    return text.size() <= 63 && CountRunes(text) <= most && Found(text, kOnly);
  }
  while (dot != std::string_view::npos) {
    std::string_view part = text.substr(0, dot);
    if (part.size() > 63 || !Found(part, kInner)) return false;
    text.remove_prefix(dot + 1);
    dot = text.find('.');
  }
  return text.size() <= 63 && CountRunes(text) >= 2 && Found(text, kLast);
}

// `user@host`, also with a name: `Jo <user@host>`.
bool IsEmail(std::string_view text) {
  static const re2::RE2 kAddress(
      "^(?:[^\\s\"(),.:;<>@\\[\\\\\\]]+(?:\\.[^\\s\"(),.:;<>@\\[\\\\\\]]+)*|\"(?:[^\"\\\\\\r\\n]|\\\\.)*\")@"
      "(?:[^\\s\"(),.:;<>@\\[\\\\\\]]+(?:\\.[^\\s\"(),.:;<>@\\[\\\\\\]]+)*|\\[[0-9A-Fa-f.:]+\\])$");
  static const re2::RE2 kNamed("^\\s*(?:(?:[^\\s\"(),:;<>@\\[\\\\\\]]+|\"(?:[^\"\\\\\\r\\n]|\\\\.)*\")\\s*)*<([^<>]*)>\\s*$");
  std::string address;
  if (re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), kNamed, &address)) return Found(address, kAddress);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return Found(text, kAddress);
}

using FormatCheck = bool (*)(std::string_view);
struct Format {
  std::string_view name;
  FormatCheck matches;
};

#define KUBE_FORMAT_RE(pattern)         \
  [](std::string_view text) {           \
    static const re2::RE2 kRe(pattern); \
    return Found(text, kRe);            \
  }

// Sorted by name.
constexpr Format kFormats[] = {
    {"bsonobjectid", KUBE_FORMAT_RE("^[0-9a-fA-F]{24}$")},
    {"byte", KUBE_FORMAT_RE("^(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})$")},
    {"cidr", IsCidr},
    {"creditcard", IsCreditCard},
    {"date", IsDate},
    {"datetime", IsDateTime},
    {"duration", IsDuration},
    {"email", IsEmail},
    {"hexcolor", KUBE_FORMAT_RE("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$")},
    {"hostname", IsHostname},
    {"ipv4", [](std::string_view s) { return s.find('.') != std::string_view::npos && IsIp(s); }},
    {"ipv6", [](std::string_view s) { return s.find(':') != std::string_view::npos && IsIpv6Address(s); }},
    {"isbn", [](std::string_view s) { return IsIsbn(s, 10) || IsIsbn(s, 13); }},
    {"isbn10", [](std::string_view s) { return IsIsbn(s, 10); }},
    {"isbn13", [](std::string_view s) { return IsIsbn(s, 13); }},
    {"k8slongname",
     [](std::string_view s) {
       static const re2::RE2 kRe("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
       return s.size() <= 253 && Found(s, kRe);
     }},
    {"k8sshortname",
     [](std::string_view s) {
       static const re2::RE2 kRe("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
       return s.size() <= 63 && Found(s, kRe);
     }},
    {"mac", IsMac},
    {"password", [](std::string_view) { return true; }},
    {"rgbcolor", KUBE_FORMAT_RE("^rgb\\(\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])"
                                "\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*\\)$")},
    {"ssn",
     [](std::string_view s) {
       static const re2::RE2 kRe("^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$");
       return s.size() == 11 && Found(s, kRe);
     }},
    {"uri", IsRequestUri},
    {"uuid", KUBE_FORMAT_RE("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")},
    {"uuid3", KUBE_FORMAT_RE("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$")},
    {"uuid4", KUBE_FORMAT_RE("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$")},
    {"uuid5", KUBE_FORMAT_RE("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$")},
};

const Format* FindFormat(std::string_view format) {
  std::string name;
  std::copy_if(format.begin(), format.end(), std::back_inserter(name), [](char c) { return c != '-'; });
  for (const Format& f : kFormats) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

// Go knows (?<name>...) besides (?P<name>...), RE2 of this age does not.
std::string WithOldNames(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      out += pattern[i++];
    } else if (in_class) {
      in_class = pattern[i] != ']';
    } else if (pattern[i] == '[') {
      in_class = true;
    } else if (pattern.substr(i, 3) == "(?<" && i + 3 < pattern.size() && pattern[i + 3] != '=' && pattern[i + 3] != '!') {
      out += "(?P";
      i += 2;
    }
    out += pattern[i];
  }
  return out;
}

}  // namespace

Pattern::Pattern(std::string_view text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  std::string adapted = WithOldNames(text);
  impl_ = std::make_unique<Impl>(adapted, options);
  if (impl_->re.ok()) return;
  std::string where = impl_->re.error_arg();
  // The error speaks of the pattern as it was given.
  if (std::size_t at = where.find("(?P<"); at != std::string::npos && text.find("(?<") != std::string_view::npos) where.erase(at + 2, 1);
  error_ = "error parsing regexp: " + std::string(GoWords(impl_->re.error_code())) + ": `" + where + "`";
}

Pattern::~Pattern() = default;

bool Pattern::Matches(std::string_view text) const { return error_.empty() && Found(text, impl_->re); }

bool IsKnownFormat(std::string_view format) { return FindFormat(format) != nullptr; }

bool MatchesFormat(std::string_view format, std::string_view text) {
  const Format* f = FindFormat(format);
  return f == nullptr || f->matches(text);
}

}  // namespace kube::apiserver
