// The rules by which values that a version lacks are kept and return.
#include "kube/webhook/conversion.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "kube/codec/json.h"
#include "webhook/conversion_test_types.h"

namespace kube {
namespace {

using nets::NetworkConversion;
using nets::ThreeVersions;
using ::testing::HasSubstr;
namespace v1 = nets::v1;
namespace v2 = nets::v2;
namespace v3 = nets::v3;

constexpr std::string_view kV1 = "conversion.kubexx.dev/v1", kV2 = "conversion.kubexx.dev/v2";

template <typename T>
T Parse(std::string_view json) {
  return FromJson<T>(json).value();
}

class ConversionTest : public ::testing::Test {
 protected:
  template <typename To, typename From>
  To Convert(const From& from) const {
    return converter_.Convert<To>(from).value();
  }
  // Through v1, where `edit` changes it.
  template <typename F>
  v2::Network EditedInV1(const v2::Network& from, F edit) const {
    v1::Network there = Convert<v1::Network>(from);
    edit(there);
    return Convert<v2::Network>(there);
  }
  void Use(ConversionSpec spec) { converter_ = Converter::Make(std::move(spec)).value(); }

  Converter converter_ = Converter::Make(ThreeVersions()).value();
};

TEST_F(ConversionTest, FunctionsContainTheDifferencesOnly) {
  const v2::Network made = Convert<v2::Network>(Parse<v1::Network>(
      R"({"metadata":{"name":"a"},"spec":{"cidr":"10.0.0.0/8","gateway":"g","mode":"fast","rules":[{"name":"r","port":80}]}})"));
  EXPECT_EQ(made,
            Parse<v2::Network>(
                R"({"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/8"],"gateway":"g","mode":2,"rules":[{"name":"r","port":80}]}})"));
}

TEST_F(ConversionTest, WithoutLossThereIsNoAnnotation) {
  const v1::Network from = Parse<v1::Network>(R"({"metadata":{"name":"a","annotations":{"mine":"1"}},"spec":{"gateway":"g"}})");
  EXPECT_EQ(Convert<v2::Network>(from).metadata.annotations, (Map<String>{{"mine", "1"}}));
}

TEST_F(ConversionTest, WhatTheOtherVersionLacksReturns) {
  const v2::Network from = Parse<v2::Network>(R"({"metadata":{"name":"a"},"spec":{"cidrs":["a","b"],"mode":7,"matrix":{"m":["1"]},
      "rules":[{"name":"x","port":1,"priority":0},{"name":"y","port":2}],"steps":[{"run":"1","retries":3},{"run":"2"}],
      "backup":{"host":"h","retries":2},"zones":{"z":{"a":"1","weight":0.5}},"unknown":1},"status":{"ready":4}})");
  const v1::Network there = Convert<v1::Network>(from);
  EXPECT_EQ(there.spec.cidr, "a");
  EXPECT_TRUE(there.metadata.annotations.contains(kV2));
  EXPECT_EQ(Convert<v2::Network>(there), from);
}

TEST_F(ConversionTest, AnEditOfOtherFieldsKeepsWhatWasLost) {
  const v2::Network from = Parse<v2::Network>(R"({"spec":{"gateway":"g","matrix":{"m":["1"]},"mode":7},"status":{"ready":4}})");
  v2::Network expected = from;
  expected.spec.gateway = "new";
  EXPECT_EQ(EditedInV1(from, [](v1::Network& n) { n.spec.gateway = "new"; }), expected);
}

TEST_F(ConversionTest, TheNewerValueWins) {
  const v2::Network from = Parse<v2::Network>(R"({"spec":{"cidrs":["a","b"],"mode":7}})");
  const v2::Network back = EditedInV1(from, [](v1::Network& n) {
    n.spec.cidr = "c";
    n.spec.mode = "slow";
  });
  EXPECT_EQ(back.spec.mode, 1);
  EXPECT_EQ(back.spec.cidrs, (List<String>{"c"}));
  EXPECT_TRUE(back.metadata.annotations.empty());
}

