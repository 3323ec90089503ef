#include "control/observability/request_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/wait_test_util.h"
#include "client/scripted_transport_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/codec/json.h"
#include "kube/config/client_config.h"
#include "kube/transport/http_transport.h"

namespace kube::internal {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Context Soon() { return Context::Background().WithTimeout(seconds(60)); }

// A guarded server before a scripted API server.
class RequestGuardTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin({}); }

  void Begin(RequestGuardOptions options) {
    server_.reset();
    options.clock = clock_;
    ClientConfig config;
    config.host = "http://server.example";
    config.content_type = "application/json";
    config.qps = qps_;
    config.burst = burst_;
    transport_->SetDefault([this](const HttpRequest& request) { return Review(request); });
    client_ = Client::FromConfig(config, {.max_retries = 0, .transport = transport_, .clock = clock_}).value();
    guard_ = std::make_unique<RequestGuard>(*client_, options);
    server_ = serve::HttpServer::Start({.io_threads = 1}, [this](const std::shared_ptr<serve::HttpExchange>& exchange) {
                guard_->Serve(exchange, [](const std::shared_ptr<serve::HttpExchange>& e) { e->Reply({.body = "secret numbers"}); });
              }).value();
    ours_ = Connect();
  }

  Result<HttpResponse> Review(const HttpRequest& request) {
    MutexLock lock(mu_);
    if (broken_) return Error(ErrorKind::kTransport, "no route");
    Value review = ParseJson(request.body).value();
    const Value& spec = std::as_const(review)["spec"];
    if (request.target == "/apis/authentication.k8s.io/v1/tokenreviews") {
      asked_.push_back("who is " + spec["token"].string_value().str());
      const auto user = users_.find(spec["token"].string_value().str());
      if (user != users_.end()) {
        review["status"]["authenticated"] = true;
        review["status"]["user"] = Value::Object({{"username", user->second}, {"groups", Value::Array({"g"})}});
      } else {
        review["status"]["error"] = "unknown";
      }
    } else {
      EXPECT_EQ(request.target, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
      const std::string text = spec["user"].string_value().str() + " " + spec["nonResourceAttributes"]["verb"].string_value().str() + " " +
                               spec["nonResourceAttributes"]["path"].string_value().str();
      EXPECT_EQ(spec["groups"], Value::Array({"g"}));
      asked_.push_back("may " + text);
      review["status"]["allowed"] = allowed_.count(text) > 0;
    }
    HttpResponse response;
    response.code = 201;
    response.headers.Add("Content-Type", "application/json");
    response.body = ToJson(review);
    return response;
  }

  // A connection of its own.
  std::shared_ptr<Transport> Connect() const {
    return MakeHttpTransport({.base_url = "http://127.0.0.1:" + std::to_string(server_->port())}).value();
  }
  // "200 body"
  std::string Get(const std::string& authorization, const std::string& path = "/metrics", const std::string& method = "GET") const {
    return GetOn(*ours_, authorization, path, method);
  }
  static std::string GetOn(Transport& connection, const std::string& authorization, const std::string& path = "/metrics",
                           const std::string& method = "GET") {
    HttpRequest request;
    request.method = method;
    request.target = path;
    if (!authorization.empty()) request.headers.Add("Authorization", authorization);
    const Result<HttpResponse> answer = connection.RoundTrip(Soon(), std::move(request));
    return answer ? std::to_string(answer->code) + " " + answer->body : answer.error().ToString();
  }
  std::vector<std::string> asked() {
    MutexLock lock(mu_);
    return std::exchange(asked_, {});
  }
  void SetBroken(bool broken) {
    MutexLock lock(mu_);
    broken_ = broken;
  }

  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
  Mutex mu_;
  std::map<std::string, std::string> users_ = {{"good", "prometheus"}, {"other", "mallory"}};
  std::set<std::string> allowed_ KUBE_GUARDED_BY(mu_) = {"prometheus get /metrics"};
  std::vector<std::string> asked_ KUBE_GUARDED_BY(mu_);
  bool broken_ KUBE_GUARDED_BY(mu_) = false;
  double qps_ = -1;
  int burst_ = 0;
  std::optional<Client> client_;
  std::unique_ptr<RequestGuard> guard_;
  std::unique_ptr<serve::HttpServer> server_;
  std::shared_ptr<Transport> ours_;
};

