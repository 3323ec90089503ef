// Kinds with what operators write in other ways: types of types, rules with quotes, structs in structs.
//
// +groupName=policies.example.com
// +versionName=v2
#pragma once

#include <kube/kind.h>

namespace policies::v2 {

// Effect is what happens.
// +k8s:enum
using Effect = kube::String;
inline constexpr std::string_view kEffectDeny = "deny", kEffectWarn = "warn", kEffectAllow = "allow";
inline constexpr std::string_view kEffectAllowWithAWarning = "allow with a warning";

// Base is a text.
// +kubebuilder:validation:MinLength=1
using Base = kube::String;

// Middle is a Base.
// +kubebuilder:validation:MaxLength=20
using Middle = Base;

// Top is a Middle.
// +kubebuilder:validation:Pattern=`^x`
using Top = Middle;

// Ints have limits of their items.
// +kubebuilder:validation:items:Minimum=1
// +kubebuilder:validation:items:Maximum=9
// +kubebuilder:validation:MaxItems=4
using Ints = kube::List<std::int64_t>;

// Matrix is one of lists.
// +kubebuilder:validation:items:MaxItems=3
using Matrix = kube::List<kube::List<std::int32_t>>;

// Share is a number, or one with %.
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Pattern="^((100|[0-9]{1,2})%|[0-9]+)$"
using Share = kube::IntOrString;

// Node names one.
// +kubebuilder:validation:MaxLength=63
using Node = kube::String;

// NodeLabels are its labels.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=4
// +mapType=atomic
// +kubebuilder:validation:XValidation:message="short keys",rule="self.all(key, key.size() < 10)"
using NodeLabels = kube::Map<Node>;

// Entry of a list.
struct Entry {
  // +required
  // +kubebuilder:validation:MaxLength=9
  kube::String key{};
  // +kubebuilder:default=main
  // +kubebuilder:validation:MaxLength=9
  kube::String section{};
  // +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
  // +kubebuilder:validation:MaxLength=9
  std::optional<kube::String> value{};

  KUBE_TABLE(Entry);
};

// Inner is inlined in Middling.
// +kubebuilder:validation:XValidation:rule="self.first != 'a' || has(self.second)",message="second, if first is a"
// +kubebuilder:validation:MinProperties=1
struct Inner {
  // First of Inner.
  // +required
  // +kubebuilder:validation:MinLength=1
  kube::String first{};
  // +kubebuilder:default:=x
  kube::String second{};

  KUBE_TABLE(Inner);
};

// Middling is inlined in the spec.
struct Middling {
  // +kube:inline
  Inner inner{};
  // Third of Middling.
  // +required
  kube::String third{};

  KUBE_TABLE(Middling);
};

// Either is inlined by a pointer.
// +kubebuilder:validation:AtMostOneOf=left;right
// +kubebuilder:pruning:PreserveUnknownFields
struct Either {
  std::optional<kube::String> left{};
  std::optional<kube::String> right{};

  KUBE_TABLE(Either);
};

// Named is inlined by a field with a name.
struct Named {
  std::optional<std::int32_t> number{};

  KUBE_TABLE(Named);
};

// Limits have numbers as people write them.
// +structType=atomic
struct Limits {
  // +kubebuilder:validation:Minimum=1e2
  // +kubebuilder:validation:Maximum=1.5e3
  std::int32_t exponent{};
  // +kubebuilder:default=0755
  std::optional<std::int32_t> mode{};
  // +kubebuilder:default=087
  kube::String text{};
  // +kubebuilder:validation:Format=int32
  std::int64_t narrow{};
  // +kubebuilder:validation:Format=""
  std::int64_t wide{};
  // +kubebuilder:validation:Type=integer
  // +kubebuilder:validation:Format=int64
  std::optional<kube::IntOrString> whole{};
  // +kubebuilder:validation:MaxItems=0
  kube::List<kube::String> none{};
  // +kubebuilder:validation:Enum=100m;200Mi;-;"";_;a-b;a/b;v1.0
  kube::String words{};

