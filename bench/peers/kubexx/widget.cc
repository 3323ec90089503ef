#include "widget.h"

#include <cstddef>
#include <iterator>

// Structs with std::optional members are not of standard layout; both compilers give their offsets all the same.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace kube::bench {
namespace {

// Number 0: no protobuf form.
constexpr FieldInfo Plain(const char* name, FieldKind kind, std::size_t offset, const TypeInfo* type = nullptr) {
  return {.json_name = name,
          .type = type,
          .offset = static_cast<std::uint16_t>(offset),
          .number = 0,
          .kind = kind,
          .shape = FieldShape::kPlain};
}
constinit const FieldInfo kSpecFields[] = {
    Plain("message", FieldKind::kString, offsetof(WidgetSpec, message)),
    Plain("size", FieldKind::kInt32, offsetof(WidgetSpec, size)),
};
constinit const FieldInfo kStatusFields[] = {
    Plain("observedGeneration", FieldKind::kInt64, offsetof(WidgetStatus, observed_generation)),
    Plain("ready", FieldKind::kBool, offsetof(WidgetStatus, ready)),
};
constinit const FieldInfo kFields[] = {
    Plain("metadata", FieldKind::kMessage, offsetof(Widget, metadata), &meta::v1::ObjectMeta::kType),
    Plain("spec", FieldKind::kMessage, offsetof(Widget, spec), &WidgetSpec::kType),
    Plain("status", FieldKind::kMessage, offsetof(Widget, status), &WidgetStatus::kType),
};
constinit const KindInfo kKind{"bench.example.com", "v1", "Widget", "widgets", true, false};

}  // namespace

constinit const TypeInfo WidgetSpec::kType{"bench.v1.WidgetSpec", kSpecFields, std::size(kSpecFields), sizeof(WidgetSpec),
                                           offsetof(WidgetSpec, unknown_fields)};
constinit const TypeInfo WidgetStatus::kType{"bench.v1.WidgetStatus", kStatusFields, std::size(kStatusFields), sizeof(WidgetStatus),
                                             offsetof(WidgetStatus, unknown_fields)};
constinit const TypeInfo Widget::kType{"bench.v1.Widget", kFields, std::size(kFields), sizeof(Widget), offsetof(Widget, unknown_fields),
                                       TypeForm::kStruct, &kKind};

}  // namespace kube::bench
