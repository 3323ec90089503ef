#include "kube/client/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "client/discovery_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/config/client_config.h"
#include "kube/transport/transport_errors.h"

namespace kube {
namespace {

using internal::Aggregated;
using internal::ClientOf;
using internal::FakeApi;
using internal::kV2Beta1Type;
using internal::kV2Type;
using internal::ServeAggregated;
using internal::ServeLegacy;
using internal::StatusBody;
using internal::TestGroup;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<TestGroup>& Plain() {
  static const std::vector<TestGroup> groups = {
      {"", {{"v1", {{"pods", "Pod", true, "pod", {"po"}, {"all"}}, {"namespaces", "Namespace", false, "namespace", {"ns"}}}}}},
      {"apps", {{"v1", {{"deployments", "Deployment", true, "deployment", {"deploy"}, {"all"}}}}}},
      {"batch", {{"v1", {{"jobs", "Job"}}}, {"v1beta1", {{"jobs", "Job"}, {"cronjobs", "CronJob"}}}}}};
  return groups;
}

std::vector<std::string> ListsOf(const ServerApis& apis) {
  std::vector<std::string> out;
  for (const ApiResourceList& list : apis.lists) out.push_back(list.group_version.ToString());
  return out;
}

std::vector<std::string> GroupsOf(const ServerApis& apis) {
  std::vector<std::string> out;
  for (const ApiGroup& group : apis.groups) out.push_back(group.name.str());
  return out;
}

class Contract13Discovery : public ::testing::Test {
 protected:
  const Context ctx_ = Context::Background();
  const std::shared_ptr<FakeApi> api_ = std::make_shared<FakeApi>();
};
using Contract13Aggregated = Contract13Discovery;
using Contract13Legacy = Contract13Discovery;
using Contract13MemoryCache = Contract13Discovery;
using Contract13OpenApi = Contract13Discovery;

TEST_F(Contract13Aggregated, TwoRequestsGiveEverything) {
  ServeAggregated(*api_, Plain());
  const Discovery discovery(ClientOf(api_));
  const auto apis = discovery.Apis(ctx_).value();
  EXPECT_THAT(GroupsOf(*apis), ElementsAre("", "apps", "batch"));
  EXPECT_THAT(ListsOf(*apis), ElementsAre("v1", "apps/v1", "batch/v1", "batch/v1beta1"));
  EXPECT_FALSE(apis->error());
  ASSERT_EQ(api_->total(), 2u);
  EXPECT_EQ(api_->requests()[0].target, "/api");
  EXPECT_EQ(api_->requests()[1].target, "/apis");
  EXPECT_TRUE(
      api_->requests()[1].headers.Get("Accept").starts_with("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"));
}

TEST_F(Contract13Aggregated, TheOlderFormOfItIsTaken) {
  api_->Set("/api", 200, Aggregated({Plain()[0]}, "v2beta1"), kV2Beta1Type);
  api_->Set("/apis", 200, Aggregated({Plain()[1]}, "v2beta1"), kV2Beta1Type);
  EXPECT_THAT(ListsOf(*Discovery(ClientOf(api_)).Apis(ctx_).value()), ElementsAre("v1", "apps/v1"));
  EXPECT_EQ(api_->total(), 2u);
}

TEST_F(Contract13Aggregated, AStaleVersionIsAPartialErrorAfterASecondLook) {
  ServeAggregated(*api_, {Plain()[0], {"metrics.k8s.io", {{"v1beta1", {}, true}}}, Plain()[1]});
  const Discovery discovery(ClientOf(api_));
  const auto apis = discovery.Apis(ctx_).value();
  EXPECT_EQ(api_->total(), 4u);  // two attempts
  EXPECT_THAT(ListsOf(*apis), ElementsAre("v1", "apps/v1"));
  ASSERT_TRUE(apis->error());
  EXPECT_TRUE(IsGroupDiscoveryFailed(*apis->error()));
  EXPECT_EQ(apis->error()->message().find("unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: stale"), 0u);
  const auto resources = discovery.Resources(ctx_, {"metrics.k8s.io", "v1beta1"});
  ASSERT_FALSE(resources);
  EXPECT_FALSE(IsNotFound(resources.error()));
  EXPECT_EQ(api_->total(), 4u);  // staleness is no passing thing
}

TEST_F(Contract13Aggregated, AStaleVersionThatRecoversAtTheSecondLookIsFine) {
  ServeAggregated(*api_, {Plain()[0], Plain()[1]});
  std::atomic<int> asked = 0;
  api_->Set("/apis", [&](const Context&, const HttpRequest&) -> Result<HttpResponse> {
    HttpResponse response;
    response.code = 200;
    response.headers.Add("Content-Type", kV2Type);
    response.body = Aggregated({{"apps", {{"v1", {{"deployments", "Deployment"}}, ++asked == 1}}}});
    return response;
  });
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_).value();
  EXPECT_FALSE(apis->error());
  EXPECT_THAT(ListsOf(*apis), ElementsAre("v1", "apps/v1"));
}

TEST_F(Contract13Aggregated, OneEndpointAloneIsNotEnough) {
  ServeLegacy(*api_, Plain());
  api_->Set("/apis", 200, Aggregated({Plain()[1], Plain()[2]}), kV2Type);
  EXPECT_THAT(ListsOf(*Discovery(ClientOf(api_)).Apis(ctx_).value()), ElementsAre("v1", "apps/v1", "batch/v1", "batch/v1beta1"));
  EXPECT_EQ(api_->count("/apis/batch/v1beta1"), 1u);
}

TEST_F(Contract13Aggregated, LegacyIsAskedForWhereTheCallerWantsIt) {
  ServeLegacy(*api_, Plain());
  EXPECT_TRUE(Discovery(ClientOf(api_), {.legacy = true}).Apis(ctx_));
  EXPECT_EQ(api_->requests()[0].headers.Get("Accept"), "application/json");
}

TEST_F(Contract13Discovery, AMissingCoreGroupIsTolerated) {
  ServeAggregated(*api_, Plain());
  api_->Remove("/api");
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_).value();
  EXPECT_THAT(GroupsOf(*apis), ElementsAre("apps", "batch"));
  EXPECT_EQ(api_->total(), 2u);
}

