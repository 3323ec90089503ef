#include "value/big_natural.h"

#include <algorithm>

namespace kube::internal {
namespace {

std::uint32_t SmallPow10(std::size_t exponent) {
  std::uint32_t power = 1;
  for (; exponent != 0; --exponent) power *= 10;
  return power;
}

}  // namespace

BigNatural::BigNatural(Uint128 value) {
  for (; value != 0; value /= kBase) limbs_.push_back(static_cast<std::uint32_t>(value % kBase));
}

BigNatural BigNatural::FromDigits(std::string_view digits) {
  BigNatural n;
  n.limbs_.reserve(digits.size() / kLimbDigits + 1);
  while (!digits.empty()) {
    std::size_t take = std::min<std::size_t>(digits.size(), kLimbDigits);
    std::uint32_t limb = 0;
    for (char c : digits.substr(digits.size() - take)) limb = limb * 10 + static_cast<std::uint32_t>(c - '0');
    n.limbs_.push_back(limb);
    digits.remove_suffix(take);
  }
  n.Trim();
  return n;
}

std::size_t BigNatural::DigitCount() const {
  if (limbs_.empty()) return 0;
  std::size_t count = (limbs_.size() - 1) * kLimbDigits;
  for (std::uint32_t top = limbs_.back(); top != 0; top /= 10) ++count;
  return count;
}

int BigNatural::Compare(const BigNatural& other) const {
  if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size() ? -1 : 1;
  for (std::size_t i = limbs_.size(); i-- > 0;) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
  }
  return 0;
}

void BigNatural::Add(const BigNatural& other) {
  if (limbs_.size() < other.limbs_.size()) limbs_.resize(other.limbs_.size(), 0);
  std::uint32_t carry = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    std::uint32_t sum = limbs_[i] + carry + (i < other.limbs_.size() ? other.limbs_[i] : 0);
    carry = sum >= kBase ? 1 : 0;
    limbs_[i] = sum - carry * kBase;
  }
  if (carry != 0) limbs_.push_back(carry);
}

void BigNatural::Sub(const BigNatural& other) {
  std::uint32_t borrow = 0;
  for (std::size_t i = 0; i < limbs_.size(); ++i) {
    std::uint32_t take = borrow + (i < other.limbs_.size() ? other.limbs_[i] : 0);
    borrow = limbs_[i] < take ? 1 : 0;
    limbs_[i] = limbs_[i] + borrow * kBase - take;
  }
  Trim();
}

void BigNatural::MulSmall(std::uint32_t factor) {
  std::uint64_t carry = 0;
  for (std::uint32_t& limb : limbs_) {
    std::uint64_t product = std::uint64_t{limb} * factor + carry;
    limb = static_cast<std::uint32_t>(product % kBase);
    carry = product / kBase;
  }
  for (; carry != 0; carry /= kBase) limbs_.push_back(static_cast<std::uint32_t>(carry % kBase));
  Trim();
}

void BigNatural::Mul(const BigNatural& other) {
  BigNatural sum;
  for (std::size_t i = other.limbs_.size(); i-- > 0;) {
    sum.MulPow10(kLimbDigits);
    BigNatural part = *this;
    part.MulSmall(other.limbs_[i]);
    sum.Add(part);
  }
  *this = std::move(sum);
}

void BigNatural::MulPow10(std::size_t exponent) {
  if (limbs_.empty()) return;
  MulSmall(SmallPow10(exponent % kLimbDigits));
  limbs_.insert(limbs_.begin(), exponent / kLimbDigits, 0);
}

std::uint32_t BigNatural::DivSmall(std::uint32_t divisor) {
  std::uint64_t remainder = 0;
  for (std::size_t i = limbs_.size(); i-- > 0;) {
    remainder = remainder * kBase + limbs_[i];
    limbs_[i] = static_cast<std::uint32_t>(remainder / divisor);
    remainder %= divisor;
  }
  Trim();
  return static_cast<std::uint32_t>(remainder);
}

void BigNatural::DivPow10RoundUp(std::size_t exponent) {
  std::size_t drop = std::min(exponent / kLimbDigits, limbs_.size());
  auto first_kept = limbs_.begin() + static_cast<std::ptrdiff_t>(drop);
  bool rest = std::any_of(limbs_.begin(), first_kept, [](std::uint32_t limb) { return limb != 0; });
  limbs_.erase(limbs_.begin(), first_kept);
  rest = (DivSmall(SmallPow10(exponent % kLimbDigits)) != 0) || rest;
  if (rest) Add(BigNatural(1));
}

Uint128 BigNatural::ToUint128() const {
  Uint128 value = 0;
  for (std::size_t i = limbs_.size(); i-- > 0;) value = value * kBase + limbs_[i];
  return value;
}

std::string BigNatural::ToString() const {
  if (limbs_.empty()) return "0";
  std::string out(limbs_.size() * kLimbDigits, '0');
  std::size_t at = out.size();
  for (std::uint32_t limb : limbs_) {
    for (unsigned i = 0; i < kLimbDigits; ++i, limb /= 10) out[--at] = static_cast<char>('0' + limb % 10);
  }
  out.erase(0, out.find_first_not_of('0'));
  return out;
}

void BigNatural::Trim() {
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
}

}  // namespace kube::internal
