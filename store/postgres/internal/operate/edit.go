package operate

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/edits"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/attributes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// errElsewhere rolls back a change of a job that was claimed or promoted at this moment, or of
// which the lane is not known.
var errElsewhere = errors.New("the job is somewhere else by now")

// Edit is that of store.Editors, without the class of its error. The lane that the job is moved to
// is made in a transaction of its own: who waits there for another one that makes it holds nothing.
func (s *Store) Edit(ctx context.Context, params store.EditParams) (store.State, []store.Wake, error) {
	if err := params.Check(); err != nil {
		return 0, nil, err
	}
	if err := s.RequireIn(ctx, params.Namespace, params.Job); err != nil {
		return 0, nil, err
	}
	params.Actor, params.Reason = pg.CleanText(params.Actor), pg.CleanText(params.Reason)
	var e *edited
	held, err := locks.RetryWhileHeld(ctx, []store.ID{params.Job}, func(ids []store.ID) (held []store.ID, err error) {
		lane, err := s.laneAfter(ctx, params)
		if err != nil {
			return nil, err
		}
		err = pg.RetryOnConflict(ctx, func() error {
			e = &edited{lane: lane}
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error { return s.edit(ctx, t, params, e) })
		})
		if errors.Is(err, errHeld) || errors.Is(err, errElsewhere) {
			return ids, nil
		}
		return nil, err
	})
	if len(held) > 0 {
		err = locks.ErrBlocked("edit job " + params.Job.String())
	}
	if err != nil {
		return 0, nil, err
	}
	return e.state, s.editedWakes(ctx, e), nil
}

// edited is what becomes of a job that is changed.
type edited struct {
	job    store.Job
	lane   local.Lane // after the change
	state  store.State
	due    int64 // of its pointer
	moved  bool
	queues bool    // the queue is noted to have had a job
	again  resumed // of one that was to run again
}

// laneAfter returns the lane in which the job is after a change.
func (s *Store) laneAfter(ctx context.Context, params store.EditParams) (lane local.Lane, err error) {
	records, err := s.reader.RecordsOf(ctx, []store.ID{params.Job})
	if err != nil {
		return lane, err
	}
	if len(records) == 0 {
		return lane, store.NoJob(params.Job)
	}
	job := records[0].Job
	edits.Apply(&params.Edit, &job)
	lanes, err := s.LanesOf(ctx, []*store.Job{&job}, false)
	if err != nil {
		return lane, err
	}
	return lanes[0], nil
}

// edit changes a job whose body it can have.
func (s *Store) edit(ctx context.Context, t pg.Session, params store.EditParams, e *edited) error {
	switch unavailable, err := locks.Grab(ctx, t, []store.ID{params.Job}); {
	case err != nil:
		return err
	case unavailable[params.Job]:
		return errHeld
	}
	if params.Again != nil {
		if err := s.again(ctx, t, params, &e.again); err != nil {
			return err
		}
	}
	r, found, err := s.reader.RecordIn(ctx, t, params.Job)
	if err != nil {
		return err
	}
	if !found {
		return store.NoJob(params.Job)
	}
	durable, cancelling := false, false
	if params.Edit.Args != nil || params.Edit.Deadline != nil {
		if durable, err = remembers(ctx, t, params.Job); err != nil {
			return err
		}
	}
	if params.Edit.RunAt != nil {
		if err := t.Run(ctx, "cancel_request_of", func(r pg.Row) error { return r.Scan(&cancelling) }, pg.UUIDOf(params.Job)); err != nil {
			return err
		}
	}
	change := &params.Edit
	if err := edits.Allowed(change, &r.Job, r.State, durable, cancelling); err != nil {
		return err
	}
	if err := leaveKept(ctx, t, r.Namespace, change); err != nil {
		return err
	}
	was, due := r.Job, r.RunAt
	changed := edits.Apply(change, &r.Job)
	now := s.Micros()
	e.job, e.state, e.due = r.Job, r.State, pg.DueOf(r.RunAt)
	if before := e.due; !edits.OnlyWords(change) {
		e.place(&r, change, durable, now)
		if !changed && e.state == r.State && e.due == before {
			return nil
		}
		if err := s.moveEdited(ctx, t, e); err != nil {
			return err
		}
	} else if !changed {
		return nil
	}
	if err := writeEdited(ctx, t, &r.Job, change); err != nil {
		return err
	}
	return local.Record(ctx, t, now, audited.JobEdited(&params, &was, &r.Job, due, pg.TimeOfDue(e.due)))
}

// leaveKept leaves those search attributes of a change that a job of a namespace can have.
func leaveKept(ctx context.Context, t pg.Session, namespace string, change *store.Edit) error {
	if len(change.Attributes) == 0 {
		return nil
	}
	declared, err := attributes.Declared(ctx, t, namespace)
	change.Attributes = edits.Kept(change.Attributes, declared)
	return err
}

