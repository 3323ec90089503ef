// Kinds of an imaginary shop, for the tests of room meta.
#pragma once

#include "kube/meta/v1.h"

namespace kube::testing_shop {

struct CartSpec {
  String size{};
  UnknownFields unknown_fields{};
  std::optional<std::int32_t> replicas{};
  static const TypeInfo kType;
  friend bool operator==(const CartSpec& a, const CartSpec& b) { return EqualObjects(kType, &a, &b); }
};

// Namespaced.
struct Cart {
  meta::v1::ObjectMeta metadata{};
  CartSpec spec{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
  friend bool operator==(const Cart& a, const Cart& b) { return EqualObjects(kType, &a, &b); }
};

struct CartList {
  meta::v1::ListMeta metadata{};
  List<Cart> items{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
  friend bool operator==(const CartList& a, const CartList& b) { return EqualObjects(kType, &a, &b); }
};

// Cluster-scoped.
struct Region {
  meta::v1::ObjectMeta metadata{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
  friend bool operator==(const Region& a, const Region& b) { return EqualObjects(kType, &a, &b); }
};

}  // namespace kube::testing_shop
