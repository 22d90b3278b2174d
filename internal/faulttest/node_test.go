package faulttest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/seed"
	"github.com/holdfastdev/holdfast/store"
)

// patience is how long a test waits for what must happen. It is for tests that hang: nothing passes
// or fails by how long it took, but where a wait of seconds is the very fault.
const patience = 4 * time.Minute

// toStop is how long a node may take to end on a machine that is busy, and toStopWithout one whose
// database is gone, which tries to store outcomes all that time.
const (
	toStop        = 4 * time.Minute
	toStopWithout = 5 * time.Second
)

// open opens a client, which is closed at the end of the test. Its log is that of the test, shown
// if that fails.
func open(t *testing.T, source store.Source, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	opts = append([]holdfast.Option{
		holdfast.WithStopTimeout(time.Nanosecond), holdfast.WithStuckAfter(2 * time.Second),
		holdfast.WithLogger(slog.New(slog.NewTextHandler(t.Output(), nil))),
	}, opts...)
	hf, err := holdfast.Open(t.Context(), source, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeClient(t, hf) })
	return hf
}

// closeClient closes a client that may be closed already.
func closeClient(t *testing.T, hf *holdfast.Client) {
	t.Helper()
	closeWithin(t, toStop, hf)
}

func closeWithin(t *testing.T, limit time.Duration, hf *holdfast.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	defer cancel()
	if err := hf.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// neverLooks takes the looks away by which a client would find by itself, in the end, what it was
// not told of.
func neverLooks() holdfast.Option {
	return access.WithTests(access.Tests{Rarely: time.Hour}).(holdfast.Option) //nolint:errcheck // always one
}

// node is a client that works.
type node struct {
	*holdfast.Client

	t     *testing.T
	done  chan struct{}
	err   error // of Run, once done is closed
	fails bool  // as it may, since its database is gone
}

// work makes a client a node until it is stopped or the test ends. Its handlers are registered.
func work(t *testing.T, hf *holdfast.Client) *node {
	t.Helper()
	n := &node{Client: hf, t: t, done: make(chan struct{})}
	go func() {
		defer close(n.done)
		n.err = hf.Run(context.WithoutCancel(t.Context()))
	}()
	t.Cleanup(func() {
		n.stop()
		if n.err != nil && !n.fails && !t.Failed() {
			t.Errorf("Run: %v", n.err)
		}
	})
	eventually(t, "the node has joined", func() bool {
		select {
		case <-n.done:
			t.Fatalf("Run: %v", n.err)
		default:
		}
		return alive(t, hf) > 0
	})
	return n
}

// stop ends the node. Its handlers are not waited for.
func (n *node) stop() {
	n.t.Helper()
	if n.fails {
		closeWithin(n.t, toStopWithout, n.Client)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.t.Context()), toStop)
	defer cancel()
	if err := n.Stop(ctx); err != nil {
		n.t.Errorf("Stop: %v", err)
	}
	<-n.done
}

// alive is how many nodes live, as the database knows it.
func alive(t *testing.T, hf *holdfast.Client) int {
	t.Helper()
	nodes, err := hf.Nodes(context.WithoutCancel(t.Context()))
	if err != nil {
		return 0
	}
	count := 0
	for _, n := range nodes {
		if n.DeadAt.IsZero() {
			count++
		}
	}
	return count
}

// register registers a kind's handler.
func register[In, Out any](
	t *testing.T, hf *holdfast.Client, kind holdfast.Kind[In, Out], handler func(*holdfast.Run, In) (Out, error),
	opts ...holdfast.HandleOption,
) {
	t.Helper()
	if err := kind.Handle(hf, handler, opts...); err != nil {
		t.Fatal(err)
	}
}

// enqueue enqueues a job that must be taken.
func enqueue[In, Out any](
	t *testing.T, hf *holdfast.Client, kind holdfast.Kind[In, Out], in In, opts ...holdfast.EnqueueOption,
) *holdfast.Job[Out] {
	t.Helper()
	job, err := kind.Enqueue(t.Context(), hf, in, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// get returns all that is known of a job.
func get(t *testing.T, hf *holdfast.Client, id holdfast.ID) store.Record {
	t.Helper()
	record, err := hf.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// ends waits until a job has finished in the given state, and reports it if it does not.
func ends(t *testing.T, hf *holdfast.Client, id holdfast.ID, want store.State) store.Record {
	t.Helper()
	return endsWithin(t, patience, hf, id, want)
}

func endsWithin(t *testing.T, limit time.Duration, hf *holdfast.Client, id holdfast.ID, want store.State) store.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err := hf.Wait(ctx, id)
	record := get(t, hf, id)
	if record.State != want {
		t.Errorf("job %s is not %v (%v): %s", id, want, err, told(record))
	}
	return record
}

// told says what is known of a job that did not do what it should.
func told(r store.Record) string {
	const most = 5 // of its attempts
	var b strings.Builder
	fmt.Fprintf(&b, "%s is %v %s %s, lease %d of node %d", r.Kind, r.State, r.Reason, r.Error, r.Lease.Number, r.Lease.Node)
	if r.Wait != nil {
		fmt.Fprintf(&b, ", waits %s %s %s", r.Wait.For, r.Wait.Reason, r.Wait.Error)
	}
	for _, a := range r.Attempts[:min(len(r.Attempts), most)] {
		fmt.Fprintf(&b, "; attempt %d %s %s", a.Number, a.Reason, a.Error)
	}
	if n := len(r.Attempts); n > most {
		fmt.Fprintf(&b, "; and %d more attempts", n-most)
	}
	return b.String()
}

// eventually waits for a condition that others bring about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !comesTrue(patience, condition) {
		t.Fatalf("not within %v: %s", patience, what)
	}
}

// comesTrue polls a condition, less and less often. It is the only place where these tests wait by
// the clock.
func comesTrue(limit time.Duration, condition func() bool) bool {
	const often, seldom = time.Millisecond, 50 * time.Millisecond
	interval := often
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for deadline := time.Now().Add(limit); !condition(); <-timer.C {
		if time.Now().After(deadline) {
			return false
		}
		interval = min(interval*5/4, seldom)
		timer.Reset(interval)
	}
	return true
}

// receive waits for a value of a channel.
func receive[T any](t *testing.T, what string, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(patience):
		t.Fatalf("not within %v: %s", patience, what)
	}
	return v
}

// linger is a fault that takes time.
func linger(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// together calls a function so many times at once and joins the errors.
func together(times int, f func(i int) error) error {
	errs := make([]error, times)
	var all sync.WaitGroup
	for i := range times {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// random draws from the test's seed.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seed.Of(t), 0))
}
