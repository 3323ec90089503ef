// Lists and maps inside of each other, through every engine; what is absent and what is empty; inlined structs.
#include "codec/shapes_test_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/interner_test_util.h"
#include "kube/codec/diff.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/footprint.h"
#include "kube/codec/hash.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"

namespace kube::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kAll = R"({
  "routes": {"a": ["10.0.0.0/8", "a text that does not fit inside of a String"], "b": []},
  "matrix": [[1, 2], [], [3]],
  "limits": {"x": {"cpu": "500m", "memory": "1Gi"}, "y": {}},
  "flags": [{"on": true, "off": false}, {}],
  "rules": {"r": [{"name": "one", "limit": "2", "later": 1}, {"name": ""}]},
  "cube": [[[0.5], []], []],
  "ruleByNames": {"outer": {"inner": {"name": "n", "future": [true]}}},
  "raw": {"r": [{"any": [1, null]}, "text", 5]},
  "ports": {"web": [80, "https"]},
  "times": [["2030-01-02T03:04:05Z"]],
  "keys": {"k": ["AP8=", ""]},
  "count": 3,
  "zone": "north",
  "racks": {"r1": ["u1", "u2"]},
  "note": "",
  "enabled": false,
  "large": 0,
  "ratio": 0,
  "names": ["n"],
  "labels": {"app": "web"},
  "maybeNames": [],
  "maybeLabels": {},
  "maybeRules": [[], [{"name": "deep", "unknown": {"x": 1}}]],
  "requiredNames": [],
  "requiredLabels": {},
  "children": {"c": [{"matrix": [[7]], "requiredNames": [], "requiredLabels": {}, "later": "x"}]},
  "ofTomorrow": {"a": 1}
})";

Shapes All() { return FromJson<Shapes>(kAll).value(); }
Value AsValue(std::string_view json) { return ParseJson(json).value(); }

TEST(ShapesTest, JsonComesBackAsItWas) {
  const Shapes shapes = All();
  EXPECT_EQ(shapes.routes["a"][0], "10.0.0.0/8");
  EXPECT_TRUE(shapes.routes.contains("b"));
  EXPECT_EQ(shapes.matrix.size(), 3U);
  EXPECT_EQ(shapes.matrix[2][0], 3);
  EXPECT_EQ(shapes.limits["x"]["cpu"], Quantity::FromMilli(500));
  EXPECT_TRUE(shapes.flags[0]["on"]);
  EXPECT_EQ(shapes.rules["r"][0].limit, Quantity::FromInt64(2));
  EXPECT_EQ(shapes.cube[0][0][0], 0.5);
  EXPECT_EQ(shapes.rule_by_names["outer"]["inner"].name, "n");
  EXPECT_EQ(shapes.ports["web"][1], IntOrString("https"));
  EXPECT_EQ(shapes.keys["k"][0], String(std::string_view("\0\xff", 2)));
  EXPECT_EQ(shapes.children["c"][0].matrix[0][0], 7);
  EXPECT_EQ(AsValue(*ToJson(shapes)), AsValue(kAll));
}

TEST(ShapesTest, YamlComesBackAsItWas) {
  const std::string yaml = *ToYaml(All());
  EXPECT_EQ(FromYaml<Shapes>(yaml).value(), All());
}

TEST(ShapesTest, UnknownFieldsInsideOfElementsStay) {
  const std::string text = *ToJson(All());
  EXPECT_THAT(text, HasSubstr(R"("later":1)"));
  EXPECT_THAT(text, HasSubstr(R"("future":[true])"));
  EXPECT_THAT(text, HasSubstr(R"("unknown":{"x":1})"));
  EXPECT_THAT(text, HasSubstr(R"("ofTomorrow":{"a":1})"));
}

