package batches

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// CountBatches implements store.JobBatches.
func (v Verbs) CountBatches(ctx context.Context, params store.CountBatchesParams) (counted store.CountedBatches, err error) {
	err = v.d.WriteIf(ctx, "count members of batches",
		func(t *core.Tx) (bool, error) {
			changed, err := count(t, params, &counted)
			return len(changed) > 0, err
		},
		func(t *core.Tx) error {
			changed, err := count(t, params, &counted)
			for i := range changed {
				if err == nil {
					err = changed[i].write(t)
				}
			}
			return err
		})
	return counted, err
}

// counting is a batch that is changed by what was counted of it.
type counting struct {
	*store.JobBatch

	counted []store.Member
}

// count counts, and returns the batches that this changes.
func count(t *core.Tx, params store.CountBatchesParams, counted *store.CountedBatches) (changed []counting, err error) {
	*counted = store.CountedBatches{}
	s := t.Stmt("batches_to_count")
	db.BindID(s, params.After)
	s.BindInt(int64(params.Limit))
	list, err := collect(s)
	if err != nil {
		return nil, err
	}
	left := params.Members
	for i := range list {
		b := &list[i]
		if counted.Next = b.ID; left <= 0 && !b.Through {
			counted.Again = true // for the next call, or others would wait for long
			continue
		}
		if !b.Through {
			members, all, err := toCount(t, b, left)
			if err != nil {
				return nil, err
			}
			n, is := b.Count(members, all)
			if left -= n; is { // one that waits is no reason to leave others to the next call
				b.Version++
				changed = append(changed, counting{b, members[:n]})
				counted.Again = counted.Again || n == len(members) && !b.Through
			}
		}
		if b.Through {
			counted.Through = append(counted.Through, *b)
		}
	}
	if len(list) < params.Limit {
		counted.Next = store.ID{}
	}
	counted.Open, err = db.Exists(t.Stmt("batch_any_to_count"))
	return changed, err
}

// toCount returns up to limit members of a batch that are to be counted, the last of which may not
// have finished, and whether there are no others: those behind the cursor, and if these have
// finished those that were retried since they were counted.
func toCount(t *core.Tx, b *store.JobBatch, limit int) (members []store.Member, all bool, err error) {
	s := t.Stmt("batch_members")
	db.BindID(s, b.ID)
	db.BindID(s, b.Cursor)
	s.BindInt(int64(limit))
	members, waits, err := read(s, nil, func() store.Member {
		return store.Member{ID: db.ReadID(s), State: store.State(db.ReadOptInt(s))}
	})
	if err != nil || waits || len(members) == limit {
		return members, false, err
	}
	s = t.Stmt("batch_retried")
	db.BindID(s, b.ID)
	s.BindInt(int64(limit - len(members)))
	members, waits, err = read(s, members, func() store.Member {
		return store.Member{
			ID: db.ReadID(s), State: store.State(db.ReadOptInt(s)), Was: store.State(s.ReadInt()), Gone: s.ReadInt() != 0,
		}
	})
	return members, !waits && len(members) < limit, err
}

// read adds the members of a statement up to the first that has not finished: nothing behind that
// one matters. It reports whether there is one.
func read(s db.Stmt, members []store.Member, one func() store.Member) (read []store.Member, waits bool, err error) {
	for {
		found, err := s.Next()
		if err != nil || !found {
			return members, false, err
		}
		m := one()
		members = append(members, m)
		if !m.Gone && !m.State.Finished() {
			s.Done()
			return members, true, nil
		}
	}
}

// write writes the batch, and removes the notes about retries of those that were counted again.
func (c *counting) write(t *core.Tx) error {
	s := t.Stmt("batch_counted")
	s.BindInt(c.Counts.Completed)
	s.BindInt(c.Counts.Failed)
	s.BindInt(c.Counts.Cancelled)
	bindOptID(s, c.Cursor)
	s.BindInt(db.BoolInt(c.Through))
	db.BindID(s, c.ID)
	if err := db.Exec(s); err != nil {
		return err
	}
	for _, m := range c.counted {
		if m.Was == 0 {
			continue
		}
		s := t.Stmt("batch_retried_forget")
		db.BindID(s, c.ID)
		db.BindID(s, m.ID)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// Retried notes that a member which had ended so is to run again, if it was counted.
func Retried(t *core.Tx, job *store.Job, was store.State) error {
	if job.Batch == (store.ID{}) {
		return nil
	}
	s := t.Stmt("batch_retry")
	db.BindID(s, job.Batch)
	db.BindID(s, job.ID)
	s.BindInt(int64(was))
	return db.Exec(s)
}
