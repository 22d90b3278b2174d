package operate

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// Delete is that of store.Editors, without the class of its error.
func (s *Store) Delete(ctx context.Context, params store.DeleteParams) (results []store.Result, wakes []store.Wake, err error) {
	turns := false
	results, err = s.EachIn(ctx, params.Namespace, params.Jobs, func(own []store.ID) (results []store.Result, err error) {
		for ids := range slices.Chunk(own, jobsAtOnce) {
			part, had, err := s.delete(ctx, ids, params)
			turns = turns || had
			if err != nil {
				return nil, err
			}
			results = append(results, part...)
		}
		return results, nil
	})
	if turns {
		wakes = s.AfterCommit(ctx, nil, true)
	}
	return results, wakes, err
}

// deleted is what became of jobs that were to be removed.
type deleted struct {
	states   map[store.ID]store.State // of those that are removed: how they had finished
	children map[store.ID]store.ID    // of those that are not: a child that has not finished
	turns    bool                     // some had kept the turn of their ordering key
	params   *store.DeleteParams
}

// delete removes jobs, and answers for each. Of one that is asked for twice the second is not there
// any more.
func (s *Store) delete(ctx context.Context, ids []store.ID, params store.DeleteParams) (results []store.Result, turns bool, err error) {
	done := deleted{states: map[store.ID]store.State{}, children: map[store.ID]store.ID{}, params: &params}
	busy, err := locks.RetryWhileHeld(ctx, ids, func(ids []store.ID) (busy []store.ID, err error) {
		var now deleted
		err = pg.RetryOnConflict(ctx, func() error {
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
				busy, now, err = s.deleteOnce(ctx, t, ids, params)
				return err
			})
		})
		if err == nil {
			done.turns = done.turns || now.turns
			maps.Copy(done.states, now.states)
			maps.Copy(done.children, now.children)
		}
		return busy, err
	})
	if err != nil {
		return nil, done.turns, err
	}
	records, err := s.reader.RecordsOf(ctx, ids)
	if err != nil {
		return nil, done.turns, err
	}
	left := make(map[store.ID]store.State, len(records))
	for _, r := range records {
		left[r.ID] = r.State
	}
	results = make([]store.Result, len(ids))
	for i, id := range ids {
		results[i] = done.answer(id, left[id], slices.Contains(ids[:i], id), slices.Contains(busy, id))
	}
	return results, done.turns, nil
}

// answer is what became of one job, of which left is the state that it has still, 0 if it is not
// there.
func (d deleted) answer(id store.ID, left store.State, again, busy bool) store.Result {
	r := store.Result{Job: id, State: left}
	child, hasChild := d.children[id]
	state, removed := d.states[id]
	switch {
	case removed && !again:
		r.State = state
	case removed, left == 0:
		r.State, r.Err = 0, store.NoJob(id)
	case !d.params.Takes(left):
		r.Err = store.JobIs(id, left)
	case hasChild && !busy:
		r.Err = store.HasChildren(id, child)
	default:
		r.Err = locks.ErrBlocked("delete job " + id.String())
	}
	return r
}

// deleteOnce removes those of the jobs that it can have and that may go. Those that others have
// locked are busy, and those whose business key another transaction is taking.
func (s *Store) deleteOnce(
	ctx context.Context, t pg.Session, ids []store.ID, params store.DeleteParams,
) (busy []store.ID, now deleted, err error) {
	now = deleted{states: map[store.ID]store.State{}, children: map[store.ID]store.ID{}}
	unavailable, err := locks.Grab(ctx, t, ids)
	if err != nil {
		return nil, now, err
	}
	free := slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return unavailable[id] })
	var over []pgtype.UUID
	err = t.Run(ctx, "delete_look", func(r pg.Row) error {
		var id, child pgtype.UUID
		var state *int32
		var untold bool
		err := r.Scan(&id, &state, &child, &untold)
		switch {
		case state != nil && !params.Takes(store.State(*state)):
		case state != nil && untold:
			unavailable[id.Bytes] = true
		case state != nil && child.Valid:
			now.children[id.Bytes] = child.Bytes
		case state != nil:
			now.states[id.Bytes] = store.State(*state)
			over = append(over, id)
		}
		return err
	}, pg.UUIDsOf(free))
	if err != nil {
		return nil, now, err
	}
	taken, err := keys.Busy(ctx, t, over)
	if err != nil {
		return nil, now, err
	}
	for id := range taken {
		unavailable[id] = true
		delete(now.states, id)
	}
	over = slices.DeleteFunc(over, func(id pgtype.UUID) bool { return taken[id.Bytes] })
	if len(over) > 0 {
		had, err := write.GiveUpTurns(ctx, t, over, &store.CancelParams{Unrecorded: true}, s.Micros())
		if err != nil {
			return nil, now, err
		}
		now.turns = len(had) > 0
		err = t.Run(ctx, "delete_audit", nil, over, s.Micros(), pg.CleanText(params.Actor), pg.OptText(params.Reason))
		if err == nil {
			err = s.removeJobs(ctx, t, over)
		}
		if err != nil {
			return nil, now, err
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return !unavailable[id] }), now, nil
}
