#include "webhook/field_copy.h"

#include <string>

#include "codec/array_builder.h"
#include "codec/fields.h"
#include "webhook/unknown_members.h"

namespace kube::internal {
namespace {

// A field with the offset of the inlined struct that it is in.
struct PlacedField {
  const FieldInfo* field = nullptr;
  std::size_t offset = 0;
};

void Flatten(const TypeInfo& type, std::size_t base, std::vector<PlacedField>& out) {
  for (const FieldInfo& field : type) {
    if (field.kind == FieldKind::kInline) {
      Flatten(*field.type, base + field.offset, out);
    } else {
      out.push_back({&field, base + field.offset});
    }
  }
}

bool GoTogether(const FieldInfo& a, const FieldInfo& b) {
  if (a.kind != b.kind || a.shape != b.shape) return false;
  if (a.kind != FieldKind::kMessage || a.type == b.type) return true;
  return a.type->form == b.type->form && a.type->form != TypeForm::kByToken;
}

PlacedField PartnerOf(const FieldInfo& field, const TypeInfo& to) {
  if (to.form == TypeForm::kOnlyField) return {to.fields, to.fields->offset};
  const FoundField found = FindByName(to, field.json_name, 0);
  if (found.field == nullptr) return {};
  return {found.field, std::size_t{found.base} + found.field->offset};
}

void CopyUnknown(const TypeInfo& from_type, const void* from, const TypeInfo& to_type, void* to) {
  const UnknownFields* unknown = UnknownOf(from_type, from);
  UnknownFields* copy = UnknownOf(to_type, to);
  if (unknown == nullptr || unknown->empty() || copy == nullptr) return;
  *copy = *unknown;
  MemberChanges taken;
  for (const UnknownMember& member : MembersOf(*unknown)) {
    if (FindByName(to_type, member.name, 0).field != nullptr) taken[member.name];
  }
  SetMembers(*copy, taken);
}

}  // namespace

const FieldCopy::Plan* FieldCopy::PlanFor(const TypeInfo& from, const TypeInfo& to) {
  const auto [at, fresh] = plans_.try_emplace({&from, &to});
  if (!fresh) return at->second.get();
  at->second = std::make_unique<Plan>();
  Plan& plan = *at->second;
  plan.from = &from;
  plan.to = &to;
  std::vector<PlacedField> fields;
  Flatten(from, 0, fields);
  for (const PlacedField& mine : fields) {
    const PlacedField other = PartnerOf(*mine.field, to);
    if (other.field == nullptr || !GoTogether(*mine.field, *other.field)) continue;
    Step step{.from = OneField(*mine.field), .to = OneField(*other.field), .from_offset = mine.offset, .to_offset = other.offset};
    if (mine.field->type != other.field->type) step.inside = PlanFor(*mine.field->type, *other.field->type);
    plan.steps.push_back(std::move(step));
  }
  return &plan;
}

void FieldCopy::Run(const Plan& plan, const char* from, char* to) {
  for (const Step& step : plan.steps) RunStep(step, from + step.from_offset, to + step.to_offset);
  CopyUnknown(*plan.from, from, *plan.to, to);
}

void FieldCopy::RunStep(const Step& step, const char* from, char* to) {
  if (step.inside == nullptr) return step.from.Copy(from, to);
  const FieldInfo& mine = step.from.field();
  const FieldInfo& other = step.to.field();
  switch (mine.shape) {
    case FieldShape::kPlain:
      return Run(*step.inside, from, to);
    case FieldShape::kOptional: {
      BoxRep* box = BoxOf(from);
      if (box == nullptr) return;
      BoxRep* copy = NewBox(other.type->size);
      Write<BoxRep*>(to) = copy;
      return Run(*step.inside, box->data(), copy->data());
    }
    case FieldShape::kList:
    case FieldShape::kMap:
      break;
  }
  const std::size_t count = ArraySize(from);
  if (count == 0) return;
  const bool map = mine.shape == FieldShape::kMap;
  const char* element = Array(from)->data();
  ArrayBuilder builder(other, &Write<ArrayRep*>(to), count);
  for (std::size_t i = 0; i < count; ++i, element += Stride(mine)) {
    char* copy = builder.Add();
    if (map) Write<String>(copy) = Read<String>(element);
    const std::size_t value = map ? kEntryValueOffset : 0;
    Run(*step.inside, element + value, copy + value);
  }
}

}  // namespace kube::internal
