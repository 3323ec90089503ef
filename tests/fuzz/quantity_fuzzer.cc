// Quantity: whatever is read can be written and read again, and arithmetic on it is exact.
#include <cstdint>
#include <string_view>

#include "kube/value/quantity.h"
#include "require.h"

using kube::Quantity;
using kube::Result;
using kube::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  // Two quantities, separated by a blank.
  std::string_view first = input.substr(0, input.find(' '));
  std::string_view second = first.size() == input.size() ? std::string_view("1") : input.substr(first.size() + 1);

  Result<Quantity> a = Quantity::Parse(first);
  Require(a.ok() || !Quantity::IsCanonicalText(first), "canonical text is accepted");
  if (!a) return 0;
  if (Quantity::IsCanonicalText(first)) Require(a->text() == first, "canonical text is kept");

  Result<Quantity> again = Quantity::Parse(a->text());
  Require(again.ok(), "what is written can be read");
  Require(*again == *a && again->HashValue() == a->HashValue(), "reading it again gives the same amount");
  // `1.953125Ki` is written as `2000` of the binary format, which is read as `2k`: the second reading settles.
  Result<Quantity> settled = Quantity::Parse(again->text());
  Require(settled.ok() && settled->text() == again->text(), "the canonical form is stable");
  for (auto format : {Quantity::Format::kDecimalSI, Quantity::Format::kBinarySI, Quantity::Format::kDecimalExponent}) {
    Require(a->WithFormat(format) == *a, "the format does not change the amount");
  }
  Require(a->AsInt64().value_or(a->Value()) == a->Value(), "Value() is exact where AsInt64() is");
  Require(-(-*a) == *a && (-*a).Sign() == -a->Sign(), "negation is its own inverse");

  Result<Quantity> b = Quantity::Parse(second);
  if (!b) return 0;
  Require(*a + *b == *b + *a, "addition commutes");
  Require(*a + *b - *b == *a, "subtraction undoes addition");
  Require((*a < *b) == ((*a - *b).Sign() < 0) && (*a == *b) == (*a - *b).IsZero(), "order agrees with subtraction");
  if (*a == *b) Require(a->HashValue() == b->HashValue(), "equal amounts have equal hashes");
  return 0;
}
