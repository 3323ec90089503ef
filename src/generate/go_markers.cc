// Markers in Go: those that mean something here, as controller-gen finds them.
#include <fmt/format.h>

#include <algorithm>

#include "generate/go_converter.h"
#include "generate/markers.h"

namespace kube::generate {
namespace {

constexpr std::size_t kMostMarkers = 1000;  // of a declaration

// "+kubebuilder:validation:Minimum:=1" is another way to write "+kubebuilder:validation:Minimum=1".
std::string Plain(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals < 2 || text[equals - 1] != ':') return text;
  return text.substr(0, equals - 1) + text.substr(equals);
}

std::string_view NameIn(std::string_view text) {
  text.remove_prefix(1);
  return text.substr(0, text.find('='));
}

// Markers of other generators: +k8s:deepcopy-gen, +k8s:openapi-gen=true.
bool IsOfOtherTools(std::string_view name) { return name.starts_with("k8s:") && name.find("-gen") != std::string_view::npos; }

}  // namespace

std::vector<Marker> GoConverter::ReadMarkers(const std::vector<GoMarker>& lines, unsigned place, bool given) {
  std::vector<Marker> out;
  if (lines.size() > kMostMarkers) {
    problems_.Error(lines[0].at, fmt::format("declaration with more than {} markers", kMostMarkers));
    return out;
  }
  for (const GoMarker& line : lines) {
    const std::string text = Plain(line.text);
    const std::string_view name = NameIn(text);
    // Roles and webhooks belong to the package.
    if (name.empty() || IsOfOtherTools(name) || MayStand(text, kInSource)) continue;
    if (!MayStand(text, place)) {
      const bool known = MayStand(text, ~0U);
      if (!given) continue;
      if (known) {
        problems_.Warning(line.at, fmt::format("marker +{} has no effect here, and is left out", name));
      } else {
        // One that is misspelt has no effect in Go either.
        ParseMarker(text, line.at, place, {.lenient = true}, problems_);
      }
      continue;
    }
    std::optional<Marker> marker = ParseMarker(text, line.at, place, {.lenient = true}, problems_);
    if (!marker) continue;
    const MarkerDefinition* definition = FindMarker(marker->name);
    if (definition != nullptr && !definition->repeatable) {
      // The last one counts.
      std::erase_if(out, [&](const Marker& m) { return m.name == marker->name && m.items == marker->items; });
    }
    out.push_back(*std::move(marker));
  }
  return out;
}

bool GoConverter::IsRequired(const std::vector<Marker>& markers, bool required_default) const {
  const auto has = [&](std::string_view name) {
    return std::any_of(markers.begin(), markers.end(), [&](const Marker& m) { return m.name == name && !m.items; });
  };
  if (has("kubebuilder:validation:Optional")) return false;
  if (has("kubebuilder:validation:Required")) return true;
  if (has("optional") || has("k8s:optional")) return false;
  if (has("required") || has("k8s:required")) return true;
  return required_default;
}

}  // namespace kube::generate
