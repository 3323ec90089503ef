#include "apiserver/openapi.h"

#include <set>
#include <string>
#include <utility>

#include "apiserver/crd.h"
#include "gtest/gtest.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

Value CronTabCrd(std::string_view description) {
  Value crd = *ParseJson(R"({"metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com","scope":"Namespaced",
    "names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList"},
    "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{}},
      "selectableFields":[{"jsonPath":".spec.color"}],
      "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["cronSpec"],"properties":{
        "cronSpec":{"type":"string","pattern":"^a"},
        "color":{"type":"string","default":"red"},
        "float":{"type":"number","nullable":true},
        "one":{"type":"string","oneOf":[{"format":"ipv4"},{"format":"ipv6"}]},
        "port":{"x-kubernetes-int-or-string":true},
        "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
        "emb":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},
        "items":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
                 "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}
      }}}}}}]}})");
  Value& version = crd["spec"]["versions"].MutableList()[0];
  version["schema"]["openAPIV3Schema"]["properties"]["spec"]["description"] = description;
  return crd;
}

std::shared_ptr<const Resources> WithCronTab(std::string_view description = "what and when") {
  return Resources::Builtin(false)->WithCrd("crontabs.stable.example.com", ResourcesOf(CronTabCrd(description)));
}

Value Document(std::string_view path) {
  std::optional<Value> out = OpenApiV3Document(*WithCronTab(), path);
  return out ? *out : Value();
}

const Value& SchemaIn(const Value& document, std::string_view name) { return document["components"]["schemas"][name]; }

void CollectRefs(const Value& value, std::set<std::string>& out) {
  for (const auto& [key, member] : value.object()) {
    if (key == "$ref" && member.is_string()) out.insert(member.string_value().str());
    CollectRefs(member, out);
  }
  for (const Value& item : value.list()) CollectRefs(item, out);
}

TEST(OpenApiTest, TheIndexNamesEveryDocumentWithItsHash) {
  std::shared_ptr<const Resources> r = WithCronTab();
  const Value index = OpenApiV3Index(*r);
  for (const char* path : {"api", "apis", "version", "api/v1", "apis/apps", "apis/apps/v1", "apis/stable.example.com/v1"}) {
    std::string url = index["paths"][path]["serverRelativeURL"].string_value().str();
    EXPECT_EQ(url, "/openapi/v3/" + std::string(path) + "?hash=" + OpenApiV3Hash(*r, path));
    EXPECT_TRUE(OpenApiV3Document(*r, path).has_value()) << path;
  }
  EXPECT_EQ(index["paths"].Find("apis/stable.example.com"), nullptr);
  EXPECT_FALSE(OpenApiV3Document(*r, "apis/nothing/v1").has_value());
  EXPECT_EQ(OpenApiV3Hash(*r, "apis/nothing/v1"), "");
}

TEST(OpenApiTest, AHashStaysUntilTheSchemaChanges) {
  std::shared_ptr<const Resources> a = WithCronTab("one"), same = WithCronTab("one"), b = WithCronTab("two");
  EXPECT_EQ(OpenApiV3Hash(*a, "apis/stable.example.com/v1"), OpenApiV3Hash(*same, "apis/stable.example.com/v1"));
  EXPECT_NE(OpenApiV3Hash(*a, "apis/stable.example.com/v1"), OpenApiV3Hash(*b, "apis/stable.example.com/v1"));
  EXPECT_EQ(OpenApiV3Hash(*a, "api/v1"), OpenApiV3Hash(*b, "api/v1"));
  EXPECT_NE(OpenApiV2Hash(*a), OpenApiV2Hash(*b));
  EXPECT_EQ(*OpenApiV3Document(*a, "api/v1"), *OpenApiV3Document(*b, "api/v1"));
}

