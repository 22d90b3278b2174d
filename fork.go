package holdfast

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// ForkOption is a setting of ForkJob.
type ForkOption func(*fork) error

type fork struct {
	from string
	args []byte
	id   ID // as given
}

// ForkFrom sets the step at which the fork begins: the first step or other operation of that name,
// or the entry at that path. Default: the beginning.
func ForkFrom(step string) ForkOption {
	return func(f *fork) error { f.from = step; return nil }
}

// ForkArgs gives the fork other args.
func ForkArgs(args json.RawMessage) ForkOption {
	return func(f *fork) error {
		f.args = args
		return checkJSON("args", args, MaxPayload)
	}
}

// ForkID gives the fork an id, a UUIDv7 from NewID. It makes a fork whose answer was lost safe to
// repeat: the second one finds the first and changes nothing. If the id belongs to anything but a
// fork of the same job from the same step, the error is ErrConflict.
func ForkID(id ID) ForkOption {
	return func(f *fork) error {
		f.id = id
		return checkID(id)
	}
}

// ForkJob makes a new job that remembers what the given job did before a step, and continues from
// there. It returns the new job's id. The old job does not change. The new job also has what the
// old one had published and streamed by then, including rounds before it last continued as new; a
// fork from the beginning has none of it. The error is ErrConflict if the fork would remember
// children or callbacks that have not answered: their answers go to the old job alone.
func (c *Client) ForkJob(ctx context.Context, id ID, reason string, opts ...ForkOption) (ID, error) {
	var f fork
	for _, opt := range opts {
		if opt == nil {
			return uuid.Nil, errNoOption
		}
		if err := opt(&f); err != nil {
			return uuid.Nil, err
		}
	}
	if f.id != uuid.Nil {
		if there, err := c.isForked(ctx, f, id); there || err != nil {
			return f.id, err
		}
	}
	made, again, err := c.forkJob(ctx, id, reason, f)
	for try := 1; again && try < forkTries; try++ {
		made, again, err = c.forkJob(ctx, id, reason, f)
	}
	if err != nil {
		return uuid.Nil, store.About(id, "forking", err)
	}
	if f.id != uuid.Nil { // another one may have had the id at the same moment
		_, err = c.isForked(ctx, f, id)
	}
	return made, err
}

// forkTries is how often a fork is tried of a job that continues as new, or is resumed, in the middle of it.
const forkTries = 10

// forkJob forks a job as it is read. again tells that it has become another one meanwhile. The journal is
// read first: if it is the same when the fork is made, the args are those that belong to it.
func (c *Client) forkJob(ctx context.Context, id ID, reason string, f fork) (made ID, again bool, err error) {
	raw, err := c.journal(ctx, id)
	if err != nil {
		return uuid.Nil, false, err
	}
	keep, next, err := f.keep(raw)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return uuid.Nil, false, err
	}
	record, missing := c.Get(ctx, id)
	if missing != nil || err != nil {
		return uuid.Nil, false, cmp.Or(missing, err)
	}
	job := record.Job
	if job.ID = f.id; job.ID == uuid.Nil {
		job.ID = NewID()
	}
	job.UniqueKey, job.UniqueStates, job.RunAt, job.Closing = nil, 0, time.Time{}, false
	job.Parent, job.Answers, job.Options.Deadline = uuid.Nil, false, time.Time{}
	job.Options.Source = f.source(id)
	if f.args != nil {
		job.Args, job.Codec = f.args, 0
	}
	err = c.engine.Fork(ctx, store.ForkParams{From: id, Keep: keep, Next: next, Job: job, Reason: reason, Actor: c.actor})
	return job.ID, next != nil && errors.Is(err, ErrConflict), err
}

// source is what the fork says it was made of, for people, and for who makes it again.
func (f *fork) source(of ID) string {
	if f.from == "" {
		return "fork of " + of.String()
	}
	return "fork of " + of.String() + " from " + f.from
}

// isForked reports whether the fork is there already.
func (c *Client) isForked(ctx context.Context, f fork, of ID) (bool, error) {
	record, err := c.Get(ctx, f.id)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case record.Options.Source != f.source(of):
		return false, fmt.Errorf("forking job %s: %w: job %s exists and is not this fork", of, ErrConflict, f.id)
	}
	return true, nil
}

const forkHint = "so its answer would go only to the original job; wait for it, or fork from an earlier step"

// keep is the last entry that the fork keeps, and the one after it, with which it begins.
func (f *fork) keep(j store.Journal) (keep int64, next *store.Entry, err error) {
	if f.from == "" {
		return 0, nil, nil
	}
	i := slices.IndexFunc(j.Entries, func(e store.Entry) bool { return e.Name == f.from || e.Path == f.from })
	if i < 0 {
		return 0, nil, fmt.Errorf("%w: its journal has no step %q", ErrNotFound, f.from)
	}
	answered := map[string]bool{}
	for _, m := range j.Messages {
		switch m.Kind {
		case store.MessageChild:
			answered[m.From.String()] = true
		case store.MessageCallback, store.MessageCallbackFailed:
			answered[m.Name] = true
		default: // a heartbeat is no answer
		}
	}
	for _, e := range j.Entries[:i] {
		switch e.Kind {
		case store.EntryChild:
			var child struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(e.Data, &child); err == nil && !answered[child.ID] {
				return 0, nil, fmt.Errorf("%w: child %s (entry %d) has not finished, %s", ErrConflict, child.ID, e.Seq, forkHint)
			}
		case store.EntryCallback:
			if !answered[e.Name] {
				return 0, nil, fmt.Errorf("%w: the callback of entry %d has no answer yet, %s", ErrConflict, e.Seq, forkHint)
			}
		default:
		}
	}
	return j.Entries[i].Seq - 1, &j.Entries[i], nil
}