TEST_F(Contract13Discovery, MissingOtherGroupsAreAnError) {
  ServeAggregated(*api_, Plain());
  api_->Remove("/apis");
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_);
  ASSERT_FALSE(apis);
  EXPECT_TRUE(IsNotFound(apis.error()));
}

TEST_F(Contract13Discovery, AnyOtherErrorOfEitherEndpointFails) {
  for (const char* path : {"/api", "/apis"}) {
    for (const int code : {403, 500}) {
      ServeAggregated(*api_, Plain());
      api_->Set(path, code, StatusBody(code, code == 403 ? "Forbidden" : "InternalError"));
      const auto apis = Discovery(ClientOf(api_)).Apis(ctx_);
      ASSERT_FALSE(apis) << path << code;
      EXPECT_EQ(apis.error().http_code(), code);
      EXPECT_THAT(apis.error().ToString(), HasSubstr(std::string("GET ") + path));
    }
  }
}

TEST_F(Contract13Discovery, AnswersThatAreNoneAreDecodeErrors) {
  ServeAggregated(*api_, Plain());
  api_->Set("/apis", 200, "<html>login</html>", "text/html");
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_);
  ASSERT_FALSE(apis);
  EXPECT_EQ(apis.error().kind(), ErrorKind::kDecode);
  EXPECT_THAT(apis.error().ToString(), HasSubstr("/apis"));
}

TEST_F(Contract13Discovery, EachRequestHas32Seconds) {
  auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  std::vector<std::optional<Clock::Duration>> left;
  api_->Set("/version", [&](const Context& c, const HttpRequest&) -> Result<HttpResponse> {
    left.push_back(c.remaining());
    HttpResponse response;
    response.code = 200;
    response.body = "{}";
    return response;
  });
  ASSERT_TRUE(Discovery(ClientOf(api_, {}, clock)).Version(ctx));
  ClientConfig config;
  config.timeout = std::chrono::seconds(7);
  ASSERT_TRUE(Discovery(ClientOf(api_, config, clock)).Version(ctx));
  EXPECT_THAT(
      left, ElementsAre(std::optional<Clock::Duration>(std::chrono::seconds(32)), std::optional<Clock::Duration>(std::chrono::seconds(7))));
}

