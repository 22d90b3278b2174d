package batches

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Sum tells what a copy compares.
func Sum(ctx context.Context, t pg.Runner) (sums store.BatchSums, err error) {
	return sums, t.Run(ctx, "copy_batch_sums", func(r pg.Row) error { return r.Scan(&sums.Batches, &sums.Versions) })
}

// Export reads the batches behind one, at most so many.
func Export(ctx context.Context, t pg.Runner, after store.ID, limit int) ([]store.JobBatch, error) {
	var rows []row
	err := t.Run(ctx, "copy_batches", into(&rows), pg.UUIDOf(after), int32(limit))
	return batchesOf(rows), err
}

type copied struct {
	ID        store.ID  `json:"id"`
	Namespace string    `json:"namespace"`
	Settings  string    `json:"settings"`
	CreatedAt int64     `json:"created_at"`
	ClosedAt  *int64    `json:"closed_at"`
	DoneAt    *int64    `json:"done_at"`
	Completed int64     `json:"completed"`
	Failed    int64     `json:"failed"`
	Cancelled int64     `json:"cancelled"`
	Cursor    *store.ID `json:"cursor"`
	Through   bool      `json:"through"`
	Version   int64     `json:"version"`
}

// Import makes batches what they are in another database. Those that are closed are sealed: nothing
// works in the database that is copied, so no transaction was adding to them.
func Import(ctx context.Context, t pg.Runner, list []store.JobBatch) error {
	if len(list) == 0 {
		return nil
	}
	var rows []copied
	for i := range list {
		b := &list[i]
		settings, err := b.Encode()
		if err != nil {
			return err
		}
		r := copied{
			ID: b.ID, Namespace: b.Namespace, Settings: settings, CreatedAt: b.CreatedAt.UnixMicro(), ClosedAt: pg.OptMicros(b.ClosedAt),
			DoneAt: pg.OptMicros(b.DoneAt), Completed: b.Counts.Completed, Failed: b.Counts.Failed, Cancelled: b.Counts.Cancelled,
			Through: b.Through, Version: b.Version,
		}
		if b.Cursor != (store.ID{}) {
			r.Cursor = &b.Cursor
		}
		rows = append(rows, r)
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("%w: batches: %w", store.ErrInvalid, err)
	}
	return t.Run(ctx, "copy_batches_put", nil, string(text))
}