TEST_F(RequestGuardTest, WhoHasNoTokenIsNobody) {
  EXPECT_EQ(Get(""), "401 Unauthorized\n");
  EXPECT_EQ(Get("Basic Z29vZA=="), "401 Unauthorized\n");
  EXPECT_EQ(Get("Bearer "), "401 Unauthorized\n");
  EXPECT_THAT(asked(), ElementsAre());
}

TEST_F(RequestGuardTest, AKnownUserWhoMayIsServed) {
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_THAT(asked(), ElementsAre("who is good", "may prometheus get /metrics"));
  EXPECT_EQ(Get("bearer  good"), "200 secret numbers");
}

TEST_F(RequestGuardTest, OthersAreRefusedByName) {
  EXPECT_EQ(Get("Bearer wrong"), "401 Unauthorized\n");
  EXPECT_EQ(Get("Bearer other"), "403 Authorization denied for user mallory\n");
  EXPECT_THAT(asked(), ElementsAre("who is wrong", "who is other", "may mallory get /metrics"));
}

TEST_F(RequestGuardTest, EachPathAndMethodIsAMatterOfItsOwn) {
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_EQ(Get("Bearer good", "/debug/controllers"), "403 Authorization denied for user prometheus\n");
  EXPECT_EQ(Get("Bearer good", "/metrics?x=y"), "200 secret numbers");
  EXPECT_EQ(Get("Bearer good", "/metrics", "PUT"), "403 Authorization denied for user prometheus\n");
  EXPECT_THAT(asked(), ElementsAre("who is good", "may prometheus get /metrics", "may prometheus get /debug/controllers",
                                   "may prometheus put /metrics"));
}

TEST_F(RequestGuardTest, AnswersAreRememberedForAWhile) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_EQ(asked().size(), 2U);
  clock_->Advance(seconds(59));
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_EQ(asked().size(), 0U);
  clock_->Advance(seconds(1));  // who it is: a minute
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_THAT(asked(), ElementsAre("who is good"));
  clock_->Advance(seconds(240));  // what is allowed: five minutes
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_THAT(asked(), ElementsAre("who is good", "may prometheus get /metrics"));
}

TEST_F(RequestGuardTest, RefusalsAreForgottenSooner) {
  EXPECT_THAT(Get("Bearer other"), HasSubstr("403"));
  EXPECT_THAT(Get("Bearer wrong"), HasSubstr("401"));
  EXPECT_EQ(asked().size(), 3U);
  EXPECT_THAT(Get("Bearer other"), HasSubstr("403"));
  EXPECT_THAT(Get("Bearer wrong"), HasSubstr("401"));
  EXPECT_EQ(asked().size(), 0U);
  {
    MutexLock lock(mu_);
    allowed_.insert("mallory get /metrics");
    users_["wrong"] = "prometheus";
  }
  clock_->Advance(seconds(10));
  EXPECT_THAT(Get("Bearer wrong"), HasSubstr("200"));
  EXPECT_THAT(Get("Bearer other"), HasSubstr("403"));
  clock_->Advance(seconds(20));
  EXPECT_THAT(Get("Bearer other"), HasSubstr("200"));
}

TEST_F(RequestGuardTest, WhereTheServerCannotBeAskedNobodyIsServed) {
  SetBroken(true);
  EXPECT_EQ(Get("Bearer good"), "500 Authentication failed\n");
  SetBroken(false);
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");  // errors are not remembered
  SetBroken(true);
  EXPECT_EQ(Get("Bearer good", "/debug/"), "500 Authorization for user prometheus failed\n");
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
}

