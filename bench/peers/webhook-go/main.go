// The controller-runtime side of bench_webhook: the same three webhooks.
//
//	webhook-go --dir FOLDER --port N     FOLDER has tls.crt and tls.key; ends with its stdin
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

type pods struct{}

func (pods) ValidateCreate(_ context.Context, pod *corev1.Pod) (admission.Warnings, error) {
	for i, container := range pod.Spec.Containers {
		if !strings.Contains(container.Image, ":") {
			return nil, fmt.Errorf("spec.containers[%d].image: needs a tag", i)
		}
		if container.Name == "forbidden" {
			return nil, fmt.Errorf("spec.containers[%d].name: is reserved", i)
		}
	}
	return nil, nil
}

func (pods) ValidateUpdate(context.Context, *corev1.Pod, *corev1.Pod) (admission.Warnings, error) {
	return nil, errors.New("not used")
}

func (pods) ValidateDelete(context.Context, *corev1.Pod) (admission.Warnings, error) {
	return nil, errors.New("not used")
}

func (pods) Default(_ context.Context, pod *corev1.Pod) error {
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Labels["example.com/checked"] = "true"
	pod.Annotations["example.com/defaulted-by"] = "bench"
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}
	return nil
}

func main() {
	dir := flag.String("dir", "", "")
	port := flag.Int("port", 0, "")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	addToScheme(scheme)
	server := webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: *port, CertDir: *dir,
		// As kubebuilder's main does by default.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	})
	server.Register("/validate--v1-pod", admission.WithValidator[*corev1.Pod](scheme, pods{}))
	server.Register("/mutate--v1-pod", admission.WithDefaulter[*corev1.Pod](scheme, pods{}))
	server.Register("/convert", conversion.NewWebhookHandler(scheme, conversion.NewRegistry()))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := server.Start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "webhook-go:", err)
		os.Exit(1)
	}
}
