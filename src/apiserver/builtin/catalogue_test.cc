#include "apiserver/builtin/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kube/api/autoscaling/v2.h"
#include "kube/api/core/v1.h"

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;

TEST(CatalogueTest, FindsByResourceKindAndTable) {
  const BuiltinResource* pods = FindBuiltin("", "v1", "pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->type, &core::v1::Pod::kType);
  EXPECT_EQ(FindBuiltinKind("", "v1", "Pod"), pods);
  EXPECT_EQ(FindBuiltin(core::v1::Pod::kType), pods);
  EXPECT_EQ(FindBuiltin("", "v1", "pod"), nullptr);
  EXPECT_EQ(FindBuiltin(core::v1::Container::kType), nullptr);
}

TEST(CatalogueTest, SaysWhatDiscoveryShows) {
  const BuiltinResource* d = FindBuiltin("apps", "v1", "deployments");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->singular, "deployment");
  EXPECT_EQ(d->api_version(), "apps/v1");
  EXPECT_TRUE(d->namespaced);
  EXPECT_TRUE(d->has_generation);
  EXPECT_THAT(d->short_names, ElementsAre("deploy"));
  EXPECT_THAT(d->categories, ElementsAre("all"));
  EXPECT_THAT(d->verbs, ElementsAre("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"));
  const BuiltinSubresource* scale = d->Subresource("scale");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->group, "autoscaling");
  EXPECT_EQ(scale->version, "v1");
  EXPECT_EQ(scale->kind, "Scale");
  const BuiltinSubresource* status = d->Subresource("status");
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(status->group, "");  // as its parent
  EXPECT_EQ(status->type, d->type);
  EXPECT_EQ(d->Subresource("log"), nullptr);
}

TEST(CatalogueTest, NamespacesCannotBeDeletedAtOnce) {
  EXPECT_FALSE(FindBuiltin("", "v1", "namespaces")->HasVerb("deletecollection"));
  EXPECT_TRUE(FindBuiltin("", "v1", "namespaces")->HasVerb("delete"));
}

TEST(CatalogueTest, ReviewsAreNotStored) {
  const BuiltinResource* review = FindBuiltin("authentication.k8s.io", "v1", "tokenreviews");
  ASSERT_NE(review, nullptr);
  EXPECT_FALSE(review->persisted);
  EXPECT_THAT(review->verbs, ElementsAre("create"));
  EXPECT_TRUE(review->storage_version.empty());
}

TEST(CatalogueTest, OneResourceInTwoShapesHasOneStoredType) {
  EXPECT_EQ(FindBuiltin("events.k8s.io", "v1", "events")->stored_type, &core::v1::Event::kType);
  EXPECT_EQ(FindBuiltin("autoscaling", "v1", "horizontalpodautoscalers")->stored_type, &autoscaling::v2::HorizontalPodAutoscaler::kType);
  EXPECT_EQ(FindBuiltin("", "v1", "pods")->stored_type, &core::v1::Pod::kType);
}

TEST(CatalogueTest, PutRulesDifferBetweenResources) {
  EXPECT_TRUE(FindBuiltin("", "v1", "services")->create_on_update);
  EXPECT_FALSE(FindBuiltin("", "v1", "pods")->create_on_update);
  EXPECT_FALSE(FindBuiltin("coordination.k8s.io", "v1", "leases")->unconditional_update);
  EXPECT_TRUE(FindBuiltin("", "v1", "configmaps")->unconditional_update);
}

TEST(CatalogueTest, GroupsStandInTheOrderOfDiscovery) {
  std::vector<std::string_view> names;
  for (const BuiltinGroup& g : BuiltinGroups()) names.push_back(g.group);
  ASSERT_GE(names.size(), 3u);
  EXPECT_EQ(names[0], "");
  EXPECT_EQ(names[1], "apiregistration.k8s.io");
  EXPECT_EQ(names[2], "apps");
  auto autoscaling = std::find_if(BuiltinGroups().begin(), BuiltinGroups().end(), [](const auto& g) { return g.group == "autoscaling"; });
  ASSERT_EQ(autoscaling->versions.size(), 2u);
  EXPECT_EQ(autoscaling->versions[0].version, "v2");
}

TEST(CatalogueTest, RowsAreConsistent) {
  std::set<std::pair<std::string, std::string>> groups;
  for (const BuiltinGroup& g : BuiltinGroups()) {
    for (const auto& v : g.versions) groups.insert({std::string(g.group), std::string(v.version)});
  }
  for (const BuiltinResource& r : Catalogue()) {
    SCOPED_TRACE(r.api_version() + " " + std::string(r.resource));
    EXPECT_TRUE(groups.contains({std::string(r.group), std::string(r.version)}));
    EXPECT_TRUE(std::is_sorted(r.verbs.begin(), r.verbs.end()));
    EXPECT_TRUE(std::is_sorted(r.subresources.begin(), r.subresources.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
    EXPECT_NE(r.stored_type, nullptr);
    for (const BuiltinSubresource& s : r.subresources) EXPECT_NE(s.type, nullptr);
    if (!r.HasSubresource("status")) continue;
    // The strategies reset and keep the status.
    bool has_status = std::any_of(r.type->begin(), r.type->end(), [](const FieldInfo& f) {
      return f.json_name == "status" && f.kind == FieldKind::kMessage && f.shape != FieldShape::kList;
    });
    EXPECT_TRUE(has_status);
  }
}

}  // namespace
}  // namespace kube::apiserver
