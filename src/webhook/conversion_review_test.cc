#include "webhook/conversion_review.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "kube/api/apiextensions/v1.h"
#include "kube/codec/json.h"
#include "webhook/conversion_test_types.h"

namespace kube {

namespace links {
struct Link {
  meta::v1::ObjectMeta metadata{};
  KUBE_TABLE(Link);
};
KUBE_DEFINE_KIND(Link, (.group = "nets.example.com", .version = "v2", .kind = "Link", .resource = "links", .namespaced = true),
                 KUBE_FIELD(Link, metadata));
struct OldLink {
  meta::v1::ObjectMeta metadata{};
  KUBE_TABLE(OldLink);
};
KUBE_DEFINE_KIND(OldLink, (.group = "nets.example.com", .version = "v1", .kind = "Link", .resource = "links", .namespaced = true),
                 KUBE_FIELD(OldLink, metadata));
}  // namespace links

namespace {

using apiextensions::v1::ConversionReview;
using ::testing::HasSubstr;
namespace v1 = nets::v1;
namespace v2 = nets::v2;

std::string Network(std::string_view version, std::string_view name, std::string_view spec = "{}") {
  return std::string(R"({"apiVersion":"nets.example.com/)")
      .append(version)
      .append(R"(","kind":"Network","metadata":{"name":")")
      .append(name)
      .append(R"(","namespace":"ns","uid":"u","managedFields":[{"manager":"m"}]},"spec":)")
      .append(spec)
      .append("}");
}
std::string Review(std::string_view desired, const std::vector<std::string>& objects, std::string_view version = "v1") {
  std::string out = R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/)";
  out.append(version)
      .append(R"(","request":{"uid":"the uid","desiredAPIVersion":"nets.example.com/)")
      .append(desired)
      .append(R"(","objects":[)");
  for (std::size_t i = 0; i < objects.size(); ++i) out.append(i == 0 ? "" : ",").append(objects[i]);
  return out + "]}}";
}

class ConversionReviewTest : public ::testing::Test {
 protected:
  WebhookAnswer Serve(std::string_view body, const Context& ctx = Context::Background()) {
    return internal::ServeConversion(converters_, ctx, body);
  }
  ConversionReview Answer(std::string_view body) {
    const WebhookAnswer answer = Serve(body);
    EXPECT_EQ(answer.code, 200) << answer.body;
    threw_ = answer.threw;
    return FromJson<ConversionReview>(answer.body).value();
  }
  std::string FailureOf(std::string_view body) {
    const ConversionReview review = Answer(body);
    EXPECT_EQ(review.response->result.status, "Failure");
    EXPECT_EQ(review.response->converted_objects.size(), 0U);
    EXPECT_EQ(review.response->uid, "the uid");
    return review.response->result.message.str();
  }

  std::vector<Converter> converters_{Converter::Make(nets::ThreeVersions()).value()};
  bool threw_ = false;
};

TEST_F(ConversionReviewTest, AnswersInOrder) {
  const ConversionReview review = Answer(
      Review("v2", {Network("v1", "a", R"({"cidr":"1"})"), Network("v2", "b", R"({"mode":5})"), Network("v3", "c"), Network("v1", "d")}));
  EXPECT_EQ(review.response->uid, "the uid");
  EXPECT_EQ(review.response->result.status, "Success");
  ASSERT_EQ(review.response->converted_objects.size(), 4U);
  EXPECT_EQ(
      review.response->converted_objects[0].text(),
      R"({"kind":"Network","apiVersion":"nets.example.com/v2","metadata":{"name":"a","namespace":"ns","uid":"u"},"spec":{"cidrs":["1"]}})");
  const char* const names[] = {"a", "b", "c", "d"};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(FromJson<v2::Network>(review.response->converted_objects[i].text().view())->metadata.name, names[i]);
  EXPECT_EQ(FromJson<v2::Network>(review.response->converted_objects[1].text().view())->spec.mode, 5);
}

TEST_F(ConversionReviewTest, TakesFiveThousandObjects) {
  std::vector<std::string> objects;
  for (int i = 0; i < 5000; ++i) objects.push_back(Network("v1", "n" + std::to_string(i), R"({"cidr":"1","onlyV1":{}})"));
  const ConversionReview review = Answer(Review("v2", objects));
  ASSERT_EQ(review.response->converted_objects.size(), 5000U);
  for (std::size_t i = 0; i < 5000; ++i)
    EXPECT_EQ(FromJson<v2::Network>(review.response->converted_objects[i].text().view())->metadata.name, "n" + std::to_string(i));
}

TEST_F(ConversionReviewTest, TakesAnObjectOfSevenMebibytes) {
  const std::string text(std::size_t{7} << 20, 'x');
  const ConversionReview review = Answer(Review("v2", {Network("v1", "a", R"({"gateway":")" + text + R"("})")}));
  EXPECT_EQ(FromJson<v2::Network>(review.response->converted_objects[0].text().view())->spec.gateway, text);
}

TEST_F(ConversionReviewTest, AnEmptyListIsFine) { EXPECT_EQ(Answer(Review("v2", {})).response->result.status, "Success"); }

TEST_F(ConversionReviewTest, OneFailureFailsTheReviewAndNamesTheObject) {
  EXPECT_EQ(FailureOf(Review("v2", {Network("v1", "a"), Network("v1", "bad", R"({"mtu":"x"})")})),
            "object 1: Network \"ns/bad\": spec.mtu: expected an integer, got \"x\"");
  EXPECT_THAT(FailureOf(Review("v9", {Network("v1", "a")})),
              HasSubstr("object 0: this program does not convert nets.example.com/v1 Network to nets.example.com/v9; it knows "
                        "nets.example.com/v2 Network, "));
  EXPECT_THAT(FailureOf(Review("v2", {Network("v9", "a")})), HasSubstr("does not convert nets.example.com/v9 Network"));
  EXPECT_THAT(FailureOf(Review("v2", {R"({"kind":"Pod","apiVersion":"v1"})"})), HasSubstr("does not convert v1 Pod"));
  for (const char* object : {"{}", "null", "1", "[]", "\"x\"", R"({"kind":1})", R"({"apiVersion":"nets.example.com/v1"})"})
    EXPECT_NE(FailureOf(Review("v2", {object})), "");
}

TEST_F(ConversionReviewTest, AFunctionThatThrowsIsAFailureAndCounted) {
  converters_ = {Converter::Make(Conversion<v2::Network>().Spoke<v1::Network>(
                                     [](const v1::Network& from, v2::Network&) {
                                       if (from.metadata.name == "b") throw std::runtime_error("boom");
                                     },
                                     [](const v2::Network&, v1::Network&) {}))
                     .value()};
  EXPECT_EQ(FailureOf(Review("v2", {Network("v1", "a"), Network("v1", "b")})),
            "object 1: Network \"ns/b\": v1 to v2: the conversion function threw: boom");
  EXPECT_TRUE(threw_);
  EXPECT_EQ(Answer(Review("v2", {Network("v1", "a")})).response->result.status, "Success");
  EXPECT_FALSE(threw_);
}

TEST_F(ConversionReviewTest, SeveralKindsShareAPath) {
  Result<std::vector<WebhookEndpoint>> endpoints =
      ConversionEndpoints({Conversion<links::Link>().Spoke<links::OldLink>(), nets::NetworkConversion()});
  ASSERT_TRUE(endpoints.ok());
  ASSERT_EQ(endpoints->size(), 1U);
  const auto serve = [&](std::string_view body) { return (*endpoints)[0].serve(Context::Background(), body).body; };
  EXPECT_THAT(
      serve(Review("v2", {Network("v1", "a"), R"({"kind":"Link","apiVersion":"nets.example.com/v1","metadata":{"name":"l"}})"})),
      HasSubstr(
          R"("convertedObjects":[{"kind":"Network","apiVersion":"nets.example.com/v2","metadata":{"name":"a","namespace":"ns","uid":"u"}},)"
          R"({"kind":"Link","apiVersion":"nets.example.com/v2","metadata":{"name":"l"}}])"));
  EXPECT_EQ(ConversionEndpoints({Conversion<links::Link>().Spoke<links::OldLink>().At("/links"), nets::NetworkConversion()})->size(), 2U);
}

TEST_F(ConversionReviewTest, StopsWhenTheApiServerNoLongerWaits) {
  auto [ctx, cancel] = Context::Background().WithCancel();
  int calls = 0;
  converters_ = {Converter::Make(Conversion<v2::Network>()
                                     .Spoke<v1::Network>(
                                         [&, stop = &cancel](const v1::Network&, v2::Network&) {
                                           if (++calls == 2) stop->Cancel();
                                         },
                                         [](const v2::Network&, v1::Network&) {})
                                     .KeepLost(false))
                     .value()};
  EXPECT_EQ(Serve(Review("v2", {Network("v1", "a"), Network("v1", "b"), Network("v1", "c")}), ctx).code, 504);
  EXPECT_EQ(calls, 2);
}

TEST_F(ConversionReviewTest, RefusesV1beta1InWords) {
  const WebhookAnswer answer = Serve(Review("v2", {Network("v1", "a")}, "v1beta1"));
  EXPECT_EQ(answer.code, 200);
  EXPECT_THAT(answer.body, HasSubstr(R"("apiVersion":"apiextensions.k8s.io/v1beta1","response":{"uid":"the uid")"));
  EXPECT_THAT(answer.body, HasSubstr("conversionReviewVersions"));
}

TEST_F(ConversionReviewTest, RefusesWhatIsNoReview) {
  for (const char* body :
       {"", "{}", "[]", "null", "x", R"({"kind":"AdmissionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1"}})",
        R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"})",
        R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{}})",
        R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","objects":{}}})"}) {
    const WebhookAnswer answer = Serve(body);
    EXPECT_EQ(answer.code, 400) << body;
    EXPECT_NE(answer.body, "");
  }
}

}  // namespace
}  // namespace kube
