package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/batches"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// enqueueAll inserts jobs in the order given. Each has its own result; an error ends the
// transaction.
func enqueueAll(t *core.Tx, enqueues []*store.Enqueue) error {
	store.MarkPredecessors(enqueues)
	for _, q := range enqueues {
		q.Result, q.Err = store.EnqueueResult{}, nil
		for _, f := range q.AllFollowUps() {
			f.Result, f.Err = store.EnqueueResult{}, nil
		}
		if q.Err = q.Check(); q.Err != nil {
			continue
		}
		if t.Own != nil && q.IsPlain() {
			if err := enqueueLater(t, q); err != nil {
				return err
			}
			continue
		}
		if err := writeJobs(t); err != nil {
			return err
		}
		if err := enqueueAndSend(t, q); err != nil {
			return err
		}
	}
	return writeJobs(t)
}

// Enqueue adds a job and its follow-ups, unless it is known, or another one has its unique key or
// its business key.
func Enqueue(t *core.Tx, q *store.Enqueue) (err error) {
	job := &q.Job
	runAt := runAtOf(q, t.Now)
	if len(job.UniqueKey) > 0 {
		// The id is looked at before the key: a repeated enqueue asks about that job.
		if known, err := t.Known(q); known || err != nil {
			return err
		}
	}
	if refused, err := batches.Refuse(t, q); refused || err != nil {
		return err
	}
	if len(job.UniqueKey) > 0 {
		holder, taken, err := keys.UniqueHolder(t, job.UniqueKey)
		if err != nil {
			return err
		}
		if taken {
			return onConflict(t, q, holder, runAt)
		}
	}
	if job.Options.Key != "" {
		if answered, err := answerKey(t, q); answered || err != nil {
			return err
		}
	}
	var awaits []store.Dependency
	if len(q.After) > 0 {
		// As the key, a known id is looked at first: a repeated enqueue asks about that job.
		if known, err := t.Known(q); known || err != nil {
			return err
		}
		if q.Err, awaits, err = edges.Look(t, q.Job.Namespace, q.Job.ID, q.After, nil); q.Err != nil || err != nil {
			return err
		}
	}
	n, err := newJob(t, q, runAt)
	if err != nil || n.Lane == nil {
		return err
	}
	n.Awaits = awaits
	inserted, err := insertJob(t, n)
	if err != nil {
		return err
	}
	if !inserted {
		_, err := t.Known(q)
		return err
	}
	if err := keys.TakeAll(t, job); err != nil {
		return err
	}
	if err := placeNew(t, n, false); err != nil {
		return err
	}
	return followUp(t, q)
}

// followUp adds the follow-ups of a job that was inserted just now.
func followUp(t *core.Tx, q *store.Enqueue) error {
	for _, f := range q.FollowUps {
		if err := Enqueue(t, f); err != nil {
			return err
		}
	}
	return nil
}

// newJob is a job that is to be inserted. It has no lane if its id was found to be known, and is
// answered then.
func newJob(t *core.Tx, q *store.Enqueue, runAt int64) (n core.NewJob, err error) {
	if err := generations.Clear(t, q.Job.ID); err != nil {
		return n, err
	}
	n = core.NewJob{Enqueue: q, RunAt: runAt}
	name := core.LaneName{
		Namespace: q.Job.Namespace, QueueName: q.Job.Queue, Kind: q.Job.LaneName().String(), Priority: q.Job.Priority,
	}
	n.Lane, err = t.LaneUnless(name, func() (bool, error) {
		if err := writeJobs(t); err != nil { // one of those that are planned may have the id
			return false, err
		}
		return t.Known(q)
	})
	if err == nil && n.Lane != nil {
		n.Options, n.Tags, err = Documents(&q.Job)
	}
	return n, err
}

// enqueueLater plans the insert of a job that nothing but its id can be in the way of.
func enqueueLater(t *core.Tx, q *store.Enqueue) error {
	n, err := newJob(t, q, runAtOf(q, t.Now))
	if err != nil || n.Lane == nil {
		return err
	}
	return t.Jobs.Plan(t, n, insertJobs())
}

// writeJobs inserts the jobs that are planned, and their pointers: then all of them have their
// places.
func writeJobs(t *core.Tx) error {
	if err := t.Jobs.WriteAll(t, insertJobs()); err != nil {
		return err
	}
	return t.Ready.WriteAll(t, insertPointers())
}

