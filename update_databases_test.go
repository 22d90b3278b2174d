package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// book keeps a sum that requests add to, until one closes it. It continues as new on the way.
type book struct {
	handled atomic.Int64
	met     atomic.Bool   // the request that adds 13, once
	inside  chan struct{} // told when the request that adds 13 has counted, and the run is cut off
	cut     chan struct{} // closed: the database is away
}

type account struct{ Round, Sum int }

var (
	ledgers  = holdfast.NewKind[account, int]("ledger")
	addTo13  = holdfast.NewUpdate[int, string]("add")
	closeAll = holdfast.NewUpdate[struct{}, int]("close")
)

func (l *book) keep(run *holdfast.Run, in account) (int, error) {
	closed, ticks := false, 0
	err := addTo13.Handle(run, func(n int) error {
		if n <= 0 {
			return fmt.Errorf("%d is nothing to add", n)
		}
		return nil
	}, func(run *holdfast.Run, n int) (string, error) {
		err := holdfast.Do(run, "count", func(context.Context) error { l.handled.Add(1); return nil })
		if err != nil {
			return "", err
		}
		if n == 13 && !l.met.Swap(true) {
			close(l.inside)
			<-l.cut
		}
		in.Sum += n
		return fmt.Sprint("in round ", in.Round, ": ", in.Sum), run.Publish("sum", in.Sum)
	})
	if err == nil {
		err = closeAll.Handle(run, nil, func(*holdfast.Run, struct{}) (int, error) { closed = true; return in.Sum, nil })
	}
	if err != nil {
		return 0, err
	}
	for range 2 {
		_, err := holdfast.Go(run, "ticks", func(run *holdfast.Run) (int, error) {
			err := run.Sleep(60 * time.Millisecond)
			ticks++
			return ticks, err
		})
		if err != nil {
			return 0, err
		}
	}
	err = run.WaitUntil("it is closed, or large", func() bool { return ticks == 2 && (closed || in.Round == 0 && in.Sum >= 20) })
	switch {
	case err != nil:
		return 0, err
	case closed:
		return in.Sum, nil
	}
	return 0, ledgers.ContinueAsNew(account{in.Round + 1, in.Sum})
}

// TestUpdatesWhereverTheRunIs: a request is validated first, handled once, and has one answer,
// though the node dies on the way, the run continues as new, and at last ends. What it publishes is
// read while no node lives.
func TestUpdatesWhereverTheRunIs(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		l := &book{inside: make(chan struct{}), cut: make(chan struct{})}
		leases := holdfast.WithLeases(100*time.Millisecond, deadAfter)
		var away atomic.Bool
		first := openOn(t, cutSource{source, &away}, leases)
		second, third, caller := openOn(t, source, leases), openOn(t, source, leases), openOn(t, source)
		for _, hf := range []*holdfast.Client{first, second, third} {
			if err := ledgers.Handle(hf, l.keep); err != nil {
				t.Fatal(err)
			}
		}
		run(t, first)
		t.Cleanup(func() { away.Store(false) })
		job, err := ledgers.Enqueue(ctx, caller, account{}, holdfast.MaxAttempts(1))
		if err != nil {
			t.Fatal(err)
		}
		add := func(n int, key string) (string, error) {
			return addTo13.Call(ctx, caller, job.ID, n, holdfast.DedupKey(key))
		}
		want := func(n int, key, answer string) {
			t.Helper()
			if got, err := add(n, key); got != answer || err != nil {
				t.Errorf("%d is answered %q, %v, and not %q", n, got, err, answer)
			}
		}
		want(1, "one", "in round 0: 1")
		left := func() int { // of requests
			t.Helper()
			j, err := caller.Journal(ctx, job.ID)
			if err != nil {
				t.Fatal(err)
			}
			n := len(j.Messages)
			for _, e := range j.Entries {
				if e.Kind == "updated" {
					n++
				}
			}
			return n
		}
		var refused *holdfast.UpdateError
		if _, err := add(-1, "minus one"); !errors.As(err, &refused) || !refused.Refused || refused.Message != "-1 is nothing to add" {
			t.Errorf("-1: %v", err)
		}
		if n := left(); n != 1 {
			t.Errorf("%d requests are left of one that was accepted and one that was refused", n)
		}

		// The node is cut off after it has handled the request, and before it has answered.
		answered := make(chan error, 1)
		go func() {
			got, err := add(13, "thirteen")
			if got != "in round 0: 14" {
				err = errors.Join(err, fmt.Errorf("it is answered %q", got))
			}
			answered <- err
		}()
		<-l.inside
		away.Store(true)
		close(l.cut)
		if err := second.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		want(99, "thirteen", "in round 0: 14") // the id says which request it is
		if n := l.handled.Load(); n != 2 {
			t.Errorf("two requests were handled %d times", n)
		}

		away.Store(false)
		want(7, "seven", "in round 0: 21")
		eventually(t, "it continues as new", func() bool {
			j, err := caller.Journal(ctx, job.ID)
			return err == nil && len(j.Entries) > 0 && j.Entries[0].Kind == "continued"
		})
		want(2, "two", "in round 1: 23")
		want(13, "thirteen", "in round 0: 14")

		// Nobody is there to answer, but what was published is.
		if err := errors.Join(first.Stop(ctx), second.Stop(ctx)); err != nil {
			t.Fatal(err)
		}
		if sum, ok, err := caller.Published(ctx, job.ID, "sum"); string(sum.Value) != "23" || !ok || err != nil {
			t.Errorf("without a node the sum is %s, %v, %v", sum.Value, ok, err)
		}
		hurry, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		defer stop()
		if _, err := closeAll.Call(hurry, caller, job.ID, struct{}{}, holdfast.DedupKey("close")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a node it is answered: %v", err)
		}
		run(t, third)
		if sum, err := closeAll.Call(ctx, caller, job.ID, struct{}{}, holdfast.DedupKey("close")); sum != 23 || err != nil {
			t.Errorf("it is closed with %d, %v", sum, err)
		}
		if sum, err := job.Wait(ctx); sum != 23 || err != nil {
			t.Errorf("it ends with %d, %v", sum, err)
		}
		want(13, "thirteen", "in round 0: 14")
		if _, err := add(5, "five"); !errors.Is(err, holdfast.ErrConflict) || !strings.Contains(err.Error(), "is completed") {
			t.Errorf("a job that has ended: %v", err)
		}
	})
}