TEST_F(Contract13Discovery, ManyRequestsGoAtOnceWhateverTheRateOfOthers) {
  auto clock = std::make_shared<FakeClock>();  // stands still: a call that has to wait would never return
  std::vector<TestGroup> groups = {Plain()[0]};
  for (int i = 0; i < 100; ++i) groups.push_back({"g" + std::to_string(i), {{"v1", {{"things", "Thing"}}}}});
  ServeLegacy(*api_, groups);
  const auto apis = Discovery(ClientOf(api_, {}, clock)).Apis(Context::Background(clock)).value();
  EXPECT_FALSE(apis->error());
  EXPECT_EQ(apis->lists.size(), 101u);
  EXPECT_EQ(api_->total(), 103u);
}

TEST_F(Contract13Discovery, ServerVersion) {
  api_->Set("/version", 200, R"({"major":"1","minor":"27+","gitVersion":"v1.27.3-gke.100","platform":"linux/amd64","emulationMajor":"1"})");
  const ServerVersion version = Discovery(ClientOf(api_)).Version(ctx_).value();
  EXPECT_EQ(version.git_version, "v1.27.3-gke.100");
  EXPECT_EQ(version.platform, "linux/amd64");
  EXPECT_EQ(version.minor_number(), 27);
  EXPECT_TRUE(version.AtLeast(1, 27));
  EXPECT_FALSE(version.AtLeast(1, 28));
  EXPECT_TRUE(version.AtLeast(0, 99));
}

TEST_F(Contract13Discovery, AServerVersionThatIsNoneIsAnError) {
  api_->Set("/version", 200, "[1]");
  EXPECT_FALSE(Discovery(ClientOf(api_)).Version(ctx_));
  api_->Set("/version", 200, "v1.2");
  EXPECT_EQ(Discovery(ClientOf(api_)).Version(ctx_).error().kind(), ErrorKind::kDecode);
}

TEST_F(Contract13Legacy, ResourcesAreReadForEachGroupVersionInParallel) {
  ServeLegacy(*api_, Plain());
  // Both wait until both are there: with one thread this would never end.
  std::mutex mu;
  std::condition_variable both;
  std::set<std::string> arrived;
  for (const std::string path : {"/apis/batch/v1", "/apis/batch/v1beta1"}) {
    api_->Set(path, [&, path](const Context&, const HttpRequest&) -> Result<HttpResponse> {
      std::unique_lock lock(mu);
      arrived.insert(path);
      both.notify_all();
      if (!both.wait_for(lock, std::chrono::seconds(60), [&] { return arrived.size() == 2; })) return Error::Internal("alone");
      HttpResponse response;
      response.code = 200;
      response.body = R"({"resources":[{"name":"jobs","kind":"Job","namespaced":true,"verbs":["get"]}]})";
      return response;
    });
  }
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_).value();
  EXPECT_FALSE(apis->error());
  EXPECT_THAT(ListsOf(*apis), ElementsAre("v1", "apps/v1", "batch/v1", "batch/v1beta1"));
  EXPECT_EQ(apis->Find({"batch", "v1"})->Find("jobs")->gvk, (Gvk{"batch", "v1", "Job"}));
}

TEST_F(Contract13Legacy, AFailedGroupVersionIsTriedTwiceAndReturnedWithTheRest) {
  ServeLegacy(*api_, Plain());
  api_->Set("/apis/batch/v1", 403, StatusBody(403, "Forbidden"));
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_).value();
  EXPECT_THAT(ListsOf(*apis), ElementsAre("v1", "apps/v1", "batch/v1beta1"));
  ASSERT_EQ(apis->failures.size(), 1u);
  EXPECT_TRUE(IsForbidden(apis->failures[0].error));
  EXPECT_EQ(api_->count("/apis/batch/v1"), 2u);
  EXPECT_EQ(api_->count("/apis"), 2u);
  EXPECT_EQ(api_->count("/apis/apps/v1"), 1u);  // what was read once is not read again
}

