#include "kube/client/rest_mapper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/discovery_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/log.h"

namespace kube {
namespace {

using internal::ClientOf;
using internal::FakeApi;
using internal::ServeAggregated;
using internal::ServeLegacy;
using internal::StatusBody;
using internal::TestGroup;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<TestGroup>& Plain() {
  static const std::vector<TestGroup> groups = {
      {"",
       {{"v1",
         {{"pods", "Pod", true, "pod", {"po"}, {"all"}},
          {"events", "Event", true, "event", {"ev"}},
          {"namespaces", "Namespace", false, "namespace", {"ns"}}}}}},
      {"events.k8s.io", {{"v1", {{"events", "Event", true, "event", {"ev"}}}}}},
      {"apps",
       {{"v1", {{"deployments", "Deployment", true, "deployment", {"deploy"}, {"all"}}}},
        {"v1beta1", {{"deployments", "Deployment", true, "deployment", {"deploy"}, {"all"}}, {"olds", "Old", true, "old"}}}}},
      {"networking.k8s.io", {{"v1", {{"ingresses", "Ingress", true, "ingress", {"ing"}}}}}},
      {"example.com", {{"v1", {{"carts", "ShoppingCart", true, "shopping-cart", {"po", "sc"}, {"all", "shop"}}}}}}};
  return groups;
}

std::string Name(const Result<RestMapping>& mapping) { return mapping ? mapping->gvr.ToString() : mapping.error().ToString(); }

class Contract13Mapper : public ::testing::Test {
 protected:
  Contract13Mapper() { ServeAggregated(*api_, Plain(), "1"); }

