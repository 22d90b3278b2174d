package holdfasttest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

const (
	// rarely is how often a node does what is only there for lost wake-ups and dead nodes.
	rarely = time.Hour
	// longest is how long a test may take in virtual time. What is waited for after that does not
	// come.
	longest = 10 * 365 * 24 * time.Hour
)

// Run calls f in virtual time, with a database of its own. opts are options of holdfast.Open. Lines
// at WARN or above are written to the output of the test, unless WithLogger sets another logger.
//
// A test may take ten years of virtual time. Then it fails, because what it waits for does not
// come.
func Run(t *testing.T, f func(env *Env), opts ...holdfast.Option) {
	t.Helper()
	run(t, time.Now, f, opts)
}

// run is Run with the clock of the database.
func run(t *testing.T, clock func() time.Time, f func(env *Env), opts []holdfast.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		w := &world{memory: newMemory(model.New(clock)), resting: make(chan struct{}, 1)}
		w.lasting, w.end = context.WithCancel(context.WithoutCancel(t.Context()))
		defer w.end()
		defer w.stubs.check(t)
		env := w.open(t, opts)
		defer w.close(t) // also when the test fails: the bubble would not end otherwise
		tooLong := time.AfterFunc(longest, func() { env.giveUp() })
		defer tooLong.Stop()
		f(env)
	})
}

// open starts a process.
func (w *world) open(t *testing.T, opts []holdfast.Option) *Env {
	t.Helper()
	tests := access.WithTests(access.Tests{Rarely: rarely, Stub: w.stubs.find(t)})
	client := open(t, w.memory.process(), append([]holdfast.Option{tests.(holdfast.Option)}, opts...)) //nolint:errcheck // it is one
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clients = append(w.clients, client)
	return &Env{T: t, Client: client, world: w}
}

func open(t *testing.T, source store.Source, opts []holdfast.Option) *holdfast.Client {
	t.Helper()
	client, err := holdfast.Open(t.Context(), source, append([]holdfast.Option{holdfast.WithLogger(logger(t))}, opts...)...)
	if err != nil {
		t.Fatalf("holdfasttest: %v", err)
	}
	return client
}

// logger returns a logger that writes warnings to the output of the test.
func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// close ends all processes.
func (w *world) close(t *testing.T) {
	w.mu.Lock()
	clients, nodes := w.clients, w.nodes
	w.nodes = nil
	w.mu.Unlock()
	for _, client := range clients {
		if err := client.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("holdfasttest: closing: %v", err)
		}
	}
	for _, ended := range nodes {
		if err := <-ended; err != nil {
			t.Errorf("holdfasttest: the node: %v", err)
		}
	}
	w.running.Wait()
}

// giveUp fails a test that takes too long, and ends what it waits for.
func (e *Env) giveUp() {
	e.T.Errorf("holdfasttest: the test waits for something that does not come: %d years of virtual time have passed; unfinished jobs:%s",
		longest/(365*24*time.Hour), e.describe(e.unfinished()))
	e.world.end()
	e.world.mu.Lock()
	defer e.world.mu.Unlock()
	for _, client := range e.world.clients {
		_ = client.Close(e.world.lasting) // Run tells of errors
	}
}

// Open starts another process on the database of the test, with a client, handlers and a node of
// its own, such as one with another version of the code. opts are options of holdfast.Open. It ends
// with the test, or by Client.Close.
func (e *Env) Open(opts ...holdfast.Option) *Env {
	e.T.Helper()
	return e.world.open(e.T, opts)
}

// In returns the same process in another namespace, where it has other handlers and another node.
func (e *Env) In(namespace string) *Env {
	e.T.Helper()
	client, err := e.Client.In(namespace)
	if err != nil {
		e.T.Fatalf("holdfasttest: %v", err)
	}
	return &Env{T: e.T, Client: client, world: e.world}
}

// Start starts the node. Register handlers before.
func (e *Env) Start() {
	e.T.Helper()
	ended := make(chan error, 1)
	e.world.running.Go(func() { ended <- e.Client.Run(context.WithoutCancel(e.T.Context())) })
	e.rest()
	select {
	case err := <-ended:
		if err == nil {
			err = errStopped
		}
		e.T.Fatalf("holdfasttest: Start: %v", err)
	default:
	}
	e.world.mu.Lock()
	defer e.world.mu.Unlock()
	e.world.nodes = append(e.world.nodes, ended)
}

var errStopped = fmt.Errorf("%w: the client was stopped; Open starts another process", holdfast.ErrClosed)

// After calls f when d of virtual time has passed. It returns at once; the test does not end before
// f has returned.
func (e *Env) After(d time.Duration, f func()) {
	e.world.running.Go(func() {
		time.Sleep(d)
		f()
	})
}
