package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestSettleElsewhere: each unit says what became of it; a caller that does not wait is told that
// it is not known, and one of a closed engine that nothing happened.
func TestSettleElsewhere(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		node, err := b.st.Join(b.t.Context(), store.NodeInfo{Namespace: "default", Kinds: []string{"k"}, Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		q := b.job("k")
		if err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{q}); err != nil {
			t.Fatal(err)
		}
		claimed, err := b.st.Claim(b.t.Context(), store.ClaimParams{
			Node: node, Seq: 1, Namespace: q.Job.Namespace, Kinds: []string{"k"}, Limit: 1,
		})
		if err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		lost := claimed[0].Outcome(store.Completed)
		lost.Lease.Number++
		units := []*store.Unit{{Outcome: lost}, {Outcome: claimed[0].Outcome(store.Completed)}}
		errs, err := b.e.Settle(b.t.Context(), units)
		if err != nil || errs[0] != nil || errs[1] != nil || !errors.Is(units[0].Err(), store.ErrLeaseLost) || units[1].Err() != nil {
			t.Errorf("settled: %v, %v; %v, %v", errs, err, units[0].Err(), units[1].Err())
		}
		b.expect(b.wait(q.Job.ID), store.Completed, "")
		ctx, cancel := context.WithCancel(b.t.Context())
		cancel()
		if errs, err := b.e.Settle(ctx, []*store.Unit{{Outcome: claimed[0].Outcome(store.Completed)}}); err == nil && errs[0] == nil {
			t.Error("a caller that has left is told that it was done")
		}
		if err := b.e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.e.Settle(b.t.Context(), nil); !errors.Is(err, store.ErrClosed) {
			t.Errorf("on a closed engine: %v", err)
		}
	})
}