TEST(ShapesTest, ErrorsNameTheElement) {
  const auto error = [](std::string_view json) { return FromJson<Shapes>(json).error().ToString(); };
  EXPECT_THAT(error(R"({"routes": {"a": ["x", 1]}})"), HasSubstr("routes[a][1]: expected a string"));
  EXPECT_THAT(error(R"({"matrix": [[1], 2]})"), HasSubstr("matrix[1]: expected a list"));
  EXPECT_THAT(error(R"({"limits": {"x": {"cpu": {}}}})"), HasSubstr("limits[x][cpu]: expected a quantity"));
  EXPECT_THAT(error(R"({"ruleByNames": {"a": {"b": {"name": 1}}}})"), HasSubstr("ruleByNames[a][b].name: expected a string"));
  EXPECT_THAT(error(R"({"maybeNames": {}})"), HasSubstr("maybeNames: expected a list"));
  EXPECT_THAT(FromJson<Shapes>(R"({"rules": {"r": [{"nmae": "x"}]}})", {.strict = true}).error().ToString(),
              HasSubstr(R"(unknown field "rules[r][0].nmae")"));
  EXPECT_THAT(FromJson<Shapes>(R"({"limits": {"x": {"cpu": "1", "cpu": "2"}}})", {.strict = true}).error().ToString(),
              HasSubstr(R"(duplicate field "limits[x][cpu]")"));
}

TEST(ShapesTest, ObjectsThatFailHalfwayAreDropped) {
  // For the leak checker: all that was decoded before the mistake.
  for (std::size_t cut = 0; cut < kAll.size(); cut += 7) {
    EXPECT_FALSE(FromJson<Shapes>(std::string(kAll.substr(0, cut))).ok());
  }
}

TEST(ShapesTest, TheLastOfSeveralEqualNamesWins) {
  const auto shapes = FromJson<Shapes>(R"({"routes": {"a": ["1"], "a": ["2"]}, "racks": {"x": ["y"]}, "racks": {"r": ["z"]}})");
  EXPECT_EQ(shapes->routes["a"][0], "2");
  EXPECT_EQ(shapes->placement.racks, (Map<List<String>>{{"r", {"z"}}}));
}

TEST(ShapesTest, EqualityAndHashSeeEveryLevel) {
  const Shapes all = All();
  EXPECT_EQ(all, All());
  EXPECT_EQ(HashObject(all), HashObject(All()));
  const auto differs = [&](auto change) {
    Shapes other = all;
    change(other);
    EXPECT_NE(other, all);
    EXPECT_NE(HashObject(other), HashObject(all));
  };
  differs([](Shapes& s) { s.routes["a"][1] = "x"; });
  differs([](Shapes& s) { s.routes.Erase("b"); });
  differs([](Shapes& s) { s.matrix[1].push_back(0); });
  differs([](Shapes& s) { s.cube[0][0][0] = 1; });
  differs([](Shapes& s) { s.rule_by_names["outer"]["inner"].name = "m"; });
  differs([](Shapes& s) { s.limits.Set("z", {}); });
  differs([](Shapes& s) { s.maybe_names.reset(); });
  differs([](Shapes& s) { s.maybe_labels.Mutable()["a"] = "b"; });
  differs([](Shapes& s) { s.placement.racks["r1"][0] = "u3"; });
  differs([](Shapes& s) { s.note.reset(); });
  Shapes same = all;
  same.limits["x"]["cpu"] = Quantity::Parse("0.5").value();
  EXPECT_EQ(same, all) << "quantities compare by amount";
}

TEST(ShapesTest, CopiesShareUntilWrittenTo) {
  Shapes all = All();
  const Shapes copy = all;
  EXPECT_TRUE(copy.routes.SharesWith(all.routes));
  EXPECT_TRUE(std::as_const(copy.matrix)[0].SharesWith(std::as_const(all.matrix)[0]));
  EXPECT_TRUE(copy.maybe_rules.SharesWith(all.maybe_rules));
  all.routes["a"].push_back("more");
  EXPECT_EQ(copy.routes["a"].size(), 2U);
  EXPECT_TRUE(std::as_const(copy.routes)["b"].SharesWith(std::as_const(all.routes)["b"]) || std::as_const(copy.routes)["b"].empty());
}

