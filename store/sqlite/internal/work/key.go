package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// answerKey answers an enqueue whose business key another job holds. The id is looked at before the
// key: a repeated enqueue asks about that job.
func answerKey(t *core.Tx, q *store.Enqueue) (answered bool, err error) {
	if known, err := t.Known(q); known || err != nil {
		return known, err
	}
	h, found, err := keys.HolderOf(t, q.Job.Key())
	if err != nil || !found || !h.Holds {
		return false, err
	}
	q.Result = h.Answer(&q.Job)
	return true, nil
}

// enqueueAndSend is Enqueue with the signal that goes along.
func enqueueAndSend(t *core.Tx, q *store.Enqueue) error {
	if q.Send == nil {
		return Enqueue(t, q)
	}
	if was, err := keys.WasSent(t, q); was || err != nil {
		return err
	}
	if err := Enqueue(t, q); err != nil || q.Err != nil {
		return err
	}
	q.Send.Job, q.Send.Result, q.Send.Err = q.Result.ID, store.SendResult{}, nil
	if err := send(t, q.Send); err != nil {
		return err
	}
	if q.Send.Err == nil {
		return keys.NoteSent(t, q)
	}
	// Nothing was enqueued: a new job takes any signal.
	if q.Err = q.Send.Err; q.Result.ID != q.Job.ID {
		q.Err = store.KeyKept(q.Job.Options.Key, q.Result.ID)
	}
	q.Result, q.Send.Err = store.EnqueueResult{}, nil
	return nil
}
