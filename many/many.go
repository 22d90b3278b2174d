package many

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/gather"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Handle registers the handler of a kind that works up to most jobs at once. A batch that is not
// full begins when its first job has waited for wait; 0 adds no wait to jobs that were claimed
// together. Of a Task it takes the Kind in it.
//
// The error that the handler returns, nil included, is the outcome of each job that has none of its
// own; nil completes it with the zero Out. The rules of Kind.Handle apply. The errors of Handle are
// those, and ErrInvalid for most below 1 or a negative wait.
func Handle[In, Out any](
	c *holdfast.Client, kind holdfast.Kind[In, Out], most int, wait time.Duration, handler func(runs []*Run[In, Out]) error,
	opts ...holdfast.HandleOption,
) error {
	switch {
	case handler == nil:
		return kind.Handle(c, nil, opts...)
	case most < 1:
		return fmt.Errorf("%w: kind %q: batches of at most %d jobs", holdfast.ErrInvalid, kind.Name(), most)
	case wait < 0:
		return fmt.Errorf("%w: kind %q: a wait of %v for more jobs", holdfast.ErrInvalid, kind.Name(), wait)
	}
	group := gather.New(most, wait, func(runs []*Run[In, Out]) { work(runs, handler) })
	gathers := access.Gathers(group).(holdfast.HandleOption) //nolint:errcheck // it always is
	return kind.Handle(c, func(run *holdfast.Run, in In) (Out, error) {
		m := &Run[In, Out]{Context: apart{run}, Args: in, run: run}
		if !group.Join(run, run.Lease(), m) {
			return m.out, context.Cause(run)
		}
		return m.outcome()
	}, append([]holdfast.HandleOption{gathers}, opts...)...)
}

// work calls the handler with a batch, and gives its outcome to those that have none of their own.
func work[In, Out any](runs []*Run[In, Out], handler func([]*Run[In, Out]) error) {
	err := usercode.ErrGoexit // if it ends the goroutine
	defer func() {
		if p := recover(); p != nil {
			err = usercode.PanicOf(p)
		}
		for _, r := range runs {
			r.settle(err)
		}
	}()
	err = handler(slices.Clone(runs))
}

// Run is the run of one of the jobs of a batch. It is its context, which ends as that of a
// holdfast.Run. It is used by the handler that was given it, until that returns; the methods may be
// called from any goroutine.
type Run[In, Out any] struct {
	context.Context

	// Args are the args of the job.
	Args In

	run *holdfast.Run

	mu      sync.Mutex
	decided bool
	over    bool // the handler has returned
	out     Out
	err     error
}

// apart is a run as a context in which no run is found.
type apart struct{ *holdfast.Run }

func (a apart) Value(key any) any {
	v := a.Run.Value(key)
	if _, is := v.(*holdfast.Run); is {
		return nil
	}
	return v
}

// Return is the outcome of the job: what a handler of single jobs would return. The last call
// counts, and none after the handler has returned.
func (r *Run[In, Out]) Return(out Out, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.decided, r.out, r.err = true, out, err
	}
}

// Fail is Return without a result: err decides the outcome, such as holdfast.RetryAfter; nil
// completes the job with the zero Out.
func (r *Run[In, Out]) Fail(err error) {
	var none Out
	r.Return(none, err)
}

// settle ends the time for Return, with an outcome unless there is one.
func (r *Run[In, Out]) settle(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.decided {
		r.err = err
	}
	r.over = true
}

// outcome is what the handler of the job returns. A panic of the batch is one of each of its jobs.
func (r *Run[In, Out]) outcome() (Out, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, is := r.err.(*usercode.PanicError); is { //nolint:errorlint // it is not wrapped
		panic(p)
	}
	return r.out, r.err
}

// ID returns the job's id.
func (r *Run[In, Out]) ID() holdfast.ID { return r.run.ID() }

// Queue returns the job's queue.
func (r *Run[In, Out]) Queue() string { return r.run.Queue() }

// Attempt returns the number of the job's attempt; the first is 1.
func (r *Run[In, Out]) Attempt() int { return r.run.Attempt() }

// EnqueuedAt returns the time at which the job was enqueued.
func (r *Run[In, Out]) EnqueuedAt() time.Time { return r.run.EnqueuedAt() }

// Tags returns the job's tags, and Metadata its metadata, as in holdfast.Run.
func (r *Run[In, Out]) Tags() []string { return r.run.Tags() }

// Metadata returns the metadata with which the run began, a JSON object, or nil.
func (r *Run[In, Out]) Metadata() []byte { return r.run.Metadata() }

// Lease returns the lease under which the run writes; see holdfast.Run.
func (r *Run[In, Out]) Lease() store.Lease { return r.run.Lease() }

// Logger returns log, or the client's logger if log is nil, with what names the job.
func (r *Run[In, Out]) Logger(log *slog.Logger) *slog.Logger { return r.run.Logger(log) }

// Progress reports the progress of the job to people; see holdfast.Run.
func (r *Run[In, Out]) Progress(percent float64, message string) { r.run.Progress(percent, message) }

// Heartbeat reports that the job makes progress; see holdfast.HeartbeatTimeout.
func (r *Run[In, Out]) Heartbeat() { r.run.Heartbeat() }

// SaveCheckpoint stores a value for the next attempt of the job; see holdfast.Run.
func (r *Run[In, Out]) SaveCheckpoint(v any) error { return r.run.SaveCheckpoint(v) }

// LoadCheckpoint decodes what an attempt of the job has saved; see holdfast.Run.
func (r *Run[In, Out]) LoadCheckpoint(v any) (bool, error) { return r.run.LoadCheckpoint(v) }