TEST_F(ConversionTest, AStaleAnnotationNeverReplacesANewerValue) {
  // A user edits v2 and restores an older annotation of v1, as a GitOps tool may.
  const v1::Network old = Parse<v1::Network>(R"({"spec":{"rules":[{"name":"a","comment":"old"}],"mode":"odd","onlyV1":{"a":"1"}}})");
  v2::Network stored = Convert<v2::Network>(old);
  const Map<String> stale = stored.metadata.annotations;
  v1::Network edited = Convert<v1::Network>(stored);
  EXPECT_EQ(edited, old);
  edited.spec.mode = "fast";
  edited.spec.only_v1.Mutable().a = "2";
  stored = Convert<v2::Network>(edited);
  stored.metadata.annotations = stale;
  EXPECT_EQ(Convert<v1::Network>(stored).spec.mode, "fast");
}

TEST_F(ConversionTest, ElementsAreFoundByTheirKeys) {
  const v2::Network from = Parse<v2::Network>(
      R"({"spec":{"rules":[{"name":"a","port":1,"priority":1},{"name":"b","port":2,"priority":2},{"name":"c","port":3,"priority":3}]}})");
  const v2::Network back = EditedInV1(from, [](v1::Network& n) {
    n.spec.rules.erase(0);
    n.spec.rules[0].port = 22;
    n.spec.rules.insert(0, {.name = "new", .port = 9});
  });
  EXPECT_EQ(back.spec, Parse<v2::Network>(R"({"spec":{"rules":[{"name":"new","port":9},{"name":"b","port":22,"priority":2},
                                              {"name":"c","port":3,"priority":3}]}})")
                           .spec);
}

TEST_F(ConversionTest, ElementsWithoutKeysAreFoundByTheirContent) {
  const v2::Network from =
      Parse<v2::Network>(R"({"spec":{"steps":[{"run":"1","retries":1},{"run":"2","retries":2},{"run":"3","retries":3}]}})");
  const v2::Network back = EditedInV1(from, [](v1::Network& n) {
    n.spec.steps.erase(0);
    n.spec.steps[0].run = "changed";
  });
  EXPECT_EQ(back.spec, Parse<v2::Network>(R"({"spec":{"steps":[{"run":"changed"},{"run":"3","retries":3}]}})").spec);
}

TEST_F(ConversionTest, ElementsThatLookTheSameReturnOnlyTogether) {
  const v2::Network from = Parse<v2::Network>(R"({"spec":{"steps":[{"run":"1","retries":1},{"run":"1","retries":2}]}})");
  EXPECT_EQ(EditedInV1(from, [](v1::Network&) {}), from);
  const v2::Network back = EditedInV1(from, [](v1::Network& n) { n.spec.steps.erase(0); });
  EXPECT_EQ(back.spec, Parse<v2::Network>(R"({"spec":{"steps":[{"run":"1"}]}})").spec);
}

TEST_F(ConversionTest, ARemovedBoxDoesNotReturn) {
  const v2::Network from = Parse<v2::Network>(R"({"spec":{"backup":{"host":"h","retries":2}}})");
  EXPECT_FALSE(EditedInV1(from, [](v1::Network& n) { n.spec.backup.reset(); }).spec.backup);
  EXPECT_EQ(EditedInV1(from, [](v1::Network& n) { n.spec.backup.Mutable().host = "i"; }).spec.backup->retries, 2);
}

TEST_F(ConversionTest, MembersOfMapsAreValuesOfTheirOwn) {
  const v2::Network from = Parse<v2::Network>(R"({"spec":{"zones":{"a":{"weight":1.0},"b":{"weight":2.0}}}})");
  const v2::Network back = EditedInV1(from, [](v1::Network& n) {
    n.spec.zones.Erase("a");
    n.spec.zones.Set("c", {.a = "new"});
    n.spec.zones["b"].a = "x";
  });
  EXPECT_EQ(back.spec, Parse<v2::Network>(R"({"spec":{"zones":{"b":{"a":"x","weight":2.0},"c":{"a":"new"}}}})").spec);
}

