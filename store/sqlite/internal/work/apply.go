package work

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/batches"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/requests"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/schedules"
)

// Apply implements store.Writer.
func (v Verbs) Apply(ctx context.Context, batch *store.Batch) error {
	if batch.Len() == 0 {
		return ctx.Err()
	}
	woken, err := v.d.Move(ctx, "apply", nil, func(t *core.Tx) error {
		t.CallerWakes = true
		batch.Reset()
		if err := apply(t, batch); err != nil {
			return err
		}
		return batch.Refusal()
	})
	if err == nil {
		batch.Woken = woken
	}
	return err
}

func apply(t *core.Tx, batch *store.Batch) error {
	asked, err := requests.Judge(t, batch.Requests)
	if err != nil {
		return err
	}
	for _, c := range batch.Checkpoints {
		if err := writeCheckpoint(t, c); err != nil {
			return err
		}
	}
	for _, a := range batch.Appends {
		if err := appendEntries(t, a); err != nil {
			return err
		}
	}
	if err := writeEntries(t); err != nil {
		return err
	}
	if err := sendAll(t, batch.Sends); err != nil {
		return err
	}
	for _, o := range batch.Outcomes {
		if err := applyOutcome(t, o); err != nil {
			return err
		}
	}
	if err := writeSuccesses(t); err != nil {
		return err
	}
	if err := decideStarts(t, batch); err != nil {
		return err
	}
	if err := enqueueAll(t, batch.Enqueues); err != nil {
		return err
	}
	if err := schedules.Fire(t, batch.Fires); err != nil {
		return err
	}
	if err := batches.Call(t, batch.Calls); err != nil {
		return err
	}
	if err := asked.Write(t); err != nil {
		return err
	}
	return start(t, batch)
}
