// The controller-runtime side of bench/peers/auto_expose.py: what auto-expose does for a Deployment, without its settings and annotations: a
// Service and an Ingress, created, kept and owned, and an event.
//
//	controller-runtime expose --kubeconfig F --namespace NS --workers N
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type exposer struct {
	client.Client
	scheme *runtime.Scheme
	events record.EventRecorder
}

func (e *exposer) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var deployment appsv1.Deployment
	if err := e.Get(ctx, request.NamespacedName, &deployment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var ports []corev1.ServicePort
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			ports = append(ports, corev1.ServicePort{Name: port.Name, Port: port.ContainerPort, TargetPort: intstr.FromInt32(port.ContainerPort), Protocol: corev1.ProtocolTCP})
		}
	}
	if len(ports) == 0 {
		return ctrl.Result{}, nil
	}
	meta := metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name}
	service := corev1.Service{ObjectMeta: meta}
	madeService, err := controllerutil.CreateOrUpdate(ctx, e.Client, &service, func() error {
		service.Spec.Selector = deployment.Spec.Selector.MatchLabels
		service.Spec.Ports = ports
		return controllerutil.SetControllerReference(&deployment, &service, e.scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	host := fmt.Sprintf("%s.%s.example.com", deployment.Name, deployment.Namespace)
	prefix := networkingv1.PathTypePrefix
	ingress := networkingv1.Ingress{ObjectMeta: meta}
	madeIngress, err := controllerutil.CreateOrUpdate(ctx, e.Client, &ingress, func() error {
		backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service.Name, Port: networkingv1.ServiceBackendPort{Number: ports[0].Port}}}
		paths := []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: backend}}
		ingress.Spec.Rules = []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}}}}
		return controllerutil.SetControllerReference(&deployment, &ingress, e.scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if madeService != controllerutil.OperationResultNone || madeIngress != controllerutil.OperationResultNone {
		e.events.Event(&deployment, corev1.EventTypeNormal, "Exposed", "at http://"+host+"/")
	}
	return ctrl.Result{}, nil
}

func expose(arguments []string) {
	flags := flag.NewFlagSet("expose", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	namespace := flags.String("namespace", "", "")
	workers := flags.Int("workers", 4, "")
	if err := flags.Parse(arguments); err != nil {
		fail(err)
	}
	log.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fail(err)
	}
	config.QPS, config.Burst = -1, -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		fail(err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{*namespace: {}}}})
	if err != nil {
		fail(err)
	}
	e := &exposer{Client: manager.GetClient(), scheme: scheme, events: manager.GetEventRecorderFor("auto-expose")}
	if err := ctrl.NewControllerManagedBy(manager).
		For(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&networkingv1.Ingress{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: *workers}).
		Complete(e); err != nil {
		fail(err)
	}
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		fail(err)
	}
}
