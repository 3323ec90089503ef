#include "config/token_source.h"

#include "config/exec_credential.h"
#include "config/files.h"
#include "config/text.h"
#include "kube/base/log.h"

namespace kube::internal {
namespace {

constexpr std::chrono::minutes kWarnEvery{1};

}  // namespace

TokenFileSource::TokenFileSource(std::string path, SecretString fallback, std::shared_ptr<Clock> clock)
    : path_(std::move(path)), fallback_(std::move(fallback)), clock_(std::move(clock)) {}

Result<SecretString> TokenFileSource::Read() const {
  const auto wrong = [this](const std::string& what) { return Error(ErrorKind::kAuth, "token file " + Quoted(path_) + " " + what); };
  FileText file = ReadFile(path_);
  if (!file.ok()) return wrong("cannot be read: " + file.problem());
  const SecretString text(std::move(file.text));
  const std::string_view token = Trimmed(text.reveal());
  if (token.empty()) return wrong("is empty; it has to hold a bearer token");
  if (!IsHeaderToken(token)) return wrong("holds something else than one bearer token");
  return SecretString("Bearer " + std::string(token));
}

Result<Authorization> TokenFileSource::Get(const Context&) {
  static const Logger log("config.token");
  MutexLock lock(mu_);
  const Clock::TimePoint now = clock_->Now();
  if (current_ && now - current_->obtained_at < kTokenFileAge) return *current_;
  Result<SecretString> header = Read();
  if (header) {
    current_ = Authorization{.header = *std::move(header), .obtained_at = now, .serial = ++readings_};
    return *current_;
  }
  if (!current_ && fallback_.empty()) return header.error();
  if (!warned_ || now - *warned_ >= kWarnEvery) {
    warned_ = now;
    log.Error(header.error(), "Failed to read a token again, continuing with the last one");
  }
  if (current_) return *current_;
  return Authorization{.header = SecretString("Bearer " + fallback_.reveal())};
}

}  // namespace kube::internal
