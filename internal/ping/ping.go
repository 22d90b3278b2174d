// Package ping asks the database whether it answers, for probes that want to know it sooner than
// the next heartbeat tells.
//
// # Imports
//
// internal/logs, where what it finds becomes known, and store.
package ping

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// probeEvery is the least time between two pings.
	probeEvery = time.Second
	// probeWait is how long a probe waits for a ping. One that takes longer goes on, and what it
	// finds is known to the next probe.
	probeWait = 500 * time.Millisecond
)

// Prober asks the database whether it answers. However many ask, there is one ping at a time, and
// one in a second.
type Prober struct {
	store  store.Store
	outage *logs.Outage
	life   context.Context //nolint:containedctx // of all pings
	end    context.CancelFunc
	going  sync.WaitGroup

	mu    sync.Mutex
	began time.Time     // the last ping
	done  chan struct{} // closed when that was answered
	over  bool
}

// New returns a Prober of a store, which notes what it finds with the outage.
func New(st store.Store, outage *logs.Outage) *Prober {
	p := &Prober{store: st, outage: outage}
	p.life, p.end = context.WithCancel(context.Background())
	return p
}

// Probe finds out whether the database answers at this moment. It returns once that is known, or
// after half a second.
func (p *Prober) Probe(ctx context.Context) {
	done := p.ping()
	if done == nil {
		return
	}
	timer := time.NewTimer(probeWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ping begins a ping, or joins one, and returns what is closed when it was answered; nil if the
// last one is recent enough.
func (p *Prober) ping() <-chan struct{} {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		select {
		case <-p.done:
		default:
			return p.done
		}
	}
	if p.over || !p.began.IsZero() && now.Sub(p.began) < probeEvery {
		return nil
	}
	p.began, p.done = now, make(chan struct{})
	done := p.done
	p.going.Go(func() {
		defer close(done)
		p.ask()
	})
	return done
}

// ask is one ping: a read of one row.
func (p *Prober) ask() {
	ctx, cancel := context.WithTimeout(p.life, store.CallTimeout)
	defer cancel()
	call := p.outage.Began()
	defer p.outage.Ended(call)
	switch _, err := p.store.FeedStatus(ctx); {
	case err == nil:
		p.outage.Succeeded(logs.CallProbe)
	case p.life.Err() == nil:
		p.outage.Failed(logs.CallProbe, err)
	}
}

// Close ends it; a ping that is under way is given up.
func (p *Prober) Close() {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.end()
	p.going.Wait()
}