  RestMapper New(RestMapperOptions options = {}) const {
    if (!options.warning_handler) options.warning_handler = [this](const std::string& text) { warnings_.push_back(text); };
    return RestMapper(ClientOf(api_), std::move(options));
  }

  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const Context ctx_ = Context::Background(clock_);
  const std::shared_ptr<FakeApi> api_ = std::make_shared<FakeApi>();
  mutable std::vector<std::string> warnings_;
};
using Contract13MapperMiss = Contract13Mapper;
using Contract13ShortNames = Contract13Mapper;

TEST_F(Contract13Mapper, FromKindToResourceAndScope) {
  const RestMapper mapper = New();
  const RestMapping deployment = mapper.ForKind(ctx_, Gvk{"apps", "v1", "Deployment"}).value();
  EXPECT_EQ(deployment.gvr, (Gvr{"apps", "v1", "deployments"}));
  EXPECT_EQ(deployment.gvk, (Gvk{"apps", "v1", "Deployment"}));
  EXPECT_TRUE(deployment.namespaced);
  EXPECT_FALSE(mapper.ForKind(ctx_, Gvk{"", "v1", "Namespace"})->namespaced);
  EXPECT_EQ(mapper.ForKind(ctx_, Gvk{"apps", "v1beta1", "Deployment"})->gvr.version, "v1beta1");
}

TEST_F(Contract13Mapper, WithoutAVersionThePreferredOneElseOneThatHasIt) {
  const RestMapper mapper = New();
  EXPECT_EQ(Name(mapper.ForKind(ctx_, GroupKind{"apps", "Deployment"})), "apps/v1, Resource=deployments");
  EXPECT_EQ(Name(mapper.ForKind(ctx_, GroupKind{"apps", "Old"})), "apps/v1beta1, Resource=olds");
  EXPECT_EQ(Name(mapper.ForKind(ctx_, Gvk{"apps", "", "Deployment"})), "apps/v1, Resource=deployments");
}

TEST_F(Contract13Mapper, TheFirstOfTheVersionsThatHasIt) {
  const RestMapper mapper = New();
  EXPECT_EQ(Name(mapper.ForKind(ctx_, {"apps", "Deployment"}, {"v9", "v1beta1", "v1"})), "apps/v1beta1, Resource=deployments");
  EXPECT_TRUE(IsNoMatch(mapper.ForKind(ctx_, {"apps", "Deployment"}, {"v9"}).error()));
}

TEST_F(Contract13Mapper, OfSeveralGroupsTheOneThatTheServerHasFirst) {
  const RestMapper mapper = New();
  EXPECT_EQ(Name(mapper.ForResource(ctx_, {"", "", "events"})), "/v1, Resource=events");
  EXPECT_EQ(Name(mapper.ForResource(ctx_, {"events.k8s.io", "", "events"})), "events.k8s.io/v1, Resource=events");
  std::vector<std::string> all;
  const auto mappings = mapper.AllForResource(ctx_, {"", "", "events"});
  for (const RestMapping& m : *mappings) all.push_back(m.gvr.group.str());
  EXPECT_THAT(all, ElementsAre("", "events.k8s.io"));
}

TEST_F(Contract13Mapper, CoreV1ComesFirstWhateverElseTheServerPrefers) {
  ServeAggregated(*api_, {{"", {{"v2", {{"pods", "Pod"}}}, {"v1", {{"pods", "Pod"}}}}}, {"aaa", {{"v1", {{"pods", "Pod"}}}}}});
  const RestMapper mapper = New();
  EXPECT_EQ(Name(mapper.ForResource(ctx_, {"", "", "pods"})), "/v1, Resource=pods");
  EXPECT_EQ(Name(mapper.ForKind(ctx_, GroupKind{"", "Pod"})), "/v1, Resource=pods");
}

TEST_F(Contract13Mapper, ResourcesByPluralSingularAndAnyCase) {
  const RestMapper mapper = New();
  for (const char* name : {"pods", "pod", "Pods", "POD"}) {
    EXPECT_EQ(Name(mapper.ForResource(ctx_, {"", "", name})), "/v1, Resource=pods") << name;
  }
  EXPECT_EQ(mapper.ForResource(ctx_, {"", "", "deployments"})->gvk, (Gvk{"apps", "v1", "Deployment"}));
  EXPECT_EQ(Name(mapper.ForResource(ctx_, {"", "v1beta1", "deployments"})), "apps/v1beta1, Resource=deployments");
}

TEST_F(Contract13Mapper, ASingularNameThatTheServerDoesNotSayIsTheKind) {
  ServeAggregated(*api_, {Plain()[0], {"batch", {{"v1", {{"jobs", "Job"}}}}}});
  EXPECT_EQ(Name(New().ForResource(ctx_, {"", "", "job"})), "batch/v1, Resource=jobs");
}

TEST_F(Contract13Mapper, AGroupMayBeCutShortWhereNothingHasItInFull) {
  const RestMapper mapper = New();
  EXPECT_EQ(Name(mapper.ForResource(ctx_, {"networking", "", "ingresses"})), "networking.k8s.io/v1, Resource=ingresses");
  EXPECT_EQ(Name(mapper.ForResource(ctx_, {"networking", "", "ing"})), "networking.k8s.io/v1, Resource=ingresses");
  EXPECT_TRUE(IsNoMatch(mapper.ForResource(ctx_, {"working", "", "ingresses"}).error()));
}

TEST_F(Contract13Mapper, WhatPeopleType) {
  const RestMapper mapper = New();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"pods", "/v1, Resource=pods"},
      {"pod", "/v1, Resource=pods"},
      {"po", "/v1, Resource=pods"},
      {"Pod", "/v1, Resource=pods"},
      {"deploy", "apps/v1, Resource=deployments"},
      {"deployments.apps", "apps/v1, Resource=deployments"},
      {"deploy.apps", "apps/v1, Resource=deployments"},
      {"deployments.v1.apps", "apps/v1, Resource=deployments"},
      {"deployments.v1beta1.apps", "apps/v1beta1, Resource=deployments"},
      {"deploy.v1beta1.apps", "apps/v1beta1, Resource=deployments"},
      {"Deployment", "apps/v1, Resource=deployments"},
      {"Deployment.apps", "apps/v1, Resource=deployments"},
      {"Deployment.v1beta1.apps", "apps/v1beta1, Resource=deployments"},
      {"ingress.networking.k8s.io", "networking.k8s.io/v1, Resource=ingresses"},
      {"ingresses.v1.networking.k8s.io", "networking.k8s.io/v1, Resource=ingresses"},
      {"ing.networking", "networking.k8s.io/v1, Resource=ingresses"},
      // The kind is not the singular name here.
      {"ShoppingCart", "example.com/v1, Resource=carts"},
      {"shoppingcart", "example.com/v1, Resource=carts"},
      {"ShoppingCart.v1.example.com", "example.com/v1, Resource=carts"},
      {"shopping-cart", "example.com/v1, Resource=carts"},
      {"sc", "example.com/v1, Resource=carts"},
      {"po.example.com", "example.com/v1, Resource=carts"},
  };
  for (const auto& [text, resource] : cases) EXPECT_EQ(Name(mapper.ForArgument(ctx_, text)), resource) << text;
}

