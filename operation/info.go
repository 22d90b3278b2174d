package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/bulk"
	"github.com/holdfastdev/holdfast/store"
)

// Counts say what became of the jobs of an operation.
type Counts struct {
	Matched int `json:"matched"` // jobs that the operation came to: the sum of the others
	Changed int `json:"changed"` // by it
	Already int `json:"already"` // were as they were to be
	Refused int `json:"refused"` // cannot be changed as they are
	Gone    int `json:"gone"`    // were removed, or did not match any more, before they were changed
}

// String says it in words.
func (c Counts) String() string { return bulk.Counts(c).String() }

// Refusal is a job that was not changed, and why.
type Refusal struct {
	Job   holdfast.ID `json:"job"`
	Error string      `json:"error"`
}

// Info is an operation that was started.
type Info struct {
	Operation

	Actor string // who started it
	// State is that of its job: an operation that has come to its end has completed. Reason and
	// Error say why it failed or was cancelled, or why its last attempt failed.
	State  store.State
	Reason store.Reason
	Error  string

	CreatedAt  time.Time
	FinishedAt time.Time // zero until it has
	// Counts are those of the pages that it has finished. A page more may be done, if its process
	// has just died.
	Counts   Counts
	Refusals []Refusal // the first 20 jobs that were not changed
}

// infoOf reads an operation out of its job.
func infoOf(r *store.Record) (Info, error) {
	info := Info{State: r.State, Reason: r.Reason, Error: r.Error, CreatedAt: r.CreatedAt, FinishedAt: r.FinishedAt}
	info.ID = r.ID
	var s bulk.Spec
	if err := store.SealError(r.Args, r.Codec); err != nil {
		return info, fmt.Errorf("operation %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(r.Args, &s); err != nil {
		return info, fmt.Errorf("%w: operation %s was started by a newer version, or its args are damaged: %w", store.ErrInvalid, r.ID, err)
	}
	info.Filter, info.Action, info.Note, info.Expected = store.Filter(s.Filter), Action{s.Action}, s.Note, s.Expected
	info.Actor = s.Actor
	p, err := bulk.ProgressOf(r.Checkpoint)
	if err != nil {
		return info, fmt.Errorf("%w: operation %s: cannot read its checkpoint: %w", store.ErrInvalid, r.ID, err)
	}
	info.Counts = Counts(p.Counts)
	for _, refusal := range p.Refusals {
		info.Refusals = append(info.Refusals, Refusal(refusal))
	}
	return info, nil
}

// Get returns an operation. The errors are ErrNotFound, ErrConflict for a job that is none, and
// ErrInvalid for one of a newer version, of which the state is returned.
func Get(ctx context.Context, c *holdfast.Client, id holdfast.ID) (Info, error) {
	record, err := c.Get(ctx, id)
	switch {
	case err != nil:
		return Info{}, err
	case record.Kind != Kind:
		return Info{}, store.OfAnotherKind(id, record.Kind, Kind)
	}
	return infoOf(&record)
}

// Page is a part of a list.
type Page struct {
	Operations []Info
	Next       string // where the next page begins; "" at the end
}

// List returns a page of the operations of the namespace, newest first, as Client.List does; states
// are those of their jobs, none: all. Operations are kept as long as other jobs are.
func List(ctx context.Context, c *holdfast.Client, after string, limit int, states ...store.State) (Page, error) {
	found, err := c.List(ctx, store.Filter{Kinds: []string{Kind}, States: states}, after, limit)
	page := Page{Next: found.Next}
	for i := range found.Jobs {
		info, err := infoOf(&found.Jobs[i])
		if err != nil && info.Error == "" {
			info.Error = err.Error()
		}
		page.Operations = append(page.Operations, info)
	}
	return page, err
}

// Stop cancels an operation: one that waits at once, and one that runs after the page that it is
// at. What it has changed stays changed. The errors are ErrNotFound, and ErrConflict for a job that
// is no operation.
func Stop(ctx context.Context, c *holdfast.Client, reason string, id holdfast.ID) error {
	if _, err := Get(ctx, c, id); err != nil && !errors.Is(err, store.ErrInvalid) {
		return err
	}
	results, err := c.Cancel(ctx, reason, id)
	if err == nil {
		err = results[0].Err
	}
	return err
}

// Wait waits until an operation has ended, and returns what became of it. The error is a
// *holdfast.JobError if it failed or was cancelled, with what it had done by then, or that of
// Client.Wait.
func Wait(ctx context.Context, c *holdfast.Client, id holdfast.ID) (Info, error) {
	ended := c.Wait(ctx, id)
	if _, is := errors.AsType[*holdfast.JobError](ended); ended != nil && !is {
		return Info{}, ended
	}
	info, err := Get(ctx, c, id)
	if err != nil {
		return info, err
	}
	return info, ended
}

// Run does an operation in this process, without a job, and returns what it has done, whatever the
// error is. When ctx ends it finishes the page that it is at. It does not wait for operations that
// were started, and cannot go on later. said, unless it is nil, is told after each page.
func Run(ctx context.Context, c *holdfast.Client, op Operation, said func(done Counts)) (Counts, error) {
	s, err := spec(ctx, c, op)
	if err != nil {
		return Counts{}, err
	}
	var p bulk.Progress
	run := &bulk.Run{
		Jobs: access.Jobs(c), Spec: s, Save: func(context.Context, *bulk.Progress) error { return nil },
		Said: func(p *bulk.Progress) {
			if said != nil {
				said(Counts(p.Counts))
			}
		},
	}
	err = run.Do(ctx, &p)
	return Counts(p.Counts), err
}

// FilterJSON is the filter as it is stored: an object of what it selects by, and no other fields.
func (i *Info) FilterJSON() json.RawMessage {
	data, err := json.Marshal(bulk.Filter(i.Filter))
	if err != nil {
		return json.RawMessage("{}") // there is no value that cannot be encoded
	}
	return data
}
