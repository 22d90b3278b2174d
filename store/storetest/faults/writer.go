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
			if keyless(sent.Sends) || len(sent.Fires) > 0 {
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

// CancelTx implements store.Callers.
func (s *Store) CancelTx(ctx context.Context, tx store.Tx, params store.CancelParams) ([]store.Result, error) {
	return answer(ctx, s, "CancelTx", func() ([]store.Result, error) { return s.inner.CancelTx(ctx, tx, params) })
}

// RetryTx implements store.Callers.
func (s *Store) RetryTx(ctx context.Context, tx store.Tx, params store.RetryParams) ([]store.Result, error) {
	return answer(ctx, s, "RetryTx", func() ([]store.Result, error) { return s.inner.RetryTx(ctx, tx, params) })
}

// Finish implements store.Callers. It is not duplicated: the second one would find jobs that have
// finished already.
func (s *Store) Finish(ctx context.Context, params store.FinishParams) (results []store.Result, wakes []store.Wake, err error) {
	err = s.do(ctx, "Finish", func(again bool) (err error) {
		if again {
			return errOnce
		}
		results, wakes, err = s.inner.Finish(ctx, params)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return results, wakes, nil
}

// FinishTx implements store.Callers. It is not duplicated either.
func (s *Store) FinishTx(ctx context.Context, tx store.Tx, params store.FinishParams) (results []store.Result, err error) {
	err = s.do(ctx, "FinishTx", func(again bool) (err error) {
		if again {
			return errOnce
		}
		results, err = s.inner.FinishTx(ctx, tx, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}
