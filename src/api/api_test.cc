// The generated tables, checked as data: what the engines rely on holds for every struct.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/all_types.h"
#include "kube/api/all.h"
#include "kube/value/box.h"
#include "kube/value/int_or_string.h"
#include "kube/value/list.h"
#include "kube/value/quantity.h"
#include "kube/value/time.h"

namespace kube {
namespace {

using ::testing::Contains;

// Calls f(field) for each field of the struct, those of inlined messages included.
template <typename F>
void ForEachField(const TypeInfo& type, const F& f) {
  for (const FieldInfo& field : type) {
    if (field.kind == FieldKind::kInline) {
      ForEachField(*field.type, f);
    } else {
      f(field);
    }
  }
}

// The tables of all structs and of all that they refer to.
const std::set<const TypeInfo*>& AllTables() {
  static const auto* const kTables = [] {
    auto* tables = new std::set<const TypeInfo*>;
    std::vector<const TypeInfo*> todo(std::begin(api::internal::kAllTypes), std::end(api::internal::kAllTypes));
    while (!todo.empty()) {
      const TypeInfo* type = todo.back();
      todo.pop_back();
      if (!tables->insert(type).second) continue;
      ForEachField(*type, [&](const FieldInfo& field) {
        if (field.type != nullptr) todo.push_back(field.type);
      });
    }
    return tables;
  }();
  return *kTables;
}

struct Extent {
  std::size_t size;
  std::size_t alignment;
};

template <typename T>
Extent ScalarExtent(FieldShape shape) {
  if (shape == FieldShape::kOptional && !std::is_same_v<T, Time> && !std::is_same_v<T, MicroTime>) {
    return {sizeof(std::optional<T>), alignof(std::optional<T>)};
  }
  return {sizeof(T), alignof(T)};
}

// What the C++ member of a field must take, by the rules of type_info.h.
Extent ExtentOf(const FieldInfo& field) {
  if (field.shape == FieldShape::kList || field.shape == FieldShape::kMap) return {sizeof(List<bool>), alignof(List<bool>)};
  switch (field.kind) {
    case FieldKind::kBool:
      return ScalarExtent<bool>(field.shape);
    case FieldKind::kInt32:
      return ScalarExtent<std::int32_t>(field.shape);
    case FieldKind::kInt64:
      return ScalarExtent<std::int64_t>(field.shape);
    case FieldKind::kDouble:
      return ScalarExtent<double>(field.shape);
    case FieldKind::kString:
      return ScalarExtent<String>(field.shape);
    case FieldKind::kBytes:
      return ScalarExtent<Bytes>(field.shape);
    case FieldKind::kQuantity:
      return ScalarExtent<Quantity>(field.shape);
    case FieldKind::kTime:
      return ScalarExtent<Time>(field.shape);
    case FieldKind::kMicroTime:
      return ScalarExtent<MicroTime>(field.shape);
    case FieldKind::kDuration:
      return ScalarExtent<Duration>(field.shape);
    case FieldKind::kIntOrString:
      return ScalarExtent<IntOrString>(field.shape);
    case FieldKind::kRawJson:
      return ScalarExtent<RawJson>(field.shape);
    case FieldKind::kMessage:
      if (field.shape == FieldShape::kOptional) return {sizeof(void*), alignof(void*)};
      return {field.type->size, 8};
    case FieldKind::kInline:
      break;
  }
  return {0, 1};
}

TEST(ApiTablesTest, FieldsFillTheirStructWithoutOverlap) {
  for (const TypeInfo* type : AllTables()) {
    struct Span {
      std::size_t offset = 0;
      Extent extent{};
    };
    std::vector<Span> spans;
    ForEachField(*type, [&](const FieldInfo& field) {
      Extent extent = ExtentOf(field);
      EXPECT_EQ(field.offset % extent.alignment, 0U) << type->name << "." << field.json_name;
      spans.push_back({field.offset, extent});
    });
    if (type->unknown_offset != kNoOffset) {
      spans.push_back({type->unknown_offset, {.size = sizeof(UnknownFields), .alignment = alignof(UnknownFields)}});
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.offset < b.offset; });
    std::size_t at = 0;
    for (const auto& [offset, extent] : spans) {
      ASSERT_GE(offset, at) << type->name << " at " << offset;
      // No hole but what alignment asks for: a larger one would be a member that the table does not know.
      EXPECT_EQ(offset, (at + extent.alignment - 1) / extent.alignment * extent.alignment) << type->name << " at " << offset;
      at = offset + extent.size;
    }
    EXPECT_EQ((at + 7) / 8 * 8, type->size) << type->name;
  }
}

TEST(ApiTablesTest, EveryStructKeepsUnknownFields) {
  for (const TypeInfo* type : AllTables()) {
    EXPECT_EQ(type->unknown_offset == kNoOffset, type->form == TypeForm::kOnlyField) << type->name;
  }
}

TEST(ApiTablesTest, JsonNamesAreUniqueAndPlain) {
  for (const TypeInfo* type : AllTables()) {
    std::set<std::string_view> names;
    ForEachField(*type, [&](const FieldInfo& field) {
      EXPECT_FALSE(field.json_name.empty()) << type->name;
      EXPECT_TRUE(names.insert(field.json_name).second) << type->name << "." << field.json_name;
      EXPECT_EQ(field.json_name.find_first_of("\"\\ "), std::string_view::npos) << type->name << "." << field.json_name;
    });
    if (type->kind != nullptr) {
      EXPECT_FALSE(names.count("kind") != 0 || names.count("apiVersion") != 0) << type->name;
    }
  }
}

void CheckNumbers(const TypeInfo& type, std::map<bool, int>& with_number) {
  std::set<int> numbers;
  for (const FieldInfo& field : type) {
    ++with_number[field.number != 0];
    if (field.number != 0) {
      EXPECT_TRUE(numbers.insert(field.number).second) << type.name << "." << field.json_name;
    }
    if (field.kind == FieldKind::kInline) {
      std::map<bool, int> inner;
      CheckNumbers(*field.type, inner);
    }
  }
}

TEST(ApiTablesTest, ProtobufNumbersAreUniqueAndAllOrNone) {
  for (const TypeInfo* type : AllTables()) {
    std::map<bool, int> with_number;
    CheckNumbers(*type, with_number);
    EXPECT_TRUE(with_number[true] == 0 || with_number[false] == 0) << type->name;
  }
}

TEST(ApiTablesTest, InlinedMessagesAreViewsOfTheStruct) {
  int inlined = 0;
  for (const TypeInfo* type : AllTables()) {
    for (const FieldInfo& field : *type) {
      if (field.kind != FieldKind::kInline) continue;
      ++inlined;
      EXPECT_TRUE(field.json_name.empty()) << type->name;
      EXPECT_EQ(field.offset, 0) << type->name;
      ASSERT_NE(field.type, nullptr) << type->name;
      EXPECT_EQ(field.type->size, type->size) << type->name;
      EXPECT_EQ(field.type->unknown_offset, kNoOffset) << type->name;
    }
  }
  EXPECT_GT(inlined, 20);
}

TEST(ApiTablesTest, StructFieldsHaveATableAndOthersHaveNone) {
  for (const TypeInfo* type : AllTables()) {
    ForEachField(*type, [&](const FieldInfo& field) {
      EXPECT_EQ(field.type != nullptr, field.kind == FieldKind::kMessage) << type->name << "." << field.json_name;
    });
  }
}

TEST(ApiTablesTest, FormsOtherThanStructsHaveTheFieldsThatTheirJsonNeeds) {
  std::set<std::string_view> by_token;
  std::set<std::string_view> only_field;
  for (const TypeInfo* type : AllTables()) {
    if (type->form == TypeForm::kOnlyField) {
      only_field.insert(type->name);
      ASSERT_EQ(type->field_count, 1) << type->name;
      EXPECT_EQ(type->fields[0].offset, 0) << type->name;
      EXPECT_EQ(type->fields[0].shape, FieldShape::kList) << type->name;
      EXPECT_EQ(type->size, sizeof(List<String>)) << type->name;
    } else if (type->form == TypeForm::kByToken) {
      by_token.insert(type->name);
      EXPECT_EQ(type->field_count, 2) << type->name;
    }
  }
  EXPECT_THAT(by_token, testing::UnorderedElementsAre(
                            "apiextensions.v1.JSONSchemaPropsOrArray", "apiextensions.v1.JSONSchemaPropsOrBool",
                            "apiextensions.v1.JSONSchemaPropsOrStringArray", "apiextensions.v1beta1.JSONSchemaPropsOrArray",
                            "apiextensions.v1beta1.JSONSchemaPropsOrBool", "apiextensions.v1beta1.JSONSchemaPropsOrStringArray"));
  EXPECT_THAT(only_field, Contains("authentication.v1.ExtraValue"));
  EXPECT_THAT(only_field, Contains("meta.v1.Verbs"));
}

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    std::size_t comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

const FieldInfo* FindField(const TypeInfo& type, std::string_view json_name) {
  const FieldInfo* found = nullptr;
  ForEachField(type, [&](const FieldInfo& field) {
    if (field.json_name == json_name) found = &field;
  });
  return found;
}

TEST(ApiTablesTest, MergeKeysAreFieldsOfTheElements) {
  for (const TypeInfo* type : AllTables()) {
    ForEachField(*type, [&](const FieldInfo& field) {
      if (field.extra == nullptr) return;
      std::string where = std::string(type->name) + "." + std::string(field.json_name);
      EXPECT_TRUE(field.extra->list_type == ListType::kUnset || field.shape == FieldShape::kList) << where;
      EXPECT_EQ(field.extra->list_type == ListType::kMap, !field.extra->map_keys.empty()) << where;
      if (!field.extra->map_keys.empty()) {
        ASSERT_EQ(field.kind, FieldKind::kMessage) << where;
        for (std::string_view key : Split(field.extra->map_keys)) EXPECT_NE(FindField(*field.type, key), nullptr) << where << " " << key;
      }
      if (!field.extra->patch_merge_key.empty()) {
        ASSERT_EQ(field.kind, FieldKind::kMessage) << where;
        EXPECT_NE(FindField(*field.type, field.extra->patch_merge_key), nullptr) << where;
        EXPECT_THAT(Split(field.extra->patch_strategy), Contains("merge")) << where;
      }
      for (std::string_view strategy :
           field.extra->patch_strategy.empty() ? std::vector<std::string_view>{} : Split(field.extra->patch_strategy)) {
        EXPECT_TRUE(strategy == "merge" || strategy == "replace" || strategy == "retainKeys") << where << " " << strategy;
      }
    });
  }
}

TEST(ApiTablesTest, DefaultsFitTheirField) {
  int defaults = 0;
  for (const TypeInfo* type : AllTables()) {
    ForEachField(*type, [&](const FieldInfo& field) {
      if (field.extra == nullptr || field.extra->default_json.empty()) return;
      ++defaults;
      std::string_view text = field.extra->default_json;
      std::string where = std::string(type->name) + "." + std::string(field.json_name);
      switch (field.kind) {
        case FieldKind::kString:
          EXPECT_TRUE(text.size() >= 2 && text.front() == '"' && text.back() == '"') << where << " " << text;
          break;
        case FieldKind::kBool:
          EXPECT_TRUE(text == "true" || text == "false") << where << " " << text;
          break;
        case FieldKind::kInt32:
        case FieldKind::kInt64:
          EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) << where << " " << text;
          break;
        case FieldKind::kMessage:
          EXPECT_EQ(text.front(), '{') << where << " " << text;
          break;
        default:
          ADD_FAILURE() << where << " has a default of an unexpected kind: " << text;
      }
    });
  }
  EXPECT_GT(defaults, 20);
}

