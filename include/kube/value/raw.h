// RawJson: JSON kept as text. UnknownFields: what a struct's table does not know, kept so that a read-modify-write loses nothing.
#pragma once

#include <string_view>

#include "kube/value/string.h"

namespace kube {

// A JSON value as compact text (`RawExtension`, `FieldsV1` and schema defaults in Go). Empty text is absent.
// kube/codec/json.h turns it into a Value or a typed object and back.
struct RawJson {
  String text;
  bool empty() const { return text.empty(); }
  friend bool operator==(const RawJson&, const RawJson&) = default;
};

// The fields of one object that this build does not know. Filled and written back by the codecs; users may read or clear it.
// One pointer wide; empty in nearly every object.
class KUBE_EXPORT UnknownFields {
 public:
  UnknownFields() noexcept = default;
  UnknownFields(const UnknownFields& other) noexcept;
  UnknownFields(UnknownFields&& other) noexcept : rep_(other.rep_) { other.rep_ = nullptr; }
  UnknownFields& operator=(UnknownFields other) noexcept {
    Rep* mine = rep_;
    rep_ = other.rep_;
    other.rep_ = mine;
    return *this;
  }
  ~UnknownFields() {
    if (rep_ != nullptr) Release();
  }

  bool empty() const { return rep_ == nullptr; }
  void clear() { *this = UnknownFields(); }

  // Members of a JSON object without the braces: `"a":1,"b":{}`. Came in by JSON or YAML.
  std::string_view json() const;
  // Protobuf fields, tag and payload, one after the other. Came in by protobuf.
  std::string_view protobuf() const;
  void set_json(std::string_view members);
  void set_protobuf(std::string_view fields);

  friend bool operator==(const UnknownFields& a, const UnknownFields& b) {
    return a.rep_ == b.rep_ || (a.json() == b.json() && a.protobuf() == b.protobuf());
  }

 private:
  struct Rep;
  Rep* rep_ = nullptr;
  Rep& Mutable();
  void DropIfEmpty();
  void Release() noexcept;
};

}  // namespace kube
