#include "kube/codec/field_selection.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codec/interner_test_util.h"
#include "codec/patch_test_types.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"

namespace kube {
namespace {

using patch_test::Secret;
using patch_test::SecretList;
using patch_test::Thing;

FieldSelection Without(std::initializer_list<std::string_view> paths) {
  Result<FieldSelection> fields = FieldSelection::Without(paths);
  EXPECT_TRUE(fields.ok()) << fields.error().ToString();
  return fields.ok() ? *fields : FieldSelection();
}
FieldSelection Only(std::initializer_list<std::string_view> paths) {
  Result<FieldSelection> fields = FieldSelection::Only(paths);
  EXPECT_TRUE(fields.ok()) << fields.error().ToString();
  return fields.ok() ? *fields : FieldSelection();
}

// ---- Making one ----

TEST(FieldSelectionTest, TheDefaultIsEverything) {
  EXPECT_TRUE(FieldSelection().everything());
  EXPECT_EQ(FieldSelection().ToString(), "everything");
  EXPECT_TRUE(Without({}).everything());
  EXPECT_EQ(Without({}), FieldSelection());
  EXPECT_FALSE(FieldSelection::WithoutManagedFields().everything());
  EXPECT_FALSE(Only({}).everything());
}

TEST(FieldSelectionTest, TextIsTheSameForEqualSelections) {
  EXPECT_EQ(FieldSelection::WithoutManagedFields().ToString(), "without metadata.managedFields");
  EXPECT_EQ(Without({"status.conditions", "metadata.managedFields"}).ToString(), "without metadata.managedFields, status.conditions");
  EXPECT_EQ(Without({"status", "status.conditions", "status"}).ToString(), "without status");
  EXPECT_EQ(Without({"metadata.annotations['a.b/c']"}).ToString(), "without metadata.annotations['a.b/c']");
  EXPECT_EQ(Without({"metadata['annotations']"}).ToString(), "without metadata.annotations");
  EXPECT_EQ(Only({}).ToString(), "only metadata");
  EXPECT_EQ(Only({"metadata", "kind", "metadata.name"}).ToString(), "only metadata");
  EXPECT_EQ(Only({"status.phase", "spec.nodeName"}).ToString(), "only spec.nodeName, status.phase");
  EXPECT_EQ(Only({"spec", "spec.nodeName"}).ToString(), "only spec");
  EXPECT_EQ(*FieldSelection::Without(std::vector<std::string>{"b", "a"}), Without({"a", "b"}));
  EXPECT_EQ(*FieldSelection::Only(std::vector<std::string>{"b.c", "a"}), Only({"a", "b.c"}));
  EXPECT_FALSE(Without({"a"}) == Without({"b"}));
  EXPECT_FALSE(Without({"a"}) == Only({"a"}));
  EXPECT_FALSE(Without({"a.b"}) == Without({"['a.b']"}));
}

TEST(FieldSelectionTest, AndKeepsWhatBothKeep) {
  EXPECT_EQ(Without({"a"}).And(Without({"b.c"})), Without({"a", "b.c"}));
  EXPECT_EQ(Without({"a.b"}).And(Without({"a"})), Without({"a"}));
  EXPECT_EQ(Only({"spec", "status"}).And(Only({"spec.x", "data"})), Only({"spec.x"}));
  FieldSelection both = Only({"spec.nodeName"}).And(FieldSelection::WithoutManagedFields());
  EXPECT_EQ(both.ToString(), "only spec.nodeName; without metadata.managedFields");
  EXPECT_EQ(both, FieldSelection::WithoutManagedFields().And(Only({"spec.nodeName"})));
  EXPECT_EQ(both.And(both), both);
  EXPECT_EQ(both.And(FieldSelection()), both);
  EXPECT_EQ(FieldSelection().And(both), both);
  EXPECT_EQ(Only({"spec"}).And(Without({"spec.x"})).ToString(), "only spec; without spec.x");
  EXPECT_EQ(Only({"spec.x"}).And(Without({"spec.x"})).ToString(), "only spec.{}");
  EXPECT_EQ(Only({"spec.x"}).And(Only({"spec.y"})), Only({"spec.x"}).And(Without({"spec.x"})));
  EXPECT_EQ(Only({"spec.x"}).And(Without({"spec"})), Only({}));
}

TEST(FieldSelectionTest, MalformedPathsAreNamed) {
  struct {
    const char* path;
    const char* why;
  } cases[] = {{"", "it is empty"},
               {".", "a name is empty"},
               {"a.", "a name is empty"},
               {".a", "a name is empty"},
               {"a..b", "a name is empty"},
               {"a.['b']", "a name is empty"},
               {"a[]", "brackets hold a name"},
               {"a[0].b", "lists are passed through"},
               {"a[*]", "lists are passed through"},
               {"a['']", "brackets hold a name"},
               {"a['b", "brackets hold a name"},
               {"a['b'c", "brackets hold a name"},
               {"a['b']c", "expected '.' or '['"},
               {"a b", "expected '.' or '['"},
               {"a]", "expected '.' or '['"}};
  for (const auto& [path, why] : cases) {
    for (const Result<FieldSelection>& made : {FieldSelection::Without({path}), FieldSelection::Only({"good", path})}) {
      ASSERT_FALSE(made.ok()) << path;
      EXPECT_EQ(made.error().kind(), ErrorKind::kInvalid);
      EXPECT_NE(made.error().message().find("\"" + std::string(path) + "\""), std::string::npos) << made.error().message();
      EXPECT_NE(made.error().message().find(why), std::string::npos) << made.error().message();
    }
  }
  std::string deep = "a";
  for (int i = 0; i < 63; ++i) deep += ".a";
  EXPECT_TRUE(FieldSelection::Without({deep}).ok());
  EXPECT_FALSE(FieldSelection::Without({deep + ".a"}).ok());
}

TEST(FieldSelectionTest, WhatCachesNeedCannotBeDropped) {
  for (const char* path : {"metadata", "apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid",
                           "metadata.resourceVersion", "metadata.labels", "metadata.labels.app", "metadata['labels']['a.b/c']"}) {
    Result<FieldSelection> made = FieldSelection::Without({path});
    ASSERT_FALSE(made.ok()) << path;
    EXPECT_EQ(made.error().kind(), ErrorKind::kInvalid);
    EXPECT_NE(made.error().message().find(path), std::string::npos);
  }
  EXPECT_TRUE(FieldSelection::Without({"metadata.annotations", "metadata.ownerReferences", "spec.metadata", "spec.kind"}).ok());
}

// ---- Decoding with one ----

constexpr std::string_view kThing = R"({"apiVersion":"test.example.com/v1","kind":"Thing",
  "metadata":{"name":"n","labels":{"app":"web"},"annotations":{"a.b/c":"long enough to be on the heap","d":"e"},"finalizers":["f"]},
  "spec":{"replicas":3,
          "containers":[{"name":"one","image":"registry.example.com/one","args":["x"],"ports":[{"port":1,"name":"http"}]},
                        {"name":"two","image":"registry.example.com/two","limits":{"cpu":"1"}}],
          "byName":{"k":{"name":"k-name","image":"i"},"l":{"name":"l-name","image":"j"}},
          "strategy":{"type":"Rolling","surge":1},
          "raw":{"any":{"thing":[1,2]}},"amount":"1Gi"}})";

