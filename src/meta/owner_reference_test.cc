#include "kube/meta/owner_reference.h"

#include <gtest/gtest.h>

#include "meta/test_types.h"

namespace kube {
namespace {

using meta::v1::OwnerReference;
using testing_shop::Cart;
using testing_shop::Region;

template <typename T = Cart>
T New(const char* ns, const char* name, const char* uid) {
  T object;
  object.metadata.namespace_ = ns;
  object.metadata.name = name;
  object.metadata.uid = uid;
  return object;
}

TEST(OwnerReferenceTest, NewControllerRefSetsBothFlags) {
  OwnerReference reference = NewControllerRef(New("shop", "boss", "u1"));
  EXPECT_EQ(reference, (OwnerReference{.api_version = "shop.example/v1",
                                       .kind = "Cart",
                                       .name = "boss",
                                       .uid = "u1",
                                       .controller = true,
                                       .block_owner_deletion = true}));
}

TEST(OwnerReferenceTest, GetControllerOfTakesTheFirstThatSaysSo) {
  Cart cart = New("shop", "c", "u2");
  EXPECT_FALSE(GetControllerOf(cart).has_value());
  cart.metadata.owner_references = {
      {.name = "a", .controller = false}, {.name = "b"}, {.name = "c", .controller = true}, {.name = "d", .controller = true}};
  ASSERT_TRUE(GetControllerOf(cart).has_value());
  EXPECT_EQ(GetControllerOf(cart)->name, "c");
  EXPECT_TRUE(HasControllerReference(cart));
}

TEST(OwnerReferenceTest, IsControlledByComparesTheUidOnly) {
  Cart child = New("shop", "c", "u2");
  child.metadata.owner_references = {{.name = "someone-else", .uid = "u1", .controller = true}, {.name = "owner", .uid = "u9"}};
  EXPECT_TRUE(IsControlledBy(child, New("elsewhere", "boss", "u1")));
  EXPECT_FALSE(IsControlledBy(child, New("shop", "someone-else", "u7")));
  EXPECT_FALSE(IsControlledBy(child, New("shop", "owner", "u9")));  // an owner, but not the controller
  EXPECT_FALSE(IsControlledBy(New("shop", "free", "u3"), New("shop", "boss", "u1")));
}

TEST(SetControllerReferenceTest, AddsAReference) {
  Cart child = New("shop", "c", "u2");
  ASSERT_TRUE(SetControllerReference(New("shop", "boss", "u1"), child).ok());
  ASSERT_EQ(child.metadata.owner_references.size(), 1U);
  EXPECT_TRUE(IsControlledBy(child, New("shop", "boss", "u1")));
}

TEST(SetControllerReferenceTest, IsIdempotentAndDoesNotCopyForNothing) {
  Cart child = New("shop", "c", "u2");
  ASSERT_TRUE(SetControllerReference(New("shop", "boss", "u1"), child).ok());
  const Cart before = child;
  ASSERT_TRUE(SetControllerReference(New("shop", "boss", "u1"), child).ok());
  EXPECT_EQ(child, before);
  EXPECT_TRUE(child.metadata.owner_references.SharesWith(before.metadata.owner_references));
}

TEST(SetControllerReferenceTest, BringsTheVersionUpToDate) {
  Cart child = New("shop", "c", "u2");
  child.metadata.owner_references = {{.api_version = "shop.example/v0", .kind = "Cart", .name = "boss", .uid = "u1", .controller = true}};
  ASSERT_TRUE(SetControllerReference(New("shop", "boss", "u1"), child).ok());
  ASSERT_EQ(child.metadata.owner_references.size(), 1U);
  EXPECT_EQ(child.metadata.owner_references[0].api_version, "shop.example/v1");
}

TEST(SetControllerReferenceTest, AnOwnerThatWasMadeAnewIsAnotherOne) {
  Cart child = New("shop", "c", "u2");
  child.metadata.owner_references = {{.api_version = "shop.example/v1", .kind = "Cart", .name = "boss", .uid = "old", .controller = true}};
  const Cart before = child;
  Result<void> r = SetControllerReference(New("shop", "boss", "new"), child);
  ASSERT_FALSE(r.ok());
  EXPECT_TRUE(IsAlreadyOwned(r.error()));
  EXPECT_NE(r.error().message().find("UID old, not new"), std::string::npos) << r.error().message();
  EXPECT_EQ(child, before);
}

TEST(SetControllerReferenceTest, FillsInAMissingUid) {
  Cart child = New("shop", "c", "u2");
  child.metadata.owner_references = {{.api_version = "shop.example/v1", .kind = "Cart", .name = "boss", .controller = true}};
  ASSERT_TRUE(SetControllerReference(New("shop", "boss", "u1"), child).ok());
  ASSERT_EQ(child.metadata.owner_references.size(), 1U);
  EXPECT_EQ(child.metadata.owner_references[0].uid, "u1");
}

TEST(SetControllerReferenceTest, RefusesASecondController) {
  Cart child = New("shop", "c", "u2");
  ASSERT_TRUE(SetControllerReference(New("shop", "boss", "u1"), child).ok());
  const Cart before = child;
  Result<void> r = SetControllerReference(New("shop", "rival", "u3"), child);
  ASSERT_FALSE(r.ok());
  EXPECT_TRUE(IsAlreadyOwned(r.error()));
  EXPECT_NE(r.error().message().find("shop/c is already controlled by Cart boss"), std::string::npos) << r.error().message();
  EXPECT_EQ(child, before);
  EXPECT_FALSE(IsAlreadyOwned(Error::Invalid("x")));
}

TEST(SetControllerReferenceTest, MakesAnOwnerTheController) {
  Cart child = New("shop", "c", "u2");
  Cart boss = New("shop", "boss", "u1");
  ASSERT_TRUE(SetOwnerReference(boss, child).ok());
  EXPECT_FALSE(HasControllerReference(child));
  ASSERT_TRUE(SetControllerReference(boss, child).ok());
  EXPECT_TRUE(HasControllerReference(child));
  EXPECT_EQ(child.metadata.owner_references.size(), 1U);
}

TEST(SetControllerReferenceTest, CanLeaveOutBlocking) {
  Cart child = New("shop", "c", "u2");
  ASSERT_TRUE(SetControllerReference(New("shop", "boss", "u1"), child, {.block_owner_deletion = false}).ok());
  EXPECT_EQ(child.metadata.owner_references[0].block_owner_deletion, std::optional<bool>(false));
}

TEST(OwnerNamespaceTest, ClusterScopedOwnersMayOwnAnything) {
  Cart cart = New("shop", "c", "u2");
  Region region = New<Region>("", "eu", "u4");
  EXPECT_TRUE(SetControllerReference(New<Region>("", "world", "u1"), cart).ok());
  EXPECT_TRUE(SetControllerReference(New<Region>("", "world", "u1"), region).ok());
}

TEST(OwnerNamespaceTest, NamespacedOwnersOwnInTheirNamespaceOnly) {
  Cart boss = New("shop", "boss", "u1");
  Cart other = New("bakery", "c", "u2");
  Region region = New<Region>("", "eu", "u4");
  EXPECT_NE(SetControllerReference(boss, other).error().message().find("another namespace"), std::string::npos);
  EXPECT_NE(SetOwnerReference(boss, other).error().message().find("another namespace"), std::string::npos);
  EXPECT_NE(SetControllerReference(boss, region).error().message().find("cluster-scoped"), std::string::npos);
  EXPECT_NE(SetOwnerReference(boss, region).error().message().find("cluster-scoped"), std::string::npos);
  EXPECT_FALSE(IsAlreadyOwned(SetOwnerReference(boss, region).error()));
  EXPECT_TRUE(other.metadata.owner_references.empty());
  EXPECT_TRUE(region.metadata.owner_references.empty());
}

TEST(SetOwnerReferenceTest, AllowsSeveralOwners) {
  Cart child = New("shop", "c", "u2");
  ASSERT_TRUE(SetOwnerReference(New("shop", "a", "u1"), child).ok());
  ASSERT_TRUE(SetOwnerReference(New("shop", "b", "u3"), child, {.block_owner_deletion = true}).ok());
  ASSERT_TRUE(SetOwnerReference(New("shop", "a", "u1"), child).ok());
  ASSERT_EQ(child.metadata.owner_references.size(), 2U);
  const auto& references = std::as_const(child.metadata.owner_references);
  EXPECT_EQ(references[0].uid, "u1");
  EXPECT_EQ(references[0].controller, std::nullopt);
  EXPECT_EQ(references[0].block_owner_deletion, std::nullopt);
  EXPECT_EQ(references[1].block_owner_deletion, std::optional<bool>(true));
}

TEST(SetOwnerReferenceTest, KeepsAnEarlierOwnerOfTheSameNameBesideTheNewOne) {
  Cart child = New("shop", "c", "u2");
  ASSERT_TRUE(SetOwnerReference(New("shop", "a", "old"), child).ok());
  ASSERT_TRUE(SetOwnerReference(New("shop", "a", "new"), child).ok());
  ASSERT_EQ(child.metadata.owner_references.size(), 2U);
  ASSERT_TRUE(RemoveOwnerReference(New("shop", "a", "old"), child).ok());
  ASSERT_EQ(child.metadata.owner_references.size(), 1U);
  EXPECT_EQ(child.metadata.owner_references[0].uid, "new");
}

TEST(HasOwnerReferenceTest, IgnoresTheVersionButNotTheUid) {
  Cart child = New("shop", "c", "u2");
  child.metadata.owner_references = {{.api_version = "shop.example/v9", .kind = "Cart", .name = "a", .uid = "u1"}};
  EXPECT_TRUE(HasOwnerReference(child, New("shop", "a", "u1")));
  EXPECT_FALSE(HasOwnerReference(child, New("shop", "a", "other")));
  EXPECT_FALSE(HasOwnerReference(child, New("shop", "b", "u1")));
  EXPECT_FALSE(HasOwnerReference(child, New<Region>("", "a", "u1")));
  child.metadata.owner_references = {{.api_version = "a/b/c", .kind = "Cart", .name = "a"}};
  EXPECT_FALSE(HasOwnerReference(child, New("shop", "a", "u1")));
}

TEST(RemoveOwnerReferenceTest, RemovesOneOwner) {
  Cart child = New("shop", "c", "u2");
  Cart a = New("shop", "a", "u1"), b = New("shop", "b", "u3");
  ASSERT_TRUE(SetOwnerReference(a, child).ok());
  ASSERT_TRUE(SetControllerReference(b, child).ok());
  EXPECT_TRUE(RemoveOwnerReference(a, child).ok());
  EXPECT_FALSE(HasOwnerReference(child, a));
  EXPECT_TRUE(HasOwnerReference(child, b));
  Result<void> again = RemoveOwnerReference(a, child);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message().find("shop/c does not have Cart a"), std::string::npos) << again.error().message();
}

TEST(RemoveOwnerReferenceTest, RemovesTheControllerOnlyWhereItIsOne) {
  Cart child = New("shop", "c", "u2");
  Cart a = New("shop", "a", "u1"), b = New("shop", "b", "u3");
  ASSERT_TRUE(SetOwnerReference(a, child).ok());
  ASSERT_TRUE(SetControllerReference(b, child).ok());
  EXPECT_FALSE(RemoveControllerReference(a, child).ok());
  EXPECT_TRUE(RemoveControllerReference(b, child).ok());
  EXPECT_FALSE(HasControllerReference(child));
  EXPECT_EQ(child.metadata.owner_references.size(), 1U);
}

TEST(OwnerReferenceTest, WorksOnDynamicObjects) {
  DynamicObject boss(Gvk{"shop.example", "v1", "Cart"}, {"shop", "boss"});
  boss.set_uid("u1");
  DynamicObject child(Gvk{"", "v1", "ConfigMap"}, {"shop", "settings"});
  child["data"]["x"] = "y";
  ASSERT_TRUE(SetControllerReference(boss, child).ok());
  EXPECT_TRUE(IsControlledBy(child, boss));
  EXPECT_TRUE(IsControlledBy(child, New("shop", "boss", "u1")));
  EXPECT_EQ(GetControllerOf(child)->api_version, "shop.example/v1");
  EXPECT_EQ(child["data"]["x"].string_value(), "y");
  EXPECT_TRUE(IsAlreadyOwned(SetControllerReference(New("shop", "rival", "u3"), child).error()));
  EXPECT_TRUE(RemoveOwnerReference(New("shop", "boss", "u1"), child).ok());
  EXPECT_EQ(child.FindNested({"metadata", "ownerReferences"}), nullptr);
}

}  // namespace
}  // namespace kube
