package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// counting is a look function that counts its calls and finds nothing.
func (w *town) counting(as store.WakeKind) func() (found, enough bool, err error) {
	return func() (found, enough bool, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told[as]++
		return false, false, nil
	}
}

func TestFollowersAreTold(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		more := make(chan struct{})
		a.serve(func(_ context.Context, r Attempt) ([]byte, error) {
			strand := r.Main()
			for range 5 {
				<-more
				if err := strand.Publish(store.EntryStreamed, "s", []byte(`1`)); err != nil {
					return nil, err
				}
			}
			<-more
			return nil, nil
		})
		id := a.enqueue("k", 1)[0]
		for name, h := range map[string]*house{"here": a, "elsewhere": b} {
			go func() { _ = h.e.Follow(t.Context(), "", id, w.counting(store.WakeKind(100+len(name)))) }()
		}
		time.Sleep(time.Second)
		looks := func(name string) int { return w.toldOf(store.WakeKind(100 + len(name))) }
		for i := range 6 {
			here, there := looks("here"), looks("elsewhere")
			more <- struct{}{}
			time.Sleep(2 * time.Millisecond)
			want := 1
			if i == 5 {
				want = 2 // for the news and for the end: a look after the end finds what was written before it
			}
			if looks("here")-here > want || looks("here") == here || looks("elsewhere")-there > want || looks("elsewhere") == there {
				t.Errorf("news %d: followers here were told %d times, elsewhere %d", i, looks("here")-here, looks("elsewhere")-there)
			}
			time.Sleep(100 * time.Millisecond)
		}
		quiet := looks("elsewhere")
		time.Sleep(time.Minute)
		if n := looks("elsewhere") - quiet; n > 13 {
			t.Errorf("a follower looked %d times in a minute in which nothing happened", n)
		}
	})
}

// TestUnspecificWakeups: wake-ups that name no job, as on SQLite, cost a bounded share of the time.
func TestUnspecificWakeups(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		a.serve(ok)
		never := b.enqueue("nobody", 200)
		for _, id := range never {
			go func() { _ = b.e.Follow(t.Context(), "", id, w.counting(100)) }()
			go func() { _, _ = b.e.Wait(t.Context(), "", id) }()
		}
		time.Sleep(time.Second)
		b.looks.Store(0)
		w.mu.Lock()
		w.told[100] = 0
		w.mu.Unlock()
		for range 1000 {
			a.Notify(store.Wake{Kind: store.WakeAll})
			time.Sleep(10 * time.Millisecond)
		}
		b.wantLooks("for ends in ten seconds", 1000+50)
		if n := w.toldOf(100); n > 200*10*int(time.Second/(200*4*vainLook))*11/10 {
			t.Errorf("200 followers looked %d times in ten seconds", n)
		}
	})
}

// TestFollowCosts: one look for each news, and few queries for ends, however many callers follow.
func TestFollowCosts(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		const items, followers = 50, 20
		a.serve(func(_ context.Context, r Attempt) ([]byte, error) {
			strand := r.Main()
			for range items {
				time.Sleep(100 * time.Millisecond)
				if err := strand.Publish(store.EntryStreamed, "s", []byte(`1`)); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		id := a.enqueue("k", 1)[0]
		var looks [2]int
		ended := make(chan error)
		for i, h := range []*house{a, b} {
			for range followers {
				go func() {
					ended <- h.e.Follow(t.Context(), "", id, func() (found, enough bool, err error) {
						w.mu.Lock()
						defer w.mu.Unlock()
						looks[i]++
						return true, false, nil
					})
				}()
			}
		}
		for range 2 * followers {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		for i, h := range []*house{a, b} {
			if n := looks[i]; n < followers*items || n > followers*(items+5) {
				t.Errorf("process %d: %d followers of %d items looked %d times", i, followers, items, n)
			}
			h.wantLooks("for the end", items+followers+15) // at the beginning, and because news do not say whether they are the end
		}
	})
}

// TestFollowWhileTheDatabaseIsAway: it continues when the database is back, and ends when the job
// has ended.
func TestFollowWhileTheDatabaseIsAway(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		a.serve(lasting(time.Minute))
		id := a.enqueue("k", 1)[0]
		b.failed.Store(true)
		var looks atomic.Int64
		ended := make(chan error)
		go func() {
			ended <- b.e.Follow(t.Context(), "", id, func() (found, enough bool, err error) {
				looks.Add(1)
				if b.failed.Load() {
					return false, false, store.ErrUnavailable
				}
				return false, false, nil
			})
		}()
		time.Sleep(10 * time.Minute)
		if n := looks.Load(); n < 600 || n > 1300 {
			t.Errorf("it looked %d times in ten minutes", n)
		}
		b.failed.Store(false)
		back := time.Now()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if late := time.Since(back); late > time.Second {
			t.Errorf("the end was known after %v", late)
		}
	})
}

// TestFollowEnds: with permanent errors, and with the error of ctx even if the database is away.
func TestFollowEnds(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a := w.move()
		id := a.enqueue("nobody", 1)[0]
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		away := func() (found, enough bool, err error) { return false, false, store.ErrUnavailable }
		if err := a.e.Follow(ctx, "", id, away); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		broken := func() (found, enough bool, err error) { return false, false, store.ErrDatabaseGone }
		if err := a.e.Follow(t.Context(), "", id, broken); !errors.Is(err, store.ErrDatabaseGone) {
			t.Error(err)
		}
		if err := a.e.Follow(t.Context(), "", store.ID{1}, w.counting(100)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of a job that is not there: %v", err)
		}
		closed := make(chan error)
		go func() { closed <- a.e.Follow(t.Context(), "", id, w.counting(100)) }()
		time.Sleep(time.Second)
		if err := a.e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-closed; !errors.Is(err, store.ErrClosed) {
			t.Error(err)
		}
		if err := a.e.Follow(t.Context(), "", id, w.counting(100)); !errors.Is(err, store.ErrClosed) {
			t.Errorf("of an engine that is closed: %v", err)
		}
	})
}
