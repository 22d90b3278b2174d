package main

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast"
)

// The examples of the README, of which its pictures are.

var (
	approved   = holdfast.NewSignal[bool]("approved")
	fulfilment = holdfast.NewTask[string]("fulfil")
	pages      = holdfast.NewKind[int, int]("page")
	books      = holdfast.NewKind[[1000]int, int]("book")
)

func bank(ctx context.Context) error { // charges, or pays back
	select {
	case <-time.After(40 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func refund(run *holdfast.Run) error { return holdfast.Do(run, "pay back", bank) }

func fulfil(run *holdfast.Run, _ string) error {
	if err := holdfast.Do(run, "charge", bank, holdfast.MaxAttempts(5)); err != nil {
		return err
	}
	if err := run.OnFailure("refund", refund); err != nil {
		return err
	}
	if yes, err := approved.Wait(run); err != nil || yes { // days later, perhaps on another node
		return err
	}
	return holdfast.Fail(errNotApproved) // which refunds
}

var errNotApproved = errors.New("not approved")

func page(*holdfast.Run, int) (int, error) { return 250, nil }

func book(run *holdfast.Run, numbers [1000]int) (words int, err error) {
	results, err := pages.CallAll(run, numbers[:], holdfast.FanOut{AtOnce: 50})
	for _, page := range results {
		words, err = words+page.Value, errors.Join(err, page.Err)
	}
	return words, err
}
