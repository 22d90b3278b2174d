package keys

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// UniqueHolder returns the job that holds a unique key.
func UniqueHolder(t *core.Tx, key []byte) (holder store.ID, taken bool, err error) {
	s := t.Stmt("unique_holder")
	s.BindBlob(key)
	taken, err = s.Next()
	if taken {
		holder = db.ReadID(s)
		s.Done()
	}
	return holder, taken, err
}

// TakeUnique gives a job a unique key that is free.
func TakeUnique(t *core.Tx, key []byte, id store.ID) error {
	s := t.Stmt("unique_insert")
	s.BindBlob(key)
	db.BindID(s, id)
	return db.Exec(s)
}

// ReleaseUnique releases the job's unique key if the job does not hold it in the state that it
// enters. Nothing but an operator's retry takes it back.
func ReleaseUnique(t *core.Tx, job *store.Job, state store.State) error {
	if len(job.UniqueKey) == 0 || job.UniqueStates.Has(state) {
		return nil
	}
	s := t.Stmt("unique_delete")
	s.BindBlob(job.UniqueKey)
	db.BindID(s, job.ID)
	return db.Exec(s)
}

// TakeAll gives a job that was inserted just now its unique key and its business key, if it has
// them.
func TakeAll(t *core.Tx, job *store.Job) error {
	if len(job.UniqueKey) > 0 {
		if err := TakeUnique(t, job.UniqueKey, job.ID); err != nil {
			return err
		}
	}
	if job.Options.Key == "" {
		return nil
	}
	return Take(t, job)
}
