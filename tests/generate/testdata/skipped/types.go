// Package v1 has no kinds for controller-gen.
// +groupName=skipped.example.com
// +versionName=v1
// +kubebuilder:skip
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Nothing is made of it.
type Skipped struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