// again lets a job run again that has failed, whose body is locked.
func (s *Store) again(ctx context.Context, t pg.Session, params store.EditParams, to *resumed) error {
	p, err := lookAt(ctx, t, params.Job)
	switch {
	case err != nil:
		return err
	case !p.there:
		return store.NoJob(params.Job)
	case p.finished != store.Failed:
		return store.JobIs(params.Job, p.is())
	case params.Again.Expect >= 0 && params.Again.Expect != p.last:
		return refusal.JournalMoved(params.Job, p.last)
	}
	if keep := params.Again.Keep; keep >= 0 && keep < p.last {
		cut := pg.Statement{Name: "resume_cut", Args: []any{pg.UUIDOf(params.Job), keep}}
		if err := t.RunAll(ctx, []pg.Statement{updates.ForgetAccepted(params.Job, keep), cut}); err != nil {
			return err
		}
	}
	to.woken = write.Woken{}
	again := store.ResumeParams{Job: params.Job, Actor: params.Actor, Reason: params.Reason}
	return s.resumeFinished(ctx, t, again, string(store.ActionRetry), to)
}

// remembers reports whether a job has a journal.
func remembers(ctx context.Context, t pg.Session, id store.ID) (yes bool, err error) {
	var entries, messages int64
	err = t.Run(ctx, "journal_sizes", func(r pg.Row) error { return r.Scan(&entries, &messages) }, pg.UUIDOf(id))
	return entries > 0, err
}

// place finds out where the job is to be. One that is held waits for no time.
func (e *edited) place(r *store.Record, change *store.Edit, durable bool, now int64) {
	var until time.Time
	if r.Wait != nil {
		if until = r.Wait.Until; r.Wait.Held {
			return
		}
	}
	var due time.Time
	if e.state, due = edits.Due(change, &r.Job, r.State, durable, until, pg.TimeOf(now)); due.IsZero() {
		e.due = pg.Never
	} else {
		e.due = due.UnixMicro()
	}
}

// moveEdited gives the job its pointer in its lane, which must be the one that was found before.
func (s *Store) moveEdited(ctx context.Context, t pg.Session, e *edited) error {
	if l := e.lane; l.Queue != e.job.Queue || int(l.Priority) != e.job.Priority || l.Kind() != e.job.LaneName().String() {
		return errElsewhere
	}
	err := t.Run(ctx, "edit_move", func(pg.Row) error { e.moved = true; return nil },
		pg.UUIDOf(e.job.ID), e.lane.ID, e.lane.QueueID, e.lane.Priority, e.due, e.due, int32(e.state))
	switch {
	case err != nil:
		return err
	case !e.moved:
		return errElsewhere
	}
	if s.Lanes.IsUsed(e.lane.QueueID) {
		return nil
	}
	e.queues = true
	return t.Run(ctx, "queues_used", nil, []int32{e.lane.QueueID}, []int32{e.lane.ID}, []pgtype.UUID{pg.UUIDOf(e.job.ID)}, s.Micros())
}

// writeEdited writes what was changed of a job, but for where it is. Its body is locked, as it is
// by runs that say something of their jobs: so neither waits for what the other one has written.
func writeEdited(ctx context.Context, t pg.Session, job *store.Job, change *store.Edit) error {
	var values pg.Attributes
	values.Add(job.ID, change.Attributes)
	if err := t.RunAll(ctx, values.Writing(nil)); err != nil || edits.OnlyAttributes(change) {
		return err
	}
	options, err := pg.EncodeOptions(job.Options)
	if err != nil {
		return err
	}
	tags, err := pg.EncodeTags(job.Tags)
	if err != nil {
		return err
	}
	return t.Run(ctx, "edit_body", nil, pg.UUIDOf(job.ID), int32(job.MaxAttempts), change.Args, int32(job.Codec),
		pg.OptText(string(change.Metadata)), options, tags)
}

// editedWakes are what nodes are to be told of a job that was changed. Claims may have passed its
// place in its lane.
func (s *Store) editedWakes(ctx context.Context, e *edited) []store.Wake {
	if e.queues {
		s.Lanes.SetUsed([]int32{e.lane.QueueID})
	}
	switch {
	case !e.moved && e.again.woken != nil:
		return s.AfterCommit(ctx, e.again.woken, true)
	case !e.moved:
		return nil
	case e.state == store.Available:
		var woken write.Woken
		if e.job.OrderingKey == "" {
			woken = write.Woken{e.job.ID: {Lane: e.lane.ID}}
		}
		wakes := s.AfterCommit(ctx, woken, e.job.OrderingKey != "")
		s.Hint(map[int32]int64{e.lane.ID: e.due})
		if e.job.OrderingKey != "" { // which it may have the turn of
			wakes = store.AddWake(wakes, store.Wake{Kind: store.WakeReady, Namespace: e.job.Namespace, Queue: e.job.Queue})
		}
		return wakes
	case e.due != pg.Never:
		return append(s.AfterCommit(ctx, nil, e.job.OrderingKey != ""), write.DueAt(e.due))
	}
	return nil
}
