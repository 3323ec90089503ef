// Credentials without a program: none, a fixed header, a token file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kube/base/mutex.h"
#include "kube/config/credentials.h"

namespace kube::internal {

// Always returns the same header; none if it is empty.
class FixedSource final : public CredentialSource {
 public:
  explicit FixedSource(SecretString header) : header_(std::move(header)) {}
  Result<Authorization> Get(const Context&) override { return Authorization{.header = header_}; }
  void Rejected(const Authorization&) override {}
  std::shared_ptr<const ClientCertificate> Certificate() const override { return nullptr; }

 private:
  const SecretString header_;
};

// Maximum age of a token before its file is reread. Pod tokens are renewed long before they expire, and this is well within that time.
inline constexpr std::chrono::seconds kTokenFileAge{50};

// A token file, reread by the first Get more than kTokenFileAge after the last successful read. If the file is unreadable, empty or without
// a token, the previous token stays and the next Get tries again.
class TokenFileSource final : public CredentialSource {
 public:
  // `fallback` is used until the file has been read once; may be empty.
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
