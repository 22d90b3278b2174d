package store

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Check reports why no store takes the job of an enqueue, an ErrInvalid: what it lacks, or what a
// database cannot hold. Stores call it, so that all of them refuse the same.
func (j *Job) Check() error {
	switch {
	case j.ID == ID{}:
		return fmt.Errorf("%w: the job has no id", ErrInvalid)
	case j.Namespace == "", j.Queue == "", j.Kind == "":
		return fmt.Errorf("%w: job %s lacks a namespace, a queue or a kind", ErrInvalid, j.ID)
	case j.Priority < 1 || j.Priority > 4:
		return fmt.Errorf("%w: job %s: priority %d is not between 1 and 4", ErrInvalid, j.ID, j.Priority)
	case j.MaxAttempts < 0 || j.MaxAttempts > math.MaxInt32, j.Codec < 0 || j.Codec > math.MaxInt32:
		return fmt.Errorf("%w: job %s: max attempts %d or codec %d is out of range", ErrInvalid, j.ID, j.MaxAttempts, j.Codec)
	case j.OnParentClose > CancelAndWait:
		return fmt.Errorf("%w: job %s: unknown close policy %d", ErrInvalid, j.ID, j.OnParentClose)
	case j.Parent != ID{} && j.Batch != ID{}:
		return fmt.Errorf("%w: job %s is a child and belongs to a batch", ErrInvalid, j.ID)
	case !isTime(j.RunAt) || !isTime(j.Options.Deadline):
		return fmt.Errorf("%w: job %s: its run time or its deadline is not between the years 1 and 9999", ErrInvalid, j.ID)
	case len(j.Metadata) > 0 && !json.Valid(j.Metadata):
		return fmt.Errorf("%w: job %s: the metadata is not JSON", ErrInvalid, j.ID)
	}
	if err := CheckAttributes(j.ID, j.Attributes, false); err != nil {
		return err
	}
	if err := j.checkKey(); err != nil {
		return err
	}
	if err := j.checkGate(); err != nil {
		return err
	}
	if err := j.checkFair(); err != nil {
		return err
	}
	if err := j.Options.CheckTrace(); err != nil {
		return About(j.ID, "enqueueing", err)
	}
	for _, text := range [...]string{j.Namespace, j.Queue, j.Kind, j.Version, j.OrderingKey, string(j.Metadata)} {
		if !isText(text) {
			return fmt.Errorf("%w: job %s: %.60q is not valid UTF-8 or contains NUL", ErrInvalid, j.ID, text)
		}
	}
	for _, tag := range j.Tags {
		if !isText(tag) {
			return fmt.Errorf("%w: job %s: the tag %.60q is not valid UTF-8 or contains NUL", ErrInvalid, j.ID, tag)
		}
	}
	return nil
}

// Check reports why no store takes the checkpoint, an ErrInvalid: its value is not JSON.
func (c *CheckpointWrite) Check() error {
	if len(c.Checkpoint.Value) > 0 && !json.Valid(c.Checkpoint.Value) {
		return fmt.Errorf("%w: checkpoint of job %s: the value is not JSON", ErrInvalid, c.Lease.Job)
	}
	return c.Meta.Check(c.Lease.Job)
}

// Check reports why no store takes the outcome, an ErrInvalid.
func (o *Outcome) Check() error {
	switch o.State {
	case Completed, Failed, Cancelled, Available, Retryable, Scheduled, Waiting:
	default:
		return fmt.Errorf("%w: job %s: a run cannot end as %s", ErrInvalid, o.Lease.Job, o.State)
	}
	switch {
	case o.State == Waiting && o.Wait == nil:
		return fmt.Errorf("%w: job %s: a parked run must say what it waits for", ErrInvalid, o.Lease.Job)
	case o.State == Waiting && o.Wait.Held && o.Wait.HandedOver:
		return fmt.Errorf("%w: job %s: a job that is held cannot be handed over", ErrInvalid, o.Lease.Job)
	case o.State != Available && o.Continue != nil:
		return fmt.Errorf("%w: job %s: a run that ends as %s cannot continue as new", ErrInvalid, o.Lease.Job, o.State)
	case o.KeepsPlace && (o.State != Available || o.Continue != nil || !o.StartedAt.IsZero()):
		return fmt.Errorf("%w: job %s: only a run that never began, and is given back, keeps its place", ErrInvalid, o.Lease.Job)
	case !isText(o.Version):
		return fmt.Errorf("%w: job %s: the version %.60q is not valid UTF-8 or contains NUL", ErrInvalid, o.Lease.Job, o.Version)
	}
	if err := o.Meta.Check(o.Lease.Job); err != nil {
		return err
	}
	return o.checkTimes()
}

// CheckTime reports why no store takes a time at which a parked run is woken, an ErrInvalid.
func (w *Wait) CheckTime(job ID) error {
	return (&Outcome{Lease: Lease{Job: job}, Wait: w}).checkTimes()
}

func (o *Outcome) checkTimes() error {
	if !isTime(o.RunAt) || o.Wait != nil && !isTime(o.Wait.Until) {
		return fmt.Errorf("%w: job %s: a time is not between the years 1 and 9999", ErrInvalid, o.Lease.Job)
	}
	return nil
}

