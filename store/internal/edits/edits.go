// Package edits is what a change of a job means: whether it is allowed, what it leaves in the body,
// and when the job is due then. What both databases share is here once.
//
// # Imports
//
// Package store.
package edits

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// maxTags is how many tags a job may have to which some are added.
const maxTags = 20

// OnlyWords reports whether the change is one of tags, metadata and search attributes, which those
// that run take as well, and, but for attributes, those that have finished.
func OnlyWords(e *store.Edit) bool {
	return e.Queue == nil && e.Priority == nil && e.RunAt == nil && e.MaxAttempts == nil && e.Timeout == nil && e.Heartbeat == nil &&
		e.Deadline == nil && e.Backoff == nil && e.Args == nil
}

// OnlyAttributes reports whether the change is one of search attributes, and leaves the body alone.
func OnlyAttributes(e *store.Edit) bool {
	return OnlyWords(e) && e.Tags == nil && e.AddTags == nil && e.DropTags == nil && e.Metadata == nil
}

// Allowed reports why a job in a state cannot be changed like this, an ErrConflict. durable tells
// that it has a journal; it is asked for args only. cancelling tells that the job was asked to
// cancel; it is asked for run times only.
func Allowed(e *store.Edit, job *store.Job, state store.State, durable, cancelling bool) error {
	switch {
	case len(e.AddTags) > 0 && len(tagsOf(e, job.Tags)) > maxTags:
		return fmt.Errorf("%w: job %s would have %d tags; the limit is %d", store.ErrInvalid, job.ID, len(tagsOf(e, job.Tags)), maxTags)
	case len(e.Attributes) > 0 && state.Finished():
		return store.JobIs(job.ID, state)
	case OnlyWords(e):
		return nil
	case state == store.Running, state.Finished():
		return store.JobIs(job.ID, state)
	case state == store.Waiting && (e.RunAt != nil || e.Queue != nil && *e.Queue != job.Queue && job.OrderingKey != ""):
		return store.JobIs(job.ID, state)
	case state == store.Available && e.RunAt != nil && cancelling:
		return fmt.Errorf("%w: job %s was asked to cancel, and is to run at once to end itself", store.ErrConflict, job.ID)
	case e.Args != nil && durable:
		return fmt.Errorf("%w: job %s has a journal, which began with its args", store.ErrConflict, job.ID)
	case e.Args != nil && len(job.UniqueKey) > 0 && !bytes.Equal(job.UniqueKey, e.UniqueKey):
		return fmt.Errorf("%w: job %s has a unique key, which may depend on its args", store.ErrConflict, job.ID)
	}
	return nil
}

// Apply makes the change in a body, but for the run time. It reports whether anything is another
// than before.
func Apply(e *store.Edit, job *store.Job) (changed bool) {
	before := *job
	set(&job.Queue, e.Queue)
	set(&job.Priority, e.Priority)
	set(&job.MaxAttempts, e.MaxAttempts)
	set(&job.Options.Timeout, e.Timeout)
	set(&job.Options.Heartbeat, e.Heartbeat)
	set(&job.Options.Backoff, e.Backoff)
	for of, is := range map[store.Setting]bool{
		store.SettingMaxAttempts: e.MaxAttempts != nil, store.SettingBackoff: e.Backoff != nil,
		store.SettingTimeout: e.Timeout != nil, store.SettingHeartbeat: e.Heartbeat != nil,
	} {
		if is {
			job.Options.OfKind &^= of
		}
	}
	if e.Deadline != nil {
		job.Options.Deadline = e.Deadline.Truncate(time.Microsecond)
	}
	if e.Args != nil {
		job.Args, job.Codec = e.Args, e.Codec
	}
	if e.Metadata != nil {
		job.Metadata = e.Metadata
	}
	job.Tags = tagsOf(e, job.Tags)
	job.Attributes = attributesOf(e, job.Attributes)
	sameDeadline := before.Options.Deadline.Equal(job.Options.Deadline)
	before.Options.Deadline = job.Options.Deadline
	return before.Queue != job.Queue || before.Priority != job.Priority || before.MaxAttempts != job.MaxAttempts ||
		before.Options != job.Options || !sameDeadline || before.Codec != job.Codec ||
		!bytes.Equal(before.Args, job.Args) || !bytes.Equal(before.Metadata, job.Metadata) ||
		!slices.Equal(before.Tags, job.Tags) || !slices.Equal(before.Attributes, job.Attributes)
}

func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

// tagsOf are those of a job that had these.
func tagsOf(e *store.Edit, tags []string) []string {
	tags = slices.Clone(tags)
	if e.Tags != nil {
		tags = slices.Clone(*e.Tags)
	}
	for _, tag := range e.AddTags {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(e.DropTags, tag) })
}

// attributesOf are those of a job that had these, by name.
func attributesOf(e *store.Edit, list []store.Attribute) []store.Attribute {
	if len(e.Attributes) == 0 {
		return list
	}
	list = store.OverAttributes(slices.Clone(list), slices.Clone(e.Attributes))
	list = slices.DeleteFunc(list, func(a store.Attribute) bool { return a.Value.Type == 0 })
	slices.SortFunc(list, func(a, b store.Attribute) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Kept are those of some search attributes that a job of a namespace can have which has declared
// these, or that are to be taken away from it.
func Kept(list []store.Attribute, declared []store.DeclaredAttribute) (kept []store.Attribute) {
	for _, a := range list {
		if slices.ContainsFunc(declared, func(d store.DeclaredAttribute) bool {
			return d.Name == a.Name && !d.Leaving && (a.Value.Type == 0 || a.Value.Type == d.Type)
		}) {
			kept = append(kept, a)
		}
	}
	return kept
}

// Due is the state and the run time of a job after the change, that was in a state, and due at a
// time. durable tells that it has a journal. Of a job that waits the time is that at which it is
// woken, zero for none, and until is when it wants to be.
func Due(e *store.Edit, job *store.Job, state store.State, durable bool, until, now time.Time) (store.State, time.Time) {
	due := job.RunAt
	if e.RunAt != nil {
		due = e.RunAt.Truncate(time.Microsecond)
		if !due.After(now) {
			due = now
		}
	}
	deadline := job.Options.Deadline
	if job.Closing {
		deadline = time.Time{}
	}
	switch state {
	case store.Waiting:
		if due = until; e.Deadline == nil {
			due = job.RunAt
		} else if !deadline.IsZero() && (until.IsZero() || deadline.Before(until)) {
			due = deadline
		}
		return store.Waiting, due
	case store.Scheduled, store.Retryable:
		if e.Deadline != nil && durable && !deadline.IsZero() && deadline.Before(due) {
			due = deadline
		}
	default:
	}
	switch {
	case e.RunAt == nil && due.Equal(job.RunAt):
		return state, due
	case !due.After(now):
		return store.Available, due
	case state == store.Retryable:
		return store.Retryable, due
	}
	return store.Scheduled, due
}
