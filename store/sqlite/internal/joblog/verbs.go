package joblog

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Logs.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// KeepLogs implements store.Logs.
func (v Verbs) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	if err := store.CheckLogs(chunks); err != nil {
		return err
	}
	if len(chunks) == 0 {
		return ctx.Err()
	}
	return v.d.Write(ctx, "keep logs", func(t *core.Tx) error {
		for _, step := range []func(*core.Tx, *store.LogChunk) error{Put, trim, dropOld} {
			for i := range chunks {
				if err := step(t, &chunks[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// trim removes the lines of the run that a chunk is to replace.
func trim(t *core.Tx, c *store.LogChunk) error {
	if c.Keep <= 1 {
		return nil
	}
	s := t.Stmt("log_trim")
	db.BindID(s, c.Job)
	s.BindInt(c.Lease)
	s.BindInt(c.Keep)
	return db.Exec(s)
}

// dropOld removes the runs of a job of which no lines are kept any more, now that there is one
// more.
func dropOld(t *core.Tx, c *store.LogChunk) error {
	if !c.Opens {
		return nil
	}
	var old []int64
	s := t.Stmt("log_old")
	db.BindID(s, c.Job)
	s.BindInt(store.LogJobRuns)
	s.BindInt(store.LogJobBytes)
	err := db.Each(s, func() error {
		old = append(old, s.ReadInt())
		return nil
	})
	if err != nil {
		return err
	}
	for _, lease := range old {
		s := t.Stmt("log_drop")
		db.BindID(s, c.Job)
		s.BindInt(lease)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// Logs implements store.Logs.
func (v Verbs) Logs(ctx context.Context, params store.LogParams) (chunks []store.LogChunk, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "read the logs of job "+params.Job.String(), func(t *core.Tx) error {
		chunks = nil
		if own, err := t.IsIn(params.Namespace, params.Job); err != nil || !own {
			return err
		}
		chunks, err = Of(t, params.Job, params.After, params.Limit)
		return err
	})
	return chunks, err
}
