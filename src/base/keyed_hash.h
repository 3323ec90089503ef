// KeyedHash: hashes of bytes that others choose (names of objects, values of labels, parts of objects), keyed by a secret of the process.
//
// The hash is a universal one, so its guarantee is proven and not a matter of attacks that are not known yet: whichever two different
// inputs an attacker picks without the secret, they collide with a probability of about 2^-62 for Of, and 2^-120 for Of128. Nothing that
// depends on a hash value leaves the process, so attempts reveal nothing about the secret.
//
// Why not XXH3 with a secret: it promises nothing of the kind. Of inputs above 240 bytes, two stripes are summed lane by lane, as
// low * high of (word ^ secret); flipping one bit of the upper half of two such words, one up and one down, cancels whenever the lower
// halves meet: 2^-33 for any pair, whatever the secret is, and for the 128-bit variant just as much, since it has the same sums. A
// fixed-seed hash of the wyhash kind has inputs that collide under every seed (a factor is zero). SipHash would do, but takes several
// times as long, and is paid for each event.
//
// How: words are multiplied pairwise, (m1 + k1) * (m2 + k2), and summed modulo 2^128 (NH of UMAC; its collision bound is 2^-64 for each
// pass, and Of128 makes two with shifted keys). Blocks of a longer input are coefficients of a polynomial over the field of 2^127 - 1. A
// keyed linear function makes that uniform. The sizes are part of the input.
//
// Thread safety: all of it.
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

  static constexpr std::size_t kBlock = 1024;  // bytes that two coefficients of the polynomial stand for

  // Random numbers.
  struct Secret {
    std::uint64_t words[kBlock / 8 + 6];  // of the products: 4 for what precedes the bytes, 2 for the shifted pass
    std::uint64_t outer[6];               // of the products of long texts' hashes
    Wide factors[6];                      // of two linear functions
    Wide point;                           // below 2^127: where polynomials are evaluated
  };
  static const Secret& ProcessSecret();
  static Secret Draw();

  // As the hash of a table.
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return static_cast<std::size_t>(Of({}, text)); }

  // Of two texts: ("a", "bc") is not ("ab", "c").
  static std::uint64_t Of(std::string_view first, std::string_view second) noexcept { return Of(ProcessSecret(), first, second); }
  static std::uint64_t Of(const Secret& secret, std::string_view first, std::string_view second) noexcept {
    if (first.size() + second.size() > kBlock - 32) return OfLong(secret, first, second);
    const std::uint64_t* key = secret.words;
    Wide sum = Product(first.size(), second.size(), key);
    key = AddProducts(first, key + 2, sum);
    AddProducts(second, key, sum);
    return Linear(secret.factors, sum);
  }

  // Of bytes and two numbers that tell what they are, for instance of which type.
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
  // The last 1 to 16 bytes as two words, which may overlap: with the size known, no two texts are the same words.
  struct Two {
    std::uint64_t a, b;
  };
  static Two Rest(const char* at, std::size_t left) {
    if (left >= 8) return {Read<8>(at), Read<8>(at + left - 8)};
    if (left >= 4) return {Read<4>(at), Read<4>(at + left - 4)};
    return {static_cast<unsigned char>(at[0]),
            static_cast<std::uint64_t>(static_cast<unsigned char>(at[left / 2])) << 8 | static_cast<unsigned char>(at[left - 1])};
  }
  // Gives the first word of the key that was not used.
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

  // The upper half of a linear function of both halves is uniform. Tables take its low bits: mixed, keys in a row are no longer one.
  static std::uint64_t Linear(const Wide* factors, Wide sum) {
    return Mix(static_cast<std::uint64_t>(
        (factors[0] + factors[1] * static_cast<std::uint64_t>(sum) + factors[2] * static_cast<std::uint64_t>(sum >> 64)) >> 64));
  }
  static std::uint64_t Mix(std::uint64_t x) {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
    return x ^ (x >> 32);
  }
  // Arithmetic modulo 2^127 - 1, with results up to 2^127 - 1, which is another 0.
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
    // 2^127 is 1, so 2^128 is 2, and what is above the 63rd bit of the middle counts once.
    Wide sum = Reduce(2 * high + ((middle << 65) >> 1));
    sum = Reduce(sum + (low & kPrime));
    return Reduce(sum + (middle >> 63) + (low >> 127));
  }
};

}  // namespace kube::internal
