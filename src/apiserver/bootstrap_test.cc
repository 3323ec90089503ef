#include "apiserver/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "apiserver/api_server_test_util.h"
#include "apiserver/object_meta.h"

namespace kube::apiserver {
namespace {

const std::string kRoles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const std::string kServices = "/apis/apiregistration.k8s.io/v1/apiservices";

TEST(BootstrapTest, ObjectsAreMadeWhenTheyAreFirstAskedFor) {
  auto server = StartApiServer();
  Client client(*server);
  const std::size_t before = server->object_count();
  EXPECT_EQ(client.Get("/api/v1/namespaces").status, 200);
  EXPECT_EQ(server->object_count(), before);
  EXPECT_EQ(client.Get(kRoles + "/cluster-admin").status, 200);
  EXPECT_GT(server->object_count(), before + 100);
  const std::size_t roles = server->object_count();
  EXPECT_EQ(client.Get(kServices + "/v1.").status, 200);
  EXPECT_GT(server->object_count(), roles + 10);
  const std::uint64_t version = server->resource_version();
  EXPECT_EQ(client.Get(kRoles).status, 200);
  EXPECT_EQ(client.Get(kServices).status, 200);
  EXPECT_EQ(server->resource_version(), version) << "once";
}

TEST(BootstrapTest, AManifestMeetsTheRolesOfTheServer) {
  auto server = StartApiServer();
  EXPECT_FALSE(server->Load("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: view}, rules: []}").ok());
  EXPECT_TRUE(server->Load("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: mine}, rules: []}").ok());
}

TEST(BootstrapTest, ARestartBringsBackWhatWasDeletedAndTheRulesThatWereTakenAway) {
  auto server = StartApiServer();
  Client client(*server);
  const Value basic = JsonOf(client.Get(kRoles + "/system:basic-user").body);
  ASSERT_GT(basic["rules"].list().size(), 0U);
  EXPECT_EQ(client.Do("DELETE", kRoles + "/view").status, 200);
  EXPECT_EQ(client.Get(kRoles + "/view").status, 404) << "not before";
  EXPECT_EQ(client.Do("PATCH", kRoles + "/system:basic-user", R"({"rules":[]})", {"content-type: application/merge-patch+json"}).status,
            200);
  EXPECT_EQ(client
                .Do("PATCH", kRoles + "/system:discovery",
                    R"({"rules":[],"metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"false"}}})",
                    {"content-type: application/merge-patch+json"})
                .status,
            200);
  EXPECT_EQ(client.Do("DELETE", kServices + "/v1.apps").status, 200);
  ASSERT_TRUE(server->Restart(true).ok());
  Client again(*server);
  EXPECT_EQ(again.Get(kRoles + "/view").status, 200);
  EXPECT_EQ(again.Get(kServices + "/v1.apps").status, 200);
  const Value restored = JsonOf(again.Get(kRoles + "/system:basic-user").body);
  EXPECT_EQ(restored["rules"], basic["rules"]);
  const Value left = JsonOf(again.Get(kRoles + "/system:discovery").body);
  EXPECT_EQ(left["rules"].list().size(), 0U) << "its annotation says that it is not to be updated";
}

TEST(BootstrapTest, ApiServicesPrintAsKubectlShowsThem) {
  auto server = StartApiServer();
  Client client(*server);
  const CurlAnswer answer = client.Do("GET", kServices, "", {"accept: application/json;as=Table;v=v1;g=meta.k8s.io"});
  const Value table = JsonOf(answer.body);
  std::vector<std::string> columns;
  for (const Value& column : table["columnDefinitions"].list()) columns.push_back(column["name"].string_value().str());
  EXPECT_THAT(columns, ::testing::ElementsAre("Name", "Service", "Available", "Age"));
  ASSERT_GT(table["rows"].list().size(), 10U);
  const Value& cells = table["rows"].list()[0]["cells"];
  EXPECT_EQ(cells.list()[1], Value("Local"));
  EXPECT_EQ(cells.list()[2], Value("True"));
}

}  // namespace
}  // namespace kube::apiserver