TEST_F(Contract13Legacy, AGroupThatGoesWhileItIsReadIsNoFailure) {
  ServeLegacy(*api_, Plain());
  api_->Set("/apis/batch/v1", [&](const Context&, const HttpRequest&) -> Result<HttpResponse> {
    ServeLegacy(*api_, {Plain()[0], Plain()[1]});  // from here on without it
    HttpResponse response;
    response.code = 404;
    return response;
  });
  const auto apis = Discovery(ClientOf(api_), {.parallel = 1}).Apis(ctx_).value();
  EXPECT_FALSE(apis->error());
  EXPECT_THAT(ListsOf(*apis), ElementsAre("v1", "apps/v1"));
}

TEST_F(Contract13Legacy, ACoreListThatIsMissingIsEmpty) {
  ServeLegacy(*api_, Plain());
  api_->Remove("/api/v1");
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_).value();
  EXPECT_FALSE(apis->error());
  EXPECT_THAT(apis->Find({"", "v1"})->resources, IsEmpty());
}

TEST_F(Contract13Legacy, CancellingEndsTheLoadAndIsNotRemembered) {
  ServeLegacy(*api_, Plain());
  auto [ctx, cancel] = ctx_.WithCancel();
  api_->Set("/apis/apps/v1", [&cancel = cancel](const Context& c, const HttpRequest&) -> Result<HttpResponse> {
    cancel.Cancel();
    c.WaitUntilStopped();
    return *c.Err();
  });
  const Discovery discovery(ClientOf(api_));
  const auto apis = discovery.Apis(ctx);
  ASSERT_FALSE(apis);
  EXPECT_TRUE(IsCancelled(apis.error()));
  EXPECT_FALSE(discovery.fresh());
  ServeLegacy(*api_, Plain());
  EXPECT_TRUE(discovery.Apis(ctx_));
}

TEST_F(Contract13Discovery, PreferredResourcesAreThoseOfThePreferredVersionElseTheFirst) {
  std::vector<TestGroup> groups = Plain();
  groups.push_back({"x", {{"v2", {{"as", "A"}}}, {"v1", {{"as", "A"}, {"bs", "B"}}}, {"v1beta1", {{"bs", "B"}}}}});
  ServeAggregated(*api_, groups);
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_).value();
  std::vector<std::string> found;
  for (const ApiResourceList& list : apis->Preferred()) {
    for (const ApiResource& r : list.resources) found.push_back(r.gvr().ToString());
  }
  EXPECT_THAT(found, ElementsAre("/v1, Resource=pods", "/v1, Resource=namespaces", "apps/v1, Resource=deployments",
                                 "batch/v1, Resource=jobs", "batch/v1beta1, Resource=cronjobs", "x/v2, Resource=as", "x/v1, Resource=bs"));
}

TEST_F(Contract13Discovery, PreferredIsNotAlwaysTheFirstVersion) {
  ServeLegacy(*api_, {Plain()[0], {"x", {{"v1", {{"as", "A"}}}, {"v2", {{"as", "A"}}}}}});
  api_->Set("/apis", 200,
            R"({"groups":[{"name":"x","versions":[{"groupVersion":"x/v1","version":"v1"},{"groupVersion":"x/v2","version":"v2"}],)"
            R"("preferredVersion":{"groupVersion":"x/v2","version":"v2"}}]})");
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_).value();
  const std::vector<ApiResourceList> preferred = apis->Preferred();
  ASSERT_EQ(preferred.size(), 2u);
  EXPECT_EQ(preferred[1].group_version, (GroupVersion{"x", "v2"}));
}

TEST_F(Contract13Discovery, PreferredResourcesCanBeFiltered) {
  ServeAggregated(*api_, Plain());
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_).value();
  const std::vector<ApiResourceList> namespaced = apis->Preferred([](const ApiResource& r) { return r.namespaced; });
  ASSERT_FALSE(namespaced.empty());
  EXPECT_EQ(namespaced[0].Find("namespaces"), nullptr);
  EXPECT_NE(namespaced[0].Find("pods"), nullptr);
  EXPECT_THAT(apis->Preferred([](const ApiResource& r) { return r.Supports("fly"); }), IsEmpty());
}

