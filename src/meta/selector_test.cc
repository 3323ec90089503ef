#include "kube/meta/selector.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "kube/meta/v1.h"

namespace kube {
namespace {

using Op = SelectorOperator;

std::string Canonical(std::string_view text) {
  Result<Selector> s = Selector::Parse(text);
  return s ? s->ToString() : "error: " + s.error().ToString();
}

TEST(SelectorTest, ParsesEachOperator) {
  Result<Selector> s = Selector::Parse("a=1,b==2,c!=3,d in (x,y),e notin (z),f,!g,h>4,i<5");
  ASSERT_TRUE(s.ok()) << s.error().ToString();
  std::vector<Op> ops;
  for (const LabelRequirement& r : s->requirements()) ops.push_back(r.op());
  EXPECT_EQ(ops, (std::vector<Op>{Op::kEquals, Op::kDoubleEquals, Op::kNotEquals, Op::kIn, Op::kNotIn, Op::kExists, Op::kDoesNotExist,
                                  Op::kGreaterThan, Op::kLessThan}));
  EXPECT_EQ(s->ToString(), "a=1,b==2,c!=3,d in (x,y),e notin (z),f,!g,h>4,i<5");
}

TEST(SelectorTest, PrintsCanonically) {
  EXPECT_EQ(Canonical(""), "");
  EXPECT_EQ(Canonical(" \t\r\n "), "");
  EXPECT_EQ(Canonical("  zone  =  eu , app  ==  cart "), "app==cart,zone=eu");
  EXPECT_EQ(Canonical("tier in(c,a , b,a)"), "tier in (a,b,c)");
  EXPECT_EQ(Canonical("tier notin(  x  )"), "tier notin (x)");
  EXPECT_EQ(Canonical("! legacy"), "!legacy");
  EXPECT_EQ(Canonical("b,a,!c"), "a,b,!c");
  EXPECT_EQ(Canonical("shop.example/Tier_1=Front.End-2"), "shop.example/Tier_1=Front.End-2");
  EXPECT_EQ(Canonical("weight > 10"), "weight>10");
}

TEST(SelectorTest, KeepsTheOrderOfRequirementsOnOneKey) { EXPECT_EQ(Canonical("b!=3,a=9,b!=1,b!=2"), "a=9,b!=3,b!=1,b!=2"); }

TEST(SelectorTest, ReadsMissingValuesAsEmpty) {
  EXPECT_EQ(Canonical("a="), "a=");
  EXPECT_EQ(Canonical("a= ,b"), "a=,b");
  EXPECT_EQ(Canonical("a!="), "a!=");
  EXPECT_EQ(Canonical("a in ()"), "a in ()");
  EXPECT_EQ(Canonical("a in (,)"), "a in ()");
  EXPECT_EQ(Canonical("a in (,,x,,)"), "a in (,x)");
  EXPECT_EQ(Canonical("a notin (x,)"), "a notin (,x)");
}

TEST(SelectorTest, AcceptsKeywordsAsKeysAndValues) {
  EXPECT_EQ(Canonical("in in (in,notin)"), "in in (in,notin)");
  EXPECT_EQ(Canonical("notin notin (in)"), "notin notin (in)");
  EXPECT_EQ(Canonical("in"), "in");
  EXPECT_EQ(Canonical("!notin"), "!notin");
  EXPECT_EQ(Canonical("a=in"), "a=in");
}

TEST(SelectorTest, ParsesItsOwnOutput) {
  for (const char* text : {"a in (,x,y),b,!c,d!=,e>5", "z=1,y!=2,x==3", ""}) {
    Result<Selector> first = Selector::Parse(text);
    ASSERT_TRUE(first.ok());
    Result<Selector> again = Selector::Parse(first->ToString());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*first, *again);
  }
}

TEST(SelectorTest, RefusesWhatIsNoSelector) {
  for (const char* text :
       {",",      "a,",        ",a",       "a,,b",       "=",         "!",          "!,a",    "a b",  "a in",      "a in b",
        "a in (", "a in (b",   "a in (b,", "a in (b c)", "a in (b))", "a in (b=c)", "a in !", "!a=b", "!a in (b)", "a==!b",
        "a===b",  "a=b c",     "a=(b)",    "a!b",        "(a)",       "a)",         "a>",     "a>x",  "a<1.5",     "a>9223372036854775808",
        "a>-1",   "-a",        "a-=b",     "a=b-",       "a=b/c",     "a/b/c",      "/a",     "a/",   "A/b",       "a=\"b\"",
        "a='b'",  "a\xc3\xa9", "a&&b",     "a;b"}) {
    Result<Selector> s = Selector::Parse(text);
    EXPECT_FALSE(s.ok()) << text << " gave " << s->ToString();
    if (!s.ok()) {
      EXPECT_EQ(s.error().kind(), ErrorKind::kInvalid);
      EXPECT_NE(s.error().message().find("offset "), std::string::npos) << s.error().message();
    }
  }
}

TEST(SelectorTest, RefusesEmbeddedNul) {
  EXPECT_FALSE(Selector::Parse(std::string_view("a\0", 2)).ok());
  EXPECT_FALSE(Selector::Parse(std::string_view("a=b\0,c", 6)).ok());
  EXPECT_FALSE(Selector::Parse(std::string_view("\0", 1)).ok());
}

TEST(SelectorTest, EnforcesLengths) {
  std::string n63(63, 'n'), n64(64, 'n'), p253(253, 'p'), p254(254, 'p');
  EXPECT_TRUE(Selector::Parse(p253 + "/" + n63 + "=" + n63).ok());
  EXPECT_FALSE(Selector::Parse(n64).ok());
  EXPECT_FALSE(Selector::Parse(p254 + "/a").ok());
  EXPECT_FALSE(Selector::Parse("a=" + n64).ok());
  EXPECT_FALSE(Selector::Parse("a in (x," + n64 + ")").ok());
}

TEST(SelectorTest, NamesTheOffsetOfAnError) {
  auto message = [](std::string_view text) { return Selector::Parse(text).error().message(); };
  EXPECT_EQ(message("app in (web"), "label selector: offset 11: expected ',' or ')', found the end");
  EXPECT_EQ(message("app=web,tier ~ x"), "label selector: offset 13: expected one of in, notin, =, ==, !=, >, <, found \"~\"");
  EXPECT_EQ(message("app=web,"), "label selector: offset 8: expected a label key or '!', found the end");
  EXPECT_EQ(message("app=web)"), "label selector: offset 7: expected ',' or the end, found \")\"");
  EXPECT_EQ(message("a=b, -c=d").find("label selector: offset 5: label key \"-c\""), 0U) << message("a=b, -c=d");
  EXPECT_EQ(message("a in (b, c_)").find("label selector: offset 9: label value \"c_\""), 0U) << message("a in (b, c_)");
  EXPECT_EQ(message("n > many").find("label selector: offset 4: operator 'gt'"), 0U) << message("n > many");
}

bool Matches(std::string_view selector, const Map<String>& labels) {
  Result<Selector> s = Selector::Parse(selector);
  EXPECT_TRUE(s.ok()) << selector;
  return s.ok() && s->Matches(labels);
}

TEST(SelectorTest, MatchesEquality) {
  const Map<String> labels = {{"app", "cart"}, {"tier", ""}};
  EXPECT_TRUE(Matches("", labels));
  EXPECT_TRUE(Matches("app=cart", labels));
  EXPECT_TRUE(Matches("app==cart,tier=", labels));
  EXPECT_FALSE(Matches("app=Cart", labels));
  EXPECT_FALSE(Matches("zone=", labels));
  EXPECT_FALSE(Matches("app!=cart", labels));
  EXPECT_TRUE(Matches("app!=order", labels));
  EXPECT_TRUE(Matches("zone!=eu", labels));
}

TEST(SelectorTest, MatchesSets) {
  const Map<String> labels = {{"app", "cart"}, {"tier", ""}};
  EXPECT_TRUE(Matches("app in (cart,order)", labels));
  EXPECT_FALSE(Matches("app in (order)", labels));
  EXPECT_FALSE(Matches("zone in ()", labels));
  EXPECT_TRUE(Matches("tier in ()", labels));
  EXPECT_TRUE(Matches("app notin (order)", labels));
  EXPECT_FALSE(Matches("app notin (order,cart)", labels));
  EXPECT_TRUE(Matches("zone notin (eu)", labels));
  EXPECT_TRUE(Matches("app,tier,!zone", labels));
  EXPECT_FALSE(Matches("!app", labels));
  EXPECT_FALSE(Matches("zone", labels));
}

TEST(SelectorTest, ComparesIntegers) {
  const Map<String> labels = {
      {"n", "10"}, {"minus", "-3"}, {"plus", "+7"}, {"word", "x"}, {"big", "9223372036854775807"}, {"huge", "9223372036854775808"}};
  EXPECT_TRUE(Matches("n>9", labels));
  EXPECT_FALSE(Matches("n>10", labels));
  EXPECT_TRUE(Matches("n<11", labels));
  EXPECT_FALSE(Matches("n<10", labels));
  EXPECT_TRUE(Matches("minus<0", labels));
  EXPECT_TRUE(Matches("plus>6", labels));
  EXPECT_FALSE(Matches("word>0", labels));
  EXPECT_FALSE(Matches("word<0", labels));
  EXPECT_FALSE(Matches("absent<5", labels));
  EXPECT_TRUE(Matches("big>9223372036854775806", labels));
  EXPECT_FALSE(Matches("huge>0", labels));
}

TEST(SelectorTest, EverythingAndNothing) {
  const Map<String> labels = {{"a", "b"}};
  EXPECT_TRUE(Selector().Matches(labels));
  EXPECT_TRUE(Selector::Everything().Matches({}));
  EXPECT_TRUE(Selector::Everything().empty());
  EXPECT_FALSE(Selector::Nothing().Matches(labels));
  EXPECT_FALSE(Selector::Nothing().Matches({}));
  EXPECT_FALSE(Selector::Nothing().empty());
  EXPECT_TRUE(Selector::Nothing().MatchesNothing());
  EXPECT_FALSE(Selector::Everything() == Selector::Nothing());
}

TEST(SelectorTest, FromLabelsRequiresAllOfThem) {
  const Map<String> labels = {{"b", "2"}, {"a", "1"}};
  Selector s = Selector::FromLabels(labels);
  EXPECT_EQ(s.ToString(), "a=1,b=2");
  EXPECT_TRUE(s.Matches({{"a", "1"}, {"b", "2"}, {"c", "3"}}));
  EXPECT_FALSE(s.Matches({{"a", "1"}}));
  EXPECT_TRUE(Selector::FromLabels({}).empty());
  EXPECT_EQ(*Selector::FromCheckedLabels(labels), s);
  EXPECT_FALSE(Selector::FromCheckedLabels({{"a", "not ok"}}).ok());
  EXPECT_TRUE(Selector::FromLabels({{"a", "not ok"}}).Matches({{"a", "not ok"}}));
}

TEST(SelectorTest, AndAddsRequirements) {
  Selector s = *Selector::Parse("m=1");
  Selector both = s.And({*LabelRequirement::Create("z", Op::kExists, {}), *LabelRequirement::Create("a", Op::kIn, {"y", "x"})});
  EXPECT_EQ(both.ToString(), "a in (x,y),m=1,z");
  EXPECT_EQ(s.ToString(), "m=1");
  EXPECT_TRUE(Selector::Nothing().And({*LabelRequirement::Create("z", Op::kExists, {})}).MatchesNothing());
}

TEST(SelectorTest, FindsExactMatches) {
  Selector s = *Selector::Parse("a=1,b in (2),c in (3,4),d!=5,e,f==6,g=7,g=8");
  EXPECT_EQ(s.RequiresExactMatch("a"), String("1"));
  EXPECT_EQ(s.RequiresExactMatch("b"), String("2"));
  EXPECT_EQ(s.RequiresExactMatch("c"), std::nullopt);
  EXPECT_EQ(s.RequiresExactMatch("d"), std::nullopt);
  EXPECT_EQ(s.RequiresExactMatch("e"), std::nullopt);
  EXPECT_EQ(s.RequiresExactMatch("f"), String("6"));
  EXPECT_EQ(s.RequiresExactMatch("g"), String("7"));
  EXPECT_EQ(s.RequiresExactMatch("absent"), std::nullopt);
  EXPECT_EQ(Selector::Nothing().RequiresExactMatch("a"), std::nullopt);
}

TEST(LabelRequirementTest, ChecksTheNumberOfValues) {
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kIn, {}).ok());
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kNotIn, {}).ok());
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kEquals, {}).ok());
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kNotEquals, {"1", "2"}).ok());
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kExists, {"1"}).ok());
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kDoesNotExist, {""}).ok());
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kGreaterThan, {"1", "2"}).ok());
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kLessThan, {"one"}).ok());
  EXPECT_FALSE(LabelRequirement::Create("bad key", Op::kExists, {}).ok());
  EXPECT_FALSE(LabelRequirement::Create("a", Op::kIn, {"ok", "not ok"}).ok());
  EXPECT_EQ(LabelRequirement::Create("a", Op::kIn, {"b", "a"})->ToString(), "a in (a,b)");
}

