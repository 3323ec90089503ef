// The controller-runtime side of the reconcile round of bench/peers: a child ConfigMap and a status for each Widget. Its words are in
// ../README.md.
//
//	controller-runtime --kubeconfig F --count N --workers N
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

func fail(err error) {
	fmt.Fprintln(os.Stderr, "controller-runtime:", err)
	os.Exit(1)
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}

// Bytes, of /proc/self/status.
func memory(field string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if rest, found := strings.CutPrefix(line, field); found {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib * 1024
		}
	}
	return 0
}

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
	count  int
	done   chan struct{}

	mutex sync.Mutex
	ready map[types.NamespacedName]bool
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	child := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: widget.Namespace, Name: widget.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, &child, func() error {
		child.Data = map[string]string{"message": widget.Spec.Message, "size": strconv.Itoa(int(widget.Spec.Size))}
		return controllerutil.SetControllerReference(&widget, &child, r.scheme)
	}); err != nil {
		return ctrl.Result{}, err
	}
	wanted := WidgetStatus{ObservedGeneration: widget.Generation, Ready: true}
	if widget.Status == wanted {
		return ctrl.Result{}, nil
	}
	widget.Status = wanted
	if err := r.Status().Update(ctx, &widget); err != nil {
		return ctrl.Result{}, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.ready[request.NamespacedName] = true; len(r.ready) == r.count && r.done != nil {
		close(r.done)
		r.done = nil
	}
	return ctrl.Result{}, nil
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "expose" {
		expose(os.Args[2:])
		return
	}
	start := time.Now()
	flags := flag.NewFlagSet("controller-runtime", flag.ExitOnError) // the library has a -kubeconfig of its own among the common ones
	kubeconfig := flags.String("kubeconfig", "", "")
	count := flags.Int("count", 1000, "")
	workers := flags.Int("workers", 4, "")
	if err := flags.Parse(os.Args[1:]); err != nil {
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
	if err := addToScheme(scheme); err != nil {
		fail(err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
	if err != nil {
		fail(err)
	}
	done := make(chan struct{})
	r := &reconciler{Client: manager.GetClient(), scheme: scheme, count: *count, done: done, ready: map[types.NamespacedName]bool{}}
	if err := ctrl.NewControllerManagedBy(manager).
		For(&Widget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: *workers}).
		Complete(r); err != nil {
		fail(err)
	}
	go func() {
		if err := manager.Start(context.Background()); err != nil {
			fail(err)
		}
	}()
	<-done
	fmt.Printf(`{"phase":"reconciled","wall":%.6f,"cpu":%.6f}`+"\n", time.Since(start).Seconds(), cpuSeconds())

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() != "memory" {
			fail(fmt.Errorf("what is %q?", lines.Text()))
		}
		cpu, peak := cpuSeconds(), memory("VmHWM:")
		debug.FreeOSMemory()
		fmt.Printf(`{"phase":"memory","cpu":%.6f,"rss":%d,"peak":%d}`+"\n", cpu, memory("VmRSS:"), peak)
	}
}
