package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// The custom resource with a pod's payload, as generated clients have it.
type workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              corev1.PodSpec   `json:"spec,omitempty"`
	Status            corev1.PodStatus `json:"status,omitempty"`
}

type workloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []workload `json:"items"`
}

func (w *workload) DeepCopyObject() apiruntime.Object {
	out := &workload{TypeMeta: w.TypeMeta}
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	w.Spec.DeepCopyInto(&out.Spec)
	w.Status.DeepCopyInto(&out.Status)
	return out
}

func (l *workloadList) DeepCopyObject() apiruntime.Object {
	out := &workloadList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*workload))
	}
	return out
}

var workloads = schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "workloads"}

func workloadInformer(config *rest.Config) cache.SharedIndexInformer {
	scheme := apiruntime.NewScheme()
	version := workloads.GroupVersion()
	scheme.AddKnownTypeWithName(version.WithKind("Workload"), &workload{})
	scheme.AddKnownTypeWithName(version.WithKind("WorkloadList"), &workloadList{})
	metav1.AddToGroupVersion(scheme, version)
	parameters := apiruntime.NewParameterCodec(scheme)
	copied := rest.CopyConfig(config)
	copied.GroupVersion, copied.APIPath = &version, "/apis"
	copied.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	copied.ContentType, copied.AcceptContentTypes = "application/json", "application/json"
	client, err := rest.RESTClientFor(copied)
	if err != nil {
		fail(err)
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (apiruntime.Object, error) {
			list := &workloadList{}
			err := client.Get().Resource("workloads").VersionedParams(&options, parameters).Do(ctx).Into(list)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return client.Get().Resource("workloads").VersionedParams(&options, parameters).Watch(ctx)
		},
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, client), &workload{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// CLOCK_MONOTONIC at the start of the program: Go's own clock is the same, but hides its value.
var startTime, startNanoseconds = func() (time.Time, int64) {
	var now syscall.Timespec
	const clockMonotonic = 1
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0); err != 0 {
		fail(err)
	}
	return time.Now(), now.Nano()
}()

func monotonic() int64 { return startNanoseconds + int64(time.Since(startTime)) }

// Bytes, of /proc/self/status.
func memory(field string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, field+":"); found {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				fail(err)
			}
			return kilobytes * 1024
		}
	}
	return 0
}

type sighting struct {
	version uint64
	time    int64
}

// The client-go side of bench/peers: one shared informer. Its words are in ../README.md.
//
//	client-go informer --kubeconfig F --kind pods|workloads|workloads-dynamic [--encoding protobuf|json] [--strip]
func runInformer(args []string) {
	start := monotonic()
	flags := flag.NewFlagSet("informer", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	kind := flags.String("kind", "pods", "pods, workloads or workloads-dynamic")
	encoding := flags.String("encoding", "protobuf", "protobuf or json")
	strip := flags.Bool("strip", false, "drop managedFields")
	flags.Parse(args)

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fail(err)
	}
	if *encoding == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	var informer cache.SharedIndexInformer
	switch *kind {
	case "pods":
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			fail(err)
		}
		informer = informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	case "workloads":
		informer = workloadInformer(config)
	default:
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			fail(err)
		}
		informer = dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(workloads).Informer()
	}
	if *strip {
		err := informer.SetTransform(func(object any) (any, error) {
			if object, ok := object.(metav1.Object); ok {
				object.SetManagedFields(nil)
			}
			return object, nil
		})
		if err != nil {
			fail(err)
		}
	}

	var objects, updates atomic.Int64
	var mutex sync.Mutex
	var seen []sighting
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { objects.Add(1) },
		UpdateFunc: func(_, object any) {
			version, _ := strconv.ParseUint(object.(metav1.Object).GetResourceVersion(), 10, 64)
			mutex.Lock()
			seen = append(seen, sighting{version, monotonic()})
			mutex.Unlock()
			updates.Add(1)
		},
	})
	if err != nil {
		fail(err)
	}
	stop := make(chan struct{})
	go informer.Run(stop)
	for !registration.HasSynced() {
		time.Sleep(2 * time.Millisecond)
	}
	fmt.Printf(`{"phase":"synced","objects":%d,"cached":%d,"wall":%.6f,"cpu":%.6f,"rss":%d,"peak":%d}`+"\n", objects.Load(),
		len(informer.GetStore().ListKeys()), float64(monotonic()-start)/1e9, cpuSeconds(), memory("VmRSS"), memory("VmHWM"))

	cpu := cpuSeconds()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 1 && words[0] == "memory":
			before := memory("VmRSS")
			runtime.GC()
			debug.FreeOSMemory()
			fmt.Printf(`{"phase":"memory","rss":%d,"rss_before_gc":%d,"peak":%d}`+"\n", memory("VmRSS"), before, memory("VmHWM"))
		case len(words) == 1 && words[0] == "begin":
			mutex.Lock()
			seen = nil
			mutex.Unlock()
			updates.Store(0)
			cpu = cpuSeconds()
			fmt.Println(`{"phase":"begin"}`)
		case len(words) == 3 && words[0] == "end":
			count, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				fail(err)
			}
			for deadline := time.Now().Add(time.Minute); updates.Load() < count && time.Now().Before(deadline); {
				time.Sleep(20 * time.Millisecond)
			}
			used := cpuSeconds() - cpu
			var text strings.Builder
			mutex.Lock()
			for _, s := range seen {
				fmt.Fprintf(&text, "%d %d\n", s.version, s.time)
			}
			mutex.Unlock()
			if err := os.WriteFile(words[2], []byte(text.String()), 0o644); err != nil {
				fail(err)
			}
			fmt.Printf(`{"phase":"end","updates":%d,"cpu":%.6f,"rss":%d,"peak":%d}`+"\n", updates.Load(), used, memory("VmRSS"), memory("VmHWM"))
		default:
			fail(fmt.Errorf("what is %q?", lines.Text()))
		}
	}
}
