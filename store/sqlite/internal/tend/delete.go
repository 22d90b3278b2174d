package tend

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// Delete implements store.Editors. A few hundred jobs are a transaction, as in Retain. Before it,
// and without the write lock, it looks for children that are not finished, of which there may be
// very many that are: a job that has finished gets no more of them, unless it was retried
// meanwhile, which is seen.
func (v Verbs) Delete(ctx context.Context, params store.DeleteParams) (results []store.Result, wakes []store.Wake, err error) {
	results = make([]store.Result, 0, len(params.Jobs))
	for ids := range slices.Chunk(params.Jobs, retainChunk) {
		looked := map[store.ID]removable{}
		err := v.d.Read(ctx, "delete", func(t *core.Tx) error {
			for _, id := range ids {
				r, err := lookAtRemovable(t, id)
				if err != nil {
					return err
				}
				looked[id] = r
			}
			return nil
		})
		if err != nil {
			return nil, wakes, err
		}
		var part []store.Result
		woken, err := v.d.Move(ctx, "delete", nil, func(t *core.Tx) (err error) {
			part, err = t.EachOf(params.Namespace, ids, func(r *store.Result) error { return deleteJob(t, r, params, looked[r.Job]) })
			return err
		})
		if err != nil {
			return nil, wakes, err
		}
		results = append(results, part...)
		for _, w := range woken {
			wakes = store.AddWake(wakes, w)
		}
	}
	return results, wakes, nil
}

// removable is a finished job, by the end that it had when it was looked at.
type removable struct {
	state             store.State // 0: it had not finished, or was not there
	finishedAt, lease int64
	child             store.ID // that is not finished; zero: none
}

func lookAtRemovable(t *core.Tx, id store.ID) (r removable, err error) {
	f, finished, err := t.Finished(id)
	if err != nil || !finished {
		return r, err
	}
	r = removable{state: f.State, finishedAt: f.FinishedAt, lease: f.Lease}
	s := t.Stmt("child_unfinished")
	db.BindID(s, id)
	found, err := s.Next()
	if found {
		r.child = db.ReadID(s)
		s.Done()
	}
	return r, err
}

// deleteJob sets the result; an error ends the transaction.
func deleteJob(t *core.Tx, result *store.Result, params store.DeleteParams, looked removable) error {
	id := result.Job
	b, found, err := t.Body(id)
	if err != nil {
		return err
	}
	if !found {
		result.Err = store.NoJob(id)
		return nil
	}
	f, finished, err := t.Finished(id)
	if err != nil {
		return err
	}
	if !finished {
		if result.State, _, err = t.PointerState(b); result.State == 0 {
			result.State = store.Running
		}
		result.Err = store.JobIs(id, result.State)
		return err
	}
	if result.State = f.State; !params.Takes(f.State) {
		result.Err = store.JobIs(id, f.State)
		return nil
	}
	if now := (removable{state: f.State, finishedAt: f.FinishedAt, lease: f.Lease, child: looked.child}); now != looked {
		if looked, err = lookAtRemovable(t, id); err != nil {
			return err
		}
	}
	if untold, err := edges.Untold(t, id, f.State); err != nil {
		return err
	} else if untold {
		result.Err = refusal.IsToTell(id)
		return nil
	}
	if looked.child != (store.ID{}) {
		result.Err = store.HasChildren(id, looked.child)
		return nil
	}
	if err := core.AuditJob(t, id, audited.Deleted(&params, f.State)); err != nil {
		return err
	}
	s := t.Stmt("closed_delete") // no child is left to be closed
	db.BindID(s, id)
	if err := db.Exec(s); err != nil {
		return err
	}
	if err := keys.Free(t, id); err != nil {
		return err
	}
	if _, err := t.GiveUpTurn(b); err != nil {
		return err
	}
	_, err = remove(t, id)
	return err
}
