#include "kube/client/pager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/scripted_transport_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/client/client.h"
#include "kube/client/retry.h"
#include "kube/client/wait.h"
#include "kube/config/client_config.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Page(const std::vector<std::string>& names, const std::string& next, const std::string& version = "5") {
  std::string items;
  for (const std::string& name : names) items += std::string(items.empty() ? "" : ",") + R"({"metadata":{"name":")" + name + "\"}}";
  return R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" + version + R"(","continue":")" + next +
         R"("},"items":[)" + items + "]}";
}
std::string Failure(int code, const std::string& reason) {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":")" + reason + R"(","code":)" +
         std::to_string(code) + "}";
}

class PagerTest : public ::testing::Test {
 protected:
  PagerTest() : client_(Client::FromConfig({.qps = -1}, {.transport = transport_}).value()), pods_(client_.Resource<Pod>()) {}
  std::vector<std::string> Targets() const {
    std::vector<std::string> out;
    for (const HttpRequest& request : transport_->requests()) out.push_back(request.target.substr(request.target.find('?') + 1));
    return out;
  }

  const Context ctx_ = Context::Background();
  const std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
  Client client_;
  ResourceClient<Pod> pods_;
};
using Contract16Pager = PagerTest;
using Contract24No25 = PagerTest;

TEST_F(Contract16Pager, ReadsPagesOf500AsTheyAreNeeded) {
  transport_->Answer(200, Page({"a", "b"}, "next"));
  transport_->Answer(200, Page({"c"}, ""));
  Pager<Pod> pager(pods_, ctx_, {.label_selector = "x"});
  std::vector<std::string> names;
  for (const Result<Pod>& pod : pager) {
    ASSERT_TRUE(pod);
    names.push_back(pod->metadata.name.str());
    if (names.size() == 1) {
      EXPECT_EQ(Targets().size(), 1U);
    }
  }
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
  EXPECT_THAT(Targets(), ElementsAre("labelSelector=x&limit=500", "continue=next&labelSelector=x&limit=500"));
}

TEST_F(Contract16Pager, AnErrorIsTheLastElement) {
  transport_->Answer(200, Page({"a"}, "next"));
  transport_->Answer(410, Failure(410, "Expired"));
  Pager<Pod> pager(pods_, ctx_);
  std::vector<std::string> seen;
  for (const Result<Pod>& pod : pager) seen.push_back(pod ? pod->metadata.name.str() : pod.error().reason());
  EXPECT_THAT(seen, ElementsAre("a", "Expired"));
}

TEST_F(Contract16Pager, AnEmptyListIsAnEmptyRange) {
  transport_->Answer(200, Page({}, ""));
  Pager<Pod> pager(pods_, ctx_);
  EXPECT_TRUE(pager.begin() == pager.end());
}

TEST_F(Contract16Pager, EmptyPagesInTheMiddleArePassedOver) {
  transport_->Answer(200, Page({}, "n1"));
  transport_->Answer(200, Page({"a"}, ""));
  Pager<Pod> pager(pods_, ctx_);
  int count = 0;
  for (const Result<Pod>& pod : pager) count += pod ? 1 : 100;
  EXPECT_EQ(count, 1);
}

TEST_F(Contract24No25, PagesDropTheResourceVersionOnceContinueIsSent) {
  transport_->Answer(200, Page({"a"}, "n1", "7"));
  transport_->Answer(200, Page({"b"}, "", "9"));
  const Result<ObjectList<Pod>> all = ListAllPages(pods_, ctx_, {.resource_version = "0", .resource_version_match = "NotOlderThan"});
  ASSERT_TRUE(all) << all.error().ToString();
  EXPECT_EQ(all->size(), 2U);
  EXPECT_EQ(all->metadata.resource_version, "7");
  EXPECT_EQ(all->metadata.continue_, "");
  EXPECT_THAT(Targets(), ElementsAre("limit=500&resourceVersion=0&resourceVersionMatch=NotOlderThan", "continue=n1&limit=500"));
}

TEST_F(Contract24No25, AnExpiredContinueTokenGivesOneListWithoutPagesAtTheOriginalVersion) {
  transport_->Answer(200, Page({"a"}, "n1"));
  transport_->Answer(410, Failure(410, "Expired"));
  transport_->Answer(200, Page({"a", "b"}, ""));
  const Result<ObjectList<Pod>> all = ListAllPages(pods_, ctx_, {.resource_version = "10"});
  ASSERT_TRUE(all) << all.error().ToString();
  EXPECT_EQ(all->size(), 2U);
  EXPECT_THAT(Targets(), ElementsAre("limit=500&resourceVersion=10", "continue=n1&limit=500", "resourceVersion=10"));
}

