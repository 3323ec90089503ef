#include "apiserver/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "apiserver/object_meta.h"
#include "kube/codec/json.h"

namespace kube::apiserver {

std::string Base64UrlEncode(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      out += kAlphabet[(bits >> count) & 63];
    }
  }
  if (count > 0) out += kAlphabet[(bits << (6 - count)) & 63];
  return out;
}

std::optional<std::string> Base64UrlDecode(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    std::uint32_t v = 0;
    if (c >= 'A' && c <= 'Z') {
      v = static_cast<std::uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      v = static_cast<std::uint32_t>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      v = static_cast<std::uint32_t>(c - '0') + 52;
    } else if (c == '-' || c == '_') {
      v = c == '-' ? 62 : 63;
    } else if (c == '=') {
      break;
    } else {
      return std::nullopt;
    }
    bits = (bits << 6) | v;
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> count) & 0xff);
    }
  }
  return out;
}

std::string Tokens::Random() {
  std::random_device device;
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    std::uint32_t n = device();
    for (int b = 0; b < 4; ++b) bytes += static_cast<char>((n >> (8 * b)) & 0xff);
  }
  return Base64UrlEncode(bytes);
}

void Tokens::Add(std::string token, User user, std::optional<Time> expires, std::vector<std::string> audiences) {
  if (audiences.empty()) audiences.emplace_back(kServer);
  MutexLock lock(mu_);
  entries_[std::move(token)] = {std::move(user), expires, std::move(audiences)};
}

std::optional<Tokens::Found> Tokens::Find(std::string_view token, Time now, const std::vector<std::string>& audiences) const {
  MutexLock lock(mu_);
  auto it = entries_.find(token);
  if (it == entries_.end() || (it->second.expires && *it->second.expires < now)) return std::nullopt;
  const std::vector<std::string>& of_token = it->second.audiences;
  Found found{it->second.user, {}};
  for (const std::string& wanted : audiences.empty() ? std::vector<std::string>{std::string(kServer)} : audiences) {
    if (std::find(of_token.begin(), of_token.end(), wanted) != of_token.end()) found.audiences.push_back(wanted);
  }
  if (found.audiences.empty()) return std::nullopt;
  return found;
}

std::string Tokens::IssueServiceAccount(std::string_view ns, std::string_view name, std::string_view uid,
                                        const std::vector<std::string>& audiences, Time now, std::int64_t lifetime_seconds) {
  User user{.name = fmt::format("system:serviceaccount:{}:{}", ns, name),
            .uid = std::string(uid),
            .groups = {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", ns), "system:authenticated"}};
  Time expires = now + Duration::FromNanoseconds(lifetime_seconds * 1'000'000'000);
  Value aud = Value::Array();
  for (const std::string& audience : audiences) aud.MutableList().push_back(audience);
  Value claims = Value::Object({{"aud", std::move(aud)},
                                {"exp", expires.unix_seconds()},
                                {"iat", now.unix_seconds()},
                                {"nbf", now.unix_seconds()},
                                {"iss", kServer},
                                {"jti", NewUid()},
                                {"sub", user.name}});
  claims["kubernetes.io"] = Value::Object({{"namespace", ns}, {"serviceaccount", Value::Object({{"name", name}, {"uid", uid}})}});
  std::string token = Base64UrlEncode(R"({"alg":"none","typ":"JWT"})") + "." + Base64UrlEncode(ToJson(claims)) + "." + Random();
  Add(token, std::move(user), expires, audiences);
  return token;
}

}  // namespace kube::apiserver
