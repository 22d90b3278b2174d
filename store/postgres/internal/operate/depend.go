package operate

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/edges"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Depend is that of store.Editors, without the class of its error.
func (s *Store) Depend(ctx context.Context, params store.DependParams) (state store.State, wakes []store.Wake, err error) {
	if err := params.Check(); err != nil {
		return 0, nil, err
	}
	if err := s.RequireIn(ctx, params.Namespace, params.Job); err != nil {
		return 0, nil, err
	}
	turns := false
	held, err := locks.RetryWhileHeld(ctx, []store.ID{params.Job}, func(ids []store.ID) (held []store.ID, err error) {
		err = pg.RetryOnConflict(ctx, func() error {
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
				state, turns, err = s.depend(ctx, t, params)
				return err
			})
		})
		if errors.Is(err, errHeld) || errors.Is(err, errElsewhere) {
			return ids, nil
		}
		return nil, err
	})
	if len(held) > 0 {
		err = locks.ErrBlocked("let job " + params.Job.String() + " wait")
	}
	if err != nil {
		return 0, nil, err
	}
	return state, s.AfterCommit(ctx, nil, turns), nil
}

// depend lets a job wait whose body it can have. It returns the state in which the job is then, and
// whether it may have given up a turn.
func (s *Store) depend(ctx context.Context, t pg.Session, params store.DependParams) (state store.State, turns bool, err error) {
	if err := t.Run(ctx, "edge_lock", nil); err != nil {
		return 0, false, err
	}
	switch unavailable, err := locks.Grab(ctx, t, []store.ID{params.Job}); {
	case err != nil:
		return 0, false, err
	case unavailable[params.Job]:
		return 0, false, errHeld
	}
	r, found, err := s.reader.RecordIn(ctx, t, params.Job)
	held := r.State == store.Waiting && r.Wait != nil && r.Wait.Held
	switch {
	case err != nil:
		return 0, false, err
	case !found:
		return 0, false, store.NoJob(params.Job)
	case r.Parent != store.ID{}:
		return 0, false, refusal.ChildAfter(params.Job)
	case r.LeaseNumber > 0 || r.State != store.Available && r.State != store.Scheduled && !held:
		return 0, false, store.JobIs(params.Job, r.State)
	}
	open, err := edges.More(ctx, t, &r.Job, params.On)
	if err != nil || open.IsEmpty() {
		return r.State, false, err
	}
	now, err := open.Put(ctx, t, s.Micros(), true)
	if err == nil && !held && !now[params.Job] {
		err = errElsewhere // it was claimed, or promoted, at this moment
	}
	return store.Waiting, r.OrderingKey != "", err
}
