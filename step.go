package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// Step calls fn and records its result in the journal. Once the result is durable, the step never
// runs again, and later runs of the job get the result from the journal. Until then fn may run more
// than once, if the node dies. Its outside effects should be idempotent, see IdempotencyKey.
//
// A failure is a *StepError. If the handler carries on, the failure is recorded and replays as the
// same failure. If the handler returns it, it is not recorded: the job is retried, and the step
// with it. MaxAttempts, Backoff or RetryIf, alone or together, retry the step itself. Timeout
// limits each of its attempts.
//
// fn must not use the operations of a run, because steps do not nest. It may use its context, a
// client, Progress, SaveCheckpoint and IdempotencyKey.
func Step[T any](run *Run, name string, fn func(ctx context.Context) (T, error), opts ...StepOption) (T, error) {
	var out T
	policy, err := stepPolicy(name, opts)
	if err == nil && fn == nil {
		err = noFunction("step " + name)
	}
	if err == nil && run.client.stub != nil {
		var instead func(ctx context.Context) (T, error)
		if instead, err = stubbed[T](run, name, false); instead != nil {
			fn = instead
		}
	}
	if err != nil {
		return out, err
	}
	return step(run, name, policy, fn)
}

func step[T any](run *Run, name string, policy replay.StepPolicy, fn func(ctx context.Context) (T, error)) (T, error) {
	data, err := run.strand.Step(name, policy, func(ctx context.Context, attempt int) ([]byte, error) {
		v, err := call(ctx, run, name, attempt, fn)
		if err != nil {
			return nil, err
		}
		return run.client.encodeReturned(v)
	})
	if err != nil {
		var none T
		return none, failure(err)
	}
	return decodeResult[T](name, data)
}

// call calls the function of a step, with its context, which ends as ends does.
func call[T any](ends context.Context, run *Run, name string, attempt int, fn func(ctx context.Context) (T, error)) (v T, err error) {
	ctx := run.stepContext(ends, attempt)
	if run.client.onStep == nil {
		return fn(ctx)
	}
	ctx, end := run.client.onStep(ctx, name, attempt)
	returned := false
	defer func() { end(returned, err) }()
	v, err = fn(ctx)
	returned = true
	return v, err
}

// stubbed returns what a test has put in place of a step's function, or nil. It is not told that
// function, which would have to be allocated then in each step of a program that is no test.
func stubbed[T any](run *Run, name string, tx bool) (instead func(ctx context.Context) (T, error), err error) {
	found, err := run.client.stub(run.Kind(), name, instead, tx)
	if found == nil || err != nil {
		return nil, err
	}
	return found.(func(ctx context.Context) (T, error)), nil //nolint:errcheck // of that type
}

// Transactor runs functions in transactions of the database that holds the jobs: sqlite.Begin,
// postgres.Begin and postgres.BeginSQL make one.
type Transactor[Tx any] interface {
	// Transact begins a transaction, calls fn with it, and commits it, or rolls it back if fn
	// fails.
	Transact(ctx context.Context, fn func(tx Tx, wrapped store.Tx) error) error
}

// StepTx is a Step whose writes to the jobs' own database happen exactly once: fn writes in the
// transaction that records the step, which db begins and, if fn returns no error, commits. fn must
// not end it. Until it ends it keeps the job, and what others want of that waits; all other jobs go
// on. The options and errors are those of Step; a db of another kind of database than the client's
// is an ErrInvalid.
func StepTx[T, Tx any](
	run *Run, name string, db Transactor[Tx], fn func(ctx context.Context, tx Tx) (T, error), opts ...StepOption,
) (T, error) {
	var out T
	policy, err := stepPolicy(name, opts)
	if err == nil && run.client.stub != nil {
		var instead func(ctx context.Context) (T, error)
		if instead, err = stubbed[T](run, name, true); instead != nil {
			return step(run, name, policy, instead)
		}
	}
	switch {
	case err != nil:
	case fn == nil:
		err = noFunction("step " + name)
	case db == nil:
		err = invalid("step "+name, "its Transactor must not be nil")
	}
	if err != nil {
		return out, err
	}
	data, err := run.strand.StepTx(name, policy, func(ctx context.Context, attempt int, commit func(store.Tx, []byte) error) error {
		_, err := call(ctx, run, name, attempt, func(ctx context.Context) (any, error) {
			return nil, stepInTx(ctx, run.client, db, fn, commit)
		})
		return err
	})
	if err != nil {
		return out, failure(err)
	}
	return decodeResult[T](name, data)
}

