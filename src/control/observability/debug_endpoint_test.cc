// /debug/ over a controller that runs: paths, headers, causes of what is queued and of what is under way.
#include "control/observability/debug_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/wait_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/codec/json.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class DebugEndpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = testing::ApiServer::Start({.http = true}).value();
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server_->Kubeconfig()).value()).value();
    config.qps = -1;
    client_ = std::make_unique<Client>(Client::FromConfig(config).value());
    informers_ = std::make_unique<InformerFactory>(*client_);
  }
  void TearDown() override {
    controllers_.clear();
    informers_->Shutdown();
  }
  void Add(
      const std::string& name, Reconciler reconcile = [](const Context&, const Request&) -> Result<Action> { return Action::Done(); }) {
    ControllerSpec spec =
        ControllerFor<ConfigMap>(name).For({.informer = InformerOptions{.ns = "default"}}).Reconcile(std::move(reconcile));
    controllers_.push_back(Controller::Create(std::move(spec), {.informers = informers_.get()}).value());
  }
  serve::HttpResponse Ask(std::string path, std::string query = "", std::string method = "GET") const {
    return AnswerDebug({.method = std::move(method), .path = std::move(path), .query = std::move(query)}, controllers_, *informers_, true)
        .value();
  }
  // The objects of the first controller.
  Value Objects(std::string query = "") const {
    return ParseJson(Ask("/debug/controllers", std::move(query)).body).value()["controllers"].list()[0]["objects"];
  }

  std::unique_ptr<testing::ApiServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<InformerFactory> informers_;
  std::vector<std::unique_ptr<Controller>> controllers_;
};

TEST_F(DebugEndpointTest, OtherPathsAreNotItsBusiness) {
  for (const char* path : {"/", "/metrics", "/debugger", "/debu"})
    EXPECT_FALSE(AnswerDebug({.method = "GET", .path = path}, controllers_, *informers_, true)) << path;
  EXPECT_EQ(Ask("/debug/other").status, 404);
  EXPECT_EQ(Ask("/debug/controllers/").status, 404);
  EXPECT_EQ(Ask("/debug").status, 308);
  EXPECT_EQ(Ask("/debug").headers.Get("location"), "debug/");
  EXPECT_EQ(Ask("/debug/", "", "POST").status, 405);
  EXPECT_EQ(Ask("/debug/controllers", "", "DELETE").headers.Get("allow"), "GET, HEAD");
  EXPECT_EQ(Ask("/debug/", "", "HEAD").status, 200);
}

TEST_F(DebugEndpointTest, ThePageMayLoadNothingFromElsewhere) {
  const serve::HttpResponse page = Ask("/debug/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.Get("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.headers.Get("x-content-type-options"), "nosniff");
  EXPECT_EQ(page.headers.Get("cache-control"), "no-store");
  const std::string policy(page.headers.Get("content-security-policy"));
  EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page.body, HasSubstr("<title>Controllers</title>"));
  for (const char* forbidden :
       {"http://", "https://", "src=", "@import", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("})
    EXPECT_THAT(page.body, Not(HasSubstr(forbidden))) << forbidden;
}

TEST_F(DebugEndpointTest, WrongQuestionsAreAnsweredInWords) {
  Add("web");
  Add("mail");
  EXPECT_EQ(Ask("/debug/controllers", "limit=x").status, 400);
  EXPECT_THAT(Ask("/debug/controllers", "nothing=1").body, HasSubstr("controller, key, filter or limit"));
  const serve::HttpResponse none = Ask("/debug/controllers", "controller=none");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("there are: web, mail"));
  const serve::HttpResponse one = Ask("/debug/controllers", "controller=mail");
  EXPECT_EQ(one.headers.Get("content-type"), "application/json");
  EXPECT_EQ(ParseJson(one.body).value()["controllers"].list().size(), 1U);
}

TEST_F(DebugEndpointTest, TellsWhyAKeyIsQueuedUnderWayAndFailed) {
  std::atomic<int> step = 0;
  Add("web", [&](const Context& ctx, const Request&) -> Result<Action> {
    while (step == 0 && ctx.SleepFor(milliseconds(1))) {
    }
    return Error::Internal("no disk");
  });
  const Controller& web = *controllers_[0];
  ASSERT_TRUE(controllers_[0]->Start());
  auto [ctx, cancel] = Context::Background().WithCancel();
  informers_->Start(ctx);
  ASSERT_TRUE(web.WaitForSync(Context::Background().WithTimeout(seconds(60))));
  // No worker runs yet: the key is queued, with its causes.
  controllers_[0]->Enqueue({"default", "mine"}, "timer");
  controllers_[0]->Enqueue({"default", "mine"}, "webhook");
  Value object = Objects("key=mine").list()[0];
  EXPECT_EQ(object["state"].string_value(), "queued");
  ASSERT_EQ(object["causes"].list().size(), 2U);
  EXPECT_EQ(object["causes"].list()[0].string_value(), "timer default/mine external");
  EXPECT_EQ(object["causes"].list()[1].string_value(), "webhook default/mine external");

  Thread runner("runner", [&, run = ctx] { EXPECT_TRUE(controllers_[0]->Run(run)); });
  EXPECT_TRUE(Eventually([&] { return Objects("key=mine").list()[0]["state"].string_value() == "processing"; }));
  EXPECT_TRUE(Eventually([&] { return Objects("key=mine").list()[0]["causes"].list().size() == 2; }));
  step = 1;
  EXPECT_TRUE(Eventually([&] { return Objects("key=mine").list()[0]["failures"].int_value() > 0; }));
  object = Objects("key=mine").list()[0];
  EXPECT_THAT(object["lastResult"].string_value().str(), HasSubstr("error: no disk"));
  EXPECT_GE(object["lastCauses"].list().size(), 1U);
  EXPECT_TRUE(Eventually([&] {
    const Value waits = Objects("filter=no+disk").list()[0];
    return waits["state"].string_value() == "waiting" && waits["causes"].list().size() == 1 &&
           waits["causes"].list()[0].string_value() == "retry" && waits["nextRunInSeconds"].double_value() > 0;
  }));
  cancel.Cancel();
  runner.Join();
}

}  // namespace
}  // namespace kube::internal