TEST_F(ConversionTest, SpokesConvertThroughTheHub) {
  const v1::Network from = Parse<v1::Network>(R"({"metadata":{"name":"a"},"spec":{"cidr":"10.0.0.0/8","gateway":"g",
      "rules":[{"name":"r","comment":"c"}],"onlyV1":{}},"status":{"phase":"Ready"}})");
  v3::Network there = Convert<v3::Network>(from);
  EXPECT_EQ(there.phase, "Ready");
  EXPECT_EQ(there.addresses, (List<String>{"10.0.0.0/8"}));
  EXPECT_TRUE(there.metadata.annotations.contains(kV1));
  EXPECT_TRUE(there.metadata.annotations.contains(kV2));
  EXPECT_EQ(Convert<v1::Network>(there), from);

  there.phase = "Failed";
  v1::Network expected = from;
  expected.status.phase = "Failed";
  EXPECT_EQ(Convert<v1::Network>(there), expected);
}

TEST_F(ConversionTest, TheHubKeepsWhatASpokeHasMore) {
  const v1::Network from = Parse<v1::Network>(R"({"spec":{"onlyV1":{"a":"1"}}})");
  v2::Network stored = Convert<v2::Network>(from);
  EXPECT_TRUE(stored.metadata.annotations.contains(kV1));
  stored.spec.gateway = "g";
  EXPECT_TRUE(Convert<v3::Network>(stored).metadata.annotations.contains(kV1));  // on its way
  v1::Network expected = from;
  expected.spec.gateway = "g";
  EXPECT_EQ(Convert<v1::Network>(Convert<v2::Network>(Convert<v3::Network>(stored))), expected);
}

TEST_F(ConversionTest, LabelsAndAnnotationsThatAFunctionDropsReturn) {
  Use(Conversion<v2::Network>().Spoke<v1::Network>([](const v1::Network&, v2::Network& to) { to.metadata.annotations.clear(); },
                                                   [](const v2::Network&, v1::Network& to) {
                                                     to.metadata.labels = {{"made", "up"}};
                                                   }));
  const v2::Network from = Parse<v2::Network>(R"({"metadata":{"labels":{"l":"1"},"annotations":{"a":"1"}},"spec":{"mode":3}})");
  const v1::Network there = Convert<v1::Network>(from);
  EXPECT_EQ(there.metadata.labels, (Map<String>{{"made", "up"}}));
  EXPECT_EQ(Convert<v2::Network>(there), from);
}

TEST_F(ConversionTest, OtherMetadataStays) {
  Use(Conversion<v2::Network>().Spoke<v1::Network>([](const v1::Network&, v2::Network& to) { to.metadata = {}; },
                                                   [](const v2::Network&, v1::Network& to) { to.metadata.name = "other"; }));
  const v2::Network from = Parse<v2::Network>(R"({"metadata":{"name":"a","namespace":"ns","uid":"u","generation":3,"finalizers":["f"]}})");
  const v1::Network there = Convert<v1::Network>(from);
  EXPECT_EQ(there.metadata, from.metadata);
  EXPECT_EQ(Convert<v2::Network>(there).metadata, from.metadata);
}

TEST_F(ConversionTest, FunctionsDoNotSeeTheAnnotations) {
  bool seen = false;
  Use(Conversion<v2::Network>().Spoke<v1::Network>(
      [&](const v1::Network& from, v2::Network&) { seen = seen || !from.metadata.annotations.empty(); },
      [&](const v2::Network& from, v1::Network& to) {
        seen = seen || !from.metadata.annotations.empty() || !to.metadata.annotations.empty();
      }));
  const v2::Network from = Parse<v2::Network>(R"({"spec":{"mode":7}})");
  EXPECT_EQ(Convert<v2::Network>(Convert<v1::Network>(from)), from);
  EXPECT_FALSE(seen);
}

