package postgres

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

func (s *operateStore) fork(ctx context.Context, params store.ForkParams) error {
	q := &store.Enqueue{Job: params.Job}
	if err := params.Check(); err != nil {
		return err
	}
	if err := s.requireIn(ctx, params.Namespace, params.From); err != nil {
		return err
	}
	now := s.micros()
	entries, err := s.entriesOf(ctx, []*store.Enqueue{q}, now, false)
	if err == nil {
		err = q.Err
	}
	if err != nil {
		return err
	}
	err = retryOnConflict(ctx, func() error {
		return s.inTx(ctx, beginHot, func(t session) error { return s.forkInto(ctx, t, entries, params, now) })
	})
	if err != nil {
		return err
	}
	s.lanes.setUsed(usedNow(entries))
	switch e := entries[0]; {
	case e.inLine(now):
		_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	case e.runAt <= now:
		s.tellWoken(ctx, woken{e.Job.ID: {lane: e.lane.id}})
	default:
		s.tellDue(e.runAt)
	}
	return nil
}

// forkInto inserts the new job and what it remembers. If it is there already nothing is done.
func (s *operateStore) forkInto(ctx context.Context, t session, entries []*entry, params store.ForkParams, now int64) error {
	if err := s.enqueueCarefully(ctx, t, entries, now); err != nil {
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
	err := t.run(ctx, "fork", func(r row) error { there = true; return r.Scan(&done) },
		uuidOf(params.From), uuidOf(params.Job.ID), params.Keep, now, cleanText(params.Actor), cleanText(params.Reason), next)
	switch {
	case err != nil:
		return err
	case !there:
		return store.NoJob(params.From)
	case !done:
		return store.JournalRewritten(params.From, params.Keep+1)
	}
	return t.runAll(ctx, s.newQueues(entries, now))
}
