#include "kube/meta/gvk.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

namespace kube {
namespace {

TEST(GroupVersionTest, ParsesApiVersions) {
  EXPECT_EQ(*GroupVersion::Parse("v1"), (GroupVersion{"", "v1"}));
  EXPECT_EQ(*GroupVersion::Parse("apps/v1"), (GroupVersion{"apps", "v1"}));
  EXPECT_EQ(*GroupVersion::Parse("rbac.authorization.k8s.io/v1beta1"), (GroupVersion{"rbac.authorization.k8s.io", "v1beta1"}));
}

TEST(GroupVersionTest, ReadsEmptyPartsAsGoDoes) {
  EXPECT_TRUE(GroupVersion::Parse("")->empty());
  EXPECT_TRUE(GroupVersion::Parse("/")->empty());
  EXPECT_EQ(*GroupVersion::Parse("/v2"), (GroupVersion{"", "v2"}));
  EXPECT_EQ(*GroupVersion::Parse("shop/"), (GroupVersion{"shop", ""}));
}

TEST(GroupVersionTest, RefusesMoreThanOneSlash) {
  Result<GroupVersion> gv = GroupVersion::Parse("shop/v1/carts");
  ASSERT_FALSE(gv.ok());
  EXPECT_NE(gv.error().message().find("shop/v1/carts"), std::string::npos);
  EXPECT_FALSE(Gvk::Parse("shop/v1/carts", "Cart").ok());
}

TEST(GroupVersionTest, PrintsWithoutASlashForCore) {
  EXPECT_EQ((GroupVersion{"", "v1"}).ToString(), "v1");
  EXPECT_EQ((GroupVersion{"shop", "v2"}).ToString(), "shop/v2");
}

TEST(GvkTest, ConvertsBetweenTheForms) {
  Gvk gvk = *Gvk::Parse("shop.example/v2", "Cart");
  EXPECT_EQ(gvk, (Gvk{"shop.example", "v2", "Cart"}));
  EXPECT_EQ(gvk.api_version(), "shop.example/v2");
  EXPECT_EQ(gvk.group_kind(), (GroupKind{"shop.example", "Cart"}));
  EXPECT_EQ(gvk.group_version().WithKind("Order"), (Gvk{"shop.example", "v2", "Order"}));
  EXPECT_EQ(gvk.group_version().WithResource("carts"), (Gvr{"shop.example", "v2", "carts"}));
  EXPECT_EQ(gvk.group_kind().WithVersion("v3"), (Gvk{"shop.example", "v3", "Cart"}));
  Gvr gvr{"shop.example", "v2", "carts"};
  EXPECT_EQ(gvr.group_resource().WithVersion("v1"), (Gvr{"shop.example", "v1", "carts"}));
  EXPECT_EQ(gvr.group_version(), gvk.group_version());
}

TEST(GvkTest, PrintsForPeople) {
  EXPECT_EQ((Gvk{"shop", "v1", "Cart"}).ToString(), "shop/v1, Kind=Cart");
  EXPECT_EQ((Gvk{"", "v1", "Pod"}).ToString(), "/v1, Kind=Pod");
  EXPECT_EQ((Gvr{"shop", "v1", "carts"}).ToString(), "shop/v1, Resource=carts");
  EXPECT_EQ((GroupKind{"shop", "Cart"}).ToString(), "Cart.shop");
  EXPECT_EQ((GroupKind{"", "Pod"}).ToString(), "Pod");
  EXPECT_EQ((GroupResource{"shop", "carts"}).ToString(), "carts.shop");
  EXPECT_EQ((GroupResource{"", "pods"}).ToString(), "pods");
}

TEST(GvkTest, KnowsEmptiness) {
  EXPECT_TRUE(Gvk{}.empty());
  EXPECT_TRUE(Gvr{}.empty());
  EXPECT_TRUE(GroupKind{}.empty());
  EXPECT_TRUE(GroupResource{}.empty());
  EXPECT_FALSE((Gvk{"", "", "Pod"}).empty());
}

TEST(GvkTest, ParsesDottedNames) {
  EXPECT_EQ(GroupResource::Parse("carts"), (GroupResource{"", "carts"}));
  EXPECT_EQ(GroupResource::Parse("carts.shop.example"), (GroupResource{"shop.example", "carts"}));
  EXPECT_EQ(GroupKind::Parse("Cart.shop.example"), (GroupKind{"shop.example", "Cart"}));
  EXPECT_EQ(GroupKind::Parse(""), GroupKind{});
}

TEST(ParseResourceArgTest, OffersBothReadings) {
  ResourceArg arg = ParseResourceArg("carts.v2.shop.example");
  ASSERT_TRUE(arg.versioned.has_value());
  EXPECT_EQ(*arg.versioned, (Gvr{"shop.example", "v2", "carts"}));
  EXPECT_EQ(arg.unversioned, (GroupResource{"v2.shop.example", "carts"}));
}

TEST(ParseResourceArgTest, NeedsTwoDotsForAVersion) {
  EXPECT_FALSE(ParseResourceArg("carts.shop").versioned.has_value());
  EXPECT_EQ(ParseResourceArg("carts.shop").unversioned, (GroupResource{"shop", "carts"}));
  EXPECT_FALSE(ParseResourceArg("carts").versioned.has_value());
  // The core group: its name is empty, hence the dot at the end.
  EXPECT_EQ(*ParseResourceArg("pods.v1.").versioned, (Gvr{"", "v1", "pods"}));
}

TEST(ParseKindArgTest, OffersBothReadings) {
  KindArg arg = ParseKindArg("Cart.v2.shop.example");
  ASSERT_TRUE(arg.versioned.has_value());
  EXPECT_EQ(*arg.versioned, (Gvk{"shop.example", "v2", "Cart"}));
  EXPECT_EQ(arg.unversioned, (GroupKind{"v2.shop.example", "Cart"}));
  EXPECT_FALSE(ParseKindArg("Cart.shop").versioned.has_value());
}

TEST(GvkTest, OrdersAndHashes) {
  std::set<Gvk> sorted = {{"b", "v1", "A"}, {"a", "v2", "B"}, {"a", "v1", "C"}, {"a", "v1", "B"}};
  std::string order;
  for (const Gvk& gvk : sorted) order += gvk.ToString() + ";";
  EXPECT_EQ(order, "a/v1, Kind=B;a/v1, Kind=C;a/v2, Kind=B;b/v1, Kind=A;");
  std::unordered_set<Gvk> hashed(sorted.begin(), sorted.end());
  EXPECT_EQ(hashed.size(), 4U);
  EXPECT_TRUE(hashed.contains({"a", "v2", "B"}));
  std::unordered_set<Gvr> gvrs = {{"a", "b", "c"}, {"b", "a", "c"}, {"a", "b", "c"}};
  EXPECT_EQ(gvrs.size(), 2U);
  std::unordered_set<GroupVersion> gvs = {{"a", "b"}, {"b", "a"}};
  std::unordered_set<GroupKind> gks = {{"a", "b"}, {"b", "a"}};
  std::unordered_set<GroupResource> grs = {{"a", "b"}, {"b", "a"}};
  EXPECT_EQ(gvs.size() + gks.size() + grs.size(), 6U);
}

}  // namespace
}  // namespace kube
