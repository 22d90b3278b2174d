package keys

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// GiveUpTurns takes the turns from those of the jobs that have failed and keep them.
func GiveUpTurns(t *core.Tx, params store.CancelParams, results []store.Result) error {
	for _, r := range results {
		if r.State != store.Failed || r.Err != nil {
			continue
		}
		if _, err := giveUpTurn(t, params, r.Job); err != nil {
			return err
		}
	}
	return nil
}

func giveUpTurn(t *core.Tx, params store.CancelParams, id store.ID) (had bool, err error) {
	b, found, err := t.Body(id)
	if err != nil || !found {
		return false, err
	}
	if had, err = t.GiveUpTurn(b); err == nil && had {
		err = core.AuditJob(t, id, audited.Skipped(&params))
	}
	return had, err
}

// Skip lets those behind a job go on that has failed and keeps its turn. It sets the result; an
// error ends the transaction.
func Skip(t *core.Tx, params store.CancelParams, r *store.Result) error {
	b, found, err := t.Body(r.Job)
	if err != nil || !found {
		r.Err = store.NoJob(r.Job)
		return err
	}
	f, finished, err := t.Finished(r.Job)
	if r.State = f.State; err == nil && !finished {
		r.State, _, err = t.PointerState(b)
	}
	if r.State == 0 {
		r.State = store.Running
	}
	had := false
	if err == nil && r.State == store.Failed {
		had, err = giveUpTurn(t, params, r.Job)
	}
	if !had {
		r.Err = store.JobIs(r.Job, r.State)
	}
	return err
}
