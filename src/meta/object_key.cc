#include "kube/meta/object_key.h"

#include "value/quote.h"

namespace kube {

Result<ObjectKey> ObjectKey::Parse(std::string_view text) {
  std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return ObjectKey{"", text};
  if (text.find('/', slash + 1) != std::string_view::npos) {
    return Error::Invalid("object key " + internal::Quote(text) + " has more than one '/'; expected namespace/name or name");
  }
  return ObjectKey{text.substr(0, slash), text.substr(slash + 1)};
}

std::string ObjectKey::ToString() const {
  if (ns.empty()) return name.str();
  std::string out;
  out.reserve(ns.size() + 1 + name.size());
  out += ns.view();
  out += '/';
  out += name.view();
  return out;
}

}  // namespace kube
