#include "kube/control/child_marks.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace kube::internal {
namespace {

constexpr std::size_t kBytes = 16;

// The first 128 bits of HMAC-SHA-256, in hexadecimal digits.
std::string Hmac(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {};
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest,
       &size);
  std::string out;
  for (std::size_t i = 0; i < kBytes; ++i) {
    out += "0123456789abcdef"[digest[i] >> 4];
    out += "0123456789abcdef"[digest[i] & 15];
  }
  return out;
}

}  // namespace

std::string OwnerHash(std::string_view uid) { return Hmac(uid, "kubexx owner"); }

std::string ChildProof(std::string_view owner_uid, std::string_view proof_key, std::string_view set, const GroupKind& kind,
                       const ObjectKey& key) {
  // No part can contain a line break, except for the last one of the key.
  const std::string secret = std::string(owner_uid) + "\n" + std::string(proof_key);
  const std::string text =
      "kubexx child\n" + std::string(set) + "\n" + kind.group.str() + "\n" + kind.kind.str() + "\n" + key.ns.str() + "\n" + key.name.str();
  return Hmac(secret, text);
}

bool SameProof(std::string_view a, std::string_view b) { return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

std::string OwnerMark(const GroupKind& kind, const ObjectKey& key) { return kind.ToString() + " " + key.ToString(); }

std::optional<MarkedOwner> MarkedOwnerIn(const Map<String>& labels, const Map<String>& annotations, const GroupKind& owner,
                                         std::string_view mark_prefix) {
  if (labels.empty() || annotations.empty()) return std::nullopt;
  const std::string prefix(mark_prefix);
  const String& hash = labels.Get(prefix + "/owner-hash");
  const std::string_view mark = annotations.Get(prefix + "/owner").view();
  const std::size_t space = mark.find(' ');
  if (hash.empty() || space == std::string_view::npos || GroupKind::Parse(mark.substr(0, space)) != owner) return std::nullopt;
  Result<ObjectKey> key = ObjectKey::Parse(mark.substr(space + 1));
  if (!key || key->name.empty()) return std::nullopt;
  return MarkedOwner{*std::move(key), hash};
}

}  // namespace kube::internal
