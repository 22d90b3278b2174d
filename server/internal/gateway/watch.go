package gateway

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/relay"
	"github.com/holdfastdev/holdfast/internal/wire"
	who "github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const (
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
	if err != nil {
		refuse(w, r, err)
		return
	}
	var in wire.In[[]store.Wake, wire.None, wire.None, wire.None]
	body, err := read(w, r)
	if err == nil {
		err = decode(body, &in)
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
	heard := relay.NewPending()
	over := make(chan error, 1)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	listening.Go(func() { over <- g.store.Listen(ctx, name, heard.Add) })

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
		case <-heard.More:
			goesOn = send(wire.Event{Wakes: heard.Take()})
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
