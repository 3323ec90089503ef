// SecretString: a string that does not find its way into logs.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/export.h"

namespace kube {

// A password, token or key. Prints as "[redacted]" everywhere; the only way to the text is reveal(). The memory is overwritten before it is
// given back. Passing the revealed text on as a plain string ends the protection.
class KUBE_EXPORT SecretString {
 public:
  SecretString() = default;
  explicit SecretString(std::string text) : text_(std::move(text)) {}
  SecretString(const SecretString&) = default;
  SecretString(SecretString&& other) noexcept;
  SecretString& operator=(const SecretString& other);
  SecretString& operator=(SecretString&& other) noexcept;
  ~SecretString();

  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

  static constexpr std::string_view kRedacted = "[redacted]";
  friend KUBE_EXPORT std::ostream& operator<<(std::ostream& out, const SecretString& secret);

 private:
  void Wipe();
  std::string text_;
};

}  // namespace kube
