// Package access is the door through which packages beside the root one reach what a client stands
// on, so that a capability of its own package needs no exported method of Client.
//
// The root package sets the variables when it is initialised, and a package that has a
// *holdfast.Client imports the root package. It cannot be named here, since the root package
// imports this one.
package access

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/internal/bulk"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/relay"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/internal/timed"
	"github.com/holdfastdev/holdfast/store"
)

// Runner returns the runner of a *holdfast.Client's namespace.
var Runner func(client any) *engine.Runner

// Engine returns what a *holdfast.Client stands on, and the name under which its actions are
// recorded.
var Engine func(client any) (e *engine.Engine, actor string)

// Relay returns the store of a *holdfast.Client as it is kept, without its codec, and what passes
// wake-ups on between its process and those who write through it from elsewhere.
var Relay func(client any) *relay.Store

// Job returns the job that a *holdfast.Client would enqueue for a holdfast.BatchItem, without an
// id, or why it cannot be one of many: it has an id, a unique key, a run time or a deadline of its
// own.
var Job func(client, item any) (*store.Job, error)

// EditJob changes such a job: its args, unless they are nil, and what a []holdfast.EnqueueOption
// says.
var EditJob func(client any, job *store.Job, args []byte, opts any) error

// Child returns the enqueue of a holdfast.BatchItem of a *holdfast.Client as a child that answers
// its parent, or why it cannot be one. The caller says whose child it is.
var Child func(ctx context.Context, client, item any) (*store.Enqueue, error)

// Gathers returns a holdfast.HandleOption for a handler that works several runs together.
var Gathers func(g engine.Gatherer) any

// After returns a holdfast.EnqueueOption that lets a job come after others.
var After func(on []store.Dependency) any

// EnqueueMiddleware is what holdfast.WithEnqueueMiddleware takes.
type EnqueueMiddleware = func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error

// AroundEnqueues returns a holdfast.Option with a rule: WithEnqueueMiddleware of what makes
// returns, which gets the client's store and the rules of all such options, and is called once.
var AroundEnqueues func(rule any, makes func(st store.Store, rules []any) EnqueueMiddleware) any

// CallbackWith makes a *holdfast.Callback of a *holdfast.Run with rules, or with why they are none.
var CallbackWith func(run any, name string, rules *journal.Rules, refused error) (any, error)

// KeepLogs returns a holdfast.Option that says what is kept of what runs log.
var KeepLogs func(c runlog.Config) any

// Telemetry is what package telemetry puts around what a client does.
type Telemetry struct {
	Observer *observer.Observer
	Hooks    hooks.Hooks
	// Around is a holdfast.Middleware, outside of all others.
	Around any
	// Enqueues is outside of all other middleware of enqueues.
	Enqueues EnqueueMiddleware
	// Sends returns the header traceparent that a message carries which is sent in a context; "":
	// none.
	Sends func(ctx context.Context) string
	// Queried is told of each call of the store, and how long it took.
	Queried func(op timed.Operation, took time.Duration)
	// Step is told when the function of a step is called, and returns its context and what is
	// called when it has ended: with its error, or with returned false if it has panicked or its
	// goroutine ends.
	Step func(ctx context.Context, name string, attempt int) (inside context.Context, end func(returned bool, err error))
}

// WithTelemetry returns a holdfast.Option, which a client has once.
var WithTelemetry func(t Telemetry) any

// Build returns a holdfast.Option with which nodes say that this is their program; "": what Go
// says.
var Build func(program string) any

// Fails returns a holdfast.Option with which Open fails.
var Fails func(err error) any

// SaveWith stores the checkpoint of a *holdfast.Run, and enqueues jobs in the same transaction.
// Their ids are given; those that are there already stay as they are. A job is one of Job.
var SaveWith func(run any, value []byte, jobs []*store.Job) error

// JobOf returns the job of a *holdfast.Run, with which it began.
var JobOf func(run any) *store.Job

// Senders returns in which spans those messages were sent that a *holdfast.Run has received, as
// headers traceparent, each once and at most 100: not those that an earlier run had received.
var Senders func(run any) []string

// NoFacts returns a holdfast.Option without which nodes count and measure.
var NoFacts func() any

// OpenSealed decodes what a job has that was read as it is kept.
var OpenSealed func(ctx context.Context, c store.Codec, r *store.Record, j *store.Journal, lines []*[]byte)

