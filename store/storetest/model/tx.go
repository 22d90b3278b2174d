package model

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// Begin begins a transaction.
func (s *Store) Begin() Tx {
	t := &transaction{
		store: s, jobs: map[store.ID]bool{}, nodes: map[int64]bool{}, ids: map[store.ID]bool{}, keys: map[string]bool{},
		names: map[store.JobKey]bool{}, kept: map[store.ID]bool{}, batches: map[store.ID]bool{},
		ended: make(chan struct{}),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, t)
	return Tx{t}
}

// Commit makes what was written happen. It fails, and nothing happens, if people have meanwhile
// ended what it was written for.
func (tx Tx) Commit() error {
	s := tx.store
	s.mu.Lock()
	defer s.mu.Unlock()
	tx.end()
	if err := s.clone().replay(tx.wrote); err != nil {
		return err
	}
	s.woken, s.names = nil, false
	err := s.replay(tx.wrote)
	select {
	case s.heard <- struct{}{}:
	default:
	}
	return err
}

// Rollback ends the transaction, and nothing has happened.
func (tx Tx) Rollback() error {
	tx.store.mu.Lock()
	defer tx.store.mu.Unlock()
	tx.end()
	return nil
}

func (t *transaction) end() {
	if !t.isOver() {
		t.store.open = slices.DeleteFunc(t.store.open, func(open *transaction) bool { return open == t })
		close(t.ended)
	}
}

var errEnded = errors.New("it was committed or rolled back")

// checkOpen reports why nothing can be done in the transaction: it has ended, or is of another
// store.
func (t *transaction) checkOpen(s *Store) error {
	switch {
	case t.store != s:
		return refusal.OtherDatabase()
	case t.isOver():
		return refusal.TxIsOver("closed", errEnded)
	}
	return nil
}

// EnqueueTx implements store.Writer.
func (s *Store) EnqueueTx(ctx context.Context, tx store.Tx, enqueues []*store.Enqueue) error {
	return s.writeTx(ctx, tx, &store.Batch{Enqueues: enqueues})
}

// SendTx implements store.Writer. A job that another transaction holds is not waited for: the send
// is ErrBusy.
func (s *Store) SendTx(ctx context.Context, tx store.Tx, sends []*store.Send) error {
	return s.writeTx(ctx, tx, &store.Batch{Sends: sends})
}

// AppendTx implements store.Writer.
func (s *Store) AppendTx(ctx context.Context, tx store.Tx, a *store.Append) error {
	return s.writeTx(ctx, tx, &store.Batch{Appends: []*store.Append{a}})
}

// writeTx does what a batch says on a copy, which tells the results, and notes it for the commit.
func (s *Store) writeTx(ctx context.Context, tx store.Tx, batch *store.Batch) error {
	theirs, ours := tx.(Tx)
	switch {
	case !ours:
		return refusal.NotWrapped("model.Tx")
	case theirs.transaction == nil:
		return store.ApplyEach(ctx, s, batch)
	}
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := theirs.checkOpen(s); err != nil {
		return err
	}
	view, err := theirs.view()
	if err != nil {
		return err
	}
	view.write(batch, now)
	theirs.note(batch, now)
	return nil
}

// note keeps what has succeeded, and what no other transaction may touch because of it.
func (t *transaction) note(batch *store.Batch, now time.Time) {
	kept := &store.Batch{}
	for _, a := range batch.Appends {
		if a.Err == nil {
			one := *a
			one.Enqueues = nil
			for _, q := range a.Enqueues {
				child := *q
				one.Enqueues = append(one.Enqueues, &child)
				t.ids[q.Job.ID] = true
			}
			kept.Appends = append(kept.Appends, &one)
			t.jobs[a.Lease.Job], t.nodes[a.Lease.Node] = true, true
		}
	}
	for _, q := range batch.Sends {
		if q.Err == nil {
			one := *q
			kept.Sends = append(kept.Sends, &one)
			t.jobs[q.Job] = t.isAppending(q.Job)
		}
	}
	for _, q := range batch.Enqueues {
		if q.Err != nil || q.Job.Options.Key != "" && q.Send == nil && q.Result.Existing {
			continue // the holder of a business key is not held
		}
		one := *q
		if q.Send != nil {
			along := *q.Send
			one.Send = &along
			t.jobs[along.Job] = t.isAppending(along.Job)
		}
		kept.Enqueues = append(kept.Enqueues, &one)
		t.ids[q.Job.ID] = true
		for _, f := range q.AllFollowUps() {
			t.ids[f.Job.ID] = true
		}
		t.keys[string(q.Job.UniqueKey)] = !q.Result.Existing
		if !q.Result.Existing {
			t.names[q.Job.Key()] = true
		}
	}
	t.wrote = append(t.wrote, written{batch: kept, at: now})
}

