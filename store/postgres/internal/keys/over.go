package keys

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Settle says of the keys of jobs of a range that are over until when they are kept: so that little
// is left to do under the lock under which the jobs are removed. states and until say which are
// over.
func Settle(ctx context.Context, d *pg.DB, from, to store.ID, states []int32, until []int64) error {
	return d.InPortions(ctx, before(from), func(after pgtype.UUID, limit int32) pg.Statement {
		return pg.Statement{Name: "keys_settle", Args: []any{after, pg.UUIDOf(to), states, until, limit}}
	})
}

// ForgetGone removes the keys of jobs up to one that have gone with their days, but for those that
// are kept.
func ForgetGone(ctx context.Context, d *pg.DB, to store.ID) error {
	return d.InPortions(ctx, store.ID{}, func(after pgtype.UUID, limit int32) pg.Statement {
		return pg.Statement{Name: "keys_of_gone", Args: []any{after, pg.UUIDOf(to), limit}}
	})
}

// before is the id before another one.
func before(id store.ID) store.ID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	return id
}

// Sweep removes up to limit keys that jobs which were removed do not keep any more, as much of what
// is remembered of signals that were sent along with enqueues, and as many keys of limits whose
// bursts are whole. It tells whether there is more.
func Sweep(ctx context.Context, d *pg.DB, now int64, limit int) (more bool, err error) {
	var keys, sent, idle int
	count := func(n *int) func(pg.Row) error {
		return func(pg.Row) error { *n++; return nil }
	}
	err = pg.RetryOnConflict(ctx, func() error {
		keys, sent, idle = 0, 0, 0
		return d.Send(ctx,
			pg.Statement{Name: "keys_over", Args: []any{now, int32(limit)}, Each: count(&keys)},
			pg.Statement{Name: "key_sent_over", Args: []any{now - store.SentKept.Microseconds(), int32(limit)}, Each: count(&sent)},
			pg.Statement{Name: "key_rates_idle", Args: []any{d.Injected(), int32(limit)}, Each: count(&idle)})
	})
	return keys >= limit || sent >= limit || idle >= limit, err
}

// Busy returns those of the finished jobs, whose bodies are locked, that must not be removed now:
// another transaction is taking their key. It locks the keys of the others.
func Busy(ctx context.Context, t pg.Runner, jobs []pgtype.UUID) (busy map[store.ID]bool, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	busy = map[store.ID]bool{}
	return busy, t.Run(ctx, "keys_busy", func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		busy[id.Bytes] = true
		return err
	}, jobs)
}