TEST_F(Contract13Discovery, SubresourcesAreInListsButNotPreferred) {
  ServeAggregated(
      *api_,
      {{"",
        {{"v1",
          {{"pods",
            "Pod",
            true,
            "pod",
            {},
            {},
            {"get"},
            R"(,"subresources":[{"subresource":"log","responseKind":{"group":"","version":"v1","kind":"Pod"},"verbs":["get"]}])"}}}}}});
  const Discovery discovery(ClientOf(api_));
  EXPECT_NE(discovery.Resources(ctx_, {"", "v1"})->Find("pods/log"), nullptr);
  EXPECT_EQ(discovery.Apis(ctx_).value()->Preferred().at(0).Find("pods/log"), nullptr);
}

TEST_F(Contract13MemoryCache, IsFilledOnceAndStaysUntilInvalidate) {
  ServeAggregated(*api_, Plain());
  const Discovery discovery(ClientOf(api_));
  EXPECT_FALSE(discovery.fresh());
  ASSERT_TRUE(discovery.Groups(ctx_));
  ASSERT_TRUE(discovery.Resources(ctx_, {"apps", "v1"}));
  ASSERT_TRUE(discovery.Apis(ctx_));
  EXPECT_EQ(api_->total(), 2u);
  EXPECT_TRUE(discovery.fresh());
  ServeAggregated(*api_, {Plain()[0]});
  EXPECT_EQ(discovery.Groups(ctx_)->size(), 3u);
  discovery.Invalidate();
  EXPECT_FALSE(discovery.fresh());
  EXPECT_EQ(discovery.Groups(ctx_)->size(), 1u);
  EXPECT_EQ(api_->total(), 4u);
}

TEST_F(Contract13MemoryCache, AnUnknownGroupVersionIsNotFoundWithoutAsking) {
  ServeAggregated(*api_, Plain());
  const Discovery discovery(ClientOf(api_));
  ASSERT_TRUE(discovery.Apis(ctx_));
  const auto resources = discovery.Resources(ctx_, {"nobody", "v1"});
  ASSERT_FALSE(resources);
  EXPECT_TRUE(IsNotFound(resources.error()));
  EXPECT_THAT(resources.error().message(), HasSubstr("nobody/v1"));
  EXPECT_EQ(api_->total(), 2u);
}

TEST_F(Contract13MemoryCache, AFailureOfTheWholeIsNotRemembered) {
  const Discovery discovery(ClientOf(api_));
  EXPECT_FALSE(discovery.Apis(ctx_));
  EXPECT_FALSE(discovery.fresh());
  ServeAggregated(*api_, Plain());
  EXPECT_TRUE(discovery.Apis(ctx_));
}

TEST_F(Contract13MemoryCache, APermanentPartialFailureIsKeptUntilInvalidate) {
  ServeLegacy(*api_, Plain());
  api_->Set("/apis/batch/v1", 403, StatusBody(403, "Forbidden"));
  const Discovery discovery(ClientOf(api_));
  ASSERT_TRUE(discovery.Apis(ctx_));
  ServeLegacy(*api_, Plain());
  api_->Forget();
  EXPECT_TRUE(IsForbidden(discovery.Resources(ctx_, {"batch", "v1"}).error()));
  EXPECT_EQ(api_->total(), 0u);
  discovery.Invalidate();
  EXPECT_TRUE(discovery.Resources(ctx_, {"batch", "v1"}));
}

