#include "kube/value/raw.h"

#include <cstdint>

#include "kube/base/ref_count.h"

namespace kube {

struct RawJson::Parts {
  internal::RefCount refs{1};
  std::uint32_t prefix;  // bytes of `base`
  std::uint32_t suffix;
  std::uint32_t middle;  // bytes behind this struct
  String base;

  std::size_t size() const { return std::size_t{prefix} + middle + suffix; }
  std::string_view middle_text() const { return {reinterpret_cast<const char*>(this + 1), middle}; }
};

RawJson::RawJson(const RawJson& other) noexcept {
  if (other.in_parts()) {
    std::memcpy(raw_, other.raw_, sizeof raw_);
    parts()->refs.Increment();
  } else {
    new (raw_) String(other.whole());
  }
}

void RawJson::Release() noexcept {
  if (!in_parts()) return whole().~String();
  Parts* p = parts();
  if (!p->refs.DropsLast()) return;
  p->~Parts();
  ::operator delete(p);
}

RawJson RawJson::Difference(const String& base, std::string_view text, std::size_t prefix, std::size_t suffix) {
  const std::string_view middle = text.substr(prefix, text.size() - prefix - suffix);
  void* block = ::operator new(sizeof(Parts) + middle.size());
  auto* parts = new (block) Parts{.prefix = static_cast<std::uint32_t>(prefix),
                                  .suffix = static_cast<std::uint32_t>(suffix),
                                  .middle = static_cast<std::uint32_t>(middle.size()),
                                  .base = base};
  std::memcpy(static_cast<char*>(block) + sizeof(Parts), middle.data(), middle.size());
  RawJson made;
  std::memcpy(made.raw_, &parts, sizeof parts);
  made.raw_[15] = kInParts;
  return made;
}

String RawJson::text() const {
  if (!in_parts()) return whole();
  std::string scratch;
  return String(View(scratch));
}

std::string_view RawJson::View(std::string& scratch) const {
  if (!in_parts()) return whole().view();
  const Parts& p = *parts();
  const std::string_view base = p.base.view();
  scratch.clear();
  scratch.reserve(p.size());
  scratch.append(base.substr(0, p.prefix)).append(p.middle_text()).append(base.substr(base.size() - p.suffix));
  return scratch;
}

const String* RawJson::base() const { return in_parts() ? &parts()->base : nullptr; }

std::size_t RawJson::heap_bytes() const { return in_parts() ? sizeof(Parts) + parts()->middle : whole().heap_bytes(); }

bool RawJson::SoleOwner() const { return in_parts() ? parts()->refs.IsOne() : whole().SoleOwner(); }

bool operator==(const RawJson& a, const RawJson& b) {
  if (std::memcmp(a.raw_, b.raw_, sizeof a.raw_) == 0) return true;
  if (!a.in_parts() && !b.in_parts()) return a.whole() == b.whole();
  std::string of_a, of_b;
  return a.View(of_a) == b.View(of_b);
}

struct UnknownFields::Rep {
  internal::RefCount refs{1};
  String json;
  String protobuf;
};

UnknownFields::UnknownFields(const UnknownFields& other) noexcept : rep_(other.rep_) {
  if (rep_ != nullptr) rep_->refs.Increment();
}

std::string_view UnknownFields::json() const { return rep_ == nullptr ? std::string_view() : rep_->json.view(); }
std::string_view UnknownFields::protobuf() const { return rep_ == nullptr ? std::string_view() : rep_->protobuf.view(); }

void UnknownFields::set_json(std::string_view members) {
  Mutable().json = String(members);
  DropIfEmpty();
}

void UnknownFields::set_protobuf(std::string_view fields) {
  Mutable().protobuf = String(fields);
  DropIfEmpty();
}

UnknownFields::Rep& UnknownFields::Mutable() {
  if (rep_ == nullptr) {
    rep_ = new Rep();
  } else if (!rep_->refs.IsOne()) {
    Rep* fresh = new Rep();
    fresh->json = rep_->json;
    fresh->protobuf = rep_->protobuf;
    Release();
    rep_ = fresh;
  }
  return *rep_;
}

void UnknownFields::DropIfEmpty() {
  if (rep_->json.empty() && rep_->protobuf.empty()) clear();
}

void UnknownFields::Release() noexcept {
  if (rep_->refs.DropsLast()) delete rep_;
}

}  // namespace kube
