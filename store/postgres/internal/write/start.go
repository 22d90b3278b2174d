package write

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/claims"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// startable divides the enqueues into those that are to run at once, if the batch says so, and the
// others. What an append enqueues waits.
func (b *batch) startable(simple []*Entry) (starting, others []*Entry) {
	if b.start == nil {
		return nil, simple
	}
	for _, e := range simple {
		if e.RunAt <= b.now && !e.appended && e.MayStart() {
			starting = append(starting, e)
		} else {
			others = append(others, e)
		}
	}
	return starting, others
}

// starts is the statement that enqueues jobs that are to run at once; started is set to whether
// they do. It comes after those that make jobs available, since it looks for these.
func (s *Store) starts(b *batch, starting []*Entry, started *bool) pg.Statement {
	var lanes []int32
	for _, e := range starting {
		if !slices.Contains(lanes, e.Lane.ID) {
			lanes = append(lanes, e.Lane.ID)
		}
	}
	runAts, ids := s.Cursors.Places(lanes)
	args := append(enqueueArgs(starting, b.now, false), b.start.Node, b.start.Seq, lanes, runAts, ids)
	return pg.Statement{Name: "enqueue_start", Args: args, Each: func(r pg.Row) error { return r.Scan(started) }}
}

// settleStarted answers for jobs that run now.
func (b *batch) settleStarted(starting []*Entry) {
	b.start.Claimed = make([]store.Claimed, len(starting))
	for i, e := range starting {
		e.stored(b.now)
		e.Result.State = store.Running
		lease := store.Lease{Node: b.start.Node, Claim: b.start.Seq + int64(i/store.MaxClaimSlots), Slot: i % store.MaxClaimSlots}
		b.start.Claimed[i] = e.Started(lease, pg.TimeOf(e.RunAt), pg.TimeOf(b.now))
	}
}

// startedBefore answers for a batch whose jobs are known: they may be known because it has happened
// before.
func (s *Store) startedBefore(ctx context.Context, t pg.Session, b *batch) (err error) {
	params := store.ClaimParams{Node: b.start.Node, Seq: b.start.Seq, Limit: b.starting}
	ask := func(st pg.Statement) error { return t.Run(ctx, st.Name, st.Each, st.Args...) }
	b.start.Claimed, _, err = (&claims.Store{Store: s.Store}).From(ctx, params, ask)
	if errors.Is(err, store.ErrNodeDead) {
		b.start.Claimed, err = nil, nil
	}
	return err
}
