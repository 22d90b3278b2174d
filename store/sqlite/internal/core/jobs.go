package core

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Finished is how a job ended. lease, node and ClaimedAt are 0 if it was not running.
type Finished struct {
	State                  store.State
	FinishedAt             int64
	Lease, Node, ClaimedAt int64
	StartedAt              time.Time
	Codec                  int // of the result
	Fingerprint            int64
	Reason                 store.Reason
	Err                    string
	Result                 []byte
}

// Finished returns how a job ended, if it did.
func (t *Tx) Finished(id store.ID) (f Finished, found bool, err error) {
	s := t.Stmt("finished")
	db.BindID(s, id)
	found, err = s.Next()
	if !found {
		return f, false, err
	}
	f = Finished{
		State: store.State(s.ReadInt()), FinishedAt: s.ReadInt(),
		Lease: db.ReadOptInt(s), Node: db.ReadOptInt(s), ClaimedAt: db.ReadOptInt(s),
		StartedAt: db.ReadOptTime(s), Reason: store.Reason(db.ReadOptText(s)), Err: db.ReadOptText(s), Fingerprint: db.ReadOptInt(s),
		Result: db.ReadOptBlob(s), Codec: int(db.ReadOptInt(s)),
	}
	s.Done()
	return f, true, nil
}

// IsIn reports whether a job is of a namespace. In "", any, it may not be there at all.
func (t *Tx) IsIn(namespace string, id store.ID) (bool, error) {
	if namespace == "" {
		return true, nil
	}
	s := t.Stmt("job_in")
	db.BindID(s, id)
	s.BindText(namespace)
	return db.Exists(s)
}

// EachOf does something to each of the jobs that are of a namespace, and answers for all. An error
// ends the transaction.
func (t *Tx) EachOf(namespace string, ids []store.ID, do func(r *store.Result) error) ([]store.Result, error) {
	results := make([]store.Result, len(ids))
	for i, id := range ids {
		r := &results[i]
		r.Job = id
		own, err := t.IsIn(namespace, id)
		if err != nil {
			return nil, err
		}
		if !own {
			r.Err = store.NoJob(id)
			continue
		}
		if err := do(r); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Known answers an enqueue whose id is stored already: it is the same job, unless that is of
// another namespace.
func (t *Tx) Known(q *store.Enqueue) (bool, error) {
	s := t.Stmt("job_run_at")
	db.BindID(s, q.Job.ID)
	found, err := s.Next()
	if err != nil || !found {
		return false, err
	}
	runAt := DueTime(s.ReadInt())
	s.Done()
	own, err := t.IsIn(q.Job.Namespace, q.Job.ID)
	if err != nil {
		return false, err
	}
	if own {
		q.Result = store.EnqueueResult{ID: q.Job.ID, Existing: true, RunAt: runAt}
	} else {
		q.Err = store.TakenID(q.Job.ID)
	}
	return true, nil
}

// IsThere reports whether there is a job.
func (t *Tx) IsThere(id store.ID) (bool, error) {
	s := t.Stmt("job_run_at")
	db.BindID(s, id)
	return db.Exists(s)
}
