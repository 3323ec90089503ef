#include "kube/meta/resource.h"

#include <gtest/gtest.h>

#include "kube/meta/meta.h"  // the umbrella must go together with everything
#include "meta/test_types.h"

namespace kube {
namespace {

using testing_shop::Cart;
using testing_shop::CartList;
using testing_shop::CartSpec;
using testing_shop::Region;

static_assert(Resource<Cart> && Resource<Region> && Resource<PartialObjectMetadata>);
static_assert(!Resource<CartList> && !Resource<CartSpec> && !Resource<ObjectMeta> && !Resource<int> && !Resource<DynamicObject>);
static_assert(ResourceList<CartList> && ResourceList<PartialObjectMetadataList>);
static_assert(!ResourceList<Cart> && !ResourceList<Status> && !ResourceList<meta::v1::List>);
static_assert(std::is_same_v<ItemOf<CartList>, Cart>);
static_assert(ObjectType<Cart> && ObjectType<DynamicObject> && !ObjectType<CartList>);

Cart NewCart(const char* ns, const char* name) {
  Cart cart;
  cart.metadata.namespace_ = ns;
  cart.metadata.name = name;
  return cart;
}

TEST(ResourceTest, NamesItsKindAndResource) {
  EXPECT_EQ(GvkOf<Cart>(), (Gvk{"shop.example", "v1", "Cart"}));
  EXPECT_EQ(GvrOf<Cart>(), (Gvr{"shop.example", "v1", "carts"}));
  EXPECT_EQ(GvkOf(Cart()), GvkOf<Cart>());
  EXPECT_TRUE(IsNamespaced<Cart>());
  EXPECT_FALSE(IsNamespaced<Region>());
  EXPECT_TRUE(KindOf<CartList>().is_list);
}

TEST(ResourceTest, GivesEmptyNamesForPartsAndListsWithoutAResource) {
  EXPECT_TRUE(GvkOf<CartSpec>().empty());
  EXPECT_TRUE(GvrOf<CartSpec>().empty());
  EXPECT_TRUE(GvrOf<CartList>().empty());
  EXPECT_EQ(GvkOf<CartList>().kind, "CartList");
}

TEST(ResourceTest, FindsMetadataAndKeys) {
  const Cart cart = NewCart("shop", "c1");
  EXPECT_EQ(&MetadataOf(cart), &cart.metadata);
  EXPECT_EQ(KeyOf(cart), (ObjectKey{"shop", "c1"}));
  EXPECT_EQ(KeyOf(cart.metadata), (ObjectKey{"shop", "c1"}));
}

TEST(ResourceTest, FindsMetadataOfErasedTypes) {
  Cart cart = NewCart("shop", "c1");
  EXPECT_EQ(MetadataOf(Cart::kType, &cart), &cart.metadata);
  EXPECT_EQ(ListMetadataOf(Cart::kType, &cart), nullptr);
  MutableMetadataOf(Cart::kType, &cart)->name = "c2";
  EXPECT_EQ(cart.metadata.name, "c2");
  CartList list;
  EXPECT_EQ(MetadataOf(CartList::kType, &list), nullptr);
  EXPECT_EQ(ListMetadataOf(CartList::kType, &list), &list.metadata);
  MutableListMetadataOf(CartList::kType, &list)->resource_version = "7";
  EXPECT_EQ(list.metadata.resource_version, "7");
  CartSpec spec;
  EXPECT_EQ(MetadataOf(CartSpec::kType, &spec), nullptr);
}

TEST(ResourceTest, FindsMetadataOfAnyObjects) {
  AnyObject object(Cart::kType);
  const AnyObject copy = object;
  MutableMetadataOf(object)->name = "c1";
  EXPECT_EQ(MetadataOf(object)->name, "c1");
  EXPECT_EQ(MetadataOf(copy)->name, "");
  EXPECT_EQ(MetadataOf(AnyObject()), nullptr);
}

TEST(ResourceTest, WalksItemsOfErasedLists) {
  CartList list;
  EXPECT_EQ(ItemsOf(CartList::kType, &list).size, 0U);
  EXPECT_EQ(ItemsOf(CartList::kType, &list).type, &Cart::kType);
  list.items = {NewCart("a", "1"), NewCart("a", "2")};
  ItemsView items = ItemsOf(CartList::kType, &list);
  ASSERT_EQ(items.size, 2U);
  EXPECT_EQ(MetadataOf(*items.type, items[1])->name, "2");
  EXPECT_EQ(ItemTypeOf(CartList::kType), &Cart::kType);
  EXPECT_EQ(ItemTypeOf(Cart::kType), nullptr);
  EXPECT_EQ(ItemTypeOf(meta::v1::List::kType), nullptr);
  Cart cart;
  EXPECT_EQ(ItemsOf(Cart::kType, &cart).type, nullptr);
}

TEST(PartialObjectMetadataTest, KeepsTheMetadataOnly) {
  Cart cart = NewCart("shop", "c1");
  cart.metadata.labels["tier"] = "front";
  cart.spec.size = "large";
  PartialObjectMetadata partial = AsPartialObjectMetadata(cart);
  EXPECT_EQ(partial.metadata, cart.metadata);
  EXPECT_EQ(GvkOf(partial), (Gvk{"meta.k8s.io", "v1", "PartialObjectMetadata"}));
  CartList list{.metadata = {.resource_version = "7"}, .items = {cart, cart}};
  PartialObjectMetadataList partials = AsPartialObjectMetadataList(list);
  EXPECT_EQ(partials.metadata.resource_version, "7");
  ASSERT_EQ(partials.items.size(), 2U);
  EXPECT_EQ(partials.items[1].metadata.labels["tier"], "front");
}

}  // namespace
}  // namespace kube
