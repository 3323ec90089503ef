// Field selector strings: whatever parses must print to text that parses back to the same terms, and match the same fields.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kube/meta/field_selector.h"

namespace {

std::vector<std::string> SortedTerms(const kube::FieldSelector& selector) {
  std::vector<std::string> out;
  for (const kube::FieldRequirement& r : selector.requirements()) out.push_back(r.field.str() + (r.negated ? "\1" : "\2") + r.value.str());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::FieldSelector;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (*kube::UnescapeFieldValue(kube::EscapeFieldValue(text)) != text) std::abort();
  kube::Result<FieldSelector> selector = FieldSelector::Parse(text);
  if (!selector) return 0;
  kube::Result<FieldSelector> again = FieldSelector::Parse(selector->ToString());
  // `a==b` prints as `a=b`, which may sort elsewhere: the terms are the same, their order need not be.
  if (!again || SortedTerms(*again) != SortedTerms(*selector)) std::abort();

  kube::Map<kube::String> fields;
  for (const kube::FieldRequirement& r : selector->requirements()) fields.Set(r.field, r.value);
  if (again->Matches(fields) != selector->Matches(fields)) std::abort();
  return 0;
}
