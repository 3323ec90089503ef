#include "apiserver/builtin/server_form.h"

#include <utility>
#include <vector>

#include "kube/api/apps/v1.h"
#include "kube/api/authentication/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/storage/v1.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"

namespace kube::apiserver {
namespace {

void Complete(const TypeInfo& type, Value& value);

// What stands in for a field that was left out; false if leaving it out is right.
bool MissingForm(const TypeInfo& type, const FieldInfo& field, Value& form) {
  if (field.shape != FieldShape::kPlain) return false;
  switch (field.kind) {
    case FieldKind::kMessage:
      if (field.type->form != TypeForm::kStruct) return false;
      if (&type == &storage::v1::CSINode::kType && field.json_name == "status") return false;  // of a later release
      form = Value::Object();
      return true;
    case FieldKind::kTime:
    case FieldKind::kMicroTime:
      form = Value();
      return &type != &meta::v1::ObjectMeta::kType;  // an unset creationTimestamp is left out
    default:
      return false;
  }
}

// The few optional fields that are written even where they are not set.
std::string_view WrittenAsNull(const TypeInfo& type) {
  if (&type == &core::v1::TypedLocalObjectReference::kType || &type == &core::v1::TypedObjectReference::kType) return "apiGroup";
  if (&type == &authentication::v1::TokenRequestSpec::kType) return "boundObjectRef";
  return {};
}

void CompleteFields(const TypeInfo& type, Value& value) {
  for (const FieldInfo& field : type) {
    if (field.kind == FieldKind::kInline) {
      CompleteFields(*field.type, value);
      continue;
    }
    const Value* found = std::as_const(value).Find(field.json_name);
    if (found == nullptr) {
      Value form;
      if (!MissingForm(type, field, form)) continue;
      value[field.json_name] = form;
    } else if (field.shape == FieldShape::kList && field.required && found->is_list() && found->list().empty()) {
      value[field.json_name] = Value();
      continue;
    }
    if (field.kind != FieldKind::kMessage || field.type->form != TypeForm::kStruct) continue;
    Value& inner = value[field.json_name];
    if (field.shape == FieldShape::kList) {
      if (!inner.is_list()) continue;
      for (Value& item : inner.MutableList()) Complete(*field.type, item);
    } else if (field.shape == FieldShape::kMap) {
      if (!inner.is_object()) continue;
      Map<Value>& members = inner.MutableObject();
      for (std::size_t i = 0; i < members.size(); ++i) Complete(*field.type, members[members.begin()[i].key]);
    } else {
      Complete(*field.type, inner);
    }
  }
}

void Complete(const TypeInfo& type, Value& value) {
  if (!value.is_object()) return;
  if (value.object().empty()) {
    // Required fields of a struct that was not written at all.
    std::vector<unsigned char> zeroes(type.size, 0);
    if (auto empty = ToValue(type, zeroes.data())) value = *empty;
    if (type.kind != nullptr) {
      value.MutableObject().Erase("apiVersion");
      value.MutableObject().Erase("kind");
    }
  }
  CompleteFields(type, value);
  if (std::string_view name = WrittenAsNull(type); !name.empty() && std::as_const(value).Find(name) == nullptr) value[name] = Value();
  if (&type == &apps::v1::StatefulSetSpec::kType) {
    if (const Value* templates = std::as_const(value).Find("volumeClaimTemplates"); templates != nullptr && templates->is_list()) {
      for (Value& claim : value["volumeClaimTemplates"].MutableList()) {
        claim["apiVersion"] = "v1";
        claim["kind"] = "PersistentVolumeClaim";
      }
    }
  }
}

}  // namespace

Result<Value> ToServerValue(const TypeInfo& type, const void* object) {
  Result<Value> value = ToValue(type, object);
  if (!value) return value;
  CompleteFields(type, *value);
  return value;
}

}  // namespace kube::apiserver
