package work

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// CancelTx implements store.Callers.
func (v Verbs) CancelTx(ctx context.Context, wrapped store.Tx, params store.CancelParams) (results []store.Result, err error) {
	if err := params.CheckTx(); err != nil {
		return nil, err
	}
	err = v.d.InCallers(ctx, "cancel", wrapped, func(t *core.Tx) (err error) {
		results, err = cancelEach(t, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// RetryTx implements store.Callers.
func (v Verbs) RetryTx(ctx context.Context, wrapped store.Tx, params store.RetryParams) (results []store.Result, err error) {
	err = v.d.InCallers(ctx, "retry", wrapped, func(t *core.Tx) (err error) {
		results, err = t.EachOf(params.Namespace, params.Jobs, func(r *store.Result) error { return retry(t, r, params) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// Finish implements store.Callers.
func (v Verbs) Finish(ctx context.Context, params store.FinishParams) (results []store.Result, wakes []store.Wake, err error) {
	wakes, err = v.d.Move(ctx, "finish jobs", nil, func(t *core.Tx) (err error) {
		results, err = finishEach(t, params)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return results, wakes, nil
}

// FinishTx implements store.Callers.
func (v Verbs) FinishTx(ctx context.Context, wrapped store.Tx, params store.FinishParams) (results []store.Result, err error) {
	err = v.d.InCallers(ctx, "finish jobs", wrapped, func(t *core.Tx) (err error) {
		results, err = finishEach(t, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func finishEach(t *core.Tx, params store.FinishParams) ([]store.Result, error) {
	results := params.Results()
	for i := range params.Ends {
		r, e := &results[i], &params.Ends[i]
		if r.Err != nil {
			continue
		}
		own, err := t.IsIn(params.Namespace, e.Job)
		if err != nil {
			return nil, err
		}
		if !own {
			r.Err = store.NoJob(e.Job)
			continue
		}
		if err := finishOutside(t, r, e, params.Actor); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// finishOutside ends a job that was handed over, and sets the result; an error ends the
// transaction.
func finishOutside(t *core.Tx, r *store.Result, e *store.End, actor string) error {
	b, found, err := t.Body(e.Job)
	if err != nil {
		return err
	}
	if !found {
		r.Err = store.NoJob(e.Job)
		return nil
	}
	w, err := mayFinish(t, b, r, e.Kind)
	if r.Err != nil || err != nil {
		return err
	}
	undoes := e.State == store.Failed && w.compensates
	if r.State = e.State; undoes {
		r.State = store.Available
	}
	if err := core.AuditJob(t, b.ID, audited.Ended(e, actor, r.State)); err != nil {
		return err
	}
	if undoes {
		return compensateFirst(t, b, e)
	}
	if err := t.DeletePointer(b, store.Waiting, false); err != nil {
		return err
	}
	asked, err := RequestsOf(t, b.ID)
	if err != nil {
		return err
	}
	if err := forget(t, b.ID, asked); err != nil {
		return err
	}
	end := &Ending{State: e.State, result: e.Result, codec: e.Codec}
	if e.State == store.Failed {
		end = &Ending{State: e.State, Reason: store.ReasonTerminal, err: e.Error, fingerprint: e.Fingerprint}
	}
	r.Ended = true
	return finish(t, b, end, nil, 0)
}

// mayFinish sets the state of a job, and why it cannot be finished from outside.
func mayFinish(t *core.Tx, b *core.Body, r *store.Result, kind string) (w Waiter, err error) {
	f, finished, err := t.Finished(b.ID)
	if err != nil {
		return w, err
	}
	if r.State = f.State; !finished {
		if r.State, w, err = heldState(t, b); err != nil {
			return w, err
		}
	}
	if r.State == 0 {
		r.State = store.Running
	}
	switch {
	case kind != "" && b.Kind != kind:
		r.Err = store.OfAnotherKind(b.ID, b.Kind, kind)
	case r.State != store.Waiting:
		r.Err = store.JobIs(b.ID, r.State)
	case !w.HandedOver:
		r.Err = refusal.NotHandedOver(b.ID, r.State)
	}
	return w, nil
}

// compensateFirst makes a job available whose run compensates before it ends it as failed: that end
// is decided.
func compensateFirst(t *core.Tx, b *core.Body, e *store.End) error {
	last, err := LastEntry(t, b.ID)
	if err != nil {
		return err
	}
	entry := e.Closing
	entry.Seq, entry.Kind = last+1, store.EntryClosing
	if _, err := insertEntry(t, b.ID, b.LeaseNumber, &entry); err != nil {
		return err
	}
	s := t.Stmt("job_closing")
	s.BindInt(entry.Seq)
	db.BindID(s, b.ID)
	if err := db.Exec(s); err != nil {
		return err
	}
	return makeReady(t, b, store.Waiting)
}
