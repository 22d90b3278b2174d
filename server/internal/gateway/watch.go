package gateway

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	who "github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// maxPending is how many wake-ups wait for a client that does not read them. One that has
	// missed some is told WakeAll.
	maxPending = 4096
	// eventTimeout is how long a client may take to read an event.
	eventTimeout = 10 * time.Second
	// lifetime is after how long a stream ends, so that who reads it has to come in again. The
	// client opens the next one at once.
	lifetime = 15 * time.Minute
	// maxClient is how long the name of a client may be.
	maxClient = 100
)

// clientOf is the name of the client that makes a request. It tells clients apart, and nothing is
// let in by it.
func clientOf(r *http.Request) (string, error) {
	name := r.Header.Get(wire.ClientHeader)
	if name == "" || len(name) > maxClient {
		return "", problem.New(problem.Malformed, "the header "+wire.ClientHeader+" is missing or too long; use store/remote of Holdfast")
	}
	return name, nil
}

// notify passes on what a client says.
func (g *gateway) notify(w http.ResponseWriter, r *http.Request) {
	err := enter(r)
	var name string
	if err == nil {
		name, err = clientOf(r)
	}
	var in wire.In[[]store.Wake, wire.None, wire.None, wire.None]
	if err == nil {
		var body []byte
		if body, err = read(w, r); err == nil {
			err = decode(body, &in)
		}
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	g.store.Hear(name, in.A...)
	w.WriteHeader(http.StatusNoContent)
}

// watch tells a client of wake-ups until it goes, or the server stops.
func (g *gateway) watch(w http.ResponseWriter, r *http.Request) {
	err := enter(r)
	if err == nil {
		err = fits(r)
	}
	var name string
	if err == nil {
		name, err = clientOf(r)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	heard := &heard{more: make(chan struct{}, 1)}
	over := make(chan error, 1)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	listening.Go(func() { over <- g.store.Listen(ctx, name, heard.add) })

	socket := http.NewResponseController(w)
	_ = socket.SetReadDeadline(time.Time{}) // the request was read long before the stream ends
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no") // of proxies
	w.WriteHeader(http.StatusOK)
	send := func(e wire.Event) bool {
		e.Now, e.Traits = g.store.Now(), g.store.Traits()
		line, err := wire.Encode(e)
		if err != nil {
			return false
		}
		_ = socket.SetWriteDeadline(time.Now().Add(eventTimeout))
		_, err = w.Write(append(line, '\n'))
		return err == nil && socket.Flush() == nil
	}
	beat := time.NewTicker(wire.Heartbeat)
	defer beat.Stop()
	end := time.NewTimer(lifetime - rand.N(lifetime/10)) // not all at once
	defer end.Stop()
	for goesOn := send(wire.Event{}); goesOn; {
		select {
		case <-heard.more:
			goesOn = send(wire.Event{Wakes: heard.take()})
		case <-beat.C:
			goesOn = who.Lasts(ctx) && send(wire.Event{}) // else the next watch is refused with words
		case err := <-over:
			if err != nil && ctx.Err() == nil {
				send(wire.Event{Err: err})
			}
			return
		case <-end.C:
			return
		case <-g.Stopping:
			return
		case <-ctx.Done():
			return
		}
	}
}

// heard are wake-ups on their way to a client.
type heard struct {
	more chan struct{} // has a value if there are some

	mu      sync.Mutex
	pending []store.Wake
}

// add does not block.
func (h *heard) add(w store.Wake) {
	h.mu.Lock()
	switch {
	case len(h.pending) >= maxPending:
		h.pending = []store.Wake{{Kind: store.WakeAll}}
	case w.Kind == store.WakeReady || w.Kind == store.WakeDeferred:
		h.pending = store.AddWake(h.pending, w)
	case w.Kind == store.WakeAll && slices.ContainsFunc(h.pending, func(k store.Wake) bool { return k.Kind == store.WakeAll }):
	default:
		h.pending = append(h.pending, w)
	}
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
}

func (h *heard) take() []store.Wake {
	h.mu.Lock()
	defer h.mu.Unlock()
	pending := h.pending
	h.pending = nil
	return pending
}
