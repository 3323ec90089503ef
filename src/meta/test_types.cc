#include "meta/test_types.h"

#include <cstddef>
#include <iterator>

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace kube::testing_shop {

using K = FieldKind;
using S = FieldShape;

static constinit const FieldInfo kCartSpecFields[] = {
    {"size", nullptr, nullptr, offsetof(CartSpec, size), 1, K::kString, S::kPlain, false},
    {"replicas", nullptr, nullptr, offsetof(CartSpec, replicas), 2, K::kInt32, S::kOptional, false},
};
constinit const TypeInfo CartSpec::kType{
    "shop.v1.CartSpec", kCartSpecFields, std::size(kCartSpecFields), sizeof(CartSpec), offsetof(CartSpec, unknown_fields),
    TypeForm::kStruct,  nullptr};

static constinit const FieldInfo kCartFields[] = {
    {"metadata", &meta::v1::ObjectMeta::kType, nullptr, offsetof(Cart, metadata), 1, K::kMessage, S::kPlain, false},
    {"spec", &CartSpec::kType, nullptr, offsetof(Cart, spec), 2, K::kMessage, S::kPlain, false},
};
static constinit const KindInfo kCartKind{"shop.example", "v1", "Cart", "carts", true, false};
constinit const TypeInfo Cart::kType{"shop.v1.Cart",    kCartFields, std::size(kCartFields), sizeof(Cart), offsetof(Cart, unknown_fields),
                                     TypeForm::kStruct, &kCartKind};

static constinit const FieldInfo kCartListFields[] = {
    {"metadata", &meta::v1::ListMeta::kType, nullptr, offsetof(CartList, metadata), 1, K::kMessage, S::kPlain, false},
    {"items", &Cart::kType, nullptr, offsetof(CartList, items), 2, K::kMessage, S::kList, true},
};
static constinit const KindInfo kCartListKind{"shop.example", "v1", "CartList", "", false, true};
constinit const TypeInfo CartList::kType{
    "shop.v1.CartList", kCartListFields, std::size(kCartListFields), sizeof(CartList), offsetof(CartList, unknown_fields),
    TypeForm::kStruct,  &kCartListKind};

static constinit const FieldInfo kRegionFields[] = {
    {"metadata", &meta::v1::ObjectMeta::kType, nullptr, offsetof(Region, metadata), 1, K::kMessage, S::kPlain, false},
};
static constinit const KindInfo kRegionKind{"shop.example", "v1", "Region", "regions", false, false};
constinit const TypeInfo Region::kType{
    "shop.v1.Region",  kRegionFields, std::size(kRegionFields), sizeof(Region), offsetof(Region, unknown_fields),
    TypeForm::kStruct, &kRegionKind};

}  // namespace kube::testing_shop
