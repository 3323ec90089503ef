// What the JSON codec promises, on real kinds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/api/apiextensions/v1.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"

namespace kube::contract {
namespace {

using apiextensions::v1::JSONSchemaProps;
using apps::v1::Deployment;
using apps::v1::StatefulSet;
using core::v1::Pod;
using core::v1::Secret;
using ::testing::HasSubstr;

template <typename T>
std::string ErrorOf(std::string_view text, const DecodeOptions& options = {}) {
  auto r = FromJson<T>(text, options);
  return r ? "no error" : r.error().ToString();
}

TEST(JsonTest, ReadsFieldsIncludingInlinedOnes) {
  auto pod = FromJson<Pod>(R"( {"apiVersion":"v1", "kind":"Pod", "metadata":{"name":"web","labels":{"b":"2","a":"1"}},
    "spec":{"volumes":[{"name":"v","configMap":{"name":"c"}}],"containers":[{"name":"x","ports":[{"containerPort":80}],
    "resources":{"limits":{"cpu":1.5,"memory":"1Gi"}}}],"terminationGracePeriodSeconds":30},"status":{"startTime":"2024-05-06T07:08:09Z"}} )");
  ASSERT_TRUE(pod.ok()) << pod.error().ToString();
  EXPECT_EQ(pod->metadata.name, "web");
  EXPECT_EQ(pod->metadata.labels.Get("a"), "1");
  EXPECT_EQ(pod->spec.volumes[0].config_map->name, "c");
  EXPECT_EQ(pod->spec.containers[0].ports[0].container_port, 80);
  EXPECT_EQ(pod->spec.containers[0].resources.limits.Get("cpu").text(), "1500m");
  EXPECT_EQ(pod->spec.termination_grace_period_seconds, 30);
  EXPECT_EQ(pod->status.start_time.ToString(), "2024-05-06T07:08:09Z");
}

TEST(JsonTest, AnEmptyNameIsNoInlinedStruct) {
  const auto pod = FromJson<core::v1::Pod>(R"({"spec":{"volumes":[{"name":"v","":1}]}})");
  ASSERT_TRUE(pod.ok()) << pod.error().ToString();
  EXPECT_EQ(pod->spec.volumes[0].name, "v");
  EXPECT_FALSE(FromJson<core::v1::Pod>(R"({"spec":{"volumes":[{"":1}]}})", {.strict = true}).ok());
}

TEST(JsonTest, WritesKindFirstAndLeavesEmptyFieldsOut) {
  Deployment d;
  d.metadata.name = "web";
  d.spec.replicas = 0;
  EXPECT_EQ(ToJson(d).value(),
            R"({"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web"},"spec":{"replicas":0,"template":{}}})");
}

TEST(JsonTest, IndentsForPeople) {
  Pod pod;
  pod.metadata.name = "a";
  pod.unknown_fields.set_json(R"("x":{"y":[1,{}]})");
  EXPECT_EQ(ToJson(pod, {.indent = 2}).value(), R"({
  "kind": "Pod",
  "apiVersion": "v1",
  "metadata": {
    "name": "a"
  },
  "x": {
    "y": [
      1,
      {}
    ]
  }
})");
}

TEST(JsonTest, ErrorsNameThePath) {
  EXPECT_EQ(ErrorOf<Pod>(R"({"spec":{"containers":[{"ports":[{},{"containerPort":"http"}]}]}})"),
            R"(spec.containers[0].ports[1].containerPort: expected an integer, got "http")");
  EXPECT_EQ(ErrorOf<Pod>(R"({"metadata":{"labels":{"app":7}}})"), "metadata.labels[app]: expected a string, got a number");
  EXPECT_EQ(ErrorOf<Pod>(R"({"spec":[]})"), "spec: expected an object, got a list");
  EXPECT_EQ(ErrorOf<Pod>(R"({"spec":{"containers":[{"ports":[{"containerPort":2147483648}]}]}})"),
            "spec.containers[0].ports[0].containerPort: expected an integer of 32 bits, got 2147483648");
  EXPECT_EQ(ErrorOf<Pod>(R"({"metadata":{"generation":9223372036854775808}})"),
            "metadata.generation: expected an integer of 64 bits, got 9223372036854775808");
  EXPECT_THAT(ErrorOf<Pod>(R"({"metadata":{"generation":1.5}})"), HasSubstr("metadata.generation: expected an integer, got 1.5"));
  EXPECT_THAT(ErrorOf<Pod>(R"({"spec":{"containers":[{"resources":{"limits":{"cpu":"fast"}}}]}})"),
              HasSubstr("spec.containers[0].resources.limits[cpu]: "));
  EXPECT_THAT(ErrorOf<Pod>(R"({"metadata":{"creationTimestamp":"yesterday"}})"), HasSubstr("metadata.creationTimestamp: "));
}

