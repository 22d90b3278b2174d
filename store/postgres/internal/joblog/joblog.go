package joblog

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store keeps what runs log.
type Store struct{ *local.Store }

// KeepLogs is that of store.Logs, without the class of its error.
func (s *Store) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	if err := store.CheckLogs(chunks); err != nil {
		return err
	}
	if len(chunks) == 0 {
		return ctx.Err()
	}
	list := keeping(chunks)
	return pg.RetryOnConflict(ctx, func() error { return s.Send(ctx, list...) })
}

// keeping are the statements that write chunks, and then remove what these are to replace.
func keeping(chunks []store.LogChunk) []pg.Statement {
	n := len(chunks)
	jobs, leases, firsts := make([]pgtype.UUID, n), make([]int64, n), make([]int64, n)
	attempts, counts, lines := make([]int32, n), make([]int32, n), make([][]byte, n)
	var trimmed, opened []pgtype.UUID
	var trimmedLeases, keeps []int64
	seen := map[store.ID]bool{}
	for i := range chunks {
		c := &chunks[i]
		jobs[i], leases[i], firsts[i] = pg.UUIDOf(c.Job), c.Lease, c.First
		attempts[i], counts[i], lines[i] = int32(c.Attempt), int32(c.Count), c.Lines
		if c.Keep > 1 {
			trimmed, trimmedLeases, keeps = append(trimmed, jobs[i]), append(trimmedLeases, c.Lease), append(keeps, c.Keep)
		}
		if c.Opens && !seen[c.Job] {
			seen[c.Job] = true
			opened = append(opened, jobs[i])
		}
	}
	list := []pg.Statement{{Name: "logs_put", Args: []any{jobs, leases, firsts, attempts, counts, lines}}}
	if trimmed != nil {
		list = append(list, pg.Statement{Name: "logs_trim", Args: []any{trimmed, trimmedLeases, keeps}})
	}
	if opened != nil {
		list = append(list, pg.Statement{Name: "logs_old", Args: []any{opened, int32(store.LogJobRuns), int64(store.LogJobBytes)}})
	}
	return list
}

// Logs is that of store.Logs, without the class of its error.
func (s *Store) Logs(ctx context.Context, params store.LogParams) (chunks []store.LogChunk, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	args := []any{pg.UUIDOf(params.Job), params.After.Lease, params.After.First, int32(params.Limit)}
	look := pg.Statement{Name: "logs", Args: args, Each: func(r pg.Row) error {
		c := store.LogChunk{Job: params.Job}
		var attempt, count int32
		err := r.Scan(&c.Lease, &c.First, &attempt, &count, &c.Lines)
		c.Attempt, c.Count = int(attempt), int(count)
		chunks = append(chunks, c)
		return err
	}}
	others, err := s.LookIn(ctx, params.Namespace, []store.ID{params.Job}, look)
	if err != nil || others[params.Job] {
		return nil, err
	}
	return chunks, nil
}

// ForgetGone removes what the runs of jobs up to one have logged that have gone.
func ForgetGone(ctx context.Context, d *pg.DB, to store.ID) error {
	return d.InPortions(ctx, store.ID{}, func(after pgtype.UUID, limit int32) pg.Statement {
		return pg.Statement{Name: "logs_of_gone", Args: []any{after, pg.UUIDOf(to), limit}}
	})
}
