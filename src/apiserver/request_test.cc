#include "apiserver/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/base/error.h"

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// "group|version|ns|resource|name|subresource", and what else there is to say.
std::string Describe(std::string_view raw) {
  RequestPath p = ParsePath(raw);
  if (p.malformed) return "malformed";
  if (p.leads_nowhere) return "nowhere";
  if (!p.is_resource) return "other:" + std::to_string(p.parts.size());
  std::string out = p.group + "|" + p.version + "|" + p.ns + "|" + p.resource + "|" + p.name + "|" + p.subresource;
  for (const std::string& part : p.rest) out += " " + part;
  return p.legacy_watch ? out + " watch" : out;
}

TEST(RequestPathTest, TakesPathsApart) {
  const std::pair<const char*, const char*> cases[] = {
      {"/api/v1/pods", "|v1||pods||"},
      {"/api/v1/pods/", "|v1||pods||"},
      {"/api/v1/namespaces/x/pods", "|v1|x|pods||"},
      {"/api/v1/namespaces/x/pods/p", "|v1|x|pods|p|"},
      {"/api/v1/namespaces/x/pods/p/log", "|v1|x|pods|p|log"},
      {"/api/v1/namespaces/x/services/s/proxy/a/b", "|v1|x|services|s|proxy a b"},
      {"/apis/apps/v1/namespaces/x/deployments/d/scale", "apps|v1|x|deployments|d|scale"},
      {"/apis/apps/v1/deployments", "apps|v1||deployments||"},
      // A namespace is an object as well as a place.
      {"/api/v1/namespaces", "|v1||namespaces||"},
      {"/api/v1/namespaces/x", "|v1||namespaces|x|"},
      {"/api/v1/namespaces/x/status", "|v1||namespaces|x|status"},
      {"/api/v1/namespaces/x/finalize", "|v1||namespaces|x|finalize"},
      {"/api/v1/namespaces/x/status/y", "|v1|x|status|y|"},
      {"/api/v1/namespaces/status/pods", "|v1|status|pods||"},
      // The old form of a watch.
      {"/api/v1/watch/pods", "|v1||pods|| watch"},
      {"/api/v1/watch/namespaces/x/pods/p", "|v1|x|pods|p| watch"},
      {"/apis/apps/v1/watch/deployments", "apps|v1||deployments|| watch"},
      {"/api/v1/watch", "|v1||watch||"},
      // Not about a resource.
      {"/", "other:0"},
      {"", "other:0"},
      {"/api", "other:1"},
      {"/api/v1", "other:2"},
      {"/apis/apps", "other:2"},
      {"/apis/apps/v1", "other:3"},
      {"/healthz//x", "other:2"},
      {"/openapi/v3/apis/apps/v1", "other:5"},
      // Escapes are undone before the path is split.
      {"/api/v1/namespaces/x%2Fy/pods", "|v1|x|y|pods|"},
      {"/api/v1/namespaces/%78/pods/a%20b", "|v1|x|pods|a b|"},
      {"/api/v1/namespaces/x/pods/a+b", "|v1|x|pods|a+b|"},
      {"/api/v1/pods%", "malformed"},
      {"/api/v1/pods%4", "malformed"},
      {"/api/v1/pods%zz", "malformed"},
      // What a careful proxy would have cleaned.
      {"/api/v1//pods", "nowhere"},
      {"//api/v1/pods", "nowhere"},
      {"/api/v1/../v1/pods", "nowhere"},
      {"/api/v1/./pods", "nowhere"},
      {"/api/v1/namespaces/x/pods/%2e%2e", "nowhere"},
      {"/api/v1/pods/..a", "|v1||pods|..a|"},
      {"/../etc", "other:2"},
  };
  for (const auto& [path, expected] : cases) EXPECT_EQ(Describe(path), expected) << path;
}

TEST(RequestPathTest, DecodesPercents) {
  EXPECT_EQ(PercentDecode("a%2Bb+c", true), "a+b c");
  EXPECT_EQ(PercentDecode("a%2bb+c", false), "a+b+c");
  EXPECT_EQ(PercentDecode("%41", false), "A");
  EXPECT_EQ(PercentDecode("%4", false), "%4");
  EXPECT_EQ(PercentDecode("%", false), "%");
  EXPECT_EQ(PercentDecode("%G0%0g", false), "%G0%0g");
  EXPECT_EQ(PercentDecode("%00", false), std::string(1, '\0'));
}

TEST(QueryTest, FindsParameters) {
  Query q = Query::Parse("a=1&b=x%20y+z&a=2&&c&d=&=e&f=g=h&%61b=i");
  EXPECT_EQ(q.Get("a"), "1");
  EXPECT_THAT(q.All("a"), ElementsAre("1", "2"));
  EXPECT_EQ(q.Get("b"), "x y z");
  EXPECT_TRUE(q.Has("c"));
  EXPECT_EQ(q.Get("c"), "");
  EXPECT_TRUE(q.Has("d"));
  EXPECT_EQ(q.Get(""), "e");
  EXPECT_EQ(q.Get("f"), "g=h");
  EXPECT_EQ(q.Get("ab"), "i");
  EXPECT_FALSE(q.Has("A"));
  EXPECT_EQ(q.Get("nothing"), "");
  EXPECT_THAT(q.All("nothing"), IsEmpty());
  EXPECT_FALSE(Query::Parse("").Has(""));
}

TEST(QueryTest, Flags) {
  for (const char* yes : {"w=true", "w=1", "w=TRUE", "w=yes", "w=t", "w", "w="}) EXPECT_TRUE(Query::Parse(yes).Flag("w")) << yes;
  for (const char* no : {"w=false", "w=0", "w=False", "w=f", "x=1", ""}) EXPECT_FALSE(Query::Parse(no).Flag("w")) << no;
}

