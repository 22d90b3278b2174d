package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// inTwoNamespaces runs a test with one engine whose process is a node in two namespaces.
func inTwoNamespaces(t *testing.T, test func(b *bed, ran func(store.ID) string, stop map[string]func())) {
	t.Helper()
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		var mu sync.Mutex
		where := map[store.ID]string{}
		stops := map[string]func(){}
		for _, namespace := range []string{"here", "there"} {
			r := b.e.Runner(namespace)
			err := r.Handle(&Handler{Kind: "k", Run: func(_ context.Context, r Attempt) ([]byte, error) {
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				where[r.Job().ID] = namespace
				return nil, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			stop, ran := make(chan struct{}), make(chan error, 1)
			go func() { ran <- r.Run(context.Background(), Stop{Soft: stop, Hard: context.Background()}) }()
			stops[namespace] = sync.OnceFunc(func() {
				close(stop)
				if err := <-ran; err != nil {
					t.Error(err)
				}
			})
			defer stops[namespace]()
			synctest.Wait()
		}
		test(b, func(id store.ID) string {
			mu.Lock()
			defer mu.Unlock()
			return where[id]
		}, stops)
	})
}

func (b *bed) jobIn(namespace string) *store.Enqueue {
	return b.job("k", func(e *store.Enqueue) { e.Job.Namespace = namespace })
}

// TestRunnersShareAnEngine: each job runs on the node of its namespace, even if jobs of both share
// a commit or one wakes another; slots are per node.
func TestRunnersShareAnEngine(t *testing.T) {
	inTwoNamespaces(t, func(b *bed, ran func(store.ID) string, _ map[string]func()) {
		began := time.Now()
		both := []*store.Enqueue{b.jobIn("here"), b.jobIn("there"), b.jobIn("there"), b.jobIn("here")}
		if err := b.e.Enqueue(b.t.Context(), both); err != nil {
			t.Fatal(err)
		}
		for _, e := range both {
			b.expect(b.wait(e.Job.ID), store.Completed, "")
			if got := ran(e.Job.ID); got != e.Job.Namespace {
				t.Errorf("a job of %s ran in %q", e.Job.Namespace, got)
			}
		}
		if took := time.Since(began); took > 2500*time.Millisecond {
			t.Errorf("two jobs of a second in each of two namespaces took %v", took)
		}
		nodes, err := b.st.Nodes(b.t.Context())
		if err != nil || len(nodes) != 2 || nodes[0].Info.Namespace == nodes[1].Info.Namespace {
			t.Errorf("the nodes are %+v, %v", nodes, err)
		}
	})
}

// TestRunnersEndOnTheirOwn: one node stops and the other goes on; the engine cannot be closed
// before both have left.
func TestRunnersEndOnTheirOwn(t *testing.T) {
	inTwoNamespaces(t, func(b *bed, _ func(store.ID) string, stop map[string]func()) {
		stop["here"]()
		waits := b.enqueue(b.jobIn("here"))
		b.expect(b.wait(b.enqueue(b.jobIn("there"))), store.Completed, "")
		if state := b.get(waits).State; state != store.Available {
			t.Errorf("a job whose node has left is %s", state)
		}
		if h := b.e.Runner("here").Health(); h.Node != 0 {
			t.Errorf("the node that has left: %+v", h)
		}
		if h := b.e.Runner("there").Health(); h.Node == 0 {
			t.Errorf("the node that stays: %+v", h)
		}
		if err := b.e.Close(context.Background()); !errors.Is(err, store.ErrConflict) {
			t.Errorf("closed under a node: %v", err)
		}
		stop["there"]()
		if len(*b.e.nodes.Load()) != 0 {
			t.Error("nodes are left")
		}
	})
}

// TestLinesNameTheNode: a line of the engine names the node if exactly one runs.
func TestLinesNameTheNode(t *testing.T) {
	inTwoNamespaces(t, func(b *bed, _ func(store.ID) string, stop map[string]func()) {
		if id := b.e.nodeID.Load(); id != 0 {
			t.Errorf("of two nodes the lines name %d", id)
		}
		stop["here"]()
		if id, want := b.e.nodeID.Load(), b.e.Runner("there").Health().Node; id != want {
			t.Errorf("the lines name node %d, want %d", id, want)
		}
		stop["there"]()
		if id := b.e.nodeID.Load(); id != 0 {
			t.Errorf("without a node the lines name %d", id)
		}
	})
}
