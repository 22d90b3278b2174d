package sqlite

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// finished is how a job ended. lease, node and claimedAt are 0 if it was not running.
type finished struct {
	state                  store.State
	finishedAt             int64
	lease, node, claimedAt int64
	startedAt              time.Time
	codec                  int // of the result
	fingerprint            int64
	reason                 store.Reason
	err                    string
	result                 []byte
}

// finished returns how a job ended, if it did.
func (t *tx) finished(id store.ID) (f finished, found bool, err error) {
	s := t.stmt("finished")
	bindID(s, id)
	found, err = s.next()
	if !found {
		return f, false, err
	}
	f = finished{
		state: store.State(s.readInt()), finishedAt: s.readInt(),
		lease: readOptInt(s), node: readOptInt(s), claimedAt: readOptInt(s),
		startedAt: readOptTime(s), reason: store.Reason(readOptText(s)), err: readOptText(s), fingerprint: readOptInt(s),
		result: readOptBlob(s), codec: int(readOptInt(s)),
	}
	s.done()
	return f, true, nil
}

// isIn reports whether a job is of a namespace. In "", any, it may not be there at all.
func (t *tx) isIn(namespace string, id store.ID) (bool, error) {
	if namespace == "" {
		return true, nil
	}
	s := t.stmt("job_in")
	bindID(s, id)
	s.bindText(namespace)
	return exists(s)
}

// eachOf does something to each of the jobs that are of a namespace, and answers for all. An error ends the transaction.
func (t *tx) eachOf(namespace string, ids []store.ID, do func(r *store.Result) error) ([]store.Result, error) {
	results := make([]store.Result, len(ids))
	for i, id := range ids {
		r := &results[i]
		r.Job = id
		own, err := t.isIn(namespace, id)
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

// known answers an enqueue whose id is stored already.
func (t *tx) known(q *store.Enqueue) (bool, error) {
	s := t.stmt("job_run_at")
	bindID(s, q.Job.ID)
	found, err := s.next()
	if err != nil || !found {
		return false, err
	}
	defer s.done()
	q.Result = store.EnqueueResult{ID: q.Job.ID, Existing: true, RunAt: dueTime(s.readInt())}
	return true, nil
}

// isThere reports whether there is a job.
func (t *tx) isThere(id store.ID) (bool, error) {
	s := t.stmt("job_run_at")
	bindID(s, id)
	return exists(s)
}