enum class Format { kJson, kProtobuf };

class FieldSelectionDecodeTest : public ::testing::TestWithParam<std::tuple<Format, bool>> {
 protected:
  // Decodes `text` with the selection, three times over, and `wanted` without one.
  void Expect(std::string_view text, const FieldSelection& fields, std::string_view wanted) {
    SCOPED_TRACE(fields.ToString());
    Result<Thing> whole = FromJson<Thing>(text);
    ASSERT_TRUE(whole.ok()) << whole.error().ToString();
    Result<Thing> want = FromJson<Thing>(wanted);
    ASSERT_TRUE(want.ok()) << want.error().ToString();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(Json(Decode(*whole, text, {.interner = interner(), .fields = &fields})), Json(*want));
      EXPECT_EQ(Json(Decode(*whole, text, {.interner = interner()})), Json(*whole));
    }
  }
  Thing Decode(const Thing& whole, std::string_view text, const DecodeOptions& options) {
    Result<Thing> got =
        std::get<0>(GetParam()) == Format::kJson ? FromJson<Thing>(text, options) : FromProtobuf<Thing>(*ToProtobuf(whole), options);
    EXPECT_TRUE(got.ok()) << got.error().ToString();
    return got.ok() ? *got : Thing();
  }
  static std::string Json(const Thing& thing) { return *ToJson(thing); }
  Interner* interner() { return std::get<1>(GetParam()) ? &interner_ : nullptr; }

 private:
  Interner interner_;
};

