package workers

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// listener passes wake-ups on until ctx ends, as relay.Store.Listen does.
type listener func(ctx context.Context, client string, wake func(store.Wake)) error

// hub wakes polls that wait. Of those that serve the same one is woken at a time: it claims, and if
// there was something it wakes another one, and two if it has got all that it wanted: so many are
// soon at work where there is much to do, and few claim in vain. It listens while polls wait.
type hub struct {
	listen  listener
	now     func() time.Time   // of the database
	changed func()             // is told of each change of a limit
	free    func(*worker) bool // no limit is known in which jobs of the worker would count

	mu      sync.Mutex
	groups  map[string]*group
	waiting int
	stop    context.CancelFunc // ends listening; nil: the hub does not listen
	over    chan struct{}      // closed when listening has ended
}

// offer is what a poll that waits could start.
type offer struct {
	want int
	seq  int64 // the number of the first claim record
}

func newHub(listen listener, now func() time.Time, changed func(), free func(*worker) bool) *hub {
	return &hub{listen: listen, now: now, changed: changed, free: free, groups: map[string]*group{}}
}

// group is the polls of workers that serve the same.
type group struct {
	of     *worker
	polls  map[*waiter]bool
	idle   []*waiter // those that may be woken: they were not since they claimed last
	looked time.Time // the last claim
}

// waiter is a poll that waits, or may wait.
type waiter struct {
	hub   *hub
	group *group
	of    *worker
	woken chan struct{} // has a value: it is to claim
	asked chan struct{} // has a value: people want something else of the worker
	gives chan struct{} // has a value: it is to give back slots that it does not need

	open    *offer                // what it could start now; nil: nothing
	started chan []store.Claimed  // what was started, or nothing, of an offer that was taken
	taken   bool                  // a commit has taken its offer, and has not said what became of it
	back    func([]store.Claimed) // gives jobs back: the poll has not waited for the commit; nil: it does
}

// enter lets a poll wait from now on. Call leave.
func (h *hub) enter(w *worker) *waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.groups[w.serves]
	if g == nil {
		g = &group{of: w, polls: map[*waiter]bool{}}
		h.groups[w.serves] = g
	}
	one := &waiter{hub: h, group: g, of: w, woken: make(chan struct{}, 1), asked: make(chan struct{}, 1), gives: make(chan struct{}, 1)}
	one.started = make(chan []store.Claimed, 1)
	g.polls[one] = true
	h.waiting++
	if h.stop == nil {
		h.begin()
	}
	return one
}

// begin begins to listen. What has changed before was not heard of. h.mu is held.
func (h *hub) begin() {
	h.changed()
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	h.stop, h.over = stop, over
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			_ = h.listen(ctx, "workers", h.heard) // polls look by themselves meanwhile
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
}

// leave ends a wait. A wake-up that came and was not followed is passed on.
func (w *waiter) leave() {
	h := w.hub
	h.mu.Lock()
	w.group.remove(w)
	delete(w.group.polls, w)
	if len(w.group.polls) == 0 {
		delete(h.groups, w.of.serves)
	}
	select {
	case <-w.woken:
		w.group.wake()
	default:
	}
	h.waiting--
	var stop context.CancelFunc
	over := h.over
	if h.waiting == 0 {
		stop, h.stop = h.stop, nil
	}
	h.mu.Unlock()
	if stop != nil {
		stop()
		<-over
	}
}

// ready says that the poll claims now, and may be woken again from now on.
func (w *waiter) ready() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	select {
	case <-w.woken: // it looks now
	default:
	}
	w.group.looked = time.Now()
	w.group.remove(w)
	w.group.idle = append(w.group.idle, w)
}

// found says that the poll has claimed something: there may be more, above all if it has got all
// that it wanted.
func (w *waiter) found(all bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.group.remove(w)
	if w.group.wake(); all {
		w.group.wake()
	}
}

// isDue reports whether no poll of those that serve the same has claimed for so long.
func (w *waiter) isDue(every time.Duration) bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	return time.Since(w.group.looked) >= every
}

// remove takes a poll off those that may be woken. The hub's lock is held.
func (g *group) remove(w *waiter) {
	for i, other := range g.idle {
		if other == w {
			g.idle = append(g.idle[:i], g.idle[i+1:]...)
			return
		}
	}
}

// wake wakes one of the polls, that which has waited longest. The hub's lock is held.
func (g *group) wake() {
	if len(g.idle) == 0 {
		return
	}
	w := g.idle[0]
	g.idle = g.idle[1:]
	signal(w.woken)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// heard takes in a wake-up. It does not block for long.
func (h *hub) heard(w store.Wake) {
	limits := w.Kind == store.WakeLimit || w.Kind == store.WakeAll
	if limits {
		h.changed()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.groups {
		for one := range g.polls {
			if limits {
				one.open = nil // until it has looked
			}
			switch {
			case w.Kind == store.WakeNode && one.of.Node == w.Node:
				signal(one.asked)
			case w.Kind == store.WakeSlotsWanted && w.Concerns(g.of.Namespace):
				signal(one.gives)
			}
		}
		if g.concerns(w) {
			g.wake()
		}
	}
}

// ended says that runs of workers have ended.
func (h *hub) ended(nodes map[int64]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.groups {
		for one := range g.polls {
			if nodes[one.of.Node] {
				signal(one.gives)
			}
		}
	}
}

// concerns reports whether there may be something to claim because of a wake-up.
func (g *group) concerns(w store.Wake) bool {
	switch w.Kind { //nolint:exhaustive // others are about something else
	case store.WakeAll:
		return true
	case store.WakeReady, store.WakeQueue:
		_, serves := store.ServedAs(g.of.Queues, w.Queue)
		return serves && w.Concerns(g.of.Namespace)
	case store.WakeLimit, store.WakeSlotsFree:
		return w.Concerns(g.of.Namespace)
	}
	return false
}