TEST(JsonTest, AWrongKindIsAnError) {
  EXPECT_EQ(ErrorOf<Pod>(R"({"kind":"Service"})"), R"(kind: expected "Pod", got "Service")");
  EXPECT_EQ(ErrorOf<Deployment>(R"({"apiVersion":"extensions/v1beta1"})"), R"(apiVersion: expected "apps/v1", got "extensions/v1beta1")");
}

TEST(JsonTest, SecretsDoNotShowUpInErrors) {
  EXPECT_THAT(ErrorOf<Secret>(R"({"data":{"password":"hunter2 hunter2"}})"), ::testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(ErrorOf<Secret>(R"({"stringData":{"pin":4711}})"), ::testing::Not(HasSubstr("4711")));
}

TEST(JsonTest, MalformedTextIsAnError) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[",
                           "{\"a\"",
                           "{\"a\":",
                           "{\"a\":1",
                           "{\"a\":1,",
                           "{\"a\":1,}",
                           "{,}",
                           "{\"a\" 1}",
                           "{a:1}",
                           "{\"a\":tru}",
                           "{\"a\":01}",
                           "{\"a\":1.}",
                           "{\"a\":-}",
                           "{\"a\":1e}",
                           "{\"a\":[1,]}",
                           "{\"a\":[1 2]}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\x01\"}",
                           "{\"a\":\xff}",
                           "{\"a\":\"b",
                           "{} {}",
                           "{}x",
                           "nul",
                           "\"a\"b",
                           "{\"a\":1\x01}",
                           "{\"a\":[}",
                           "{\"a\":{]}",
                           "{\"a\":\"\\u12\"}",
                           "[{]}"}) {
    EXPECT_FALSE(ParseJson(text).ok()) << text;
    EXPECT_FALSE(FromJson<Pod>(text).ok()) << text;
  }
}

TEST(JsonTest, EveryPrefixOfADocumentIsAnError) {
  const std::string text =
      R"({"kind":"Pod","metadata":{"name":"a\n\u00e9","labels":{"x":"y"},"managedFields":[{"fieldsV1":{"f:a":{".":{}}}}]},"new":[1,{"a":null}]})";
  ASSERT_TRUE(FromJson<Pod>(text).ok());
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(FromJson<Pod>(text.substr(0, n)).ok()) << n;
}

TEST(JsonTest, EscapesAndUnicodeSurvive) {
  auto pod = FromJson<Pod>(R"({"metadata":{"na\u006de":"\"\\\/\b\f\n\r\t\u0000\u00e9\u20ac\ud83d\ude00"}})");
  ASSERT_TRUE(pod.ok()) << pod.error().ToString();
  EXPECT_EQ(pod->metadata.name, std::string("\"\\/\b\f\n\r\t\0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 18));
  auto again = FromJson<Pod>(ToJson(*pod).value());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->metadata.name, pod->metadata.name);
}

TEST(JsonTest, NestingHasALimit) {
  auto nested = [](int n) {
    std::string text = R"({"spec":{"x":)";
    for (int i = 0; i < n; ++i) text += "[";
    for (int i = 0; i < n; ++i) text += "]";
    return text + "}}";
  };
  EXPECT_TRUE(FromJson<Pod>(nested(kMaxDecodeDepth / 2)).ok());
  EXPECT_THAT(ErrorOf<Pod>(nested(kMaxDecodeDepth * 100)), HasSubstr("nested too deep"));
  EXPECT_FALSE(ParseJson(nested(kMaxDecodeDepth * 100)).ok());
  std::string schema;
  for (int i = 0; i < kMaxDecodeDepth * 10; ++i) schema += R"({"items":)";
  EXPECT_THAT(ErrorOf<JSONSchemaProps>(schema + "1" + std::string(kMaxDecodeDepth * 10, '}')), HasSubstr("nested too deep"));
}

