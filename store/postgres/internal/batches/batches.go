package batches

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with batches.
type Store struct{ *local.Store }

// row is a batch, and whether no member can come any more.
type row struct {
	store.JobBatch

	sealed bool
}

// into collects the batches of an answer.
func into(found *[]row) func(pg.Row) error {
	return func(r pg.Row) error {
		var b row
		var settings string
		var id, cursor pgtype.UUID
		var createdAt int64
		var closedAt, doneAt *int64
		err := r.Scan(&id, &b.Namespace, &settings, &createdAt, &closedAt, &doneAt, &b.Counts.Completed, &b.Counts.Failed, &b.Counts.Cancelled,
			&cursor, &b.sealed, &b.Through, &b.Version)
		if err != nil {
			return err
		}
		b.ID, b.Cursor = id.Bytes, cursor.Bytes
		b.CreatedAt, b.ClosedAt, b.DoneAt = pg.TimeOf(createdAt), pg.OptTime(closedAt), pg.OptTime(doneAt)
		b.BatchSettings, err = store.DecodeBatch(settings)
		*found = append(*found, b)
		return err
	}
}

// Create is CreateBatch of store.JobBatches in the transaction of t, without the class of its
// error.
func (s *Store) Create(ctx context.Context, t pg.Runner, b *store.JobBatch) error {
	settings, err := b.Encode()
	if err != nil {
		return err
	}
	made := false
	err = t.Run(ctx, "batch_insert", func(pg.Row) error { made = true; return nil }, pg.UUIDOf(b.ID), b.Namespace, settings, s.Micros())
	if err != nil || made {
		return err
	}
	var namespace string
	err = t.Run(ctx, "batch_namespace_of", func(r pg.Row) error { return r.Scan(&namespace) }, pg.UUIDOf(b.ID))
	if err == nil && namespace != b.Namespace {
		err = store.TakenID(b.ID)
	}
	return err
}

// CloseOne is CloseBatch of store.JobBatches in the transaction of t, without the class of its
// error.
func (s *Store) CloseOne(ctx context.Context, t pg.Runner, namespace string, id store.ID) error {
	there := false
	err := t.Run(ctx, "batch_close", func(r pg.Row) error { return r.Scan(&there) }, pg.UUIDOf(id), pg.CleanText(namespace), s.Micros())
	if err == nil && !there {
		err = store.NoBatch(id)
	}
	return err
}

// last is behind all ids.
var last = func() (id store.ID) {
	for i := range id {
		id[i] = 0xff
	}
	return id
}()

// Batches is that of store.JobBatches, without the class of its error.
func (s *Store) Batches(ctx context.Context, f store.BatchFilter) ([]store.JobBatch, error) {
	before := f.Before
	if before == (store.ID{}) {
		before = last
	}
	st := pg.Statement{Name: "batches", Args: []any{pg.UUIDOf(before), f.Undone, int32(f.Limit)}}
	switch {
	case f.ID != store.ID{}:
		st = pg.Statement{Name: "batch", Args: []any{pg.UUIDOf(f.ID)}}
	case f.Namespace != "":
		st = pg.Statement{Name: "batches_of", Args: append([]any{pg.CleanText(f.Namespace)}, st.Args...)}
	}
	var rows []row
	st.Each = into(&rows)
	if err := s.Send(ctx, st); err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(b row) bool {
		return f.Namespace != "" && b.Namespace != f.Namespace || f.Undone && !b.DoneAt.IsZero()
	})
	return batchesOf(rows), nil
}

func batchesOf(rows []row) (found []store.JobBatch) {
	for _, r := range rows {
		found = append(found, r.JobBatch)
	}
	return found
}

// Name is what is asked about a batch: whether it is one of a namespace.
type Name struct {
	ID        store.ID
	Namespace string
}

// NameOf is that of the batch of a job.
func NameOf(j *store.Job) Name { return Name{j.Batch, j.Namespace} }

// Keep finds out which batches are open, and keeps these from being sealed until the transaction
// ends; and which of the others are there.
func Keep(ctx context.Context, t pg.Runner, ids []pgtype.UUID) (open, there map[Name]bool, err error) {
	open, there = map[Name]bool{}, map[Name]bool{}
	if err := t.Run(ctx, "batches_keep", names(open), ids); err != nil {
		return nil, nil, err
	}
	left := slices.DeleteFunc(slices.Clone(ids), func(id pgtype.UUID) bool {
		for n := range open {
			if n.ID == id.Bytes {
				return true
			}
		}
		return false
	})
	if len(left) == 0 {
		return open, there, nil
	}
	return open, there, t.Run(ctx, "batches_there", names(there), left)
}

func names(set map[Name]bool) func(pg.Row) error {
	return func(r pg.Row) error {
		var id pgtype.UUID
		var namespace string
		err := r.Scan(&id, &namespace)
		set[Name{id.Bytes, namespace}] = true
		return err
	}
}

// Call marks batches as called back, at a time. It sets Err of calls that do not happen: also of
// those of batches of which an open transaction has retried a member.
func Call(ctx context.Context, t pg.Runner, calls []*store.BatchCall, now int64) error {
	if len(calls) == 0 {
		return nil
	}
	ids, namespaces, versions := make([]pgtype.UUID, len(calls)), make([]string, len(calls)), make([]int64, len(calls))
	for i, c := range calls {
		ids[i], namespaces[i], versions[i] = pg.UUIDOf(c.Batch), pg.CleanText(c.Namespace), c.Version
	}
	locked := map[store.ID]bool{}
	err := t.Run(ctx, "batches_call_lock", func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		locked[id.Bytes] = true
		return err
	}, ids)
	if err != nil {
		return err
	}
	for i, c := range calls {
		if !locked[c.Batch] {
			versions[i] = 0 // which none has
		}
	}
	done := make([]bool, len(calls))
	err = t.Run(ctx, "batches_called", func(r pg.Row) error {
		var place int64
		err := r.Scan(&place)
		if err == nil {
			done[place-1] = true
		}
		return err
	}, ids, namespaces, versions, now)
	for i, c := range calls {
		if c.Err = nil; err != nil || done[i] {
			continue
		}
		var found []row
		if err = t.Run(ctx, "batch", into(&found), ids[i]); err != nil {
			break
		}
		var b *store.JobBatch
		if len(found) > 0 {
			b = &found[0].JobBatch
			b.Version = 0 // whatever it is: that call was not the one
		}
		c.Err = c.Judge(b)
	}
	return err
}

// Forget removes up to limit batches that were called back so long before now; none if keep is 0.
// More are left to the next time.
func Forget(now time.Time, keep time.Duration, limit int) pg.Statement {
	until := int64(0)
	if keep > 0 {
		until = now.Add(-keep).UnixMicro()
	}
	return pg.Statement{Name: "batches_forget", Args: []any{until, int32(limit)}}
}
