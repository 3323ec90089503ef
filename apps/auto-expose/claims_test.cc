// The holders of hosts.
#include "claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kube/codec/json.h"
#include "seeds.h"

namespace auto_expose {
namespace {

using Holder = ClaimBoard::Holder;

Claimant Who(const char* ns, const char* name, std::int64_t created = 100) {
  return {kube::Time::FromUnix(created), "Deployment", {ns, name}, kube::String(std::string("uid-") + ns + "-" + name)};
}
ChildOwner Owner(const Claimant& who) { return {who.kind, who.key, who.uid}; }

// A cluster in two lists.
class AutoExposeClaims : public ::testing::Test {
 protected:
  ClaimBoard::Sources Sources() {
    return {
        .holders = [this](const Claim&, const auto& visit) { (void)std::any_of(holders_.begin(), holders_.end(), visit); },
        .rivals = [this](const Claim&, const Claimant&, const auto& visit) { (void)std::any_of(rivals_.begin(), rivals_.end(), visit); }};
  }
  // "" where it is granted, else who is in the way.
  std::string Take(const Claimant& who, const Claim& claim) {
    const ClaimBoard::Answer answer = board_.Take(who, claim, Sources());
    return answer.blocker ? answer.blocker->what : "";
  }
  void HandMade(const char* ns, const char* name, Claim claim) {
    holders_.push_back({.kind = "Ingress", .key = {ns, name}, .claim = claim});
  }