TEST_F(ConversionTest, AnAnnotationOfTheOwnVersionMeansNothing) {
  v1::Network from;
  from.metadata.annotations.Set(kV1, R"({"spec":{"gateway":["from the annotation"]}})");
  const v2::Network made = Convert<v2::Network>(from);
  EXPECT_EQ(made, v2::Network());
}

TEST_F(ConversionTest, HostileAnnotationsFailNothing) {
  for (const char* text :
       {"", "x", "[]", "{", R"({"spec":1})", R"({"spec":{"gateway":[]}})", R"({"spec":{"gateway":[1]}})",
        R"({"metadata":{"name":["x"],"namespace":["x"],"uid":["x"]}})", R"({"metadata":{"labels":{"!!":["x"],"ok":["\n"]}}})",
        R"({"metadata":{"annotations":{"?":["x"],"conversion.kubexx.dev/v1":["{}"]}}})", R"({"apiVersion":["v9"],"kind":["Pod"]})",
        R"({"spec":{"cidrs":["x"],"rules":{"keys":{"a":[{}]},"order":[["a"],["b"]]},"steps":{"content":{"0":{}}}}})"}) {
    v1::Network from = Parse<v1::Network>(R"({"metadata":{"name":"a","uid":"u"},"spec":{"cidr":"c"}})");
    from.metadata.annotations.Set(kV2, text);
    const v2::Network made = Convert<v2::Network>(from);
    EXPECT_EQ(made, Parse<v2::Network>(R"({"metadata":{"name":"a","uid":"u"},"spec":{"cidrs":["c"]}})")) << text;
  }
}

TEST_F(ConversionTest, KeepingCanBeSwitchedOff) {
  Use(NetworkConversion().KeepLost(false));
  const v1::Network there = Convert<v1::Network>(Parse<v2::Network>(R"({"spec":{"gateway":"g","matrix":{"m":["1"]}}})"));
  EXPECT_TRUE(there.metadata.annotations.empty());
  EXPECT_EQ(Convert<v2::Network>(there), Parse<v2::Network>(R"({"spec":{"gateway":"g"}})"));
}

TEST_F(ConversionTest, TooMuchIsReadWithoutAndRefusedWhenWritten) {
  Use(NetworkConversion().MaxKeptBytes(100));
  v2::Network from = Parse<v2::Network>(R"({"metadata":{"name":"a"},"spec":{"gateway":"g"}})");
  from.spec.matrix.Set("m", {String(std::string(200, 'x'))});
  v1::Network there = Convert<v1::Network>(from);
  EXPECT_EQ(there.spec.gateway, "g");
  EXPECT_THAT(there.metadata.annotations.Get(kV2).str(), HasSubstr("too large"));
  EXPECT_THAT(converter_.Convert<v2::Network>(there).error().ToString(), HasSubstr("a write would lose that: write it as v2"));
  there.metadata.annotations.clear();
  EXPECT_EQ(Convert<v2::Network>(there).spec.gateway, "g");

  v1::Network large;
  large.spec.only_v1.Mutable().a = String(std::string(200, 'x'));
  EXPECT_THAT(converter_.Convert<v2::Network>(large).error().ToString(), HasSubstr("exist in v1 only"));
  // Read as the hub if it is stored as v1.
  Use(NetworkConversion().MaxKeptBytes(100).StoredAs<v1::Network>());
  EXPECT_THAT(Convert<v2::Network>(large).metadata.annotations.Get(kV1).str(), HasSubstr("too large"));
}

