// SecretString: a string that stays out of logs.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/export.h"

namespace kube {

// A password, token or key. It prints as "[redacted]"; only reveal() returns the text. The memory is overwritten before it is freed. Text
// that was revealed and copied to a plain string is no longer protected.
class KUBE_EXPORT SecretString {
 public:
  SecretString() = default;
  explicit SecretString(std::string text) : text_(std::move(text)) {}
  SecretString(const SecretString&) = default;
  SecretString(SecretString&& other) noexcept;
  SecretString& operator=(const SecretString& other);
  SecretString& operator=(SecretString&& other) noexcept;
  ~SecretString();

  // The secret itself.
  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

  // The text that is printed instead.
  static constexpr std::string_view kRedacted = "[redacted]";
  friend KUBE_EXPORT std::ostream& operator<<(std::ostream& out, const SecretString& secret);

 private:
  void Wipe();
  std::string text_;
};

}  // namespace kube
