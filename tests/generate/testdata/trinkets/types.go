// Package v1beta1 has what the other packages have not.
// +groupName=shop.example.com
// +versionName=v1beta1
// +kubebuilder:validation:Required
package v1beta1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Item of a trinket.
type Item struct {
	Name string `json:"name"`
	// +optional
	Note string `json:"note,omitempty"`
}

// TrinketSpec has fields that are required unless they say otherwise.
type TrinketSpec struct {
	First string `json:"first"`
	// +kubebuilder:validation:Optional
	Second string `json:"second,omitempty"`
	// +kubebuilder:validation:Required
	Third string `json:"third"`
	// +optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Items []Item `json:"items,omitempty"`
	// +optional
	// +k8s:minimum=2
	// +k8s:maximum=9
	Small int32 `json:"small,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	Positive int64 `json:"positive,omitempty"`
	// +optional
	// +kubebuilder:validation:UniqueItems=false
	Words []string `json:"words,omitempty"`
	// +optional
	// +kubebuilder:validation:XEmbeddedResource
	// +kubebuilder:validation:XPreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Object apiextensionsv1.JSON `json:"object,omitempty"`
	// +kubebuilder:validation:XValidation:rule="oldSelf.orValue(self) == self",optionalOldSelf=true
	Fixed string `json:"fixed"`
	Item  Item   `json:"item"`
}

// Trinket is a kind.
// +kubebuilder:object:root=true
type Trinket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrinketSpec `json:"spec"`
}
