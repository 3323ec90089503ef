#include "generate/builtin_types.h"

#include <algorithm>
#include <utility>

#include "generate/markers.h"

namespace kube::generate {
namespace {

// The next line of `text`, which loses it.
std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

struct ScalarName {
  std::string_view name;
  Scalar scalar;
};
constexpr ScalarName kScalars[] = {{"bool", Scalar::kBool},
                                   {"std::int32_t", Scalar::kInt32},
                                   {"std::int64_t", Scalar::kInt64},
                                   {"double", Scalar::kDouble},
                                   {"kube::String", Scalar::kString},
                                   {"kube::Bytes", Scalar::kBytes},
                                   {"kube::Quantity", Scalar::kQuantity},
                                   {"kube::Time", Scalar::kTime},
                                   {"kube::MicroTime", Scalar::kMicroTime},
                                   {"kube::Duration", Scalar::kDuration},
                                   {"kube::IntOrString", Scalar::kIntOrString},
                                   {"kube::RawJson", Scalar::kRawJson}};

}  // namespace

Type ParseBuiltinType(std::string_view text) {
  Type out;
  auto inner = [&](std::string_view prefix, TypeForm form) {
    if (!text.starts_with(prefix) || !text.ends_with('>')) return false;
    out.form = form;
    out.element = std::make_shared<const Type>(ParseBuiltinType(text.substr(prefix.size(), text.size() - prefix.size() - 1)));
    return true;
  };
  if (inner("kube::List<", TypeForm::kList) || inner("kube::Map<", TypeForm::kMap) || inner("kube::Box<", TypeForm::kBox) ||
      inner("std::optional<", TypeForm::kOptional)) {
    return out;
  }
  for (const ScalarName& known : kScalars) {
    if (text != known.name) continue;
    out.form = TypeForm::kScalar;
    out.scalar = known.scalar;
    return out;
  }
  out.form = TypeForm::kBuiltin;
  out.name = text;
  return out;
}

BuiltinTypes& BuiltinTypes::Get() {
  static BuiltinTypes types(BuiltinTexts());
  return types;
}

const BuiltinText* BuiltinTypes::TextOf(std::string_view qualified) const {
  auto found = std::lower_bound(texts_.begin(), texts_.end(), qualified,
                                [](const BuiltinText& text, std::string_view name) { return text.name < name; });
  return found != texts_.end() && found->name == qualified ? &*found : nullptr;
}

const Struct* BuiltinTypes::Find(std::string_view qualified) {
  if (auto done = parsed_.find(qualified); done != parsed_.end()) return done->second.get();
  const BuiltinText* found = TextOf(qualified);
  if (found == nullptr) return nullptr;
  auto out = std::make_unique<Struct>();
  out->qualified = std::string(qualified);
  const std::size_t colon = out->qualified.rfind("::");
  out->scope = out->qualified.substr(0, colon);
  out->name = out->qualified.substr(colon + 2);
  Problems ignored;
  std::string_view text = found->lines;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    if (line.size() < 3) continue;
    const std::string_view rest = line.substr(2);
    if (line[0] == 'M') {
      const bool field = !out->fields.empty();
      std::optional<Marker> marker = ParseMarker(rest, {}, field ? kOnField : kOnStruct, {.lenient = true}, ignored);
      if (marker) (field ? out->fields.back().markers : out->markers).push_back(*std::move(marker));
      continue;
    }
    Field field;
    const std::size_t space = rest.find(' ');
    field.json = rest.substr(0, space);
    field.type = ParseBuiltinType(space == std::string_view::npos ? "" : rest.substr(space + 1));
    field.name = field.json;
    if (line[0] == 'I') {
      field.inlined = true;
      field.json.clear();
    }
    if (line[0] == 'R') field.markers.push_back({.name = "required"});
    out->fields.push_back(std::move(field));
  }
  return parsed_.emplace(std::string(qualified), std::move(out)).first->second.get();
}

}  // namespace kube::generate
