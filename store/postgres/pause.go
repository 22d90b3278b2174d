package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// PauseJobs is that of store.Operators, without the class of its error.
func (s *operateStore) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, error) {
	results, err := s.eachIn(ctx, params.Namespace, params.Jobs, func(own []store.ID) ([]store.Result, error) {
		params.Jobs = own
		return s.pauseOwn(ctx, params)
	})
	return results, err
}

// pauseOwn pauses jobs whose namespace is known.
func (s *operateStore) pauseOwn(ctx context.Context, params store.PauseJobsParams) ([]store.Result, error) {
	states := make(map[store.ID]store.State, len(params.Jobs))
	for ids := params.Jobs; len(ids) > 0; {
		n := min(len(ids), jobsAtOnce)
		if err := s.pauseJobs(ctx, ids[:n], params.Reason, params.Actor, true, states); err != nil {
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

// pauseJobs pauses jobs and notes their states. A job that moves at the very moment, or that
// somebody else has, is looked at again; one that does so again and again is asked, and held when
// it is put back.
func (s *operateStore) pauseJobs(
	ctx context.Context, ids []store.ID, reason, actor string, recorded bool, states map[store.ID]store.State,
) error {
	reason, actor = cleanText(reason), cleanText(actor)
	left, err := retryWhileHeld(ctx, ids, func(ids []store.ID) (moved []store.ID, err error) {
		err = retryOnConflict(ctx, func() error {
			return s.inTx(ctx, beginHot, func(t session) error {
				free, err := s.grabFor(ctx, t, ids)
				if err == nil && !recorded {
					free, err = requested(ctx, t, free)
				}
				if err != nil {
					return err
				}
				moved = slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return slices.Contains(free, id) })
				return t.run(ctx, "pause_jobs", func(r row) error {
					var id pgtype.UUID
					var state int32
					err := r.Scan(&id, &state)
					if states[id.Bytes] = store.State(state); state == 0 {
						moved = append(moved, id.Bytes)
					}
					return err
				}, uuidsOf(free), s.micros(), reason, actor, recorded)
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
	return s.send(ctx, statement{name: "pause_request_put", args: []any{uuidsOf(left), s.micros(), reason, actor}})
}

// requested locks the requests to pause jobs, and returns those whose request stands still, and is
// nobody else's at the moment.
func requested(ctx context.Context, t runner, ids []store.ID) (asked []store.ID, err error) {
	err = t.run(ctx, "pause_requests_lock", func(r row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		asked = append(asked, id.Bytes)
		return err
	}, uuidsOf(ids))
	return asked, err
}

// sweepPauses applies requests whose job does not run any more, and forgets those of finished jobs: it closes the gap between a request
// and a job that moved at the same moment.
func (s *operateStore) sweepPauses(ctx context.Context) error {
	left, err := s.requestsLeft(ctx, "pause_requests_left", "pause_requests_forget")
	if err != nil {
		return err
	}
	for _, q := range left {
		if err := s.pauseJobs(ctx, []store.ID{q.id}, q.reason, q.actor, false, map[store.ID]store.State{}); err != nil {
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
func lookAt(ctx context.Context, t runner, id store.ID) (p place, err error) {
	err = t.run(ctx, "resume_look", func(r row) error {
		var finished *int32
		var state int32
		p.there = true
		err := r.Scan(&finished, &p.held, &p.running, &p.last, &state)
		p.state = store.State(state)
		if finished != nil {
			p.finished = store.State(*finished)
		}
		return err
	}, uuidOf(id))
	return p, err
}

// errHeld undoes what a person wants to do to a job that somebody else has at the moment.
var errHeld = errors.New("somebody else has the job")

// Resume is that of store.Operators, without the class of its error.
func (s *operateStore) Resume(ctx context.Context, params store.ResumeParams) (store.State, error) {
	if err := s.requireIn(ctx, params.Namespace, params.Job); err != nil {
		return 0, err
	}
	params.Actor, params.Reason = cleanText(params.Actor), cleanText(params.Reason)
	var to resumed
	held, err := retryWhileHeld(ctx, []store.ID{params.Job}, func(ids []store.ID) (held []store.ID, err error) {
		err = retryOnConflict(ctx, func() error {
			to = resumed{woken: woken{}}
			return s.inTx(ctx, beginHot, func(t session) error { return s.resume(ctx, t, params, &to) })
		})
		if errors.Is(err, errHeld) {
			return ids, nil
		}
		return nil, err
	})
	if len(held) > 0 {
		err = errBlocked("resume job " + params.Job.String())
	}
	if err != nil {
		return 0, err
	}
	_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	s.tellWoken(ctx, to.woken)
	if to.due != nil {
		s.tellDue(*to.due)
	}
	return to.state, nil
}

// resumed is what became of a job that a person let go on.
type resumed struct {
	state store.State
	due   *int64 // nil: at once, or nobody knows
	woken woken  // the job, if it is available
}

func (s *operateStore) resume(ctx context.Context, t session, params store.ResumeParams, to *resumed) error {
	p, err := lookAt(ctx, t, params.Job)
	if err != nil {
		return err
	}
	if p.there && p.finished == 0 && !p.held {
		// It runs, or moved whenever somebody wanted to pause it. Its body is left alone: whoever puts the job back holds the
		// request, and then wants the body.
		asked := false
		err := t.run(ctx, "resume_running", func(row) error { asked = true; return nil },
			uuidOf(params.Job), s.micros(), params.Actor, params.Reason)
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
	switch held, err := grab(ctx, t, []store.ID{params.Job}); {
	case err != nil:
		return err
	case held[params.Job]:
		return errHeld
	}
	if p, err = lookAt(ctx, t, params.Job); err != nil {
		return err
	}
	switch {
	case !p.there:
		return store.NoJob(params.Job)
	case !p.held && p.finished != store.Failed && p.finished != store.Cancelled:
		return store.JobIs(params.Job, p.is())
	case params.Expect >= 0 && params.Expect != p.last:
		return store.JournalMoved(params.Job, p.last)
	}
	if params.Keep >= 0 && params.Keep < p.last {
		if err := t.run(ctx, "resume_cut", nil, uuidOf(params.Job), params.Keep); err != nil {
			return err
		}
	}
	if p.held {
		return s.resumeHeld(ctx, t, params, to)
	}
	return s.resumeFinished(ctx, t, params, to)
}

func (s *operateStore) resumeHeld(ctx context.Context, t session, params store.ResumeParams, to *resumed) error {
	return t.run(ctx, "resume_held", func(r row) error {
		var is, lane int32
		var id pgtype.UUID
		err := r.Scan(&is, &lane, &id, &to.due)
		if to.state = store.State(is); to.state == store.Available {
			to.woken[id.Bytes], to.due = wokenJob{lane: lane}, nil
		}
		return err
	}, uuidOf(params.Job), s.micros(), params.Actor, params.Reason)
}

func (s *operateStore) resumeFinished(ctx context.Context, t session, params store.ResumeParams, to *resumed) error {
	ids := []pgtype.UUID{uuidOf(params.Job)}
	err := t.run(ctx, "retry_finished", func(r row) error {
		var id pgtype.UUID
		var lane int32
		err := r.Scan(&id, &lane)
		to.state, to.woken[id.Bytes] = store.Available, wokenJob{lane: lane}
		return err
	}, ids, s.micros(), params.Actor, "resume", optText(params.Reason))
	if err != nil || to.state != 0 {
		return err
	}
	err = fmt.Errorf("%w: the unique key of job %s keeps changing hands", store.ErrUnavailable, params.Job)
	scanErr := t.run(ctx, "key_holders_of", func(r row) error {
		var id, holder pgtype.UUID
		scanErr := r.Scan(&id, &holder)
		err = &store.UniqueError{Holder: holder.Bytes}
		return scanErr
	}, ids)
	if scanErr != nil {
		return scanErr
	}
	return err
}
