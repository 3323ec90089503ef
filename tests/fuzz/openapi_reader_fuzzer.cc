// Whatever bytes come in as an OpenAPI document: reading its kinds ends, and what is made of them is fit for headers.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "generate/openapi_reader.h"
#include "kube/codec/yaml.h"
#include "types_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kube::generate;
  const kube::Result<std::vector<kube::Value>> documents = kube::ParseYaml({reinterpret_cast<const char*>(data), size});
  if (!documents) return 0;
  std::vector<OpenApiInput> inputs;
  for (const kube::Value& document : *documents) inputs.push_back({document, "x.json"});
  for (const char* kind : {"Net", "example.com/v1/Net"}) {
    std::vector<CrdInput> crds;
    Problems problems;
    ReadOpenApi(inputs, {kind}, BuiltinTypes::Get(), crds, problems);
    if (!problems.has_errors()) kube::fuzz::CheckTypes(crds, {});
  }
  return 0;
}
