// Whatever bytes come in as definitions: `kubexx generate types` ends, and its headers are ones that `kubexx generate` understands.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "types_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kube::generate;
  std::vector<CrdInput> crds;
  Problems problems;
  FindCrds({reinterpret_cast<const char*>(data), size}, "x.yaml", crds, problems);
  for (const BuiltinUse use : {BuiltinUse::kEqual, BuiltinUse::kSubset, BuiltinUse::kNever}) {
    kube::fuzz::CheckTypes(crds, {.name_space = {}, .builtins = use});
  }
  return 0;
}
