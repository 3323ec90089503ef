// Package v1alpha2 has a version that is not part of its kind.
// +groupName=shop.example.com
// +versionName=v1alpha2
package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Gadget that was never released.
// +kubebuilder:resource:path=gadgetry,scope=Cluster
// +kubebuilder:skipversion
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Wheels string `json:"wheels,omitempty"`
}
