// Discovery in its old and its aggregated form, OpenAPI, version and health.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(DiscoveryContract);

constexpr const char* kResourceFile = "tests/contract/api/discovery_resources.txt";
const HttpFields kAggregated = {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}};

std::string Joined(const Value& list) {
  std::vector<std::string> words;
  for (const Value& item : list.list()) words.push_back(item.string_value().str());
  std::sort(words.begin(), words.end());
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out.empty() ? "-" : out;
}

// Whether a case made the group. Its deletion may still be under way, so it is left out of the comparison. Those in k8s.io begin with
// the id of the case, an x and nine more.
bool IsOfACase(const std::string& group) {
  return group.find(".example.com") != std::string::npos || (group.starts_with('x') && group.find(".k8s.io") == 10);
}

TEST_P(DiscoveryContract, CoreVersions) {
  Answer api = Get("/api");
  EXPECT_CODE(api, 200);
  EXPECT_EQ(api.body["kind"], Value("APIVersions"));
  EXPECT_VALUE(api.body["versions"], R"(
- v1
)");
}

TEST_P(DiscoveryContract, AllResourcesOfTheServer) {
  if (server().oldest()) GTEST_SKIP() << "the list is that of the newest release";
  std::vector<std::string> lines;
  const auto add = [&](const std::string& path) {
    Answer list = Get(path);
    EXPECT_CODE(list, 200);
    for (const Value& r : list.body["resources"].list()) {
      std::ostringstream line;
      line << list.body["groupVersion"].string_value() << ' ' << r["name"].string_value() << ' ' << r["kind"].string_value() << ' '
           << (r["namespaced"].bool_value() ? "namespaced" : "cluster") << " verbs=" << Joined(r["verbs"])
           << " short=" << Joined(r["shortNames"]) << " categories=" << Joined(r["categories"])
           << " singular=" << r["singularName"].string_value();
      if (!r["group"].string_value().empty() || !r["version"].string_value().empty()) {
        line << " of=" << r["group"].string_value() << '/' << r["version"].string_value();
      }
      lines.push_back(line.str());
    }
  };
  add("/api/v1");
  const Answer groups = Get("/apis");
  for (const Value& group : groups.body["groups"].list()) {
    if (IsOfACase(group["name"].string_value().str())) continue;
    for (const Value& version : group["versions"].list()) add("/apis/" + version["groupVersion"].string_value().str());
  }
  std::sort(lines.begin(), lines.end());
  if (getenv("KUBEXX_CONTRACT_RECORD") != nullptr) {
    std::ofstream out(kResourceFile);
    for (const std::string& line : lines) out << line << '\n';
  }
  std::vector<std::string> expected;
  std::ifstream in(kResourceFile);
  for (std::string line; std::getline(in, line);) expected.push_back(line);
  ASSERT_FALSE(expected.empty()) << kResourceFile;
  for (const std::string& line : expected) {
    EXPECT_TRUE(std::find(lines.begin(), lines.end(), line) != lines.end()) << "missing: " << line;
  }
  for (const std::string& line : lines) {
    EXPECT_TRUE(std::find(expected.begin(), expected.end(), line) != expected.end()) << "unexpected: " << line;
  }
}

TEST_P(DiscoveryContract, GroupNamesItsVersions) {
  EXPECT_BODY(Get("/apis/apps"), 200, R"(
apiVersion: v1
kind: APIGroup
name: apps
preferredVersion:
  groupVersion: apps/v1
  version: v1
versions:
- groupVersion: apps/v1
  version: v1
)");
}

TEST_P(DiscoveryContract, ResourceListHasItsForm) {
  Answer list = Get("/apis/coordination.k8s.io/v1");
  Value shown = list.body;
  for (Value& r : shown["resources"].MutableList()) {
    EXPECT_FALSE(std::as_const(r)["storageVersionHash"].string_value().empty());
    r["storageVersionHash"] = "HASH";
  }
  EXPECT_VALUE(shown, R"(
apiVersion: v1
groupVersion: coordination.k8s.io/v1
kind: APIResourceList
resources:
- kind: Lease
  name: leases
  namespaced: true
  singularName: lease
  storageVersionHash: HASH
  verbs:
  - create
  - delete
  - deletecollection
  - get
  - list
  - patch
  - update
  - watch
)");
}

