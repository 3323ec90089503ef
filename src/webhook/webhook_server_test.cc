// The port that API servers call: what is answered, by which thread, in which time.
#include "kube/webhook/webhook_server.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/log.h"
#include "kube/base/thread.h"
#include "kube/config/credentials.h"
#include "kube/serve/certificate.h"
#include "kube/transport/http_transport.h"
#include "serve/serve_test_util.h"
#include "webhook/call_timeout.h"

namespace kube {
namespace {

using serve::CurlAnswer;
using serve::CurlClient;
using ::testing::HasSubstr;

// Opens once.
class Latch {
 public:
  void Open() { open_.Cancel(); }
  bool Wait() {
    const Context limit = ctx_.WithTimeout(serve::kPatience);
    limit.WaitUntilStopped();
    return IsCancelled(*limit.Err());
  }

 private:
  explicit Latch(std::pair<Context, CancelSource> made) : ctx_(std::move(made.first)), open_(std::move(made.second)) {}
  Context ctx_;
  CancelSource open_;

 public:
  Latch() : Latch(Context::Background().WithCancel()) {}
};

WebhookEndpoint Endpoint(std::string path, std::function<WebhookAnswer(const Context&, std::string_view)> serve) {
  return {.path = std::move(path), .serve = std::move(serve)};
}
WebhookAnswer Echo(const Context&, std::string_view body) { return {.body = std::string(body)}; }

class WebhookServerTest : public ::testing::Test {
 protected:
  void Start(const std::vector<WebhookEndpoint>& endpoints, WebhookServerOptions options = {}) {
    options.bind_address = "127.0.0.1";
    options.port = 0;
    options.metrics = metrics_;
    Result<std::unique_ptr<WebhookServer>> started = WebhookServer::Start(endpoints, serve::TestTls(false), std::move(options));
    ASSERT_TRUE(started.ok()) << started.error().ToString();
    server_ = *std::move(started);
  }
  serve::CurlRequest Request(const std::string& path, std::string body = "{}") const {
    return {.url = "https://127.0.0.1:" + std::to_string(server_->port()) + path,
            .method = "POST",
            .body = std::move(body),
            .headers = {"Content-Type: application/json"},
            .ca_pem = serve::Pki().ca_pem};
  }
  CurlAnswer Post(const std::string& path, std::string body = "{}") const { return serve::Fetch(Request(path, std::move(body))); }

