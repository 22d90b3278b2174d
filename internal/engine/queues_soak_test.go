//go:build soak

package engine

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// load is the configuration of a node and its jobs: that many jobs of a few milliseconds in each
// queue.
type load struct {
	slots  int
	queues []store.QueueDemand
	jobs   map[string]int
	long   string // a queue in which one job runs for as long as the node, from the start
}

const jobTakes = 10 * time.Millisecond

// run returns how long the node takes for the jobs, and with how many claims. It checks the slot
// limits of the queues.
func (l load) run(t *testing.T) (took time.Duration, n *claims) {
	t.Helper()
	inBed(t, Config{Node: NodeConfig{Slots: l.slots, Queues: l.queues}}, func(b *bed) {
		limits, running := map[string]int{}, map[string]int{}
		for _, q := range l.queues {
			limits[q.Name] = q.Limit
		}
		var (
			mu   sync.Mutex
			end  time.Time
			left atomic.Int64
		)
		count := func(queue string, by int) {
			mu.Lock()
			defer mu.Unlock()
			if running[queue] += by; limits[queue] > 0 && running[queue] > limits[queue] {
				t.Errorf("%d jobs of %s run at once", running[queue], queue)
			}
		}
		b.handle("k", func(ctx context.Context, r Attempt) ([]byte, error) {
			queue := r.Job().Queue
			count(queue, 1)
			defer count(queue, -1)
			if string(r.Job().Args) == `"long"` {
				return until(ctx, r)
			}
			time.Sleep(jobTakes)
			if left.Add(-1) == 0 {
				mu.Lock()
				defer mu.Unlock()
				end = time.Now()
			}
			return nil, nil
		})
		n = b.slowClaims()
		inQueue := func(name string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Queue = name } }
		if l.long != "" {
			b.enqueue(b.job("k", inQueue(l.long), func(q *store.Enqueue) { q.Job.Args = []byte(`"long"`) }))
		}
		var jobs []*store.Enqueue
		for i := range 400 { // interleaved
			for name, count := range l.jobs {
				if i < count {
					jobs = append(jobs, b.job("k", inQueue(name)))
				}
				if i < count && name != l.long {
					left.Add(1)
				}
			}
		}
		b.enqueue(jobs...)
		b.run()
		began := time.Now()
		time.Sleep(20 * time.Second)
		if n := left.Load(); n > 0 {
			t.Fatalf("%d jobs are left after 20 s", n)
		}
		mu.Lock()
		defer mu.Unlock()
		took = end.Sub(began)
	})
	return took, n
}

// stuck adds a job to a queue that lasts as long as the node.
func (l load) stuck(queue string) load {
	l.long = queue
	return l
}

// TestQueueWithALimitIsAsFastAsANodeOfThatSize: whatever the other queues of the node do, as long
// as it has a slot.
func TestQueueWithALimitIsAsFastAsANodeOfThatSize(t *testing.T) {
	q := func(name string, limit int) store.QueueDemand { return store.QueueDemand{Name: name, Limit: limit} }
	node := func(slots int, queues ...store.QueueDemand) load { return load{slots: slots, queues: queues} }
	type jobs = map[string]int
	for name, c := range map[string]struct {
		node  load
		jobs  jobs
		alone int // slots of a node without limits
	}{
		"all of the node":    {node(8, q("a", 8)), jobs{"a": 400}, 8},
		"some of the node":   {node(50, q("a", 8)), jobs{"a": 400}, 8},
		"one slot":           {node(8, q("a", 1)), jobs{"a": 100}, 1},
		"beside an idle one": {node(8, q("a", 4), q("b", 4)), jobs{"a": 400}, 4},
		"beside unlimited":   {node(8, q("a", 4), q("b", 0)), jobs{"a": 400}, 4},
		"beside a stuck one": {node(8, q("a", 4), q("b", 1)).stuck("b"), jobs{"a": 400, "b": 50}, 4},
		"beside stuck ones":  {node(3, q("b", 1), q("a", 3)).stuck("b"), jobs{"a": 100, "b": 50}, 2},
		"less than the node": {node(50, q("a", 4), q("b", 4)), jobs{"a": 200, "b": 200}, 8},
		"more than the node": {node(8, q("a", 8), q("b", 8)), jobs{"a": 200, "b": 200}, 8},
		"one slot each":      {node(4, q("a", 1), q("b", 1)), jobs{"a": 100, "b": 100}, 2},
		"unevenly":           {node(4, q("a", 3), q("b", 3)), jobs{"a": 200, "b": 200}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			c.node.jobs = c.jobs
			with, n := c.node.run(t)
			bare := load{slots: c.alone, jobs: maps.Clone(c.jobs)}
			delete(bare.jobs, c.node.long)
			without, _ := bare.run(t)
			if with > without*105/100 {
				t.Errorf("with limits the jobs took %v, and a node of as many slots %v", with, without)
			}
			if empty := n.empty.Load(); empty > 30 { // nearly all are polls after the last job
				t.Errorf("%d of %d claims found nothing", empty, n.all.Load())
			}
		})
	}
}
