#include "kube/base/secret_string.h"

#include <string.h>  // NOLINT(modernize-deprecated-headers): explicit_bzero is not in <cstring>

#include <ostream>
#include <utility>

namespace kube {

// Short strings live inside the object, so moving copies them: also wipe the source.
SecretString::SecretString(SecretString&& other) noexcept : text_(std::move(other.text_)) { other.Wipe(); }

SecretString& SecretString::operator=(const SecretString& other) {
  if (this != &other) {
    Wipe();
    text_ = other.text_;
  }
  return *this;
}

SecretString& SecretString::operator=(SecretString&& other) noexcept {
  if (this != &other) {
    Wipe();
    text_ = std::move(other.text_);
    other.Wipe();
  }
  return *this;
}

SecretString::~SecretString() { Wipe(); }

void SecretString::Wipe() {
  text_.resize(text_.capacity());
  explicit_bzero(text_.data(), text_.size());
  text_.clear();
}

std::ostream& operator<<(std::ostream& out, const SecretString&) { return out << SecretString::kRedacted; }

}  // namespace kube