TEST(OpenApiTest, EveryReferenceLeadsSomewhere) {
  std::shared_ptr<const Resources> all = Resources::Builtin(true)->WithCrd("crontabs.stable.example.com", ResourcesOf(CronTabCrd("")));
  const Value index = OpenApiV3Index(*all);
  std::size_t documents = 0;
  for (const auto& [path, entry] : index["paths"].object()) {
    const std::optional<Value> document = OpenApiV3Document(*all, path);
    ASSERT_TRUE(document) << path;
    ++documents;
    std::set<std::string> refs;
    CollectRefs(*document, refs);
    for (const std::string& ref : refs) {
      std::string name = ref.substr(ref.rfind('/') + 1);
      EXPECT_TRUE(SchemaIn(*document, name).is_object()) << path << " " << ref;
    }
    std::set<std::string> ids;
    for (const auto& [where, item] : (*document)["paths"].object()) {
      for (const auto& [method, operation] : item.object()) {
        if (method == "parameters") continue;
        EXPECT_TRUE(ids.insert(operation["operationId"].string_value().str()).second) << operation["operationId"].string_value();
      }
    }
  }
  EXPECT_GT(documents, 40u);
  const Value v2 = OpenApiV2Document(*all);
  std::set<std::string> refs;
  CollectRefs(v2, refs);
  for (const std::string& ref : refs) EXPECT_TRUE(v2["definitions"][ref.substr(14)].is_object()) << ref;
}

// Schemas as a real server has them, without descriptions.
TEST(OpenApiTest, SchemasOfBuiltInTypes) {
  const Value core = Document("api/v1");
  EXPECT_EQ(ToJson(SchemaIn(core, "io.k8s.api.core.v1.ContainerPort")),
            R"({"properties":{"containerPort":{"default":0,"format":"int32","type":"integer"},"hostIP":{"type":"string"},)"
            R"("hostPort":{"format":"int32","type":"integer"},"name":{"type":"string"},)"
            R"("protocol":{"default":"TCP","enum":["SCTP","TCP","UDP"],"type":"string"}},"required":["containerPort"],"type":"object"})");
  EXPECT_EQ(ToJson(SchemaIn(core, "io.k8s.api.core.v1.Pod")["x-kubernetes-group-version-kind"]),
            R"([{"group":"","kind":"Pod","version":"v1"}])");
  EXPECT_EQ(ToJson(SchemaIn(core, "io.k8s.api.core.v1.Pod")["properties"]["spec"]),
            R"({"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSpec"}],"default":{}})");
  EXPECT_EQ(ToJson(SchemaIn(core, "io.k8s.api.core.v1.PodSpec")["properties"]["containers"]),
            R"({"items":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.Container"}],"default":{}},"type":"array",)"
            R"("x-kubernetes-list-map-keys":["name"],"x-kubernetes-list-type":"map","x-kubernetes-patch-merge-key":"name",)"
            R"("x-kubernetes-patch-strategy":"merge"})");
  EXPECT_EQ(ToJson(SchemaIn(core, "io.k8s.api.core.v1.ServiceSpec")["properties"]["selector"]),
            R"({"additionalProperties":{"default":"","type":"string"},"type":"object","x-kubernetes-map-type":"atomic"})");
  EXPECT_EQ(ToJson(SchemaIn(core, "io.k8s.api.core.v1.Secret")["properties"]["data"]),
            R"({"additionalProperties":{"format":"byte","type":"string"},"type":"object"})");
  EXPECT_EQ(ToJson(SchemaIn(core, "io.k8s.apimachinery.pkg.api.resource.Quantity")), R"({"oneOf":[{"type":"string"},{"type":"number"}]})");
  EXPECT_EQ(SchemaIn(core, "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector")["x-kubernetes-map-type"].string_value(), "atomic");
  EXPECT_EQ(ToJson(SchemaIn(Document("apis/apps/v1"), "io.k8s.api.apps.v1.DeploymentSpec")["required"]), R"(["template","selector"])");
  const Value extensions = Document("apis/apiextensions.k8s.io/v1");
  EXPECT_EQ(ToJson(SchemaIn(extensions, "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON")), "{}");
}

