package rawpg

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// idlePause is how long a loop that found nothing waits.
const idlePause = time.Millisecond

const (
	claimSQL = `UPDATE job SET state = 1, attempt = attempt + 1 WHERE id = ANY(ARRAY(
			SELECT id FROM job WHERE state = 0 AND queue = 'default'
			ORDER BY priority, run_at, id LIMIT $1 FOR UPDATE SKIP LOCKED))
		RETURNING id, args`
	// The lane's owner reads in order of the ids, and goes back to the beginning when it finds no
	// more: ids are handed out before they are committed.
	ownSQL    = `SELECT id, args FROM job WHERE id > $2 ORDER BY id LIMIT $1`
	finishSQL = `DELETE FROM job WHERE id = ANY($1)`
)

// claim takes a batch, runs it, and finishes it in the transaction that takes the next.
func (c *client) claim(ctx context.Context, w *worker) error {
	return c.loop(ctx, w, func(batch *pgx.Batch) { batch.Queue(claimSQL, claimBatch) }, func([]int64) {})
}

// own does the same without a write for the claim.
func (c *client) own(ctx context.Context, w *worker) error {
	last := int64(0)
	return c.loop(ctx, w, func(batch *pgx.Batch) { batch.Queue(ownSQL, claimBatch, last) }, func(ids []int64) {
		last = 0
		if len(ids) > 0 {
			last = ids[len(ids)-1]
		}
	})
}

// loop ends when its context does, after it has finished what it ran.
func (c *client) loop(ctx context.Context, w *worker, take func(*pgx.Batch), took func(ids []int64)) error {
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	work := context.WithoutCancel(ctx)
	var ids []int64
	for {
		batch := &pgx.Batch{}
		if len(ids) > 0 {
			batch.Queue(finishSQL, ids)
		}
		more := ctx.Err() == nil
		if more {
			take(batch)
		}
		if batch.Len() == 0 {
			return ctx.Err()
		}
		// The statements of a batch are one transaction.
		results := conn.SendBatch(work, batch)
		finished := int64(len(ids))
		if finished > 0 {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		var next []int64
		if more {
			if next, err = w.run(results); err != nil {
				return err
			}
			took(next)
		}
		if err := results.Close(); err != nil {
			return err
		}
		w.done.Add(finished)
		ids = next
		if len(ids) == 0 && more {
			if err := system.Pause(ctx, idlePause); err != nil {
				return err
			}
		}
	}
}

// run calls the handler for each job of a result.
func (w *worker) run(results pgx.BatchResults) (ids []int64, err error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids = make([]int64, 0, claimBatch)
	for rows.Next() {
		var id int64
		var text []byte
		if err := rows.Scan(&id, &text); err != nil {
			return nil, err
		}
		var args system.Args
		if err := json.Unmarshal(text, &args); err != nil {
			return nil, err
		}
		w.handle(args)
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