TEST(LabelSelectorTest, EmptyMatchesEverythingAndAbsentNothing) {
  EXPECT_TRUE(Selector::FromLabelSelector(meta::v1::LabelSelector{})->empty());
  Box<meta::v1::LabelSelector> box;
  EXPECT_TRUE(Selector::FromLabelSelector(box)->MatchesNothing());
  box.Mutable();
  EXPECT_TRUE(Selector::FromLabelSelector(box)->empty());
}

TEST(LabelSelectorTest, ConvertsLabelsAndExpressions) {
  meta::v1::LabelSelector api;
  api.match_labels = {{"app", "cart"}};
  api.match_expressions = {{.key = "tier", .operator_ = "In", .values = {"front", "back"}},
                           {.key = "zone", .operator_ = "NotIn", .values = {"eu"}},
                           {.key = "owner", .operator_ = "Exists"},
                           {.key = "legacy", .operator_ = "DoesNotExist"}};
  Result<Selector> s = Selector::FromLabelSelector(api);
  ASSERT_TRUE(s.ok()) << s.error().ToString();
  EXPECT_EQ(s->ToString(), "app=cart,!legacy,owner,tier in (back,front),zone notin (eu)");
  EXPECT_TRUE(s->Matches({{"app", "cart"}, {"tier", "back"}, {"owner", ""}}));
}

