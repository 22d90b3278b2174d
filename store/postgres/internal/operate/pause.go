package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// PauseJobs is that of store.Operators, without the class of its error.
func (s *Store) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	results, err := s.EachIn(ctx, params.Namespace, params.Jobs, func(own []store.ID) ([]store.Result, error) {
		params.Jobs = own
		return s.pauseOwn(ctx, params)
	})
	return results, nil, err // a job that is held keeps its turn
}

// pauseOwn pauses jobs whose namespace is known.
func (s *Store) pauseOwn(ctx context.Context, params store.PauseJobsParams) ([]store.Result, error) {
	states := make(map[store.ID]store.State, len(params.Jobs))
	for ids := params.Jobs; len(ids) > 0; {
		n := min(len(ids), jobsAtOnce)
		if err := s.PauseThese(ctx, ids[:n], params.Reason, params.Actor, true, states); err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	results := make([]store.Result, len(params.Jobs))
	for i, id := range params.Jobs {
		r := &results[i]
		r.Job, r.State = id, states[id]
		switch {
		case r.State == 0:
			r.Err = store.NoJob(id)
		case r.State.Finished():
			r.Err = store.JobIs(id, r.State)
		}
	}
	return results, nil
}

// PauseThese pauses jobs and notes their states. A job that is moving, or that
// another transaction has locked, is tried again; if that fails again and again, a request is
// stored, and the job is held when it is put back.
func (s *Store) PauseThese(
	ctx context.Context, ids []store.ID, reason, actor string, recorded bool, states map[store.ID]store.State,
) error {
	reason, actor = pg.CleanText(reason), pg.CleanText(actor)
	left, err := locks.RetryWhileHeld(ctx, ids, func(ids []store.ID) (moved []store.ID, err error) {
		err = pg.RetryOnConflict(ctx, func() error {
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
				free, err := locks.GrabFor(ctx, t, ids)
				if err == nil && !recorded {
					free, err = requested(ctx, t, free)
				}
				if err != nil {
					return err
				}
				moved = slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return slices.Contains(free, id) })
				return t.Run(ctx, "pause_jobs", func(r pg.Row) error {
					var id pgtype.UUID
					var state int32
					err := r.Scan(&id, &state)
					if states[id.Bytes] = store.State(state); state == 0 {
						moved = append(moved, id.Bytes)
					}
					return err
				}, pg.UUIDsOf(free), s.Micros(), reason, actor, recorded)
			})
		})
		return moved, err
	})
	if err != nil || len(left) == 0 || !recorded {
		return err // what is asked already is asked
	}
	for _, id := range left {
		states[id] = store.Running
	}
	return s.Send(ctx, pg.Statement{Name: "pause_request_put", Args: []any{pg.UUIDsOf(left), s.Micros(), reason, actor}})
}

// requested locks the requests to pause jobs, and returns the jobs whose request is still there and
// not locked by another transaction.
func requested(ctx context.Context, t pg.Runner, ids []store.ID) (asked []store.ID, err error) {
	err = t.Run(ctx, "pause_requests_lock", func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		asked = append(asked, id.Bytes)
		return err
	}, pg.UUIDsOf(ids))
	return asked, err
}

// SweepPauses applies requests whose job does not run any more, and forgets those of finished jobs:
// it closes the gap between a request and a job that moved at the same moment.
func (s *Store) SweepPauses(ctx context.Context) error {
	left, err := s.requestsLeft(ctx, "pause_requests_left", "pause_requests_forget")
	if err != nil {
		return err
	}
	for _, q := range left {
		if err := s.PauseThese(ctx, []store.ID{q.id}, q.reason, q.actor, false, map[store.ID]store.State{}); err != nil {
			return err
		}
	}
	return nil
}

// place is where a job is, as far as Resume wants to know.
type place struct {
	there         bool
	finished      store.State
	held, running bool
	state         store.State // of one that neither has finished nor runs
	last          int64       // entry of its journal
	closing       bool
	lease         int64 // the last one
}

