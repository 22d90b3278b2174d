package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// As in package news.
const (
	wishesEvery   = 5  // seconds between two renewals of all wishes
	mostTold      = 10 // in a second
	roundsOfLooks = 4  // seconds in which all jobs are polled
	vainLook      = 50 * time.Microsecond
)

// town is a database with several processes in virtual time, with wake-ups as on PostgreSQL.
type town struct {
	t     *testing.T
	st    store.Store
	delay time.Duration         // of a wake-up
	lost  func(store.Wake) bool // reports wake-ups that do not arrive

	mu   sync.Mutex
	ears map[*house]func(store.Wake)
	told map[store.WakeKind]int
}

// house is one process of a town.
type house struct {
	store.Store
	town   *town
	looks  atomic.Int64 // queries for ends
	jobs   atomic.Int64 // jobs in those queries
	failed atomic.Bool  // the queries fail
	e      *Engine
}

func inTown(t *testing.T, test func(t *testing.T, w *town)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, &town{
			t: t, st: model.New(time.Now), delay: time.Millisecond,
			ears: map[*house]func(store.Wake){}, told: map[store.WakeKind]int{},
		})
	})
}

// move adds a process.
func (w *town) move() *house {
	h := &house{Store: w.st, town: w}
	h.e = New(h, Config{})
	w.t.Cleanup(func() {
		if err := h.e.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	return h
}

// serve makes the process a node that serves the kind "k", until the test ends.
func (h *house) serve(run func(ctx context.Context, r Attempt) ([]byte, error)) {
	h.town.t.Helper()
	if err := h.e.Runner("default").Handle(&Handler{Kind: "k", Run: run}); err != nil {
		h.town.t.Fatal(err)
	}
	stop, ran := make(chan struct{}), make(chan error, 1)
	go func() {
		ran <- h.e.Runner("default").Run(context.Background(), Stop{Soft: stop, Hard: context.Background()})
	}()
	h.town.t.Cleanup(func() {
		close(stop)
		if err := <-ran; err != nil {
			h.town.t.Error(err)
		}
	})
	synctest.Wait()
}

func (h *house) Close() error { return nil }

func (h *house) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	h.looks.Add(1)
	h.jobs.Add(int64(len(ids)))
	if h.failed.Load() {
		return nil, store.ErrUnavailable
	}
	return h.Store.Ended(ctx, namespace, ids)
}

func (h *house) Notify(wakes ...store.Wake) {
	w := h.town
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wake := range wakes {
		w.told[wake.Kind]++
		if w.lost != nil && w.lost(wake) {
			continue
		}
		for other, hear := range w.ears {
			if other != h {
				time.AfterFunc(w.delay, func() { hear(wake) })
			}
		}
	}
}

// toldOf is how many wake-ups of a kind were told.
func (w *town) toldOf(kind store.WakeKind) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[kind]
}

func (h *house) Watch(ctx context.Context, wake func(store.Wake)) error {
	w := h.town
	w.mu.Lock()
	w.ears[h] = wake
	w.mu.Unlock()
	<-ctx.Done()
	w.mu.Lock()
	delete(w.ears, h)
	w.mu.Unlock()
	return nil
}

// enqueue enqueues jobs with ids of another process, and returns them.
func (h *house) enqueue(kind string, n int) []store.ID {
	h.town.t.Helper()
	return h.enqueueAs(kind, n, func() store.ID { return uuid.Must(uuid.NewV7()) })
}

func (h *house) enqueueAs(kind string, n int, newID func() store.ID) []store.ID {
	h.town.t.Helper()
	var all []*store.Enqueue
	ids := make([]store.ID, n)
	for i := range ids {
		ids[i] = newID()
		all = append(all, &store.Enqueue{Job: store.Job{
			ID: ids[i], Namespace: "default", Queue: "default", Kind: kind, Priority: 2, Args: []byte(`{}`),
		}})
	}
	if err := h.e.Enqueue(h.town.t.Context(), all); err != nil {
		h.town.t.Fatal(err)
	}
	return ids
}

// waitAll waits for jobs, and returns when each wait ended.
func (h *house) waitAll(ids []store.ID) []time.Time {
	h.town.t.Helper()
	var at []time.Time
	err := h.e.WaitEach(h.town.t.Context(), "", ids, func(_ store.Ended, err error) bool {
		if err != nil {
			h.town.t.Error(err)
		}
		at = append(at, time.Now())
		return true
	})
	if err != nil {
		h.town.t.Fatal(err)
	}
	return at
}

