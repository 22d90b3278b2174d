package audited

import (
	"bytes"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// JobEdited is of a job that was changed; was and due are what it was, and when it was due, before.
// Args, metadata and search attributes may be secrets: of these it says that they are others.
func JobEdited(p *store.EditParams, was, is *store.Job, due, dueThen time.Time) store.AuditEntry {
	e := Job(is.ID, is.Namespace, p.Actor, store.ActionEdit, p.Reason)
	before, after := map[string]any{}, map[string]any{}
	differs := func(what string, is bool, from, to any) {
		if is {
			before[what], after[what] = from, to
		}
	}
	a, b := &was.Options, &is.Options
	differs("queue", was.Queue != is.Queue, was.Queue, is.Queue)
	differs("priority", was.Priority != is.Priority, was.Priority, is.Priority)
	differs("run_at", p.Edit.RunAt != nil && !due.Equal(dueThen), moment(due), moment(dueThen))
	differs("max_attempts", was.MaxAttempts != is.MaxAttempts, was.MaxAttempts, is.MaxAttempts)
	differs("timeout", a.Timeout != b.Timeout, length(a.Timeout), length(b.Timeout))
	differs("heartbeat", a.Heartbeat != b.Heartbeat, length(a.Heartbeat), length(b.Heartbeat))
	differs("deadline", !a.Deadline.Equal(b.Deadline), moment(a.Deadline), moment(b.Deadline))
	differs("tags", !slices.Equal(was.Tags, is.Tags), list(was.Tags), list(is.Tags))
	for what, is := range map[string]bool{
		"backoff": a.Backoff != b.Backoff, "args": !bytes.Equal(was.Args, is.Args), "metadata": !bytes.Equal(was.Metadata, is.Metadata),
		"attributes": !slices.Equal(was.Attributes, is.Attributes),
	} {
		if is {
			after[what] = changed
		}
	}
	e.Before, e.After = text(before), text(after)
	return e
}

// Job is of what a person did to a job.
func Job(id store.ID, namespace, actor string, action store.ActionKind, reason string) store.AuditEntry {
	return store.AuditEntry{
		Actor: actor, Action: string(action), Namespace: namespace, Job: id, Detail: reason,
		Target: store.AuditTarget{Kind: store.AuditJob, Name: id.String()},
	}
}

func list(tags []string) []string { return append([]string{}, tags...) }

// moment is a time; nil: none.
func moment(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UTC().Truncate(time.Microsecond)
}
