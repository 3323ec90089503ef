// Package v1 has the stored version of a kind with two.
// +groupName=shop.example.com
// +versionName=v1
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GadgetSpec is what it should be.
type GadgetSpec struct {
	// +required
	Wheels int32 `json:"wheels"`
}

// Gadget of today.
// +kubebuilder:storageversion
// +kubebuilder:resource:path=gadgetry,scope=Cluster
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec GadgetSpec `json:"spec,omitempty"`
}
