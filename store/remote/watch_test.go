package remote_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/remote"
)

// ear is one who watches a store.
type ear struct {
	mu    sync.Mutex
	heard []store.Wake
	ended chan error
}

// listen watches a store until the test ends, and returns when wake-ups arrive.
func listen(t *testing.T, s store.Store) *ear {
	t.Helper()
	e := &ear{ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var watching sync.WaitGroup
	watching.Go(func() {
		e.ended <- s.Watch(ctx, func(w store.Wake) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.heard = append(e.heard, w)
		})
	})
	t.Cleanup(func() {
		stop()
		watching.Wait()
	})
	until(t, "the first wake-up", func() bool { return e.has(func(w store.Wake) bool { return w.Kind == store.WakeAll }) })
	return e
}

func (e *ear) has(what func(store.Wake) bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.heard, what)
}

func (e *ear) hears(queue string) bool {
	return e.has(func(w store.Wake) bool { return w.Queue == queue })
}

func (e *ear) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = nil
}

func due(queue string) store.Wake {
	return store.Wake{Kind: store.WakeReady, Namespace: "default", Queue: queue}
}

// TestWakes: what a client says is heard by the server's process and by the other clients, and what
// the server's process says, by all clients.
func TestWakes(t *testing.T) {
	t.Parallel()
	a := newAddress(t)
	a.start(t, file(t), server.Options{})
	one, other := connect(t, a.URL), connect(t, a.URL)
	if one.Traits().Wakeups {
		t.Error("nobody watches, and wake-ups arrive")
	}
	first, second := listen(t, one), listen(t, other)
	if !one.Traits().Wakeups {
		t.Error("wake-ups arrive, and the traits do not say so")
	}
	one.Notify(due("said"))
	until(t, "what the other client has said", func() bool { return second.hears("said") })
	other.Notify(due("answered"))
	until(t, "the answer", func() bool { return first.hears("answered") })
	if first.hears("said") || second.hears("answered") {
		t.Error("a client is told what it has said itself")
	}
	// The server's process: its own pauses are heard by both.
	hf := a.at.Load().client
	if err := hf.PauseQueue(t.Context(), "paused"); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*ear{first, second} {
		until(t, "what the server has said", func() bool { return e.hears("paused") })
	}
}

// TestEverythingIsSaid: what is said before the store is closed is sent.
func TestEverythingIsSaid(t *testing.T) {
	t.Parallel()
	a := newAddress(t)
	a.start(t, file(t), server.Options{})
	heard := listen(t, connect(t, a.URL))
	s, err := remote.Server(a.URL, "").Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Notify(due("last"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "the last words", func() bool { return heard.hears("last") })
}

// TestStreamBreaks: when the server is replaced, the stream comes from the new one, and whoever
// watches is told to look at everything.
func TestStreamBreaks(t *testing.T) {
	t.Parallel()
	source := file(t)
	a := newAddress(t)
	a.start(t, source, server.Options{})
	s, other := connect(t, a.URL), connect(t, a.URL)
	e := listen(t, s)
	a.stop(t)
	until(t, "the end of the stream", func() bool { return !s.Traits().Wakeups })
	e.forget()
	a.start(t, source, server.Options{})
	until(t, "the new stream", func() bool { return e.has(func(w store.Wake) bool { return w.Kind == store.WakeAll }) })
	other.Notify(due("again"))
	until(t, "a wake-up", func() bool { return e.hears("again") })
}

// TestDatabaseGone: a watch ends if the server finds that the database is gone.
func TestDatabaseGone(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := any(wire.Out[wire.Welcome, wire.None]{A: wire.Welcome{Schema: wire.Schema, Traits: store.Traits{Name: "sqlite"}}, Now: time.Now()})
		if r.URL.Path == wire.WatchPath {
			out = wire.Event{Now: time.Now(), Err: store.ErrDatabaseGone}
		}
		data, err := wire.Encode(out)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(append(data, '\n'))
	}))
	defer web.Close()
	s := connect(t, web.URL)
	if err := s.Watch(t.Context(), func(store.Wake) {}); !errors.Is(err, store.ErrDatabaseGone) {
		t.Errorf("the watch ends with %v", err)
	}
}
