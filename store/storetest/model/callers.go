package model

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// CancelTx implements store.Callers.
func (s *Store) CancelTx(ctx context.Context, tx store.Tx, params store.CancelParams) ([]store.Result, error) {
	if err := params.CheckTx(); err != nil {
		return nil, err
	}
	return s.callTx(ctx, tx, func(s *Store, now time.Time, only func(store.ID) bool) (results []store.Result) {
		for _, id := range params.Jobs {
			if only(id) {
				results = append(results, s.eachInTx(id, func() store.Result { return s.cancelOne(params, id, now) }))
			}
		}
		return results
	})
}

// RetryTx implements store.Callers.
func (s *Store) RetryTx(ctx context.Context, tx store.Tx, params store.RetryParams) ([]store.Result, error) {
	return s.callTx(ctx, tx, func(s *Store, now time.Time, only func(store.ID) bool) (results []store.Result) {
		for _, id := range params.Jobs {
			if only(id) {
				results = append(results, s.eachInTx(id, func() store.Result { return s.retryOne(params, id, now) }))
			}
		}
		return results
	})
}

// FinishTx implements store.Callers.
func (s *Store) FinishTx(ctx context.Context, tx store.Tx, params store.FinishParams) ([]store.Result, error) {
	return s.callTx(ctx, tx, func(s *Store, now time.Time, only func(store.ID) bool) []store.Result {
		mine := params
		mine.Ends = slices.DeleteFunc(slices.Clone(params.Ends), func(e store.End) bool { return !only(e.Job) })
		return s.finishEach(mine, now)
	})
}

// Finish implements store.Callers.
func (s *Store) Finish(ctx context.Context, params store.FinishParams) ([]store.Result, []store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	return s.finishEach(params, now), s.woken, nil
}

func (s *Store) finishEach(params store.FinishParams, now time.Time) []store.Result {
	results := params.Results()
	for i := range params.Ends {
		if e, r := &params.Ends[i], &results[i]; r.Err == nil {
			*r = s.eachInTx(e.Job, func() store.Result { return s.finishOutside(params, e, now) })
		}
	}
	return results
}

// finishOutside ends a job that was handed over.
func (s *Store) finishOutside(params store.FinishParams, e *store.End, now time.Time) store.Result {
	r := store.Result{Job: e.Job}
	j := s.in(params.Namespace, e.Job)
	over := j != nil && j.state.Finished()
	switch {
	case j == nil:
		r.Err = store.NoJob(e.Job)
	case e.Kind != "" && j.Kind != e.Kind:
		r.Err = store.OfAnotherKind(e.Job, j.Kind, e.Kind)
	case j.state == store.Waiting && !j.wait.HandedOver:
		r.Err = refusal.NotHandedOver(e.Job, j.state)
	case j.state != store.Waiting:
		r.Err = store.JobIs(e.Job, j.state)
	case e.State == store.Failed && j.wait.Compensates:
		j.journal = append(j.journal, store.Entry{
			Seq: j.lastEntry() + 1, Kind: store.EntryClosing, Path: e.Closing.Path, Data: bytes.Clone(e.Closing.Data),
			Codec: e.Closing.Codec, At: now, LeaseNumber: j.LeaseNumber,
		})
		j.Closing, j.decided = true, j.lastEntry()
		j.RunAt = now
		s.enter(j, store.Available)
		s.act(j, audited.Ended(e, params.Actor, j.state), now)
	default:
		j.endedBy = store.Lease{}
		if e.State == store.Completed {
			j.result, j.codec = bytes.Clone(e.Result), e.Codec
			s.finish(j, e.State, "", "", now)
		} else {
			j.likeness = e.Fingerprint
			s.finish(j, e.State, store.ReasonTerminal, e.Error, now)
		}
		s.close(j)
		s.answer(j, now)
		s.act(j, audited.Ended(e, params.Actor, j.state), now)
	}
	if j != nil {
		r.State, r.Ended = j.state, !over && j.state.Finished()
	}
	return r
}

// eachInTx does something to a job, unless another transaction has it.
func (s *Store) eachInTx(id store.ID, do func() store.Result) store.Result {
	if s.jobs[id] != nil && s.holder(id) != nil {
		return store.Result{Job: id, Err: store.ErrBusy}
	}
	return do()
}

// callTx does something to jobs in a caller's transaction: on a copy, which tells the results, and
// again when the transaction commits, to those jobs to which it was done.
func (s *Store) callTx(
	ctx context.Context, tx store.Tx, do func(s *Store, now time.Time, only func(store.ID) bool) []store.Result,
) ([]store.Result, error) {
	theirs, ours := tx.(Tx)
	if !ours {
		return nil, refusal.NotWrapped("model.Tx")
	}
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	all := func(store.ID) bool { return true }
	if theirs.transaction == nil {
		return do(s, now, all), nil
	}
	if err := theirs.checkOpen(s); err != nil {
		return nil, err
	}
	view, err := theirs.view()
	if err != nil {
		return nil, err
	}
	results := do(view, now, all)
	done := map[store.ID]bool{}
	for _, r := range results {
		if r.Err == nil {
			done[r.Job] = true
			theirs.keep(view, r.Job)
		}
	}
	theirs.wrote = append(theirs.wrote, written{at: now, do: func(s *Store) {
		do(s, now, func(id store.ID) bool { return done[id] })
	}})
	return results, nil
}

// view is the store as the transaction sees it.
func (t *transaction) view() (*Store, error) {
	view := t.store.clone()
	view.open = slices.DeleteFunc(view.open, func(open *transaction) bool { return open == t })
	return view, view.replay(t.wrote)
}

// keep notes that nothing else may move a job, nor take or enqueue its key.
func (t *transaction) keep(view *Store, id store.ID) {
	if !t.holds(id) {
		t.jobs[id] = false
	}
	t.kept[id] = true
	if was, is := t.store.jobs[id], view.jobs[id]; was != nil && was.state.Finished() && !is.state.Finished() {
		t.batches[is.Batch] = true
	}
	if j := view.jobs[id]; j != nil && len(j.UniqueKey) > 0 && view.unique[string(j.UniqueKey)] != t.store.unique[string(j.UniqueKey)] {
		t.keys[string(j.UniqueKey)] = true
	}
	if j := view.jobs[id]; j != nil && j.Options.Key != "" && !j.state.Finished() && t.store.jobs[id].state.Finished() {
		t.names[j.Key()] = true
	}
}

// isKept reports whether an open transaction has moved the job, or asked it to end.
func (s *Store) isKept(id store.ID) bool {
	return slices.ContainsFunc(s.open, func(t *transaction) bool { return t.kept[id] })
}
