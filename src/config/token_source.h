// Credentials that need no program: nothing, a fixed header, a token file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kube/base/mutex.h"
#include "kube/config/credentials.h"

namespace kube::internal {

// The same header each time; none where it is empty.
class FixedSource final : public CredentialSource {
 public:
  explicit FixedSource(SecretString header) : header_(std::move(header)) {}
  Result<Authorization> Get(const Context&) override { return Authorization{.header = header_}; }
  void Rejected(const Authorization&) override {}
  std::shared_ptr<const ClientCertificate> Certificate() const override { return nullptr; }

 private:
  const SecretString header_;
};

// How old a token may be before its file is read again: tokens of pods are renewed long before they end, and this is well within it.
inline constexpr std::chrono::seconds kTokenFileAge{50};

// A token file, read again by the first Get that is kTokenFileAge after the last good reading. A file that cannot be read, or is empty, or
// holds no token, leaves the token that was there; the next Get tries again.
class TokenFileSource final : public CredentialSource {
 public:
  // `fallback`: used as long as the file was never read; may be empty.
  TokenFileSource(std::string path, SecretString fallback, std::shared_ptr<Clock> clock);

  Result<Authorization> Get(const Context& ctx) override;
  void Rejected(const Authorization&) override {}
  std::shared_ptr<const ClientCertificate> Certificate() const override { return nullptr; }

 private:
  Result<SecretString> Read() const;

  const std::string path_;
  const SecretString fallback_;
  const std::shared_ptr<Clock> clock_;

  Mutex mu_;
  std::optional<Authorization> current_ KUBE_GUARDED_BY(mu_);
  std::uint64_t readings_ KUBE_GUARDED_BY(mu_) = 0;
  std::optional<Clock::TimePoint> warned_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
