package tend

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/edits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

// Edit implements store.Editors.
func (v Verbs) Edit(ctx context.Context, params store.EditParams) (state store.State, wakes []store.Wake, err error) {
	if err := params.Check(); err != nil {
		return 0, nil, err
	}
	wakes, err = v.d.Move(ctx, "edit job "+params.Job.String(), nil, func(t *core.Tx) (err error) {
		own, err := t.IsIn(params.Namespace, params.Job)
		if err == nil && !own {
			err = store.NoJob(params.Job)
		}
		if err == nil {
			state, err = edit(t, params)
		}
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return state, wakes, nil
}

// edited is a job that is changed.
type edited struct {
	*core.Body
	state      store.State
	blocked    bool
	held       bool
	until      time.Time // of a job that waits
	durable    bool
	cancelling bool
}

// edit returns the state in which the job is then.
func edit(t *core.Tx, params store.EditParams) (store.State, error) {
	if params.Again != nil {
		if err := work.Again(t, params.Job, *params.Again); err != nil {
			return 0, err
		}
		if err := core.AuditJob(t, params.Job, audited.Retried(params.Actor, params.Reason, store.Failed)); err != nil {
			return 0, err
		}
	}
	e, err := lookAtEdited(t, params)
	if err != nil {
		return 0, err
	}
	change := &params.Edit
	if err := edits.Allowed(change, &e.Job, e.state, e.durable, e.cancelling); err != nil {
		return 0, err
	}
	if err := readAttributes(t, e.Body, change); err != nil {
		return 0, err
	}
	before, was := e.Job, *e.Body
	changed := edits.Apply(change, &e.Job)
	next, due := e.state, e.RunMicros
	if !e.held && !edits.OnlyWords(change) {
		var at time.Time
		if next, at = edits.Due(change, &e.Job, e.state, e.durable, e.until, db.TimeOf(t.Now)); at.IsZero() {
			due = db.Never
		} else {
			due = at.UnixMicro()
		}
	}
	if !changed && next == e.state && due == e.RunMicros {
		return e.state, nil
	}
	if err := writeEdited(t, e, &before, change, due); err != nil {
		return 0, err
	}
	if e.Lane != was.Lane || due != was.RunMicros || next != e.state {
		if err := move(t, e, &was, next, due); err != nil {
			return 0, err
		}
	}
	return next, core.AuditChange(t, 0, audited.JobEdited(&params, &before, &e.Job, dueOf(was.RunMicros), dueOf(due)))
}

// dueOf is the time of a pointer; zero: never.
func dueOf(micros int64) time.Time {
	if micros == db.Never {
		return time.Time{}
	}
	return db.TimeOf(micros)
}

// lookAtEdited finds out all that decides about a change.
func lookAtEdited(t *core.Tx, params store.EditParams) (e edited, err error) {
	b, found, err := t.Body(params.Job)
	if err != nil {
		return e, err
	}
	if !found {
		return e, store.NoJob(params.Job)
	}
	e.Body = b
	f, finished, err := t.Finished(b.ID)
	if e.state = f.State; err != nil || finished {
		return e, err
	}
	if e.state, e.blocked, err = t.PointerState(b); err != nil {
		return e, err
	}
	switch e.state {
	case 0:
		e.state = store.Running
	case store.Waiting:
		w, err := work.WaiterOf(t, b)
		if err != nil {
			return e, err
		}
		e.held, e.until = w.Held, w.Until
	default:
	}
	if params.Edit.Args != nil || params.Edit.Deadline != nil {
		if e.durable, err = work.Durable(t, b.ID); err != nil {
			return e, err
		}
	}
	if params.Edit.RunAt != nil {
		var asked work.Requests
		asked, err = work.RequestsOf(t, b.ID)
		e.cancelling = asked.Cancel != nil
	}
	return e, err
}

// readAttributes reads the search attributes of a job if the change is about them, and leaves of
// the change what is kept.
func readAttributes(t *core.Tx, b *core.Body, change *store.Edit) (err error) {
	if len(change.Attributes) == 0 {
		return nil
	}
	all, err := attributes.Declared(t, b.Namespace)
	if err != nil {
		return err
	}
	declared := make([]store.DeclaredAttribute, len(all))
	for i := range all {
		declared[i] = all[i].DeclaredAttribute
	}
	change.Attributes = edits.Kept(change.Attributes, declared)
	b.Attributes, err = attributes.Of(t, b.ID)
	return err
}

// writeEdited writes what has changed in the body, and finds its lane.
func writeEdited(t *core.Tx, e edited, before *store.Job, change *store.Edit, due int64) (err error) {
	if change.Tags != nil || change.AddTags != nil || change.DropTags != nil {
		if err := work.SetTags(t, e.ID, e.Tags); err != nil {
			return err
		}
	}
	if change.Metadata != nil {
		if err := work.SetMetadata(t, e.ID, e.Metadata); err != nil {
			return err
		}
	}
	if err := attributes.Set(t, e.ID, change.Attributes); err != nil {
		return err
	}
	if edits.OnlyWords(change) {
		return nil
	}
	if change.Args != nil {
		s := t.Stmt("job_set_args")
		db.BindPayload(s, e.Args)
		s.BindInt(int64(e.Codec))
		db.BindID(s, e.ID)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	if e.Queue != before.Queue || e.Priority != before.Priority {
		name := e.Lane.LaneName
		name.QueueName, name.Priority = e.Queue, e.Priority
		if e.Lane, err = t.Lane(name); err != nil {
			return err
		}
	}
	options, _, err := work.Documents(&e.Job)
	if err != nil {
		return err
	}
	s := t.Stmt("job_set_place")
	s.BindInt(e.Lane.ID)
	s.BindInt(due)
	s.BindInt(int64(e.MaxAttempts))
	db.BindOptText(s, options)
	db.BindID(s, e.ID)
	return db.Exec(s)
}

// move gives a job that does not run another pointer. One that has the turn of its ordering key
// gives it up if its queue is another one.
func move(t *core.Tx, e edited, was *core.Body, next store.State, due int64) error {
	if e.state == store.Waiting {
		to := due
		if e.held {
			to = db.Never
		} else if due != db.Never {
			t.Woken = store.AddWake(t.Woken, store.Wake{Kind: store.WakeDeferred, Due: db.TimeOf(due)})
		}
		s := t.Stmt("wait_move")
		s.BindInt(to)
		s.BindInt(e.Lane.ID)
		s.BindInt(was.Due)
		db.BindID(s, e.ID)
		return db.Exec(s)
	}
	if err := t.DeletePointer(was, e.state, e.blocked); err != nil {
		return err
	}
	if e.Lane.Queue != was.Lane.Queue {
		if err := t.ReleaseTurn(was); err != nil {
			return err
		}
	}
	p := e.Pointer()
	p.RunAt = due
	if next == store.Available {
		return t.MakeAvailable(p)
	}
	return t.DeferUntil(p, next)
}
