// Label selector strings: whatever parses must print to text that parses back to an equal selector, and match the same labels.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/meta/selector.h"
#include "kube/meta/v1.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::Map;
  using kube::Result;
  using kube::Selector;
  using kube::String;
  Result<Selector> selector = Selector::Parse({reinterpret_cast<const char*>(data), size});
  if (!selector) return 0;
  Result<Selector> again = Selector::Parse(selector->ToString());
  if (!again || !(*again == *selector)) std::abort();

  Map<String> labels;
  for (const kube::LabelRequirement& r : selector->requirements()) {
    labels.Set(r.key(), r.values().empty() ? String("1") : r.values().back());
  }
  bool matches = selector->Matches(labels);
  if (again->Matches(labels) != matches) std::abort();
  // The struct form, if there is one, must select the same.
  Result<kube::meta::v1::LabelSelector> api = selector->ToLabelSelector();
  if (!api) return 0;
  Result<Selector> back = Selector::FromLabelSelector(*api);
  if (!back || back->Matches(labels) != matches || back->Matches({}) != selector->Matches({})) std::abort();
  return 0;
}
