#include "kube/meta/validation.h"

#include <string>

#include "value/quote.h"

namespace kube {

namespace {

using internal::Quote;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlphanumeric(char c) { return IsLower(c) || IsDigit(c) || (c >= 'A' && c <= 'Z'); }

Error Bad(std::string_view what, std::string_view text, std::string why) {
  std::string message(what);
  message += ' ';
  message += Quote(text);
  message += ' ';
  message += why;
  return Error::Invalid(std::move(message));
}

std::string TooLong(std::size_t limit) { return "is longer than " + std::to_string(limit) + " characters"; }

// One or more of `inner` characters with a character that is `edge` at both ends.
template <typename Edge, typename Inner>
bool Consists(std::string_view text, Edge edge, Inner inner) {
  if (text.empty() || !edge(text.front()) || !edge(text.back())) return false;
  for (char c : text) {
    if (!inner(c)) return false;
  }
  return true;
}

bool IsDnsEdge(char c) { return IsLower(c) || IsDigit(c); }
bool IsDnsInner(char c) { return IsDnsEdge(c) || c == '-'; }
bool IsLabelInner(char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; }

bool HasDnsSubdomainForm(std::string_view text) {
  for (;;) {
    std::size_t dot = text.find('.');
    if (!Consists(text.substr(0, dot), IsDnsEdge, IsDnsInner)) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

constexpr char kLabelRule[] = "must consist of letters, digits, '-', '_' or '.', and begin and end with a letter or digit";
constexpr char kDnsRule[] = "must consist of lower case letters, digits or '-', and begin and end with a letter or digit";

}  // namespace

Result<void> ValidateDnsLabel(std::string_view text) {
  if (text.size() > kMaxDnsLabelLength) return Bad("DNS label", text, TooLong(kMaxDnsLabelLength));
  if (!Consists(text, IsDnsEdge, IsDnsInner)) return Bad("DNS label", text, kDnsRule);
  return {};
}

Result<void> ValidateDnsSubdomain(std::string_view text) {
  if (text.size() > kMaxDnsSubdomainLength) return Bad("DNS subdomain", text, TooLong(kMaxDnsSubdomainLength));
  if (!HasDnsSubdomainForm(text)) return Bad("DNS subdomain", text, std::string(kDnsRule) + ", in parts divided by '.'");
  return {};
}

Result<void> ValidateLabelKey(std::string_view key) {
  std::string_view name = key;
  if (std::size_t slash = key.find('/'); slash != std::string_view::npos) {
    name = key.substr(slash + 1);
    std::string_view prefix = key.substr(0, slash);
    if (name.find('/') != std::string_view::npos) return Bad("label key", key, "has more than one '/'; expected [prefix/]name");
    if (prefix.empty()) return Bad("label key", key, "has an empty prefix in front of the '/'");
    if (auto r = ValidateDnsSubdomain(prefix); !r) return r.error().WithContext("label key " + Quote(key) + ": prefix");
  }
  if (name.empty()) return Bad("label key", key, "has an empty name");
  if (name.size() > kMaxLabelNameLength) return Bad("label key", key, "has a name that " + TooLong(kMaxLabelNameLength));
  if (!Consists(name, IsAlphanumeric, IsLabelInner)) return Bad("label key", key, std::string("has a bad name: it ") + kLabelRule);
  return {};
}

Result<void> ValidateLabelValue(std::string_view value) {
  if (value.empty()) return {};
  if (value.size() > kMaxLabelNameLength) return Bad("label value", value, TooLong(kMaxLabelNameLength));
  if (!Consists(value, IsAlphanumeric, IsLabelInner)) return Bad("label value", value, kLabelRule);
  return {};
}

}  // namespace kube