TEST(ApiKindsTest, EveryKindIsListedOnce) {
  std::set<std::string> keys;
  for (const TypeInfo* type : api::AllKinds()) {
    ASSERT_NE(type->kind, nullptr) << type->name;
    const KindInfo& kind = *type->kind;
    EXPECT_TRUE(keys.insert(std::string(kind.group) + "/" + std::string(kind.version) + "/" + std::string(kind.kind)).second) << type->name;
    EXPECT_TRUE(std::string_view(type->name).ends_with("." + std::string(kind.kind))) << type->name;
  }
  std::size_t with_kind = 0;
  for (const TypeInfo* type : AllTables()) with_kind += type->kind != nullptr ? 1 : 0;
  EXPECT_EQ(keys.size(), with_kind);
  EXPECT_GE(keys.size(), 370U);
  for (const char* expected :
       {"/v1/Pod", "/v1/Status", "/v1/List", "/v1/PodLogOptions", "/v1/DeleteOptions", "apps/v1/Deployment", "autoscaling/v1/Scale",
        "policy/v1/Eviction", "authentication.k8s.io/v1/TokenRequest", "admission.k8s.io/v1/AdmissionReview",
        "imagepolicy.k8s.io/v1alpha1/ImageReview", "apidiscovery.k8s.io/v2/APIGroupDiscovery",
        "internal.apiserver.k8s.io/v1alpha1/StorageVersion", "apiextensions.k8s.io/v1/CustomResourceDefinition",
        "apiextensions.k8s.io/v1/ConversionReview", "apiregistration.k8s.io/v1/APIService", "metrics.k8s.io/v1beta1/PodMetrics",
        "custom.metrics.k8s.io/v1beta2/MetricValueList", "meta.k8s.io/v1/Table"}) {
    EXPECT_THAT(keys, Contains(expected));
  }
}

