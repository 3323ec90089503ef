#include "kube/meta/registry.h"

#include <gtest/gtest.h>

#include "kube/meta/v1.h"
#include "meta/test_types.h"

namespace kube {
namespace {

using testing_shop::Cart;
using testing_shop::CartList;
using testing_shop::CartSpec;
using testing_shop::Region;

TEST(TypeRegistryTest, FindsByKindAndByResource) {
  TypeRegistry registry;
  registry.Add<Cart, CartList>();
  EXPECT_EQ(registry.Find({"shop.example", "v1", "Cart"}), &Cart::kType);
  EXPECT_EQ(registry.Find("shop.example/v1", "CartList"), &CartList::kType);
  EXPECT_EQ(registry.FindByResource({"shop.example", "v1", "carts"}), &Cart::kType);
  EXPECT_EQ(registry.FindListOf(Cart::kType), &CartList::kType);
  EXPECT_EQ(registry.size(), 2U);
}

TEST(TypeRegistryTest, GivesNullForWhatItDoesNotHave) {
  TypeRegistry registry;
  registry.Add(Region::kType);
  EXPECT_EQ(registry.Find({"shop.example", "v2", "Region"}), nullptr);
  EXPECT_EQ(registry.Find("a/b/c", "Region"), nullptr);
  EXPECT_EQ(registry.FindByResource({"shop.example", "v1", "carts"}), nullptr);
  EXPECT_EQ(registry.FindListOf(Region::kType), nullptr);
}

TEST(TypeRegistryTest, NamesTheKindInItsError) {
  TypeRegistry registry;
  registry.Add<Region>();
  EXPECT_EQ(*registry.Get({"shop.example", "v1", "Region"}), &Region::kType);
  Result<const TypeInfo*> missing = registry.Get({"shop.example", "v1", "Cart"});
  ASSERT_FALSE(missing.ok());
  EXPECT_TRUE(IsNotRegistered(missing.error()));
  EXPECT_EQ(missing.error().message(), "no type is registered for kind Cart of shop.example/v1");
  EXPECT_FALSE(IsNotRegistered(Error::Invalid("other")));
}

TEST(TypeRegistryTest, PassesOverTypesThatAreNoKinds) {
  TypeRegistry registry;
  registry.Add<CartSpec>();
  EXPECT_EQ(registry.size(), 0U);
}

TEST(TypeRegistryTest, AddsArraysOfTables) {
  static const TypeInfo* const kTypes[] = {&Cart::kType, &CartList::kType, &Region::kType};
  TypeRegistry registry;
  registry.Add(kTypes);
  EXPECT_EQ(registry.Kinds(),
            (std::vector<Gvk>{{"shop.example", "v1", "Cart"}, {"shop.example", "v1", "CartList"}, {"shop.example", "v1", "Region"}}));
}

TEST(TypeRegistryTest, LaterEntriesReplaceEarlierOnes) {
  TypeRegistry registry;
  registry.Add<Cart>();
  registry.AddAs({"shop.example", "v1", "Cart"}, Region::kType);
  EXPECT_EQ(registry.Find({"shop.example", "v1", "Cart"}), &Region::kType);
  EXPECT_EQ(registry.size(), 1U);
}

TEST(TypeRegistryTest, HasOptionKindsInEachGroupVersionThatAsksForThem) {
  TypeRegistry registry = TypeRegistry::WithMetaKinds();
  EXPECT_EQ(registry.Find("v1", "Status"), &meta::v1::Status::kType);
  EXPECT_EQ(registry.Find("v1", "List"), &meta::v1::List::kType);
  EXPECT_EQ(registry.Find("v1", "DeleteOptions"), &meta::v1::DeleteOptions::kType);
  EXPECT_EQ(registry.Find("v1", "WatchEvent"), &meta::v1::WatchEvent::kType);
  EXPECT_EQ(registry.Find("meta.k8s.io/v1", "PartialObjectMetadata"), &meta::v1::PartialObjectMetadata::kType);
  EXPECT_EQ(registry.FindListOf(meta::v1::PartialObjectMetadata::kType), &meta::v1::PartialObjectMetadataList::kType);
  EXPECT_EQ(registry.Find("shop.example/v1", "DeleteOptions"), nullptr);
  registry.AddOptionKinds({"shop.example", "v1"});
  for (const char* kind : {"CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"}) {
    EXPECT_NE(registry.Find("shop.example/v1", kind), nullptr) << kind;
  }
}

TEST(TypeRegistryTest, CopiesAreIndependent) {
  TypeRegistry a;
  a.Add<Cart>();
  TypeRegistry b = a;
  b.Add<Region>();
  EXPECT_EQ(a.size(), 1U);
  EXPECT_EQ(b.size(), 2U);
}

}  // namespace
}  // namespace kube
