package work

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// cancelling says how jobs are cancelled.
type cancelling struct {
	reason, actor string
	terminate     bool
	audit         store.ActionKind // what is recorded; "": nothing, since no person asked
}

// Cancel implements store.Operators.
func (v Verbs) Cancel(ctx context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	var results []store.Result
	wakes, err := v.d.Move(ctx, "cancel", nil, func(t *core.Tx) (err error) {
		if params.Skip {
			results, err = t.EachOf(params.Namespace, params.Jobs, func(r *store.Result) error { return keys.Skip(t, params, r) })
			return err
		}
		if results, err = cancelEach(t, params); err == nil && !params.Unrecorded {
			err = keys.GiveUpTurns(t, params, results)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return results, wakes, nil
}

func cancelEach(t *core.Tx, params store.CancelParams) ([]store.Result, error) {
	how := cancelling{reason: params.Reason, actor: params.Actor, terminate: params.Terminate, audit: store.ActionCancel}
	switch {
	case params.Unrecorded:
		how.audit = ""
	case params.Terminate:
		how.audit = store.ActionTerminate
	}
	return t.EachOf(params.Namespace, params.Jobs, func(r *store.Result) (err error) {
		if r.State, r.Ended, err = cancel(t, r.Job, how); r.State == 0 {
			r.Err = store.NoJob(r.Job)
		}
		return err
	})
}

// cancel returns the state of the job then, or 0 if there is none, and whether it has ended it.
func cancel(t *core.Tx, id store.ID, how cancelling) (state store.State, ended bool, err error) {
	b, found, err := t.Body(id)
	if err != nil || !found {
		return 0, false, err
	}
	if f, finished, err := t.Finished(id); finished || err != nil {
		return f.State, false, err
	}
	if how.terminate {
		return store.Cancelled, true, terminate(t, b, how)
	}
	waits, blocked, err := t.PointerState(b)
	if err != nil {
		return 0, false, err
	}
	durable := false
	if waits != 0 && (b.LeaseNumber > 0 || b.Forked) { // a job that is new remembers nothing
		if durable, err = Durable(t, id); err != nil {
			return 0, false, err
		}
	}
	if waits != 0 && !durable {
		if err := t.DeletePointer(b, waits, blocked); err != nil {
			return 0, false, err
		}
		if err := auditCancel(t, id, how, waits, store.Cancelled); err != nil {
			return 0, false, err
		}
		return store.Cancelled, true, finishWaiting(t, b, store.ReasonCancelled, how.reason)
	}
	if err := requestCancel(t, id, how, waits); err != nil {
		return 0, false, err
	}
	switch waits {
	case 0:
		return store.Running, false, nil
	case store.Available:
		return store.Available, false, nil
	default:
		return store.Available, false, makeReady(t, b, waits)
	}
}

// makeReady makes a job that is deferred available at once.
func makeReady(t *core.Tx, b *core.Body, waits store.State) error {
	if err := t.DeletePointer(b, waits, false); err != nil {
		return err
	}
	if err := forgetEdges(t, b); err != nil {
		return err
	}
	if err := setDue(t, b.ID, t.Now); err != nil {
		return err
	}
	p := b.Pointer()
	p.RunAt = t.Now
	return t.MakeAvailable(p)
}

// requestCancel asks a job to end itself that waits in a state, or, for 0, runs. The first request
// stands.
func requestCancel(t *core.Tx, id store.ID, how cancelling, waits store.State) error {
	s := t.Stmt("cancel_request_put")
	db.BindID(s, id)
	s.BindInt(t.Now)
	db.BindOptText(s, how.reason)
	db.BindOptText(s, how.actor)
	asked, err := s.Exec()
	if err != nil || asked == 0 {
		return err
	}
	if waits == 0 {
		return auditCancel(t, id, how, store.Running, store.Running)
	}
	return auditCancel(t, id, how, waits, store.Available)
}

func auditCancel(t *core.Tx, id store.ID, how cancelling, from, to store.State) error {
	if how.audit == "" {
		return nil
	}
	return core.AuditJob(t, id, audited.Cancelled(how.audit, how.actor, how.reason, from, to))
}

// terminate ends a job at once, wherever it is. A run of it finds its lease lost.
func terminate(t *core.Tx, b *core.Body, how cancelling) error {
	waited, err := t.RemovePointer(b)
	if err == nil {
		err = auditCancel(t, b.ID, how, cmp.Or(waited, store.Running), store.Cancelled)
	}
	if err != nil {
		return err
	}
	if waited != 0 {
		return finishWaiting(t, b, store.ReasonTerminated, how.reason)
	}
	run, found, err := t.RunningJob(b.ID)
	if err != nil || !found {
		return db.Unexpected("the claim of a running job", err)
	}
	r, err := t.Record(core.RecordName{Node: run.Lease.Node, Seq: run.Lease.Claim})
	if err != nil {
		return err
	}
	r.Finish(run.Lease.Slot)
	e := &Ending{State: store.Cancelled, Reason: store.ReasonTerminated, err: how.reason, Taken: true}
	_, _, err = EndRun(t, b, r, run.Lease, e)
	return err
}

// finishWaiting ends a job that does not run, and whose pointer is gone, as cancelled.
func finishWaiting(t *core.Tx, b *core.Body, reason store.Reason, text string) error {
	if err := forgetEdges(t, b); err != nil {
		return err
	}
	asked, err := RequestsOf(t, b.ID)
	if err != nil {
		return err
	}
	if err := forget(t, b.ID, asked); err != nil {
		return err
	}
	return finish(t, b, &Ending{State: store.Cancelled, Reason: reason, err: text}, nil, 0)
}

// SweepCancels implements store.Maintenance. The transition that ends a run looks for requests
// itself; what is left here are requests of jobs that completed all the same. Those of durable jobs
// stay until the job has finished: its runs answer them.
func (v Verbs) SweepCancels(ctx context.Context) (store.Swept, error) {
	var ended []store.ID
	wakes, err := v.d.Move(ctx, "sweep requests",
		func(t *core.Tx) (bool, error) {
			left, err := leftOver(t)
			return len(left) > 0, err
		},
		func(t *core.Tx) error {
			ended = nil
			left, err := leftOver(t)
			if err != nil {
				return err
			}
			for _, id := range left {
				done, err := sweep(t, id)
				if err != nil {
					return err
				}
				if done {
					ended = append(ended, id)
				}
			}
			return nil
		})
	if err != nil {
		return store.Swept{}, err
	}
	return store.Swept{Jobs: len(ended), Ended: ended, Wakes: wakes}, nil
}

// leftOver returns the jobs of which something was asked that no run will answer.
func leftOver(t *core.Tx) ([]store.ID, error) {
	cancels, err := CancelRequests(t)
	if err != nil {
		return nil, err
	}
	asked, err := PauseRequests(t)
	if err != nil {
		return nil, err
	}
	for _, c := range cancels {
		if !slices.Contains(asked, c.Job) {
			asked = append(asked, c.Job)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	runs, err := t.RunningJobs()
	if err != nil {
		return nil, err
	}
	var left []store.ID
	for _, id := range asked {
		if _, runs := runs[id]; runs {
			continue
		}
		durable, err := Durable(t, id)
		if err != nil {
			return nil, err
		}
		if durable {
			if _, durable, err = t.Finished(id); err != nil {
				return nil, err
			}
			durable = !durable
		}
		if !durable {
			left = append(left, id)
		}
	}
	return left, nil
}

// sweep cancels a job that does not run and was asked to end, and forgets what was asked of it.
func sweep(t *core.Tx, id store.ID) (applied bool, err error) {
	asked, err := RequestsOf(t, id)
	if err != nil {
		return false, err
	}
	b, found, err := t.Body(id)
	if err != nil {
		return false, err
	}
	_, finished, err := t.Finished(id)
	if err != nil {
		return false, err
	}
	if found && !finished && asked.Cancel != nil {
		waited, err := t.RemovePointer(b)
		if err != nil || waited == 0 { // it runs, and its node is told
			return false, err
		}
		return true, finishWaiting(t, b, store.ReasonCancelled, asked.Cancel.reason)
	}
	return false, forget(t, id, asked)
}
