package news

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// tellEvery is the interval at which new wishes are sent, and renewWishes after how many
	// intervals all are sent again.
	tellEvery   = time.Second
	renewWishes = 5
	// maxTold is how many wishes are sent at once between two ticks. A process that begins to wait
	// more often subscribes to all jobs that it makes from now on or, if it waits often for jobs of
	// other processes, to all jobs of all processes.
	maxTold = 10
)

// wishes are the subscriptions of this process: they tell other processes which jobs it waits for,
// so that the one that ends such a job or writes what it publishes sends a wake-up. They cost this
// process about one statement a second, however many callers wait, and other processes nothing.
type wishes struct {
	store     store.Store
	guard     *supervise.Guard
	listening *listening
	detail    bool // they are for all that the jobs do, and never for all jobs

	ctx    context.Context
	cancel context.CancelFunc
	loops  sync.WaitGroup

	mu      sync.Mutex
	users   map[store.ID]int
	fresh   []store.ID  // not sent yet
	begun   int         // how often there was something new since the last tick
	foreign int         // how often that included jobs of other processes
	since   time.Time   // subscribed to all jobs made since then; zero: not
	maker   store.Maker // only to those of this maker; 0: any
	running bool
	nudge   chan struct{}
}

func newWishes(st store.Store, g *supervise.Guard, l *listening, detail bool) *wishes {
	w := &wishes{store: st, guard: g, listening: l, detail: detail, users: map[store.ID]int{}, nudge: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // the root of the wishes' own life
	return w
}

// add subscribes to jobs until drop.
func (w *wishes) add(jobs ...store.ID) {
	if len(jobs) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.fresh)
	for _, id := range jobs {
		if w.users[id]++; w.users[id] == 1 {
			w.fresh = append(w.fresh, id)
		}
	}
	if !w.running && w.ctx.Err() == nil {
		w.running = true
		w.loops.Go(func() { w.guard.Supervise(w.ctx, "waits for jobs", w.loop) })
	}
	if len(w.fresh) > before {
		supervise.Signal(w.nudge)
	}
}

// again sends all wishes again.
func (w *wishes) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.users) > 0 {
		w.fresh = slices.Collect(maps.Keys(w.users))
		supervise.Signal(w.nudge)
	}
}

// drop undoes add.
func (w *wishes) drop(jobs ...store.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range jobs {
		if w.users[id]--; w.users[id] <= 0 {
			delete(w.users, id)
		}
	}
}

// loop sends wishes until there are none.
func (w *wishes) loop(ctx context.Context) {
	ticker := time.NewTicker(w.listening.every(tellEvery))
	defer ticker.Stop()
	for tick := 1; ; {
		select {
		case <-w.nudge:
			w.tell(w.news())
		case <-ticker.C:
			fresh, still, more := w.tick(tick%renewWishes == 0)
			if !more {
				return
			}
			w.tell(fresh, still)
			tick++
		case <-ctx.Done():
			return
		}
	}
}

func (w *wishes) tell(wishes ...store.Wake) {
	wishes = slices.DeleteFunc(wishes, func(wish store.Wake) bool { return len(wish.Jobs) == 0 && wish.Due.IsZero() })
	if len(wishes) > 0 {
		w.store.Notify(wishes...)
	}
}

// news returns what to send between two ticks.
func (w *wishes) news() store.Wake {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.fresh) == 0 {
		return store.Wake{}
	}
	w.begun++
	if w.detail {
		if w.begun > maxTold {
			return store.Wake{}
		}
		return store.Wake{Kind: store.WakeWatched, Jobs: w.takeFresh()}
	}
	if slices.ContainsFunc(w.fresh, isForeign) {
		w.foreign++
	}
	switch {
	case w.foreign > maxTold && (w.since.IsZero() || w.maker != 0):
		w.all(0)
	case w.foreign > maxTold:
		return store.Wake{} // jobs from before since wait for the tick
	case w.begun > maxTold && w.since.IsZero():
		w.all(store.ThisProcess())
	case !w.since.IsZero() && (w.maker == 0 || !slices.ContainsFunc(w.fresh, isForeign)):
		return store.Wake{}
	}
	return store.Wake{Kind: store.WakeWanted, Jobs: w.takeFresh(), Due: w.since, Maker: w.maker}
}

// all subscribes to all jobs of a maker from now on, and a little earlier, because the ids of the
// first ones are as old as their enqueue. w.mu is held.
func (w *wishes) all(maker store.Maker) { w.since, w.maker = w.store.Now().Add(-tellEvery), maker }

// isForeign reports whether another process has made an id.
func isForeign(id store.ID) bool { return store.MakerOf(id) != store.ThisProcess() }

// tick returns what to send at a tick: the new wishes, and the old ones if they are to be renewed.
// more is false if there are no waiters.
func (w *wishes) tick(renew bool) (fresh, still store.Wake, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.users) == 0 {
		w.running, w.fresh, w.since, w.begun, w.foreign = false, nil, time.Time{}, 0, 0
		return fresh, still, false
	}
	switch {
	case w.begun <= maxTold:
		w.since, w.maker = time.Time{}, 0
	case w.foreign <= maxTold && !w.since.IsZero():
		w.maker = store.ThisProcess()
	}
	w.begun, w.foreign = 0, 0
	if w.detail {
		fresh = store.Wake{Kind: store.WakeWatched, Jobs: w.takeFresh()}
		if renew {
			fresh.Jobs = slices.Collect(maps.Keys(w.users))
		}
		return fresh, still, true
	}
	fresh = store.Wake{Kind: store.WakeWanted, Jobs: w.takeFresh()}
	still = store.Wake{Kind: store.WakeStillWanted, Due: w.since, Maker: w.maker}
	if renew {
		still.Jobs = slices.AppendSeq(make([]store.ID, 0, len(w.users)), maps.Keys(w.users))
	}
	return fresh, still, true
}

// takeFresh returns the new wishes that are still wanted. w.mu is held.
func (w *wishes) takeFresh() []store.ID {
	jobs := make([]store.ID, 0, len(w.fresh))
	for _, id := range w.fresh {
		if w.users[id] > 0 {
			jobs = append(jobs, id)
		}
	}
	w.fresh = nil
	return jobs
}

func (w *wishes) close() {
	w.mu.Lock()
	w.cancel()
	w.mu.Unlock()
	w.loops.Wait()
}
