package store

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// Edit changes a job. Fields that are nil leave what they are about as it is.
//
// Tags and metadata can be changed of any job, and search attributes of one that has not finished,
// also while it runs. Everything else can be changed of one that does not run and has not finished:
// either the change happens, and the next run has all of it, or the job was claimed before, and it
// is an ErrConflict.
type Edit struct {
	// Queue and Priority move the job to another lane. It keeps its run time, by which it has its
	// place there. A job that has the turn of its ordering key gives it up if it changes its queue;
	// one that waits is not moved, an ErrConflict.
	Queue    *string
	Priority *int
	// RunAt makes an available, scheduled or retryable job due at that time, or, if that is not in
	// the future, now, behind those that are due already. A job that waits is due by what it waits
	// for, an ErrConflict; so is one that was asked to cancel, and is available to end itself.
	RunAt       *time.Time
	MaxAttempts *int           // 0: the handler's
	Timeout     *time.Duration // 0: the handler's
	Heartbeat   *time.Duration // 0: the handler's
	Deadline    *time.Time     // zero: none
	Backoff     *Backoff       // zero: the handler's
	// Tags replaces all tags. AddTags and DropTags are applied after it.
	Tags     *[]string
	AddTags  []string
	DropTags []string
	Metadata []byte // a JSON object
	// Attributes are search attributes that the job has from now on, or, without a value, has no
	// more. Others stay as they are. Those that are not kept, see Attributes, change nothing.
	Attributes []Attribute
	// Args are those of the next run, with the codec Codec. A job that has a journal replays with
	// those that it began with, an ErrConflict.
	Args  []byte
	Codec int
	// UniqueKey is the unique key of a job with these Args, if the caller can tell. A job that has
	// another one, which may depend on its args, keeps both, an ErrConflict.
	UniqueKey []byte
}

// EditParams changes a job, and records who asked, unless nothing is changed by it.
type EditParams struct {
	Namespace string // of the job; "": any
	Job       ID
	Edit      Edit
	// Again, if it is set, lets a job that has failed run again, as Retry does, and makes the
	// change in the same transaction: both happen or neither. Any other job is an ErrConflict, and
	// one whose unique key another job has a *UniqueError.
	Again  *Again
	Reason string // for people; kept with the job
	Actor  string
}

// Again says what of the journal of a job stays that runs again: see Keep and Expect of
// ResumeParams.
type Again struct {
	Keep, Expect int64
}

// DeleteParams removes finished jobs before their retention is over, with everything that belongs
// to them: their journals, messages, attempts, checkpoints and keys. Of each it stays recorded who
// asked, as long as retention says. In the results State is how the job had finished, and Err is
// ErrNotFound, also of a job that was deleted before, ErrBusy, or ErrConflict for a job that has
// not finished, or that has children which have not: a child that is retried at the same moment may
// outlive its parent. Each job is removed whole or not at all; what it remembered may be removed a
// little later, and is seen by nothing then.
type DeleteParams struct {
	Namespace string // of the jobs; "": any
	Jobs      []ID
	Reason    string // for people; recorded
	Actor     string
	// States: only jobs in one of these; 0: in any. Any other is an ErrConflict, and stays as it
	// is: so a job that was found as failed, and that another caller has retried since, is not
	// removed when it has completed.
	States StateSet
}

// Meta is what a run says of its job from now on. Fields that are nil leave what they are about as
// it is.
type Meta struct {
	Metadata []byte   // a JSON object
	Tags     []string // all of them; empty but not nil: none
	// Attributes are search attributes that the job has from now on, or, without a value, has no
	// more. Others stay as they are.
	Attributes []Attribute
}

// IsEmpty reports whether it says nothing.
func (m *Meta) IsEmpty() bool {
	return m == nil || m.Metadata == nil && m.Tags == nil && len(m.Attributes) == 0
}

// Over is what is said by m and then by later.
func (m *Meta) Over(later *Meta) *Meta {
	switch {
	case m.IsEmpty():
		return later
	case later.IsEmpty():
		return m
	}
	both := *later
	if both.Metadata == nil {
		both.Metadata = m.Metadata
	}
	if both.Tags == nil {
		both.Tags = m.Tags
	}
	both.Attributes = OverAttributes(m.Attributes, later.Attributes)
	return &both
}

// Check reports why no store takes it, an ErrInvalid.
func (m *Meta) Check(job ID) error {
	if m == nil {
		return nil
	}
	if err := CheckAttributes(job, m.Attributes, true); err != nil {
		return err
	}
	return checkWords(job, m.Tags, m.Metadata)
}

// checkWords reports why no store takes such tags and metadata of a job.
func checkWords(job ID, tags []string, metadata []byte) error {
	if len(metadata) > 0 && (!json.Valid(metadata) || !isText(string(metadata))) {
		return fmt.Errorf("%w: job %s: the metadata is not JSON, or is not valid UTF-8", ErrInvalid, job)
	}
	for _, tag := range tags {
		if !isText(tag) {
			return fmt.Errorf("%w: job %s: the tag %.60q is not valid UTF-8 or contains NUL", ErrInvalid, job, tag)
		}
	}
	return nil
}

// Check reports why no store makes the change, an ErrInvalid.
func (p *EditParams) Check() error {
	e := &p.Edit
	switch {
	case e.Queue != nil && (*e.Queue == "" || !isText(*e.Queue)):
		return fmt.Errorf("%w: job %s: the queue %.60q is not a valid name", ErrInvalid, p.Job, *e.Queue)
	case e.Queue != nil && CheckQueueName(*e.Queue) != nil:
		return fmt.Errorf("job %s: %w", p.Job, CheckQueueName(*e.Queue))
	case e.Priority != nil && (*e.Priority < 1 || *e.Priority > 4):
		return fmt.Errorf("%w: job %s: priority %d is not between 1 and 4", ErrInvalid, p.Job, *e.Priority)
	case e.MaxAttempts != nil && (*e.MaxAttempts < 0 || *e.MaxAttempts > math.MaxInt32), e.Codec < 0 || e.Codec > math.MaxInt32:
		return fmt.Errorf("%w: job %s: the max attempts or the codec %d are out of range", ErrInvalid, p.Job, e.Codec)
	case e.RunAt != nil && !isTime(*e.RunAt), e.Deadline != nil && !isTime(*e.Deadline):
		return fmt.Errorf("%w: job %s: its run time or its deadline is not between the years 1 and 9999", ErrInvalid, p.Job)
	}
	tags := slices.Concat(e.AddTags, e.DropTags)
	if e.Tags != nil {
		tags = append(tags, *e.Tags...)
	}
	if err := CheckAttributes(p.Job, e.Attributes, true); err != nil {
		return err
	}
	return checkWords(p.Job, tags, e.Metadata)
}

// Takes reports whether a finished job in that state is removed.
func (p *DeleteParams) Takes(state State) bool {
	return state.Finished() && (p.States == 0 || p.States.Has(state))
}
