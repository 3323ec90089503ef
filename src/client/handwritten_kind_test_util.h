// Backup: a custom resource whose table is written by hand, with protobuf numbers and without operator==.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kube/meta/v1.h"
#include "kube/value/type_info.h"

namespace kube::internal {

struct BackupSpec {
  String database{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};
struct BackupStatus {
  std::int32_t copies = 0;
  List<meta::v1::Condition> conditions{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};
struct Backup {
  meta::v1::ObjectMeta metadata{};
  BackupSpec spec{};
  BackupStatus status{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};

inline constexpr KindInfo kBackupKind{
    .group = "handwritten.example.com", .version = "v1", .kind = "Backup", .resource = "backups", .namespaced = true};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
inline constexpr FieldInfo kBackupSpecFields[] = {
    {.json_name = "database", .offset = offsetof(BackupSpec, database), .number = 1, .kind = FieldKind::kString},
};
inline constexpr FieldInfo kBackupStatusFields[] = {
    {.json_name = "copies", .offset = offsetof(BackupStatus, copies), .number = 1, .kind = FieldKind::kInt32},
    {.json_name = "conditions",
     .type = &meta::v1::Condition::kType,
     .offset = offsetof(BackupStatus, conditions),
     .number = 2,
     .kind = FieldKind::kMessage,
     .shape = FieldShape::kList},
};
inline constexpr FieldInfo kBackupFields[] = {
    {.json_name = "metadata",
     .type = &meta::v1::ObjectMeta::kType,
     .offset = offsetof(Backup, metadata),
     .number = 1,
     .kind = FieldKind::kMessage},
    {.json_name = "spec", .type = &BackupSpec::kType, .offset = offsetof(Backup, spec), .number = 2, .kind = FieldKind::kMessage},
    {.json_name = "status", .type = &BackupStatus::kType, .offset = offsetof(Backup, status), .number = 3, .kind = FieldKind::kMessage},
};
inline constinit const TypeInfo BackupSpec::kType{.name = "handwritten.v1.BackupSpec",
                                                  .fields = kBackupSpecFields,
                                                  .field_count = 1,
                                                  .size = sizeof(BackupSpec),
                                                  .unknown_offset = offsetof(BackupSpec, unknown_fields)};
inline constinit const TypeInfo BackupStatus::kType{.name = "handwritten.v1.BackupStatus",
                                                    .fields = kBackupStatusFields,
                                                    .field_count = 2,
                                                    .size = sizeof(BackupStatus),
                                                    .unknown_offset = offsetof(BackupStatus, unknown_fields)};
inline constinit const TypeInfo Backup::kType{.name = "handwritten.v1.Backup",
                                              .fields = kBackupFields,
                                              .field_count = 3,
                                              .size = sizeof(Backup),
                                              .unknown_offset = offsetof(Backup, unknown_fields),
                                              .kind = &kBackupKind};
#pragma GCC diagnostic pop

inline constexpr char kBackupCrd[] = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.handwritten.example.com}
spec:
  group: handwritten.example.com
  scope: Namespaced
  names: {kind: Backup, listKind: BackupList, plural: backups, singular: backup}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
)";

}  // namespace kube::internal
