package faults

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

// Apply implements store.Writer.
func (s *Store) Apply(ctx context.Context, batch *store.Batch) error {
	fault := s.next("Apply")
	all := Copy(batch)
	sent := fault.hold(all)
	err := fault.apply(ctx, "Apply", func(again bool) error {
		if again {
			if keyless(sent.Sends) {
				return errOnce
			}
			woken := sent.Woken
			repeat(sent)
			defer func() { sent.Woken = append(woken, sent.Woken...) }()
		}
		if err := all.Refusal(); err != nil {
			return err // what is busy refuses it
		}
		return s.inner.Apply(ctx, sent)
	})
	if err == nil || errors.Is(err, store.ErrRefused) {
		all.Woken = sent.Woken
		deliver(all, batch)
	}
	return err
}

// EnqueueTx implements store.Writer.
func (s *Store) EnqueueTx(ctx context.Context, tx store.Tx, enqueues []*store.Enqueue) error {
	batch := &store.Batch{Enqueues: enqueues}
	sent := Copy(batch)
	err := s.do(ctx, "EnqueueTx", func(bool) error { return s.inner.EnqueueTx(ctx, tx, sent.Enqueues) })
	if err == nil {
		deliver(sent, batch)
	}
	return err
}

// SendTx implements store.Writer.
func (s *Store) SendTx(ctx context.Context, tx store.Tx, sends []*store.Send) error {
	batch := &store.Batch{Sends: sends}
	sent := Copy(batch)
	err := s.do(ctx, "SendTx", func(again bool) error {
		if again && keyless(sent.Sends) {
			return errOnce
		}
		return s.inner.SendTx(ctx, tx, sent.Sends)
	})
	if err == nil {
		deliver(sent, batch)
	}
	return err
}

// AppendTx implements store.Writer.
func (s *Store) AppendTx(ctx context.Context, tx store.Tx, a *store.Append) error {
	batch := &store.Batch{Appends: []*store.Append{a}}
	sent := Copy(batch)
	err := s.do(ctx, "AppendTx", func(again bool) error {
		if again {
			repeat(sent)
		}
		return s.inner.AppendTx(ctx, tx, sent.Appends[0])
	})
	if err == nil {
		deliver(sent, batch)
	}
	return err
}

// AwaitTx implements store.Writer.
func (s *Store) AwaitTx(ctx context.Context, job store.ID) error {
	return s.do(ctx, "AwaitTx", func(bool) error { return s.inner.AwaitTx(ctx, job) })
}