TEST(LabelSelectorTest, RefusesBadExpressionsAndNamesThem) {
  meta::v1::LabelSelector api;
  api.match_expressions = {{.key = "a", .operator_ = "Exists"}, {.key = "b", .operator_ = "Gt", .values = {"1"}}};
  Result<Selector> s = Selector::FromLabelSelector(api);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().ToString().find("matchExpressions[1]"), std::string::npos) << s.error().ToString();
  api.match_expressions = {{.key = "a", .operator_ = "In"}};
  EXPECT_FALSE(Selector::FromLabelSelector(api).ok());
  api.match_expressions.clear();
  api.match_labels = {{"a b", "c"}};
  EXPECT_NE(Selector::FromLabelSelector(api).error().ToString().find("matchLabels"), std::string::npos);
}

TEST(LabelSelectorTest, ComesBackFromASelector) {
  Result<meta::v1::LabelSelector> api = Selector::Parse("a=1,b==2,c in (x,y),d notin (z),e,!f,g!=3")->ToLabelSelector();
  ASSERT_TRUE(api.ok()) << api.error().ToString();
  EXPECT_EQ(api->match_labels, (Map<String>{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(api->match_expressions.size(), 5U);
  Result<Selector> back = Selector::FromLabelSelector(*api);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->ToString(), "a=1,b=2,c in (x,y),d notin (z),e,!f,g notin (3)");
}

TEST(LabelSelectorTest, RefusesWhatItCannotSay) {
  EXPECT_FALSE(Selector::Parse("a>1")->ToLabelSelector().ok());
  EXPECT_FALSE(Selector::Parse("a=1,a=2")->ToLabelSelector().ok());
  EXPECT_TRUE(Selector::Parse("a=1,a==1")->ToLabelSelector().ok());
  EXPECT_FALSE(Selector::Nothing().ToLabelSelector().ok());
}

TEST(SelectorTest, NamesItsOperators) {
  EXPECT_EQ(ToString(Op::kNotIn), "notin");
  EXPECT_EQ(ToString(Op::kGreaterThan), "gt");
  EXPECT_EQ(ToString(Op::kDoesNotExist), "!");
}

}  // namespace
}  // namespace kube
