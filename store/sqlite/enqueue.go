package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// Apply implements store.Writer.
func (s *Store) Apply(ctx context.Context, batch *store.Batch) error {
	if batch.Len() == 0 {
		return ctx.Err()
	}
	return s.write(ctx, "apply", func(t *tx) error {
		err := t.apply(batch)
		batch.Woken = t.woken
		return err
	})
}

func (t *tx) apply(batch *store.Batch) error {
	for _, c := range batch.Checkpoints {
		if err := t.writeCheckpoint(c); err != nil {
			return err
		}
	}
	for _, a := range batch.Appends {
		if err := t.appendEntries(a); err != nil {
			return err
		}
	}
	if err := t.writeLines(0); err != nil {
		return err
	}
	if err := t.sendAll(batch.Sends); err != nil {
		return err
	}
	for _, o := range batch.Outcomes {
		if err := t.applyOutcome(o); err != nil {
			return err
		}
	}
	if err := t.mayStart(batch); err != nil {
		return err
	}
	if err := t.enqueueAll(batch.Enqueues); err != nil {
		return err
	}
	return t.start(batch)
}

// enqueueAll inserts jobs in the order given. Each has its own result; an error ends the transaction.
func (t *tx) enqueueAll(enqueues []*store.Enqueue) error {
	for _, q := range enqueues {
		q.Result, q.Err = store.EnqueueResult{}, nil
		if q.Err = q.Job.Check(); q.Err != nil {
			continue
		}
		if err := t.enqueue(q); err != nil {
			return err
		}
	}
	return nil
}

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
	l, err := t.lane(laneName{job.Namespace, job.Queue, bound(job.Kind, job.Version), job.Priority})
	if err != nil {
		return err
	}
	inserted, err := t.insertJob(job, l, runAt)
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
	if t.starts && runAt <= t.now && q.MayStart() {
		t.startLater(q, runAt)
		return nil
	}
	state, err := t.place(pointer{id: job.ID, lane: l, key: job.OrderingKey, runAt: runAt}, store.Scheduled)
	q.Result = store.EnqueueResult{ID: job.ID, State: state, RunAt: timeOf(runAt)}
	return err
}

// known answers an enqueue whose id is stored already.
func (t *tx) known(q *store.Enqueue) (bool, error) {
	s := t.stmt("job_run_at")
	bindID(s, q.Job.ID)
	found, err := s.next()
	if err != nil || !found {
		return false, err
	}
	defer s.done()
	q.Result = store.EnqueueResult{ID: q.Job.ID, Existing: true, RunAt: dueTime(s.readInt())}
	return true, nil
}

func (t *tx) insertJob(job *store.Job, l *lane, runAt int64) (inserted bool, err error) {
	options, tags, err := documents(job)
	if err != nil {
		return false, err
	}
	child := job.Parent != uuid.Nil
	name := "job_insert"
	if child {
		name = "child_insert"
	}
	s := t.stmt(name)
	bindID(s, job.ID)
	s.bindInt(l.id)
	s.bindInt(runAt)
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
	bindOptText(s, options)
	bindOptText(s, tags)
	bindOptText(s, string(job.Metadata))
	bindPayload(s, job.Args)
	if child {
		bindID(s, job.Parent)
		bindMarks(s, job, false)
	}
	changed, err := s.exec()
	return changed > 0, err
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

// runAtOf returns when the job is to run.
func runAtOf(q *store.Enqueue, now int64) int64 {
	if q.Job.RunAt.IsZero() {
		return now + max(q.Delay, 0).Microseconds()
	}
	return q.Job.RunAt.UnixMicro()
}

// isText reports whether both databases can keep s as text.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
