package limit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// counting is a store of which only the counts of namespaces are asked.
type counting struct {
	store.Store
	n map[string]int
}

func (c counting) Count(_ context.Context, params store.CountParams) (store.Counted, error) {
	return store.Counted{N: c.n[params.Filter.Namespace]}, nil
}

func boundOf(most int, n map[string]int) *bound {
	return &bound{store: counting{n: n}, queue: "q", most: most, spaces: map[string]*waiting{}}
}

func into(namespaces ...string) (jobs []*store.Job) {
	for _, namespace := range namespaces {
		jobs = append(jobs, &store.Job{Namespace: namespace, Queue: "q"})
	}
	return jobs
}

// TestBacklogOfSeveralNamespaces: an enqueue that one of them refuses leaves the room of the others
// as it was, in whatever order they are asked.
func TestBacklogOfSeveralNamespaces(t *testing.T) {
	t.Parallel()
	all := func(context.Context) error { return nil }
	for range 100 { // the order of a map differs
		b := boundOf(1, map[string]int{"full": 1})
		if err := b.around(t.Context(), into("a", "full", "b", "c"), all); !errors.Is(err, store.ErrConflict) {
			t.Fatal(err)
		}
		for _, namespace := range []string{"a", "b", "c"} {
			if err := b.around(t.Context(), into(namespace), all); err != nil {
				t.Fatalf("there is room for one job in namespace %s: %v", namespace, err)
			}
			if err := b.around(t.Context(), into(namespace), all); !errors.Is(err, store.ErrConflict) {
				t.Fatalf("there is no room for two jobs in namespace %s: %v", namespace, err)
			}
		}
	}
}

// TestBacklogOfFailures: an enqueue that stores nothing leaves its room, and one that may have
// stored something does not.
func TestBacklogOfFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		next  func(context.Context) error
		stays bool
	}{
		{"it is refused", func(context.Context) error { return fmt.Errorf("%w: args", store.ErrInvalid) }, false},
		{"its answer was lost", func(context.Context) error { return fmt.Errorf("%w: gone", store.ErrUnavailable) }, true},
		{"it panics", func(context.Context) error { panic("oh") }, true},
	} {
		b := boundOf(1, nil)
		func() {
			defer func() { _ = recover() }()
			_ = b.around(t.Context(), into("a"), c.next)
		}()
		err := b.around(t.Context(), into("a"), func(context.Context) error { return nil })
		if stays := errors.Is(err, store.ErrConflict); stays != c.stays {
			t.Errorf("%s: it counts: %v; %v", c.name, stays, err)
		}
		if w := b.of("a"); w.open != 0 {
			t.Errorf("%s: %d jobs are being enqueued", c.name, w.open)
		}
	}
}
