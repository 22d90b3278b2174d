package ours

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// telling is a source whose stores tell when ends of jobs have been committed.
type telling struct {
	store.Source

	ended func()
}

// Open implements store.Source.
func (t telling) Open(ctx context.Context) (store.Store, error) {
	s, err := t.Source.Open(ctx)
	if err != nil {
		return nil, err
	}
	return teller{s, t.ended}, nil
}

type teller struct {
	store.Store

	ended func()
}

// Apply implements store.Store.
func (t teller) Apply(ctx context.Context, batch *store.Batch) error {
	err := t.Store.Apply(ctx, batch)
	if err == nil && len(batch.Outcomes) > 0 {
		t.ended()
	}
	return err
}
