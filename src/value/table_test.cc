#include "kube/value/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "value/test_types.h"

namespace kube::testing {

struct Part {
  String name{};
  KUBE_TABLE(Part);
};
// Every type that a member can have.
struct Whole {
  bool flag = false;
  std::int32_t number = 0;
  std::int64_t large_number = 0;
  double ratio = 0;
  String namespace_{};
  Bytes ca_bundle{};
  Quantity quantity{};
  Time made_at{};
  MicroTime seen_at{};
  Duration max_age{};
  IntOrString target_port{};
  RawJson raw{};
  Part part{};
  std::optional<bool> optional_flag{};
  std::optional<std::int32_t> optional_number{};
  std::optional<String> optional_text{};
  Box<Part> optional_part{};
  List<String> texts{};
  List<Part> parts{};
  Map<String> labels{};
  Map<Part> part_by_name{};
  Box<Whole> child{};
  String pod_cidr{};
  KUBE_TABLE(Whole);
};
// Lists and maps of each other; a struct whose fields stand in this one's object.
struct Nested {
  Map<List<String>> routes{};
  List<Map<List<Part>>> parts{};
  Map<List<Bytes>> keys{};
  Box<List<Nested>> children{};
  Part part{};
  KUBE_TABLE(Nested);
};
struct Nothing {
  KUBE_TABLE(Nothing);
};

KUBE_DEFINE_TABLE(Part, "test.Part", KUBE_FIELD(Part, name, .required = true));
KUBE_DEFINE_KIND(Whole, (.group = "test.example", .version = "v1", .kind = "Whole", .resource = "wholes", .namespaced = true),
                 KUBE_FIELD(Whole, flag), KUBE_FIELD(Whole, number), KUBE_FIELD(Whole, large_number), KUBE_FIELD(Whole, ratio),
                 KUBE_FIELD(Whole, namespace_), KUBE_FIELD(Whole, ca_bundle, .bytes = true), KUBE_FIELD(Whole, quantity),
                 KUBE_FIELD(Whole, made_at), KUBE_FIELD(Whole, seen_at), KUBE_FIELD(Whole, max_age), KUBE_FIELD(Whole, target_port),
                 KUBE_FIELD(Whole, raw), KUBE_FIELD(Whole, part), KUBE_FIELD(Whole, optional_flag), KUBE_FIELD(Whole, optional_number),
                 KUBE_FIELD(Whole, optional_text), KUBE_FIELD(Whole, optional_part), KUBE_FIELD(Whole, texts), KUBE_FIELD(Whole, parts),
                 KUBE_FIELD(Whole, labels), KUBE_FIELD(Whole, part_by_name), KUBE_FIELD(Whole, child),
                 KUBE_FIELD(Whole, pod_cidr, .json = "podCIDR"));
KUBE_DEFINE_TABLE(Nested, "test.Nested", KUBE_FIELD(Nested, routes), KUBE_FIELD(Nested, parts), KUBE_FIELD(Nested, keys, .bytes = true),
                  KUBE_FIELD(Nested, children), KUBE_FIELD(Nested, part, .inlined = true));
KUBE_DEFINE_TABLE(Nothing, "test.Nothing");

namespace {

using internal::TableProblem;
using ::testing::AllOf;
using ::testing::HasSubstr;

const FieldInfo& FieldOf(std::string_view json_name) {
  for (const FieldInfo& field : Whole::kType) {
    if (field.json_name == json_name) return field;
  }
  ADD_FAILURE() << "no field " << json_name;
  return *Whole::kType.begin();
}

TEST(TableTest, KindAndShapeFollowFromTheMember) {
  EXPECT_EQ(Whole::kType.field_count, 23);
  EXPECT_EQ(Whole::kType.size, sizeof(Whole));
  EXPECT_EQ(FieldOf("optionalNumber").kind, FieldKind::kInt32);
  EXPECT_EQ(FieldOf("optionalNumber").shape, FieldShape::kOptional);
  EXPECT_EQ(FieldOf("madeAt").kind, FieldKind::kTime);
  EXPECT_EQ(FieldOf("madeAt").shape, FieldShape::kPlain);
  EXPECT_EQ(FieldOf("partByName").shape, FieldShape::kMap);
  EXPECT_EQ(FieldOf("partByName").type, &Part::kType);
  EXPECT_EQ(FieldOf("caBundle").kind, FieldKind::kBytes);
  EXPECT_EQ(FieldOf("child").type, &Whole::kType);
  EXPECT_TRUE(Part::kType.begin()->required);
  EXPECT_FALSE(FieldOf("texts").required);
}

TEST(TableTest, ContainersInContainersHaveTablesOfTheirOwn) {
  const FieldInfo& routes = Nested::kType.fields[0];
  EXPECT_EQ(routes.shape, FieldShape::kMap);
  ASSERT_EQ(routes.kind, FieldKind::kMessage);
  EXPECT_EQ(routes.type->form, TypeForm::kOnlyField);
  EXPECT_EQ(routes.type->fields[0].shape, FieldShape::kList);
  EXPECT_EQ(routes.type->fields[0].kind, FieldKind::kString);
  const FieldInfo& parts = Nested::kType.fields[1];
  EXPECT_EQ(parts.type->fields[0].shape, FieldShape::kMap);
  EXPECT_EQ(parts.type->fields[0].type->fields[0].type, &Part::kType);
  EXPECT_EQ(Nested::kType.fields[2].type->fields[0].kind, FieldKind::kBytes);
  EXPECT_EQ(Nested::kType.fields[3].shape, FieldShape::kOptional);
  EXPECT_EQ(Nested::kType.fields[3].type->fields[0].type, &Nested::kType);
  EXPECT_EQ(Nested::kType.fields[4].kind, FieldKind::kInline);
  EXPECT_EQ(Nothing::kType.field_count, 0);
}

TEST(TableTest, JsonNamesAreLowerCamel) {
  EXPECT_EQ(FieldOf("namespace").kind, FieldKind::kString);
  EXPECT_EQ(FieldOf("largeNumber").kind, FieldKind::kInt64);
  EXPECT_EQ(FieldOf("podCIDR").kind, FieldKind::kString);
}

TEST(TableTest, TheKindIsNotBuiltIn) {
  ASSERT_NE(Whole::kType.kind, nullptr);
  EXPECT_EQ(Whole::kType.kind->resource, "wholes");
  EXPECT_FALSE(Whole::kType.kind->built_in);
  EXPECT_EQ(Part::kType.kind, nullptr);
}

TEST(TableTest, ObjectsCompareAndCopy) {
  Whole whole{.number = 3, .parts = {{.name = "a"}}};
  const Whole copy = whole;
  EXPECT_EQ(copy, whole);
  whole.part_by_name["x"].name = "y";
  EXPECT_NE(copy, whole);
}

TEST(TableProblemTest, GoodTablesHaveNone) {
  EXPECT_EQ(TableProblem(Whole::kType), "");
  EXPECT_EQ(TableProblem(Node::kType), "");
  EXPECT_EQ(TableProblem(Nested::kType), "");
  EXPECT_EQ(TableProblem(Nothing::kType), "");
}

TEST(TableProblemTest, InlinedMembersHaveAPlace) {
  static const FieldInfo kFields[] = {{.json_name = {}, .type = &Part::kType, .offset = 0, .kind = FieldKind::kInline},
                                      {.json_name = "text", .offset = 8, .kind = FieldKind::kString}};
  static const TypeInfo wrong{.name = "test.Wrong", .fields = kFields, .field_count = 2, .size = 64};
  EXPECT_THAT(std::string(TableProblem(wrong)), HasSubstr("reaches into \"text\""));
}

struct Backup {
  std::optional<std::int32_t> keep{};
  String schedule{};
  UnknownFields unknown_fields{};
};

TypeInfo BackupTable(const FieldInfo* fields, std::size_t size = sizeof(Backup)) {
  return {.name = "test.Backup",
          .fields = fields,
          .field_count = 2,
          .size = static_cast<std::uint16_t>(size),
          .unknown_offset = offsetof(Backup, unknown_fields)};
}

TEST(TableProblemTest, WrongKindsAndShapesThatOverlapAreSeen) {
  static const FieldInfo kAsText[] = {{.json_name = "keep", .offset = offsetof(Backup, keep), .kind = FieldKind::kString},
                                      {.json_name = "schedule", .offset = offsetof(Backup, schedule), .kind = FieldKind::kString}};
  static const TypeInfo as_text = BackupTable(kAsText);
  EXPECT_THAT(std::string(TableProblem(as_text)),
              AllOf(HasSubstr("the table of test.Backup is wrong"), HasSubstr("\"keep\" reaches into \"schedule\"")));
  EXPECT_THAT(std::string(TableProblem(as_text)), HasSubstr("reaches into")) << "remembered";

  static const FieldInfo kOfAStruct[] = {{.json_name = "keep", .offset = offsetof(Backup, keep), .kind = FieldKind::kMessage},
                                         {.json_name = "schedule", .offset = offsetof(Backup, schedule), .kind = FieldKind::kString}};
  static const TypeInfo of_a_struct = BackupTable(kOfAStruct);
  EXPECT_THAT(std::string(TableProblem(of_a_struct)), HasSubstr("\"keep\" is a struct and names no type"));

  static const FieldInfo kCrooked[] = {
      {.json_name = "keep", .offset = offsetof(Backup, keep), .kind = FieldKind::kInt32, .shape = FieldShape::kOptional},
      {.json_name = "schedule", .offset = offsetof(Backup, schedule) + 1, .kind = FieldKind::kString}};
  static const TypeInfo crooked = BackupTable(kCrooked);
  EXPECT_THAT(std::string(TableProblem(crooked)), HasSubstr("\"schedule\" is at an offset that its type cannot have"));

  static const FieldInfo kGood[] = {
      {.json_name = "keep", .offset = offsetof(Backup, keep), .kind = FieldKind::kInt32, .shape = FieldShape::kOptional},
      {.json_name = "schedule", .offset = offsetof(Backup, schedule), .kind = FieldKind::kString}};
  static const TypeInfo short_one = BackupTable(kGood, 16);
  EXPECT_THAT(std::string(TableProblem(short_one)), HasSubstr("ends behind the struct"));
  static const TypeInfo good = BackupTable(kGood);
  EXPECT_EQ(TableProblem(good), "");
}

TEST(TableProblemTest, PartsAreLookedAtToo) {
  static const FieldInfo kWrong[] = {{.json_name = "keep", .offset = 0, .kind = FieldKind::kString},
                                     {.json_name = "schedule", .offset = 8, .kind = FieldKind::kString}};
  static const TypeInfo wrong = BackupTable(kWrong);
  static const FieldInfo kOuter[] = {{.json_name = "backups", .type = &wrong, .kind = FieldKind::kMessage, .shape = FieldShape::kList}};
  static const TypeInfo outer{.name = "test.Outer", .fields = kOuter, .field_count = 1, .size = 8};
  EXPECT_THAT(std::string(TableProblem(outer)), HasSubstr("test.Backup"));
}

}  // namespace
}  // namespace kube::testing