TEST_F(Contract24No25, A410OnTheFirstPageIsTheCallersAffair) {
  transport_->Answer(410, Failure(410, "Expired"));
  const Result<ObjectList<Pod>> all = ListAllPages(pods_, ctx_, {.resource_version = "10"});
  ASSERT_FALSE(all);
  EXPECT_TRUE(IsResourceExpired(all.error()));
  EXPECT_EQ(transport_->requests().size(), 1U);
}

Error Conflict() { return Error(Error::Payload{.kind = ErrorKind::kApi, .http_code = 409, .reason = "Conflict", .message = "again"}); }

TEST(Contract08RetryOnConflict, TriesAgainUntilItWorks) {
  int calls = 0;
  EXPECT_TRUE(RetryOnConflict(Context::Background(), [&]() -> Result<void> {
    if (++calls < 3) return Conflict();
    return {};
  }));
  EXPECT_EQ(calls, 3);
}

TEST(Contract08RetryOnConflict, GivesTheLastConflictAfterFiveAttempts) {
  int calls = 0;
  const Result<void> done = RetryOnConflict(Context::Background(), [&]() -> Result<void> {
    ++calls;
    return Conflict();
  });
  ASSERT_FALSE(done);
  EXPECT_TRUE(IsConflict(done.error()));
  EXPECT_EQ(calls, 5);
}

TEST(Contract08RetryOnConflict, OtherErrorsEndItAtOnce) {
  int calls = 0;
  const Result<void> done = RetryOnConflict(Context::Background(), [&]() -> Result<void> {
    ++calls;
    return Error(Error::Payload{.kind = ErrorKind::kApi, .http_code = 409, .reason = "AlreadyExists", .message = "there"});
  });
  EXPECT_TRUE(IsAlreadyExists(done.error()));
  EXPECT_EQ(calls, 1);
}

TEST(Contract08RetryOnConflict, AStoppedContextIsSaidWhereThereWasNoConflict) {
  auto [ctx, source] = Context::Background().WithCancel();
  source.Cancel();
  const Result<void> done = RetryOnConflict(ctx, []() -> Result<void> { return {}; });
  ASSERT_FALSE(done);
  EXPECT_TRUE(IsCancelled(done.error()));
}

constexpr char kReady[] = R"({"metadata":{"name":"web","resourceVersion":"6"},"status":{"phase":"Running"}})";
bool Running(const Pod& pod) { return pod.status.phase == "Running"; }

TEST_F(PagerTest, WaitForGivesAnObjectThatIsReadyAlready) {
  transport_->Answer(200,
                     R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[)" + std::string(kReady) + "]}");
  const Result<Pod> pod = WaitFor<Pod>(pods_, ctx_, {"default", "web"}, Running);
  ASSERT_TRUE(pod) << pod.error().ToString();
  EXPECT_THAT(Targets(), ElementsAre("fieldSelector=metadata.name%3Dweb"));
}

TEST_F(PagerTest, WaitForWatchesAndStartsOverWhereTheWatchEnds) {
  transport_->Answer(200, Page({}, ""));
  transport_->Answer(200,
                     R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}})");
  transport_->Answer(200, Page({"web"}, "", "8"));
  transport_->Answer(200, R"({"type":"MODIFIED","object":)" + std::string(kReady) + "}");
  const Result<Pod> pod = WaitFor<Pod>(pods_, ctx_, {"default", "web"}, Running);
  ASSERT_TRUE(pod) << pod.error().ToString();
  EXPECT_EQ(pod->status.phase, "Running");
  EXPECT_EQ(transport_->requests().size(), 4U);
  EXPECT_THAT(transport_->last().target, HasSubstr("resourceVersion=8&watch=true"));
}

TEST_F(PagerTest, WaitForDeletionSeesTheDeletion) {
  transport_->Answer(200, Page({"web"}, ""));
  transport_->Answer(200, R"({"type":"DELETED","object":)" + std::string(kReady) + "}");
  EXPECT_TRUE(WaitForDeletion<Pod>(pods_, ctx_, {"default", "web"}));
}

TEST_F(PagerTest, WaitForGivesUpWhereWaitingCannotHelp) {
  transport_->Answer(403, Failure(403, "Forbidden"));
  const Result<Pod> pod = WaitFor<Pod>(pods_, ctx_, {"default", "web"}, Running);
  ASSERT_FALSE(pod);
  EXPECT_TRUE(IsForbidden(pod.error()));
}

}  // namespace
}  // namespace kube::internal
