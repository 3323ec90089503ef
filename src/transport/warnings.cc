// WithWarnings: finds Warning headers in answers and passes them to a handler.
#include <cstddef>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/keyed_hash.h"
#include "kube/base/mutex.h"
#include "kube/transport/decorators.h"
#include "transport/text.h"

namespace kube {
namespace {

using internal::Trim;

// Takes the word at the start of `rest`, up to a space, with the spaces behind it.
std::string_view TakeWord(std::string_view& rest) {
  const std::size_t size = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view word = rest.substr(0, size);
  rest = Trim(rest.substr(size));
  return word;
}

// Takes "..." from the start of `rest`, with the spaces behind it. A backslash makes the next byte a plain one.
std::optional<std::string> TakeQuoted(std::string_view& rest) {
  if (rest.empty() || rest.front() != '"') return std::nullopt;
  std::string text;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest = Trim(rest.substr(i + 1));
      return text;
    }
    if (rest[i] == '\\' && ++i == rest.size()) break;
    text += rest[i];
  }
  return std::nullopt;
}

// warn-code SP warn-agent SP quoted text [SP quoted date], then a comma or the end.
std::optional<ApiWarning> TakeWarning(std::string_view& rest) {
  const std::string_view code = TakeWord(rest);
  if (code.size() != 3 || code.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const std::string_view agent = TakeWord(rest);
  if (agent.empty() || !internal::IsCleanText(agent)) return std::nullopt;
  std::optional<std::string> text = TakeQuoted(rest);
  if (!text || !internal::IsCleanText(*text)) return std::nullopt;
  if (!rest.empty() && rest.front() == '"' && !TakeQuoted(rest)) return std::nullopt;
  if (!rest.empty()) {
    if (rest.front() != ',') return std::nullopt;
    rest = Trim(rest.substr(1));
  }
  return ApiWarning{(code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0'), std::string(agent), *std::move(text)};
}

// A texts-seen set that a server with endless different warnings cannot make grow without end.
class SeenTexts {
 public:
  bool IsNew(const std::string& text) {
    constexpr std::size_t kMost = 1000;
    MutexLock lock(mu_);
    if (seen_.count(text) != 0) return false;
    if (seen_.size() >= kMost) seen_.clear();
    seen_.insert(text);
    return true;
  }

 private:
  Mutex mu_;
  std::unordered_set<std::string, internal::KeyedHash> seen_ KUBE_GUARDED_BY(mu_);
};

class WarningsTransport : public Transport {
 public:
  WarningsTransport(std::shared_ptr<Transport> next, WarningHandler handler) : next_(std::move(next)), handler_(std::move(handler)) {}

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    Result<HttpResponse> response = next_->RoundTrip(ctx, std::move(request));
    if (response) Handle(response->headers);
    return response;
  }
  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override {
    Result<UpgradeResponse> response = next_->Upgrade(ctx, std::move(request));
    if (response) Handle(response->headers);
    return response;
  }

 private:
  void Handle(const HttpHeaders& headers) const {
    if (!headers.Has("Warning")) return;
    for (const ApiWarning& warning : ParseWarnings(headers)) handler_(warning);
  }

  const std::shared_ptr<Transport> next_;
  const WarningHandler handler_;
};

}  // namespace

std::vector<ApiWarning> ParseWarnings(const HttpHeaders& headers) {
  std::vector<ApiWarning> warnings;
  for (const std::string& header : headers.All("Warning")) {
    std::string_view rest = Trim(header);
    while (!rest.empty()) {
      std::optional<ApiWarning> warning = TakeWarning(rest);
      // If a quote is missing, the start of the next warning is unknown.
      if (!warning) break;
      warnings.push_back(*std::move(warning));
    }
  }
  return warnings;
}

WarningHandler LogWarnings(Logger logger) {
  return [logger = std::move(logger), seen = std::make_shared<SeenTexts>()](const ApiWarning& warning) {
    if (warning.code != 299 || warning.text.empty() || !seen->IsNew(warning.text)) return;
    logger.Warn(warning.text, {{"agent", warning.agent}});
  };
}

std::shared_ptr<Transport> WithWarnings(std::shared_ptr<Transport> next, WarningHandler handler) {
  if (!handler) return next;
  return std::make_shared<WarningsTransport>(std::move(next), std::move(handler));
}

}  // namespace kube
