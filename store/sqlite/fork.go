package sqlite

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// Fork implements store.Operators.
func (s *Store) Fork(ctx context.Context, params store.ForkParams) error {
	return s.write(ctx, "fork", func(t *tx) error { return t.fork(params) })
}

func (t *tx) fork(params store.ForkParams) error {
	q := &store.Enqueue{Job: params.Job}
	q.Job.Closing = false
	if len(q.Job.UniqueKey) > 0 || params.Keep < 0 {
		return fmt.Errorf("%w: a fork has no unique key, and keeps no less than nothing", store.ErrInvalid)
	}
	s := t.stmt("job_run_at")
	bindID(s, params.From)
	found, err := exists(s)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("job %v: %w", params.From, store.ErrNotFound)
	}
	if known, err := t.known(q); known || err != nil {
		return err
	}
	if err := q.Job.Check(); err != nil {
		return err
	}
	if err := t.enqueue(q); err != nil {
		return err
	}
	s = t.stmt("journal_copy")
	bindID(s, q.Job.ID)
	bindID(s, params.From)
	s.bindInt(params.Keep)
	copied, err := s.exec()
	if err != nil {
		return err
	}
	s = t.stmt("inbox_copy")
	bindID(s, q.Job.ID)
	bindID(s, params.From)
	bindID(s, params.From)
	s.bindInt(params.Keep)
	if err := exec(s); err != nil {
		return err
	}
	if copied > 0 {
		if err := t.writeMarks(&body{Job: q.Job, forked: true}); err != nil {
			return err
		}
	}
	return t.audit(params.Actor, "fork", &q.Job.ID, 0, params.Reason)
}