// Archive returns a holdfast.Option with which nodes keep jobs elsewhere before they remove them.
var Archive func(to func(ctx context.Context, st store.Store, jobs []store.EndedJob) error) any

// Describes returns a holdfast.Option with which nodes tell of queues and kinds; the namespace of
// each is that of the node.
var Describes func(list []store.Descriptor) any

// Jobs returns what an operation does with the jobs of a *holdfast.Client's namespace, under the
// client's name.
var Jobs func(client any) bulk.Jobs

// NoOperations returns a holdfast.Option without which a node handles operations.
var NoOperations func() any

// Maintains returns a holdfast.Option with which a node has no handlers.
var Maintains func() any

type inTx struct{}

// WithTx returns the context of an enqueue in a transaction of the caller, for its middleware.
func WithTx(ctx context.Context) context.Context { return context.WithValue(ctx, inTx{}, true) }

// InTx reports whether a context is one of WithTx, or was made from it.
func InTx(ctx context.Context) bool { return ctx.Value(inTx{}) != nil }

type inTrace struct{}

// InTrace returns the context of a schedule.Trigger, a signal or the answer of a callback, whose
// jobs or message carry a trace, as the headers traceparent and tracestate say it; "": none. A
// message carries no tracestate.
func InTrace(ctx context.Context, parent, state string) context.Context {
	if parent == "" {
		return ctx
	}
	return context.WithValue(ctx, inTrace{}, [2]string{parent, state})
}

// TraceOf returns the trace of a context of InTrace, or of one that was made from it.
func TraceOf(ctx context.Context) (parent, state string) {
	headers, _ := ctx.Value(inTrace{}).([2]string)
	return headers[0], headers[1]
}

// LimitKey returns a holdfast.EnqueueOption that lets a job count under a key of a limit per key.
var LimitKey func(limit, key string) any

// FairKey returns a holdfast.EnqueueOption that gives a job a fair key.
var FairKey func(key string) any

// FairKeyOf returns a holdfast.EnqueueOption that gives a job the fair key that is made of its
// args; "": none.
var FairKeyOf func(of func(args []byte) (string, error)) any

// Reserve takes a permit of a limit in a *holdfast.Run, as a step of the name that is called step,
// and returns what the journal remembers of it. The namespace is that of the run.
var Reserve func(run any, step string, v *store.Reservation) ([]byte, error)

// FollowUp returns a holdfast.EnqueueOption that enqueues a holdfast.BatchItem with the job, to
// come after it.
var FollowUp func(policy store.FailurePolicy, item any) any

// KeepTurn returns a holdfast.EnqueueOption that lets a job keep the turn of its ordering key when
// it fails.
var KeepTurn func() any

// Follows returns the job whose end the job of a *holdfast.Run follows; zero if it is no follow-up.
var Follows func(run any) store.ID

// Member returns a holdfast.EnqueueOption that lets a job belong to a batch.
var Member func(batch store.ID) any

// InBatch returns a holdfast.BatchItem whose job belongs to a batch.
var InBatch func(item any, batch store.ID) any

// BatchOf returns the batch to which the job of a *holdfast.Run belongs; zero if it does to none.
var BatchOf func(run any) store.ID

// Called returns of which batch the job of a *holdfast.Run was enqueued, as it had ended, and how.
var Called func(run any) store.BatchResult

// Search returns a holdfast.EnqueueOption that gives a job a search attribute.
var Search func(a store.Attribute) any

// SearchRun gives the job of a *holdfast.Run search attributes, or takes those away that have no
// value.
var SearchRun func(run any, list []store.Attribute) error

// Tests is what a test sets up below a client.
type Tests struct {
	// Rarely is that of engine.Config.
	Rarely time.Duration
	// Stub returns what is called instead of the function of a step, of the same type as like,
	// which is nil; or nil, if that function is to be called. tx tells that the step is a StepTx,
	// whose function is of another type.
	Stub func(kind, step string, like any, tx bool) (any, error)
}

// WithTests returns a holdfast.Option.
var WithTests func(t Tests) any

// Codec returns a holdfast.Option that has a codec encode payloads; nil: none does.
var Codec func(c store.Codec) any

// Redact returns a holdfast.Option that puts a handler around that of the logger.
var Redact func(around func(slog.Handler) slog.Handler) any
