#include "kube/value/string.h"

#include <limits>
#include <new>
#include <stdexcept>

namespace kube {

void String::InitShared(std::string_view text) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("kube::String: longer than 4 GiB");
  void* block = ::operator new(sizeof(Rep) + text.size());
  Rep* rep = new (block) Rep{internal::RefCount(1)};
  std::memcpy(static_cast<char*>(block) + sizeof(Rep), text.data(), text.size());
  auto size = static_cast<std::uint32_t>(text.size());
  std::memcpy(raw_, &rep, sizeof rep);
  std::memcpy(raw_ + 8, &size, sizeof size);
  raw_[15] = kShared;
}

void String::Release() noexcept {
  Rep* r = rep();
  if (r->refs.DropsLast()) ::operator delete(r);
}

}  // namespace kube
