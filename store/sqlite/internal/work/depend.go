package work

import (
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
)

// depends reports whether a job waits for others.
func (w *Waiter) depends() bool { return w.Held && w.Reason == store.ReasonDependency }

// awaitNew lets a job wait that was inserted just now.
func awaitNew(t *core.Tx, n core.NewJob) error {
	job := &n.Enqueue.Job
	if err := edges.Await(t, job.ID, n.Awaits); err != nil {
		return err
	}
	was := before{state: store.Available}
	if n.RunAt > t.Now {
		was = before{store.Scheduled, n.RunAt}
	}
	return holdForOthers(t, &core.Body{Job: *job, Lane: n.Lane}, was)
}

// forgetEdges lets a job wait for no other one any more. One that has started does not.
func forgetEdges(t *core.Tx, b *core.Body) error {
	if b.LeaseNumber > 0 {
		return nil
	}
	return edges.Forget(t, b.ID)
}

// AwaitOthers lets a job wait that has a pointer, in a state.
func AwaitOthers(t *core.Tx, b *core.Body, state store.State, blocked bool) error {
	if err := t.DeletePointer(b, state, blocked); err != nil {
		return err
	}
	if err := t.ReleaseTurn(b); err != nil { // those that it waits for may need it
		return err
	}
	was := before{state: state}
	if state == store.Scheduled {
		was.due = b.RunMicros
	}
	return holdForOthers(t, b, was)
}

// holdForOthers gives a job the pointer of one that waits for others. It keeps its unique key.
func holdForOthers(t *core.Tx, b *core.Body, was before) error {
	about := storedWait{Since: t.Now, Reason: store.ReasonDependency}
	return insertWait(t, b, db.Never, store.Wait{Held: true}, was, about)
}

// pauseDependent lets a job that waits for others wait for a person as well.
func pauseDependent(t *core.Tx, b *core.Body, params store.PauseJobsParams) error {
	if err := relabel(t, b, storedWait{Since: t.Now, Reason: store.ReasonPaused, Error: params.Reason}); err != nil {
		return err
	}
	return core.AuditJob(t, b.ID, audited.Paused(&params, store.Waiting))
}

// awaitAgain lets a job that a person had paused wait for others again, if there are any.
func awaitAgain(t *core.Tx, b *core.Body, w Waiter) (again bool, err error) {
	if w.depends() {
		return false, nil
	}
	if again, err = edges.Left(t, b.ID); err != nil || !again {
		return false, err
	}
	return true, relabel(t, b, storedWait{Since: t.Now, Reason: store.ReasonDependency})
}

// relabel says for what a held job waits from now on.
func relabel(t *core.Tx, b *core.Body, about storedWait) error {
	text, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("%w: wait of job %v: %w", store.ErrInvalid, b.ID, err)
	}
	s := t.Stmt("wait_relabel")
	s.BindText(string(text))
	s.BindInt(b.Due)
	db.BindID(s, b.ID)
	return db.Exec(s)
}
