#include "base/keyed_hash.h"

#include <random>

namespace kube::internal {

const KeyedHash::Secret& KeyedHash::ProcessSecret() {
  static const Secret secret = Draw();
  return secret;
}

KeyedHash::Secret KeyedHash::Draw() {
  std::random_device random;  // of the operating system or the processor
  const auto word = [&random] { return (static_cast<std::uint64_t>(random()) << 32) | random(); };
  const auto wide = [&word] { return (static_cast<Wide>(word()) << 64) | word(); };
  Secret secret{};
  for (std::uint64_t& w : secret.words) w = word();
  for (std::uint64_t& w : secret.outer) w = word();
  for (Wide& w : secret.factors) w = wide();
  secret.point = wide() & kPrime;
  return secret;
}

std::uint64_t KeyedHash::OfLong(const Secret& secret, std::string_view first, std::string_view second) noexcept {
  const Pair a = Of128(secret, first, 0, 0);
  const Pair b = Of128(secret, second, 1, 0);
  return Linear(secret.factors, Product(first.size(), second.size(), secret.outer) + Product(a.low, a.high, secret.outer + 2) +
                                    Product(b.low, b.high, secret.outer + 4));
}

KeyedHash::Pair KeyedHash::OfBlocks(const Secret& secret, std::string_view bytes, Wide one, Wide two) noexcept {
  const Wide squared = Multiply(secret.point, secret.point);
  Wide value = 1;
  while (!bytes.empty()) {
    AddBothProducts(bytes.substr(0, kBlock), secret.words + 4, one, two);
    bytes.remove_prefix(bytes.size() < kBlock ? bytes.size() : kBlock);
    value = Add(Add(Multiply(value, squared), Multiply(one & kCoefficient, secret.point)), two & kCoefficient);
    one = two = 0;
  }
  return {Linear(secret.factors, value), Linear(secret.factors + 3, value)};
}

}  // namespace kube::internal
