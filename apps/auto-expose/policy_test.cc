// Which hosts, paths and names annotations may ask for.
#include "policy.h"

#include <gtest/gtest.h>

namespace auto_expose {
namespace {

Settings With(std::string host = "{name}.{namespace}.{domain}") {
  Settings settings;
  settings.domain = "example.com";
  settings.host = std::move(host);
  return settings;
}

TEST(AutoExposePolicy, HostsOverlap) {
  EXPECT_TRUE(HostsOverlap("a.b.c", "a.b.c"));
  EXPECT_TRUE(HostsOverlap("*.b.c", "a.b.c"));
  EXPECT_TRUE(HostsOverlap("x.a.b.c", "*.b.c"));
  EXPECT_TRUE(HostsOverlap("*.b.c", "*.c"));
  EXPECT_TRUE(HostsOverlap("", ""));
  EXPECT_FALSE(HostsOverlap("b.c", "*.b.c"));
  EXPECT_FALSE(HostsOverlap("xb.c", "*.b.c"));
  EXPECT_FALSE(HostsOverlap("", "a.b.c"));
  EXPECT_FALSE(HostsOverlap("*.b.c", "*.d.c"));
}

TEST(AutoExposePolicy, Hosts) {
  for (const char* good : {"a", "a.b", "*.a.b", "xn--mnchen-3ya.de", "1.2"}) EXPECT_TRUE(IsHost(good)) << good;
  for (const char* bad : {"", "*", "a.", ".a", "a..b", "A.b", "a:80", "a/b", "*.", "a.*.b", "*a.b", "b\xc3\xbc.de", "a b", "a_b", "a\n"}) {
    EXPECT_FALSE(IsHost(bad)) << bad;
  }
  EXPECT_EQ(NormalHost("Web.Example.COM."), "web.example.com");
}

TEST(AutoExposePolicy, Globs) {
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("a*c", "abbc"));
  EXPECT_TRUE(GlobMatches("a/*", "a/b"));
  EXPECT_TRUE(GlobMatches("*-tls", "web-tls"));
  EXPECT_FALSE(GlobMatches("a/*", "b/a/b"));
  EXPECT_FALSE(GlobMatches("abc", "abcd"));
  EXPECT_FALSE(GlobMatches("", "a"));
}

TEST(AutoExposePolicy, SafePaths) {
  for (const char* good : {"/", "/a", "/a/", "/a-b_c.d~1/E"}) EXPECT_TRUE(IsSafePath(good)) << good;
  for (const char* bad :
       {"",     "a",    "//",  "/a//b", "/.",    "/..",   "/a/..", "/a/./b", "/a b",      "/a;b", "/a{b}", "/a%2fb", "/a?b",
        "/a#b", "/(a)", "/a*", "/a$",   "/a\\b", "/a\"b", "/a'b",  "/a\nb",  "/\xc3\xbc", "/a|b", "/a+b",  "/^a"}) {
    EXPECT_FALSE(IsSafePath(bad)) << bad;
  }
  EXPECT_FALSE(IsSafePath("/" + std::string(2000, 'a')));
}

TEST(AutoExposePolicy, Patterns) {
  const auto matches = [](std::string_view pattern, std::string_view host) { return HostPattern::Parse(pattern).value().Matches(host); };
  EXPECT_TRUE(matches("a.b", "a.b"));
  EXPECT_FALSE(matches("a.b", "x.a.b"));
  EXPECT_TRUE(matches("*.b", "a.b"));
  EXPECT_TRUE(matches("*.b", "x.a.b"));
  EXPECT_FALSE(matches("*.b", "b"));
  EXPECT_FALSE(matches("*.b", "*.b"));
  EXPECT_FALSE(matches("*.b", "xb"));
  EXPECT_TRUE(matches("**.b", "*.b"));
  EXPECT_TRUE(matches("**.b", "*.a.b"));
  EXPECT_TRUE(matches("*", "a"));
  EXPECT_FALSE(matches("*", "*.a"));
  EXPECT_TRUE(matches("**", "*.a"));
  EXPECT_FALSE(matches("**", ""));
  for (const char* bad : {"", ".", "***", "*.*.a", "a.*", "*a", "A.b", "a.b:80", "**.", "*."}) EXPECT_FALSE(HostPattern::Parse(bad)) << bad;
}

TEST(AutoExposePolicy, TheZoneOfANamespace) {
  const Settings settings = With();
  const Policy policy(settings, "shop");
  EXPECT_TRUE(policy.AllowsHost("shop.example.com", "web.shop.example.com"));
  EXPECT_TRUE(policy.AllowsHost("a.b.shop.example.com", "web.shop.example.com"));
  EXPECT_TRUE(policy.AllowsHost("*.shop.example.com", "web.shop.example.com"));
  EXPECT_FALSE(policy.AllowsHost("shop.bank.example.com", "web.shop.example.com"));
  EXPECT_FALSE(policy.AllowsHost("a-shop.example.com", "web.shop.example.com"));
  EXPECT_FALSE(policy.AllowsHost("example.com", "web.shop.example.com"));
}

// Namespace b-c with name a, and namespace c with name a-b, have the same host: nothing but that host is either's.
TEST(AutoExposePolicy, TemplatesWithoutAZoneGiveOneHostOnly) {
  for (const char* host : {"{name}-{namespace}.{domain}", "{name}.{domain}", "{namespace}.{name}.{domain}", "{namespace}-x.{domain}",
                           "{name}.{namespace}", "{name}.x-{namespace}.{domain}"}) {
    const Settings settings = With(host);
    const Policy policy(settings, "c");
    EXPECT_TRUE(policy.AllowsHost("a-b-c.example.com", "a-b-c.example.com")) << host;
    EXPECT_FALSE(policy.AllowsHost("x-b-c.example.com", "a-b-c.example.com")) << host;
    EXPECT_FALSE(policy.AllowsHost("x.c.example.com", "a-b-c.example.com")) << host;
    EXPECT_FALSE(policy.AllowsHost("x.c", "a-b-c.example.com")) << host;
  }
}

TEST(AutoExposePolicy, APatternForAllReachesIntoNobodysZone) {
  Settings settings = With();
  settings.allowed.hosts = {"*.example.com"};
  const Policy policy(settings, "shop");
  EXPECT_TRUE(policy.AllowsHost("vanity.example.com", ""));
  EXPECT_FALSE(policy.AllowsHost("web.bank.example.com", ""));
  EXPECT_FALSE(policy.AllowsHost("a.b.bank.example.com", ""));
  EXPECT_FALSE(policy.AllowsHost("*.example.com", ""));
  settings.allowed.hosts = {"**.example.com"};
  const Policy wide(settings, "shop");
  EXPECT_TRUE(wide.AllowsHost("*.example.com", ""));
  EXPECT_FALSE(wide.AllowsHost("*.bank.example.com", ""));
  settings.allowed.hosts = {"web.bank.example.com"};
  EXPECT_TRUE(Policy(settings, "shop").AllowsHost("web.bank.example.com", ""));
  // Without a domain this is no pattern at all, rather than one for everything.
  Settings without;
  without.allowed.hosts = {"*.{domain}", "**.{domain}"};
  EXPECT_FALSE(Policy(without, "shop").AllowsHost("bank.com", ""));
  // For this namespace by name.
  EXPECT_TRUE(Policy(With(), "shop", NamespacePolicy::Of({{"auto-expose.kubexx.dev/allow-hosts", "*.bank.example.com"}}))
                  .AllowsHost("web.bank.example.com", ""));
}

TEST(AutoExposePolicy, WhatTheOperatorGaveToOneNamespace) {
  Settings settings = With();
  settings.allowed.hosts = {"**"};
  const Policy policy(settings, "shop", NamespacePolicy::Of({{"auto-expose.kubexx.dev/allow-hosts", "*.b.org,x.b.org"}}));
  EXPECT_EQ(policy.GivenTo("web.shop.example.com", "/"), Given::kByName);
  EXPECT_EQ(policy.GivenTo("x.b.org", "/"), Given::kByName);
  EXPECT_EQ(policy.GivenTo("y.b.org", "/"), Given::kByPattern);
  EXPECT_EQ(policy.GivenTo("a.org", "/"), Given::kNo);
  settings.host = "apps.{domain}";
  EXPECT_EQ(Policy(settings, "shop").GivenTo("apps.example.com", "/shop/web"), Given::kByName);
  EXPECT_EQ(Policy(settings, "shop").GivenTo("apps.example.com", "/web"), Given::kNo);
}

TEST(AutoExposePolicy, PatternsMayHaveTheNamespace) {
  Settings settings = With();
  settings.allowed.hosts = {"{namespace}.apps.{domain}", "*.{namespace}.org"};
  EXPECT_TRUE(Policy(settings, "shop").AllowsHost("shop.apps.example.com", ""));
  EXPECT_TRUE(Policy(settings, "shop").AllowsHost("a.shop.org", ""));
  EXPECT_FALSE(Policy(settings, "bank").AllowsHost("shop.apps.example.com", ""));
  EXPECT_FALSE(Policy(settings, "bank").AllowsHost("a.shop.org", ""));
}

TEST(AutoExposePolicy, BadPatternsOfANamespaceAreLeftOutAndNamed) {
  const NamespacePolicy policy = NamespacePolicy::Of({{"auto-expose.kubexx.dev/allow-hosts", " a.org,,A.org\n*.b.org "}});
  EXPECT_EQ(policy.hosts.size(), 2U);
  ASSERT_EQ(policy.bad.size(), 1U);
  EXPECT_NE(policy.bad[0].find("A.org"), std::string::npos);
  const Settings settings = With();
  EXPECT_NE(Policy(settings, "shop", policy).DescribeHosts().find("A.org"), std::string::npos);
}

}  // namespace
}  // namespace auto_expose
