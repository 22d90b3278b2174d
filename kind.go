package holdfast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Kind is a kind of job: its name, shared by producers, nodes and other languages, and the types of
// its args and result.
type Kind[In, Out any] struct {
	name string
	opts []EnqueueOption
	err  error
}

// NewKind names a kind. The options apply to all its jobs; options of an enqueue override them.
// MaxAttempts, Backoff, Timeout and HeartbeatTimeout are also overridden by those of the handler,
// and by what a person has set of the queue (see Client.SetQueue).
// Kinds can be package variables, because a wrong name or option is reported at the first use of
// the kind.
func NewKind[In, Out any](name string, opts ...EnqueueOption) Kind[In, Out] {
	k := Kind[In, Out]{name: name, opts: opts, err: checkKind(name)}
	if k.err == nil {
		var probe enqueueSpec
		for _, opt := range opts {
			if opt == nil {
				k.err = errors.Join(k.err, errNoOption)
				continue
			}
			k.err = errors.Join(k.err, opt.enqueue(&probe))
		}
	}
	return k
}

// Name returns the kind's name.
func (k Kind[In, Out]) Name() string { return k.name }

// Handle registers the kind's handler with a client, before its Run. A kind has one handler in a
// namespace. The error is ErrInvalid for a second one, for a client whose node runs, and for a
// wrong name or option.
//
// The handler's context is run itself. The returned error decides the outcome: nil completes the
// job with the result; an error retries it after its backoff while attempts are left; RetryAfter,
// Snooze, Cancel and Fail have other outcomes. A panic is an error with a stack. Args that do not
// decode into In fail the job at once, because a retry would not help.
func (k Kind[In, Out]) Handle(c *Client, handler func(run *Run, in In) (Out, error), opts ...HandleOption) error {
	if k.err != nil {
		return k.err
	}
	if handler == nil {
		return fmt.Errorf("kind %q: %w", k.name, invalid("handler", "must not be nil"))
	}
	h := &handlerSpec{Handler: engine.Handler{Kind: k.name}}
	for _, opt := range opts {
		if opt == nil {
			return fmt.Errorf("kind %q: %w", k.name, errNoOption)
		}
		if err := opt.handle(h); err != nil {
			return fmt.Errorf("kind %q: %w", k.name, err)
		}
	}
	call := func(run *Run) ([]byte, error) {
		var in In
		if err := store.SealError(run.run.Job().Args, run.run.Job().Codec); err != nil {
			return nil, Fail(err)
		}
		if err := json.Unmarshal(run.run.Job().Args, &in); err != nil {
			return nil, Fail(fmt.Errorf("cannot decode the args into %T: %w", in, err))
		}
		out, err := handler(run, in)
		if err != nil {
			return nil, c.checkContinued(err)
		}
		return c.encodeReturned(out)
	}
	chain := slices.Concat(c.around, h.around)
	h.Run = func(ctx context.Context, r engine.Attempt) ([]byte, error) {
		run := &Run{Context: ctx, run: r, client: c, strand: r.Main()}
		if len(chain) == 0 {
			return call(run)
		}
		return run.inside(chain, call)
	}
	return c.engine.Runner(c.namespace).Handle(&h.Handler)
}

// encodeReturned is encodeResult for what a function has returned: it would return the same again.
func (c *Client) encodeReturned(out any) ([]byte, error) {
	result, err := c.encodeResult(out)
	if err != nil {
		return nil, Fail(err)
	}
	return result, nil
}

// encodeResult encodes a result; an empty struct is stored as nothing.
func (c *Client) encodeResult(out any) ([]byte, error) {
	if _, empty := out.(struct{}); empty {
		return nil, nil
	}
	result, err := encode("result", out)
	if err == nil {
		err = checkJSON("result", result, c.limit)
	}
	if err != nil {
		return nil, err
	}
	return orNone(result), nil
}

// Enqueue stores a job and returns when it is durable. Concurrent enqueues share commits. If the
// job's unique or business key is held, nothing is stored, and the job that holds it is returned,
// as Existing tells; with Reject the error is a *store.UniqueError instead.
//
// The other errors are ErrInvalid, and ErrUnavailable if ctx ends meanwhile or the database has not
// answered for 15 seconds: the job may be stored, and repeating the enqueue with the same JobID is
// safe.
func (k Kind[In, Out]) Enqueue(ctx context.Context, c *Client, in In, opts ...EnqueueOption) (*Job[Out], error) {
	spec, err := k.build(c, in, opts)
	if err != nil {
		return nil, err
	}
	e := &spec.enqueue
	if !c.passes(spec) { // and there is no function to be made
		err = c.engine.Enqueue(ctx, []*store.Enqueue{e})
	} else {
		err = c.passOne(ctx, spec, func(ctx context.Context) error { return c.engine.Enqueue(ctx, []*store.Enqueue{e}) })
	}
	if err != nil {
		return nil, fmt.Errorf("enqueueing job %s of kind %q: %w", e.Job.ID, k.name, err)
	}
	if e.Err != nil {
		return nil, fmt.Errorf("enqueueing job of kind %q: %w", k.name, e.Err)
	}
	return jobOf[Out](c, e), nil
}

