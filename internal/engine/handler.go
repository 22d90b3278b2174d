package engine

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Handler runs the jobs of one kind.
type Handler struct {
	Kind string
	// Run does the work and returns the encoded result. ctx ends with a cause: see usercode.
	Run func(ctx context.Context, run Attempt) ([]byte, error)
	// MaxAttempts applies to jobs whose enqueue did not set it; store.DefaultMaxAttempts if 0.
	MaxAttempts int
	// Timeout of one attempt, for jobs whose enqueue did not set it; none if 0.
	Timeout time.Duration
	// Heartbeat is how long an attempt may go without progress, for jobs whose enqueue did not set
	// it; no limit if 0.
	Heartbeat time.Duration
	// Backoff applies to jobs whose enqueue did not set it. BackoffFunc, if set, returns the delay
	// after the given attempt instead. It is also called before the node joins, for each attempt
	// but the last and fifty at most, because other nodes rescue its jobs by that policy.
	Backoff     store.Backoff
	BackoffFunc func(attempt int) time.Duration

	// Version of the code, if it has one. If Pinned, durable runs that start here run only on nodes
	// that have or accept it.
	Version string
	Pinned  bool
	// Accepts are other versions whose runs this code takes over.
	Accepts []string

	// Own, if set, says that the kind is one of Holdfast's own, and the queue of its jobs, which
	// the node serves beside those that it was told to. A node needs another handler besides.
	Own string

	// Gather, if set, works several runs of the kind together; Run joins them.
	Gather Gatherer
}

// Gatherer is what a node tells of the runs of a kind that are worked together; see package gather.
type Gatherer interface {
	// Expect tells of a run that has a slot and is about to begin.
	Expect(run store.Lease)
	// Left tells that a run has ended and passed its slot on.
	Left(run store.Lease)
	// Hurry makes runs that wait for others wait no longer, or ends that.
	Hurry(on bool)
}

// Attempt is what a handler sees of its run. *Run implements it on a node.
type Attempt interface {
	// Job returns the job; its Attempt counts this run.
	Job() *store.Job
	// Lease is the lease under which the run writes.
	Lease() store.Lease
	// Main returns the strand of the handler itself.
	Main() *replay.Strand
	// Logger returns log, or the node's logger if it is nil, with the attributes of the job. What a
	// strand logs by it is kept with the job.
	Logger(by *replay.Strand, log *slog.Logger) *slog.Logger
	// Checkpoint is what this or an earlier attempt left, or nil.
	Checkpoint() *store.Checkpoint
	// Progress records how far the run is.
	Progress(percent float64, message string)
	// SaveCheckpoint stores a value for the next attempt, and returns when it is durable.
	SaveCheckpoint(ctx context.Context, by *replay.Strand, value []byte) error
}

// claims are the names under which jobs of the kind are claimed.
func (h *Handler) claims() []string {
	names := []string{h.Kind}
	if h.Version != "" {
		names = append(names, h.Kind+"@"+h.Version)
	}
	for _, v := range h.Accepts {
		names = append(names, h.Kind+"@"+v)
	}
	return names
}

// bindTo is the version that durable runs are bound to from now on.
func (h *Handler) bindTo() string {
	if h.Pinned {
		return h.Version
	}
	return ""
}

// policySample bounds the number of delays of a BackoffFunc in a policy. The last one holds for
// later attempts.
const policySample = 50

// policy is what the handler says of its jobs, by which other nodes rescue them, too. It samples
// BackoffFunc for the attempts that may be followed by another, until it panics.
func (h *Handler) policy(lines *logs.Limiter) store.Policy {
	p := store.Policy{MaxAttempts: h.MaxAttempts, Backoff: h.Backoff, Timeout: h.Timeout, Heartbeat: h.Heartbeat}
	if h.BackoffFunc == nil {
		return p
	}
	last := p.Attempts(&store.Job{}) - 1
	for attempt := 1; attempt <= min(last, policySample); attempt++ {
		delay, ok := h.askBackoff(attempt, lines)
		if !ok {
			break
		}
		p.Delays = append(p.Delays, delay)
	}
	return p
}

// askBackoff calls BackoffFunc, which is user code: ok is false if it panicked, which is logged.
func (h *Handler) askBackoff(attempt int, lines *logs.Limiter) (delay time.Duration, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			lines.Say(slog.LevelError, logs.About{Kind: h.Kind, Attempt: attempt},
				"the BackoffFunc of a handler panicked; the last wait that it returned is used",
				slog.String(logs.KeyError, usercode.PanicText(p)), slog.String(logs.KeyStack, string(debug.Stack())))
		}
	}()
	return max(h.BackoffFunc(attempt), 0), true
}

// backoff is the delay after the failure of the running attempt. policy is the one that the node
// has joined with, for the job's queue: its delays apply if BackoffFunc panics.
func (h *Handler) backoff(job *store.Job, policy store.Policy, lines *logs.Limiter) time.Duration {
	if h.BackoffFunc == nil {
		return policy.Delay(job, job.Attempt)
	}
	says := policy
	says.Backoff = store.DefaultBackoff // that of the handler, if only one attempt was planned for
	if _, from := says.Of(job); from.Backoff == store.ByHandler {
		if delay, ok := h.askBackoff(job.Attempt, lines); ok {
			return delay
		}
	}
	return policy.Delay(job, job.Attempt)
}
