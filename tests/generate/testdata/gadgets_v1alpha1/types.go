// Package v1alpha1 has the old version of a kind with two.
// +groupName=shop.example.com
// +versionName=v1alpha1
package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Gadget of yesterday.
// +kubebuilder:resource:path=gadgetry,scope=Cluster
// +kubebuilder:deprecatedversion:warning="use v1"
// +kubebuilder:unservedversion
// +kubebuilder:printcolumn:name=Wheels,type=string,JSONPath=.wheels
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Wheels string `json:"wheels,omitempty"`
}
