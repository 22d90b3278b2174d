package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// debugs reports whether DEBUG is logged; building unread lines would cost time.
func (n *node) debugs() bool {
	return n.log.Enabled(context.Background(), slog.LevelDebug) //nolint:forbidigo // only for the level
}

// logStart logs that a run starts.
func (n *node) logStart(r *Run) {
	if n.debugs() {
		n.log.LogAttrs(context.Background(), slog.LevelDebug, "job started", r.about().Attrs()...) //nolint:forbidigo // as above
	}
}

// report logs what became of an outcome: at WARN or ERROR what may need attention, and everything
// at DEBUG. It goes by the state that the store returned: a job that was cancelled or paused
// meanwhile is not retried.
func (n *node) report(o *store.Outcome, job logs.About, took time.Duration, err error) {
	facts, asked := factsOf(o), slog.String(logs.KeyState, o.State.String())
	level := slog.LevelWarn
	if usercode.IsPanic(o) {
		level = slog.LevelError
	}
	switch {
	case err != nil:
		n.lines.Say(slog.LevelError, job, "the outcome of a job could not be stored; the job will run again",
			append(traceOf(o), asked, slog.Any(logs.KeyError, err))...)
	case errors.Is(o.Err, store.ErrLeaseLost):
		n.lines.Say(level, job, "a job's lease was lost before its outcome was stored; the outcome is dropped",
			append(facts, asked, slog.Int64(logs.KeyLease, o.Lease.Number))...)
	case o.Err != nil:
		n.lines.Say(slog.LevelError, job, "the outcome of a job was refused",
			append(traceOf(o), asked, slog.Any(logs.KeyError, o.Err))...)
	default:
		n.logEnd(o, job, level, facts)
		if took != unread && n.debugs() {
			n.logEnded(o, job, took, facts)
		}
	}
}

// logEnd logs how a run has ended whose outcome is stored, if that may need attention.
func (n *node) logEnd(o *store.Outcome, job logs.About, level slog.Level, facts []slog.Attr) {
	switch {
	case o.Final == store.Failed:
		n.lines.Say(slog.LevelError, job, "job failed", facts...)
	case isHeld(o) && o.Final == store.Waiting:
		n.lines.Say(slog.LevelError, job, "run held: its code does not fit its journal; resume or fork the job", facts...)
	case o.Final == store.Retryable && usercode.IsPanic(o):
		n.lines.Say(level, job, "attempt panicked; the job will be retried", facts...)
	case o.Final == store.Retryable:
		n.lines.Say(level, job, "attempt failed; the job will be retried", facts...)
	case usercode.IsPanic(o):
		n.lines.Say(level, job, "attempt panicked; the job was cancelled or paused meanwhile", facts...)
	}
}

// logEnded logs how any run has ended, and how long it took.
func (n *node) logEnded(o *store.Outcome, job logs.About, took time.Duration, facts []slog.Attr) {
	attrs := append(job.Attrs(), slog.String(logs.KeyState, o.Final.String()))
	if took > 0 {
		attrs = append(attrs, slog.Duration(logs.KeyTook, took))
	}
	n.log.LogAttrs(context.Background(), slog.LevelDebug, "job ended", append(attrs, facts...)...) //nolint:forbidigo // only for the level
}

// factsOf returns the attributes of an outcome.
func factsOf(o *store.Outcome) []slog.Attr {
	var facts []slog.Attr
	if o.Error != "" {
		facts = append(facts, slog.String(logs.KeyError, o.Error))
	}
	if o.Reason != "" {
		facts = append(facts, slog.String(logs.KeyReason, string(o.Reason)))
	}
	if o.Final == store.Retryable || o.Final == store.Scheduled {
		due := o.Due
		if due.IsZero() { // the answer of the store was lost
			due = time.Now().Add(o.Delay) //nolint:forbidigo // for readers of the log, beside the time of the line
		}
		facts = append(facts, slog.Time(logs.KeyRetryAt, due))
	}
	return append(facts, traceOf(o)...)
}

// traceOf returns the stack of the panic of an outcome, if any.
func traceOf(o *store.Outcome) []slog.Attr {
	if o.Trace == "" {
		return nil
	}
	return []slog.Attr{slog.String(logs.KeyStack, o.Trace)}
}

// unread is how long a run took if that is not told: it had not begun.
const unread = time.Duration(-1)

// needsAttention reports whether an outcome may need attention.
func needsAttention(o *store.Outcome, err error) bool {
	return err != nil || o.Err != nil || o.Final == store.Failed || o.Final == store.Retryable || usercode.IsPanic(o) || isHeld(o)
}

func isHeld(o *store.Outcome) bool { return o.Wait != nil && o.Wait.Held }