TEST(ApiKindsTest, ResourcesHaveMetadata) {
  for (const TypeInfo* type : api::AllKinds()) {
    if (type->kind->resource.empty()) continue;
    const FieldInfo* metadata = FindField(*type, "metadata");
    ASSERT_NE(metadata, nullptr) << type->name;
    EXPECT_EQ(metadata->type->name, type->kind->is_list ? "meta.v1.ListMeta" : "meta.v1.ObjectMeta") << type->name;
  }
}

TEST(ApiKindsTest, ListsHaveTheResourceOfTheirItems) {
  for (const TypeInfo* type : api::AllKinds()) {
    const FieldInfo* items = FindField(*type, "items");
    EXPECT_EQ(type->kind->is_list, items != nullptr && items->shape == FieldShape::kList) << type->name;
    if (!type->kind->is_list || items->type == nullptr || items->type->kind == nullptr) continue;
    EXPECT_EQ(type->kind->resource, items->type->kind->resource) << type->name;
    EXPECT_EQ(type->kind->namespaced, items->type->kind->namespaced) << type->name;
  }
}

TEST(ApiKindsTest, ResourceNamesAndScopesAreThoseOfTheServer) {
  struct Case {
    const TypeInfo& type;
    std::string_view resource;
    bool namespaced;
  };
  const Case cases[] = {
      {core::v1::Pod::kType, "pods", true},
      {core::v1::Node::kType, "nodes", false},
      {core::v1::Endpoints::kType, "endpoints", true},
      {core::v1::Binding::kType, "bindings", true},
      {core::v1::PodList::kType, "pods", true},
      {core::v1::PodLogOptions::kType, "", false},
      {networking::v1::Ingress::kType, "ingresses", true},
      {networking::v1::NetworkPolicy::kType, "networkpolicies", true},
      {storage::v1::StorageClass::kType, "storageclasses", false},
      {policy::v1::Eviction::kType, "", false},
      {apiextensions::v1::CustomResourceDefinition::kType, "customresourcedefinitions", false},
      {apiregistration::v1::APIService::kType, "apiservices", false},
      {metrics::v1beta1::PodMetrics::kType, "pods", true},
      {metrics::v1beta1::NodeMetrics::kType, "nodes", false},
      {authorization::v1::SelfSubjectAccessReview::kType, "selfsubjectaccessreviews", false},
      {authorization::v1::LocalSubjectAccessReview::kType, "localsubjectaccessreviews", true},
      {rbac::v1::ClusterRole::kType, "clusterroles", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.type.kind->resource, c.resource) << c.type.name;
    EXPECT_EQ(c.type.kind->namespaced, c.namespaced) << c.type.name;
  }
}