// EnqueueMany stores many jobs with the same options, a thousand per transaction and round trip. It
// returns the jobs in the order of the args. If any job was not stored, its element is nil, and the
// error is a *BatchError; the others are stored. To repeat what the database did not accept safely,
// use EnqueueBatch with ids of your own (JobID).
//
// Invalid args or options are an ErrInvalid before anything is stored.
func (k Kind[In, Out]) EnqueueMany(ctx context.Context, c *Client, ins []In, opts ...EnqueueOption) ([]*Job[Out], error) {
	specs, enqueues := make([]*enqueueSpec, len(ins)), make([]*store.Enqueue, len(ins))
	for i, in := range ins {
		spec, err := k.build(c, in, opts)
		if err != nil {
			return nil, fmt.Errorf("args %d of %d: %w", i+1, len(ins), err)
		}
		specs[i], enqueues[i] = spec, &spec.enqueue
	}
	answered, sent := 0, false
	err := c.pass(ctx, specs, func(ctx context.Context) (err error) {
		for i, spec := range specs {
			if spec.before != nil {
				if err := c.complete(spec); err != nil {
					return fmt.Errorf("args %d of %d: kind %q: %w", i+1, len(ins), k.name, err)
				}
			}
		}
		sent = true
		answered, err = c.enqueueAll(ctx, enqueues)
		return err
	})
	if err != nil && !sent {
		return nil, err
	}
	jobs := make([]*Job[Out], len(ins))
	refused := map[int]error{}
	for i, e := range enqueues[:answered] {
		if e.Err != nil {
			refused[i] = e.Err
			continue
		}
		jobs[i] = jobOf[Out](c, e)
	}
	return jobs, batchError(refused, answered, err)
}

// EnqueueTx stores a job in the caller's own transaction, wrapped by sqlite.Tx, postgres.Tx or
// postgres.SQLTx: the job exists if and when the transaction commits. Until then it holds the job's
// unique and business keys, so that others who enqueue with one of them wait or get ErrBusy. The
// errors are ErrInvalid and *store.UniqueError, after which the transaction can go on, and ErrBusy;
// after any other roll it back.
func (k Kind[In, Out]) EnqueueTx(ctx context.Context, c *Client, tx store.Tx, in In, opts ...EnqueueOption) (*Job[Out], error) {
	spec, err := k.build(c, in, opts)
	if err != nil {
		return nil, err
	}
	e := &spec.enqueue
	err = c.passOne(c.inTx(ctx), spec, func(ctx context.Context) error { return c.enqueueTx(ctx, tx, []*store.Enqueue{e}) })
	if err == nil {
		err = e.Err
	}
	if err != nil {
		return nil, fmt.Errorf("enqueueing job of kind %q: %w", k.name, err)
	}
	return jobOf[Out](c, e), nil
}

// Job returns the handle of the job with the given id. It does not ask the database whether there
// is one.
func (k Kind[In, Out]) Job(c *Client, id ID) *Job[Out] {
	return &Job[Out]{ID: id, client: c}
}

// args encodes args of the kind.
func (k Kind[In, Out]) args(in In) ([]byte, error) {
	if k.err != nil {
		return nil, k.err
	}
	args, err := encode("args", in)
	if err != nil {
		return nil, fmt.Errorf("kind %q: %w", k.name, err)
	}
	return args, nil
}

// build makes an enqueue, as Client.build does.
func (k Kind[In, Out]) build(c *Client, in In, opts []EnqueueOption) (*enqueueSpec, error) {
	args, err := k.args(in)
	if err != nil {
		return nil, err
	}
	spec, err := c.build(k.name, args, k.opts, opts)
	if err != nil {
		return nil, fmt.Errorf("kind %q: %w", k.name, err)
	}
	return spec, nil
}

// ContinueAsNew is returned by the kind's handler to start over with other args and an empty
// journal, under the same id. It keeps the journal of an endless function short. Signals not yet
// received stay; children keep running. Clients still see what it has published and streamed, the
// last value of each key and all items, as long as the job is kept. An endless function should
// therefore limit what it streams. A handler that returns the error of another kind, or args that
// an enqueue would refuse, fails its job.
func (k Kind[In, Out]) ContinueAsNew(in In) error {
	args, err := k.args(in)
	if err != nil {
		return Fail(err)
	}
	return &usercode.ContinueError{Kind: k.name, Args: args}
}

// checkContinued refuses args with which a job cannot continue as new, by the rules of an enqueue.
func (c *Client) checkContinued(err error) error {
	is := usercode.Look(err)
	if is.ContinueAsNew == nil {
		return err
	}
	if wrong := checkJSON("args", is.ContinueAsNew.Args, c.limit); wrong != nil {
		return Fail(fmt.Errorf("the handler returned ContinueAsNew: %w", wrong))
	}
	return err
}
