#include "generate/go_builtins.h"

#include <algorithm>
#include <string>
#include <utility>

#include "generate/markers.h"

namespace kube::generate {
namespace {

const BuiltinText* FindText(std::string_view name) {
  const std::span<const BuiltinText> texts = GoBuiltinTexts();
  auto found = std::lower_bound(texts.begin(), texts.end(), name, [](const BuiltinText& t, std::string_view n) { return t.name < n; });
  return found != texts.end() && found->name == name ? &*found : nullptr;
}

GoBuiltin Parse(std::string_view lines) {
  GoBuiltin out;
  Problems ignored;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (line.starts_with("T ")) out.type = ParseBuiltinType(line.substr(2));
    if (!line.starts_with("M ")) continue;
    if (auto marker = ParseMarker(line.substr(2), {}, kOnField, {.lenient = true}, ignored)) out.markers.push_back(*std::move(marker));
  }
  return out;
}

}  // namespace

std::optional<GoBuiltin> FindGoBuiltin(std::string_view package, std::string_view name) {
  if (const BuiltinText* text = FindText(std::string(package) + '.' + std::string(name))) {
    GoBuiltin out = Parse(text->lines);
    out.marshals = out.type.form == TypeForm::kScalar && out.type.scalar >= Scalar::kQuantity;
    return out;
  }
  const BuiltinText* space = FindText(package);
  if (space == nullptr) return std::nullopt;
  GoBuiltin out;
  out.type.form = TypeForm::kBuiltin;
  out.type.name = std::string(space->lines.substr(2, space->lines.size() - 3)) + "::" + std::string(name);
  if (!BuiltinTypes::Get().Has(out.type.name)) return std::nullopt;
  return out;
}

}  // namespace kube::generate
