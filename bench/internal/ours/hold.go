package ours

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

var (
	held     = holdfast.NewKind[struct{}, struct{}]("bench.held")
	heldStep = holdfast.NewKind[struct{}, struct{}]("bench.held-step")
	note     = holdfast.NewSignal[int]("note")
)

// holding is what is held at the moment: by one job, since a scenario holds one thing.
type holding struct {
	reached chan struct{} // the job is where it is wanted
	gate    chan struct{} // closed by those who let it go on
}

func newHolding() *holding { return &holding{make(chan struct{}, 1), make(chan struct{})} }

// pass is the job's side.
func (h *holding) pass(ctx context.Context) error {
	select {
	case h.reached <- struct{}{}:
	default: // it is tried again
	}
	select {
	case <-h.gate:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait is the other side.
func (h *holding) wait(ctx context.Context) error {
	select {
	case <-h.reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hold is a handler that runs until it is let go.
func (c *client) hold(run *holdfast.Run, _ struct{}) (struct{}, error) {
	return struct{}{}, c.holding.pass(run)
}

// HoldSend sends a signal to a job that runs, in a transaction that stays open, and lets the job
// end: its outcome needs what the transaction holds.
func (c *client) HoldSend(ctx context.Context) (release func(context.Context) error, err error) {
	h := newHolding()
	c.holding = h
	job, err := held.Enqueue(ctx, c.hf, struct{}{})
	if err != nil {
		return nil, err
	}
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	defer close(h.gate)
	return c.begin(ctx, func(tx store.Tx) error {
		_, err := note.SendTx(ctx, c.hf, tx, job.ID, 1)
		return err
	})
}

// HoldUnique stores a job whose key others may want, in a transaction that stays open.
func (c *client) HoldUnique(
	ctx context.Context, num int,
) (release func(context.Context) error, err error) {
	return c.begin(ctx, func(tx store.Tx) error {
		_, err := noop.EnqueueTx(ctx, c.hf, tx, system.Args{Num: num}, uniqueByNum)
		return err
	})
}

// HoldStep lets a durable function do a StepTx whose commit does not come.
func (c *client) HoldStep(ctx context.Context) (release func(context.Context) error, err error) {
	if _, err := c.callers.open(ctx, c.db); err != nil {
		return nil, err
	}
	h := newHolding()
	c.holding = h
	job, err := heldStep.Enqueue(ctx, c.hf, struct{}{})
	if err != nil {
		return nil, err
	}
	release = func(ctx context.Context) error {
		close(h.gate)
		_, err := job.Wait(ctx)
		return err
	}
	return release, h.wait(ctx)
}

// holdStep is the durable function. The transaction is the step's, so that the journal's entry is
// written in it; what is late is its commit.
func (c *client) holdStep(run *holdfast.Run, _ struct{}) (struct{}, error) {
	return holdfast.StepTx(run, "held", lateCommit{c}, func(ctx context.Context, tx pgx.Tx) (struct{}, error) {
		_, err := tx.Exec(ctx, "SELECT 1")
		return struct{}{}, err
	})
}

// lateCommit begins transactions that commit when the client's holding is let go.
type lateCommit struct{ client *client }

func (l lateCommit) Transact(ctx context.Context, do func(tx pgx.Tx, wrapped store.Tx) error) error {
	pool, err := l.client.callers.open(ctx, l.client.db)
	if err != nil {
		return err
	}
	return postgres.Begin(pool).Transact(ctx, func(tx pgx.Tx, wrapped store.Tx) error {
		if err := do(tx, wrapped); err != nil {
			return err
		}
		// The server gives up a transaction of which it only waits for the end.
		alive, done := context.WithCancel(ctx)
		passed := make(chan error, 1)
		go func() { passed <- l.client.holding.pass(ctx); done() }()
		for system.Pause(alive, time.Second) == nil {
			if _, err := tx.Exec(ctx, "SELECT 1"); err != nil {
				return err
			}
		}
		return <-passed
	})
}
