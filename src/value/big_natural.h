// BigNatural: a natural number of any size, for the rare Quantity that exceeds 128 bits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kube::internal {

__extension__ typedef unsigned __int128 Uint128;

// Limbs of nine decimal digits, lowest first, without leading zero limbs. Decimal, because a Quantity mostly parses, prints and scales by
// powers of ten.
class BigNatural {
 public:
  static constexpr std::uint32_t kBase = 1'000'000'000;
  static constexpr unsigned kLimbDigits = 9;

  BigNatural() = default;
  explicit BigNatural(Uint128 value);
  // Requires: only digits.
  static BigNatural FromDigits(std::string_view digits);

  bool IsZero() const { return limbs_.empty(); }
  const std::vector<std::uint32_t>& limbs() const { return limbs_; }
  // The number of decimal digits; 0 for zero.
  std::size_t DigitCount() const;
  // -1, 0 or 1 for less, equal or greater.
  int Compare(const BigNatural& other) const;

  void Add(const BigNatural& other);
  // Requires: other <= *this.
  void Sub(const BigNatural& other);
  void MulSmall(std::uint32_t factor);
  void Mul(const BigNatural& other);
  void MulPow10(std::size_t exponent);
  // Returns the remainder.
  std::uint32_t DivSmall(std::uint32_t divisor);
  // A remainder rounds up.
  void DivPow10RoundUp(std::size_t exponent);
  // The remainder of a division by 1000.
  std::uint32_t Mod1000() const { return limbs_.empty() ? 0 : limbs_[0] % 1000; }

  // Requires: at most 38 digits.
  Uint128 ToUint128() const;
  std::string ToString() const;

 private:
  std::vector<std::uint32_t> limbs_;
  void Trim();
};

}  // namespace kube::internal
