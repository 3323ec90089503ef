// Package v1 has a kind with every marker that changes a schema.
// +groupName=shop.example.com
// +versionName=v1
// +kubebuilder:ac:generate=false
package v1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Phase says how far it is.
// +k8s:enum
type Phase string

const (
	PhasePending Phase = "PENDING"
	PhaseDone    Phase = "DONE"
	PhaseRunning Phase = "RUNNING"
)

// Color is a name of one.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[a-z]+$`
type Color string

// Colors are several.
// +kubebuilder:validation:MaxItems=3
type Colors []Color

// Percent is at most 100.
// +kubebuilder:validation:Maximum=100
// +kubebuilder:validation:Minimum=0
type Percent int32

// Common is in several structs.
type Common struct {
	// Zone of it.
	// +required
	Zone string `json:"zone"`
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// Part of a widget.
// +structType=atomic
type Part struct {
	// Name of the part.
	// +required
	Name string `json:"name"`
	// +optional
	// +kubebuilder:default=TCP
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol string `json:"protocol,omitempty"`
	// +optional
	Weight *int64 `json:"weight,omitempty"`
}

// Source is one of several.
// +kubebuilder:validation:ExactlyOneOf=url;inlineText
// +kubebuilder:validation:AtMostOneOf=user;token
// +kubebuilder:validation:AtLeastOneOf=url;user
type Source struct {
	// +optional
	URL *string `json:"url,omitempty"`
	// +optional
	InlineText *string `json:"inlineText,omitempty"`
	// +optional
	User string `json:"user,omitempty"`
	// +optional
	Token string `json:"token,omitempty"`
}

// WidgetSpec is what a widget should be.
//
// It has several paragraphs, and
// line breaks.
//   - and a list
//
// TODO: this line is not for users
// +kubebuilder:validation:XValidation:rule="self.size > 0 || has(self.color)",message="size, or a color",reason=FieldValueInvalid
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.color) || has(self.color)",messageExpression="'no color'",fieldPath=.color
type WidgetSpec struct {
	Common `json:",inline"`

	// Size of it.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:validation:ExclusiveMaximum=true
	// +kubebuilder:validation:MultipleOf=1
	Size *int32 `json:"size,omitempty"`

	// +optional
	// +kubebuilder:validation:MaxLength=10
	Color Color `json:"color,omitempty"`

	// Palette of it.
	// +optional
	Palette Colors `json:"palette,omitempty"`

	// +optional
	Phase Phase `json:"phase,omitempty"`

	// Fill level.
	// +optional
	// +kubebuilder:validation:Maximum=50
	Fill *Percent `json:"fill,omitempty"`

	// Parts of it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +listMapKey=protocol
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Parts []Part `json:"parts,omitempty"`

	// +optional
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=5
	// +kubebuilder:validation:items:Pattern=`^a`
	Tags []string `json:"tags,omitempty"`

	// +optional
	// +listType=atomic
	// +kubebuilder:default={a,b}
	Args []string `json:"args,omitempty"`

	// +optional
	// +mapType=atomic
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=4
	Limits map[string]resource.Quantity `json:"limits,omitempty"`

	// Routes by name.
	// +optional
	Routes map[string][]string `json:"routes,omitempty"`

	// +optional
	Grid [][]int32 `json:"grid,omitempty"`

	// +optional
	Nested map[string]map[string]Part `json:"nested,omitempty"`

	// +required
	// +k8s:immutable
	Class string `json:"class"`

	// +optional
	// +k8s:immutable
	Owner string `json:"owner,omitempty"`

	// +k8s:required
	Title string `json:"title,omitempty"`

	// +k8s:optional
	// +k8s:maxItems=7
	Ports []intstr.IntOrString `json:"ports,omitempty"`

	// +optional
	// +kubebuilder:validation:Enum=1;2;"many"
	// +kubebuilder:validation:XIntOrString
	Port *intstr.IntOrString `json:"port,omitempty"`

	// +optional
	// +nullable
	Memory *resource.Quantity `json:"memory,omitempty"`

	// +optional
	// +kubebuilder:default="1m30s"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// +optional
	Exactly *metav1.MicroTime `json:"exactly,omitempty"`

	// +optional
	Data []byte `json:"data,omitempty"`

	// Anything goes.
	// +optional
	Anything *apiextensionsv1.JSON `json:"anything,omitempty"`

	// +optional
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *apiextensionsv1.JSON `json:"template,omitempty"`

	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Free *Part `json:"free,omitempty"`

	// +optional
	// +kubebuilder:title="The first part"
	// +kubebuilder:example={"name": "hub"}
	// +kubebuilder:externalDocs:url="https://example.com/parts",description="about parts"
	First *Part `json:"first,omitempty"`

	// +optional
	// +kubebuilder:validation:Format=ipv4
	Address string `json:"address,omitempty"`

	// +optional
	// +default=true
	On *bool `json:"on,omitempty"`

	// +kubebuilder:validation:MaxItems=8
	// +optional
	Sources []Source `json:"sources,omitempty"`

	// +optional
	// +structType=atomic
	Ref *corev1.LocalObjectReference `json:"ref,omitempty"`

	// +optional
	Meta metav1.ObjectMeta `json:"meta,omitempty"`
}

// WidgetStatus is what it is.
type WidgetStatus struct {
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// +optional
	Selector string `json:"selector,omitempty"`
}

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
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec WidgetSpec `json:"spec"`
	// +optional
	Status WidgetStatus `json:"status,omitempty"`
}