TEST_P(FieldSelectionDecodeTest, EverythingIsEverything) { Expect(kThing, FieldSelection(), kThing); }

TEST_P(FieldSelectionDecodeTest, FieldsOfAStructAreDropped) {
  Expect(R"({"metadata":{"name":"n","annotations":{"a":"b"},"finalizers":["f"]},"spec":{"replicas":3,"paused":true}})",
         Without({"metadata.annotations", "metadata.finalizers", "spec.paused", "status", "spec.nothing.of.this.name"}),
         R"({"metadata":{"name":"n"},"spec":{"replicas":3}})");
  Expect(R"({"metadata":{"name":"n"},"spec":{"replicas":3}})", Without({"spec"}), R"({"metadata":{"name":"n"}})");
}

TEST_P(FieldSelectionDecodeTest, PathsGoThroughLists) {
  Expect(R"({"spec":{"containers":[{"name":"a","args":["x","y"],"image":"i"},{"name":"b","args":["z"]}]}})",
         Without({"spec.containers.args", "spec.containers.ports.name"}),
         R"({"spec":{"containers":[{"name":"a","image":"i"},{"name":"b"}]}})");
  Expect(R"({"spec":{"containers":[{"name":"a","ports":[{"port":1,"name":"x"},{"port":2,"name":"y"}]}]}})",
         Without({"spec.containers.ports.name"}), R"({"spec":{"containers":[{"name":"a","ports":[{"port":1},{"port":2}]}]}})");
}

TEST_P(FieldSelectionDecodeTest, KeysOfMapsAreNames) {
  Expect(kThing, Only({}).And(Without({"metadata.annotations['a.b/c']"})),
         R"({"metadata":{"name":"n","labels":{"app":"web"},"annotations":{"d":"e"},"finalizers":["f"]}})");
  Expect(R"({"metadata":{"annotations":{"a":"b"}}})", Without({"metadata.annotations.a"}), R"({"metadata":{}})");
  Expect(R"({"spec":{"byName":{"k":{"name":"1","image":"2"},"l":{"name":"3","image":"4"},"m":{"image":"5"}}}})",
         Without({"spec.byName.k.image", "spec.byName.m"}), R"({"spec":{"byName":{"k":{"name":"1"},"l":{"name":"3","image":"4"}}}})");
  Expect(R"({"spec":{"byName":{"k":{"name":"1","image":"2"},"l":{"name":"3","image":"4"}}}})", Only({"spec.byName.l.name"}),
         R"({"spec":{"byName":{"l":{"name":"3"}}}})");
}

TEST_P(FieldSelectionDecodeTest, OnlyKeepsWhatIsNamedAndMetadata) {
  Expect(kThing, Only({"spec.containers.image", "spec.strategy.surge"}),
         R"({"metadata":{"name":"n","labels":{"app":"web"},"annotations":{"a.b/c":"long enough to be on the heap","d":"e"},
             "finalizers":["f"]},
             "spec":{"containers":[{"image":"registry.example.com/one"},{"image":"registry.example.com/two"}],"strategy":{"surge":1}}})");
}

