// The client-go side of bench/client and, as `client-go informer` (informer.go), of bench/peers: the same work as our own sides, in the
// same words.
//
//	client-go -kubeconfig F -mode get|create|list -concurrency N -count N [-json]
//
// Prints one JSON line: what was done, and what it cost this process.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "informer" {
		runInformer(os.Args[2:])
		return
	}
	kubeconfig := flag.String("kubeconfig", "", "")
	mode := flag.String("mode", "get", "get, create or list")
	concurrency := flag.Int("concurrency", 1, "")
	count := flag.Int("count", 1000, "")
	json := flag.Bool("json", false, "JSON where protobuf is the default")
	plain := flag.Bool("no-gzip", false, "do not request compressed responses")
	namespace := flag.String("namespace", "bench", "")
	prefix := flag.String("prefix", "go", "of the names that create makes")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fail(err)
	}
	config.QPS, config.Burst = -1, -1
	config.DisableCompression = *plain
	if *json {
		config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	} else {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		fail(err)
	}
	ctx := context.Background()
	template, err := client.CoreV1().Pods(*namespace).Get(ctx, "template", metav1.GetOptions{})
	if err != nil {
		fail(err)
	}
	fresh := corev1.Pod{Spec: template.Spec}
	fresh.Labels, fresh.Annotations = template.Labels, template.Annotations

	call := func(i int) (int, error) {
		switch *mode {
		case "get":
			_, err := client.CoreV1().Pods(*namespace).Get(ctx, "template", metav1.GetOptions{})
			return 1, err
		case "create":
			pod := fresh.DeepCopy()
			pod.Name = fmt.Sprintf("%s-%d", *prefix, i)
			_, err := client.CoreV1().Pods(*namespace).Create(ctx, pod, metav1.CreateOptions{})
			return 1, err
		default:
			list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return 0, err
			}
			return len(list.Items), nil
		}
	}

	var next, items atomic.Int64
	var group sync.WaitGroup
	cpu, start := cpuSeconds(), time.Now()
	for worker := 0; worker < *concurrency; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= *count {
					return
				}
				n, err := call(i)
				if err != nil {
					fail(err)
				}
				items.Add(int64(n))
			}
		}()
	}
	group.Wait()
	fmt.Printf(`{"calls":%d,"items":%d,"wall":%.6f,"cpu":%.6f}`+"\n", *count, items.Load(), time.Since(start).Seconds(), cpuSeconds()-cpu)
}