func (h *house) wantLooks(what string, most int64) {
	h.town.t.Helper()
	if n := h.looks.Load(); n > most {
		h.town.t.Errorf("%s: it looked %d times, want at most %d", what, n, most)
	}
}

// lasting is a handler that takes a while.
func lasting(d time.Duration) func(context.Context, Attempt) ([]byte, error) {
	return func(context.Context, Attempt) ([]byte, error) {
		time.Sleep(d)
		return []byte(`"done"`), nil
	}
}

func TestWaitForJobsThatHaveFinished(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		a.serve(ok)
		ids := a.enqueue("k", 3000)
		a.waitAll(ids)
		time.Sleep(time.Hour)
		began := time.Now()
		for _, id := range ids[:10] {
			b.waitAll([]store.ID{id})
		}
		b.waitAll(ids)
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v to see that they have finished", took)
		}
		b.wantLooks("of ten, and of three thousand", 10+3)
		missing := uuid.Must(uuid.NewV7())
		time.Sleep(time.Hour)
		if _, err := b.e.Wait(t.Context(), "", missing); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a job that is not there: %v", err)
		}
	})
}

func TestWaitElsewhereIsToldOfTheEnd(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		const lasts = 10 * time.Minute
		a.serve(lasting(lasts))
		ids := a.enqueue("k", 100)
		other := w.move().enqueue("nobody", 2900)
		time.Sleep(time.Second)
		for _, id := range other {
			go func() { _, _ = b.e.Wait(t.Context(), "", id) }() // ends with the test
		}
		ends := time.Now().Add(lasts - time.Second)
		time.Sleep(time.Second)
		b.looks.Store(0) // those at the beginning of waits
		time.AfterFunc(time.Until(ends)-time.Millisecond, func() {
			b.wantLooks("in ten minutes", 600+10)
			b.looks.Store(0)
		})
		for _, at := range b.waitAll(ids) {
			if late := at.Sub(ends); late > 3*time.Millisecond {
				t.Errorf("the end was known after %v", late)
			}
		}
		b.wantLooks("as they end", int64(len(ids))) // the number of commits with the ends varies
		if told := w.toldOf(store.WakeWanted); told > 600/wishesEvery+mostTold+5 {
			t.Errorf("it told %d times what it waits for", told)
		}
	})
}

// TestWaitForAJobThatSomebodyCancels: in a process that was not listening before, such as a
// command.
func TestWaitForAJobThatSomebodyCancels(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		ids := a.enqueue("nobody", 3)
		cancelled := make(chan time.Time, 1)
		time.AfterFunc(time.Minute, func() {
			cancelled <- time.Now()
			if _, err := w.move().e.Cancel(t.Context(), store.CancelParams{Jobs: ids}); err != nil {
				t.Error(err)
			}
		})
		known := b.waitAll(ids)
		if late := known[len(known)-1].Sub(<-cancelled); late > 3*time.Millisecond {
			t.Errorf("the end was known after %v", late)
		}
	})
}

func TestEndsThatNobodyWaitsForAreNotTold(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		a.serve(ok)
		never := a.enqueue("nobody", 1)
		go func() { _, _ = b.e.Wait(t.Context(), "", never[0]) }()
		time.Sleep(time.Minute)
		for range 100 {
			a.enqueue("k", 10)
			time.Sleep(time.Millisecond)
		}
		if told := w.toldOf(store.WakeNews); told != 0 {
			t.Errorf("%d wake-ups for jobs that nobody waits for", told)
		}
	})
}

func TestWaitFindsWhatNobodyTold(t *testing.T) {
	for name, lost := range map[string]func(store.Wake) bool{
		"nothing arrives":  func(store.Wake) bool { return true },
		"no wish arrives":  func(w store.Wake) bool { return w.Kind == store.WakeWanted },
		"no news arrive":   func(w store.Wake) bool { return w.Kind == store.WakeNews },
		"wishes come late": nil,
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(t *testing.T, w *town) {
				if w.lost = lost; lost == nil {
					w.delay = 100 * time.Millisecond
				}
				a, b := w.move(), w.move()
				a.serve(lasting(50 * time.Millisecond))
				limit := 5 * time.Second
				if lost == nil {
					limit = 3 * w.delay
				}
				for range 10 {
					ids := a.enqueue("k", 10)
					ends := time.Now().Add(50 * time.Millisecond)
					for _, at := range b.waitAll(ids) {
						if late := at.Sub(ends); late > limit {
							t.Errorf("the end was known after %v", late)
						}
					}
					time.Sleep(20 * time.Second)
				}
			})
		})
	}
}

