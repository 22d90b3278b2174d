package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestStart: it returns when the node has joined, which then runs until it is told to end.
func TestStart(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := openOn(t, source)
		kind := holdfast.NewKind[int, int]("k")
		if err := hf.Start(t.Context()); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("without a handler: %v", err)
		}
		if err := kind.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if err := hf.Start(ctx); err != nil || hf.Health().Node == 0 {
			t.Fatalf("node %d, %v", hf.Health().Node, err)
		}
		if err := hf.Start(ctx); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a second start: %v", err)
		}
		if err := hf.Run(ctx); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a run beside it: %v", err)
		}
		job, err := kind.Enqueue(t.Context(), hf, 7)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := job.Wait(t.Context()); err != nil || n != 7 {
			t.Errorf("%d, %v", n, err)
		}
		stop()
		eventually(t, "the node has left", func() bool { return hf.Health().Node == 0 })
		eventually(t, "another one may start", func() bool {
			err := hf.Start(t.Context())
			if err != nil && !errors.Is(err, holdfast.ErrConflict) {
				t.Fatal(err)
			}
			return err == nil
		})
		if err := hf.Stop(t.Context()); err != nil || hf.Health().Node != 0 {
			t.Errorf("node %d runs after its stop, %v", hf.Health().Node, err)
		}
		if err := hf.Start(t.Context()); err != nil || hf.Health().Node != 0 {
			t.Errorf("node %d was started after the stop, %v", hf.Health().Node, err)
		}
		if err := hf.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := hf.Start(t.Context()); !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// failing is a store that fails some calls.
type failing struct {
	store.Store
	join, beat atomic.Pointer[error]
}

func (f *failing) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	if err := f.join.Load(); err != nil {
		return 0, *err
	}
	return f.Store.Join(ctx, info)
}

func (f *failing) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	if err := f.beat.Load(); err != nil {
		return store.Beat{}, *err
	}
	return f.Store.Beat(ctx, p)
}

// TestStartThatFails: an error of joining is returned, and one by which the node ends is kept.
func TestStartThatFails(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ctx := t.Context()
		st := &failing{Store: f.st}
		st.join.Store(new(store.ErrUnavailable))
		hf, err := holdfast.Open(ctx, memorySource{st})
		if err != nil {
			t.Fatal(err)
		}
		defer hf.Close(ctx)
		kind := holdfast.NewKind[int, int]("k")
		if err := kind.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		if err := hf.Start(ctx); !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("the database is away: %v", err)
		}
		if err := hf.Health().Err(); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("no node has begun: %v", err)
		}
		st.join.Store(nil)
		if err := hf.Start(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := hf.Health().Err(); err != nil {
			t.Errorf("a node that runs: %v", err)
		}
		st.beat.Store(new(fmt.Errorf("%w: somebody removed it", store.ErrDatabaseGone)))
		<-time.After(time.Minute)
		health := hf.Health()
		if !errors.Is(health.Err(), holdfast.ErrDatabaseGone) || !errors.Is(health.Ended, holdfast.ErrDatabaseGone) || health.Node != 0 {
			t.Errorf("after the end of the node: %+v, %v", health, health.Err())
		}
		st.beat.Store(nil)
		if err := hf.Start(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := hf.Health().Err(); err != nil {
			t.Errorf("a node that runs again: %v", err)
		}
	})
}