TEST(OpenApiTest, OperationsSayWhatTheyDoToWhichKind) {
  const Value core = Document("api/v1");
  const Value& pod = core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"];
  const Value& patch = pod["patch"];
  EXPECT_EQ(patch["operationId"].string_value(), "patchCoreV1NamespacedPod");
  EXPECT_EQ(patch["x-kubernetes-action"].string_value(), "patch");
  EXPECT_EQ(ToJson(patch["x-kubernetes-group-version-kind"]), R"({"group":"","kind":"Pod","version":"v1"})");
  std::vector<std::string> names;
  for (const Value& p : patch["parameters"].list()) names.push_back(p["name"].string_value().str());
  EXPECT_EQ(names, (std::vector<std::string>{"dryRun", "fieldManager", "fieldValidation", "force"}));
  names.clear();
  for (const Value& p : pod["parameters"].list()) names.push_back(p["name"].string_value().str());
  EXPECT_EQ(names, (std::vector<std::string>{"name", "namespace", "pretty"}));
  EXPECT_EQ(patch["requestBody"]["content"].object().size(), 4u);

  auto id = [&](const char* path, const char* method) { return core["paths"][path][method]["operationId"].string_value().str(); };
  EXPECT_EQ(id("/api/v1/pods", "get"), "listCoreV1PodForAllNamespaces");
  EXPECT_EQ(id("/api/v1/namespaces/{namespace}/pods", "delete"), "deleteCoreV1CollectionNamespacedPod");
  EXPECT_EQ(id("/api/v1/watch/namespaces/{namespace}/pods", "get"), "watchCoreV1NamespacedPodList");
  EXPECT_EQ(id("/api/v1/namespaces/{namespace}/pods/{name}/proxy/{path}", "options"), "connectCoreV1OptionsNamespacedPodProxyWithPath");
  EXPECT_EQ(id("/api/v1/namespaces/{name}/finalize", "put"), "replaceCoreV1NamespaceFinalize");
  const Value& scale = core["paths"]["/api/v1/namespaces/{namespace}/replicationcontrollers/{name}/scale"]["get"];
  EXPECT_EQ(ToJson(scale["x-kubernetes-group-version-kind"]), R"({"group":"autoscaling","kind":"Scale","version":"v1"})");
  const Value rbac = Document("apis/rbac.authorization.k8s.io/v1");
  EXPECT_EQ(rbac["paths"]["/apis/rbac.authorization.k8s.io/v1/clusterroles"]["post"]["operationId"].string_value(),
            "createRbacAuthorizationV1ClusterRole");
}

TEST(OpenApiTest, ACrdIsDescribedByItsOwnSchema) {
  const Value document = Document("apis/stable.example.com/v1");
  const Value& schema = SchemaIn(document, "com.example.stable.v1.CronTab");
  EXPECT_EQ(ToJson(schema["properties"]["metadata"]),
            R"({"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]})");
  EXPECT_EQ(ToJson(schema["x-kubernetes-group-version-kind"]), R"([{"group":"stable.example.com","kind":"CronTab","version":"v1"}])");
  EXPECT_EQ(ToJson(schema["x-kubernetes-selectable-fields"]), R"([{"fieldPath":"spec.color"}])");
  const Value& spec = schema["properties"]["spec"];
  EXPECT_EQ(spec["description"].string_value(), "what and when");
  EXPECT_EQ(ToJson(spec["properties"]["port"]), R"({"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true})");
  EXPECT_EQ(ToJson(spec["properties"]["emb"]["required"]), R"(["kind","apiVersion"])");
  EXPECT_EQ(ToJson(spec["properties"]["float"]), R"({"nullable":true,"type":"number"})");
  EXPECT_EQ(ToJson(SchemaIn(document, "com.example.stable.v1.CronTabList")["properties"]["items"]),
            R"({"items":{"$ref":"#/components/schemas/com.example.stable.v1.CronTab"},"type":"array"})");
  const Value& scale = document["paths"]["/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}/scale"]["get"];
  EXPECT_EQ(scale["operationId"].string_value(), "readStableExampleComV1NamespacedCronTabScale");
}

TEST(OpenApiTest, Version2LeavesOutWhatItDoesNotKnow) {
  const Value document = OpenApiV2Document(*WithCronTab());
  const Value& definitions = document["definitions"];
  EXPECT_EQ(ToJson(definitions["io.k8s.api.core.v1.Pod"]["properties"]["spec"]), R"({"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec"})");
  EXPECT_EQ(ToJson(definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]), R"({"format":"int-or-string","type":"string"})");
  const Value& spec = definitions["com.example.stable.v1.CronTab"]["properties"]["spec"]["properties"];
  EXPECT_EQ(ToJson(spec["color"]), R"({"type":"string"})");
  EXPECT_EQ(ToJson(spec["float"]), "{}");
  EXPECT_EQ(ToJson(spec["one"]), R"({"type":"string"})");
  EXPECT_EQ(ToJson(spec["port"]), R"({"x-kubernetes-int-or-string":true})");
  EXPECT_EQ(ToJson(spec["any"]), R"({"x-kubernetes-preserve-unknown-fields":true})");
  EXPECT_EQ(ToJson(spec["emb"]), R"({"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true})");
  const Value& create = document["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"];
  EXPECT_EQ(create["parameters"].list()[0]["in"].string_value(), "body");
  EXPECT_EQ(document["swagger"].string_value(), "2.0");
}

}  // namespace
}  // namespace kube::apiserver
