// +groupName=shop.example.com
// +versionName=v1
// +kubebuilder:ac:generate=false
#pragma once

#include <kube/api/core/v1.h>
#include <kube/kind.h>

namespace shop::v1 {

// Phase says how far it is.
// +k8s:enum
using Phase = kube::String;
inline constexpr std::string_view kPhasePending = "PENDING", kPhaseDone = "DONE";
inline constexpr std::string_view kPhaseRunning = "RUNNING";

// Color is a name of one.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[a-z]+$`
using Color = kube::String;

// Colors are several.
// +kubebuilder:validation:MaxItems=3
using Colors = kube::List<Color>;

// Percent is at most 100.
// +kubebuilder:validation:Maximum=100
// +kubebuilder:validation:Minimum=0
using Percent = std::int32_t;

// Common is in several structs.
struct Common {
  // Zone of it.
  // +required
  kube::String zone{};
  kube::Map<kube::String> labels{};

  KUBE_TABLE(Common);
};

// Part of a widget.
// +structType=atomic
struct Part {
  // Name of the part.
  // +required
  kube::String name{};
  // +kubebuilder:default=TCP
  // +kubebuilder:validation:Enum=TCP;UDP
  kube::String protocol{};
  std::optional<std::int64_t> weight{};

  KUBE_TABLE(Part);
};

// Source is one of several.
// +kubebuilder:validation:ExactlyOneOf=url;inlineText
// +kubebuilder:validation:AtMostOneOf=user;token
// +kubebuilder:validation:AtLeastOneOf=url;user
struct Source {
  std::optional<kube::String> url{};
  std::optional<kube::String> inline_text{};
  kube::String user{};
  kube::String token{};

  KUBE_TABLE(Source);
};

// WidgetSpec is what a widget should be.
//
// It has several paragraphs, and
// line breaks.
//   - and a list
//
// TODO: this line is not for users
// +kubebuilder:validation:XValidation:rule="self.size > 0 || has(self.color)",message="size, or a color",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.color) || has(self.color)",messageExpression="'no color'",fieldPath=.color
struct WidgetSpec {
  // +kube:inline
  Common common{};

  // Size of it.
  // +kubebuilder:default=5
  // +kubebuilder:validation:Minimum=1
  // +kubebuilder:validation:Maximum=10
  // +kubebuilder:validation:ExclusiveMaximum=true
  // +kubebuilder:validation:MultipleOf=1
  std::optional<std::int32_t> size{};

  // +kubebuilder:validation:MaxLength=10
  Color color{};

  // Palette of it.
  Colors palette{};

  Phase phase{};

  // Fill level.
  // +kubebuilder:validation:Maximum=50
  std::optional<Percent> fill{};

  // Parts of it.
  // +listType=map
  // +listMapKey=name
  // +listMapKey=protocol
  // +kubebuilder:validation:MinItems=1
  // +kubebuilder:validation:MaxItems=16
  kube::List<Part> parts{};

  // +listType=set
  // +kubebuilder:validation:items:MaxLength=5
  // +kubebuilder:validation:items:Pattern=`^a`
  kube::List<kube::String> tags{};

  // +listType=atomic
  // +kubebuilder:default={a,b}
  kube::List<kube::String> args{};

  // +mapType=atomic
  // +kubebuilder:validation:MinProperties=1
  // +kubebuilder:validation:MaxProperties=4
  kube::Map<kube::Quantity> limits{};

  // Routes by name.
  kube::Map<kube::List<kube::String>> routes{};

  kube::List<kube::List<std::int32_t>> grid{};

  kube::Map<kube::Map<Part>> nested{};

  // +required
  // +k8s:immutable
  // +kube:json=class
  kube::String class_name{};

  // +k8s:immutable
  kube::String owner{};

  // +k8s:required
  kube::String title{};

  // +k8s:optional
  // +k8s:maxItems=7
  kube::List<kube::IntOrString> ports{};

  // +kubebuilder:validation:Enum=1;2;"many"
  // +kubebuilder:validation:XIntOrString
  std::optional<kube::IntOrString> port{};

  // +nullable
  std::optional<kube::Quantity> memory{};

  // +kubebuilder:default="1m30s"
  std::optional<kube::Duration> timeout{};

  kube::Time since{};

  kube::MicroTime exactly{};

  kube::Bytes data{};

  // Anything goes.
  kube::RawJson anything{};

  // +kubebuilder:validation:EmbeddedResource
  // +kubebuilder:validation:Type=object
  // +kubebuilder:pruning:PreserveUnknownFields
  // +kube:json=template
  kube::RawJson template_{};

  // +kubebuilder:validation:Schemaless
  // +kubebuilder:pruning:PreserveUnknownFields
  kube::Box<Part> free{};

  // +kubebuilder:title="The first part"
  // +kubebuilder:example={"name": "hub"}
  // +kubebuilder:externalDocs:url="https://example.com/parts",description="about parts"
  kube::Box<Part> first{};

  // +kubebuilder:validation:Format=ipv4
  kube::String address{};

  // +default=true
  std::optional<bool> on{};

  // +kubebuilder:validation:MaxItems=8
  kube::List<Source> sources{};

  // +structType=atomic
  kube::Box<kube::core::v1::LocalObjectReference> ref{};

  kube::meta::v1::ObjectMeta meta{};

  KUBE_TABLE(WidgetSpec);
};

// WidgetStatus is what it is.
struct WidgetStatus {
  // +listType=map
  // +listMapKey=type
  kube::List<kube::meta::v1::Condition> conditions{};
  std::int32_t replicas{};
  kube::String selector{};

  KUBE_TABLE(WidgetStatus);
};

// Widget is a kind.
// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:generate=true
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=wi;wid,categories={all,shop},singular=widget
// +kubebuilder:printcolumn:name=Size,type=integer,JSONPath=`.spec.size`,description="how large, in parts",format=int32,priority=1
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:selectablefield:JSONPath=".spec.class"
// +kubebuilder:metadata:annotations="note=a, b",labels="team=shop"
struct Widget {
  kube::meta::v1::ObjectMeta metadata{};
  // +required
  WidgetSpec spec{};
  WidgetStatus status{};

  KUBE_TABLE(Widget);
};

}  // namespace shop::v1
