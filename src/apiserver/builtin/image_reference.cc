#include "apiserver/builtin/image_reference.h"

#include <algorithm>

namespace kube::apiserver {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }
bool HasUpper(std::string_view s) { return std::any_of(s.begin(), s.end(), IsUpper); }

// One element of a path: lower case letters and digits, divided by one '.', one or two '_', or any number of '-'.
bool IsPathElement(std::string_view s) {
  auto alnum = [](char c) { return IsLower(c) || IsDigit(c); };
  if (s.empty() || !alnum(s.front()) || !alnum(s.back())) return false;
  for (std::size_t i = 0; i < s.size();) {
    if (alnum(s[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < s.size() && !alnum(s[end])) ++end;
    std::string_view gap = s.substr(i, end - i);
    if (gap != "." && gap != "_" && gap != "__" && gap.find_first_not_of('-') != std::string_view::npos) return false;
    i = end;
  }
  return true;
}

bool IsPath(std::string_view s) {
  while (true) {
    std::size_t slash = s.find('/');
    if (!IsPathElement(s.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    s.remove_prefix(slash + 1);
  }
}

// A host name, an address in brackets, with or without a port.
bool IsDomain(std::string_view s) {
  if (s.starts_with('[')) {
    std::size_t close = s.find(']');
    if (close == std::string_view::npos) return false;
    std::string_view rest = s.substr(close + 1);
    return rest.empty() || (rest[0] == ':' && rest.size() > 1 && std::all_of(rest.begin() + 1, rest.end(), IsDigit));
  }
  std::size_t colon = s.find(':');
  if (colon != std::string_view::npos) {
    std::string_view port = s.substr(colon + 1);
    if (port.empty() || !std::all_of(port.begin(), port.end(), IsDigit)) return false;
    s = s.substr(0, colon);
  }
  while (true) {
    std::size_t dot = s.find('.');
    std::string_view label = s.substr(0, dot);
    auto alnum = [](char c) { return IsLower(c) || IsUpper(c) || IsDigit(c); };
    if (label.empty() || !alnum(label.front()) || !alnum(label.back())) return false;
    if (!std::all_of(label.begin(), label.end(), [&](char c) { return alnum(c) || c == '-'; })) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool IsTag(std::string_view s) {
  auto word = [](char c) { return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '_'; };
  return !s.empty() && s.size() <= 128 && word(s[0]) &&
         std::all_of(s.begin(), s.end(), [&](char c) { return word(c) || c == '.' || c == '-'; });
}

bool IsDigest(std::string_view s) {
  std::size_t colon = s.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  std::string_view algorithm = s.substr(0, colon), hex = s.substr(colon + 1);
  std::size_t want = algorithm == "sha256" ? 64 : algorithm == "sha384" ? 96 : algorithm == "sha512" ? 128 : 0;
  return want != 0 && hex.size() == want && std::all_of(hex.begin(), hex.end(), IsHex);
}

}  // namespace

std::string_view ImageTag(std::string_view image) {
  if (image.size() == 64 && std::all_of(image.begin(), image.end(), IsHex)) return {};
  bool has_digest = false;
  if (std::size_t at = image.find('@'); at != std::string_view::npos) {
    if (!IsDigest(image.substr(at + 1))) return {};
    has_digest = true;
    image = image.substr(0, at);
  }
  std::string_view rest = image;
  if (std::size_t slash = image.find('/'); slash != std::string_view::npos) {
    std::string_view first = image.substr(0, slash);
    if (first == "localhost" || first.find_first_of(".:") != std::string_view::npos || HasUpper(first)) {
      if (!IsDomain(first)) return {};
      rest = image.substr(slash + 1);
    }
  }
  std::size_t colon = rest.find(':');
  std::string_view path = rest.substr(0, colon);
  if (!IsPath(path)) return {};
  if (colon == std::string_view::npos) return has_digest ? std::string_view() : "latest";
  std::string_view tag = rest.substr(colon + 1);
  return IsTag(tag) ? tag : std::string_view();
}

}  // namespace kube::apiserver
