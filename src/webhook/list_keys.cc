#include "webhook/list_keys.h"

#include <set>
#include <string_view>

#include "kube/codec/json.h"
#include "value/field_access.h"
#include "webhook/one_field.h"

namespace kube::internal {
namespace {

// Scalars that stand in the struct itself.
const FieldInfo* KeyField(const TypeInfo& type, std::string_view name) {
  for (const FieldInfo& field : type) {
    if (field.json_name != name) continue;
    const bool scalar = field.kind != FieldKind::kMessage && field.kind != FieldKind::kInline && field.kind != FieldKind::kRawJson;
    return scalar && (field.shape == FieldShape::kPlain || field.shape == FieldShape::kOptional) ? &field : nullptr;
  }
  return nullptr;
}

}  // namespace

std::vector<const FieldInfo*> KeyFieldsOf(const FieldInfo& list) {
  std::string_view names = "name";
  bool usual = true;
  if (list.extra != nullptr && list.extra->list_type == ListType::kMap && !list.extra->map_keys.empty()) {
    names = list.extra->map_keys;
    usual = false;
  } else if (list.extra != nullptr && !list.extra->patch_merge_key.empty()) {
    names = list.extra->patch_merge_key;
    usual = false;
  }
  std::vector<const FieldInfo*> out;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    const FieldInfo* field = KeyField(*list.type, names.substr(0, comma));
    if (field == nullptr || (usual && field->kind != FieldKind::kString)) return {};
    out.push_back(field);
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return out;
}

std::optional<std::vector<std::string>> KeysOf(const FieldInfo& list, const std::vector<const FieldInfo*>& fields, const void* at) {
  if (fields.empty()) return std::nullopt;
  std::vector<OneField> keys;
  for (const FieldInfo* field : fields) keys.emplace_back(*field);
  std::vector<std::string> out;
  std::set<std::string_view> known;
  const std::size_t count = ArraySize(at);
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const char* element = Array(at)->data() + i * list.type->size;
    std::string text;
    bool any = false;
    for (std::size_t k = 0; k < fields.size(); ++k) {
      const char* value = At(element, *fields[k]);
      any = any || !keys[k].IsEmpty(value);
      if (k != 0) text += ',';
      if (fields.size() == 1 && fields[k]->kind == FieldKind::kString && fields[k]->shape == FieldShape::kPlain) {
        text += Read<String>(value).view();
      } else if (!EncodeJson(keys[k].type(), value, text)) {
        return std::nullopt;
      }
    }
    if (!any) return std::nullopt;
    out.push_back(std::move(text));
    if (!known.insert(out.back()).second) return std::nullopt;
  }
  return out;
}

}  // namespace kube::internal
