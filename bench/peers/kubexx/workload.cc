#include "workload.h"

#include <cstddef>
#include <iterator>

// Structs with std::optional members are not of standard layout; both compilers give their offsets all the same.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace kube::bench {
namespace {

// Number 0: no protobuf form.
constexpr FieldInfo Field(const char* name, const TypeInfo& type, std::size_t offset) {
  return {.json_name = name,
          .type = &type,
          .offset = static_cast<std::uint16_t>(offset),
          .number = 0,
          .kind = FieldKind::kMessage,
          .shape = FieldShape::kPlain};
}
constinit const FieldInfo kFields[] = {
    Field("metadata", meta::v1::ObjectMeta::kType, offsetof(Workload, metadata)),
    Field("spec", core::v1::PodSpec::kType, offsetof(Workload, spec)),
    Field("status", core::v1::PodStatus::kType, offsetof(Workload, status)),
};
constinit const KindInfo kKind{"bench.example.com", "v1", "Workload", "workloads", true, false};

}  // namespace

constinit const TypeInfo Workload::kType{
    "bench.v1.Workload", kFields, std::size(kFields), sizeof(Workload), offsetof(Workload, unknown_fields), TypeForm::kStruct, &kKind};

}  // namespace kube::bench
