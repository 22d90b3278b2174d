package holdfast_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestHealthOnDatabases: the node as a value: which it is, its loops, its jobs and how late they
// are, and its database.
func TestHealthOnDatabases(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		var away atomic.Bool
		hf := openOn(t, cutSource{source, &away}, holdfast.WithSlots(1), holdfast.WithLeases(20*time.Millisecond, time.Minute))
		leave := make(chan struct{})
		kind := holdfast.NewTask[int]("long")
		if err := kind.Handle(hf, func(*holdfast.Run, int) error { <-leave; return nil }); err != nil {
			t.Fatal(err)
		}
		if h := hf.Health(); h.Node != 0 || len(h.Loops) > 0 || !errors.Is(h.Err(), holdfast.ErrConflict) {
			t.Errorf("before the node runs: %+v, %v", h, h.Err())
		}
		if err := hf.Start(ctx); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it beats and leads, and its loops turn", func() bool {
			h := hf.Health()
			for _, loop := range []string{"claims", "heartbeat", "promote"} {
				if h.Loops[loop].IsZero() {
					return false
				}
			}
			return h.Err() == nil && h.Leader && !h.BeatAt.IsZero() && h.RoundTrip > 0 && h.DeadAfter == time.Minute && h.AwaySince.IsZero()
		})
		nodes, err := hf.Nodes(ctx)
		if err != nil || !slices.ContainsFunc(nodes, func(n store.Node) bool { return n.ID == hf.Health().Node }) {
			t.Errorf("node %d is none of %+v, %v", hf.Health().Node, nodes, err)
		}

		first, err := kind.Enqueue(ctx, hf, 1)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "a job runs", func() bool { return hf.Health().Running == 1 })
		others, err := kind.EnqueueMany(ctx, hf, []int{2, 3})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "others wait", func() bool { h := hf.Health(); return h.Running == 1 && h.Lag > 0 })
		away.Store(true)
		eventually(t, "the database is away", func() bool { return !hf.Health().AwaySince.IsZero() })
		away.Store(false)
		eventually(t, "it is back", func() bool { h := hf.Health(); return h.AwaySince.IsZero() && h.Err() == nil })
		close(leave)
		for _, job := range append(others, first) {
			if err := kind.Wait(ctx, hf, job.ID); err != nil {
				t.Error(err)
			}
		}
		eventually(t, "nothing is left", func() bool { h := hf.Health(); return h.Running == 0 && h.Pending == 0 && h.Lag == 0 })
		if err := hf.Stop(ctx); err != nil || hf.Health().Node != 0 {
			t.Errorf("%+v, %v", hf.Health(), err)
		}
	})
}

// TestHealthOfAFullDisk: what is wrong is told apart from a database that does not answer, and at
// once.
func TestHealthOfAFullDisk(t *testing.T) {
	t.Parallel()
	h := holdfast.Health{Node: 1, BeatAt: time.Now(), DeadAfter: time.Minute, Away: time.Second}
	if err := h.Err(); err != nil {
		t.Errorf("away for a second: %v", err)
	}
	h.Full = true
	if err := h.Err(); !errors.Is(err, holdfast.ErrFull) || errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("its disk is full: %v", err)
	}
}
