package relay_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/relay"
	"github.com/holdfastdev/holdfast/store"
)

// below is a store that is watched.
type below struct {
	store.Store

	mu      sync.Mutex
	watches int
	wake    func(store.Wake)
	said    []store.Wake
	fails   chan error
}

func (b *below) Notify(wakes ...store.Wake) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, wakes...)
}

// tell tells who watches, once somebody does.
func (b *below) tell(w store.Wake) {
	for {
		b.mu.Lock()
		wake := b.wake
		b.mu.Unlock()
		if wake != nil {
			wake(w)
			return
		}
		runtime.Gosched()
	}
}

func (b *below) Watch(ctx context.Context, wake func(store.Wake)) error {
	b.mu.Lock()
	b.watches++
	b.wake = wake
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.watches--
		b.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return nil
	case err := <-b.fails:
		return err
	}
}

// ear is one who watches.
type ear struct {
	heard []string
	stop  context.CancelFunc
	ended chan error
}

func listen(t *testing.T, s *relay.Store, client string) *ear {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	e := &ear{stop: stop, ended: make(chan error, 1)}
	wake := func(w store.Wake) { e.heard = append(e.heard, w.Queue) }
	go func() {
		if client == "" {
			e.ended <- s.Watch(ctx, wake)
		} else {
			e.ended <- s.Listen(ctx, client, wake)
		}
	}()
	synctest.Wait()
	e.heard = nil
	return e
}

func (e *ear) want(t *testing.T, who string, queues ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(e.heard, queues) {
		t.Errorf("%s has heard %q, not %q", who, e.heard, queues)
	}
}

func of(queue string) store.Wake { return store.Wake{Kind: store.WakeReady, Queue: queue} }

func TestWhoHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &below{fails: make(chan error)}
		s := relay.Wrap(b)
		own, one, other := listen(t, s, ""), listen(t, s, "one"), listen(t, s, "other")
		if b.watches != 1 {
			t.Errorf("the store is watched %d times", b.watches)
		}
		s.Notify(of("own"))
		s.Hear("one", of("one"))
		b.wake(of("elsewhere"))
		own.want(t, "this process", "one", "elsewhere")
		one.want(t, "one client", "own", "elsewhere")
		other.want(t, "the other client", "own", "one", "elsewhere")
		if len(b.said) != 2 {
			t.Errorf("other processes were told %+v", b.said)
		}
		for i, e := range []*ear{own, one, other} {
			e.stop()
			if err := <-e.ended; err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if left := b.watches; (left == 0) != (i == 2) {
				t.Errorf("the store is watched %d times when %d have left", left, i+1)
			}
		}
	})
}

// TestGone: the end of the watch of the store is that of all, and who comes later begins again.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &below{fails: make(chan error)}
		s := relay.Wrap(b)
		own, one := listen(t, s, ""), listen(t, s, "one")
		b.fails <- store.ErrDatabaseGone
		for _, e := range []*ear{own, one} {
			if err := <-e.ended; !errors.Is(err, store.ErrDatabaseGone) {
				t.Errorf("a watch ended with %v", err)
			}
		}
		again := listen(t, s, "")
		b.wake(of("later"))
		again.want(t, "this process", "later")
		again.stop()
		if err := <-again.ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPanics: a panic of the store is one of the goroutine that watches, which is supervised, and
// not of this package's.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := relay.Wrap(nil) // which has no Watch
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is lost")
				}
			}()
			_ = s.Watch(t.Context(), func(store.Wake) {})
		}()
		if err := s.Listen(t.Context(), "one", func(store.Wake) {}); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a client's watch ends with %v", err)
		}
	})
}

// TestSaysMeanwhile: who hears something may say something.
func TestSaysMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := relay.Wrap(&below{fails: make(chan error)})
		one := listen(t, s, "one")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Watch(ctx, func(store.Wake) { s.Notify(of("answer")) }) }()
		synctest.Wait()
		one.heard = nil
		s.Hear("one", of("question"))
		one.want(t, "who asks", "answer")
		stop()
		one.stop()
		if err := errors.Join(<-ended, <-one.ended); err != nil {
			t.Error(err)
		}
	})
}

// TestAnswers: what one says as it hears is heard by others, who say something as they hear it, and
// so on, while all are told something by the store besides. None waits for another.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const rounds = 200
	b := &below{fails: make(chan error)}
	s := relay.Wrap(b)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	joined, done := make(chan string, 3), make(chan string, 10*rounds)
	for _, client := range []string{"", "one", "other"} {
		say := func(w store.Wake) { s.Hear(client, w) }
		if client == "" {
			say = func(w store.Wake) { s.Notify(w) }
		}
		var once sync.Once
		hear := func(w store.Wake) {
			once.Do(func() { joined <- client })
			switch left, _ := strconv.Atoi(w.Queue); {
			case w.Kind == store.WakeAll:
				say(store.Wake{Kind: store.WakeWatched})
			case w.Kind == store.WakeNews && left > 0: // asked, it asks itself
				say(store.Wake{Kind: store.WakeNews, Queue: strconv.Itoa(left - 1)})
			case w.Kind == store.WakeNews:
				done <- client
			}
		}
		go func() {
			if client == "" {
				ended <- s.Watch(ctx, hear)
			} else {
				ended <- s.Listen(ctx, client, hear)
			}
		}()
	}
	b.tell(store.Wake{Kind: store.WakeAll})
	for range 3 {
		<-joined
	}
	over := time.After(time.Minute)
	for n := range rounds {
		go func() {
			b.tell(store.Wake{Kind: store.WakeAll})
			s.Hear("who asks", store.Wake{Kind: store.WakeNews, Queue: "2"})
		}()
		for range 3 * 2 * 2 { // each of three is asked, and asks two, and these two each
			select {
			case <-done:
			case <-over:
				t.Fatalf("round %d is not over: somebody waits for another", n)
			}
		}
	}
	stop()
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestSlow: who hears slowly holds up neither who tells nor who else hears, and hears of the rest
// that all may have changed.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &below{fails: make(chan error)}
		s := relay.Wrap(b)
		quick := listen(t, s, "")
		ctx, stop := context.WithCancel(t.Context())
		goOn, ended := make(chan struct{}), make(chan error, 1)
		var heard []store.Wake
		go func() {
			ended <- s.Listen(ctx, "slow", func(w store.Wake) {
				<-goOn
				heard = append(heard, w)
			})
		}()
		synctest.Wait()
		for range 5000 {
			b.wake(store.Wake{Kind: store.WakeNews, Queue: "news"})
			synctest.Wait()
		}
		if len(quick.heard) != 5000 {
			t.Errorf("who is quick has heard %d", len(quick.heard))
		}
		close(goOn)
		synctest.Wait()
		if n := len(heard); n > 4098 || heard[n-1].Kind != store.WakeNews ||
			!slices.ContainsFunc(heard[1:], func(w store.Wake) bool { return w.Kind == store.WakeAll }) {
			t.Errorf("who is slow has heard %d", n)
		}
		stop()
		quick.stop()
		if err := errors.Join(<-ended, <-quick.ended); err != nil {
			t.Error(err)
		}
	})
}
