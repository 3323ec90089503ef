// +groupName=limits.example.com
// +versionName=v1
#pragma once

#include <kube/kind.h>

namespace limits::v1 {

// Short is a short text.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4
using Short = kube::String;

// Shorts are few.
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=3
using Shorts = kube::List<Short>;

// Power is a power of two.
// +kubebuilder:validation:Enum=1;2;4;8
using Power = std::int32_t;

// Formats are texts of every format.
struct Formats {
  // +kubebuilder:validation:Format=date
  kube::String date{};
  // +kubebuilder:validation:Format=date-time
  kube::String date_time{};
  // +kubebuilder:validation:Format=duration
  kube::String duration{};
  // +kubebuilder:validation:Format=email
  kube::String email{};
  // +kubebuilder:validation:Format=hostname
  kube::String hostname{};
  // +kubebuilder:validation:Format=ipv6
  kube::String ipv6{};
  // +kubebuilder:validation:Format=cidr
  kube::String range{};
  // +kubebuilder:validation:Format=mac
  kube::String mac{};
  // +kubebuilder:validation:Format=uri
  kube::String uri{};
  // +kubebuilder:validation:Format=uuid
  kube::String uuid{};
  // +kubebuilder:validation:Format=byte
  kube::String bytes{};
  // +kubebuilder:validation:Format=not-known
  kube::String unknown{};

  KUBE_TABLE(Formats);
};

// Peer is one of a list by number and side.
struct Peer {
  // +required
  // +kubebuilder:validation:Minimum=-3
  std::int32_t number{};
  // +kubebuilder:default=left
  // +kubebuilder:validation:Enum=left;right
  kube::String side{};
  // +kubebuilder:validation:Pattern=`^([0-9]{1,3}|[a-f]+)(-[xyz])?$`
  // +kubebuilder:validation:MaxLength=5
  kube::String label{};

  KUBE_TABLE(Peer);
};

// Depth has defaults of its own.
struct Depth {
  // +kubebuilder:default=3
  std::optional<std::int64_t> level{};
  // +kubebuilder:default={a: x}
  kube::Map<Short> names{};
  // +kubebuilder:default={{number: 1}}
  // +listType=atomic
  kube::List<Peer> peers{};

  KUBE_TABLE(Depth);
};

// LimitSpec has a limit of every kind.
struct LimitSpec {
  Formats formats{};

  // +kubebuilder:validation:MultipleOf=3
  // +kubebuilder:validation:Minimum=-9
  // +kubebuilder:validation:Maximum=99
  std::int32_t thirds{};

  // +required
  // +kubebuilder:validation:Minimum=-9007199254740991
  // +kubebuilder:validation:Maximum=9007199254740991
  std::int64_t exact{};

  // +kubebuilder:validation:Minimum=0
  // +kubebuilder:validation:ExclusiveMinimum=true
  // +kubebuilder:validation:Maximum=10
  // +kubebuilder:validation:ExclusiveMaximum=true
  std::optional<std::int64_t> open{};

  Power power{};

  // +listType=set
  kube::List<Power> powers{};

  // +listType=set
  // +kubebuilder:validation:MaxItems=5
  kube::List<Short> words{};

  kube::Map<Short> values{};

  // +kubebuilder:validation:MaxProperties=3
  kube::Map<Shorts> table{};

  kube::List<Shorts> rows{};

  // +listType=map
  // +listMapKey=number
  // +listMapKey=side
  // +kubebuilder:validation:MaxItems=6
  kube::List<Peer> peers{};

  kube::Map<Peer> by_name{};

  // +nullable
  kube::Box<Peer> maybe{};

  // +nullable
  // +kubebuilder:validation:MaxItems=2
  kube::List<kube::String> some{};

  // +kubebuilder:default={}
  kube::Box<Depth> depth{};

  // +required
  bool on{};

  // +kubebuilder:validation:MinProperties=1
  // +kubebuilder:validation:MaxProperties=2
  kube::Map<kube::IntOrString> either{};

  // +kubebuilder:validation:items:XEmbeddedResource
  // +kubebuilder:validation:items:XPreserveUnknownFields
  // +kubebuilder:validation:items:Type=object
  kube::List<kube::RawJson> objects{};

  kube::Quantity size{};

  KUBE_TABLE(LimitSpec);
};

// Limit is a kind.
struct Limit {
  kube::meta::v1::ObjectMeta metadata{};
  // +required
  LimitSpec spec{};
  kube::Map<kube::Map<kube::List<Short>>> extra{};

  KUBE_TABLE(Limit);
};

}  // namespace limits::v1
