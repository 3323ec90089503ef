// The Go side of bench/queue: the same work as bench_queue does with kube::WorkQueue, in the same words.
//
//	queue-go -queue client-go|controller-runtime -mode add|busy|cycle|starve -threads N -keys N -ops N [-seconds N]
//
// Prints one JSON line.
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

type key = types.NamespacedName

// What both queues have.
type queue interface {
	Add(key)
	Get() (key, bool)
	Done(key)
	Len() int
}

func makeKeys(n int) []key {
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{Namespace: fmt.Sprintf("namespace-%d", i%100), Name: fmt.Sprintf("deployment-%d-with-a-name", i)}
	}
	return keys
}

// each runs `work` in `threads` goroutines and waits for them.
func each(threads int, work func(thread int)) time.Duration {
	var all sync.WaitGroup
	start := time.Now()
	for i := range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			work(i)
		}()
	}
	all.Wait()
	return time.Since(start)
}

// addAll adds, and waits until all is in: controller-runtime's queue only notes down what is added, and does the work for it later or, at
// the latest, when asked for its length.
func addAll(q queue, keys []key, threads, ops int) time.Duration {
	start := time.Now()
	each(threads, func(thread int) {
		n := ops / threads
		at := thread * n % len(keys)
		for range n {
			q.Add(keys[at])
			if at++; at == len(keys) {
				at = 0
			}
		}
	})
	q.Len()
	return time.Since(start)
}

func percentile(ordered []time.Duration, percent int) float64 {
	return ordered[min(len(ordered)-1, len(ordered)*percent/100)].Seconds()
}

// cycle takes keys, says Done and adds them again: the queue never becomes empty.
func cycle(q queue, keys []key, threads, ops int) {
	for _, k := range keys {
		q.Add(k)
	}
	latencies := make([][]time.Duration, threads)
	n := ops / threads
	wall := each(threads, func(thread int) {
		mine := make([]time.Duration, 0, n)
		for range n {
			start := time.Now()
			k, _ := q.Get()
			q.Done(k)
			mine = append(mine, time.Since(start))
			q.Add(k)
		}
		latencies[thread] = mine
	})
	var ordered []time.Duration
	for _, mine := range latencies {
		ordered = append(ordered, mine...)
	}
	sort.Slice(ordered, func(i, j int) bool { return ordered[i] < ordered[j] })
	fmt.Printf(`{"per_second":%f,"p50":%.9f,"p99":%.9f}`+"\n", float64(n*threads)/wall.Seconds(), percentile(ordered, 50), percentile(ordered, 99))
}

// starve keeps `keys` of priority 0 going round while 100 of priority -100 wait.
func starve(q priorityqueue.PriorityQueue[key], keys []key, threads int, seconds float64) {
	low := make(map[key]bool)
	lowPriority := -100
	start := time.Now()
	for i := range 100 {
		k := key{Namespace: "low", Name: fmt.Sprint(i)}
		low[k] = true
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &lowPriority}, k)
	}
	for _, k := range keys {
		q.Add(k)
	}
	end := start.Add(time.Duration(seconds * float64(time.Second)))
	var taken atomic.Int64
	var longest atomic.Int64
	each(threads, func(int) {
		for time.Now().Before(end) {
			k, _, _ := q.GetWithPriority()
			q.Done(k)
			if low[k] {
				taken.Add(1)
				waited := int64(time.Since(start))
				for seen := longest.Load(); seen < waited && !longest.CompareAndSwap(seen, waited); seen = longest.Load() {
				}
				continue
			}
			q.Add(k)
		}
	})
	waited := time.Duration(longest.Load())
	if int(taken.Load()) < len(low) {
		waited = time.Since(start)
	}
	fmt.Printf(`{"longest":%f,"left":%d}`+"\n", waited.Seconds(), len(low)-int(taken.Load()))
}

func main() {
	kind := flag.String("queue", "client-go", "client-go or controller-runtime")
	mode := flag.String("mode", "add", "add, busy, cycle or starve")
	threads := flag.Int("threads", 1, "")
	count := flag.Int("keys", 1000, "")
	ops := flag.Int("ops", 1000000, "")
	seconds := flag.Float64("seconds", 15, "")
	flag.Parse()

	time.AfterFunc(5*time.Minute, func() {
		fmt.Fprintln(os.Stderr, "queue-go: takes too long")
		os.Exit(1)
	})
	keys := makeKeys(*count)
	var q queue
	var priority priorityqueue.PriorityQueue[key]
	switch *kind {
	case "client-go":
		q = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[key]())
	case "controller-runtime":
		priority = priorityqueue.New[key]("bench")
		q = priority
	default:
		fmt.Fprintln(os.Stderr, "queue-go: no such queue")
		os.Exit(2)
	}
	switch *mode {
	case "add":
		wall := addAll(q, keys, *threads, *ops)
		fmt.Printf(`{"per_second":%f}`+"\n", float64(*ops / *threads * *threads)/wall.Seconds())
	case "busy":
		var done atomic.Int64
		for range *threads {
			go func() {
				for {
					k, shutdown := q.Get()
					if shutdown {
						return
					}
					done.Add(1)
					q.Done(k)
				}
			}()
		}
		wall := addAll(q, keys, *threads, *ops)
		// No ShutDown, and nobody waits for the workers: in controller-runtime v0.24.1 one that is in Done when the queue is shut down may stay there
		// for ever, as the queue holds the lock while it offers a key to a worker that has left.
		fmt.Printf(`{"per_second":%f,"done":%d}`+"\n", float64(*ops / *threads * *threads)/wall.Seconds(), done.Load())
	case "cycle":
		cycle(q, keys, *threads, *ops)
	case "starve":
		if priority == nil {
			fmt.Fprintln(os.Stderr, "queue-go: that queue has no priorities")
			os.Exit(2)
		}
		starve(priority, keys, *threads, *seconds)
	default:
		fmt.Fprintln(os.Stderr, "queue-go: no such mode")
		os.Exit(2)
	}
}