TEST_F(RequestGuardTest, ReviewsTakeNothingFromTheBudgetOfControllers) {
  qps_ = 0.001;
  burst_ = 4;
  Begin({});
  for (const char* token : {"a", "b", "c", "d"}) EXPECT_EQ(Get(std::string("Bearer ") + token), "401 Unauthorized\n");
  EXPECT_EQ(Get("Bearer e"), "500 Authentication failed\n") << "reviews have no limit";
  const Context ctx = Context::Background(clock_).WithTimeout(seconds(1));
  authentication::v1::TokenReview request;
  request.spec.token = "good";
  for (int i = 0; i < 4; ++i) {
    const auto answer = client_->Create(ctx, request);
    EXPECT_TRUE(answer) << answer.error().ToString();
  }
  EXPECT_FALSE(client_->Create(ctx, request)) << "the client has no limit";
}

TEST_F(RequestGuardTest, MemoryIsBounded) {
  Begin({.limits = {.remembered_refusals = 4, .burst_per_peer = 1000}});
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Get("Bearer bad" + std::to_string(i)), HasSubstr("401"));
  EXPECT_EQ(asked().size(), 20U);
  EXPECT_THAT(Get("Bearer bad19"), HasSubstr("401"));  // remembered
  EXPECT_EQ(asked().size(), 0U);
  EXPECT_THAT(Get("Bearer bad0"), HasSubstr("401"));  // not any more
  EXPECT_EQ(asked().size(), 1U);
}

// 200 made-up tokens, more than the guard remembers.
TEST_F(RequestGuardTest, MadeUpTokensDisplaceNoUser) {
  Begin({.limits = {.remembered = 50, .remembered_refusals = 50, .per_second_per_peer = 1000, .burst_per_peer = 1000}});
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_EQ(asked().size(), 2U);
  for (int i = 0; i < 200; ++i) EXPECT_THAT(Get("Bearer bad" + std::to_string(i)), HasSubstr("401"));
  EXPECT_EQ(asked().size(), 200U);
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_THAT(asked(), ElementsAre());
}

// The same with tokens of users without permissions, which every pod has and tenants can make.
TEST_F(RequestGuardTest, TokensOfOthersDisplaceNoUser) {
  Begin({.limits = {.remembered = 50, .remembered_refusals = 50, .per_second_per_peer = 1000, .burst_per_peer = 1000}});
  for (int i = 0; i < 200; ++i) users_["tenant" + std::to_string(i)] = "tenant" + std::to_string(i);
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  for (int i = 0; i < 200; ++i) EXPECT_THAT(Get("Bearer tenant" + std::to_string(i)), HasSubstr("403"));
  asked();
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_THAT(asked(), ElementsAre());
}

// The same with paths, by a user without permissions.
TEST_F(RequestGuardTest, RefusedPathsDisplaceNoPermission) {
  Begin({.limits = {.remembered = 50, .remembered_refusals = 50, .per_second_per_peer = 1000, .burst_per_peer = 1000}});
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  for (int i = 0; i < 200; ++i) EXPECT_THAT(Get("Bearer other", "/debug/" + std::to_string(i)), HasSubstr("403"));
  asked();
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_THAT(asked(), ElementsAre());
}

TEST_F(RequestGuardTest, APeerCausesAFewReviewsInASecond) {
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  asked();
  int refused = 0;
  for (int i = 0; i < 200; ++i) refused += Get("Bearer bad" + std::to_string(i)).starts_with("429 ") ? 1 : 0;
  EXPECT_EQ(asked().size(), 20U);  // the good token cost nothing
  EXPECT_EQ(refused, 180);
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  // Out of date, it is asked for again, whatever the peer has left.
  clock_->Advance(seconds(60));
  for (int i = 0; i < 30; ++i) (void)Get("Bearer worse" + std::to_string(i));
  asked();
  EXPECT_THAT(Get("Bearer worst"), HasSubstr("429"));
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_THAT(asked(), ElementsAre("who is good"));
  clock_->Advance(seconds(1));
  for (int i = 0; i < 6; ++i) (void)Get("Bearer bad" + std::to_string(i));
  EXPECT_EQ(asked().size(), 5U);
}