TEST_F(Contract13MemoryCache, APassingPartialFailureIsTriedAgainOnAccess) {
  const std::vector<std::pair<std::string, std::function<void()>>> passing = {
      {"503", [&] { api_->Set("/apis/batch/v1", 503, StatusBody(503, "ServiceUnavailable")); }},
      {"500 without a body", [&] { api_->Set("/apis/batch/v1", 500, ""); }},
      {"429", [&] { api_->Set("/apis/batch/v1", 429, StatusBody(429, "TooManyRequests")); }},
      {"refused", [&] { api_->Fail("/apis/batch/v1", TransportError(transport_reason::kConnectionRefused, "refused")); }},
      {"reset", [&] { api_->Fail("/apis/batch/v1", TransportError(transport_reason::kConnectionReset, "reset")); }},
  };
  for (const auto& [name, arrange] : passing) {
    ServeLegacy(*api_, Plain());
    arrange();
    const Discovery discovery(ClientOf(api_));
    EXPECT_EQ(discovery.Apis(ctx_).value()->failures.size(), 1u) << name;
    api_->Forget();
    EXPECT_FALSE(discovery.Resources(ctx_, {"batch", "v1"})) << name;
    EXPECT_EQ(api_->total(), 1u) << name << ": only what failed";
    ServeLegacy(*api_, Plain());
    EXPECT_TRUE(discovery.Resources(ctx_, {"batch", "v1"})) << name;
    api_->Forget();
    const auto apis = discovery.Apis(ctx_).value();
    EXPECT_FALSE(apis->error()) << name;
    EXPECT_THAT(ListsOf(*apis), ElementsAre("v1", "apps/v1", "batch/v1", "batch/v1beta1")) << name;
    EXPECT_EQ(api_->total(), 0u) << name << ": well again, nothing to ask";
  }
}

TEST_F(Contract13MemoryCache, ATlsFailureIsPermanent) {
  ServeLegacy(*api_, Plain());
  api_->Fail("/apis/batch/v1", TransportError(transport_reason::kTls, "bad certificate"));
  const Discovery discovery(ClientOf(api_));
  ASSERT_TRUE(discovery.Apis(ctx_));
  api_->Forget();
  EXPECT_FALSE(discovery.Resources(ctx_, {"batch", "v1"}));
  EXPECT_EQ(api_->total(), 0u);
}

TEST_F(Contract13MemoryCache, ManyWhoAskAtOnceShareOneLoad) {
  ServeAggregated(*api_, Plain());
  const Discovery discovery(ClientOf(api_));
  {
    std::vector<Thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back("asker", [&] { EXPECT_TRUE(discovery.Apis(ctx_)); });
  }
  EXPECT_EQ(api_->total(), 2u);
}

TEST_F(Contract13MemoryCache, WhoWaitsWithSomeoneThatGivesUpGoesOn) {
  ServeAggregated(*api_, Plain());
  const Discovery discovery(ClientOf(api_));
  auto [impatient, cancel] = ctx_.WithCancel();
  std::mutex mu;
  std::condition_variable changed;
  bool inside = false;
  std::atomic<int> asked = 0;
  api_->Set("/api", [&](const Context& c, const HttpRequest&) -> Result<HttpResponse> {
    if (++asked == 1) {
      {
        std::lock_guard lock(mu);
        inside = true;
      }
      changed.notify_all();
      c.WaitUntilStopped();
      return *c.Err();
    }
    HttpResponse response;
    response.code = 404;
    return response;
  });
  Thread first("first", [&, &ctx = impatient] { EXPECT_TRUE(IsCancelled(discovery.Apis(ctx).error())); });
  {
    std::unique_lock lock(mu);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return inside; }));
  }
  Thread second("second", [&] { EXPECT_TRUE(discovery.Apis(ctx_)); });
  // A caller whose context ends while another one loads returns at once.
  EXPECT_TRUE(IsDeadlineExceeded(discovery.Apis(ctx_.WithTimeout(std::chrono::milliseconds(1))).error()));
  cancel.Cancel();
  first.Join();
  second.Join();
  EXPECT_EQ(asked, 2);
}

TEST_F(Contract13MemoryCache, ARefreshSendsTheETagAndKeepsWhatDidNotChange) {
  ServeAggregated(*api_, Plain(), "one");
  const Discovery discovery(ClientOf(api_));
  const auto before = discovery.Apis(ctx_).value();
  EXPECT_FALSE(api_->requests()[0].headers.Has("If-None-Match"));
  EXPECT_EQ(discovery.Refresh(ctx_).value(), before);  // the same object: nothing has to be built again
  EXPECT_EQ(api_->requests()[2].headers.Get("If-None-Match"), "\"core-one\"");
  EXPECT_EQ(api_->requests()[3].headers.Get("If-None-Match"), "\"one\"");
  ServeAggregated(*api_, {Plain()[0], Plain()[1]}, "two");
  const auto after = discovery.Refresh(ctx_).value();
  EXPECT_THAT(GroupsOf(*after), ElementsAre("", "apps"));
  EXPECT_EQ(discovery.Apis(ctx_).value(), after);
}