TEST(ShapesTest, ReferencesIntoAnElementDoNotReachCopies) {
  Shapes all = All();
  List<String>& inner = all.routes["a"];
  String& text = inner[0];
  Rule& rule = all.rules["r"][0];
  std::int32_t& number = all.matrix[0][0];
  List<String>& boxed = all.maybe_names.Mutable();
  List<Shapes> copies;
  copies.push_back(all);  // copied by its table
  const Shapes copy = all;
  text = "changed";
  rule.name = "changed";
  number = 99;
  boxed.push_back("changed");
  for (const Shapes* other : {&copy, &std::as_const(copies)[0]}) {
    EXPECT_EQ(other->routes["a"][0], "10.0.0.0/8");
    EXPECT_EQ(other->rules["r"][0].name, "one");
    EXPECT_EQ(other->matrix[0][0], 1);
    EXPECT_TRUE(other->maybe_names->empty());
  }
  internal::Settle(all);
  EXPECT_FALSE(internal::HoldsLent(all));
  const Shapes shared = all;
  EXPECT_TRUE(shared.routes.SharesWith(all.routes));
}

TEST(ShapesTest, ListsOfSuchObjectsCopyAndCompare) {
  List<Shapes> list{All(), Shapes{}, All()};
  List<Shapes> other = list;
  other[0].children["c"][0].matrix[0].push_back(8);
  EXPECT_NE(list, other);
  EXPECT_EQ(std::as_const(list)[0], All());
}

TEST(ShapesTest, DifferencesHavePathsThroughEveryLevel) {
  const Shapes before = All();
  Shapes after = before;
  after.routes["a"][0] = "11.0.0.0/8";
  after.matrix[2][0] = 4;
  after.limits["x"]["cpu"] = Quantity::Parse("0.5").value();
  after.limits["x"]["memory"] = Quantity::Parse("2Gi").value();
  after.rule_by_names["outer"]["inner"].name = "m";
  after.maybe_labels.Mutable()["a.b"] = "c";
  after.placement.racks["r1"][1] = "u9";
  EXPECT_EQ(ToString(Diff(before, after)),
            "~ limits[x][memory]: \"1Gi\" -> \"2Gi\"\n"
            "~ matrix[2][0]: 3 -> 4\n"
            "+ maybeLabels[a.b]: \"c\"\n"
            "~ racks[r1][1]: \"u2\" -> \"u9\"\n"
            "~ routes[a][0]: \"10.0.0.0/8\" -> \"11.0.0.0/8\"\n"
            "~ ruleByNames[outer][inner].name: \"n\" -> \"m\"\n");
}

TEST(ShapesTest, PatchesOfAllFormsLeadFromOneToTheOther) {
  const Shapes before = All();
  Shapes after = before;
  after.routes["a"][0] = "11.0.0.0/8";
  after.routes["c"] = {"x"};
  after.matrix.erase(0);
  after.limits["x"].Erase("cpu");
  after.rule_by_names["outer"]["inner"].name = "m";
  after.rule_by_names["outer"]["other"].name = "o";
  after.maybe_names = List<String>{"now"};
  after.note = "said";
  EXPECT_EQ(ApplyJsonPatch(before, ToJson(CreateJsonPatch(before, after).value())).value(), after);
  EXPECT_EQ(ApplyMergePatch(before, ToJson(CreateMergePatch(before, after).value())).value(), after);
  EXPECT_EQ(ApplyStrategicMergePatch(before, ToJson(CreateTwoWayMergePatch(before, after).value())).value(), after);
}

TEST(ShapesTest, StrategicMergeGoesIntoMapsOfMaps) {
  const Shapes before = All();
  const Shapes after =
      ApplyStrategicMergePatch(before, R"({"ruleByNames": {"outer": {"new": {"name": "x"}}}, "routes": {"a": ["only"]}})").value();
  EXPECT_EQ(after.rule_by_names["outer"].size(), 2U);
  EXPECT_EQ(after.routes["a"], List<String>{"only"});
  const Shapes replaced =
      ApplyStrategicMergePatch(before, R"({"ruleByNames": {"outer": {"$patch": "replace", "new": {"name": "x"}}}})").value();
  EXPECT_EQ(replaced.rule_by_names["outer"].size(), 1U);
}

