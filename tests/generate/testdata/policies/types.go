// Package v2 has a kind with what operators write in other ways: types of types, rules with quotes, structs in structs.
// +groupName=policies.example.com
// +versionName=v2
package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Effect is what happens.
// +k8s:enum
type Effect string

const (
	EffectDeny          Effect = "deny"
	EffectWarn, EffectA Effect = "warn", "allow"
	EffectAWithout      Effect = "allow with a warning"
)

// Base is a text.
// +kubebuilder:validation:MinLength=1
type Base string

// Middle is a Base.
// +kubebuilder:validation:MaxLength=20
type Middle Base

// Top is a Middle.
// +kubebuilder:validation:Pattern=`^x`
type Top Middle

// Ints have limits of their items.
// +kubebuilder:validation:items:Minimum=1
// +kubebuilder:validation:items:Maximum=9
// +kubebuilder:validation:MaxItems=4
type Ints []int64

// Matrix is one of lists.
// +kubebuilder:validation:items:MaxItems=3
type Matrix [][]int32

// Share is a number, or one with %.
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Pattern="^((100|[0-9]{1,2})%|[0-9]+)$"
type Share intstr.IntOrString

// Node names one.
// +kubebuilder:validation:MaxLength=63
type Node string

// NodeLabels are its labels.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=4
// +mapType=atomic
// +kubebuilder:validation:XValidation:message="short keys",rule="self.all(key, key.size() < 10)"
type NodeLabels map[string]Node

// Entry of a list.
type Entry struct {
	// +kubebuilder:validation:MaxLength=9
	Key string `json:"key"`
	// +kubebuilder:default=main
	// +kubebuilder:validation:MaxLength=9
	Section string `json:"section,omitempty"`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	// +kubebuilder:validation:MaxLength=9
	Value *string `json:"value,omitempty"`
}

// Inner is inlined in Middling.
// +kubebuilder:validation:XValidation:rule="self.first != 'a' || has(self.second)",message="second, if first is a"
// +kubebuilder:validation:MinProperties=1
type Inner struct {
	// First of Inner.
	// +kubebuilder:validation:MinLength=1
	First string `json:"first"`
	// +kubebuilder:default:=x
	Second string `json:"second,omitempty"`
}

// Middling is inlined in the spec.
type Middling struct {
	Inner `json:",inline"`
	// Third of Middling.
	Third string `json:"third"`
}

// Either is inlined by a pointer.
// +kubebuilder:validation:AtMostOneOf=left;right
// +kubebuilder:pruning:PreserveUnknownFields
type Either struct {
	Left  *string `json:"left,omitempty"`
	Right *string `json:"right,omitempty"`
}

// Named is inlined by a field with a name.
type Named struct {
	Number *int32 `json:"number,omitempty"`
}

// Limits have numbers as people write them.
// +structType=atomic
type Limits struct {
	// +kubebuilder:validation:Minimum=1e2
	// +kubebuilder:validation:Maximum=1.5e3
	Exponent int32 `json:"exponent,omitempty"`
	// +kubebuilder:default=0755
	Mode *int32 `json:"mode,omitempty"`
	// +kubebuilder:default=087
	Text string `json:"text,omitempty"`
	// +kubebuilder:validation:Format=int32
	Narrow int64 `json:"narrow,omitempty"`
	// +kubebuilder:validation:Format=""
	Wide int64 `json:"wide,omitempty"`
	// +kubebuilder:validation:Type=integer
	// +kubebuilder:validation:Format=int64
	Whole *intstr.IntOrString `json:"whole,omitempty"`
	// +kubebuilder:validation:MaxItems=0
	None []string `json:"none,omitempty"`
	// +kubebuilder:validation:Enum=100m;200Mi;-;"";_;a-b;a/b;v1.0
	Words string `json:"words,omitempty"`
}