TEST_F(Contract13MemoryCache, InvalidateKeepsWhatTheServerConfirms) {
  ServeAggregated(*api_, Plain(), "one");
  const Discovery discovery(ClientOf(api_));
  ASSERT_TRUE(discovery.Apis(ctx_));
  discovery.Invalidate();
  EXPECT_EQ(discovery.Apis(ctx_).value()->groups.size(), 3u);
  EXPECT_EQ(api_->last().headers.Get("If-None-Match"), "\"one\"");
}

TEST_F(Contract13MemoryCache, WhatWasReadBeforeInvalidateIsNotRemembered) {
  ServeAggregated(*api_, Plain());
  const Discovery discovery(ClientOf(api_));
  api_->Set("/api", [&](const Context&, const HttpRequest&) -> Result<HttpResponse> {
    discovery.Invalidate();  // in the middle of the load
    ServeAggregated(*api_, Plain());
    HttpResponse response;
    response.code = 404;
    return response;
  });
  EXPECT_EQ(discovery.Apis(ctx_).value()->FindGroup(""), nullptr);
  EXPECT_FALSE(discovery.fresh());
  EXPECT_NE(discovery.Apis(ctx_).value()->FindGroup(""), nullptr);
}

TEST_F(Contract13MemoryCache, ARefreshThatFailsKeepsWhatIsKnown) {
  ServeAggregated(*api_, Plain());
  const Discovery discovery(ClientOf(api_));
  ASSERT_TRUE(discovery.Apis(ctx_));
  api_->Set("/apis", 503, "");
  EXPECT_FALSE(discovery.Refresh(ctx_));
  EXPECT_EQ(discovery.Groups(ctx_)->size(), 3u);
}

TEST_F(Contract13MemoryCache, RefreshOfSomethingThatIsKnownToBeOldAsksOnce) {
  ServeAggregated(*api_, Plain());
  const Discovery discovery(ClientOf(api_));
  const auto old = discovery.Apis(ctx_).value();
  ServeAggregated(*api_, {Plain()[0]});
  const auto now = discovery.Refresh(ctx_, old).value();
  EXPECT_NE(now, old);
  EXPECT_EQ(discovery.Refresh(ctx_, old).value(), now);
  EXPECT_EQ(api_->total(), 4u);
}

TEST_F(Contract13MemoryCache, ASecondLookThatFailsStillGivesThePart) {
  ServeLegacy(*api_, Plain());
  api_->Set("/apis/batch/v1", [&](const Context&, const HttpRequest&) -> Result<HttpResponse> {
    api_->Set("/apis", 500, "");
    HttpResponse response;
    response.code = 403;
    return response;
  });
  const auto apis = Discovery(ClientOf(api_)).Apis(ctx_);
  ASSERT_TRUE(apis);
  EXPECT_EQ((*apis)->failures.size(), 1u);
}

constexpr char kPaths[] = R"({"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=A"},)"
                          R"("apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=B"},)"
                          R"("version":{"serverRelativeURL":"/openapi/v3/version"}}})";

TEST_F(Contract13OpenApi, PathsAndDocumentsByGroupVersion) {
  api_->Set("/openapi/v3", 200, kPaths);
  api_->Set("/openapi/v3/apis/apps/v1?hash=B", 200, R"({"openapi":"3.0.0"})");
  const Discovery discovery(ClientOf(api_));
  const auto paths = discovery.OpenApiPaths(ctx_).value();
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_EQ(paths[0].path, "api/v1");
  EXPECT_EQ(paths[1].url, "/openapi/v3/apis/apps/v1?hash=B");
  EXPECT_EQ(*discovery.OpenApi(ctx_, GroupVersion{"apps", "v1"}).value(), R"({"openapi":"3.0.0"})");
  EXPECT_EQ(*discovery.OpenApi(ctx_, "apis/apps/v1").value(), R"({"openapi":"3.0.0"})");
  EXPECT_EQ(api_->total(), 2u);  // list and document, each once
  EXPECT_EQ(api_->last().headers.Get("Accept"), "application/json");
}

