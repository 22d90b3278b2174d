package sqlite

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// cancelling says how jobs are cancelled.
type cancelling struct {
	reason, actor string
	terminate     bool
	audit         string // what is recorded; "": nothing, since no person asked
}

// Cancel implements store.Operators.
func (v workVerbs) Cancel(ctx context.Context, params store.CancelParams) ([]store.Result, error) {
	var results []store.Result
	how := cancelling{reason: params.Reason, actor: params.Actor, terminate: params.Terminate, audit: "cancel"}
	if params.Terminate {
		how.audit = "terminate"
	}
	err := v.d.write(ctx, "cancel", func(t *tx) (err error) {
		results, err = t.eachOf(params.Namespace, params.Jobs, func(r *store.Result) (err error) {
			if r.State, err = t.cancel(r.Job, how); r.State == 0 {
				r.Err = store.NoJob(r.Job)
			}
			return err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// cancel returns the state of the job then, or 0 if there is none.
func (t *tx) cancel(id store.ID, how cancelling) (store.State, error) {
	b, found, err := t.body(id)
	if err != nil || !found {
		return 0, err
	}
	if f, finished, err := t.finished(id); finished || err != nil {
		return f.state, err
	}
	if how.terminate {
		return store.Cancelled, t.terminate(b, how)
	}
	waits, blocked, err := t.pointerState(b)
	if err != nil {
		return 0, err
	}
	durable := false
	if waits != 0 && (b.LeaseNumber > 0 || b.forked) { // a job that is new remembers nothing
		if durable, err = t.durable(id); err != nil {
			return 0, err
		}
	}
	if waits != 0 && !durable {
		if err := t.deletePointer(b, waits, blocked); err != nil {
			return 0, err
		}
		if err := t.auditCancel(id, how); err != nil {
			return 0, err
		}
		return store.Cancelled, t.finishWaiting(b, store.ReasonCancelled, how.reason)
	}
	if err := t.requestCancel(id, how); err != nil {
		return 0, err
	}
	switch waits {
	case 0:
		return store.Running, nil
	case store.Available:
		return store.Available, nil
	default:
		return store.Available, t.makeReady(b, waits)
	}
}

// makeReady makes a job that is deferred available at once.
func (t *tx) makeReady(b *body, waits store.State) error {
	if err := t.deletePointer(b, waits, false); err != nil {
		return err
	}
	if err := t.setDue(b.ID, t.now); err != nil {
		return err
	}
	p := b.pointer()
	p.runAt = t.now
	return t.makeAvailable(p)
}

// requestCancel asks a job to end itself. The first request stands.
func (t *tx) requestCancel(id store.ID, how cancelling) error {
	s := t.stmt("cancel_request_put")
	bindID(s, id)
	s.bindInt(t.now)
	bindOptText(s, how.reason)
	bindOptText(s, how.actor)
	asked, err := s.exec()
	if err != nil || asked == 0 {
		return err
	}
	return t.auditCancel(id, how)
}

func (t *tx) auditCancel(id store.ID, how cancelling) error {
	if how.audit == "" {
		return nil
	}
	return t.audit(how.actor, how.audit, &id, 0, how.reason)
}

// terminate ends a job at once, wherever it is. A run of it finds its lease lost.
func (t *tx) terminate(b *body, how cancelling) error {
	if err := t.auditCancel(b.ID, how); err != nil {
		return err
	}
	waited, err := t.removePointer(b)
	if err != nil {
		return err
	}
	if waited != 0 {
		return t.finishWaiting(b, store.ReasonTerminated, how.reason)
	}
	run, found, err := t.runningJob(b.ID)
	if err != nil || !found {
		return unexpected("the claim of a running job", err)
	}
	r, err := t.record(recordName{run.lease.Node, run.lease.Claim})
	if err != nil {
		return err
	}
	r.finish(run.lease.Slot)
	e := &ending{state: store.Cancelled, reason: store.ReasonTerminated, err: how.reason, taken: true}
	_, _, err = t.endRun(b, r, run.lease, e)
	return err
}

// finishWaiting ends a job that does not run, and whose pointer is gone, as cancelled.
func (t *tx) finishWaiting(b *body, reason store.Reason, text string) error {
	asked, err := t.requests(b.ID)
	if err != nil {
		return err
	}
	if err := t.forget(b.ID, asked); err != nil {
		return err
	}
	return t.finish(b, &ending{state: store.Cancelled, reason: reason, err: text}, nil, 0)
}

// SweepCancels implements store.Maintenance. The transition that ends a run looks for requests itself; what is left here are
// requests of jobs that completed all the same. Those of durable jobs stay until the job has finished: its runs answer them.
func (v workVerbs) SweepCancels(ctx context.Context) (int, error) {
	applied := 0
	err := v.d.writeIf(ctx, "sweep requests",
		func(t *tx) (bool, error) {
			left, err := t.leftOver()
			return len(left) > 0, err
		},
		func(t *tx) error {
			applied = 0
			left, err := t.leftOver()
			if err != nil {
				return err
			}
			for _, id := range left {
				done, err := t.sweep(id)
				if err != nil {
					return err
				}
				if done {
					applied++
				}
			}
			return nil
		})
	return applied, err
}

// leftOver returns the jobs of which something was asked that no run will answer.
func (t *tx) leftOver() ([]store.ID, error) {
	cancels, err := t.cancelRequests()
	if err != nil {
		return nil, err
	}
	asked, err := t.pauseRequests()
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
	runs, err := t.runningJobs()
	if err != nil {
		return nil, err
	}
	var left []store.ID
	for _, id := range asked {
		if _, runs := runs[id]; runs {
			continue
		}
		durable, err := t.durable(id)
		if err != nil {
			return nil, err
		}
		if durable {
			if _, durable, err = t.finished(id); err != nil {
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
func (t *tx) sweep(id store.ID) (applied bool, err error) {
	asked, err := t.requests(id)
	if err != nil {
		return false, err
	}
	b, found, err := t.body(id)
	if err != nil {
		return false, err
	}
	_, finished, err := t.finished(id)
	if err != nil {
		return false, err
	}
	if found && !finished && asked.cancel != nil {
		waited, err := t.removePointer(b)
		if err != nil || waited == 0 { // it runs, and its node is told
			return false, err
		}
		return true, t.finishWaiting(b, store.ReasonCancelled, asked.cancel.reason)
	}
	return false, t.forget(id, asked)
}
