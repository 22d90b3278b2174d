package logs

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store"
)

// The keys of the log. A test compares them with docs/logging.md, which explains them.
const (
	KeyAttempt      = "attempt"
	KeyAway         = "away"
	KeyBytes        = "bytes"
	KeyCall         = "call"
	KeyCause        = "cause"
	KeyCompensation = "compensation"
	KeyDeadNode     = "dead_node"
	KeyEntries      = "entries"
	KeyEpoch        = "epoch"
	KeyError        = "error"
	KeyEvents       = "events"
	KeyFailures     = "failures"
	KeyJob          = "job"
	KeyJobs         = "jobs"
	KeyKind         = "kind"
	KeyKinds        = "kinds"
	KeyLeader       = "leader"
	KeyLease        = "lease"
	KeyLines        = "lines"
	KeyMaxBytes     = "max_bytes"
	KeyMaxEntries   = "max_entries"
	KeyMissed       = "missed"
	KeyName         = "name"
	KeyMode         = "mode"
	KeyNamespace    = "namespace"
	KeyNode         = "node"
	KeyOutcomes     = "outcomes"
	KeyPart         = "part"
	KeyPID          = "pid"
	KeyQueue        = "queue"
	KeyReason       = "reason"
	KeyRetryAt      = "retry_at"
	KeyRunning      = "running"
	KeySchedule     = "schedule"
	KeySince        = "since"
	KeySlots        = "slots"
	KeyStack        = "stack"
	KeyState        = "state"
	KeyStep         = "step"
	KeyStrand       = "strand"
	KeyText         = "text"
	KeyTook         = "took"
	KeyTries        = "tries"
	KeyVersion      = "version"
)

// nodeHandler adds the number of the node to each line, if one runs, and its namespace where there
// are several.
type nodeHandler struct {
	slog.Handler

	node  *atomic.Int64
	space func() string
}

// NewNodeHandler returns a handler that adds the number of the node to the lines of h, unless it is
// 0, and what space returns as the namespace, unless that is "" or the line has one.
func NewNodeHandler(h slog.Handler, node *atomic.Int64, space func() string) slog.Handler {
	return nodeHandler{h, node, space}
}

func (h nodeHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := h.node.Load(); id != 0 {
		r.AddAttrs(slog.Int64(KeyNode, id))
	}
	if space := h.space(); space != "" && !has(r, KeyNamespace) {
		r.AddAttrs(slog.String(KeyNamespace, space))
	}
	return h.Handler.Handle(ctx, r)
}

func has(r slog.Record, key string) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == key
		return !found
	})
	return found
}

func (h nodeHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return nodeHandler{h.Handler.WithAttrs(attrs), h.node, h.space}
}

func (h nodeHandler) WithGroup(name string) slog.Handler {
	return nodeHandler{h.Handler.WithGroup(name), h.node, h.space}
}

// About is the job that a line is about, as far as it is known.
type About struct {
	Job         store.ID
	Kind, Queue string
	Attempt     int
}

// AboutJob returns the About of a job.
func AboutJob(j *store.Job) About { return About{j.ID, j.Kind, j.Queue, j.Attempt} }

// Attrs returns the attributes of the fields that are known.
func (a About) Attrs() []slog.Attr {
	var attrs []slog.Attr
	if a.Job != (store.ID{}) {
		attrs = append(attrs, slog.Any(KeyJob, a.Job))
	}
	if a.Kind != "" {
		attrs = append(attrs, slog.String(KeyKind, a.Kind))
	}
	if a.Queue != "" {
		attrs = append(attrs, slog.String(KeyQueue, a.Queue))
	}
	if a.Attempt > 0 {
		attrs = append(attrs, slog.Int(KeyAttempt, a.Attempt))
	}
	return attrs
}
