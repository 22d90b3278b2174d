package remote_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/store"
)

// TestLostAnswers: a request whose answer is lost is ErrUnavailable and is sent once, and so is one
// to nobody.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	source := file(t)
	a := newAddress(t)
	at := a.start(t, source, server.Options{})
	s := connect(t, a.URL)
	at.kill() // it does what it is asked for, and does not answer
	before := a.asks.Load()
	err := s.Pause(t.Context(), store.PauseParams{Namespace: "default", Queue: "q", Paused: true})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), a.URL) {
		t.Errorf("a lost answer: %v", err)
	}
	if sent := a.asks.Load() - before; sent != 1 {
		t.Errorf("it was sent %d times", sent)
	}
	a.stop(t)
	if _, err := s.Queues(t.Context(), "default"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("nobody is there: %v", err)
	}
	a.start(t, source, server.Options{})
	if _, err := s.Queues(t.Context(), "default"); err != nil {
		t.Errorf("somebody is there again: %v", err)
	}
}

// TestContexts: a call ends with the context of its caller, and has that one's error.
func TestContexts(t *testing.T) {
	t.Parallel()
	s := connect(t, serve(t, file(t)))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Nodes(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := s.Nodes(late); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestStopping: a server whose store is closed is one that is away, and not the end of its clients.
func TestStopping(t *testing.T) {
	t.Parallel()
	a := newAddress(t)
	at := a.start(t, file(t), server.Options{})
	s := connect(t, a.URL)
	if err := at.client.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Nodes(t.Context()); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestFit: an answer to another batch is none.
func TestFit(t *testing.T) {
	t.Parallel()
	b := &store.Batch{Enqueues: []*store.Enqueue{{Send: &store.Send{}}}}
	if done := wire.AppliedOf(b); done.SetIn(b) != nil {
		t.Error("an answer to the batch does not fit")
	}
	for _, other := range []*store.Batch{
		{},
		{Enqueues: []*store.Enqueue{{}}},
		{Enqueues: []*store.Enqueue{{Send: &store.Send{}, FollowUps: []*store.Enqueue{{}}}}},
		{Appends: []*store.Append{{}}, Enqueues: b.Enqueues},
	} {
		if done := wire.AppliedOf(other); !errors.Is(done.SetIn(b), store.ErrUnavailable) {
			t.Errorf("an answer to %+v fits", other)
		}
	}
}

// TestNodesOutliveServers: a node that has joined through a server does not die with its process,
// which a file in SQLite tells of its own nodes.
func TestNodesOutliveServers(t *testing.T) {
	t.Parallel()
	source := file(t)
	a := newAddress(t)
	a.start(t, source, server.Options{})
	s := connect(t, a.URL)
	node, err := s.Join(t.Context(), store.NodeInfo{Name: "far"})
	if err != nil {
		t.Fatal(err)
	}
	a.stop(t)
	direct := opened(t, source)
	rescued, err := direct.Rescue(t.Context(), store.RescueParams{Limit: 10})
	if err != nil || len(rescued.Died) > 0 {
		t.Errorf("of the node %d of another process: %+v, %v", node, rescued, err)
	}
	a.start(t, source, server.Options{})
	if _, err := s.Beat(t.Context(), store.BeatParams{Node: node}); err != nil {
		t.Error(err)
	}
}
