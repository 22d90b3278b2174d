package batches

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are what is done with batches.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// scan reads the columns of a batch.
func scan(s db.Stmt) (b store.JobBatch, err error) {
	b.ID, b.Namespace = db.ReadID(s), s.ReadText()
	settings := s.ReadText()
	b.CreatedAt, b.ClosedAt, b.DoneAt = db.ReadTime(s), db.ReadOptTime(s), db.ReadOptTime(s)
	b.Counts = store.BatchCounts{Completed: s.ReadInt(), Failed: s.ReadInt(), Cancelled: s.ReadInt()}
	copy(b.Cursor[:], db.ReadOptBlob(s))
	b.Through, b.Version = s.ReadInt() != 0, s.ReadInt()
	b.BatchSettings, err = store.DecodeBatch(settings)
	return b, err
}

func collect(s db.Stmt) (list []store.JobBatch, err error) {
	return list, db.Each(s, func() error {
		b, err := scan(s)
		list = append(list, b)
		return err
	})
}

// find returns a batch, or nil.
func find(t *core.Tx, id store.ID) (*store.JobBatch, error) {
	s := t.Stmt("batch")
	db.BindID(s, id)
	list, err := collect(s)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// in writes in the caller's transaction, unless there is none.
func (v Verbs) in(ctx context.Context, op string, tx store.Tx, f func(*core.Tx) error) error {
	if tx == nil {
		return v.d.Write(ctx, op, f)
	}
	return v.d.InCallers(ctx, op, tx, f)
}

// CreateBatch implements store.JobBatches.
func (v Verbs) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	settings, err := b.Encode()
	if err != nil {
		return err
	}
	return v.in(ctx, "create batch "+b.ID.String(), tx, func(t *core.Tx) error {
		s := t.Stmt("batch_insert")
		db.BindID(s, b.ID)
		s.BindText(b.Namespace)
		s.BindText(settings)
		s.BindInt(t.Now)
		if n, err := s.Exec(); n > 0 || err != nil {
			t.Changed = n > 0
			return err
		}
		old, err := find(t, b.ID)
		if err == nil && old.Namespace != b.Namespace {
			err = store.TakenID(b.ID)
		}
		return err
	})
}

// CloseBatch implements store.JobBatches.
func (v Verbs) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	return v.in(ctx, "close batch "+id.String(), tx, func(t *core.Tx) error {
		b, err := find(t, id)
		if err != nil {
			return err
		}
		if b == nil || b.Namespace != namespace {
			return store.NoBatch(id)
		}
		s := t.Stmt("batch_close")
		s.BindInt(t.Now)
		db.BindID(s, id)
		return db.Exec(s)
	})
}

// last is behind all ids.
var last = func() (id store.ID) {
	for i := range id {
		id[i] = 0xff
	}
	return id
}()

// Batches implements store.JobBatches.
func (v Verbs) Batches(ctx context.Context, filter store.BatchFilter) (found []store.JobBatch, err error) {
	err = v.d.Read(ctx, "list batches", func(t *core.Tx) error {
		if filter.ID != (store.ID{}) {
			b, err := find(t, filter.ID)
			found = nil
			if b != nil && (filter.Namespace == "" || b.Namespace == filter.Namespace) && !(filter.Undone && !b.DoneAt.IsZero()) {
				found = append(found, *b)
			}
			return err
		}
		name := "batches"
		if filter.Namespace != "" {
			name = "batches_of"
		}
		s := t.Stmt(name)
		if filter.Namespace != "" {
			s.BindText(filter.Namespace)
		}
		before := filter.Before
		if before == (store.ID{}) {
			before = last
		}
		db.BindID(s, before)
		s.BindInt(db.BoolInt(filter.Undone))
		s.BindInt(int64(filter.Limit))
		found, err = collect(s)
		return err
	})
	return found, err
}

func bindOptID(s db.Stmt, id store.ID) {
	if id == (store.ID{}) {
		s.BindNull()
	} else {
		db.BindID(s, id)
	}
}

// Refuse answers the enqueue of a member whose batch does not take it, and reports whether it did:
// of one that is known the answer is that.
func Refuse(t *core.Tx, q *store.Enqueue) (refused bool, err error) {
	job := &q.Job
	if job.Batch == (store.ID{}) || job.Batch == t.OpenBatch.ID && job.Namespace == t.OpenBatch.Namespace {
		return false, nil
	}
	s := t.Stmt("batch_closed")
	db.BindID(s, job.Batch)
	s.BindText(job.Namespace)
	there, closed := false, false
	err = db.Each(s, func() error {
		there, closed = true, s.ReadInt() != 0
		return nil
	})
	if err != nil {
		return false, err
	}
	if there && !closed {
		t.OpenBatch = core.BatchName{ID: job.Batch, Namespace: job.Namespace}
		return false, nil
	}
	if known, err := t.Known(q); known || err != nil {
		return true, err
	}
	q.Err = &store.BatchClosedError{Job: job.ID, Batch: job.Batch, Missing: !there}
	return true, nil
}

// Call marks batches as called back whose jobs are enqueued. Each has its own result; an error ends
// the transaction.
func Call(t *core.Tx, calls []*store.BatchCall) error {
	for _, c := range calls {
		b, err := find(t, c.Batch)
		if err != nil {
			return err
		}
		if c.Err = c.Judge(b); c.Err != nil {
			continue
		}
		s := t.Stmt("batch_called")
		s.BindInt(t.Now)
		db.BindID(s, c.Batch)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// Retain removes up to limit batches that were called back so long ago, and tells whether there are
// more.
func Retain(ctx context.Context, d *core.Database, keep time.Duration, limit int) (removed int, more bool, err error) {
	if keep <= 0 {
		return 0, false, nil
	}
	over := func(t *core.Tx) (ids []store.ID, err error) {
		s := t.Stmt("batches_over")
		s.BindInt(t.Now - keep.Microseconds())
		s.BindInt(int64(limit) + 1)
		return ids, db.Each(s, func() error {
			ids = append(ids, db.ReadID(s))
			return nil
		})
	}
	err = d.WriteIf(ctx, "remove old batches",
		func(t *core.Tx) (bool, error) {
			ids, err := over(t)
			removed, more = 0, len(ids) > limit
			return len(ids) > 0 && limit > 0, err
		},
		func(t *core.Tx) error {
			ids, err := over(t)
			if err != nil {
				return fmt.Errorf("look for old batches: %w", err)
			}
			removed, more = min(limit, len(ids)), len(ids) > limit
			for _, id := range ids[:removed] {
				s := t.Stmt("batch_delete")
				db.BindID(s, id)
				if err := db.Exec(s); err != nil {
					return err
				}
			}
			return nil
		})
	return removed, more, err
}