func insertJobs() core.Inserting[core.NewJob] {
	return core.Inserting[core.NewJob]{
		Many:  "job_insert_many",
		Bind:  bindJob,
		One:   insertJob,
		After: func(t *core.Tx, n core.NewJob) error { return placeNew(t, n, true) },
		Taken: func(t *core.Tx, n core.NewJob) error {
			if known, err := t.Known(n.Enqueue); err != nil || !known {
				return db.Unexpected("the job that is in the way of another one", err)
			}
			return nil
		},
	}
}

func insertPointers() core.Inserting[core.Pointer] {
	return core.Inserting[core.Pointer]{
		Many: "ready_insert_many",
		Bind: func(t *core.Tx, s db.Stmt, p core.Pointer) {
			t.Tell(p.ID, store.Available)
			core.BindPointer(s, p)
		},
		One: func(t *core.Tx, p core.Pointer) (bool, error) { return true, t.MakeAvailable(p) },
	}
}

// placeNew gives a job that was inserted its place, now or later in the transaction if that is for
// writeJobs to do.
func placeNew(t *core.Tx, n core.NewJob, later bool) (err error) {
	q := n.Enqueue
	p := core.Pointer{ID: q.Job.ID, Lane: n.Lane, Key: q.Job.OrderingKey, RunAt: n.RunAt}
	q.Result = store.EnqueueResult{ID: p.ID, State: store.Available, RunAt: db.TimeOf(p.RunAt)}
	if err := attributes.Set(t, p.ID, q.Job.Attributes); err != nil {
		return err
	}
	switch {
	case len(n.Awaits) > 0:
		q.Result.State = store.Waiting
		return awaitNew(t, n)
	case t.Starts && p.RunAt <= t.Now && q.MayStart():
		startLater(t, q)
		return nil
	case !later || p.RunAt > t.Now || p.Key != "":
		if p.Key != "" {
			t.NoteLined(p.ID)
		}
		q.Result.State, err = t.Place(p, store.Scheduled)
		return err
	}
	return t.Ready.Plan(t, p, insertPointers())
}

func insertJob(t *core.Tx, n core.NewJob) (inserted bool, err error) {
	job := &n.Enqueue.Job
	of := core.KinOf(job)
	name := "job_insert"
	if of != uuid.Nil {
		name = "child_insert"
	}
	s := t.Stmt(name)
	bindJob(t, s, n)
	if of != uuid.Nil {
		db.BindID(s, of)
		core.BindMarks(s, job, false)
	}
	changed, err := s.Exec()
	return changed > 0, err
}

func bindJob(t *core.Tx, s db.Stmt, n core.NewJob) {
	job := &n.Enqueue.Job
	db.BindID(s, job.ID)
	s.BindInt(n.Lane.ID)
	s.BindInt(n.RunAt)
	s.BindInt(t.Now)
	s.BindInt(int64(job.MaxAttempts))
	s.BindInt(int64(job.Codec))
	db.BindOptText(s, job.OrderingKey)
	if len(job.UniqueKey) > 0 {
		s.BindBlob(job.UniqueKey)
		s.BindInt(int64(job.UniqueStates))
	} else {
		s.BindNull()
		s.BindNull()
	}
	db.BindOptText(s, n.Options)
	db.BindOptText(s, n.Tags)
	db.BindOptText(s, string(job.Metadata))
	db.BindPayload(s, job.Args)
}

// Documents writes the fields that are kept as JSON; "" for none.
func Documents(job *store.Job) (options, tags string, err error) {
	if job.Options != (store.Options{}) {
		o := job.Options
		if !o.Deadline.IsZero() {
			o.Deadline = db.TimeOf(o.Deadline.UnixMicro())
		}
		text, err := json.Marshal(o)
		if err != nil {
			return "", "", fmt.Errorf("%w: options: %w", store.ErrInvalid, err)
		}
		options = string(text)
	}
	if len(job.Tags) > 0 {
		text, err := json.Marshal(job.Tags)
		if err != nil {
			return "", "", fmt.Errorf("%w: tags: %w", store.ErrInvalid, err)
		}
		tags = string(text)
	}
	return options, tags, nil
}

// EnqueueTx implements store.Writer. It fails with ErrInvalid if tx is on another database.
func (v Verbs) EnqueueTx(ctx context.Context, wrapped store.Tx, enqueues []*store.Enqueue) error {
	return v.d.InCallers(ctx, "enqueue", wrapped, func(t *core.Tx) error { return enqueueAll(t, enqueues) })
}