TEST(JsonTest, StrictModeListsUnknownAndDuplicateFields) {
  const char* text =
      R"({"metadata":{"name":"a","name":"b","labels":{"x":"1","x":"2"}},"spec":{"containers":[{"imagePolicy":"x"}]},"extra":1})";
  EXPECT_EQ(ErrorOf<Pod>(text, {.strict = true}),
            R"(strict decoding error: duplicate field "metadata.name", duplicate field "metadata.labels[x]", )"
            R"(unknown field "spec.containers[0].imagePolicy", unknown field "extra")");
  auto pod = FromJson<Pod>(text);
  ASSERT_TRUE(pod.ok());
  EXPECT_EQ(pod->metadata.name, "b");
  EXPECT_EQ(pod->metadata.labels.Get("x"), "2");
}

TEST(JsonTest, TheLastOfSeveralListsWins) {
  auto pod = FromJson<Pod>(R"({"spec":{"containers":[{"name":"a"},{"name":"b"}],"volumes":[{"name":"v"}],"containers":[{"name":"c"}]}})");
  ASSERT_TRUE(pod.ok());
  ASSERT_EQ(pod->spec.containers.size(), 1U);
  EXPECT_EQ(pod->spec.containers[0].name, "c");
}

TEST(JsonTest, UnknownNumbersKeepTheirText) {
  auto pod = FromJson<Pod>(R"({"spec":{"huge": 123456789012345678901234567890.50e+400 , "list" : [ 1 , "a b" ] }})");
  ASSERT_TRUE(pod.ok()) << pod.error().ToString();
  EXPECT_EQ(ToJson(*pod, {.type_header = false}).value(),
            R"({"spec":{"containers":[],"huge":123456789012345678901234567890.50e+400,"list":[1,"a b"]}})");
}

TEST(JsonTest, ANestedKindKeepsItsHeader) {
  const char* text =
      R"({"kind":"StatefulSet","apiVersion":"apps/v1","spec":{"selector":null,"volumeClaimTemplates":[{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"d"}}],"serviceName":"s"}})";
  auto set = FromJson<StatefulSet>(text, {.strict = true});
  ASSERT_TRUE(set.ok()) << set.error().ToString();
  EXPECT_THAT(ToJson(*set).value(), HasSubstr(R"("kind":"PersistentVolumeClaim","apiVersion":"v1")"));
}

TEST(JsonTest, NullIsAbsent) {
  auto pod = FromJson<Pod>(
      R"({"metadata":{"name":null,"creationTimestamp":null,"labels":null},"spec":{"containers":null,"securityContext":null,"priority":null}})");
  ASSERT_TRUE(pod.ok()) << pod.error().ToString();
  EXPECT_TRUE(*pod == Pod{});
}

TEST(JsonTest, RawFieldsThatAreNotJsonAreRefusedWhenWritten) {
  apps::v1::ControllerRevision revision;
  revision.data = "{\"a\":";
  auto r = ToJson(revision);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().ToString(), HasSubstr("data: "));
}

TEST(JsonTest, SchemaUnionsFollowTheToken) {
  auto schema = FromJson<JSONSchemaProps>(
      R"({"additionalProperties":false,"items":[{"type":"string"}],"additionalItems":{"type":"integer"},"dependencies":{"a":["b"],"c":{"type":"object"}}})");
  ASSERT_TRUE(schema.ok()) << schema.error().ToString();
  EXPECT_FALSE(schema->additional_properties->allows);
  EXPECT_TRUE(schema->additional_properties.has_value());
  EXPECT_TRUE(schema->additional_items->allows);
  EXPECT_EQ(schema->additional_items->schema->type, "integer");
  EXPECT_EQ(schema->dependencies.Get("a").property[0], "b");
  auto again = FromJson<JSONSchemaProps>(ToJson(*schema).value(), {.strict = true});
  ASSERT_TRUE(again.ok()) << again.error().ToString();
  EXPECT_TRUE(*again == *schema);
}

}  // namespace
}  // namespace kube::contract