// Defaults of every form.
type Defaults struct {
	// +kubebuilder:default={v1,2,true}
	Words []string `json:"words,omitempty"`
	// +kubebuilder:default={{1,2},{3}}
	Matrix Matrix `json:"matrix,omitempty"`
	// +kubebuilder:default={"x":{1}}
	ByName map[string]Ints `json:"byName,omitempty"`
	// +kubebuilder:default={"a": {"key": "x"}, b: {key: y, section: other}}
	Entries map[string]Entry `json:"entries,omitempty"`
	// +kubebuilder:default={{key: x}, {key: y, value: "a, b; c"}}
	// +listType=map
	// +listMapKey=section
	// +listMapKey=key
	List []Entry `json:"list,omitempty"`
	// +kubebuilder:default="10%"
	Surge *Share `json:"surge,omitempty"`
	// +kubebuilder:default=""
	Nothing *string `json:"nothing,omitempty"`
	// +kubebuilder:default={}
	EmptyMap map[string]string `json:"emptyMap,omitempty"`
	// +kubebuilder:default={}
	EmptyList []string `json:"emptyList,omitempty"`
	// +kubebuilder:example={a: 1, b: {x, y}, c: {d: true}}
	Example map[string]string `json:"example,omitempty"`
}

// PolicySpec is what a policy should be.
// +kubebuilder:validation:XValidation:rule="self.first != \"\" && !self.first.matches('^[A-Z]+\\\\.$')",message="escaped \"quotes\" and \\ backslash",fieldPath=".first",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule=`self.third in ["a", "b"] || self.third.matches("\\w")`,messageExpression=`"got " + self.third`
// +kubebuilder:validation:ExactlyOneOf=here;there
type PolicySpec struct {
	Middling `json:",inline"`
	*Either  `json:",inline"`
	Name     Named `json:",inline"`

	// +optional
	Here *Middling `json:"here,omitempty"`
	// +optional
	There []Either `json:"there,omitempty"`
	// +optional
	Effect Effect `json:"effect,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=10
	Top Top `json:"top,omitempty"`
	// +optional
	Tops []Top `json:"tops,omitempty"`
	// +optional
	ByTop map[Top]Top `json:"byTop,omitempty"`
	// +optional
	// +kubebuilder:validation:MinItems=1
	Ints Ints `json:"ints,omitempty"`
	// +optional
	Share *Share `json:"share,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	Nodes map[Node]NodeLabels `json:"nodes,omitempty"`
	// +optional
	// +nullable
	Maybe map[string]string `json:"maybe,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Object *unstructured.Unstructured `json:"object,omitempty"`
	// +optional
	// +k8s:immutable
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:MaxLength=5
	Fixed []string `json:"fixed,omitempty"`
	// +k8s:required
	Needed []string `json:"needed,omitempty"`
	// +k8s:required
	NeededMap map[string]string `json:"neededMap,omitempty"`
	// +k8s:required
	NeededStruct Entry `json:"neededStruct,omitempty"`
	// +k8s:required
	NeededText *string `json:"neededText,omitempty"`
	// +optional
	Limits *Limits `json:"limits,omitempty"`
	// +optional
	Defaults *Defaults `json:"defaults,omitempty"`
}

// PolicyStatus is what it is.
type PolicyStatus struct {
	// +optional
	Phase string `json:"phase,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Policy is a kind.
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=po1;po2,singular=pol
// +kubebuilder:metadata:annotations="a.example.com/x=y";"b=c=d",labels=app=policy
// +kubebuilder:metadata:labels={"tier=1","zone=b"}
// +kubebuilder:printcolumn:name="First",type=string,JSONPath=`.spec.defaults.list[0].key`,description=`a "text", quoted; with: all`
// +kubebuilder:printcolumn:name=All,type=string,JSONPath=`.spec.defaults.list[*].key`
// +kubebuilder:printcolumn:name=Seen,type=string,JSONPath=".metadata.annotations.example\\.com/seen"
type Policy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec of it.
	// +kubebuilder:validation:XValidation:rule="self.third == oldSelf.third",message="third is immutable"
	// +required
	Spec PolicySpec `json:"spec"`
	// +optional
	// +kubebuilder:default={phase: "Pending", conditions: {{type: "Accepted", status: "Unknown", reason:"Pending", message:"Waiting for controller", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	Status PolicyStatus `json:"status,omitempty"`
}
