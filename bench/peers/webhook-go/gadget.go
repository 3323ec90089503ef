package main

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

const group = "bench.example.com"

type GadgetPort struct {
	Name     string `json:"name,omitempty"`
	Port     int32  `json:"port,omitempty"`
	Protocol string `json:"protocol,omitempty"`
}

type GadgetEnv struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

type GadgetResources struct {
	Limits   corev1.ResourceList `json:"limits,omitempty"`
	Requests corev1.ResourceList `json:"requests,omitempty"`
}

type GadgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	ReadyReplicas      int32              `json:"readyReplicas,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type SpecV1 struct {
	Image        string            `json:"image,omitempty"`
	Address      string            `json:"address,omitempty"` // "host:port"
	Replicas     int32             `json:"replicas,omitempty"`
	Args         []string          `json:"args,omitempty"`
	Env          []GadgetEnv       `json:"env,omitempty"`
	Ports        []GadgetPort      `json:"ports,omitempty"`
	Resources    GadgetResources   `json:"resources,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

type SpecV2 struct {
	Image        string            `json:"image,omitempty"`
	Host         string            `json:"host,omitempty"`
	Port         int32             `json:"port,omitempty"`
	Replicas     int32             `json:"replicas,omitempty"`
	Args         []string          `json:"args,omitempty"`
	Env          []GadgetEnv       `json:"env,omitempty"`
	Ports        []GadgetPort      `json:"ports,omitempty"`
	Resources    GadgetResources   `json:"resources,omitempty"`
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

type GadgetV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SpecV1       `json:"spec,omitempty"`
	Status            GadgetStatus `json:"status,omitempty"`
}

type GadgetV2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SpecV2       `json:"spec,omitempty"`
	Status            GadgetStatus `json:"status,omitempty"`
}

// The webhook makes new objects and never copies one.
func (g *GadgetV1) DeepCopyObject() runtime.Object { out := *g; return &out }
func (g *GadgetV2) DeepCopyObject() runtime.Object { out := *g; return &out }

func (*GadgetV2) Hub() {}

func (g *GadgetV1) ConvertTo(hub conversion.Hub) error {
	to := hub.(*GadgetV2)
	colon := strings.LastIndexByte(g.Spec.Address, ':')
	if colon < 0 {
		return fmt.Errorf("spec.address: expected HOST:PORT, got %q", g.Spec.Address)
	}
	port, err := strconv.ParseInt(g.Spec.Address[colon+1:], 10, 32)
	if err != nil {
		return err
	}
	to.ObjectMeta = g.ObjectMeta
	to.Spec = SpecV2{Image: g.Spec.Image, Host: g.Spec.Address[:colon], Port: int32(port), Replicas: g.Spec.Replicas, Args: g.Spec.Args, Env: g.Spec.Env,
		Ports: g.Spec.Ports, Resources: g.Spec.Resources, NodeSelector: g.Spec.NodeSelector}
	to.Status = g.Status
	return nil
}

func (g *GadgetV1) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*GadgetV2)
	g.ObjectMeta = from.ObjectMeta
	g.Spec = SpecV1{Image: from.Spec.Image, Address: from.Spec.Host + ":" + strconv.Itoa(int(from.Spec.Port)), Replicas: from.Spec.Replicas, Args: from.Spec.Args,
		Env: from.Spec.Env, Ports: from.Spec.Ports, Resources: from.Spec.Resources, NodeSelector: from.Spec.NodeSelector}
	g.Status = from.Status
	return nil
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Gadget"}, &GadgetV1{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v2", Kind: "Gadget"}, &GadgetV2{})
}
