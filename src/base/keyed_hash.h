// KeyedHash: hashes bytes from untrusted sources (object names, label values, parts of objects) with a secret of the process.
//
// The hash is a universal one, so its guarantee is proven and does not depend on attacks being unknown: any two different inputs that an
// attacker chooses without the secret collide with a probability of about 2^-62 for Of, and 2^-120 for Of128. Nothing that depends on a
// hash value leaves the process, so attempts reveal nothing about the secret.
//
// XXH3 with a secret is not sufficient, because it promises nothing of this kind. For inputs above 240 bytes it sums two stripes lane by
// lane, as low * high of (word ^ secret). Flipping one bit of the upper half of two such words, one up and one down, cancels if the lower
// halves match: 2^-33 for any pair and any secret, and the same for the 128-bit variant, which uses the same sums. A fixed-seed hash like
// wyhash has inputs that collide under every seed (a factor is zero). SipHash would be sufficient, but takes several times as long, and
// this cost applies to each event.
//
// Algorithm: words are multiplied pairwise, (m1 + k1) * (m2 + k2), and summed modulo 2^128 (NH of UMAC; its collision bound is 2^-64 per
// pass, and Of128 makes two passes with shifted keys). Blocks of a longer input are coefficients of a polynomial over the field of 2^127 -
// 1. A keyed linear function makes the result uniform. The sizes are part of the input.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kube/base/export.h"

namespace kube::internal {

class KUBE_EXPORT KeyedHash {
  __extension__ using Wide = unsigned __int128;

 public:
  struct Pair {
    std::uint64_t low;
    std::uint64_t high;
    friend bool operator==(const Pair&, const Pair&) = default;
  };

  static constexpr std::size_t kBlock = 1024;  // bytes per two coefficients of the polynomial

  // Random numbers.
  struct Secret {
    std::uint64_t words[kBlock / 8 + 6];  // for the products: 4 for the words before the bytes, 2 for the shifted pass
    std::uint64_t outer[6];               // for the products of long texts' hashes
    Wide factors[6];                      // for two linear functions
    Wide point;                           // below 2^127: the point at which polynomials are evaluated
  };
  static const Secret& ProcessSecret();
  static Secret Draw();

  // For use as the hash of a table.
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return static_cast<std::size_t>(Of({}, text)); }

  // The hash of two texts: ("a", "bc") differs from ("ab", "c").
  static std::uint64_t Of(std::string_view first, std::string_view second) noexcept { return Of(ProcessSecret(), first, second); }
  static std::uint64_t Of(const Secret& secret, std::string_view first, std::string_view second) noexcept {
    if (first.size() + second.size() > kBlock - 32) return OfLong(secret, first, second);
    const std::uint64_t* key = secret.words;
    Wide sum = Product(first.size(), second.size(), key);
    key = AddProducts(first, key + 2, sum);
    AddProducts(second, key, sum);
    return Linear(secret.factors, sum);
  }

  // The hash of bytes and two numbers that qualify them, such as their type.
  static Pair Of128(const Secret& secret, std::string_view bytes, std::uint64_t salt, std::uint64_t more_salt) noexcept {
    const std::uint64_t* key = secret.words;
    Wide one = Product(bytes.size(), salt, key) + Product(more_salt, 0, key + 2);
    Wide two = Product(bytes.size(), salt, key + 2) + Product(more_salt, 0, key + 4);
    if (bytes.size() > kBlock) return OfBlocks(secret, bytes, one, two);
    AddBothProducts(bytes, key + 4, one, two);
    return {Linear(secret.factors, one), Linear(secret.factors + 3, two)};
  }

 private:
  static constexpr Wide kPrime = (Wide{1} << 127) - 1;
  static constexpr Wide kCoefficient = (Wide{1} << 126) - 1;

  static std::uint64_t OfLong(const Secret& secret, std::string_view first, std::string_view second) noexcept;
  static Pair OfBlocks(const Secret& secret, std::string_view bytes, Wide one, Wide two) noexcept;

  static Wide Product(std::uint64_t a, std::uint64_t b, const std::uint64_t* key) { return Wide{a + key[0]} * (b + key[1]); }
  template <std::size_t kBytes>
  static std::uint64_t Read(const char* from) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, kBytes);
    return word;
  }
  // The last 1 to 16 bytes as two words, which may overlap. Because the size is part of the input, different texts never have the same
  // words.
  struct Two {
    std::uint64_t a, b;
  };
  static Two Rest(const char* at, std::size_t left) {
    if (left >= 8) return {Read<8>(at), Read<8>(at + left - 8)};
    if (left >= 4) return {Read<4>(at), Read<4>(at + left - 4)};
    return {static_cast<unsigned char>(at[0]),
            static_cast<std::uint64_t>(static_cast<unsigned char>(at[left / 2])) << 8 | static_cast<unsigned char>(at[left - 1])};
  }
  // Returns the first unused word of the key.
  static const std::uint64_t* AddProducts(std::string_view text, const std::uint64_t* key, Wide& sum) {
    const char* at = text.data();
    std::size_t left = text.size();
    if (left == 0) return key;
    for (; left > 16; left -= 16, at += 16, key += 2) sum += Product(Read<8>(at), Read<8>(at + 8), key);
    const Two rest = Rest(at, left);
    sum += Product(rest.a, rest.b, key);
    return key + 2;
  }
  static void AddBothProducts(std::string_view bytes, const std::uint64_t* key, Wide& one, Wide& two) {
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    if (left == 0) return;
    for (; left > 16; left -= 16, at += 16, key += 2) {
      const std::uint64_t a = Read<8>(at);
      const std::uint64_t b = Read<8>(at + 8);
      one += Product(a, b, key);
      two += Product(a, b, key + 2);
    }
    const Two rest = Rest(at, left);
    one += Product(rest.a, rest.b, key);
    two += Product(rest.a, rest.b, key + 2);
  }

  // The upper half of a linear function of both halves is uniform. Tables use its low bits, so it is mixed, because consecutive keys must
  // not stay consecutive.
  static std::uint64_t Linear(const Wide* factors, Wide sum) {
    return Mix(static_cast<std::uint64_t>(
        (factors[0] + factors[1] * static_cast<std::uint64_t>(sum) + factors[2] * static_cast<std::uint64_t>(sum >> 64)) >> 64));
  }
  static std::uint64_t Mix(std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
    return x ^ (x >> 32);
  }
  // Arithmetic modulo 2^127 - 1. Results may be 2^127 - 1 itself, a second representation of 0.
  static Wide Reduce(Wide x) {
    x = (x & kPrime) + (x >> 127);
    return (x & kPrime) + (x >> 127);
  }
  static Wide Add(Wide x, Wide y) { return Reduce(x + y); }
  static Wide Multiply(Wide x, Wide y) {
    const auto x0 = static_cast<std::uint64_t>(x), x1 = static_cast<std::uint64_t>(x >> 64);
    const auto y0 = static_cast<std::uint64_t>(y), y1 = static_cast<std::uint64_t>(y >> 64);
    const Wide low = Wide{x0} * y0;
    const Wide middle = Wide{x0} * y1 + Wide{x1} * y0;  // both are below 2^127
    const Wide high = Wide{x1} * y1;
    // 2^127 is 1, so 2^128 is 2, and the bits of the middle above the 63rd count once.
    Wide sum = Reduce(2 * high + ((middle << 65) >> 1));
    sum = Reduce(sum + (low & kPrime));
    return Reduce(sum + (middle >> 63) + (low >> 127));
  }
};

}  // namespace kube::internal
