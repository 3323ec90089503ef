#include "kube/transport/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/transport/transport.h"
#include "kube/transport/transport_errors.h"

namespace kube {
namespace {

using ::testing::ElementsAre;

TEST(HttpHeadersTest, NamesCompareWithoutCase) {
  HttpHeaders headers{{"Content-Type", "a"}, {"Warning", "1"}, {"warning", "2"}};
  EXPECT_EQ(headers.Get("content-type"), "a");
  EXPECT_THAT(headers.All("WARNING"), ElementsAre("1", "2"));
  EXPECT_EQ(headers.Get("accept"), "");
  EXPECT_FALSE(headers.Has("accept"));
}

TEST(HttpHeadersTest, SetReplacesAllOfThatName) {
  HttpHeaders headers{{"A", "1"}, {"b", "2"}, {"a", "3"}};
  headers.Set("a", "4");
  EXPECT_THAT(headers.All("A"), ElementsAre("4"));
  headers.Remove("B");
  EXPECT_EQ(headers.size(), 1U);
}

TEST(BodyStreamTest, ReadAllTakesTheWholeTextOrItsBeginning) {
  const Context ctx = Context::Background();
  const std::string text(100'000, 'x');
  EXPECT_EQ(ReadAll(ctx, *MakeBodyStream(text)).value(), text);
  EXPECT_EQ(ReadAll(ctx, *MakeBodyStream(text), 10).value(), std::string(10, 'x'));
}

TEST(BodyStreamTest, AClosedOneFails) {
  const std::unique_ptr<BodyStream> body = MakeBodyStream("text");
  body->Close();
  char buffer[10];
  const Result<std::size_t> got = body->Read(Context::Background(), buffer, sizeof buffer);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kClosed);
}

class Canned : public Transport {
 public:
  Result<HttpResponse> RoundTrip(const Context&, HttpRequest request) override {
    HttpResponse response;
    response.code = 200;
    response.body = request.headers.Get("x").data();
    return response;
  }
};

class AddsX : public TransportDecorator {
 public:
  using TransportDecorator::TransportDecorator;

 protected:
  Result<void> Prepare(const Context&, HttpRequest& request) override {
    request.headers.Add("X", "1");
    return {};
  }
};

TEST(TransportTest, ADecoratorChangesWhatIsSent) {
  AddsX transport(std::make_shared<Canned>());
  EXPECT_EQ(transport.RoundTrip(Context::Background(), {}).value().body, "1");
}

TEST(TransportTest, OneThatCannotUpgradeSaysSo) {
  AddsX transport(std::make_shared<Canned>());
  const Result<UpgradeResponse> got = transport.Upgrade(Context::Background(), {});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), ErrorKind::kInvalid);
}

TEST(TransportErrorTest, ReasonsAreToldApart) {
  const Error refused = TransportError(transport_reason::kConnectionRefused, "no");
  EXPECT_TRUE(IsConnectionRefused(refused));
  EXPECT_FALSE(IsConnectionReset(refused));
  EXPECT_FALSE(IsProbableEof(refused));
  EXPECT_TRUE(IsProbableEof(TransportError(transport_reason::kGoAway, "bye")));
  EXPECT_FALSE(IsConnectionRefused(Error(ErrorKind::kInternal, "no")));
}

}  // namespace
}  // namespace kube
