// Package v1 has a kind that embeds large structs of Kubernetes.
// +groupName=cron.example.com
// +versionName=v1
package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronThingSpec says when and what.
type CronThingSpec struct {
	// When it runs.
	// +required
	// +kubebuilder:validation:MinLength=0
	Schedule string `json:"schedule"`
	// +optional
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// What runs.
	// +required
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`
	// +optional
	Pod *corev1.PodTemplateSpec `json:"pod,omitempty"`
	// +optional
	Claims []corev1.PersistentVolumeClaim `json:"claims,omitempty"`
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
}

// CronThingStatus is what it did.
type CronThingStatus struct {
	// +optional
	Active []corev1.ObjectReference `json:"active,omitempty"`
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
}

// CronThing runs things.
// +kubebuilder:subresource:status
type CronThing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// +optional
	Spec CronThingSpec `json:"spec,omitempty"`
	// +optional
	Status CronThingStatus `json:"status,omitempty"`
}
