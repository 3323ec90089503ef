// +groupName=shop.example.com
// +versionName=v1beta1
// +kubebuilder:validation:Required
#pragma once

#include <kube/kind.h>

namespace shop::v1beta1 {

// Item of a trinket.
struct Item {
  kube::String name{};
  // +optional
  kube::String note{};

  KUBE_TABLE(Item);
};

// TrinketSpec has fields that are required unless they say otherwise.
struct TrinketSpec {
  kube::String first{};
  // +kubebuilder:validation:Optional
  kube::String second{};
  // +kubebuilder:validation:Required
  kube::String third{};
  // +optional
  // +k8s:listType=map
  // +k8s:listMapKey=name
  kube::List<Item> items{};
  // +optional
  // +k8s:minimum=2
  // +k8s:maximum=9
  std::int32_t small{};
  // +optional
  // +kubebuilder:validation:Minimum=0
  // +kubebuilder:validation:ExclusiveMinimum=true
  std::int64_t positive{};
  // +optional
  // +kubebuilder:validation:UniqueItems=false
  kube::List<kube::String> words{};
  // +optional
  // +kubebuilder:validation:XEmbeddedResource
  // +kubebuilder:validation:XPreserveUnknownFields
  // +kubebuilder:validation:Type=object
  kube::RawJson object{};
  // +kubebuilder:validation:XValidation:rule="oldSelf.orValue(self) == self",optionalOldSelf=true
  kube::String fixed{};
  Item item{};

  KUBE_TABLE(TrinketSpec);
};

// Trinket is a kind.
struct Trinket {
  kube::meta::v1::ObjectMeta metadata{};
  TrinketSpec spec{};

  KUBE_TABLE(Trinket);
};

}  // namespace shop::v1beta1
