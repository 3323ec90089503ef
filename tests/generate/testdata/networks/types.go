// Package v1 has the kind of docs/own-kinds.md.
// +groupName=samplecrd.k8s.io
// +versionName=v1
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +k8s:enum
type NetworkPhase string

const (
	NetworkPhasePending NetworkPhase = "Pending"
	NetworkPhaseReady   NetworkPhase = "Ready"
)

type NetworkSpec struct {
	// The range of addresses, such as 192.168.0.0/16.
	// +required
	// +kubebuilder:validation:MaxLength=43
	CIDR string `json:"cidr"`
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=576
	MTU *int32 `json:"mtu,omitempty"`
}

type NetworkStatus struct {
	// +optional
	Phase NetworkPhase `json:"phase,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=net
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=CIDR,type=string,JSONPath=.spec.cidr
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, example"
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec NetworkSpec `json:"spec,omitempty"`
	// +optional
	Status NetworkStatus `json:"status,omitempty"`
}
