package holdfast

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Fork says what a fork is made of. The zero value is a fork from the beginning, with the args of
// the job.
type Fork struct {
	// From is the step at which the fork begins: the first step or other operation of that name, or
	// the entry at that path. "": the beginning.
	From string
	// Args are other args, as JSON; nil: those of the job.
	Args json.RawMessage
	// ID is the fork's id, a UUIDv7 from NewID. It makes a fork whose answer was lost safe to
	// repeat: the second one finds the first and changes nothing. If the id belongs to anything but
	// a fork of the same job from the same step, the error is ErrConflict. Zero: a new one.
	ID ID
}

func (f *Fork) check(limit int) error {
	if f.Args != nil {
		if err := checkJSON("args", f.Args, limit); err != nil {
			return err
		}
	}
	if f.ID != uuid.Nil {
		return checkID(f.ID)
	}
	return nil
}

// Fork makes a new job that remembers what the given job did before a step, and continues from
// there. It returns the new job's id. The old job does not change. The new job also has what the
// old one had published and streamed by then, including the generations before it last continued as
// new; a fork from the beginning has none of it. It has no business key: that stays with the old
// job. reason is for people; it may be "".
//
// The errors are ErrInvalid for wrong args or a wrong id, ErrNotFound if there is no such job or
// step, and ErrConflict if the fork would remember children or callbacks that have not answered:
// their answers go to the old job alone.
func (c *Client) Fork(ctx context.Context, reason string, id ID, f Fork) (ID, error) {
	if err := f.check(c.limit); err != nil {
		return uuid.Nil, err
	}
	if f.ID != uuid.Nil {
		if there, err := c.isForked(ctx, &f, id); there || err != nil {
			return f.ID, err
		}
	}
	made, again, err := c.forkJob(ctx, id, reason, &f)
	for try := 1; again && try < forkTries; try++ {
		made, again, err = c.forkJob(ctx, id, reason, &f)
	}
	if err != nil {
		return uuid.Nil, store.About(id, "forking", err)
	}
	if f.ID != uuid.Nil { // another request may have used the id at the same moment
		_, err = c.isForked(ctx, &f, id)
	}
	return made, err
}

// forkTries is how often a fork is retried because its job continues as new, or is resumed,
// meanwhile.
const forkTries = 10

// forkJob makes one try of a fork. again reports that the job has changed meanwhile. The journal is
// read first: if it is unchanged when the fork is made, the args belong to it (an optimistic lock).
func (c *Client) forkJob(ctx context.Context, id ID, reason string, f *Fork) (made ID, again bool, err error) {
	raw, err := c.journal(ctx, id)
	if err != nil {
		return uuid.Nil, false, err
	}
	var keep int64
	var next *store.Entry
	if f.From != "" {
		keep, next, err = journal.ForkPoint(raw, f.From)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return uuid.Nil, false, err
	}
	record, missing := c.Get(ctx, id)
	if missing != nil || err != nil {
		return uuid.Nil, false, cmp.Or(missing, err)
	}
	job := record.Job
	job.ID = f.ID
	if job.ID == uuid.Nil {
		job.ID = NewID()
	}
	job.UniqueKey, job.UniqueStates, job.RunAt, job.Closing = nil, 0, time.Time{}, false
	job.Parent, job.Batch, job.Answers, job.Options.Deadline = uuid.Nil, uuid.Nil, false, time.Time{}
	job.Options.Source, job.Options.Key, job.Options.KeepKey = f.source(id), "", 0
	if f.Args != nil {
		job.Args, job.Codec = f.Args, 0
	}
	err = c.engine.Fork(ctx, store.ForkParams{
		Namespace: c.namespace, From: id, Keep: keep, Next: next, Job: job, Reason: reason, Actor: c.actor,
	})
	return job.ID, next != nil && errors.Is(err, ErrConflict), err
}

// source describes the fork, for people, and to recognise a retry of it.
func (f *Fork) source(of ID) string {
	if f.From == "" {
		return "fork of " + of.String()
	}
	return "fork of " + of.String() + " from " + f.From
}

// isForked reports whether the fork exists already.
func (c *Client) isForked(ctx context.Context, f *Fork, of ID) (bool, error) {
	record, err := c.Get(ctx, f.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case record.Options.Source != f.source(of):
		return false, fmt.Errorf("forking job %s: %w: job %s exists and is not this fork", of, ErrConflict, f.ID)
	}
	return true, nil
}
