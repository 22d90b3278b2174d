package relay

import (
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// maxPending is how many wake-ups wait for who is slow. One that has missed some is told WakeAll.
const maxPending = 4096

// Pending are wake-ups on their way to one who takes them when it can. Use NewPending.
type Pending struct {
	// More has a value if there are some.
	More chan struct{}

	mu    sync.Mutex
	wakes []store.Wake
}

// NewPending returns an empty one.
func NewPending() *Pending { return &Pending{More: make(chan struct{}, 1)} }

// Add does not block.
func (p *Pending) Add(w store.Wake) {
	p.mu.Lock()
	switch {
	case len(p.wakes) >= maxPending:
		p.wakes = []store.Wake{{Kind: store.WakeAll}}
	case w.Kind == store.WakeReady || w.Kind == store.WakeDeferred:
		p.wakes = store.AddWake(p.wakes, w)
	case w.Kind == store.WakeAll && slices.ContainsFunc(p.wakes, func(k store.Wake) bool { return k.Kind == store.WakeAll }):
	default:
		p.wakes = append(p.wakes, w)
	}
	p.mu.Unlock()
	select {
	case p.More <- struct{}{}:
	default:
	}
}

// Take returns those that wait, in their order, and forgets them.
func (p *Pending) Take() []store.Wake {
	p.mu.Lock()
	defer p.mu.Unlock()
	wakes := p.wakes
	p.wakes = nil
	return wakes
}
