package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The keys of the log. Each means the same in all lines, and docs/logging.md says what: a test
// compares.
const (
	keyAttempt      = "attempt"
	keyAway         = "away"
	keyBytes        = "bytes"
	keyCall         = "call"
	keyCause        = "cause"
	keyCompensation = "compensation"
	keyDeadNode     = "dead_node"
	keyEntries      = "entries"
	keyEpoch        = "epoch"
	keyError        = "error"
	keyFailures     = "failures"
	keyJob          = "job"
	keyJobs         = "jobs"
	keyKind         = "kind"
	keyKinds        = "kinds"
	keyLeader       = "leader"
	keyLease        = "lease"
	keyLines        = "lines"
	keyMaxBytes     = "max_bytes"
	keyMaxEntries   = "max_entries"
	keyName         = "name"
	keyNamespace    = "namespace"
	keyNode         = "node"
	keyOutcomes     = "outcomes"
	keyPart         = "part"
	keyQueue        = "queue"
	keyReason       = "reason"
	keyRetryAt      = "retry_at"
	keyRunning      = "running"
	keySince        = "since"
	keySlots        = "slots"
	keyStack        = "stack"
	keyState        = "state"
	keyStep         = "step"
	keyTook         = "took"
	keyTries        = "tries"
	keyVersion      = "version"
)

// nodeHandler adds the node that says a line, if one runs.
type nodeHandler struct {
	slog.Handler

	node *atomic.Int64
}

func (h nodeHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := h.node.Load(); id != 0 {
		r.AddAttrs(slog.Int64(keyNode, id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h nodeHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return nodeHandler{h.Handler.WithAttrs(attrs), h.node}
}

func (h nodeHandler) WithGroup(name string) slog.Handler {
	return nodeHandler{h.Handler.WithGroup(name), h.node}
}

// about is the job that a line is about, as far as it is known.
type about struct {
	job         store.ID
	kind, queue string
	attempt     int
}

func aboutJob(j *store.Job) about { return about{j.ID, j.Kind, j.Queue, j.Attempt} }

func (a about) attrs() []slog.Attr {
	var attrs []slog.Attr
	if a.job != (store.ID{}) {
		attrs = append(attrs, slog.Any(keyJob, a.job))
	}
	if a.kind != "" {
		attrs = append(attrs, slog.String(keyKind, a.kind))
	}
	if a.queue != "" {
		attrs = append(attrs, slog.String(keyQueue, a.queue))
	}
	if a.attempt > 0 {
		attrs = append(attrs, slog.Int(keyAttempt, a.attempt))
	}
	return attrs
}

// about is what lines say of the run.
func (r *Run) about() about { return aboutJob(&r.claimed.Job) }

// Logger returns a logger with what lines say of the run: the given one, or the engine's if that is
// nil.
func (r *Run) Logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		log = r.node.engine.plain
	}
	job := &r.claimed.Job
	return log.With(keyJob, job.ID, keyKind, job.Kind, keyQueue, job.Queue, keyAttempt, job.Attempt, keyNode, r.claimed.Lease.Node)
}

// debugs reports whether anybody reads what is logged at DEBUG: what is not logged costs nothing.
func (n *node) debugs() bool {
	return n.log.Enabled(context.Background(), slog.LevelDebug) //nolint:forbidigo // nothing ends with it
}

// tellStart says that a run begins.
func (n *node) tellStart(r *Run) {
	if n.debugs() {
		n.log.LogAttrs(context.Background(), slog.LevelDebug, "job started", r.about().attrs()...) //nolint:forbidigo // as above
	}
}

// tellEnd says how a run has ended: at WARN or ERROR what somebody may have to see to, and
// everything at DEBUG.
func (n *node) tellEnd(r *Run, o *store.Outcome) {
	held := o.Wait != nil && o.Wait.Held
	debugs := n.debugs()
	if o.State != store.Failed && o.State != store.Retryable && !held && !debugs {
		return
	}
	var facts []slog.Attr
	if o.Error != "" {
		facts = append(facts, slog.String(keyError, o.Error))
	}
	if o.Reason != "" {
		facts = append(facts, slog.String(keyReason, string(o.Reason)))
	}
	if o.State == store.Retryable || o.State == store.Scheduled {
		again := time.Now().Add(o.Delay) //nolint:forbidigo // for people, who read it beside the time of the line
		facts = append(facts, slog.Time(keyRetryAt, again))
	}
	if debugs {
		n.tellEnded(r, o, facts)
	}
	if o.Trace != "" {
		facts = append(facts, slog.String(keyStack, o.Trace))
	}
	switch {
	case o.State == store.Failed:
		n.lines.say(slog.LevelError, r.about(), "job failed", facts...)
	case held:
		n.lines.say(slog.LevelError, r.about(), "run held: its code does not fit its journal; resume or fork the job", facts...)
	case o.State == store.Retryable && isPanic(o):
		n.lines.say(slog.LevelError, r.about(), "attempt panicked; the job will be retried", facts...)
	case o.State == store.Retryable:
		n.lines.say(slog.LevelWarn, r.about(), "attempt failed; the job will be retried", facts...)
	}
}

func (n *node) tellEnded(r *Run, o *store.Outcome, facts []slog.Attr) {
	attrs := append(r.about().attrs(), slog.String(keyState, o.State.String()))
	if !r.started.IsZero() {
		attrs = append(attrs, slog.Duration(keyTook, n.store.Now().Sub(r.started)))
	}
	n.log.LogAttrs(context.Background(), slog.LevelDebug, "job ended", append(attrs, facts...)...) //nolint:forbidigo // nothing ends with it
}

// tellUndo says that a compensation failed, and when it is tried again; a zero time says that it is
// given up.
func (r *Run) tellUndo(name string, tries int, err error, again time.Time) {
	facts := []slog.Attr{slog.String(keyCompensation, name), slog.Int(keyTries, tries), slog.String(keyError, cut(err.Error(), maxError))}
	level := slog.LevelWarn
	if p, ok := errors.AsType[*panicError](err); ok {
		level = slog.LevelError
		facts = append(facts, slog.String(keyStack, cut(p.stack, maxTrace)))
	}
	if again.IsZero() {
		r.node.lines.say(slog.LevelError, r.about(), "compensation given up: undo by hand what it should have undone", facts...)
		return
	}
	facts = append(facts, slog.Time(keyRetryAt, again))
	r.node.lines.say(level, r.about(), "compensation failed; it will be retried", facts...)
}