TEST_F(ConversionTest, AnnotationsOfOthersLeaveNoRoom) {
  v2::Network from = Parse<v2::Network>(R"({"spec":{"mode":7}})");
  from.metadata.annotations.Set("big", String(std::string(262144 - 40, 'x')));
  EXPECT_EQ(Convert<v1::Network>(from).metadata.annotations.size(), 1U);
  from.metadata.annotations.Set("big", String(std::string(262144 - 60, 'x')));
  EXPECT_THAT(Convert<v1::Network>(from).metadata.annotations.Get(kV2).str(), HasSubstr("too large"));
}

TEST_F(ConversionTest, AFunctionMayFailOrThrow) {
  Use(Conversion<v2::Network>().Spoke<v1::Network>(
      [](const v1::Network& from, v2::Network&) -> Result<void> {
        if (from.spec.cidr == "throw") throw std::runtime_error("boom");
        if (from.spec.cidr == "throw an int") throw 3;
        if (from.spec.cidr == "value") throw ErrorException(Error::Invalid("spec.cidr: of value()"));
        if (from.spec.cidr == "fail") return Error::Invalid("spec.cidr: no CIDR");
        return {};
      },
      [](const Context&, const v2::Network&, v1::Network&) {}));
  const auto convert = [&](const char* cidr) {
    v1::Network from;
    from.spec.cidr = cidr;
    AnyObject object(v1::Network::kType);
    *static_cast<v1::Network*>(object.mutable_data()) = from;
    bool threw = false;
    const Result<AnyObject> made = converter_.Convert(Context::Background(), object, v2::Network::kType, &threw);
    return std::pair(made ? "ok" : made.error().ToString(), threw);
  };
  EXPECT_THAT(convert("throw").first, HasSubstr("v1 to v2: the conversion function threw: boom"));
  EXPECT_TRUE(convert("throw").second);
  EXPECT_TRUE(convert("throw an int").second);
  EXPECT_EQ(convert("fail"), (std::pair<std::string, bool>("v1 to v2: spec.cidr: no CIDR", false)));
  EXPECT_EQ(convert("value"), (std::pair<std::string, bool>("v1 to v2: spec.cidr: of value()", false)));
}

struct Pod {
  meta::v1::ObjectMeta metadata{};
  KUBE_TABLE(Pod);
};
KUBE_DEFINE_KIND(Pod, (.group = "nets.example.com", .version = "v4", .kind = "Pod", .resource = "pods", .namespaced = true),
                 KUBE_FIELD(Pod, metadata));

TEST(ConverterTest, RefusesMistakes) {
  const auto problem = [](const ConversionSpec& spec) {
    const Result<Converter> made = Converter::Make(spec);
    return made ? std::string("none") : made.error().ToString();
  };
  EXPECT_THAT(problem({}), HasSubstr("has no hub"));
  EXPECT_THAT(problem(Conversion<v2::Network>()), HasSubstr("there is no version but v2"));
  EXPECT_THAT(problem(NetworkConversion().Spoke<v1::Network>()), HasSubstr("v1 is there twice"));
  EXPECT_THAT(problem(NetworkConversion().Spoke<v2::Network>()), HasSubstr("v2 is there twice"));
  EXPECT_THAT(problem(NetworkConversion().Spoke<Pod>()), HasSubstr("of another kind, Pod.nets.example.com"));
  EXPECT_THAT(problem(NetworkConversion().At("convert")), HasSubstr("is no path"));
  EXPECT_THAT(problem(NetworkConversion().StoredAs<v3::Network>()), HasSubstr("no version v3"));
  EXPECT_EQ(problem(ThreeVersions().StoredAs<v3::Network>()), "none");
  EXPECT_FALSE(ConversionEndpoints({NetworkConversion(), ThreeVersions()}).ok());
  EXPECT_EQ(ConversionEndpoints({NetworkConversion()})->at(0).path, "/convert");
  EXPECT_TRUE(ConversionEndpoints({NetworkConversion()})->at(0).conversion);
  EXPECT_FALSE(Converter::Make(NetworkConversion())->Convert<v3::Network>(v2::Network()).ok());
}

}  // namespace
}  // namespace kube