  const std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  std::unique_ptr<WebhookServer> server_;
};

TEST_F(WebhookServerTest, AnswersAtTheRegisteredPathsOnly) {
  Start({Endpoint("/echo", Echo)});
  CurlAnswer answer = Post("/echo?timeout=10s", R"({"a":1})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"a":1})");
  EXPECT_EQ(answer.headers["content-type"], "application/json");
  EXPECT_EQ(answer.http_version, 1);
  EXPECT_EQ(Post("/other").status, 404);
  serve::CurlRequest request = Request("/echo");
  request.method = "GET";
  request.body.clear();
  EXPECT_EQ(serve::Fetch(request).status, 405);
  request = Request("/echo");
  request.headers = {"Content-Type: text/plain"};
  EXPECT_EQ(serve::Fetch(request).status, 415);
}

TEST_F(WebhookServerTest, CountsLikeControllerRuntime) {
  WebhookEndpoint throws = Endpoint("/throws", [](const Context&, std::string_view) -> WebhookAnswer { throw std::runtime_error("boom"); });
  throws.conversion = true;
  Start({Endpoint("/echo", Echo), throws});
  EXPECT_EQ(metrics_->Count("controller_runtime_webhook_requests_total", {{"code", "200"}, {"webhook", "/echo"}}), 1U);
  EXPECT_EQ(Post("/echo").status, 200);
  EXPECT_EQ(Post("/echo").status, 200);
  const CurlAnswer failed = Post("/throws");
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.body, HasSubstr("boom"));
  EXPECT_EQ(metrics_->Value("controller_runtime_webhook_requests_total", {{"code", "200"}, {"webhook", "/echo"}}), 2);
  EXPECT_EQ(metrics_->Value("controller_runtime_webhook_requests_total", {{"code", "500"}, {"webhook", "/throws"}}), 1);
  EXPECT_EQ(metrics_->Value("controller_runtime_webhook_requests_in_flight", {{"webhook", "/echo"}}), 0);
  EXPECT_EQ(metrics_->Count("controller_runtime_webhook_latency_seconds", {{"webhook", "/echo"}}), 2U);
  EXPECT_EQ(metrics_->Value("controller_runtime_conversion_webhook_panics_total"), 1);
  EXPECT_EQ(metrics_->Value("controller_runtime_webhook_panics_total"), 0);
}

TEST_F(WebhookServerTest, TakesAnObjectOfSevenMebibytesTwice) {
  Start({Endpoint("/echo", [](const Context&, std::string_view body) -> WebhookAnswer { return {.body = std::to_string(body.size())}; })});
  const std::size_t two_objects = std::size_t{2} * 7 << 20;
  EXPECT_EQ(Post("/echo", std::string(two_objects, 'x')).body, std::to_string(two_objects));
  EXPECT_EQ(Post("/echo", std::string(std::size_t{17} << 20, 'x')).status, 413);
}

TEST_F(WebhookServerTest, TheContextHasTheTimeOfTheCall) {
  std::optional<std::chrono::nanoseconds> left;
  Start({Endpoint("/x",
                  [&](const Context& ctx, std::string_view) {
                    left = ctx.remaining();
                    return WebhookAnswer();
                  })},
        {.default_timeout = std::chrono::seconds(20)});
  EXPECT_EQ(Post("/x?timeout=5s").status, 200);
  ASSERT_TRUE(left);
  EXPECT_LE(*left, std::chrono::seconds(5));
  EXPECT_EQ(Post("/x").status, 200);
  EXPECT_GT(*left, std::chrono::seconds(5));
  EXPECT_LE(*left, std::chrono::seconds(20));
}

TEST_F(WebhookServerTest, TheContextStopsAtTheTimeout) {
  Start({Endpoint("/x", [&](const Context& ctx, std::string_view) -> WebhookAnswer {
    ctx.WaitUntilStopped();
    return {.body = IsDeadlineExceeded(*ctx.Err()) ? "timeout" : "other"};
  })});
  // On a busy machine the time may be over before the function is called.
  EXPECT_TRUE(serve::Eventually([&] { return Post("/x?timeout=50ms").body == "timeout"; }));
}

TEST_F(WebhookServerTest, AnAnswerAfterTheTimeoutIsLogged) {
  Mutex mu;
  std::vector<std::string> lines;
  LogBackend::Default()->SetSink(MakeTextSink([&](std::string_view line) {
    MutexLock lock(mu);
    lines.emplace_back(line);
  }));
  constexpr std::chrono::milliseconds kTimeout(20);
  Start({Endpoint("/prompt", Echo), Endpoint("/late", [&](const Context& ctx, std::string_view) -> WebhookAnswer {
           const auto called = std::chrono::steady_clock::now();
           ctx.WaitUntilStopped();
           while (std::chrono::steady_clock::now() <= called + kTimeout) continue;
           return {.body = "late"};
         })});
  EXPECT_EQ(Post("/prompt?timeout=30s").status, 200);
  // An API server that still waits gets the answer. On a busy machine the time may be over before the function is called.
  EXPECT_TRUE(serve::Eventually([&] { return Post("/late?timeout=20ms").body == "late"; }));
  server_.reset();
  LogBackend::Default()->SetSink(MakeTextSink());
  EXPECT_THAT(lines, ::testing::Contains(::testing::AllOf(HasSubstr("A webhook answered after the API server had stopped waiting"),
                                                          HasSubstr(R"(webhook="/late")"), HasSubstr("seconds="))));
  EXPECT_THAT(lines, ::testing::Not(::testing::Contains(HasSubstr("/prompt"))));
}

TEST_F(WebhookServerTest, TheContextStopsWhenTheApiServerLeaves) {
  Latch called, stopped;
  Start({Endpoint("/x", [&](const Context& ctx, std::string_view) -> WebhookAnswer {
    called.Open();
    ctx.WaitUntilStopped();
    if (IsCancelled(*ctx.Err())) stopped.Open();
    return {};
  })});
  const std::shared_ptr<Transport> transport =
      MakeHttpTransport({.base_url = "https://127.0.0.1:" + std::to_string(server_->port()),
                         .tls = MakeTlsSource({.tls = {.ca_data = serve::Pki().ca_pem}}, nullptr).value()})
          .value();
  auto [ctx, leave] = Context::Background().WithCancel();
  const Thread caller("caller", [&transport, ctx = ctx] {
    HttpRequest request;
    request.method = "POST";
    request.target = "/x?timeout=30s";
    request.headers.Add("Content-Type", "application/json");
    request.body = "{}";
    EXPECT_TRUE(IsCancelled(transport->RoundTrip(ctx, std::move(request)).error()));
  });
  ASSERT_TRUE(called.Wait());
  leave.Cancel();
  EXPECT_TRUE(stopped.Wait());
}

TEST_F(WebhookServerTest, TheContextStopsWhenTheServerGoes) {
  Latch called;
  Start({Endpoint("/x", [&](const Context& ctx, std::string_view) -> WebhookAnswer {
    called.Open();
    ctx.WaitUntilStopped();
    return {};
  })});
  const Thread caller("caller", [this] { (void)Post("/x?timeout=30s"); });
  ASSERT_TRUE(called.Wait());
  server_.reset();  // waits for the function, which waits for its context
}

TEST_F(WebhookServerTest, CallsRunBesideEachOtherUpToTheNumberOfWorkers) {
  Mutex mu;
  CondVar changed;
  int inside = 0, most = 0;
  bool open = false;
  Start({Endpoint("/x",
                  [&](const Context&, std::string_view) {
                    MutexLock lock(mu);
                    most = std::max(most, ++inside);
                    changed.NotifyAll();
                    while (!open) changed.Wait(mu);
                    --inside;
                    return WebhookAnswer();
                  })},
        {.workers = 3, .max_queued = 2});
  std::atomic<int> served = 0, refused = 0;
  const auto call = [&] {
    const long status = Post("/x?timeout=30s").status;
    ++(status == 200 ? served : refused);
  };
  std::deque<Thread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back("caller", call);
  {
    MutexLock lock(mu);
    while (inside < 3) changed.Wait(mu);
  }
  // Two wait, and the others are refused with a message.
  for (int i = 0; i < 4; ++i) callers.emplace_back("caller", call);
  EXPECT_TRUE(serve::Eventually([&] { return refused == 2; }));
  {
    MutexLock lock(mu);
    open = true;
    changed.NotifyAll();
  }
  callers.clear();
  EXPECT_EQ(served, 5);
  EXPECT_EQ(most, 3);
  EXPECT_EQ(metrics_->Value("controller_runtime_webhook_requests_total", {{"code", "503"}, {"webhook", "/x"}}), 2);
}

// An admission function reads an object in another version: the API server calls the conversion of the same program for it.
TEST_F(WebhookServerTest, AFunctionMayWaitForAnotherWebhook) {
  std::atomic<int> inside = 0;
  Start({Endpoint("/admit",
                  [&](const Context&, std::string_view) {
                    ++inside;
                    (void)serve::Eventually([&] { return inside == 2; });  // both workers are busy
                    return WebhookAnswer{.body = Post("/convert?timeout=30s", "converted").body};
                  }),
         Endpoint("/convert", Echo)},
        {.workers = 2, .max_queued = 0});
  std::array<std::string, 2> answers;
  {
    std::deque<Thread> callers;
    for (std::string& answer : answers) callers.emplace_back("caller", [&] { answer = Post("/admit?timeout=30s").body; });
  }
  EXPECT_THAT(answers, ::testing::Each("converted"));
}

TEST_F(WebhookServerTest, AFunctionThatHangsDelaysNoOtherWebhook) {
  Latch called, open;
  Start({Endpoint("/hangs",
                  [&](const Context&, std::string_view) {
                    called.Open();
                    (void)open.Wait();
                    return WebhookAnswer();
                  }),
         Endpoint("/x", Echo)},
        {.workers = 1, .max_queued = 1});
  std::deque<Thread> callers;
  for (int i = 0; i < 2; ++i) callers.emplace_back("caller", [this] { (void)Post("/hangs?timeout=30s"); });
  ASSERT_TRUE(called.Wait());
  EXPECT_TRUE(serve::Eventually([&] {
    return metrics_->Value("controller_runtime_webhook_requests_in_flight", {{"webhook", "/hangs"}}) == 2;
  }));
  EXPECT_EQ(Post("/hangs?timeout=30s").status, 503);
  EXPECT_EQ(Post("/x", "answered").body, "answered");
  open.Open();
}

TEST_F(WebhookServerTest, CallsWhoseTimeIsOverDoNotWaitForAFunctionThatHangs) {
  Latch called, open;
  Start({Endpoint("/x",
                  [&](const Context&, std::string_view) {
                    called.Open();
                    (void)open.Wait();
                    return WebhookAnswer();
                  })},
        {.workers = 1, .max_queued = 1});
  const Thread first("first", [&] { (void)Post("/x?timeout=30s"); });
  ASSERT_TRUE(called.Wait());
  std::atomic<long> second_status = 0, third_status = 0;
  const Thread second("second", [&] { second_status = Post("/x?timeout=1ms").status; });
  EXPECT_TRUE(serve::Eventually([&] {
    return metrics_->Value("controller_runtime_webhook_requests_in_flight", {{"webhook", "/x"}}) == 2;
  }));
  Thread third("third", [&] {
    do {
      third_status = Post("/x?timeout=30s").status;
    } while (third_status == 503 && second_status == 0);
  });
  EXPECT_TRUE(serve::Eventually([&] { return second_status == 504; })) << "its place is free";
  open.Open();
  third.Join();
  EXPECT_EQ(third_status, 200);
}

TEST_F(WebhookServerTest, ListensOnAllAddressesUnlessToldOtherwise) {
  const serve::CertificateAuthority ca = serve::CertificateAuthority::Create("all").value();
  const serve::KeyPair leaf = ca.Issue({.common_name = "w", .addresses = {"127.0.0.1", "::1"}, .server = true}).value();
  const serve::HttpTlsOptions tls{.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem};
  server_ = WebhookServer::Start({Endpoint("/x", Echo)}, tls, {.port = 0}).value();
  const bool has_ipv6 = WebhookServer::Start({Endpoint("/x", Echo)}, tls, {.bind_address = "::1", .port = 0}).ok();
  for (const char* host : {"127.0.0.1", "[::1]"}) {
    if (!has_ipv6 && host[0] == '[') continue;
    serve::CurlRequest request = Request("/x", "heard");
    request.url = "https://" + std::string(host) + ":" + std::to_string(server_->port()) + "/x";
    request.ca_pem = ca.certificate_pem();
    EXPECT_EQ(serve::Fetch(request).body, "heard") << host;
  }
}

TEST_F(WebhookServerTest, ACallWhoseTimeIsOverBeforeAWorkerIsFreeIsNotMade) {
  Latch called, open;
  std::atomic<int> calls = 0;
  Start({Endpoint("/x",
                  [&](const Context&, std::string_view) {
                    ++calls;
                    called.Open();
                    (void)open.Wait();
                    return WebhookAnswer();
                  })},
        {.workers = 1});
  Thread first("first", [&] { (void)Post("/x?timeout=30s"); });
  ASSERT_TRUE(called.Wait());
  std::atomic<long> status = 0;
  Thread second("second", [&] { status = Post("/x?timeout=1ms").status; });
  EXPECT_TRUE(serve::Eventually([&] {
    return metrics_->Value("controller_runtime_webhook_requests_in_flight", {{"webhook", "/x"}}) == 2;
  }));
  ASSERT_TRUE(Context::Background().SleepFor(std::chrono::milliseconds(2)).ok());
  open.Open();
  second.Join();
  first.Join();
  EXPECT_EQ(status, 504);
  EXPECT_EQ(calls, 1);
}

TEST_F(WebhookServerTest, ADrainingServerAnswersAndEndsConnections) {
  Latch called, open;
  Start({Endpoint("/echo", Echo), Endpoint("/slow", [&](const Context&, std::string_view) {
           called.Open();
           (void)open.Wait();
           return WebhookAnswer{.body = "done"};
         })});
  CurlClient client;
  EXPECT_EQ(client.Fetch(Request("/echo")).connects, 1);
  EXPECT_EQ(client.Fetch(Request("/echo")).connects, 0);
  std::string slow;
  Thread caller("caller", [&] { slow = Post("/slow?timeout=30s").body; });
  ASSERT_TRUE(called.Wait());

  server_->BeginDrain();
  CurlAnswer last = client.Fetch(Request("/echo"));
  EXPECT_EQ(last.status, 200);
  EXPECT_EQ(last.connects, 0);
  EXPECT_EQ(last.headers["connection"], "close");
  EXPECT_EQ(client.Fetch(Request("/echo")).connects, 1);
  EXPECT_TRUE(IsDeadlineExceeded(server_->Drain(Context::Background().WithTimeout(std::chrono::milliseconds(5))).error()));
  open.Open();
  EXPECT_TRUE(server_->Drain(Context::Background().WithTimeout(serve::kPatience)).ok());
  server_.reset();
  caller.Join();
  EXPECT_EQ(slow, "done");
}

TEST_F(WebhookServerTest, ANewCertificateIsForNewConnections) {
  Start({Endpoint("/echo", Echo)});
  Result<serve::CertificateAuthority> other = serve::CertificateAuthority::Create("other");
  ASSERT_TRUE(other.ok());
  const Result<serve::KeyPair> pair = other->Issue({.common_name = "x", .addresses = {"127.0.0.1"}, .server = true});
  ASSERT_TRUE(pair.ok());
  CurlClient old;
  EXPECT_EQ(old.Fetch(Request("/echo")).status, 200);
  EXPECT_FALSE(server_->SetCertificate({.certificate_pem = "none"}).ok());
  ASSERT_TRUE(server_->SetCertificate({.certificate_pem = pair->certificate_pem, .key_pem = pair->key_pem}).ok());
  EXPECT_EQ(old.Fetch(Request("/echo")).status, 200);
  EXPECT_EQ(Post("/echo").status, 0);
  serve::CurlRequest request = Request("/echo");
  request.ca_pem = other->certificate_pem();
  EXPECT_EQ(serve::Fetch(request).status, 200);
}

TEST_F(WebhookServerTest, RefusesToStartWithMistakes) {
  const auto start = [](const std::vector<WebhookEndpoint>& endpoints, const serve::HttpTlsOptions& tls) {
    return WebhookServer::Start(endpoints, tls, {.bind_address = "127.0.0.1", .port = 0});
  };
  EXPECT_EQ(start({Endpoint("/x", Echo), Endpoint("/x", Echo)}, serve::TestTls(false)).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(start({Endpoint("/x", Echo)}, {.certificate_pem = "none"}).error().kind(), ErrorKind::kConfig);
}

TEST(CallTimeoutTest, IsReadFromTheQuery) {
  using std::chrono::nanoseconds;
  EXPECT_EQ(internal::TimeoutOfQuery("timeout=10s"), nanoseconds(std::chrono::seconds(10)));
  EXPECT_EQ(internal::TimeoutOfQuery("a=b&timeout=1m30s&c"), nanoseconds(std::chrono::seconds(90)));
  for (const char* query : {"", "timeout=", "timeout=0s", "timeout=-1s", "timeout=10", "xtimeout=10s", "timeout=x&timeout=1s"})
    EXPECT_EQ(internal::TimeoutOfQuery(query), std::nullopt) << query;
}

}  // namespace
}  // namespace kube