TEST(ShapesTest, AnInternerSharesInnerParts) {
  Interner interner;
  const std::string text(kAll);
  List<Shapes> all;
  for (int i = 0; i < 4; ++i) all.push_back(FromJson<Shapes>(text, {.interner = &interner}).value());
  for (const Shapes& shapes : std::as_const(all)) EXPECT_EQ(shapes, All());
  const auto decode = [&] { return FromJson<Shapes>(text, {.interner = &interner}).value(); };
  EXPECT_TRUE(SharedBySome(decode, [](const Shapes& a, const Shapes& b) { return a.routes.SharesWith(b.routes); }));
  EXPECT_TRUE(SharedBySome(decode, [](const Shapes& a, const Shapes& b) { return a.rules.SharesWith(b.rules); }));
  // A part inside of another is found where it stands elsewhere.
  int keys = 0;
  const auto decode_inside_of_another = [&] {
    const std::string key = std::to_string(++keys);
    return FromJson<Shapes>(R"({"routes": {")" + key + R"(": ["a text that is long enough to be looked up, one", "two"]}})",
                            {.interner = &interner})
        .value();
  };
  EXPECT_TRUE(SharedBySome(decode_inside_of_another,
                           [](const Shapes& a, const Shapes& b) { return a.routes.begin()->value.SharesWith(b.routes.begin()->value); }));
  Footprint memory;
  for (const Shapes& shapes : std::as_const(all)) memory.Add(shapes);
  EXPECT_LT(memory.real_bytes(), memory.logical_bytes());
  interner.Sweep();
}

TEST(ShapesTest, AnInternerKeepsEqualTextsOfDifferentTypesApart) {
  Interner interner;
  const std::string text =
      R"({"routes": {"k": ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "80"]}, "keys": {"k": ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "80=="]},
          "ports": {"k": ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "80"]}, "raw": {"k": ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "80"]}})";
  const Shapes plain = FromJson<Shapes>(text).value();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(FromJson<Shapes>(text, {.interner = &interner}).value(), plain);
}

TEST(ShapesTest, SelectionsReachIntoNestedMaps) {
  const FieldSelection fields = FieldSelection::Without({"limits.x.cpu", "rules.r.limit", "racks.r1"}).value();
  const Shapes some = FromJson<Shapes>(kAll, {.fields = &fields}).value();
  EXPECT_FALSE(some.limits["x"].contains("cpu"));
  EXPECT_TRUE(some.limits["x"].contains("memory"));
  EXPECT_EQ(some.rules["r"][0].name, "one");
  EXPECT_FALSE(some.rules["r"][0].limit.has_value());
  EXPECT_TRUE(some.placement.racks.empty());
}

TEST(ShapesTest, FootprintCountsInnerBlocks) {
  Footprint empty, nested;
  empty.Add(Shapes{});
  Shapes shapes;
  shapes.matrix = {{1, 2, 3}, {4, 5, 6}};
  nested.Add(shapes);
  EXPECT_GE(nested.real_bytes(), empty.real_bytes() + sizeof(internal::ArrayRep) * 3 + 6 * sizeof(std::int32_t));
}

TEST(ShapesTest, ProtobufIsRefused) {
  EXPECT_THAT(ToProtobuf(All(), {.envelope = false}).error().ToString(), HasSubstr("test.Shapes has no protobuf form"));
  EXPECT_THAT(FromProtobuf<Shapes>("\x0a\x01x").error().ToString(), HasSubstr("test.Shapes has no protobuf form"));
}

TEST(ShapesTest, NestingHasTheUsualLimit) {
  std::string deep = R"({"children":{"c":[)";
  std::string text;
  for (int i = 0; i < 2000; ++i) text += deep;
  EXPECT_THAT(FromJson<Shapes>(text).error().ToString(), HasSubstr("nested too deep"));
}

// ---- What is absent, what is empty ----