TEST_P(FieldSelectionDecodeTest, AnObjectOfWhichNothingIsWantedIsThereAndEmpty) {
  Expect(R"({"spec":{"strategy":{"type":"Rolling"},"containers":[{"name":"a"}]}})", Without({"spec.strategy.type", "spec.containers.name"}),
         R"({"spec":{"strategy":{},"containers":[{}]}})");
}

TEST_P(FieldSelectionDecodeTest, PathsIntoTextKeepIt) {
  Expect(R"({"spec":{"raw":{"any":{"thing":[1,2]}}}})", Without({"spec.raw.any"}), R"({"spec":{"raw":{"any":{"thing":[1,2]}}}})");
  Expect(R"({"spec":{"raw":{"any":{"thing":[1,2]}},"paused":true}})", Without({"spec.raw"}), R"({"spec":{"paused":true}})");
}

TEST_P(FieldSelectionDecodeTest, OneInternerServesManySelections) {
  if (interner() == nullptr) return;
  Result<Thing> whole = FromJson<Thing>(kThing);
  ASSERT_TRUE(whole.ok());
  FieldSelection selections[] = {Without({"spec.containers.args"}), Without({"spec.containers.image"}), Only({"spec.containers.name"}),
                                 Without({"spec.strategy.surge"})};
  std::vector<std::string> first;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < std::size(selections); ++i) {
      std::string alone = Json(Decode(*whole, kThing, {.fields = &selections[i]}));
      EXPECT_EQ(Json(Decode(*whole, kThing, {.interner = interner(), .fields = &selections[i]})), alone) << selections[i].ToString();
    }
  }
  // Parts under a node of the selection are shared like others.
  const auto selected = [&] { return Decode(*whole, kThing, {.interner = interner(), .fields = &selections[0]}); };
  const auto unselected = [&] { return Decode(*whole, kThing, {.interner = interner()}); };
  EXPECT_TRUE(SharedBySome(selected, [](const Thing& a, const Thing& b) { return a.spec.containers.SharesWith(b.spec.containers); }));
  EXPECT_FALSE(selected().spec.containers.SharesWith(unselected().spec.containers));
  bool select = false;
  const auto in_turn = [&] { return (select = !select) ? selected() : unselected(); };
  EXPECT_TRUE(
      SharedBySome(in_turn, [](const Thing& a, const Thing& b) { return a.metadata.annotations.SharesWith(b.metadata.annotations); }));
}

INSTANTIATE_TEST_SUITE_P(Formats, FieldSelectionDecodeTest,
                         ::testing::Combine(::testing::Values(Format::kJson, Format::kProtobuf), ::testing::Bool()),
                         [](const auto& format) {
                           return std::string(std::get<0>(format.param) == Format::kJson ? "Json" : "Protobuf") +
                                  (std::get<1>(format.param) ? "WithInterner" : "");
                         });

TEST(FieldSelectionJsonTest, UnknownMembersAreSelectedByName) {
  constexpr std::string_view text = R"({"spec":{"replicas":1,"future":{"x":1},"other":2},"status":{"y":3}})";
  FieldSelection fields = Without({"spec.future", "status"});
  EXPECT_EQ(*ToJson(*FromJson<Thing>(text, {.fields = &fields}), {.type_header = false}), R"({"spec":{"replicas":1,"other":2}})");
  fields = Only({"spec.future"});
  EXPECT_EQ(*ToJson(*FromJson<Thing>(text, {.fields = &fields}), {.type_header = false}), R"({"spec":{"future":{"x":1}}})");
}