TEST_F(Contract13Mapper, WhatPeopleTypeWrong) {
  const RestMapper mapper = New();
  for (const char* text :
       {"foo", "foo.example.com", "deployments.v9.apps", "deployments.v9", "", ".", "..", "pods.", "pods/log", "a.b.c.d"}) {
    const auto mapping = mapper.ForArgument(ctx_, text);
    if (std::string_view(text) == "pods.") continue;  // an empty group is any
    ASSERT_FALSE(mapping) << text;
    EXPECT_TRUE(IsNoMatch(mapping.error())) << text;
  }
  EXPECT_EQ(mapper.ForArgument(ctx_, "foo.example.com").error().message(), "the server doesn't have a resource type \"foo\"");
}

TEST_F(Contract13Mapper, NoMatchErrorsSayWhatKubectlSays) {
  const RestMapper mapper = New();
  EXPECT_EQ(mapper.ForKind(ctx_, Gvk{"example.com", "v1", "Foo"}).error().message(),
            "no matches for kind \"Foo\" in version \"example.com/v1\"");
  EXPECT_EQ(mapper.ForKind(ctx_, GroupKind{"example.com", "Foo"}).error().message(),
            "no matches for kind \"Foo\" in group \"example.com\"");
  EXPECT_EQ(mapper.ForKind(ctx_, {"", "Foo"}, {"v2", "v1"}).error().message(), "no matches for kind \"Foo\" in versions [\"v1\" \"v2\"]");
  EXPECT_EQ(mapper.ForResource(ctx_, {"example.com", "v1", "foos"}).error().message(), "no matches for example.com/v1, Resource=foos");
  const Error error = mapper.ForKind(ctx_, Gvk{"example.com", "v1", "Foo"}).error();
  EXPECT_TRUE(IsNoMatch(error));
  EXPECT_FALSE(IsNotFound(error));
  EXPECT_TRUE(IsNoMatch(error.WithContext("somewhere")));
}

TEST_F(Contract13Mapper, SubresourcesHaveNoMapping) {
  ServeAggregated(*api_,
                  {{"",
                    {{"v1",
                      {{"pods",
                        "Pod",
                        true,
                        "pod",
                        {},
                        {},
                        {"get"},
                        R"(,"subresources":[{"subresource":"eviction","responseKind":{"group":"policy","version":"v1","kind":"Eviction"},)"
                        R"("verbs":["create"]}])"}}}}}});
  const RestMapper mapper = New();
  EXPECT_TRUE(IsNoMatch(mapper.ForKind(ctx_, Gvk{"", "v1", "Eviction"}).error()));
  EXPECT_TRUE(IsNoMatch(mapper.ForKind(ctx_, Gvk{"policy", "v1", "Eviction"}).error()));
}

TEST_F(Contract13Mapper, OldServersMapAlike) {
  const RestMapper aggregated = New();
  const auto legacy_api = std::make_shared<FakeApi>();
  ServeLegacy(*legacy_api, Plain());
  const RestMapper legacy(ClientOf(legacy_api), {.warning_handler = [](const std::string&) {}});
  for (const char* text : {"po", "deploy", "events", "Old", "shoppingcart", "ing", "ns"}) {
    EXPECT_EQ(aggregated.ForArgument(ctx_, text).value(), legacy.ForArgument(ctx_, text).value()) << text;
  }
}

TEST_F(Contract13Mapper, AResourceIsUsedInItsPreferredVersion) {
  ServeAggregated(*api_, {{"x", {{"v2", {{"as", "A"}}}, {"v1", {{"as", "A", true, "a", {"aa"}}}}}}});
  // Only the older version has the short name; what it stands for is used in the preferred one.
  EXPECT_EQ(Name(New().ForArgument(ctx_, "aa")), "x/v2, Resource=as");
}

TEST_F(Contract13ShortNames, AFullNameWinsOverAShortOne) {
  ServeAggregated(*api_, {{"", {{"v1", {{"pods", "Pod", true, "pod", {"po"}}}}}},
                          {"a", {{"v1", {{"others", "Other", true, "other", {"pod", "things"}}}}, {"v9", {{"others", "Other"}}}}},
                          {"b", {{"v1", {{"things", "Thing", true, "thing"}}}}}});
  const RestMapper mapper = New();
  EXPECT_EQ(Name(mapper.ForArgument(ctx_, "pod")), "/v1, Resource=pods");
  EXPECT_EQ(Name(mapper.ForArgument(ctx_, "things")), "b/v1, Resource=things");
  EXPECT_EQ(Name(mapper.ForArgument(ctx_, "pod.a")), "a/v1, Resource=others");
  // Also if it is not in the version that is wanted: the short name means something else.
  EXPECT_TRUE(IsNoMatch(mapper.ForResource(ctx_, {"", "v9", "things"}).error()));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Contract13ShortNames, OfSeveralTheFirstWinsWithOneWarning) {
  const RestMapper mapper = New();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Name(mapper.ForArgument(ctx_, "po")), "/v1, Resource=pods");
  EXPECT_THAT(warnings_, ElementsAre("short name \"po\" could also match lower priority resource carts.example.com"));
}