// is the state of the job.
func (p place) is() store.State {
	switch {
	case p.finished != 0:
		return p.finished
	case p.running:
		return store.Running
	}
	return p.state
}

// lookAt tells where a job is.
func lookAt(ctx context.Context, t pg.Runner, id store.ID) (p place, err error) {
	err = t.Run(ctx, "resume_look", func(r pg.Row) error {
		var finished *int32
		var state int32
		p.there = true
		err := r.Scan(&finished, &p.held, &p.running, &p.last, &state, &p.closing, &p.lease)
		p.state = store.State(state)
		if finished != nil {
			p.finished = store.State(*finished)
		}
		return err
	}, pg.UUIDOf(id))
	return p, err
}

// errHeld rolls back the request of a person for a job that another transaction has locked.
var errHeld = errors.New("another transaction has locked the job")

// Resume is that of store.Operators, without the class of its error.
func (s *Store) Resume(ctx context.Context, params store.ResumeParams) (store.State, []store.Wake, error) {
	if err := s.RequireIn(ctx, params.Namespace, params.Job); err != nil {
		return 0, nil, err
	}
	params.Actor, params.Reason = pg.CleanText(params.Actor), pg.CleanText(params.Reason)
	var to resumed
	held, err := locks.RetryWhileHeld(ctx, []store.ID{params.Job}, func(ids []store.ID) (held []store.ID, err error) {
		err = pg.RetryOnConflict(ctx, func() error {
			to = resumed{woken: write.Woken{}}
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error { return s.resume(ctx, t, params, &to) })
		})
		if errors.Is(err, errHeld) {
			return ids, nil
		}
		return nil, err
	})
	if len(held) > 0 {
		err = locks.ErrBlocked("resume job " + params.Job.String())
	}
	switch {
	case err != nil:
		return 0, nil, err
	case to.due != nil:
		return to.state, []store.Wake{write.DueAt(*to.due)}, nil
	}
	return to.state, s.AfterCommit(ctx, to.woken, to.state == store.Available), nil
}

// resumed is what became of a job that a person let go on.
type resumed struct {
	state store.State
	due   *int64      // nil: at once, or unknown
	woken write.Woken // the job, if it is available
}

func (s *Store) resume(ctx context.Context, t pg.Session, params store.ResumeParams, to *resumed) error {
	p, err := lookAt(ctx, t, params.Job)
	if err != nil {
		return err
	}
	if p.there && p.finished == 0 && !p.held && params.Continue == nil {
		// It runs, or moved whenever it was to be paused. Its body is not locked: what puts the job
		// back locks the request first, and then the body.
		asked := false
		err := t.Run(ctx, "resume_running", func(pg.Row) error { asked = true; return nil },
			pg.UUIDOf(params.Job), s.Micros(), params.Actor, params.Reason)
		switch {
		case err != nil:
			return err
		case asked:
			if to.state = p.state; p.running {
				to.state = store.Running
			}
			return nil
		}
	}
	switch unavailable, err := locks.Grab(ctx, t, []store.ID{params.Job}); {
	case err != nil:
		return err
	case unavailable[params.Job]:
		return errHeld
	}
	if p, err = lookAt(ctx, t, params.Job); err != nil {
		return err
	}
	if params.Continue != nil {
		return s.startOver(ctx, t, params, p, to)
	}
	switch {
	case !p.there:
		return store.NoJob(params.Job)
	case !p.held && p.finished != store.Failed && p.finished != store.Cancelled:
		return store.JobIs(params.Job, p.is())
	case params.Expect >= 0 && params.Expect != p.last:
		return refusal.JournalMoved(params.Job, p.last)
	}
	if params.Keep >= 0 && params.Keep < p.last {
		cut := pg.Statement{Name: "resume_cut", Args: []any{pg.UUIDOf(params.Job), params.Keep}}
		if err := t.RunAll(ctx, []pg.Statement{updates.ForgetAccepted(params.Job, params.Keep), cut}); err != nil {
			return err
		}
	}
	if p.held {
		return s.resumeHeld(ctx, t, params, to)
	}
	return s.resumeFinished(ctx, t, params, actionOf(params), to)
}