  ClaimBoard board_{std::nullopt};
  std::vector<Holder> holders_;
  std::vector<ClaimBoard::Rival> rivals_;
};

TEST_F(AutoExposeClaims, BetweenNamespacesAClaimIsTheHost) {
  EXPECT_EQ(Take(Who("shop", "web"), {"a.org", "/"}), "");
  EXPECT_EQ(Take(Who("evil", "web", 1), {"a.org", "/longer/path"}), "Deployment shop/web");
  EXPECT_EQ(Take(Who("evil", "web", 1), {"*.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(Who("evil", "web", 1), {"b.org", "/"}), "");
}

TEST_F(AutoExposeClaims, AWildcardHoldsWhatItCovers) {
  EXPECT_EQ(Take(Who("shop", "web"), {"*.a.org", "/"}), "");
  EXPECT_EQ(Take(Who("evil", "1"), {"x.a.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(Who("evil", "2"), {"y.x.a.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(Who("evil", "3"), {"*.x.a.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(Who("evil", "4"), {"a.org", "/"}), "");
  EXPECT_EQ(Take(Who("shop", "other"), {"x.a.org", "/"}), "");
}

// A host below the wildcard that lies in another namespace's zone was granted beside it.
TEST_F(AutoExposeClaims, AWildcardGivesNoHostBelowItThatAnotherNamespaceHas) {
  const Claimant wild = Who("red", "wild");
  EXPECT_EQ(Take(wild, {"*.d2.com", "/"}), "");
  EXPECT_EQ(Take(Who("blue", "apex"), {"blue.d2.com", "/", true}), "");
  EXPECT_EQ(Take(Who("green", "all"), {"*.green.d2.com", "/", true}), "");
  EXPECT_EQ(Take(wild, {"blue.d2.com", "/"}), "Deployment blue/apex");
  EXPECT_EQ(Take(wild, {"blue.d2.com", "/x"}), "Deployment blue/apex");
  EXPECT_EQ(Take(wild, {"x.green.d2.com", "/"}), "Deployment green/all");
  HandMade("pink", "site", {"pink.d2.com", "/"});
  EXPECT_EQ(Take(wild, {"pink.d2.com", "/"}), "Ingress pink/site");
  // A wildcard as wide as its own is only a copy of it.
  HandMade("pink", "copy", {"*.d2.com", "/"});
  EXPECT_EQ(Take(wild, {"mine.d2.com", "/"}), "");
}

TEST_F(AutoExposeClaims, WithinANamespaceAClaimIsHostAndPath) {
  EXPECT_EQ(Take(Who("shop", "web"), {"a.org", "/"}), "");
  EXPECT_EQ(Take(Who("shop", "api"), {"a.org", "/api"}), "");
  EXPECT_EQ(Take(Who("shop", "v2"), {"a.org", "/api/"}), "Deployment shop/api");
}

TEST_F(AutoExposeClaims, SeniorityDecidesOnlyBetweenThoseWhoLackIt) {
  const Claimant old = Who("evil", "old", 1), young = Who("shop", "web", 100);
  rivals_ = {{old, {"a.org", "/"}}, {young, {"a.org", "/"}}};
  EXPECT_EQ(Take(young, {"a.org", "/"}), "Deployment evil/old");
  EXPECT_EQ(Take(old, {"a.org", "/"}), "");
  board_.Release(old.kind, old.key);
  rivals_.erase(rivals_.begin());
  EXPECT_EQ(Take(young, {"a.org", "/"}), "");
  rivals_.insert(rivals_.begin(), {old, {"a.org", "/"}});
  EXPECT_EQ(Take(old, {"a.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(young, {"a.org", "/"}), "");
}

TEST_F(AutoExposeClaims, AnElderWhoCannotHaveItIsInNobodysWay) {
  HandMade("infra", "x", {"b.org", "/"});
  const Claimant old = Who("evil", "old", 1);
  rivals_ = {{old, {"*.org", "/"}}};
  EXPECT_EQ(Take(Who("shop", "web"), {"a.org", "/"}), "");
}

TEST_F(AutoExposeClaims, HandMadeObjectsHold) {
  HandMade("bank", "site", {"a.org", "/x"});
  EXPECT_EQ(Take(Who("evil", "web"), {"a.org", "/"}), "Ingress bank/site");
  EXPECT_EQ(Take(Who("bank", "web"), {"a.org", "/x"}), "Ingress bank/site");
  EXPECT_EQ(Take(Who("bank", "web"), {"a.org", "/y"}), "");
}

TEST_F(AutoExposeClaims, ADefaultBackendHoldsTheRootOfAnyHost) {
  kube::networking::v1::Ingress ingress;
  EXPECT_TRUE(ClaimsOf(ingress).empty());
  ingress.spec.default_backend = kube::networking::v1::IngressBackend();
  ASSERT_EQ(ClaimsOf(ingress).size(), 1U);
  HandMade("infra", "landing", ClaimsOf(ingress).front());
  EXPECT_EQ(Take(Who("shop", "web"), {"", "/"}), "Ingress infra/landing");
  EXPECT_EQ(Take(Who("shop", "web"), {"", "/shop/web"}), "");
  kube::networking::v1::IngressRule rule;
  rule.host = "a.org";
  ingress.spec.rules.push_back(rule);
  EXPECT_EQ(ClaimsOf(ingress), (std::vector<Claim>{{"a.org", "/"}, {"", "/"}}));
}

TEST_F(AutoExposeClaims, AHolderStaysOneWhateverOthersMake) {
  const Claimant web = Who("shop", "web");
  EXPECT_EQ(Take(web, {"a.org", "/"}), "");
  HandMade("evil", "copy", {"a.org", "/"});
  const ClaimBoard::Answer answer = board_.Take(web, {"a.org", "/"}, Sources());
  EXPECT_FALSE(answer.blocker);
  ASSERT_TRUE(answer.contested);
  EXPECT_EQ(answer.contested->what, "Ingress evil/copy");
  // Another path of its own host, too.
  EXPECT_EQ(Take(web, {"a.org", "/v2"}), "");
}

TEST_F(AutoExposeClaims, AnEditedIngressIsNoClaim) {
  const Claimant web = Who("shop", "web"), evil = Who("evil", "web", 1);
  board_.Seed(Owner(web), {"a.org", "/"});
  board_.Seed(Owner(evil), {"evil.org", "/"});
  // Its Ingress has the victim's host now, by hand.
  holders_ = {{"Ingress", {"shop", "web"}, Owner(web), web.uid, {"a.org", "/"}},
              {"Ingress", {"evil", "web"}, Owner(evil), evil.uid, {"a.org", "/"}}};
  EXPECT_EQ(Take(evil, {"a.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(web, {"a.org", "/"}), "");
}

// Both show the host when auto-expose starts.
TEST_F(AutoExposeClaims, OfTwoSeedsTheEditedOneYields) {
  const Claimant web = Who("shop", "web"), evil = Who("evil", "web", 1);
  board_.Seed(Owner(evil), {"a.org", "/"}, Evidence::kEdited);
  board_.Seed(Owner(web), {"a.org", "/"}, Evidence::kWritten);
  EXPECT_EQ(Take(evil, {"a.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(web, {"a.org", "/"}), "");
  EXPECT_EQ(Take(evil, {"a.org", "/x"}), "Deployment shop/web");
}

TEST_F(AutoExposeClaims, SeedsThatLookAlikeAreDisputed) {
  for (const Evidence evidence : {Evidence::kEdited, Evidence::kWritten}) {
    ClaimBoard board(std::nullopt);
    const Claimant web = Who("shop", "web"), evil = Who("evil", "web", 1);
    board.Seed(Owner(web), {"a.org", "/"}, evidence);
    board.Seed(Owner(evil), {"a.org", "/"}, evidence);
    for (const Claimant& one : {web, evil, web}) {
      const ClaimBoard::Answer answer = board.Take(one, {"a.org", "/"}, Sources());
      ASSERT_TRUE(answer.blocker);
      EXPECT_TRUE(answer.blocker->disputed);
    }
    const ClaimBoard::Answer third = board.Take(Who("third", "web", 1), {"a.org", "/"}, Sources());
    ASSERT_TRUE(third.blocker);
    EXPECT_FALSE(third.blocker->disputed);
    // It ends when one releases the claim. Then the other has it like any other holder.
    board.Release(evil.kind, evil.key);
    EXPECT_FALSE(board.Take(web, {"a.org", "/"}, Sources()).blocker);
    board.Seed(Owner(evil), {"a.org", "/"}, Evidence::kWritten);
    EXPECT_FALSE(board.Take(web, {"a.org", "/"}, Sources()).blocker);
    EXPECT_FALSE(board.Take(evil, {"a.org", "/"}, Sources()).blocker->disputed);
  }
}

TEST_F(AutoExposeClaims, WhatTheOperatorGaveByNameIsNotDisputed) {
  const Claimant web = Who("shop", "web"), evil = Who("evil", "web", 1);
  const Claim given{"a.org", "/", false, Given::kByName};
  board_.Seed(Owner(web), given, Evidence::kWritten);
  board_.Seed(Owner(evil), {"a.org", "/"}, Evidence::kWritten);
  EXPECT_EQ(Take(evil, {"a.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(web, given), "");
  // It outweighs no better evidence.
  board_.Release(evil.kind, evil.key);
  board_.Release(web.kind, web.key);
  board_.Seed(Owner(web), given, Evidence::kEdited);
  board_.Seed(Owner(evil), {"a.org", "/"}, Evidence::kWritten);
  EXPECT_EQ(Take(web, given), "Deployment evil/web");
}

TEST_F(AutoExposeClaims, AHostOfAZoneDoesNotDisputeTheWildcardAboveIt) {
  const Claimant wild = Who("red", "wild"), apex = Who("blue", "apex");
  board_.Seed(Owner(wild), {"*.d2.com", "/"}, Evidence::kWritten);
  board_.Seed(Owner(apex), {"blue.d2.com", "/", true, Given::kByName}, Evidence::kWritten);
  EXPECT_EQ(Take(wild, {"*.d2.com", "/"}), "");
  EXPECT_EQ(Take(apex, {"blue.d2.com", "/", true, Given::kByName}), "");
}

TEST_F(AutoExposeClaims, AnEditedSeedIsWorthAsMuchAsAHandMadeObject) {
  const Claimant web = Who("shop", "web"), other = Who("other", "web");
  HandMade("evil", "copy", {"a.org", "/"});
  HandMade("evil", "copy-b", {"b.org", "/"});
  board_.Seed(Owner(web), {"a.org", "/"}, Evidence::kEdited);
  board_.Seed(Owner(other), {"b.org", "/"}, Evidence::kWritten);
  const ClaimBoard::Answer answer = board_.Take(web, {"a.org", "/"}, Sources());
  ASSERT_TRUE(answer.blocker);
  EXPECT_TRUE(answer.blocker->disputed);
  EXPECT_EQ(Take(other, {"b.org", "/"}), "");
}

TEST_F(AutoExposeClaims, OnlySeedsAreWeighed) {
  const Claimant web = Who("shop", "web"), evil = Who("evil", "web", 1);
  EXPECT_EQ(Take(web, {"a.org", "/"}), "");
  board_.Weigh(Owner(web), {"a.org", "/"}, Evidence::kEdited);
  board_.Seed(Owner(evil), {"a.org", "/"});
  board_.Weigh(Owner(evil), {"b.org", "/"}, Evidence::kEdited);
  EXPECT_EQ(Take(evil, {"a.org", "/"}), "");
  board_.Release(evil.kind, evil.key);
  board_.Seed(Owner(evil), {"a.org", "/"});
  board_.Weigh(Owner(evil), {"a.org", "/"}, Evidence::kEdited);
  EXPECT_EQ(Take(evil, {"a.org", "/"}), "Deployment shop/web");
  EXPECT_EQ(Take(web, {"a.org", "/"}), "");
}

// ---- evidence

kube::Value Child(const std::string& managed_fields) {
  return kube::ParseJson(R"({"metadata":{"managedFields":)" + managed_fields + "}}").value();
}

TEST(AutoExposeEvidence, IsTheFieldManagerOfTheHosts) {
  const kube::Gvr ingresses = kube::GvrOf<kube::networking::v1::Ingress>();
  const Claim claim{"a.org", "/"};
  const auto of = [&](const std::string& fields) { return EvidenceOf(Child(fields), ingresses, claim); };
  EXPECT_EQ(of(R"([{"manager":"auto-expose","operation":"Update","fieldsV1":{"f:spec":{"f:rules":{}}}}])"), Evidence::kWritten);
  EXPECT_EQ(of(R"([{"manager":"auto-expose","operation":"Apply","fieldsV1":{"f:spec":{"f:rules":{}}}},
                   {"manager":"helm","operation":"Apply","fieldsV1":{"f:spec":{"f:rules":{}}}}])"),
            Evidence::kWritten);
  EXPECT_EQ(of(R"([{"manager":"auto-expose","operation":"Apply","fieldsV1":{"f:spec":{"f:tls":{}}}},
                   {"manager":"kubectl-edit","operation":"Update","fieldsV1":{"f:spec":{"f:rules":{}}}}])"),
            Evidence::kEdited);
  EXPECT_EQ(of(R"([{"manager":"auto-expose","subresource":"status","fieldsV1":{"f:spec":{"f:rules":{}}}}])"), Evidence::kEdited);
  for (const char* bad : {"[]", "7", "[7]", R"([{"manager":"auto-expose"}])", R"([{"manager":"auto-expose","fieldsV1":7}])",
                          R"([{"manager":"auto-expose","fieldsV1":{"f:spec":{"f:rules":7}}}])"}) {
    EXPECT_EQ(of(bad), Evidence::kEdited) << bad;
  }
}

TEST(AutoExposeEvidence, OfASetIsTheHostItself) {
  const auto of = [&](const std::string& set, const char* host) {
    const std::string fields = R"([{"manager":"auto-expose","fieldsV1":{"f:spec":{"f:hostnames":)" + set + "}}}]";
    return EvidenceOf(Child(fields), kHttpRoutes, {host, "/"});
  };
  EXPECT_EQ(of("{}", "a.org"), Evidence::kWritten);
  EXPECT_EQ(of(R"({".":{},"v:\"A.org.\"":{}})", "a.org"), Evidence::kWritten);
  EXPECT_EQ(of(R"({".":{},"v:\"a.org\"":{}})", "b.org"), Evidence::kEdited);
}

TEST_F(AutoExposeClaims, AWorkloadOfTheSameNameInheritsNothing) {
  const Claimant web = Who("shop", "web");
  EXPECT_EQ(Take(web, {"a.org", "/"}), "");
  HandMade("evil", "copy", {"a.org", "/"});
  Claimant anew = web;
  anew.uid = "another";
  EXPECT_EQ(Take(anew, {"a.org", "/"}), "Ingress evil/copy");
}

TEST_F(AutoExposeClaims, WhatAGoneWorkloadLeftIsInNobodysWay) {
  const Claimant gone = Who("shop", "gone");
  holders_ = {{"Ingress", {"shop", "gone"}, Owner(gone), gone.uid, {"a.org", "/"}}};
  EXPECT_EQ(Take(Who("shop", "web"), {"a.org", "/"}), "Ingress shop/gone");
  EXPECT_FALSE(board_.Take(Who("shop", "web"), {"a.org", "/"}, Sources(), {gone.uid.str()}).blocker);
}

TEST_F(AutoExposeClaims, ReleaseFreesOnlyThatOne) {
  const Claimant web = Who("shop", "web");
  EXPECT_EQ(Take(web, {"a.org", "/"}), "");
  board_.Release(web.kind, web.key, "another");
  EXPECT_EQ(Take(Who("evil", "web"), {"a.org", "/"}), "Deployment shop/web");
  board_.Release(web.kind, web.key, web.uid);
  EXPECT_EQ(Take(Who("evil", "web"), {"a.org", "/"}), "");
}

// A page that the operator put at *.example.com, or a tenant's attempt to keep others from their own hosts.
TEST_F(AutoExposeClaims, AWildcardOfOthersDoesNotReachIntoAZone) {
  HandMade("infra", "landing", {"*.example.com", "/"});
  EXPECT_EQ(Take(Who("shop", "web"), {"web.shop.example.com", "/", true}), "");
  EXPECT_EQ(Take(Who("shop", "vanity"), {"vanity.example.com", "/"}), "Ingress infra/landing");
  EXPECT_EQ(Take(Who("evil", "web", 1), {"*.shop.example.com", "/"}), "Deployment shop/web");
}

// Nor does an object with just that host and a class that no controller serves.
TEST_F(AutoExposeClaims, NobodyHoldsWhatTheOperatorGaveToAnotherNamespace) {
  HandMade("evil", "exact", {"api.shop.example.com", "/"});
  HandMade("evil", "wild", {"*.org", "/"});
  // One that looks like auto-expose's, with an owner.
  const Claimant fake = Who("evil", "fake");
  holders_.push_back({"Ingress", {"evil", "fake"}, Owner(fake), fake.uid, {"api.shop.example.com", "/"}});
  const ClaimBoard::Answer zone = board_.Take(Who("shop", "api"), {"api.shop.example.com", "/", true, Given::kByName}, Sources());
  EXPECT_FALSE(zone.blocker);
  ASSERT_TRUE(zone.contested);
  EXPECT_EQ(zone.contested->what, "Ingress evil/exact");
  const ClaimBoard::Answer given = board_.Take(Who("shop", "vanity"), {"vanity.org", "/", false, Given::kByName}, Sources());
  EXPECT_FALSE(given.blocker);
  EXPECT_TRUE(given.contested);
  EXPECT_EQ(Take(Who("bank", "other"), {"other.org", "/"}), "Ingress evil/wild");
  // A pattern for many hosts outdoes wildcards, and not those that have just that host.
  HandMade("bank", "site", {"site.org", "/"});
  EXPECT_EQ(Take(Who("shop", "new"), {"new.org", "/", false, Given::kByPattern}), "");
  EXPECT_EQ(Take(Who("shop", "site"), {"site.org", "/", false, Given::kByPattern}), "Ingress bank/site");
  // Between two namespaces that the operator gave the host to, the first one has it.
  EXPECT_EQ(Take(Who("bank", "vanity"), {"vanity.org", "/", false, Given::kByName}), "Deployment shop/vanity");
  // In the same namespace people are trusted.
  HandMade("shop", "own", {"own.shop.example.com", "/"});
  EXPECT_EQ(Take(Who("shop", "own-too"), {"own.shop.example.com", "/", true, Given::kByName}), "Ingress shop/own");
}

// ---- which workloads are woken

Workload WorkloadAt(const char* host, std::int64_t generation) {
  kube::apps::v1::Deployment deployment;
  deployment.metadata.name = "web";
  deployment.metadata.namespace_ = "shop";
  deployment.metadata.uid = "1";
  deployment.metadata.generation = generation;
  if (host != nullptr) deployment.metadata.annotations = {{"auto-expose.kubexx.dev/host", host}};
  deployment.metadata.annotations.Set("auto-expose.kubexx.dev/port", "80");
  deployment.spec.selector = kube::meta::v1::LabelSelector{.match_labels = {{"app", "web"}}};
  return WorkloadOf(deployment);
}

// A Deployment with a refused host *.example.com made each change of its status a pass over all workloads below it.
TEST_F(AutoExposeClaims, OnlyWhatAWorkloadGivesUpIsNewsForOthers) {
  Settings settings;
  settings.domain = "example.com";
  const auto given_up = [&](const Workload& before, const Workload& after) { return GivenUp(before, &after, settings, {}); };
  const Workload own = WorkloadAt(nullptr, 1), wild = WorkloadAt("*.example.com", 1), other = WorkloadAt("x.shop.example.com", 1);
  const Claim claim{"web.shop.example.com", "/"};
  // The status, and anything else that changes no claim.
  EXPECT_EQ(given_up(own, own), std::nullopt);
  Workload labelled = WorkloadAt(nullptr, 2);
  labelled.metadata.labels = {{"a", "b"}};
  EXPECT_EQ(given_up(own, labelled), std::nullopt);
  // What it was refused.
  EXPECT_EQ(given_up(wild, WorkloadAt("*.com", 1)), std::nullopt);
  EXPECT_EQ(given_up(wild, own), std::nullopt);
  EXPECT_EQ(GivenUp(wild, nullptr, settings, {}), std::nullopt);
  // What it had.
  EXPECT_EQ(given_up(own, other), claim);
  EXPECT_EQ(given_up(own, wild), claim);
  EXPECT_EQ(GivenUp(own, nullptr, settings, {}), claim);
  Workload going = own;
  going.metadata.deletion_timestamp = kube::Time::FromUnix(1);
  EXPECT_EQ(given_up(own, going), claim);
  EXPECT_EQ(given_up(going, going), std::nullopt);
  EXPECT_EQ(GivenUp(going, nullptr, settings, {}), claim);
  Workload anew = own;
  anew.metadata.uid = "2";
  EXPECT_EQ(given_up(own, anew), claim);
}

TEST_F(AutoExposeClaims, AnIngressIsNewsIfItsClaimsOrItsOwnerChange) {
  kube::networking::v1::Ingress before;
  kube::networking::v1::IngressRule rule;
  rule.host = "a.org";
  before.spec.rules.push_back(rule);
  kube::networking::v1::Ingress after = before;
  after.metadata.resource_version = "2";
  after.metadata.annotations = {{"a", "b"}};
  EXPECT_TRUE(HoldsTheSame(before, after));
  kube::networking::v1::Ingress owned = before;
  owned.metadata.labels = {{"kubexx.dev/set", "auto-expose"}};
  EXPECT_FALSE(HoldsTheSame(before, owned));
  rule.host = "b.org";
  after.spec.rules.push_back(rule);
  EXPECT_FALSE(HoldsTheSame(before, after));
}

class AutoExposeSharedHost : public AutoExposeClaims, public ::testing::WithParamInterface<const char*> {};
TEST_P(AutoExposeSharedHost, AClaimIsAPathAndAllBelowIt) {
  ClaimBoard board{std::string(GetParam())};
  const auto take = [&](const Claimant& who, const char* path) {
    const ClaimBoard::Answer answer = board.Take(who, {GetParam(), path}, Sources());
    return answer.blocker ? answer.blocker->what : "";
  };
  HandMade("infra", "landing", {GetParam(), "/"});
  EXPECT_EQ(take(Who("shop", "web"), "/shop/web"), "");
  EXPECT_EQ(take(Who("bank", "web"), "/bank/web"), "");
  EXPECT_EQ(take(Who("evil", "1"), "/shop/web/admin"), "Deployment shop/web");
  EXPECT_EQ(take(Who("evil", "2"), "/shop"), "Deployment shop/web");
  EXPECT_EQ(take(Who("evil", "3"), "/shop/webs"), "");
  EXPECT_EQ(take(Who("evil", "4"), "/"), "Ingress infra/landing");
  EXPECT_EQ(take(Who("shop", "api"), "/shop/web/api"), "");
}
INSTANTIATE_TEST_SUITE_P(Hosts, AutoExposeSharedHost, ::testing::Values("", "apps.example.com"));

// The index is only a shortcut: it must find whatever conflicts.
TEST_F(AutoExposeClaims, KeysFindAllConflicts) {
  const std::vector<std::string> hosts{"",
                                       "org",
                                       "a.org",
                                       "b.a.org",
                                       "c.b.a.org",
                                       "*.org",
                                       "*.a.org",
                                       "*.b.a.org",
                                       "shared.org",
                                       "*.shared.org",
                                       "9.8.7.6.5.4.3.2.1",
                                       "10.9.8.7.6.5.4.3.2.1",
                                       "0.9.8.7.6.5.4.3.2.1",
                                       "11.10.9.8.7.6.5.4.3.2.1",
                                       "*.7.6.5.4.3.2.1",
                                       "*.8.7.6.5.4.3.2.1",
                                       "*.9.8.7.6.5.4.3.2.1",
                                       "*.10.9.8.7.6.5.4.3.2.1"};
  const std::vector<std::string> paths{"/",
                                       "/a",
                                       "/a/",
                                       "/a/b",
                                       "/ab",
                                       "/1/2/3/4/5/6/7/8/9/10",
                                       "/1/2/3/4/5/6/7/8/9/11",
                                       "/" + std::string(600, 'x') + "/1",
                                       "/" + std::string(600, 'x') + "/2"};
  for (const std::optional<std::string>& shared :
       {std::optional<std::string>(), std::optional<std::string>("shared.org"), std::optional<std::string>("")}) {
    for (const std::string& host : hosts) {
      for (const std::string& path : paths) {
        const std::vector<std::string> lookup = LookupKeys({host, path}, shared);
        for (const std::string& other_host : hosts) {
          for (const std::string& other_path : paths) {
            const Claim claim{host, path}, other{other_host, other_path};
            const std::vector<std::string> stored = StoredKeys(other, shared);
            const bool found = std::any_of(stored.begin(), stored.end(), [&](const std::string& key) {
              return std::find(lookup.begin(), lookup.end(), key) != lookup.end();
            });
            for (const char* ns : {"one", "two"}) {
              EXPECT_TRUE(found || !Conflict("one", claim, ns, other, shared)) << host << path << " and " << other_host << other_path;
              EXPECT_EQ(Conflict("one", claim, ns, other, shared), Conflict(ns, other, "one", claim, shared));
            }
          }
        }
      }
    }
  }
}

TEST_F(AutoExposeClaims, KeysAreFewWhateverTheObject) {
  std::string path, host;
  for (int i = 0; i < 100000; ++i) path += "/a";
  for (int i = 0; i < 126; ++i) host += "a.";
  EXPECT_LE(StoredKeys({"", path}, std::nullopt).size(), 16U);
  EXPECT_LE(LookupKeys({"", path}, std::nullopt).size(), 16U);
  EXPECT_LE(StoredKeys({host + "a", "/"}, std::nullopt).size(), 9U);
  EXPECT_LE(LookupKeys({host + "a", "/"}, std::nullopt).size(), 12U);
  EXPECT_LE(LookupKeys({"*." + host + "a", "/"}, std::nullopt).size(), 12U);
  EXPECT_TRUE(StoredKeys({std::string(100000, '.'), "/"}, std::nullopt).empty());
}

// Three such Ingresses made an index of 1.5 million keys.
TEST_F(AutoExposeClaims, AnIngressOfManyDeepHostsHasOneKeyForEach) {
  kube::networking::v1::Ingress ingress;
  for (int i = 0; i < 5000; ++i) {
    kube::networking::v1::IngressRule rule;
    std::string host;
    while (host.size() < 244) host += "a.";
    rule.host = host + std::to_string(i);
    ingress.spec.rules.push_back(rule);
  }
  const std::vector<Claim> claims = ClaimsOf(ingress);
  const std::vector<std::string> keys = StoredKeys(claims, std::nullopt);
  EXPECT_LE(keys.size(), claims.size() + 64);
  EXPECT_TRUE(std::all_of(keys.begin(), keys.end(), [](const std::string& key) { return key.size() <= 9; }));
  // It is found all the same.
  const auto finds = [&](const Claim& claim) {
    const std::vector<std::string> lookup = LookupKeys(claim, std::nullopt);
    return std::any_of(lookup.begin(), lookup.end(),
                       [&](const std::string& key) { return std::binary_search(keys.begin(), keys.end(), key); });
  };
  EXPECT_TRUE(finds(claims.front()));
  EXPECT_TRUE(finds({"*.0", "/"}));
  EXPECT_TRUE(finds({"*.a.a.a.a.a.a.a.a.a.a.a.a.4000", "/"}));
  EXPECT_FALSE(finds({"elsewhere.org", "/"}));
}

TEST_F(AutoExposeClaims, ARouteOfManyDeepPathsHasOneKeyForEach) {
  kube::networking::v1::Ingress ingress;
  kube::networking::v1::IngressRule rule;
  kube::networking::v1::HTTPIngressRuleValue http;
  for (int i = 0; i < 5000; ++i) {
    kube::networking::v1::HTTPIngressPath path;
    path.path = "/" + std::to_string(i) + "/2/3/4/5/6/7/8";
    http.paths.push_back(path);
  }
  rule.http = http;
  ingress.spec.rules.push_back(rule);
  const std::vector<Claim> claims = ClaimsOf(ingress);
  const std::vector<std::string> keys = StoredKeys(claims, std::nullopt), lookup = LookupKeys({"", "/7/2"}, std::nullopt);
  EXPECT_LE(keys.size(), claims.size() + 64);
  EXPECT_TRUE(
      std::any_of(lookup.begin(), lookup.end(), [&](const std::string& key) { return std::binary_search(keys.begin(), keys.end(), key); }));
}

}  // namespace
}  // namespace auto_expose
