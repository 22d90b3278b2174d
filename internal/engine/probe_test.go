package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// answering is a store that answers neither beats nor pings while it hangs, and refuses both while
// it is down.
type answering struct {
	store.Store
	*silence
}

type silence struct {
	hangs, down atomic.Bool
	pings       atomic.Int64
}

func (u answering) answers(ctx context.Context) error {
	if u.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if u.down.Load() {
		return store.ErrUnavailable
	}
	return nil
}

func (u answering) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	if err := u.answers(ctx); err != nil {
		return store.Beat{}, err
	}
	return u.Store.Beat(ctx, p)
}

func (u answering) FeedStatus(ctx context.Context) (store.FeedStatus, error) {
	u.pings.Add(1)
	if err := u.answers(ctx); err != nil {
		return store.FeedStatus{}, err
	}
	return u.Store.FeedStatus(ctx)
}

// away is for how long the database has not answered, as the node knows.
func (b *bed) away() time.Duration {
	since := b.runner().Health().AwaySince
	if since.IsZero() {
		return 0
	}
	return time.Since(since)
}

// TestProbesFindAnOutage: within seconds after it began, also between two beats, and that it is
// over at once.
func TestProbesFindAnOutage(t *testing.T) {
	for name, set := range map[string]func(*silence, bool){
		"it hangs":   func(f *silence, on bool) { f.hangs.Store(on) },
		"it refuses": func(f *silence, on bool) { f.down.Store(on) },
	} {
		t.Run(name, func(t *testing.T) {
			f := &silence{}
			inBedOf(t, Config{}, func(st store.Store) store.Store { return answering{st, f} }, func(b *bed) {
				b.handle("k", ok)
				b.run()
				time.Sleep(5*time.Second + 10*time.Millisecond) // just after a beat
				b.e.Prober.Probe(b.t.Context())
				if d := b.away(); d != 0 {
					t.Fatalf("at first it is away for %v", d)
				}
				set(f, true)
				began := time.Now()
				for b.away() < 3*time.Second {
					asked := time.Now()
					b.e.Prober.Probe(b.t.Context())
					if took := time.Since(asked); took > 500*time.Millisecond {
						t.Fatalf("a probe took %v", took)
					}
					time.Sleep(500 * time.Millisecond)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %v to find the outage", took)
				}
				time.Sleep(time.Minute)
				if d := b.away(); d < time.Minute {
					t.Errorf("a minute later it is away for %v", d)
				}
				set(f, false)
				for n := 0; b.away() != 0; n++ {
					b.e.Prober.Probe(b.t.Context())
					if time.Sleep(time.Second); n > 30 {
						t.Fatal("it answers, and is still taken as away")
					}
				}
			})
		})
	}
}

// TestProbesShareAPing: of many probes at once one asks, and none within a second after it.
func TestProbesShareAPing(t *testing.T) {
	f := &silence{}
	inBedOf(t, Config{}, func(st store.Store) store.Store { return answering{st, f} }, func(b *bed) {
		for range 50 {
			go b.e.Prober.Probe(b.t.Context())
		}
		time.Sleep(900 * time.Millisecond)
		b.e.Prober.Probe(b.t.Context())
		if n := f.pings.Load(); n != 1 {
			t.Errorf("%d pings within a second", n)
		}
		time.Sleep(100 * time.Millisecond)
		b.e.Prober.Probe(b.t.Context())
		if n := f.pings.Load(); n != 2 {
			t.Errorf("%d pings after a second", n)
		}
		f.hangs.Store(true)
		ctx, cancel := context.WithCancelCause(b.t.Context())
		cancel(errors.New("it was not interested"))
		time.Sleep(time.Second)
		began := time.Now()
		b.e.Prober.Probe(ctx)
		if took := time.Since(began); took != 0 {
			t.Errorf("one that has gone waited for %v", took)
		}
	})
}