TEST(AcceptTest, OrdersByQualityThenBySpecificity) {
  auto types = [](std::string_view header) {
    std::vector<std::string> out;
    for (const MediaRange& range : ParseAccept(header)) out.push_back(range.type);
    return out;
  };
  EXPECT_THAT(types("a/b, c/d"), ElementsAre("a/b", "c/d"));
  EXPECT_THAT(types("*/*, a/*, a/b"), ElementsAre("a/b", "a/*", "*/*"));
  EXPECT_THAT(types("a/b;q=0.1, c/d ; q=0.9, */*"), ElementsAre("*/*", "c/d", "a/b"));
  EXPECT_THAT(types(" , ,A/B ,"), ElementsAre("a/b"));
  EXPECT_THAT(types("a/b;q=0.5, c/d;q=nan, e/f;q=x, g/h;q=0.7, i/j;q="), ElementsAre("i/j", "g/h", "a/b", "c/d", "e/f"));
  EXPECT_THAT(types(""), IsEmpty());
}

TEST(AcceptTest, ReadsParameters) {
  std::vector<MediaRange> ranges = ParseAccept(R"(application/json; as = Table ;v=v1;g="meta.k8s.io";Pretty=1;x;q=0.5)");
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].Get("as"), "Table");
  EXPECT_EQ(ranges[0].Get("v"), "v1");
  EXPECT_EQ(ranges[0].Get("g"), "meta.k8s.io");
  EXPECT_EQ(ranges[0].Get("pretty"), "1");
  EXPECT_EQ(ranges[0].Get("x"), "");
  EXPECT_EQ(ranges[0].quality, 0.5);
}

TEST(NegotiateTest, PicksTheFirstFormThatThereIs) {
  constexpr std::string_view kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";
  struct Case {
    std::string accept;
    bool custom, transforms, is_list;
    const char* expected;
  };
  const Case cases[] = {
      {"", false, true, false, "json"},
      {"  ", false, true, false, "json"},
      {"*/*", false, true, false, "json"},
      {"application/json", false, true, false, "json"},
      {"APPLICATION/JSON", false, true, false, "json"},
      {"application/yaml", false, true, false, "yaml"},
      {"application/vnd.kubernetes.protobuf", false, true, false, "protobuf"},
      {"application/vnd.kubernetes.protobuf", true, true, false, "406"},
      {"application/vnd.kubernetes.protobuf,application/json", true, true, false, "json"},
      {"text/html, application/yaml;q=0.5, */*;q=0.1", false, true, false, "yaml"},
      {"text/html", false, true, false, "406"},
      {"application/json;q=0", false, true, false, "406"},
      {std::string(kTable), false, true, true, "json table v1"},
      {std::string(kTable), true, true, false, "json table v1"},
      {std::string(kTable), false, false, true, "406"},
      {"application/json;as=Table;v=v1beta1;g=meta.k8s.io", false, true, true, "json table v1beta1"},
      {"application/json;as=Table;v=v2;g=meta.k8s.io", false, true, true, "406"},
      {"application/json;as=Table;v=v1;g=other", false, true, true, "406"},
      {"application/json;as=Table;v=v2;g=meta.k8s.io," + std::string(kTable) + ",application/json", false, true, true, "json table v1"},
      {"application/json;as=Other;v=v1;g=meta.k8s.io,application/json", false, true, true, "json"},
      {"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", false, true, true, "json partial v1"},
      {"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", false, true, false, "json partial v1"},
      {"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", false, true, false, "406"},
      {"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", false, true, false, "protobuf partial v1"},
      {"application/json;pretty=1", false, true, false, "json pretty"},
      {"application/json;pretty=0", false, true, false, "json"},
  };
  for (const Case& c : cases) {
    Result<AnswerForm> form = Negotiate(c.accept, c.custom, c.transforms, c.is_list);
    std::string got;
    if (!form) {
      got = std::to_string(form.error().http_code());
      EXPECT_THAT(form.error().message(), HasSubstr("application/json, application/yaml"));
    } else {
      got = form->encoding == Encoding::kJson ? "json" : form->encoding == Encoding::kYaml ? "yaml" : "protobuf";
      if (form->transform == Transform::kTable) got += " table " + form->transform_version;
      if (form->transform == Transform::kPartialMetadata) got += " partial " + form->transform_version;
      if (form->pretty) got += " pretty";
    }
    EXPECT_EQ(got, c.expected) << c.accept;
  }
}

TEST(BodyEncodingTest, KnowsTheMediaTypes) {
  EXPECT_EQ(*BodyEncoding("", false), Encoding::kJson);
  EXPECT_EQ(*BodyEncoding("application/json; charset=utf-8", false), Encoding::kJson);
  EXPECT_EQ(*BodyEncoding("Application/YAML", false), Encoding::kYaml);
  EXPECT_EQ(*BodyEncoding("application/vnd.kubernetes.protobuf", false), Encoding::kProtobuf);
  EXPECT_EQ(BodyEncoding("application/vnd.kubernetes.protobuf", true).error().http_code(), 415);
  EXPECT_EQ(BodyEncoding("text/plain", false).error().http_code(), 415);
}

TEST(AnswerFormTest, NamesItsContentType) {
  EXPECT_EQ(AnswerForm{.encoding = Encoding::kJson}.ContentType(), "application/json");
  EXPECT_EQ(AnswerForm{.encoding = Encoding::kYaml}.ContentType(), "application/yaml");
  EXPECT_EQ(AnswerForm{.encoding = Encoding::kProtobuf}.ContentType(), "application/vnd.kubernetes.protobuf");
}

}  // namespace
}  // namespace kube::apiserver