TEST_P(DiscoveryContract, AggregatedFormHasEverythingAtOnce) {
  if (server().oldest()) GTEST_SKIP() << "1.26 has no aggregated discovery of version v2";
  Answer core = Get("/api", kAggregated);
  EXPECT_EQ(core.Header("content-type"), "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_EQ(core.body["kind"], Value("APIGroupDiscoveryList"));
  EXPECT_EQ(core.body["apiVersion"], Value("apidiscovery.k8s.io/v2"));
  for (const Value& r : core.body["items"].list()[0]["versions"].list()[0]["resources"].list()) {
    if (r["resource"].string_value() == "namespaces")
      EXPECT_VALUE(r, R"(
resource: namespaces
responseKind:
  group: ""
  kind: Namespace
  version: ""
scope: Cluster
shortNames:
- ns
singularResource: namespace
subresources:
- responseKind:
    group: ""
    kind: Namespace
    version: ""
  subresource: finalize
  verbs:
  - update
- responseKind:
    group: ""
    kind: Namespace
    version: ""
  subresource: status
  verbs:
  - get
  - patch
  - update
verbs:
- create
- delete
- get
- list
- patch
- update
- watch
)");
    if (r["resource"].string_value() == "services")
      EXPECT_VALUE(r, R"(
categories:
- all
resource: services
responseKind:
  group: ""
  kind: Service
  version: ""
scope: Namespaced
shortNames:
- svc
singularResource: service
subresources:
- responseKind:
    group: ""
    kind: ServiceProxyOptions
    version: ""
  subresource: proxy
  verbs:
  - create
  - delete
  - get
  - patch
  - update
- responseKind:
    group: ""
    kind: Service
    version: ""
  subresource: status
  verbs:
  - get
  - patch
  - update
verbs:
- create
- delete
- deletecollection
- get
- list
- patch
- update
- watch
)");
  }
  Answer groups = Get("/apis", kAggregated);
  for (const Value& group : groups.body["items"].list()) {
    if (group["metadata"]["name"].string_value() != "coordination.k8s.io") continue;
    const Value& version = group["versions"].list()[0];
    EXPECT_VALUE(version, R"(
freshness: Current
resources:
- resource: leases
  responseKind:
    group: ""
    kind: Lease
    version: ""
  scope: Namespaced
  singularResource: lease
  verbs:
  - create
  - delete
  - deletecollection
  - get
  - list
  - patch
  - update
  - watch
version: v1
)");
  }
}

TEST_P(DiscoveryContract, AggregatedFormHasAnEtag) {
  if (server().oldest()) GTEST_SKIP() << "1.26 has no aggregated discovery of version v2";
  Answer first = Get("/api", kAggregated);
  ASSERT_FALSE(first.Header("etag").empty());
  HttpFields headers = kAggregated;
  headers.emplace_back("If-None-Match", first.Header("etag"));
  Answer again = Get("/api", headers);
  EXPECT_EQ(again.code, 304);
  EXPECT_EQ(again.raw.body, "");
}

TEST_P(DiscoveryContract, OldServersAnswerTheOldForm) {
  if (!server().oldest()) GTEST_SKIP() << "for servers without aggregated discovery";
  Answer api = Get("/api", kAggregated);
  EXPECT_EQ(api.body["kind"], Value("APIVersions"));
}

TEST_P(DiscoveryContract, CustomResourcesAreDiscovered) {
  Answer list =
      GetUntil("/apis/{w}.example.com/v1", [](const Answer& a) { return a.code == 200 && a.body["resources"].list().size() == 3; });
  Value shown = list.body;
  for (Value& r : shown["resources"].MutableList()) r.MutableObject().Erase("storageVersionHash");
  EXPECT_VALUE(shown, R"(
apiVersion: v1
groupVersion: '{w}.example.com/v1'
kind: APIResourceList
resources:
- categories:
  - all
  kind: Widget
  name: widgets
  namespaced: true
  shortNames:
  - wd
  singularName: widget
  verbs:
  - delete
  - deletecollection
  - get
  - list
  - patch
  - create
  - update
  - watch
- kind: Widget
  name: widgets/status
  namespaced: true
  singularName: ""
  verbs:
  - get
  - patch
  - update
- group: autoscaling
  kind: Scale
  name: widgets/scale
  namespaced: true
  singularName: ""
  verbs:
  - get
  - patch
  - update
  version: v1
)");
  GetUntil("/apis", [&](const Answer& a) { return a.raw.body.find(Expand("{w}.example.com")) != std::string::npos; });
}

TEST_P(DiscoveryContract, RootListsItsPaths) {
  Answer root = Get("/");
  EXPECT_CODE(root, 200);
  for (const char* path : {"/api", "/api/v1", "/apis", "/apis/apps/v1", "/healthz", "/readyz", "/version", "/openapi/v2", "/openapi/v3"}) {
    bool found = false;
    for (const Value& listed : root.body["paths"].list()) found = found || listed.string_value() == path;
    EXPECT_TRUE(found) << path;
  }
}

TEST_P(DiscoveryContract, VersionAndHealth) {
  Answer version = Get("/version");
  EXPECT_CODE(version, 200);
  EXPECT_EQ(version.body["major"], Value("1"));
  EXPECT_EQ(version.body["gitVersion"].string_value().view().substr(0, 3), "v1.");
  for (const char* path : {"/healthz", "/readyz", "/livez"}) {
    Answer health = Get(path);
    EXPECT_EQ(health.code, 200);
    EXPECT_EQ(health.raw.body, "ok");
  }
}

CONTRACT_SUITE(OpenApiContract);

TEST_P(OpenApiContract, Version2DescribesTheKinds) {
  Answer spec = Get("/openapi/v2");
  EXPECT_CODE(spec, 200);
  EXPECT_EQ(spec.body["swagger"], Value("2.0"));
  EXPECT_VALUE(spec.body["definitions"]["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"], R"(
- group: apps
  kind: Deployment
  version: v1
)");
  EXPECT_VALUE(spec.body["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]["x-kubernetes-patch-merge-key"], R"(
name
)");
}

TEST_P(OpenApiContract, Version3HasAPageForEachGroup) {
  Answer index = Get("/openapi/v3");
  EXPECT_CODE(index, 200);
  const std::string page = index.body["paths"]["apis/apps/v1"]["serverRelativeURL"].string_value().str();
  EXPECT_EQ(page.substr(0, 31), "/openapi/v3/apis/apps/v1?hash=" + page.substr(30, 1));
  Answer apps = Get(page);
  EXPECT_CODE(apps, 200);
  EXPECT_EQ(apps.body["openapi"], Value("3.0.0"));
  const Value& deployment = apps.body["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"];
  EXPECT_VALUE(deployment["x-kubernetes-group-version-kind"], R"(
- group: apps
  kind: Deployment
  version: v1
)");
  EXPECT_TRUE(apps.body["paths"].Find("/apis/apps/v1/namespaces/{namespace}/deployments/{name}") != nullptr);
}

TEST_P(OpenApiContract, Version3KnowsFieldValidation) {
  // kubectl asks this before it leaves validation to the server.
  Answer core = Get("/openapi/v3/api/v1");
  EXPECT_CODE(core, 200);
  bool found = false;
  for (const Value& parameter : core.body["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]["parameters"].list()) {
    found = found || parameter["name"].string_value() == "fieldValidation";
  }
  EXPECT_TRUE(found);
}

TEST_P(OpenApiContract, CustomResourcesAreDescribed) {
  Answer page = GetUntil("/openapi/v3/apis/{w}.example.com/v1", [](const Answer& a) { return a.code == 200; });
  const std::string name = "com.example." + Expand("{w}") + ".v1.Widget";
  const Value& schema = page.body["components"]["schemas"][name];
  EXPECT_VALUE(schema["x-kubernetes-group-version-kind"], R"(
- group: '{w}.example.com'
  kind: Widget
  version: v1
)");
  EXPECT_VALUE(schema["properties"]["spec"]["properties"]["size"], R"(
description: how large it is
enum:
- small
- large
type: string
)");
  EXPECT_VALUE(schema["properties"]["metadata"]["allOf"], R"(
- $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
)");
}

// Reads a varint; moves `at` behind it.
std::uint64_t Varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t out = 0;
  for (int shift = 0; at < bytes.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return out;
}

// The length-delimited fields of this number.
std::vector<std::string_view> Fields(std::string_view message, std::uint64_t number) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < message.size();) {
    const std::uint64_t tag = Varint(message, at), value = Varint(message, at);
    if ((tag & 7) != 2) continue;
    if (value > message.size() - at) return {};
    if (tag >> 3 == number) out.push_back(message.substr(at, value));
    at += value;
  }
  return out;
}

// The value of a map entry or named item, found by its name.
std::string_view Named(const std::vector<std::string_view>& items, std::string_view name) {
  for (std::string_view item : items) {
    if (const auto names = Fields(item, 1); !names.empty() && names[0] == name) return Fields(item, 2).empty() ? "" : Fields(item, 2)[0];
  }
  return {};
}

// client-go's OpenAPISchema and kubectl's older commands ask for this form only.
TEST_P(OpenApiContract, Version2HasAProtobufForm) {
  const HttpFields accept = {{"Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}};
  Answer got = Get("/openapi/v2", accept);
  EXPECT_CODE(got, 200);
  // 1.26 leaves the type to Go's net/http, which guesses it from the first bytes.
  EXPECT_EQ(got.Header("content-type"),
            server().oldest() ? "application/octet-stream" : "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  const std::string_view document = got.raw.body;
  ASSERT_FALSE(Fields(document, 1).empty());
  EXPECT_EQ(Fields(document, 1)[0], "2.0");
  ASSERT_EQ(Fields(document, 2).size(), 1U);
  EXPECT_EQ(Fields(Fields(document, 2)[0], 1)[0], "Kubernetes");  // info.title
  // definitions.additional_properties[ConfigMap].properties.additional_properties[data]
  ASSERT_EQ(Fields(document, 9).size(), 1U);
  const std::string_view config_map = Named(Fields(Fields(document, 9)[0], 1), "io.k8s.api.core.v1.ConfigMap");
  ASSERT_FALSE(config_map.empty());
  ASSERT_EQ(Fields(config_map, 25).size(), 1U);
  const std::string_view data = Named(Fields(Fields(config_map, 25)[0], 1), "data");
  ASSERT_FALSE(data.empty());
  ASSERT_EQ(Fields(data, 22).size(), 1U);
  EXPECT_EQ(Fields(Fields(data, 22)[0], 1)[0], "object");  // type.value
  // Which kind a definition is.
  bool found = false;
  for (std::string_view extension : Fields(config_map, 31)) {
    if (Fields(extension, 1)[0] != "x-kubernetes-group-version-kind") continue;
    found = true;
    EXPECT_NE(Fields(Fields(extension, 2)[0], 2)[0].find("kind: ConfigMap"), std::string_view::npos);
  }
  EXPECT_TRUE(found);
  // paths.path[name=/api/v1/...].get.operation_id
  const std::string_view path = Named(Fields(Fields(document, 8)[0], 2), "/api/v1/namespaces/{namespace}/configmaps/{name}");
  ASSERT_FALSE(path.empty());
  ASSERT_EQ(Fields(path, 2).size(), 1U);
  EXPECT_EQ(Fields(Fields(path, 2)[0], 5)[0], "readCoreV1NamespacedConfigMap");
  // A client that sends the current ETag gets no second copy.
  HttpFields again = accept;
  again.emplace_back("If-None-Match", got.Header("etag"));
  EXPECT_CODE(Get("/openapi/v2", again), 304);
  Answer json = Get("/openapi/v2", {{"Accept", "application/json, */*"}});
  EXPECT_EQ(json.Header("content-type"), server().oldest() ? "text/plain; charset=utf-8" : "application/json");
  EXPECT_EQ(json.body["swagger"], Value("2.0"));
}

}  // namespace
}  // namespace kube::contract
