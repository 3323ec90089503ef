#include "apiserver/object_meta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <utility>

#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value Json(std::string_view text) { return *ParseJson(text); }

ServedResource Resource(std::string group, std::string plural, bool namespaced) {
  ServedResource out;
  out.group = std::move(group);
  out.resource = std::move(plural);
  out.namespaced = namespaced;
  return out;
}

std::vector<std::string> Texts(const std::vector<FieldError>& errors) {
  std::vector<std::string> out;
  for (const FieldError& error : errors) out.push_back(error.field);
  return out;
}

TEST(ObjectMetaTest, UidsAreRandomOfVersionFour) {
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    std::string uid = NewUid();
    EXPECT_TRUE(std::regex_match(uid, form)) << uid;
    seen.insert(std::move(uid));
  }
  EXPECT_EQ(seen.size(), 1000U);
}

TEST(ObjectMetaTest, GeneratedNamesKeepTheirPrefixAndStayShort) {
  EXPECT_TRUE(std::regex_match(NameFromPrefix("web-"), std::regex("web-[bcdfghjklmnpqrstvwxz2-9]{5}")));
  EXPECT_EQ(NameFromPrefix(std::string(100, 'a')).size(), 63U);
}

TEST(ObjectMetaTest, Finalizers) {
  Value object = Json(R"({"metadata":{"name":"a"}})");
  EXPECT_FALSE(HasFinalizer(object, "x/y"));
  AddFinalizer(object, "x/y");
  AddFinalizer(object, "x/y");
  AddFinalizer(object, "orphan");
  EXPECT_EQ(std::as_const(object)["metadata"]["finalizers"].list().size(), 2U);
  RemoveFinalizer(object, "x/y");
  RemoveFinalizer(object, "never");
  EXPECT_TRUE(HasFinalizer(object, "orphan"));
  RemoveFinalizer(object, "orphan");
  EXPECT_EQ(object, Json(R"({"metadata":{"name":"a"}})"));
}

TEST(ObjectMetaTest, NamespaceComesFromTheRequest) {
  ServedResource pods = Resource("", "pods", true), nodes = Resource("", "nodes", false);
  Value object = Json(R"({"metadata":{"name":"a"}})");
  ASSERT_TRUE(SetNamespace(object, pods, "x").ok());
  EXPECT_EQ(NamespaceOf(object), "x");
  EXPECT_EQ(SetNamespace(object, pods, "y").error().http_code(), 400);
  ASSERT_TRUE(SetNamespace(object, nodes, "").ok());
  EXPECT_EQ(NamespaceOf(object), "");
}

TEST(ObjectMetaTest, CreationTakesWhatOnlyTheServerGives) {
  Value object = Json(R"({"metadata":{"generateName":"a-","uid":"mine","resourceVersion":"7","selfLink":"/x","generation":9,
      "deletionTimestamp":"2020-01-01T00:00:00Z","deletionGracePeriodSeconds":1,"labels":{},"annotations":{"k":"v"},"finalizers":[]}})");
  PrepareMetaForCreate(object, Time::FromUnix(1'577'836'800));
  const Value& meta = MetaOf(object);
  EXPECT_TRUE(NameOf(object).starts_with("a-"));
  EXPECT_EQ(NameOf(object).size(), 7U);
  EXPECT_EQ(meta["creationTimestamp"].string_value(), "2020-01-01T00:00:00Z");
  EXPECT_NE(meta["uid"].string_value(), "mine");
  EXPECT_EQ(meta["uid"].string_value().size(), 36U);
  for (const char* gone :
       {"resourceVersion", "selfLink", "generation", "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "finalizers"}) {
    EXPECT_EQ(meta.Find(gone), nullptr) << gone;
  }
  EXPECT_NE(meta.Find("annotations"), nullptr);
  Value bare = Value::Object();
  PrepareMetaForCreate(bare, Time::FromUnix(0));
  EXPECT_EQ(NameOf(bare), "");
}

TEST(ObjectMetaTest, UpdateKeepsWhatOnlyTheServerGives) {
  Value old = Json(R"({"metadata":{"name":"a","uid":"u","creationTimestamp":"2020-01-01T00:00:00Z","generation":3,
      "deletionTimestamp":"2021-01-01T00:00:00Z","deletionGracePeriodSeconds":30}})");
  Value object = Json(R"({"metadata":{"name":"a","creationTimestamp":"1999-01-01T00:00:00Z","generation":100,"labels":{}}})");
  PrepareMetaForUpdate(object, old);
  EXPECT_EQ(object, old);
}

TEST(ObjectMetaTest, NamesFollowTheRulesOfTheResource) {
  EXPECT_THAT(NameProblems(Resource("", "pods", true), "a.b", false), IsEmpty());
  EXPECT_EQ(NameProblems(Resource("", "namespaces", false), "a.b", false).size(), 1U);
  EXPECT_EQ(NameProblems(Resource("", "services", true), "1a", false).size(), 1U);
  EXPECT_THAT(NameProblems(Resource("rbac.authorization.k8s.io", "roles", true), "system:A", false), IsEmpty());
  EXPECT_EQ(NameProblems(Resource("", "pods", true), "a-", false).size(), 1U);
  EXPECT_THAT(NameProblems(Resource("", "pods", true), "a-", true), IsEmpty()) << "a prefix";
}

TEST(ObjectMetaTest, ValidatesMetadata) {
  ServedResource pods = Resource("", "pods", true);
  EXPECT_THAT(ValidateMeta(pods, Json(R"({"metadata":{"name":"a","namespace":"x","labels":{"a":"b"}}})")), IsEmpty());
  EXPECT_THAT(Texts(ValidateMeta(pods, Json(R"({"metadata":{}})"))), ElementsAre("metadata.name", "metadata.namespace"));
  EXPECT_THAT(Texts(ValidateMeta(pods, Json(R"({"metadata":{"name":"A","namespace":"x.y"}})"))),
              ElementsAre("metadata.name", "metadata.namespace"));
  EXPECT_THAT(Texts(ValidateMeta(pods, Json(R"({"metadata":{"name":"a","namespace":"x","labels":{"a b":"c d"}}})"))),
              ElementsAre("metadata.labels", "metadata.labels"));
  EXPECT_THAT(Texts(ValidateMeta(pods, Json(R"({"metadata":{"name":"a","namespace":"x","finalizers":["mine"]}})"))),
              ElementsAre("metadata.finalizers[0]"));
  EXPECT_THAT(Texts(ValidateMeta(pods, Json(R"({"metadata":{"name":"a","namespace":"x","finalizers":["orphan","foregroundDeletion"]}})"))),
              ElementsAre("metadata.finalizers"));
  EXPECT_THAT(Texts(ValidateMeta(pods, Json(R"({"metadata":{"name":"a","namespace":"x","ownerReferences":[{}]}})"))),
              ElementsAre("metadata.ownerReferences.apiVersion", "metadata.ownerReferences.kind", "metadata.ownerReferences.name",
                          "metadata.ownerReferences.uid"));
}

TEST(ObjectMetaTest, IdentityMayNotChange) {
  Value old = Json(R"({"metadata":{"name":"a","namespace":"x","uid":"u","resourceVersion":"1"}})");
  EXPECT_THAT(ValidateMetaUpdate(old, old), IsEmpty());
  Value other = old;
  other["metadata"]["uid"] = "v";
  EXPECT_THAT(Texts(ValidateMetaUpdate(other, old)), ElementsAre("metadata.uid"));
}

}  // namespace
}  // namespace kube::apiserver
