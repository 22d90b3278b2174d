package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Apply implements store.Writer.
func (v workVerbs) Apply(ctx context.Context, batch *store.Batch) error {
	if batch.Len() == 0 {
		return ctx.Err()
	}
	var last *tx
	err := v.d.write(ctx, "apply", func(t *tx) error {
		last, t.tells = t, true
		return t.apply(batch)
	})
	if batch.Woken = nil; err == nil {
		batch.Woken = last.woken
	}
	return err
}

func (t *tx) apply(batch *store.Batch) error {
	for _, c := range batch.Checkpoints {
		if err := t.writeCheckpoint(c); err != nil {
			return err
		}
	}
	for _, a := range batch.Appends {
		if err := t.appendEntries(a); err != nil {
			return err
		}
	}
	if err := t.writeLines(); err != nil {
		return err
	}
	if err := t.sendAll(batch.Sends); err != nil {
		return err
	}
	for _, o := range batch.Outcomes {
		if err := t.applyOutcome(o); err != nil {
			return err
		}
	}
	if err := t.writeEnds(); err != nil {
		return err
	}
	if err := t.mayStart(batch); err != nil {
		return err
	}
	if err := t.enqueueAll(batch.Enqueues); err != nil {
		return err
	}
	return t.start(batch)
}
