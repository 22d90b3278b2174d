package gather

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// patience is how long a group waits for runs that are to come at once, beyond the wait that it was
// asked for: one may be held up before it joins, by a middleware or by the database.
const patience = time.Second

// Group gathers the runs of one kind. M is what a run brings along.
type Group[M any] struct {
	most int
	wait time.Duration
	call func([]M)

	mu     sync.Mutex
	open   *batch[M]                // what waits for more; nil: nothing
	coming map[store.Lease]struct{} // runs that join soon, or whose slots may bring one that does
	inside map[store.Lease]struct{} // runs that have joined and not left
	hurry  bool
}

// batch is some runs that wait, or are worked together.
type batch[M any] struct {
	members []member[M]
	began   chan struct{} // closed when it is called
	done    chan struct{} // closed when the call has returned
	late    bool          // the wait is over
	overdue bool          // and so is the patience
	timer   *time.Timer
}

// member is a run that has joined.
type member[M any] struct {
	run store.Lease
	M   M
}

// New makes a group. It calls call with up to most runs, in a goroutine of its own, when there are
// as many, or when those that are known to come have come and the first one has waited for
// wait.
func New[M any](most int, wait time.Duration, call func([]M)) *Group[M] {
	return &Group[M]{most: most, wait: wait, call: call, coming: map[store.Lease]struct{}{}, inside: map[store.Lease]struct{}{}}
}

// Expect tells of a run that has a slot and is about to begin.
func (g *Group[M]) Expect(run store.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.coming[run] = struct{}{}
}

// Left tells that a run has ended and passed its slot on, whether or not it has ever joined.
func (g *Group[M]) Left(run store.Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.coming, run)
	delete(g.inside, run)
	g.look()
}

// Hurry makes batches begin as soon as no run is known to come, whatever the wait; or ends that.
func (g *Group[M]) Hurry(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hurry = on
	g.look()
}

// Join adds a run to a batch, and returns when that was called. It returns false if ctx has ended
// before: then the run is in none.
func (g *Group[M]) Join(ctx context.Context, run store.Lease, brings M) bool {
	g.mu.Lock()
	delete(g.coming, run)
	g.inside[run] = struct{}{}
	b := g.open
	if b == nil {
		b = &batch[M]{began: make(chan struct{}), done: make(chan struct{}), late: g.wait <= 0}
		g.open = b
	}
	b.members = append(b.members, member[M]{run, brings})
	g.look()
	if g.open == b && b.timer == nil {
		first := patience
		if !b.late {
			first = g.wait
		}
		b.timer = time.AfterFunc(first, func() { g.ring(b) })
	}
	g.mu.Unlock()
	select {
	case <-b.began:
	case <-ctx.Done():
		if g.withdraw(b, run) {
			return false
		}
	}
	<-b.done
	return true
}

// ring notes that the wait of a batch is over, and then that the patience is.
func (g *Group[M]) ring(b *batch[M]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b.late, b.overdue = true, b.late
	if g.open != b {
		return
	}
	if g.look(); g.open == b {
		b.timer.Reset(patience)
	}
}

// look begins the open batch if its time has come. g.mu is held.
func (g *Group[M]) look() {
	b := g.open
	switch {
	case b == nil:
	case len(b.members) >= g.most, b.overdue, len(g.coming) == 0 && (b.late || g.hurry):
		g.open = nil
		if b.timer != nil {
			b.timer.Stop()
		}
		close(b.began)
		go g.begin(b)
	}
}

// begin calls what a batch is for, with the runs in the order of their claim. The slots of its runs
// are free soon, and may bring further ones: so the next batch waits for these, or it would begin
// with the first.
func (g *Group[M]) begin(b *batch[M]) {
	defer func() { // also if the call ends the goroutine
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, m := range b.members {
			if _, here := g.inside[m.run]; here {
				g.coming[m.run] = struct{}{}
			}
		}
		close(b.done)
	}()
	slices.SortFunc(b.members, func(x, y member[M]) int {
		if x.run.Before(y.run) {
			return -1
		}
		return 1
	})
	bring := make([]M, len(b.members))
	for i, m := range b.members {
		bring[i] = m.M
	}
	g.call(bring)
}

// withdraw takes a run out of a batch that has not begun.
func (g *Group[M]) withdraw(b *batch[M], run store.Lease) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != b {
		return false
	}
	b.members = slices.DeleteFunc(b.members, func(m member[M]) bool { return m.run == run })
	if len(b.members) == 0 {
		g.open = nil
		b.timer.Stop()
	}
	return true
}
