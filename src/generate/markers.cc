#include "generate/markers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "config/suggest.h"
#include "generate/marker_values.h"
#include "generate/tokens.h"

namespace kube::generate {
namespace {

constexpr std::string_view kValidation = "kubebuilder:validation:";
constexpr std::string_view kItems = "kubebuilder:validation:items:";

// A marker line in its parts.
struct Parts {
  std::string name;   // without `items:`
  std::string shown;  // as written
  bool items = false;
  bool has_value = false;  // there is a `=`
  std::string rest;        // behind the name: the value, or the named arguments
  const MarkerDefinition* definition = nullptr;
};

// `+a:b:c=rest` is marker a:b:c with a value, or marker a:b with the argument c.
Parts Split(std::string_view text) {
  text.remove_prefix(1);
  Parts out;
  const std::size_t equals = text.find('=');
  out.has_value = equals != std::string_view::npos;
  std::string head(text.substr(0, equals));
  while (!head.empty() && (head.back() == ' ' || head.back() == '\t')) head.pop_back();
  // +a:b:=value is another way to write +a:b=value.
  if (out.has_value && head.ends_with(':')) head.pop_back();
  out.rest = out.has_value ? std::string(text.substr(equals + 1)) : "";
  auto name = [&](std::string full) {
    out.shown = full;
    out.items = full.starts_with(kItems);
    out.name = out.items ? std::string(kValidation) + full.substr(kItems.size()) : std::move(full);
    out.definition = FindMarker(out.name);
    if (out.items && out.definition != nullptr && !out.definition->items) out.definition = nullptr;
    return out.definition != nullptr;
  };
  if (name(head)) return out;
  const std::size_t colon = head.rfind(':');
  if (out.has_value && colon != std::string::npos && name(head.substr(0, colon)) && out.definition->form == MarkerForm::kNamed) {
    out.rest = head.substr(colon + 1) + '=' + out.rest;
    return out;
  }
  name(head);
  return out;
}

// "a:b" of "a:b:c", for the message about an unknown argument.
bool IsOurs(std::string_view name) { return name.starts_with("kubebuilder:") || name.starts_with("k8s:") || name.starts_with("kube:"); }

std::string SuggestionFor(std::string_view name) {
  constexpr std::size_t kMostNameBytes = 100;  // comparing takes time in proportion to it
  if (name.size() > kMostNameBytes) return "";
  std::vector<std::string_view> names;
  std::vector<std::string> with_items;
  for (const MarkerDefinition& marker : AllMarkers()) {
    if (!marker.name.ends_with('*')) names.push_back(marker.name);
  }
  if (name.starts_with(kItems)) {
    for (const MarkerDefinition& marker : AllMarkers()) {
      if (marker.items) with_items.push_back(std::string(kItems) + std::string(marker.name.substr(kValidation.size())));
    }
    names.assign(with_items.begin(), with_items.end());
  }
  // Case first: a name that differs in nothing else is what was meant.
  auto lower = [](std::string_view text) {
    std::string out(text);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  };
  for (std::string_view known : names) {
    if (lower(known) == lower(name)) return std::string(known);
  }
  // Or the last part alone: +kubebuilder:MaxLength.
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) {
    const std::string last = lower(name.substr(colon));
    const std::string_view family = name.substr(0, name.find(':') + 1);
    std::string_view best;
    for (std::string_view known : names) {
      if (!lower(known).ends_with(last)) continue;
      if (best.empty() || (known.starts_with(family) && !best.starts_with(family))) best = known;
    }
    if (!best.empty()) return std::string(best);
  }
  return std::string(internal::Suggest(name, names));
}

void ReportUnknown(const Parts& parts, const Position& at, const MarkerOptions& options, Problems& problems) {
  // Those that are not shown need none.
  std::string suggestion;
  if (problems.error_count() < kMostProblems) {
    suggestion = SuggestionFor(parts.shown);
    // Or the last part is an argument: +kubebuilder:rabc:groups=apps.
    if (suggestion.empty() && parts.has_value) {
      const std::string stem = SuggestionFor(std::string_view(parts.shown).substr(0, parts.shown.rfind(':')));
      const MarkerDefinition* meant = FindMarker(stem);
      if (meant != nullptr && meant->form == MarkerForm::kNamed) suggestion = stem;
    }
  }
  // Other tools have markers too. What looks like one of ours is a misspelling.
  if (!IsOurs(parts.shown) && (suggestion.empty() || parts.shown.size() < 5)) return;
  // An argument that the marker does not have: +kubebuilder:resource:plural=x.
  const std::size_t colon = parts.shown.rfind(':');
  std::string text = fmt::format("unknown marker +{}", parts.shown);
  if (!suggestion.empty())
    text += fmt::format("; did you mean +{}?", suggestion);
  else if (colon != std::string::npos)
    text += "; see the table of markers in docs/markers.md";
  if (options.lenient) {
    problems.Warning(at, std::move(text));
  } else {
    problems.Error(at, std::move(text));
  }
}

Value ReadNamed(const Parts& parts, MarkerScanner& scanner, std::string& wrong) {
  Value out = Value::Object();
  const auto& known = parts.definition->arguments;
  while (!scanner.AtEnd()) {
    const std::string name(scanner.ReadName());
    if (!scanner.error().empty()) break;
    auto found = std::find_if(known.begin(), known.end(), [&](const ArgumentDefinition& a) { return a.name == name; });
    if (found == known.end()) {
      std::vector<std::string_view> names;
      for (const ArgumentDefinition& a : known) names.push_back(a.name);
      wrong = fmt::format("unknown argument {}", name);
      if (std::string_view s = internal::Suggest(std::string_view(name).substr(0, 100), names); !s.empty()) {
        wrong += fmt::format("; did you mean {}?", s);
      } else {
        wrong += fmt::format("; it has {}", fmt::join(names, ", "));
      }
      return out;
    }
    if (out.Find(name) != nullptr) {
      wrong = fmt::format("argument {} stands twice", name);
      return out;
    }
    Value value = scanner.Read(found->type);
    if (!scanner.error().empty()) {
      wrong = fmt::format("argument {}: {}", name, scanner.error());
      return out;
    }
    out[name] = std::move(value);
    if (!scanner.AtEnd() && !scanner.Skip(',')) {
      wrong = fmt::format("unexpected {} behind argument {}; separate arguments by commas, and quote strings that have one",
                          std::string(scanner.rest()), name);
      return out;
    }
  }
  wrong = scanner.error();
  for (const ArgumentDefinition& a : known) {
    if (wrong.empty() && a.required && out.Find(a.name) == nullptr) wrong = fmt::format("argument {} is missing", a.name);
  }
  return out;
}

}  // namespace

