package keys

import (
	"bytes"
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are what is asked about keys.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// Find implements store.Keys.
func (v Verbs) Find(ctx context.Context, key store.JobKey) (id store.ID, err error) {
	err = v.d.Read(ctx, "find a job by its key", func(t *core.Tx) error {
		h, found, err := HolderOf(t, key)
		if err == nil && (!found || h.isGone && !h.Holds) {
			err = refusal.NoKey(key)
		}
		id = h.Job
		return err
	})
	return id, err
}

// Holder is the job that has a key, or had it last.
type Holder struct {
	Job    store.ID
	Holds  bool // no other job may have the key
	RunAt  time.Time
	isGone bool   // it was removed
	args   []byte // a hash of those that it was enqueued with
}

// HolderOf returns who has a key.
func HolderOf(t *core.Tx, key store.JobKey) (h Holder, found bool, err error) {
	s := t.Stmt("key_row")
	s.BindInt(t.Now)
	s.BindText(key.Namespace)
	s.BindText(key.Kind)
	s.BindText(key.Key)
	if found, err = s.Next(); err != nil || !found {
		return h, false, err
	}
	defer s.Done()
	h = Holder{Job: db.ReadID(s), args: s.ReadBlob()}
	if h.isGone = s.ReadNull(); !h.isGone {
		h.RunAt = core.DueTime(s.ReadInt())
	}
	h.Holds = s.ReadInt() != 0
	return h, true, nil
}

// Answer is the result of an enqueue that wants a key which the job holds.
func (h Holder) Answer(job *store.Job) store.EnqueueResult {
	return store.EnqueueResult{ID: h.Job, Existing: true, RunAt: h.RunAt, Differs: !bytes.Equal(h.args, job.HashArgs())}
}

// Take gives a new job its key, which no other job holds.
func Take(t *core.Tx, job *store.Job) error { return take(t, job, job.HashArgs()) }

func take(t *core.Tx, job *store.Job, args []byte) error {
	key := job.Key()
	s := t.Stmt("key_take")
	s.BindText(key.Namespace)
	s.BindText(key.Kind)
	s.BindText(key.Key)
	db.BindID(s, job.ID)
	s.BindInt(job.Options.KeepMicros())
	s.BindBlob(args)
	return db.Exec(s)
}

// TakeAgain gives a finished job its key that is to run again. It fails with a *UniqueError, before
// anything has changed, if another job holds it.
func TakeAgain(t *core.Tx, job *store.Job) error {
	key := job.Key()
	if key.Key == "" {
		return nil
	}
	h, found, err := HolderOf(t, key)
	switch {
	case err != nil:
		return err
	case !found:
		return Take(t, job)
	case h.Job == job.ID:
		return take(t, job, h.args)
	case h.Holds:
		return &store.UniqueError{Holder: h.Job, Key: key.Key}
	}
	return Take(t, job)
}

// Free is called before a person deletes a finished job: its key goes, also one that is kept.
func Free(t *core.Tx, id store.ID) error {
	s := t.Stmt("key_free")
	db.BindID(s, id)
	return db.Exec(s)
}

// Leave is called before a finished job is removed: its key goes, or is kept as long as it is to
// be.
func Leave(t *core.Tx, id store.ID) error {
	s := t.Stmt("key_leave")
	db.BindID(s, id)
	n, err := s.Exec()
	if err != nil || n > 0 {
		return err
	}
	s = t.Stmt("key_keep")
	db.BindID(s, id)
	db.BindID(s, id)
	return db.Exec(s)
}
