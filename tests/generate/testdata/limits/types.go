// Package v1 has a kind with a limit of every kind.
// +groupName=limits.example.com
// +versionName=v1
package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Short is a short text.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4
type Short string

// Shorts are few.
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=3
type Shorts []Short

// Power is a power of two.
// +kubebuilder:validation:Enum=1;2;4;8
type Power int32

// Formats are texts of every format.
type Formats struct {
	// +optional
	// +kubebuilder:validation:Format=date
	Date string `json:"date,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=date-time
	DateTime string `json:"dateTime,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=duration
	Duration string `json:"duration,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=email
	Email string `json:"email,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=hostname
	Hostname string `json:"hostname,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=ipv6
	Ipv6 string `json:"ipv6,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=cidr
	Range string `json:"range,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=mac
	Mac string `json:"mac,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=uri
	URI string `json:"uri,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=uuid
	UUID string `json:"uuid,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=byte
	Bytes string `json:"bytes,omitempty"`
	// +optional
	// +kubebuilder:validation:Format=not-known
	Unknown string `json:"unknown,omitempty"`
}

// Peer is one of a list by number and side.
type Peer struct {
	// +required
	// +kubebuilder:validation:Minimum=-3
	Number int32 `json:"number"`
	// +optional
	// +kubebuilder:default=left
	// +kubebuilder:validation:Enum=left;right
	Side string `json:"side,omitempty"`
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]{1,3}|[a-f]+)(-[xyz])?$`
	// +kubebuilder:validation:MaxLength=5
	Label string `json:"label,omitempty"`
}

// Depth has defaults of its own.
type Depth struct {
	// +optional
	// +kubebuilder:default=3
	Level *int64 `json:"level,omitempty"`
	// +optional
	// +kubebuilder:default={a: x}
	Names map[string]Short `json:"names,omitempty"`
	// +optional
	// +kubebuilder:default={{number: 1}}
	// +listType=atomic
	Peers []Peer `json:"peers,omitempty"`
}

// LimitSpec has a limit of every kind.
type LimitSpec struct {
	// +optional
	Formats Formats `json:"formats,omitempty"`

	// +optional
	// +kubebuilder:validation:MultipleOf=3
	// +kubebuilder:validation:Minimum=-9
	// +kubebuilder:validation:Maximum=99
	Thirds int32 `json:"thirds,omitempty"`

	// +required
	// +kubebuilder:validation:Minimum=-9007199254740991
	// +kubebuilder:validation:Maximum=9007199254740991
	Exact int64 `json:"exact"`

	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:validation:ExclusiveMaximum=true
	Open *int64 `json:"open,omitempty"`

	// +optional
	Power Power `json:"power,omitempty"`

	// +optional
	// +listType=set
	Powers []Power `json:"powers,omitempty"`

	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Words []Short `json:"words,omitempty"`

	// +optional
	Values map[string]Short `json:"values,omitempty"`

	// +optional
	// +kubebuilder:validation:MaxProperties=3
	Table map[string]Shorts `json:"table,omitempty"`

	// +optional
	Rows []Shorts `json:"rows,omitempty"`

	// +optional
	// +listType=map
	// +listMapKey=number
	// +listMapKey=side
	// +kubebuilder:validation:MaxItems=6
	Peers []Peer `json:"peers,omitempty"`

	// +optional
	ByName map[string]Peer `json:"byName,omitempty"`

	// +optional
	// +nullable
	Maybe *Peer `json:"maybe,omitempty"`

	// +optional
	// +nullable
	// +kubebuilder:validation:MaxItems=2
	Some []string `json:"some,omitempty"`

	// +optional
	// +kubebuilder:default={}
	Depth *Depth `json:"depth,omitempty"`

	// +required
	On bool `json:"on"`

	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=2
	Either map[string]intstr.IntOrString `json:"either,omitempty"`

	// +optional
	// +kubebuilder:validation:items:XEmbeddedResource
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +kubebuilder:validation:items:Type=object
	Objects []apiextensionsv1.JSON `json:"objects,omitempty"`

	// +optional
	Size resource.Quantity `json:"size,omitempty"`
}

// Limit is a kind.
// +kubebuilder:object:root=true
type Limit struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec LimitSpec `json:"spec"`
	// +optional
	Extra map[string]map[string][]Short `json:"extra,omitempty"`
}
