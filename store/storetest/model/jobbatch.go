package model

import (
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// CreateBatch implements store.JobBatches.
func (s *Store) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	if err := b.Check(); err != nil {
		return err
	}
	return s.batchTx(ctx, tx, func(s *Store) error {
		switch old := s.batches[b.ID]; {
		case old == nil:
			s.batches[b.ID] = &store.JobBatch{
				ID: b.ID, Namespace: b.Namespace, BatchSettings: b.BatchSettings, CreatedAt: s.clock().Truncate(time.Microsecond), Version: 1,
			}
		case old.Namespace != b.Namespace:
			return store.TakenID(b.ID)
		}
		return nil
	})
}

// CloseBatch implements store.JobBatches.
func (s *Store) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	return s.batchTx(ctx, tx, func(s *Store) error {
		switch b := s.batches[id]; {
		case b == nil || b.Namespace != namespace:
			return store.NoBatch(id)
		case b.ClosedAt.IsZero():
			closed := *b
			closed.ClosedAt = s.clock().Truncate(time.Microsecond)
			closed.Version++
			s.batches[id] = &closed
		}
		return nil
	})
}

// batchTx does something to batches, in a transaction if there is one.
func (s *Store) batchTx(ctx context.Context, tx store.Tx, do func(*Store) error) error {
	theirs, ours := tx.(Tx)
	if tx != nil && !ours {
		return store.NotWrapped("model.Tx")
	}
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if theirs.transaction == nil {
		return do(s)
	}
	if err := theirs.checkOpen(s); err != nil {
		return err
	}
	view, err := theirs.view()
	if err != nil {
		return err
	}
	if err := do(view); err != nil {
		return err
	}
	theirs.wrote = append(theirs.wrote, written{at: now, do: func(s *Store) { _ = do(s) }})
	return nil
}

// refusal is why a job cannot be added to its batch, or nil. What was added in a transaction stays
// so.
func (s *Store) refusal(job *store.Job) error {
	b := s.batches[job.Batch]
	missing := b == nil || b.Namespace != job.Namespace
	if job.Batch == (store.ID{}) || !missing && (b.ClosedAt.IsZero() || s.replays) {
		return nil
	}
	return &store.BatchClosedError{Job: job.ID, Batch: job.Batch, Missing: missing}
}

// Batches implements store.JobBatches.
func (s *Store) Batches(ctx context.Context, filter store.BatchFilter) (found []store.JobBatch, err error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	none := store.ID{}
	for _, b := range s.batches {
		if (filter.Namespace == "" || filter.Namespace == b.Namespace) && (filter.ID == none || filter.ID == b.ID) &&
			!(filter.Undone && !b.DoneAt.IsZero()) && (filter.Before == none || compareIDs(b.ID, filter.Before) < 0) {
			found = append(found, *b)
		}
	}
	slices.SortFunc(found, func(a, b store.JobBatch) int { return store.CompareBatches(&a, &b) })
	return found[:min(len(found), filter.Limit)], nil
}

// CountBatches implements store.JobBatches. A batch to which an open transaction has added is left
// alone.
func (s *Store) CountBatches(ctx context.Context, params store.CountBatchesParams) (c store.CountedBatches, err error) {
	if _, err := s.begin(ctx); err != nil {
		return c, err
	}
	defer s.mu.Unlock()
	var part []store.ID
	for id, b := range s.batches {
		if !b.ClosedAt.IsZero() && b.DoneAt.IsZero() {
			if c.Open = true; compareIDs(id, params.After) > 0 {
				part = append(part, id)
			}
		}
	}
	slices.SortFunc(part, compareIDs)
	if len(part) >= params.Limit {
		part = part[:params.Limit]
		c.Next = part[params.Limit-1]
	}
	for _, id := range part {
		b := *s.batches[id]
		if s.isAdding(id) {
			continue
		}
		if members, changed := s.count(&b, params.Members); changed {
			b.Version++
			c.Again = c.Again || b.GoesOn(members)
			s.batches[id] = &b
		}
		if b.Through {
			c.Through = append(c.Through, b)
		}
	}
	return c, nil
}

func (s *Store) count(b *store.JobBatch, limit int) (members []store.Member, changed bool) {
	if b.Through {
		return nil, false
	}
	jobs := s.selected(func(j *job) bool { return j.Batch == b.ID && compareIDs(j.ID, b.Cursor) > 0 })
	slices.SortFunc(jobs, func(a, b *job) int { return compareIDs(a.ID, b.ID) })
	for _, j := range jobs[:min(limit, len(jobs))] {
		members = append(members, store.Member{ID: j.ID, State: j.state})
	}
	return members, b.Count(members, len(members) < limit)
}

// isAdding reports whether an open transaction has added to a batch.
func (s *Store) isAdding(batch store.ID) bool {
	return slices.ContainsFunc(s.open, func(t *transaction) bool {
		return slices.ContainsFunc(t.wrote, func(w written) bool {
			return w.batch != nil && slices.ContainsFunc(w.batch.Enqueues, func(q *store.Enqueue) bool { return q.Job.Batch == batch })
		})
	})
}

// call marks a batch as called back, whose jobs are enqueued.
func (s *Store) call(c *store.BatchCall) error {
	b := s.batches[c.Batch]
	if err := c.Judge(b); err != nil {
		return err
	}
	done := *b
	done.DoneAt = s.clock().Truncate(time.Microsecond)
	done.Version++
	s.batches[c.Batch] = &done
	return nil
}

// isUncalled reports whether a job is a member of a batch that was not called back.
func (s *Store) isUncalled(j *job) bool {
	b := s.batches[j.Batch]
	return b != nil && b.DoneAt.IsZero()
}

// ForgetBatch removes a batch at once, for the same use.
func (s *Store) ForgetBatch(id store.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.batches, id)
}