TEST_F(Contract13OpenApi, ADocumentIsKeptForItsHash) {
  api_->Set("/openapi/v3", 200, kPaths);
  api_->Set("/openapi/v3/apis/apps/v1?hash=B", 200, "old");
  const Discovery discovery(ClientOf(api_));
  ASSERT_TRUE(discovery.OpenApi(ctx_, GroupVersion{"apps", "v1"}));
  discovery.Invalidate();
  ASSERT_TRUE(discovery.OpenApi(ctx_, GroupVersion{"apps", "v1"}));
  EXPECT_EQ(api_->count("/openapi/v3"), 2u);
  EXPECT_EQ(api_->count("/openapi/v3/apis/apps/v1?hash=B"), 1u);
  api_->Set("/openapi/v3", 200, R"({"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=C"}}})");
  api_->Set("/openapi/v3/apis/apps/v1?hash=C", 200, "new");
  discovery.Invalidate();
  EXPECT_EQ(*discovery.OpenApi(ctx_, GroupVersion{"apps", "v1"}).value(), "new");
}

TEST_F(Contract13OpenApi, ADocumentWithoutHashIsAskedForEachTime) {
  api_->Set("/openapi/v3", 200, kPaths);
  api_->Set("/openapi/v3/version", 200, "{}");
  const Discovery discovery(ClientOf(api_));
  ASSERT_TRUE(discovery.OpenApi(ctx_, "version"));
  ASSERT_TRUE(discovery.OpenApi(ctx_, "version"));
  EXPECT_EQ(api_->count("/openapi/v3/version"), 2u);
}

TEST_F(Contract13OpenApi, AListThatIsOutOfDateIsReadAgain) {
  api_->Set("/openapi/v3", 200, kPaths);
  api_->Set("/openapi/v3/apis/apps/v1?hash=B", [&](const Context&, const HttpRequest&) -> Result<HttpResponse> {
    api_->Set("/openapi/v3", 200, R"({"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=C"}}})");
    HttpResponse response;
    response.code = 301;
    return response;
  });
  api_->Set("/openapi/v3/apis/apps/v1?hash=C", 200, "new");
  EXPECT_EQ(*Discovery(ClientOf(api_)).OpenApi(ctx_, GroupVersion{"apps", "v1"}).value(), "new");
}

TEST_F(Contract13OpenApi, UnknownGroupVersionsAndOldServersAreNotFound) {
  EXPECT_TRUE(IsNotFound(Discovery(ClientOf(api_)).OpenApiPaths(ctx_).error()));
  api_->Set("/openapi/v3", 200, kPaths);
  const auto document = Discovery(ClientOf(api_)).OpenApi(ctx_, GroupVersion{"nobody", "v1"});
  ASSERT_FALSE(document);
  EXPECT_TRUE(IsNotFound(document.error()));
  api_->Set("/openapi/v3", 200, "<html>");
  EXPECT_EQ(Discovery(ClientOf(api_)).OpenApiPaths(ctx_).error().kind(), ErrorKind::kDecode);
}

TEST_F(Contract13OpenApi, ThePrefixOfTheHostIsNotSentTwice) {
  api_->Set("/openapi/v3", 200, R"({"paths":{"api/v1":{"serverRelativeURL":"/k8s/c1/openapi/v3/api/v1?hash=A"}}})");
  api_->Set("/openapi/v3/api/v1?hash=A", 200, "{}");
  ClientConfig config;
  config.host = "https://rancher.example.com/k8s/c1/";
  EXPECT_TRUE(Discovery(ClientOf(api_, config)).OpenApi(ctx_, GroupVersion{"", "v1"}));
}

TEST_F(Contract13OpenApi, TheOldDocument) {
  api_->Set("/openapi/v2", 200, "{}");
  const Discovery discovery(ClientOf(api_));
  EXPECT_EQ(discovery.OpenApiV2(ctx_).value(), "{}");
  EXPECT_EQ(api_->last().headers.Get("Accept"), "application/json");
  ASSERT_TRUE(discovery.OpenApiV2(ctx_, true));
  EXPECT_EQ(api_->last().headers.Get("Accept"), "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
}

}  // namespace
}  // namespace kube
