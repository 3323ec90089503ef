#include "apiserver/builtin/struct_walk.h"

#include <cstring>

#include "kube/value/shared.h"

namespace kube::apiserver {
namespace {

// Lists and Boxes are one pointer to a reference-counted block.
template <typename Rep>
Rep* ReadRep(const char* at) {
  Rep* rep = nullptr;
  std::memcpy(&rep, at, sizeof rep);
  return rep;
}
template <typename Rep>
void WriteRep(char* at, Rep* rep) {
  std::memcpy(at, &rep, sizeof rep);
}

void WalkFields(const TypeInfo& type, char* object, const StructVisitor& visit) {
  for (const FieldInfo& field : type) {
    if (field.kind == FieldKind::kInline) {
      WalkFields(*field.type, object, visit);  // a view of the same struct
      continue;
    }
    if (field.kind != FieldKind::kMessage) continue;
    char* at = object + field.offset;
    switch (field.shape) {
      case FieldShape::kPlain:
        ForEachStruct(*field.type, at, visit);
        break;
      case FieldShape::kOptional: {
        auto* rep = ReadRep<internal::BoxRep>(at);
        if (rep == nullptr) break;
        if (!rep->refs.IsOne()) {
          internal::BoxRep* fresh = internal::CopyBox(rep, *field.type);
          internal::ReleaseBox(rep, *field.type);
          WriteRep(at, rep = fresh);
        }
        ForEachStruct(*field.type, rep->data(), visit);
        break;
      }
      case FieldShape::kList: {
        auto* rep = ReadRep<internal::ArrayRep>(at);
        if (rep == nullptr) break;
        if (!rep->refs.IsOne()) {
          internal::ArrayRep* fresh = internal::CopyStructArray(rep, rep->size, *field.type);
          internal::ReleaseStructArray(rep, *field.type);
          WriteRep(at, rep = fresh);
        }
        for (std::size_t i = 0; i < rep->size; ++i) ForEachStruct(*field.type, rep->data() + i * field.type->size, visit);
        break;
      }
      case FieldShape::kMap:
        break;
    }
  }
}

}  // namespace

void ForEachStruct(const TypeInfo& type, void* object, const StructVisitor& visit) {
  if (visit(type, object)) WalkFields(type, static_cast<char*>(object), visit);
}

}  // namespace kube::apiserver
