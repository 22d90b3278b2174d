package faulttest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// needy is the store of a node that finds nothing by itself: others make its jobs available, and it
// claims none before somebody has told it that there is one in its namespace.
type needy struct {
	store.Store

	namespace string
	told      *atomic.Bool
}

func (s needy) Promote(context.Context, int) (store.Promoted, error) { return store.Promoted{}, nil }

func (s needy) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	if !s.told.Load() {
		return nil, nil
	}
	return s.Store.Claim(ctx, params)
}

func (s needy) Watch(ctx context.Context, wake func(store.Wake)) error {
	return s.Store.Watch(ctx, func(w store.Wake) {
		if w.Kind == store.WakeReady && w.Namespace == s.namespace {
			s.told.Store(true)
		}
		wake(w)
	})
}

// TestDueInAnotherNamespace has a node promote a job of a namespace that it does not serve. The
// node that does must learn of it then, and not by its poll: there is none.
func TestDueInAnotherNamespace(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	kind := holdfast.NewKind[int, int]("due")
	here := db.open(t, holdfast.WithNamespace("here"), neverLooks())
	register(t, here, kind, func(*holdfast.Run, int) (int, error) { return 0, nil })
	work(t, here)

	there := db.wrapped(func(st store.Store) store.Store { return needy{st, "there", new(atomic.Bool)} }).
		open(t, holdfast.WithNamespace("there"), neverLooks())
	started := make(chan struct{}, 1)
	register(t, there, kind, func(*holdfast.Run, int) (int, error) { started <- struct{}{}; return 0, nil })
	work(t, there)
	job := enqueue(t, there, kind, 1, holdfast.Delay(time.Second))
	select {
	case <-started:
	case <-time.After(patience):
		t.Fatalf("the job has not started within %v: %s", patience, told(get(t, there, job.ID)))
	}
}
