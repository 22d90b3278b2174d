package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// enqueueAll inserts jobs in the order given. Each has its own result; an error ends the transaction.
func (t *tx) enqueueAll(enqueues []*store.Enqueue) error {
	for _, q := range enqueues {
		q.Result, q.Err = store.EnqueueResult{}, nil
		if q.Err = q.Job.Check(); q.Err != nil {
			continue
		}
		if t.own != nil && len(q.Job.UniqueKey) == 0 && q.Job.Parent == uuid.Nil {
			if err := t.enqueueLater(q); err != nil {
				return err
			}
			continue
		}
		if err := t.writeJobs(); err != nil {
			return err
		}
		if err := t.enqueue(q); err != nil {
			return err
		}
	}
	return t.writeJobs()
}

// enqueue adds a job, unless it is known, or another one has its unique key.
func (t *tx) enqueue(q *store.Enqueue) error {
	job := &q.Job
	runAt := runAtOf(q, t.now)
	if len(job.UniqueKey) > 0 {
		// The id is looked at before the key: whoever repeats an enqueue asks about that job.
		if known, err := t.known(q); known || err != nil {
			return err
		}
		holder, taken, err := t.uniqueHolder(job.UniqueKey)
		if err != nil {
			return err
		}
		if taken {
			return t.onConflict(q, holder, runAt)
		}
	}
	n, err := t.newJob(q, runAt)
	if err != nil {
		return err
	}
	inserted, err := t.insertJob(n)
	if err != nil {
		return err
	}
	if !inserted {
		_, err := t.known(q)
		return err
	}
	if len(job.UniqueKey) > 0 {
		if err := t.takeUnique(job.UniqueKey, job.ID); err != nil {
			return err
		}
	}
	return t.placeNew(n, false)
}

func (t *tx) newJob(q *store.Enqueue, runAt int64) (n newJob, err error) {
	if err := t.clearLeftovers(q.Job.ID); err != nil {
		return n, err
	}
	n = newJob{q: q, runAt: runAt}
	n.lane, err = t.lane(laneName{
		namespace: q.Job.Namespace, queueName: q.Job.Queue, kind: bound(q.Job.Kind, q.Job.Version), priority: q.Job.Priority,
	})
	if err == nil {
		n.options, n.tags, err = documents(&q.Job)
	}
	return n, err
}

// enqueueLater plans the insert of a job that nothing but its id can be in the way of.
func (t *tx) enqueueLater(q *store.Enqueue) error {
	n, err := t.newJob(q, runAtOf(q, t.now))
	if err != nil {
		return err
	}
	return t.jobs.plan(t, n, insertJobs())
}

// writeJobs inserts the jobs that are planned, and their pointers: then all of them have their
// places.
func (t *tx) writeJobs() error {
	if err := t.jobs.writeAll(t, insertJobs()); err != nil {
		return err
	}
	return t.ready.writeAll(t, insertPointers())
}

func insertJobs() inserting[newJob] {
	return inserting[newJob]{
		many:  "job_insert_many",
		bind:  (*tx).bindJob,
		one:   (*tx).insertJob,
		after: func(t *tx, n newJob) error { return t.placeNew(n, true) },
		taken: func(t *tx, n newJob) error {
			if known, err := t.known(n.q); err != nil || !known {
				return unexpected("the job that is in the way of another one", err)
			}
			return nil
		},
	}
}

func insertPointers() inserting[pointer] {
	return inserting[pointer]{
		many: "ready_insert_many",
		bind: func(_ *tx, s stmt, p pointer) { bindPointer(s, p) },
		one:  func(t *tx, p pointer) (bool, error) { return true, t.makeAvailable(p) },
	}
}

// placeNew gives a job that was inserted its place, now or later in the transaction if that is for
// writeJobs to do.
func (t *tx) placeNew(n newJob, later bool) (err error) {
	q := n.q
	p := pointer{id: q.Job.ID, lane: n.lane, key: q.Job.OrderingKey, runAt: n.runAt}
	q.Result = store.EnqueueResult{ID: p.id, State: store.Available, RunAt: timeOf(p.runAt)}
	switch {
	case t.starts && p.runAt <= t.now && q.MayStart():
		t.startLater(q)
		return nil
	case !later || p.runAt > t.now || p.key != "":
		if p.key != "" {
			t.noteLined(p.id)
		}
		q.Result.State, err = t.place(p, store.Scheduled)
		return err
	}
	return t.ready.plan(t, p, insertPointers())
}

func (t *tx) insertJob(n newJob) (inserted bool, err error) {
	job := &n.q.Job
	child := job.Parent != uuid.Nil
	name := "job_insert"
	if child {
		name = "child_insert"
	}
	s := t.stmt(name)
	t.bindJob(s, n)
	if child {
		bindID(s, job.Parent)
		bindMarks(s, job, false)
	}
	changed, err := s.exec()
	return changed > 0, err
}

func (t *tx) bindJob(s stmt, n newJob) {
	job := &n.q.Job
	bindID(s, job.ID)
	s.bindInt(n.lane.id)
	s.bindInt(n.runAt)
	s.bindInt(t.now)
	s.bindInt(int64(job.MaxAttempts))
	s.bindInt(int64(job.Codec))
	bindOptText(s, job.OrderingKey)
	if len(job.UniqueKey) > 0 {
		s.bindBlob(job.UniqueKey)
		s.bindInt(int64(job.UniqueStates))
	} else {
		s.bindNull()
		s.bindNull()
	}
	bindOptText(s, n.options)
	bindOptText(s, n.tags)
	bindOptText(s, string(job.Metadata))
	bindPayload(s, job.Args)
}

// documents writes the fields that are kept as JSON; "" for none.
func documents(job *store.Job) (options, tags string, err error) {
	if job.Options != (store.Options{}) {
		o := job.Options
		if !o.Deadline.IsZero() {
			o.Deadline = timeOf(o.Deadline.UnixMicro())
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
func (v workVerbs) EnqueueTx(ctx context.Context, wrapped store.Tx, enqueues []*store.Enqueue) error {
	return v.d.inCallers(ctx, "enqueue", wrapped, func(t *tx) error { return t.enqueueAll(enqueues) })
}
