#include "generate/cel_features.h"

#include <gtest/gtest.h>

namespace kube::generate {
namespace {

// "cidr(...) 31, sets.contains(...) 30"
std::string Found(std::string_view expression) {
  std::string out;
  for (const CelFeature& feature : FeaturesOf(expression)) {
    out += (out.empty() ? "" : ", ") + feature.what + " " + std::to_string(feature.since);
  }
  return out;
}

TEST(CelFeaturesTest, FunctionsByRelease) {
  EXPECT_EQ(Found("self.a <= self.b && self.all(x, x.startsWith('a')) && self.m.exists_one(k, k == 'b')"), "");
  EXPECT_EQ(Found("quantity(self.a).isLessThan(quantity('1')) || !isQuantity(self.a)"), "quantity(...) 29, isQuantity(...) 29");
  EXPECT_EQ(Found("optional.of(self.a).orValue('x') == optional.none().or(optional.of('')).value()"),
            "optional.of(...) 29, orValue(...) 29, optional.none(...) 29");
  EXPECT_EQ(Found("self.a.optMap(x, x).hasValue()"), "optMap(...) 29, hasValue(...) 29");
  EXPECT_EQ(Found("sets.contains(self.a, self.b) && sets.intersects(self.a, self.b)"), "sets.contains(...) 30, sets.intersects(...) 30");
  EXPECT_EQ(Found("'%d'.format([self.a]) == strings.quote(self.b)"), "format(...) 30, strings.quote(...) 30");
  EXPECT_EQ(Found("cidr(self.a).containsIP(ip(self.b)) && ip.isCanonical(self.b) && isIP(self.b) && isCIDR(self.a)"),
            "cidr(...) 31, ip(...) 31, ip.isCanonical(...) 31, isIP(...) 31, isCIDR(...) 31");
  EXPECT_EQ(Found("!format.dns1123Label().validate(self.a).hasValue()"), "format.dns1123Label(...) 32, hasValue(...) 29");
  EXPECT_EQ(Found("self.l.all(i, v, i > 0 || v == f(1, 2)) && self.m.transformMap(k, v, v)"),
            "all(...) with two variables 33, transformMap(...) 33");
  EXPECT_EQ(Found("semver(self.v).isGreaterThan(semver('1.2.3')) && isSemver(self.v)"), "semver(...) 34, isSemver(...) 34");
  EXPECT_EQ(Found("lists.range(3).distinct().sort() == self.l.sortBy(x, x.n).slice(0, 1)"),
            "lists.range(...) 35, distinct(...) 35, sort(...) 35, sortBy(...) 35, slice(...) 35");
}

TEST(CelFeaturesTest, OptionalSyntax) {
  for (const char* expression :
       {"self.?a.orValue('') == ''", "self.m[?'a'] == optional.none()", "{?'a': self.?b}", "[ ?self.a]", "f(a, [b, ?c])"}) {
    EXPECT_NE(Found(expression).find("optional syntax (?) 29"), std::string::npos) << expression;
  }
  EXPECT_EQ(Found("self.a ? [self.b] : (self.c ? {} : self.d)"), "");
}

TEST(CelFeaturesTest, OtherThingsOfTheseNames) {
  EXPECT_EQ(Found("self.ip == self.cidr && self.sets.size() > 0 && self.my.quantity(1)"), "");
  EXPECT_EQ(Found("myquantity(self.a) && quantity_(self.a) && has(self.semver)"), "");
  EXPECT_EQ(Found("self.a == 'ip(x) sets.contains(a)' && self.b == \"a.?b \\\" cidr(x)\" // semver(x)"), "");
  EXPECT_EQ(Found("self.a.matches(r'\\') && ip(self.b) == r'\\'"), "ip(...) 31");
  EXPECT_EQ(Found("self.a == '''it's cidr(x)''' && ip(self.b)"), "ip(...) 31");
  EXPECT_EQ(Found("self.l.all(x, f(x, 1, 2)) && all(a, b, c)"), "");
}

TEST(CelFeaturesTest, AnyTextEnds) {
  for (const char* text : {"", "(", ")", "'", "\"\"\"", "'\\", "a.", ".(", "?", ".all(", "all(,,", "r'", "//", "a b (", "((((", "]]]("}) {
    Found(text);
  }
  EXPECT_EQ(Found("  cidr \n (self.a) . format ( [1] )"), "cidr(...) 31, format(...) 30");
}

}  // namespace
}  // namespace kube::generate
