package joblog

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Put writes a chunk of a job that is there, unless the chunk is.
func Put(t *core.Tx, c *store.LogChunk) error {
	s := t.Stmt("log_put")
	db.BindID(s, c.Job)
	s.BindInt(c.Lease)
	s.BindInt(c.First)
	s.BindInt(int64(c.Attempt))
	s.BindInt(int64(c.Count))
	s.BindBlob(c.Lines)
	return db.Exec(s)
}

// Of reads chunks of a job after a place.
func Of(t *core.Tx, job store.ID, after store.LogPlace, limit int) (chunks []store.LogChunk, err error) {
	s := t.Stmt("log")
	db.BindID(s, job)
	s.BindInt(after.Lease)
	s.BindInt(after.First)
	s.BindInt(int64(limit))
	return chunks, db.Each(s, func() error {
		chunks = append(chunks, store.LogChunk{
			Job: job, Lease: s.ReadInt(), First: s.ReadInt(), Attempt: int(s.ReadInt()), Count: int(s.ReadInt()), Lines: s.ReadBlob(),
		})
		return nil
	})
}
