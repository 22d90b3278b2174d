package model

import (
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
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
			s.requests.Happens(s.asked, s.Now())
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
		return refusal.NotWrapped("model.Tx")
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
			found = append(found, s.batch(b.ID))
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
		b := s.batch(id)
		if s.isAdding(id) || s.isRetrying(id) {
			continue
		}
		if !b.Through {
			c.Again = s.count(&b, params.Members) || c.Again
		}
		if b.Through {
			c.Through = append(c.Through, b)
		}
	}
	return c, nil
}

// batch is a batch as it is shown.
func (s *Store) batch(id store.ID) store.JobBatch {
	b := *s.batches[id]
	b.Through = b.Through && len(s.retriesOf(id)) == 0
	return b
}

// count counts, and reports whether there is more to count now.
func (s *Store) count(b *store.JobBatch, limit int) (again bool) {
	var members []store.Member
	jobs := s.selected(func(j *job) bool { return j.Batch == b.ID && compareIDs(j.ID, b.Cursor) > 0 })
	slices.SortFunc(jobs, func(a, b *job) int { return compareIDs(a.ID, b.ID) })
	for _, j := range jobs {
		members = append(members, store.Member{ID: j.ID, State: j.state})
	}
	for _, id := range s.retriesOf(b.ID) {
		m := store.Member{ID: id, Was: s.retried[member{b.ID, id}], Gone: true}
		if j := s.jobs[id]; j != nil && j.Batch == b.ID {
			m.State, m.Gone = j.state, false
		}
		members = append(members, m)
	}
	all := len(members) < limit
	members = members[:min(limit, len(members))]
	n, changed := b.Count(members, all)
	for _, m := range members[:n] {
		delete(s.retried, member{b.ID, m.ID})
	}
	if changed {
		b.Version++
		kept := *b
		s.batches[b.ID] = &kept
	}
	return changed && n == len(members) && !b.Through
}

// member is a member of a batch.
type member struct{ batch, id store.ID }

// retriesOf are the members of a batch that were counted and retried since.
func (s *Store) retriesOf(batch store.ID) (ids []store.ID) {
	for m := range s.retried {
		if m.batch == batch {
			ids = append(ids, m.id)
		}
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// noteRetry notes that a job which has finished runs again, if it was counted.
func (s *Store) noteRetry(j *job) {
	b, m := s.batches[j.Batch], member{j.Batch, j.ID}
	if _, noted := s.retried[m]; b != nil && !noted && b.DoneAt.IsZero() && compareIDs(j.ID, b.Cursor) <= 0 {
		s.retried[m] = j.state
	}
}

// isRetrying reports whether an open transaction lets a member of a batch run again.
func (s *Store) isRetrying(batch store.ID) bool {
	return slices.ContainsFunc(s.open, func(t *transaction) bool { return t.batches[batch] })
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
	if s.batches[c.Batch] == nil {
		return store.NoBatch(c.Batch)
	}
	done := s.batch(c.Batch)
	done.Through = done.Through && !s.isRetrying(c.Batch)
	if err := c.Judge(&done); err != nil {
		return err
	}
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