  KUBE_TABLE(Limits);
};

// Defaults of every form.
struct Defaults {
  // +kubebuilder:default={v1,2,true}
  kube::List<kube::String> words{};
  // +kubebuilder:default={{1,2},{3}}
  Matrix matrix{};
  // +kubebuilder:default={"x":{1}}
  kube::Map<Ints> by_name{};
  // +kubebuilder:default={"a": {"key": "x"}, b: {key: y, section: other}}
  kube::Map<Entry> entries{};
  // +kubebuilder:default={{key: x}, {key: y, value: "a, b; c"}}
  // +listType=map
  // +listMapKey=section
  // +listMapKey=key
  kube::List<Entry> list{};
  // +kubebuilder:default="10%"
  std::optional<Share> surge{};
  // +kubebuilder:default=""
  std::optional<kube::String> nothing{};
  // +kubebuilder:default={}
  kube::Map<kube::String> empty_map{};
  // +kubebuilder:default={}
  kube::List<kube::String> empty_list{};
  // +kubebuilder:example={a: 1, b: {x, y}, c: {d: true}}
  kube::Map<kube::String> example{};

  KUBE_TABLE(Defaults);
};

// PolicySpec is what a policy should be.
// +kubebuilder:validation:XValidation:rule="self.first != \"\" && !self.first.matches('^[A-Z]+\\\\.$')",message="escaped \"quotes\" and \\ backslash",fieldPath=".first",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule=`self.third in ["a", "b"] || self.third.matches("\\w")`,messageExpression=`"got " + self.third`
// +kubebuilder:validation:ExactlyOneOf=here;there
struct PolicySpec {
  // +kube:inline
  Middling middling{};
  // +kube:inline
  Either either{};
  // +kube:inline
  Named name{};

  kube::Box<Middling> here{};
  kube::List<Either> there{};
  Effect effect{};
  // +kubebuilder:validation:MaxLength=10
  Top top{};
  kube::List<Top> tops{};
  kube::Map<Top> by_top{};
  // +kubebuilder:validation:MinItems=1
  Ints ints{};
  std::optional<Share> share{};
  // +kubebuilder:validation:MaxProperties=8
  kube::Map<NodeLabels> nodes{};
  // +nullable
  kube::Map<kube::String> maybe{};
  // +kubebuilder:validation:Type=object
  // +kubebuilder:pruning:PreserveUnknownFields
  kube::RawJson object{};
  // +k8s:immutable
  // +listType=set
  // +kubebuilder:validation:MaxItems=5
  // +kubebuilder:validation:items:MaxLength=5
  kube::List<kube::String> fixed{};
  // +k8s:required
  kube::List<kube::String> needed{};
  // +k8s:required
  kube::Map<kube::String> needed_map{};
  // +k8s:required
  Entry needed_struct{};
  // +k8s:required
  kube::String needed_text{};
  kube::Box<Limits> limits{};
  kube::Box<Defaults> defaults{};

  KUBE_TABLE(PolicySpec);
};

// PolicyStatus is what it is.
struct PolicyStatus {
  kube::String phase{};
  // +listType=map
  // +listMapKey=type
  kube::List<kube::meta::v1::Condition> conditions{};

  KUBE_TABLE(PolicyStatus);
};

// Policy is a kind.
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=po1;po2,singular=pol
// +kubebuilder:metadata:annotations="a.example.com/x=y";"b=c=d",labels=app=policy
// +kubebuilder:metadata:labels={"tier=1","zone=b"}
// +kubebuilder:printcolumn:name="First",type=string,JSONPath=`.spec.defaults.list[0].key`,description=`a "text", quoted; with: all`
// +kubebuilder:printcolumn:name=All,type=string,JSONPath=`.spec.defaults.list[*].key`
// +kubebuilder:printcolumn:name=Seen,type=string,JSONPath=".metadata.annotations.example\\.com/seen"
struct Policy {
  kube::meta::v1::ObjectMeta metadata{};
  // Spec of it.
  // +kubebuilder:validation:XValidation:rule="self.third == oldSelf.third",message="third is immutable"
  // +required
  PolicySpec spec{};
  // +kubebuilder:default={phase: "Pending", conditions: {{type: "Accepted", status: "Unknown", reason:"Pending", message:"Waiting for controller", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
  PolicyStatus status{};

  KUBE_TABLE(Policy);
};

}  // namespace policies::v2