// stepInTx calls the function of a StepTx in a transaction, and commits it with its result.
func stepInTx[T, Tx any](
	ctx context.Context, c *Client, db Transactor[Tx], fn func(ctx context.Context, tx Tx) (T, error), commit func(store.Tx, []byte) error,
) error {
	return db.Transact(ctx, func(tx Tx, wrapped store.Tx) error {
		if err := c.checkTx(wrapped); err != nil {
			return err
		}
		v, err := fn(ctx, tx)
		if err != nil {
			return err
		}
		data, err := c.encodeReturned(v)
		if err != nil {
			return err
		}
		return commit(wrapped, data)
	})
}

// reserve takes a permit of a limit in the transaction that records it, as a step.
func (r *Run) reserve(step string, v *store.Reservation) ([]byte, error) {
	if err := checkName("step", step); err != nil {
		return nil, err
	}
	v.Namespace = r.client.namespace
	taken := false
	data, err := r.strand.StepTx(step, replay.StepPolicy{}, func(_ context.Context, _ int, commit func(store.Tx, []byte) error) error {
		taken = true
		return commit(v, nil)
	})
	if err != nil {
		return nil, failure(err)
	}
	if taken {
		data = v.Append.Entries[0].Data
	}
	return data, nil
}

func stepPolicy(name string, opts []StepOption) (replay.StepPolicy, error) {
	if err := checkName("step", name); err != nil || len(opts) == 0 {
		return replay.StepPolicy{}, err
	}
	var p replay.StepPolicy // escapes to the options
	for _, opt := range opts {
		if opt == nil {
			return p, errNoOption
		}
		if err := opt.step(&p); err != nil {
			return p, fmt.Errorf("step %s: %w", name, err)
		}
	}
	if p.Attempts == 0 && (p.Backoff != (store.Backoff{}) || p.Retry != nil) {
		p.Attempts = store.DefaultMaxAttempts // an option about retries implies retries
	}
	return p, nil
}

// decodeResult decodes the recorded result of a step. It is also applied to a new result, so that
// the code sees the same value then and on every replay.
func decodeResult[T any](step string, data []byte) (T, error) {
	var out T
	if data == nil {
		return out, nil
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, Fail(fmt.Errorf("cannot decode the result of step %s into %T: %w", step, out, err))
	}
	return out, nil
}

// Sleep waits for d, durably: the run is parked, and the wait survives restarts. It returns at once
// if d is not positive. A time after the year 9999 is an ErrInvalid.
func (r *Run) Sleep(d time.Duration) error { return r.strand.Sleep(await.Limit{Within: d, Set: true}) }

// SleepUntil waits until t, durably. It returns at once if t has passed.
func (r *Run) SleepUntil(t time.Time) error { return r.strand.Sleep(await.Limit{Until: t, Set: true}) }

// Now returns the time, the same on every replay. Use it instead of time.Now wherever the code
// depends on the time.
func (r *Run) Now() (time.Time, error) { return r.strand.Now() }

// Random returns a source of random numbers, the same ones on every replay. They are not secret.
func (r *Run) Random() (*rand.Rand, error) { return r.strand.Random() }

// UUID returns a new UUID, the same one on every replay. It is not secret.
func (r *Run) UUID() (uuid.UUID, error) { return r.strand.UUID("run.UUID", "") }

// IdempotencyKey returns a key for a step of this run, for outside systems that act once per key.
// It is made of the id of the job and the name: the same on every attempt, another one after
// ContinueAsNew. Steps that share a name, as in a loop, share the key, too: add to the name what
// tells them apart. An empty name is an ErrInvalid.
func (r *Run) IdempotencyKey(step string) (string, error) {
	if err := checkName("step", step); err != nil {
		return "", err
	}
	return r.strand.IdempotencyKey(step)
}

// Patched reports whether the run takes part in a change of its code. A run that had passed this
// place before the change takes the old way, all others the new one:
//
//	if in, err := run.Patched("charge-in-cents"); err != nil {
//		return err
//	} else if in {
//		// the new steps
//	} else {
//		// the old ones
//	}
//
// Remove the call, with the old way, once no run takes the old way any more.
func (r *Run) Patched(change string) (bool, error) {
	if err := checkName("change", change); err != nil {
		return false, err
	}
	return r.strand.Patched(change)
}

// OnFailure registers a compensation, which undoes what the job has done if it fails for good or is
// cancelled. Compensations run in reverse order of registration. They are durable themselves: fn
// may use Step and the like on the run that it is given. A compensation is tried up to ten times;
// if it still fails, the job's error names it. A terminated job compensates nothing.
func (r *Run) OnFailure(name string, fn func(run *Run) error) error {
	if err := checkName("compensation", name); err != nil {
		return err
	}
	if fn == nil {
		return noFunction("compensation " + name)
	}
	return r.strand.OnFailure(name, func(s *replay.Strand) error { return fn(r.with(s.Context(), s)) })
}