TEST_F(Contract13ShortNames, SeveralVersionsOfOneResourceAreNotAmbiguous) {
  EXPECT_EQ(Name(New().ForArgument(ctx_, "deploy")), "apps/v1, Resource=deployments");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Contract13Mapper, CategoriesExpandByDiscovery) {
  const RestMapper mapper = New();
  std::vector<std::string> names;
  const auto all = mapper.ForCategory(ctx_, "all");
  for (const RestMapping& m : *all) names.push_back(m.gvr.ToString());
  EXPECT_THAT(names, ElementsAre("/v1, Resource=pods", "apps/v1, Resource=deployments", "example.com/v1, Resource=carts"));
  EXPECT_EQ(mapper.ForCategory(ctx_, "shop")->size(), 1u);
  EXPECT_TRUE(IsNoMatch(mapper.ForCategory(ctx_, "none").error()));
}

TEST_F(Contract13MapperMiss, HitsAskOnce) {
  const RestMapper mapper = New();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(mapper.ForArgument(ctx_, "deploy"));
  EXPECT_EQ(api_->total(), 2u);
}

TEST_F(Contract13MapperMiss, ANewCrdIsFoundThoughTheCacheIsWarm) {
  const RestMapper mapper = New();
  ASSERT_TRUE(mapper.ForArgument(ctx_, "pods"));
  std::vector<TestGroup> more = Plain();
  more.push_back({"new.example.com", {{"v1", {{"gadgets", "Gadget", true, "gadget", {"gg"}}}}}});
  ServeAggregated(*api_, more, "2");
  EXPECT_EQ(Name(mapper.ForKind(ctx_, Gvk{"new.example.com", "v1", "Gadget"})), "new.example.com/v1, Resource=gadgets");
  EXPECT_EQ(Name(mapper.ForArgument(ctx_, "gg")), "new.example.com/v1, Resource=gadgets");
  EXPECT_EQ(api_->total(), 4u);
}

TEST_F(Contract13MapperMiss, TheServerIsAskedNoMoreOftenThanAllowed) {
  const RestMapper mapper = New({.refresh_interval = std::chrono::seconds(10), .refresh_burst = 2});
  ASSERT_TRUE(mapper.ForArgument(ctx_, "pods"));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(IsNoMatch(mapper.ForKind(ctx_, Gvk{"no", "v1", "No"}).error()));
  EXPECT_EQ(api_->count("/apis"), 3u);
  clock_->Advance(std::chrono::seconds(9));
  EXPECT_FALSE(mapper.ForArgument(ctx_, "no"));
  EXPECT_EQ(api_->count("/apis"), 3u);
  clock_->Advance(std::chrono::seconds(1));
  EXPECT_FALSE(mapper.ForArgument(ctx_, "no"));
  EXPECT_FALSE(mapper.ForArgument(ctx_, "no"));
  EXPECT_EQ(api_->count("/apis"), 4u);
  clock_->Advance(std::chrono::hours(1));  // no more than the burst is saved up
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(mapper.ForArgument(ctx_, "no"));
  EXPECT_EQ(api_->count("/apis"), 6u);
}

TEST_F(Contract13MapperMiss, AMissCostsEmptyAnswersWhereNothingChanged) {
  const RestMapper mapper = New();
  EXPECT_FALSE(mapper.ForArgument(ctx_, "no"));
  EXPECT_EQ(api_->last().headers.Get("If-None-Match"), "\"1\"");
}

TEST_F(Contract13MapperMiss, AServerThatDoesNotAnswerIsNoNoMatch) {
  const RestMapper mapper = New();
  ASSERT_TRUE(mapper.ForArgument(ctx_, "pods"));
  api_->Set("/apis", 503, StatusBody(503, "ServiceUnavailable"));
  const auto mapping = mapper.ForArgument(ctx_, "no");
  ASSERT_FALSE(mapping);
  EXPECT_FALSE(IsNoMatch(mapping.error()));
  EXPECT_TRUE(IsServiceUnavailable(mapping.error()));
  EXPECT_TRUE(mapper.ForArgument(ctx_, "pods"));
}