TEST(PresenceTest, EmptyListsAndMapsAreAbsentUnlessRequired) {
  const Shapes shapes = FromJson<Shapes>(R"({"names": [], "labels": {}, "routes": {}, "matrix": [], "count": 0})").value();
  EXPECT_EQ(shapes, Shapes{});
  EXPECT_EQ(ToJson(shapes).value(), R"({"requiredNames":[],"requiredLabels":{}})");
}

TEST(PresenceTest, NullIsAbsent) {
  const Shapes shapes =
      FromJson<Shapes>(R"({"names": null, "note": null, "maybeNames": null, "maybeLabels": null, "routes": null, "racks": null})").value();
  EXPECT_EQ(shapes, Shapes{});
  EXPECT_EQ(ToJson(FromJson<Shapes>(R"({"matrix": [null], "routes": {"a": null}})").value()).value(),
            R"({"routes":{"a":[]},"matrix":[[]],"requiredNames":[],"requiredLabels":{}})");
}

TEST(PresenceTest, OptionalValuesKeepWhatIsEmpty) {
  constexpr std::string_view kText =
      R"({"note":"","enabled":false,"large":0,"ratio":0.0,"maybeNames":[],"maybeLabels":{},"maybeRules":[],"requiredNames":[],"requiredLabels":{}})";
  const Shapes shapes = FromJson<Shapes>(kText).value();
  EXPECT_EQ(shapes.note, "");
  EXPECT_EQ(shapes.enabled, false);
  EXPECT_TRUE(shapes.maybe_names.has_value());
  EXPECT_NE(shapes, Shapes{});
  EXPECT_EQ(ToJson(shapes).value(), kText);
}

TEST(PresenceTest, EmptyElementsStay) {
  constexpr std::string_view kText = R"({"routes":{"a":[]},"matrix":[[],[]],"limits":{"x":{}},"requiredNames":[],"requiredLabels":{}})";
  EXPECT_EQ(ToJson(FromJson<Shapes>(kText).value()).value(), kText);
}

TEST(PresenceTest, ABoxedListReadsAsEmptyWhereItIsAbsent) {
  Shapes shapes;
  EXPECT_EQ(shapes.maybe_names->size(), 0U);
  EXPECT_FALSE(shapes.maybe_names.has_value());
  shapes.maybe_names.Mutable().push_back("x");
  EXPECT_EQ(shapes.maybe_names->size(), 1U);
  const Shapes copy = shapes;
  shapes.maybe_names.Mutable()[0] = "y";
  EXPECT_EQ((*copy.maybe_names)[0], "x");
}

// ---- Inlined structs ----

TEST(InlinedTest, FieldsStandInTheOuterObject) {
  Shapes shapes;
  shapes.placement.zone = "north";
  shapes.placement.racks["r"] = {"u"};
  const std::string text = ToJson(shapes).value();
  EXPECT_EQ(text, R"({"zone":"north","racks":{"r":["u"]},"requiredNames":[],"requiredLabels":{}})");
  EXPECT_EQ(FromJson<Shapes>(text).value(), shapes);
}

TEST(InlinedTest, UnknownFieldsGoToTheOuterStructAndBothAreWritten) {
  Shapes shapes = FromJson<Shapes>(R"({"zone": "north", "later": 1})").value();
  EXPECT_EQ(shapes.unknown_fields.json(), R"("later":1)");
  shapes.placement = FromJson<Placement>(R"({"zone": "south", "inner": 2})").value();
  List<Shapes> copies{shapes, shapes};
  EXPECT_EQ(copies[1], shapes);
  const std::string text = ToJson(std::as_const(copies)[1]).value();
  EXPECT_THAT(text, HasSubstr(R"("inner":2)"));
  EXPECT_THAT(text, HasSubstr(R"("later":1)"));
}

TEST(InlinedTest, StrictDecodingKnowsTheInlinedFields) {
  EXPECT_TRUE(FromJson<Shapes>(R"({"zone": "north", "racks": {}})", {.strict = true}).ok());
  EXPECT_THAT(FromJson<Shapes>(R"({"zone": "a", "zone": "b"})", {.strict = true}).error().ToString(),
              HasSubstr(R"(duplicate field "zone")"));
}

}  // namespace
}  // namespace kube::testing
