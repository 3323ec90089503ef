#include "generate/model.h"

#include <algorithm>

namespace kube::generate {
namespace {

template <typename Declaration>
const Marker* FindIn(const Declaration& declaration, std::string_view marker) {
  auto found =
      std::find_if(declaration.markers.begin(), declaration.markers.end(), [&](const Marker& m) { return m.name == marker && !m.items; });
  return found == declaration.markers.end() ? nullptr : &*found;
}

std::string_view SpellingOf(Scalar scalar) {
  switch (scalar) {
    case Scalar::kBool:
      return "bool";
    case Scalar::kInt32:
      return "std::int32_t";
    case Scalar::kInt64:
      return "std::int64_t";
    case Scalar::kDouble:
      return "double";
    case Scalar::kString:
      return "kube::String";
    case Scalar::kBytes:
      return "kube::Bytes";
    case Scalar::kQuantity:
      return "kube::Quantity";
    case Scalar::kTime:
      return "kube::Time";
    case Scalar::kMicroTime:
      return "kube::MicroTime";
    case Scalar::kDuration:
      return "kube::Duration";
    case Scalar::kIntOrString:
      return "kube::IntOrString";
    case Scalar::kRawJson:
      return "kube::RawJson";
  }
  return "";
}

}  // namespace

std::string Type::Spelling() const {
  const std::string inner = element != nullptr ? '<' + element->Spelling() + '>' : "";
  switch (form) {
    case TypeForm::kScalar:
      return std::string(SpellingOf(scalar));
    case TypeForm::kOptional:
      return "std::optional" + inner;
    case TypeForm::kBox:
      return "kube::Box" + inner;
    case TypeForm::kList:
      return "kube::List" + inner;
    case TypeForm::kMap:
      return "kube::Map" + inner;
    default:
      return name + inner;
  }
}

const Marker* Field::Find(std::string_view marker) const { return FindIn(*this, marker); }
const Marker* Struct::Find(std::string_view marker) const { return FindIn(*this, marker); }
const Marker* Alias::Find(std::string_view marker) const { return FindIn(*this, marker); }

void Model::Index() {
  struct_index_.clear();
  alias_index_.clear();
  for (std::size_t i = 0; i < structs.size(); ++i) struct_index_.emplace(structs[i].qualified, i);
  for (std::size_t i = 0; i < aliases.size(); ++i) alias_index_.emplace(aliases[i].qualified, i);
}

const Struct* Model::FindStruct(std::string_view qualified) const {
  auto found = struct_index_.find(qualified);
  return found == struct_index_.end() ? nullptr : &structs[found->second];
}

const Alias* Model::FindAlias(std::string_view qualified) const {
  auto found = alias_index_.find(qualified);
  return found == alias_index_.end() ? nullptr : &aliases[found->second];
}

std::string LowerCamel(std::string_view member) {
  std::string out;
  bool upper = false;
  for (char c : member) {
    if (c == '_') {
      upper = !out.empty();
      continue;
    }
    out += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return out;
}

}  // namespace kube::generate
