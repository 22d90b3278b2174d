package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
)

// Run is one run of one job, as its handler sees it. A function that is given one uses that one, in
// its own goroutine, and until it returns: anything else is an ErrInvalid of the operation, with
// which the attempt fails. What only tells (ID, Attempt, Logger …) and Progress may be called from
// anywhere. It is the handler's context: it ends with a cause, which context.Cause tells, when the
// job is cancelled (ErrCancelled), takes too long (ErrTimeout), was given to another node
// (ErrLeaseLost) or its node stops (ErrShutdown). A handler should return soon after; what it
// returns as an error then is not counted against a job whose node stops.
type Run struct {
	context.Context

	run    *engine.Run
	client *Client
	strand *engine.Strand
}

// with returns the run as another strand of it sees it.
func (r *Run) with(ctx context.Context, strand *engine.Strand) *Run {
	return &Run{Context: ctx, run: r.run, client: r.client, strand: strand}
}

// ID is the job's id.
func (r *Run) ID() ID { return r.run.Job().ID }

// Kind is the job's kind.
func (r *Run) Kind() string { return r.run.Job().Kind }

// Queue is the job's queue.
func (r *Run) Queue() string { return r.run.Job().Queue }

// Attempt counts the runs of the job that count, this one included.
func (r *Run) Attempt() int { return r.run.Job().Attempt }

// Tags are the job's tags.
func (r *Run) Tags() []string { return r.run.Job().Tags }

// Metadata is the job's metadata, a JSON object, or nil.
func (r *Run) Metadata() json.RawMessage { return r.run.Job().Metadata }

// EnqueuedAt is when the job was enqueued.
func (r *Run) EnqueuedAt() time.Time { return r.run.Job().CreatedAt }

// Lease is the right under which the run writes. Its Number grows with every run of the job and never repeats: store it with what
// the handler writes elsewhere, and refuse a write whose number is lower than the one stored, to be safe from a run that was
// declared dead and goes on.
func (r *Run) Lease() Lease { return r.run.Lease() }

// Client is the client whose node runs the job.
func (r *Run) Client() *Client { return r.client }

// Logger returns the given logger, or the client's (see WithLogger) if it is nil, with the job's id, kind, queue and attempt, and the node:
// the keys under which Holdfast's own lines name them.
func (r *Run) Logger(log *slog.Logger) *slog.Logger { return r.run.Logger(log) }

// Progress tells people how far the run is: 0 to 100, and a message of at most 1 KiB. It costs nothing to call often: it is
// written at most twice a second.
func (r *Run) Progress(percent float64, message string) { r.run.Progress(percent, message) }

// SaveCheckpoint stores a value, as JSON, for the next attempt of the job, and returns when it is durable. It replaces the one before. The
// error is ErrLeaseLost if the job was given to somebody else.
func (r *Run) SaveCheckpoint(v any) error {
	data, err := encode(v)
	if err != nil {
		return invalid("checkpoint", "cannot encode %T: %v", v, err)
	}
	if err := checkJSON("checkpoint", data, r.client.limit); err != nil {
		return err
	}
	return r.run.SaveCheckpoint(r.Context, data)
}

// LoadCheckpoint decodes into v the checkpoint that this or an earlier attempt saved, and reports whether there is one.
func (r *Run) LoadCheckpoint(v any) (bool, error) {
	c := r.run.Checkpoint()
	if c == nil || c.Value == nil {
		return false, nil
	}
	if err := json.Unmarshal(c.Value, v); err != nil {
		return true, fmt.Errorf("cannot decode the checkpoint of job %s into %T: %w", r.ID(), v, err)
	}
	return true, nil
}