std::optional<Marker> ParseMarker(std::string_view text, const Position& at, unsigned place, const MarkerOptions& options,
                                  Problems& problems) {
  Parts parts = Split(text);
  if (parts.definition == nullptr) {
    ReportUnknown(parts, at, options, problems);
    return std::nullopt;
  }
  const MarkerDefinition& definition = *parts.definition;
  if (definition.form == MarkerForm::kIgnored) return std::nullopt;
  const unsigned places = parts.items ? definition.places & ~unsigned{kInFile | kOnKind | kOnStruct} : definition.places;
  // Headers were checked as a whole; other sources may have any bytes.
  if (FindNoText(text) != std::string_view::npos) {
    problems.Error(at, fmt::format("marker +{}: a byte that is no text; save the file as UTF-8", parts.shown));
    return std::nullopt;
  }
  if ((places & place) == 0) {
    problems.Error(at, fmt::format("marker +{} does not belong here; write it above {}", parts.shown,
                                   (places & ~unsigned{kInFile}) == 0 ? "the first declaration of the file, in a comment of its own"
                                                                      : NamePlaces(places)));
    return std::nullopt;
  }
  // Declarative validation allows remarks: +k8s:maxItems=5 # why.
  if (parts.name.starts_with("k8s:")) {
    if (const std::size_t remark = parts.rest.find('#'); remark != std::string::npos) parts.rest.resize(remark);
  }
  MarkerScanner scanner(parts.rest);
  Marker out{.name = parts.name, .items = parts.items, .value = {}, .arguments = {}, .at = at};
  std::string wrong;
  switch (definition.form) {
    case MarkerForm::kEmpty:
      // +optional=true is what some write; false would mean the contrary, which nothing does.
      if (parts.has_value && parts.rest != "true" && parts.rest != "{}") wrong = "it has no value; leave out what follows the name";
      break;
    case MarkerForm::kValue:
      // Go's Kubernetes types say +default=ref(...), which names a constant of Go.
      if (definition.type == ArgumentType::kJson && parts.rest.starts_with("ref(")) return std::nullopt;
      if (!parts.has_value || scanner.AtEnd()) {
        wrong = fmt::format("a value is missing; write +{}=... with {}", parts.shown, NameOf(definition.type));
        break;
      }
      out.value = scanner.Read(definition.type);
      wrong = scanner.error();
      if (wrong.empty() && !scanner.AtEnd())
        wrong = fmt::format("unexpected {} behind the value; quote strings that have a comma or a semicolon", scanner.rest());
      break;
    case MarkerForm::kNamed:
      out.arguments = ReadNamed(parts, scanner, wrong);
      break;
    case MarkerForm::kIgnored:
      break;
  }
  if (!wrong.empty()) {
    problems.Error(at, fmt::format("marker +{}: {}", parts.shown, wrong));
    return std::nullopt;
  }
  return out;
}

bool MayStand(std::string_view text, unsigned places) {
  const Parts parts = Split(text);
  return parts.definition != nullptr && (parts.definition->places & places) != 0;
}

void CheckRepetition(const std::vector<Marker>& markers, Problems& problems) {
  std::map<std::pair<std::string_view, bool>, int> lines;
  for (const Marker& marker : markers) {
    const MarkerDefinition* definition = FindMarker(marker.name);
    if (definition == nullptr || definition->repeatable) continue;
    auto [first, added] = lines.try_emplace({marker.name, marker.items}, marker.at.line);
    if (added) continue;
    problems.Error(marker.at, fmt::format("marker +{} stands twice; the first one is in line {}", marker.name, first->second));
  }
}

}  // namespace kube::generate
