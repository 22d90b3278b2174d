package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Run is one run of one job, as its handler sees it. A function that is given a Run must use that
// one, in its own goroutine, and only until it returns. An operation that breaks this rule returns
// an ErrInvalid, and the attempt fails with it. Methods that only report (ID, Attempt, Logger …),
// Progress and Heartbeat may be called from anywhere.
//
// The operations of a durable function, from Sleep to Step, return an error when the run is ending:
// ErrCancelled or ErrTimeout; when its journal is full: ErrJournalFull; and, if the code uses the
// run as it must not, an ErrInvalid. Return that error. If the run is parked, its lease is lost or
// its node stops, they do not return: the goroutine ends, and deferred functions run.
//
// A Run is the handler's context. It ends with a cause, which context.Cause returns, when the job
// is cancelled (ErrCancelled), takes too long (ErrTimeout), makes no progress (ErrHeartbeat), was
// given to another node (ErrLeaseLost) or its node stops (ErrShutdown). A handler should return
// soon after. If the node stops, an error that it then returns does not count as an attempt.
type Run struct {
	context.Context

	run    engine.Attempt
	client *Client
	strand *replay.Strand
	values context.Context // given to WithContext; nil: none
}

// ID returns the job's id.
func (r *Run) ID() ID { return r.run.Job().ID }

// Kind returns the job's kind.
func (r *Run) Kind() string { return r.run.Job().Kind }

// Queue returns the job's queue.
func (r *Run) Queue() string { return r.run.Job().Queue }

// Attempt returns the number of the attempt; the first is 1.
func (r *Run) Attempt() int { return r.run.Job().Attempt }

// Tags returns the tags with which the run began.
func (r *Run) Tags() []string { return r.run.Job().Tags }

// Metadata returns the metadata with which the run began, a JSON object, or nil.
func (r *Run) Metadata() json.RawMessage { return r.run.Job().Metadata }

// EnqueuedAt returns the time at which the job was enqueued.
func (r *Run) EnqueuedAt() time.Time { return r.run.Job().CreatedAt }

// Schedule returns the schedule that has enqueued the job, and the nominal time that it is for; ""
// if none has.
func (r *Run) Schedule() (name string, nominal time.Time) {
	o := &r.run.Job().Options
	if o.Nominal.IsZero() {
		return "", time.Time{}
	}
	return o.Source, o.Nominal
}

// Lease returns the lease under which the run writes. Its Number grows with every run of the job
// and never repeats. To be safe from a run that was declared dead but is still going, store the
// number with what the handler writes elsewhere, and refuse a write with a lower number than the
// stored one.
func (r *Run) Lease() store.Lease { return r.run.Lease() }

// Client returns the client whose node runs the job.
func (r *Run) Client() *Client { return r.client }

// Logger returns log, or the client's logger (see WithLogger) if log is nil, with the job's id,
// kind, queue and attempt, and the node. The keys are those of Holdfast's own lines.
//
// What is logged by it is kept with the job as well, from INFO on: package joblog reads it, and
// says how much is kept, when it is stored, and how to turn that off.
func (r *Run) Logger(log *slog.Logger) *slog.Logger { return r.run.Logger(r.strand, log) }

// Progress reports the progress of the run to people: 0 to 100 percent, and a message of at most
// 1 KiB; what is beyond is cut off. It costs nothing to call often, because it is written at most
// twice a second.
func (r *Run) Progress(percent float64, message string) {
	r.Heartbeat()
	r.run.Progress(percent, message)
}

// Heartbeat reports that the run makes progress; see HeartbeatTimeout. Without one it does nothing.
// It costs nothing to call often. In the function of a step it counts for the step as well.
func (r *Run) Heartbeat() { r.strand.Beat() }

// SaveCheckpoint stores a value, as JSON, for the next attempt of the job, and returns when it is
// durable. It replaces the previous checkpoint. The errors are ErrInvalid for a value that does not
// encode or is too large (WithMaxPayload), ErrLeaseLost if the run has lost its lease, and
// ErrUnavailable if the database does not answer: the value is written with the end of the run
// then.
func (r *Run) SaveCheckpoint(v any) error {
	data, err := encode("checkpoint", v)
	if err != nil {
		return err
	}
	if err := checkJSON("checkpoint", data, r.client.limit); err != nil {
		return err
	}
	r.strand.Hold()
	defer r.strand.Release()
	return r.run.SaveCheckpoint(r.Context, r.strand, data)
}

// saveWith is SaveCheckpoint with jobs that are enqueued in the same transaction.
func (r *Run) saveWith(value []byte, jobs []*store.Job) error {
	run, is := r.run.(*engine.Run)
	if !is {
		return invalid("run", "it is not one of a node")
	}
	enqueues := make([]*store.Enqueue, len(jobs))
	for i, j := range jobs {
		enqueues[i] = &store.Enqueue{Job: *j, KnownID: true}
	}
	r.strand.Hold()
	defer r.strand.Release()
	return run.SaveWith(r.Context, r.strand, value, enqueues)
}

// SetMetadata replaces the metadata of the job: v marshals to a JSON object of at most 64 KiB. It
// is stored with what the run writes next, a checkpoint that the same function saves, an operation
// of a durable function or the outcome, and costs no write of its own. From then on List and Get
// show it. A run that has lost its lease writes nothing more.
//
// When a durable function is replayed, what it had set before an operation that is in the journal
// is not stored again, so a change that people made since stays. What it had set before a wait from
// which it has just been woken is: until a signal or a child's answer has come, the journal has
// nothing of that wait. Only the handler and compensations may set it; in a function that Go has
// started it is an ErrInvalid.
func (r *Run) SetMetadata(v any) error {
	data, err := metadataOf(v)
	if err != nil {
		return err
	}
	return r.strand.Say(&store.Meta{Metadata: data})
}

// SetTags replaces the tags of the job, like SetMetadata: at most 20, each at most 200 bytes.
// Without any, the job has none.
func (r *Run) SetTags(tags ...string) error {
	if err := valid.Tags(tags); err != nil {
		return err
	}
	return r.strand.Say(&store.Meta{Tags: append([]string{}, tags...)})
}

// search gives the job search attributes, or takes those away that have no value.
func (r *Run) search(list []store.Attribute) error {
	ctx, done := context.WithTimeout(r.Context, store.CallTimeout)
	defer done()
	if err := r.client.engine.Declared.Check(ctx, r.run.Job().Namespace, list, true); err != nil {
		return err
	}
	return r.strand.Say(&store.Meta{Attributes: list})
}

// LoadCheckpoint decodes into v the checkpoint that this or an earlier attempt saved, and reports
// whether there is one. The error is that of one which does not decode.
func (r *Run) LoadCheckpoint(v any) (bool, error) {
	c := r.run.Checkpoint()
	if c == nil || c.Value == nil {
		return false, nil
	}
	if err := store.SealErrorJSON(c.Value); err != nil {
		return true, fmt.Errorf("cannot decode the checkpoint of job %s: %w", r.ID(), err)
	}
	if err := json.Unmarshal(c.Value, v); err != nil {
		return true, fmt.Errorf("cannot decode the checkpoint of job %s into %T: %w", r.ID(), v, err)
	}
	return true, nil
}
