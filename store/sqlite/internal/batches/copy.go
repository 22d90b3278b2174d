package batches

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Sum tells what a copy compares.
func Sum(t *core.Tx) (sums store.BatchSums, err error) {
	s := t.Stmt("copy_batch_sums")
	return sums, db.Each(s, func() error {
		sums = store.BatchSums{Batches: s.ReadInt(), Versions: s.ReadInt()}
		return nil
	})
}

// Export reads the batches behind one, at most so many.
func Export(t *core.Tx, after store.ID, limit int) ([]store.JobBatch, error) {
	s := t.Stmt("copy_batches")
	db.BindID(s, after)
	s.BindInt(int64(limit))
	return collect(s)
}

// Import makes batches what they are in another database.
func Import(t *core.Tx, list []store.JobBatch) error {
	for i := range list {
		b := &list[i]
		settings, err := b.Encode()
		if err != nil {
			return err
		}
		s := t.Stmt("copy_batch_put")
		db.BindID(s, b.ID)
		s.BindText(b.Namespace)
		s.BindText(settings)
		s.BindInt(b.CreatedAt.UnixMicro())
		db.BindOptTime(s, b.ClosedAt)
		db.BindOptTime(s, b.DoneAt)
		s.BindInt(b.Counts.Completed)
		s.BindInt(b.Counts.Failed)
		s.BindInt(b.Counts.Cancelled)
		bindOptID(s, b.Cursor)
		s.BindInt(db.BoolInt(b.Through))
		s.BindInt(b.Version)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}
