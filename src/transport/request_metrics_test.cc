#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/transport/decorators.h"
#include "transport/transport_test_util.h"

namespace kube {
namespace {

using internal::ScriptedTransport;
using ::testing::UnorderedElementsAre;

TEST(Contract20Metrics, CountsCodesMethodsAndSizes) {
  const auto sink = std::make_shared<RecordedMetrics>();
  const auto transport = WithMetrics(ScriptedTransport::Always(201, {}, "12345"), sink, "example:6443");
  ASSERT_TRUE(transport->RoundTrip(Context::Background(), {.method = "POST", .body = "123", .verb = "create"}));
  ASSERT_TRUE(transport->RoundTrip(Context::Background(), {.method = "POST", .body = "1234", .verb = "create"}));
  EXPECT_EQ(sink->Value("rest_client_requests_total", {{"code", "201"}, {"method", "POST"}, {"host", "example:6443"}}), 2);
  EXPECT_EQ(sink->Value("rest_client_request_size_bytes", {{"verb", "POST"}, {"host", "example:6443"}}), 7);
  EXPECT_EQ(sink->Count("rest_client_request_size_bytes", {{"verb", "POST"}, {"host", "example:6443"}}), 2U);
  EXPECT_EQ(sink->Value("rest_client_response_size_bytes", {{"verb", "POST"}, {"host", "example:6443"}}), 10);
  EXPECT_EQ(sink->Names().size(), 3U);
}

TEST(Contract20Metrics, ARequestWithoutAnAnswerHasTheCodeError) {
  const auto sink = std::make_shared<RecordedMetrics>();
  const auto server = std::make_shared<ScriptedTransport>(std::vector{ScriptedTransport::Fails(transport_reason::kConnectionRefused)});
  ASSERT_FALSE(WithMetrics(server, sink, "h")->RoundTrip(Context::Background(), {}));
  EXPECT_EQ(sink->Value("rest_client_requests_total", {{"code", "<error>"}, {"method", "GET"}, {"host", "h"}}), 1);
  EXPECT_EQ(sink->Count("rest_client_response_size_bytes", {{"verb", "GET"}, {"host", "h"}}), 0U);
}

TEST(Contract20Metrics, StreamsHaveNoSizes) {
  const auto sink = std::make_shared<RecordedMetrics>();
  const auto transport = WithMetrics(ScriptedTransport::Always(200, {}, "12345"), sink, "h");
  const Result<HttpResponse> response = transport->RoundTrip(Context::Background(), {.streaming = true, .verb = "watch"});
  ASSERT_TRUE(response);
  EXPECT_NE(response->stream, nullptr);
  EXPECT_THAT(sink->Names(), UnorderedElementsAre("rest_client_requests_total{code=\"200\",method=\"GET\",host=\"h\"}"));
}

TEST(Contract20Metrics, UpgradesAreCounted) {
  const auto sink = std::make_shared<RecordedMetrics>();
  ASSERT_TRUE(WithMetrics(ScriptedTransport::Always(101), sink, "h")->Upgrade(Context::Background(), {.method = "GET"}));
  EXPECT_EQ(sink->Value("rest_client_requests_total", {{"code", "101"}, {"method", "GET"}, {"host", "h"}}), 1);
}

TEST(MetricsTransportTest, WithoutASinkNothingIsWrapped) {
  const auto server = ScriptedTransport::Always(200);
  EXPECT_EQ(WithMetrics(server, nullptr, "h"), server);
}

}  // namespace
}  // namespace kube
