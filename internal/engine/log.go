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
	keyStrand       = "strand"
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

// report says what became of an outcome: at WARN or ERROR what somebody may have to see to, and
// everything at DEBUG. It goes by the state that the store answered: of a job that was cancelled or
// paused meanwhile, no attempt follows.
func (n *node) report(o *store.Outcome, job about, took time.Duration, err error) {
	facts, asked := factsOf(o), slog.String(keyState, o.State.String())
	level := slog.LevelWarn
	if isPanic(o) {
		level = slog.LevelError
	}
	switch {
	case err != nil:
		n.lines.say(slog.LevelError, job, "the outcome of a job could not be stored; the job will run again",
			append(traceOf(o), asked, slog.Any(keyError, err))...)
	case errors.Is(o.Err, store.ErrLeaseLost):
		n.lines.say(level, job, "a job's lease was lost before its outcome was stored; the outcome is dropped",
			append(facts, asked, slog.Int64(keyLease, o.Lease.Number))...)
	case o.Err != nil:
		n.lines.say(slog.LevelError, job, "the outcome of a job was refused",
			append(traceOf(o), asked, slog.Any(keyError, o.Err))...)
	default:
		n.tellEnd(o, job, level, facts)
		if took != unread {
			n.tellEnded(o, job, took, facts)
		}
	}
}

// tellEnd says how a run has ended whose outcome is stored, if somebody may have to see to it.
func (n *node) tellEnd(o *store.Outcome, job about, level slog.Level, facts []slog.Attr) {
	switch {
	case o.Final == store.Failed:
		n.lines.say(slog.LevelError, job, "job failed", facts...)
	case isHeld(o) && o.Final == store.Waiting:
		n.lines.say(slog.LevelError, job, "run held: its code does not fit its journal; resume or fork the job", facts...)
	case o.Final == store.Retryable && isPanic(o):
		n.lines.say(level, job, "attempt panicked; the job will be retried", facts...)
	case o.Final == store.Retryable:
		n.lines.say(level, job, "attempt failed; the job will be retried", facts...)
	case isPanic(o):
		n.lines.say(level, job, "attempt panicked; the job was cancelled or paused meanwhile", facts...)
	}
}

// tellEnded says how any run has ended. It took that long.
func (n *node) tellEnded(o *store.Outcome, job about, took time.Duration, facts []slog.Attr) {
	attrs := append(job.attrs(), slog.String(keyState, o.Final.String()))
	if took > 0 {
		attrs = append(attrs, slog.Duration(keyTook, took))
	}
	n.log.LogAttrs(context.Background(), slog.LevelDebug, "job ended", append(attrs, facts...)...) //nolint:forbidigo // nothing ends with it
}

// factsOf are what lines say of an outcome.
func factsOf(o *store.Outcome) []slog.Attr {
	var facts []slog.Attr
	if o.Error != "" {
		facts = append(facts, slog.String(keyError, o.Error))
	}
	if o.Reason != "" {
		facts = append(facts, slog.String(keyReason, string(o.Reason)))
	}
	if o.Final == store.Retryable || o.Final == store.Scheduled {
		due := o.Due
		if due.IsZero() { // the answer of the store was lost
			due = time.Now().Add(o.Delay) //nolint:forbidigo // for people, who read it beside the time of the line
		}
		facts = append(facts, slog.Time(keyRetryAt, due))
	}
	return append(facts, traceOf(o)...)
}

// traceOf is the stack of a panic that an outcome tells of.
func traceOf(o *store.Outcome) []slog.Attr {
	if o.Trace == "" {
		return nil
	}
	return []slog.Attr{slog.String(keyStack, o.Trace)}
}

// unread is how long a run took if nobody reads it: see took.
const unread = time.Duration(-1)

// took is how long a run took that ends now, if somebody reads lines at DEBUG; 0 if it never began.
func (n *node) took(o *store.Outcome) time.Duration {
	switch {
	case !n.debugs():
		return unread
	case o.StartedAt.IsZero():
		return 0
	}
	return max(0, n.store.Now().Sub(o.StartedAt))
}

// isNews reports whether somebody may have to see to an outcome.
func isNews(o *store.Outcome, err error) bool {
	return err != nil || o.Err != nil || o.Final == store.Failed || o.Final == store.Retryable || isPanic(o) || isHeld(o)
}

func isHeld(o *store.Outcome) bool { return o.Wait != nil && o.Wait.Held }

// tellUndo says that a compensation failed, and when it is tried again; a zero time says that it is
// given up.
func (r *Run) tellUndo(failure *stepFailedError, again time.Time) {
	told := &failure.told
	facts := []slog.Attr{slog.String(keyCompensation, told.Step), slog.Int(keyTries, told.Attempts), slog.String(keyError, told.Message)}
	level := slog.LevelWarn
	if failure.stack != "" {
		level = slog.LevelError
		facts = append(facts, slog.String(keyStack, failure.stack))
	}
	if again.IsZero() {
		r.node.lines.sayLater(slog.LevelError, r.about(), "compensation given up: undo by hand what it should have undone", facts...)
		return
	}
	facts = append(facts, slog.Time(keyRetryAt, again))
	r.node.lines.sayLater(level, r.about(), "compensation failed; it will be retried", facts...)
}