// lastTime is the last one that everything can hold: databases count microseconds in 64 bits, JSON
// has four digits for the year.
var lastTime = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// isTime reports whether a time can be stored; the zero time stands for none.
func isTime(t time.Time) bool { return !t.Before(time.Time{}) && !t.After(lastTime) }

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Check reports why no store takes the message, an ErrInvalid.
func (q *Send) Check() error {
	m := &q.Message
	switch {
	case m.Kind < MessageSignal || m.Kind == MessageChild || m.Kind > MessageUpdate || m.Codec < 0 || m.Codec > math.MaxInt32:
		return fmt.Errorf("%w: job %s: a message of kind %d with codec %d cannot be sent", ErrInvalid, q.Job, m.Kind, m.Codec)
	case m.Kind == MessageUpdate && (q.Key == "" || !isText(q.Key) || !isText(m.Name)):
		return fmt.Errorf("%w: job %s: the update %.60q lacks a key, or has one (%.60q) that is not valid UTF-8 or contains NUL",
			ErrInvalid, q.Job, m.Name, q.Key)
	case m.Kind == MessageUpdate && m.TraceParent != "":
		return fmt.Errorf("%w: job %s: the update %.60q has a traceparent, which updates do not carry", ErrInvalid, q.Job, m.Name)
	case len(m.TraceParent) > MaxTraceParent || !isHeader(m.TraceParent):
		return fmt.Errorf("%w: job %s: the traceparent %.60q of the message %.60q has more than %d bytes, or is no header",
			ErrInvalid, q.Job, m.TraceParent, m.Name, MaxTraceParent)
	}
	return nil
}

// lastKind is the highest kind of entry of which a set of kinds can be asked.
const lastKind = 62

// CheckEntries reports why no store takes the entries or the answers, an ErrInvalid.
func (a *Append) CheckEntries() error {
	for i := range a.Entries {
		e := &a.Entries[i]
		switch {
		case e.Seq < 1 || e.Seq != a.Entries[0].Seq+int64(i):
			return fmt.Errorf("%w: job %s: entry %d does not follow the one before it", ErrInvalid, a.Lease.Job, e.Seq)
		case e.Kind > lastKind || e.Codec < 0 || e.Codec > math.MaxInt32:
			return fmt.Errorf("%w: job %s: entry %d has an invalid kind (%d) or codec (%d)", ErrInvalid, a.Lease.Job, e.Seq, e.Kind, e.Codec)
		}
	}
	for i := range a.Answers {
		u := &a.Answers[i]
		if u.Seq < 1 || u.Verdict < UpdateDone || u.Verdict > UpdateRefused || u.Codec < 0 || u.Codec > math.MaxInt32 {
			return fmt.Errorf("%w: job %s: an answer to update %d has an invalid number, verdict (%d) or codec (%d)",
				ErrInvalid, a.Lease.Job, u.Seq, u.Verdict, u.Codec)
		}
	}
	return a.Meta.Check(a.Lease.Job)
}

// CheckChildren reports why no store takes the enqueues as children of the run's job, an
// ErrInvalid, and leaves it with the one that it is about.
func (a *Append) CheckChildren() error {
	for _, q := range a.Enqueues {
		err := q.Job.Check()
		switch {
		case err != nil:
			q.Err = err
		case q.Job.Parent != a.Lease.Job:
			q.Err = fmt.Errorf("%w: job %s is not a child of the job that enqueues it", ErrInvalid, q.Job.ID)
		case len(q.Job.UniqueKey) > 0:
			q.Err = fmt.Errorf("%w: job %s is a child and has a unique key", ErrInvalid, q.Job.ID)
		case len(q.After)+len(q.FollowUps) > 0:
			q.Err = fmt.Errorf("%w: job %s is a child, and comes after others or has follow-ups", ErrInvalid, q.Job.ID)
		default:
			continue
		}
		return q.Err
	}
	return nil
}

// Check reports why no store makes the fork, an ErrInvalid.
func (p *ForkParams) Check() error {
	if len(p.Job.UniqueKey) > 0 || p.Keep < 0 {
		return fmt.Errorf("%w: a fork of job %s cannot have a unique key, or keep %d entries", ErrInvalid, p.From, p.Keep)
	}
	if p.Job.Batch != (ID{}) {
		return fmt.Errorf("%w: a fork of job %s belongs to no batch", ErrInvalid, p.From)
	}
	if p.Job.Options.Key != "" {
		return fmt.Errorf("%w: a fork of job %s cannot have a business key", ErrInvalid, p.From)
	}
	return p.Job.Check()
}

// Check reports why there can be no such queue, an ErrInvalid.
func (p *PauseParams) Check() error {
	if err := checkQueue(p.Namespace, p.Queue); err != nil || !p.Paused {
		return err
	}
	return CheckQueueName(p.Queue)
}

// Check reports why no store takes the parameters, an ErrInvalid.
func (p *DeleteQueueParams) Check() error { return checkQueue(p.Namespace, p.Queue) }

func checkQueue(namespace, queue string) error {
	if queue == "" || !isText(queue) || !isText(namespace) {
		return fmt.Errorf("%w: the queue %.60q or the namespace %.60q is not a valid name", ErrInvalid, queue, namespace)
	}
	return nil
}
