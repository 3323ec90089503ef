#include <gmock/gmock.h>

#include "kube/api/apiextensions/v1.h"
#include "kube/codec/json.h"
#include "kube/webhook/conversion.h"
#include "webhook/conversion_test_types.h"

namespace kube {
namespace {

using apiextensions::v1::CustomResourceDefinition;
using ::testing::HasSubstr;

CustomResourceDefinition Crd() {
  return FromJson<CustomResourceDefinition>(R"({"metadata":{"name":"networks.nets.example.com"},"spec":{"group":"nets.example.com",
      "names":{"kind":"Network","plural":"networks"},"scope":"Namespaced",
      "versions":[{"name":"v1","served":true,"storage":false},{"name":"v2","served":true,"storage":true}]}})")
      .value();
}

TEST(ConversionStanzaTest, NamesTheServiceOrTheUrl) {
  EXPECT_EQ(
      ToJson(*MakeConversionStanza(nets::NetworkConversion(), {.name = "net", .ns = "net-system", .ca_bundle = "CA"})).value(),
      R"({"strategy":"Webhook","webhook":{"clientConfig":{"service":{"namespace":"net-system","name":"net-webhook","path":"/convert","port":443},)"
      R"("caBundle":"Q0E="},"conversionReviewVersions":["v1"]}})");
  EXPECT_EQ(
      MakeConversionStanza(nets::NetworkConversion().At("/convert/net"), {.url = "https://127.0.0.1:9443"})->webhook->client_config->url,
      "https://127.0.0.1:9443/convert/net");
  EXPECT_FALSE(MakeConversionStanza(nets::NetworkConversion(), {}).ok());
  EXPECT_FALSE(MakeConversionStanza({}, {.ns = "x"}).ok());
}

TEST(ConversionStanzaTest, IsSetInADefinition) {
  CustomResourceDefinition crd = Crd();
  ASSERT_TRUE(SetConversion(nets::NetworkConversion(), {.url = "https://x", .ca_bundle = "CA"}, crd).ok());
  EXPECT_EQ(crd.spec.conversion->webhook->client_config->url, "https://x/convert");
  // An injected bundle stays.
  ASSERT_TRUE(SetConversion(nets::NetworkConversion(), {.url = "https://y"}, crd).ok());
  EXPECT_EQ(crd.spec.conversion->webhook->client_config->url, "https://y/convert");
  EXPECT_EQ(crd.spec.conversion->webhook->client_config->ca_bundle, "CA");
}

TEST(ConversionStanzaTest, AMissingVersionIsAnError) {
  CustomResourceDefinition crd = Crd();
  const auto problem = [&](const ConversionSpec& spec = nets::NetworkConversion()) {
    const Result<void> checked = CheckVersions(spec, crd);
    return checked ? std::string() : checked.error().ToString();
  };
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(problem(nets::ThreeVersions()), "");
  crd.spec.versions.push_back({.name = "v1beta1", .served = true});
  EXPECT_EQ(problem(),
            "CustomResourceDefinition networks.nets.example.com: the program does not convert version v1beta1: add a Spoke for it to "
            "Conversion<>");
  crd = Crd();
  crd.status.stored_versions = {"v0", "v2"};
  EXPECT_THAT(problem(), HasSubstr("objects may be stored as v0"));
  crd = Crd();
  crd.spec.group = "other.example.com";
  EXPECT_THAT(problem(), HasSubstr("it is of Network.other.example.com"));
  crd = Crd();
  EXPECT_THAT(SetConversion(nets::NetworkConversion().StoredAs<nets::v1::Network>(), {.ns = "x"}, crd).error().ToString(),
              HasSubstr("v2 is stored, and the conversion expects v1: add StoredAs"));
}

}  // namespace
}  // namespace kube