func (s *Store) resumeHeld(ctx context.Context, t pg.Session, params store.ResumeParams, to *resumed) error {
	if params.Continue == nil {
		err := t.Run(ctx, "edge_await", func(pg.Row) error { to.state = store.Waiting; return nil },
			pg.UUIDOf(params.Job), s.Micros(), params.Actor, params.Reason)
		if err != nil || to.state == store.Waiting {
			return err
		}
	}
	return t.Run(ctx, "resume_held", func(r pg.Row) error {
		var is, lane int32
		var id pgtype.UUID
		err := r.Scan(&is, &lane, &id, &to.due)
		if to.state = store.State(is); to.state == store.Available {
			to.woken[id.Bytes], to.due = write.WokenJob{Lane: lane}, nil
		}
		return err
	}, pg.UUIDOf(params.Job), s.Micros(), params.Actor, actionOf(params), params.Reason, params.Continue != nil)
}

// actionOf is what is recorded.
func actionOf(params store.ResumeParams) string {
	if params.Continue != nil {
		return string(store.ActionContinue)
	}
	return string(store.ActionResume)
}

// startOver makes a job continue as new whose body is locked.
func (s *Store) startOver(ctx context.Context, t pg.Session, params store.ResumeParams, p place, to *resumed) error {
	switch is := p.is(); {
	case !p.there:
		return store.NoJob(params.Job)
	case is != store.Waiting && is != store.Failed && is != store.Cancelled:
		return store.JobIs(params.Job, is)
	case is == store.Waiting && p.closing:
		return refusal.JobIsEnding(params.Job)
	case params.Expect >= 0 && params.Expect != p.last:
		return refusal.JournalMoved(params.Job, p.last)
	}
	if err := t.RunAll(ctx, write.StartOver(params.Job, p.lease, params.Continue, s.Micros())); err != nil {
		return err
	}
	if p.finished != 0 {
		return s.resumeFinished(ctx, t, params, actionOf(params), to)
	}
	return s.resumeHeld(ctx, t, params, to)
}

func (s *Store) resumeFinished(ctx context.Context, t pg.Session, params store.ResumeParams, action string, to *resumed) error {
	s.Freshen(ctx, t)
	ids, now := []pgtype.UUID{pg.UUIDOf(params.Job)}, s.Micros()
	var wanted []keys.Wanted
	var busy []store.ID
	held, err := patiently(ctx, t, write.Briefly, func() (err error) {
		if wanted, busy, err = keys.TakeAgain(ctx, t, ids, now); err != nil || len(busy) > 0 {
			return err
		}
		return t.Run(ctx, "retry_finished", func(r pg.Row) error {
			var id pgtype.UUID
			var lane int32
			err := r.Scan(&id, &lane)
			to.state, to.woken[id.Bytes] = store.Available, write.WokenJob{Lane: lane}
			return err
		}, ids, now, params.Actor, action, pg.OptText(params.Reason))
	})
	switch {
	case err != nil:
		return err
	case held || len(busy) > 0:
		return errHeld
	case to.state != 0:
		return nil
	}
	holders := map[store.ID]*store.UniqueError{}
	if err := noteUniqueHolders(ids, holders).On(ctx, t); err != nil {
		return err
	}
	if err := keys.NoteHolders(ctx, t, wanted, now, holders); err != nil {
		return err
	}
	if holder := holders[params.Job]; holder != nil {
		return holder
	}
	return fmt.Errorf("%w: the key of job %s keeps changing hands", store.ErrUnavailable, params.Job)
}
