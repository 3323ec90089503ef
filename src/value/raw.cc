#include "kube/value/raw.h"

#include "kube/base/ref_count.h"

namespace kube {

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