// replay does again what has succeeded before.
func (s *Store) replay(wrote []written) error {
	s.replays = true
	defer func() { s.replays = false }()
	for _, w := range wrote {
		if w.do != nil {
			w.do(s)
			continue
		}
		s.write(w.batch, w.at)
		for _, a := range w.batch.Appends {
			if a.Err != nil {
				return a.Err
			}
		}
		for _, q := range w.batch.Sends {
			if q.Err != nil {
				return q.Err
			}
		}
		for _, q := range w.batch.Enqueues {
			if q.Err != nil {
				return q.Err
			}
		}
	}
	return nil
}

// AwaitTx implements store.Writer.
func (s *Store) AwaitTx(ctx context.Context, job store.ID) error {
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	open := slices.DeleteFunc(slices.Clone(s.open), func(t *transaction) bool { return !t.holds(job) })
	s.mu.Unlock()
	for _, t := range open {
		select {
		case <-t.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// isBusy reports whether a run cannot end so at the moment: a transaction has written to its job,
// or to the parent that is to be told.
func (s *Store) isBusy(j *job, e *ending, now time.Time) bool {
	return s.holder(j.ID) != nil || e.answers && s.holder(j.Parent) != nil && s.goal(j, e, now).state.Finished()
}

// clone returns a copy of the store that shares nothing with it but what never changes.
func (s *Store) clone() *Store {
	c := New(s.clock)
	for id, j := range s.jobs {
		copied := *j
		copied.attempts, copied.actions = slices.Clone(j.attempts), slices.Clone(j.actions)
		copied.journal, copied.inbox = slices.Clone(j.journal), slices.Clone(j.inbox)
		copied.updates = slices.Clone(j.updates)
		copied.endings = maps.Clone(j.endings)
		c.jobs[id] = &copied
	}
	for name, q := range s.queues {
		copied := *q
		c.queues[name] = &copied
	}
	for id, n := range s.nodes {
		copied := *n
		c.nodes[id] = &copied
	}
	c.unique, c.turns, c.claims, c.closed = maps.Clone(s.unique), maps.Clone(s.turns), maps.Clone(s.claims), maps.Clone(s.closed)
	for id, on := range s.after {
		c.after[id] = maps.Clone(on)
	}
	c.keys, c.sent, c.schedules = maps.Clone(s.keys), maps.Clone(s.sent), maps.Clone(s.schedules)
	c.batches, c.retried = maps.Clone(s.batches), maps.Clone(s.retried)
	c.attributes, c.requests = maps.Clone(s.attributes), s.requests.Clone()
	c.audited = slices.Clip(s.audited)
	c.leader, c.open = s.leader, slices.Clone(s.open)
	c.feed = feed{s.feed.life, s.feed.oldest, slices.Clip(s.feed.changes)}
	c.limits, c.keyRates, c.lastLimit = maps.Clone(s.limits), maps.Clone(s.keyRates), s.lastLimit
	return c
}

// restore makes the store what a copy of it is.
func (s *Store) restore(c *Store) {
	s.jobs, s.queues, s.nodes = c.jobs, c.queues, c.nodes
	s.unique, s.turns, s.claims, s.closed = c.unique, c.turns, c.claims, c.closed
	s.after = c.after
	s.keys, s.sent, s.schedules = c.keys, c.sent, c.schedules
	s.batches, s.retried, s.feed = c.batches, c.retried, c.feed
	s.leader, s.open, s.audited = c.leader, c.open, c.audited
	s.requests = c.requests
}