TEST(FieldSelectionJsonTest, EscapedNamesAreTheSameNames) {
  FieldSelection fields = Without({"spec.replicas", "metadata.annotations.d"});
  Result<Thing> thing =
      FromJson<Thing>(R"({"spec":{"\u0072eplicas":3,"p\u0061used":true},"metadata":{"annotations":{"\u0064":"e"}}})", {.fields = &fields});
  ASSERT_TRUE(thing.ok()) << thing.error().ToString();
  EXPECT_FALSE(thing->spec.replicas.has_value());
  EXPECT_TRUE(thing->spec.paused);
  EXPECT_TRUE(thing->metadata.annotations.empty());
}

TEST(FieldSelectionJsonTest, WhatIsDroppedIsNotChecked) {
  FieldSelection fields = Without({"spec.replicas", "spec.future"});
  constexpr std::string_view text = R"({"spec":{"replicas":"of another type","future":[{"a":1}],"paused":true}})";
  EXPECT_FALSE(FromJson<Thing>(text).ok());
  Result<Thing> thing = FromJson<Thing>(text, {.strict = true, .fields = &fields});
  ASSERT_TRUE(thing.ok()) << thing.error().ToString();
  EXPECT_TRUE(thing->spec.paused);
  EXPECT_FALSE(FromJson<Thing>(R"({"spec":{"unknown":1}})", {.strict = true, .fields = &fields}).ok());
}

TEST(FieldSelectionJsonTest, BrokenTextAroundDroppedMembersIsAnError) {
  FieldSelection fields = Without({"spec.replicas", "a", "spec.selector.k"});
  for (const char* text :
       {R"({"spec":{"replicas":}})", R"({"spec":{"replicas":]}})", R"({"spec":{"replicas":,}})", R"({"spec":{"replicas"}})",
        R"({"spec":{"replicas":{)", R"({"spec":{"replicas":[1,2})", R"({"spec":{"replicas":)", R"({"a":::})",
        R"({"spec":{"replicas":1 2}})", R"({"spec":{"selector":{"k":}}})", R"({"spec":{"selector":{"k" 1}}})"}) {
    EXPECT_FALSE(FromJson<Thing>(text, {.fields = &fields}).ok()) << text;
    EXPECT_FALSE(ParseJson(text, {.fields = &fields}).ok()) << text;
  }
}

TEST(FieldSelectionJsonTest, ValuesAreReadWithoutWhatIsDropped) {
  FieldSelection fields = Without({"spec.containers.args", "metadata.annotations['a.b/c']", "spec.raw.any"});
  Result<Value> got = ParseJson(kThing, {.fields = &fields});
  ASSERT_TRUE(got.ok()) << got.error().ToString();
  Value want = *ParseJson(kThing);
  want["metadata"]["annotations"].MutableObject().Erase("a.b/c");
  want["spec"]["containers"].MutableList()[0].MutableObject().Erase("args");
  want["spec"]["raw"].MutableObject().Erase("any");
  EXPECT_EQ(ToJson(*got), ToJson(want));
}

TEST(FieldSelectionJsonTest, YamlIsDecodedWithItToo) {
  FieldSelection fields = Without({"spec.replicas"});
  Result<Thing> thing = FromYaml<Thing>("spec:\n  replicas: 3\n  paused: true\n", {.fields = &fields});
  ASSERT_TRUE(thing.ok()) << thing.error().ToString();
  EXPECT_FALSE(thing->spec.replicas.has_value());
  EXPECT_TRUE(thing->spec.paused);
  Result<std::vector<Value>> values = ParseYaml("spec:\n  replicas: 3\n  paused: true\n", {.fields = &fields});
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(ToJson((*values)[0]), R"({"spec":{"paused":true}})");
}