// Eight connections from the scraper's own address show made-up tokens, and use up what the address may cost.
TEST_F(RequestGuardTest, ANewTokenIsReviewedBesideMadeUpOnes) {
  Begin({.limits = {.refusals_per_connection = 1}});
  std::vector<std::shared_ptr<Transport>> attackers;
  for (int i = 0; i < 8; ++i) attackers.push_back(Connect());
  int tries = 0;
  const auto attack = [&] {
    int refused = 0;
    for (const auto& one : attackers) refused += GetOn(*one, "Bearer bad" + std::to_string(++tries)).starts_with("429 ") ? 1 : 0;
    return refused;
  };
  EXPECT_EQ(attack(), 0);
  EXPECT_EQ(attack(), 0);
  EXPECT_EQ(attack(), 4);  // 20 at once
  EXPECT_EQ(attack(), 8);
  asked();
  std::string answer;
  Thread scraper("scraper", [&] { answer = Get("Bearer good"); });
  ASSERT_TRUE(Eventually([&] { return guard_->waiting() == 1; }));
  EXPECT_EQ(attack(), 8) << "they do not wait";
  clock_->Advance(seconds(1));
  scraper.Join();
  EXPECT_EQ(answer, "200 secret numbers");
  EXPECT_THAT(asked(), ElementsAre("who is good", "may prometheus get /metrics"));
}

// A scraper whose token was renewed goes before connections that were never allowed anything.
TEST_F(RequestGuardTest, AConnectionThatWasAllowedSomethingGoesFirst) {
  Begin({.limits = {.max_waiting_per_peer = 4, .burst_per_peer = 1}});
  users_["renewed"] = "prometheus";
  EXPECT_EQ(Get("Bearer good"), "200 secret numbers");
  EXPECT_EQ(GetOn(*Connect(), "Bearer bad"), "401 Unauthorized\n");
  asked();
  std::atomic<int> displaced = 0;
  std::vector<Thread> attackers;
  for (int i = 0; i < 4; ++i) {
    attackers.emplace_back("attacker", [this, i, &displaced] {
      if (GetOn(*Connect(), "Bearer bad" + std::to_string(i)).starts_with("429 ")) ++displaced;
    });
  }
  ASSERT_TRUE(Eventually([&] { return guard_->waiting() == 4; }));
  EXPECT_THAT(GetOn(*Connect(), "Bearer more"), HasSubstr("429")) << "as many wait as may";
  std::string answer;
  Thread scraper("scraper", [&] { answer = Get("Bearer renewed"); });
  ASSERT_TRUE(Eventually([&] { return displaced == 1; })) << "it takes the place of one of them";
  EXPECT_THAT(asked(), ElementsAre());
  clock_->Advance(seconds(1));
  scraper.Join();
  EXPECT_EQ(answer, "200 secret numbers");
  const std::vector<std::string> reviews = asked();
  ASSERT_FALSE(reviews.empty());
  EXPECT_EQ(reviews[0], "who is renewed");
  EXPECT_TRUE(Eventually([&] {
    clock_->Advance(seconds(1));
    return guard_->waiting() == 0;
  }));
  for (Thread& one : attackers) one.Join();
}

TEST_F(RequestGuardTest, LongTokensThatNobodyKnowsAreNotKept) {
  const std::string token(5000, 'x');
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Get("Bearer " + token), HasSubstr("401"));
  EXPECT_EQ(asked().size(), 2U);
}

}  // namespace
}  // namespace kube::internal
