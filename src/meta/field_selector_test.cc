#include "kube/meta/field_selector.h"

#include <gtest/gtest.h>

#include <string>

namespace kube {
namespace {

std::string Canonical(std::string_view text) {
  Result<FieldSelector> s = FieldSelector::Parse(text);
  return s ? s->ToString() : "error: " + s.error().ToString();
}

TEST(FieldSelectorTest, ParsesTerms) {
  Result<FieldSelector> s = FieldSelector::Parse("status.phase!=Running,metadata.name=web,spec.node==n1");
  ASSERT_TRUE(s.ok());
  ASSERT_EQ(s->requirements().size(), 3U);
  EXPECT_EQ(s->requirements()[0], (FieldRequirement{"metadata.name", "web", false}));
  EXPECT_EQ(s->requirements()[1], (FieldRequirement{"spec.node", "n1", false}));
  EXPECT_EQ(s->requirements()[2], (FieldRequirement{"status.phase", "Running", true}));
  EXPECT_EQ(s->ToString(), "metadata.name=web,spec.node=n1,status.phase!=Running");
}

TEST(FieldSelectorTest, PassesOverEmptyTerms) {
  EXPECT_EQ(Canonical(""), "");
  EXPECT_EQ(Canonical(",,a=b,"), "a=b");
  EXPECT_TRUE(FieldSelector::Parse(",")->empty());
  EXPECT_EQ(Canonical("=,a=b,!=,=="), "a=b");  // neither a field nor a value
}

TEST(FieldSelectorTest, KeepsBlanksAndEmptyParts) {
  EXPECT_EQ(Canonical(" a = b "), " a = b ");
  EXPECT_EQ(Canonical("a="), "a=");
  EXPECT_EQ(Canonical("=b"), "=b");
  EXPECT_EQ(Canonical("!=b"), "!=b");
}

TEST(FieldSelectorTest, UnescapesValues) {
  Result<FieldSelector> s = FieldSelector::Parse(R"(a=x\,y,b=p\=q,c=s\\t)");
  ASSERT_TRUE(s.ok()) << s.error().ToString();
  EXPECT_EQ(s->requirements()[0].value, "x,y");
  EXPECT_EQ(s->requirements()[1].value, "p=q");
  EXPECT_EQ(s->requirements()[2].value, R"(s\t)");
  EXPECT_EQ(s->ToString(), R"(a=x\,y,b=p\=q,c=s\\t)");
}

TEST(FieldSelectorTest, EscapesRoundTrip) {
  for (const char* value : {"", "plain", ",", "=", "\\", "a,b=c\\d", "\\\\,,=="}) {
    EXPECT_EQ(*UnescapeFieldValue(EscapeFieldValue(value)), value);
    FieldSelector s = FieldSelector::Equals("f", value);
    EXPECT_EQ(*FieldSelector::Parse(s.ToString()), s);
  }
}

TEST(FieldSelectorTest, RefusesBadTermsAndNamesTheOffset) {
  auto message = [](std::string_view text) { return FieldSelector::Parse(text).error().message(); };
  EXPECT_EQ(message("a=b,cd"), "field selector: offset 4: expected field=value or field!=value, found \"cd\"");
  EXPECT_EQ(message("a=b=c"), "field selector: offset 3: '=' in a value needs a backslash in front");
  EXPECT_EQ(message("a===b"), "field selector: offset 3: '=' in a value needs a backslash in front");
  EXPECT_EQ(message(R"(a=b\c)"), R"(field selector: offset 3: unknown escape "\\c")");
  EXPECT_EQ(message("a=b\\"), "field selector: offset 3: a backslash at the end of a value");
  EXPECT_FALSE(UnescapeFieldValue("a,b").ok());
}

TEST(FieldSelectorTest, MatchesMaps) {
  FieldSelector s = *FieldSelector::Parse("metadata.name=web,status.phase!=Running");
  EXPECT_TRUE(s.Matches({{"metadata.name", "web"}, {"status.phase", "Pending"}}));
  EXPECT_FALSE(s.Matches({{"metadata.name", "web"}, {"status.phase", "Running"}}));
  EXPECT_FALSE(s.Matches({{"metadata.name", "db"}}));
  EXPECT_TRUE(s.Matches({{"metadata.name", "web"}}));
  // What is absent compares as empty.
  EXPECT_TRUE(FieldSelector::Parse("x=")->Matches(Map<String>{}));
  EXPECT_FALSE(FieldSelector::Parse("x!=")->Matches(Map<String>{}));
}

TEST(FieldSelectorTest, MatchesByFunction) {
  FieldSelector s = FieldSelector::Equals("metadata.name", "web");
  EXPECT_TRUE(s.Matches([](std::string_view field) { return field == "metadata.name" ? std::string("web") : std::string(); }));
  EXPECT_FALSE(s.Matches([](std::string_view) { return std::string_view("db"); }));
}

TEST(FieldSelectorTest, EverythingAndNothing) {
  EXPECT_TRUE(FieldSelector().Matches(Map<String>{}));
  EXPECT_TRUE(FieldSelector::Everything().empty());
  EXPECT_FALSE(FieldSelector::Nothing().Matches(Map<String>{}));
  EXPECT_FALSE(FieldSelector::Nothing().empty());
  EXPECT_TRUE(FieldSelector::Nothing().MatchesNothing());
}

TEST(FieldSelectorTest, FindsExactMatches) {
  FieldSelector s = *FieldSelector::Parse("a=1,b!=2");
  EXPECT_EQ(s.RequiresExactMatch("a"), String("1"));
  EXPECT_EQ(s.RequiresExactMatch("b"), std::nullopt);
  EXPECT_EQ(s.RequiresExactMatch("c"), std::nullopt);
}

TEST(FieldSelectorTest, TransformsTerms) {
  FieldSelector s = *FieldSelector::Parse("name=web,drop=me,phase!=Running");
  Result<FieldSelector> changed = s.Transform([](std::string_view field, std::string_view value) -> Result<std::pair<String, String>> {
    if (field == "drop") return std::pair<String, String>{"", ""};
    return std::pair<String, String>{"x." + std::string(field), value};
  });
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->ToString(), "x.name=web,x.phase!=Running");
  Result<FieldSelector> failed = s.Transform([](std::string_view field, std::string_view) -> Result<std::pair<String, String>> {
    return Error::Invalid("no field " + std::string(field));
  });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "no field drop");
  EXPECT_TRUE(
      FieldSelector::Nothing()
          .Transform([](std::string_view, std::string_view) -> Result<std::pair<String, String>> { return std::pair<String, String>{}; })
          ->MatchesNothing());
}

TEST(FieldSelectorTest, AndsSelectors) {
  FieldSelector both = FieldSelector::Equals("a", "1").And(FieldSelector::NotEquals("b", "2"));
  EXPECT_EQ(both.ToString(), "a=1,b!=2");
  EXPECT_TRUE(both.And(FieldSelector::Nothing()).MatchesNothing());
  EXPECT_EQ(both.And(FieldSelector::Everything()), both);
  EXPECT_EQ(FieldSelector::FromFields({{"b", "2"}, {"a", "1"}}).ToString(), "a=1,b=2");
}

}  // namespace
}  // namespace kube
