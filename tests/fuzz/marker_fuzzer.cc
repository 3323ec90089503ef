// Whatever stands behind a plus sign: it is a marker or an error.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "generate/markers.h"
#include "require.h"

using kube::fuzz::Require;
using namespace kube::generate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = "+" + std::string(reinterpret_cast<const char*>(data), size);
  for (unsigned place : {kInFile, kOnKind, kOnStruct, kOnAlias, kOnField}) {
    Problems problems;
    const std::optional<Marker> marker = ParseMarker(text, {}, place, {}, problems);
    Require(!(marker && problems.has_errors()), "a marker with an error is none");
    if (!marker) continue;
    const MarkerDefinition* definition = FindMarker(marker->name);
    Require(definition != nullptr && (definition->places & place) != 0, "a marker is known and may stand there");
    Require(MayStand(text, place), "MayStand agrees");
  }
  return 0;
}
