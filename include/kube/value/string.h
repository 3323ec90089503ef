// String: the text type of API objects. 16 bytes; up to 15 characters are stored inline, longer text is shared and reference-counted.
//
// Copying never allocates. A String is immutable except by assignment. It converts to std::string_view. Embedded NUL bytes are allowed, and
// the text is not NUL-terminated.
//
// Thread safety: as std::string. Copies that share their text may be used and destroyed from different threads.
#pragma once

#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/base/ref_count.h"

namespace kube {

// An immutable, implicitly shared text.
class KUBE_EXPORT String {
 public:
  static constexpr bool kMovesByBytes = true;
  // The longest text that is stored inline.
  static constexpr std::size_t kInlineCapacity = 15;

  String() noexcept : raw_{} {}
  String(std::string_view text) : raw_{} { Init(text); }               // NOLINT(google-explicit-constructor)
  String(const char* text) : String(std::string_view(text)) {}         // NOLINT(google-explicit-constructor)
  String(const std::string& text) : String(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  String(const String& other) noexcept {
    std::memcpy(raw_, other.raw_, sizeof raw_);
    if (shared()) rep()->refs.Increment();
  }
  String(String&& other) noexcept {
    std::memcpy(raw_, other.raw_, sizeof raw_);
    std::memset(other.raw_, 0, sizeof raw_);
  }
  String& operator=(const String& other) noexcept {
    String copy(other);
    swap(copy);
    return *this;
  }
  String& operator=(String&& other) noexcept {
    String moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~String() {
    if (shared()) Release();
  }

  std::size_t size() const { return shared() ? shared_size() : raw_[15]; }
  bool empty() const { return raw_[15] == 0; }
  const char* data() const { return shared() ? rep()->text() : reinterpret_cast<const char*>(raw_); }
  std::string_view view() const { return {data(), size()}; }
  // A copy as std::string.
  std::string str() const { return std::string(view()); }
  operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor)
  const char* begin() const { return data(); }
  const char* end() const { return data() + size(); }
  char operator[](std::size_t i) const { return data()[i]; }

  void clear() { *this = String(); }
  void swap(String& other) noexcept {
    unsigned char tmp[16];
    std::memcpy(tmp, raw_, 16);
    std::memcpy(raw_, other.raw_, 16);
    std::memcpy(other.raw_, tmp, 16);
  }

  // True if both refer to the same shared text in memory. Decoders with an Interner promise this; it is also a cheap equality test.
  bool SharesTextWith(const String& other) const { return shared() && other.shared() && rep() == other.rep(); }
  // True if no other String refers to the shared text.
  bool SoleOwner() const { return shared() && rep()->refs.IsOne(); }
  // Heap bytes that this String refers to and may share.
  std::size_t heap_bytes() const { return shared() ? sizeof(Rep) + shared_size() : 0; }

  friend bool operator==(const String& a, const String& b) {
    if (std::memcmp(a.raw_, b.raw_, sizeof a.raw_) == 0) return true;
    return a.shared() && b.shared() && a.view() == b.view();
  }
  friend bool operator==(const String& a, std::string_view b) { return a.view() == b; }
  friend bool operator==(const String& a, const char* b) { return a.view() == b; }
  friend bool operator==(const String& a, const std::string& b) { return a.view() == b; }
  friend std::strong_ordering operator<=>(const String& a, const String& b) { return a.view() <=> b.view(); }
  friend std::strong_ordering operator<=>(const String& a, std::string_view b) { return a.view() <=> b; }

  // For streams and googletest. It is a template, so that this header needs no stream header.
  template <typename Stream>
  requires requires(Stream& s) { s.setstate(s.badbit); }
  friend Stream& operator<<(Stream& stream, const String& s) {
    stream << s.view();
    return stream;
  }

 private:
  struct Rep {
    internal::RefCount refs;
    const char* text() const { return reinterpret_cast<const char*>(this + 1); }
  };
  static constexpr unsigned char kShared = 0xff;

  // raw_[15] is the length of inline text, or kShared. If shared, bytes 0-7 point to the Rep and bytes 8-11 are the size. Unused bytes are
  // zero, so equal short texts have equal bytes, and all-zero bytes are the empty String.
  alignas(8) unsigned char raw_[16];

  bool shared() const { return raw_[15] == kShared; }
  Rep* rep() const {
    Rep* p;
    std::memcpy(&p, raw_, sizeof p);
    return p;
  }
  std::uint32_t shared_size() const {
    std::uint32_t n;
    std::memcpy(&n, raw_ + 8, sizeof n);
    return n;
  }
  void Init(std::string_view text) {
    if (text.size() <= kInlineCapacity) {
      CopyShort(raw_, text.data(), text.size());
      raw_[15] = static_cast<unsigned char>(text.size());
    } else {
      InitShared(text);
    }
  }
  // Copies up to 15 bytes with a few overlapping fixed-size moves. Decoders do this constantly, and a call to memcpy costs more than the
  // copy.
  static void CopyShort(unsigned char* to, const char* from, std::size_t n) {
    if (n >= 8) {
      std::memcpy(to, from, 8);
      std::memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
      std::memcpy(to, from, 4);
      std::memcpy(to + n - 4, from + n - 4, 4);
    } else if (n != 0) {
      to[0] = static_cast<unsigned char>(from[0]);
      to[n / 2] = static_cast<unsigned char>(from[n / 2]);
      to[n - 1] = static_cast<unsigned char>(from[n - 1]);
    }
  }
  void InitShared(std::string_view text);
  void Release() noexcept;
};

static_assert(sizeof(String) == 16);

// Binary data of an API object (`[]byte` in Go): base64 in JSON, raw in protobuf.
using Bytes = String;

}  // namespace kube

template <>
struct std::hash<kube::String> {
  std::size_t operator()(const kube::String& s) const noexcept { return std::hash<std::string_view>()(s.view()); }
};