TEST(FieldSelectionListTest, InAListItIsAboutTheItems) {
  constexpr std::string_view text =
      R"({"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"name":"a"},"data":{"x":"AAAA"},"type":"t"},{"type":"u"}]})";
  Result<SecretList> whole = FromJson<SecretList>(text);
  ASSERT_TRUE(whole.ok()) << whole.error().ToString();
  FieldSelection fields = Without({"data", "items"});
  for (const Result<SecretList>& list :
       {FromJson<SecretList>(text, {.fields = &fields}), FromProtobuf<SecretList>(*ToProtobuf(*whole), {.fields = &fields})}) {
    ASSERT_TRUE(list.ok()) << list.error().ToString();
    ASSERT_EQ(list->items.size(), 2U);
    EXPECT_TRUE(list->items[0].data.empty());
    EXPECT_EQ(list->items[0].type, "t");
    EXPECT_EQ(list->items[0].metadata.name, "a");
    EXPECT_EQ(list->items[1].type, "u");
  }
  FieldSelection of_items = fields.ForItems();
  EXPECT_EQ(ToJson(*ParseJson(text, {.fields = &of_items})),
            R"({"apiVersion":"v1","items":[{"metadata":{"name":"a"},"type":"t"},{"type":"u"}],"kind":"SecretList"})");
  EXPECT_TRUE(FieldSelection().ForItems().everything());
  EXPECT_FALSE(Only({"a"}).ForItems() == Only({"b"}).ForItems());
}

TEST(FieldSelectionProtobufTest, UnknownFieldsGoOnlyWhereNothingElseIsWanted) {
  // Field 99 in the spec (2), and in its strategy.
  Thing thing;
  thing.spec.paused = true;
  std::string unknown("\x9a\x06\x03xyz", 6);
  thing.spec.unknown_fields.set_protobuf(unknown);
  thing.spec.strategy.Mutable().type = "t";
  thing.spec.strategy.Mutable().unknown_fields.set_protobuf(unknown);
  std::string bytes = *ToProtobuf(thing);
  FieldSelection without = Without({"spec.paused"});
  Result<Thing> kept = FromProtobuf<Thing>(bytes, {.fields = &without});
  ASSERT_TRUE(kept.ok()) << kept.error().ToString();
  EXPECT_EQ(kept->spec.unknown_fields.protobuf(), unknown);
  FieldSelection only = Only({"spec.strategy"});
  Result<Thing> some = FromProtobuf<Thing>(bytes, {.strict = false, .fields = &only});
  ASSERT_TRUE(some.ok()) << some.error().ToString();
  EXPECT_TRUE(some->spec.unknown_fields.empty());
  EXPECT_EQ(some->spec.strategy->unknown_fields.protobuf(), unknown);
}

TEST(FieldSelectionProtobufTest, AMapEntryMayHaveItsValueFirst) {
  Thing thing;
  thing.metadata.annotations = {{"k", "v"}, {"l", "w"}};
  std::string bytes = *ToProtobuf(thing, {.envelope = false});
  std::string entry("\x0a\x01k\x12\x01v", 6);
  std::size_t at = bytes.find(entry);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, entry.size(), std::string("\x12\x01v\x0a\x01k", 6));
  FieldSelection fields = Without({"metadata.annotations.k"});
  Result<Thing> got = FromProtobuf<Thing>(bytes, {.fields = &fields});
  ASSERT_TRUE(got.ok()) << got.error().ToString();
  EXPECT_EQ(got->metadata.annotations.size(), 1U);
  EXPECT_EQ(got->metadata.annotations["l"], "w");
}

TEST(FieldSelectionProtobufTest, BrokenBytesAreErrorsOrDropped) {
  Result<Thing> thing = FromJson<Thing>(kThing);
  ASSERT_TRUE(thing.ok());
  std::string bytes = *ToProtobuf(*thing, {.envelope = false});
  FieldSelection selections[] = {Without({"spec.containers.args", "metadata.annotations.d"}), Only({"spec.byName.k"}), Without({"spec"})};
  for (const FieldSelection& fields : selections) {
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      (void)FromProtobuf<Thing>(bytes.substr(0, cut), {.fields = &fields});  // sanitizers look on
      std::string flipped = bytes;
      flipped[cut] = static_cast<char>(~flipped[cut]);
      (void)FromProtobuf<Thing>(flipped, {.fields = &fields});
    }
  }
}

}  // namespace
}  // namespace kube