// TestManyWhoBeginToWait: many waits one after the other cost a few statements a second, and none
// of them is late. A process that waits for its own jobs gets no wake-ups for those of others.
func TestManyWhoBeginToWait(t *testing.T) {
	others := func() store.ID { return uuid.Must(uuid.NewV7()) }
	for whose, newID := range map[string]func() store.ID{"its own": store.NewID, "others'": others} {
		t.Run(whose, func(t *testing.T) {
			inTown(t, func(t *testing.T, w *town) {
				a, b := w.move(), w.move()
				foreign := 0
				w.lost = func(wake store.Wake) bool {
					if wake.Kind == store.WakeNews && slices.ContainsFunc(wake.Jobs, isForeign) {
						foreign++
					}
					return false
				}
				a.serve(lasting(300 * time.Millisecond))
				var waits sync.WaitGroup
				const seconds, each = 10, 50
				for range seconds * each {
					id := b.enqueueAs("k", 1, newID)[0]
					a.enqueueAs("k", 1, others)
					enqueued := time.Now()
					waits.Go(func() {
						if _, err := b.e.Wait(t.Context(), "", id); err != nil {
							t.Error(err)
						}
						if took := time.Since(enqueued); took > 320*time.Millisecond {
							t.Errorf("the end was known after %v", took)
						}
					})
					time.Sleep(time.Second / each)
				}
				waits.Wait()
				if told := w.toldOf(store.WakeWanted); told > 2*mostTold+2*seconds {
					t.Errorf("it told %d times in %d seconds what it waits for", told, seconds)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if (foreign > 0) != (whose == "others'") {
					t.Errorf("%d wake-ups tell of others' jobs", foreign)
				}
			})
		})
	}
}

// TestWaitsOfBothSorts: a process that often waits for its own jobs, and now and then for
// another's, learns of all at once.
func TestWaitsOfBothSorts(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		a.serve(lasting(300 * time.Millisecond))
		var waits sync.WaitGroup
		for i := range 1000 {
			id := b.enqueueAs("k", 1, store.NewID)[0]
			if i%10 == 0 || i > 800 {
				id = a.enqueue("k", 1)[0]
			}
			ends := time.Now().Add(300 * time.Millisecond)
			waits.Go(func() {
				if _, err := b.e.Wait(t.Context(), "", id); err != nil {
					t.Error(err)
				}
				if late := time.Since(ends); late > 20*time.Millisecond {
					t.Errorf("the end of job %d was known after %v", i, late)
				}
			})
			time.Sleep(20 * time.Millisecond)
		}
		waits.Wait()
		if told := w.toldOf(store.WakeWanted); told > 20*(mostTold+3)+20 {
			t.Errorf("it told %d times in 20 seconds what it waits for", told)
		}
	})
}

// TestWaitsForVeryMany: they cost one statement a second as well.
func TestWaitsForVeryMany(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		ids := a.enqueue("nobody", 60_000)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error)
		go func() { done <- b.e.WaitEach(ctx, "", ids, func(store.Ended, error) bool { return true }) }()
		time.Sleep(10 * time.Second)
		b.looks.Store(0)
		time.Sleep(20 * time.Second)
		b.wantLooks("in twenty seconds", 21)
		if n := b.jobs.Load(); n < int64(len(ids))*20/roundsOfLooks {
			t.Errorf("it asked for %d jobs", n)
		}
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestWaitWhileTheDatabaseIsAway: it continues when the database is back.
func TestWaitWhileTheDatabaseIsAway(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		a.serve(lasting(time.Minute))
		ids := a.enqueue("k", 1)
		b.failed.Store(true)
		var known time.Time
		done := make(chan struct{})
		go func() {
			defer close(done)
			known = b.waitAll(ids)[0]
		}()
		time.Sleep(10 * time.Minute)
		b.wantLooks("in ten minutes in which it cannot", 3*600+10)
		b.failed.Store(false)
		back := time.Now()
		<-done
		if late := known.Sub(back); late > time.Second {
			t.Errorf("the end was known after %v", late)
		}
	})
}

func isForeign(id store.ID) bool { return store.MakerOf(id) != store.ThisProcess() }