TEST_F(Contract13MapperMiss, AKindOfAGroupThatCouldNotBeReadIsNoNoMatch) {
  ServeAggregated(*api_, {Plain()[0], {"metrics.k8s.io", {{"v1beta1", {}, true}}}});
  const RestMapper mapper = New();
  EXPECT_TRUE(mapper.ForArgument(ctx_, "pods"));
  for (const Result<RestMapping>& mapping :
       {mapper.ForKind(ctx_, Gvk{"metrics.k8s.io", "v1beta1", "PodMetrics"}),
        mapper.ForKind(ctx_, GroupKind{"metrics.k8s.io", "PodMetrics"}), mapper.ForResource(ctx_, {"metrics.k8s.io", "v1beta1", "pods"}),
        mapper.ForArgument(ctx_, "nodes.metrics.k8s.io"), mapper.ForArgument(ctx_, "nodes.v1beta1.metrics.k8s.io")}) {
    ASSERT_FALSE(mapping);
    EXPECT_TRUE(IsGroupDiscoveryFailed(mapping.error())) << mapping.error().ToString();
    EXPECT_THAT(mapping.error().ToString(), HasSubstr("metrics.k8s.io/v1beta1"));
  }
  EXPECT_TRUE(IsNoMatch(mapper.ForKind(ctx_, Gvk{"metrics.k8s.io", "v1", "PodMetrics"}).error()));
  EXPECT_TRUE(IsNoMatch(mapper.ForKind(ctx_, Gvk{"other", "v1", "Thing"}).error()));
}

TEST_F(Contract13MapperMiss, ResetAsksAnew) {
  const RestMapper mapper = New();
  ASSERT_TRUE(mapper.ForArgument(ctx_, "pods"));
  ServeAggregated(*api_, {Plain()[0]}, "2");
  EXPECT_TRUE(mapper.ForArgument(ctx_, "deploy"));  // gone, but known
  mapper.Reset();
  EXPECT_TRUE(IsNoMatch(mapper.ForArgument(ctx_, "deploy").error()));
}

TEST_F(Contract13MapperMiss, DiscoveryThatFailsIsTheError) {
  api_->Set("/apis", 403, StatusBody(403, "Forbidden"));
  EXPECT_TRUE(IsForbidden(New().ForArgument(ctx_, "pods").error()));
}

TEST_F(Contract13Mapper, GivesClientsForKinds) {
  api_->Set("/apis/apps/v1/namespaces/default/deployments/web", 200,
            R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default"}})");
  const RestMapper mapper = New();
  const auto deployments = mapper.Resource(ctx_, {"apps", "v1", "Deployment"}).value();
  EXPECT_EQ(deployments.Get(ctx_, {"default", "web"})->name(), "web");
  // The scope is known: mistakes are found before anything is sent.
  const std::size_t sent = api_->total();
  EXPECT_EQ(deployments.Get(ctx_, {"", "web"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(mapper.Resource(ctx_, {"", "v1", "Namespace"})->Get(ctx_, {"x", "y"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(api_->total(), sent);
  EXPECT_TRUE(IsNoMatch(mapper.Resource(ctx_, {"apps", "v1", "Nothing"}).error()));
}

TEST_F(Contract13Mapper, ResourceForNeedsOneRequest) {
  const auto api = std::make_shared<FakeApi>();
  ServeLegacy(*api, Plain());
  const Client client = ClientOf(api);
  EXPECT_EQ(ResourceFor(ctx_, client, {"apps", "v1", "Deployment"})->gvr(), (Gvr{"apps", "v1", "deployments"}));
  EXPECT_EQ(ResourceFor(ctx_, client, {"", "v1", "Pod"})->gvr(), (Gvr{"", "v1", "pods"}));
  EXPECT_EQ(api->total(), 2u);
  EXPECT_EQ(ResourceFor(ctx_, client, {"example.com", "v9", "Foo"}).error().message(),
            "no matches for kind \"Foo\" in version \"example.com/v9\"");
  EXPECT_TRUE(IsNoMatch(ResourceFor(ctx_, client, {"apps", "v1", "Nothing"}).error()));
  EXPECT_EQ(ResourceFor(ctx_, client, {"a/b", "v1", "X"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(ResourceFor(ctx_, client, {"a", "", "X"}).error().kind(), ErrorKind::kInvalid);
}

}  // namespace
}  // namespace kube