TEST(ApiKindsTest, FactsOfThePodTableAreThoseOfTheServer) {
  const FieldInfo* ports = FindField(core::v1::Container::kType, "ports");
  ASSERT_NE(ports, nullptr);
  ASSERT_NE(ports->extra, nullptr);
  EXPECT_EQ(ports->number, 6);
  EXPECT_EQ(ports->extra->map_keys, "containerPort,protocol");
  EXPECT_EQ(ports->extra->patch_merge_key, "containerPort");
  EXPECT_EQ(FindField(core::v1::ContainerPort::kType, "protocol")->extra->default_json, "\"TCP\"");
  EXPECT_THAT(Split(FindField(core::v1::ContainerPort::kType, "protocol")->extra->enum_values), testing::ElementsAre("SCTP", "TCP", "UDP"));
  EXPECT_EQ(FindField(core::v1::PodSpec::kType, "volumes")->extra->patch_strategy, "merge,retainKeys");
  EXPECT_TRUE(FindField(core::v1::PodSpec::kType, "containers")->required);
  EXPECT_FALSE(FindField(core::v1::PodSpec::kType, "nodeName")->required);
  EXPECT_TRUE(FindField(core::v1::PodSpec::kType, "nodeSelector")->extra->atomic);
}

TEST(ApiStructsTest, DesignatedInitializersAndCopiesWork) {
  core::v1::Pod pod{.metadata = {.name = "web", .labels = {{"app", "web"}}},
                    .spec = {.containers = {{.name = "web", .image = "nginx", .ports = {{.container_port = 80}}}}}};
  core::v1::Pod copy = pod;
  EXPECT_EQ(copy, pod);
  EXPECT_TRUE(copy.spec.containers.SharesWith(pod.spec.containers));
  copy.spec.containers[0].image = "httpd";
  EXPECT_NE(copy, pod);
  EXPECT_EQ(pod.spec.containers[0].image, "nginx");
  EXPECT_EQ(pod.spec.containers[0].ports[0].container_port, 80);
  EXPECT_FALSE(pod.spec.security_context->run_as_user.has_value());
}

TEST(ApiStructsTest, RecursiveTypesNest) {
  apiextensions::v1::JSONSchemaProps schema;
  schema.properties["spec"].properties["replicas"].type = "integer";
  apiextensions::v1::JSONSchemaProps copy = schema;
  EXPECT_EQ(copy, schema);
  copy.properties["spec"].properties["replicas"].type = "string";
  EXPECT_EQ(schema.properties["spec"].properties["replicas"].type, "integer");
}

TEST(ApiStructsTest, ConstantsAreTheValuesOfTheApi) {
  EXPECT_EQ(core::v1::kPodRunning, "Running");
  EXPECT_EQ(core::v1::kResourceCPU, "cpu");
  EXPECT_EQ(meta::v1::kStatusReasonNotFound, "NotFound");
}

TEST(ApiStructsTest, APodIsSmall) {
  // Every cached pod pays for this. A field more is fine; a change of layout shows here.
  EXPECT_LE(sizeof(core::v1::Pod), 920U);
  EXPECT_EQ(core::v1::Pod::kType.size, sizeof(core::v1::Pod));
}

}  // namespace
}  // namespace kube
