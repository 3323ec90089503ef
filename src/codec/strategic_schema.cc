#include "codec/strategic_schema.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "codec/fields.h"

namespace kube::internal {
namespace {

// The table of what a struct shows as a JSON object, which for types that pick a field by token is not its own.
const TypeInfo* ObjectType(const TypeInfo* type) {
  while (type != nullptr && type->form != TypeForm::kStruct) {
    const TypeInfo* inner = nullptr;
    for (const FieldInfo& field : *type) {
      if (field.kind == FieldKind::kMessage && (field.shape == FieldShape::kPlain || field.shape == FieldShape::kOptional))
        inner = field.type;
    }
    type = inner;
  }
  return type;
}

// What is known of the members of one element of the field. Elements of elements too: a list has no members of its own.
PatchSchema ElementSchema(const FieldInfo& field) {
  PatchSchema out;
  const FieldInfo* nested = NestedField(field);
  if (nested == nullptr) {
    if (field.kind == FieldKind::kMessage) out.type = ObjectType(field.type);
  } else if (nested->shape == FieldShape::kMap) {
    out.map = nested;
  } else {
    out = ElementSchema(*nested);
  }
  return out;
}

}  // namespace

bool ReplacesList(const Value& list) {
  for (const Value& element : list.list()) {
    if (HasPatchDirective(element, "replace")) return true;
  }
  return false;
}

PatchField LookUp(const PatchSchema& schema, std::string_view key) {
  PatchField out;
  if (schema.map != nullptr) {
    out.below = ElementSchema(*schema.map);
    return out;
  }
  const FieldInfo* field = schema.type == nullptr ? nullptr : FindByName(*schema.type, key, 0).field;
  if (field == nullptr) return out;
  if (field->shape == FieldShape::kMap) {
    out.below.map = field;
  } else {
    out.below = ElementSchema(*field);
  }
  if (field->extra == nullptr) return out;
  out.merge_key = field->extra->patch_merge_key;
  std::string_view strategies = field->extra->patch_strategy;
  while (!strategies.empty()) {
    std::string_view one = strategies.substr(0, strategies.find(','));
    strategies.remove_prefix(std::min(strategies.size(), one.size() + 1));
    if (one == "merge") out.merge = true;
    if (one == "replace") out.replace = true;
    if (one == "retainKeys") out.retain_keys = true;
  }
  return out;
}

std::string KeyText(const Value& scalar) {
  switch (scalar.kind()) {
    case Value::Kind::kString:
      return "s" + scalar.string_value().str();
    case Value::Kind::kInt:
      return "n" + std::to_string(scalar.int_value());
    case Value::Kind::kDouble: {
      // The same text as the equal integer.
      double d = scalar.double_value();
      if (d == std::floor(d) && std::abs(d) < 9e18) return "n" + std::to_string(static_cast<std::int64_t>(d));
      char text[40];
      std::snprintf(text, sizeof text, "n%.17g", d);
      return text;
    }
    case Value::Kind::kBool:
      return scalar.bool_value() ? "true" : "false";
    default:
      return "null";
  }
}

Result<std::string> ElementKey(const Value& element, std::string_view merge_key, const Path* path) {
  if (merge_key.empty()) return KeyText(element);
  const Value* key = element.Find(merge_key);
  if (key == nullptr || key->is_null()) {
    return Error::Invalid(At(path, "the element has no `" + std::string(merge_key) + "`, the merge key of this list"));
  }
  if (key->is_object() || key->is_list()) {
    return Error::Invalid(
        At(path, "the merge key `" + std::string(merge_key) + "` is no plain value but " + std::string(key->kind_name())));
  }
  return KeyText(*key);
}

Result<ElementIndex> ElementIndex::Make(const List<Value>& list, std::string_view merge_key, const Path* path) {
  ElementIndex out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Path at = Path::Index(path, static_cast<std::int64_t>(i));
    Result<std::string> key = ElementKey(list[i], merge_key, &at);
    if (!key) return key.error();
    if (!out.first_.emplace(*std::move(key), i).second) out.has_duplicates_ = true;
  }
  return out;
}

Result<ElementClass> ClassOf(const List<Value>& a, const List<Value>& b, const Path* path) {
  const Value* first = nullptr;
  for (const List<Value>* list : {&a, &b}) {
    for (const Value& element : *list) {
      if (element.is_list()) return Error::Invalid(At(path, "lists of lists cannot be merged"));
      if (element.is_null()) return Error::Invalid(At(path, "a list that is merged has a null element"));
      if (first == nullptr) {
        first = &element;
      } else if (first->kind() != element.kind() && !(first->is_number() && element.is_number())) {
        return Error::Invalid(At(path, "a list that is merged has elements of different types: " + std::string(first->kind_name()) +
                                           " and " + std::string(element.kind_name())));
      }
    }
  }
  if (first == nullptr) return ElementClass::kNone;
  return first->is_object() ? ElementClass::kObject : ElementClass::kScalar;
}

}  // namespace kube::internal
