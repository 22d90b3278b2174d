// Package copyof copies what the model keeps and answers with, as a database would: a copy shares
// nothing, and its times are in microseconds. It imports store only.
package copyof

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Key copies a key.
func Key(k store.APIKey) store.APIKey {
	k.Hash, k.Scopes = bytes.Clone(k.Hash), slices.Clone(k.Scopes)
	return k
}

// Endpoint copies an endpoint.
func Endpoint(e store.Endpoint) store.Endpoint {
	e.Data = bytes.Clone(e.Data)
	return e
}

// Entries are the entries as a fork has them.
func Entries(entries []store.Entry) (copies []store.Entry) {
	for _, entry := range entries {
		entry.Data, entry.LeaseNumber = bytes.Clone(entry.Data), 0
		copies = append(copies, entry)
	}
	return copies
}

// Wait copies what a run waits for.
func Wait(w *store.Wait) *store.Wait {
	copied := *w
	copied.For = bytes.Clone(w.For)
	copied.Until = w.Until.Truncate(time.Microsecond)
	return &copied
}

// Job copies a body.
func Job(j store.Job) store.Job {
	j.Args = bytes.Clone(j.Args)
	j.Metadata = bytes.Clone(j.Metadata)
	j.UniqueKey = bytes.Clone(j.UniqueKey)
	j.Tags = slices.Clone(j.Tags)
	j.Attributes = slices.Clone(j.Attributes)
	return j
}

// Checkpoint copies a checkpoint; nil is none.
func Checkpoint(c *store.Checkpoint) *store.Checkpoint {
	if c == nil {
		return nil
	}
	copied := *c
	copied.Value = bytes.Clone(c.Value)
	return &copied
}

// NodeInfo copies what a node says of itself.
func NodeInfo(info store.NodeInfo) store.NodeInfo {
	info.Queues, info.Kinds, info.Policies = slices.Clone(info.Queues), slices.Clone(info.Kinds), maps.Clone(info.Policies)
	info.QueueSlots = maps.Clone(info.QueueSlots)
	for kind, policy := range info.Policies {
		policy.Delays = slices.Clone(policy.Delays)
		info.Policies[kind] = policy
	}
	return info
}

// Schedule copies a schedule.
func Schedule(s *store.Schedule) store.Schedule {
	c := *s
	for _, t := range []*time.Time{&c.PausedAt, &c.Cursor, &c.NextAt, &c.Start, &c.End} {
		*t = t.Truncate(time.Microsecond)
	}
	c.Job.Args, c.Job.Tags, c.Job.Metadata = slices.Clone(c.Job.Args), slices.Clone(c.Job.Tags), slices.Clone(c.Job.Metadata)
	return c
}
