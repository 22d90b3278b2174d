package operate

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// Fork is that of store.Operators, without the class of its error.
func (s *Store) Fork(ctx context.Context, params store.ForkParams) ([]store.Wake, error) {
	q := &store.Enqueue{Job: params.Job}
	if err := params.Check(); err != nil {
		return nil, err
	}
	if err := s.RequireIn(ctx, params.Namespace, params.From); err != nil {
		return nil, err
	}
	now := s.Micros()
	entries, err := s.EntriesOf(ctx, []*store.Enqueue{q}, now, false)
	if err == nil {
		err = q.Err
	}
	if err != nil {
		return nil, err
	}
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error { return s.forkInto(ctx, t, entries, params, now) })
	})
	if err != nil {
		return nil, err
	}
	s.Lanes.SetUsed(write.UsedNow(entries))
	switch e := entries[0]; {
	case e.Result.Existing:
		return nil, nil
	case e.InLine(now):
		return s.AfterCommit(ctx, nil, true), nil
	case e.RunAt <= now:
		return s.AfterCommit(ctx, write.Woken{e.Job.ID: {Lane: e.Lane.ID}}, false), nil
	default:
		return []store.Wake{write.DueAt(e.RunAt)}, nil
	}
}

// forkInto inserts the new job and what it remembers. If it is there already nothing is done.
func (s *Store) forkInto(ctx context.Context, t pg.Session, entries []*write.Entry, params store.ForkParams, now int64) error {
	if err := s.EnqueueCarefully(ctx, t, entries, now); err != nil {
		return err
	}
	if e := entries[0]; e.Err != nil || e.Result.Existing {
		return e.Err
	}
	var next *int64
	if params.Next != nil {
		next = &params.Next.LeaseNumber
	}
	there, done := false, false
	err := t.Run(ctx, "fork", func(r pg.Row) error { there = true; return r.Scan(&done) },
		pg.UUIDOf(params.From), pg.UUIDOf(params.Job.ID), params.Keep, now, pg.CleanText(params.Actor), pg.CleanText(params.Reason), next)
	switch {
	case err != nil:
		return err
	case !there:
		return store.NoJob(params.From)
	case !done:
		return refusal.JournalRewritten(params.From, params.Keep+1)
	}
	return t.RunAll(ctx, s.Beside(entries, now))
}
