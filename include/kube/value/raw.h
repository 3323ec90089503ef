// RawJson: JSON kept as text. UnknownFields: fields that a struct's table lacks, kept so that a read-modify-write loses nothing.
#pragma once

#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "kube/value/string.h"

namespace kube {

// A JSON value as compact text (`RawExtension`, `FieldsV1` and schema defaults in Go). Empty text means absent. kube/codec/json.h converts
// it to and from a Value or a typed object.
//
// 16 bytes. Decoders with an Interner store a long text that nearly equals another one as a reference to that text and the difference. The
// managed fields of a pod, for example, contain its address within 600 bytes that all pods share.
class KUBE_EXPORT RawJson {
 public:
  static constexpr bool kMovesByBytes = true;
  RawJson() noexcept : raw_{} {}
  explicit RawJson(String text) noexcept { new (raw_) String(std::move(text)); }
  RawJson(const RawJson& other) noexcept;
  RawJson(RawJson&& other) noexcept {
    std::memcpy(raw_, other.raw_, sizeof raw_);
    std::memset(other.raw_, 0, sizeof raw_);
  }
  RawJson& operator=(RawJson other) noexcept {
    unsigned char mine[sizeof raw_];
    std::memcpy(mine, raw_, sizeof raw_);
    std::memcpy(raw_, other.raw_, sizeof raw_);
    std::memcpy(other.raw_, mine, sizeof raw_);
    return *this;
  }
  RawJson& operator=(String text) noexcept { return *this = RawJson(std::move(text)); }
  ~RawJson() {
    if (raw_[15] > String::kInlineCapacity) Release();
  }

  bool empty() const { return raw_[15] == 0; }
  // The whole text. Cost: nothing, or a copy if it is stored in parts.
  String text() const;
  // The same without a String; assembled in `scratch` if necessary. Valid as long as both.
  std::string_view View(std::string& scratch) const;

  // Creates `text` as its difference from `base`. Both must begin with the same `prefix` bytes and end with the same `suffix` bytes.
  static RawJson Difference(const String& base, std::string_view text, std::size_t prefix, std::size_t suffix);
  // The text that this one refers to; null if it is stored as a whole.
  const String* base() const;
  // Heap bytes of this text and its copies, without those of base().
  std::size_t heap_bytes() const;
  // True if both refer to the same block on the heap.
  bool SharesWith(const RawJson& other) const {
    return raw_[15] > String::kInlineCapacity && std::memcmp(raw_, other.raw_, sizeof raw_) == 0;
  }
  // True if no other RawJson refers to that block.
  bool SoleOwner() const;

  friend KUBE_EXPORT bool operator==(const RawJson& a, const RawJson& b);

 private:
  struct Parts;
  static constexpr unsigned char kInParts = 0xfe;  // at raw_[15]; bytes 0-7 point at the Parts. Otherwise it is a String.
  alignas(8) unsigned char raw_[sizeof(String)];

  bool in_parts() const { return raw_[15] == kInParts; }
  const String& whole() const { return *reinterpret_cast<const String*>(raw_); }
  Parts* parts() const {
    Parts* p;
    std::memcpy(&p, raw_, sizeof p);
    return p;
  }
  void Release() noexcept;
};

// The fields of one object that this build does not know. The codecs fill it and write it back; programs may read or clear it. One pointer
// wide; empty in nearly every object.
class KUBE_EXPORT UnknownFields {
 public:
  static constexpr bool kMovesByBytes = true;
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

  // Members of a JSON object without the braces: `"a":1,"b":{}`. Decoded from JSON or YAML.
  std::string_view json() const;
  // Concatenated protobuf fields with tag and payload. Decoded from protobuf.
  std::string_view protobuf() const;
  // Set by the codecs.
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
