// CaState: the certificate authority of a program's webhooks, as it stands in the Secret that all replicas share. No I/O.
//
// A rotation never invalidates a certificate that is in use:
//
//   steady    current                  leaves are issued by `current`
//   adding    current, next            `next` is injected everywhere, and then waits until API servers have read it
//   dropping  current', retired        `next` became `current'`; the old one lost its key, its leaves are still trusted
//   steady    current'                 after one lifetime of a leaf
//
// The phase follows from the content, so a replica that continues after a crash needs to know nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/result.h"
#include "kube/control/webhooks.h"
#include "kube/serve/certificate.h"

namespace kube::internal {

struct CaPair {
  serve::KeyPair pair{};
  serve::CertificateInfo info{};
};

struct RetiredCa {
  std::string certificate{};
  Clock::WallTime until{};  // trusted until then
};

// Plain data; copies are cheap enough for what happens once in a while.
struct CaState {
  static constexpr std::size_t kMostRetired = 8;
  static constexpr std::size_t kMostJson = std::size_t{256} << 10;
  // Limit on one certificate and one key, PEM. Larger ones are not usable: with kMostRetired of them the JSON would not fit.
  static constexpr std::size_t kMostCertificate = std::size_t{12} << 10;
  static constexpr std::size_t kMostKey = std::size_t{8} << 10;
  static constexpr std::int64_t kMostRevision = std::int64_t{1} << 53;

  // Grows with each write: a Secret with a smaller one than a replica has seen was set back.
  std::int64_t revision = 1;
  CaPair current{};
  std::optional<CaPair> next{};
  std::vector<RetiredCa> retired{};
  bool damaged = false;  // parts of what was parsed were not usable, and are left out

  static Result<CaState> Create(const std::string& name, const WebhookCertificateTimes& times, Clock::WallTime now);
  // Errors: kInvalid if there is no usable current CA. Messages have nothing of the text in them: it holds keys.
  static Result<CaState> Parse(std::string_view json);
  std::string ToJson() const;

  // Stays at kMostRevision, where only an edited Secret gets: a larger one could not be read again.
  std::int64_t NextRevision() const { return revision < kMostRevision ? revision + 1 : kMostRevision; }
  // All certificates, sorted; and one after the other, which are the same bytes on every replica.
  std::vector<std::string> Certificates() const;
  std::string Bundle() const;
  std::string_view phase() const { return next ? "adding" : retired.empty() ? "steady" : "dropping"; }
  // A rotation begins then.
  Clock::WallTime RotatesAt(const WebhookCertificateTimes& times) const;
};

// The next step of a rotation.
struct CaStep {
  std::optional<CaState> write{};          // what the Secret has to hold now
  std::optional<Clock::WallTime> again{};  // else: when there may be something to do
  std::string why{};
};
// `injected_since`: since when all of the bundle has been in all configurations. Errors: those of OpenSSL.
Result<CaStep> NextCaStep(const CaState& state, const std::string& name, const std::optional<Clock::WallTime>& injected_since,
                          Clock::WallTime now, const WebhookCertificateTimes& times);

// The certificate of one replica.
struct WebhookLeaf {
  serve::KeyPair pair{};
  serve::CertificateInfo info{};
  Clock::WallTime renew_at{};
  std::string issuer{};  // the CA's certificate

  bool ValidAt(Clock::WallTime now) const { return info.not_before <= now && now < info.not_after; }
};
Result<WebhookLeaf> IssueLeaf(const CaState& state, const std::vector<std::string>& hosts, Clock::WallTime now,
                              const WebhookCertificateTimes& times);
bool NeedsLeaf(const std::optional<WebhookLeaf>& leaf, const CaState& state, Clock::WallTime now);

}  // namespace kube::internal
