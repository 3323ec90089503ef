#include "transport/redaction.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>

#include "transport/text.h"

namespace kube::internal {
namespace {

bool SameName(std::string_view a, std::string_view b) { return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0; }

template <std::size_t N>
bool IsOneOf(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view other) { return SameName(name, other); });
}

constexpr std::array<std::string_view, 3> kSchemes = {"Bearer", "Basic", "Negotiate"};
constexpr std::array<std::string_view, 3> kSecretHeaders = {"Cookie", "Set-Cookie", "Proxy-Authorization"};
constexpr std::array<std::string_view, 4> kSecretParameters = {"token", "access_token", "id_token", "refresh_token"};
constexpr std::array<std::string_view, 3> kSecretSegments = {"secrets", "token", "tokenreviews"};
constexpr std::array<std::string_view, 5> kSecretKinds = {"Secret", "SecretList", "TokenRequest", "TokenReview", "ExecCredential"};
// How a web socket carries a bearer token.
constexpr std::string_view kTokenProtocol = "base64url.bearer.authorization.k8s.io.";

std::string MaskAuthorization(std::string_view value) {
  const std::string_view scheme = value.substr(0, value.find(' '));
  if (value.empty()) return "";
  if (!IsOneOf(scheme, kSchemes)) return std::string(kMasked);
  if (value.size() <= scheme.size() + 1) return std::string(scheme);
  return fmt::format("{} {}", scheme, kMasked);
}

std::string MaskProtocols(std::string_view value) {
  std::string out;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t comma = std::min(value.find(',', at), value.size());
    const std::string_view protocol = Trim(value.substr(at, comma - at));
    if (!out.empty()) out += ", ";
    if (protocol.substr(0, kTokenProtocol.size()) == kTokenProtocol) {
      out += kTokenProtocol;
      out += kMasked;
    } else {
      out += protocol;
    }
    at = comma + 1;
  }
  return out;
}

// Percent-escapes undone as far as they are right; for looking, not for sending.
std::string Unescape(std::string_view text) {
  const auto hex = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

void SkipSpace(std::string_view& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  text.remove_prefix(first == std::string_view::npos ? text.size() : first);
}

}  // namespace

std::string MaskHeader(std::string_view name, std::string_view value) {
  if (SameName(name, "Authorization")) return MaskAuthorization(value);
  if (SameName(name, "Sec-WebSocket-Protocol")) return MaskProtocols(value);
  if (IsOneOf(name, kSecretHeaders)) return std::string(kMasked);
  return std::string(value);
}

std::vector<std::string> MaskHeaders(const HttpHeaders& headers) {
  std::vector<std::string> lines;
  lines.reserve(headers.size());
  for (const HttpHeaders::Field& field : headers) lines.push_back(field.first + ": " + MaskHeader(field.first, field.second));
  return lines;
}

std::string MaskTarget(std::string_view target) {
  const std::size_t query = target.find('?');
  if (query == std::string_view::npos) return std::string(target);
  std::string out(target.substr(0, query + 1));
  for (std::size_t at = query + 1; at <= target.size();) {
    const std::size_t end = std::min(target.find('&', at), target.size());
    const std::string_view pair = target.substr(at, end - at);
    const std::size_t equals = pair.find('=');
    if (at != query + 1) out += '&';
    if (equals != std::string_view::npos && IsOneOf(Unescape(pair.substr(0, equals)), kSecretParameters)) {
      out += pair.substr(0, equals + 1);
      out += kMasked;
    } else {
      out += pair;
    }
    at = end + 1;
  }
  return out;
}

bool IsSecretTarget(std::string_view target) {
  const std::string path = Unescape(target.substr(0, target.find('?')));
  const std::string_view text = path;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    if (IsOneOf(text.substr(at, end - at), kSecretSegments)) return true;
    at = end + 1;
  }
  return false;
}

bool IsSecretText(std::string_view body) {
  // Both JSON and YAML: `"kind": "Secret"`, `kind: Secret`.
  for (std::size_t at = body.find("kind"); at != std::string_view::npos; at = body.find("kind", at + 1)) {
    std::string_view rest = body.substr(at + 4);
    if (!rest.empty() && rest.front() == '"') rest.remove_prefix(1);
    SkipSpace(rest);
    if (rest.empty() || rest.front() != ':') continue;
    rest.remove_prefix(1);
    SkipSpace(rest);
    if (!rest.empty() && (rest.front() == '"' || rest.front() == '\'')) rest.remove_prefix(1);
    if (IsOneOf(rest.substr(0, rest.find_first_of("\"' \t\r\n,}")), kSecretKinds)) return true;
  }
  return false;
}

std::string ShowBody(std::string_view body, bool secret, std::size_t limit) {
  if (body.empty()) return "";
  if (secret) return std::string(kMasked);
  if (!IsCleanText(body, "\t\r\n")) return fmt::format("<binary, {} bytes>", body.size());
  if (IsSecretText(body)) return std::string(kMasked);
  if (body.size() <= limit) return std::string(body);
  // Not through the middle of a character.
  std::size_t cut = limit;
  while (cut > 0 && (static_cast<unsigned char>(body[cut]) & 0xC0) == 0x80) --cut;
  return fmt::format("{} [truncated {} bytes]", body.substr(0, cut), body.size() - cut);
}

}  // namespace kube::internal
