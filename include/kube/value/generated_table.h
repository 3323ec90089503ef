// The macros in tables that `kubexx generate` writes. For tables by hand use KUBE_DEFINE_TABLE (kube/value/table.h).
//
//   // network_types.kube.cc
//   #include "api/v1/network_types.h"
//   #include <kube/value/generated_table.h>
//
//   namespace samplecrd::v1 {
//   KUBE_GENERATED_FIRST(NetworkSpec, cidr, kube::String, "cidr", .required = true);
//   KUBE_GENERATED_NEXT(NetworkSpec, cidr, mtu, std::optional<std::int32_t>, "mtu");
//   KUBE_GENERATED_TABLE(NetworkSpec, "samplecrd.v1.NetworkSpec", KUBE_COLUMN(NetworkSpec, cidr), KUBE_COLUMN(NetworkSpec, mtu));
//   }
//
// There is one statement per member, with what the generator read in the header: the previous member, the name and the type. The compiler
// compares this with the struct, so a table that is older than its header causes a single error that names the member.
#pragma once

#include <type_traits>

#include "kube/value/table.h"

// Structs with std::optional members are not standard-layout, but both compilers compute their offsets. The pragma applies to the rest of
// the generated file, because pragmas around each member would slow down compilation.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace kube::internal {

// Replaces the offset of a member that the struct lacks or has with another type.
inline constexpr std::uint32_t kGoneOffset = 0x10000;

// How a member differs from what the generator read. One error is enough, so all members after a stale one are kReported.
enum class Stale : std::uint8_t { kNo, kGone, kMoved, kReported };

struct GeneratedColumn {
  Column column{};
  Stale stale = Stale::kNo;
};
template <typename Member>
struct GeneratedColumnOf {
  GeneratedColumn generated{};
};
// The predecessor of the first member.
inline constexpr GeneratedColumnOf<void> kNoColumn{};

constexpr GeneratedColumn After(const GeneratedColumn& previous, const MemberInfo& member, std::uint32_t offset,
                                const FieldOptions& options) {
  if (previous.stale != Stale::kNo) return {.column = {}, .stale = Stale::kReported};
  if (offset == kGoneOffset) return {.column = {}, .stale = Stale::kGone};
  return {.column = MakeColumn(member, offset, options),
          .stale = Follows(previous.column.end, offset, member.alignment) ? Stale::kNo : Stale::kMoved};
}

template <typename... Members>
constexpr FieldArray<sizeof...(Members)> GeneratedFieldsOf(const GeneratedColumnOf<Members>&... columns) {
  return {{columns.generated.column.info...}};
}
// The order of the members was already checked; the names are the generator's responsibility.
template <typename Struct, typename... Members>
constexpr TableFlaw GeneratedFlawOf(std::size_t end, const GeneratedColumnOf<Members>&... columns) {
  const GeneratedColumn* last = &kNoColumn.generated;
  ((last = &columns.generated), ...);
  if (last->stale != Stale::kNo) return TableFlaw::kNone;  // reported
  if (!Follows(last->column.end, end, alignof(UnknownFields)) || !kHasJust<Struct, Members...>) return TableFlaw::kForgotten;
  if (end + sizeof(UnknownFields) != sizeof(Struct)) return TableFlaw::kNotLast;
  return TableFlaw::kNone;
}

}  // namespace kube::internal

#define KUBE_INTERNAL_GENERATED(Struct, previous_column, place, member, Type, json_name, ...)                                             \
  template <typename KubeStruct, typename = Type>                                                                                         \
  static constexpr std::uint32_t kKubeOffset##Struct##_##member = ::kube::internal::kGoneOffset;                                          \
  template <typename KubeStruct>                                                                                                          \
  static constexpr std::uint32_t kKubeOffset##Struct##_##member<KubeStruct, decltype(KubeStruct::member)> = offsetof(KubeStruct, member); \
  static constexpr ::kube::internal::GeneratedColumnOf<Type> kKube##Struct##_##member{                                                    \
      ::kube::internal::After(previous_column.generated, ::kube::internal::kMember<Type>, kKubeOffset##Struct##_##member<Struct>,         \
                              {.json = json_name __VA_OPT__(, ) __VA_ARGS__})};                                                           \
  static_assert(kKube##Struct##_##member.generated.stale != ::kube::internal::Stale::kGone,                                               \
                #Struct " has no member `" #Type " " #member "`, but its generated table has: run `kubexx generate`");                    \
  static_assert(kKube##Struct##_##member.generated.stale != ::kube::internal::Stale::kMoved,                                              \
                #Struct "::" #member " is not " place ", as in its generated table (a member was added or moved): run `kubexx generate`")

// The first member of a struct, and the following ones: previous member, name, type without aliases, JSON name, more FieldOptions.
#define KUBE_GENERATED_FIRST(Struct, member, Type, json_name, ...) \
  KUBE_INTERNAL_GENERATED(Struct, ::kube::internal::kNoColumn, "the first member", member, Type, json_name __VA_OPT__(, ) __VA_ARGS__)
#define KUBE_GENERATED_NEXT(Struct, previous, member, Type, json_name, ...) \
  KUBE_INTERNAL_GENERATED(Struct, kKube##Struct##_##previous, "behind `" #previous "`", member, Type, json_name __VA_OPT__(, ) __VA_ARGS__)
// A member in the list of KUBE_GENERATED_TABLE and KUBE_GENERATED_KIND.
#define KUBE_COLUMN(Struct, member) kKube##Struct##_##member

#define KUBE_INTERNAL_GENERATED_TABLE(Struct, table_name, kind_pointer, ...)                                  \
  static_assert(::kube::Described<Struct>, "write KUBE_TABLE(" #Struct "); as the last member of " #Struct);  \
  static constexpr auto kKubeFlawOf##Struct =                                                                 \
      ::kube::internal::GeneratedFlawOf<Struct>(offsetof(Struct, unknown_fields) __VA_OPT__(, ) __VA_ARGS__); \
  KUBE_INTERNAL_CHECKS(Struct, ": run `kubexx generate`");                                                    \
  static constexpr auto kKubeFieldsOf##Struct = ::kube::internal::GeneratedFieldsOf(__VA_ARGS__);             \
  KUBE_INTERNAL_TYPE(Struct, table_name, kind_pointer, kKubeFieldsOf##Struct.kCount)

// Define the table of a struct, and of a kind.
#define KUBE_GENERATED_TABLE(Struct, table_name, ...) KUBE_INTERNAL_GENERATED_TABLE(Struct, table_name, nullptr __VA_OPT__(, ) __VA_ARGS__)
#define KUBE_GENERATED_KIND(Struct, table_name, kind_info, ...) \
  KUBE_INTERNAL_KIND(Struct, kind_info);                        \
  KUBE_INTERNAL_GENERATED_TABLE(Struct, table_name, &kKubeKindOf##Struct __VA_OPT__(, ) __VA_ARGS__)
